//! The partition of the unknowns by preconditioners, level by level, for display in a viewer.

/// One level of a preconditioner's hierarchy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Regions {
    /// Description of the regions, in the terms of the paper.
    pub name: String,
    /// The region of each unknown, numbered from 0.
    pub of_unknown: Vec<u32>,
    /// The unknowns that are coarse nodes; none if regions have no node of their own.
    pub nodes: Vec<u32>,
}

impl Regions {
    /// Runs of slots in an ordering of the unknowns: `starts` has the first slot of each run, and the end.
    pub(crate) fn of_runs(name: String, order: &[u32], starts: &[u32]) -> Self {
        let mut of_unknown = vec![0; order.len()];
        for (run, ends) in starts.windows(2).enumerate() {
            for &unknown in &order[ends[0] as usize..ends[1] as usize] {
                of_unknown[unknown as usize] = run as u32;
            }
        }
        Self { name, of_unknown, nodes: Vec::new() }
    }
}
