//! Little-endian numbers, strings and lists in the payload of a record.

use std::path::Path;

use supple_core::FileError;

use super::record::HEADER_BYTES;

/// A number with a fixed little-endian representation.
pub(super) trait Number: Copy {
    /// Its size in bytes.
    const BYTES: usize;
    /// Appends its bytes.
    fn put(self, out: &mut Vec<u8>);
    /// Reads it from exactly [`Number::BYTES`] bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();

            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<$type>()];
                word.copy_from_slice(bytes);
                Self::from_le_bytes(word)
            }
        }
    )*};
}

number!(u8, u32, u64, f32, f64);

impl<T: Number, const N: usize> Number for [T; N] {
    const BYTES: usize = N * T::BYTES;

    fn put(self, out: &mut Vec<u8>) {
        self.into_iter().for_each(|value| value.put(out));
    }

    fn get(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| T::get(&bytes[i * T::BYTES..(i + 1) * T::BYTES]))
    }
}

/// Appends a list: its length as `u64`, then its values.
pub(super) fn put_list<T: Number>(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = T>) {
    (values.len() as u64).put(out);
    out.reserve(values.len() * T::BYTES);
    values.for_each(|value| value.put(out));
}

/// Appends a string: its length in bytes as `u64`, then UTF-8.
pub(super) fn put_string(out: &mut Vec<u8>, text: &str) {
    (text.len() as u64).put(out);
    out.extend_from_slice(text.as_bytes());
}

/// Reads a payload from start to end; every error names the byte in the file.
pub(super) struct PayloadReader<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> PayloadReader<'a> {
    /// Starts at the beginning of the payload.
    pub(super) fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self { path, bytes, at: 0 }
    }

    /// An error at the current byte.
    pub(super) fn error(&self, problem: impl Into<String>) -> FileError {
        FileError::byte(self.path, (HEADER_BYTES + self.at) as u64, problem)
    }

    /// One number.
    pub(super) fn number<T: Number>(&mut self) -> Result<T, FileError> {
        self.take(T::BYTES as u64, "a number").map(T::get)
    }

    /// A list of numbers, its length checked against the remaining bytes before anything is allocated.
    pub(super) fn list<T: Number>(&mut self, what: &str) -> Result<Vec<T>, FileError> {
        let length: u64 = self.number()?;
        let bytes = self.take(length.saturating_mul(T::BYTES as u64), what)?;
        Ok(bytes.chunks_exact(T::BYTES).map(T::get).collect())
    }

    /// A string.
    pub(super) fn string(&mut self, what: &str) -> Result<String, FileError> {
        let length: u64 = self.number()?;
        let bytes = self.take(length, what)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.error(format!("{what} is not UTF-8 text")))
    }

    /// Whether everything has been read.
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Rejects unread bytes.
    pub(super) fn finish(&self) -> Result<(), FileError> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            rest => Err(self.error(format!("{rest} excess bytes; the file was not written by Supple"))),
        }
    }

    fn take(&mut self, length: u64, what: &str) -> Result<&'a [u8], FileError> {
        let left = self.bytes.len() - self.at;
        match usize::try_from(length) {
            Ok(length) if length <= left => {
                let taken = &self.bytes[self.at..self.at + length];
                self.at += length;
                Ok(taken)
            }
            _ => Err(self.error(format!("{what} needs {length} bytes, only {left} are left"))),
        }
    }
}
