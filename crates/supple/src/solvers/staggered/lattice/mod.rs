//! The lattice of cells (Zhu 2010, section 5.1 and figure 4): every cell is interior, exterior or Dirichlet; this determines
//! the kinds of all variables, and the cells of the coarser lattice (section 6).
//!
//! Fields are arrays over all cells, margin included, x fastest: entry `c` of the pressures is the centre of cell
//! `c`, entry `c` of displacement `i` the centre of its lower face normal to axis `i`. The four fields follow each other
//! in one array, displacements first.

pub(crate) mod classes;
pub(crate) mod embedding;
pub(crate) mod frame;
pub(crate) mod prescribed;
pub(crate) mod runs;
pub(crate) mod spans;
pub(crate) mod voxels;

use supple_core::parallel::prelude::*;

/// Cells around the lattice that may be Dirichlet but never interior. Even, so that children and parents of the margin
/// are in the margin.
pub const MARGIN: usize = 2;

/// The index of the pressures among the four fields.
pub const PRESSURE: usize = 3;

/// The kind of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[repr(u8)]
pub enum Cell {
    /// Outside of the body.
    #[default]
    Exterior,
    /// Part of the body.
    Interior,
    /// Fixed: moves as prescribed.
    Dirichlet,
}

/// The kind of a variable (figure 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    /// An unknown with an equation of its own.
    Interior,
    /// A displacement that is prescribed, or the pressure of a fixed cell.
    Dirichlet,
    /// A displacement on the face between an interior and an exterior cell.
    Traction,
    /// Anything else.
    Inactive,
}

/// A box of cells with a margin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lattice {
    size: [usize; 3],
    cells: Vec<Cell>,
    periodic: bool,
}

impl Lattice {
    /// `kind(x, y, z)` of every cell; coordinates in the margin are negative or at least the size. Interior cells of the
    /// margin become exterior.
    pub fn new(size: [usize; 3], kind: impl Fn([i32; 3]) -> Cell + Sync) -> Self {
        let mut lattice = Self { size, cells: Vec::new(), periodic: false };
        let [nx, ny, nz] = lattice.dims();
        let of_plane = |z: usize| {
            let lattice = &lattice;
            let kind = &kind;
            (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])).map(move |at| {
                let at = at.map(|x| x as i32 - MARGIN as i32);
                let cell = kind(at);
                if cell == Cell::Interior && !lattice.has_in_core(at) { Cell::Exterior } else { cell }
            })
        };
        let cells = (0..nz).into_par_iter().flat_map_iter(of_plane).collect();
        lattice.cells = cells;
        lattice
    }

    /// A lattice without boundary: opposite sides touch. All cells are interior; the sizes must be even.
    pub fn periodic(size: [usize; 3]) -> Self {
        let mut lattice = Self { size, cells: Vec::new(), periodic: true };
        lattice.cells = vec![Cell::Interior; lattice.len()];
        lattice
    }

    /// Whether opposite sides touch.
    pub fn is_periodic(&self) -> bool {
        self.periodic
    }

    /// Cells along each axis, without the margin.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Cells along each axis, with the margin.
    pub fn dims(&self) -> [usize; 3] {
        self.size.map(|n| n + 2 * MARGIN)
    }

    /// All cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Number of cells with the margin: the length of a field.
    pub fn len(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Strides in a field along each axis.
    pub fn strides(&self) -> [usize; 3] {
        let [nx, ny, _] = self.dims();
        [1, nx, nx * ny]
    }

    /// Cells of a plane normal to z.
    pub fn plane(&self) -> usize {
        self.strides()[2]
    }

    /// The index of a cell by its coordinates, which count from the margin's inner end.
    pub fn index(&self, at: [i32; 3]) -> usize {
        let strides = self.strides();
        (0..3).map(|a| (at[a] + MARGIN as i32) as usize * strides[a]).sum()
    }

    /// The coordinates of a cell.
    pub fn coordinates(&self, cell: usize) -> [i32; 3] {
        let [nx, ny, _] = self.dims();
        [cell % nx, cell / nx % ny, cell / (nx * ny)].map(|x| x as i32 - MARGIN as i32)
    }

    fn has_in_core(&self, at: [i32; 3]) -> bool {
        (0..3).all(|a| at[a] >= 0 && (at[a] as usize) < self.size[a])
    }

    /// The cell of a periodic lattice that a cell of its margin represents.
    pub fn twin(&self, cell: usize) -> usize {
        if !self.periodic {
            return cell;
        }
        let mut at = self.coordinates(cell);
        (0..3).for_each(|a| at[a] = at[a].rem_euclid(self.size[a] as i32));
        self.index(at)
    }

    /// The kind of entry `cell` of a field. The entry must not be on the margin's outer side.
    pub fn variable(&self, field: usize, cell: usize) -> Variable {
        let here = self.cells[cell];
        if field == PRESSURE {
            return match here {
                Cell::Interior => Variable::Interior,
                Cell::Dirichlet => Variable::Dirichlet,
                Cell::Exterior => Variable::Inactive,
            };
        }
        match (self.cells[cell - self.strides()[field]], here) {
            (Cell::Dirichlet, _) | (_, Cell::Dirichlet) => Variable::Dirichlet,
            (Cell::Interior, Cell::Interior) => Variable::Interior,
            (Cell::Exterior, Cell::Exterior) => Variable::Inactive,
            _ => Variable::Traction,
        }
    }

    /// Whether an entry of a field is an unknown.
    pub fn is_unknown(&self, field: usize, cell: usize) -> bool {
        self.cells[cell] == Cell::Interior
            && (field == PRESSURE || self.cells[cell - self.strides()[field]] == Cell::Interior)
    }

    /// Makes a cell Dirichlet.
    pub fn make_dirichlet(&mut self, cell: usize) {
        self.cells[cell] = Cell::Dirichlet;
    }

    /// Number of interior cells.
    pub fn interior_cells(&self) -> usize {
        let of_plane = |z: usize| {
            let plane = &self.cells[z * self.plane()..(z + 1) * self.plane()];
            plane.iter().filter(|c| **c == Cell::Interior).count()
        };
        let core = MARGIN..self.size[2] + MARGIN;
        if self.periodic { self.size.iter().product() } else { core.map(of_plane).sum() }
    }

    /// The lattice of cells of twice the size: a coarse cell is Dirichlet if any of its eight is, else interior if any of
    /// them is (section 6).
    pub fn coarser(&self) -> Self {
        let size = self.size.map(|n| n.div_ceil(2));
        if self.periodic {
            return Self::periodic(size);
        }
        Self::new(size, |at| {
            let kinds = self.children(at).map(|c| self.cells[c]);
            kinds.fold(Cell::Exterior, |known, kind| match (known, kind) {
                (Cell::Dirichlet, _) | (_, Cell::Dirichlet) => Cell::Dirichlet,
                (Cell::Interior, _) | (_, Cell::Interior) => Cell::Interior,
                _ => Cell::Exterior,
            })
        })
    }

    /// The children of a cell of the coarser lattice that exist here.
    fn children(&self, coarse: [i32; 3]) -> impl Iterator<Item = usize> + '_ {
        let margin = MARGIN as i32;
        (0..8).filter_map(move |corner| {
            let at: [i32; 3] = std::array::from_fn(|a| 2 * coarse[a] + (corner >> a & 1));
            let exists = (0..3).all(|a| at[a] >= -margin && at[a] < self.size[a] as i32 + margin);
            exists.then(|| self.index(at))
        })
    }

    /// The fill fraction of each cell of the coarser lattice by interior and Dirichlet cells, weighted by theirs. The
    /// outer layer of the margin counts as the inner one, so that cells fixed from outside are full.
    pub fn coarser_fill(&self, fill: Option<&[f32]>, coarser: &Self) -> Vec<f32> {
        let of = |cell: usize| match self.cells[cell] {
            Cell::Exterior => 0.0,
            _ => fill.map_or(1.0, |fill| fill[cell]),
        };
        let share = |coarse: usize| {
            let coarse = coarser.coordinates(coarse);
            let child = |corner: i32| {
                let at = |a: usize| 2 * coarse[a] + (corner >> a & 1);
                self.index(std::array::from_fn(|a| at(a).clamp(-1, self.size[a] as i32)))
            };
            (0..8).map(|corner| of(child(corner))).sum::<f32>() / 8.0
        };
        (0..coarser.len()).into_par_iter().with_min_len(4096).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_next_to_held_cells_are_dirichlet_and_next_to_nothing_traction() {
        let lattice = Lattice::new([4, 4, 4], |[x, ..]| if x < 0 { Cell::Dirichlet } else { Cell::Interior });
        let at = |x, y, z| lattice.index([x, y, z]);
        assert_eq!(lattice.variable(0, at(0, 1, 1)), Variable::Dirichlet);
        assert_eq!(lattice.variable(0, at(1, 1, 1)), Variable::Interior);
        assert_eq!(lattice.variable(0, at(4, 1, 1)), Variable::Traction);
        assert_eq!(lattice.variable(1, at(1, 0, 1)), Variable::Traction);
        assert_eq!(lattice.variable(1, at(-1, 0, 1)), Variable::Dirichlet);
        assert_eq!(lattice.variable(PRESSURE, at(0, 0, 0)), Variable::Interior);
        assert_eq!(lattice.variable(PRESSURE, at(-1, 0, 0)), Variable::Dirichlet);
        assert_eq!(lattice.variable(PRESSURE, at(4, 0, 0)), Variable::Inactive);
        assert_eq!(lattice.interior_cells(), 64);
    }

    #[test]
    fn coarse_cells_grow_held_parts_first_and_the_body_second() {
        let fine = Lattice::new([5, 4, 4], |[x, ..]| match x {
            0 => Cell::Dirichlet,
            1..5 => Cell::Interior,
            _ => Cell::Exterior,
        });
        let coarse = fine.coarser();
        assert_eq!(coarse.size(), [3, 2, 2]);
        let kinds: Vec<_> = (-1..4).map(|x| coarse.cells()[coarse.index([x, 1, 1])]).collect();
        use Cell::{Dirichlet, Exterior, Interior};
        assert_eq!(kinds, [Exterior, Dirichlet, Interior, Interior, Exterior]);
        let fill = fine.coarser_fill(None, &coarse);
        assert_eq!(fill[coarse.index([1, 1, 1])], 1.0);
        assert_eq!(fill[coarse.index([2, 1, 1])], 0.5);
    }
}
