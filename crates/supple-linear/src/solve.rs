//! A system of scalars from matrix to solution, for those who have one system to solve.

use std::convert::Infallible;
use std::str::FromStr;
use std::time::{Duration, Instant};

use glam::DVec3;

use crate::io::{SparseMatrix, System};
use crate::{
    HistoryPoint, LinearError, LinearKind, LinearOptions, LinearTermination, SolveOutcome, StopRule,
    linear_solver,
};
use supple_core::simd::Simd;

/// Residual at which [`solve`] stops unless told otherwise, relative to the right-hand side.
const TOLERANCE: f64 = 1e-10;

/// Iterations after which it stops unless told otherwise.
const MAX_ITERATIONS: usize = 10_000;

/// How [`solve`] solves. A name, a [`LinearKind`] or [`LinearOptions`] converts into one with everything else at its default.
#[derive(Debug, Clone)]
pub struct SolveOptions {
    /// The solver and its options.
    pub linear: LinearOptions,
    /// When to stop \[default: at a relative residual of 1e-10, or after 10000 iterations\]. `tolerance` and `max_iterations` of the
    /// [`LinearOptions`] that these options are created from are kept.
    pub stop: StopRule,
    /// Where the unknowns are: a point for each row, or for each three consecutive rows. Multilevel solvers are better with them
    /// \[default: the matrix's graph is used\].
    pub positions: Option<Vec<DVec3>>,
    /// The instruction set \[default: the best of the machine\].
    pub simd: Simd,
}

impl Default for SolveOptions {
    fn default() -> Self {
        LinearOptions::default().into()
    }
}

impl From<LinearOptions> for SolveOptions {
    fn from(linear: LinearOptions) -> Self {
        let iterations = linear.max_iterations.map_or(MAX_ITERATIONS, |most| most as usize);
        let stop = StopRule::tolerance(linear.tolerance.unwrap_or(TOLERANCE), iterations);
        Self { linear, stop, positions: None, simd: Simd::Auto }
    }
}

impl From<LinearKind> for SolveOptions {
    fn from(kind: LinearKind) -> Self {
        LinearOptions::from(kind).into()
    }
}

impl TryFrom<&str> for SolveOptions {
    type Error = LinearError;

    fn try_from(name: &str) -> Result<Self, LinearError> {
        name.parse::<LinearKind>().map(Self::from)
    }
}

impl FromStr for LinearKind {
    type Err = LinearError;

    fn from_str(name: &str) -> Result<Self, LinearError> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| LinearError::UnknownSolver { name: name.to_owned() })
    }
}

impl From<Infallible> for LinearError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// A solution and how it was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Solution {
    /// The unknowns.
    pub x: Vec<f64>,
    /// How they were found.
    pub report: SolveReport,
}

/// How a solution was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SolveReport {
    /// Number of iterations.
    pub iterations: usize,
    /// `|b - A x| / |b|`, computed from the solution.
    pub relative_residual: f64,
    /// Whether the residual is small enough.
    pub converged: bool,
    /// Why the iteration ended.
    pub end: LinearTermination,
    /// Why `x` is unusable; `None` if it is an improvement over zero, converged or not.
    pub problem: Option<&'static str>,
    /// Time to group the matrix and set up the solver.
    pub setup_time: Duration,
    /// Time for the solve itself.
    pub solve_time: Duration,
    /// Memory of the solver in bytes, excluding the matrix.
    pub bytes: usize,
    /// The residual at the start and after every iteration.
    pub history: Vec<HistoryPoint>,
}

/// Solves `A x = b` for a symmetric positive-definite matrix of scalars of any size:
///
/// ```
/// use supple_linear::{SparseMatrix, solve};
///
/// # fn main() -> Result<(), supple_linear::LinearError> {
/// let matrix = SparseMatrix::from_triplets(2, [(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)])?;
/// let solution = solve(&matrix, &[1.0, 1.0], "mas")?;
/// assert!(solution.report.converged && (solution.x[0] - 1.0).abs() < 1e-9);
/// # Ok(())
/// # }
/// ```
///
/// The third argument is the name of a solver, a [`LinearKind`], [`LinearOptions`], or [`SolveOptions`] with everything.
///
/// # Errors
/// If the options, the positions or the matrix are invalid. Failure to converge is not an error: see [`SolveReport`].
pub fn solve<O>(matrix: &SparseMatrix, rhs: &[f64], options: O) -> Result<Solution, LinearError>
where
    O: TryInto<SolveOptions>,
    LinearError: From<O::Error>,
{
    solve_with(matrix, rhs, options.try_into()?)
}

fn solve_with(matrix: &SparseMatrix, rhs: &[f64], options: SolveOptions) -> Result<Solution, LinearError> {
    let SolveOptions { linear, stop, positions, simd } = options;
    if rhs.len() != matrix.rows() {
        return Err(LinearError::InvalidRhs { entries: rhs.len(), rows: matrix.rows() });
    }
    if let Some((index, &value)) = rhs.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        return Err(LinearError::RhsNotFinite { index, value });
    }
    if stop.tolerance.is_nan() || stop.tolerance < 0.0 {
        let problem = format!("`tolerance` is {}; it must be 0 or more", stop.tolerance);
        return Err(LinearError::InvalidOption(problem));
    }
    let started = Instant::now();
    let system = System::with_points(matrix, positions)?;
    let mut solver = linear_solver(&linear, system.positions.clone(), simd)?;
    solver.prepare(&system.matrix)?;
    let setup_time = started.elapsed();
    let mut blocks = vec![DVec3::ZERO; system.matrix.pattern().unknowns()];
    let outcome = solver.solve(&system.matrix, &system.gather(rhs), &mut blocks, &stop);
    let x = system.scatter(&blocks);
    let solve_time = started.elapsed() - setup_time;
    let SolveOutcome { iterations, end, .. } = outcome;
    let report = SolveReport {
        iterations,
        relative_residual: matrix.relative_residual(&x, rhs),
        converged: outcome.converged(),
        end,
        problem: outcome.problem(),
        setup_time,
        solve_time,
        bytes: solver.bytes(),
        history: solver.history().to_vec(),
    };
    Ok(Solution { x, report })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of `n` springs between two walls, and the right-hand side of the solution 1, 2, 3 …
    fn chain(n: u32) -> (SparseMatrix, Vec<f64>) {
        let diagonal = (0..n).map(|i| (i, i, 2.5));
        let sides = (1..n).flat_map(|i| [(i - 1, i, -1.0), (i, i - 1, -1.0)]);
        let matrix = SparseMatrix::from_triplets(n as usize, diagonal.chain(sides)).unwrap();
        let x = |i: u32| if i < n { f64::from(i) + 1.0 } else { 0.0 };
        let rhs = (0..n).map(|i| 2.5 * x(i) - x(i + 1) - i.checked_sub(1).map_or(0.0, x)).collect();
        (matrix, rhs)
    }

    #[test]
    fn every_solver_solves_systems_of_any_size() {
        for n in [1, 2, 3, 100] {
            let (matrix, rhs) = chain(n);
            for kind in LinearKind::ALL {
                let Solution { x, report } = solve(&matrix, &rhs, kind.name()).unwrap();
                assert!(report.converged && report.relative_residual < 1e-9, "{kind:?}, {n}: {report:?}");
                let error = x.iter().zip(1..).map(|(x, i)| (x - f64::from(i)).abs()).fold(0.0, f64::max);
                assert!(error < 1e-6, "{kind:?}, {n}: {error}");
            }
        }
    }

    #[test]
    fn options_and_positions_are_taken_over() {
        let (matrix, rhs) = chain(50);
        let linear =
            LinearOptions { max_iterations: Some(1), tolerance: Some(1e-12), ..LinearKind::Jacobi.into() };
        let report = solve(&matrix, &rhs, linear).unwrap().report;
        assert_eq!((report.iterations, report.converged), (1, false));
        assert_eq!(report.end, LinearTermination::Iterations);
        let positions = (0..50).map(|i| DVec3::X * f64::from(i)).collect();
        let options = SolveOptions { positions: Some(positions), ..LinearKind::Galerkin.into() };
        assert!(solve(&matrix, &rhs, options).unwrap().report.converged);
    }

    #[test]
    fn errors_name_their_kind() {
        let (matrix, rhs) = chain(4);
        let error = solve(&matrix, &rhs, "multigrid").unwrap_err();
        assert!(matches!(error, LinearError::UnknownSolver { .. }) && error.to_string().contains("mas"));
        let error = solve(&matrix, &rhs[1..], "mas").unwrap_err();
        assert_eq!(error, LinearError::InvalidRhs { entries: 3, rows: 4 });
        let options = SolveOptions { positions: Some(Vec::new()), ..SolveOptions::default() };
        assert!(matches!(solve(&matrix, &rhs, options), Err(LinearError::InvalidPositions(_))));
        let error = solve(&matrix, &[1.0, 2.0, f64::INFINITY, 4.0], "mas").unwrap_err();
        assert_eq!(error, LinearError::RhsNotFinite { index: 2, value: f64::INFINITY });
        let indefinite = SparseMatrix::from_triplets(1, [(0, 0, -1.0)]).unwrap();
        assert!(solve(&indefinite, &[1.0], LinearKind::Jacobi).is_err());
    }
}
