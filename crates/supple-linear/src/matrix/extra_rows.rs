//! The blocks outside a matrix's pattern by rows, each stored for both of its nodes: products and preconditioners
//! read them like the pattern (Wu 2022, section 4.2, keeps an array of pairs next to the static matrix; rows need no
//! locks).

use glam::{DMat3, DVec3};

use crate::matrix::block_matrix::ExtraBlock;

/// Rows of blocks with ascending columns.
#[derive(Debug, Clone, Default)]
pub struct ExtraRows {
    /// The first block of each row, and the end; empty if there are none.
    starts: Vec<u32>,
    columns: Vec<u32>,
    blocks: Vec<DMat3>,
}

impl ExtraRows {
    /// The rows of a matrix with this many rows. Duplicate blocks are summed in order.
    pub fn gather(&mut self, rows: usize, list: &[ExtraBlock]) {
        self.clear();
        if list.is_empty() {
            return;
        }
        self.starts.resize(rows + 2, 0);
        for o in list {
            self.starts[o.row as usize + 2] += 1;
            self.starts[o.column as usize + 2] += 1;
        }
        for row in 0..rows {
            self.starts[row + 2] += self.starts[row + 1];
        }
        self.columns.resize(2 * list.len(), 0);
        self.blocks.resize(2 * list.len(), DMat3::ZERO);
        // The start of a row advances while it is filled, and ends where the next one starts.
        for o in list {
            for (row, column, block) in [(o.row, o.column, o.block), (o.column, o.row, o.block.transpose())] {
                let place = &mut self.starts[row as usize + 1];
                self.columns[*place as usize] = column;
                self.blocks[*place as usize] = block;
                *place += 1;
            }
        }
        self.starts.pop();
        self.sort_and_merge(rows);
    }

    /// Sorts each row by columns and sums duplicates.
    fn sort_and_merge(&mut self, rows: usize) {
        let (mut end, mut begin) = (0, 0);
        for row in 0..rows {
            let last = self.starts[row + 1] as usize;
            self.sort_row(begin, last);
            let first = end;
            for k in begin..last {
                let (column, block) = (self.columns[k], self.blocks[k]);
                if end > first && self.columns[end - 1] == column {
                    self.blocks[end - 1] += block;
                } else {
                    (self.columns[end], self.blocks[end]) = (column, block);
                    end += 1;
                }
            }
            begin = last;
            self.starts[row + 1] = end as u32;
        }
        self.columns.truncate(end);
        self.blocks.truncate(end);
    }

    /// Insertion sort: rows are short and mostly sorted already, and it is stable.
    fn sort_row(&mut self, begin: usize, end: usize) {
        for k in begin + 1..end {
            let mut at = k;
            while at > begin && self.columns[at - 1] > self.columns[at] {
                self.columns.swap(at - 1, at);
                self.blocks.swap(at - 1, at);
                at -= 1;
            }
        }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.columns.clear();
        self.blocks.clear();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The columns and blocks of a row.
    pub fn row(&self, i: usize) -> (&[u32], &[DMat3]) {
        if self.starts.is_empty() {
            return (&[], &[]);
        }
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        (&self.columns[range.clone()], &self.blocks[range])
    }

    /// The product of a row with a vector.
    pub fn row_product(&self, i: usize, x: &[DVec3]) -> DVec3 {
        let (columns, blocks) = self.row(i);
        columns.iter().zip(blocks).fold(DVec3::ZERO, |sum, (&j, block)| sum + *block * x[j as usize])
    }
}
