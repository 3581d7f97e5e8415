//! Domains along the Morton curve (Wu 2022, section 5.1): nodes are sorted by the 60-bit codes of their current
//! positions, 20 bits per axis, by a radix sort, and every run of consecutive nodes is a domain.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::supernodes::Grouping;
use supple_core::Aabb;
use supple_core::morton::{BITS, MortonGrid};

/// Bits of a code that are used: the paper's 20 per axis.
const CODE_BITS: u32 = 60;
/// Bits per pass of the sort.
const DIGIT: u32 = 12;

/// The nodes along the Morton curve through their positions.
pub(super) fn morton_order(positions: &[DVec3]) -> Vec<u32> {
    let grid = MortonGrid::new(&Aabb::of_points(positions));
    let code =
        |(node, &position): (usize, &DVec3)| (grid.code(position) >> (3 * BITS - CODE_BITS), node as u32);
    let mut keyed: Vec<(u64, u32)> = positions.par_iter().enumerate().with_min_len(4096).map(code).collect();
    radix_sort(&mut keyed);
    keyed.into_iter().map(|(_, node)| node).collect()
}

/// Stable radix sort by the codes, from the lowest digit; passes in which all codes agree are skipped.
fn radix_sort(keyed: &mut Vec<(u64, u32)>) {
    let mut sorted = vec![(0, 0); keyed.len()];
    for shift in (0..CODE_BITS).step_by(DIGIT as usize) {
        let digit = |code: u64| (code >> shift) as usize & ((1 << DIGIT) - 1);
        let mut next = vec![0usize; 1 << DIGIT];
        keyed.iter().for_each(|(code, _)| next[digit(*code)] += 1);
        if next.contains(&keyed.len()) {
            continue;
        }
        let mut sum = 0;
        next.iter_mut().for_each(|count| sum += std::mem::replace(count, sum));
        for &entry in &*keyed {
            let place = &mut next[digit(entry.0)];
            sorted[*place] = entry;
            *place += 1;
        }
        std::mem::swap(keyed, &mut sorted);
    }
}

/// An order split into runs of `size` nodes.
pub(super) fn runs(order: Vec<u32>, size: usize) -> Grouping {
    let count = order.len();
    let starts = (0..count).step_by(size).chain([count]).map(|start| start as u32).collect();
    Grouping { order, starts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn radix_sort_is_the_stable_sort_by_codes(codes in prop::collection::vec(0u64..1 << CODE_BITS, 0..200), few in 1u64..9) {
            for modulus in [few, u64::MAX] {
                let mut keyed: Vec<(u64, u32)> = codes.iter().zip(0..).map(|(code, node)| (code % modulus, node)).collect();
                let mut expected = keyed.clone();
                expected.sort();
                radix_sort(&mut keyed);
                prop_assert_eq!(keyed, expected);
            }
        }
    }

    #[test]
    fn points_that_are_not_numbers_or_none_at_all_still_get_an_order() {
        assert_eq!(morton_order(&[]), Vec::<u32>::new());
        let mut order = morton_order(&[DVec3::NAN, DVec3::ONE, DVec3::INFINITY]);
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2]);
        assert_eq!(runs(vec![2, 0, 1], 2).starts, [0, 2, 3]);
        assert_eq!(runs(Vec::new(), 2).starts, [0]);
    }
}
