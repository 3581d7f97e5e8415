//! The numbers after a PLY header, from text or from binary, one at a time.

use std::path::Path;

use super::super::scan::{Scanner, parse_f64, shown};
use super::header::{Element, Scalar};
use crate::error::FileError;

/// Where the numbers of the elements come from.
pub(super) trait Source {
    /// The next number, which may be anything: values that are skipped need not be finite.
    fn number(&mut self, scalar: Scalar) -> Result<f64, FileError>;

    /// To be called after the last number of an element.
    fn end_of_element(&mut self, element: &Element) -> Result<(), FileError>;

    /// The most elements of this kind that the rest of the file has room for.
    fn room_for(&self, element: &Element) -> usize;

    /// An error at the last number.
    fn error(&self, problem: String) -> FileError;
}

impl Source for Scanner<'_> {
    #[inline]
    fn number(&mut self, _: Scalar) -> Result<f64, FileError> {
        let Some(token) = self.token() else { return Err(self.ended("a value of this element")) };
        parse_f64(token)
            .ok_or_else(|| Scanner::error(self, format!("expected a number, found {}", shown(token))))
    }

    fn end_of_element(&mut self, element: &Element) -> Result<(), FileError> {
        if self.line_is_done() {
            return Ok(());
        }
        Err(Scanner::error(
            self,
            format!(
                "this line does not end with the last of the {} properties of a `{}`; it has a value too many, or \
                 the line before has one too few",
                element.properties.len(),
                element.name
            ),
        ))
    }

    fn room_for(&self, element: &Element) -> usize {
        // Every value takes a character and a separator, except that the last line may lack its end.
        (self.remaining().len() + 1) / (2 * element.properties.len()).max(1)
    }

    fn error(&self, problem: String) -> FileError {
        Scanner::error(self, problem)
    }
}

/// Reads binary numbers.
#[derive(Debug)]
pub(super) struct Binary<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) path: &'a Path,
    /// The byte of the next number.
    pub(super) at: usize,
    /// The byte of the last number.
    pub(super) last: usize,
    pub(super) big_endian: bool,
}

impl<'a> Binary<'a> {
    pub(super) fn new(bytes: &'a [u8], path: &'a Path, at: usize, big_endian: bool) -> Self {
        Self { bytes, path, at, last: at, big_endian }
    }

    /// The next `length` bytes; an error that asks for `what` if there are fewer.
    #[inline]
    pub(super) fn take(&mut self, length: usize, what: &str) -> Result<&'a [u8], FileError> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..length) else {
            let problem = format!("the file ends inside {what}: {length} bytes wanted, {} left", rest.len());
            return Err(FileError::byte(self.path, self.at as u64, problem));
        };
        self.last = self.at;
        self.at += length;
        Ok(taken)
    }
}

impl Source for Binary<'_> {
    #[inline]
    fn number(&mut self, scalar: Scalar) -> Result<f64, FileError> {
        let big_endian = self.big_endian;
        let bytes = self.take(scalar.size(), "a value")?;
        Ok(if big_endian { from_bytes::<true>(scalar, bytes) } else { from_bytes::<false>(scalar, bytes) })
    }

    fn end_of_element(&mut self, _: &Element) -> Result<(), FileError> {
        Ok(())
    }

    fn room_for(&self, element: &Element) -> usize {
        (self.bytes.len() - self.at) / element.smallest_size().max(1)
    }

    fn error(&self, problem: String) -> FileError {
        FileError::byte(self.path, self.last as u64, problem)
    }
}

/// A number from at least as many bytes as its type has.
#[inline(always)]
pub(super) fn from_bytes<const BIG_ENDIAN: bool>(scalar: Scalar, bytes: &[u8]) -> f64 {
    match scalar {
        Scalar::I8 => f64::from(bytes[0] as i8),
        Scalar::U8 => f64::from(bytes[0]),
        Scalar::I16 => f64::from(u16::from_le_bytes(little::<2, BIG_ENDIAN>(bytes)) as i16),
        Scalar::U16 => f64::from(u16::from_le_bytes(little::<2, BIG_ENDIAN>(bytes))),
        Scalar::I32 => f64::from(u32::from_le_bytes(little::<4, BIG_ENDIAN>(bytes)) as i32),
        Scalar::U32 => f64::from(u32::from_le_bytes(little::<4, BIG_ENDIAN>(bytes))),
        Scalar::F32 => f64::from(f32::from_le_bytes(little::<4, BIG_ENDIAN>(bytes))),
        Scalar::F64 => f64::from_le_bytes(little::<8, BIG_ENDIAN>(bytes)),
    }
}

/// The first `N` bytes in little-endian order.
#[inline(always)]
pub(super) fn little<const N: usize, const BIG_ENDIAN: bool>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    if BIG_ENDIAN {
        array.reverse();
    }
    array
}
