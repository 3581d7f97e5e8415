//! A record of every state that a step accepts, with the colliders where they are then: so that others can test that nothing crosses on
//! the way from one to the next. Format: `docs/states.md`.
//!
//! Steps try displacements and may reject them, and parts of a step are repeated. So each displacement is recorded with where it starts: if
//! that is not where the last one ended, the record says that the step went back.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use glam::DVec3;
use serde_json::json;

use super::{ContactSystem, place};
use crate::contact::Surfaces;
use crate::contact::collider::obstacles::Solid;
use supple_core::Error;

/// First bytes of a record, and its version.
const MAGIC: &[u8; 8] = b"SUPSTATE";
const VERSION: u32 = 1;

/// Kinds of entries.
const RESTART: u32 = 0;
const PIECE: u32 = 1;
const STEP_END: u32 = 2;

/// Where in a step a displacement belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum PieceOrigin {
    /// Colliders and pins move on.
    Drive = 1,
    /// An initial guess, or friction by impulses.
    Guess = 2,
    /// An iteration of the nonlinear method.
    Iteration = 3,
}

/// The states since the record was last taken.
#[derive(Debug, Default)]
pub(crate) struct StateRecorder {
    entries: Vec<u8>,
    /// The numbers of the last state, and workspace for the next.
    last: Vec<f64>,
    next: Vec<f64>,
    at: Vec<DVec3>,
}

impl StateRecorder {
    fn push(entries: &mut Vec<u8>, kind: u32, origin: u32, numbers: &[f64]) {
        entries.extend(kind.to_le_bytes());
        entries.extend(origin.to_le_bytes());
        entries.extend((numbers.len() as u64).to_le_bytes());
        entries.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }

    /// Adds the state in `next`, unless it is where the record is already. The time does not count.
    fn add(&mut self, kind: u32, origin: u32) {
        if self.last.get(1..) != self.next.get(1..) {
            Self::push(&mut self.entries, kind, origin, &self.next);
            std::mem::swap(&mut self.last, &mut self.next);
        }
    }
}

impl ContactSystem {
    /// Starts or ends recording.
    pub(crate) fn record_states(&mut self, record: bool) {
        if record != self.recorder.is_some() {
            self.recorder = record.then(Mutex::default);
        }
    }

    /// A displacement of all unknowns while the colliders stay where they are.
    pub(crate) fn record_piece(&self, from: &[DVec3], to: &[DVec3], origin: PieceOrigin) {
        self.record_start(from);
        self.record_state(to, PIECE, origin as u32);
    }

    /// The next displacement starts at `x`.
    pub(crate) fn record_start(&self, x: &[DVec3]) {
        self.record_state(x, RESTART, 0);
    }

    /// A fraction of the displacement of all unknowns was made, and colliders have moved to where they are now.
    pub(super) fn record_part(&self, from: &[DVec3], to: &[DVec3], part: f64) {
        if self.recorder.is_some() {
            let x: Vec<DVec3> = from.iter().zip(to).map(|(from, to)| from.lerp(*to, part)).collect();
            self.record_state(&x, PIECE, PieceOrigin::Drive as u32);
        }
    }

    /// Colliders have gone on to where they are now, and unknowns to `x`, whatever was in their way.
    pub(super) fn record_forced(&self, x: &[DVec3]) {
        self.record_state(x, PIECE, PieceOrigin::Drive as u32);
    }

    fn record_state(&self, x: &[DVec3], kind: u32, origin: u32) {
        let Some(recorder) = &self.recorder else { return };
        let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let StateRecorder { next, at, .. } = &mut *recorder;
        place(&self.properties.points, x, &self.driven, at);
        next.clear();
        next.push(self.obstacles.time(self.pose));
        next.extend(at.iter().flat_map(|p| p.to_array()));
        next.extend(self.solids.iter().flat_map(|(_, solid)| solid_numbers(solid)));
        recorder.add(kind, origin);
    }

    /// A step ends at `x`, with the targets of unknowns that are fixed.
    pub(crate) fn record_end(&mut self, x: &[DVec3], fixed: &[bool], targets: &[DVec3]) -> Result<(), Error> {
        if self.recorder.is_none() || self.is_empty() {
            return Ok(());
        }
        self.record_start(x);
        let mut intended = Vec::new();
        self.obstacles.place(1.0, &mut intended)?;
        let mut numbers = vec![self.obstacles.time(1.0)];
        numbers.extend(intended.iter().flat_map(|p| p.to_array()));
        let solid = |index: u32| self.obstacles.solid(index as usize, &intended, 1.0);
        let solids = self.solids.iter().filter_map(|(index, _)| solid(*index));
        numbers.extend(solids.flat_map(|solid| solid_numbers(&solid)));
        let points = &self.properties.points;
        let pinned = |point: usize| match points.weights(point) {
            [(v, _)] if fixed[*v as usize] => Some((point, targets[*v as usize])),
            _ => None,
        };
        let pins: Vec<(usize, DVec3)> =
            (0..self.properties.surfaces.body_points()).filter_map(pinned).collect();
        numbers.push(pins.len() as f64);
        numbers.extend(pins.iter().flat_map(|(point, p)| [*point as f64, p.x, p.y, p.z]));
        numbers.extend(self.released.all_points().into_iter().map(f64::from));
        if let Some(recorder) = &mut self.recorder {
            let recorder = recorder.get_mut().unwrap_or_else(PoisonError::into_inner);
            StateRecorder::push(&mut recorder.entries, STEP_END, 0, &numbers);
        }
        Ok(())
    }

    /// The record since it was last taken, as the file of a frame. `names` are those of the bodies.
    pub(crate) fn take_record(&mut self, frame: u32, names: &[&str]) -> Option<Vec<u8>> {
        let header = self.record_header(frame, names).to_string();
        let recorder = self.recorder.as_mut()?.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.append(&mut recorder.entries);
        // The next file starts with a state of its own.
        recorder.last.clear();
        Some(bytes)
    }

    fn record_header(&self, frame: u32, names: &[&str]) -> serde_json::Value {
        let surfaces = &self.properties.surfaces;
        let colliders = self.obstacles.names();
        let owners = names.len() + colliders.len();
        let mut triangles = vec![Vec::new(); owners];
        for triangle in &surfaces.triangles {
            triangles[surfaces.body(triangle[0]) as usize].push(*triangle);
        }
        let points = point_ranges(surfaces, owners);
        let all_names = names.iter().copied().chain(colliders.iter().copied());
        let listed: Vec<_> = all_names
            .enumerate()
            .map(|(i, name)| {
                json!({
                    "name": name,
                    "collider": i >= names.len(),
                    "closed": is_closed(&triangles[i]),
                    "points": points[i],
                    "triangles": triangles[i],
                })
            })
            .collect();
        let kind = |solid: &Solid| match solid {
            Solid::Round { .. } => "capsule",
            Solid::HalfSpace { .. } => "plane",
        };
        let solids: Vec<_> = self
            .solids
            .iter()
            .map(|(index, solid)| json!({ "name": colliders[*index as usize], "kind": kind(solid) }))
            .collect();
        json!({ "frame": frame, "surfaces": listed, "solids": solids, "pairs": self.recorded_pairs(names.len(), &triangles) })
    }

    /// Pairs of surfaces, and of surfaces and solids, that must not cross.
    fn recorded_pairs(&self, bodies: usize, triangles: &[Vec<[u32; 3]>]) -> Vec<[usize; 2]> {
        let surfaces = &self.properties.surfaces;
        let mut pairs = Vec::new();
        for body in 0..bodies {
            let touched = surfaces.touched_by(body as u32);
            for other in (body..touched.len()).filter(|other| touched[*other]) {
                let solid = self.solids.iter().position(|(index, _)| bodies + *index as usize == other);
                match solid {
                    Some(solid) => pairs.push([body, triangles.len() + solid]),
                    None => pairs.push([body, other]),
                }
            }
        }
        pairs
    }
}

fn solid_numbers(solid: &Solid) -> [f64; 8] {
    let (a, b, radius) = match *solid {
        Solid::Round { from, to, radius } => (from, to, radius),
        Solid::HalfSpace { point, normal } => (point, normal, 0.0),
    };
    [a.x, a.y, a.z, b.x, b.y, b.z, radius, 0.0]
}

/// The first point of each body and collider, and the one after its last.
fn point_ranges(surfaces: &Surfaces, owners: usize) -> Vec<[usize; 2]> {
    let mut ranges = vec![[0; 2]; owners];
    for point in 0..surfaces.start.len() {
        let range = &mut ranges[surfaces.body(point as u32) as usize];
        *range = if range[1] == 0 { [point, point + 1] } else { [range[0], point + 1] };
    }
    ranges
}

/// Whether every edge has a triangle on both sides.
fn is_closed(triangles: &[[u32; 3]]) -> bool {
    let sides = || triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let all: HashSet<[u32; 2]> = sides().collect();
    !triangles.is_empty() && all.len() == 3 * triangles.len() && sides().all(|[a, b]| all.contains(&[b, a]))
}
