//! Vertices split only by UVs or normals have exactly the same position: they share one unknown. Triangles with the same
//! corners in the same orientation are one triangle.

use std::collections::HashMap;

use glam::DVec3;
use supple_core::parallel::prelude::*;

/// For each vertex its unknown, and the number of unknowns. Unknowns are numbered by first appearance.
pub fn weld(positions: &[DVec3]) -> (Vec<u32>, usize) {
    let mut unknown_at: HashMap<[u64; 3], u32> = HashMap::with_capacity(positions.len());
    let unknowns = positions
        .iter()
        .map(|p| {
            // Adding zero makes -0 and 0 the same position.
            let key = p.to_array().map(|c| (c + 0.0).to_bits());
            let next = unknown_at.len() as u32;
            *unknown_at.entry(key).or_insert(next)
        })
        .collect();
    (unknowns, unknown_at.len())
}

/// The triangles without those that repeat a vertex and without copies of earlier ones, in their order. A file may contain
/// thousands of copies (primitives that share their accessors, a polygon that goes around a vertex again and again); they change
/// no surface, but hierarchies cannot tell them apart, so each query would visit all of them.
pub fn distinct_triangles(mut triangles: Vec<[u32; 3]>) -> Vec<[u32; 3]> {
    // The same for every corner that a triangle may start from.
    let cycle =
        |[a, b, c]: [u32; 3]| [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap_or([a, b, c]);
    let mut order: Vec<u32> = (0..triangles.len() as u32).collect();
    let key = |t: u32| cycle(triangles[t as usize]);
    order.par_sort_unstable_by_key(|&t| (key(t), t));
    let mut keep = vec![true; triangles.len()];
    for copies in order.chunk_by(|&s, &t| key(s) == key(t)) {
        copies[1..].iter().for_each(|&t| keep[t as usize] = false);
    }
    let mut keep = keep.into_iter();
    triangles.retain(|[a, b, c]| keep.next() == Some(true) && a != b && b != c && c != a);
    triangles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_triangles_without_area_go_and_both_sides_of_a_sheet_stay() {
        let triangles = vec![[0, 1, 2], [3, 1, 2], [2, 0, 1], [1, 0, 2], [4, 4, 2], [0, 1, 2]];
        assert_eq!(distinct_triangles(triangles), [[0, 1, 2], [3, 1, 2], [1, 0, 2]]);
    }

    #[test]
    fn equal_places_are_one_unknown_and_order_is_kept() {
        let positions =
            [[0.0, 1.0, 2.0], [3.0, 0.0, 0.0], [-0.0, 1.0, 2.0], [3.0, 0.0, 1e-300]].map(DVec3::from);
        assert_eq!(weld(&positions), (vec![0, 1, 0, 2], 3));
    }
}
