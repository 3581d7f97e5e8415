//! Versions 2.0 to 2.2: numbered nodes and tagged elements. In binary files the elements come in runs of one type,
//! each with a header.

use super::{MshReader, expect_end};
use crate::format::LoadedMesh;
use crate::format::binary::NumberType::I32;
use supple_core::FileError;
use supple_core::text::scan::shown;

/// Reads what follows `$EndMeshFormat`.
pub(super) fn read(mut reader: MshReader) -> Result<LoadedMesh, FileError> {
    loop {
        match reader.file.expect_line("$Elements")? {
            b"$PhysicalNames" => reader.physical_names()?,
            b"$Nodes" => {
                reader.numbered_nodes()?;
                expect_end(&mut reader.file, "$EndNodes")?;
            }
            b"$Elements" => break,
            other => reader.skip_section(other)?,
        }
    }
    elements(&mut reader)?;
    expect_end(&mut reader.file, "$EndElements")?;
    reader.finish()
}

impl MshReader<'_> {
    /// `number x y z` per node, after their count (also version 1).
    pub(super) fn numbered_nodes(&mut self) -> Result<(), FileError> {
        let count = self.count_line("the number of nodes", 8, 28)?;
        let mut tags = Vec::with_capacity(count);
        self.cells.positions.reserve_exact(count);
        for _ in 0..count {
            tags.push(self.file.integer(I32, "a node's number")?);
            self.position()?;
        }
        self.set_nodes(tags)
    }

    /// Skips an unused section, given its first line.
    pub(super) fn skip_section(&mut self, line: &[u8]) -> Result<(), FileError> {
        match line.strip_prefix(b"$").map(std::str::from_utf8) {
            Some(Ok(name)) if !name.starts_with("End") => self.file.skip_past(&format!("$End{name}")),
            _ => Err(self.file.error(format!("expected a section such as $Nodes, found {}", shown(line)))),
        }
    }
}

fn elements(reader: &mut MshReader) -> Result<(), FileError> {
    let count = reader.count_line("the number of elements", 8, 8)?;
    let mut read = 0;
    while read < count {
        read +=
            if reader.file.is_binary() { binary_run(reader, count - read)? } else { text_element(reader)? };
    }
    Ok(())
}

/// `number type tag-count tags… nodes…`.
fn text_element(reader: &mut MshReader) -> Result<usize, FileError> {
    reader.file.integer(I32, "an element's number")?;
    let element_type = reader.file.integer(I32, "an element's type")?;
    let shape = reader.shape(element_type)?;
    let tags = reader.file.count(I32, "an element's number of tags", 2, 4)?;
    let region = first_tag(reader, tags)?;
    reader.element(shape, I32, region)?;
    Ok(1)
}

/// A header (type, number of elements, number of tags), then `number tags… nodes…` per element.
fn binary_run(reader: &mut MshReader, left: usize) -> Result<usize, FileError> {
    let element_type = reader.file.integer(I32, "the type of a run of elements")?;
    let shape = reader.shape(element_type)?;
    let count = reader.file.count(I32, "the length of a run of elements", 8, 8)?;
    if count == 0 || count > left {
        let problem = format!("a run of {count} elements exceeds the {left} left by the total count");
        return Err(reader.file.error(problem));
    }
    let tags = reader.file.count(I32, "the number of tags", 2, 4)?;
    for _ in 0..count {
        reader.file.integer(I32, "an element's number")?;
        let region = first_tag(reader, tags)?;
        reader.element(shape, I32, region)?;
    }
    Ok(count)
}

/// The physical group is the first of an element's tags.
fn first_tag(reader: &mut MshReader, tags: usize) -> Result<i32, FileError> {
    if tags == 0 {
        return Ok(0);
    }
    let physical = reader.file.integer(I32, "an element's physical group")?;
    reader.file.skip(tags - 1, I32, "an element's tags")?;
    reader.region(physical)
}
