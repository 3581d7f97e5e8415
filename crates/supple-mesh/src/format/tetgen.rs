//! TetGen's `.node` and `.ele` pair (TetGen manual, "File formats"), and with triangles the same pair of Shewchuk's
//! Triangle. Rows are numbered from 0 or 1; `#` starts a comment.

use std::path::{Path, PathBuf};

use glam::DVec3;

use super::LoadedMesh;
use super::cells::{CellShape, Cells, region_from_float};
use super::numbers::{check_text_count, to_integer};
use supple_core::FileError;
use supple_core::text::scan::Scanner;

/// Reads the pair, given the bytes of one of the two files; the other is read from the same folder.
pub fn read_tetgen_pair_of(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let is_ele = extension.eq_ignore_ascii_case("ele");
    let other_extension = if is_ele { "node" } else { "ele" };
    let other = match extension.chars().any(|c| c.is_ascii_uppercase()) {
        true => path.with_extension(other_extension.to_ascii_uppercase()),
        false => path.with_extension(other_extension),
    };
    let other_bytes = read_other(path, &other)?;
    match is_ele {
        true => read_tetgen(&other_bytes, &other, bytes, path),
        false => read_tetgen(bytes, path, &other_bytes, &other),
    }
}

fn read_other(path: &Path, other: &PathBuf) -> Result<Vec<u8>, FileError> {
    std::fs::read(other).map_err(|error| {
        let problem =
            format!("a TetGen mesh is a pair of files, and {} cannot be read: {error}", other.display());
        FileError::whole(path, problem)
    })
}

/// Reads a mesh from the bytes of a `.node` and an `.ele` file; each path appears in errors about its file. The
/// first attribute of an element becomes its region.
pub fn read_tetgen(
    node_bytes: &[u8],
    node_path: &Path,
    ele_bytes: &[u8],
    ele_path: &Path,
) -> Result<LoadedMesh, FileError> {
    let mut cells = Cells::default();
    let first = nodes(TetgenRows::new(node_bytes, node_path), &mut cells)?;
    elements(TetgenRows::new(ele_bytes, ele_path), first, &mut cells)?;
    cells.finish(ele_path, |region| region.to_string())
}

/// `count dimension attributes markers`, then `number x y z attributes… marker` per node. Returns the first number.
fn nodes(mut rows: TetgenRows, cells: &mut Cells) -> Result<i64, FileError> {
    let [count, dimension, attributes, markers] = rows.header("the number of nodes", [0, 3, 0, 0])?;
    if !(2..=3).contains(&dimension) {
        return Err(rows.scanner.error(format!("the dimension should be 3 (or 2), found {dimension}")));
    }
    let others = rows.others(attributes)? + rows.others(markers)?;
    let count = check_text_count(&rows.scanner, count, "the number of nodes", 2 * (1 + dimension as usize))?;
    cells.positions.reserve_exact(count);
    let mut first = 0;
    for i in 0..count as i64 {
        let number = rows.start("a node")?;
        if i == 0 && (0..=1).contains(&number) {
            first = number;
        }
        if number != first + i {
            let expected = if i == 0 { "0 or 1".into() } else { (first + i).to_string() };
            return Err(rows.scanner.error(format!("expected node {expected}, found node {number}")));
        }
        let mut position = DVec3::ZERO;
        for (axis, what) in ["x", "y", "z"].into_iter().enumerate().take(dimension as usize) {
            position[axis] = rows.scanner.f64_in_line(what)?;
        }
        for _ in 0..others {
            rows.scanner.f64_in_line("an attribute or marker")?;
        }
        rows.end()?;
        cells.positions.push(position);
    }
    rows.finish()?;
    Ok(first)
}

/// `count nodes attributes`, then `number nodes… attributes…` per element.
fn elements(mut rows: TetgenRows, first: i64, cells: &mut Cells) -> Result<(), FileError> {
    let [count, nodes, attributes] = rows.header("the number of elements", [0, 4, 0])?;
    let (shape, nodes) = match nodes {
        3 | 6 => (CellShape::Triangle, nodes as usize),
        4 | 10 => (CellShape::Tet, nodes as usize),
        _ => {
            let problem =
                format!("an element should have 4 or 10 nodes (3 or 6 for triangles), found {nodes}");
            return Err(rows.scanner.error(problem));
        }
    };
    let attributes = rows.others(attributes)?;
    let count = check_text_count(&rows.scanner, count, "the number of elements", 2 * (1 + nodes))?;
    let mut corners = Vec::with_capacity(nodes);
    let mut fractional = 0;
    for _ in 0..count {
        rows.start("an element")?;
        corners.clear();
        for _ in 0..nodes {
            corners.push(rows.node(first, cells.positions.len())?);
        }
        let mut region = 0;
        for i in 0..attributes {
            let value = rows.scanner.f64_in_line("an attribute")?;
            if i == 0 {
                region = region_from_float(value).unwrap_or_else(|| {
                    fractional += 1;
                    0
                });
            }
        }
        rows.end()?;
        cells.push(shape, &corners, region);
    }
    if fractional > 0 {
        cells.notes.push(format!("region attributes that are not integers, treated as 0: {fractional}"));
    }
    rows.finish()
}

/// The lines of a file that are neither blank nor comments.
struct TetgenRows<'a> {
    scanner: Scanner<'a>,
}

impl<'a> TetgenRows<'a> {
    fn new(bytes: &'a [u8], path: &'a Path) -> Self {
        Self { scanner: Scanner::new(bytes, path).with_comment(b'#') }
    }

    /// The integers of the first row; missing ones at its end have defaults.
    fn header<const N: usize>(&mut self, what: &str, defaults: [i64; N]) -> Result<[i64; N], FileError> {
        let mut numbers = defaults;
        numbers[0] = self.start(what)?;
        for number in &mut numbers[1..] {
            let Some(token) = self.scanner.token_in_line() else { break };
            *number = to_integer(&self.scanner, token, "a number of the header")?;
        }
        self.end()?;
        Ok(numbers)
    }

    /// The first number of the next row.
    fn start(&mut self, what: &str) -> Result<i64, FileError> {
        match self.scanner.token() {
            Some(token) => to_integer(&self.scanner, token, what),
            None => Err(self.scanner.ended(what)),
        }
    }

    /// The number of attributes or markers per row.
    fn others(&self, count: i64) -> Result<usize, FileError> {
        check_text_count(&self.scanner, count, "the number of attributes or markers", 2)
    }

    fn node(&mut self, first: i64, count: usize) -> Result<u32, FileError> {
        let Some(token) = self.scanner.token_in_line() else {
            return Err(self.scanner.error("expected a node of the element, but the line ends"));
        };
        let node = to_integer(&self.scanner, token, "a node of the element")?;
        match usize::try_from(node.saturating_sub(first)) {
            Ok(index) if index < count => Ok(index as u32),
            _ => {
                let last = first + count as i64 - 1;
                Err(self
                    .scanner
                    .error(format!("the element uses node {node}, but the nodes are {first} to {last}")))
            }
        }
    }

    fn end(&mut self) -> Result<(), FileError> {
        match self.scanner.line_is_done() {
            true => Ok(()),
            false => Err(self.scanner.error("the line has more numbers than the header declares")),
        }
    }

    fn finish(&mut self) -> Result<(), FileError> {
        match self.scanner.token() {
            None => Ok(()),
            Some(_) => Err(self.scanner.error("the file has more rows than the header declares")),
        }
    }
}
