//! Notes for the user about what is inside colliders, or crosses, at the start or later.

use std::collections::BTreeMap;

use glam::DVec3;

use crate::contact::barrier::{ContactSystem, PUSH_SPEED};
use crate::contact::{EnclosedSpot, Parts};
use crate::scene::Tangled;
use crate::scene_state::SceneState;

/// How many places are listed in which a collider pierces a body, or triangles intersect.
const NAMED_PLACES: usize = 16;

/// What of one body is inside one collider.
#[derive(Default)]
struct Inside<'a> {
    vertices: Vec<&'a EnclosedSpot>,
    triangles: u32,
    locked: Vec<&'a EnclosedSpot>,
}

/// Connected places, in the order of the first of each.
struct Place {
    /// The first of them.
    point: u32,
    count: usize,
    centre: DVec3,
}

/// What is inside colliders or crosses, in words.
pub(crate) struct EntanglementNotes<'a> {
    pub(crate) contact: &'a ContactSystem,
    pub(crate) scene_state: &'a SceneState,
}

impl EntanglementNotes<'_> {
    /// What is inside colliders or crosses at `x`, one line each; nothing if everything is apart.
    pub(crate) fn at(&self, x: &[DVec3]) -> Vec<String> {
        if self.contact.is_empty() {
            return Vec::new();
        }
        let Self { contact, scene_state, .. } = *self;
        let found = contact.entanglement(x);
        let at_start = scene_state.time == 0.0;
        let surfaces = contact.surfaces();
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
                self.scene_state.bodies[*body as usize].name.as_str(),
                self.contact.collider_name(*collider as usize),
            ];
            notes.extend(self.note_of_inside(names, own, at_start));
            notes.extend(self.note_of_pierced(x, names, &own.locked));
        }
        let of_bodies = surfaces.body_triangles().len() as u32;
        let between: Vec<[u32; 2]> =
            found.crossings().iter().filter(|pair| pair[1] < of_bodies).copied().collect();
        notes.extend(self.note_of_crossings(x, &between, at_start));
        let shells: Vec<[u32; 2]> =
            found.contours.iter().filter(|pair| pair[1] >= of_bodies).copied().collect();
        notes.extend(self.note_of_crossings(x, &shells, at_start));
        notes.extend(self.notes_of_pins());
        notes
    }

    fn note_of_inside(
        &self,
        [body, collider]: [&str; 2],
        inside: &Inside<'_>,
        at_start: bool,
    ) -> Option<String> {
        let fate = match (self.scene_state.contact.tangled, at_start) {
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
            self.vertex_of(deepest.points[0]),
        ))
    }

    /// The places in which a collider passes through a body.
    fn note_of_pierced(
        &self,
        x: &[DVec3],
        [body, collider]: [&str; 2],
        locked: &[&EnclosedSpot],
    ) -> Option<String> {
        if locked.is_empty() {
            return None;
        }
        let places = self.pierced_places(x, locked);
        let name = |place: &Place| {
            let vertex = self.vertex_of(place.point);
            let limb = self.contact.collider_vertex(locked[0].collider as usize, place.centre);
            let limb = match limb {
                Some((vertex, Some(part))) => {
                    format!(" (`{part}` of `{collider}`, near its vertex {vertex})")
                }
                Some((vertex, None)) => format!(" (near vertex {vertex} of `{collider}`)"),
                None => String::new(),
            };
            let count = counted(place.count, "vertex or triangle", "vertices or triangles");
            format!("{count} around vertex {vertex} at {}{limb}", metres(place.centre))
        };
        Some(format!(
            "`{collider}` pierces `{body}` in {}, which no push can part: {}; what is inside there is left out of \
             contact with it; change the start there, or leave it as it is",
            counted(places.len(), "place", "places"),
            listed(&places, name),
        ))
    }

    /// Connected places in which a collider passes through a body.
    fn pierced_places(&self, x: &[DVec3], locked: &[&EnclosedSpot]) -> Vec<Place> {
        let surfaces = self.contact.surfaces();
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
        let centre = |i: usize| self.contact.position(locked[i].points[0] as usize, x);
        join(locked.len(), &edges, |i| (locked[i].points[0], centre(i)))
    }

    /// Connected places in which triangles intersect: pairs with a common vertex are in one.
    fn crossing_places(&self, x: &[DVec3], crossings: &[[u32; 2]]) -> Vec<Place> {
        let surfaces = self.contact.surfaces();
        let own = |i: usize| surfaces.triangles[crossings[i][0] as usize];
        let mut owner: BTreeMap<u32, usize> = BTreeMap::new();
        let mut edges = Vec::new();
        for (i, pair) in crossings.iter().enumerate() {
            let points = pair.map(|t| surfaces.triangles[t as usize]);
            let of_bodies = points.as_flattened().iter().filter(|p| !surfaces.is_driven(**p));
            edges.extend(of_bodies.map(|p| [*owner.entry(*p).or_insert(i), i]));
        }
        let corner = |p: u32| self.contact.position(p as usize, x);
        join(crossings.len(), &edges, |i| (i as u32, own(i).map(corner).iter().sum::<DVec3>() / 3.0))
    }

    fn note_of_crossings(&self, x: &[DVec3], crossings: &[[u32; 2]], at_start: bool) -> Option<String> {
        if crossings.is_empty() {
            return None;
        }
        let fate = match (self.scene_state.contact.tangled, at_start) {
            (Tangled::Push, true) => "they will be separated gradually",
            (Tangled::Push, false) => "they are still being separated",
            (Tangled::Ignore, _) => "they pass through each other until they are apart",
        };
        let places = self.crossing_places(x, crossings);
        let name = |place: &Place| {
            let pair = self.name_crossing(crossings[place.point as usize]);
            format!("{} around {}, {pair}", place.count, metres(place.centre))
        };
        let when = if at_start { "at the start" } else { "now" };
        let count = counted(crossings.len(), "pair of triangles intersects", "pairs of triangles intersect");
        Some(format!(
            "{count} {when}, in {}: {}; {fate}",
            counted(places.len(), "place", "places"),
            listed(&places, name),
        ))
    }

    fn notes_of_pins(&self) -> Vec<String> {
        let surfaces = self.contact.surfaces();
        let mut pinned: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
        for &[collider, point] in self.contact.pinned_inside() {
            pinned.entry([surfaces.body(point), collider]).or_default().push(point);
        }
        let note = |([body, collider], points): (&[u32; 2], &Vec<u32>)| {
            format!(
                "{} of `{}` on or inside `{}`, the first is vertex {}: they keep their targets, and the faces at them do \
                 not meet it",
                counted(points.len(), "hard-pinned vertex", "hard-pinned vertices"),
                self.scene_state.bodies[*body as usize].name,
                self.contact.collider_name(*collider as usize),
                self.vertex_of(points[0]),
            )
        };
        pinned.iter().map(note).collect()
    }

    /// The vertex of a body that is a point of its surface.
    fn vertex_of(&self, point: u32) -> usize {
        let body = self.contact.surfaces().body(point) as usize;
        let first: usize = self.scene_state.bodies[..body].iter().map(|body| body.embedding.len()).sum();
        point as usize - first
    }

    /// Two triangles by their bodies or colliders, and by the vertices of bodies.
    fn name_crossing(&self, pair: [u32; 2]) -> String {
        let surfaces = self.contact.surfaces();
        let name = |t: u32| {
            let corners = surfaces.triangles[t as usize];
            if let Some(collider) = surfaces.collider(corners[0]) {
                return format!("`{}`", self.contact.collider_name(collider));
            }
            let body = surfaces.body(corners[0]) as usize;
            let [a, b, c] = corners.map(|p| self.vertex_of(p));
            format!("`{}` at vertices {a}, {b}, {c}", self.scene_state.bodies[body].name)
        };
        format!("{} with {}", name(pair[0]), name(pair[1]))
    }
}

/// Joins items into places; `item` tells what an item is called, and where it is.
fn join(count: usize, edges: &[[usize; 2]], item: impl Fn(usize) -> (u32, DVec3)) -> Vec<Place> {
    let mut parts = Parts::new(count);
    edges.iter().for_each(|edge| parts.join(*edge));
    let place = |members: &Vec<usize>| {
        let centre = members.iter().map(|&i| item(i).1).sum::<DVec3>() / members.len() as f64;
        Place { point: item(members[0]).0, count: members.len(), centre }
    };
    parts.members().iter().map(place).collect()
}

/// Places, the largest first, as far as they are listed.
fn listed(places: &[Place], name: impl Fn(&Place) -> String) -> String {
    let mut order: Vec<&Place> = places.iter().collect();
    order.sort_by_key(|place| std::cmp::Reverse(place.count));
    let mut names: Vec<String> = order.into_iter().take(NAMED_PLACES).map(name).collect();
    if places.len() > NAMED_PLACES {
        names.push("...".to_owned());
    }
    names.join("; ")
}

fn metres(place: DVec3) -> String {
    format!("[{:.3}, {:.3}, {:.3}]", place.x, place.y, place.z)
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn millimetres(metres: f64) -> String {
    let value = 1e3 * metres;
    if value < 1.0 { format!("{value:.2} mm") } else { format!("{value:.0} mm") }
}
