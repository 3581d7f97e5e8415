//! Modified shape functions (Milne 2016, section 3.2): the values at an element's corners from those at its conforming nodes,
//! `x = W x̃`, and the weights of points inside.
//!
//! In the order of slots `W` only depends on the hanging slots: the middle of an edge is `½ (x̃₀ + x̃_m)`, the middle
//! of a face `¼ (x̃₀ + x̃_i + x̃_j + x̃_m)` with the two edges `i`, `j` next to it, which then hang too.

use super::tree::{Hanging, Octree, hangs};

/// The 8x8 matrix `W` of some hanging slots: row = slot, column = conforming node.
pub fn gather_matrix(hanging: Hanging) -> [[f64; 8]; 8] {
    let mut w = [[0.0; 8]; 8];
    for (slot, row) in w.iter_mut().enumerate() {
        match (hangs(hanging, slot), slot) {
            (false, _) => row[slot] = 1.0,
            (true, 1 | 2 | 4) => [0, slot].iter().for_each(|&b| row[b] = 0.5),
            (true, _) => {
                let low = 1 << slot.trailing_zeros();
                [0, low, slot ^ low, slot].iter().for_each(|&b| row[b] = 0.25);
            }
        }
    }
    w
}

/// The weights of an element's conforming nodes at a point, which is given by its coordinates from slot 0, 0 to 1 each.
pub fn weights_at(hanging: Hanging, point: [f64; 3]) -> [f64; 8] {
    let along =
        |slot: usize, axis: usize| if slot >> axis & 1 == 1 { point[axis] } else { 1.0 - point[axis] };
    let w = gather_matrix(hanging);
    let mut weights = [0.0; 8];
    for (slot, row) in w.iter().enumerate() {
        let part = along(slot, 0) * along(slot, 1) * along(slot, 2);
        weights.iter_mut().zip(row).for_each(|(weight, w)| *weight += part * w);
    }
    weights
}

impl Octree {
    /// The conforming nodes and weights of a point in an element, which is given by its coordinates from the
    /// element's lowest corner, 0 to 1 each; nodes without weight are omitted.
    pub fn weights(&self, element: usize, point: [f64; 3]) -> Vec<(u32, f64)> {
        let number = self.elements()[element].child_number();
        let from_slot_zero =
            std::array::from_fn(|k| if number >> k & 1 == 1 { 1.0 - point[k] } else { point[k] });
        let weights = weights_at(self.hanging()[element], from_slot_zero);
        let nodes = self.conforming()[element].into_iter().zip(weights);
        nodes.filter(|(_, weight)| *weight != 0.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_gather_matrix_sum_to_one_and_hanging_faces_use_the_corners_of_the_parents_face() {
        // Faces hang with their edges only.
        for hanging in 0..64u8 {
            let w = gather_matrix(hanging);
            assert!(w.iter().all(|row| row.iter().sum::<f64>() == 1.0));
        }
        let face = gather_matrix(0b001_110);
        assert_eq!(face[6], [0.25, 0.0, 0.25, 0.0, 0.25, 0.0, 0.25, 0.0]);
        assert_eq!(face[2], [0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(face[1], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn weights_sum_to_one_and_are_those_of_trilinear_interpolation_without_hanging_slots() {
        let weights = weights_at(0, [0.25, 0.5, 1.0]);
        assert_eq!(weights, [0.0, 0.0, 0.0, 0.0, 0.375, 0.125, 0.375, 0.125]);
        assert!((weights_at(0b111_111, [0.3, 0.8, 0.1]).iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }
}
