//! A file made of text lines between which numbers stand either as text or in binary (Gmsh, legacy VTK): one way to
//! read both, so that each format's structure is written once.

use std::path::Path;

use super::scan::{Scanner, parse_i64, shown};
use crate::error::FileError;

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
    /// Bytes of one number.
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

    /// The float in `bytes`, which have this type's size; whole numbers are converted.
    pub(super) fn float(self, bytes: &[u8], order: ByteOrder) -> f64 {
        let bits = order.bits(bytes);
        match self {
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
            Self::U64 => bits as f64,
            _ => self.integer(bytes, order).map_or(f64::NAN, |value| value as f64),
        }
    }

    /// The whole number in `bytes`, which have this type's size; `None` above `i64::MAX` and for floats.
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

/// Which byte of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Up to eight bytes as an unsigned number.
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

/// Lines and numbers of a file whose numbers are text or binary.
#[derive(Debug)]
pub(super) enum Numbers<'a> {
    Text(Scanner<'a>),
    Binary(Binary<'a>),
}

/// A position in a file with binary numbers.
#[derive(Debug)]
pub(super) struct Binary<'a> {
    bytes: &'a [u8],
    path: &'a Path,
    at: usize,
    /// Where the last line or number began: the place of errors about it.
    start: usize,
    order: ByteOrder,
}

impl<'a> Numbers<'a> {
    pub(super) fn text(bytes: &'a [u8], path: &'a Path) -> Self {
        Self::Text(Scanner::new(bytes, path))
    }

    /// Binary numbers, with the position at byte `at`.
    pub(super) fn binary(bytes: &'a [u8], at: usize, path: &'a Path, order: ByteOrder) -> Self {
        Self::Binary(Binary { bytes, path, at, start: at, order })
    }

    /// The same position, with the other order of bytes in numbers.
    pub(super) fn with_order(mut self, order: ByteOrder) -> Self {
        if let Self::Binary(file) = &mut self {
            file.order = order;
        }
        self
    }

    pub(super) fn is_binary(&self) -> bool {
        matches!(self, Self::Binary(_))
    }

    /// An error at the last line or number that was read.
    pub(super) fn error(&self, problem: impl Into<String>) -> FileError {
        match self {
            Self::Text(scanner) => scanner.error(problem),
            Self::Binary(file) => FileError::byte(file.path, file.start as u64, problem),
        }
    }

    /// The next line that is not blank, trimmed; `None` at the end of the file. In binary files the position is then
    /// right after the line's end.
    pub(super) fn line(&mut self) -> Option<&'a [u8]> {
        match self {
            Self::Text(scanner) => text_line(scanner),
            Self::Binary(file) => file.line(),
        }
    }

    /// The next line, where the file must not end; `what` names it in the error.
    pub(super) fn expect_line(&mut self, what: &str) -> Result<&'a [u8], FileError> {
        match self.line() {
            Some(line) => Ok(line),
            None => Err(self.ended(what)),
        }
    }

    /// The next whole number.
    pub(super) fn integer(&mut self, kind: NumberType, what: &str) -> Result<i64, FileError> {
        match self {
            Self::Text(scanner) => text_integer(scanner, what),
            Self::Binary(file) => {
                let (bytes, order) = (file.take(kind.size(), what)?, file.order);
                kind.integer(bytes, order).ok_or_else(|| self.error(format!("{what} is far too large")))
            }
        }
    }

    /// The next number, which must be finite.
    pub(super) fn float(&mut self, kind: NumberType, what: &str) -> Result<f64, FileError> {
        match self {
            Self::Text(scanner) => scanner.f64(what),
            Self::Binary(file) => {
                let (bytes, order) = (file.take(kind.size(), what)?, file.order);
                let value = kind.float(bytes, order);
                match value.is_finite() {
                    true => Ok(value),
                    false => Err(self.error(format!("{what} is {value}, which is not a finite number"))),
                }
            }
        }
    }

    /// The next whole number as a count of things that each take at least `text_bytes` (white space included) or
    /// `binary_bytes` of what is left of the file, so that it is safe to allocate for them.
    pub(super) fn count(
        &mut self,
        kind: NumberType,
        what: &str,
        text_bytes: usize,
        binary_bytes: usize,
    ) -> Result<usize, FileError> {
        let count = self.integer(kind, what)?;
        self.check_count(count, what, text_bytes, binary_bytes)
    }

    /// Checks a count as [`Numbers::count`] does.
    pub(super) fn check_count(
        &self,
        count: i64,
        what: &str,
        text_bytes: usize,
        binary_bytes: usize,
    ) -> Result<usize, FileError> {
        let (left, each) = match self {
            Self::Text(scanner) => return check_text_count(scanner, count, what, text_bytes),
            Self::Binary(file) => (file.bytes.len() - file.at, binary_bytes),
        };
        checked_count(count, what, left, each).map_err(|problem| self.error(problem))
    }

    /// Skips so many numbers.
    pub(super) fn skip(&mut self, numbers: usize, kind: NumberType, what: &str) -> Result<(), FileError> {
        match self {
            Self::Text(scanner) => {
                for _ in 0..numbers {
                    scanner.token().ok_or_else(|| scanner.ended(what))?;
                }
                Ok(())
            }
            Self::Binary(file) => {
                let length = numbers.saturating_mul(kind.size());
                file.take(length, what).map(|_| ())
            }
        }
    }

    /// Skips everything up to the line `end` and that line too.
    pub(super) fn skip_past(&mut self, end: &str) -> Result<(), FileError> {
        if let Self::Binary(file) = self {
            let rest = &file.bytes[file.at..];
            let found = rest.windows(end.len()).position(|window| window == end.as_bytes());
            file.at += found.unwrap_or(rest.len());
        }
        loop {
            match self.line() {
                Some(line) if line == end.as_bytes() => return Ok(()),
                Some(_) => {}
                None => return Err(self.ended(end)),
            }
        }
    }

    /// Skips the rest of this line and all lines up to the next blank one.
    pub(super) fn skip_past_blank_line(&mut self) {
        match self {
            Self::Text(scanner) => while scanner.next_line() && !scanner.rest_of_line().is_empty() {},
            Self::Binary(file) => while file.raw_line().is_some_and(|line| !line.is_empty()) {},
        }
    }

    /// The error for a file that ends where `what` should stand.
    pub(super) fn ended(&self, what: &str) -> FileError {
        match self {
            Self::Text(scanner) => scanner.ended(what),
            Self::Binary(file) => file.ended(what),
        }
    }
}

/// The next whole number of a text file.
pub(super) fn text_integer(scanner: &mut Scanner, what: &str) -> Result<i64, FileError> {
    let Some(token) = scanner.token() else { return Err(scanner.ended(what)) };
    to_integer(scanner, token, what)
}

/// A word of a text file as a whole number.
pub(super) fn to_integer(scanner: &Scanner, token: &[u8], what: &str) -> Result<i64, FileError> {
    parse_i64(token)
        .ok_or_else(|| scanner.error(format!("{what} should be a whole number, found {}", shown(token))))
}

/// Checks a count of things that each take at least `bytes` (white space included) of what is left of a text file.
pub(super) fn check_text_count(
    scanner: &Scanner,
    count: i64,
    what: &str,
    bytes: usize,
) -> Result<usize, FileError> {
    // The file's last number needs no white space after it.
    let left = scanner.remaining().len() + 1;
    checked_count(count, what, left, bytes).map_err(|problem| scanner.error(problem))
}

fn checked_count(count: i64, what: &str, left: usize, each: usize) -> Result<usize, String> {
    match usize::try_from(count) {
        Err(_) => Err(format!("{what} is {count}, which is negative")),
        Ok(whole) if whole <= left / each && whole < u32::MAX as usize => Ok(whole),
        Ok(_) => Err(format!(
            "{what} is {count}, but the {left} bytes that follow cannot hold so many; is the file cut off?"
        )),
    }
}

fn text_line<'a>(scanner: &mut Scanner<'a>) -> Option<&'a [u8]> {
    loop {
        let line = scanner.rest_of_line();
        if !line.is_empty() {
            return Some(line);
        }
        if !scanner.next_line() {
            return None;
        }
    }
}

impl<'a> Binary<'a> {
    fn line(&mut self) -> Option<&'a [u8]> {
        loop {
            let line = self.raw_line()?;
            if !line.is_empty() {
                return Some(line);
            }
        }
    }

    /// The next line, trimmed, also if it is blank.
    fn raw_line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        self.start = self.at;
        let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.at += (length + 1).min(rest.len());
        Some(rest[..length].trim_ascii())
    }

    fn take(&mut self, length: usize, what: &str) -> Result<&'a [u8], FileError> {
        self.start = self.at;
        match self.bytes[self.at..].get(..length) {
            Some(taken) => {
                self.at += length;
                Ok(taken)
            }
            None => Err(self.ended(what)),
        }
    }

    fn ended(&self, what: &str) -> FileError {
        let left = self.bytes.len() - self.at;
        let problem = format!("the file ends {left} bytes further, inside {what}; is it cut off?");
        FileError::byte(self.path, self.at as u64, problem)
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

    #[test]
    fn counts_that_the_file_cannot_hold_are_refused() {
        let path = Path::new("a.msh");
        let mut text = Numbers::text(b"3 1 2 3", path);
        assert_eq!(text.count(NumberType::I32, "the number of nodes", 2, 4), Ok(3));
        let mut text = Numbers::text(b"\n4 1 2 3", path);
        let error = text.count(NumberType::I32, "the number of nodes", 2, 4).unwrap_err();
        assert_eq!(error.place, crate::Place::Line(2));
        let mut binary = Numbers::binary(&[0, 0, 0, 2, 9, 9], 0, path, ByteOrder::Big);
        let error = binary.count(NumberType::I32, "the number of nodes", 2, 4).unwrap_err();
        assert_eq!(error.place, crate::Place::Byte(0));
    }
}
