//! NumPy's `.npy` arrays (NEP 1, versions 1 to 3): magic, version, a Python dictionary with type, order and shape,
//! then the numbers. Read: floating-point numbers and integers of 1 to 8 bytes in either byte order. Written: version
//! 1, little-endian `f8`.

use std::io::{self, Write};
use std::path::Path;

use super::DenseArray;
use supple_core::FileError;
use supple_core::text::scan::shown;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Maximum length of a header; NumPy's own are 128 bytes.
const LONGEST_HEADER: usize = 1 << 16;

/// The kind of numbers, by the type's letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NpyKind {
    Float,
    Signed,
    Unsigned,
    /// Characters, one or four bytes each.
    Text,
}

/// An array as stored in a file: its numbers are not decoded yet.
#[derive(Debug, Clone)]
pub(super) struct RawArray<'a> {
    kind: NpyKind,
    /// Bytes per number.
    size: usize,
    big_endian: bool,
    fortran: bool,
    pub shape: Vec<usize>,
    data: &'a [u8],
    /// The first byte of the data.
    data_start: usize,
}

/// Reads the header, and checks the length of the data. `Err` contains the byte offset and the problem.
pub(super) fn parse(bytes: &[u8]) -> Result<RawArray<'_>, (usize, String)> {
    let problem = |at: usize, text: &str| Err((at, text.to_owned()));
    if !bytes.starts_with(MAGIC) || bytes.len() < 10 {
        return problem(0, "is not a NumPy array: it does not start with `\\x93NUMPY`");
    }
    let (length, start) = match bytes[6] {
        1 => (usize::from(u16::from_le_bytes([bytes[8], bytes[9]])), 10),
        2 | 3 if bytes.len() >= 12 => {
            (u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize, 12)
        }
        version => return problem(6, &format!("version {version} of the format is not supported")),
    };
    let end = start + length;
    if length > LONGEST_HEADER || end > bytes.len() {
        return problem(
            8,
            &format!("a header of {length} bytes does not fit into the file; is it truncated?"),
        );
    }
    let header = String::from_utf8_lossy(&bytes[start..end]).into_owned();
    let mut array = describe(&header).map_err(|text| (start, text))?;
    let count = array.shape.iter().try_fold(array.size, |product, &side| product.checked_mul(side));
    let data = &bytes[end..];
    if count != Some(data.len()) {
        let shape = shown_shape(&array.shape);
        let size = array.size;
        return problem(
            end,
            &format!(
                "shape {shape} of {size}-byte items does not match the {} bytes of data; is it truncated?",
                data.len()
            ),
        );
    }
    array.data_start = end;
    Ok(RawArray { data, ..array })
}

/// Type, order and shape from the header's dictionary.
fn describe<'a>(header: &str) -> Result<RawArray<'a>, String> {
    let value = |key: &str| {
        let at = header.find(&format!("'{key}'")).ok_or_else(|| format!("the header has no `{key}`"))?;
        let rest = header[at + key.len() + 2..].trim_start();
        rest.strip_prefix(':')
            .map(str::trim_start)
            .ok_or_else(|| format!("`{key}` in the header has no value"))
    };
    let descr = value("descr")?;
    let text = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
    let (kind, size, big_endian) = text.and_then(item_type).ok_or_else(|| {
        let found = shown(text.unwrap_or(descr).as_bytes());
        format!("the type {found} is not supported; convert it with `.astype(float)`")
    })?;
    let fortran = value("fortran_order")?.starts_with("True");
    let shape = value("shape")?;
    let inner = shape.strip_prefix('(').and_then(|rest| rest.split(')').next());
    let sides = inner.map(|inner| inner.split(',').map(str::trim).filter(|side| !side.is_empty()));
    let shape = sides.and_then(|sides| sides.map(|side| side.parse().ok()).collect::<Option<Vec<usize>>>());
    let shape = shape.ok_or("`shape` in the header is not a list of integers")?;
    Ok(RawArray { kind, size, big_endian, fortran, shape, data: &[], data_start: 0 })
}

fn item_type(text: &str) -> Option<(NpyKind, usize, bool)> {
    let (order, rest) = text.split_at_checked(1)?;
    let (letter, size) = rest.split_at_checked(1)?;
    let size: usize = size.parse().ok()?;
    let big_endian = match order {
        "<" | "|" | "=" => false,
        ">" => true,
        _ => return None,
    };
    let kind = match (letter, size) {
        ("f", 4 | 8) => NpyKind::Float,
        ("i", 1 | 2 | 4 | 8) => NpyKind::Signed,
        ("u", 1 | 2 | 4 | 8) => NpyKind::Unsigned,
        ("S", 0..=64) => return Some((NpyKind::Text, size, big_endian)),
        ("U", 0..=64) => return Some((NpyKind::Text, 4 * size, big_endian)),
        _ => return None,
    };
    Some((kind, size, big_endian))
}

pub(super) fn shown_shape(shape: &[usize]) -> String {
    format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
}

impl RawArray<'_> {
    pub(super) fn kind(&self) -> NpyKind {
        self.kind
    }

    /// Every item's bytes, least significant first, padded to eight.
    fn items(&self) -> impl Iterator<Item = [u8; 8]> + '_ {
        self.data.chunks_exact(self.size.max(1)).map(|item| {
            let mut bytes = [0; 8];
            bytes[..item.len()].copy_from_slice(item);
            if self.big_endian {
                bytes[..item.len()].reverse();
            }
            bytes
        })
    }

    /// All numbers in the file's order.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let unused = 8 * (8 - self.size.min(8)) as u32;
        let decode = |bytes: [u8; 8]| match (self.kind, self.size) {
            (NpyKind::Float, 4) => f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            (NpyKind::Float, _) => f64::from_le_bytes(bytes),
            // Shifting the sign bit to the top and back extends it.
            (NpyKind::Signed, _) => (i64::from_le_bytes(bytes) << unused >> unused) as f64,
            _ => u64::from_le_bytes(bytes) as f64,
        };
        self.items().map(decode).collect()
    }

    /// Letters of a text array, without padding.
    pub(super) fn text(&self) -> String {
        self.data.iter().filter(|byte| byte.is_ascii_graphic()).map(|&byte| char::from(byte)).collect()
    }

    /// Whether the first index changes fastest.
    pub(super) fn is_fortran(&self) -> bool {
        self.fortran && self.shape.len() > 1
    }
}

/// Reads a vector, or a matrix of numbers, from a `.npy` file.
pub(super) fn read_dense(bytes: &[u8], path: &Path) -> Result<DenseArray, FileError> {
    let array = parse(bytes).map_err(|(at, text)| FileError::byte(path, at as u64, text))?;
    if array.kind() == NpyKind::Text {
        return Err(FileError::whole(path, "holds text, not numbers"));
    }
    let shape = match array.shape.as_slice() {
        [] => [1, 1],
        [rows] => [*rows, 1],
        [rows, columns] => [*rows, *columns],
        other => {
            let shape = shown_shape(other);
            return Err(FileError::whole(
                path,
                format!("has shape {shape}; it must have one or two dimensions"),
            ));
        }
    };
    let mut values = array.numbers();
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let byte = (array.data_start + at * array.size) as u64;
        return Err(FileError::byte(
            path,
            byte,
            format!("number {at} is {}, which is not finite", values[at]),
        ));
    }
    if array.is_fortran() {
        let by_columns = values.clone();
        for (at, value) in values.iter_mut().enumerate() {
            *value = by_columns[at / shape[1] + (at % shape[1]) * shape[0]];
        }
    }
    Ok(DenseArray { shape, values })
}

/// Writes a vector of `f64`.
pub fn write_npy(values: &[f64], out: &mut impl Write) -> io::Result<()> {
    let dictionary = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", values.len());
    // The data start at a multiple of 64 bytes, after a line end.
    let padded = (10 + dictionary.len() + 1).next_multiple_of(64) - 10;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&(padded as u16).to_le_bytes())?;
    out.write_all(format!("{dictionary:<width$}\n", width = padded - 1).as_bytes())?;
    for chunk in values.chunks(1 << 13) {
        let bytes: Vec<u8> = chunk.iter().flat_map(|value| value.to_le_bytes()).collect();
        out.write_all(&bytes)?;
    }
    Ok(())
}
