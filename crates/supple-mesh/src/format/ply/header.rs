//! The header of a PLY file.

use std::path::Path;

use super::super::binary::{ByteOrder, NumberType};
use supple_core::FileError;
use supple_core::text::scan::{Scanner, name, shown};

/// The encoding of the values after the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Ascii,
    Binary(ByteOrder),
}

/// One property of an element: a number, or a list of numbers after its length.
#[derive(Debug, Clone)]
pub(super) struct Property {
    pub name: String,
    pub scalar: NumberType,
    /// The type of the length, for a list.
    pub list_length: Option<NumberType>,
}

/// One kind of element and its count.
#[derive(Debug, Clone)]
pub(super) struct PlyElement {
    pub name: String,
    pub count: usize,
    pub properties: Vec<Property>,
    /// The header's line that declares it.
    pub line: u64,
}

impl PlyElement {
    /// The position of the first scalar property with one of these names.
    pub(super) fn scalar(&self, names: &[&str]) -> Option<usize> {
        self.properties.iter().position(|p| p.list_length.is_none() && names.contains(&p.name.as_str()))
    }

    /// The position of the first list property with one of these names.
    pub(super) fn list(&self, names: &[&str]) -> Option<usize> {
        self.properties.iter().position(|p| p.list_length.is_some() && names.contains(&p.name.as_str()))
    }

    /// The bytes of one element in a binary file; of a list only the length.
    pub(super) fn smallest_size(&self) -> usize {
        self.properties.iter().map(|p| p.list_length.unwrap_or(p.scalar).size()).sum()
    }

    pub(super) fn has_lists(&self) -> bool {
        self.properties.iter().any(|p| p.list_length.is_some())
    }
}

/// What a header declares.
#[derive(Debug)]
pub(super) struct PlyHeader {
    pub encoding: Encoding,
    pub elements: Vec<PlyElement>,
}

impl PlyHeader {
    /// Reads the header and leaves the scanner at the first byte after it.
    pub(super) fn read(scan: &mut Scanner<'_>, path: &Path) -> Result<Self, FileError> {
        if scan.token_in_line() != Some(b"ply") {
            return Err(FileError::line(path, 1, "a PLY file starts with `ply`; is this a PLY file?"));
        }
        let (mut encoding, mut elements) = (None, Vec::new());
        while scan.next_line() {
            match scan.token_in_line() {
                None | Some(b"comment" | b"obj_info") => {}
                Some(b"format") => encoding = Some(read_format(scan)?),
                Some(b"element") => elements.push(read_element(scan)?),
                Some(b"property") => read_property(scan, elements.last_mut())?,
                Some(b"end_header") => {
                    let Some(encoding) = encoding else {
                        return Err(scan
                            .error("the header has no `format` line; add `format ascii 1.0` if it is text"));
                    };
                    refuse_repeated_vertices(&elements, path)?;
                    scan.next_line();
                    return Ok(Self { encoding, elements });
                }
                Some(other) => {
                    let problem =
                        "is not a header line of PLY (format, element, property, comment, end_header)";
                    return Err(scan.error(format!("{} {problem}", shown(other))));
                }
            }
        }
        Err(scan.error("the header has no `end_header` line; is the file truncated?"))
    }
}

fn read_format(scan: &mut Scanner<'_>) -> Result<Encoding, FileError> {
    match scan.token_in_line() {
        Some(b"ascii") => Ok(Encoding::Ascii),
        Some(b"binary_little_endian") => Ok(Encoding::Binary(ByteOrder::Little)),
        Some(b"binary_big_endian") => Ok(Encoding::Binary(ByteOrder::Big)),
        other => Err(scan.error(format!(
            "unknown format {}; PLY has ascii, binary_little_endian and binary_big_endian",
            shown(other.unwrap_or_default())
        ))),
    }
}

fn read_element(scan: &mut Scanner<'_>) -> Result<PlyElement, FileError> {
    let Some(element) = scan.token_in_line() else {
        return Err(scan.error("an `element` line needs a name and a count"));
    };
    let count = scan.token_in_line().unwrap_or_default();
    let number = std::str::from_utf8(count).ok().and_then(|text| text.parse::<u32>().ok());
    match number {
        Some(number) if number < u32::MAX => Ok(PlyElement {
            name: name(element),
            count: number as usize,
            properties: Vec::new(),
            line: scan.line(),
        }),
        _ => {
            let problem = format!("should be an integer below {}, found {}", u32::MAX, shown(count));
            Err(scan.error(format!("the count of element {} {problem}", shown(element))))
        }
    }
}

fn read_property(scan: &mut Scanner<'_>, element: Option<&mut PlyElement>) -> Result<(), FileError> {
    let Some(element) = element else {
        return Err(scan.error("a `property` line before the first `element` line"));
    };
    let first = scan.token_in_line().unwrap_or_default();
    let list_length = match first {
        b"list" => Some(read_scalar(scan, None)?),
        _ => None,
    };
    let scalar = read_scalar(scan, list_length.is_none().then_some(first))?;
    if list_length.is_some_and(NumberType::is_float) {
        return Err(scan.error("the length of a list must have an integer type"));
    }
    let Some(property) = scan.token_in_line() else {
        return Err(scan.error("a `property` line needs a type and a name"));
    };
    element.properties.push(Property { name: name(property), scalar, list_length });
    Ok(())
}

fn read_scalar(scan: &mut Scanner<'_>, token: Option<&[u8]>) -> Result<NumberType, FileError> {
    let token = match token {
        Some(token) => token,
        None => scan.token_in_line().unwrap_or_default(),
    };
    number_type(token).ok_or_else(|| {
        let known = "char uchar short ushort int uint float double";
        scan.error(format!("{} is not a number type of PLY; supported: {known}", shown(token)))
    })
}

/// A number type by either of its names in PLY.
fn number_type(name: &[u8]) -> Option<NumberType> {
    Some(match name {
        b"char" | b"int8" => NumberType::I8,
        b"uchar" | b"uint8" => NumberType::U8,
        b"short" | b"int16" => NumberType::I16,
        b"ushort" | b"uint16" => NumberType::U16,
        b"int" | b"int32" => NumberType::I32,
        b"uint" | b"uint32" => NumberType::U32,
        b"float" | b"float32" => NumberType::F32,
        b"double" | b"float64" => NumberType::F64,
        _ => return None,
    })
}

fn refuse_repeated_vertices(elements: &[PlyElement], path: &Path) -> Result<(), FileError> {
    match elements.iter().filter(|e| e.name == "vertex").nth(1) {
        Some(second) => Err(FileError::line(path, second.line, "the element `vertex` is declared twice")),
        None => Ok(()),
    }
}
