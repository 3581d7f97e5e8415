//! Supernodes: consecutive columns of the factor with (almost) the same rows, stored as one dense block. Children whose
//! columns nearly fit are merged into their parents (Ashcraft and Grimes 1989), which trades a few stored zeros for
//! larger dense blocks.

use super::elimination::Elimination;
use super::graph::{ABSENT, AdjacencyGraph};

/// The supernodal structure of a factor, children before parents, every subtree consecutive.
pub(crate) struct Supernodes {
    /// The first column of every supernode, and the number of columns at the end.
    pub(crate) first_column: Vec<u32>,
    /// The start of each supernode's rows.
    pub(crate) row_starts: Vec<usize>,
    /// The rows below the supernodes' own columns, ascending in each.
    pub(crate) rows: Vec<u32>,
    /// The index of each of `rows` in the parent's front: its columns first, then its rows.
    pub(crate) place_in_parent: Vec<u32>,
    /// The parent, [`ABSENT`] at roots.
    pub(crate) parent: Vec<u32>,
    /// The start of each supernode's children in `children`.
    pub(crate) child_starts: Vec<usize>,
    /// Children, ascending in each supernode.
    pub(crate) children: Vec<u32>,
}

/// A chain of columns that will become a supernode.
#[derive(Clone, Copy)]
struct ColumnChain {
    first: u32,
    end: u32,
    /// Rows below.
    below: u32,
    /// Zeros stored, in blocks.
    zeros: f64,
}

impl ColumnChain {
    fn columns(&self) -> u32 {
        self.end - self.first
    }

    fn entries(&self) -> f64 {
        let (k, m) = (f64::from(self.columns()), f64::from(self.below));
        k * (k + 1.0) / 2.0 + k * m
    }

    /// Both as one supernode, with the explicit zeros this stores.
    fn merged(&self, parent: &Self) -> Self {
        let extra = f64::from(self.columns()) * f64::from(parent.columns() + parent.below - self.below);
        Self { first: self.first, zeros: self.zeros + parent.zeros + extra, ..*parent }
    }

    /// Whether the zeros are few enough for this many scalar columns: limits as in CHOLMOD (Chen et al. 2008).
    fn worthwhile(&self, dof: usize) -> bool {
        let share = self.zeros / self.entries();
        match self.columns() as usize * dof {
            0..=8 => true,
            9..=24 => share < 0.6,
            25..=60 => share < 0.15,
            _ => share < 0.05,
        }
    }
}

impl Supernodes {
    /// The supernodes of a graph whose vertices are in postorder of its elimination tree.
    pub(crate) fn new(graph: &AdjacencyGraph, elimination: &Elimination, dof: usize) -> Self {
        let chains = chains(elimination, dof);
        let mut first_column: Vec<u32> = chains.iter().map(|chain| chain.first).collect();
        first_column.push(graph.len() as u32);
        let mut supernodes = Self {
            first_column,
            row_starts: vec![0],
            rows: Vec::new(),
            place_in_parent: Vec::new(),
            parent: vec![ABSENT; chains.len()],
            child_starts: Vec::new(),
            children: Vec::new(),
        };
        supernodes.find_rows(graph);
        supernodes.find_children();
        supernodes.find_places();
        supernodes
    }

    /// The number of supernodes.
    pub(crate) fn len(&self) -> usize {
        self.parent.len()
    }

    /// The own columns of a supernode.
    pub(crate) fn columns(&self, s: usize) -> std::ops::Range<usize> {
        self.first_column[s] as usize..self.first_column[s + 1] as usize
    }

    /// The rows below a supernode's columns.
    pub(crate) fn rows(&self, s: usize) -> &[u32] {
        &self.rows[self.row_starts[s]..self.row_starts[s + 1]]
    }

    /// The indices of those rows in the parent's front.
    pub(crate) fn places(&self, s: usize) -> &[u32] {
        &self.place_in_parent[self.row_starts[s]..self.row_starts[s + 1]]
    }

    /// The children of a supernode.
    pub(crate) fn children(&self, s: usize) -> &[u32] {
        &self.children[self.child_starts[s]..self.child_starts[s + 1]]
    }

    /// The supernode of every column.
    pub(crate) fn of_columns(&self) -> Vec<u32> {
        (0..self.len()).flat_map(|s| self.columns(s).map(move |_| s as u32)).collect()
    }

    /// The index of a row in a supernode's front, `None` if the factor has no entry there.
    pub(crate) fn place(&self, s: usize, row: u32) -> Option<usize> {
        let columns = self.columns(s);
        if columns.contains(&(row as usize)) {
            return Some(row as usize - columns.start);
        }
        self.rows(s).binary_search(&row).ok().map(|place| columns.len() + place)
    }

    fn find_rows(&mut self, graph: &AdjacencyGraph) {
        let of_column = self.of_columns();
        let mut seen_by = vec![ABSENT; graph.len()];
        let mut unions: Vec<Vec<u32>> = vec![Vec::new(); self.len()];
        for s in 0..self.len() {
            let end = self.first_column[s + 1];
            let mut rows = Vec::new();
            let from_matrix = self.columns(s).flat_map(|column| graph.neighbours(column));
            let inherited = std::mem::take(&mut unions[s]);
            for &row in from_matrix.chain(&inherited) {
                if row >= end && seen_by[row as usize] != s as u32 {
                    seen_by[row as usize] = s as u32;
                    rows.push(row);
                }
            }
            rows.sort_unstable();
            if let Some(&next) = rows.first() {
                self.parent[s] = of_column[next as usize];
                unions[self.parent[s] as usize].extend(&rows);
            }
            self.rows.extend(rows);
            self.row_starts.push(self.rows.len());
        }
    }

    fn find_children(&mut self) {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); self.len()];
        for (s, &parent) in self.parent.iter().enumerate().filter(|(_, parent)| **parent != ABSENT) {
            lists[parent as usize].push(s as u32);
        }
        self.child_starts.push(0);
        for list in lists {
            self.children.extend(list);
            self.child_starts.push(self.children.len());
        }
    }

    fn find_places(&mut self) {
        let mut places = Vec::with_capacity(self.rows.len());
        for s in (0..self.len()).filter(|&s| self.parent[s] != ABSENT) {
            let parent = self.parent[s] as usize;
            let columns = self.columns(parent);
            let mut candidates = self.rows(parent).iter().zip(columns.len() as u32..);
            for &row in self.rows(s) {
                places.push(if (row as usize) < columns.end {
                    row - columns.start as u32
                } else {
                    let found = candidates.find(|(other, _)| **other == row);
                    found.expect("a parent's front contains all rows of its children").1
                });
            }
        }
        self.place_in_parent = places;
    }
}

/// Columns with the same rows, then merged with the preceding chain if that stores few zeros.
fn chains(elimination: &Elimination, dof: usize) -> Vec<ColumnChain> {
    let mut chains: Vec<ColumnChain> = Vec::new();
    for (column, &below) in elimination.below.iter().enumerate() {
        let column = column as u32;
        match chains.last_mut() {
            Some(last) if elimination.parent[column as usize - 1] == column && last.below == below + 1 => {
                last.end += 1;
                last.below = below;
            }
            _ => chains.push(ColumnChain { first: column, end: column + 1, below, zeros: 0.0 }),
        }
    }
    let mut merged: Vec<ColumnChain> = Vec::new();
    for mut chain in chains {
        while let Some(&child) = merged.last()
            && (chain.first..chain.end).contains(&elimination.parent[child.end as usize - 1])
            && child.merged(&chain).worthwhile(dof)
        {
            chain = child.merged(&chain);
            merged.pop();
        }
        merged.push(chain);
    }
    merged
}
