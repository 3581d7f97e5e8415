//! Which particles a coarser level keeps (Müller 2008, section 6.2), and the weights of the parents of the omitted ones.

use glam::DVec3;

/// Added to the distances of equation 6, so that a child that coincides with its parent has no infinite weight.
const EPSILON: f64 = 1e-6;

/// Marks the particles that the next coarser level keeps. Every particle that is not kept has at least `parents` kept
/// neighbours. `order` lists the particles of the level; the last ones are the likeliest to be kept.
pub(crate) fn restrict(neighbours: &[Vec<u32>], order: &[u32], parents: usize) -> Vec<bool> {
    let mut kept = vec![false; neighbours.len()];
    order.iter().for_each(|&p| kept[p as usize] = true);
    let mut kept_around: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    for &p in order {
        let around = &neighbours[p as usize];
        let spare = |&n: &u32| kept[n as usize] || kept_around[n as usize] > parents;
        if kept_around[p as usize] >= parents && around.iter().all(spare) {
            kept[p as usize] = false;
            around.iter().for_each(|&n| kept_around[n as usize] -= 1);
        }
    }
    kept
}

/// The normalised weights of parents at these positions (equation 6).
pub(crate) fn parent_weights(child: DVec3, parents: &[u32], positions: &[DVec3]) -> Vec<(u32, f64)> {
    let distance = |p: u32| positions[p as usize].distance(child);
    let farthest = parents.iter().map(|&p| distance(p)).fold(0.0, f64::max);
    let weight = |p: u32| 1.0 / (if farthest > 0.0 { distance(p) / farthest } else { 0.0 } + EPSILON);
    let total: f64 = parents.iter().map(|&p| weight(p)).sum();
    parents.iter().map(|&p| (p, weight(p) / total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_particle_left_out_has_its_parents_on_any_graph(
            pairs in prop::collection::vec((0u32..60, 0u32..60), 0..240),
            parents in 1usize..4,
        ) {
            let mut neighbours = vec![Vec::new(); 60];
            for (a, b) in pairs {
                if a != b && !neighbours[a as usize].contains(&b) {
                    neighbours[a as usize].push(b);
                    neighbours[b as usize].push(a);
                }
            }
            let order: Vec<u32> = (0..60).collect();
            let kept = restrict(&neighbours, &order, parents);
            for (p, around) in neighbours.iter().enumerate().filter(|(p, _)| !kept[*p]) {
                let count = around.iter().filter(|&&n| kept[n as usize]).count();
                prop_assert!(count >= parents, "{p} has {count}");
            }
        }
    }

    #[test]
    fn weights_sum_to_one_and_a_parent_at_the_same_place_takes_all() {
        let positions = [DVec3::ZERO, DVec3::X, DVec3::new(0.0, 2.0, 0.0)];
        let weights = parent_weights(DVec3::new(0.2, 0.1, 0.0), &[0, 1, 2], &positions);
        assert!((weights.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(weights[0].1 > weights[1].1 && weights[1].1 > weights[2].1);
        let weights = parent_weights(DVec3::X, &[0, 1], &positions);
        assert!(weights[1].1 > 1.0 - 2e-6);
    }
}
