//! The bytes of a binary array: as they are, or in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Bytes to be read in order.
pub(super) enum Stream<'a> {
    Raw(&'a [u8]),
    Base64(Base64<'a>),
}

impl Stream<'_> {
    /// Appends the next `length` bytes to `out`.
    pub(super) fn read(&mut self, length: usize, out: &mut Vec<u8>) -> Result<(), String> {
        if length > self.most_left() {
            return Err(format!("{length} bytes are declared, but at most {} are left", self.most_left()));
        }
        match self {
            Self::Raw(bytes) => {
                out.extend_from_slice(&bytes[..length]);
                *bytes = &bytes[length..];
                Ok(())
            }
            Self::Base64(text) => text.read(length, out),
        }
    }

    /// An upper bound of the bytes left.
    pub(super) fn most_left(&self) -> usize {
        match self {
            Self::Raw(bytes) => bytes.len(),
            Self::Base64(text) => text.pending.len() + text.characters.len() / 4 * 3,
        }
    }
}

/// Base64 text, with white space anywhere. A header and its data may be encoded as one text or as two, each with its
/// padding (compressed arrays always are): padding therefore ends a group of four, not the stream.
pub(super) struct Base64<'a> {
    characters: &'a [u8],
    /// Bytes decoded beyond the requested ones.
    pending: Vec<u8>,
}

impl<'a> Base64<'a> {
    pub(super) fn new(characters: &'a [u8]) -> Self {
        Self { characters, pending: Vec::new() }
    }

    fn read(&mut self, length: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let goal = out.len() + length;
        out.append(&mut self.pending);
        while out.len() < goal {
            let run = self.clean_run((goal - out.len()) / 3);
            if run.is_empty() {
                let group = self.group()?;
                STANDARD.decode_vec(group, out).map_err(|error| describe(&error))?;
            } else {
                self.characters = &self.characters[run.len()..];
                STANDARD.decode_vec(run, out).map_err(|error| describe(&error))?;
            }
        }
        self.pending = out.split_off(goal);
        Ok(())
    }

    /// Up to `groups` complete groups of four without white space or padding, or none.
    fn clean_run(&self, groups: usize) -> &'a [u8] {
        let run = &self.characters[..(4 * groups.min(1024)).min(self.characters.len()) / 4 * 4];
        if run.iter().all(|&c| c != b'=' && !c.is_ascii_whitespace()) { run } else { &[] }
    }

    /// The next four characters that are not white space.
    fn group(&mut self) -> Result<[u8; 4], String> {
        let mut group = [0; 4];
        for slot in &mut group {
            self.characters = self.characters.trim_ascii_start();
            let (&first, rest) = self.characters.split_first().ok_or("the base64 text ends too early")?;
            *slot = first;
            self.characters = rest;
        }
        Ok(group)
    }
}

fn describe(error: &base64::DecodeError) -> String {
    match error {
        base64::DecodeError::InvalidByte(_, byte) => {
            format!("`{}` is not a base64 character", char::from(*byte).escape_debug())
        }
        other => format!("is not valid base64: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str, lengths: &[usize]) -> Result<Vec<Vec<u8>>, String> {
        let mut stream = Stream::Base64(Base64::new(text.as_bytes()));
        lengths
            .iter()
            .map(|&length| {
                let mut out = Vec::new();
                stream.read(length, &mut out).map(|()| out)
            })
            .collect()
    }

    #[test]
    fn a_header_and_its_data_are_found_encoded_together_or_apart() {
        // RFC 4648, section 10: "foobar" is Zm9vYmFy, "foob" Zm9vYg==, "ar" YXI=.
        let expected = vec![b"foob".to_vec(), b"ar".to_vec()];
        assert_eq!(decoded("Zm9vYmFy", &[4, 2]).unwrap(), expected);
        assert_eq!(decoded(" Zm9v\nYg==YX I=\n", &[4, 2]).unwrap(), expected);
    }

    #[test]
    fn long_texts_with_and_without_line_breaks_agree() {
        let bytes: Vec<u8> = (0..10_000u32).map(|i| (i * i % 251) as u8).collect();
        let text = STANDARD.encode(&bytes);
        let wrapped: Vec<String> =
            text.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line).into()).collect();
        assert_eq!(decoded(&text, &[10_000]).unwrap()[0], bytes);
        assert_eq!(decoded(&wrapped.join("\n"), &[10_000]).unwrap()[0], bytes);
    }

    #[test]
    fn bad_characters_and_early_ends_are_errors() {
        assert!(decoded("Zm9*", &[3]).unwrap_err().contains('*'));
        assert!(decoded("Zm9v", &[6]).is_err());
        assert!(decoded("Zm9v       ", &[6]).is_err());
    }
}
