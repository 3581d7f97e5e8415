//! Matrix Market files (Boisvert, Pozo, Remington 1996): `coordinate` for matrices, `array` for vectors, `real` or `integer`,
//! `general` or `symmetric`. Indices count from 1; arrays are stored column by column.

use std::path::Path;

use super::DenseArray;
use super::sparse::{SparseMatrix, Triplet};
use supple_core::FileError;
use supple_core::text::scan::{Scanner, shown};

/// Bytes of the shortest line of an entry: `1 1 1`, the last without its line end.
const SHORTEST_ENTRY: usize = 5;

struct MarketHeader {
    symmetric: bool,
}

/// Reads a matrix in coordinate form.
pub(super) fn read_matrix(bytes: &[u8], path: &Path) -> Result<SparseMatrix, FileError> {
    let mut scanner = Scanner::new(bytes, path).with_comment(b'%');
    let header = header(&mut scanner, "coordinate")?;
    let [rows, columns, count] = sizes(&mut scanner, ["rows", "columns", "entries"])?;
    if rows != columns {
        return Err(
            scanner.error(format!("the matrix has {rows} rows and {columns} columns; it must be square"))
        );
    }
    if rows == 0 {
        return Err(scanner.error("the matrix has no rows"));
    }
    let rest = scanner.remaining().len();
    if count > (rest + 1) / SHORTEST_ENTRY {
        return Err(scanner.error(format!(
            "{count} entries do not fit in the remaining {rest} bytes; is the file truncated?"
        )));
    }
    if rows > count {
        return Err(scanner.error(format!(
            "{rows} rows but only {count} entries: a row without its diagonal entry cannot be positive definite"
        )));
    }
    let mut entries = Vec::with_capacity(if header.symmetric { 2 * count } else { count });
    for _ in 0..count {
        let row = index(&mut scanner, "row", rows)?;
        let column = index(&mut scanner, "column", rows)?;
        let value = scanner.f64_in_line("the entry's value")?;
        end_of_line(&mut scanner)?;
        entries.push(Triplet { row, column, value });
        if header.symmetric && row != column {
            entries.push(Triplet { row: column, column: row, value });
        }
    }
    end_of_file(&mut scanner, count)?;
    let matrix = SparseMatrix::from_entries(rows, &entries);
    if let Some(asymmetry) = matrix.first_asymmetry() {
        let problem = asymmetry.problem(1);
        let line = line_of(bytes, path, asymmetry.row, asymmetry.column);
        return Err(line.map_or_else(
            || FileError::whole(path, problem.clone()),
            |line| FileError::line(path, line, problem.clone()),
        ));
    }
    Ok(matrix)
}

/// Reads a dense array.
pub(super) fn read_array(bytes: &[u8], path: &Path) -> Result<DenseArray, FileError> {
    let mut scanner = Scanner::new(bytes, path).with_comment(b'%');
    let header = header(&mut scanner, "array")?;
    if header.symmetric {
        return Err(scanner.error("a vector must be `general`, not `symmetric`"));
    }
    let [rows, columns] = sizes(&mut scanner, ["rows", "columns"])?;
    let rest = scanner.remaining().len();
    let count = rows.checked_mul(columns).filter(|&count| count <= rest.div_ceil(2));
    let Some(count) = count else {
        let problem = format!(
            "{rows} x {columns} numbers do not fit in the remaining {rest} bytes; is the file truncated?"
        );
        return Err(scanner.error(problem));
    };
    let mut values = vec![0.0; count];
    for (column, row) in (0..columns).flat_map(|c| (0..rows).map(move |r| (c, r))) {
        values[row * columns + column] = scanner.f64(&format!("number ({}, {})", row + 1, column + 1))?;
    }
    end_of_file(&mut scanner, count)?;
    Ok(DenseArray { shape: [rows, columns], values })
}

fn header(scanner: &mut Scanner<'_>, layout: &str) -> Result<MarketHeader, FileError> {
    let first = scanner.rest_of_line();
    let words: Vec<String> = String::from_utf8_lossy(&first[..first.len().min(200)])
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let [magic, object, found_layout, field, symmetry] = words.as_slice() else {
        let problem = "should be `%%MatrixMarket matrix LAYOUT FIELD SYMMETRY`";
        return Err(scanner.error(format!("{problem}, found {}", shown(first))));
    };
    let wrong = |what: &str, found: &str, known: &str| {
        let found = shown(found.as_bytes());
        Err(scanner.error(format!("{what} is {found}; only {known} is supported")))
    };
    if magic != "%%matrixmarket" || object != "matrix" {
        return wrong("the file's kind", &format!("{magic} {object}"), "`%%MatrixMarket matrix`");
    }
    if found_layout != layout {
        let other = if layout == "array" { "for a vector `array`" } else { "for a matrix `coordinate`" };
        return wrong("the layout", found_layout, other);
    }
    if !["real", "integer", "double"].contains(&field.as_str()) {
        return wrong("the field", field, "`real` and `integer`");
    }
    match symmetry.as_str() {
        "general" => Ok(MarketHeader { symmetric: false }),
        "symmetric" => Ok(MarketHeader { symmetric: true }),
        other => wrong("the symmetry", other, "`general` and `symmetric`"),
    }
}

fn sizes<const N: usize>(scanner: &mut Scanner<'_>, names: [&str; N]) -> Result<[usize; N], FileError> {
    let mut sizes = [0; N];
    for (size, name) in sizes.iter_mut().zip(names) {
        *size = scanner.u32(&format!("the number of {name}"))? as usize;
    }
    end_of_line(scanner)?;
    Ok(sizes)
}

/// An index of an entry, counted from 0.
fn index(scanner: &mut Scanner<'_>, what: &str, limit: usize) -> Result<u32, FileError> {
    let value = scanner.u32(&format!("the entry's {what}"))?;
    if value == 0 || value as usize > limit {
        return Err(scanner.error(format!("the entry's {what} is {value}; it must be 1 to {limit}")));
    }
    Ok(value - 1)
}

fn end_of_line(scanner: &mut Scanner<'_>) -> Result<(), FileError> {
    match scanner.token_in_line() {
        Some(token) => Err(scanner.error(format!("expected the end of the line, found {}", shown(token)))),
        None => Ok(()),
    }
}

fn end_of_file(scanner: &mut Scanner<'_>, count: usize) -> Result<(), FileError> {
    match scanner.token() {
        Some(token) => {
            Err(scanner.error(format!("found {} after the last of {count} numbers", shown(token))))
        }
        None => Ok(()),
    }
}

/// The line of an entry (counted from 0) in a file that has been read without error.
fn line_of(bytes: &[u8], path: &Path, row: u32, column: u32) -> Option<u64> {
    let mut scanner = Scanner::new(bytes, path).with_comment(b'%');
    header(&mut scanner, "coordinate").ok()?;
    sizes(&mut scanner, ["", "", ""]).ok()?;
    loop {
        let entry = [scanner.u32("").ok()?, scanner.u32("").ok()?];
        let line = scanner.line();
        scanner.f64_in_line("").ok()?;
        if entry == [row + 1, column + 1] || entry == [column + 1, row + 1] {
            return Some(line);
        }
    }
}
