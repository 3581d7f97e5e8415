//! Builds linear solvers from the names in scenes and on the command line.

use std::sync::Arc;

use glam::DVec3;

use crate::levels::Levels;
use crate::mas::{Mas, MasOptions, Modes};
use crate::multigrid::galerkin::{Galerkin, GalerkinOptions};
use crate::options::{Iteration, LinearKind, LinearOptions};
use crate::{
    BlockJacobi, Chebyshev, ChebyshevOptions, CholeskyFactor, Fill, GaussSeidel, IncompleteCholesky,
    LinearError, LinearSolver, PreconditionedSolver, Preconditioner, Schwarz, SchwarzOptions, Simd,
    StationarySolver,
};

/// The meaning of a linear solver's name.
enum Made {
    Preconditioner(Box<dyn Preconditioner>),
    Solver(Box<dyn LinearSolver>),
}

/// The linear solver of a scene. `positions`, one per unknown, provide locality; without them the
/// matrix's graph does. An error names the option that is wrong, or the kind that cannot be created here.
pub fn linear_solver(
    linear: &LinearOptions,
    positions: Option<Arc<[DVec3]>>,
    simd: Simd,
) -> Result<Box<dyn LinearSolver>, LinearError> {
    Ok(match make(linear, positions, simd)? {
        Made::Solver(solver) => solver,
        Made::Preconditioner(inverse) if linear.kind.iteration() == Iteration::Stationary => {
            Box::new(StationarySolver::new(inverse))
        }
        Made::Preconditioner(inverse) => Box::new(PreconditionedSolver::new(inverse)),
    })
}

/// The preconditioner that a linear solver of a scene provides for conjugate gradients and gradient methods.
pub fn preconditioner(
    linear: &LinearOptions,
    positions: Option<Arc<[DVec3]>>,
    simd: Simd,
) -> Result<Box<dyn Preconditioner>, LinearError> {
    match make(linear, positions, simd)? {
        Made::Preconditioner(inverse) => Ok(inverse),
        Made::Solver(_) => Err(LinearError::InvalidOption(format!(
            "`{}` is a solver, not a preconditioner; choose another `linear`, or `newton`",
            linear.kind.name()
        ))),
    }
}

fn make(linear: &LinearOptions, positions: Option<Arc<[DVec3]>>, simd: Simd) -> Result<Made, LinearError> {
    linear.check()?;
    if positions.is_none() {
        needs_no_positions(linear)?;
    }
    let inverse: Box<dyn Preconditioner> = match linear.kind {
        LinearKind::Cholesky => Box::new(CholeskyFactor::new(positions, simd)),
        LinearKind::Jacobi => Box::new(BlockJacobi::default()),
        LinearKind::Schwarz => Box::new(Schwarz::new(schwarz_options(linear, simd), positions)),
        LinearKind::Ic0 => Box::new(IncompleteCholesky::new(Fill::None, positions)),
        LinearKind::Ict => Box::new(IncompleteCholesky::new(threshold(linear), positions)),
        LinearKind::GaussSeidel => Box::new(GaussSeidel::default()),
        LinearKind::Galerkin | LinearKind::GalerkinCycle => {
            Box::new(Galerkin::new(galerkin_options(linear, positions.as_deref(), simd), positions))
        }
        LinearKind::Mas => Box::new(Mas::new(mas_options(linear, simd), positions)),
        LinearKind::Chebyshev => {
            return Ok(Made::Solver(Box::new(Chebyshev::new(chebyshev_options(linear)))));
        }
    };
    Ok(Made::Preconditioner(inverse))
}

fn threshold(linear: &LinearOptions) -> Fill {
    Fill::Threshold {
        drop_tolerance: linear.drop_tolerance.unwrap_or(1e-2),
        factor: linear.fill.unwrap_or(4.0),
    }
}

/// Rejects options that need positions when the positions of the unknowns are not known.
fn needs_no_positions(linear: &LinearOptions) -> Result<(), LinearError> {
    let affine = |count: Option<u32>| count.is_some_and(|count| count > 3);
    let said = [
        ("first", "names points in space", linear.first.is_some()),
        ("unknowns", "above 3 stands for affine motions", affine(linear.unknowns)),
        ("modes", "above 3 stands for affine motions", affine(linear.modes)),
    ];
    match said.into_iter().find(|(.., said)| *said) {
        Some((option, meaning, _)) => Err(LinearError::InvalidOption(format!(
            "`{option}` of `{}` {meaning}, but the positions of the unknowns are not known; provide them, or leave `{option}` out",
            linear.kind.name()
        ))),
        None => Ok(()),
    }
}

fn schwarz_options(linear: &LinearOptions, simd: Simd) -> SchwarzOptions {
    let default = SchwarzOptions::default();
    SchwarzOptions {
        domain: linear.domain.map_or(default.domain, |nodes| nodes as usize),
        sweeps: linear.sweeps.map_or(default.sweeps, |sweeps| sweeps as usize),
        simd,
    }
}

fn galerkin_options(linear: &LinearOptions, positions: Option<&[DVec3]>, simd: Simd) -> GalerkinOptions {
    let default = GalerkinOptions::default();
    let count = |given: Option<u32>, usual: usize| given.map_or(usual, |count| count as usize);
    GalerkinOptions {
        levels: linear.levels.as_ref().map_or(default.levels, Levels::sizes),
        first: linear.first.iter().flatten().filter_map(|point| nearest(positions?, *point)).collect(),
        affine: linear.unknowns.map_or(default.affine, |unknowns| unknowns == 12),
        smoother: linear.smoother.unwrap_or(default.smoother),
        sweeps: count(linear.sweeps, default.sweeps),
        coarse_sweeps: count(linear.coarse_sweeps, default.coarse_sweeps),
        distances: linear.distances.unwrap_or(default.distances),
        simd,
    }
}

/// The unknown nearest to a point.
fn nearest(positions: &[DVec3], point: DVec3) -> Option<u32> {
    let squares = positions.iter().map(|x| x.distance_squared(point));
    let (unknown, _) = squares.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some(unknown as u32)
}

fn mas_options(linear: &LinearOptions, simd: Simd) -> MasOptions {
    let default = MasOptions::default();
    MasOptions {
        domain: linear.domain.map_or(default.domain, |nodes| nodes as usize),
        modes: linear.modes.and_then(Modes::of_count).unwrap_or(default.modes),
        levels: default.levels,
        partition: linear.partition.unwrap_or(default.partition),
        layout: linear.layout.unwrap_or(default.layout),
        rebuild: linear.rebuild.unwrap_or(default.rebuild),
        simd,
    }
}

fn chebyshev_options(linear: &LinearOptions) -> ChebyshevOptions {
    let default = ChebyshevOptions::default();
    ChebyshevOptions {
        spectral_radius: linear.spectral_radius,
        delay: linear.delay.map_or(default.delay, |delay| delay as usize),
    }
}
