//! The parts of a glTF file: the JSON, the binary chunk of a GLB, data URIs, and files in its folder.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::document::{Accessor, Buffer, Document};
use supple_core::FileError;

const JSON_CHUNK: &[u8] = b"JSON";
const BINARY_CHUNK: &[u8] = b"BIN\0";

/// The checked JSON of a glTF or GLB file, and the GLB's binary chunk.
pub(super) fn parse<'a>(bytes: &'a [u8], path: &Path) -> Result<(Document, Option<&'a [u8]>), FileError> {
    let (json, json_start, blob) = match bytes.starts_with(b"glTF") {
        true => split_glb(bytes, path)?,
        false => (bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes), None, None),
    };
    let json: serde_json::Value = serde_json::from_slice(json).map_err(|error| match json_start {
        Some(start) => FileError::byte(path, start, format!("the JSON chunk is not glTF: {error}")),
        None => {
            FileError::line(path, error.line().max(1) as u64, format!("not the JSON of a glTF file: {error}"))
        }
    })?;
    if let Some(problem) = compression(&json, "extensionsRequired") {
        return Err(FileError::whole(path, problem));
    }
    let document = Document::new(&json).map_err(|problem| {
        // Such a file may lack what a reader without the extension needs.
        let problem = compression(&json, "extensionsUsed")
            .unwrap_or_else(|| format!("the glTF is not valid: {problem}"));
        FileError::whole(path, problem)
    })?;
    Ok((document, blob))
}

/// What is wrong with a file that lists an extension by which meshes are compressed.
fn compression(json: &serde_json::Value, list: &str) -> Option<String> {
    let listed = json.get(list)?.as_array()?.iter().filter_map(serde_json::Value::as_str);
    let name = listed.into_iter().find(|extension| extension.ends_with("_compression"))?;
    let shown = match name {
        "KHR_draco_mesh_compression" => "Draco".to_owned(),
        "EXT_meshopt_compression" | "KHR_meshopt_compression" => "meshopt".to_owned(),
        other => other.escape_debug().to_string(),
    };
    Some(format!(
        "its meshes are compressed with {shown} ({}); export without compression",
        name.escape_debug()
    ))
}

type GlbParts<'a> = (&'a [u8], Option<u64>, Option<&'a [u8]>);

/// The JSON chunk with its offset, and the binary chunk.
fn split_glb<'a>(bytes: &'a [u8], path: &Path) -> Result<GlbParts<'a>, FileError> {
    let fail = |byte: usize, problem: String| FileError::byte(path, byte as u64, problem);
    let number = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    match number(4) {
        Some(2) => {}
        Some(version) => return Err(fail(4, format!("GLB version {version}; only version 2 can be read"))),
        None => return Err(fail(bytes.len(), "the GLB header is cut off".to_owned())),
    }
    let length = number(8).map_or(usize::MAX, |length| length as usize);
    if length > bytes.len() {
        return Err(fail(
            bytes.len(),
            format!("the GLB header declares {length} bytes, but the file has {}", bytes.len()),
        ));
    }
    let (mut json, mut blob, mut at) = (None, None, 12);
    while at + 8 <= length {
        let size = number(at).unwrap_or_default() as usize;
        let kind = &bytes[at + 4..at + 8];
        let Some(chunk) = bytes[at + 8..length].get(..size) else {
            return Err(fail(at, format!("a chunk of {size} bytes reaches beyond the file's {length}")));
        };
        match kind {
            JSON_CHUNK if json.is_none() => json = Some((chunk, Some(at as u64 + 8))),
            BINARY_CHUNK if blob.is_none() => blob = Some(chunk),
            _ => {}
        }
        at += 8 + size;
    }
    let Some((json, start)) = json else { return Err(fail(12, "the GLB has no JSON chunk".to_owned())) };
    Ok((json, start, blob))
}

/// The bytes of all buffers of a file, and what its JSON says of them.
pub(super) struct Buffers<'a> {
    pub document: &'a Document,
    data: Vec<Cow<'a, [u8]>>,
    path: &'a Path,
    /// The bytes of all buffers together: no honest accessor has more values.
    pub file_size: usize,
}

impl<'a> Buffers<'a> {
    pub(super) fn load(
        document: &'a Document,
        blob: Option<&'a [u8]>,
        path: &'a Path,
    ) -> Result<Self, FileError> {
        let mut data = Vec::new();
        for (index, buffer) in document.buffers.iter().enumerate() {
            // The binary chunk of a GLB is its first buffer.
            let blob = blob.filter(|_| index == 0);
            data.push(
                load_buffer(buffer, blob, path)
                    .map_err(|problem| FileError::whole(path, format!("buffer {index}: {problem}")))?,
            );
        }
        let file_size = data.iter().map(|bytes| bytes.len()).sum();
        Ok(Self { document, data, path, file_size })
    }

    pub(super) fn accessor(&self, index: usize) -> &'a Accessor {
        &self.document.accessors[index]
    }

    pub(super) fn bytes(&self, buffer: usize) -> &[u8] {
        self.data.get(buffer).map(AsRef::as_ref).unwrap_or_default()
    }

    pub(super) fn error(&self, problem: String) -> FileError {
        FileError::whole(self.path, problem)
    }
}

fn load_buffer<'a>(buffer: &Buffer, blob: Option<&'a [u8]>, path: &Path) -> Result<Cow<'a, [u8]>, String> {
    let length = buffer.length;
    let data = match &buffer.uri {
        None => match blob {
            Some(blob) => Cow::Borrowed(&blob[..blob.len().min(length)]),
            None => return Err("it has no uri, and the file has no binary chunk for it".to_owned()),
        },
        Some(uri) => Cow::Owned(match uri.strip_prefix("data:") {
            Some(data) => decode_data_uri(data)?,
            None => read_beside(uri, length, path)?,
        }),
    };
    if data.len() < length {
        return Err(format!("it should have {length} bytes, but has {}", data.len()));
    }
    Ok(data)
}

/// What follows `data:`, which must be base64.
fn decode_data_uri(data: &str) -> Result<Vec<u8>, String> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, config);
    let Some((_, text)) = data.split_once(";base64,") else {
        return Err("its data URI is not base64".to_owned());
    };
    engine.decode(text).map_err(|error| format!("its data URI is damaged: {error}"))
}

/// A file named by a relative URI; no more than `length` bytes of it are read.
fn read_beside(uri: &str, length: usize, path: &Path) -> Result<Vec<u8>, String> {
    let shown = uri.escape_debug();
    if uri.contains(':') || uri.starts_with('/') || uri.starts_with('\\') {
        return Err(format!(
            "`{shown}` is not a file in the folder of the glTF file; save the buffers there, or use .glb"
        ));
    }
    let name = decode_percent(uri).ok_or_else(|| format!("`{shown}` is not a valid file name"))?;
    let place = path.parent().unwrap_or(Path::new("")).join(name);
    let fail = |error: std::io::Error| format!("cannot read `{}`: {error}", place.display());
    let file = File::open(&place).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(format!("`{}` is not a file", place.display()));
    }
    let mut bytes = Vec::new();
    file.take(length as u64).read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

fn decode_percent(uri: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(uri.len());
    let mut bytes = uri.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            _ => byte,
        });
    }
    String::from_utf8(decoded).ok().filter(|name| !name.contains('\0'))
}
