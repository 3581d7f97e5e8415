//! Which surface vertices are inside another part of their body, or inside another body, at some positions: an independent test by
//! winding numbers that shares nothing with the detection that keeps parts apart.
//!
//! Just outside a vertex the winding number of a closed surface is 0; it is 1 or more where another part encloses it.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::body::{Body, Elements};
use crate::contact::surfaces::Surfaces;
use supple_mesh::geometry::{TriangleTree, WindingNumber};

/// How far outside a vertex the winding number is evaluated, over the length of its edges or the thickness of surfaces: nearer than
/// contact lets anything else come.
const OUTSIDE: f64 = 1e-3;
/// Vertices processed by one task.
const CHUNK: usize = 256;

/// The closed surfaces of a scene state's solids.
#[derive(Debug)]
pub struct InsideCheck {
    bodies: Vec<ClosedBody>,
    /// For each of them all it may touch, one row after the other.
    touch: Vec<bool>,
    thickness: f64,
}

#[derive(Debug)]
struct ClosedBody {
    /// Its points among those of all bodies.
    first: usize,
    points: usize,
    triangles: Vec<[u32; 3]>,
}

impl InsideCheck {
    /// Of all solids among some bodies, with the surfaces of these; cloth has no inside.
    pub fn new(all: &[Body], surfaces: &Surfaces, thickness: f64) -> Self {
        let (mut bodies, mut numbers, mut first) = (Vec::new(), Vec::new(), 0);
        for (number, body) in (0..).zip(all) {
            let points = body.embedding.len();
            if !matches!(body.elements, Elements::Triangles(_)) {
                let own = |p: u32| surfaces.stands_for[first + p as usize] - first as u32;
                let triangles = body.surface_triangles.iter().map(|t| t.map(own)).collect();
                bodies.push(ClosedBody { first, points, triangles });
                numbers.push(number);
            }
            first += points;
        }
        let pairs = numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| [a, b]));
        let touch = pairs.map(|pair| surfaces.bodies_touch(pair)).collect();
        Self { bodies, touch, thickness }
    }

    /// The points inside a part that they may touch, with all points at the positions `at`.
    pub fn find(&self, at: &[DVec3]) -> Vec<u32> {
        let winding = |body: &ClosedBody| {
            let own = &at[body.first..body.first + body.points];
            WindingNumber::new(TriangleTree::new(own, body.triangles.clone()))
        };
        let around: Vec<WindingNumber> = self.bodies.iter().map(winding).collect();
        let mut found = Vec::new();
        for (b, body) in self.bodies.iter().enumerate() {
            let queries = body.just_outside(at, self.thickness);
            let counts = |other: usize| self.touch[b * self.bodies.len() + other];
            let inside = queries.par_iter().with_min_len(CHUNK).map(|query| {
                let Some(query) = query else { return false };
                let total = |other: usize| if counts(other) { around[other].at(*query) } else { 0.0 };
                (0..around.len()).map(total).sum::<f64>() > 0.5
            });
            let inside: Vec<bool> = inside.collect();
            let points = (body.first as u32..).zip(inside).filter(|(_, inside)| *inside);
            found.extend(points.map(|(point, _)| point));
        }
        found
    }
}

impl ClosedBody {
    /// A position just outside each point that belongs to a triangle.
    fn just_outside(&self, at: &[DVec3], thickness: f64) -> Vec<Option<DVec3>> {
        let mut normals = vec![(DVec3::ZERO, 0u32); self.points];
        let place = |p: u32| at[self.first + p as usize];
        for corners in &self.triangles {
            let [a, b, c] = corners.map(place);
            for &corner in corners {
                let (normal, count) = &mut normals[corner as usize];
                *normal += (b - a).cross(c - a);
                *count += 1;
            }
        }
        let outside = |(p, &(normal, count)): (usize, &(DVec3, u32))| {
            let length = (normal.length() / f64::from(count.max(1))).sqrt();
            (length > 0.0).then(|| place(p as u32) + OUTSIDE * length.min(thickness) * normal.normalize())
        };
        normals.iter().enumerate().map(outside).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supple_mesh::test_support::sphere;

    fn check_of(pieces: &[(Vec<DVec3>, Vec<[u32; 3]>)], touches_itself: bool) -> (InsideCheck, Vec<DVec3>) {
        let (mut at, mut bodies) = (Vec::new(), Vec::new());
        for (positions, triangles) in pieces {
            let (first, points) = (at.len(), positions.len());
            bodies.push(ClosedBody { first, points, triangles: triangles.clone() });
            at.extend(positions);
        }
        let count = pieces.len();
        let touch = (0..count * count).map(|i| touches_itself || i / count != i % count).collect();
        (InsideCheck { bodies, touch, thickness: 1e-3 }, at)
    }

    #[test]
    fn points_of_a_ball_are_inside_another_ball_by_their_distance() {
        let (positions, triangles) = sphere(24, 1.0);
        let centre = DVec3::new(1.2, 0.3, -0.1);
        let moved = positions.iter().map(|p| *p + centre).collect();
        let (check, at) = check_of(&[(positions.clone(), triangles.clone()), (moved, triangles)], true);
        let found = check.find(&at);
        let count = positions.len();
        let (mut inside, mut unclear) = (0, 0);
        for (p, place) in at.iter().enumerate() {
            let distance = place.distance(if p < count { centre } else { DVec3::ZERO });
            // Flat triangles are inside the ball by up to this.
            if (distance - 1.0).abs() < 0.01 {
                unclear += 1;
                continue;
            }
            inside += u32::from(distance < 1.0);
            assert_eq!(found.contains(&(p as u32)), distance < 1.0, "{p}");
        }
        assert!(inside > 100 && unclear < 40);
    }

    #[test]
    fn a_surface_that_bends_without_touching_itself_has_nothing_inside() {
        let (mut positions, triangles) = sphere(24, 1.0);
        // A bean: its middle is pressed in.
        positions.iter_mut().for_each(|p| p.x += 0.8 * p.z * p.z);
        let (check, at) = check_of(&[(positions, triangles)], true);
        assert_eq!(check.find(&at), Vec::<u32>::new());
    }
}
