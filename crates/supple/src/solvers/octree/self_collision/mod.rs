//! Self-collision by intersection (Milne 2016, section 8): penetrations are pushed back, and imminent ones are repelled.
//!
//! Every vertex `p₁` inside another part (`intersection_curves`) casts rays along its normal, inwards and outwards, to the
//! nearest point at which it would leave the part that it has crossed. The point on the triangle that was hit is mapped
//! to the undeformed mesh, and there to the octant around it: `p₂` follows that octant's shape functions, as everything else
//! of the body does. With `u = x_{p2} - x_{p1}` and the normal `n = u/|u|`, both from the time when the pair was found, a spring
//! has
//!
//! ```text
//! E = k/2 max(0, n·u + r)² + m f(|s|),      s = (1 - n nᵀ)(u - u₀),
//! ```
//!
//! a normal part that pulls the vertex out and a little further, by `r`, and a tangential part, friction (`energy::friction`) up to
//! `m`, the coefficient times the normal force at the start of the step. Both act on every level of the hierarchy.
//!
//! Differences from the paper:
//! - Vertices outside, with another part in front of them within the thickness, have the same spring, with `n` reversed. Without it
//!   parts at rest on each other would cross, be pushed out, and cross again.
//! - A step is checked for intersections at its end, and continued with those found.
//! - A vertex whose rays hit nothing that it has crossed is pulled to the nearest point of that part.
//!
//! The springs depend on the start of a step and on the intersections at its end, not on earlier steps, so they are not
//! saved.

pub(crate) mod intersection_curves;

use std::sync::Arc;

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::body::{Body, Elements, Embedding};
use crate::contact::Surfaces;
use crate::contact::barrier::ContactSummary;
use crate::contact::friction::Friction;
use crate::energy::outer;
use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;
use crate::scene::FrictionModel;
use crate::scene_state::SceneState;
use crate::solvers::octree::self_collision::intersection_curves::{Curves, Fans, Regions};
use supple_core::parallel;
use supple_mesh::geometry::triangle::{self, Ray};
use supple_mesh::geometry::{Aabb, Bvh};
use supple_mesh::octree::Filled;

/// How much stiffer a spring is than the octants at its vertex: their share of a depth is one over this.
const STIFFER: f64 = 10.0;
/// How near points of one body may come before they are repelled, over their distance at rest.
const REST_PART: f64 = 0.5;
/// Depths, over the thickness, below which the exit has no direction of its own.
const FLAT: f64 = 1e-3;
/// Vertices processed by one task.
const CHUNK: usize = 256;

/// Springs between penetrating or nearly touching parts.
#[derive(Debug, Default)]
pub(crate) struct SelfCollision {
    surfaces: Surfaces,
    fans: Fans,
    /// All surface points as combinations of the unknowns.
    points: Arc<Embedding>,
    /// For each body its octants, and the first of its unknowns.
    bodies: Vec<(Arc<Filled>, u32)>,
    /// Stiffness of each point in N/m.
    stiffness: Vec<f64>,
    /// Friction coefficient of each point.
    friction: Vec<f64>,
    thickness: f64,
    law: Friction,
    /// Sorted by their vertices, at most one per vertex.
    springs: Vec<CollisionSpring>,
    /// Cached data of the surface at some positions.
    seen: Seen,
}

/// The surface at the last evaluation.
#[derive(Debug, Default)]
struct Seen {
    at: Vec<DVec3>,
    hierarchy: Bvh,
    normals: Vec<DVec3>,
    crossings: u32,
    regions: Regions,
}

/// A spring on `u = Σ w x`.
#[derive(Debug, Clone, PartialEq)]
struct CollisionSpring {
    vertex: u32,
    /// `p₂` minus `p₁`.
    weights: Vec<(u32, f64)>,
    /// `n`, the exit direction.
    normal: DVec3,
    /// `r` in metres.
    reach: f64,
    stiffness: f64,
    /// `u₀`.
    anchor: DVec3,
    friction: f64,
    /// `m` in newtons.
    friction_limit: f64,
}

/// Where a vertex is pulled to, or repelled from.
#[derive(Debug, Clone, Copy)]
struct Target {
    triangle: u32,
    barycentric: [f64; 3],
    is_inside: bool,
}

impl SelfCollision {
    /// For the bodies of a scene state, all of which consist of octants.
    pub(crate) fn new(scene_state: &SceneState, points: &Arc<Embedding>, friction: &[f64]) -> Self {
        let surfaces = scene_state.surfaces();
        let (mut bodies, mut stiffness, mut first) = (Vec::new(), Vec::new(), 0);
        for body in &scene_state.bodies {
            let Elements::Octants(filled) = &body.elements else { continue };
            bodies.push((filled.clone(), first));
            first += body.mass.len() as u32;
            stiffness.extend(stiffnesses(body, filled, scene_state.contact.stiffness));
        }
        let thickness = scene_state.contact.thickness();
        let (points, friction) = (points.clone(), friction.to_vec());
        let fans = Fans::new(&surfaces.triangles, surfaces.start.len());
        Self { surfaces, fans, points, bodies, stiffness, friction, thickness, ..Self::default() }
    }

    /// Starts a step of `dt` seconds from `x`.
    pub(crate) fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        self.law = Friction::over(FrictionModel::Smooth, dt, self.thickness);
        self.update_intersections(x);
        let all: Vec<u32> = (0..self.surfaces.start.len() as u32).collect();
        self.springs = self.springs_of(&all, x);
        for spring in &mut self.springs {
            let depth = spring.normal.dot(spring.anchor) + spring.reach;
            // Deeper penetrations press no harder: they are pulled out.
            let force = spring.stiffness * depth.clamp(0.0, spring.reach);
            spring.friction_limit = spring.friction * force;
        }
    }

    /// Detects intersections at `x`, where a step would end; returns whether there are any.
    pub(crate) fn detect_at_step_end(&mut self, x: &[DVec3]) -> bool {
        self.update_intersections(x);
        let inside: Vec<u32> =
            (0..self.surfaces.start.len() as u32).filter(|&v| self.seen.regions.holds(v)).collect();
        for spring in self.springs_of(&inside, x) {
            match self.springs.binary_search_by_key(&spring.vertex, |known| known.vertex) {
                Ok(known) => {
                    self.springs[known] =
                        CollisionSpring { friction_limit: self.springs[known].friction_limit, ..spring }
                }
                Err(place) => self.springs.insert(place, spring),
            }
        }
        !inside.is_empty()
    }

    /// Statistics at `x`.
    pub(crate) fn summary(&self, x: &[DVec3]) -> ContactSummary {
        let mut summary = ContactSummary { crossings: self.seen.crossings, ..ContactSummary::default() };
        for spring in &self.springs {
            let outside = -spring.normal.dot(spring.offset(x));
            if outside < spring.reach {
                summary.pairs += 1;
                let distance = outside.max(0.0);
                summary.closest = Some(summary.closest.map_or(distance, |least| least.min(distance)));
            }
        }
        summary
    }

    /// Finds curves and regions at `x`, unless they are cached.
    fn update_intersections(&mut self, x: &[DVec3]) {
        let Self { surfaces, fans, points, seen, .. } = self;
        let mut at = vec![DVec3::ZERO; points.len()];
        points.positions(x, &mut at);
        if seen.at == at {
            return;
        }
        let box_of = |t: u32| Aabb::of_points(&surfaces.triangles[t as usize].map(|v| at[v as usize]));
        if seen.hierarchy.is_empty() {
            // From the start positions of bodies: a resumed run has the same one.
            let start = |t: &[u32; 3]| Aabb::of_points(&t.map(|v| surfaces.start[v as usize]));
            seen.hierarchy = Bvh::build(&surfaces.triangles.iter().map(start).collect::<Vec<_>>());
        }
        seen.hierarchy.refit(box_of);
        let normal = |v: u32| fans.normal(v, &surfaces.triangles, &at).normalize_or_zero();
        seen.normals = (0..at.len() as u32).into_par_iter().with_min_len(CHUNK).map(normal).collect();
        let curves = Curves::find(surfaces, &seen.hierarchy, &at);
        seen.regions = Regions::find(&curves, surfaces, fans, &at);
        seen.crossings = curves.crossings.len() as u32;
        seen.at = at;
    }

    /// The springs of some vertices, in their order.
    fn springs_of(&self, vertices: &[u32], x: &[DVec3]) -> Vec<CollisionSpring> {
        let spring = |&v: &u32| self.spring(v, self.target(v)?, x);
        let found: Vec<Option<CollisionSpring>> =
            vertices.par_iter().with_min_len(CHUNK).map(spring).collect();
        found.into_iter().flatten().collect()
    }

    fn corners(&self, triangle: u32) -> [DVec3; 3] {
        self.surfaces.triangles[triangle as usize].map(|v| self.seen.at[v as usize])
    }

    /// Where a vertex exits, or what repels it.
    fn target(&self, vertex: u32) -> Option<Target> {
        let normal = self.seen.normals[vertex as usize];
        if normal == DVec3::ZERO {
            return None;
        }
        if !self.seen.regions.holds(vertex) {
            return self.hit(vertex, normal, self.thickness, false).map(|(target, _)| target);
        }
        let both = [-normal, normal].map(|direction| self.hit(vertex, direction, f64::INFINITY, true));
        let nearest = both.into_iter().flatten().min_by(|a, b| a.1.total_cmp(&b.1));
        nearest.map(|(target, _)| target).or_else(|| self.nearest_across(vertex))
    }

    /// The first triangle along a ray from a vertex that is hit from its back, where the vertex is inside, and has been
    /// crossed; or, where it is outside, from its front.
    fn hit(&self, vertex: u32, direction: DVec3, limit: f64, is_inside: bool) -> Option<(Target, f64)> {
        let ray = Ray { origin: self.seen.at[vertex as usize], direction };
        let meet = |t: u32| {
            let corners = self.corners(t);
            let [a, b, c] = corners;
            let leaves = (b - a).cross(c - a).dot(direction) > 0.0;
            if leaves != is_inside || !self.may_hold(vertex, t, is_inside) {
                return None;
            }
            triangle::intersect_ray(&corners, &ray)
        };
        let (triangle, direction) = self.seen.hierarchy.cast_ray(&ray, limit, |t| Some(meet(t)?.0))?;
        let (_, barycentric) = meet(triangle)?;
        Some((Target { triangle, barycentric, is_inside }, direction))
    }

    /// The nearest point of the part that a vertex has crossed.
    fn nearest_across(&self, vertex: u32) -> Option<Target> {
        let query = self.seen.at[vertex as usize];
        let nearest = |t: u32| triangle::closest_point(&self.corners(t), query);
        let (triangle, _) = self.seen.hierarchy.nearest(query, f64::MAX, |t| {
            if self.may_hold(vertex, t, true) {
                nearest(t).point.distance_squared(query)
            } else {
                f64::INFINITY
            }
        })?;
        Some(Target { triangle, barycentric: nearest(triangle).barycentric, is_inside: true })
    }

    /// Whether a triangle may pull or repel a vertex.
    fn may_hold(&self, vertex: u32, triangle: u32, is_inside: bool) -> bool {
        let corners = self.surfaces.triangles[triangle as usize];
        if corners.contains(&vertex) {
            return false;
        }
        if is_inside {
            return self.seen.regions.is_across(vertex, triangle, corners);
        }
        let own = self.fans.around(vertex);
        own.first().is_some_and(|&own| self.surfaces.may_touch(own, triangle))
    }

    /// A spring from a vertex to its target; none if both are as near at rest.
    fn spring(&self, vertex: u32, target: Target, x: &[DVec3]) -> Option<CollisionSpring> {
        let Target { triangle, barycentric, is_inside } = target;
        let corners = self.surfaces.triangles[triangle as usize];
        let material = triangle::combine(&corners.map(|v| self.surfaces.start[v as usize]), barycentric);
        let body = self.surfaces.body(corners[0]);
        let mut weights = self.embedded(body, material);
        let to: DVec3 = weights.iter().map(|&(node, w)| w * x[node as usize]).sum();
        let anchor = to - self.seen.at[vertex as usize];
        let mut reach = self.thickness;
        if self.surfaces.body(vertex) == body {
            let at_rest = material.distance(self.surfaces.start[vertex as usize]);
            reach = reach.min(REST_PART * at_rest);
            if anchor.length() >= if is_inside { at_rest } else { reach } {
                return None;
            }
        }
        let [a, b, c] = self.corners(triangle);
        let facing = (b - a).cross(c - a).normalize_or_zero();
        let direction = if is_inside { anchor } else { -anchor };
        // The embedded point differs a little from that on the triangle, and may be on its other side.
        let is_clear =
            direction.length() > FLAT * self.thickness && (is_inside || direction.dot(facing) > 0.0);
        let normal = if is_clear { direction.normalize() } else { facing };
        for &(node, w) in self.points.weights(vertex as usize) {
            match weights.iter_mut().find(|(known, _)| *known == node) {
                Some((_, sum)) => *sum -= w,
                None => weights.push((node, -w)),
            }
        }
        let stiffness = self.stiffness[vertex as usize];
        let given = self.surfaces.pair_friction([self.surfaces.body(vertex), body]);
        let friction = given.unwrap_or(self.friction[vertex as usize]);
        Some(CollisionSpring {
            vertex,
            weights,
            normal,
            reach,
            stiffness,
            anchor,
            friction,
            friction_limit: 0.0,
        })
    }

    /// A point of the undeformed mesh by the octant around it.
    fn embedded(&self, body: u32, material: DVec3) -> Vec<(u32, f64)> {
        let (filled, first) = &self.bodies[body as usize];
        filled.tree.embed_point(material).into_iter().map(|(node, w)| (node + first, w)).collect()
    }
}

/// The stiffness of each surface vertex in N/m: as given in Pa/m, or a multiple of that of the octants behind its area.
fn stiffnesses(body: &Body, filled: &Filled, given: Option<f64>) -> impl Iterator<Item = f64> {
    let own = STIFFER * body.materials.main().young_modulus / filled.tree.frame.cell;
    let each = given.unwrap_or(own);
    body.point_areas.iter().map(move |area| each * area).collect::<Vec<_>>().into_iter()
}

impl CollisionSpring {
    fn offset(&self, x: &[DVec3]) -> DVec3 {
        self.weights.iter().map(|&(node, w)| w * x[node as usize]).sum()
    }

    /// `max(0, n·u + r)` and the slip `s` at an offset.
    fn depth_and_slip(&self, offset: DVec3) -> (f64, DVec3) {
        let moved = offset - self.anchor;
        let slip = moved - moved.dot(self.normal) * self.normal;
        ((self.normal.dot(offset) + self.reach).max(0.0), slip)
    }
}

impl Energy for SelfCollision {
    fn value(&self, x: &[DVec3]) -> f64 {
        parallel::sum(self.springs.len(), |i| {
            let spring = &self.springs[i];
            let (depth, slip) = spring.depth_and_slip(spring.offset(x));
            let pressed = 0.5 * spring.stiffness * depth * depth;
            pressed
                + if spring.friction_limit > 0.0 { spring.friction_limit * self.law.value(slip) } else { 0.0 }
        })
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        for spring in &self.springs {
            let (depth, slip) = spring.depth_and_slip(spring.offset(x));
            let mut force = spring.stiffness * depth * spring.normal;
            if spring.friction_limit > 0.0 {
                force += spring.friction_limit * self.law.gradient(slip);
            }
            spring.weights.iter().for_each(|&(node, w)| gradient[node as usize] += w * force);
        }
    }

    /// None that persist: springs come and go.
    fn couplings(&self, _pair: &mut dyn FnMut(u32, u32)) {}

    fn point_hessians(&self, x: &[DVec3], mode: HessianMode, visit: PointVisitor<'_>) {
        for spring in &self.springs {
            let (depth, slip) = spring.depth_and_slip(spring.offset(x));
            let mut block = DMat3::ZERO;
            if depth > 0.0 {
                block += spring.stiffness * outer(spring.normal);
            }
            if spring.friction_limit > 0.0 {
                block += spring.friction_limit * self.law.hessian(slip, spring.normal, mode);
            }
            if block != DMat3::ZERO {
                visit(&spring.weights, block);
            }
        }
    }
}
