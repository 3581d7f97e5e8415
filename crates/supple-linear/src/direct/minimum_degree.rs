//! Approximate minimum-degree ordering: P. R. Amestoy, T. A. Davis, I. S. Duff, "An approximate minimum degree ordering
//! algorithm", SIAM J. Matrix Anal. Appl. 17 (1996).
//!
//! Vertices are eliminated one by one, fewest neighbours first. Elimination connects all neighbours of a vertex; the
//! *quotient graph* stores such a clique as one *element*, a list of its variables, so that it never needs more edges
//! than the matrix. Every variable `i` has a list of elements `E_i` and one of variables `A_i` to which it is
//! connected directly; a pivot `p` becomes the element
//!
//! ```text
//! L_p = (A_p ∪ ⋃ L_e for e in E_p) \ {p}
//! ```
//!
//! and the elements in `E_p` are absorbed. Techniques that make it fast:
//! - degrees are bounded from above instead of counted, `|A_i \ i| + |L_p \ i| + Σ |L_e \ L_p|` over `e` in `E_i` other than
//!   `p` (section 4); all `|L_e \ L_p|` come from one pass over the lists of `L_p`;
//! - *mass elimination*: variables connected with nothing but the pivot's element are eliminated with it;
//! - *supervariables*: variables with the same lists (found by hashing) are merged and eliminated together;
//! - *aggressive absorption*: elements that lie within `L_p` are absorbed even if the pivot was not connected with them.
//!
//! Vertices with very many neighbours would make every list long; they are eliminated last.

use std::ops::Range;

use super::graph::{ABSENT, AdjacencyGraph};

/// Vertices with more than this times the square root of the number of vertices as neighbours are eliminated last.
const DENSE: f64 = 10.0;
/// No vertex with fewer neighbours counts as one of those.
const LEAST_DENSE: usize = 16;
/// The mark of elements that were absorbed.
const ABSORBED: u64 = 0;

/// The vertices in their order of elimination.
pub(super) fn minimum_degree(graph: &AdjacencyGraph) -> Vec<u32> {
    let limit = ((DENSE * (graph.len() as f64).sqrt()) as usize).max(LEAST_DENSE);
    let (sparse, dense): (Vec<u32>, Vec<u32>) =
        (0..graph.len() as u32).partition(|&v| graph.neighbours(v as usize).len() <= limit);
    let mut quotient = QuotientGraph::new(graph, &sparse);
    while let Some(pivot) = quotient.queue.pop_smallest() {
        quotient.eliminate(pivot);
    }
    quotient.order.extend(dense);
    quotient.order
}

/// The graph of what is not yet eliminated. A vertex is a variable, part of one, or an element.
struct QuotientGraph {
    /// The lists of all variables (elements first, then variables) and elements (variables).
    lists: Vec<u32>,
    start: Vec<usize>,
    length: Vec<usize>,
    /// Elements in each variable's list.
    element_count: Vec<usize>,
    /// Vertices in each variable, zero for everything else.
    weight: Vec<usize>,
    /// The bounds of the variables' degrees, and the weights of the elements.
    degree: Vec<usize>,
    /// [`ABSORBED`], or `stamp + |L_e \ L_p|` for elements seen with the pivot, or a smaller number.
    mark: Vec<u64>,
    stamp: u64,
    /// Marks the variables of the pivot's element.
    in_pivot: Vec<bool>,
    queue: DegreeQueue,
    supervariables: Supervariables,
    /// Vertices that are not yet eliminated, without dense ones.
    remaining: usize,
    order: Vec<u32>,
}

impl QuotientGraph {
    /// The queue of the vertices `sparse` only.
    fn new(graph: &AdjacencyGraph, sparse: &[u32]) -> Self {
        let n = graph.len();
        let mut weight = vec![0; n];
        sparse.iter().for_each(|&v| weight[v as usize] = 1);
        let mut quotient = Self {
            lists: Vec::with_capacity(2 * sparse.len()),
            start: vec![0; n],
            length: vec![0; n],
            element_count: vec![0; n],
            weight,
            degree: vec![0; n],
            mark: vec![1; n],
            stamp: 2,
            in_pivot: vec![false; n],
            queue: DegreeQueue::new(n),
            supervariables: Supervariables::new(n),
            remaining: sparse.len(),
            order: Vec::with_capacity(n),
        };
        for &v in sparse {
            let i = v as usize;
            quotient.start[i] = quotient.lists.len();
            let others = graph.neighbours(i).iter().filter(|&&j| quotient.weight[j as usize] > 0);
            quotient.lists.extend(others);
            quotient.length[i] = quotient.lists.len() - quotient.start[i];
            quotient.degree[i] = quotient.length[i];
            quotient.queue.insert(v, quotient.degree[i]);
        }
        quotient
    }

    fn list(&self, i: usize) -> Range<usize> {
        self.start[i]..self.start[i] + self.length[i]
    }

    fn elements(&self, i: usize) -> Range<usize> {
        self.start[i]..self.start[i] + self.element_count[i]
    }

    fn eliminate(&mut self, pivot: u32) {
        self.number(pivot);
        self.form_element(pivot as usize);
        self.measure_elements(pivot as usize);
        let hashes = self.update_lists(pivot);
        self.merge_indistinguishable(hashes);
        self.finish(pivot as usize);
    }

    /// Appends the vertices of a variable to the order; it is no longer a variable.
    fn number(&mut self, variable: u32) {
        let i = variable as usize;
        self.order.extend(self.supervariables.vertices(variable));
        self.remaining -= self.weight[i];
        self.weight[i] = 0;
    }

    /// Replaces the list of the pivot by that of its element; the elements in it are absorbed.
    fn form_element(&mut self, pivot: usize) {
        let (elements, own) = (self.elements(pivot), self.list(pivot));
        let start = self.lists.len();
        for at in elements.clone() {
            let element = self.lists[at] as usize;
            for k in self.list(element) {
                self.add_to_pivot(self.lists[k]);
            }
            self.mark[element] = ABSORBED;
        }
        for at in elements.end..own.end {
            self.add_to_pivot(self.lists[at]);
        }
        self.start[pivot] = start;
        self.length[pivot] = self.lists.len() - start;
        self.element_count[pivot] = 0;
    }

    fn add_to_pivot(&mut self, variable: u32) {
        let i = variable as usize;
        if self.weight[i] > 0 && !self.in_pivot[i] {
            self.in_pivot[i] = true;
            self.lists.push(variable);
            self.queue.remove(variable, self.degree[i]);
        }
    }

    /// Finds `|L_e \ L_p|` of all elements that share a variable with the pivot's.
    fn measure_elements(&mut self, pivot: usize) {
        for at in self.list(pivot) {
            let i = self.lists[at] as usize;
            for k in self.elements(i) {
                let element = self.lists[k] as usize;
                if self.mark[element] >= self.stamp {
                    self.mark[element] -= self.weight[i] as u64;
                } else if self.mark[element] != ABSORBED {
                    self.mark[element] = self.stamp + (self.degree[element] - self.weight[i]) as u64;
                }
            }
        }
    }

    /// Removes from the lists of the pivot's variables everything covered by the pivot's element, and bounds their
    /// degrees outside of it. Variables without outside neighbours are eliminated. Returns hashes of the other lists.
    fn update_lists(&mut self, pivot: u32) -> Vec<(u32, u32)> {
        let mut hashes = Vec::with_capacity(self.length[pivot as usize]);
        for at in self.list(pivot as usize) {
            let variable = self.lists[at];
            let i = variable as usize;
            let (outside, hash) = self.update_list(i, pivot);
            if outside == 0 {
                self.in_pivot[i] = false;
                self.number(variable);
            } else {
                self.degree[i] = self.degree[i].min(outside);
                hashes.push((hash, variable));
            }
        }
        self.stamp += self.weight.len() as u64 + 1;
        hashes
    }

    /// The bound of one variable's degree outside of the pivot's element, and the hash of its list.
    fn update_list(&mut self, i: usize, pivot: u32) -> (usize, u32) {
        let (elements, own) = (self.elements(i), self.list(i));
        let (mut outside, mut hash) = (0, pivot);
        let mut to = own.start;
        for at in elements.clone() {
            let element = self.lists[at];
            let extent = self.mark[element as usize].saturating_sub(self.stamp) as usize;
            if extent > 0 {
                outside += extent;
                hash = hash.wrapping_add(element);
                self.lists[to] = element;
                to += 1;
            } else {
                self.mark[element as usize] = ABSORBED;
            }
        }
        let variables = to;
        for at in elements.end..own.end {
            let other = self.lists[at];
            let j = other as usize;
            if self.weight[j] > 0 && !self.in_pivot[j] {
                outside += self.weight[j];
                hash = hash.wrapping_add(other);
                self.lists[to] = other;
                to += 1;
            }
        }
        // The list lost the pivot or an element that it absorbed, so there is space for the pivot's element, as the first.
        self.lists[to] = self.lists[variables];
        self.lists[variables] = self.lists[own.start];
        self.lists[own.start] = pivot;
        self.element_count[i] = variables + 1 - own.start;
        self.length[i] = to + 1 - own.start;
        (outside, hash)
    }

    /// Merges variables with the same lists.
    fn merge_indistinguishable(&mut self, mut hashes: Vec<(u32, u32)>) {
        hashes.reverse();
        hashes.sort_by_key(|&(hash, _)| hash);
        for bucket in hashes.chunk_by(|a, b| a.0 == b.0).filter(|bucket| bucket.len() > 1) {
            for (k, &(_, variable)) in bucket.iter().enumerate() {
                if self.weight[variable as usize] > 0 {
                    self.merge_into(variable, &bucket[k + 1..]);
                }
            }
        }
    }

    /// Merges those of `others` that have the same list as a variable.
    fn merge_into(&mut self, variable: u32, others: &[(u32, u32)]) {
        let i = variable as usize;
        for at in self.list(i) {
            self.mark[self.lists[at] as usize] = self.stamp;
        }
        for &(_, other) in others {
            let j = other as usize;
            let same = self.weight[j] > 0
                && self.length[i] == self.length[j]
                && self.element_count[i] == self.element_count[j]
                && self.list(j).all(|at| self.mark[self.lists[at] as usize] == self.stamp);
            if same {
                self.weight[i] += self.weight[j];
                self.weight[j] = 0;
                self.in_pivot[j] = false;
                self.supervariables.merge(variable, other);
            }
        }
        self.stamp += 1;
    }

    /// Puts the remaining variables of the pivot's element back into the queue.
    fn finish(&mut self, pivot: usize) {
        let own = self.list(pivot);
        let size: usize = own.clone().map(|at| self.weight[self.lists[at] as usize]).sum();
        let mut to = own.start;
        for at in own.clone() {
            let variable = self.lists[at];
            let i = variable as usize;
            if self.weight[i] == 0 {
                continue;
            }
            self.in_pivot[i] = false;
            let bound = self.degree[i] + size - self.weight[i];
            self.degree[i] = bound.min(self.remaining - self.weight[i]);
            self.queue.insert(variable, self.degree[i]);
            self.lists[to] = variable;
            to += 1;
        }
        self.lists.truncate(if own.end == self.lists.len() { to } else { self.lists.len() });
        self.length[pivot] = to - own.start;
        self.degree[pivot] = size;
        self.mark[pivot] = if size > 0 { self.stamp } else { ABSORBED };
        self.stamp += 1;
    }
}

/// The vertices of every variable, as linked lists.
struct Supervariables {
    next: Vec<u32>,
    last: Vec<u32>,
}

impl Supervariables {
    fn new(n: usize) -> Self {
        Self { next: vec![ABSENT; n], last: (0..n as u32).collect() }
    }

    fn merge(&mut self, into: u32, from: u32) {
        self.next[self.last[into as usize] as usize] = from;
        self.last[into as usize] = self.last[from as usize];
    }

    fn vertices(&self, variable: u32) -> impl Iterator<Item = u32> {
        let next = |&v: &u32| Some(self.next[v as usize]).filter(|&v| v != ABSENT);
        std::iter::successors(Some(variable), next)
    }
}

/// Variables by degree: a doubly linked list for every degree.
struct DegreeQueue {
    first: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// No degree below this has a variable.
    smallest: usize,
}

impl DegreeQueue {
    fn new(n: usize) -> Self {
        Self { first: vec![ABSENT; n], next: vec![ABSENT; n], previous: vec![ABSENT; n], smallest: 0 }
    }

    fn insert(&mut self, variable: u32, degree: usize) {
        let old = std::mem::replace(&mut self.first[degree], variable);
        if old != ABSENT {
            self.previous[old as usize] = variable;
        }
        self.next[variable as usize] = old;
        self.previous[variable as usize] = ABSENT;
        self.smallest = self.smallest.min(degree);
    }

    fn remove(&mut self, variable: u32, degree: usize) {
        let (before, after) = (self.previous[variable as usize], self.next[variable as usize]);
        if after != ABSENT {
            self.previous[after as usize] = before;
        }
        match before {
            ABSENT => self.first[degree] = after,
            _ => self.next[before as usize] = after,
        }
    }

    /// The variable that was inserted last among those of the smallest degree.
    fn pop_smallest(&mut self) -> Option<u32> {
        while *self.first.get(self.smallest)? == ABSENT {
            self.smallest += 1;
        }
        let variable = self.first[self.smallest];
        self.remove(variable, self.smallest);
        Some(variable)
    }
}
