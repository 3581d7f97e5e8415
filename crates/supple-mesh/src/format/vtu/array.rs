//! A `<DataArray>`: text, base64 or appended; plain, zlib or LZ4. The number of values is known beforehand (from the
//! counts of the piece, or the last offset), and nothing is decoded beyond that.

use std::cell::Cell;
use std::io::Read;
use std::path::Path;

use roxmltree::{Document, Node};

use super::stream::{Base64, Stream};
use crate::format::binary::{ByteOrder, NumberType};
use supple_core::text::scan::{Scanner, parse_f64, parse_i64, shown};
use supple_core::{FileError, Place};

/// No zlib stream expands more than this (zlib's technical details), and no LZ4 block more than 255 times.
const ZLIB_EXPANSION: usize = 1032;
const LZ4_EXPANSION: usize = 255;

/// The data after the `_` of `<AppendedData>`.
pub(super) struct Appended<'a> {
    bytes: &'a [u8],
    /// Their start in the file.
    start: usize,
    base64: bool,
}

/// Splits off appended data, since raw bytes are not valid XML; the rest only lacks the root's end tag.
pub(super) fn cut_appended<'a>(
    file: &'a [u8],
    path: &Path,
) -> Result<(&'a [u8], Option<Appended<'a>>), FileError> {
    let Some(tag) = find(file, b"<AppendedData") else { return Ok((file, None)) };
    let error = |problem: &str| FileError::byte(path, tag as u64, problem);
    let underscore = file[tag..].iter().position(|&byte| byte == b'_');
    let start = tag + 1 + underscore.ok_or_else(|| error("AppendedData has no `_` before its bytes"))?;
    let attributes = &file[tag..start];
    let base64 = if find(attributes, b"\"base64\"").is_some() {
        true
    } else if find(attributes, b"\"raw\"").is_some() {
        false
    } else {
        return Err(error("AppendedData should have encoding=\"raw\" or \"base64\""));
    };
    let closing = b"</AppendedData";
    let end = file[start..].windows(closing.len()).rposition(|window| window == closing);
    let end = start + end.ok_or_else(|| error("AppendedData is not closed; is the file truncated?"))?;
    Ok((&file[..tag], Some(Appended { bytes: &file[start..end], start, base64 })))
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

#[derive(Clone, Copy)]
enum Compression {
    Zlib,
    Lz4,
}

impl Compression {
    /// The maximum expansion of a block.
    fn expansion(self) -> usize {
        match self {
            Self::Zlib => ZLIB_EXPANSION,
            Self::Lz4 => LZ4_EXPANSION,
        }
    }

    /// Appends the exactly `length` bytes of a compressed block to `out`.
    fn unpack(self, block: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Zlib => inflate(block, length, out),
            Self::Lz4 => decompress_lz4(block, length, out),
        }
    }
}

/// Reads the arrays of one file.
pub(super) struct Arrays<'a> {
    document: &'a Document<'a>,
    path: &'a Path,
    order: ByteOrder,
    header: NumberType,
    compression: Option<Compression>,
    appended: Option<Appended<'a>>,
    /// Bytes that may still be decoded: several arrays may refer to the same data, so that a small file could otherwise
    /// grow without end.
    budget: Cell<usize>,
}

impl<'a> Arrays<'a> {
    pub(super) fn new(
        document: &'a Document<'a>,
        path: &'a Path,
        appended: Option<Appended<'a>>,
        file_length: usize,
    ) -> Result<Self, FileError> {
        let root = document.root_element();
        let budget = Cell::new(file_length.saturating_mul(ZLIB_EXPANSION));
        let (order, header, compression) = (ByteOrder::Little, NumberType::U32, None);
        let mut arrays = Self { document, path, order, header, compression, appended, budget };
        if !root.has_tag_name("VTKFile") {
            return Err(arrays.error(root, "the root element should be <VTKFile>"));
        }
        let refuse = |problem: String| Err(arrays.error(root, problem));
        let order = match root.attribute("byte_order") {
            None | Some("LittleEndian") => ByteOrder::Little,
            Some("BigEndian") => ByteOrder::Big,
            Some(other) => return refuse(format!("byte_order \"{other}\" is unknown")),
        };
        let header = match root.attribute("header_type") {
            None | Some("UInt32") => NumberType::U32,
            Some("UInt64") => NumberType::U64,
            Some(other) => return refuse(format!("header_type \"{other}\" should be UInt32 or UInt64")),
        };
        let compression = match root.attribute("compressor") {
            None | Some("") => None,
            Some("vtkZLibDataCompressor") => Some(Compression::Zlib),
            Some("vtkLZ4DataCompressor") => Some(Compression::Lz4),
            Some(other) => {
                return refuse(format!(
                    "compressor \"{other}\" is not supported; save with ZLib, LZ4 or none"
                ));
            }
        };
        (arrays.order, arrays.header, arrays.compression) = (order, header, compression);
        Ok(arrays)
    }

    /// An error at the line of an element.
    pub(super) fn error(&self, node: Node, problem: impl Into<String>) -> FileError {
        FileError::line(self.path, self.line(node.range().start), problem)
    }

    /// Exactly `count` finite numbers.
    pub(super) fn floats(&self, array: Node<'a, 'a>, count: usize) -> Result<Vec<f64>, FileError> {
        let kind = self.kind(array)?;
        if !kind.is_float() {
            return Err(self.error(array, "the points should be Float32 or Float64"));
        }
        if self.format(array)? == "ascii" {
            return self.text(array, count, "a finite number", |token| {
                parse_f64(token).filter(|value| value.is_finite())
            });
        }
        let bytes = self.binary(array, count, kind)?;
        let values = bytes.chunks_exact(kind.size()).map(|bytes| kind.float(bytes, self.order));
        self.all(array, values.map(|value| value.is_finite().then_some(value)), "is not a finite number")
    }

    /// Exactly `count` integers.
    pub(super) fn integers(&self, array: Node<'a, 'a>, count: usize) -> Result<Vec<i64>, FileError> {
        let kind = self.kind(array)?;
        if kind.is_float() {
            return Err(self.error(array, "should be an array of integers"));
        }
        if self.format(array)? == "ascii" {
            return self.text(array, count, "an integer", parse_i64);
        }
        let bytes = self.binary(array, count, kind)?;
        let values = bytes.chunks_exact(kind.size()).map(|bytes| kind.integer(bytes, self.order));
        self.all(array, values, "is far too large")
    }

    fn all<T>(
        &self,
        array: Node,
        values: impl Iterator<Item = Option<T>>,
        problem: &str,
    ) -> Result<Vec<T>, FileError> {
        let placed = |(i, value): (usize, Option<T>)| {
            value.ok_or_else(|| self.binary_error(array, format!("number {i} of the array {problem}")))
        };
        values.enumerate().map(placed).collect()
    }

    fn text<T>(
        &self,
        array: Node<'a, 'a>,
        count: usize,
        expected: &str,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, FileError> {
        let text = array.text().unwrap_or_default();
        let mut scanner = Scanner::new(text.as_bytes(), self.path);
        let mut values = Vec::with_capacity(count.min(text.len() / 2 + 1));
        let mut numbers = || -> Result<(), FileError> {
            while let Some(token) = scanner.token() {
                let Some(value) = parse(token) else {
                    return Err(scanner.error(format!("expected {expected}, found {}", shown(token))));
                };
                values.push(value);
            }
            if values.len() != count {
                let problem = format!("the array has {} numbers, but {count} are needed", values.len());
                return Err(scanner.error(problem));
            }
            Ok(())
        };
        match numbers() {
            Ok(()) => Ok(values),
            Err(mut error) => {
                if let Place::Line(line) = &mut error.place {
                    let text = array.first_child().unwrap_or(array);
                    *line += self.line(text.range().start) - 1;
                }
                Err(error)
            }
        }
    }

    /// The bytes of exactly `count` numbers.
    fn binary(&self, array: Node<'a, 'a>, count: usize, kind: NumberType) -> Result<Vec<u8>, FileError> {
        let placed = |problem: String| self.binary_error(array, problem);
        let length = count.checked_mul(kind.size()).filter(|&length| length <= self.budget.get());
        let length =
            length.ok_or_else(|| placed(format!("{count} numbers are more than the file can contain")))?;
        self.budget.set(self.budget.get() - length);
        let mut stream = self.stream(array)?;
        match self.compression {
            None => self.plain(&mut stream, length),
            Some(compression) => self.blocks(&mut stream, length, compression),
        }
        .map_err(placed)
    }

    fn stream(&self, array: Node<'a, 'a>) -> Result<Stream<'a>, FileError> {
        if self.format(array)? == "binary" {
            return Ok(Stream::Base64(Base64::new(array.text().unwrap_or_default().as_bytes())));
        }
        let Some(appended) = &self.appended else {
            return Err(self.error(array, "the array is appended, but the file has no <AppendedData>"));
        };
        let offset = self.offset(array);
        let bytes = offset.and_then(|offset| appended.bytes.get(offset..)).ok_or_else(|| {
            let (offset, length) = (array.attribute("offset").unwrap_or_default(), appended.bytes.len());
            self.error(array, format!("offset \"{offset}\" is outside the {length} appended bytes"))
        })?;
        Ok(if appended.base64 { Stream::Base64(Base64::new(bytes)) } else { Stream::Raw(bytes) })
    }

    /// The length, then the bytes.
    fn plain(&self, stream: &mut Stream, length: usize) -> Result<Vec<u8>, String> {
        let announced = self.header_number(stream)?;
        if announced != length as u64 {
            return Err(format!("the array has {announced} bytes, but {length} are needed"));
        }
        let mut bytes = Vec::new();
        stream.read(length, &mut bytes)?;
        Ok(bytes)
    }

    /// The number of blocks, the size of a block and of a shorter last one, the compressed sizes, then the blocks.
    fn blocks(
        &self,
        stream: &mut Stream,
        length: usize,
        compression: Compression,
    ) -> Result<Vec<u8>, String> {
        let (blocks, size, last) =
            (self.header_number(stream)?, self.header_number(stream)?, self.header_number(stream)?);
        let whole = if last == 0 { blocks } else { blocks.saturating_sub(1) };
        let total = u128::from(whole) * u128::from(size) + if blocks == 0 { 0 } else { u128::from(last) };
        if total != length as u128 {
            return Err(format!("the compressed array has {total} bytes, but {length} are needed"));
        }
        if blocks > (stream.most_left() / self.header.size()) as u64 {
            return Err(format!("{blocks} compressed blocks are more than the file can contain"));
        }
        let sizes = (0..blocks).map(|_| self.header_number(stream)).collect::<Result<Vec<u64>, String>>()?;
        let mut bytes = Vec::new();
        for (i, compressed_size) in (0..).zip(sizes) {
            let unpacked = if i < whole { size } else { last };
            let packed = usize::try_from(compressed_size).unwrap_or(usize::MAX);
            if packed > stream.most_left()
                || unpacked > (packed.saturating_mul(compression.expansion()) + 64) as u64
            {
                return Err(format!("block {i}: {packed} compressed bytes cannot expand to {unpacked}"));
            }
            let mut compressed = Vec::new();
            stream.read(packed, &mut compressed)?;
            compression
                .unpack(&compressed, unpacked as usize, &mut bytes)
                .map_err(|problem| format!("block {i}: {problem}"))?;
        }
        Ok(bytes)
    }

    fn header_number(&self, stream: &mut Stream) -> Result<u64, String> {
        let mut bytes = Vec::new();
        stream
            .read(self.header.size(), &mut bytes)
            .map_err(|problem| format!("in the array's header: {problem}"))?;
        Ok(self.order.bits(&bytes))
    }

    fn kind(&self, array: Node) -> Result<NumberType, FileError> {
        number_type(array).ok_or_else(|| {
            let kind = array.attribute("type").unwrap_or_default();
            self.error(array, format!("type \"{kind}\" is not a number type of VTK"))
        })
    }

    fn format(&self, array: Node<'a, 'a>) -> Result<&'a str, FileError> {
        match array.attribute("format").unwrap_or("ascii") {
            format @ ("ascii" | "binary" | "appended") => Ok(format),
            other => {
                Err(self.error(array, format!("format \"{other}\" should be ascii, binary or appended")))
            }
        }
    }

    fn offset(&self, array: Node) -> Option<usize> {
        array.attribute("offset")?.trim().parse().ok()
    }

    /// An error in the bytes of an array: at its line, or at the byte where its appended data start.
    fn binary_error(&self, array: Node, problem: String) -> FileError {
        let name = array.attribute("Name").unwrap_or("points");
        match (&self.appended, array.attribute("format"), self.offset(array)) {
            (Some(appended), Some("appended"), Some(offset)) => {
                let byte = appended.start.saturating_add(offset) as u64;
                FileError::byte(self.path, byte, format!("array \"{name}\": {problem}"))
            }
            _ => self.error(array, format!("array \"{name}\": {problem}")),
        }
    }

    fn line(&self, position: usize) -> u64 {
        u64::from(self.document.text_pos_at(position).row)
    }
}

fn inflate(compressed: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let before = out.len();
    let mut decoder = flate2::read::ZlibDecoder::new(compressed).take(length as u64 + 1);
    decoder.read_to_end(out).map_err(|error| format!("zlib: {error}"))?;
    if out.len() - before != length {
        return Err(format!("zlib: the block does not contain the expected {length} bytes"));
    }
    Ok(())
}

fn decompress_lz4(compressed: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let before = out.len();
    out.resize(before + length, 0);
    match lz4_flex::block::decompress_into(compressed, &mut out[before..]) {
        Ok(written) if written == length => Ok(()),
        Ok(written) => Err(format!("lz4: the block contains {written} bytes instead of {length}")),
        Err(error) => Err(format!("lz4: {error}")),
    }
}

/// The number type of an array; `None` if it is none of VTK's.
pub(super) fn number_type(array: Node) -> Option<NumberType> {
    Some(match array.attribute("type")? {
        "Int8" => NumberType::I8,
        "UInt8" => NumberType::U8,
        "Int16" => NumberType::I16,
        "UInt16" => NumberType::U16,
        "Int32" => NumberType::I32,
        "UInt32" => NumberType::U32,
        "Int64" => NumberType::I64,
        "UInt64" => NumberType::U64,
        "Float32" => NumberType::F32,
        "Float64" => NumberType::F64,
        _ => return None,
    })
}
