//! Version 1.0: `$NOD` and `$ELM`, text only.

use super::{MshReader, expect_end};
use crate::format::LoadedMesh;
use crate::format::binary::NumberType::I32;
use supple_core::FileError;
use supple_core::text::scan::shown;

/// Reads what follows the line `$NOD`.
pub(super) fn read(mut reader: MshReader) -> Result<LoadedMesh, FileError> {
    reader.numbered_nodes()?;
    expect_end(&mut reader.file, "$ENDNOD")?;
    match reader.file.expect_line("$ELM")? {
        b"$ELM" => {}
        other => return Err(reader.file.error(format!("expected $ELM, found {}", shown(other)))),
    }
    let count = reader.count_line("the number of elements", 12, 12)?;
    for _ in 0..count {
        element(&mut reader)?;
    }
    expect_end(&mut reader.file, "$ENDELM")?;
    reader.finish()
}

/// `number type physical elementary node-count nodes…`.
fn element(reader: &mut MshReader) -> Result<(), FileError> {
    reader.file.integer(I32, "an element's number")?;
    let element_type = reader.file.integer(I32, "an element's type")?;
    let (shape, nodes) = reader.shape(element_type)?;
    let physical = reader.file.integer(I32, "an element's physical group")?;
    let region = reader.region(physical)?;
    reader.file.integer(I32, "an element's elementary group")?;
    let given = reader.file.integer(I32, "an element's node count")?;
    if given != nodes as i64 {
        let problem =
            format!("an element of type {element_type} has {nodes} nodes, but the file declares {given}");
        return Err(reader.file.error(problem));
    }
    reader.element((shape, nodes), I32, region)
}
