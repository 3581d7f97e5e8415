//! Legacy VTK files (`.vtk`), text and binary (always big-endian): unstructured grids and polygonal data, with the
//! classic cell lists and those of version 5 (offsets and connectivity). After "VTK File Formats", legacy part.

use std::path::Path;

use glam::DVec3;

use super::LoadedMesh;
use super::binary::ByteOrder;
use super::binary::NumberType::{self, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use super::cells::Cells;
use super::numbers::NumberReader;
use super::vtk_cells::{self, POLYGON, POLYLINE, QUAD, STRIP, TRIANGLE, VERTICES};
use supple_core::FileError;
use supple_core::text::scan::{Scanner, parse_i64, shown};

/// Reads a legacy VTK file: tetrahedra, or polygons if it has none. Point and cell data are not read.
pub fn read_vtk(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let mut header = Scanner::new(bytes, path);
    let new_lists = version(&mut header)? >= 5;
    // The title may be blank, so lines are counted here, not searched.
    let title = header.next_line() && header.next_line();
    let kind = header.rest_of_line();
    let file = match kind.to_ascii_uppercase().as_slice() {
        _ if !title => return Err(header.ended("ASCII or BINARY")),
        b"ASCII" => NumberReader::Text(header),
        b"BINARY" => {
            NumberReader::binary(bytes, bytes.len() - header.remaining().len(), path, ByteOrder::Big)
        }
        _ => return Err(header.error(format!("expected ASCII or BINARY, found {}", shown(kind)))),
    };
    let reader = VtkReader { file, new_lists, cells: Cells::default(), lists: None };
    reader.read(path)
}

/// The major version in the first line.
fn version(header: &mut Scanner) -> Result<i64, FileError> {
    let line = header.rest_of_line();
    let major = line
        .strip_prefix(b"# vtk DataFile Version")
        .and_then(|version| version.trim_ascii().split(|&b| b == b'.').next())
        .and_then(parse_i64);
    major.ok_or_else(|| {
        header.error(format!("a VTK file starts with `# vtk DataFile Version`, found {}", shown(line)))
    })
}

struct VtkReader<'a> {
    file: NumberReader<'a>,
    new_lists: bool,
    cells: Cells,
    /// The cells of an unstructured grid until their types are known.
    lists: Option<VtkCellLists>,
}

/// Lists of nodes, in sequence.
struct VtkCellLists {
    ends: Vec<usize>,
    nodes: Vec<u32>,
}

impl VtkCellLists {
    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.nodes[start..end])
    }
}

impl VtkReader<'_> {
    fn read(mut self, path: &Path) -> Result<LoadedMesh, FileError> {
        self.dataset()?;
        while let Some(line) = self.file.line() {
            let words = words(line);
            match words[0].as_slice() {
                b"POINTS" => self.points(&words)?,
                b"CELLS" => self.lists = Some(self.lists(&words)?),
                b"CELL_TYPES" => self.cell_types(&words)?,
                b"VERTICES" => self.polygonal(&words, VERTICES)?,
                b"LINES" => self.polygonal(&words, POLYLINE)?,
                b"POLYGONS" => self.polygonal(&words, POLYGON)?,
                b"TRIANGLE_STRIPS" => self.polygonal(&words, STRIP)?,
                b"FIELD" => self.skip_field(&words)?,
                b"METADATA" => self.file.skip_past_blank_line(),
                b"CELL_DATA" | b"POINT_DATA" => break,
                _ => return Err(self.unknown_keyword(line)),
            }
        }
        if self.lists.is_some() {
            return Err(self.file.ended("CELL_TYPES"));
        }
        self.cells.finish(path, |region| region.to_string())
    }

    fn dataset(&mut self) -> Result<(), FileError> {
        let line = self.file.expect_line("DATASET")?;
        match words(line).iter().map(Vec::as_slice).collect::<Vec<_>>().as_slice() {
            [b"DATASET", b"UNSTRUCTURED_GRID" | b"POLYDATA"] => Ok(()),
            [b"DATASET", _] => Err(self.file.error(format!(
                "{} contains neither tetrahedra nor polygons; save it as UNSTRUCTURED_GRID or POLYDATA",
                shown(line)
            ))),
            _ => Err(self.file.error(format!("expected DATASET UNSTRUCTURED_GRID, found {}", shown(line)))),
        }
    }

    fn unknown_keyword(&self, line: &[u8]) -> FileError {
        let found = shown(line);
        self.file.error(format!(
            "expected a keyword such as POINTS or CELLS, found {found}; are the preceding counts correct?"
        ))
    }

    /// `POINTS n type`, then the coordinates.
    fn points(&mut self, words: &[Vec<u8>]) -> Result<(), FileError> {
        if !self.cells.positions.is_empty() {
            return Err(self.file.error("a duplicate POINTS section; only one is allowed"));
        }
        let kind = self.number_type(words.get(2))?;
        if !kind.is_float() {
            return Err(self.file.error("POINTS should be float or double; save the mesh with one of them"));
        }
        let count = self.header_count(words, 1, "the number of points", 6, 3 * kind.size())?;
        self.cells.positions.reserve_exact(count);
        for _ in 0..count {
            let mut coordinate = |what| self.file.float(kind, what);
            let position = DVec3::new(coordinate("x")?, coordinate("y")?, coordinate("z")?);
            self.cells.positions.push(position);
        }
        Ok(())
    }

    fn lists(&mut self, words: &[Vec<u8>]) -> Result<VtkCellLists, FileError> {
        if self.new_lists { self.offset_lists(words) } else { self.counted_lists(words) }
    }

    /// Before version 5: `CELLS n size`, then per cell its number of nodes and its nodes.
    fn counted_lists(&mut self, words: &[Vec<u8>]) -> Result<VtkCellLists, FileError> {
        let count = self.header_count(words, 1, "the number of cells", 2, 4)?;
        let size = self.header_count(words, 2, "the size of the cell list", 2, 4)?;
        let mut lists = VtkCellLists { ends: Vec::with_capacity(count), nodes: Vec::new() };
        for _ in 0..count {
            let nodes = self.file.count(I32, "a cell's number of nodes", 2, 4)?;
            for _ in 0..nodes {
                lists.nodes.push(self.node(I32)?);
            }
            lists.ends.push(lists.nodes.len());
        }
        if lists.nodes.len() + count != size {
            let used = lists.nodes.len() + count;
            return Err(self
                .file
                .error(format!("the cell list has {used} numbers, but the header declares {size}")));
        }
        Ok(lists)
    }

    /// Since version 5: `CELLS n+1 size`, then the start of each cell and the end of the last, then all nodes.
    fn offset_lists(&mut self, words: &[Vec<u8>]) -> Result<VtkCellLists, FileError> {
        let count = self.header_count(words, 1, "the number of offsets", 2, 1)?;
        let size = self.header_count(words, 2, "the number of cell nodes", 2, 1)?;
        let kind = self.array_header(b"OFFSETS")?;
        let mut lists = VtkCellLists { ends: Vec::with_capacity(count), nodes: Vec::with_capacity(size) };
        let mut last = 0;
        for i in 0..count {
            let offset = self.file.integer(kind, "an offset")?;
            if offset < last || offset > size as i64 || (i == 0 && offset != 0) {
                return Err(self.file.error(format!("offset {offset} should lie between {last} and {size}")));
            }
            last = offset;
            lists.ends.extend((i > 0).then_some(offset as usize));
        }
        if last != size as i64 {
            return Err(self
                .file
                .error(format!("the offsets end with {last}, but the header declares {size} nodes")));
        }
        let kind = self.array_header(b"CONNECTIVITY")?;
        for _ in 0..size {
            lists.nodes.push(self.node(kind)?);
        }
        Ok(lists)
    }

    /// The line `NAME type`.
    fn array_header(&mut self, name: &[u8]) -> Result<NumberType, FileError> {
        let name_text = String::from_utf8_lossy(name);
        let line = self.file.expect_line(&name_text)?;
        match words(line).as_slice() {
            [found, kind] if found == name => self.number_type(Some(kind)),
            _ => {
                Err(self.file.error(format!("expected {name_text} and a number type, found {}", shown(line))))
            }
        }
    }

    fn node(&mut self, kind: NumberType) -> Result<u32, FileError> {
        let node = self.file.integer(kind, "a node of a cell")?;
        let count = self.cells.positions.len();
        match usize::try_from(node) {
            Ok(index) if index < count => Ok(index as u32),
            _ => Err(self
                .file
                .error(format!("the cell uses point {node}, but there are {count} points before it"))),
        }
    }

    /// `CELL_TYPES n`, then a type per cell.
    fn cell_types(&mut self, words: &[Vec<u8>]) -> Result<(), FileError> {
        let count = self.header_count(words, 1, "the number of cell types", 2, 4)?;
        let Some(lists) = self.lists.take() else { return Err(self.file.error("CELL_TYPES without CELLS")) };
        if count != lists.ends.len() {
            return Err(self.file.error(format!("{count} cell types for {} cells", lists.ends.len())));
        }
        for nodes in lists.iter() {
            let vtk_type = self.file.integer(I32, "a cell type")?;
            self.push(vtk_type, nodes)?;
        }
        Ok(())
    }

    /// The lists of polygonal data, whose keyword determines the kind of cell.
    fn polygonal(&mut self, words: &[Vec<u8>], vtk_type: i64) -> Result<(), FileError> {
        for nodes in self.lists(words)?.iter() {
            let vtk_type = match (vtk_type, nodes.len()) {
                (POLYGON, 3) => TRIANGLE,
                (POLYGON, 4) => QUAD,
                _ => vtk_type,
            };
            self.push(vtk_type, nodes)?;
        }
        Ok(())
    }

    fn push(&mut self, vtk_type: i64, nodes: &[u32]) -> Result<(), FileError> {
        vtk_cells::push(&mut self.cells, vtk_type, nodes, 0).map_err(|problem| self.file.error(problem))
    }

    /// `FIELD name n`, then n arrays: `name components tuples type` and the numbers.
    fn skip_field(&mut self, field: &[Vec<u8>]) -> Result<(), FileError> {
        let mut left = self.header_count(field, 2, "the number of arrays of the field", 8, 8)?;
        while left > 0 {
            let line = self.file.expect_line("an array of the field")?;
            let header = words(line);
            if header[0] == b"METADATA" {
                self.file.skip_past_blank_line();
                continue;
            }
            let kind = self.number_type(header.get(3))?;
            let components = self.header_count(&header, 1, "the number of components", 1, 1)?;
            let tuples = self.header_count(&header, 2, "the number of tuples", 1, 1)?;
            self.file.skip(components.saturating_mul(tuples), kind, "an array of the field")?;
            left -= 1;
        }
        Ok(())
    }

    /// The integer in a keyword's line, checked against the rest of the file.
    fn header_count(
        &self,
        words: &[Vec<u8>],
        at: usize,
        what: &str,
        text_bytes: usize,
        binary_bytes: usize,
    ) -> Result<usize, FileError> {
        let word = words.get(at).map(Vec::as_slice).unwrap_or_default();
        let count = parse_i64(word)
            .ok_or_else(|| self.file.error(format!("{what} should be an integer, found {}", shown(word))))?;
        self.file.check_count(count, what, text_bytes, binary_bytes)
    }

    fn number_type(&self, word: Option<&Vec<u8>>) -> Result<NumberType, FileError> {
        Ok(match word.map(Vec::as_slice).unwrap_or_default() {
            b"CHAR" => I8,
            b"UNSIGNED_CHAR" => U8,
            b"SHORT" => I16,
            b"UNSIGNED_SHORT" => U16,
            b"INT" | b"VTKIDTYPE" | b"VTKTYPEINT32" => I32,
            b"UNSIGNED_INT" | b"VTKTYPEUINT32" => U32,
            b"LONG" | b"VTKTYPEINT64" => I64,
            b"UNSIGNED_LONG" | b"VTKTYPEUINT64" => U64,
            b"FLOAT" => F32,
            b"DOUBLE" => F64,
            other => {
                return Err(self
                    .file
                    .error(format!("expected a number type such as double, found {}", shown(other))));
            }
        })
    }
}

/// The words of a line in capitals (VTK's keywords are case-insensitive); a line is never blank, so there is a first word.
fn words(line: &[u8]) -> Vec<Vec<u8>> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(<[u8]>::to_ascii_uppercase)
        .collect()
}
