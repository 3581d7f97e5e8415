//! Gmsh `.msh` files: 1.0, 2.x (text and binary) and 4.1 (text and binary) are read, 2.2 is written. The layouts are
//! those of the Gmsh reference manual, chapter "Gmsh file formats".

mod node_tags;
mod version1;
mod version2;
mod version4;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use self::node_tags::NodeTags;
use super::LoadedMesh;
use super::binary::{ByteOrder, NumberType};
use super::cells::{CellShape, Cells};
use super::numbers::NumberReader;
use supple_core::FileError;
use supple_core::text::scan::{self, parse_i64, shown};

pub use self::write::{write_msh22, write_msh22_binary};

/// Reads a Gmsh file. Physical volumes become regions, physical surfaces become groups of faces.
pub fn read_msh(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let mut file = NumberReader::text(bytes, path);
    loop {
        match file.expect_line("$MeshFormat")? {
            b"$Comments" => file.skip_past("$EndComments")?,
            b"$NOD" => return version1::read(MshReader::new(file, path)),
            b"$MeshFormat" => break,
            other => {
                let found = shown(other);
                return Err(file.error(format!("a Gmsh file starts with $MeshFormat or $NOD, found {found}")));
            }
        }
    }
    let format = MshFormat::parse(&mut file)?;
    if format.binary {
        file = open_binary(bytes, path)?;
    }
    expect_end(&mut file, "$EndMeshFormat")?;
    match format.version {
        Version::Two => version2::read(MshReader::new(file, path)),
        Version::Four { size } => version4::read(MshReader::new(file, path), size),
    }
}

enum Version {
    Two,
    /// With the type of counts and tags in binary files.
    Four {
        size: NumberType,
    },
}

struct MshFormat {
    version: Version,
    binary: bool,
}

impl MshFormat {
    fn parse(file: &mut NumberReader) -> Result<Self, FileError> {
        let line = file.expect_line("the version, file type and data size")?;
        let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let &[version, kind, size] = words.as_slice() else {
            return Err(
                file.error(format!("expected version, file type and data size, found {}", shown(line)))
            );
        };
        let binary = match kind {
            b"0" => false,
            b"1" => true,
            _ => return Err(file.error(format!("the file type should be 0 or 1, found {}", shown(kind)))),
        };
        let version = match (version, size) {
            (b"2" | b"2.0" | b"2.1" | b"2.2", b"8") => Version::Two,
            (b"4.1", b"4") => Version::Four { size: NumberType::U32 },
            (b"4.1", b"8") => Version::Four { size: NumberType::U64 },
            (b"2" | b"2.0" | b"2.1" | b"2.2" | b"4.1", _) => {
                return Err(file.error(format!("the data size should be 8, found {}", shown(size))));
            }
            _ => return Err(file.error(other_version(version))),
        };
        Ok(Self { version, binary })
    }
}

fn other_version(version: &[u8]) -> String {
    format!(
        "version {} of the Gmsh format is not supported; save the mesh as 4.1 or 2.2 (`gmsh in.msh -save -format msh22 -o \
         out.msh`)",
        shown(version)
    )
}

/// Reads the format line again in a binary file, and the number 1 after it, which determines the byte order.
fn open_binary<'a>(bytes: &'a [u8], path: &'a Path) -> Result<NumberReader<'a>, FileError> {
    let mut file = NumberReader::binary(bytes, 0, path, ByteOrder::Little);
    while file.expect_line("$MeshFormat")? != b"$MeshFormat" {}
    file.expect_line("the version")?;
    match file.integer(NumberType::I32, "the number 1 that determines the byte order")? {
        1 => Ok(file),
        0x0100_0000 => Ok(file.with_order(ByteOrder::Big)),
        other => {
            Err(file.error(format!("the number that determines the byte order should be 1, found {other}")))
        }
    }
}

fn expect_end(file: &mut NumberReader, end: &str) -> Result<(), FileError> {
    let line = file.expect_line(end)?;
    if line == end.as_bytes() {
        return Ok(());
    }
    let found = shown(line);
    Err(file.error(format!("expected {end}, found {found}; are there more entries than the count?")))
}

/// The part common to all versions: nodes by their tags, cells, names.
struct MshReader<'a> {
    file: NumberReader<'a>,
    path: &'a Path,
    cells: Cells,
    nodes: Option<NodeTags>,
    /// Names of physical groups by dimension and tag.
    names: BTreeMap<(i64, i64), String>,
    corners: Vec<u32>,
}

impl<'a> MshReader<'a> {
    fn new(file: NumberReader<'a>, path: &'a Path) -> Self {
        Self { file, path, cells: Cells::default(), nodes: None, names: BTreeMap::new(), corners: Vec::new() }
    }

    /// A count on its own line, as in versions 1 and 2 even in binary files.
    fn count_line(&mut self, what: &str, text_bytes: usize, binary_bytes: usize) -> Result<usize, FileError> {
        let line = self.file.expect_line(what)?;
        let count = parse_i64(line)
            .ok_or_else(|| self.file.error(format!("{what} should be an integer, found {}", shown(line))))?;
        self.file.check_count(count, what, text_bytes, binary_bytes)
    }

    fn physical_names(&mut self) -> Result<(), FileError> {
        let count = self.count_line("the number of physical names", 4, 4)?;
        for _ in 0..count {
            let line = self.file.expect_line("a physical name")?;
            let entry = physical_name(line).ok_or_else(|| {
                self.file.error(format!("expected dimension, number and \"name\", found {}", shown(line)))
            })?;
            self.names.insert(entry.0, entry.1);
        }
        expect_end(&mut self.file, "$EndPhysicalNames")
    }

    fn position(&mut self) -> Result<(), FileError> {
        let mut coordinate = |what| self.file.float(NumberType::F64, what);
        let position = glam::DVec3::new(coordinate("x")?, coordinate("y")?, coordinate("z")?);
        self.cells.positions.push(position);
        Ok(())
    }

    fn set_nodes(&mut self, tags: Vec<i64>) -> Result<(), FileError> {
        if self.nodes.is_some() {
            return Err(self.file.error("a duplicate section of nodes; only one is allowed"));
        }
        let nodes = NodeTags::new(&tags);
        self.nodes = Some(nodes.map_err(|tag| self.file.error(format!("node {tag} is defined twice")))?);
        Ok(())
    }

    /// The shape and node count of an element type.
    fn shape(&self, element_type: i64) -> Result<(CellShape, usize), FileError> {
        shape_of(element_type).ok_or_else(|| {
            self.file.error(format!("element type {element_type} is not one of Gmsh's 1 to 31"))
        })
    }

    /// Reads the nodes of an element and stores it.
    fn element(
        &mut self,
        (shape, node_count): (CellShape, usize),
        tag: NumberType,
        region: i32,
    ) -> Result<(), FileError> {
        self.corners.clear();
        for _ in 0..node_count {
            let node = self.file.integer(tag, "a node of an element")?;
            let index = self.nodes.as_ref().and_then(|nodes| nodes.find(node)).ok_or_else(|| {
                self.file
                    .error(format!("the element uses node {node}, which is not among the nodes before it"))
            })?;
            self.corners.push(index);
        }
        self.cells.push(shape, &self.corners, region);
        Ok(())
    }

    fn region(&self, tag: i64) -> Result<i32, FileError> {
        i32::try_from(tag)
            .map_err(|_| self.file.error(format!("physical group {tag} is outside the 32-bit range")))
    }

    fn finish(mut self) -> Result<LoadedMesh, FileError> {
        let volumes: Vec<String> = self
            .names
            .iter()
            .filter(|((dimension, _), _)| *dimension == 3)
            .map(|((_, tag), name)| format!("{tag} is \"{name}\""))
            .collect();
        if !volumes.is_empty() {
            self.cells.notes.push(format!("regions: {}", volumes.join(", ")));
        }
        let names = self.names;
        let surface_name = |tag: i32| {
            names.get(&(2, i64::from(tag.unsigned_abs()))).cloned().unwrap_or_else(|| tag.to_string())
        };
        self.cells.finish(self.path, surface_name)
    }
}

/// `dimension tag "name"`.
fn physical_name(line: &[u8]) -> Option<((i64, i64), String)> {
    let (dimension, rest) = split_word(line)?;
    let (tag, name) = split_word(rest)?;
    let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name);
    Some(((parse_i64(dimension)?, parse_i64(tag)?), scan::name(name)))
}

fn split_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(u8::is_ascii_whitespace)?;
    Some((&text[..end], text[end..].trim_ascii()))
}

/// The element types of the reference manual: shape and number of nodes, corners first.
fn shape_of(element_type: i64) -> Option<(CellShape, usize)> {
    Some(match element_type {
        1 => (CellShape::Line, 2),
        2 => (CellShape::Triangle, 3),
        3 => (CellShape::Quad, 4),
        4 => (CellShape::Tet, 4),
        5 => (CellShape::Hex, 8),
        6 => (CellShape::Prism, 6),
        7 => (CellShape::Pyramid, 5),
        8 => (CellShape::Line, 3),
        9 => (CellShape::Triangle, 6),
        10 => (CellShape::Quad, 9),
        11 => (CellShape::Tet, 10),
        12 => (CellShape::Hex, 27),
        13 => (CellShape::Prism, 18),
        14 => (CellShape::Pyramid, 14),
        15 => (CellShape::Point, 1),
        16 => (CellShape::Quad, 8),
        17 => (CellShape::Hex, 20),
        18 => (CellShape::Prism, 15),
        19 => (CellShape::Pyramid, 13),
        20 => (CellShape::Triangle, 9),
        21 => (CellShape::Triangle, 10),
        22 => (CellShape::Triangle, 12),
        23 | 24 => (CellShape::Triangle, 15),
        25 => (CellShape::Triangle, 21),
        26 => (CellShape::Line, 4),
        27 => (CellShape::Line, 5),
        28 => (CellShape::Line, 6),
        29 => (CellShape::Tet, 20),
        30 => (CellShape::Tet, 35),
        31 => (CellShape::Tet, 56),
        92 => (CellShape::Hex, 64),
        93 => (CellShape::Hex, 125),
        _ => return None,
    })
}
