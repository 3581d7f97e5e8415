//! Binary numbers in files: their types, their byte orders, and a cursor over them.

use std::path::Path;

use supple_core::FileError;

/// How a number is stored in binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl NumberType {
    /// Bytes per number.
    pub(super) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// The number in `bytes`, which must be at least as many as the type has; integers are converted.
    pub(super) fn float(self, bytes: &[u8], order: ByteOrder) -> f64 {
        match order {
            ByteOrder::Little => self.float_in::<false>(bytes),
            ByteOrder::Big => self.float_in::<true>(bytes),
        }
    }

    /// The same with the order fixed at compile time, for loops over millions.
    #[inline(always)]
    pub(super) fn float_in<const BIG_ENDIAN: bool>(self, bytes: &[u8]) -> f64 {
        match self {
            Self::I8 => f64::from(bytes[0] as i8),
            Self::U8 => f64::from(bytes[0]),
            Self::I16 => f64::from(i16::from_le_bytes(little::<2, BIG_ENDIAN>(bytes))),
            Self::U16 => f64::from(u16::from_le_bytes(little::<2, BIG_ENDIAN>(bytes))),
            Self::I32 => f64::from(i32::from_le_bytes(little::<4, BIG_ENDIAN>(bytes))),
            Self::U32 => f64::from(u32::from_le_bytes(little::<4, BIG_ENDIAN>(bytes))),
            Self::I64 => i64::from_le_bytes(little::<8, BIG_ENDIAN>(bytes)) as f64,
            Self::U64 => u64::from_le_bytes(little::<8, BIG_ENDIAN>(bytes)) as f64,
            Self::F32 => f64::from(f32::from_le_bytes(little::<4, BIG_ENDIAN>(bytes))),
            Self::F64 => f64::from_le_bytes(little::<8, BIG_ENDIAN>(bytes)),
        }
    }

    /// The integer in `bytes`, which have this type's size; `None` above `i64::MAX` and for floats.
    pub(super) fn integer(self, bytes: &[u8], order: ByteOrder) -> Option<i64> {
        let bits = order.bits(bytes);
        match self {
            Self::I8 => Some(i64::from(bits as i8)),
            Self::I16 => Some(i64::from(bits as i16)),
            Self::I32 => Some(i64::from(bits as i32)),
            Self::I64 => Some(bits as i64),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => i64::try_from(bits).ok(),
            Self::F32 | Self::F64 => None,
        }
    }
}

/// The byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Up to eight bytes as an unsigned integer.
    pub(super) fn bits(self, bytes: &[u8]) -> u64 {
        let mut wide = [0; 8];
        match self {
            Self::Little => {
                wide[..bytes.len()].copy_from_slice(bytes);
                u64::from_le_bytes(wide)
            }
            Self::Big => {
                wide[8 - bytes.len()..].copy_from_slice(bytes);
                u64::from_be_bytes(wide)
            }
        }
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

/// A cursor in a file with binary numbers.
#[derive(Debug)]
pub(super) struct BinaryCursor<'a> {
    bytes: &'a [u8],
    path: &'a Path,
    at: usize,
    /// The start of the last line or number, for errors about it.
    start: usize,
    pub order: ByteOrder,
}

impl<'a> BinaryCursor<'a> {
    /// A cursor at byte `at`.
    pub(super) fn new(bytes: &'a [u8], path: &'a Path, at: usize, order: ByteOrder) -> Self {
        Self { bytes, path, at, start: at, order }
    }

    /// The rest of the file.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Advances by this many bytes, at most to the end.
    pub(super) fn skip(&mut self, length: usize) {
        self.at += length.min(self.rest().len());
    }

    /// The byte offset of the next number.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// An error at the last line or number.
    pub(super) fn error(&self, problem: impl Into<String>) -> FileError {
        self.error_at(self.start, problem)
    }

    /// An error at a byte of the file.
    pub(super) fn error_at(&self, byte: usize, problem: impl Into<String>) -> FileError {
        FileError::byte(self.path, byte as u64, problem)
    }

    /// The next line that is not blank, trimmed.
    pub(super) fn line(&mut self) -> Option<&'a [u8]> {
        loop {
            let line = self.raw_line()?;
            if !line.is_empty() {
                return Some(line);
            }
        }
    }

    /// The next line, trimmed, also if it is blank.
    pub(super) fn raw_line(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        self.start = self.at;
        let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.at += (length + 1).min(rest.len());
        Some(rest[..length].trim_ascii())
    }

    /// The next `length` bytes; an error mentioning `what` if there are fewer.
    #[inline]
    pub(super) fn take(&mut self, length: usize, what: &str) -> Result<&'a [u8], FileError> {
        self.start = self.at;
        match self.rest().get(..length) {
            Some(taken) => {
                self.at += length;
                Ok(taken)
            }
            None => Err(self.ended(what)),
        }
    }

    /// The error for a file that ends inside `what`.
    pub(super) fn ended(&self, what: &str) -> FileError {
        let left = self.rest().len();
        let problem = format!("the file ends {left} bytes further, inside {what}; is it truncated?");
        self.error_at(self.at, problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders_give_the_same_number() {
        let value = -2_345_678.125_f64;
        assert_eq!(NumberType::F64.float(&value.to_le_bytes(), ByteOrder::Little), value);
        assert_eq!(NumberType::F64.float(&value.to_be_bytes(), ByteOrder::Big), value);
        assert_eq!(NumberType::I16.integer(&(-2i16).to_be_bytes(), ByteOrder::Big), Some(-2));
        assert_eq!(NumberType::U64.integer(&u64::MAX.to_le_bytes(), ByteOrder::Little), None);
    }
}
