//! Projective dynamics (Bouaziz et al. 2014). Every element has an energy `½ w |A x - p|²` with the projection `p` of `A x` to
//! the shapes with zero energy; with all `p` fixed (the local step) the objective is quadratic with a constant matrix
//! `L = M/h² + Σ w AᵀA`, one number per block (the global step). Since `w Aᵀ(A x - p)` is the element's gradient at `x`,
//!
//! ```text
//! x' = L⁻¹ (M y/h² + Σ w Aᵀp) = x - L⁻¹ ∇E(x):
//! ```
//!
//! both steps together are one step of descent preconditioned by `L` (Liu et al. 2017). A line search makes it safe for
//! energies that `L` only bounds: co-rotated elasticity, contact, wind. `L` changes only when attachments do, and is
//! factorised or prepared only then. While something touches, contact adds its own blocks to `L` (`projective_contact.rs`) or, if
//! so chosen, a bound of them to its diagonal. Where an iterative solver diverges, the matrix's diagonal takes its place
//! for the iteration.

use std::sync::Arc;
use std::time::Instant;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::descent::{Descent, DescentMethod, DescentWorkspace, descend, is_usable_direction};
use super::error::MinimiseError;
use super::objective::{Minimiser, Objective, Outcome, StoppingCriteria, Termination};
use super::projective_contact::ContactBlocks;
use crate::body::{Body, Elements};
use crate::energy::bending::hinge::{Hinge, hinges};
use crate::material::law::SolidLaw;
use crate::scene::{Bending, ContactMatrix, Model};
use supple_core::text::suggest::list;
use supple_linear::{
    BlockPattern, Factorisation, LinearOperator, LinearSolver, ScalarCholesky, ScalarMatrix, SolverState,
    StopRule, WithBlocks,
};

/// The solvers of the global step.
pub(crate) struct Global {
    /// A factor of the scalar matrix, with three right-hand sides. It cannot store contact, which is left to `solver`.
    pub(crate) factor: Option<Box<ScalarCholesky>>,
    /// Any other solver.
    pub(crate) solver: Box<dyn LinearSolver>,
    pub(crate) stop: StopRule,
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
    contact_matrix: ContactMatrix,
    matrix: ScalarMatrix,
    /// The numbers that were factorised or prepared last.
    prepared: Vec<f64>,
    /// The matrix as 3x3 blocks, with contact if something touches; without a factor preconditioners are prepared from it.
    blocks: Option<ContactBlocks>,
    /// Whether it contains contact now, and whether `solver` has been prepared for such a matrix.
    touches: bool,
    met_contact: bool,
    work: DescentWorkspace,
    rhs: Vec<DVec3>,
    /// Workspace for a product.
    product: Vec<DVec3>,
}

impl Projective {
    pub(crate) fn new(
        pattern: Arc<BlockPattern>,
        vertices: usize,
        global: Global,
        contact_matrix: ContactMatrix,
    ) -> Self {
        Self {
            work: DescentWorkspace::new(&pattern, vertices),
            rhs: vec![DVec3::ZERO; pattern.unknowns()],
            matrix: ScalarMatrix::zero(pattern),
            prepared: Vec::new(),
            blocks: None,
            touches: false,
            met_contact: false,
            product: Vec::new(),
            global,
            contact_matrix,
        }
    }

    /// Assembles the matrix where it may have changed, and factorises or prepares it if it has.
    fn prepare(&mut self, descent: &mut Descent<'_>) -> Result<(), MinimiseError> {
        let (begins, varies) = (descent.outcome.iterations == 0, descent.objective.projective_varies());
        if !begins && !varies {
            return Ok(());
        }
        let started = Instant::now();
        let is_bound = self.contact_matrix == ContactMatrix::Bound;
        if begins || is_bound {
            self.assemble(descent)?;
        }
        self.touches = varies && !is_bound && {
            let blocks = blocks_of(&mut self.blocks, &self.matrix);
            blocks.assemble(descent.objective, descent.x, &self.matrix)
        };
        let assembled = Instant::now();
        descent.outcome.assembly_time += assembled - started;
        if self.touches {
            self.prepare_blocks()?;
        } else if self.prepared != self.matrix.values() {
            self.prepare_scalars()?;
        }
        descent.outcome.update_time += assembled.elapsed();
        Ok(())
    }

    /// Assembles the matrix with one number per block.
    fn assemble(&mut self, descent: &Descent<'_>) -> Result<(), MinimiseError> {
        self.matrix.clear();
        match descent.objective.projective(descent.x, self.contact_matrix, &mut self.matrix) {
            true => Ok(()),
            false => Err(MinimiseError::Unsolvable(
                "projective dynamics does not support one of the elastic models; use `newton`, or `spring`, \
                 `arap` or `corotated` solids",
            )),
        }
    }

    /// Prepares for the matrix with contact.
    fn prepare_blocks(&mut self) -> Result<(), MinimiseError> {
        if self.global.factor.is_none() {
            self.prepared.clear();
        }
        if !std::mem::replace(&mut self.met_contact, true) {
            self.global.solver.forget();
        }
        blocks_of(&mut self.blocks, &self.matrix).prepare(&mut *self.global.solver)
    }

    /// Prepares for the matrix without.
    fn prepare_scalars(&mut self) -> Result<(), MinimiseError> {
        // After a rejected matrix nothing is usable, even if the old values come back.
        self.prepared.clear();
        match &mut self.global.factor {
            Some(factor) => {
                if factor.factorise(self.matrix.values()) == Factorisation::NotPositiveDefinite {
                    return Err(MinimiseError::Unsolvable(
                        "the matrix of projective dynamics is not positive definite",
                    ));
                }
            }
            None => {
                let blocks = &mut blocks_of(&mut self.blocks, &self.matrix).matrix;
                self.matrix.write_to(blocks);
                self.global.solver.prepare(&WithBlocks { scalars: &self.matrix, blocks })?;
            }
        }
        self.prepared.extend_from_slice(self.matrix.values());
        Ok(())
    }

    fn find_direction(&mut self, descent: &mut Descent<'_>) -> Result<(), MinimiseError> {
        let started = Instant::now();
        let pairs = self.rhs.par_iter_mut().zip(&self.work.gradient).with_min_len(4096);
        pairs.for_each(|(b, g)| *b = -*g);
        let stop = StopRule { deadline: descent.limits.deadline, ..self.global.stop };
        let iterations = match (&mut self.blocks, &mut self.global.factor) {
            (Some(blocks), _) if self.touches => {
                let usable = solve(
                    &mut *self.global.solver,
                    &blocks.matrix,
                    &self.rhs,
                    (&mut self.work.direction, &mut self.product),
                    &stop,
                );
                if !usable.1 {
                    blocks.divide_by_diagonal(&self.rhs, &mut self.work.direction)?;
                }
                usable.0
            }
            (_, Some(factor)) => {
                self.work.direction.copy_from_slice(&self.rhs);
                factor.solve(&mut self.work.direction);
                1
            }
            (blocks, None) => {
                let blocks = &blocks_of(blocks, &self.matrix).matrix;
                let usable = solve(
                    &mut *self.global.solver,
                    &WithBlocks { scalars: &self.matrix, blocks },
                    &self.rhs,
                    (&mut self.work.direction, &mut self.product),
                    &stop,
                );
                if !usable.1 {
                    divide_by_diagonal(&self.matrix, &self.rhs, &mut self.work.direction);
                }
                usable.0
            }
        };
        descent.outcome.linear_iterations += iterations;
        descent.outcome.solve_time += started.elapsed();
        Ok(())
    }
}

/// The matrix with full blocks, created when it is first needed.
fn blocks_of<'a>(blocks: &'a mut Option<ContactBlocks>, scalars: &ScalarMatrix) -> &'a mut ContactBlocks {
    blocks.get_or_insert_with(|| ContactBlocks::new(scalars.pattern().clone()))
}

/// Solves for a direction; returns the number of iterations and whether it is usable.
fn solve(
    solver: &mut dyn LinearSolver,
    matrix: &dyn LinearOperator,
    rhs: &[DVec3],
    (direction, product): (&mut [DVec3], &mut Vec<DVec3>),
    stop: &StopRule,
) -> (u32, bool) {
    direction.par_chunks_mut(4096).for_each(|part| part.fill(DVec3::ZERO));
    let solved = solver.solve(matrix, rhs, direction, stop);
    let usable = is_usable_direction(matrix, rhs, direction, solved.relative_residual, product);
    (solved.iterations as u32, usable)
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
        // What depends on contacts of earlier steps is in no checkpoint.
        if std::mem::take(&mut self.met_contact) && self.global.factor.is_none() {
            self.global.solver.forget();
            self.prepared.clear();
        }
        descend(self, objective, x, limits, outcome)
    }
}

impl DescentMethod for Projective {
    fn work(&mut self) -> &mut DescentWorkspace {
        &mut self.work
    }

    fn step(&mut self, descent: &mut Descent<'_>) -> Result<Option<Termination>, MinimiseError> {
        self.prepare(descent)?;
        self.find_direction(descent)?;
        descent.outcome.iterations += 1;
        let length = descent.line_search(&mut self.work, 1.0);
        Ok(length.is_none().then_some(Termination::Stalled))
    }
}

impl SolverState for Projective {
    fn inner(&self) -> Option<&dyn SolverState> {
        Some(&*self.global.solver)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        Some(&mut *self.global.solver)
    }

    fn bytes(&self) -> usize {
        let factor = self.global.factor.as_ref().map_or(0, |factor| factor.bytes());
        let blocks = self.blocks.as_ref().map_or(0, ContactBlocks::bytes);
        let scalars = 16 * self.matrix.values().len() + self.matrix.pattern().bytes();
        factor + self.global.solver.bytes() + blocks + scalars
    }

    fn begin_step(&mut self, positions: &[DVec3]) -> bool {
        let rebuilt = self.global.solver.begin_step(positions);
        if rebuilt {
            self.prepared.clear();
        }
        rebuilt
    }

    fn restore(&mut self, saved: &[u32]) {
        let solver = &mut self.global.solver;
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
            let global = Global {
                factor: None,
                solver: Box::new(Diverging { growth }),
                stop: StopRule::tolerance(1e-2, 50),
            };
            let mut x = vec![DVec3::ONE; 8];
            let mut outcome = Outcome::default();
            let mut projective = Projective::new(pattern, 8, global, ContactMatrix::Blocks);
            projective.minimise(&wells, &mut x, &limits(), &mut outcome).unwrap();
            assert_eq!(outcome.stop, Termination::Converged, "{growth}: {:?}", outcome.residuals);
        }
    }
}
