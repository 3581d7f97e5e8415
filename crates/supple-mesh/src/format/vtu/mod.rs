//! VTK XML files: unstructured grids (`.vtu`) and polygonal data (`.vtp`), with text, base64 and appended arrays,
//! plain or compressed with zlib or LZ4. After "VTK File Formats", XML part.

mod array;
mod stream;
mod write;

use std::borrow::Cow;
use std::path::Path;

use glam::DVec3;
use roxmltree::{Document, Node};

use self::array::Arrays;
use super::LoadedMesh;
use super::binary::NumberType;
use super::cells::Cells;
use super::vtk_cells::{self, POLYGON, POLYLINE, QUAD, STRIP, TRIANGLE, VERTICES};
use supple_core::FileError;

pub use self::write::{PointData, PointValues, VtuMesh, write_vtu};

/// Names under which other programs store the region of a cell.
const REGION_NAMES: [&str; 4] = ["region", "gmsh:physical", "medit:ref", "tetgen:ref"];

/// Reads a VTK XML file: tetrahedra, or polygons if it has none. An integer cell array called `region` (or
/// `gmsh:physical`, `medit:ref`, `tetgen:ref`) gives the regions; other point and cell data are not read.
pub fn read_vtu(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let (xml, appended) = array::cut_appended(bytes, path)?;
    let xml = xml_text(xml, appended.is_some(), path)?;
    let document = Document::parse(&xml).map_err(|error| xml_error(&error, &xml, path))?;
    let root = document.root_element();
    let arrays = Arrays::new(&document, path, appended, bytes.len())?;
    let mut reader = VtuReader { arrays, cells: Cells::default() };
    match root.attribute("type").unwrap_or_default() {
        kind @ "UnstructuredGrid" => reader.pieces(root, kind, VtuReader::grid)?,
        kind @ "PolyData" => reader.pieces(root, kind, VtuReader::polygonal)?,
        kind @ ("PUnstructuredGrid" | "PPolyData") => {
            let problem = format!("{kind} only lists the files of a parallel run; use one of those files");
            return Err(reader.arrays.error(root, problem));
        }
        kind => {
            let problem =
                format!("type \"{kind}\" is not supported; save the mesh as UnstructuredGrid (.vtu)");
            return Err(reader.arrays.error(root, problem));
        }
    }
    reader.cells.finish(path, |region| region.to_string())
}

/// The XML as text; where appended data were split off, the root element is closed again.
fn xml_text<'a>(xml: &'a [u8], close_root: bool, path: &Path) -> Result<Cow<'a, str>, FileError> {
    let text = std::str::from_utf8(xml).map_err(|error| {
        FileError::byte(path, error.valid_up_to() as u64, "is not UTF-8 text, so not a VTK XML file")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(if close_root { Cow::Owned(format!("{text}</VTKFile>")) } else { Cow::Borrowed(text) })
}

fn xml_error(error: &roxmltree::Error, xml: &str, path: &Path) -> FileError {
    match error {
        roxmltree::Error::UnexpectedEndOfStream
        | roxmltree::Error::UnclosedRootNode
        | roxmltree::Error::NoRootNode => {
            let lines = xml.lines().count().max(1) as u64;
            FileError::line(path, lines, "the XML ends too early; is the file truncated?")
        }
        _ => FileError::line(path, error.pos().row.into(), format!("is not valid XML: {error}")),
    }
}

struct VtuReader<'a> {
    arrays: Arrays<'a>,
    cells: Cells,
}

impl<'a> VtuReader<'a> {
    fn pieces(
        &mut self,
        root: Node<'a, 'a>,
        kind: &str,
        read_cells: fn(&mut Self, Node<'a, 'a>, u32) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let grid = self.child(root, kind)?;
        for piece in elements(grid, "Piece") {
            let first = self.cells.positions.len() as u32;
            self.points(piece)?;
            read_cells(self, piece, first)?;
        }
        Ok(())
    }

    fn points(&mut self, piece: Node<'a, 'a>) -> Result<(), FileError> {
        let count = self.count(piece, "NumberOfPoints")?;
        if count == 0 {
            return Ok(());
        }
        let points = self.child(piece, "Points")?;
        let array = self.child(points, "DataArray")?;
        if array.attribute("NumberOfComponents").unwrap_or("1") != "3" {
            return Err(self.arrays.error(array, "points need NumberOfComponents=\"3\""));
        }
        let coordinates = self.arrays.floats(array, 3 * count)?;
        let (positions, _) = coordinates.as_chunks::<3>();
        self.cells.positions.extend(positions.iter().map(|&p| DVec3::from_array(p)));
        match self.cells.positions.len() < u32::MAX as usize {
            true => Ok(()),
            false => Err(self.arrays.error(array, "more than 4294967294 points in all pieces")),
        }
    }

    /// The cells of an unstructured grid.
    fn grid(&mut self, piece: Node<'a, 'a>, first: u32) -> Result<(), FileError> {
        let count = self.count(piece, "NumberOfCells")?;
        if count == 0 {
            return Ok(());
        }
        let node = self.child(piece, "Cells")?;
        let lists = self.lists(node, count, first)?;
        let types = self.arrays.integers(self.named(node, "types")?, count)?;
        let regions = self.regions(piece, count)?;
        for (i, (nodes, &vtk_type)) in lists.iter().zip(&types).enumerate() {
            let region = regions.as_ref().map_or(0, |regions| regions[i]);
            vtk_cells::push(&mut self.cells, vtk_type, nodes, region)
                .map_err(|problem| self.arrays.error(node, format!("cell {i}: {problem}")))?;
        }
        Ok(())
    }

    /// The lists of polygonal data, whose element determines the kind of cell.
    fn polygonal(&mut self, piece: Node<'a, 'a>, first: u32) -> Result<(), FileError> {
        let kinds = [("Verts", VERTICES), ("Lines", POLYLINE), ("Strips", STRIP), ("Polys", POLYGON)];
        for (name, vtk_type) in kinds {
            let attribute = format!("NumberOf{name}");
            if piece.attribute(attribute.as_str()).is_none() {
                continue;
            }
            let count = self.count(piece, &attribute)?;
            if count == 0 {
                continue;
            }
            let node = self.child(piece, name)?;
            for (i, nodes) in self.lists(node, count, first)?.iter().enumerate() {
                let vtk_type = match (vtk_type, nodes.len()) {
                    (POLYGON, 3) => TRIANGLE,
                    (POLYGON, 4) => QUAD,
                    _ => vtk_type,
                };
                vtk_cells::push(&mut self.cells, vtk_type, nodes, 0)
                    .map_err(|problem| self.arrays.error(node, format!("cell {i}: {problem}")))?;
            }
        }
        Ok(())
    }

    /// Offsets (the end of each cell) and connectivity.
    fn lists(&self, node: Node<'a, 'a>, count: usize, first: u32) -> Result<VtuCellLists, FileError> {
        let offsets = self.named(node, "offsets")?;
        let ends = self.arrays.integers(offsets, count)?;
        let starts = std::iter::once(&0).chain(&ends);
        if let Some((i, (start, end))) = starts.zip(&ends).enumerate().find(|(_, (start, end))| start > end) {
            let problem = format!("cell {i} ends at offset {end}, before its start at {start}");
            return Err(self.arrays.error(offsets, problem));
        }
        let connectivity = self.named(node, "connectivity")?;
        let total = ends.last().copied().unwrap_or(0) as usize;
        let points = self.cells.positions.len() - first as usize;
        let in_range = |(i, node): (usize, i64)| match usize::try_from(node) {
            Ok(index) if index < points => Ok(first + index as u32),
            _ => {
                let problem = format!("number {i} is point {node}, but the piece has {points} points");
                Err(self.arrays.error(connectivity, problem))
            }
        };
        let nodes = self.arrays.integers(connectivity, total)?.into_iter().enumerate().map(in_range);
        Ok(VtuCellLists { ends, nodes: nodes.collect::<Result<_, _>>()? })
    }

    fn regions(&self, piece: Node<'a, 'a>, count: usize) -> Result<Option<Vec<i32>>, FileError> {
        let Some(data) = elements(piece, "CellData").next() else { return Ok(None) };
        let found = elements(data, "DataArray").find(|array| {
            let named = array.attribute("Name").is_some_and(|name| REGION_NAMES.contains(&name));
            let single = matches!(array.attribute("NumberOfComponents"), None | Some("1"));
            named && single && array::number_type(*array).is_some_and(|kind: NumberType| !kind.is_float())
        });
        let Some(array) = found else { return Ok(None) };
        let narrow = |region: i64| {
            i32::try_from(region)
                .map_err(|_| self.arrays.error(array, format!("region {region} is outside the 32-bit range")))
        };
        self.arrays.integers(array, count)?.into_iter().map(narrow).collect::<Result<_, _>>().map(Some)
    }

    /// A count in an attribute. Memory is only allocated once the arrays are known to be that long.
    fn count(&self, node: Node<'a, 'a>, attribute: &str) -> Result<usize, FileError> {
        let text = node.attribute(attribute).unwrap_or_default();
        match text.trim().parse::<u32>() {
            Ok(count) => Ok(count as usize),
            Err(_) => {
                let problem =
                    format!("{attribute} should be an integer up to {}, found \"{text}\"", u32::MAX);
                Err(self.arrays.error(node, problem))
            }
        }
    }

    fn child(&self, node: Node<'a, 'a>, name: &str) -> Result<Node<'a, 'a>, FileError> {
        let parent = node.tag_name().name();
        elements(node, name)
            .next()
            .ok_or_else(|| self.arrays.error(node, format!("<{parent}> has no <{name}>")))
    }

    fn named(&self, node: Node<'a, 'a>, name: &str) -> Result<Node<'a, 'a>, FileError> {
        let parent = node.tag_name().name();
        elements(node, "DataArray")
            .find(|array| array.attribute("Name") == Some(name))
            .ok_or_else(|| self.arrays.error(node, format!("<{parent}> has no array named \"{name}\"")))
    }
}

/// Lists of nodes, in sequence.
struct VtuCellLists {
    ends: Vec<i64>,
    nodes: Vec<u32>,
}

impl VtuCellLists {
    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.nodes[start as usize..end as usize])
    }
}

fn elements<'a>(node: Node<'a, 'a>, name: &str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |child| child.has_tag_name(name))
}
