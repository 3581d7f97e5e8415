//! Version 4.1: nodes and elements in blocks, one per geometric entity; physical groups belong to the entities.

use std::collections::BTreeMap;

use self::EntityKind::{Part, Whole};
use super::{MshReader, expect_end};
use crate::format::LoadedMesh;
use crate::format::binary::NumberType::{self, F64, I32};
use supple_core::FileError;

/// Geometric entities, or their parts in a partitioned mesh.
#[derive(Clone, Copy, PartialEq)]
enum EntityKind {
    Whole,
    Part,
}

/// The physical group of an entity by dimension and tag.
type EntityGroups = BTreeMap<(i64, i64), i32>;

/// Reads what follows `$EndMeshFormat`; `size` is the binary type of counts and tags.
pub(super) fn read(mut reader: MshReader, size: NumberType) -> Result<LoadedMesh, FileError> {
    let mut groups = EntityGroups::new();
    loop {
        match reader.file.expect_line("$Elements")? {
            b"$PhysicalNames" => reader.physical_names()?,
            b"$Entities" => {
                entities(&mut reader, size, Whole, &mut groups)?;
                expect_end(&mut reader.file, "$EndEntities")?;
            }
            b"$PartitionedEntities" => {
                partitions(&mut reader, size)?;
                entities(&mut reader, size, Part, &mut groups)?;
                expect_end(&mut reader.file, "$EndPartitionedEntities")?;
            }
            b"$Nodes" => {
                nodes(&mut reader, size)?;
                expect_end(&mut reader.file, "$EndNodes")?;
            }
            b"$Elements" => break,
            other => reader.skip_section(other)?,
        }
    }
    elements(&mut reader, size, &groups)?;
    expect_end(&mut reader.file, "$EndElements")?;
    reader.finish()
}

/// The number of partitions, and the ghost entities, of which only the number matters here.
fn partitions(reader: &mut MshReader, size: NumberType) -> Result<(), FileError> {
    reader.file.integer(size, "the number of partitions")?;
    let ghosts = reader.file.count(size, "the number of ghost entities", 4, 8)?;
    reader.file.skip(2 * ghosts, I32, "a ghost entity")
}

fn entities(
    reader: &mut MshReader,
    size: NumberType,
    kind: EntityKind,
    groups: &mut EntityGroups,
) -> Result<(), FileError> {
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = reader.file.count(size, "the number of entities", 10, 28)?;
    }
    for (dimension, count) in (0..).zip(counts) {
        for _ in 0..count {
            entity(reader, size, kind, dimension, groups)?;
        }
    }
    Ok(())
}

/// `tag position-or-box group-count groups…`, and except for points `bounding-count bounding…`. A part of an entity
/// has `parent-dimension parent-tag partition-count partitions…` after its tag.
fn entity(
    reader: &mut MshReader,
    size: NumberType,
    kind: EntityKind,
    dimension: i64,
    groups: &mut EntityGroups,
) -> Result<(), FileError> {
    let tag = reader.file.integer(I32, "an entity's tag")?;
    if kind == Part {
        reader.file.skip(2, I32, "an entity's parent")?;
        let partitions = reader.file.count(size, "an entity's number of partitions", 2, 4)?;
        reader.file.skip(partitions, I32, "an entity's partitions")?;
    }
    let floats = if dimension == 0 { 3 } else { 6 };
    reader.file.skip(floats, F64, "an entity's bounding box")?;
    let group_count = reader.file.count(size, "an entity's number of physical groups", 2, 4)?;
    for i in 0..group_count {
        let group = reader.file.integer(I32, "an entity's physical group")?;
        if i == 0 {
            groups.insert((dimension, tag), reader.region(group)?);
        }
    }
    if dimension > 0 {
        let bounding = reader.file.count(size, "an entity's number of bounding entities", 2, 4)?;
        reader.file.skip(bounding, I32, "an entity's bounding entities")?;
    }
    Ok(())
}

/// Blocks of `dimension entity parametric count`, then all tags of the block, then all its coordinates.
fn nodes(reader: &mut MshReader, size: NumberType) -> Result<(), FileError> {
    let (blocks, count) = section_header(reader, size, "nodes", 8, 32)?;
    let mut tags = Vec::with_capacity(count);
    reader.cells.positions.reserve_exact(count);
    for _ in 0..blocks {
        let dimension = reader.file.integer(I32, "a node block's dimension")?;
        reader.file.integer(I32, "a node block's entity")?;
        let parametric = reader.file.integer(I32, "a node block's parametric flag")? != 0;
        let in_block = reader.file.count(size, "a node block's number of nodes", 8, 24 + size.size())?;
        for _ in 0..in_block {
            tags.push(reader.file.integer(size, "a node's tag")?);
        }
        let parameters = if parametric { dimension.clamp(0, 3) as usize } else { 0 };
        for _ in 0..in_block {
            reader.position()?;
            reader.file.skip(parameters, F64, "a node's parameters")?;
        }
    }
    check_total(reader, "nodes", tags.len(), count)?;
    reader.set_nodes(tags)
}

/// Blocks of `dimension entity type count`, then `tag nodes…` per element.
fn elements(reader: &mut MshReader, size: NumberType, groups: &EntityGroups) -> Result<(), FileError> {
    let (blocks, count) = section_header(reader, size, "elements", 4, 2 * size.size())?;
    let mut read = 0;
    for _ in 0..blocks {
        let dimension = reader.file.integer(I32, "an element block's dimension")?;
        let entity = reader.file.integer(I32, "an element block's entity")?;
        let element_type = reader.file.integer(I32, "an element block's type")?;
        let shape = reader.shape(element_type)?;
        let in_block =
            reader.file.count(size, "an element block's number of elements", 4, 2 * size.size())?;
        let region = groups.get(&(dimension, entity)).copied().unwrap_or(0);
        for _ in 0..in_block {
            reader.file.integer(size, "an element's tag")?;
            reader.element(shape, size, region)?;
        }
        read += in_block;
    }
    check_total(reader, "elements", read, count)
}

/// `blocks count smallest-tag largest-tag`.
fn section_header(
    reader: &mut MshReader,
    size: NumberType,
    what: &str,
    text_bytes: usize,
    binary_bytes: usize,
) -> Result<(usize, usize), FileError> {
    let blocks = reader.file.count(size, &format!("the number of blocks of {what}"), 8, 12 + size.size())?;
    let count = reader.file.count(size, &format!("the number of {what}"), text_bytes, binary_bytes)?;
    reader.file.skip(2, size, "the smallest and largest tag")?;
    Ok((blocks, count))
}

fn check_total(reader: &MshReader, what: &str, found: usize, announced: usize) -> Result<(), FileError> {
    if found == announced {
        return Ok(());
    }
    Err(reader.file.error(format!("the blocks contain {found} {what}, but the header declares {announced}")))
}
