//! Springs between two vertices: `E = k/2 (l - L)²` with length `l = |a - b|` and rest length `L`, and over a step of
//! length `h` the damping potential `β k / (2 h) (l - l₀)²`, whose force is `β k` times the rate of stretch.
//!
//! With `e = (a - b)/l` and a scalar function `φ(l)`, gradient and Hessian with respect to `a` are
//!
//! ```text
//! g = φ' e,      H = φ'' e eᵀ + φ'/l (I - e eᵀ)
//! ```
//!
//! A spring that resists only compression is active below its rest length; beyond it has neither force nor damping, and
//! the lengths `l₀` and `l` are clamped to `L`.
//!
//! The second term is negative under compression (`φ' < 0`); dropping it there is the projection to positive
//! semi-definite, since the eigenvectors are `e` and its complement.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::energy::element::order::morton_order;
use crate::energy::element::{Element, ElementBlocks};
use crate::material::HessianMode;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes, WIDTH};

/// Whether a spring resists in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resists {
    /// Stretch and compression.
    Both,
    /// Compression only (bending springs, which must not stiffen a flat cloth).
    Compression,
}

/// A spring between two vertices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spring {
    /// Its ends.
    pub ends: [u32; 2],
    /// Rest length in metres.
    pub rest: f64,
    /// Stiffness in N/m.
    pub stiffness: f64,
    /// Damping time β in seconds.
    pub damping: f64,
    /// In which direction it resists.
    pub resists: Resists,
}

/// The same springs along the Morton curve of their midpoints, so that those of a chunk share vertices; `place` gives the start
/// position of a vertex.
pub fn in_local_order(springs: &[Spring], place: impl Fn(u32) -> DVec3) -> Vec<Spring> {
    let middle = |spring: usize| springs[spring].ends.map(&place).into_iter().sum::<DVec3>() * 0.5;
    morton_order(springs.len(), middle).into_iter().map(|spring| springs[spring as usize]).collect()
}

/// All springs, elastic and damping part, over one step.
#[derive(Debug, Clone, Default)]
pub struct Springs {
    ends: Vec<[u32; 2]>,
    /// Their numbers, in the layout that evaluations read.
    eights: Vec<SpringParameters>,
    /// The step in seconds; infinite switches damping off.
    step: f64,
}

/// The numbers of eight springs; padding lanes repeat the last.
#[derive(Debug, Clone, Copy)]
struct SpringParameters {
    rest: Lanes,
    /// The length beyond which it is slack.
    longest: Lanes,
    stiffness: Lanes,
    /// Damping time times stiffness.
    drag: Lanes,
    /// Length at the step's start, clamped to the active range.
    start: Lanes,
}

/// Below this length (metres) a spring has no direction: it pushes along x.
const SHORTEST: f64 = 1e-12;
/// Batches processed by one task.
const TASK: usize = 256;

impl Springs {
    /// Springs at rest lengths, before any step.
    pub fn new(springs: Vec<Spring>) -> Self {
        let ends = springs.iter().map(|s| s.ends).collect();
        let eight = |springs: &[Spring]| {
            let of = |value: &dyn Fn(&Spring) -> f64| {
                Lanes::from_fn(|lane| value(&springs[lane.min(springs.len() - 1)]))
            };
            let rest = of(&|s| s.rest);
            SpringParameters {
                rest,
                // One-sided springs act up to their rest length only.
                longest: of(&|s| if s.resists == Resists::Both { f64::INFINITY } else { s.rest }),
                stiffness: of(&|s| s.stiffness),
                drag: of(&|s| s.damping * s.stiffness),
                start: rest,
            }
        };
        Self { ends, eights: springs.chunks(WIDTH).map(eight).collect(), step: f64::INFINITY }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn batch(&self, batch: usize, x: &[LaneVec3; 2]) -> SpringBatch {
        let SpringParameters { rest, longest, stiffness, drag, start } = self.eights[batch];
        let separation = x[0] - x[1];
        let exact = separation.dot(separation).sqrt();
        let shortest = Lanes::splat(SHORTEST);
        let length = exact.max(shortest);
        let inverse = Lanes::splat(1.0) / length;
        let pick =
            |c: usize, fallback: f64| shortest.less(exact, separation[c] * inverse, Lanes::splat(fallback));
        let acting = length.min(longest);
        SpringBatch {
            direction: LaneVec3([pick(0, 1.0), pick(1, 0.0), pick(2, 0.0)]),
            length,
            acts: length.less(longest, Lanes::splat(1.0), Lanes::splat(0.0)),
            strain: acting - rest,
            slip: acting - start,
            stiffness,
            viscosity: drag * (1.0 / self.step),
        }
    }
}

/// Eight springs at some positions.
struct SpringBatch {
    direction: LaneVec3,
    length: Lanes,
    /// 1 where the spring is active, 0 where it is slack.
    acts: Lanes,
    strain: Lanes,
    slip: Lanes,
    stiffness: Lanes,
    viscosity: Lanes,
}

impl SpringBatch {
    /// φ(l), damping included.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy(&self) -> Lanes {
        (self.stiffness * self.strain * self.strain + self.viscosity * self.slip * self.slip) * 0.5
    }

    /// φ'(l).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tension(&self) -> Lanes {
        (self.stiffness * self.strain + self.viscosity * self.slip) * self.acts
    }
}

impl Element<2> for Springs {
    fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        self.step = dt;
        let batches = self.eights.par_iter_mut().zip(self.ends.par_chunks(WIDTH)).with_min_len(TASK);
        batches.for_each(|(eight, ends)| {
            let length = |lane: usize| {
                let [a, b] = ends[lane.min(ends.len() - 1)];
                x[a as usize].distance(x[b as usize])
            };
            eight.start = Lanes::from_fn(length).min(eight.longest);
        });
    }

    fn vertices(&self) -> &[[u32; 2]] {
        &self.ends
    }

    fn projective(&self, e: usize) -> Option<[[f64; 2]; 2]> {
        let eight = &self.eights[e / WIDTH];
        let weight = eight.stiffness.0[e % WIDTH] + eight.drag.0[e % WIDTH] / self.step;
        Some([[weight, -weight], [-weight, weight]])
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(&self, batch: usize, x: &[LaneVec3; 2]) -> Lanes {
        self.batch(batch, x).energy()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn elastic_value(&self, batch: usize, x: &[LaneVec3; 2]) -> Lanes {
        let batch = self.batch(batch, x);
        batch.stiffness * batch.strain * batch.strain * 0.5
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value_and_gradient(&self, batch: usize, x: &[LaneVec3; 2]) -> (Lanes, [LaneVec3; 2]) {
        let batch = self.batch(batch, x);
        let force = batch.direction * batch.tension();
        (batch.energy(), [force, -force])
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self, batch: usize, x: &[LaneVec3; 2], mode: HessianMode) -> ElementBlocks<2> {
        let batch = self.batch(batch, x);
        let exact = batch.tension() / batch.length;
        let across = match mode {
            HessianMode::Exact => exact,
            HessianMode::PsdProjected => exact.max(Lanes::splat(0.0)),
        };
        let along = (batch.stiffness + batch.viscosity) * batch.acts - across;
        let block = batch.direction.outer(batch.direction) * along + LaneMat3::scaled_identity(across);
        let zero = LaneMat3::default();
        [[block, zero], [zero - block, block]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::Energy;
    use crate::energy::conformance::*;
    use crate::energy::element::ElementSum;
    use supple_core::simd::Simd;

    fn triangle_of_springs(rest: f64, resists: Resists) -> ElementSum<Springs, 2> {
        let spring = |a, b| Spring { ends: [a, b], rest, stiffness: 40.0, damping: 0.01, resists };
        let mut springs = Springs::new(vec![spring(0, 1), spring(1, 2), spring(2, 0)]);
        springs.begin_step(&points(0.1), 0.02);
        ElementSum::new(springs, 3, Simd::Auto)
    }

    fn points(bump: f64) -> [DVec3; 3] {
        [DVec3::new(0.0, bump, 0.0), DVec3::new(1.0, 0.3, -0.2), DVec3::new(0.2, 0.9, 0.5 + bump)]
    }

    #[test]
    fn gradient_is_the_derivative_of_the_value() {
        for rest in [0.5, 1.5] {
            assert!(gradient_error(&triangle_of_springs(rest, Resists::Both), &points(0.0)) < 1e-7);
            assert!(gradient_error(&triangle_of_springs(rest, Resists::Compression), &points(0.0)) < 1e-7);
        }
    }

    #[test]
    fn the_exact_hessian_is_the_derivative_of_the_gradient() {
        for rest in [0.5, 1.5] {
            assert!(hessian_error(&mut triangle_of_springs(rest, Resists::Both), &points(0.0)) < 1e-7);
        }
    }

    #[test]
    fn projection_changes_nothing_in_tension() {
        let mut springs = triangle_of_springs(0.5, Resists::Both);
        springs.begin_step(&points(0.0).map(|p| 0.9 * p), 0.02);
        let mut of = |mode| dense_hessian(&mut springs, &points(0.0), mode);
        assert_eq!(of(HessianMode::Exact), of(HessianMode::PsdProjected));
    }

    #[test]
    fn hessian_is_positive_semi_definite_in_compression() {
        assert!(smallest_eigenvalue(&mut triangle_of_springs(2.0, Resists::Both), &points(0.0)) > -1e-12);
    }

    #[test]
    fn internal_forces_sum_to_zero() {
        assert!(total_force(&triangle_of_springs(0.7, Resists::Both), &points(0.0)).length() < 1e-13);
    }

    /// The force that pulls the ends of a bending spring of rest length 1 together, from one length to another.
    fn bending_force(from: f64, to: f64) -> f64 {
        let spring =
            Spring { ends: [0, 1], rest: 1.0, stiffness: 40.0, damping: 0.01, resists: Resists::Compression };
        let mut springs = Springs::new(vec![spring]);
        springs.begin_step(&[DVec3::ZERO, from * DVec3::X], 0.02);
        let x = [DVec3::ZERO, to * DVec3::X];
        let mut springs = ElementSum::new(springs, 2, Simd::Auto);
        assert!(gradient_error(&springs, &x) < 1e-7 && hessian_error(&mut springs, &x) < 1e-7);
        let mut gradient = [DVec3::ZERO; 2];
        springs.add_gradient(&x, &mut gradient);
        gradient[1].x
    }

    #[test]
    fn bending_springs_damp_only_what_they_resist() {
        let viscosity = 0.01 * 40.0 / 0.02;
        assert_eq!(bending_force(1.1, 1.3), 0.0, "stretched throughout");
        assert_eq!(bending_force(0.9, 1.2), 0.0, "let go");
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(bending_force(0.9, 0.8), 40.0 * -0.2 + viscosity * -0.1), "compressed throughout");
        // Only the part of the motion below the rest length counts.
        assert!(near(bending_force(1.2, 0.9), 40.0 * -0.1 + viscosity * -0.1));
    }

    #[test]
    fn springs_in_local_order_are_the_same_ones_and_share_vertices() {
        let place = |v: u32| DVec3::new(f64::from(v % 64), 0.0, f64::from(v / 64));
        let spring = |ends: [u32; 2]| Spring {
            ends,
            rest: 1.0,
            stiffness: f64::from(ends[0]),
            damping: 0.0,
            resists: Resists::Both,
        };
        let along = (0..64 * 64).filter(|v| v % 64 < 63).map(|v| spring([v, v + 1]));
        let across = (0..63 * 64).map(|v| spring([v, v + 64]));
        let springs: Vec<Spring> = along.chain(across).collect();
        let ordered = in_local_order(&springs, place);
        let ends = |springs: &[Spring]| {
            let mut ends: Vec<[u32; 2]> = springs.iter().map(|s| s.ends).collect();
            ends.sort_unstable();
            ends
        };
        assert_eq!(ends(&ordered), ends(&springs));
        assert!(ordered.iter().all(|s| s.stiffness == f64::from(s.ends[0])));
        for part in ordered.chunks(512) {
            let mut touched = ends(part).into_flattened();
            touched.sort_unstable();
            touched.dedup();
            // Springs are twice as many as vertices; a patch has some more at its border.
            assert!(3 * touched.len() < 2 * 512, "{}", touched.len());
        }
    }

    #[test]
    fn coinciding_ends_stay_finite() {
        let mut springs = triangle_of_springs(1.0, Resists::Both);
        let x = [DVec3::ONE; 3];
        let mut gradient = [DVec3::ZERO; 3];
        springs.add_gradient(&x, &mut gradient);
        assert!(gradient.iter().all(|g| g.is_finite()) && springs.value(&x).is_finite());
        assert!(
            dense_hessian(&mut springs, &x, HessianMode::PsdProjected)
                .iter()
                .flatten()
                .all(|h| h.is_finite())
        );
    }
}
