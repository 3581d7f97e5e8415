//! Cells of the lattices for drawing: those that the surface intersects as regions, and a slice through all of them by how they
//! are smoothed.

use glam::DVec3;

use crate::body::Body;
use crate::solvers::staggered::body::LatticeBody;
use crate::solvers::staggered::lattice::embedding::{Interpolation, LatticePoints};
use crate::solvers::staggered::lattice::voxels::ROUNDING;
use crate::solvers::staggered::lattice::{Cell, Lattice, MARGIN};
use crate::solvers::staggered::multigrid::level::LatticeLevel;
use crate::stepper::{HierarchyLevel, Slice, SlicedCell, carried};

/// The kinds of a body's cells (Zhu 2010, figure 4 and section 5): smoothed by distribution, by boundary sweeps, or prescribed.
const KINDS: [&str; 3] = ["interior", "boundary", "held (Dirichlet)"];

/// The lattices of all bodies, finest first; a body with fewer of them shows its coarsest.
pub(crate) fn hierarchy(bodies: &[(&Body, &LatticeBody)], slice: &Slice) -> Vec<HierarchyLevel> {
    let levels = bodies.iter().map(|(_, body)| body.hierarchy.levels().len()).max().unwrap_or(0);
    (0..levels).map(|k| level(k, bodies, slice)).collect()
}

fn level(k: usize, bodies: &[(&Body, &LatticeBody)], slice: &Slice) -> HierarchyLevel {
    let mut level = HierarchyLevel { kinds: KINDS.map(String::from).to_vec(), ..HierarchyLevel::default() };
    let mut interior = 0;
    for (body, lattices) in bodies {
        let shown = ShownLattice::new(body, lattices, k);
        level.add_points(&shown.cells_of_points());
        level.cells.extend(shown.sliced(slice));
        interior += shown.level.lattice().interior_cells();
    }
    level.name = format!("level {}: {interior} cells", k + 1);
    level
}

/// A lattice of a body.
struct ShownLattice<'a> {
    body: &'a Body,
    lattices: &'a LatticeBody,
    level: &'a LatticeLevel,
    /// Its cells' side in finest cells.
    side: i32,
}

impl<'a> ShownLattice<'a> {
    fn new(body: &'a Body, lattices: &'a LatticeBody, k: usize) -> Self {
        let levels = lattices.hierarchy.levels();
        let k = k.min(levels.len() - 1);
        Self { body, lattices, level: &levels[k], side: 1 << k }
    }

    /// The cell of each surface point. Points in fixed cells, or on a face of one, have none.
    fn cells_of_points(&self) -> Vec<Option<usize>> {
        let lattice = self.level.lattice();
        let size = lattice.size();
        let index = |at: DVec3, margin: i32| {
            let inside = |a: usize| (at[a].floor() as i32).clamp(-margin, size[a] as i32 - 1 + margin);
            lattice.index(std::array::from_fn(inside))
        };
        let cell = |point: &DVec3| {
            let at = self.lattices.placement.in_cells(*point) / f64::from(self.side);
            let beside = |n: usize| {
                let sign = |a: usize| if n >> a & 1 == 1 { ROUNDING } else { -ROUNDING };
                index(at + DVec3::from(std::array::from_fn::<f64, 3, _>(sign)), MARGIN as i32)
            };
            let is_fixed = (0..8).any(|n| lattice.cells()[beside(n)] == Cell::Dirichlet);
            (!is_fixed).then(|| index(at, 0))
        };
        self.body.surface_start.iter().map(cell).collect()
    }

    /// The cells intersected by a slice.
    fn sliced(&self, slice: &Slice) -> Vec<SlicedCell> {
        let lattice = self.level.lattice();
        let place = slice.place(&self.body.surface_start);
        let at = self.lattices.placement.in_cells(DVec3::splat(place))[slice.axis()];
        let cells = (0..lattice.len()).filter(|&cell| lattice.cells()[cell] != Cell::Exterior);
        let sliced = |cell: usize| {
            let coordinates = lattice.coordinates(cell).map(|c| c * self.side);
            let (low, high) = bounds(coordinates, self.side);
            let corners = slice.through(at, low, high)?;
            let inside = self.finest_in(coordinates);
            let corners = corners.map(|corner| self.place(&inside, corner));
            Some(SlicedCell { corners, kind: self.kind(cell) })
        };
        cells.filter_map(sliced).collect()
    }

    fn kind(&self, cell: usize) -> u32 {
        match self.level.lattice().cells()[cell] {
            Cell::Dirichlet => 2,
            _ if self.level.is_near_boundary(cell) => 1,
            _ => 0,
        }
    }

    /// The finest cells of the body in a cell that starts there.
    fn finest_in(&self, low: [i32; 3]) -> Vec<[i32; 3]> {
        let finest = self.finest();
        let side = self.side;
        let child = |n: i32| [low[0] + n % side, low[1] + n / side % side, low[2] + n / (side * side)];
        let is_of_body = |at: &[i32; 3]| {
            let margin = MARGIN as i32;
            let exists = (0..3).all(|a| at[a] >= -margin && at[a] < finest.size()[a] as i32 + margin);
            exists && finest.cells()[finest.index(*at)] != Cell::Exterior
        };
        (0..side.pow(3)).map(child).filter(is_of_body).collect()
    }

    fn finest(&self) -> &Lattice {
        self.lattices.hierarchy.finest().lattice()
    }

    /// Current position of a point, given in finest cells, by the nearest of some finest cells.
    fn place(&self, cells: &[[i32; 3]], point: DVec3) -> DVec3 {
        let distance = |cell: &&[i32; 3]| {
            let (low, high) = bounds(**cell, 1);
            point.distance_squared(point.clamp(low, high))
        };
        let rest = |at: DVec3| self.lattices.placement.origin + self.lattices.placement.cell * at;
        let Some(nearest) = cells.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))) else {
            return rest(point);
        };
        let (low, high) = bounds(*nearest, 1);
        let lattice = self.finest();
        carried(point, low, high, |at| {
            let on_lattice = LatticePoints::new(lattice, &[at], Interpolation::Trilinear);
            let moved = on_lattice.displacement(0, &self.lattices.u, lattice.len());
            self.lattices.frame.place(rest(at), moved)
        })
    }
}

/// The lowest and the highest corner of a cell.
fn bounds(low: [i32; 3], side: i32) -> (DVec3, DVec3) {
    let low = DVec3::from(low.map(f64::from));
    (low, low + f64::from(side))
}
