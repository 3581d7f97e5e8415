//! Any bytes give a mesh or an error from the reader of this format, never a panic. A zero byte parts the two files.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use supple_mesh::format::read_tetgen;

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let ele = bytes.get(end + 1..).unwrap_or_default();
    drop(read_tetgen(&bytes[..end], Path::new("fuzzed.node"), ele, Path::new("fuzzed.ele")));
});
