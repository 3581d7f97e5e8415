//! Where the vertices of a mesh collider, or of a pin driver, are at a time: those of a file, of the frames of a sequence, a point cache or a
//! finished run, with straight lines between frames, or of a skin, which is placed at any time.
//!
//! What repeats has its last frame where the first one is, needs one more interval to arrive there, or jumps:
//!
//! | the first frame lies, from the last one | at its seam |
//! | --- | --- |
//! | within a tenth of the mean move between frames | it is where it started; the difference is spread over all frames |
//! | within twice the largest move between frames | vertices go there on straight lines in one more interval |
//! | farther | it jumps, as a keyframe with `jump` |
//!
//! For skins see [`Skin::repeated`](supple_mesh::skin::Skin::repeated).

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use glam::{DAffine3, DVec3};
use supple_core::parallel::prelude::*;

use super::mesh_frames::{Frames, Parts, Read};
use super::posed_skin::PosedSkin;
use crate::contact::collider::signed_mesh::SignedMesh;
use crate::scene::MeshShape;
use supple_core::{Error, FileError};
use supple_mesh::weld::{distinct_triangles, weld};
use supple_mesh::{Cycle, NO_LABEL};

/// A mesh whose shape may change in time, but not its triangles.
#[derive(Debug)]
pub(crate) struct MeshSource {
    frames: Frames,
    /// Frames per second.
    rate: f64,
    /// What moves the vertices in place of frames.
    skin: Option<PosedSkin>,
    repeat: Option<Repeat>,
    world_from_file: DAffine3,
    /// The triangles as read.
    triangles: Vec<[u32; 3]>,
    /// For each vertex as read, the representative of all vertices that coincide with it.
    welded: Vec<u32>,
    parts: Parts,
    first: Arc<SignedMesh>,
    /// The last frames read, for callers that keep no frames of their own.
    recent: Mutex<FrameWindow>,
}

/// How it repeats.
#[derive(Debug, Clone, PartialEq)]
struct Repeat {
    cycle: Cycle,
    seam: Seam,
}

#[derive(Debug, Clone, PartialEq)]
enum Seam {
    /// First less last position of every welded vertex.
    Same(Vec<DVec3>),
    /// One more interval, from the last frame to the first.
    Straight,
    Jump,
    /// The skin's own.
    OfSkin,
}

/// The last frame is the first one if it is within this fraction of the mean move between frames.
const SAME_FRAME: f64 = 0.1;
/// The first frame is the one after the last if it is within this many times the largest move between frames.
const NEXT_FRAME: f64 = 2.0;
/// Times are sums of steps: a frame's time may differ by this fraction of the interval.
const SAME_TIME: f64 = 1e-6;

/// Frames already read, newest last.
#[derive(Debug, Clone, Default)]
pub(crate) struct FrameWindow {
    kept: Vec<(usize, Arc<Vec<DVec3>>)>,
}

impl MeshSource {
    /// Reads the first frame of a mesh, whose names are relative to a folder. A sequence has `fps` frames per second, a run its own rate.
    fn open(folder: &Path, mesh: &MeshShape, world_from_file: DAffine3, fps: f64) -> Result<Self, Error> {
        let (file, object) = (folder.join(&mesh.file), mesh.object.as_deref());
        let (frames, rate) = match &mesh.cache {
            Some(cache) => Frames::cached(&file, object, &folder.join(cache), fps)?,
            None => Frames::find(&file, object, fps)?,
        };
        let Read { mut positions, triangles, parts, path } = frames.read(0)?;
        if triangles.is_empty() || !has_area(&positions, &triangles) {
            let problem = "the mesh has no triangle with an area; a surface is needed here";
            return Err(FileError::whole(&path, problem).into());
        }
        let (welded, count) = weld(&positions);
        let skin = match mesh.skin {
            true if frames.len() > 1 => {
                let problem = "is a sequence or a run, which has no skin; name one .glb or .gltf file";
                return Err(FileError::whole(&file, problem).into());
            }
            true => Some(PosedSkin::open(&file, mesh, first_of(&welded, count))?),
            false => None,
        };
        let shared = triangles.iter().map(|t| t.map(|v| welded[v as usize])).collect();
        let shared = distinct_triangles(shared);
        positions.iter_mut().for_each(|p| *p = world_from_file.transform_point3(*p));
        let first = Arc::new(SignedMesh::new(&representatives(&positions, &welded, count), shared));
        let recent = Mutex::default();
        let repeat = None;
        Ok(Self { frames, rate, skin, repeat, world_from_file, triangles, welded, parts, first, recent })
    }

    /// The same, checking all frames up to `until` seconds, which it must cover; `user` names the user of the mesh in errors.
    pub(crate) fn open_until(
        folder: &Path,
        mesh: &MeshShape,
        world_from_file: DAffine3,
        [fps, until]: [f64; 2],
        user: &str,
    ) -> Result<Self, Error> {
        let mut source = Self::open(folder, mesh, world_from_file, fps)?;
        if mesh.repeats {
            source.verify(f64::INFINITY)?;
            source.repeat = Some(source.find_repeat().ok_or_else(|| {
                let shown = folder.join(&mesh.file);
                let remedy = "leave out `loop`, or add `skin = true`, a `cache` or a sequence of files";
                Error::Invalid(format!("{user}: {} does not move; {remedy}", shown.display()))
            })??);
        }
        // Slack for rounding.
        if source.duration() + 1e-6 < until {
            return Err(Error::Invalid(format!(
                "{user}: {} ends after {:.4} s, but the scene needs {until:.4} s; give it more frames, or the scene \
                 fewer, or repeat it with `loop = true`",
                folder.join(&mesh.file).display(),
                source.duration(),
            )));
        }
        source.verify(until)?;
        Ok(source)
    }

    /// How it repeats; `None` if nothing moves.
    fn find_repeat(&self) -> Option<Result<Repeat, Error>> {
        if let Some(skin) = &self.skin {
            return skin.skin().cycle().map(|cycle| Ok(Repeat { cycle, seam: Seam::OfSkin }));
        }
        self.deforms().then(|| self.repeat_of_frames())
    }

    fn repeat_of_frames(&self) -> Result<Repeat, Error> {
        let intervals = (self.frames.len() - 1) as f64;
        let mut window = FrameWindow::default();
        let first = self.frame(0, &mut window)?;
        let (mut before, mut sum, mut largest) = (first.clone(), 0.0, 0.0_f64);
        for index in 1..self.frames.len() {
            let now = self.frame(index, &mut window)?;
            let moved = farthest(&before, &now);
            (sum, largest, before) = (sum + moved, largest.max(moved), now);
        }
        let gap = farthest(&before, &first);
        let (intervals, seam) = if gap <= SAME_FRAME * sum / intervals {
            (intervals, Seam::Same(first.iter().zip(&*before).map(|(first, last)| *first - *last).collect()))
        } else if gap <= NEXT_FRAME * largest {
            (intervals + 1.0, Seam::Straight)
        } else {
            (intervals, Seam::Jump)
        };
        Ok(Repeat { cycle: Cycle { first: 0.0, period: intervals / self.rate }, seam })
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

    /// The mesh in its first frame, as modelled.
    pub(crate) fn first(&self) -> &Arc<SignedMesh> {
        &self.first
    }

    /// Whether the shape changes in time.
    pub(crate) fn deforms(&self) -> bool {
        self.skin.is_some() || self.frames.len() > 1
    }

    /// Whether it goes on straight lines at constant speed between the times of [`Self::next_kink`].
    pub(crate) fn is_straight(&self) -> bool {
        self.skin.is_none()
    }

    /// The last time between two, that of the start excluded, at which it jumps.
    pub(crate) fn jump_within(&self, span: [f64; 2]) -> Option<f64> {
        let repeat = self.repeat.as_ref().filter(|_| self.jumps())?;
        repeat.cycle.seam_within(span)
    }

    /// Whether it jumps where it repeats.
    pub(crate) fn jumps(&self) -> bool {
        match self.repeat.as_ref().map(|repeat| &repeat.seam) {
            Some(Seam::Jump) => true,
            Some(Seam::OfSkin) => self.skin.as_ref().is_some_and(|skin| skin.skin().jumps()),
            _ => false,
        }
    }

    /// The first time after a time at which its motion has a kink, in seconds; infinite if none.
    pub(crate) fn next_kink(&self, after: f64) -> f64 {
        if let Some(skin) = &self.skin {
            return skin.next_kink(after);
        }
        let cycle = self.repeat.as_ref().map(|repeat| repeat.cycle);
        let phase = cycle.map_or(after, |cycle| cycle.phase(after));
        let next = (phase * self.rate).floor() + 1.0;
        let frame = if self.deforms() && next < self.frames.len() as f64 {
            after + (next.max(0.0) / self.rate - phase)
        } else {
            f64::INFINITY
        };
        frame.min(cycle.map_or(f64::INFINITY, |cycle| cycle.next_seam(after)))
    }

    /// The time of the last frame in seconds; a single file, a skin and what repeats are valid at all times.
    fn duration(&self) -> f64 {
        if self.skin.is_none() && self.repeat.is_none() && self.deforms() {
            (self.frames.len() - 1) as f64 / self.rate
        } else {
            f64::INFINITY
        }
    }

    /// The welded vertices at a time: linear between frames, clamped before the first and after the last.
    pub(crate) fn positions(&self, time: f64, window: &mut FrameWindow) -> Result<Vec<DVec3>, Error> {
        if let Some(skin) = &self.skin {
            return Ok(skin.positions(time, &self.world_from_file));
        }
        let Some(Repeat { cycle, seam }) = &self.repeat else { return self.between_frames(time, window) };
        let mut positions = self.between_frames(cycle.phase(time), window)?;
        if let Seam::Same(difference) = seam {
            let share = cycle.fraction(time);
            positions.iter_mut().zip(difference).for_each(|(p, difference)| *p += share * *difference);
        }
        Ok(positions)
    }

    fn between_frames(&self, time: f64, window: &mut FrameWindow) -> Result<Vec<DVec3>, Error> {
        let last = self.frames.len() - 1;
        let closes = matches!(self.repeat, Some(Repeat { seam: Seam::Straight, .. }));
        let end = last + usize::from(closes);
        let place = (time * self.rate).clamp(0.0, end as f64);
        let index = |place: usize| if place > last { 0 } else { place };
        let nearest = place.round();
        if (place - nearest).abs() < SAME_TIME {
            return Ok(self.frame(index(nearest as usize), window)?.to_vec());
        }
        let before = self.frame(place as usize, window)?;
        let after = self.frame(index(place as usize + 1), window)?;
        let fraction = place.fract();
        Ok(before.iter().zip(&*after).map(|(a, b)| a.lerp(*b, fraction)).collect())
    }

    /// Reads all frames up to a time, so that a bad one is found before anything is simulated.
    fn verify(&self, until: f64) -> Result<(), Error> {
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
        let mut positions = representatives(&read.positions, &self.welded, count);
        positions.iter_mut().for_each(|p| *p = self.world_from_file.transform_point3(*p));
        let positions = Arc::new(positions);
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

/// The largest distance between two places of a vertex.
fn farthest(from: &[DVec3], to: &[DVec3]) -> f64 {
    from.iter().zip(to).map(|(a, b)| a.distance_squared(*b)).fold(0.0, f64::max).sqrt()
}

/// The first vertex as read of every welded one.
fn first_of(welded: &[u32], count: usize) -> Vec<u32> {
    let mut first = vec![0; count];
    // The first vertex at each position wins: later ones are overwritten by iterating backwards.
    welded.iter().enumerate().rev().for_each(|(vertex, &shared)| first[shared as usize] = vertex as u32);
    first
}

fn representatives(positions: &[DVec3], welded: &[u32], count: usize) -> Vec<DVec3> {
    first_of(welded, count).into_iter().map(|vertex| positions[vertex as usize]).collect()
}

fn has_area(positions: &[DVec3], triangles: &[[u32; 3]]) -> bool {
    triangles.iter().any(|t| {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        (b - a).cross(c - a).length() > 0.0
    })
}
