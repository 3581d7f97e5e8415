//! Projective dynamics (Bouaziz et al. 2014). Every element has an energy `½ w |A x - p|²` with the projection `p` of `A x` to
//! the shapes with zero energy; with all `p` fixed (the local step) the objective is quadratic with a constant matrix
//! `L = M/h² + Σ w AᵀA`, one number per block (the global step). Since `w Aᵀ(A x - p)` is the element's gradient at `x`,
//!
//! ```text
//! x' = L⁻¹ (M y/h² + Σ w Aᵀp) = x - L⁻¹ ∇E(x):
//! ```
//!
//! both steps together are one step of descent preconditioned by `L` (Liu et al. 2017). A line search makes it safe for
//! energies that `L` only bounds: co-rotated elasticity, contact, wind. `L` changes only when contacts or attachments do, and is
//! factorised or prepared only then. Where an iterative solver diverges, `L`'s diagonal takes its place for the iteration.

use std::sync::Arc;
use std::time::Instant;

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use super::descent::{Descent, DescentMethod, DescentWorkspace, descend, is_usable_direction};
use super::error::MinimiseError;
use super::objective::{Minimiser, Objective, Outcome, StoppingCriteria, Termination};
use crate::body::{Body, Elements};
use crate::energy::bending::hinge::{Hinge, hinges};
use crate::material::law::SolidLaw;
use crate::scene::{Bending, Model};
use supple_core::text::suggest::list;
use supple_linear::{
    BlockMatrix, BlockPattern, Factorisation, LinearSolver, ScalarCholesky, ScalarMatrix, SolverState,
    StopRule, WithBlocks,
};

/// The solver of the global step.
pub(crate) enum Global {
    /// A factor of the scalar matrix, with three right-hand sides.
    Direct(Box<ScalarCholesky>),
    /// Any other solver.
    Iterative {
        solver: Box<dyn LinearSolver>,
        stop: StopRule,
        /// The matrix as 3x3 blocks, from which preconditioners are prepared; products use one number per block.
        blocks: BlockMatrix,
    },
}

/// Why a body cannot be simulated by projective dynamics: one of its energies is not a squared distance to a projection.
pub(crate) fn obstacle(body: &Body) -> Option<String> {
    let is_solid = matches!(body.elements, Elements::Tets(_));
    let limited = (0..body.elements.len()).any(|e| body.materials.of(e).strain_limit.is_some());
    let projective = |model: Model| model.solid_law().is_some_and(SolidLaw::is_projective);
    if body.model != Model::Spring && !(is_solid && projective(body.model)) {
        let models = Model::ALL.into_iter().filter(|model| projective(*model)).map(Model::name);
        return Some(format!("its `model`; it supports `spring`, and solids with one of {}", list(models)));
    }
    let obstacle = if body.bending == Some(Bending::Dihedral) && !is_solid {
        Some("`bending = \"dihedral\"`; it supports `quadratic`")
    } else if body.bending == Some(Bending::Quadratic) && is_curved(body) {
        Some(
            "quadratic `bending` of a cloth that is curved at rest; leave `bending` out, and its springs bend",
        )
    } else {
        let pressed = body.pressure.is_some().then_some("`pressure`");
        pressed.or((limited && !is_solid).then_some("a `strain_limit`"))
    };
    obstacle.map(str::to_owned)
}

/// Whether a hinge of a cloth is folded at rest.
fn is_curved(body: &Body) -> bool {
    let Elements::Triangles(triangles) = &body.elements else { return false };
    hinges(triangles, &body.rest_corners).iter().any(Hinge::is_folded)
}

/// Projective dynamics on one sparsity pattern.
pub struct Projective {
    global: Global,
    matrix: ScalarMatrix,
    /// The numbers that were factorised or prepared last.
    prepared: Vec<f64>,
    work: DescentWorkspace,
    rhs: Vec<DVec3>,
    /// Workspace for a product.
    product: Vec<DVec3>,
}

impl Projective {
    pub(crate) fn new(pattern: Arc<BlockPattern>, vertices: usize, global: Global) -> Self {
        Self {
            work: DescentWorkspace::new(&pattern, vertices),
            rhs: vec![DVec3::ZERO; pattern.unknowns()],
            matrix: ScalarMatrix::zero(pattern),
            prepared: Vec::new(),
            product: Vec::new(),
            global,
        }
    }

    /// Assembles the matrix where it may have changed, and factorises or prepares it if it has.
    fn prepare(&mut self, descent: &mut Descent<'_>) -> Result<(), MinimiseError> {
        if descent.outcome.iterations > 0 && !descent.objective.projective_varies() {
            return Ok(());
        }
        let started = Instant::now();
        self.matrix.clear();
        if !descent.objective.projective(descent.x, &mut self.matrix) {
            return Err(MinimiseError::Unsolvable(
                "projective dynamics does not support one of the elastic models; use `newton`, or `spring`, \
                 `arap` or `corotated` solids",
            ));
        }
        let assembled = Instant::now();
        descent.outcome.assembly_time += assembled - started;
        if self.prepared == self.matrix.values() {
            return Ok(());
        }
        // After a rejected matrix nothing is usable, even if the old values come back.
        self.prepared.clear();
        match &mut self.global {
            Global::Direct(factor) => {
                if factor.factorise(self.matrix.values()) == Factorisation::NotPositiveDefinite {
                    return Err(MinimiseError::Unsolvable(
                        "the matrix of projective dynamics is not positive definite",
                    ));
                }
            }
            Global::Iterative { solver, blocks, .. } => {
                let numbers = blocks.blocks_mut().par_iter_mut().zip(self.matrix.values()).with_min_len(4096);
                numbers.for_each(|(block, &value)| *block = DMat3::from_diagonal(DVec3::splat(value)));
                solver.prepare(&WithBlocks { scalars: &self.matrix, blocks })?;
            }
        }
        self.prepared.extend_from_slice(self.matrix.values());
        descent.outcome.update_time += assembled.elapsed();
        Ok(())
    }

    fn find_direction(&mut self, descent: &mut Descent<'_>) {
        let started = Instant::now();
        let pairs = self.rhs.par_iter_mut().zip(&self.work.gradient).with_min_len(4096);
        pairs.for_each(|(b, g)| *b = -*g);
        match &mut self.global {
            Global::Iterative { solver, stop, blocks } => {
                self.work.direction.par_chunks_mut(4096).for_each(|part| part.fill(DVec3::ZERO));
                let stop = StopRule { deadline: descent.limits.deadline, ..*stop };
                let matrix = WithBlocks { scalars: &self.matrix, blocks };
                let solved = solver.solve(&matrix, &self.rhs, &mut self.work.direction, &stop);
                descent.outcome.linear_iterations += solved.iterations as u32;
                let (residual, direction) = (solved.relative_residual, &mut self.work.direction);
                if !is_usable_direction(&matrix, &self.rhs, direction, residual, &mut self.product) {
                    divide_by_diagonal(&self.matrix, &self.rhs, direction);
                }
            }
            Global::Direct(factor) => {
                self.work.direction.copy_from_slice(&self.rhs);
                factor.solve(&mut self.work.direction);
                descent.outcome.linear_iterations += 1;
            }
        }
        descent.outcome.solve_time += started.elapsed();
    }
}

/// `d = D⁻¹ b` with the matrix's diagonal, which is positive: masses and stiffnesses are.
fn divide_by_diagonal(matrix: &ScalarMatrix, rhs: &[DVec3], direction: &mut [DVec3]) {
    let pattern = matrix.pattern();
    for (i, (d, b)) in direction.iter_mut().zip(rhs).enumerate() {
        *d = *b / matrix.values()[pattern.diagonal_slot(i)];
    }
}

impl Minimiser for Projective {
    fn minimise(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        limits: &StoppingCriteria<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), MinimiseError> {
        descend(self, objective, x, limits, outcome)
    }
}

impl DescentMethod for Projective {
    fn work(&mut self) -> &mut DescentWorkspace {
        &mut self.work
    }

    fn step(&mut self, descent: &mut Descent<'_>) -> Result<Option<Termination>, MinimiseError> {
        self.prepare(descent)?;
        self.find_direction(descent);
        descent.outcome.iterations += 1;
        let length = descent.line_search(&mut self.work, 1.0);
        Ok(length.is_none().then_some(Termination::Stalled))
    }
}

impl SolverState for Projective {
    fn inner(&self) -> Option<&dyn SolverState> {
        match &self.global {
            Global::Direct(_) => None,
            Global::Iterative { solver, .. } => Some(&**solver),
        }
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        match &mut self.global {
            Global::Direct(_) => None,
            Global::Iterative { solver, .. } => Some(&mut **solver),
        }
    }

    fn bytes(&self) -> usize {
        let solver = match &self.global {
            Global::Direct(factor) => factor.bytes(),
            Global::Iterative { solver, blocks, .. } => solver.bytes() + 72 * blocks.blocks().len(),
        };
        solver + 16 * self.matrix.values().len() + self.matrix.pattern().bytes()
    }

    fn begin_step(&mut self, positions: &[DVec3]) -> bool {
        let rebuilt = self.inner_mut().is_some_and(|solver| solver.begin_step(positions));
        if rebuilt {
            self.prepared.clear();
        }
        rebuilt
    }

    fn restore(&mut self, saved: &[u32]) {
        let Some(solver) = self.inner_mut() else { return };
        // A solver that keeps no structure from step to step is prepared for its matrix, whatever the state.
        let keeps_structure = !(saved.is_empty() && solver.save().is_empty());
        solver.restore(saved);
        if keeps_structure {
            self.prepared.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::objective::tests::{Diverging, Wells, limits};
    use super::*;

    #[test]
    fn a_linear_solver_that_diverges_does_not_lead_astray() {
        for growth in [1e3, -1.0, f64::NAN] {
            let wells = Wells::new(8);
            let pattern = wells.pattern();
            let global = Global::Iterative {
                solver: Box::new(Diverging { growth }),
                stop: StopRule::tolerance(1e-2, 50),
                blocks: BlockMatrix::zero(pattern.clone()),
            };
            let mut x = vec![DVec3::ONE; 8];
            let mut outcome = Outcome::default();
            let mut projective = Projective::new(pattern, 8, global);
            projective.minimise(&wells, &mut x, &limits(), &mut outcome).unwrap();
            assert_eq!(outcome.stop, Termination::Converged, "{growth}: {:?}", outcome.residuals);
        }
    }
}
