//! A square symmetric sparse matrix of scalars, as read from a file.

use supple_core::parallel::prelude::*;

use supple_core::text::number::Short;

/// Tolerance for the difference of (i, j) and (j, i), as a fraction of the larger of themselves and their diagonals'
/// mean: rounding errors of an assembly in a different order.
const SYMMETRIC: f64 = 1e-10;

/// Rows per task.
const ROWS: usize = 1024;

/// A number at a row and column, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Triplet {
    pub row: u32,
    pub column: u32,
    pub value: f64,
}

/// A square matrix by rows, with ascending columns.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseMatrix {
    pub(super) starts: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f64>,
    /// Rows per block of the file; 1 if it has none.
    pub(super) file_block: usize,
}

/// An entry that differs from its mirror image.
pub(super) struct Asymmetry {
    pub row: u32,
    pub column: u32,
    here: f64,
    there: f64,
}

impl Asymmetry {
    /// The error's text, with indices counted from `first`.
    pub(super) fn problem(&self, first: u32) -> String {
        let (row, column) = (self.row + first, self.column + first);
        let (here, there) = (Short(self.here), Short(self.there));
        format!(
            "the matrix is not symmetric: entry ({row}, {column}) is {here}, but ({column}, {row}) is {there}; \
             only symmetric positive-definite systems can be solved"
        )
    }
}

impl SparseMatrix {
    /// Sorts entries into rows; duplicates are summed in order.
    pub(super) fn from_entries(rows: usize, entries: &[Triplet]) -> Self {
        let mut starts = vec![0; rows + 1];
        for entry in entries {
            starts[entry.row as usize + 1] += 1;
        }
        for i in 0..rows {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut sorted = vec![(0, 0.0); entries.len()];
        for entry in entries {
            sorted[next[entry.row as usize]] = (entry.column, entry.value);
            next[entry.row as usize] += 1;
        }
        Self::from_rows(&starts, &mut sorted)
    }

    /// Rows of (column, value) in any order.
    pub(super) fn from_rows(starts: &[usize], entries: &mut [(u32, f64)]) -> Self {
        let rows = starts.len() - 1;
        let mut matrix = Self {
            starts: Vec::with_capacity(rows + 1),
            columns: Vec::with_capacity(entries.len()),
            values: Vec::with_capacity(entries.len()),
            file_block: 1,
        };
        matrix.starts.push(0);
        for i in 0..rows {
            let row = &mut entries[starts[i]..starts[i + 1]];
            if !row.is_sorted_by_key(|entry| entry.0) {
                row.sort_by_key(|entry| entry.0);
            }
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                matrix.columns.push(same[0].0);
                matrix.values.push(same.iter().map(|entry| entry.1).sum());
            }
            matrix.starts.push(matrix.columns.len());
        }
        matrix
    }

    /// Rows and columns.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Stored entries.
    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    /// The columns and values of a row.
    pub(super) fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// An entry; 0 if none is stored.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        let (columns, values) = self.row(row);
        columns.binary_search(&(column as u32)).map_or(0.0, |at| values[at])
    }

    /// The first entry that differs from its mirror image by more than rounding.
    pub(super) fn first_asymmetry(&self) -> Option<Asymmetry> {
        let diagonal: Vec<f64> = (0..self.rows()).into_par_iter().map(|i| self.entry(i, i).abs()).collect();
        let in_row = |i: usize| {
            let (columns, values) = self.row(i);
            columns.iter().zip(values).find_map(|(&column, &here)| {
                let j = column as usize;
                let there = if i == j { here } else { self.entry(j, i) };
                let size = here.abs().max(there.abs()).max((diagonal[i] * diagonal[j]).sqrt());
                let differs = (here - there).abs() > SYMMETRIC * size;
                differs.then_some(Asymmetry { row: i as u32, column, here, there })
            })
        };
        (0..self.rows()).into_par_iter().with_min_len(ROWS).find_map_first(in_row)
    }

    /// `|b - A x| / |b|`; 0 if both are zero.
    pub fn relative_residual(&self, x: &[f64], b: &[f64]) -> f64 {
        let residual = |i: usize| {
            let (columns, values) = self.row(i);
            let product: f64 = columns.iter().zip(values).map(|(&j, value)| value * x[j as usize]).sum();
            b[i] - product
        };
        let residuals: Vec<f64> = (0..self.rows()).into_par_iter().with_min_len(ROWS).map(residual).collect();
        // In units of the largest number, so that squares of very small or large ones stay in range.
        let largest = b.iter().chain(&residuals).fold(0.0, |most: f64, value| most.max(value.abs()));
        let unit = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let norm = |vector: &[f64]| vector.iter().map(|value| (value / unit).powi(2)).sum::<f64>().sqrt();
        let (above, below) = (norm(&residuals), norm(b));
        if above == 0.0 { 0.0 } else { above / below }
    }
}
