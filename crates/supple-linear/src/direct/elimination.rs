//! Symbolic elimination: the elimination tree (Liu 1990), the length of every column of the factor, and from them the
//! work of an ordering.

use super::graph::{ABSENT, AdjacencyGraph};

/// The elimination tree of a graph whose vertices are eliminated in order of their indices.
pub(crate) struct Elimination {
    /// The parent of every column, [`ABSENT`] at roots.
    pub(crate) parent: Vec<u32>,
    /// The entries of every column of the factor below its diagonal.
    pub(crate) below: Vec<u32>,
}

impl Elimination {
    /// Analyses a graph.
    pub(crate) fn new(graph: &AdjacencyGraph) -> Self {
        let parent = tree(graph);
        let below = column_lengths(graph, &parent);
        Self { parent, below }
    }

    /// The same with column `order[k]` renamed to `k`; `order` must have children before parents.
    pub(crate) fn renamed(&self, order: &[u32]) -> Self {
        let mut name = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&column, k)| name[column as usize] = k);
        let parent_of = |&column: &u32| match self.parent[column as usize] {
            ABSENT => ABSENT,
            parent => name[parent as usize],
        };
        Self {
            parent: order.iter().map(parent_of).collect(),
            below: order.iter().map(|&column| self.below[column as usize]).collect(),
        }
    }

    /// Additions and multiplications of the factorisation, in units of a block's.
    pub(crate) fn work(&self) -> f64 {
        self.below.iter().map(|&count| (f64::from(count) + 1.0).powi(2)).sum()
    }

    /// The columns with children before parents and every subtree consecutive; the child with the longest column
    /// is placed next to its parent, so that both can become one supernode.
    pub(crate) fn postorder(&self) -> Vec<u32> {
        let n = self.parent.len();
        let mut by_length: Vec<u32> = (0..n as u32).collect();
        by_length.sort_by_key(|&column| self.below[column as usize]);
        let mut first_child = vec![ABSENT; n];
        let mut next_sibling = vec![ABSENT; n];
        let mut roots = Vec::new();
        for column in by_length {
            match self.parent[column as usize] {
                ABSENT => roots.push(column),
                parent => {
                    next_sibling[column as usize] = first_child[parent as usize];
                    first_child[parent as usize] = column;
                }
            }
        }
        // A parent before its children, the longest child first: the reverse of the desired order.
        let mut reversed = Vec::with_capacity(n);
        let mut waiting = Vec::new();
        for root in roots {
            waiting.push(root);
            while let Some(column) = waiting.pop() {
                reversed.push(column);
                let from = waiting.len();
                let mut child = first_child[column as usize];
                while child != ABSENT {
                    waiting.push(child);
                    child = next_sibling[child as usize];
                }
                waiting[from..].reverse();
            }
        }
        reversed.reverse();
        reversed
    }
}

fn tree(graph: &AdjacencyGraph) -> Vec<u32> {
    let n = graph.len();
    let mut parent = vec![ABSENT; n];
    let mut ancestor = vec![ABSENT; n];
    for i in 0..n as u32 {
        for &j in graph.neighbours(i as usize).iter().take_while(|&&j| j < i) {
            let mut column = j as usize;
            while ancestor[column] != ABSENT && ancestor[column] != i {
                let next = ancestor[column] as usize;
                ancestor[column] = i;
                column = next;
            }
            if ancestor[column] == ABSENT {
                ancestor[column] = i;
                parent[column] = i;
            }
        }
    }
    parent
}

/// Row `i` of the factor contains exactly the columns on the paths of the tree from its matrix entries up to `i`.
fn column_lengths(graph: &AdjacencyGraph, parent: &[u32]) -> Vec<u32> {
    let n = graph.len();
    let mut lengths = vec![0; n];
    let mut seen_by = vec![ABSENT; n];
    for i in 0..n as u32 {
        seen_by[i as usize] = i;
        for &j in graph.neighbours(i as usize).iter().take_while(|&&j| j < i) {
            let mut column = j as usize;
            while seen_by[column] != i {
                seen_by[column] = i;
                lengths[column] += 1;
                column = parent[column] as usize;
            }
        }
    }
    lengths
}
