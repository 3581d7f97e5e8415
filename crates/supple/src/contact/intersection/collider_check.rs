//! What of bodies crosses hard colliders or is inside of them at some positions, the test of `supple check DIR`. Like that of bodies with
//! each other it shares nothing with the detection that keeps them apart: exact orientation determinants, winding numbers and distances.

use glam::DVec3;

use crate::contact::collider::obstacles::{Obstacles, Solid};
use crate::contact::intersection::enclosure::{EnclosingMeshes, Enclosures};
use crate::contact::surfaces::{Surfaces, corners};
use crate::contact::{ColliderMeshes, Released};
use crate::scene::Collider;
use supple_core::Error;
use supple_mesh::geometry::triangle_overlap::triangles_overlap;
use supple_mesh::geometry::{Aabb, Bvh};

/// Depths, over the largest coordinate, that are rounding: frames are stored in single precision.
const ROUNDING: f64 = 2.0 * f32::EPSILON as f64;

/// The bodies and hard colliders of a scene.
#[derive(Debug)]
pub struct ColliderCheck {
    surfaces: Surfaces,
    obstacles: Obstacles,
    meshes: EnclosingMeshes,
    driven: Vec<DVec3>,
}

/// What of a body crosses or is inside a collider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColliderCrossing {
    /// The number of the body.
    pub body: u32,
    /// The collider's name.
    pub collider: String,
    /// Triangles of the body that cross the collider.
    pub triangles: Vec<[u32; 3]>,
    /// Vertices of the body that are inside.
    pub inside: Vec<u32>,
}

impl ColliderCheck {
    /// Of the surfaces of all bodies, and colliders whose meshes were loaded.
    pub fn new<'a>(
        surfaces: Surfaces,
        colliders: impl Iterator<Item = &'a Collider> + Clone,
        meshes: &ColliderMeshes,
    ) -> Result<Self, Error> {
        let (obstacles, driven) = (Obstacles::default(), Vec::new());
        let mut check = Self { surfaces, obstacles, meshes: EnclosingMeshes::default(), driven };
        check.obstacles.update(colliders, meshes)?;
        check.pose(0.0)?;
        check.obstacles.add_to(&mut check.surfaces, &check.driven);
        Ok(check)
    }

    /// The number of hard colliders.
    pub fn colliders(&self) -> usize {
        self.obstacles.len()
    }

    /// Whether a body meets a hard collider, by their numbers.
    pub fn meets(&self, body: u32, collider: usize) -> bool {
        self.surfaces.touches_collider(body, collider)
    }

    /// The name of a hard collider.
    pub fn name(&self, collider: usize) -> &str {
        self.obstacles.name(collider)
    }

    /// Everything that crosses or is inside colliders at a time in seconds, with the points of bodies at `at`, except for what is released,
    /// points by the collider's name.
    pub fn find(
        &mut self,
        at: &[DVec3],
        time: f64,
        released: &[(String, Vec<u32>)],
    ) -> Result<Vec<ColliderCrossing>, Error> {
        if self.obstacles.len() == 0 {
            return Ok(Vec::new());
        }
        self.pose(time)?;
        let all: Vec<DVec3> = at.iter().chain(&self.driven).copied().collect();
        let released = self.released(released);
        let mut found = Vec::new();
        self.find_crossing(&all, &released, &mut found);
        self.find_inside(&all, &released, &mut found);
        Ok(self.summed(found))
    }

    fn pose(&mut self, time: f64) -> Result<(), Error> {
        self.obstacles.begin([time; 2])?;
        self.obstacles.place(0.0, &mut self.driven)
    }

    fn released(&self, released: &[(String, Vec<u32>)]) -> Released {
        let mut list = Released::default();
        for (name, points) in released {
            let collider = (0..self.obstacles.len()).find(|&index| self.obstacles.name(index) == name);
            let points = points.iter().filter_map(|p| Some((collider? as u32, *p)));
            points.for_each(|(collider, p)| list.add_point(collider, self.surfaces.stands_for[p as usize]));
        }
        list.complete(self.surfaces.body_triangles());
        list
    }

    /// Pairs of triangles of bodies and of mesh colliders and boxes.
    fn find_crossing(&self, at: &[DVec3], released: &Released, found: &mut Vec<(u32, usize, Part)>) {
        let surfaces = &self.surfaces;
        let of_bodies = surfaces.body_triangles().len() as u32;
        if surfaces.driven_triangles().is_empty() {
            return;
        }
        let boxes: Vec<Aabb> = surfaces.triangles.iter().map(|t| Aabb::of_points(&corners(*t, at))).collect();
        let pairs = Bvh::build(&boxes).overlapping_pairs(|a, b| {
            let [first, second] = [a, b].map(|t| surfaces.triangles[t as usize]);
            (a < of_bodies) != (b < of_bodies)
                && surfaces.may_touch(a, b)
                && triangles_overlap(at, first, second)
        });
        for [a, b] in pairs {
            let [own, other] = [a.min(b), a.max(b)].map(|t| surfaces.triangles[t as usize]);
            let Some(collider) = surfaces.collider(other[0]) else { continue };
            if !released.has_triangle(collider as u32, own) {
                found.push((surfaces.body(own[0]), collider, Part::Triangle(own)));
            }
        }
    }

    /// Vertices inside closed colliders, and triangles that enter spheres and capsules.
    fn find_inside(&mut self, at: &[DVec3], released: &Released, found: &mut Vec<(u32, usize, Part)>) {
        let Self { surfaces, obstacles, meshes, driven } = self;
        meshes.pose(surfaces, obstacles, driven);
        let solid = |index: usize| Some((index as u32, obstacles.solid(index, driven, 0.0)?));
        let solids: Vec<(u32, Solid)> = (0..obstacles.len()).filter_map(solid).collect();
        let enclosures = Enclosures { surfaces, obstacles, meshes, solids: &solids, driven, end: driven };
        let largest = at.iter().map(|p| p.abs().max_element()).fold(0.0, f64::max);
        let mut in_surface = vec![false; surfaces.body_points()];
        surfaces.body_triangles().iter().flatten().for_each(|p| in_surface[*p as usize] = true);
        for collider in 0..obstacles.len() {
            let depth = -ROUNDING * largest;
            let is_inside = |p: u32| {
                in_surface[p as usize]
                    && surfaces.touches_collider(surfaces.body(p), collider)
                    && !released.has_point(collider as u32, p)
                    && enclosures
                        .exit(collider, at[p as usize], 0.0)
                        .is_some_and(|exit| exit.distance < depth)
            };
            if enclosures.is_closed(collider) {
                let inside = (0..surfaces.body_points() as u32).filter(|p| is_inside(*p));
                found.extend(inside.map(|p| (surfaces.body(p), collider, Part::Vertex(p))));
            }
            let Some((_, solid)) = solids.iter().find(|(index, _)| *index as usize == collider) else {
                continue;
            };
            let enters = |t: &&[u32; 3]| {
                let near = solid.to_triangle_if_near(&corners(**t, at), 0.0);
                near.is_some_and(|near| near.distance < depth)
                    && surfaces.touches_collider(surfaces.body(t[0]), collider)
                    && !released.has_triangle(collider as u32, **t)
            };
            if matches!(solid, Solid::Round { .. }) {
                let entering = surfaces.body_triangles().iter().filter(enters);
                found.extend(entering.map(|t| (surfaces.body(t[0]), collider, Part::Triangle(*t))));
            }
        }
    }

    /// What was found, by body and collider.
    fn summed(&self, mut found: Vec<(u32, usize, Part)>) -> Vec<ColliderCrossing> {
        found.sort_unstable();
        found.dedup();
        let sum = |same: &[(u32, usize, Part)]| {
            let (body, collider, _) = same[0];
            let triangle = |part: &(u32, usize, Part)| match part.2 {
                Part::Triangle(t) => Some(t),
                Part::Vertex(_) => None,
            };
            let vertex = |part: &(u32, usize, Part)| match part.2 {
                Part::Vertex(p) => Some(p),
                Part::Triangle(_) => None,
            };
            ColliderCrossing {
                body,
                collider: self.obstacles.name(collider).to_owned(),
                triangles: same.iter().filter_map(triangle).collect(),
                inside: same.iter().filter_map(vertex).collect(),
            }
        };
        found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).map(sum).collect()
    }
}

/// A part of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Vertex(u32),
    Triangle([u32; 3]),
}
