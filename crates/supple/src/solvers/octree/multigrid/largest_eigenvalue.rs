//! The largest eigenvalue of `D⁻¹ A` by Lanczos' method, in single precision. Damped Jacobi, and with it the whole
//! V-cycle, is positive definite where the damping times this is below 2 on every level.

#![allow(clippy::needless_range_loop, reason = "components are indexed as in other kernels")]

use supple_core::parallel::prelude::*;

use crate::solvers::octree::element::wide::Real;
use supple_linear::{LanczosVectors, Tridiagonal};

/// Nodes processed by one task.
const CHUNK: usize = 4096;

/// Number of Lanczos steps. They find the largest eigenvalue to a few percent, from below.
const STEPS: usize = 15;

/// Off-diagonal entries below this fraction of the diagonal are rounding errors of single precision.
const INVARIANT: f64 = 1e-6;

/// The largest eigenvalue of `D⁻¹ A` with `inverse = D⁻¹`; nodes where that is zero are left out. `work` are three vectors of
/// the same length, `product` is `y = A x`.
pub(crate) fn largest_eigenvalue(
    inverse: &[[f32; 3]],
    [q, before, w]: [&mut Vec<[f32; 3]>; 3],
    tridiagonal: &mut Tridiagonal,
    product: impl FnMut(&[[f32; 3]], &mut [[f32; 3]]),
) -> f64 {
    let mut vectors = SingleVectors { inverse, q, before, w, product };
    if tridiagonal.build(&mut vectors, STEPS, INVARIANT) { tridiagonal.largest() } else { 1.0 }
}

/// The vectors of Lanczos' method in single precision, with a diagonal `D`.
struct SingleVectors<'a, F> {
    inverse: &'a [[f32; 3]],
    q: &'a mut Vec<[f32; 3]>,
    before: &'a mut Vec<[f32; 3]>,
    w: &'a mut Vec<[f32; 3]>,
    product: F,
}

impl<F: FnMut(&[[f32; 3]], &mut [[f32; 3]])> LanczosVectors for SingleVectors<'_, F> {
    fn start(&mut self) -> f64 {
        let free = |node: usize, c: usize| self.inverse[node][c] > 0.0;
        for (node, q) in self.q.iter_mut().enumerate() {
            *q = std::array::from_fn(|c| if free(node, c) { noise(3 * node + c) } else { 0.0 });
        }
        self.before.fill([0.0; 3]);
        sum(self.inverse, self.q, self.q)
    }

    fn scale(&mut self, factor: f64) {
        scale(self.q, factor);
    }

    fn apply(&mut self, beta: f64) -> f64 {
        let Self { inverse, q, before, w, product } = self;
        product(q, w);
        let (down, back) = (inverse.par_chunks(CHUNK), before.par_chunks(CHUNK));
        w.par_chunks_mut(CHUNK).zip(down).zip(back).for_each(|((w, inverse), before)| {
            for ((w, inverse), before) in w.iter_mut().zip(inverse).zip(before) {
                for c in 0..3 {
                    w[c] = w[c] * inverse[c] - beta as f32 * before[c];
                }
            }
        });
        sum(inverse, w, q)
    }

    fn orthogonalise(&mut self, alpha: f64) -> f64 {
        let Self { inverse, q, w, .. } = self;
        w.par_chunks_mut(CHUNK).zip(q.par_chunks(CHUNK)).for_each(|(w, q)| {
            for (w, q) in w.iter_mut().zip(q) {
                for c in 0..3 {
                    w[c] -= alpha as f32 * q[c];
                }
            }
        });
        sum(inverse, w, w)
    }

    fn advance(&mut self, factor: f64) {
        scale(self.w, factor);
        std::mem::swap(self.before, self.q);
        std::mem::swap(self.q, self.w);
    }
}

/// `aᵀ D b`, summed pairwise in a tree whose shape depends on the length alone.
fn sum(inverse: &[[f32; 3]], a: &[[f32; 3]], b: &[[f32; 3]]) -> f64 {
    if inverse.len() > CHUNK {
        let middle = inverse.len() / 2;
        let (low, high) = supple_core::parallel::join(
            || sum(&inverse[..middle], &a[..middle], &b[..middle]),
            || sum(&inverse[middle..], &a[middle..], &b[middle..]),
        );
        return low + high;
    }
    let of_component = |i: usize, c: usize| match inverse[i][c] > 0.0 {
        true => a[i][c].double() * b[i][c].double() / inverse[i][c].double(),
        false => 0.0,
    };
    (0..inverse.len()).map(|i| of_component(i, 0) + of_component(i, 1) + of_component(i, 2)).sum()
}

fn scale(v: &mut [[f32; 3]], by: f64) {
    v.par_chunks_mut(CHUNK).for_each(|v| v.iter_mut().flatten().for_each(|entry| *entry *= by as f32));
}

/// A number in -1 to 1 that depends on its index alone (the output function of splitmix64).
fn noise(place: usize) -> f32 {
    let mut z = (place as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}
