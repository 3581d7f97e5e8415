//! Sparse matrices as `scipy.sparse.save_npz` writes them: a ZIP archive of the arrays `format`, `shape`, `indptr`,
//! `indices` and `data`. CSR, BSR with square blocks, and CSC, which for a symmetric matrix is the same as CSR.
//! Without `format` the shape of `data` decides: three dimensions are blocks.

use std::path::Path;

use super::npy::{self, NpyKind, shown_shape};
use super::sparse::SparseMatrix;
use super::zip;
use supple_core::FileError;
use supple_core::text::number::Short;

/// Reads a matrix.
pub(super) fn read(bytes: &[u8], path: &Path) -> Result<SparseMatrix, FileError> {
    let archive = Archive { bytes, path, members: zip::members(bytes).map_err(|error| at(path, error))? };
    let format = archive.text("format")?;
    if format.as_deref().is_some_and(|format| !["csr", "csc", "bsr"].contains(&format)) {
        let format = format.unwrap_or_default();
        let remedy = "save it as CSR: `scipy.sparse.save_npz(path, matrix.tocsr())`";
        return Err(archive.wrong("format", &format!("is `{}`; {remedy}", format.escape_debug())));
    }
    let starts = archive.counts("indptr")?;
    let columns = archive.counts("indices")?;
    let data = archive.array("data")?;
    let block = archive.block(&data.shape, format.as_deref())?;
    archive.check_rows(&starts, &columns, data.shape.first().copied().unwrap_or(0))?;
    let rows = block * (starts.len() - 1);
    if rows >= u32::MAX as usize {
        return Err(archive.wrong("indptr", &format!("{rows} rows exceed the maximum of {}", u32::MAX)));
    }
    archive.check_shape(rows)?;
    if let Some(at) = data.values.iter().position(|value| !value.is_finite()) {
        let problem = format!("number {at} is {}, which is not finite", data.values[at]);
        return Err(archive.wrong("data", &problem));
    }
    let matrix = expand(&starts, &columns, &data.values, block);
    match matrix.first_asymmetry() {
        Some(asymmetry) => Err(FileError::whole(path, asymmetry.problem(0))),
        None => Ok(matrix),
    }
}

fn at(path: &Path, (byte, problem): (usize, String)) -> FileError {
    FileError::byte(path, byte as u64, problem)
}

/// Blocks to scalars, row by row.
fn expand(starts: &[u32], columns: &[u32], values: &[f64], block: usize) -> SparseMatrix {
    let mut scalar_starts = Vec::with_capacity(block * (starts.len() - 1) + 1);
    let mut entries = Vec::with_capacity(values.len());
    scalar_starts.push(0);
    for row in starts.windows(2) {
        for r in 0..block {
            let range = row[0] as usize..row[1] as usize;
            for (k, &column) in range.clone().zip(&columns[range]) {
                let from = (k * block + r) * block;
                let first = column * block as u32;
                entries.extend((first..).zip(values[from..from + block].iter().copied()));
            }
            scalar_starts.push(entries.len());
        }
    }
    SparseMatrix { file_block: block, ..SparseMatrix::from_rows(&scalar_starts, &mut entries) }
}

struct Archive<'a> {
    bytes: &'a [u8],
    path: &'a Path,
    members: Vec<zip::Member>,
}

struct NpzNumbers {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Archive<'_> {
    fn wrong(&self, array: &str, problem: &str) -> FileError {
        FileError::whole(self.path, format!("array `{array}`: {problem}"))
    }

    fn unpacked(&self, name: &str) -> Result<Option<Vec<u8>>, FileError> {
        let member = self.members.iter().find(|member| member.name.strip_suffix(".npy") == Some(name));
        member.map(|member| member.unpack(self.bytes).map_err(|error| at(self.path, error))).transpose()
    }

    fn text(&self, name: &str) -> Result<Option<String>, FileError> {
        let Some(bytes) = self.unpacked(name)? else { return Ok(None) };
        let array = npy::parse(&bytes).map_err(|(_, problem)| self.wrong(name, &problem))?;
        if array.kind() != NpyKind::Text {
            return Err(self.wrong(name, "should be text"));
        }
        Ok(Some(array.text()))
    }

    fn array(&self, name: &str) -> Result<NpzNumbers, FileError> {
        let Some(bytes) = self.unpacked(name)? else {
            let there: Vec<&str> = self.members.iter().map(|member| member.name.as_str()).collect();
            let there = there.join(", ").escape_debug().to_string();
            let problem =
                format!("is missing; the file contains {there}. Save it with `scipy.sparse.save_npz`");
            return Err(self.wrong(name, &problem));
        };
        let array = npy::parse(&bytes)
            .map_err(|(byte, problem)| self.wrong(name, &format!("byte {byte}: {problem}")))?;
        if array.kind() == NpyKind::Text || array.is_fortran() {
            return Err(self.wrong(name, "should be numbers in C order"));
        }
        Ok(NpzNumbers { shape: array.shape.clone(), values: array.numbers() })
    }

    /// Non-negative integers.
    fn counts(&self, name: &str) -> Result<Vec<u32>, FileError> {
        let array = self.array(name)?;
        let whole = |(at, &value): (usize, &f64)| {
            let fine = value >= 0.0 && value < f64::from(u32::MAX) && value.fract() == 0.0;
            let problem = || {
                let value = Short(value);
                format!("number {at} is {value}; it must be an integer from 0 to {}", u32::MAX - 1)
            };
            if fine { Ok(value as u32) } else { Err(self.wrong(name, &problem())) }
        };
        array.values.iter().enumerate().map(whole).collect()
    }

    /// Rows per block.
    fn block(&self, shape: &[usize], format: Option<&str>) -> Result<usize, FileError> {
        match (shape, format) {
            ([_], None | Some("csr" | "csc")) => Ok(1),
            (&[_, rows, columns], None | Some("bsr")) if rows == columns && (1..=64).contains(&rows) => {
                Ok(rows)
            }
            _ => {
                let shape = shown_shape(shape);
                Err(self
                    .wrong("data", &format!("has shape {shape}; it must be (n) for CSR, (n, 3, 3) for BSR")))
            }
        }
    }

    fn check_rows(&self, starts: &[u32], columns: &[u32], blocks: usize) -> Result<(), FileError> {
        if starts == [0] && columns.is_empty() && blocks == 0 {
            return Err(FileError::whole(self.path, "the matrix is empty: it has no rows"));
        }
        let ends = (starts.first(), starts.last());
        if starts.len() < 2 || ends != (Some(&0), Some(&(columns.len() as u32))) || columns.len() != blocks {
            let problem = format!(
                "should begin with 0 and end with the number of entries, {} in `indices` and {blocks} in `data`",
                columns.len()
            );
            return Err(self.wrong("indptr", &problem));
        }
        if let Some(at) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(self.wrong(
                "indptr",
                &format!("number {} is {}, less than the previous one", at + 1, starts[at + 1]),
            ));
        }
        let rows = starts.len() - 1;
        if let Some(at) = columns.iter().position(|&column| column as usize >= rows) {
            let problem = format!(
                "number {at} is {}; the matrix has {rows} block columns, counted from 0",
                columns[at]
            );
            return Err(self.wrong("indices", &problem));
        }
        Ok(())
    }

    fn check_shape(&self, rows: usize) -> Result<(), FileError> {
        if !self.members.iter().any(|member| member.name == "shape.npy") {
            return Ok(());
        }
        let shape = self.counts("shape")?;
        if shape.len() != 2 || shape[0] != shape[1] || shape[0] as usize != rows {
            let found = shown_shape(&shape.iter().map(|&side| side as usize).collect::<Vec<_>>());
            return Err(self.wrong(
                "shape",
                &format!("is {found}; the matrix must be square, and `indptr` has {rows} rows"),
            ));
        }
        Ok(())
    }
}
