//! The Chebyshev semi-iterative method over block Jacobi (Wang 2015, algorithm 1):
//!
//! ```text
//! x_{k+1} = ω_{k+1} (γ D⁻¹ (b - A x_k) + x_k - x_{k-1}) + x_{k-1}
//! ω = 1 before the delay S,   ω_S = 2 / (2 - ρ²),   ω_{k+1} = 4 / (4 - ρ² ω_k)
//! ```
//!
//! Wang tunes the spectral radius `ρ` and the under-relaxation `γ` by hand. Here both come from the spectrum `[λ, Λ]`
//! of `D⁻¹ A` found by a short Lanczos run: `γ = 2 / (λ + Λ)`, `ρ = (Λ - λ) / (Λ + λ)`; a given `ρ` keeps
//! `γ = (1 + ρ) / Λ`. Acceleration starts after `S = 10` iterations, as published.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::krylov::lanczos::Spectrum;
use crate::relaxation::stationary::Stationary;
use crate::solver::{SolveOutcome, StopRule};
use crate::vectors::CHUNK;
use crate::{
    BlockJacobi, HistoryPoint, LinearError, LinearOperator, LinearSolver, Preconditioner, SolverState,
};

/// Lanczos steps for the spectrum.
const STEPS: usize = 60;

/// Safety factor: the largest eigenvalue is approached from below, and the iteration must not have one above the bound.
const MARGIN: f64 = 1.02;

/// Options of [`Chebyshev`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChebyshevOptions {
    /// The spectral radius `ρ` of the under-relaxed Jacobi iteration; found by Lanczos if not given.
    pub spectral_radius: Option<f64>,
    /// Plain Jacobi iterations before the acceleration, `S`.
    pub delay: usize,
}

impl Default for ChebyshevOptions {
    fn default() -> Self {
        Self { spectral_radius: None, delay: 10 }
    }
}

/// Chebyshev iteration as a stand-alone solver.
#[derive(Debug, Clone, Default)]
pub struct Chebyshev {
    options: ChebyshevOptions,
    jacobi: BlockJacobi,
    spectrum: Spectrum,
    relaxation: f64,
    radius: f64,
    before: Vec<DVec3>,
    iteration: Stationary,
}

impl Chebyshev {
    /// With the given options.
    pub fn new(options: ChebyshevOptions) -> Self {
        Self { options, ..Self::default() }
    }

    fn weight(&self, iteration: usize, weight: f64) -> f64 {
        let square = self.radius * self.radius;
        match iteration.cmp(&self.options.delay) {
            std::cmp::Ordering::Less => 1.0,
            std::cmp::Ordering::Equal => 2.0 / (2.0 - square),
            std::cmp::Ordering::Greater => 4.0 / (4.0 - square * weight),
        }
    }
}

impl LinearSolver for Chebyshev {
    fn prepare(&mut self, matrix: &dyn LinearOperator) -> Result<(), LinearError> {
        self.jacobi.update(matrix)?;
        let spectrum = self.spectrum.extremes(matrix, &self.jacobi, STEPS);
        let [smallest, largest] = spectrum.ok_or(LinearError::NotPositiveDefinite {
            solver: "chebyshev",
            found: "the matrix is not positive definite, or not finite",
        })?;
        let largest = MARGIN * largest;
        self.radius = self.options.spectral_radius.unwrap_or((largest - smallest) / (largest + smallest));
        self.relaxation = (1.0 + self.radius) / largest;
        Ok(())
    }

    fn solve(
        &mut self,
        matrix: &dyn LinearOperator,
        rhs: &[DVec3],
        x: &mut [DVec3],
        stop: &StopRule,
    ) -> SolveOutcome {
        self.before.resize(x.len(), DVec3::ZERO);
        let (mut iteration, mut before) =
            (std::mem::take(&mut self.iteration), std::mem::take(&mut self.before));
        let mut weight = 1.0;
        let outcome = iteration.solve(matrix, rhs, x, stop, |k, r, x, z| {
            if k == 0 {
                before.copy_from_slice(x);
            }
            weight = self.weight(k, weight);
            self.jacobi.apply(r, z);
            accelerate(weight, self.relaxation, z, x, &mut before);
        });
        (self.iteration, self.before) = (iteration, before);
        outcome
    }

    fn history(&self) -> &[HistoryPoint] {
        self.iteration.history()
    }
}

impl SolverState for Chebyshev {
    fn bytes(&self) -> usize {
        self.jacobi.bytes() + self.spectrum.bytes() + self.iteration.bytes() + 24 * self.before.len()
    }
}

fn accelerate(weight: f64, relaxation: f64, z: &[DVec3], x: &mut [DVec3], before: &mut [DVec3]) {
    let vectors = x.par_chunks_mut(CHUNK).zip(before.par_chunks_mut(CHUNK)).zip(z.par_chunks(CHUNK));
    vectors.for_each(|((x, before), z)| {
        for ((x, before), z) in x.iter_mut().zip(before.iter_mut()).zip(z) {
            let next = weight * (relaxation * *z + *x - *before) + *before;
            (*before, *x) = (*x, next);
        }
    });
}
