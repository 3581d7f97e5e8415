//! What is inside colliders, and the way out.
//!
//! A closed mesh or box encloses a point if its winding number there is nonzero, a sphere, capsule or plane if the distance is not
//! positive. The way out is the shortest one. A triangle may be crossed though none of its vertices is inside: then the mean of the places
//! where it and the collider pierce each other is taken for it.
//!
//! Where a limb pierces a cloth, the shortest ways out of neighbouring vertices lead to opposite sides. To follow them would tear the cloth
//! open around the limb without freeing it. Such places are *locked* ([`EnclosedSpot::locked`]): they stay as they are, and are named.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::contact::collider::obstacles::{Obstacles, Solid};
use crate::contact::collider::signed_mesh::SignedMesh;
use crate::contact::intersection::tangle::piercing_weights;
use crate::contact::surfaces::Surfaces;
use supple_core::parallel::CHUNK;

/// A vertex or a place in a triangle of a body that is inside a collider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EnclosedSpot {
    /// The collider's number.
    pub collider: u32,
    /// A vertex, three times, or the corners of a triangle.
    pub points: [u32; 3],
    /// Their weights.
    pub weights: [f64; 3],
    /// How deep it is inside, in metres.
    pub depth: f64,
    /// Unit vector along the way out.
    pub normal: DVec3,
    /// How far the collider's nearest point moves in the step, in metres.
    pub carried: DVec3,
    /// Whether no way out is consistent with that of its surroundings.
    pub locked: bool,
}

impl EnclosedSpot {
    /// The vertex that is inside, if it is one.
    pub(crate) fn vertex(&self) -> Option<u32> {
        (self.points[0] == self.points[1]).then_some(self.points[0])
    }
}

/// The nearest point of a collider's surface to a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exit {
    /// Negative inside, in metres.
    pub(crate) distance: f64,
    /// Away from the collider.
    pub(crate) normal: DVec3,
    /// How far the nearest point moves in the step.
    pub(crate) carried: DVec3,
}

/// The colliders that are meshes or boxes, where they were last.
#[derive(Debug, Default)]
pub(crate) struct EnclosingMeshes {
    list: Vec<Option<EnclosingMesh>>,
}

#[derive(Debug)]
struct EnclosingMesh {
    at: Vec<DVec3>,
    mesh: SignedMesh,
}

impl EnclosingMeshes {
    /// Moves all meshes to the control points `at`.
    pub(crate) fn pose(&mut self, surfaces: &Surfaces, obstacles: &Obstacles, at: &[DVec3]) {
        if self.list.len() != obstacles.len() {
            self.list =
                (0..obstacles.len()).map(|index| EnclosingMesh::of(index, surfaces, obstacles, at)).collect();
        }
        for (index, enclosing) in self.list.iter_mut().enumerate() {
            let (Some(enclosing), own) = (enclosing, &at[obstacles.points_of(index)]) else { continue };
            if enclosing.at != own {
                enclosing.at.copy_from_slice(own);
                enclosing.mesh.refit(own);
            }
        }
    }

    fn get(&self, index: usize) -> Option<&SignedMesh> {
        Some(&self.list.get(index)?.as_ref()?.mesh)
    }
}

impl EnclosingMesh {
    fn of(index: usize, surfaces: &Surfaces, obstacles: &Obstacles, at: &[DVec3]) -> Option<Self> {
        let points = obstacles.points_of(index);
        let first = (surfaces.body_points() + points.start) as u32;
        let own = surfaces.driven_triangles().iter().filter(|t| surfaces.collider(t[0]) == Some(index));
        let triangles: Vec<[u32; 3]> = own.map(|t| t.map(|p| p - first)).collect();
        let at = at[points].to_vec();
        (!triangles.is_empty()).then(|| Self { mesh: SignedMesh::new(&at, triangles), at })
    }
}

/// All colliders at one time.
pub(crate) struct Enclosures<'a> {
    pub(crate) surfaces: &'a Surfaces,
    pub(crate) obstacles: &'a Obstacles,
    pub(crate) meshes: &'a EnclosingMeshes,
    pub(crate) solids: &'a [(u32, Solid)],
    /// The control points, and where they are at the step's end.
    pub(crate) driven: &'a [DVec3],
    pub(crate) end: &'a [DVec3],
}

impl Enclosures<'_> {
    /// Whether a collider has an inside.
    pub(crate) fn is_closed(&self, collider: usize) -> bool {
        self.meshes.get(collider).is_none_or(|mesh| !mesh.is_open())
    }

    /// The nearest point of a collider, if it may be nearer than `within` metres to a point outside. Open meshes have no inside.
    pub(crate) fn exit(&self, collider: usize, point: DVec3, within: f64) -> Option<Exit> {
        if let Some((_, solid)) = self.solids.iter().find(|(index, _)| *index as usize == collider) {
            let found = solid.to_vertex(point);
            let nearest = point - found.distance * found.normal;
            let carried = self.obstacles.carry(collider, nearest, 1.0) - nearest;
            return Some(Exit { distance: found.distance, normal: found.normal, carried });
        }
        let mesh = self.meshes.get(collider)?;
        if mesh.bounds().distance_squared(point) > within * within {
            return None;
        }
        let (closest, found) = mesh.nearest(point)?;
        let first = self.obstacles.points_of(collider).start;
        let corners = mesh.triangles()[closest.triangle as usize];
        let moved = |v: u32| self.end[first + v as usize] - self.driven[first + v as usize];
        let carried = corners.iter().zip(closest.barycentric).map(|(&v, w)| w * moved(v)).sum();
        Some(Exit { distance: found.distance, normal: found.normal, carried })
    }

    /// Everything of bodies that is inside colliders, by collider, and of `crossings` those for which no way out was found. `meets` tells
    /// which points take part in contact; the points of `held`, each after its collider, stay inside.
    pub(crate) fn find(
        &self,
        at: &[DVec3],
        crossings: &[[u32; 2]],
        held: &[[u32; 2]],
        meets: impl Fn(u32) -> bool + Sync,
    ) -> (Vec<EnclosedSpot>, Vec<[u32; 2]>) {
        let (mut spots, mut open) = (Vec::new(), Vec::new());
        for collider in 0..self.obstacles.len() {
            let first = spots.len();
            if self.is_closed(collider) {
                self.find_vertices(collider, at, &meets, &mut spots);
                self.lock_pierced(&mut spots[first..], at);
            }
            let inside = spots[first..].iter().map(|spot| spot.points[0]);
            let pinned = held.iter().filter(|held| held[0] as usize == collider).map(|held| held[1]);
            let mut vertices: Vec<u32> = inside.chain(pinned).collect();
            vertices.sort_unstable();
            self.find_in_solid(collider, at, &vertices, &mut spots);
            self.find_in_crossings(collider, at, (crossings, &vertices), &mut spots, &mut open);
        }
        (spots, open)
    }

    /// Whether the body of a point may touch a collider.
    fn touches(&self, point: u32, collider: usize) -> bool {
        self.surfaces.touches_collider(self.surfaces.body(point), collider)
    }

    fn find_vertices(
        &self,
        collider: usize,
        at: &[DVec3],
        meets: &(impl Fn(u32) -> bool + Sync),
        spots: &mut Vec<EnclosedSpot>,
    ) {
        let inside = |p: u32| {
            let exit = if meets(p) && self.touches(p, collider) {
                self.exit(collider, at[p as usize], 0.0)?
            } else {
                return None;
            };
            (exit.distance <= 0.0).then(|| spot(collider, [p; 3], [1.0, 0.0, 0.0], exit))
        };
        let bodies = self.surfaces.body_points() as u32;
        let found: Vec<EnclosedSpot> =
            (0..bodies).into_par_iter().with_min_len(CHUNK).filter_map(inside).collect();
        spots.extend(found);
    }

    /// Triangles that reach into a sphere or capsule between their vertices.
    fn find_in_solid(&self, collider: usize, at: &[DVec3], vertices: &[u32], spots: &mut Vec<EnclosedSpot>) {
        let Some(&(_, solid)) = self.solids.iter().find(|(index, _)| *index as usize == collider) else {
            return;
        };
        if matches!(solid, Solid::HalfSpace { .. }) {
            return;
        }
        for &t in self.surfaces.body_triangles() {
            if !self.touches(t[0], collider) {
                continue;
            }
            let corners = t.map(|p| at[p as usize]);
            let Some(found) = solid.to_triangle_if_near(&corners, 0.0) else { continue };
            if found.distance <= 0.0 && !t.iter().any(|p| vertices.binary_search(p).is_ok()) {
                let place: DVec3 = corners.iter().zip(found.weights).map(|(p, w)| w * *p).sum();
                let carried = self.obstacles.carry(collider, place, 1.0) - place;
                let exit = Exit { distance: found.distance, normal: found.normal, carried };
                let mut spot = spot(collider, t, found.weights, exit);
                spot.locked = lies_across(&corners, spot.normal);
                spots.push(spot);
            }
        }
    }

    /// Triangles that a mesh crosses between their vertices.
    fn find_in_crossings(
        &self,
        collider: usize,
        at: &[DVec3],
        (crossings, vertices): (&[[u32; 2]], &[u32]),
        spots: &mut Vec<EnclosedSpot>,
        open: &mut Vec<[u32; 2]>,
    ) {
        let triangles = &self.surfaces.triangles;
        let is_own =
            |pair: &&[u32; 2]| self.surfaces.collider(triangles[pair[1] as usize][0]) == Some(collider);
        let own: Vec<[u32; 2]> = crossings.iter().filter(is_own).copied().collect();
        for same in own.chunk_by(|a, b| a[0] == b[0]) {
            let t = triangles[same[0][0] as usize];
            if t.iter().any(|p| vertices.binary_search(p).is_ok()) {
                continue;
            }
            match self.is_closed(collider).then(|| self.crossed_spot(collider, t, same, at)).flatten() {
                Some(spot) => spots.push(spot),
                None => open.extend_from_slice(same),
            }
        }
    }

    /// The mean of the places where a triangle and a collider pierce each other, if that is inside.
    fn crossed_spot(
        &self,
        collider: usize,
        t: [u32; 3],
        pairs: &[[u32; 2]],
        at: &[DVec3],
    ) -> Option<EnclosedSpot> {
        let (mut weights, mut count) = ([0.0; 3], 0.0);
        for pair in pairs {
            piercing_weights(t, self.surfaces.triangles[pair[1] as usize], at, |place| {
                (0..3).for_each(|i| weights[i] += place[i]);
                count += 1.0;
            });
        }
        let weights = weights.map(|w| w / count);
        let corners = t.map(|p| at[p as usize]);
        let place: DVec3 = corners.iter().zip(weights).map(|(p, w)| w * *p).sum();
        let exit = if count > 0.0 { self.exit(collider, place, 0.0)? } else { return None };
        let mut spot = spot(collider, t, weights, exit);
        spot.locked = lies_across(&corners, spot.normal);
        (exit.distance <= 0.0).then_some(spot)
    }

    /// Locks the vertices of one collider around which ways out lead to opposite sides.
    fn lock_pierced(&self, spots: &mut [EnclosedSpot], at: &[DVec3]) {
        let index = |p: u32| spots.binary_search_by_key(&p, |spot| spot.points[0]).ok();
        let mut edges: Vec<[usize; 2]> = Vec::new();
        for t in self.surfaces.body_triangles() {
            let own = t.map(index);
            for i in 0..3 {
                if let (Some(a), Some(b)) = (own[i], own[(i + 1) % 3]) {
                    edges.push([a.min(b), a.max(b)]);
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let place = |i: usize| at[spots[i].points[0] as usize];
        let exit = |i: usize| place(i) + spots[i].depth * spots[i].normal;
        let is_torn = |&[a, b]: &[usize; 2]| {
            let apart = exit(a).distance(exit(b)) > TEARING * place(a).distance(place(b));
            apart && spots[a].normal.dot(spots[b].normal) < 0.0
        };
        let mut torn: Vec<usize> = edges.iter().filter(|edge| is_torn(edge)).flatten().copied().collect();
        torn.sort_unstable();
        torn.dedup();
        if torn.is_empty() {
            return;
        }
        let places: Vec<DVec3> = spots.iter().map(|spot| at[spot.points[0] as usize]).collect();
        // How far a vertex is from a torn edge, relative to the depth there.
        let around = |s: usize, i: usize| {
            let range = AROUND_TEAR * spots[s].depth;
            (range > 0.0).then(|| places[s].distance(places[i]) / range).filter(|off| *off <= 1.0)
        };
        let mean = |&s: &usize| {
            let near = (0..spots.len()).filter(|&i| around(s, i).is_some());
            let (sum, count) = near.fold((DVec3::ZERO, 0.0), |(sum, n), i| (sum + spots[i].normal, n + 1.0));
            sum / f64::max(count, 1.0)
        };
        let means: Vec<DVec3> = torn.par_iter().map(mean).collect();
        let decide = |i: usize| {
            let near = torn.iter().zip(&means).filter_map(|(&s, mean)| Some((around(s, i)?, *mean)));
            near.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, mean)| mean)
        };
        let decided: Vec<Option<DVec3>> = (0..spots.len()).into_par_iter().map(decide).collect();
        for (spot, mean) in spots.iter_mut().zip(decided) {
            let Some(mean) = mean else { continue };
            if mean.length() < COHERENT {
                spot.locked = true;
            } else if spot.normal.dot(mean.normalize()) < FOLLOWS {
                spot.normal = mean.normalize();
            }
        }
    }
}

/// How much farther apart the exits of neighbours must be than they themselves for a way out to be torn.
const TEARING: f64 = 2.0;
/// How far around a torn edge ways out are in doubt, over the depth there, which is the radius of the limb.
const AROUND_TEAR: f64 = 1.25;
/// The length of the mean of ways out, as unit vectors, from which on they lead to one side: that of a wedge is the sine of half its
/// angle, that of a limb zero.
const COHERENT: f64 = 0.5;
/// The cosine of the angle to that mean above which a way out is followed as it is.
const FOLLOWS: f64 = 0.5;
/// The cosine of the angle to a triangle's normal below which a way out leads along the triangle.
const ACROSS: f64 = 0.5;

fn spot(collider: usize, points: [u32; 3], weights: [f64; 3], exit: Exit) -> EnclosedSpot {
    let Exit { distance, normal, carried } = exit;
    EnclosedSpot {
        collider: collider as u32,
        points,
        weights,
        depth: -distance,
        normal,
        carried,
        locked: false,
    }
}

/// Whether the way out leads along a triangle: something passes through it.
fn lies_across([a, b, c]: &[DVec3; 3], normal: DVec3) -> bool {
    (*b - *a).cross(*c - *a).normalize_or_zero().dot(normal).abs() < ACROSS
}

/// Items that are joined into connected parts.
#[derive(Debug)]
pub(crate) struct Parts(Vec<usize>);

impl Parts {
    /// Each item by itself.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The first item of the part of an item.
    pub(crate) fn root(&mut self, mut item: usize) -> usize {
        while self.0[item] != item {
            self.0[item] = self.0[self.0[item]];
            item = self.0[item];
        }
        item
    }

    /// Joins the parts of two items.
    pub(crate) fn join(&mut self, items: [usize; 2]) {
        let [a, b] = items.map(|item| self.root(item));
        self.0[a.max(b)] = a.min(b);
    }

    /// The items of every part, in order; the first one is its root.
    pub(crate) fn members(&mut self) -> Vec<Vec<usize>> {
        let mut all: Vec<(usize, usize)> = (0..self.0.len()).map(|item| (self.root(item), item)).collect();
        all.sort_unstable();
        all.chunk_by(|a, b| a.0 == b.0).map(|same| same.iter().map(|(_, item)| *item).collect()).collect()
    }
}
