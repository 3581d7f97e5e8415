//! Constraints `C(p)` over a few particles and their projection (Müller 2008, section 5).
//!
//! The paper moves the particles of one constraint along its gradient (equations 2 to 5):
//!
//! ```text
//! Δpᵢ = -s wᵢ ∇ᵢC,      s = C / Σ wⱼ |∇ⱼC|²,
//! ```
//!
//! times a stiffness from 0 to 1. With a compliance `α` in SI units instead (XPBD: Macklin, Müller, Chentanez 2016) the
//! multiplier `λ` of a step of length `h` is stored, and the equation to solve is `C + α/h² λ = 0`, the law of a spring with
//! the force `λ/h²`:
//!
//! ```text
//! Δλ = (-C - α/h² λ) / (Σ wⱼ |∇ⱼC|² + α/h²),      Δpᵢ = wᵢ ∇ᵢC Δλ.
//! ```
//!
//! A unilateral constraint keeps `λ` on its side of zero.
//!
//! A material of damping time `β` has a damper of `β/α` in parallel with each spring. It acts on velocities at the end of a step of
//! length `t`, one constraint after the other and implicitly, so that any strength is stable:
//!
//! ```text
//! Ċ' = Ċ / (1 + t β/α Σ wⱼ |∇ⱼC|²).
//! ```
//!
//! At rest it has no effect. In the projection above it would resist the very corrections that a few sweeps make,
//! and bodies hung by them would sag.

pub(crate) mod distance_sweep;
pub(crate) mod mesh_constraints;
pub(crate) mod schedule;
pub(crate) mod soft_pins;

use glam::DVec3;

use crate::energy::bending::hinge::Hinge;
use crate::solvers::hpbd::positions::Positions;
use supple_core::simd::Simd;

/// A function of `K` particles that is zero where the constraint is satisfied.
pub(crate) trait Constraint<const K: usize>: Sync {
    /// The particles.
    fn particles(&self) -> [u32; K];
    /// `C` and its gradient with respect to each particle; `None` where it has no direction.
    fn evaluate(&self, p: &[DVec3; K]) -> Option<(f64, [DVec3; K])>;
    /// `α`: metres (or radians, or cubic metres) of violation per unit of force.
    fn compliance(&self) -> f64;
    /// `β` in seconds.
    fn damping(&self) -> f64 {
        0.0
    }
    /// The smallest and the largest multiplier.
    fn multipliers(&self) -> [f64; 2] {
        [f64::NEG_INFINITY, f64::INFINITY]
    }
}

/// The parameters of a projection besides the constraint.
pub(crate) struct Step<'a> {
    /// Exclusive: a sweep may have strips that read and write their own particles without atomics.
    pub(crate) positions: &'a mut Positions,
    /// The positions at the start of the step.
    pub(crate) start: &'a [DVec3],
    /// Its length `h` in seconds.
    pub(crate) length: f64,
    /// The fraction of a violation that one projection removes, as in the paper, in place of compliance.
    pub(crate) stiffness: Option<f64>,
    /// The instruction set to use.
    pub(crate) simd: Simd,
}

impl Step<'_> {
    /// Projects one constraint; returns the change of its multiplier.
    #[inline]
    pub(crate) fn project<const K: usize>(
        &self,
        constraint: &impl Constraint<K>,
        multiplier: &mut f64,
    ) -> f64 {
        let particles = constraint.particles().map(|i| i as usize);
        let p = particles.map(|i| self.positions.get(i));
        let w = particles.map(|i| self.positions.weight(i));
        let Some((value, gradients)) = constraint.evaluate(&p) else { return 0.0 };
        let give: f64 = (0..K).map(|k| w[k] * gradients[k].length_squared()).sum();
        if give <= 0.0 {
            return 0.0;
        }
        let change = match self.stiffness {
            Some(stiffness) => {
                let [low, high] = constraint.multipliers();
                let change = stiffness * (-value / give).clamp(low, high);
                *multiplier += change;
                change
            }
            None => self.compliant_change(constraint, multiplier, value, give),
        };
        for k in 0..K {
            self.positions.set(particles[k], p[k] + w[k] * change * gradients[k]);
        }
        change
    }

    #[inline]
    fn compliant_change<const K: usize>(
        &self,
        constraint: &impl Constraint<K>,
        multiplier: &mut f64,
        value: f64,
        give: f64,
    ) -> f64 {
        let soft = constraint.compliance() / (self.length * self.length);
        let old = *multiplier;
        let [low, high] = constraint.multipliers();
        let new = (old - (value + soft * old) / (give + soft)).clamp(low, high);
        *multiplier = new;
        new - old
    }

    /// Damps the velocities of one constraint's particles in m/s over this step.
    pub(crate) fn damp<const K: usize>(&self, constraint: &impl Constraint<K>, velocities: &Positions) {
        let particles = constraint.particles().map(|i| i as usize);
        let p = particles.map(|i| self.positions.get(i));
        let Some((_, gradients)) = constraint.evaluate(&p) else { return };
        let (v, w) = (particles.map(|i| velocities.get(i)), particles.map(|i| velocities.weight(i)));
        let give: f64 = (0..K).map(|k| w[k] * gradients[k].length_squared()).sum();
        let strength = self.length * constraint.damping() * give;
        if strength <= 0.0 {
            return;
        }
        let rate: f64 = (0..K).map(|k| gradients[k].dot(v[k])).sum();
        let change = -rate / give * (strength / (constraint.compliance() + strength));
        for k in 0..K {
            velocities.set(particles[k], v[k] + w[k] * change * gradients[k]);
        }
    }
}

/// When a distance constraint is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstraintSide {
    /// Always.
    Both,
    /// If the particles are farther apart: an upper limit.
    Stretched,
    /// If they are nearer.
    Pressed,
}

/// Keeps two particles at a distance: `C = |a - b| - d`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// The particles.
    pub ends: [u32; 2],
    /// The distance `d` in metres.
    pub rest: f64,
    /// Metres per newton.
    pub compliance: f64,
    /// Damping time in seconds.
    pub damping: f64,
    /// When it is active.
    pub acts: ConstraintSide,
}

/// Below this many metres two particles have no direction from each other.
pub(crate) const SHORTEST: f64 = 1e-12;

impl Constraint<2> for Distance {
    fn particles(&self) -> [u32; 2] {
        self.ends
    }

    #[inline]
    fn evaluate(&self, [a, b]: &[DVec3; 2]) -> Option<(f64, [DVec3; 2])> {
        let apart = *a - *b;
        let length = apart.length();
        let direction = apart / length;
        (length > SHORTEST).then_some((length - self.rest, [direction, -direction]))
    }

    fn compliance(&self) -> f64 {
        self.compliance
    }

    fn damping(&self) -> f64 {
        self.damping
    }

    fn multipliers(&self) -> [f64; 2] {
        match self.acts {
            ConstraintSide::Both => [f64::NEG_INFINITY, f64::INFINITY],
            ConstraintSide::Stretched => [f64::NEG_INFINITY, 0.0],
            ConstraintSide::Pressed => [0.0, f64::INFINITY],
        }
    }
}

/// Keeps two triangles at an angle: `C = θ - θ₀` (Müller 2006, section 4.3), in radians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fold {
    /// The shared edge, then the corners opposite to it.
    pub corners: [u32; 4],
    /// The triangles on both sides of the edge, that of the first opposite corner first.
    pub triangles: [u32; 2],
    /// The angle `θ₀` at rest.
    pub rest: f64,
    /// Radians per newton metre.
    pub compliance: f64,
    /// Damping time in seconds.
    pub damping: f64,
}

impl Fold {
    /// A hinge of a sheet with this bending stiffness in N·m; `None` if it has no stiffness.
    pub fn new(hinge: &Hinge, bend_stiffness: f64, damping: f64) -> Option<Self> {
        let stiffness = hinge.stiffness(bend_stiffness);
        let fold = Self {
            corners: hinge.vertices,
            triangles: hinge.triangles.map(|t| t as u32),
            rest: hinge.angle,
            compliance: 1.0 / stiffness,
            damping,
        };
        (stiffness > 0.0).then_some(fold)
    }
}

impl Constraint<4> for Fold {
    fn particles(&self) -> [u32; 4] {
        self.corners
    }

    /// With `e` the edge and the normals `n₁ = e × p`, `n₂ = q × e` of the two triangles, the angle changes by `|e|/|n|²` along
    /// each normal for the opposite corners, and for the edge's ends so that rigid motions change nothing.
    fn evaluate(&self, [a, b, c, d]: &[DVec3; 4]) -> Option<(f64, [DVec3; 4])> {
        let (e, p, q) = (*b - *a, *c - *a, *d - *a);
        let (n1, n2) = (e.cross(p), q.cross(e));
        let (length, s1, s2) = (e.length(), n1.length_squared(), n2.length_squared());
        if length <= SHORTEST || s1 <= 0.0 || s2 <= 0.0 {
            return None;
        }
        let angle = n1.cross(n2).dot(e).atan2(n1.dot(n2) * length);
        let (by_c, by_d) = (n1 * (-length / s1), n2 * (-length / s2));
        let (along_c, along_d) = (p.dot(e) / (length * length), q.dot(e) / (length * length));
        let by_b = -(along_c * by_c + along_d * by_d);
        let by_a = -(by_b + by_c + by_d);
        let off = angle - self.rest;
        let turn = std::f64::consts::TAU;
        // The shorter way round.
        let off = off - turn * (off / turn).round();
        Some((off, [by_a, by_b, by_c, by_d]))
    }

    fn compliance(&self) -> f64 {
        self.compliance
    }

    fn damping(&self) -> f64 {
        self.damping
    }
}

/// Keeps the volume of a tetrahedron: `C = V - V₀`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Volume {
    /// The corners.
    pub corners: [u32; 4],
    /// The volume `V₀` in m³.
    pub rest: f64,
    /// Cubic metres per pascal.
    pub compliance: f64,
}

impl Constraint<4> for Volume {
    fn particles(&self) -> [u32; 4] {
        self.corners
    }

    fn evaluate(&self, [a, b, c, d]: &[DVec3; 4]) -> Option<(f64, [DVec3; 4])> {
        let (p, q, r) = (*b - *a, *c - *a, *d - *a);
        let by = [q.cross(r) / 6.0, r.cross(p) / 6.0, p.cross(q) / 6.0];
        let volume = by[2].dot(r);
        Some((volume - self.rest, [-(by[0] + by[1] + by[2]), by[0], by[1], by[2]]))
    }

    fn compliance(&self) -> f64 {
        self.compliance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_gradient<const K: usize>(constraint: &impl Constraint<K>, p: [DVec3; K]) {
        let (_, gradients) = constraint.evaluate(&p).unwrap();
        for k in 0..K {
            for axis in 0..3 {
                let value = |step: f64| {
                    let mut moved = p;
                    moved[k][axis] += step;
                    constraint.evaluate(&moved).unwrap().0
                };
                let slope = (value(1e-6) - value(-1e-6)) / 2e-6;
                assert!((slope - gradients[k][axis]).abs() < 1e-7, "{k} {axis}: {slope} {gradients:?}");
            }
        }
        assert!(gradients.iter().sum::<DVec3>().length() < 1e-12, "linear momentum must be conserved");
        let turning: DVec3 = p.iter().zip(&gradients).map(|(p, g)| p.cross(*g)).sum();
        assert!(turning.length() < 1e-12, "angular momentum must be conserved");
    }

    const CORNERS: [DVec3; 4] = [
        DVec3::new(0.1, -0.2, 0.05),
        DVec3::new(1.3, 0.2, -0.1),
        DVec3::new(0.4, 0.9, 0.3),
        DVec3::new(0.6, -0.7, 0.5),
    ];

    #[test]
    fn gradients_are_those_of_finite_differences_and_keep_momentum() {
        let ends = [0, 1];
        let distance =
            Distance { ends, rest: 0.7, compliance: 0.0, damping: 0.0, acts: ConstraintSide::Both };
        check_gradient(&distance, [CORNERS[0], CORNERS[3]]);
        let corners = [0, 1, 2, 3];
        check_gradient(
            &Fold { corners, triangles: [0, 1], rest: 0.3, compliance: 0.0, damping: 0.0 },
            CORNERS,
        );
        check_gradient(&Volume { corners, rest: 0.3, compliance: 0.0 }, CORNERS);
    }

    fn step<'a>(positions: &'a mut Positions, start: &'a [DVec3]) -> Step<'a> {
        Step { positions, start, length: 0.1, stiffness: None, simd: Simd::Auto }
    }

    #[test]
    fn a_compliant_distance_settles_where_a_spring_of_its_stiffness_would() {
        // One particle of 2 kg hung from a fixed one by a spring of 50 N/m: 0.4 m longer under 9.81 m/s² at rest.
        let (mass, stiffness) = (2.0, 50.0);
        let weights = [0.0, 1.0 / mass];
        let spring = Distance {
            ends: [0, 1],
            rest: 1.0,
            compliance: 1.0 / stiffness,
            damping: 0.0,
            acts: ConstraintSide::Both,
        };
        let mut x = [DVec3::ZERO, DVec3::NEG_Y];
        let mut v = DVec3::ZERO;
        for _ in 0..2000 {
            let mut positions = Positions::default();
            let predicted = x[1] + 0.1 * (v - 0.1 * 9.81 * DVec3::Y);
            positions.copy_from(&[x[0], predicted], &weights);
            step(&mut positions, &x).project(&spring, &mut 0.0);
            v = (positions.get(1) - x[1]) / 0.1;
            x[1] = positions.get(1);
        }
        assert!((x[1].y + 1.0 + mass * 9.81 / stiffness).abs() < 1e-9, "{x:?}");
    }

    #[test]
    fn a_damper_slows_its_ends_as_an_implicit_step_says_and_keeps_momentum() {
        let (compliance, damping, weights) = (0.02, 0.3, [2.0, 0.5]);
        let spring = Distance { ends: [0, 1], rest: 1.0, compliance, damping, acts: ConstraintSide::Both };
        let (mut positions, mut velocities) = (Positions::default(), Positions::default());
        let x = [DVec3::ZERO, 1.5 * DVec3::X];
        positions.copy_from(&x, &weights);
        velocities.copy_from(&[DVec3::new(1.0, 4.0, 0.0), DVec3::new(-2.0, 0.0, 1.0)], &weights);
        step(&mut positions, &x).damp(&spring, &velocities);
        let [a, b] = [velocities.get(0), velocities.get(1)];
        // The step is 0.1 s long; the ends approach at 3 m/s.
        let theory = 3.0 / (1.0 + 0.1 * damping / compliance * 2.5);
        assert!((a.x - b.x - theory).abs() < 1e-12, "{a} {b} {theory}");
        assert!((a.x / weights[0] + b.x / weights[1] - (0.5 - 4.0)).abs() < 1e-12);
        assert_eq!((a.y, a.z, b.y, b.z), (4.0, 0.0, 0.0, 1.0));
    }

    #[test]
    fn an_upper_limit_only_pulls_and_lets_go_what_it_pulled_too_far() {
        let limit = Distance {
            ends: [0, 1],
            rest: 1.0,
            compliance: 0.0,
            damping: 0.0,
            acts: ConstraintSide::Stretched,
        };
        let (start, weights) = ([DVec3::ZERO, DVec3::X], [1.0, 1.0]);
        let mut positions = Positions::default();
        positions.copy_from(&[DVec3::ZERO, 0.5 * DVec3::X], &weights);
        let mut multiplier = 0.0;
        step(&mut positions, &start).project(&limit, &mut multiplier);
        assert_eq!(positions.get(1), 0.5 * DVec3::X);
        positions.copy_from(&[DVec3::ZERO, 3.0 * DVec3::X], &weights);
        step(&mut positions, &start).project(&limit, &mut multiplier);
        assert!((positions.get(1).x - positions.get(0).x - 1.0).abs() < 1e-15);
        // Others push the particles together: the limit gives back at most what it took.
        positions.copy_from(&[DVec3::ZERO, 0.1 * DVec3::X], &weights);
        step(&mut positions, &start).project(&limit, &mut multiplier);
        assert!((positions.get(1).x - positions.get(0).x - 1.0).abs() < 1e-15);
        assert!(multiplier < 0.0);
    }
}
