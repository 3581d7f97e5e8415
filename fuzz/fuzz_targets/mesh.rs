//! Any bytes give a mesh or an error from the reader of every mesh format, never a panic. The first byte chooses the format; with
//! `FUZZ_EXTENSION=obj` in the environment all bytes go to one reader.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use supple_mesh::format::{FORMATS, MeshFormat};

static CHOSEN: LazyLock<Option<&MeshFormat>> = LazyLock::new(|| {
    let extension = std::env::var("FUZZ_EXTENSION").ok()?;
    Some(MeshFormat::of(Path::new(&format!("fuzzed.{extension}"))).expect("an extension of a mesh format"))
});

fuzz_target!(|bytes: &[u8]| {
    let (format, bytes) = match (*CHOSEN, bytes) {
        (Some(format), bytes) => (format, bytes),
        (None, [first, rest @ ..]) => (&FORMATS[usize::from(*first) % FORMATS.len()], rest),
        (None, []) => return,
    };
    drop((format.read)(bytes, Path::new(&format!("fuzzed.{}", format.extensions[0]))));
});
