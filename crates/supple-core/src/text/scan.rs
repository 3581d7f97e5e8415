//! A scanner over the bytes of a text file: tokens between white space, with their line numbers. Lines end with
//! LF, CR LF or CR. Numbers are parsed exactly (correctly rounded), with a fast path for short ones.

use std::path::Path;

use crate::FileError;

/// Reads tokens from a text file's bytes and tracks the line number.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    path: &'a Path,
    at: usize,
    line: u64,
    comment: Option<u8>,
    continuation: bool,
}

impl<'a> Scanner<'a> {
    /// A scanner at the first line; a UTF-8 byte-order mark is skipped.
    pub fn new(bytes: &'a [u8], path: &'a Path) -> Self {
        let at = if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        Self { bytes, path, at, line: 1, comment: None, continuation: false }
    }

    /// A token that starts with `mark` ends its line: the rest is a comment.
    pub fn with_comment(mut self, mark: u8) -> Self {
        self.comment = Some(mark);
        self
    }

    /// A backslash at the end of a line joins the next line to it.
    pub fn with_continuation(mut self) -> Self {
        self.continuation = true;
        self
    }

    /// The line of the last token, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The bytes not yet read.
    pub fn remaining(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// An error at the current line.
    pub fn error(&self, problem: impl Into<String>) -> FileError {
        FileError::line(self.path, self.line, problem)
    }

    /// The next token of the current line; `None` at its end.
    #[inline]
    pub fn token_in_line(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&b| is_space(b)).unwrap_or(rest.len());
        if length == 0 || Some(rest[0]) == self.comment {
            return None;
        }
        // `1 2\` + newline: the backslash belongs to the line end, not to the token.
        let joined = self.continuation && rest[length - 1] == b'\\' && line_end_length(&rest[length..]) > 0;
        let length = length - usize::from(joined);
        self.at += length;
        Some(&rest[..length])
    }

    /// The next token, on this line or a later one; `None` at the end of the file.
    #[inline]
    pub fn token(&mut self) -> Option<&'a [u8]> {
        loop {
            if let Some(token) = self.token_in_line() {
                return Some(token);
            }
            if !self.next_line() {
                return None;
            }
        }
    }

    /// Skips the rest of the current line and moves to the start of the next; `false` if the file has no more.
    pub fn next_line(&mut self) -> bool {
        self.rest_of_line();
        let end = line_end_length(&self.bytes[self.at..]);
        self.at += end;
        self.line += u64::from(end > 0);
        self.at < self.bytes.len()
    }

    /// The rest of the current line, trimmed; comments and continuations have no meaning in it.
    pub fn rest_of_line(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&b| b == b'\n' || b == b'\r').unwrap_or(rest.len());
        self.at += length;
        rest[..length].trim_ascii()
    }

    /// Whether the current line has no more tokens.
    pub fn line_is_done(&mut self) -> bool {
        self.clone().token_in_line().is_none()
    }

    /// The next token of the file as a finite number; `what` names it in errors.
    pub fn f64(&mut self, what: &str) -> Result<f64, FileError> {
        match self.token() {
            Some(token) => self.to_f64(token, what),
            None => Err(self.ended(what)),
        }
    }

    /// The next token of the current line as a finite number; `what` names it in errors.
    #[inline]
    pub fn f64_in_line(&mut self, what: &str) -> Result<f64, FileError> {
        match self.token_in_line() {
            Some(token) => self.to_f64(token, what),
            None => Err(self.error(format!("expected {what}, but the line ends"))),
        }
    }

    /// The next token of the file as a count or index; `what` names it in errors.
    pub fn u32(&mut self, what: &str) -> Result<u32, FileError> {
        let Some(token) = self.token() else { return Err(self.ended(what)) };
        parse_u32(token).ok_or_else(|| {
            let found = shown(token);
            self.error(format!("{what} should be an integer from 0 to {}, found {found}", u32::MAX))
        })
    }

    /// A token of this file as a finite number; `what` names it in errors.
    #[inline]
    pub fn to_f64(&self, token: &[u8], what: &str) -> Result<f64, FileError> {
        match parse_f64(token) {
            Some(value) if value.is_finite() => Ok(value),
            Some(_) => Err(self.error(format!("{what} is {}, which is not a finite number", shown(token)))),
            None => Err(self.error(format!("{what} should be a number, found {}", shown(token)))),
        }
    }

    /// The error for a file that ends where `what` is expected.
    pub fn ended(&self, what: &str) -> FileError {
        self.error(format!("expected {what}, but the file ends; is it truncated?"))
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if matches!(byte, b' ' | b'\t' | 0x0B | 0x0C) {
                self.at += 1;
            } else if byte == b'\\' && self.continuation && self.joins_next_line() {
                self.at += 1 + line_end_length(&self.bytes[self.at + 1..]);
                self.line += 1;
            } else {
                return;
            }
        }
    }

    fn joins_next_line(&self) -> bool {
        line_end_length(&self.bytes[self.at + 1..]) > 0
    }
}

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 0x09..=0x0D)
}

fn line_end_length(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\n' | b'\r', ..] => 1,
        _ => 0,
    }
}

/// A token as an error message shows it: quoted, escaped, shortened.
pub fn shown(token: &[u8]) -> String {
    const LONGEST: usize = 32;
    let text = String::from_utf8_lossy(&token[..token.len().min(LONGEST)]);
    let more = if token.len() > LONGEST { "…" } else { "" };
    format!("`{}{more}`", text.escape_debug())
}

/// A name in a file: UTF-8, otherwise decoded as Latin-1, so that different names stay different.
pub fn name(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}

/// A decimal integer from 0 to `u32::MAX`.
#[inline]
pub fn parse_u32(token: &[u8]) -> Option<u32> {
    parse_i64(token).and_then(|value| u32::try_from(value).ok())
}

/// A decimal integer of at most 18 digits, with an optional sign.
#[inline]
pub fn parse_i64(token: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(token);
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = 10 * value + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// A decimal number, correctly rounded; also the spellings of infinities and NaN that `std` accepts.
#[inline]
pub fn parse_f64(token: &[u8]) -> Option<f64> {
    short_decimal(token).or_else(|| std::str::from_utf8(token).ok()?.parse().ok())
}

/// A decimal number whose digits fit into 53 bits and whose power of ten is exact in `f64`: then one multiplication or
/// division rounds correctly (Clinger 1990). `None` for all others, including invalid numbers.
#[inline]
fn short_decimal(token: &[u8]) -> Option<f64> {
    let (negative, rest) = split_sign(token);
    let (mut mantissa, mut digits, mut exponent, mut i) = (0u64, 0, 0i32, 0);
    let mut after_point = false;
    while let Some(&byte) = rest.get(i) {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
            exponent -= i32::from(after_point);
        } else if byte == b'.' && !after_point {
            after_point = true;
        } else {
            break;
        }
        i += 1;
    }
    if digits == 0 || digits > 19 || mantissa > 1 << 53 {
        return None;
    }
    match rest.get(i) {
        None => {}
        Some(b'e' | b'E') => exponent += i32::try_from(parse_i64(&rest[i + 1..])?).ok()?.clamp(-1000, 1000),
        Some(_) => return None,
    }
    let power = *POWERS_OF_TEN.get(exponent.unsigned_abs() as usize)?;
    let value = mantissa as f64;
    let value = if exponent < 0 { value / power } else { value * power };
    Some(if negative { -value } else { value })
}

#[inline]
fn split_sign(token: &[u8]) -> (bool, &[u8]) {
    match token {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, token),
    }
}

/// All powers of ten that `f64` represents exactly.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scanner(text: &[u8]) -> Scanner<'_> {
        Scanner::new(text, Path::new("t"))
    }

    fn all(mut scanner: Scanner<'_>) -> Vec<(u64, String)> {
        std::iter::from_fn(|| scanner.token().map(|t| (scanner.line(), name(t)))).collect()
    }

    #[test]
    fn lines_are_counted_for_every_kind_of_line_end() {
        let expected = [(1, "a"), (1, "b"), (2, "c"), (4, "d")].map(|(l, t)| (l, t.to_owned()));
        for text in ["a b\nc\n\nd", "a b\r\nc\r\n\r\nd\r\n", "a  b\rc\r\r\td"] {
            assert_eq!(all(scanner(text.as_bytes())), expected, "{text:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_and_comments_are_skipped() {
        let tokens = all(scanner(b"\xEF\xBB\xBFa # b c\n#d\ne").with_comment(b'#'));
        assert_eq!(tokens, [(1, "a".to_owned()), (3, "e".to_owned())]);
    }

    #[test]
    fn a_backslash_joins_lines_and_keeps_the_count() {
        let mut joined = scanner(b"f 1 2\\\n 3 \\\r\n4\nv").with_continuation();
        let first: Vec<_> = std::iter::from_fn(|| joined.token_in_line()).collect();
        assert_eq!(first, [&b"f"[..], b"1", b"2", b"3", b"4"]);
        assert_eq!(joined.line(), 3);
        assert_eq!(joined.token(), Some(&b"v"[..]));
        assert_eq!(joined.line(), 4);
    }

    #[test]
    fn not_finite_and_overflowing_numbers_are_refused() {
        for text in ["nan", "inf", "-infinity", "1e999", "x", "1.2.3", "1e", "--1", "."] {
            assert!(scanner(text.as_bytes()).f64("x").is_err(), "{text}");
        }
        assert_eq!(parse_u32(b"4294967295"), Some(u32::MAX));
        assert_eq!(parse_u32(b"4294967296"), None);
        assert_eq!(parse_i64(b"99999999999999999999999999"), None);
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_standard_parser(text in "[+-]?[0-9]{0,22}(\\.[0-9]{0,22})?([eE][+-]?[0-9]{1,3})?") {
            prop_assert_eq!(parse_f64(text.as_bytes()).map(f64::to_bits), text.parse::<f64>().ok().map(f64::to_bits));
        }

        #[test]
        fn shortest_output_of_any_number_comes_back(value in any::<f64>()) {
            prop_assert_eq!(parse_f64(value.to_string().as_bytes()).map(f64::to_bits), Some(value.to_bits()));
        }
    }
}
