//! Vertices split only by UVs or normals have exactly the same position: they share one unknown.

use std::collections::HashMap;

use glam::DVec3;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_places_are_one_unknown_and_order_is_kept() {
        let positions =
            [[0.0, 1.0, 2.0], [3.0, 0.0, 0.0], [-0.0, 1.0, 2.0], [3.0, 0.0, 1e-300]].map(DVec3::from);
        assert_eq!(weld(&positions), (vec![0, 1, 0, 2], 3));
    }
}
