//! Saved states: plain little-endian bytes with counts, checked when read.

use glam::DVec3;

use crate::Error;

/// Writes a state.
#[derive(Debug, Default)]
pub struct StateWriter {
    bytes: Vec<u8>,
}

impl StateWriter {
    /// One number.
    pub fn number(&mut self, value: f64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// One integer.
    pub fn whole(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// A list of vectors with its length.
    pub fn vectors(&mut self, values: &[DVec3]) {
        self.whole(values.len() as u64);
        for value in values.iter().flat_map(|v| v.to_array()) {
            self.number(value);
        }
    }

    /// A list of small integers with its length.
    pub fn words(&mut self, values: &[u32]) {
        self.whole(values.len() as u64);
        self.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    /// A list of numbers with its length.
    pub fn numbers(&mut self, values: &[f64]) {
        self.whole(values.len() as u64);
        values.iter().for_each(|value| self.number(*value));
    }

    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads a state.
#[derive(Debug)]
pub struct StateReader<'a> {
    rest: &'a [u8],
}

impl<'a> StateReader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// One number.
    pub fn number(&mut self) -> Result<f64, Error> {
        Ok(f64::from_le_bytes(self.eight()?))
    }

    /// One integer.
    pub fn whole(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.eight()?))
    }

    /// A list of vectors of any length.
    pub fn list(&mut self) -> Result<Vec<DVec3>, Error> {
        let stored = self.whole()?;
        // A wrong length ends with the bytes, before any memory is allocated for it.
        if stored > self.rest.len() as u64 / 24 {
            return Err(ends_early());
        }
        (0..stored).map(|_| self.vector()).collect()
    }

    /// A list of exactly `count` vectors.
    pub fn vectors(&mut self, count: usize) -> Result<Vec<DVec3>, Error> {
        let stored = self.whole()?;
        if stored != count as u64 {
            let problem = format!("the saved state has {stored} vertices, but the scene has {count}");
            return Err(Error::Invalid(format!("{problem}: it belongs to a different scene or resolution")));
        }
        (0..count).map(|_| self.vector()).collect()
    }

    /// A list of small integers of any length.
    pub fn words(&mut self) -> Result<Vec<u32>, Error> {
        let stored = self.whole()?;
        // A wrong length ends with the bytes, before any memory is allocated for it.
        let bytes = usize::try_from(stored).ok().and_then(|count| count.checked_mul(4));
        let (words, rest) =
            bytes.and_then(|bytes| self.rest.split_at_checked(bytes)).ok_or_else(ends_early)?;
        self.rest = rest;
        let (words, _) = words.as_chunks();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// A list of exactly `count` numbers.
    pub fn numbers(&mut self, count: usize) -> Result<Vec<f64>, Error> {
        let stored = self.whole()?;
        if stored != count as u64 {
            let problem = format!("the saved state has {stored} constraints, but the scene has {count}");
            return Err(Error::Invalid(format!("{problem}: it belongs to a different scene or resolution")));
        }
        (0..count).map(|_| self.number()).collect()
    }

    fn vector(&mut self) -> Result<DVec3, Error> {
        Ok(DVec3::new(self.number()?, self.number()?, self.number()?))
    }

    /// Checks that all bytes were read.
    pub fn finish(self) -> Result<(), Error> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "the saved state has {} bytes too many: it belongs to a different scene",
            self.rest.len()
        )))
    }

    fn eight(&mut self) -> Result<[u8; 8], Error> {
        let (first, rest) = self.rest.split_first_chunk().ok_or_else(ends_early)?;
        self.rest = rest;
        Ok(*first)
    }
}

fn ends_early() -> Error {
    Error::Invalid("the saved state ends early: it is truncated or belongs to a different scene".into())
}
