//! Where the triangles of a mesh collider, or of a pin driver, come from: a file, a sequence of files at the scene's frame rate, or the frames
//! of a finished run. Frames are read when a step needs them; between two frames vertices are interpolated linearly.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::contact::collider::signed_mesh::SignedMesh;
use crate::output::FrameCache;
use supple_core::{Error, FileError};
use supple_mesh::format::{is_known, load_surface};
use supple_mesh::weld::{distinct_triangles, weld};
use supple_mesh::{LabelKind, NO_LABEL, SurfaceMesh};

/// A mesh whose shape may change in time, but not its triangles.
#[derive(Debug)]
pub(crate) struct MeshSource {
    frames: Frames,
    /// Frames per second.
    rate: f64,
    /// The triangles as read.
    triangles: Vec<[u32; 3]>,
    /// For each vertex as read, the representative of all vertices that coincide with it.
    welded: Vec<u32>,
    parts: Parts,
    first: Arc<SignedMesh>,
    /// The last frames read, for callers that keep no frames of their own.
    recent: Mutex<FrameWindow>,
}

#[derive(Debug)]
enum Frames {
    Files(Vec<PathBuf>),
    Run(FrameCache, Vec<u32>),
}

/// The contents of a frame, with the path it was read from.
struct Read {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    parts: Parts,
    path: PathBuf,
}

/// Named parts of a mesh: the groups or objects of its file, or the bodies of a run.
#[derive(Debug, Default)]
struct Parts {
    names: Vec<String>,
    /// For each triangle the part, by number; [`NO_LABEL`] for none. Empty without names.
    of_triangle: Vec<u32>,
}

impl Parts {
    /// Of the groups, or else the objects, if there is more than one.
    fn of(surface: &SurfaceMesh) -> Self {
        let find =
            |kind: LabelKind| surface.labels.iter().find(|set| set.kind == kind && set.names.len() > 1);
        let Some(labels) = find(LabelKind::Group).or_else(|| find(LabelKind::Object)) else {
            return Self::default();
        };
        let triangles = |(face, label): (&[u32], &u32)| vec![*label; face.len().saturating_sub(2)];
        let of_triangle = surface.faces().zip(&labels.label_of_face).flat_map(triangles).collect();
        Self { names: labels.names.clone(), of_triangle }
    }

    fn add(&mut self, name: &str, triangles: usize) {
        self.of_triangle.resize(self.of_triangle.len() + triangles, self.names.len() as u32);
        self.names.push(name.to_owned());
    }
}

/// Frames already read, newest last.
#[derive(Debug, Clone, Default)]
pub(crate) struct FrameWindow {
    kept: Vec<(usize, Arc<Vec<DVec3>>)>,
}

impl MeshSource {
    /// Reads the first frame of the source at `path`. A sequence has `fps` frames per second, a run its own rate.
    pub(crate) fn open(path: &Path, fps: f64) -> Result<Self, Error> {
        let (frames, rate) = Frames::find(path, fps)?;
        let Read { positions, triangles, parts, path } = frames.read(0)?;
        if triangles.is_empty() || !has_area(&positions, &triangles) {
            let problem = "the mesh has no triangle with an area; a surface is needed here";
            return Err(FileError::whole(&path, problem).into());
        }
        let (welded, count) = weld(&positions);
        let shared = triangles.iter().map(|t| t.map(|v| welded[v as usize])).collect();
        let shared = distinct_triangles(shared);
        let first = Arc::new(SignedMesh::new(&representatives(&positions, &welded, count), shared));
        Ok(Self { frames, rate, triangles, welded, parts, first, recent: Mutex::default() })
    }

    /// The same, checking all frames up to `until` seconds, which it must cover; `user` names the user of the mesh in errors.
    pub(crate) fn open_until(path: &Path, fps: f64, until: f64, user: &str) -> Result<Self, Error> {
        let source = Self::open(path, fps)?;
        // Slack for rounding.
        if source.duration() + 1e-6 < until {
            return Err(Error::Invalid(format!(
                "{user}: {} ends after {:.4} s, but the scene needs {until:.4} s; give it more frames, or the scene \
                 fewer",
                path.display(),
                source.duration(),
            )));
        }
        source.verify(until)?;
        Ok(source)
    }

    /// The number of vertices as read.
    pub(crate) fn vertex_count(&self) -> usize {
        self.welded.len()
    }

    /// Whether it is a finished run, which is in world metres.
    pub(crate) fn is_run(&self) -> bool {
        matches!(self.frames, Frames::Run(..))
    }

    /// The triangles over welded vertices.
    pub(crate) fn shared_triangles(&self) -> &[[u32; 3]] {
        self.first.triangles()
    }

    /// The first vertex as read that a welded vertex stands for, and the name of the part it belongs to.
    pub(crate) fn name_vertex(&self, welded: u32) -> (usize, Option<&str>) {
        let Parts { names, of_triangle } = &self.parts;
        let mut at =
            self.triangles.iter().zip(of_triangle).filter(|(t, part)| {
                **part != NO_LABEL && t.iter().any(|v| self.welded[*v as usize] == welded)
            });
        let part = at.next().and_then(|(_, part)| names.get(*part as usize));
        let vertex = self.welded.iter().position(|w| *w == welded).unwrap_or(welded as usize);
        (vertex, part.map(String::as_str).filter(|_| names.len() > 1))
    }

    /// The welded vertices at a time.
    pub(crate) fn at(&self, time: f64) -> Result<Vec<DVec3>, Error> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        self.positions(time, &mut recent)
    }

    /// All vertices as read at a time.
    pub(crate) fn vertices_at(&self, time: f64) -> Result<Vec<DVec3>, Error> {
        let shared = self.at(time)?;
        Ok(self.welded.iter().map(|&v| shared[v as usize]).collect())
    }

    /// The mesh in its first frame.
    pub(crate) fn first(&self) -> &Arc<SignedMesh> {
        &self.first
    }

    /// Whether the shape changes in time.
    pub(crate) fn deforms(&self) -> bool {
        self.frames.len() > 1
    }

    /// The time of the first frame after a time, in seconds; infinite if the shape does not change afterwards.
    pub(crate) fn next_frame_time(&self, after: f64) -> f64 {
        let next = (after * self.rate).floor() + 1.0;
        if self.deforms() && next < self.frames.len() as f64 {
            next.max(0.0) / self.rate
        } else {
            f64::INFINITY
        }
    }

    /// The time of the last frame in seconds; a single file is valid at all times.
    pub(crate) fn duration(&self) -> f64 {
        if self.deforms() { (self.frames.len() - 1) as f64 / self.rate } else { f64::INFINITY }
    }

    /// The welded vertices at a time: linear between frames, clamped before the first and after the last.
    pub(crate) fn positions(&self, time: f64, window: &mut FrameWindow) -> Result<Vec<DVec3>, Error> {
        let last = self.frames.len() - 1;
        let place = (time * self.rate).clamp(0.0, last as f64);
        let nearest = place.round();
        // Times are sums of steps: a frame's time may differ by rounding.
        if (place - nearest).abs() < 1e-6 {
            return Ok(self.frame(nearest as usize, window)?.to_vec());
        }
        let before = self.frame(place as usize, window)?;
        let after = self.frame(place as usize + 1, window)?;
        let fraction = place.fract();
        Ok(before.iter().zip(&*after).map(|(a, b)| a.lerp(*b, fraction)).collect())
    }

    /// Reads all frames up to a time, so that a bad one is found before anything is simulated.
    pub(crate) fn verify(&self, until: f64) -> Result<(), Error> {
        let last = ((until * self.rate - 1e-6).ceil().max(0.0) as usize).min(self.frames.len() - 1);
        let bad = |index: usize| {
            let read = self.frames.read(index).and_then(|read| Ok(self.check_same_topology(&read)?));
            read.err()
        };
        match (1..=last).into_par_iter().find_map_first(bad) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn frame(&self, index: usize, window: &mut FrameWindow) -> Result<Arc<Vec<DVec3>>, Error> {
        if let Some((_, found)) = window.kept.iter().find(|(kept, _)| *kept == index) {
            return Ok(found.clone());
        }
        let read = self.frames.read(index)?;
        self.check_same_topology(&read)?;
        let count = self.welded.iter().max().map_or(0, |last| *last as usize + 1);
        let positions = Arc::new(representatives(&read.positions, &self.welded, count));
        if window.kept.len() > 1 {
            window.kept.remove(0);
        }
        window.kept.push((index, positions.clone()));
        Ok(positions)
    }

    fn check_same_topology(&self, read: &Read) -> Result<(), FileError> {
        let (have, first) = (read.positions.len(), self.welded.len());
        if have != first {
            let problem = format!(
                "{have} vertices, but the first frame of this sequence has {first}; all frames need the same mesh"
            );
            return Err(FileError::whole(&read.path, problem));
        }
        if read.triangles != self.triangles {
            let different = read.triangles.iter().zip(&self.triangles).position(|(a, b)| a != b);
            let place = different.unwrap_or(read.triangles.len().min(self.triangles.len()));
            let problem = format!(
                "triangle {place} differs from the first frame's; all frames of a sequence need the same triangles"
            );
            return Err(FileError::whole(&read.path, problem));
        }
        if let Some(bad) = read.positions.iter().position(|p| !p.is_finite()) {
            return Err(FileError::whole(
                &read.path,
                format!("vertex {bad} is not finite; re-export the file"),
            ));
        }
        Ok(())
    }
}

impl Frames {
    /// A run's folder, a folder of mesh files, a pattern of file names, or a file; with the frames per second.
    fn find(path: &Path, fps: f64) -> Result<(Self, f64), Error> {
        if path.join("frames").is_dir() {
            let cache = FrameCache::open(path)?;
            let numbers = cache.frames()?;
            let rate = cache.info().fps;
            check_complete(path, &numbers)?;
            return Ok((Self::Run(cache, numbers), rate));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let files = if path.is_dir() {
            sequence(path, |file| is_known(file).then_some(0))?
        } else if name.contains('#') && !path.exists() {
            sequence(path.parent().unwrap_or(Path::new(".")), |file| number_in(&name, file))?
        } else {
            vec![path.to_path_buf()]
        };
        if files.is_empty() {
            let problem = format!(
                "there are no mesh files; name a file, a folder of files, `name_####.obj` or a run ({})",
                supple_mesh::format::extensions(&supple_mesh::format::FORMATS)
            );
            return Err(FileError::whole(path, problem).into());
        }
        Ok((Self::Files(files), fps))
    }

    fn len(&self) -> usize {
        match self {
            Self::Files(files) => files.len(),
            Self::Run(_, numbers) => numbers.len(),
        }
    }

    fn read(&self, index: usize) -> Result<Read, Error> {
        match self {
            Self::Files(files) => {
                let (surface, _) = load_surface(&files[index])?;
                let (triangles, parts) = (surface.triangles(), Parts::of(&surface));
                Ok(Read { positions: surface.positions, triangles, parts, path: files[index].clone() })
            }
            Self::Run(cache, numbers) => {
                let frame = cache.read(numbers[index])?;
                let path = cache.frame_path(numbers[index]);
                let mut read = Read { positions: vec![], triangles: vec![], parts: Parts::default(), path };
                for body in frame.bodies {
                    let first = read.positions.len() as u32;
                    let own = body.surface.mesh.triangles();
                    read.parts.add(&body.surface.name, own.len());
                    read.triangles.extend(own.into_iter().map(|t| t.map(|v| v + first)));
                    read.positions.extend(body.positions.iter().map(|p| p.as_dvec3()));
                }
                Ok(read)
            }
        }
    }
}

/// Frames of a run must be consecutive from 0.
fn check_complete(path: &Path, numbers: &[u32]) -> Result<(), FileError> {
    if numbers.is_empty() {
        return Err(FileError::whole(path, "the run has no frames; let it finish first"));
    }
    match numbers.iter().zip(0..).find(|(number, expected)| **number != *expected) {
        None => Ok(()),
        Some((_, missing)) => Err(FileError::whole(
            path,
            format!("frame {missing} of the run is missing; compute it again with `supple run --resume`"),
        )),
    }
}

/// The files of a folder that `number` accepts, by number, then by name.
fn sequence(folder: &Path, number: impl Fn(&Path) -> Option<u64>) -> Result<Vec<PathBuf>, FileError> {
    let entries = std::fs::read_dir(folder).map_err(|error| FileError::io(folder, "read", &error))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| FileError::io(folder, "read", &error))?.path();
        if let Some(number) = number(&path).filter(|_| path.is_file()) {
            files.push((number, path));
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// The number at the `#` of a pattern, with at least as many digits as there are `#`.
fn number_in(pattern: &str, file: &Path) -> Option<u64> {
    let start = pattern.find('#')?;
    let end = pattern.rfind('#')? + 1;
    let name = file.file_name()?.to_str()?;
    let digits = name.strip_prefix(&pattern[..start])?.strip_suffix(&pattern[end..])?;
    let long_enough = digits.len() >= end - start && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| long_enough)
}

fn representatives(positions: &[DVec3], welded: &[u32], count: usize) -> Vec<DVec3> {
    let mut shared = vec![DVec3::ZERO; count];
    // The first vertex at each position wins: later ones are overwritten by iterating backwards.
    positions.iter().zip(welded).rev().for_each(|(&p, &v)| shared[v as usize] = p);
    shared
}

fn has_area(positions: &[DVec3], triangles: &[[u32; 3]]) -> bool {
    triangles.iter().any(|t| {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        (b - a).cross(c - a).length() > 0.0
    })
}
