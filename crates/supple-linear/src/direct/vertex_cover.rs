//! The smallest vertex cover of a bipartite graph: a maximum matching (Hopcroft and Karp 1973) and König's theorem.
//! It turns the edges that cross a cut into the smallest vertex separator along that cut.

use std::collections::VecDeque;

const FREE: u32 = u32::MAX;

/// A bipartite graph, given by the right-hand neighbours of every left vertex.
pub(crate) struct Bipartite {
    /// The start of each left vertex's neighbours; one more entry than left vertices.
    pub(crate) starts: Vec<usize>,
    /// Right vertices.
    pub(crate) neighbours: Vec<u32>,
    /// The number of right vertices.
    pub(crate) rights: usize,
}

/// The vertices of a cover.
pub(crate) struct Cover {
    /// For every left vertex.
    pub(crate) left: Vec<bool>,
    /// For every right vertex.
    pub(crate) right: Vec<bool>,
}

impl Bipartite {
    fn lefts(&self) -> usize {
        self.starts.len() - 1
    }

    fn of(&self, left: usize) -> &[u32] {
        &self.neighbours[self.starts[left]..self.starts[left + 1]]
    }

    /// A smallest set of vertices that touches every edge.
    pub(crate) fn smallest_cover(&self) -> Cover {
        let matching = Matching::largest(self);
        // The vertices reached by alternating paths from free left vertices.
        let mut reached = Cover { left: vec![false; self.lefts()], right: vec![false; self.rights] };
        let mut waiting: Vec<usize> =
            (0..self.lefts()).filter(|&left| matching.right_of[left] == FREE).collect();
        waiting.iter().for_each(|&left| reached.left[left] = true);
        while let Some(left) = waiting.pop() {
            for &right in self.of(left) {
                if std::mem::replace(&mut reached.right[right as usize], true) {
                    continue;
                }
                let partner = matching.left_of[right as usize];
                if partner != FREE && !std::mem::replace(&mut reached.left[partner as usize], true) {
                    waiting.push(partner as usize);
                }
            }
        }
        reached.left.iter_mut().for_each(|reached| *reached = !*reached);
        reached
    }
}

struct Matching {
    right_of: Vec<u32>,
    left_of: Vec<u32>,
}

impl Matching {
    fn largest(graph: &Bipartite) -> Self {
        let mut matching = Self { right_of: vec![FREE; graph.lefts()], left_of: vec![FREE; graph.rights] };
        matching.greedy(graph);
        while let Some(mut layers) = matching.layers(graph) {
            let mut next = graph.starts.clone();
            for left in 0..graph.lefts() {
                if matching.right_of[left] == FREE {
                    matching.augment(graph, left, &mut layers, &mut next);
                }
            }
        }
        matching
    }

    fn greedy(&mut self, graph: &Bipartite) {
        for left in 0..graph.lefts() {
            if let Some(&right) = graph.of(left).iter().find(|&&right| self.left_of[right as usize] == FREE) {
                self.join(left, right);
            }
        }
    }

    fn join(&mut self, left: usize, right: u32) {
        self.right_of[left] = right;
        self.left_of[right as usize] = left as u32;
    }

    /// Breadth-first distances of left vertices from free ones, `None` when no augmenting path is left.
    fn layers(&self, graph: &Bipartite) -> Option<Vec<u32>> {
        let mut layers = vec![u32::MAX; graph.lefts()];
        let mut queue: VecDeque<usize> =
            (0..graph.lefts()).filter(|&left| self.right_of[left] == FREE).collect();
        queue.iter().for_each(|&left| layers[left] = 0);
        let mut found = false;
        while let Some(left) = queue.pop_front() {
            for &right in graph.of(left) {
                match self.left_of[right as usize] {
                    FREE => found = true,
                    partner if layers[partner as usize] == u32::MAX => {
                        layers[partner as usize] = layers[left] + 1;
                        queue.push_back(partner as usize);
                    }
                    _ => {}
                }
            }
        }
        found.then_some(layers)
    }

    /// Follows layers to a free right vertex by an explicit stack (paths can be long) and flips the path.
    fn augment(&mut self, graph: &Bipartite, from: usize, layers: &mut [u32], next: &mut [usize]) {
        let mut path = vec![from];
        while let Some(&left) = path.last() {
            if next[left] == graph.starts[left + 1] {
                layers[left] = u32::MAX;
                path.pop();
                continue;
            }
            let right = graph.neighbours[next[left]];
            next[left] += 1;
            match self.left_of[right as usize] {
                FREE => {
                    self.flip(&path, right);
                    return;
                }
                partner if layers[partner as usize] == layers[left] + 1 => path.push(partner as usize),
                _ => {}
            }
        }
    }

    fn flip(&mut self, path: &[usize], last: u32) {
        let mut right = last;
        for &left in path.iter().rev() {
            let previous = self.right_of[left];
            self.join(left, right);
            right = previous;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(lefts: usize, rights: usize, edges: &[(usize, u32)]) -> Bipartite {
        let mut starts = vec![0];
        let mut neighbours = Vec::new();
        for left in 0..lefts {
            neighbours.extend(edges.iter().filter(|edge| edge.0 == left).map(|edge| edge.1));
            starts.push(neighbours.len());
        }
        Bipartite { starts, neighbours, rights }
    }

    fn smallest_by_trying_all(lefts: usize, rights: usize, edges: &[(usize, u32)]) -> u32 {
        let covers = |set: &u32| {
            edges.iter().all(|&(left, right)| set >> left & 1 == 1 || set >> (lefts as u32 + right) & 1 == 1)
        };
        (0..1u32 << (lefts + rights)).filter(covers).map(u32::count_ones).min().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn cover_touches_every_edge_and_none_is_smaller(
            edges in prop::collection::vec((0usize..5, 0u32..5), 0..14)
        ) {
            let cover = graph(5, 5, &edges).smallest_cover();
            prop_assert!(edges.iter().all(|&(l, r)| cover.left[l] || cover.right[r as usize]));
            let size = cover.left.iter().chain(&cover.right).filter(|&&inside| inside).count();
            prop_assert_eq!(size as u32, smallest_by_trying_all(5, 5, &edges));
        }
    }
}
