//! glTF 2.0 in one binary file (`.glb`): every body is a mesh with a morph target per frame after the first, and
//! one animation moves the weights from target to target, so that players show exactly the frames and blend linearly
//! between them. Metres, y up. Normals are left to the viewer: those of the targets would double the file.
//!
//! The JSON chunk comes first and must contain the bounds of every target, so frames are read twice: once for the
//! bounds, once to be written.

mod document;
mod split;

use std::path::{Path, PathBuf};

use self::document::Layout;
use self::split::SplitMesh;
use super::job::Job;
use crate::output::atomic::AtomicFile;
use crate::output::{Frame, FrameBody};
use glam::Vec3;
use supple_core::{Error, FileError};

const MAGIC: u32 = 0x4654_6C67;
const JSON_CHUNK: u32 = 0x4E4F_534A;
const BINARY_CHUNK: u32 = 0x004E_4942;
/// The two chunk headers and the file header.
const HEADERS_BYTES: u64 = 12 + 8 + 8;

/// Smallest and largest values of an accessor.
type Bounds = (Vec3, Vec3);

/// Writes `<scene>.glb`.
pub(super) fn export(job: &mut Job) -> Result<Vec<PathBuf>, Error> {
    let path = job.scene_file("glb");
    let first = job.read(job.frames()[0])?;
    let meshes: Vec<SplitMesh> = first.bodies.iter().map(|body| SplitMesh::new(&body.surface)).collect();
    let bounds = bounds_of_frames(job, &first, &meshes)?;
    let layout = Layout::new(job, &meshes, &bounds);
    let mut file = start_file(&path, &layout)?;
    for (mesh, body) in meshes.iter().zip(&first.bodies) {
        file.put(&mesh.topology_bytes())?;
        file.put(&mesh.gather(&body.positions))?;
    }
    job.each_frame(|_, frame| {
        if frame.index != first.index {
            put_deltas(&mut file, &meshes, &first, &frame)?;
        }
        Ok(())
    })?;
    file.put(&layout.animation_bytes())?;
    file.commit()?;
    Ok(vec![path])
}

/// For each frame, for each body: of the positions in the first, of the differences to it in the others. Also checks
/// that the topology is the same in all frames.
fn bounds_of_frames(job: &mut Job, first: &Frame, meshes: &[SplitMesh]) -> Result<Vec<Vec<Bounds>>, Error> {
    let mut all = Vec::with_capacity(job.frames().len());
    for index in job.frames().to_vec() {
        job.report_progress()?;
        let frame = job.read(index)?;
        job.same_vertices(&frame, "glTF")?;
        let bodies = meshes.iter().zip(frame.bodies.iter().zip(&first.bodies));
        all.push(
            bodies.map(|(mesh, (body, base))| body_bounds(mesh, body, base, index == first.index)).collect(),
        );
    }
    Ok(all)
}

fn body_bounds(mesh: &SplitMesh, body: &FrameBody, base: &FrameBody, is_base: bool) -> Bounds {
    let value = |v: u32| {
        let v = v as usize;
        if is_base { body.positions[v] } else { body.positions[v] - base.positions[v] }
    };
    let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    mesh.vertices().iter().map(|&v| value(v)).fold(start, |(low, high), p| (low.min(p), high.max(p)))
}

fn start_file(path: &Path, layout: &Layout) -> Result<AtomicFile, Error> {
    let mut json = layout.json();
    json.resize(json.len().next_multiple_of(4), b' ');
    let total_bytes = file_bytes(path, json.len() as u64, layout.binary_bytes())?;
    let mut file = AtomicFile::create(path)?;
    for word in [MAGIC, 2, total_bytes, json.len() as u32, JSON_CHUNK] {
        file.put(&word.to_le_bytes())?;
    }
    file.put(&json)?;
    for word in [layout.binary_bytes() as u32, BINARY_CHUNK] {
        file.put(&word.to_le_bytes())?;
    }
    Ok(file)
}

/// The length of the whole file, which its header stores in 32 bits.
fn file_bytes(path: &Path, json: u64, binary: u64) -> Result<u32, FileError> {
    let total = HEADERS_BYTES + json + binary;
    u32::try_from(total).map_err(|_| {
        let limit = u32::MAX;
        let problem =
            format!("would have {total} bytes, glTF allows {limit}; export fewer frames, or use usd");
        FileError::whole(path, problem)
    })
}

fn put_deltas(
    file: &mut AtomicFile,
    meshes: &[SplitMesh],
    first: &Frame,
    frame: &Frame,
) -> Result<(), Error> {
    for ((mesh, body), base) in meshes.iter().zip(&frame.bodies).zip(&first.bodies) {
        let deltas: Vec<Vec3> = body.positions.iter().zip(&base.positions).map(|(&p, &q)| p - q).collect();
        file.put(&mesh.gather(&deltas))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_four_gibibytes_is_refused_with_its_size() {
        let path = Path::new("demo.glb");
        assert_eq!(file_bytes(path, 1000, 2000).unwrap(), 12 + 8 + 1000 + 8 + 2000);
        assert_eq!(file_bytes(path, 1000, (1 << 32) - 1029).unwrap(), u32::MAX);
        let error = file_bytes(path, 1000, (1 << 32) - 1028).unwrap_err().to_string();
        assert!(error.contains("4294967296 bytes") && error.contains("usd"), "{error}");
    }
}
