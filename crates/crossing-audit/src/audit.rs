//! Goes through the records of a run in order and collects what is wrong.

use std::collections::BTreeSet;

use glam::DVec3;
use serde::Serialize;

use crate::grid::{Bounds, overlapping};
use crate::record::{FrameRecord, Header, Record, Solid, SolidKind, State, StepEnd};
use crate::still::{pierces, winding};
use crate::sweep::{Mover, first_below, first_touch};

/// A restart farther than this, in metres, from every earlier state of its step has left something out.
const SAME_STATE: f64 = 1e-9;
/// Events that are described; all are counted.
const DESCRIBED: usize = 20;

/// What is wrong with a run, and how much was looked at.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Findings {
    /// Records of frames.
    pub frames: usize,
    /// Steps, or parts of a step, that ended.
    pub steps: usize,
    /// Displacements that were swept.
    pub pieces: usize,
    /// Returns to an earlier state.
    pub restarts: usize,
    /// Restarts to a state that was never recorded.
    pub jumps: usize,
    /// The farthest of these, in metres.
    pub farthest_jump: f64,
    /// Times at which something passed something within a piece.
    pub events: usize,
    /// The same among points that were released from contact.
    pub released_events: usize,
    /// Edges that cross a triangle, or faces that are inside a solid, at the end of a step; summed over steps.
    pub crossings: usize,
    /// Vertices inside a closed collider or solid at the end of a step; summed over steps.
    pub inside: usize,
    /// The deepest vertex inside a solid, in metres.
    pub deepest: f64,
    /// The farthest that a collider was from its intended place at the end of a step, in metres.
    pub collider_lateness: f64,
    /// The same of hard pins.
    pub pin_lateness: f64,
    /// Points released from contact in any step.
    pub released: BTreeSet<usize>,
    /// The first events and crossings in words.
    pub descriptions: Vec<String>,
}

impl Findings {
    /// Whether nothing crossed, nothing is inside, and everything driven was within `lateness` metres of its place.
    pub fn is_clean(&self, lateness: f64) -> bool {
        self.jumps + self.events + self.crossings + self.inside == 0
            && self.collider_lateness <= lateness
            && self.pin_lateness <= lateness
    }

    fn describe(&mut self, text: impl FnOnce() -> String) {
        if self.descriptions.len() < DESCRIBED {
            self.descriptions.push(text());
        }
    }
}

/// An audit in progress.
#[derive(Debug, Default)]
pub struct Audit {
    /// What was found so far.
    pub findings: Findings,
    last: Option<State>,
}

/// Something passed something.
#[derive(Debug, Clone, PartialEq)]
struct Event {
    things: [usize; 2],
    points: Vec<usize>,
    kind: &'static str,
    fraction: f64,
    place: DVec3,
}

/// The edges and vertices of a surface.
struct Parts {
    edges: Vec<[usize; 2]>,
    vertices: Vec<usize>,
}

impl Audit {
    /// Looks at the next frame.
    pub fn frame(&mut self, frame: &FrameRecord) {
        let header = &frame.header;
        let parts: Vec<Parts> = header.surfaces.iter().map(|s| Parts::new(&s.triangles)).collect();
        self.findings.frames += 1;
        let mut step: Vec<State> = self.last.take().into_iter().filter(|last| fits(last, frame)).collect();
        let mut events = Vec::new();
        for record in &frame.records {
            match record {
                Record::Restart(state) => {
                    self.restart(header, &parts, &step, state, &mut events);
                    step.push(state.clone());
                }
                Record::Piece(state, origin) => {
                    if let Some(from) = step.last().filter(|_| header.swept) {
                        self.findings.pieces += 1;
                        events.extend(
                            sweep(header, &parts, from, state).into_iter().map(|e| (e, *origin, state.time)),
                        );
                    }
                    step.push(state.clone());
                }
                Record::End(end) => {
                    self.end(header, &parts, step.last(), end, &mut events);
                    step.drain(..step.len().saturating_sub(1));
                }
            }
        }
        self.count(header, &mut events, &[]);
        self.last = step.pop();
    }

    /// A return to an earlier state: the way from the nearest one is swept too.
    fn restart(
        &mut self,
        header: &Header,
        parts: &[Parts],
        earlier: &[State],
        state: &State,
        events: &mut Vec<(Event, u32, f64)>,
    ) {
        let nearest = earlier.iter().map(|from| (distance(from, state), from));
        let Some((far, from)) = nearest.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| header.swept) else {
            return;
        };
        self.findings.restarts += 1;
        if far > SAME_STATE {
            self.findings.jumps += 1;
            self.findings.farthest_jump = self.findings.farthest_jump.max(far);
            let (frame, time) = (header.frame, state.time);
            self.findings.describe(|| {
                format!("frame {frame}, {time} s: restart at a state {far:.3e} m from any that was recorded")
            });
        }
        if far > 0.0 {
            events.extend(sweep(header, parts, from, state).into_iter().map(|e| (e, u32::MAX, state.time)));
        }
    }

    fn end(
        &mut self,
        header: &Header,
        parts: &[Parts],
        state: Option<&State>,
        end: &StepEnd,
        events: &mut Vec<(Event, u32, f64)>,
    ) {
        self.findings.steps += 1;
        self.findings.released.extend(&end.released);
        self.count(header, events, &end.released);
        let Some(state) = state else { return };
        self.lateness(header, state, end);
        for &[a, b] in &header.pairs {
            match b.checked_sub(header.surfaces.len()) {
                None => self.still_surfaces(header, parts, [a, b], state, &end.released),
                Some(solid) => self.still_solid(header, &parts[a], [a, solid], state, &end.released),
            }
        }
    }

    fn count(&mut self, header: &Header, events: &mut Vec<(Event, u32, f64)>, released: &[usize]) {
        for (event, origin, time) in events.drain(..) {
            if event.points.iter().any(|p| released.contains(p)) {
                self.findings.released_events += 1;
                continue;
            }
            self.findings.events += 1;
            self.findings.describe(|| {
                let Event { things, points, kind, fraction, place } = &event;
                let [one, other] = things.map(|thing| name(header, thing));
                format!(
                    "frame {}, piece to {time} s of origin {origin}: {kind} of `{one}` and `{other}` at points {points:?} \
                     after {fraction:.9} of the piece at {place}",
                    header.frame
                )
            });
        }
    }

    fn lateness(&mut self, header: &Header, state: &State, end: &StepEnd) {
        let [bodies, _] = header.point_counts();
        let points = state.points[bodies..].iter().zip(&end.driven).map(|(p, q)| p.distance(*q));
        let solids = state.solids.iter().zip(&end.solids).map(|(s, t)| solid_distance(s, t));
        let late = points.chain(solids).fold(0.0, f64::max);
        self.findings.collider_lateness = self.findings.collider_lateness.max(late);
        let pins = end.pins.iter().map(|(point, target)| state.points[*point].distance(*target));
        self.findings.pin_lateness = pins.fold(self.findings.pin_lateness, f64::max);
    }

    fn still_surfaces(
        &mut self,
        header: &Header,
        parts: &[Parts],
        [a, b]: [usize; 2],
        state: &State,
        released: &[usize],
    ) {
        let at = &state.points;
        let directions: &[[usize; 2]] = if a == b { &[[a, a]] } else { &[[a, b], [b, a]] };
        for &[edged, faced] in directions {
            let triangles = &header.surfaces[faced].triangles;
            let edges = &parts[edged].edges;
            let ours: Vec<Bounds> = edges.iter().map(|e| Bounds::around(&e.map(|p| at[p]))).collect();
            let theirs: Vec<Bounds> = triangles.iter().map(|t| Bounds::around(&t.map(|p| at[p]))).collect();
            for [e, t] in overlapping(&ours, &theirs) {
                let (edge, triangle) = (edges[e], triangles[t]);
                let points = [&edge[..], &triangle[..]].concat();
                let shares = edge.iter().any(|p| triangle.contains(p));
                if !shares
                    && pierces(edge.map(|p| at[p]), triangle.map(|p| at[p]))
                    && !points.iter().any(|p| released.contains(p))
                {
                    self.findings.crossings += 1;
                    self.findings.describe(|| {
                        let names = [name(header, edged), name(header, faced)];
                        format!(
                            "frame {}, end of a step at {} s: edge {edge:?} of `{}` crosses triangle {triangle:?} of `{}` at {}",
                            header.frame, state.time, names[0], names[1], at[edge[0]]
                        )
                    });
                }
            }
        }
        for [body, collider] in [[a, b], [b, a]] {
            let (surface, other) = (&header.surfaces[body], &header.surfaces[collider]);
            if a != b && !surface.collider && other.collider && other.closed {
                self.inside_mesh(header, &parts[body], collider, state, released);
            }
        }
    }

    fn inside_mesh(
        &mut self,
        header: &Header,
        body: &Parts,
        collider: usize,
        state: &State,
        released: &[usize],
    ) {
        let at = &state.points;
        let surface = &header.surfaces[collider];
        let bounds = Bounds::around(surface.triangles.iter().flatten().map(|p| &at[*p]));
        for &vertex in body.vertices.iter().filter(|v| !released.contains(v)) {
            let p = at[vertex];
            if !bounds.overlaps(&Bounds { low: p, high: p }) {
                continue;
            }
            let turns = winding(p, surface.triangles.iter().map(|t| t.map(|p| at[p])));
            if turns.abs() > 0.5 {
                self.findings.inside += 1;
                let (frame, time, name) = (header.frame, state.time, &surface.name);
                self.findings.describe(|| {
                    format!(
                        "frame {frame}, end of a step at {time} s: vertex {vertex} is inside `{name}` at {p}"
                    )
                });
            }
        }
    }

    fn still_solid(
        &mut self,
        header: &Header,
        body: &Parts,
        [surface, index]: [usize; 2],
        state: &State,
        released: &[usize],
    ) {
        let (at, solid) = (&state.points, state.solids[index]);
        for &vertex in body.vertices.iter().filter(|v| !released.contains(v)) {
            let height = solid.height(at[vertex]);
            if height < 0.0 {
                self.findings.inside += 1;
                self.findings.deepest = self.findings.deepest.max(-height);
                let name = &header.solids[index].name;
                let (frame, time) = (header.frame, state.time);
                self.findings.describe(|| {
                    format!("frame {frame}, end of a step at {time} s: vertex {vertex} is {:.3e} m inside `{name}`", -height)
                });
            }
        }
        let triangles = &header.surfaces[surface].triangles;
        for triangle in triangles.iter().filter(|t| !t.iter().any(|p| released.contains(p))) {
            let corners = triangle.map(|p| at[p]);
            if solid.kind == SolidKind::Capsule && touches_capsule([corners; 2], [solid; 2]).is_some() {
                self.findings.crossings += 1;
                let name = &header.solids[index].name;
                let (frame, time) = (header.frame, state.time);
                self.findings.describe(|| {
                    format!("frame {frame}, end of a step at {time} s: triangle {triangle:?} enters `{name}`")
                });
            }
        }
    }
}

impl Parts {
    fn new(triangles: &[[usize; 3]]) -> Self {
        let sides = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        let edges: BTreeSet<[usize; 2]> = sides.map(|[a, b]| [a.min(b), a.max(b)]).collect();
        let vertices: BTreeSet<usize> = triangles.iter().flatten().copied().collect();
        Self { edges: edges.into_iter().collect(), vertices: vertices.into_iter().collect() }
    }
}

impl Solid {
    /// The distance of a point from its surface, negative inside.
    fn height(&self, p: DVec3) -> f64 {
        match self.kind {
            SolidKind::Plane => (p - self.a).dot(self.b.normalize_or_zero()),
            SolidKind::Capsule => {
                let axis = self.b - self.a;
                let part = (p - self.a).dot(axis) / axis.length_squared();
                let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
                p.distance(self.a + part * axis) - self.radius
            }
        }
    }
}

fn fits(last: &State, frame: &FrameRecord) -> bool {
    let [bodies, driven] = frame.header.point_counts();
    last.points.len() == bodies + driven && last.solids.len() == frame.header.solids.len()
}

fn name(header: &Header, thing: usize) -> &str {
    match thing.checked_sub(header.surfaces.len()) {
        None => &header.surfaces[thing].name,
        Some(solid) => &header.solids[solid].name,
    }
}

fn solid_distance(one: &Solid, other: &Solid) -> f64 {
    let far = one.a.distance(other.a).max(one.b.distance(other.b));
    far.max((one.radius - other.radius).abs())
}

/// The farthest that anything moves between two states.
fn distance(one: &State, other: &State) -> f64 {
    let points =
        one.points.iter().zip(&other.points).map(|(p, q)| p.distance_squared(*q)).fold(0.0, f64::max);
    let solids = one.solids.iter().zip(&other.solids).map(|(s, t)| solid_distance(s, t));
    solids.fold(points.sqrt(), f64::max)
}

/// Everything that passes something on the straight way from one state to another.
fn sweep(header: &Header, parts: &[Parts], from: &State, to: &State) -> Vec<Event> {
    let mut events = Vec::new();
    for &[a, b] in &header.pairs {
        match b.checked_sub(header.surfaces.len()) {
            None => {
                sweep_vertices(header, &parts[a], [a, b], [from, to], &mut events);
                if a != b {
                    sweep_vertices(header, &parts[b], [b, a], [from, to], &mut events);
                }
                sweep_edges(parts, [a, b], [from, to], &mut events);
            }
            Some(solid) => sweep_solid(header, &parts[a], [a, solid], [from, to], &mut events),
        }
    }
    events
}

fn swept<const N: usize>(points: &[usize; N], [from, to]: [&State; 2]) -> Bounds {
    Bounds::around(points.iter().flat_map(|&p| [&from.points[p], &to.points[p]]))
}

/// Whether any of these points moves.
fn moves(points: &[usize], [from, to]: [&State; 2]) -> bool {
    points.iter().any(|&p| from.points[p] != to.points[p])
}

fn touch<const N: usize, const M: usize>(
    ours: [usize; N],
    theirs: [usize; M],
    span: [&State; 2],
) -> Option<f64> {
    let [from, to] = span;
    let (a, b) = (ours.map(|p| from.points[p]), ours.map(|p| to.points[p]));
    let (c, d) = (theirs.map(|p| from.points[p]), theirs.map(|p| to.points[p]));
    let one = Mover { from: &a, to: &b, radius: [0.0; 2] };
    first_touch(&one, &Mover { from: &c, to: &d, radius: [0.0; 2] })
}

fn sweep_vertices(
    header: &Header,
    ours: &Parts,
    things: [usize; 2],
    span: [&State; 2],
    events: &mut Vec<Event>,
) {
    let triangles = &header.surfaces[things[1]].triangles;
    let vertices: Vec<Bounds> = ours.vertices.iter().map(|&v| swept(&[v], span)).collect();
    let faces: Vec<Bounds> = triangles.iter().map(|t| swept(t, span)).collect();
    for [v, t] in overlapping(&vertices, &faces) {
        let (vertex, triangle) = (ours.vertices[v], triangles[t]);
        let points = [&[vertex][..], &triangle[..]].concat();
        if triangle.contains(&vertex) || !moves(&points, span) {
            continue;
        }
        if let Some(fraction) = touch([vertex], triangle, span) {
            let place = span[0].points[vertex].lerp(span[1].points[vertex], fraction);
            events.push(Event { things, points, kind: "vertex and triangle", fraction, place });
        }
    }
}

fn sweep_edges(parts: &[Parts], things: [usize; 2], span: [&State; 2], events: &mut Vec<Event>) {
    let [ours, theirs] = things.map(|thing| &parts[thing].edges);
    let [our_bounds, their_bounds] =
        [ours, theirs].map(|edges| edges.iter().map(|e| swept(e, span)).collect::<Vec<_>>());
    for [i, j] in overlapping(&our_bounds, &their_bounds) {
        let (one, other) = (ours[i], theirs[j]);
        let points = [one, other].concat();
        if (things[0] == things[1] && i >= j)
            || one.iter().any(|p| other.contains(p))
            || !moves(&points, span)
        {
            continue;
        }
        if let Some(fraction) = touch(one, other, span) {
            let place = span[0].points[one[0]].lerp(span[1].points[one[0]], fraction);
            events.push(Event { things, points, kind: "edge and edge", fraction, place });
        }
    }
}

fn sweep_solid(
    header: &Header,
    ours: &Parts,
    [surface, index]: [usize; 2],
    span: [&State; 2],
    events: &mut Vec<Event>,
) {
    let [from, to] = span;
    let solids = [from.solids[index], to.solids[index]];
    let things = [surface, header.surfaces.len() + index];
    if solids[0].kind == SolidKind::Plane {
        for &v in &ours.vertices {
            let vertex = [from.points[v], to.points[v]];
            if vertex[0] == vertex[1] && solids[0] == solids[1] {
                continue;
            }
            let below = first_below(vertex, solids.map(|s| s.a), solids.map(|s| s.b));
            events.extend(below.map(|fraction| Event {
                things,
                points: vec![v],
                kind: "vertex and plane",
                fraction,
                place: vertex[0].lerp(vertex[1], fraction),
            }));
        }
        return;
    }
    let bounds = solids.map(|s| Bounds::around([&s.a, &s.b]).grown(s.radius * (1.0 + 1e-9)));
    let bounds = Bounds { low: bounds[0].low.min(bounds[1].low), high: bounds[0].high.max(bounds[1].high) };
    for triangle in header.surfaces[surface].triangles.iter().filter(|t| swept(t, span).overlaps(&bounds)) {
        let corners = [from, to].map(|state| triangle.map(|p| state.points[p]));
        if corners[0] == corners[1] && solids[0] == solids[1] {
            continue;
        }
        if let Some(fraction) = touches_capsule(corners, solids) {
            let place = corners[0][0].lerp(corners[1][0], fraction);
            let points = triangle.to_vec();
            events.push(Event { things, points, kind: "triangle and round solid", fraction, place });
        }
    }
}

fn touches_capsule(corners: [[DVec3; 3]; 2], solids: [Solid; 2]) -> Option<f64> {
    let triangle = Mover { from: &corners[0], to: &corners[1], radius: [0.0; 2] };
    let ends = solids.map(|s| [s.a, s.b]);
    first_touch(&triangle, &Mover { from: &ends[0], to: &ends[1], radius: solids.map(|s| s.radius) })
}
