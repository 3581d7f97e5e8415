//! A file of text lines with numbers in between, either as text or in binary (Gmsh, legacy VTK): a common interface
//! to both, so that each format's structure is written once.

use std::path::Path;

use super::binary::{BinaryCursor, ByteOrder, NumberType};
use supple_core::FileError;
use supple_core::text::scan::{Scanner, parse_i64, shown};

/// Lines and numbers of a file whose numbers are text or binary.
#[derive(Debug)]
pub(super) enum NumberReader<'a> {
    Text(Scanner<'a>),
    Binary(BinaryCursor<'a>),
}

impl<'a> NumberReader<'a> {
    pub(super) fn text(bytes: &'a [u8], path: &'a Path) -> Self {
        Self::Text(Scanner::new(bytes, path))
    }

    /// Binary numbers, starting at byte `at`.
    pub(super) fn binary(bytes: &'a [u8], at: usize, path: &'a Path, order: ByteOrder) -> Self {
        Self::Binary(BinaryCursor::new(bytes, path, at, order))
    }

    /// The same position, with the opposite byte order.
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
            Self::Binary(file) => file.error(problem),
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

    /// The next line, which must exist; `what` names it in the error.
    pub(super) fn expect_line(&mut self, what: &str) -> Result<&'a [u8], FileError> {
        match self.line() {
            Some(line) => Ok(line),
            None => Err(self.ended(what)),
        }
    }

    /// The next integer.
    pub(super) fn integer(&mut self, kind: NumberType, what: &str) -> Result<i64, FileError> {
        match self {
            Self::Text(scanner) => text_integer(scanner, what),
            Self::Binary(file) => {
                let (bytes, order) = (file.take(kind.size(), what)?, file.order);
                kind.integer(bytes, order).ok_or_else(|| self.error(format!("{what} is too large")))
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

    /// The next integer as a count of items that each take at least `text_bytes` (white space included) or
    /// `binary_bytes` of the rest of the file, so that it is safe to allocate for them.
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

    /// Checks a count as [`NumberReader::count`] does.
    pub(super) fn check_count(
        &self,
        count: i64,
        what: &str,
        text_bytes: usize,
        binary_bytes: usize,
    ) -> Result<usize, FileError> {
        let (left, each) = match self {
            Self::Text(scanner) => return check_text_count(scanner, count, what, text_bytes),
            Self::Binary(file) => (file.rest().len(), binary_bytes),
        };
        checked_count(count, what, left, each).map_err(|problem| self.error(problem))
    }

    /// Skips this many numbers.
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

    /// Skips everything up to the line `end` and that line as well.
    pub(super) fn skip_past(&mut self, end: &str) -> Result<(), FileError> {
        if let Self::Binary(file) = self {
            let rest = file.rest();
            let found = rest.windows(end.len()).position(|window| window == end.as_bytes());
            file.skip(found.unwrap_or(rest.len()));
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

    /// The error for a file that ends where `what` is expected.
    pub(super) fn ended(&self, what: &str) -> FileError {
        match self {
            Self::Text(scanner) => scanner.ended(what),
            Self::Binary(file) => file.ended(what),
        }
    }
}

/// The next integer of a text file.
pub(super) fn text_integer(scanner: &mut Scanner, what: &str) -> Result<i64, FileError> {
    let Some(token) = scanner.token() else { return Err(scanner.ended(what)) };
    to_integer(scanner, token, what)
}

/// A token of a text file as an integer.
pub(super) fn to_integer(scanner: &Scanner, token: &[u8], what: &str) -> Result<i64, FileError> {
    parse_i64(token)
        .ok_or_else(|| scanner.error(format!("{what} should be an integer, found {}", shown(token))))
}

/// Checks a count of items that each take at least `bytes` (white space included) of the rest of a text file.
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
            "{what} is {count}, which does not fit in the remaining {left} bytes; is the file truncated?"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_the_file_cannot_hold_are_refused() {
        let path = Path::new("a.msh");
        let mut text = NumberReader::text(b"3 1 2 3", path);
        assert_eq!(text.count(NumberType::I32, "the number of nodes", 2, 4), Ok(3));
        let mut text = NumberReader::text(b"\n4 1 2 3", path);
        let error = text.count(NumberType::I32, "the number of nodes", 2, 4).unwrap_err();
        assert_eq!(error.place, supple_core::Place::Line(2));
        let mut binary = NumberReader::binary(&[0, 0, 0, 2, 9, 9], 0, path, ByteOrder::Big);
        let error = binary.count(NumberType::I32, "the number of nodes", 2, 4).unwrap_err();
        assert_eq!(error.place, supple_core::Place::Byte(0));
    }
}
