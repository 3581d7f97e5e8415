//! Sparse matrices and systems from arrays in the caller's memory, in the layout of SciPy's CSR.

use super::SparseMatrix;
use super::sparse::Triplet;
use crate::LinearError;

/// A matrix by rows, like SciPy's CSR: row `i` has the columns `columns[starts[i]..starts[i + 1]]`.
#[derive(Debug, Clone, Copy)]
pub struct CsrArrays<'a> {
    /// The start of each row, and the end of the last: one more than there are rows.
    pub starts: &'a [i64],
    /// Columns from 0, in any order; duplicates are summed.
    pub columns: &'a [i64],
    /// The numbers.
    pub values: &'a [f64],
    /// Rows per block of its original blocks; 1 if it has none.
    pub block: usize,
}

impl SparseMatrix {
    /// A square symmetric matrix of `rows` rows from triplets `(row, column, value)`, counted from 0, in any order; those at the
    /// same place are added. Both halves must be given. An error names the row and column, the value and what it must be.
    pub fn from_triplets(
        rows: usize,
        triplets: impl IntoIterator<Item = (u32, u32, f64)>,
    ) -> Result<Self, LinearError> {
        let checked = |(row, column, value): (u32, u32, f64)| {
            if row as usize >= rows || column as usize >= rows {
                return Err(LinearError::InvalidMatrix(format!(
                    "entry ({row}, {column}) lies outside a matrix of {rows} rows, numbered from 0"
                )));
            }
            if !value.is_finite() {
                return Err(not_finite(row as usize, i64::from(column), value));
            }
            Ok(Triplet { row, column, value })
        };
        let entries: Vec<Triplet> = triplets.into_iter().map(checked).collect::<Result<_, _>>()?;
        if rows == 0 {
            return Err(LinearError::InvalidMatrix("the matrix has no rows".to_owned()));
        }
        Self::from_entries(rows, &entries).symmetric()
    }

    /// Takes over a square symmetric matrix. An error names the row and column, the value and what it must be.
    pub fn from_csr(arrays: &CsrArrays<'_>) -> Result<Self, LinearError> {
        let rows = arrays.starts.len().saturating_sub(1);
        let starts = arrays.checked_starts()?;
        let mut entries = Vec::with_capacity(arrays.columns.len());
        for (at, (&column, &value)) in arrays.columns.iter().zip(arrays.values).enumerate() {
            let row = || starts.partition_point(|&start| start <= at) - 1;
            if column < 0 || column as usize >= rows {
                return Err(LinearError::InvalidMatrix(format!(
                    "row {} has an entry in column {column}; the matrix has {rows} columns, numbered from 0",
                    row()
                )));
            }
            if !value.is_finite() {
                return Err(not_finite(row(), column, value));
            }
            entries.push((column as u32, value));
        }
        let matrix = Self { file_block: arrays.block, ..Self::from_rows(&starts, &mut entries) };
        matrix.symmetric()
    }

    fn symmetric(self) -> Result<Self, LinearError> {
        match self.first_asymmetry() {
            Some(asymmetry) => Err(LinearError::InvalidMatrix(asymmetry.problem(0))),
            None => Ok(self),
        }
    }
}

fn not_finite(row: usize, column: i64, value: f64) -> LinearError {
    LinearError::InvalidMatrix(format!("entry ({row}, {column}) is {value}; every entry must be finite"))
}

impl CsrArrays<'_> {
    fn checked_starts(&self) -> Result<Vec<usize>, LinearError> {
        let (columns, values) = (self.columns.len(), self.values.len());
        let ends = (self.starts.first().copied(), self.starts.last().copied());
        if self.starts.len() < 2 || ends != (Some(0), Some(columns as i64)) || columns != values {
            return Err(LinearError::InvalidMatrix(format!(
                "the row starts must begin with 0 and end with the number of entries, {columns} columns and {values} values"
            )));
        }
        if self.starts.len() > u32::MAX as usize {
            return Err(LinearError::InvalidMatrix(format!(
                "{} rows exceed the maximum of {}",
                self.starts.len() - 1,
                u32::MAX - 1
            )));
        }
        if let Some(row) = self.starts.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(LinearError::InvalidMatrix(format!(
                "the start of row {} is {}, before that of row {row}, {}",
                row + 1,
                self.starts[row + 1],
                self.starts[row]
            )));
        }
        Ok(self.starts.iter().map(|&start| start as usize).collect())
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::super::System;
    use super::*;

    const LAPLACE: CsrArrays<'_> = CsrArrays {
        starts: &[0, 2, 5, 7],
        columns: &[0, 1, 0, 1, 2, 1, 2],
        values: &[2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0],
        block: 1,
    };

    fn refused(arrays: CsrArrays<'_>, words: &[&str]) {
        let problem = SparseMatrix::from_csr(&arrays).unwrap_err().to_string();
        for word in words {
            assert!(problem.contains(word), "`{word}` is not in: {problem}");
        }
    }

    #[test]
    fn entries_stand_where_the_arrays_say() {
        let matrix = SparseMatrix::from_csr(&LAPLACE).unwrap();
        assert_eq!((matrix.rows(), matrix.entries()), (3, 7));
        assert_eq!((matrix.entry(1, 0), matrix.entry(0, 2), matrix.entry(2, 2)), (-1.0, 0.0, 2.0));
    }

    #[test]
    fn what_a_solver_could_not_take_is_refused_by_row_and_column() {
        refused(CsrArrays { starts: &[0, 2, 5, 6], ..LAPLACE }, &["row starts", "7 columns"]);
        refused(CsrArrays { starts: &[0, 5, 2, 7], ..LAPLACE }, &["start of row 2 is 2", "row 1"]);
        refused(CsrArrays { columns: &[0, 1, 0, 1, 3, 1, 2], ..LAPLACE }, &["row 1", "column 3"]);
        refused(CsrArrays { columns: &[0, -1, 0, 1, 2, 1, 2], ..LAPLACE }, &["row 0", "column -1"]);
        let nan = &[2.0, -1.0, -1.0, f64::NAN, -1.0, -1.0, 2.0];
        refused(CsrArrays { values: nan, ..LAPLACE }, &["(1, 1) is NaN", "finite"]);
        let skew = &[2.0, -1.0, -1.0, 2.0, -1.0, -3.0, 2.0];
        refused(CsrArrays { values: skew, ..LAPLACE }, &["not symmetric", "(1, 2)"]);
        refused(CsrArrays { starts: &[], columns: &[], values: &[], block: 1 }, &["row starts"]);
    }

    #[test]
    fn triplets_make_the_matrix_of_the_arrays() {
        let halves = [(0, 0, 2.0), (1, 1, 1.5), (2, 2, 2.0), (0, 1, -1.0), (2, 1, -1.0), (1, 1, 0.5)];
        let mirrored = [(1, 0, -1.0), (1, 2, -1.0)];
        let matrix = SparseMatrix::from_triplets(3, halves.into_iter().chain(mirrored)).unwrap();
        assert_eq!(matrix, SparseMatrix::from_csr(&LAPLACE).unwrap());
        for (rows, triplet, word) in
            [(3, (3, 0, 1.0), "(3, 0)"), (1, (0, 0, f64::NAN), "finite"), (2, (0, 1, 1.0), "symmetric")]
        {
            let problem = SparseMatrix::from_triplets(rows, [triplet]).unwrap_err().to_string();
            assert!(problem.contains(word), "{problem}");
        }
        assert!(SparseMatrix::from_triplets(0, []).is_err());
    }

    #[test]
    fn positions_must_fit_the_matrix() {
        let matrix = SparseMatrix::from_csr(&LAPLACE).unwrap();
        assert!(System::with_points(&matrix, Some(vec![DVec3::ZERO])).is_ok(), "three unknowns per node");
        assert!(System::with_points(&matrix, Some(vec![DVec3::X, DVec3::Y, DVec3::Z])).is_ok());
        let problem = System::with_points(&matrix, Some(vec![DVec3::ZERO; 2])).err().unwrap().to_string();
        assert!(problem.contains("2 positions") && problem.contains("3 rows"), "{problem}");
        let lost = vec![DVec3::X, DVec3::NAN, DVec3::Z];
        let problem = System::with_points(&matrix, Some(lost)).err().unwrap().to_string();
        assert!(problem.contains("position 1"), "{problem}");
    }
}
