//! Any bytes give a mesh or an error from the reader of this format, never a panic.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use supple_mesh::format::read_medit;

fuzz_target!(|bytes: &[u8]| {
    drop(read_medit(bytes, Path::new("fuzzed.mesh")));
});
