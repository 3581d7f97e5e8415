//! Contact of surfaces with themselves and with each other: a barrier that keeps them apart, with friction.
//!
//! A pair of a vertex and a triangle or of two edges (four points, [`crate::contact::Kind`]) at the distance `d` below its reach
//! `D` has the energy of incremental potential contact (Li et al. 2020)
//!
//! ```text
//! E = k m b(d),     b(d) = -(d - D)² ln(d/D),
//! ```
//!
//! which is twice continuously differentiable at `D` and infinite at touching. `∂d/∂pᵢ = wᵢ n`, so the gradient is
//! `k m b' wᵢ n`; as Hessian serves `k m b'' wᵢ wⱼ n nᵀ`, which is positive semi-definite. What it leaves out, `b'` times the
//! curvature of the distance, is negative where it is large, and small where it is not: it has the size of
//! `D` over the length of an edge. The factor `m = c (2 - c)` with `c = |e₁ × e₂|² / (10⁻³ |ē₁|² |ē₂|²)` up to 1 takes pairs of almost
//! parallel edges away (ē: the edges at the start), since their closest points jump.
//!
//! The stiffness `k = P A / D` makes about the pressure `P` at half the reach on the area `A` that a point stands for.
//!
//! Friction acts on pairs that were near at the step's start, with force, normal and weights as they were then. Pairs in a
//! tangle have no energy but a spring that draws them apart by a thickness a step.

use std::sync::{Mutex, MutexGuard, PoisonError};

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::chunks::{self, CHUNK, Found};
use super::friction::{Friction, outer};
use super::{Energy, PointVisitor};
use crate::body::Embedding;
use crate::contact::{Candidate, Candidates, Kind, Surfaces, Tangle, free_fraction};
use crate::geometry::Aabb;
use crate::linear::ScalarMatrix;

/// The fraction of its reach below which a pair comes nearer only slowly.
const LEAST_DISTANCE: f64 = 1e-3;
/// Squared sines of angles between edges below which their energy fades.
const PARALLEL: f64 = 1e-3;

/// What contact needs to know of a system.
#[derive(Debug, Default)]
pub struct ContactProperties {
    /// The surfaces.
    pub surfaces: Surfaces,
    /// Their points on the unknowns.
    pub points: Embedding,
    /// Stiffness `k` of each point in N/m.
    pub stiffness: Vec<f64>,
    /// Friction coefficient of each point.
    pub friction: Vec<f64>,
    /// The distance in metres below which surfaces are pushed apart.
    pub thickness: f64,
    /// Whether what is tangled is drawn apart, or left alone.
    pub untangle: bool,
}

/// What contact did, for reports.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ContactSummary {
    /// Pairs that are pushed apart.
    pub pairs: u32,
    /// The least distance of any of them in metres; `None` without any.
    pub closest: Option<f64>,
    /// Pairs of triangles that cross each other.
    pub crossings: u32,
}

/// Contact of a system's surfaces with each other.
#[derive(Debug, Default)]
pub struct SelfContact {
    properties: ContactProperties,
    grips: Vec<Grip>,
    tugs: Vec<Tug>,
    friction: Friction,
    /// Whether something may cross.
    tangled: bool,
    tangle: Tangle,
    detection: Mutex<Detection>,
}

/// What is found at some positions, kept so that evaluations allocate nothing.
#[derive(Debug, Default)]
struct Detection {
    candidates: Candidates,
    at: Vec<DVec3>,
    to: Vec<DVec3>,
    touches: Found<Touch>,
    weights: Vec<(u32, f64)>,
}

/// A pair nearer than its reach.
#[derive(Debug, Clone, Copy)]
struct Touch {
    points: [u32; 4],
    weights: [f64; 4],
    normal: DVec3,
    distance: f64,
    reach: f64,
    stiffness: f64,
    fade: Fade,
}

/// Friction of one pair over one step.
#[derive(Debug, Clone, Copy)]
struct Grip {
    points: [u32; 4],
    weights: [f64; 4],
    normal: DVec3,
    /// `Σ wᵢ pᵢ` at the step's start.
    anchor: DVec3,
    /// Friction coefficient times normal force, in newtons.
    limit: f64,
}

/// A spring on `Σ wᵢ pᵢ` of an edge that passes through a triangle.
#[derive(Debug, Clone, Copy)]
struct Tug {
    points: [u32; 5],
    weights: [f64; 5],
    target: DVec3,
    stiffness: f64,
}

/// The factor `m` of a pair of edges and its gradient by both edges.
#[derive(Debug, Clone, Copy)]
struct Fade {
    value: f64,
    by_edge: [DVec3; 2],
}

impl Fade {
    const NONE: Self = Self { value: 1.0, by_edge: [DVec3::ZERO; 2] };

    fn of(now: [DVec3; 2], start: [DVec3; 2]) -> Self {
        let cross = now[0].cross(now[1]).length_squared();
        let full = PARALLEL * start[0].length_squared() * start[1].length_squared();
        if cross >= full {
            return Self::NONE;
        }
        let c = cross / full;
        // The gradient of |a × b|² by a is 2 (|b|² a - (a·b) b).
        let slope = |a: DVec3, b: DVec3| 2.0 * (b.length_squared() * a - a.dot(b) * b);
        let scale = 2.0 * (1.0 - c) / full;
        let by_edge = [scale * slope(now[0], now[1]), scale * slope(now[1], now[0])];
        Self { value: c * (2.0 - c), by_edge }
    }
}

/// `b`, `b'` and `b''`.
fn barrier(d: f64, reach: f64) -> [f64; 3] {
    let (off, ln) = (d - reach, (d / reach).ln());
    [-off * off * ln, -2.0 * off * ln - off * off / d, -2.0 * ln - 4.0 * off / d + off * off / (d * d)]
}

impl Touch {
    /// `k m b`, `k m b'` and `k m b''`.
    fn barrier(&self) -> [f64; 3] {
        barrier(self.distance, self.reach).map(|b| self.stiffness * self.fade.value * b)
    }

    /// The gradient by each of its points.
    fn gradient(&self) -> [DVec3; 4] {
        let slope = self.barrier()[1];
        let mut gradient = self.weights.map(|w| slope * w * self.normal);
        if self.fade.value < 1.0 {
            let height = self.stiffness * barrier(self.distance, self.reach)[0];
            let [first, second] = self.fade.by_edge.map(|edge| height * edge);
            gradient[0] -= first;
            gradient[1] += first;
            gradient[2] -= second;
            gradient[3] += second;
        }
        gradient
    }
}

impl SelfContact {
    /// Contact of these surfaces.
    pub fn new(properties: ContactProperties) -> Self {
        let candidates = Candidates::new(&properties.surfaces);
        let detection = Mutex::new(Detection { candidates, ..Detection::default() });
        Self { properties, detection, ..Self::default() }
    }

    /// Whether there is nothing that could touch.
    pub fn is_empty(&self) -> bool {
        self.properties.surfaces.is_empty()
    }

    /// Whether something may cross, which a later step must look at.
    pub fn is_tangled(&self) -> bool {
        self.tangled
    }

    /// Says so of a restored state; what crosses is found when its next step begins.
    pub fn set_tangled(&mut self, tangled: bool) {
        self.tangled = tangled;
        self.tangle = Tangle::default();
        self.detection.get_mut().unwrap_or_else(PoisonError::into_inner).candidates.set_loose(&[]);
    }

    /// The surfaces.
    pub fn surfaces(&self) -> &Surfaces {
        &self.properties.surfaces
    }

    /// What crosses.
    pub fn tangle(&self) -> &Tangle {
        &self.tangle
    }

    /// Looks whether surfaces cross at `x`.
    pub fn look_for_tangle(&mut self, x: &[DVec3]) {
        let Self { properties, detection, tangle, .. } = self;
        let found = detection.get_mut().unwrap_or_else(PoisonError::into_inner);
        place(&properties.points, x, &mut found.at);
        *tangle = Tangle::find(&properties.surfaces, &mut found.candidates, &found.at);
        found.candidates.set_loose(&tangle.loose);
        self.tangled = !self.tangle.crossings.is_empty();
    }

    /// Starts a step of `dt` seconds from `x`: friction and what is tangled are taken here.
    pub fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        if self.is_empty() {
            return;
        }
        self.friction = Friction::over(dt);
        if self.tangled {
            self.look_for_tangle(x);
        }
        let mut tugs = std::mem::take(&mut self.tugs);
        let mut grips = std::mem::take(&mut self.grips);
        tugs.clear();
        grips.clear();
        let found = self.touches(x);
        if self.tangled && self.properties.untangle {
            self.find_tugs(&found.at, &mut tugs);
        }
        grips.extend(found.touches.iter().filter_map(|touch| self.grip(touch, &found.at)));
        drop(found);
        (self.tugs, self.grips) = (tugs, grips);
    }

    fn grip(&self, touch: &Touch, at: &[DVec3]) -> Option<Grip> {
        let Touch { points, weights, normal, .. } = *touch;
        // Both sides have weights that sum to one.
        let sum: f64 =
            points.iter().zip(weights).map(|(&p, w)| w.abs() * self.properties.friction[p as usize]).sum();
        let limit = 0.5 * sum * -touch.barrier()[1];
        let anchor = combine(&points, &weights, at);
        (limit > 0.0).then_some(Grip { points, weights, normal, anchor, limit })
    }

    fn find_tugs(&self, at: &[DVec3], tugs: &mut Vec<Tug>) {
        let ContactProperties { surfaces, stiffness, thickness, .. } = &self.properties;
        for piercing in self.tangle.piercings(surfaces, at) {
            let of = piercing.points.map(|p| stiffness[p as usize]);
            tugs.push(Tug {
                points: piercing.points,
                weights: piercing.weights,
                target: combine(&piercing.points, &piercing.weights, at) + *thickness * piercing.way,
                stiffness: of.iter().sum::<f64>() / 5.0,
            });
        }
    }

    /// The fraction of the straight way from one state to another that brings nothing to touch.
    pub fn free_way(&self, from: &[DVec3], to: &[DVec3]) -> f64 {
        if self.is_empty() {
            return 1.0;
        }
        let ContactProperties { surfaces, points, thickness, .. } = &self.properties;
        let mut found = self.lock();
        let Detection { candidates, at, to: end, .. } = &mut *found;
        place(points, from, at);
        place(points, to, end);
        let bounded = bound_way(at, end);
        candidates.cover_way(surfaces, *thickness, at, end);
        let list = candidates.list();
        let free = |until: f64, candidate: &Candidate| {
            let corners = candidate.points.map(|p| p as usize);
            let least = LEAST_DISTANCE * candidate.reach;
            let moves = corners.map(|p| end[p] - at[p]);
            free_fraction(candidate.kind, &corners.map(|p| at[p]), &moves, least, until)
        };
        let least = |range: std::ops::Range<usize>| list[range].iter().fold(1.0, free);
        bounded * chunks::fold(list.len(), CHUNK, 1.0, least, f64::min)
    }

    /// What there is at `x`.
    pub fn summary(&self, x: &[DVec3]) -> ContactSummary {
        let mut summary =
            ContactSummary { crossings: self.tangle.crossings.len() as u32, ..Default::default() };
        if self.is_empty() {
            return summary;
        }
        for touch in self.touches(x).touches.iter() {
            summary.pairs += 1;
            summary.closest = Some(summary.closest.map_or(touch.distance, |d| d.min(touch.distance)));
        }
        summary
    }

    fn lock(&self) -> MutexGuard<'_, Detection> {
        self.detection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds everything that touches at `x`.
    fn touches(&self, x: &[DVec3]) -> MutexGuard<'_, Detection> {
        let ContactProperties { surfaces, points, thickness, .. } = &self.properties;
        let mut found = self.lock();
        let Detection { candidates, at, touches, .. } = &mut *found;
        place(points, x, at);
        candidates.cover(surfaces, *thickness, at);
        let list = candidates.list();
        touches.look(list.len(), |i, touches| touches.extend(self.touch(&list[i], at)));
        found
    }

    fn touch(&self, candidate: &Candidate, at: &[DVec3]) -> Option<Touch> {
        let Candidate { kind, points, reach } = *candidate;
        let corners = points.map(|p| at[p as usize]);
        let closest = kind.closest(&corners);
        let distance = closest.offset.length();
        // What is not a number must not be passed over.
        if distance >= reach {
            return None;
        }
        let ContactProperties { surfaces, stiffness, thickness, .. } = &self.properties;
        let of = points.map(|p| stiffness[p as usize]);
        let (stiffness, fade) = match kind {
            Kind::VertexTriangle => (of[0], Fade::NONE),
            Kind::EdgeEdge => {
                let start = points.map(|p| surfaces.start[p as usize]);
                let edges = |[a, b, c, d]: [DVec3; 4]| [b - a, d - c];
                (0.125 * of.iter().sum::<f64>(), Fade::of(edges(corners), edges(start)))
            }
        };
        Some(Touch {
            points,
            weights: closest.weights,
            normal: closest.offset.normalize_or_zero(),
            distance,
            reach,
            stiffness: stiffness * thickness / reach,
            fade,
        })
    }

    fn slip(&self, grip: &Grip, at: &[DVec3]) -> DVec3 {
        let moved = combine(&grip.points, &grip.weights, at) - grip.anchor;
        moved - moved.dot(grip.normal) * grip.normal
    }

    /// Calls `visit` with weights on points and the Hessian of what they make.
    fn hessians(&self, found: &Detection, mut visit: impl FnMut(&[u32], &[f64], DMat3)) {
        for touch in found.touches.iter() {
            visit(&touch.points, &touch.weights, touch.barrier()[2] * outer(touch.normal));
        }
        for grip in &self.grips {
            let hessian = grip.limit * self.friction.hessian(self.slip(grip, &found.at), grip.normal);
            visit(&grip.points, &grip.weights, hessian);
        }
        for tug in &self.tugs {
            visit(&tug.points, &tug.weights, DMat3::from_diagonal(DVec3::splat(tug.stiffness)));
        }
    }
}

/// The positions of all points.
fn place(points: &Embedding, x: &[DVec3], at: &mut Vec<DVec3>) {
    at.resize(points.len(), DVec3::ZERO);
    at.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, at)| *at = points.position(i, x));
}

/// Ends a way early on which a point would leave the mean motion by more than everything together is wide, as methods try it
/// that diverge: all pairs would have to be looked at. Returns the fraction that is left.
fn bound_way(from: &[DVec3], to: &mut [DVec3]) -> f64 {
    let bounds = Aabb::of_points(from);
    let widest = (bounds.high - bounds.low).length();
    let mean = from.iter().zip(&*to).map(|(a, b)| *b - *a).sum::<DVec3>() / from.len().max(1) as f64;
    let farthest = from.iter().zip(&*to).map(|(a, b)| (*b - *a - mean).length()).fold(0.0, f64::max);
    if farthest.is_nan() || farthest <= widest {
        return 1.0;
    }
    let left = widest / farthest;
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from + left * (*to - *from));
    left
}

/// `Σ wᵢ pᵢ`.
fn combine(points: &[u32], weights: &[f64], at: &[DVec3]) -> DVec3 {
    points.iter().zip(weights).map(|(&p, &w)| w * at[p as usize]).sum()
}

/// The weights on unknowns of a combination of points, each unknown once.
fn on_unknowns(embedding: &Embedding, points: &[u32], weights: &[f64], list: &mut Vec<(u32, f64)>) {
    list.clear();
    for (&point, &weight) in points.iter().zip(weights).filter(|(_, w)| **w != 0.0) {
        for &(v, w) in embedding.weights(point as usize) {
            match list.iter_mut().find(|(known, _)| *known == v) {
                Some((_, sum)) => *sum += weight * w,
                None => list.push((v, weight * w)),
            }
        }
    }
}

impl Energy for SelfContact {
    fn value(&self, x: &[DVec3]) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let found = self.touches(x);
        let at = &found.at;
        let touching: f64 = found.touches.iter().map(|touch| touch.barrier()[0]).sum();
        let gripping = self.grips.iter().map(|grip| grip.limit * self.friction.value(self.slip(grip, at)));
        let tugging = self.tugs.iter().map(|tug| {
            let off = combine(&tug.points, &tug.weights, at) - tug.target;
            0.5 * tug.stiffness * off.length_squared()
        });
        touching + gripping.sum::<f64>() + tugging.sum::<f64>()
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        if self.is_empty() {
            return;
        }
        let found = self.touches(x);
        let points = &self.properties.points;
        let mut scatter = |at: &[u32], weights: &[f64], force: DVec3| {
            at.iter().zip(weights).for_each(|(&p, &w)| points.scatter(p as usize, w * force, gradient));
        };
        for grip in &self.grips {
            let force = grip.limit * self.friction.gradient(self.slip(grip, &found.at));
            scatter(&grip.points, &grip.weights, force);
        }
        for tug in &self.tugs {
            let off = combine(&tug.points, &tug.weights, &found.at) - tug.target;
            scatter(&tug.points, &tug.weights, tug.stiffness * off);
        }
        for touch in found.touches.iter() {
            let forces = touch.gradient();
            touch
                .points
                .iter()
                .zip(forces)
                .for_each(|(&p, force)| points.scatter(p as usize, force, gradient));
        }
    }

    /// None that last: pairs come and go, and their blocks lie outside the pattern.
    fn couplings(&self, _pair: &mut dyn FnMut(u32, u32)) {}

    fn point_hessians(&self, x: &[DVec3], visit: PointVisitor<'_>) {
        if self.is_empty() {
            return;
        }
        let mut found = self.touches(x);
        let mut list = std::mem::take(&mut found.weights);
        self.hessians(&found, |points, weights, block| {
            on_unknowns(&self.properties.points, points, weights, &mut list);
            visit(&list, block);
        });
        found.weights = list;
    }

    /// A bound by its diagonal, `wᵢ wⱼ <= |wᵢ| Σ |wⱼ|`: the factor of projective dynamics has no room for other pairs.
    fn add_projective(&self, x: &[DVec3], matrix: &mut ScalarMatrix) -> bool {
        self.point_hessians(x, &mut |point, block| {
            let bound = block.to_cols_array().into_iter().map(|entry| entry * entry).sum::<f64>().sqrt();
            let total: f64 = point.iter().map(|(_, w)| w.abs()).sum();
            point.iter().for_each(|&(v, w)| matrix.add_diagonal(v, w.abs() * total * bound));
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::conformance::*;
    use super::*;
    use crate::body::{Body, Cut};
    use crate::scene;

    const THICKNESS: f64 = 0.1;

    /// Two small cloths of 1 m, the upper one turned and tilted so that vertices, edges and almost parallel edges come near.
    fn two_sheets(turn: f64, friction: f64) -> (SelfContact, Vec<DVec3>) {
        let lower = scene::Body::cloth("lower", 1.0, 1.0, [3, 3]);
        let mut upper = scene::Body::cloth("upper", 1.0, 1.0, [3, 3]).at([0.07, 0.06, 0.04]);
        upper.transform.rotate = DVec3::new(1.5, turn, -2.0);
        let bodies = [lower, upper].map(|body| Body::build(&body, Path::new(""), Cut::Tets).unwrap());
        let x: Vec<DVec3> = bodies.iter().flat_map(|body| body.start.clone()).collect();
        let mut points = Embedding::default();
        bodies.iter().zip([0, 9]).for_each(|(body, first)| points.append(&body.embedding, first));
        let mut contact = SelfContact::new(ContactProperties {
            surfaces: Surfaces::new(&bodies, true),
            points,
            stiffness: (0..18).map(|i| 50.0 + f64::from(i)).collect(),
            friction: vec![friction; 18],
            thickness: THICKNESS,
            untangle: true,
        });
        contact.look_for_tangle(&x);
        contact.begin_step(&x, 1.0);
        (contact, x)
    }

    #[test]
    fn the_barrier_and_its_slope_end_smoothly_and_it_has_no_bound() {
        let [value, slope, curvature] = barrier(0.2, 0.2);
        assert_eq!([value, slope, curvature], [0.0; 3]);
        assert!(barrier(1e-12, 0.2)[0] > 1.0);
        for d in [1e-4, 0.03, 0.11, 0.199] {
            let step = 1e-7 * d;
            let [low, high] = [d - step, d + step].map(|d| barrier(d, 0.2));
            let [_, slope, curvature] = barrier(d, 0.2);
            assert!(((high[0] - low[0]) / (2.0 * step) - slope).abs() < 1e-6 * slope.abs());
            assert!(((high[1] - low[1]) / (2.0 * step) - curvature).abs() < 1e-6 * curvature);
            assert!(slope < 0.0 && curvature > 0.0);
        }
    }

    #[test]
    fn gradients_are_derivatives_and_forces_sum_to_zero() {
        // A turn of a twentieth of a degree lets edges fade, as almost parallel ones do.
        for turn in [17.0, 0.05, 90.02] {
            let (contact, mut x) = two_sheets(turn, 0.3);
            assert!(contact.summary(&x).pairs > 10 && contact.summary(&x).crossings == 0);
            x.iter_mut()
                .skip(9)
                .enumerate()
                .for_each(|(i, p)| *p += 0.004 * DVec3::new(1.0, -0.5, (i % 3) as f64));
            let error = gradient_error(&contact, &x);
            assert!(error < 1e-5, "{turn}: {error}");
            let mut gradient = vec![DVec3::ZERO; x.len()];
            contact.add_gradient(&x, &mut gradient);
            let scale = gradient.iter().map(|g| g.length()).fold(0.0, f64::max);
            assert!(scale > 0.1 && total_force(&contact, &x).length() < 1e-12 * scale);
            // Friction is lagged: only without it does a turn of everything cost nothing.
            gradient.fill(DVec3::ZERO);
            two_sheets(turn, 0.0).0.add_gradient(&x, &mut gradient);
            let torque: DVec3 = x.iter().zip(&gradient).map(|(x, g)| x.cross(*g)).sum();
            assert!(torque.length() < 1e-12 * scale, "{torque}");
        }
    }

    #[test]
    fn hessians_are_positive_and_exact_where_sheets_approach() {
        let (mut contact, x) = two_sheets(17.0, 0.3);
        assert!(smallest_eigenvalue(&mut contact, &x) > -1e-12);
        let (contact, x) = two_sheets(17.0, 0.0);
        // All normals are almost vertical: lowering the upper sheet changes distances, hardly normals.
        let down: Vec<DVec3> = (0..18).map(|i| if i < 9 { DVec3::ZERO } else { -DVec3::Y }).collect();
        let slope = |h: f64| {
            let moved: Vec<DVec3> = x.iter().zip(&down).map(|(x, d)| *x + h * *d).collect();
            let mut gradient = vec![DVec3::ZERO; 18];
            contact.add_gradient(&moved, &mut gradient);
            gradient.iter().zip(&down).map(|(g, d)| g.dot(*d)).sum::<f64>()
        };
        let mut product = vec![DVec3::ZERO; 18];
        contact.apply_hessian(&x, crate::energy::Curvature::Exact, &down, &mut product);
        let curvature: f64 = product.iter().zip(&down).map(|(p, d)| p.dot(*d)).sum();
        let expected = (slope(1e-6) - slope(-1e-6)) / 2e-6;
        assert!((curvature / expected - 1.0).abs() < 0.05, "{curvature} {expected}");
    }

    #[test]
    fn friction_stays_below_its_coefficient_times_the_normal_force() {
        let (contact, x) = two_sheets(17.0, 0.3);
        let normal: f64 = contact.lock().touches.iter().map(|touch| -touch.barrier()[1]).sum();
        for slip in [1e-4, 1e-3, 0.01] {
            let moved: Vec<DVec3> =
                x.iter().enumerate().map(|(i, p)| if i < 9 { *p } else { *p + slip * DVec3::X }).collect();
            let mut with = vec![DVec3::ZERO; 18];
            contact.add_gradient(&moved, &mut with);
            let mut without = vec![DVec3::ZERO; 18];
            two_sheets(17.0, 0.0).0.add_gradient(&moved, &mut without);
            let drag: f64 = with[9..].iter().zip(&without[9..]).map(|(a, b)| (*a - *b).x).sum();
            assert!(drag > 0.0 && drag <= 0.3 * normal * (1.0 + 1e-12), "{drag} of {normal}");
            assert!(slip < 1e-3 || drag > 0.25 * normal, "sliding: {drag} of {normal}");
        }
    }

    #[test]
    fn no_way_through_is_free_and_values_do_not_depend_on_what_was_looked_at_before() {
        let (contact, x) = two_sheets(17.0, 0.0);
        let value = contact.value(&x);
        let below: Vec<DVec3> =
            x.iter().enumerate().map(|(i, p)| if i < 9 { *p } else { *p - 3.0 * DVec3::Y }).collect();
        let free = contact.free_way(&x, &below);
        assert!(free > 0.0 && free < 0.02, "{free}");
        assert_eq!(contact.free_way(&x, &x), 1.0);
        assert_eq!(contact.value(&x).to_bits(), value.to_bits());
        let away: Vec<DVec3> = x.iter().map(|p| *p + 100.0 * DVec3::X).collect();
        assert_eq!(contact.free_way(&x, &away), 1.0, "everything moves together");
    }
}
