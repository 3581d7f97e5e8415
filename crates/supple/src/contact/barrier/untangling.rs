//! What starts inside colliders, or crosses, comes apart gradually.
//!
//! At the start of a step all of it is found from the positions alone, so that nothing has to be remembered. It is released from contact with
//! what it is inside of or crosses, primitive by primitive, and springs pull it out, by no more than [`PUSH_SPEED`] relative to the
//! collider. What has come out takes part in contact again, and cannot return.

use std::sync::PoisonError;

use glam::{DMat3, DVec3};

use super::energy::on_unknowns;
use super::normal_contacts::Detection;
use super::{ContactProperties, ContactSystem, combine, place};
use crate::contact::collider::obstacles::Solid;
use crate::contact::{EnclosedSpot, Enclosures, Islands, Looseness, PrimitivePair, Released, Tangle};
use crate::energy::outer;
use supple_core::state::{StateReader, StateWriter};
use supple_core::{Aabb, Error};

/// The speed in m/s, relative to the collider or the other surface, at which what is inside or crosses is pulled out.
pub const PUSH_SPEED: f64 = 0.3;

/// From which part of that speed on what is inside is held back, and how much stiffer than contact; the force grows up to twice the most that a
/// spring pulls with, so that what springs let go of stays slower.
const LIMITED_FROM: f64 = 0.85;
const LIMIT_STIFFNESS: f64 = 16.0;
const LIMIT_FORCE: f64 = 2.0;

/// Seconds after which a place that could not be pulled out is left as it is: something passes through it.
const GIVE_UP: f64 = 1.0;

/// How near a primitive of a crossing triangle must be to what it crosses to be released too, over the thickness.
const HARDLY_CLEAR: f64 = 0.01;

/// How near to a collider a pinned point is on it, over the collider's thickness.
const ON_SURFACE: f64 = 0.1;

/// A spring on `Σ wᵢ pᵢ`: of what is inside a collider, or of an edge that passes through a triangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct UntanglingSpring {
    pub(super) points: [u32; 5],
    pub(super) weights: [f64; 5],
    pub(super) target: DVec3,
    /// The unit vector along which it pulls.
    pub(super) direction: DVec3,
    pub(super) stiffness: f64,
}

/// What is inside a collider, or on the wrong side of a surface, moves freely up to a distance in a step; beyond, a force holds it back that soon
/// grows no further, so that what lets go of it does not make it jump, and what pushes it hard may move it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpeedLimit {
    /// A vertex inside, four times, or one on the wrong side with the triangle nearest to it.
    pub(super) points: [u32; 4],
    pub(super) weights: [f64; 4],
    /// Where `Σ wᵢ pᵢ` would be if the vertex moved with the collider or triangle.
    pub(super) from: DVec3,
    /// The distance.
    pub(super) free: f64,
    /// Over how many metres more the force grows, and by how much per metre.
    pub(super) onset: f64,
    pub(super) stiffness: f64,
}

impl SpeedLimit {
    /// Energy, gradient and Hessian, which is positive semi-definite, where `Σ wᵢ pᵢ` is `place`; nothing within the free distance.
    pub(super) fn at(&self, place: DVec3) -> Option<(f64, DVec3, DMat3)> {
        let off = place - self.from;
        let length = off.length();
        let beyond = length - self.free;
        if beyond <= 0.0 {
            return None;
        }
        let (direction, grown) = (off / length, beyond.min(self.onset));
        let force = self.stiffness * grown;
        let along = if beyond < self.onset { self.stiffness } else { 0.0 };
        let around = force / length;
        let hessian = DMat3::from_diagonal(DVec3::splat(around)) + (along - around) * outer(direction);
        Some((force * (beyond - 0.5 * grown), force * direction, hessian))
    }
}

/// What is inside or crosses at some positions.
#[derive(Debug, Default)]
pub struct Entanglement {
    pub(super) tangle: Tangle,
    /// What is inside colliders.
    pub(crate) spots: Vec<EnclosedSpot>,
    /// Pairs of triangles of bodies with each other at which no part is on the wrong side, pairs with open colliders, and pairs
    /// with a collider in which nothing is inside.
    pub(crate) contours: Vec<[u32; 2]>,
    /// Parts of bodies on the wrong side of others.
    pub(super) islands: Islands,
}

/// Points that are held by hard pins.
#[derive(Debug, Default)]
pub(super) struct HeldPoints {
    /// Each with its position at the step's end, sorted.
    list: Vec<(u32, DVec3)>,
    /// Collider and point of those that are on or inside a collider, sorted.
    pub(super) inside: Vec<[u32; 2]>,
    /// The same before.
    before: Vec<[u32; 2]>,
    /// Each with its position at the step's start, and solids: workspace.
    now: Vec<(u32, DVec3)>,
    solids: Vec<(u32, Solid)>,
}

impl Entanglement {
    /// Whether everything is apart.
    pub fn is_empty(&self) -> bool {
        self.tangle.crossings.is_empty() && self.spots.is_empty()
    }

    /// The pairs of triangles that cross.
    pub fn crossings(&self) -> &[[u32; 2]] {
        &self.tangle.crossings
    }
}

impl ContactSystem {
    /// Finds what crosses or is inside colliders at `x`, and releases it.
    pub fn update_tangle(&mut self, x: &[DVec3]) {
        let mut found = std::mem::take(self.found_mut());
        place(&self.properties.points, x, &self.driven, &mut found.at);
        let entanglement = self.find_entanglement(&mut found);
        let Detection { candidates, at, known, .. } = &mut found;
        let mut released = std::mem::take(&mut self.released);
        self.release(&entanglement, at, &mut released);
        candidates.set_loose(&entanglement.tangle.loose);
        candidates.set_released(&released);
        *known = false;
        *self.found_mut() = found;
        self.tangled = !entanglement.is_empty() || !self.held.inside.is_empty();
        (self.released, self.entanglement) = (released, entanglement);
    }

    /// What crosses or is inside colliders at `x`, whatever is released now.
    pub fn entanglement(&self, x: &[DVec3]) -> Entanglement {
        if self.is_empty() {
            return Entanglement::default();
        }
        let mut found = self.detection.lock().unwrap_or_else(PoisonError::into_inner);
        place(&self.properties.points, x, &self.driven, &mut found.at);
        found.known = false;
        self.find_entanglement(&mut found)
    }

    /// The hard-pinned points that are on or inside colliders: collider and point.
    pub fn pinned_inside(&self) -> &[[u32; 2]] {
        &self.held.inside
    }

    fn find_entanglement(&self, found: &mut Detection) -> Entanglement {
        let Detection { candidates, at, enclosing, to: end, .. } = found;
        let ContactProperties { surfaces, stiffness, .. } = &self.properties;
        let mut tangle = Tangle::find(surfaces, candidates, at);
        enclosing.pose(surfaces, &self.obstacles, &self.driven);
        self.obstacles.peek_end(&self.driven, end);
        let enclosures = Enclosures {
            surfaces,
            obstacles: &self.obstacles,
            meshes: enclosing,
            solids: &self.solids,
            driven: &self.driven,
            end,
        };
        let held = |p: u32| self.held.list.binary_search_by_key(&p, |(point, _)| *point).is_ok();
        let meets = |p: u32| stiffness[p as usize] > 0.0 && !held(p);
        let of_bodies = surfaces.body_triangles().len() as u32;
        let (between, with_colliders): (Vec<[u32; 2]>, Vec<[u32; 2]>) =
            tangle.crossings.iter().partition(|pair| pair[1] < of_bodies);
        let (spots, contours) = enclosures.find(at, &with_colliders, &self.held.inside, meets);
        let mut spots = spots;
        spots.iter_mut().for_each(|spot| spot.locked |= self.pulled_for(spot) > GIVE_UP);
        let mut islands = Islands::find(surfaces, &between, at);
        self.loosen(&islands, &between, at, &mut tangle.loose);
        let mut undecided = std::mem::take(&mut islands.undecided);
        undecided.extend(contours);
        Entanglement { tangle, spots, contours: undecided, islands }
    }

    /// Lets what is on the wrong side of a surface pass through it, and through nothing else. What is on the right side keeps its distance from
    /// everything that is so too: however many triangles cross, no more do.
    fn loosen(&self, islands: &Islands, between: &[[u32; 2]], at: &[DVec3], loose: &mut [Looseness]) {
        let ContactProperties { surfaces, thickness, .. } = &self.properties;
        let corners = |t: u32| surfaces.triangles[t as usize];
        islands.points.iter().for_each(|p| loose[*p as usize] = Looseness::Near);
        let mut stray = |p: u32| loose[p as usize] = Looseness::Astray;
        islands.misplaced.iter().for_each(|misplaced| stray(misplaced.points[0]));
        islands.undecided.as_flattened().iter().for_each(|t| corners(*t).into_iter().for_each(&mut stray));
        let near = HARDLY_CLEAR * thickness;
        for &[a, b] in between {
            for (t, other) in [(corners(a), corners(b)), (corners(b), corners(a))] {
                t.into_iter().filter(|p| vertex_to_triangle(*p, other, at) < near).for_each(&mut stray);
            }
        }
    }

    /// Collects what is released from colliders.
    pub(super) fn release(&self, entanglement: &Entanglement, at: &[DVec3], released: &mut Released) {
        let ContactProperties { surfaces, thickness, .. } = &self.properties;
        released.clear();
        let chosen = self.held.inside.iter().chain(&self.pinched);
        chosen.for_each(|&[collider, point]| released.add_point(collider, point));
        for spot in &entanglement.spots {
            match spot.vertex() {
                Some(vertex) => released.add_point(spot.collider, vertex),
                None => released.add_triangle(spot.collider, spot.points),
            }
        }
        for &[own, other] in entanglement.crossings() {
            let [t, other] = [own, other].map(|t| surfaces.triangles[t as usize]);
            let Some(collider) = surfaces.collider(other[0]) else { continue };
            released.add_triangle(collider as u32, t);
            let near = HARDLY_CLEAR * thickness;
            for i in 0..3 {
                if vertex_to_triangle(t[i], other, at) < near {
                    released.add_point(collider as u32, t[i]);
                }
                let edge = [t[i], t[(i + 1) % 3]];
                if edge_to_triangle(edge, other, at) < near {
                    released.add_edge(collider as u32, edge);
                }
            }
        }
        released.complete(surfaces.body_triangles());
    }

    /// Finds the springs that pull everything out in a step of `dt` seconds, at the points' positions.
    pub(super) fn find_untangling_springs(&self, dt: f64, at: &[DVec3], springs: &mut Vec<UntanglingSpring>) {
        let ContactProperties { surfaces, stiffness, thickness, .. } = &self.properties;
        let farthest = PUSH_SPEED * dt;
        let Entanglement { spots, contours, .. } = &self.entanglement;
        for spot in spots.iter().filter(|spot| !spot.locked) {
            let ([a, b, c], [wa, wb, wc]) = (spot.points, spot.weights);
            let out = (spot.depth + self.obstacles.thickness(spot.collider as usize)).min(farthest);
            let here = combine(&spot.points, &spot.weights, at);
            let mean = spot.points.iter().map(|p| stiffness[*p as usize]).sum::<f64>() / 3.0;
            springs.push(UntanglingSpring {
                points: [a, b, c, a, a],
                weights: [wa, wb, wc, 0.0, 0.0],
                target: here + spot.carried + out * spot.normal,
                direction: spot.normal,
                stiffness: mean,
            });
        }
        for misplaced in &self.entanglement.islands.misplaced {
            let ([v, a, b, c], [wv, wa, wb, wc]) = (misplaced.points, misplaced.weights);
            let out = (misplaced.distance + thickness).min(farthest);
            let here = combine(&misplaced.points, &misplaced.weights, at);
            springs.push(UntanglingSpring {
                points: [v, a, b, c, v],
                weights: [wv, wa, wb, wc, 0.0],
                target: here + out * misplaced.direction,
                direction: misplaced.direction,
                stiffness: stiffness[v as usize],
            });
        }
        let out = thickness.min(farthest);
        for piercing in Tangle::piercings(contours, surfaces, at) {
            let of = piercing.points.map(|p| stiffness.get(p as usize).copied().unwrap_or(0.0));
            springs.push(UntanglingSpring {
                points: piercing.points,
                weights: piercing.weights,
                target: combine(&piercing.points, &piercing.weights, at) + out * piercing.direction,
                direction: piercing.direction,
                stiffness: of.iter().sum::<f64>() / 5.0,
            });
        }
    }

    /// Changes positions `to` so that what is inside or crosses is as far out as its spring would have it in this step, by the inverse masses
    /// of unknowns.
    pub(crate) fn pull_out(&self, inverse_mass: &[f64], to: &mut [DVec3]) {
        let points = &self.properties.points;
        let bodies = self.properties.surfaces.body_points();
        let mut weights = Vec::new();
        for spring in &self.untangling_springs {
            on_unknowns(points, &spring.points, &spring.weights, &mut weights);
            let give: f64 = weights.iter().map(|&(v, w)| w * w * inverse_mass[v as usize]).sum();
            let place = |p: u32| match (p as usize).checked_sub(bodies) {
                Some(driven) => self.driven[driven],
                None => points.position(p as usize, to),
            };
            let here: DVec3 = spring.points.iter().zip(spring.weights).map(|(p, w)| w * place(*p)).sum();
            let missing = spring.direction.dot(spring.target - here);
            if missing > 0.0 && give > 0.0 {
                let push = missing / give * spring.direction;
                weights.iter().for_each(|&(v, w)| to[v as usize] += w * inverse_mass[v as usize] * push);
            }
        }
    }

    /// Limits the speed, relative to the collider or surface, of every vertex that is inside or on the wrong side in a step of `dt` seconds.
    pub(super) fn find_speed_limits(&self, dt: f64, at: &[DVec3], limits: &mut Vec<SpeedLimit>) {
        let limit = |points: [u32; 4], weights: [f64; 4], carried: DVec3| SpeedLimit {
            points,
            weights,
            from: combine(&points, &weights, at) + carried,
            free: LIMITED_FROM * PUSH_SPEED * dt,
            onset: LIMIT_FORCE / LIMIT_STIFFNESS * PUSH_SPEED * dt,
            stiffness: LIMIT_STIFFNESS * self.properties.stiffness[points[0] as usize],
        };
        let vertices = self.entanglement.spots.iter().filter_map(|spot| Some((spot, spot.vertex()?)));
        limits.extend(vertices.map(|(spot, point)| limit([point; 4], [1.0, 0.0, 0.0, 0.0], spot.carried)));
        let misplaced = self.entanglement.islands.misplaced.iter();
        limits.extend(misplaced.map(|misplaced| limit(misplaced.points, misplaced.weights, DVec3::ZERO)));
    }

    /// For how many seconds a place was pulled out.
    fn pulled_for(&self, spot: &EnclosedSpot) -> f64 {
        let found = self.pulled.binary_search_by_key(&key(spot), |(key, _)| *key);
        found.map_or(0.0, |i| self.pulled[i].1)
    }

    /// Ends a step in which places were pulled out.
    pub(super) fn end_pulling(&mut self) {
        let mut pulled: Vec<([u32; 4], f64)> = Vec::with_capacity(self.entanglement.spots.len());
        let spots = &self.entanglement.spots;
        pulled.extend(spots.iter().map(|spot| (key(spot), self.pulled_for(spot) + self.step)));
        pulled.sort_unstable_by_key(|(key, _)| *key);
        self.pulled = pulled;
    }

    /// Saves how long places were pulled out.
    pub(super) fn save_pulling(&self, state: &mut StateWriter) {
        state.whole(self.pulled.len() as u64);
        let numbers = self.pulled.iter().flat_map(|([c, x, y, z], time)| {
            [f64::from(*c), f64::from(*x), f64::from(*y), f64::from(*z), *time]
        });
        state.numbers(&numbers.collect::<Vec<f64>>());
    }

    /// Restores it.
    pub(super) fn restore_pulling(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let count = state.whole()? as usize;
        let numbers = state.numbers(count.saturating_mul(5))?;
        let place = |&[c, x, y, z, time]: &[f64; 5]| ([c, x, y, z].map(|value| value as u32), time);
        self.pulled = numbers.as_chunks::<5>().0.iter().map(place).collect();
        Ok(())
    }

    /// Whether a vertex is inside a sphere, capsule or plane, at the points' positions.
    pub(super) fn is_any_in_solids(&self, at: &[DVec3]) -> bool {
        let ContactProperties { surfaces, stiffness, .. } = &self.properties;
        let points = || (0..surfaces.body_points()).filter(|&p| stiffness[p] > 0.0);
        let encloses = |(index, solid): &(u32, Solid)| {
            points().any(|p| {
                solid.to_vertex(at[p]).distance <= 0.0
                    && surfaces.touches_collider(surfaces.body(p as u32), *index as usize)
            })
        };
        self.solids.iter().any(encloses)
    }

    /// Takes the unknowns that are fixed in a step, and their positions at its end. Points on or inside a collider, now or then, are
    /// released from it with the faces at them. Follows [`Self::pose_colliders`].
    pub(crate) fn hold_points(&mut self, fixed: &[bool], x: &[DVec3], targets: &[DVec3]) {
        let ContactProperties { surfaces, points, stiffness, .. } = &self.properties;
        let mut held = std::mem::take(&mut self.held);
        held.list.clear();
        std::mem::swap(&mut held.before, &mut held.inside);
        held.inside.clear();
        if self.obstacles.len() > 0 && fixed.contains(&true) {
            let is_held = |p: usize| {
                let weights = points.weights(p);
                stiffness[p] > 0.0 && !weights.is_empty() && weights.iter().all(|(v, _)| fixed[*v as usize])
            };
            let all = (0..surfaces.body_points()).filter(|&p| is_held(p));
            held.list.extend(all.map(|p| (p as u32, points.position(p, targets))));
            self.find_held_inside(&mut held, x);
        }
        self.tangled |= held.before != held.inside;
        self.held = held;
    }

    fn find_held_inside(&mut self, held: &mut HeldPoints, x: &[DVec3]) {
        let mut found = std::mem::take(self.found_mut());
        let Detection { enclosing, to: end, .. } = &mut found;
        let ContactProperties { surfaces, points, .. } = &self.properties;
        self.obstacles.peek_end(&self.driven, end);
        let HeldPoints { list, inside, now, solids, .. } = held;
        now.clear();
        now.extend(list.iter().map(|&(p, _)| (p, points.position(p as usize, x))));
        for (places, driven, pose) in [(&*now, &self.driven, self.pose), (&*list, &*end, 1.0)] {
            let near = |index: usize| self.may_hold(index, places, driven);
            if !(0..self.obstacles.len()).any(near) {
                continue;
            }
            enclosing.pose(surfaces, &self.obstacles, driven);
            solids.clear();
            let solid = |index: usize| Some((index as u32, self.obstacles.solid(index, driven, pose)?));
            solids.extend((0..self.obstacles.len()).filter_map(solid));
            let (obstacles, meshes, solids) = (&self.obstacles, &*enclosing, &solids[..]);
            let enclosures = Enclosures { surfaces, obstacles, meshes, solids, driven, end: driven };
            for index in (0..self.obstacles.len()).filter(|&index| near(index)) {
                let near = ON_SURFACE * self.obstacles.thickness(index);
                let is_on = |place: DVec3| {
                    enclosures.exit(index, place, near).is_some_and(|exit| exit.distance <= near)
                };
                let meets = |p: u32| surfaces.touches_collider(surfaces.body(p), index);
                let on = places.iter().filter(|(p, place)| meets(*p) && is_on(*place));
                inside.extend(on.map(|(p, _)| [index as u32, *p]));
            }
        }
        inside.sort_unstable();
        inside.dedup();
        *self.found_mut() = found;
    }

    /// Whether one of some places may be on or inside a collider with these control points.
    fn may_hold(&self, index: usize, places: &[(u32, DVec3)], driven: &[DVec3]) -> bool {
        if self.solids.iter().any(|(solid, _)| *solid as usize == index) {
            return true;
        }
        let bounds = Aabb::of_points(&driven[self.obstacles.points_of(index)]);
        let near = ON_SURFACE * self.obstacles.thickness(index);
        places.iter().any(|(_, place)| bounds.distance_squared(*place) <= near * near)
    }
}

/// Collider and points of a place.
fn key(spot: &EnclosedSpot) -> [u32; 4] {
    let [a, b, c] = spot.points;
    [spot.collider, a, b, c]
}

fn vertex_to_triangle(p: u32, [a, b, c]: [u32; 3], at: &[DVec3]) -> f64 {
    PrimitivePair::VertexTriangle.distance(&[p, a, b, c].map(|p| at[p as usize]))
}

/// The distance of an edge from a triangle, which is zero if it passes through.
fn edge_to_triangle([p, q]: [u32; 2], t: [u32; 3], at: &[DVec3]) -> f64 {
    let ends = [p, q].map(|p| vertex_to_triangle(p, t, at));
    let sides = [0, 1, 2]
        .map(|i| PrimitivePair::EdgeEdge.distance(&[p, q, t[i], t[(i + 1) % 3]].map(|p| at[p as usize])));
    let mut least = ends.into_iter().chain(sides).fold(f64::INFINITY, f64::min);
    let [a, b, c] = t.map(|p| at[p as usize]);
    let normal = (b - a).cross(c - a);
    let [from, to] = [p, q].map(|p| at[p as usize]);
    let [below, above] = [from, to].map(|p| normal.dot(p - a));
    if below * above < 0.0 {
        let place = from.lerp(to, below / (below - above));
        let gap = supple_mesh::geometry::triangle::closest_point(&[a, b, c], place).point.distance(place);
        least = least.min(gap);
    }
    least
}
