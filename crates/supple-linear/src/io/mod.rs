//! Reading and writing users' linear systems: Matrix Market `.mtx`, SciPy `.npz`, NumPy `.npy`. Errors give the file
//! and the line, byte or array element of the problem; no reader allocates from a count that it has not checked against
//! the file size.

mod arrays;
mod market;
mod npy;
mod npz;
mod sparse;
mod system;
mod zip;

use std::path::Path;

use glam::DVec3;
use supple_core::FileError;

pub use arrays::CsrArrays;
pub use npy::write_npy;
pub use sparse::SparseMatrix;
pub use system::System;

/// Numbers of a file, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseArray {
    /// Rows and columns; a plain vector is one column.
    pub shape: [usize; 2],
    /// `rows * columns` finite numbers.
    pub values: Vec<f64>,
}

/// Reads a matrix: `.mtx` (coordinate) or `.npz` (CSR, CSC or BSR as SciPy saves them).
pub fn load_matrix(path: impl AsRef<Path>) -> Result<SparseMatrix, FileError> {
    let path = path.as_ref();
    check_extension(path, &["mtx", "npz"], "a matrix")?;
    read_matrix(&load(path)?, path)
}

/// Reads a matrix from the bytes of a file; `path` determines the format and appears in errors.
pub fn read_matrix(bytes: &[u8], path: &Path) -> Result<SparseMatrix, FileError> {
    match check_extension(path, &["mtx", "npz"], "a matrix")?.as_str() {
        "npz" => npz::read(bytes, path),
        _ => market::read_matrix(bytes, path),
    }
}

/// Reads the positions of the unknowns of a matrix of `rows` rows, three or one unknown each: `.mtx` (array) or `.npy`.
pub fn load_positions(path: impl AsRef<Path>, rows: usize) -> Result<Vec<DVec3>, FileError> {
    let path = path.as_ref();
    system::points(&load_array(path)?, rows, path)
}

/// Reads a vector or a list of points: `.mtx` (array) or `.npy`.
pub fn load_array(path: impl AsRef<Path>) -> Result<DenseArray, FileError> {
    let path = path.as_ref();
    check_extension(path, &["mtx", "npy"], "a vector")?;
    read_array(&load(path)?, path)
}

/// Reads a vector from the bytes of a file; `path` determines the format and appears in errors.
pub fn read_array(bytes: &[u8], path: &Path) -> Result<DenseArray, FileError> {
    match check_extension(path, &["mtx", "npy"], "a vector")?.as_str() {
        "npy" => npy::read_dense(bytes, path),
        _ => market::read_array(bytes, path),
    }
}

fn load(path: &Path) -> Result<Vec<u8>, FileError> {
    let metadata = std::fs::metadata(path).map_err(|error| FileError::io(path, "open", &error))?;
    if metadata.is_dir() {
        return Err(FileError::whole(path, "is a folder; name a file inside it"));
    }
    std::fs::read(path).map_err(|error| FileError::io(path, "read", &error))
}

fn check_extension(path: &Path, known: &[&str], what: &str) -> Result<String, FileError> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if known.contains(&extension.as_str()) {
        return Ok(extension);
    }
    let words: Vec<String> = known.iter().map(|word| format!(".{word}")).collect();
    Err(FileError::whole(path, format!("{what} must be in the format {}", words.join(" or "))))
}
