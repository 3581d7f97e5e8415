//! The subset of the ZIP format (APPNOTE 6.3) that NumPy writes: members stored or deflated, with ZIP64 sizes,
//! checked by CRC-32.

use std::io::Read;

/// A member: its name and the location of its bytes.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub name: String,
    method: u16,
    checksum: u32,
    packed: usize,
    size: usize,
    local_header: usize,
}

/// `Err` contains the byte offset and the problem.
pub(super) type Result<T> = std::result::Result<T, (usize, String)>;

const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const DIRECTORY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// The maximum compression ratio of deflate, with a margin: larger claims are rejected.
const BEST_RATIO: usize = 1100;

fn number(bytes: &[u8], at: usize, length: usize) -> Result<usize> {
    let field = at.checked_add(length).and_then(|end| bytes.get(at..end));
    let field = field.ok_or_else(|| (bytes.len(), "the ZIP archive is truncated".to_owned()))?;
    Ok(field.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte)))
}

/// The members of an archive, from its directory at the end.
pub(super) fn members(bytes: &[u8]) -> Result<Vec<Member>> {
    if !bytes.starts_with(b"PK") {
        return Err((
            0,
            "is not a ZIP archive, as an .npz must be; save it with `scipy.sparse.save_npz`".into(),
        ));
    }
    let tail = bytes.len().saturating_sub((1 << 16) + 22);
    let end = bytes[tail..].windows(4).rposition(|window| window == END);
    let end =
        tail + end.ok_or_else(|| (bytes.len(), "the ZIP archive has no end; is it truncated?".to_owned()))?;
    let (mut count, mut at) = (number(bytes, end + 10, 2)?, number(bytes, end + 16, 4)?);
    if count == 0xffff || at == 0xffff_ffff {
        let record = number(bytes, end.saturating_sub(20) + 8, 8)?;
        if !bytes.get(record..).is_some_and(|rest| rest.starts_with(END_64)) {
            return Err((end, "the ZIP archive's 64-bit directory is missing".into()));
        }
        (count, at) = (number(bytes, record + 32, 8)?, number(bytes, record + 48, 8)?);
    }
    let mut members = Vec::new();
    for _ in 0..count {
        if !bytes.get(at..).is_some_and(|rest| rest.starts_with(DIRECTORY)) {
            return Err((at.min(bytes.len()), "expected an entry of the ZIP archive".into()));
        }
        let (member, next) = member(bytes, at)?;
        members.push(member);
        at = next;
    }
    Ok(members)
}

fn member(bytes: &[u8], at: usize) -> Result<(Member, usize)> {
    let lengths = [number(bytes, at + 28, 2)?, number(bytes, at + 30, 2)?, number(bytes, at + 32, 2)?];
    let (name_start, extra_start) = (at + 46, at + 46 + lengths[0]);
    let name = bytes.get(name_start..extra_start).unwrap_or_default();
    let mut fields = [number(bytes, at + 24, 4)?, number(bytes, at + 20, 4)?, number(bytes, at + 42, 4)?];
    let mut extra = extra_start;
    while extra + 4 <= extra_start + lengths[1] {
        let (tag, length) = (number(bytes, extra, 2)?, number(bytes, extra + 2, 2)?);
        if tag == 1 {
            let mut wide = extra + 4;
            for field in fields.iter_mut().filter(|field| **field == 0xffff_ffff) {
                *field = number(bytes, wide, 8)?;
                wide += 8;
            }
        }
        extra += 4 + length;
    }
    let [size, packed, local_header] = fields;
    let member = Member {
        name: String::from_utf8_lossy(name).into_owned(),
        method: number(bytes, at + 10, 2)? as u16,
        checksum: number(bytes, at + 16, 4)? as u32,
        packed,
        size,
        local_header,
    };
    Ok((member, extra_start + lengths[1] + lengths[2]))
}

impl Member {
    /// The member's bytes, unpacked and checked.
    pub(super) fn unpack(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let header = self.local_header;
        if !bytes.get(header..).is_some_and(|rest| rest.starts_with(LOCAL)) {
            return Err((header.min(bytes.len()), format!("expected the header of `{}`", self.name)));
        }
        let start = header + 30 + number(bytes, header + 26, 2)? + number(bytes, header + 28, 2)?;
        let packed = start.checked_add(self.packed).and_then(|end| bytes.get(start..end));
        let packed = packed.ok_or_else(|| {
            (start, format!("`{}` extends beyond the end; is the file truncated?", self.name))
        })?;
        let unpacked = match self.method {
            0 => packed.to_vec(),
            8 => self.inflate(packed, start)?,
            other => {
                let text = format!(
                    "`{}` is compressed by method {other}; only stored and deflated are supported",
                    self.name
                );
                return Err((header, text));
            }
        };
        let mut sum = flate2::Crc::new();
        sum.update(&unpacked);
        if unpacked.len() != self.size || sum.sum() != self.checksum {
            return Err((start, format!("`{}` is damaged: its checksum or length is wrong", self.name)));
        }
        Ok(unpacked)
    }

    fn inflate(&self, packed: &[u8], start: usize) -> Result<Vec<u8>> {
        if self.size / BEST_RATIO > packed.len() {
            return Err((
                start,
                format!(
                    "`{}` declares {} bytes, which {} compressed bytes cannot contain",
                    self.name,
                    self.size,
                    packed.len()
                ),
            ));
        }
        let mut unpacked = Vec::new();
        let limited = flate2::read::DeflateDecoder::new(packed).take(self.size as u64 + 1);
        let mut limited = limited;
        let read = limited.read_to_end(&mut unpacked);
        read.map_err(|error| (start, format!("`{}` cannot be unpacked: {error}", self.name)))?;
        Ok(unpacked)
    }
}
