//! Seams: springs of zero length between two boundaries, `E = k/2 |r - s r₀|²` with the gap `r = Σ wᵢ xᵢ` of a stitch, weights that
//! sum to zero, and `s` falling from 1 to 0 while the seam closes. So `gᵢ = k wᵢ (r - s r₀)` and `Hᵢⱼ = k wᵢ wⱼ I`.

use glam::{DMat3, DVec3};

use crate::body::ActiveSeam;
use crate::energy::attachment::point_couplings;
use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;

/// A vertex of one boundary sewn to a point of an edge of the other.
#[derive(Debug, Clone, PartialEq)]
pub struct SeamSpring {
    /// Vertices and weights.
    pub weights: Vec<(u32, f64)>,
    /// Stiffness in N/m.
    pub stiffness: f64,
    /// The gap at the start, in metres.
    pub gap: DVec3,
    /// When it is closed, in seconds.
    pub closes: f64,
}

impl SeamSpring {
    /// The springs of a seam over all unknowns, given the first of each body and where they start.
    pub(crate) fn of_seam<'a>(
        seam: &'a ActiveSeam,
        first_unknown: &'a [u32],
        start: &'a [DVec3],
    ) -> impl Iterator<Item = Self> + 'a {
        let [one, other] = seam.bodies.map(|body| first_unknown[body]);
        seam.stitches.iter().map(move |sewn| {
            let first = sewn.first.map(|(v, w)| (v + one, w));
            let second = sewn.second.map(|(v, w)| (v + other, -w));
            let mut weights: Vec<(u32, f64)> = Vec::with_capacity(4);
            for (v, w) in first.into_iter().chain(second).filter(|(_, w)| *w != 0.0) {
                match weights.iter_mut().find(|(known, _)| *known == v) {
                    Some((_, sum)) => *sum += w,
                    None => weights.push((v, w)),
                }
            }
            let gap = weights.iter().map(|&(v, w)| w * start[v as usize]).sum();
            Self { weights, stiffness: seam.stiffness, gap, closes: seam.closes }
        })
    }
}

/// All stitches of a system.
#[derive(Debug, Clone, Default)]
pub struct Seams {
    stitches: Vec<SeamSpring>,
    /// The fraction of each gap that remains at the end of the step.
    left: Vec<DVec3>,
}

impl Seams {
    /// Seams of these stitches, closed.
    pub fn new(stitches: Vec<SeamSpring>) -> Self {
        let left = vec![DVec3::ZERO; stitches.len()];
        Self { stitches, left }
    }

    /// Starts a step that ends at `time` seconds.
    pub fn begin_step(&mut self, time: f64) {
        for (left, stitch) in self.left.iter_mut().zip(&self.stitches) {
            *left =
                if time < stitch.closes { (1.0 - time / stitch.closes) * stitch.gap } else { DVec3::ZERO };
        }
    }

    /// The largest gap in metres.
    pub fn widest(&self, x: &[DVec3]) -> f64 {
        self.stitches.iter().map(|stitch| gap(stitch, x).length()).fold(0.0, f64::max)
    }

    fn offsets<'a>(&'a self, x: &'a [DVec3]) -> impl Iterator<Item = (&'a SeamSpring, DVec3)> {
        self.stitches.iter().zip(&self.left).map(|(stitch, left)| (stitch, gap(stitch, x) - *left))
    }
}

fn gap(stitch: &SeamSpring, x: &[DVec3]) -> DVec3 {
    stitch.weights.iter().map(|&(v, w)| w * x[v as usize]).sum()
}

impl Energy for Seams {
    fn value(&self, x: &[DVec3]) -> f64 {
        self.offsets(x).map(|(stitch, off)| 0.5 * stitch.stiffness * off.length_squared()).sum()
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        for (stitch, off) in self.offsets(x) {
            for &(v, w) in &stitch.weights {
                gradient[v as usize] += stitch.stiffness * w * off;
            }
        }
    }

    fn couplings(&self, pair: &mut dyn FnMut(u32, u32)) {
        self.stitches.iter().for_each(|stitch| point_couplings(&stitch.weights, pair));
    }

    fn point_hessians(&self, _x: &[DVec3], _curvature: HessianMode, visit: PointVisitor<'_>) {
        for stitch in &self.stitches {
            visit(&stitch.weights, DMat3::from_diagonal(DVec3::splat(stitch.stiffness)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::conformance::*;

    fn seams() -> (Seams, Vec<DVec3>) {
        let x = [[0.1, 0.2, 0.3], [1.0, -1.0, 0.5], [-0.4, 0.6, 2.0], [0.3, 0.3, 0.3]].map(DVec3::from);
        let stitch = |weights: &[(u32, f64)], closes: f64| {
            let gap = weights.iter().map(|&(v, w)| w * x[v as usize]).sum();
            SeamSpring { weights: weights.to_vec(), stiffness: 7.0, gap, closes }
        };
        let stitches =
            vec![stitch(&[(0, 1.0), (1, -0.3), (2, -0.7)], 2.0), stitch(&[(3, 1.0), (1, -1.0)], 0.0)];
        (Seams::new(stitches), x.to_vec())
    }

    #[test]
    fn derivatives_are_exact_and_forces_sum_to_zero() {
        let (mut seams, x) = seams();
        seams.begin_step(0.5);
        assert!(gradient_error(&seams, &x) < 1e-8);
        assert!(hessian_error(&mut seams, &x) < 1e-8);
        assert!(smallest_eigenvalue(&mut seams, &x) > -1e-14);
        assert!(total_force(&seams, &x).length() < 1e-14);
    }

    #[test]
    fn gaps_close_evenly_and_stay_closed() {
        let (mut seams, x) = seams();
        // Initially nothing pulls except the seam that is closed from the start.
        seams.begin_step(0.0);
        let closed = 0.5 * 7.0 * x[3].distance_squared(x[1]);
        assert!((seams.value(&x) - closed).abs() < 1e-14);
        let mut before = 0.0;
        for time in [0.5, 1.0, 2.0, 3.0] {
            seams.begin_step(time);
            let now = seams.value(&x);
            assert!(if time > 2.0 { now == before } else { now > before });
            before = now;
        }
    }
}
