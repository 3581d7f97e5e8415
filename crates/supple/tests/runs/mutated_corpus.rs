//! The files of the test corpus, flipped, truncated, repeated and spliced at random: every reader returns a mesh or an error,
//! never a panic. The fuzz targets do the same continuously; this is their quick counterpart, seeded by proptest.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use glam::DVec3;
use proptest::prelude::*;
use proptest::sample::Index;
use supple::mesh::TetMesh;
use supple::mesh::format::{self, FORMATS, read_tetgen, write_msh22_binary, write_obj, write_ply, write_vtu};
use supple::mesh::generate::SphereShape;
use supple::scene::{Scene, builtin_scenes};

/// An extension, and the files that its reader is tried on.
struct Format {
    extension: String,
    files: Vec<Vec<u8>>,
}

/// Tokens with a meaning for some reader: limits of numbers, section names, separators.
const WORDS: [&[u8]; 16] = [
    b"-1",
    b"0",
    b"4294967295",
    b"18446744073709551616",
    b"1e999",
    b"nan",
    b"\n",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"/",
    b"\\\n",
    b"f 1 2 3\n",
    b"$EndNodes\n",
    b"element vertex 3\n",
    b"\"",
    b"<",
];

/// One change of a file.
#[derive(Debug, Clone)]
enum Change {
    Flip(Index, u8),
    Cut(Index),
    Remove(Index, Index),
    Repeat(Index, Index),
    Insert(Index, usize),
    /// A piece of another file of the format, at an offset.
    Splice(Index, Index, Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(a, byte)| Change::Flip(a, byte)),
        1 => at().prop_map(Change::Cut),
        1 => (at(), at()).prop_map(|(a, b)| Change::Remove(a, b)),
        1 => (at(), at()).prop_map(|(a, b)| Change::Repeat(a, b)),
        3 => (at(), 0..WORDS.len()).prop_map(|(a, word)| Change::Insert(a, word)),
        2 => (at(), at(), at(), at()).prop_map(|(a, b, c, d)| Change::Splice(a, b, c, d)),
    ]
}

/// The piece between two offsets, at most 64 bytes so that repeated changes do not make huge files.
fn piece<'a>(bytes: &'a [u8], a: &Index, b: &Index) -> &'a [u8] {
    let (a, b) = (a.index(bytes.len() + 1), b.index(bytes.len() + 1));
    let (low, high) = (a.min(b), a.max(b));
    &bytes[low..high.min(low + 64)]
}

fn insert(bytes: &mut Vec<u8>, at: &Index, new: &[u8]) {
    let at = at.index(bytes.len() + 1);
    bytes.splice(at..at, new.iter().copied());
}

fn apply(change: &Change, bytes: &mut Vec<u8>, files: &[Vec<u8>]) {
    match change {
        Change::Flip(at, byte) if !bytes.is_empty() => {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        Change::Flip(..) => {}
        Change::Cut(at) => bytes.truncate(at.index(bytes.len() + 1)),
        Change::Remove(a, b) => {
            let removed = piece(bytes, a, b).len();
            let low = a.index(bytes.len() + 1).min(b.index(bytes.len() + 1));
            bytes.drain(low..low + removed);
        }
        Change::Repeat(a, b) => {
            let copy = piece(bytes, a, b).to_vec();
            insert(bytes, b, &copy);
        }
        Change::Insert(at, word) => insert(bytes, at, WORDS[*word]),
        Change::Splice(at, file, a, b) => {
            let copy = piece(&files[file.index(files.len())], a, b).to_vec();
            insert(bytes, at, &copy);
        }
    }
}

/// Passes bytes to a reader and drops the result.
fn read(extension: &str, bytes: &[u8]) {
    let path = format!("mutated.{extension}");
    match extension {
        "toml" => scene(bytes, Path::new(&path)),
        "node" => tetgen_pair(bytes, Path::new(&path)),
        _ => drop(format::read(bytes, Path::new(&path))),
    }
}

/// Reads two files separated by a zero byte, as in the fuzz target.
fn tetgen_pair(bytes: &[u8], path: &Path) {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    drop(read_tetgen(&bytes[..end], path, bytes.get(end + 1..).unwrap_or_default(), path));
}

fn scene(bytes: &[u8], path: &Path) {
    if let Ok(scene) = Scene::from_toml(&String::from_utf8_lossy(bytes), "mutated", path) {
        drop(scene.check());
    }
}

/// The corpus of broken files, some whole ones, and the built-in scenes, by extension.
fn formats() -> &'static [Format] {
    static CORPUS: OnceLock<Vec<Format>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let mut by_extension: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
        for (extension, bytes) in whole_files().into_iter().chain(broken_files()) {
            by_extension.entry(extension).or_default().push(bytes);
        }
        // Elements of TetGen come with their nodes.
        by_extension.retain(|extension, _| extension != "ele");
        by_extension.into_iter().map(|(extension, files)| Format { extension, files }).collect()
    })
}

fn broken_files() -> Vec<(String, Vec<u8>)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../supple-mesh/tests/data");
    let mut files = Vec::new();
    for folder in ["bad", "bad_tets"] {
        let entries = fs::read_dir(data.join(folder)).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let mut bytes = fs::read(&path).unwrap();
            let extension = path.extension().unwrap().to_string_lossy().into_owned();
            if extension == "node" {
                bytes.push(0);
                bytes.extend(fs::read(path.with_extension("ele")).unwrap_or_default());
            }
            files.push((extension, bytes));
        }
    }
    files
}

fn whole_files() -> Vec<(String, Vec<u8>)> {
    let ball = SphereShape { radius: 1.0, cells: 1 }.surface(1.0).unwrap();
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    let tets = TetMesh { positions: corners.to_vec(), tets: vec![[0, 1, 2, 3]], regions: Some(vec![7]) };
    let [mut obj, mut ply, mut msh, mut vtu] = [const { Vec::new() }; 4];
    write_obj(&ball, &mut obj).unwrap();
    write_ply(&ball, &mut ply).unwrap();
    write_msh22_binary(&tets, &mut msh).unwrap();
    write_vtu(&tets, &[], &mut vtu).unwrap();
    let mut files = vec![("obj", obj), ("ply", ply), ("msh", msh), ("vtu", vtu)];
    files.extend(builtin_scenes().iter().map(|(_, _, text)| ("toml", text.as_bytes().to_vec())));
    files.into_iter().map(|(extension, bytes)| (extension.to_owned(), bytes)).collect()
}

#[test]
fn the_corpus_has_files_of_every_format() {
    for format in &FORMATS {
        let has_files = |corpus: &Format| format.extensions.contains(&corpus.extension.as_str());
        assert!(formats().iter().any(has_files), "no broken file .{} in tests/data", format.extensions[0]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20000, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_reader_panics_on_a_mutated_file(
        format in any::<Index>(),
        file in any::<Index>(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let format = format.get(formats());
        let mut bytes = file.get(&format.files).clone();
        for change in &changes {
            apply(change, &mut bytes, &format.files);
        }
        read(&format.extension, &bytes);
    }
}
