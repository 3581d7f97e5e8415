//! The container of Supple's own binary files (frames, topologies, checkpoints). All numbers little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | the magic `SUPPLE\r\n` (the line end shows damage by text-mode transfers) |
//! | 8..12 | the kind, four letters |
//! | 12..16 | version of the payload's layout, `u32` |
//! | 16..24 | length of the payload, `u64` |
//! | 24.. | the payload |
//! | last 8 | XXH3-64 of everything before |

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::atomic::write_whole;
use supple_core::FileError;

const MAGIC: &[u8; 8] = b"SUPPLE\r\n";
pub(super) const HEADER_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 8;

/// The kind of a container, and the newest layout version that this program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordKind {
    /// Four-letter code in the file.
    pub(super) code: [u8; 4],
    /// The layout version, counted from 1.
    pub(super) version: u32,
    /// A plain name for messages.
    pub(super) name: &'static str,
    /// What the user can do about a damaged one.
    pub(super) remedy: &'static str,
}

/// Writes the concatenation of `parts` as one record, whole or not at all.
pub(super) fn write(path: &Path, kind: RecordKind, parts: &[&[u8]]) -> Result<(), FileError> {
    write_whole(path, |file| write_to(file, kind, parts))
}

fn write_to(out: &mut impl Write, kind: RecordKind, parts: &[&[u8]]) -> io::Result<()> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&kind.code);
    header.extend_from_slice(&kind.version.to_le_bytes());
    header.extend_from_slice(&(length as u64).to_le_bytes());
    let mut checksum = Xxh3::new();
    for part in std::iter::once(&header[..]).chain(parts.iter().copied()) {
        checksum.update(part);
        out.write_all(part)?;
    }
    out.write_all(&checksum.digest().to_le_bytes())
}

/// Reads the payload of the record at `path`, rejecting damage, another kind and other versions.
pub(super) fn read(path: &Path, kind: RecordKind) -> Result<Vec<u8>, FileError> {
    read_since(path, kind, kind.version).map(|(_, payload)| payload)
}

/// The same of all versions from `oldest` on; the version comes first.
pub(super) fn read_since(path: &Path, kind: RecordKind, oldest: u32) -> Result<(u32, Vec<u8>), FileError> {
    let mut file = File::open(path).map_err(|e| FileError::io(path, "open", &e))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|e| FileError::io(path, "read", &e))?;
    let version = check(path, kind, oldest, &bytes)?;
    bytes.truncate(bytes.len() - CHECKSUM_BYTES);
    bytes.drain(..HEADER_BYTES);
    Ok((version, bytes))
}

/// The container's shape is checked first, then its checksum: only a complete file may claim to be newer or of another kind.
fn check(path: &Path, kind: RecordKind, oldest: u32, bytes: &[u8]) -> Result<u32, FileError> {
    check_magic(path, kind, bytes)?;
    check_length(path, kind, bytes)?;
    let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    let (stored, found) = (u64_at(checksum, 0), xxh3_64(body));
    if stored != found {
        let problem = format!(
            "the {} is damaged: its checksum is {found:016x} instead of {stored:016x}; {}",
            kind.name, kind.remedy
        );
        return Err(FileError::byte(path, body.len() as u64, problem));
    }
    check_kind(path, kind, oldest, bytes)
}

fn check_magic(path: &Path, kind: RecordKind, bytes: &[u8]) -> Result<(), FileError> {
    if bytes.is_empty() {
        return Err(FileError::whole(path, format!("the file is empty; {}", kind.remedy)));
    }
    let present = bytes.len().min(MAGIC.len());
    if bytes[..present] != MAGIC[..present] {
        let problem = format!("this is not a Supple {}; check the path, or {}", kind.name, kind.remedy);
        return Err(FileError::byte(path, 0, problem));
    }
    Ok(())
}

fn check_length(path: &Path, kind: RecordKind, bytes: &[u8]) -> Result<(), FileError> {
    let length = bytes.len() as u64;
    let smallest = (HEADER_BYTES + CHECKSUM_BYTES) as u64;
    let expected = if length < smallest { smallest } else { smallest.saturating_add(u64_at(bytes, 16)) };
    if length == expected {
        return Ok(());
    }
    let (fault, at_least) = match (length < expected, length < smallest) {
        (true, true) => ("truncated", "at least "),
        (true, false) => ("truncated", ""),
        (false, _) => ("followed by extra bytes", ""),
    };
    let problem = format!(
        "the {} is {fault}: {length} bytes instead of {at_least}{expected}; {}",
        kind.name, kind.remedy
    );
    Err(FileError::byte(path, length.min(expected), problem))
}

/// Returns the version.
fn check_kind(path: &Path, kind: RecordKind, oldest: u32, bytes: &[u8]) -> Result<u32, FileError> {
    if bytes[8..12] != kind.code {
        let found = String::from_utf8_lossy(&bytes[8..12]).into_owned();
        let wanted = String::from_utf8_lossy(&kind.code).into_owned();
        let problem = format!("expected a {} ({wanted:?}), found kind {found:?}; check the path", kind.name);
        return Err(FileError::byte(path, 8, problem));
    }
    let version = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
    if (oldest..=kind.version).contains(&version) {
        return Ok(version);
    }
    let remedy = if version > kind.version { "use a newer Supple" } else { "run the scene again" };
    let problem = format!(
        "the {} has layout version {version}, but this program reads version {}; {remedy}",
        kind.name, kind.version
    );
    Err(FileError::byte(path, 12, problem))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const KIND: RecordKind =
        RecordKind { code: *b"TEST", version: 3, name: "test record", remedy: "write it again" };

    fn record(kind: RecordKind, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_to(&mut bytes, kind, &[payload]).unwrap();
        bytes
    }

    fn read_bytes(bytes: &[u8]) -> Result<Vec<u8>, FileError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.bin");
        fs::write(&path, bytes).unwrap();
        read(&path, KIND)
    }

    #[test]
    fn a_record_follows_its_documented_layout() {
        let bytes = record(KIND, b"payload");
        let mut expected = b"SUPPLE\r\nTEST".to_vec();
        expected.extend([3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        expected.extend(b"payload");
        expected.extend(xxh3_64(&expected).to_le_bytes());
        assert_eq!(bytes, expected);
        assert_eq!(read_bytes(&bytes).unwrap(), b"payload");
    }

    #[test]
    fn truncation_at_every_byte_is_noticed() {
        let bytes = record(KIND, b"payload");
        for length in 0..bytes.len() {
            let error = read_bytes(&bytes[..length]).unwrap_err();
            assert!(error.problem.contains("truncated") || length == 0, "{length}: {error}");
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = record(KIND, b"payload");
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read_bytes(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn foreign_bytes_after_the_end_are_noticed() {
        let mut bytes = record(KIND, b"payload");
        bytes.push(0);
        assert!(read_bytes(&bytes).unwrap_err().problem.contains("extra bytes"));
    }

    #[test]
    fn another_kind_and_a_newer_version_are_distinguished_from_damage() {
        let other = record(RecordKind { code: *b"ELSE", ..KIND }, b"payload");
        assert!(read_bytes(&other).unwrap_err().problem.contains("\"ELSE\""));
        let newer = record(RecordKind { version: 4, ..KIND }, b"payload");
        assert!(read_bytes(&newer).unwrap_err().problem.contains("use a newer Supple"));
        let older = record(RecordKind { version: 2, ..KIND }, b"payload");
        assert!(read_bytes(&older).unwrap_err().problem.contains("version 2"));
        assert!(
            read_bytes(b"solid cube of some other program").unwrap_err().problem.contains("not a Supple")
        );
    }
}
