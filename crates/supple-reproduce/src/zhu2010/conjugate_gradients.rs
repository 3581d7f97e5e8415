//! Conjugate gradients on the staggered lattice without pressures (Zhu 2010, figure 11), scaled by the diagonal: the same
//! kernels as the cycle's, in double precision.

use supple::solvers::staggered::{LatticeLevel, PRESSURE};
use supple_core::parallel::prelude::*;

/// Entries per task.
const CHUNK: usize = 1 << 14;

/// The symmetric and definite operator `-L + G D^-1 G^T` on displacements.
struct Eliminated<'a> {
    level: &'a LatticeLevel,
    /// The inverse of each pressure's own coefficient.
    inverse: Vec<f64>,
    zero: Vec<f64>,
}

impl<'a> Eliminated<'a> {
    fn new(level: &'a LatticeLevel) -> Self {
        let len = level.lattice().len();
        let mut inverse = vec![0.0; len];
        let operator = level.operator();
        let own = operator.offset(PRESSURE, 0);
        for cell in level.unknown_runs().flatten().filter(|entry| *entry >= PRESSURE * len) {
            inverse[cell - PRESSURE * len] = 1.0 / operator.row(PRESSURE, cell - PRESSURE * len).at(own);
        }
        Self { level, inverse, zero: vec![0.0; 4 * len] }
    }

    /// `out = A x`; the pressures of `x` are set from its displacements.
    fn apply(&self, x: &mut [f64], out: &mut [f64]) {
        let pressures = PRESSURE * self.inverse.len();
        x[pressures..].fill(0.0);
        self.level.residual_in(PRESSURE..PRESSURE + 1, x, &self.zero, out);
        update(&mut x[pressures..], &out[pressures..], &self.inverse, |_, r, inverse| r * inverse);
        self.level.residual_in(0..PRESSURE, x, &self.zero, out);
    }

    /// The inverse of the diagonal, zero where there is no unknown.
    fn inverse_diagonal(&self) -> Vec<f64> {
        let len = self.inverse.len();
        let operator = self.level.operator();
        let mut diagonal = vec![0.0; PRESSURE * len];
        for entry in self.level.unknown_runs().flatten().filter(|entry| *entry < PRESSURE * len) {
            let (field, cell) = (entry / len, entry % len);
            let row = operator.row(field, cell);
            let of_pressure = |&(offset, value): &(i64, f64)| {
                let (of, at) = operator.place(cell, offset);
                if of == PRESSURE { value * value * self.inverse[at] } else { 0.0 }
            };
            let sum: f64 = row.entries.iter().map(of_pressure).sum();
            let own = sum - row.at(operator.offset(field, 0));
            diagonal[entry] = if own > 0.0 { 1.0 / own } else { 0.0 };
        }
        diagonal
    }
}

/// Solves for displacements from zero and returns the residual norms, down to `tolerance` times the first.
pub(super) fn conjugate_gradients(level: &LatticeLevel, b: &[f64], tolerance: f64, most: usize) -> Vec<f64> {
    let operator = Eliminated::new(level);
    let scale = operator.inverse_diagonal();
    let n = scale.len();
    let mut r: Vec<f64> = b[..n].iter().map(|b| -b).collect();
    let mut u = vec![0.0; n];
    let mut direction = vec![0.0; b.len()];
    let mut product = vec![0.0; b.len()];
    let mut norms = vec![sum(&r, &r, |r, _| r * r).sqrt()];
    let mut before = f64::INFINITY;
    while norms.len() <= most && norms[norms.len() - 1] > tolerance * norms[0] {
        let weight = sum(&r, &scale, |r, scale| r * r * scale);
        let keep = weight / before;
        update(&mut direction[..n], &r, &scale, |d, r, scale| r * scale + keep * d);
        operator.apply(&mut direction, &mut product);
        let step = weight / sum(&direction[..n], &product[..n], |d, p| d * p);
        update(&mut u, &direction[..n], &direction[..n], |u, d, _| u + step * d);
        update(&mut r, &product[..n], &product[..n], |r, p, _| r - step * p);
        before = weight;
        norms.push(sum(&r, &r, |r, _| r * r).sqrt());
    }
    norms
}

fn sum(a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64 + Sync) -> f64 {
    let chunks = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK));
    let sums: Vec<f64> = chunks.map(|(a, b)| a.iter().zip(b).map(|(a, b)| of(*a, *b)).sum()).collect();
    sums.iter().sum()
}

fn update(a: &mut [f64], b: &[f64], c: &[f64], of: impl Fn(f64, f64, f64) -> f64 + Sync) {
    let chunks = a.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK)).zip(c.par_chunks(CHUNK));
    chunks.for_each(|((a, b), c)| {
        a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = of(*a, *b, *c));
    });
}

#[cfg(test)]
mod tests {
    use supple::linear::Simd;
    use supple::solvers::staggered::{
        Cell, Coefficients, GmresWorkspace, Hierarchy, Lattice, LatticeCycleOptions, Limits, solve,
    };

    use super::*;

    /// Both methods solve the same equations: the right-hand side computed from one's solution is that of the other.
    #[test]
    fn it_finds_what_the_cycles_find() {
        let lattice = Lattice::new([8; 3], |[x, ..]| if x == -1 { Cell::Dirichlet } else { Cell::Interior });
        let len = lattice.len();
        let mut b = vec![0.0; 4 * len];
        (lattice.plane()..len).filter(|c| lattice.is_unknown(1, *c)).for_each(|c| b[len + c] = 1.0);
        let of = Coefficients::of_poisson_ratio(0.4);
        let mut hierarchy = Hierarchy::new(lattice, of, LatticeCycleOptions::default(), Simd::Auto);
        let mut u = vec![0.0; b.len()];
        let limits = Limits { tolerance: 1e-10, ..Limits::default() };
        solve(&mut hierarchy, (&mut u, &b), &limits, &mut GmresWorkspace::default(), None);
        let operator = Eliminated::new(hierarchy.finest());
        let mut product = vec![0.0; b.len()];
        operator.apply(&mut u, &mut product);
        for run in hierarchy.finest().unknown_runs().filter(|run| run.end <= 3 * len) {
            run.for_each(|entry| assert!((product[entry] + b[entry]).abs() < 1e-7));
        }
        let norms = conjugate_gradients(hierarchy.finest(), &b, 1e-8, 1000);
        assert!(norms[norms.len() - 1] <= 1e-8 * norms[0] && norms.len() > 20, "{}", norms.len());
    }
}
