//! Disjoint sets.

/// A partition of `0..n`, each group identified by its lowest member.
pub(crate) struct UnionFind {
    parents: Vec<u32>,
}

impl UnionFind {
    /// Every number in its own group.
    pub(crate) fn new(count: usize) -> Self {
        Self { parents: (0..count as u32).collect() }
    }

    /// The representative of a member's group, with path halving.
    pub(crate) fn find(&mut self, mut member: u32) -> u32 {
        while self.parents[member as usize] != member {
            let above = self.parents[self.parents[member as usize] as usize];
            self.parents[member as usize] = above;
            member = above;
        }
        member
    }

    /// Merges two groups.
    pub(crate) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
}
