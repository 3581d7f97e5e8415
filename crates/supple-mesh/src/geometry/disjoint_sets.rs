//! Disjoint sets with a parity between members: for fans of corners, components of vertices, and the relative
//! orientation of faces.

/// Disjoint sets of the numbers `0..n`; a set is identified by its lowest member.
pub struct DisjointSets {
    /// The parent in the upper bits, and in the lowest the parity against it.
    parents: Vec<u64>,
}

impl DisjointSets {
    /// Every number in its own set.
    pub fn new(count: usize) -> Self {
        Self { parents: (0..count as u64).map(|i| i << 1).collect() }
    }

    /// The representative of the set of `i`, and the parity of `i` relative to it.
    pub fn find(&mut self, i: usize) -> (usize, bool) {
        let (mut at, mut odd) = (i, 0);
        loop {
            let parent = self.parents[at];
            let above = self.parents[(parent >> 1) as usize];
            odd ^= parent & 1;
            if parent >> 1 == above >> 1 {
                return ((parent >> 1) as usize, odd == 1);
            }
            // Halving the path: the grandparent becomes the parent.
            self.parents[at] = above ^ (parent & 1);
            odd ^= above & 1;
            at = (above >> 1) as usize;
        }
    }

    /// Joins two sets.
    pub fn join(&mut self, i: usize, j: usize) {
        self.join_with_parity(i, j, false);
    }

    /// Joins two sets so that `i` and `j` differ in parity where `odd`; false if they are already joined and
    /// disagree.
    pub fn join_with_parity(&mut self, i: usize, j: usize, odd: bool) -> bool {
        let ((a, odd_i), (b, odd_j)) = (self.find(i), self.find(j));
        let parity = odd_i ^ odd_j ^ odd;
        if a == b {
            return !parity;
        }
        let (root, child) = (a.min(b), a.max(b));
        self.parents[child] = (root as u64) << 1 | u64::from(parity);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parities_follow_from_chains_and_contradictions_are_noticed() {
        let mut sets = DisjointSets::new(1000);
        for i in 0..999 {
            assert!(sets.join_with_parity(i, i + 1, i % 3 == 0));
        }
        let odd = |i: usize| i.div_ceil(3) % 2 == 1;
        assert!((0..1000).all(|i| sets.find(i) == (0, odd(i))));
        assert!(sets.join_with_parity(5, 900, odd(5) ^ odd(900)));
        assert!(!sets.join_with_parity(5, 900, !(odd(5) ^ odd(900))));
    }
}
