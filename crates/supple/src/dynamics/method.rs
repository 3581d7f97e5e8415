//! Builds a nonlinear method from a scene's `[solver]`.

use std::sync::Arc;

use glam::DVec3;

use super::optimize::projective::Global;
use super::optimize::{
    AcceleratedGradient, Lbfgs, MinimiseError, Minimiser, Newton, NonlinearCg, Projective, Refresh,
};
use crate::scene::{LinearKind, Method, Solver};
use supple_linear::{
    BlockJacobi, BlockMatrix, BlockPattern, Iteration, LinearSolver, PreconditionedSolver, ScalarCholesky,
    Simd, StopRule, linear_solver, preconditioner,
};

/// Relative residual of an iterative solver under projective dynamics if the scene does not specify one.
const INNER_TOLERANCE: f64 = 1e-2;
/// Its largest number of iterations.
const INNER_ITERATIONS: u32 = 1000;
/// Pairs stored by L-BFGS.
const MEMORY: usize = 8;
/// Iterations between two preconditioners of accelerated gradient descent (Wang and Yang 2016, section 5).
const GRADIENT_REFRESH: u32 = 32;

/// What a method knows about the unknowns before it gets a matrix.
pub(crate) struct Nodes {
    /// Which are coupled.
    pub(crate) pattern: Arc<BlockPattern>,
    /// The number of vertices, including fixed ones.
    pub(crate) vertices: usize,
    /// Their start positions, for locality.
    pub(crate) positions: Arc<[DVec3]>,
    /// The matrix at the start, for solvers whose structure follows the stiffness.
    pub(crate) at_start: Option<BlockMatrix>,
}

/// The method of a scene.
pub(crate) fn minimiser(
    solver: &Solver,
    nodes: Nodes,
    simd: Simd,
) -> Result<Box<dyn Minimiser>, MinimiseError> {
    let linear = &solver.linear();
    let refresh = |usual: u32| {
        let usual = linear.kind.refresh().unwrap_or(usual);
        // A limit on vertex displacements or steps replaces the default interval.
        let otherwise = solver.refresh_moved.is_some() || solver.refresh_steps.is_some();
        let usual = if otherwise { u32::MAX } else { usual };
        Refresh {
            every: solver.refresh.unwrap_or(usual),
            moved: solver.refresh_moved,
            steps: solver.refresh_steps.unwrap_or(1),
        }
    };
    // A matrix that is rejected at the start will be rejected again when it matters; the structure is chosen.
    let linear_solver = || -> Result<_, MinimiseError> {
        let mut made = linear_solver(linear, Some(nodes.positions.clone()), simd)?;
        if let Some(matrix) = &nodes.at_start {
            made.prepare(matrix).ok();
        }
        Ok(made)
    };
    let preconditioner = || -> Result<_, MinimiseError> {
        let mut made = preconditioner(linear, Some(nodes.positions.clone()), simd)?;
        if let Some(matrix) = &nodes.at_start {
            made.update(matrix).ok();
        }
        Ok(made)
    };
    let (pattern, vertices, positions) = (nodes.pattern.clone(), nodes.vertices, &nodes.positions);
    Ok(match solver.method {
        method if method == Method::NEWTON => {
            let newton = Newton::new(pattern, vertices, linear_solver()?, inner_rule(solver), refresh(1));
            let newton = match linear.kind.iteration() {
                Iteration::ConjugateGradients => newton,
                Iteration::Stationary | Iteration::Own => newton.with_tight_solver(conjugate_gradients()),
            };
            let is_fixed = linear.tolerance.is_some() || linear.kind == LinearKind::Cholesky;
            Box::new(if is_fixed { newton } else { newton.with_forcing() })
        }
        method if method == Method::LBFGS => {
            Box::new(Lbfgs::new(pattern, vertices, preconditioner()?, refresh(u32::MAX), MEMORY))
        }
        method if method == Method::NONLINEAR_CG => {
            Box::new(NonlinearCg::new(pattern, vertices, preconditioner()?, refresh(u32::MAX)))
        }
        method if method == Method::ACCELERATED_GRADIENT => {
            let (refresh, radius) = (refresh(GRADIENT_REFRESH), solver.spectral_radius.unwrap_or(0.99));
            Box::new(AcceleratedGradient::new(pattern, vertices, preconditioner()?, refresh, radius))
        }
        method if method == Method::PROJECTIVE => {
            let factor = match linear.kind {
                LinearKind::Cholesky => {
                    Some(Box::new(ScalarCholesky::new(pattern.clone(), Some(positions), simd)?))
                }
                _ => None,
            };
            let global = Global { factor, solver: linear_solver()?, stop: inner_rule(solver) };
            let contact_matrix = solver.contact_matrix.unwrap_or_default();
            Box::new(Projective::new(pattern, vertices, global, contact_matrix))
        }
        other => return Err(MinimiseError::UnknownMethod { method: other.name().to_owned() }),
    })
}

/// Conjugate gradients with block Jacobi, which need no preparation to speak of.
fn conjugate_gradients() -> Box<dyn LinearSolver> {
    Box::new(PreconditionedSolver::new(BlockJacobi::default()))
}

fn inner_rule(solver: &Solver) -> StopRule {
    let linear = solver.linear();
    let direct = linear.kind == LinearKind::Cholesky;
    let tolerance = linear.tolerance.unwrap_or(if direct { 1e-9 } else { INNER_TOLERANCE });
    StopRule::tolerance(tolerance, linear.max_iterations.unwrap_or(INNER_ITERATIONS) as usize)
}
