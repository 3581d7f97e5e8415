//! MEDIT `.mesh` files in text, as INRIA's tools, TetWild and libigl write them (P. Frey, "MEDIT: an interactive mesh
//! visualization software", INRIA technical report 0253): keywords, each with a count and rows of numbers.

use std::path::Path;

use glam::DVec3;

use super::LoadedMesh;
use super::cells::{CellShape, Cells};
use super::numbers::{check_text_count, text_integer};
use supple_core::FileError;
use supple_core::text::scan::{Scanner, name, shown};

/// Sections without use in a simulation; other skipped sections get a note.
const SKIPPED_SILENTLY: [&str; 15] = [
    "corners",
    "geometry",
    "identifier",
    "normalatquadrilateralvertices",
    "normalattrianglevertices",
    "normalatvertices",
    "normals",
    "requirededges",
    "requiredquadrilaterals",
    "requiredtriangles",
    "requiredvertices",
    "ridges",
    "tangentatvertices",
    "tangentatedgevertices",
    "tangents",
];

/// Reads a MEDIT text file: tetrahedra, or triangles and quads if it has none. References become regions.
pub fn read_medit(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let binary_mark = matches!(bytes, [1, 0, 0, 0, ..] | [0, 0, 0, 1, ..]);
    if binary_mark || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("meshb")) {
        let problem = "binary MEDIT (.meshb) is not supported; convert it to text (`transmesh in.meshb out.mesh`), or \
                       save it from Gmsh as .msh";
        return Err(FileError::whole(path, problem));
    }
    let mut reader = MeditReader {
        scanner: Scanner::new(bytes, path).with_comment(b'#'),
        dimension: 3,
        has_vertices: false,
        cells: Cells::default(),
        nodes: Vec::new(),
    };
    reader.header()?;
    reader.sections()?;
    if !reader.has_vertices {
        return Err(reader.scanner.ended("Vertices"));
    }
    reader.cells.finish(path, |reference| reference.to_string())
}

struct MeditReader<'a> {
    scanner: Scanner<'a>,
    dimension: usize,
    has_vertices: bool,
    cells: Cells,
    nodes: Vec<u32>,
}

impl MeditReader<'_> {
    fn header(&mut self) -> Result<(), FileError> {
        match self.scanner.token() {
            Some(word) if word.eq_ignore_ascii_case(b"MeshVersionFormatted") => {
                text_integer(&mut self.scanner, "the version").map(|_| ())
            }
            Some(other) => {
                let found = shown(other);
                Err(self
                    .scanner
                    .error(format!("a MEDIT file starts with MeshVersionFormatted, found {found}")))
            }
            None => Err(self.scanner.ended("MeshVersionFormatted")),
        }
    }

    fn sections(&mut self) -> Result<(), FileError> {
        let mut skipping = false;
        while let Some(word) = self.scanner.token() {
            if !word[0].is_ascii_alphabetic() {
                if skipping {
                    continue;
                }
                let found = shown(word);
                let problem = format!(
                    "expected a keyword, found {found}; does the section have more rows than its count?"
                );
                return Err(self.scanner.error(problem));
            }
            let keyword = name(word).to_ascii_lowercase();
            skipping = false;
            match keyword.as_str() {
                "end" => return Ok(()),
                "dimension" => self.dimension()?,
                "vertices" => self.vertices()?,
                _ => match cell_of(&keyword) {
                    Some(cell) => self.cells(cell)?,
                    None => {
                        skipping = true;
                        if !SKIPPED_SILENTLY.contains(&keyword.as_str()) {
                            self.cells.notes.push(format!("section {} is not supported", shown(word)));
                        }
                    }
                },
            }
        }
        Ok(())
    }

    fn dimension(&mut self) -> Result<(), FileError> {
        self.dimension = match text_integer(&mut self.scanner, "the dimension")? {
            2 => 2,
            3 => 3,
            other => {
                return Err(self.scanner.error(format!("the dimension should be 2 or 3, found {other}")));
            }
        };
        Ok(())
    }

    /// Coordinates and a reference per vertex.
    fn vertices(&mut self) -> Result<(), FileError> {
        if self.has_vertices {
            return Err(self.scanner.error("a duplicate Vertices section; only one is allowed"));
        }
        self.has_vertices = true;
        let count = self.count("the number of vertices", self.dimension + 1)?;
        self.cells.positions.reserve_exact(count);
        for _ in 0..count {
            let mut position = DVec3::ZERO;
            for (axis, what) in ["x", "y", "z"].into_iter().enumerate().take(self.dimension) {
                position[axis] = self.scanner.f64(what)?;
            }
            text_integer(&mut self.scanner, "the vertex's reference")?;
            self.cells.positions.push(position);
        }
        Ok(())
    }

    /// Nodes (counted from 1) and a reference per cell.
    fn cells(&mut self, (shape, nodes): (CellShape, usize)) -> Result<(), FileError> {
        let count = self.count("the number of cells", nodes + 1)?;
        for _ in 0..count {
            self.nodes.clear();
            for _ in 0..nodes {
                let node = self.node()?;
                self.nodes.push(node);
            }
            let reference = text_integer(&mut self.scanner, "the cell's reference")?;
            let reference = i32::try_from(reference).map_err(|_| {
                self.scanner.error(format!("reference {reference} is outside the 32-bit range"))
            })?;
            self.cells.push(shape, &self.nodes, reference);
        }
        Ok(())
    }

    fn node(&mut self) -> Result<u32, FileError> {
        let node = text_integer(&mut self.scanner, "a vertex of a cell")?;
        let count = self.cells.positions.len();
        match usize::try_from(node) {
            Ok(number) if (1..=count).contains(&number) => Ok(number as u32 - 1),
            _ => {
                let problem =
                    format!("the cell uses vertex {node}, but the vertices before it are 1 to {count}");
                Err(self.scanner.error(problem))
            }
        }
    }

    fn count(&mut self, what: &str, numbers: usize) -> Result<usize, FileError> {
        let count = text_integer(&mut self.scanner, what)?;
        check_text_count(&self.scanner, count, what, 2 * numbers)
    }
}

/// The shape and node count of a section's cells.
fn cell_of(keyword: &str) -> Option<(CellShape, usize)> {
    Some(match keyword {
        "edges" => (CellShape::Line, 2),
        "edgesp2" => (CellShape::Line, 3),
        "triangles" => (CellShape::Triangle, 3),
        "trianglesp2" => (CellShape::Triangle, 6),
        "quadrilaterals" => (CellShape::Quad, 4),
        "quadrilateralsq2" => (CellShape::Quad, 9),
        "tetrahedra" => (CellShape::Tet, 4),
        "tetrahedrap2" => (CellShape::Tet, 10),
        "hexahedra" | "hexaedra" => (CellShape::Hex, 8),
        "hexahedraq2" => (CellShape::Hex, 27),
        "prisms" | "pentahedra" => (CellShape::Prism, 6),
        "pyramids" => (CellShape::Pyramid, 5),
        _ => return None,
    })
}
