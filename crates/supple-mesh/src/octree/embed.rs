//! Embedding of surface points in the octree, and masses of elements (Milne 2016, section 8: any point of an element).

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use super::construct::Filled;
use super::shape_functions::gather_matrix;
use super::tree::Octree;

/// Points per task.
const CHUNK: usize = 1024;

impl Octree {
    /// Points near the surface in metres as nodes and weights.
    pub fn embed(&self, points: &[DVec3]) -> Vec<Vec<(u32, f64)>> {
        points.par_iter().with_min_len(CHUNK).map(|point| self.embed_point(*point)).collect()
    }

    /// A point in metres as nodes and weights, if an element contains it.
    pub fn embed_inside(&self, point: DVec3) -> Option<Vec<(u32, f64)>> {
        let cells = (point - self.frame.origin) / self.frame.cell;
        let root = f64::from(1u32 << self.frame.root);
        let within = cells.cmpge(DVec3::ZERO).all() && cells.cmplt(DVec3::splat(root)).all();
        let element = within.then(|| self.find(cells.to_array().map(|c| c as u16))).flatten()?;
        Some(self.weights_of(element, cells))
    }

    /// A point near the surface in metres as nodes and weights.
    pub fn embed_point(&self, point: DVec3) -> Vec<(u32, f64)> {
        let cells = (point - self.frame.origin) / self.frame.cell;
        self.weights_of(self.element_around(cells), cells)
    }

    /// Nodes and weights of a point, given in finest cells, in an element.
    pub fn weights_of(&self, element: usize, cells: DVec3) -> Vec<(u32, f64)> {
        let octant = self.elements()[element];
        let anchor = DVec3::from_array(octant.anchor().map(f64::from));
        self.weights(element, ((cells - anchor) / f64::from(octant.size())).to_array())
    }

    /// The element that contains a point, or the preceding one in Morton order if there is none: on the border of a
    /// cell the adjacent one may be correct, and unused vertices may be anywhere.
    pub fn element_around(&self, cells: DVec3) -> usize {
        let most = f64::from((1u32 << self.frame.root) - 1);
        // The shrinking of the surface before rasterisation moves its points by less than this.
        let slack = 1e-7 * most + 1e-6;
        let cell = |n: usize| {
            let side = |axis: usize| cells[axis] + if n >> axis & 1 == 1 { slack } else { -slack };
            [side(0), side(1), side(2)].map(|c| c.floor().clamp(0.0, most) as u16)
        };
        let middle = cells.to_array().map(|c| c.floor().clamp(0.0, most) as u16);
        let found = self.find(middle).or_else(|| (0..8).find_map(|n| self.find(cell(n))));
        found.unwrap_or_else(|| self.before(middle))
    }

    /// The deformation gradient at the centre of an element, with nodes at `x`.
    pub fn deformation_gradient(&self, element: usize, x: &[DVec3]) -> DMat3 {
        let w = gather_matrix(self.hanging()[element]);
        let nodes = &self.conforming()[element];
        let corner = |slot: usize| -> DVec3 { (0..8).map(|b| w[slot][b] * x[nodes[b] as usize]).sum() };
        let corners: [DVec3; 8] = std::array::from_fn(corner);
        let number = self.elements()[element].child_number();
        // Slots count from the corner that the element shares with its parent.
        let along = |k: usize| -> DVec3 {
            let upper = |slot: usize| (slot ^ number) >> k & 1 == 1;
            (0..8).map(|slot| if upper(slot) { corners[slot] } else { -corners[slot] }).sum()
        };
        DMat3::from_cols(along(0), along(1), along(2)) / (4.0 * self.side(element))
    }

    /// The smallest volume ratio at the centre of any element, with nodes at `x`.
    pub fn min_volume_ratio(&self, x: &[DVec3]) -> f64 {
        let ratio = |e: usize| self.deformation_gradient(e, x).determinant();
        (0..self.elements().len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(ratio)
            .reduce(|| f64::INFINITY, f64::min)
    }
}

impl Filled {
    /// The mass of every node in kg: an eighth of each adjacent element's mass, which is its `density` in kg/m³ times
    /// the filled part of its volume; masses of hanging corners are distributed to their interpolation nodes.
    pub fn node_masses(&self, density: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut masses = vec![0.0; self.tree.nodes().len()];
        for (e, nodes) in self.tree.conforming().iter().enumerate() {
            let eighth = density(e) * f64::from(self.fill[e]) * self.tree.side(e).powi(3) / 8.0;
            for row in gather_matrix(self.tree.hanging()[e]) {
                nodes.iter().zip(row).for_each(|(node, w)| masses[*node as usize] += w * eighth);
            }
        }
        masses
    }
}

#[cfg(test)]
mod tests {
    use super::super::construct::{Grading, fill};
    use super::*;
    use crate::test_support::{box_surface, bumpy};

    #[test]
    fn embedded_points_are_where_they_were() {
        let (positions, triangles) = box_surface(DVec3::new(-1.0, 2.0, 0.3), DVec3::new(1.7, 2.9, 1.1));
        let filled = fill(&positions, triangles, 0.1, Grading::Layers(1)).unwrap();
        let places = filled.tree.node_places();
        for (weights, point) in filled.tree.embed(&positions).iter().zip(&positions) {
            let found: DVec3 = weights.iter().map(|&(node, w)| w * places[node as usize]).sum();
            assert!(found.distance(*point) < 1e-12);
            // Inside an element, not next to it.
            assert!(weights.iter().all(|(_, w)| *w > -1e-6));
        }
    }

    #[test]
    fn masses_add_up_to_the_density_times_the_filled_volume() {
        let filled = bumpy(20);
        let volume: f64 =
            (0..filled.fill.len()).map(|e| f64::from(filled.fill[e]) * filled.tree.side(e).powi(3)).sum();
        let masses = filled.node_masses(|_| 7.0);
        assert!((masses.iter().sum::<f64>() / (7.0 * volume) - 1.0).abs() < 1e-12);
        assert!(masses.iter().all(|mass| *mass > 0.0));
    }

    #[test]
    fn volumes_of_stretched_elements_are_the_determinant() {
        let tree = bumpy(16).tree;
        let x: Vec<DVec3> = tree.node_places().iter().map(|p| DVec3::new(2.0, 0.5, -0.25) * *p).collect();
        assert!((tree.min_volume_ratio(&x) + 0.25).abs() < 1e-12);
    }
}
