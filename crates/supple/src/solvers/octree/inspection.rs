//! Octants for drawing: those that the surface intersects as regions, and a slice through all of them by their sizes.

use std::borrow::Cow;
use std::ops::Range;

use glam::DVec3;

use crate::body::{Body, Elements};
use crate::scene_state::SceneState;
use crate::solvers::octree::multigrid::coarser;
use crate::stepper::{HierarchyLevel, Slice, SlicedCell, carried};
use supple_mesh::octree::Octree;
use supple_mesh::octree::{Octant, morton_order};

/// A body whose octants are shown.
struct ShownOctree<'a> {
    body: &'a Body,
    finest: &'a Octree,
    /// Its tree on the level that is shown.
    tree: Cow<'a, Octree>,
    /// Current positions of the finest tree's nodes, in metres.
    x: &'a [DVec3],
}

/// Adds octants to levels that have names only, finest first. Bodies of other elements have none.
pub(crate) fn show_octants(
    levels: &mut [HierarchyLevel],
    scene_state: &SceneState,
    x: &[DVec3],
    slice: &Slice,
) {
    let mut rest = x;
    let mut bodies: Vec<ShownOctree<'_>> = Vec::new();
    for body in &scene_state.bodies {
        let (own, others) = rest.split_at(body.start.len());
        rest = others;
        if let Elements::Octants(filled) = &body.elements {
            let (finest, tree) = (&filled.tree, Cow::Borrowed(&filled.tree));
            bodies.push(ShownOctree { body, finest, tree, x: own });
        }
    }
    if bodies.is_empty() {
        return;
    }
    for (k, level) in levels.iter_mut().enumerate() {
        if k > 0 {
            bodies.iter_mut().for_each(ShownOctree::coarsen);
        }
        level.region_of_point.clear();
        level.kinds = sizes(&bodies);
        for body in &bodies {
            level.add_points(&body.octants_of_points());
            level.cells.extend(body.sliced(slice));
        }
    }
}

/// The sizes of octants from the finest on, in millimetres if all bodies have the same.
fn sizes(bodies: &[ShownOctree<'_>]) -> Vec<String> {
    let cell = bodies[0].finest.frame.cell;
    let same = bodies.iter().all(|body| body.finest.frame.cell == cell);
    let highest = bodies.iter().flat_map(|body| body.tree.elements()).map(|octant| octant.height()).max();
    let name = |height: u8| match same {
        true => format!("octants of {} mm", (1e5 * cell * f64::from(1u32 << height)).round() / 1e2),
        false => format!("octants of {} times the finest", 1u32 << height),
    };
    (0..=highest.unwrap_or(0)).map(name).collect()
}

impl ShownOctree<'_> {
    fn coarsen(&mut self) {
        if let Some(coarser) = coarser(&self.tree) {
            self.tree = Cow::Owned(coarser.tree);
        }
    }

    fn in_cells(&self, point: DVec3) -> DVec3 {
        (point - self.finest.frame.origin) / self.finest.frame.cell
    }

    fn octants_of_points(&self) -> Vec<Option<usize>> {
        let octant = |point: &DVec3| Some(self.tree.element_around(self.in_cells(*point)));
        self.body.surface_start.iter().map(octant).collect()
    }

    /// The octants intersected by a slice.
    fn sliced(&self, slice: &Slice) -> Vec<SlicedCell> {
        let axis = slice.axis();
        let at = self.in_cells(DVec3::splat(slice.place(&self.body.surface_start)))[axis];
        let cell = |octant: &Octant| {
            let (low, high) = bounds(*octant);
            let corners = slice.through(at, low, high)?;
            let inside = self.finest_in(*octant);
            let corners = corners.map(|corner| self.place(inside.clone(), corner));
            Some(SlicedCell { corners, kind: octant.height().into() })
        };
        self.tree.elements().iter().filter_map(cell).collect()
    }

    /// The finest elements in an octant.
    fn finest_in(&self, octant: Octant) -> Range<usize> {
        let elements = self.finest.elements();
        let first = elements.partition_point(|e| morton_order(e.anchor(), octant.anchor()).is_lt());
        let count = elements[first..].partition_point(|e| octant.holds(e.anchor()));
        first..first + count
    }

    /// Current position of a point, given in finest cells, by the nearest of some elements.
    fn place(&self, elements: Range<usize>, point: DVec3) -> DVec3 {
        let distance = |&e: &usize| {
            let (low, high) = bounds(self.finest.elements()[e]);
            point.distance_squared(point.clamp(low, high))
        };
        let Some(nearest) = elements.min_by(|a, b| distance(a).total_cmp(&distance(b))) else {
            return self.finest.frame.origin + self.finest.frame.cell * point;
        };
        let (low, high) = bounds(self.finest.elements()[nearest]);
        carried(point, low, high, |at| {
            self.finest.weights_of(nearest, at).iter().map(|&(node, w)| w * self.x[node as usize]).sum()
        })
    }
}

/// The lowest and the highest corner of an octant in finest cells.
fn bounds(octant: Octant) -> (DVec3, DVec3) {
    let low = DVec3::from_array(octant.anchor().map(f64::from));
    (low, low + f64::from(octant.size()))
}
