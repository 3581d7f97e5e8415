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
use supple::mesh::format::{
    read_gltf, read_medit, read_msh, read_obj, read_off, read_ply, read_stl, read_tetgen, read_vtk, read_vtu,
    write_msh22_binary, write_obj, write_ply, write_vtu,
};
use supple::mesh::generate::SphereShape;
use supple::scene::{Scene, builtin_scenes};

/// Passes bytes to a reader and drops the result.
type Reader = fn(&[u8], &Path);

/// A reader and the files it is tried on.
struct Format {
    reader: Reader,
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

/// Concatenates files separated by a zero byte, as in the fuzz target.
fn tetgen_pair(bytes: &[u8], path: &Path) {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    drop(read_tetgen(&bytes[..end], path, bytes.get(end + 1..).unwrap_or_default(), path));
}

fn scene(bytes: &[u8], path: &Path) {
    if let Ok(scene) = Scene::from_toml(&String::from_utf8_lossy(bytes), "mutated", path) {
        drop(scene.check());
    }
}

fn reader_of(extension: &str) -> Option<Reader> {
    Some(match extension {
        "obj" => |bytes, path| drop(read_obj(bytes, path)),
        "off" => |bytes, path| drop(read_off(bytes, path)),
        "ply" => |bytes, path| drop(read_ply(bytes, path)),
        "stl" => |bytes, path| drop(read_stl(bytes, path)),
        "gltf" | "glb" => |bytes, path| drop(read_gltf(bytes, path)),
        "msh" => |bytes, path| drop(read_msh(bytes, path)),
        "vtk" => |bytes, path| drop(read_vtk(bytes, path)),
        "vtu" => |bytes, path| drop(read_vtu(bytes, path)),
        "mesh" | "meshb" => |bytes, path| drop(read_medit(bytes, path)),
        "node" => tetgen_pair,
        "toml" => scene,
        _ => return None,
    })
}

/// The corpus of broken files, some whole ones, and the built-in scenes, by extension.
fn formats() -> &'static [Format] {
    static FORMATS: OnceLock<Vec<Format>> = OnceLock::new();
    FORMATS.get_or_init(|| {
        let mut by_extension: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
        for (extension, bytes) in whole_files().into_iter().chain(broken_files()) {
            by_extension.entry(extension).or_default().push(bytes);
        }
        let format = |(extension, files): (String, Vec<Vec<u8>>)| {
            reader_of(&extension).map(|reader| Format { reader, files })
        };
        by_extension.into_iter().filter_map(format).collect()
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
        (format.reader)(&bytes, Path::new("mutated"));
    }
}
