//! From a scene's `[solver]` to a nonlinear method.

use std::sync::Arc;

use glam::DVec3;

use super::objective::Minimiser;
use super::projective::Global;
use super::{AcceleratedGradient, Lbfgs, Newton, NonlinearCg, Projective};
use crate::linear::{BlockPattern, ScalarCholesky, Simd, StopRule, linear_solver, preconditioner};
use crate::scene::{LinearKind, Method, Solver};

/// Relative residual to which an iterative solver under Newton's method goes if the scene does not say.
const INNER_TOLERANCE: f64 = 1e-2;
/// Its largest number of iterations.
const INNER_ITERATIONS: u32 = 1000;
/// Pairs that L-BFGS remembers.
const MEMORY: usize = 8;
/// Iterations between two preconditioners of accelerated gradient descent (Wang and Yang 2016, section 5).
const GRADIENT_REFRESH: u32 = 32;

/// The method of a scene, for a pattern over `vertices` vertices; `positions` of the unknowns tell what is near what.
pub(super) fn minimiser(
    solver: &Solver,
    pattern: Arc<BlockPattern>,
    vertices: usize,
    positions: Arc<[DVec3]>,
    simd: Simd,
) -> Result<Box<dyn Minimiser>, String> {
    let linear = &solver.linear;
    let refresh = |usual: u32| solver.refresh.unwrap_or(usual);
    let preconditioner = || preconditioner(linear, Some(positions.clone()), simd);
    Ok(match solver.method {
        Method::Newton => {
            let inner = inner_rule(solver);
            let linear = linear_solver(linear, Some(positions.clone()), simd)?;
            Box::new(Newton::new(pattern, vertices, linear, inner, refresh(1)))
        }
        Method::Lbfgs => {
            Box::new(Lbfgs::new(pattern, vertices, preconditioner()?, refresh(u32::MAX), MEMORY))
        }
        Method::NonlinearCg => {
            Box::new(NonlinearCg::new(pattern, vertices, preconditioner()?, refresh(u32::MAX)))
        }
        Method::AcceleratedGradient => {
            let (refresh, radius) =
                (refresh(GRADIENT_REFRESH), solver.linear.spectral_radius.unwrap_or(0.99));
            Box::new(AcceleratedGradient::new(pattern, vertices, preconditioner()?, refresh, radius))
        }
        Method::Projective => {
            let global = match solver.linear.kind {
                LinearKind::Cholesky => {
                    Global::Direct(Box::new(ScalarCholesky::new(pattern.clone(), Some(&positions), simd)?))
                }
                _ => Global::Iterative(
                    linear_solver(linear, Some(positions.clone()), simd)?,
                    inner_rule(solver),
                ),
            };
            Box::new(Projective::new(pattern, vertices, global))
        }
        other => return Err(format!("the method `{other:?}` is not one of implicit dynamics")),
    })
}

fn inner_rule(solver: &Solver) -> StopRule {
    let direct = solver.linear.kind == LinearKind::Cholesky;
    let tolerance = solver.linear.tolerance.unwrap_or(if direct { 1e-9 } else { INNER_TOLERANCE });
    StopRule::tolerance(tolerance, solver.linear.max_iterations.unwrap_or(INNER_ITERATIONS) as usize)
}
