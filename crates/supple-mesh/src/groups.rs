//! Groups of things that hang together (disjoint sets).

/// A partition of `0..n`, each group named by its least member.
pub(crate) struct Groups {
    parents: Vec<u32>,
}

impl Groups {
    /// Every one on its own.
    pub(crate) fn new(count: usize) -> Self {
        Self { parents: (0..count as u32).collect() }
    }

    /// The name of a member's group. Halves the path to it on the way.
    pub(crate) fn find(&mut self, mut member: u32) -> u32 {
        while self.parents[member as usize] != member {
            let above = self.parents[self.parents[member as usize] as usize];
            self.parents[member as usize] = above;
            member = above;
        }
        member
    }

    /// Makes one group of two.
    pub(crate) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
}
