//! Where frames of a deforming mesh come from: one file per frame, a point cache over the faces of a file, or a finished run.

use std::path::{Path, PathBuf};

use glam::DVec3;

use crate::output::FrameCache;
use supple_core::{Error, FileError};
use supple_mesh::format::{PointCache, is_known, load_surface_object};
use supple_mesh::{LabelKind, SurfaceMesh};

/// The frames of a mesh whose triangles stay the same.
#[derive(Debug)]
pub(super) enum Frames {
    Files(Vec<PathBuf>, Option<String>),
    Run(FrameCache, Vec<u32>),
    Cache(Box<CachedMesh>),
}

/// A mesh, and a point cache of its vertices.
#[derive(Debug)]
pub(super) struct CachedMesh {
    cache: PointCache,
    triangles: Vec<[u32; 3]>,
    parts: Parts,
}

/// The contents of a frame, with the path it was read from.
pub(super) struct Read {
    pub(super) positions: Vec<DVec3>,
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) parts: Parts,
    pub(super) path: PathBuf,
}

/// Named parts of a mesh: the groups or objects of its file, or the bodies of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    pub(super) names: Vec<String>,
    /// For each triangle the part, by number; [`NO_LABEL`](supple_mesh::NO_LABEL) for none. Empty without names.
    pub(super) of_triangle: Vec<u32>,
}

impl Parts {
    /// Of the groups, or else the objects, if there is more than one.
    pub(super) fn of(surface: &SurfaceMesh) -> Self {
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

impl Frames {
    /// A run's folder, a folder of mesh files, a pattern of file names, or a file, or one object of each; with the frames per second.
    pub(super) fn find(path: &Path, object: Option<&str>, fps: f64) -> Result<(Self, f64), Error> {
        if path.join("frames").is_dir() {
            if let Some(object) = object {
                let problem =
                    format!("is a finished run, which has no `object = \"{object}\"`; leave it out");
                return Err(FileError::whole(path, problem).into());
            }
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
        Ok((Self::Files(files, object.map(str::to_owned)), fps))
    }

    /// A point cache over the mesh of a file, or over one object of it, with the frames per second.
    pub(super) fn cached(
        mesh: &Path,
        object: Option<&str>,
        cache: &Path,
        fps: f64,
    ) -> Result<(Self, f64), Error> {
        let (surface, _) = load_surface_object(mesh, object)?;
        let cache = PointCache::open(cache)?;
        let (have, need) = (cache.point_count(), surface.positions.len());
        if have != need {
            let problem = format!(
                "has {have} points, but {} has {need} vertices; export the cache and the mesh from the same object",
                mesh.display()
            );
            return Err(FileError::whole(cache.path(), problem).into());
        }
        let rate = cache.rate(fps);
        let (triangles, parts) = (surface.triangles(), Parts::of(&surface));
        Ok((Self::Cache(Box::new(CachedMesh { cache, triangles, parts })), rate))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Files(files, _) => files.len(),
            Self::Run(_, numbers) => numbers.len(),
            Self::Cache(cached) => cached.cache.sample_count(),
        }
    }

    pub(super) fn read(&self, index: usize) -> Result<Read, Error> {
        match self {
            Self::Cache(cached) => Ok(Read {
                positions: cached.cache.read(index)?,
                triangles: cached.triangles.clone(),
                parts: cached.parts.clone(),
                path: cached.cache.path().to_path_buf(),
            }),
            Self::Files(files, object) => {
                let (surface, _) = load_surface_object(&files[index], object.as_deref())?;
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
