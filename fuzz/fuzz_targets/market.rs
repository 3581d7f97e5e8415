//! Any bytes give a matrix or an error from the reader of this format, never a panic.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use supple_linear::io::read_matrix;

fuzz_target!(|bytes: &[u8]| {
    drop(read_matrix(bytes, Path::new("fuzzed.mtx")));
});
