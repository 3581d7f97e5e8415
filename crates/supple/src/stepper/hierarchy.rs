//! The solver's hierarchy, drawn on the bodies: regions of coarse nodes and domains, the nodes themselves and their
//! links, and a slice through the cells of solvers that fill a body with cells. Everything is given as surface points and positions,
//! so that it looks the same for every solver family.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::body::Embedding;
use supple_core::Aabb;
use supple_linear::Regions;

/// In [`HierarchyLevel::region_of_point`]: the point belongs to no region, for instance since it is pinned.
pub const NO_REGION: u32 = u32::MAX;

/// Slices stay this far inside a body, as a fraction of its extent: exactly on its face they would meet no cell.
const SLICE_MARGIN: f64 = 1e-3;

/// Where bodies are cut open to show their cells: a plane through each of them at its start, which then moves with the body.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Its normal axis: 0 is x, 1 is y, 2 is z.
    pub axis: usize,
    /// Where it intersects the box around a body, from 0 at the lower end to 1 at the upper.
    pub share: f64,
}

impl Default for Slice {
    /// The middle, viewed along z.
    fn default() -> Self {
        Self { axis: 2, share: 0.5 }
    }
}

impl Slice {
    /// Where along its axis it cuts a body that starts at these points, in metres.
    pub fn place(&self, start: &[DVec3]) -> f64 {
        let around = Aabb::of_points(start);
        let (low, high) = (around.low[self.axis()], around.high[self.axis()]);
        low + self.share.clamp(SLICE_MARGIN, 1.0 - SLICE_MARGIN) * (high - low)
    }

    /// The axis, one of three.
    pub fn axis(&self) -> usize {
        self.axis.min(2)
    }

    /// The corners of the plane's part in a box, in cyclic order; `None` where it misses the box.
    pub(crate) fn through(&self, at: f64, low: DVec3, high: DVec3) -> Option<[DVec3; 4]> {
        let axis = self.axis();
        if at < low[axis] || at >= high[axis] {
            return None;
        }
        let corner = |[u, v]: [bool; 2]| {
            let mut corner = low;
            corner[axis] = at;
            for (other, is_high) in [(axis + 1) % 3, (axis + 2) % 3].into_iter().zip([u, v]) {
                corner[other] = if is_high { high[other] } else { low[other] };
            }
            corner
        };
        Some([[false, false], [true, false], [true, true], [false, true]].map(corner))
    }
}

/// A cell intersected by a [`Slice`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlicedCell {
    /// The current corners of the slice's part in it, in cyclic order, in metres.
    pub corners: [DVec3; 4],
    /// Its kind: an index into [`HierarchyLevel::kinds`].
    pub kind: u32,
}

/// One level of a solver's hierarchy.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct HierarchyLevel {
    /// The kind of its regions.
    pub name: String,
    /// The number of regions.
    pub regions: usize,
    /// The region of every surface point of all bodies, in the order of `Simulation::positions`, or [`NO_REGION`].
    pub region_of_point: Vec<u32>,
    /// Current positions of its nodes, in metres.
    pub nodes: Vec<DVec3>,
    /// Lines to draw between positions, in metres: constraints between nodes, or edges of cells.
    pub links: Vec<[DVec3; 2]>,
    /// The cells intersected by the slice, in solvers that have cells.
    pub cells: Vec<SlicedCell>,
    /// The kinds of cells.
    pub kinds: Vec<String>,
}

impl HierarchyLevel {
    /// A level from the region of every simulated vertex. `points` are the surface points on these vertices; one
    /// between several vertices belongs to the vertex of the largest weight.
    pub fn of_vertices(name: String, region_of_vertex: &[u32], points: &Embedding) -> Self {
        let strongest = |point: usize| {
            let weights = points.weights(point).iter();
            weights.max_by(|a, b| a.1.total_cmp(&b.1)).map(|&(vertex, _)| region_of_vertex[vertex as usize])
        };
        let region_of_point = (0..points.len()).map(|point| strongest(point).unwrap_or(NO_REGION)).collect();
        let highest = region_of_vertex.iter().filter(|region| **region != NO_REGION).max();
        let regions = highest.map_or(0, |highest| *highest as usize + 1);
        Self { name, regions, region_of_point, ..Self::default() }
    }

    /// Adds the points of a body, each with the cell that contains it, if any; cells are numbered as they occur.
    pub(crate) fn add_points(&mut self, cell_of_point: &[Option<usize>]) {
        let mut cells: Vec<usize> = cell_of_point.iter().flatten().copied().collect();
        cells.sort_unstable();
        cells.dedup();
        let first = self.regions as u32;
        let region = |cell: &Option<usize>| match cell.and_then(|cell| cells.binary_search(&cell).ok()) {
            Some(number) => first + number as u32,
            None => NO_REGION,
        };
        self.region_of_point.extend(cell_of_point.iter().map(region));
        self.regions += cells.len();
    }

    /// A level of a preconditioner. `vertices` has the vertex of every unknown, `x` the positions of all vertices.
    pub(crate) fn of_regions(regions: &Regions, vertices: &[u32], x: &[DVec3], points: &Embedding) -> Self {
        let mut region_of_vertex = vec![NO_REGION; x.len()];
        for (&vertex, &region) in vertices.iter().zip(&regions.of_unknown) {
            region_of_vertex[vertex as usize] = region;
        }
        let place = |&node: &u32| x[vertices[node as usize] as usize];
        Self {
            nodes: regions.nodes.iter().map(place).collect(),
            ..Self::of_vertices(regions.name.clone(), &region_of_vertex, points)
        }
    }
}

/// Position of a point that moves with a box: inside of it by `now`, and outside by the rotation and stretch of the box as a whole.
/// Coarse cells extend beyond the body that gives them their motion.
pub(crate) fn carried(point: DVec3, low: DVec3, high: DVec3, now: impl Fn(DVec3) -> DVec3) -> DVec3 {
    let inside = point.clamp(low, high);
    let (beside, middle, half) = (point - inside, 0.5 * (low + high), 0.5 * (high - low));
    let axes = (0..3).filter(|&axis| beside[axis] != 0.0);
    axes.fold(now(inside), |place, axis| {
        let step = DVec3::AXES[axis] * half[axis];
        place + beside[axis] / (2.0 * half[axis]) * (now(middle + step) - now(middle - step))
    })
}

#[cfg(test)]
mod tests {
    use glam::DMat3;

    use super::*;

    #[test]
    fn a_point_beside_a_box_is_carried_by_what_the_box_does_as_a_whole() {
        let turned = DMat3::from_rotation_z(1.1) * DMat3::from_diagonal(DVec3::new(2.0, 1.0, 0.5));
        let now = |p: DVec3| turned * p + DVec3::new(3.0, 0.0, -1.0);
        let (low, high) = (DVec3::splat(1.0), DVec3::new(2.0, 3.0, 1.5));
        for point in [DVec3::splat(1.2), DVec3::new(7.0, -2.0, 1.3), DVec3::new(0.0, 4.0, 9.0)] {
            assert!(carried(point, low, high, now).distance(now(point)) < 1e-12);
        }
    }

    #[test]
    fn slices_stay_inside_bodies_and_meet_each_cell_of_a_column_once() {
        let body = [DVec3::ZERO, DVec3::splat(4.0)];
        for share in [-3.0, 0.0, 0.25, 0.5, 1.0, 7.0] {
            let slice = Slice { axis: 1, share };
            let at = slice.place(&body);
            let met = (0..4)
                .map(f64::from)
                .filter_map(|y| slice.through(at, DVec3::new(0.0, y, 0.0), DVec3::new(1.0, y + 1.0, 1.0)));
            let met: Vec<[DVec3; 4]> = met.collect();
            assert_eq!(met.len(), 1, "{share}");
            assert!(met[0].iter().all(|corner| corner.y == at));
        }
    }
}
