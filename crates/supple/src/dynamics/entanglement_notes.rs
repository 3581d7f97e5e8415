//! Notes for the user about what is inside colliders, or crosses, at the start or later.

use std::collections::BTreeMap;

use glam::DVec3;

use super::system::System;
use crate::contact::barrier::PUSH_SPEED;
use crate::contact::{EnclosedSpot, Parts};
use crate::scene::Tangled;
use crate::scene_state::SceneState;

/// How many intersecting triangles are listed.
const NAMED_CROSSINGS: usize = 5;

/// How many places are listed in which a collider pierces a body.
const NAMED_PLACES: usize = 5;

/// What of one body is inside one collider.
#[derive(Default)]
struct Inside<'a> {
    vertices: Vec<&'a EnclosedSpot>,
    triangles: u32,
    locked: Vec<&'a EnclosedSpot>,
}

impl System {
    /// What is inside colliders or crosses at `x`, one line each; nothing if everything is apart.
    pub(crate) fn entanglement_notes(&self, scene_state: &SceneState, x: &[DVec3]) -> Vec<String> {
        let found = self.contact_system.entanglement(x);
        let at_start = scene_state.time == 0.0;
        let surfaces = self.contact_system.surfaces();
        let mut inside: BTreeMap<[u32; 2], Inside<'_>> = BTreeMap::new();
        for spot in &found.spots {
            let own = inside.entry([surfaces.body(spot.points[0]), spot.collider]).or_default();
            match spot.vertex() {
                _ if spot.locked => own.locked.push(spot),
                Some(_) => own.vertices.push(spot),
                None => own.triangles += 1,
            }
        }
        let mut notes = Vec::new();
        for ([body, collider], own) in &inside {
            let names = [
                scene_state.bodies[*body as usize].name.as_str(),
                self.contact_system.collider_name(*collider as usize),
            ];
            notes.extend(self.note_of_inside(scene_state, names, own, at_start));
            notes.extend(self.note_of_pierced(scene_state, x, names, &own.locked));
        }
        let of_bodies = surfaces.body_triangles().len() as u32;
        let between: Vec<[u32; 2]> =
            found.crossings().iter().filter(|pair| pair[1] < of_bodies).copied().collect();
        notes.extend(self.note_of_crossings(scene_state, &between, at_start));
        let shells: Vec<[u32; 2]> =
            found.contours.iter().filter(|pair| pair[1] >= of_bodies).copied().collect();
        notes.extend(self.note_of_crossings(scene_state, &shells, at_start));
        notes.extend(self.notes_of_pins(scene_state));
        notes
    }

    fn note_of_inside(
        &self,
        scene_state: &SceneState,
        [body, collider]: [&str; 2],
        inside: &Inside<'_>,
        at_start: bool,
    ) -> Option<String> {
        let fate = match (scene_state.contact.tangled, at_start) {
            (Tangled::Push, true) => {
                format!("they are pushed out gradually, at no more than {PUSH_SPEED} m/s")
            }
            (Tangled::Push, false) => "they are still being pushed out".to_owned(),
            (Tangled::Ignore, _) => "they do not meet it until they are out".to_owned(),
        };
        let also = match inside.triangles {
            0 => String::new(),
            count => format!(
                "{}cross it between their vertices",
                counted(count as usize, "triangle ", "triangles ")
            ),
        };
        let deepest = inside.vertices.iter().max_by(|a, b| a.depth.total_cmp(&b.depth));
        let Some(deepest) = deepest else {
            return (inside.triangles > 0).then(|| {
                let what = counted(inside.triangles as usize, "triangle of", "triangles of");
                format!("{what} `{body}` cross `{collider}` between their vertices; {fate}")
            });
        };
        let also = if also.is_empty() { also } else { format!(", and {also}") };
        Some(format!(
            "{} `{body}` {} inside `{collider}`, up to {}, deepest vertex {}{also}; {fate}",
            counted(inside.vertices.len(), "vertex of", "vertices of"),
            if inside.vertices.len() == 1 { "is" } else { "are" },
            millimetres(deepest.depth),
            self.vertex_of(scene_state, deepest.points[0]),
        ))
    }

    /// The places in which a collider passes through a body.
    fn note_of_pierced(
        &self,
        scene_state: &SceneState,
        x: &[DVec3],
        [body, collider]: [&str; 2],
        locked: &[&EnclosedSpot],
    ) -> Option<String> {
        if locked.is_empty() {
            return None;
        }
        let places = self.places(x, locked);
        let mut names: Vec<String> = places
            .iter()
            .take(NAMED_PLACES)
            .map(|(vertex, count, centre)| {
                let vertex = self.vertex_of(scene_state, *vertex);
                format!(
                    "{count} around vertex {vertex} at [{:.3}, {:.3}, {:.3}]",
                    centre.x, centre.y, centre.z
                )
            })
            .collect();
        if places.len() > NAMED_PLACES {
            names.push("...".to_owned());
        }
        Some(format!(
            "`{collider}` pierces `{body}` in {}, which no push can part: {} inside are left out of contact with it; \
             change the start there, or leave it as it is",
            counted(places.len(), "place", "places"),
            names.join("; "),
        ))
    }

    /// Connected locked spots: a vertex, their number and their centre.
    fn places(&self, x: &[DVec3], locked: &[&EnclosedSpot]) -> Vec<(u32, usize, DVec3)> {
        let surfaces = self.contact_system.surfaces();
        let mut owner: BTreeMap<u32, usize> = BTreeMap::new();
        for (i, spot) in locked.iter().enumerate() {
            spot.points.iter().for_each(|p| {
                owner.entry(*p).or_insert(i);
            });
        }
        let mut edges = Vec::new();
        for (i, spot) in locked.iter().enumerate() {
            edges.extend(spot.points.iter().map(|p| [owner[p], i]));
        }
        // Spots whose triangles share a vertex are one place.
        for t in surfaces.body_triangles() {
            let own: Vec<usize> = t.iter().filter_map(|p| owner.get(p).copied()).collect();
            edges.extend(own.windows(2).map(|pair| [pair[0], pair[1]]));
        }
        let position = |p: u32| self.points.position(p as usize, x);
        let mut parts = Parts::new(locked.len());
        edges.into_iter().for_each(|edge| parts.join(edge));
        let place = |members: &Vec<usize>| {
            let centre = members.iter().map(|&i| position(locked[i].points[0])).sum::<DVec3>();
            (locked[members[0]].points[0], members.len(), centre / members.len() as f64)
        };
        parts.members().iter().map(place).collect()
    }

    fn note_of_crossings(
        &self,
        scene_state: &SceneState,
        crossings: &[[u32; 2]],
        at_start: bool,
    ) -> Option<String> {
        if crossings.is_empty() {
            return None;
        }
        let fate = match (scene_state.contact.tangled, at_start) {
            (Tangled::Push, true) => "they will be separated gradually",
            (Tangled::Push, false) => "they are still being separated",
            (Tangled::Ignore, _) => "they pass through each other until they are apart",
        };
        let named = crossings.iter().take(NAMED_CROSSINGS);
        let mut names: Vec<String> = named.map(|pair| self.name_crossing(scene_state, *pair)).collect();
        if crossings.len() > NAMED_CROSSINGS {
            names.push("...".to_owned());
        }
        let when = if at_start { "at the start" } else { "now" };
        let count = counted(crossings.len(), "pair of triangles intersects", "pairs of triangles intersect");
        Some(format!("{count} {when} ({}); {fate}", names.join("; ")))
    }

    fn notes_of_pins(&self, scene_state: &SceneState) -> Vec<String> {
        let surfaces = self.contact_system.surfaces();
        let mut pinned: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
        for &[collider, point] in self.contact_system.pinned_inside() {
            pinned.entry([surfaces.body(point), collider]).or_default().push(point);
        }
        let note = |([body, collider], points): (&[u32; 2], &Vec<u32>)| {
            format!(
                "{} of `{}` on or inside `{}`, the first is vertex {}: they keep their targets, and the faces at them do \
                 not meet it",
                counted(points.len(), "hard-pinned vertex", "hard-pinned vertices"),
                scene_state.bodies[*body as usize].name,
                self.contact_system.collider_name(*collider as usize),
                self.vertex_of(scene_state, points[0]),
            )
        };
        pinned.iter().map(note).collect()
    }

    /// The vertex of a body that is a point of its surface.
    fn vertex_of(&self, scene_state: &SceneState, point: u32) -> usize {
        let body = self.contact_system.surfaces().body(point) as usize;
        let first: usize = scene_state.bodies[..body].iter().map(|body| body.embedding.len()).sum();
        point as usize - first
    }

    /// Two triangles by their bodies or colliders, and by the vertices of bodies.
    fn name_crossing(&self, scene_state: &SceneState, pair: [u32; 2]) -> String {
        let surfaces = self.contact_system.surfaces();
        let name = |t: u32| {
            let corners = surfaces.triangles[t as usize];
            if let Some(collider) = surfaces.collider(corners[0]) {
                return format!("`{}`", self.contact_system.collider_name(collider));
            }
            let body = surfaces.body(corners[0]) as usize;
            let [a, b, c] = corners.map(|p| self.vertex_of(scene_state, p));
            format!("`{}` at vertices {a}, {b}, {c}", scene_state.bodies[body].name)
        };
        format!("{} with {}", name(pair[0]), name(pair[1]))
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn millimetres(metres: f64) -> String {
    let value = 1e3 * metres;
    if value < 1.0 { format!("{value:.2} mm") } else { format!("{value:.0} mm") }
}
