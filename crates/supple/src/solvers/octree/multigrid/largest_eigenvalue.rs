//! The largest eigenvalue of `D⁻¹ A` by Lanczos' method in the inner product of `D`. Damped Jacobi, and with it the whole
//! V-cycle, is positive definite where the damping times this is below 2 on every level.

#![allow(clippy::needless_range_loop, reason = "components are counted as in kernels")]

use supple_core::parallel::prelude::*;

use crate::solvers::octree::element::wide::Real;

/// Nodes processed by one task.
const CHUNK: usize = 4096;

/// Steps. They find the largest eigenvalue to a few percent, from below.
const STEPS: usize = 15;

/// The largest eigenvalue of `D⁻¹ A` with `inverse = D⁻¹`; nodes where that is zero are left out. `work` are three vectors of
/// the same length, `apply` is `y = A x`.
pub(crate) fn largest_eigenvalue(
    inverse: &[[f32; 3]],
    work: [&mut Vec<[f32; 3]>; 3],
    mut apply: impl FnMut(&[[f32; 3]], &mut [[f32; 3]]),
) -> f64 {
    let [q, before, w] = work;
    let free = |node: usize, c: usize| inverse[node][c] > 0.0;
    for (node, q) in q.iter_mut().enumerate() {
        *q = std::array::from_fn(|c| if free(node, c) { noise(3 * node + c) } else { 0.0 });
    }
    before.fill([0.0; 3]);
    let weigh = |a: &[[f32; 3]], b: &[[f32; 3]]| sum(inverse, a, b);
    let mut beta = weigh(q, q).sqrt();
    if beta == 0.0 {
        return 1.0;
    }
    scale(q, 1.0 / beta);
    beta = 0.0;
    let (mut diagonal, mut off_diagonal) = ([0.0; STEPS], [0.0; STEPS]);
    let mut count = 0;
    for step in 0..STEPS {
        apply(q, w);
        let (down, back) = (inverse.par_chunks(CHUNK), before.par_chunks(CHUNK));
        w.par_chunks_mut(CHUNK).zip(down).zip(back).for_each(|((w, inverse), before)| {
            for ((w, inverse), before) in w.iter_mut().zip(inverse).zip(before) {
                for c in 0..3 {
                    w[c] = w[c] * inverse[c] - beta as f32 * before[c];
                }
            }
        });
        let alpha = weigh(w, q);
        w.par_chunks_mut(CHUNK).zip(q.par_chunks(CHUNK)).for_each(|(w, q)| {
            for (w, q) in w.iter_mut().zip(q) {
                for c in 0..3 {
                    w[c] -= alpha as f32 * q[c];
                }
            }
        });
        diagonal[step] = alpha;
        count = step + 1;
        let next = weigh(w, w).sqrt();
        if next <= 1e-6 * alpha.abs() {
            break;
        }
        off_diagonal[step] = next;
        scale(w, 1.0 / next);
        std::mem::swap(before, q);
        std::mem::swap(q, w);
        beta = next;
    }
    largest_of_tridiagonal(&diagonal[..count], &off_diagonal[..count - 1])
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

/// By bisection on the number of negative pivots of `T - θ I`.
fn largest_of_tridiagonal(diagonal: &[f64], off_diagonal: &[f64]) -> f64 {
    let reach = |i: usize| {
        off_diagonal.get(i).copied().unwrap_or(0.0) + if i == 0 { 0.0 } else { off_diagonal[i - 1] }
    };
    let (mut low, mut high) = (0.0, (0..diagonal.len()).map(|i| diagonal[i] + reach(i)).fold(0.0, f64::max));
    let all_below = |at: f64| {
        let mut pivot = 1.0;
        diagonal.iter().enumerate().all(|(i, d)| {
            let coupling = if i == 0 { 0.0 } else { off_diagonal[i - 1] * off_diagonal[i - 1] };
            pivot = d - at - coupling / pivot;
            pivot < 0.0
        })
    };
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if all_below(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}
