//! Loading a mesh against the minimum that any reader must do: reading the file and parsing its numbers.
//!
//! A million triangles as OBJ and as binary PLY; prints the time of both and their ratio, each the best of several
//! rounds in one run.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use glam::DVec3;
use supple::mesh::SurfaceMesh;
use supple::mesh::format::{load, write_obj, write_ply};

const CELLS: u32 = 707;
const ROUNDS: usize = 7;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (obj, ply) = (folder.path().join("cloth.obj"), folder.path().join("cloth.ply"));
    let mesh = wavy_cloth();
    write_obj(&mesh, &mut fs::File::create(&obj).expect("a new file")).expect("enough disk space");
    write_ply(&mesh, &mut fs::File::create(&ply).expect("a new file")).expect("enough disk space");
    println!("{} vertices, {} triangles", mesh.positions.len(), mesh.face_count());
    compare("obj", &obj, || sum_of_text(&obj));
    compare("ply", &ply, || sum_of_binary(&ply, mesh.positions.len()));
}

/// A cloth whose coordinates have the seven digits that exporters write.
fn wavy_cloth() -> SurfaceMesh {
    let side = CELLS + 1;
    let position = |i: u32| {
        let (x, z) = (f64::from(i % side) / f64::from(CELLS), f64::from(i / side) / f64::from(CELLS));
        let p = DVec3::new(x, 0.05 * (20.0 * x).sin() * (17.0 * z).cos(), z);
        DVec3::from(p.to_array().map(|c| f64::from((1e6 * c).round() as f32 / 1e6)))
    };
    let mut triangles = Vec::new();
    for (j, i) in (0..CELLS).flat_map(|j| (0..CELLS).map(move |i| (j, i))) {
        let a = j * side + i;
        triangles.extend([[a, a + side, a + 1], [a + 1, a + side, a + side + 1]]);
    }
    SurfaceMesh::from_triangles((0..side * side).map(position).collect(), &triangles)
}

fn compare(name: &str, path: &Path, least: impl Fn() -> f64) {
    let (mut best_least, mut best_load) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        best_least = best_least.min(time(&least));
        best_load = best_load.min(time(|| load(path).expect("a valid file")));
    }
    let ratio = best_load.as_secs_f64() / best_least.as_secs_f64();
    println!("{name}: read and parse {best_least:.1?}, load {best_load:.1?}, ratio {ratio:.2}");
}

fn time<T>(work: impl Fn() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

/// Reads a text and adds all its numbers, parsed by the standard library.
fn sum_of_text(path: &Path) -> f64 {
    let text = fs::read_to_string(path).expect("a text file");
    let mut sum = 0.0;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("v") => sum += words.map(|word| word.parse::<f64>().expect("a number")).sum::<f64>(),
            Some("f") => sum += words.map(|word| word.parse::<u32>().expect("a number")).sum::<u32>() as f64,
            _ => {}
        }
    }
    sum
}

/// Reads a binary file and adds all its numbers: `x y z` in single precision, then lists of three indices.
fn sum_of_binary(path: &Path, vertices: usize) -> f64 {
    let bytes = fs::read(path).expect("a file");
    let end = b"end_header\n";
    let start = bytes.windows(end.len()).position(|w| w == end).expect("a header") + end.len();
    let (floats, faces) = bytes[start..].split_at(12 * vertices);
    let four = |b: &[u8]| [b[0], b[1], b[2], b[3]];
    let positions: f64 = floats.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes(four(b)))).sum();
    let corner = |b: &[u8]| u64::from(u32::from_le_bytes(four(b)));
    let indices: u64 = faces.chunks_exact(13).flat_map(|face| face[1..].chunks_exact(4)).map(corner).sum();
    positions + indices as f64
}
