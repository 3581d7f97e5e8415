//! The generalised winding number of a triangle soup (Jacobson 2013): how often the surface winds around a point. 1
//! inside a closed surface that faces outwards, 0 outside, and a smooth value in between if it has holes. Distant
//! parts of the soup are evaluated by their far field (Barill 2018); a part is distant from `BETA` times its radius.

use std::f64::consts::PI;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::far_field::FarField;
use super::{ClosestPoint, TriangleTree};

/// Distance in radii from which a part is considered distant (Barill 2018 recommend 2).
const BETA: f64 = 2.0;
/// Queries per task.
const CHUNK: usize = 64;

/// A triangle mesh with an inside-outside test.
#[derive(Debug, Clone, Default)]
pub struct WindingNumber {
    tree: TriangleTree,
    far_fields: Vec<FarField>,
}

impl WindingNumber {
    /// Prepares the far fields of a tree of triangles.
    pub fn new(tree: TriangleTree) -> Self {
        let far_fields = far_fields(&tree);
        Self { tree, far_fields }
    }

    /// Updates the positions of the same vertices.
    ///
    /// # Panics
    /// If there are fewer positions than the triangles refer to.
    pub fn refit(&mut self, positions: &[DVec3]) {
        self.tree.refit(positions);
        self.far_fields = far_fields(&self.tree);
    }

    /// The triangles.
    pub fn tree(&self) -> &TriangleTree {
        &self.tree
    }

    /// The winding number at a point, to about 1e-2.
    pub fn at(&self, query: DVec3) -> f64 {
        self.at_with_cost(query).0
    }

    /// The same with the number of triangles that were too near for their far field. Where long triangles cross each other
    /// everywhere, that is all of them.
    pub fn at_with_cost(&self, query: DVec3) -> (f64, usize) {
        let bvh = self.tree.bvh();
        let (mut sum, mut n, mut near) = (0.0, 0, 0);
        while n < self.far_fields.len() {
            let (field, skip) = (&self.far_fields[n], bvh.nodes()[n].skip as usize);
            let offset = field.center - query;
            if offset.length_squared() > (BETA * field.radius).powi(2) {
                sum += field.at(offset);
                n = skip;
                continue;
            }
            if skip == n + 1 {
                sum += self.solid_angle_sum(bvh.items_below(n), query);
                near += bvh.items_below(n).len();
            }
            n += 1;
        }
        (sum / (4.0 * PI), near)
    }

    /// The winding number at each point, computed in parallel.
    pub fn at_each(&self, queries: &[DVec3]) -> Vec<f64> {
        queries.par_iter().with_min_len(CHUNK).map(|&q| self.at(q)).collect()
    }

    /// True where the winding number is above one half.
    pub fn is_inside(&self, query: DVec3) -> bool {
        self.at(query) > 0.5
    }

    /// The closest point within `limit` metres, its distance negative inside.
    pub fn signed_closest_point(&self, query: DVec3, limit: f64) -> Option<ClosestPoint> {
        let mut closest = self.tree.closest_point(query, limit)?;
        if self.is_inside(query) {
            closest.distance = -closest.distance;
        }
        Some(closest)
    }

    fn solid_angle_sum(&self, triangles: &[u32], query: DVec3) -> f64 {
        triangles.iter().map(|&t| solid_angle(self.tree.corners(t), query)).filter(|a| a.is_finite()).sum()
    }
}

/// The solid angle of a triangle seen from a point, in steradians, positive where its back is seen (van Oosterom
/// and Strackee 1983). Summed over a soup and divided by 4 pi it is the exact winding number.
pub fn solid_angle(triangle: &[DVec3; 3], query: DVec3) -> f64 {
    let [a, b, c] = triangle.map(|p| p - query);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let volume = a.dot(b.cross(c));
    2.0 * volume.atan2(la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb)
}

fn far_fields(tree: &TriangleTree) -> Vec<FarField> {
    let bvh = tree.bvh();
    let leaf = |n: usize| {
        let corners = bvh.items_below(n).iter().map(|&t| tree.corners(t));
        let finite = corners.filter(|c| c.iter().all(|p| p.is_finite()));
        FarField::of_parts(&finite.map(FarField::of_triangle).collect::<Vec<_>>())
    };
    let mut fields: Vec<FarField> = (0..bvh.nodes().len())
        .into_par_iter()
        .with_min_len(1024)
        .map(|n| if bvh.children(n).is_none() { leaf(n) } else { FarField::default() })
        .collect();
    for n in (0..fields.len()).rev() {
        if let Some(children) = bvh.children(n) {
            fields[n] = FarField::of_parts(&children.map(|c| fields[c]));
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::sphere;
    use proptest::prelude::*;

    fn exact(tree: &TriangleTree, query: DVec3) -> f64 {
        let count = tree.triangles().len() as u32;
        (0..count).map(|t| solid_angle(tree.corners(t), query)).sum::<f64>() / (4.0 * PI)
    }

    fn point(extent: f64) -> impl Strategy<Value = DVec3> {
        [-extent..extent, -extent..extent, -extent..extent].prop_map(DVec3::from_array)
    }

    #[test]
    fn a_closed_sphere_winds_once_around_its_inside_and_not_around_the_outside() {
        let (positions, triangles) = sphere(16, 1.0);
        let winding = WindingNumber::new(TriangleTree::new(&positions, triangles));
        for (query, expected) in
            [(DVec3::ZERO, 1.0), (0.9 * DVec3::X, 1.0), (1.1 * DVec3::Y, 0.0), (DVec3::splat(9.0), 0.0)]
        {
            assert!((exact(winding.tree(), query) - expected).abs() < 1e-12);
            assert!((winding.at(query) - expected).abs() < 1e-2, "{query} {}", winding.at(query));
            assert_eq!(winding.is_inside(query), expected > 0.5);
        }
        let inside = winding.signed_closest_point(0.5 * DVec3::Z, f64::INFINITY).expect("not empty");
        assert!((inside.distance + 0.5).abs() < 0.02);
    }

    #[test]
    fn a_half_sphere_gives_the_solid_angle_fraction_at_its_centre() {
        // Seen from the centre, a hemisphere covers half of all directions.
        let (positions, triangles) = sphere(32, 1.0);
        let upper =
            triangles.into_iter().filter(|t| t.iter().all(|&v| positions[v as usize].z > -1e-9)).collect();
        let winding = WindingNumber::new(TriangleTree::new(&positions, upper));
        assert!((winding.at(DVec3::ZERO) - 0.5).abs() < 1e-2);
    }

    #[test]
    fn batches_equal_single_queries_and_bad_triangles_are_left_out() {
        let (mut positions, mut triangles) = sphere(12, 1.0);
        triangles.push([0, 1, positions.len() as u32]);
        positions.push(DVec3::NAN);
        let winding = WindingNumber::new(TriangleTree::new(&positions, triangles));
        let queries: Vec<DVec3> = (0..300).map(|i| DVec3::splat(0.01 * f64::from(i) - 1.5)).collect();
        let each = winding.at_each(&queries);
        assert!(
            queries.iter().zip(&each).all(|(&q, &w)| winding.at(q).to_bits() == w.to_bits() && w.is_finite())
        );
        assert!((winding.at(DVec3::ZERO) - 1.0).abs() < 1e-2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_tree_agrees_with_the_sum_over_a_soup(
            soup in prop::collection::vec((point(1.0), point(0.2), point(0.2)), 1..200),
            queries in prop::collection::vec(point(2.0), 8),
        ) {
            let positions: Vec<DVec3> = soup.iter().flat_map(|&(a, ab, ac)| [a, a + ab, a + ac]).collect();
            let triangles = (0..soup.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
            let winding = WindingNumber::new(TriangleTree::new(&positions, triangles));
            for query in queries {
                prop_assert!((winding.at(query) - exact(winding.tree(), query)).abs() < 1e-2);
            }
        }
    }
}
