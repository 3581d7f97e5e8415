//! What bodies of a run cross or are inside of, of its hard colliders, and what `supple check` of a run leaves out.

use std::collections::BTreeMap;
use std::path::Path;

use glam::DVec3;
use serde_json::json;
use supple::contact::{ColliderCheck, ColliderCrossing};
use supple::simulation::{SceneState, reports_of_run};
use supple::stepper::FrameReport;

use crate::arguments::Common;
use crate::failure::Failure;
use crate::print::line;

/// The test of colliders over the frames of a run.
pub(crate) struct CollidersOfRun<'a> {
    pub(crate) check: ColliderCheck,
    scene_state: &'a SceneState,
    /// The first point of each body.
    first: Vec<usize>,
    reports: Vec<FrameReport>,
    /// Frames per second.
    rate: f64,
    /// Body and collider of vertices that were released in some frame: the most of them, and the first and last frame.
    released: BTreeMap<(String, String), (usize, [u32; 2])>,
    /// Frames in which something crosses.
    pub(crate) bad_frames: u32,
}

impl<'a> CollidersOfRun<'a> {
    /// Of the run in `folder`, whose scene was built.
    pub(crate) fn new(folder: &Path, scene_state: &'a SceneState) -> Result<Self, Failure> {
        let mut first = vec![0];
        first.extend(scene_state.bodies.iter().scan(0, |sum, body| {
            *sum += body.embedding.len();
            Some(*sum)
        }));
        Ok(Self {
            check: scene_state.collider_check().map_err(Failure::of)?,
            scene_state,
            first,
            reports: reports_of_run(folder).map_err(Failure::usage)?,
            rate: scene_state.frame_rate(),
            released: BTreeMap::new(),
            bad_frames: 0,
        })
    }

    /// What crosses or is inside colliders in a frame.
    pub(crate) fn look(&mut self, index: u32, at: &[DVec3]) -> Result<Vec<ColliderCrossing>, Failure> {
        let report = self.reports.iter().find(|report| report.frame == index);
        let mut released = Vec::new();
        for list in report.iter().flat_map(|report| &report.released) {
            let Some(body) = self.scene_state.bodies.iter().position(|body| body.name == list.body) else {
                continue;
            };
            let first = self.first[body] as u32;
            let points = list.vertices.iter().map(|v| first + v).filter(|p| (*p as usize) < at.len());
            released.push((list.collider.clone(), points.collect()));
            let key = (list.body.clone(), list.collider.clone());
            let (count, frames) = self.released.entry(key).or_insert((0, [index; 2]));
            *count = (*count).max(list.vertices.len());
            frames[1] = index;
        }
        let found = self.check.find(at, f64::from(index) / self.rate, &released).map_err(Failure::of)?;
        self.bad_frames += u32::from(!found.is_empty());
        Ok(found)
    }

    /// Prints what was found of one body and collider.
    pub(crate) fn report(&self, index: u32, found: &ColliderCrossing, common: &Common) {
        let ColliderCrossing { body, collider, triangles, inside, .. } = found;
        let (body, first) =
            (&self.scene_state.bodies[*body as usize].name, self.first[*body as usize] as u32);
        let (crossing, vertices) = (triangles.len(), inside.len());
        if common.json {
            line(json!({ "frame": index, "body": body, "collider": collider, "crossing_triangles": crossing,
                "vertices_inside": vertices }));
            return;
        }
        let corners = triangles.first().map(|t| format!("vertices {:?}", t.map(|p| p - first)));
        let place = inside.first().map(|p| format!("vertex {}", p - first)).or(corners).unwrap_or_default();
        line(format!(
            "frame {index}: {crossing} triangles of `{body}` cross `{collider}`, {vertices} of its vertices are inside, the \
             first at {place}"
        ));
    }

    /// The pairs of a body and a hard collider that meet.
    pub(crate) fn pairs(&self) -> usize {
        let bodies = self.scene_state.bodies.len() as u32;
        let meets = |collider| (0..bodies).filter(|body| self.check.meets(*body, collider)).count();
        (0..self.check.colliders()).map(meets).sum()
    }

    /// What was checked, in words.
    pub(crate) fn checked(&self) -> String {
        let count = self.check.colliders();
        let colliders = if count == 1 { "hard collider" } else { "hard colliders" };
        format!("{count} {colliders} in {} pairs with bodies", self.pairs())
    }

    /// What was not checked.
    pub(crate) fn not_checked(&self) -> Vec<String> {
        let SceneState { bodies, contact, colliders, .. } = self.scene_state;
        let soft = colliders.iter().filter(|(_, collider)| collider.stiffness.is_some());
        let mut list: Vec<String> =
            soft.map(|(_, collider)| format!("`{}` is soft", collider.name)).collect();
        for (b, body) in bodies.iter().enumerate() {
            if !contact.meeting(body.into(), body.into()).collides {
                list.push(format!("self_contact of `{}` is off", body.name));
            }
            let others = bodies[b + 1..]
                .iter()
                .filter(|other| !contact.meeting(body.into(), (*other).into()).collides);
            list.extend(others.map(|other| ignores(&body.name, &other.name)));
            let ignored =
                (0..self.check.colliders()).filter(|&collider| !self.check.meets(b as u32, collider));
            list.extend(ignored.map(|collider| ignores(&body.name, self.check.name(collider))));
        }
        for ((body, collider), (count, [from, to])) in &self.released {
            list.push(format!(
                "{count} vertices of `{body}` that were released from `{collider}`, frames {from} to {to}"
            ));
        }
        list
    }
}

fn ignores(a: &str, b: &str) -> String {
    format!("`{a}` and `{b}` ignore each other")
}
