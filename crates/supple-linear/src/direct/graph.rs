//! The graph of a symmetric sparsity pattern.

use crate::BlockPattern;

/// An adjacency list: the neighbours of every vertex, ascending, without itself.
pub(crate) struct AdjacencyGraph {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl AdjacencyGraph {
    /// The graph of a pattern, with additional `pairs` of unknowns (in any order, repeats allowed).
    pub(crate) fn new(pattern: &BlockPattern, pairs: &[[u32; 2]]) -> Self {
        let mut both: Vec<[u32; 2]> = pairs.iter().flat_map(|&[i, j]| [[i, j], [j, i]]).collect();
        both.sort_unstable();
        both.dedup();
        let mut more = both.into_iter().peekable();
        let mut graph = Self { starts: vec![0], neighbours: Vec::with_capacity(pattern.block_count()) };
        for i in 0..pattern.unknowns() {
            let first = graph.neighbours.len();
            let others = pattern.row(i).1.iter().filter(|&&j| j as usize != i);
            graph.neighbours.extend(others);
            let inside = graph.neighbours.len();
            while let Some([_, j]) = more.next_if(|pair| pair[0] as usize == i) {
                if graph.neighbours[first..inside].binary_search(&j).is_err() {
                    graph.neighbours.push(j);
                }
            }
            graph.neighbours[first..].sort_unstable();
            graph.starts.push(graph.neighbours.len());
        }
        graph
    }

    /// The number of vertices.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The neighbours of a vertex, ascending.
    pub(crate) fn neighbours(&self, vertex: usize) -> &[u32] {
        &self.neighbours[self.starts[vertex]..self.starts[vertex + 1]]
    }

    /// The same graph with vertex `order[k]` renamed to `k`; vertices that are not in `order` are omitted.
    /// `names` is scratch for all vertices of this graph, [`ABSENT`] before and after.
    pub(crate) fn renamed(&self, order: &[u32], names: &mut [u32]) -> Self {
        order.iter().zip(0..).for_each(|(&vertex, name)| names[vertex as usize] = name);
        let mut graph = Self { starts: vec![0], neighbours: Vec::new() };
        for &vertex in order {
            let first = graph.neighbours.len();
            let renamed = self.neighbours(vertex as usize).iter().map(|&other| names[other as usize]);
            graph.neighbours.extend(renamed.filter(|&name| name != ABSENT));
            graph.neighbours[first..].sort_unstable();
            graph.starts.push(graph.neighbours.len());
        }
        order.iter().for_each(|&vertex| names[vertex as usize] = ABSENT);
        graph
    }
}

/// Marks the absence of a vertex.
pub(crate) const ABSENT: u32 = u32::MAX;
