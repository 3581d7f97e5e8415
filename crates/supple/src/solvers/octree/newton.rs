//! Newton's method (Milne 2016, section 4.2): every iteration solves with the projected stiffness by conjugate gradients with a
//! V-cycle as preconditioner, and performs a line search.
//!
//! Energies at points (attachments, contact, friction, wind) are springs on every level. Isotropic ones at a single
//! node, inertia in particular, are one number per node.
//!
//! A cycle that is not positive definite is damped more. Where that does not help either, since stiffnesses differ by more than the single
//! precision of its levels resolves, the diagonal is the preconditioner: slow, but always definite.

use std::sync::Arc;
use std::time::Instant;

use glam::DVec3;

use crate::dynamics::optimize::{
    Descent, DescentMethod, DescentWorkspace, MinimiseError, Minimiser, Objective, Outcome, StoppingCriteria,
    Termination, descend,
};
use crate::energy::is_isotropic;
use crate::solvers::octree::forest::Forest;
use crate::solvers::octree::multigrid::Multigrid;
use crate::solvers::octree::options::OctreeOptions;
use supple_linear::{
    BlockJacobi, BlockPattern, ConjugateGradient, LinearTermination, Preconditioner, Regions, SolverState,
    StopRule,
};
use supple_mesh::octree::Octree;

/// How often the damping is increased if a cycle is not positive definite.
const MORE_DAMPING: u32 = 8;
/// Relative residual, and limit of iterations, of the solve that verifies a step.
const TIGHT: f64 = 1e-10;
const MOST_TIGHT_ITERATIONS: usize = 2000;

/// Newton's method over the nodes of octrees.
pub(crate) struct OctreeNewton {
    forest: Arc<Forest>,
    multigrid: Multigrid,
    /// In place of a cycle that is not positive definite.
    diagonal: BlockJacobi,
    iteration: ConjugateGradient,
    stop: StopRule,
    work: DescentWorkspace,
    /// Gradient and direction over all nodes if some are fixed; otherwise those of the workspace serve.
    rhs: Vec<DVec3>,
    direction: Vec<DVec3>,
    inertia: Vec<f64>,
}

impl OctreeNewton {
    /// For a forest of `trees`, whose nodes are unknowns where the pattern has them.
    pub(crate) fn new(
        forest: &Arc<Forest>,
        trees: &[&Octree],
        pattern: &Arc<BlockPattern>,
        options: &OctreeOptions,
    ) -> Result<Self, MinimiseError> {
        let nodes = forest.nodes();
        let mut multigrid = Multigrid::new(forest, trees, &options.cycle())?;
        let fixed: Vec<bool> = (0..nodes as u32).map(|node| pattern.unknown(node).is_none()).collect();
        multigrid.set_fixed(&fixed);
        let spread = if fixed.contains(&true) { nodes } else { 0 };
        Ok(Self {
            forest: forest.clone(),
            multigrid,
            diagonal: BlockJacobi::default(),
            iteration: ConjugateGradient::default(),
            stop: StopRule::tolerance(options.tolerance, options.max_iterations as usize),
            work: DescentWorkspace::new(pattern, nodes),
            rhs: vec![DVec3::ZERO; spread],
            direction: vec![DVec3::ZERO; spread],
            inertia: Vec::with_capacity(nodes),
        })
    }

    /// The direction of an iteration from `x`.
    fn direction_at(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        outcome: &mut Outcome,
    ) -> Result<(), MinimiseError> {
        let limits = StoppingCriteria {
            initial: None,
            tolerance: 0.0,
            reference: 1.0,
            step_tolerance: 0.0,
            max_iterations: 1,
            deadline: None,
            record: false,
            max_displacement: f64::INFINITY,
        };
        let mut descent = Descent::begin(objective, x, &limits, &mut self.work, outcome)?;
        descent.check_convergence(&mut self.work)?;
        self.linearise(&mut descent, true)?;
        self.solve(&mut descent)
    }

    /// Computes the stiffness at `x`; `first` in a step, when the largest eigenvalues are estimated too.
    fn linearise(&mut self, descent: &mut Descent<'_>, first: bool) -> Result<(), MinimiseError> {
        let started = Instant::now();
        let Self { multigrid, inertia, forest, .. } = self;
        multigrid.linearise(descent.x, forest.damping_rate());
        multigrid.clear_springs();
        inertia.clear();
        inertia.resize(descent.x.len(), 0.0);
        descent.objective.point_hessians(descent.x, &mut |point, block| match point {
            [(node, weight)] if is_isotropic(&block) => {
                inertia[*node as usize] += weight * weight * block.x_axis.x;
            }
            _ => multigrid.add_spring(point, block),
        });
        multigrid.set_inertia(inertia.iter().copied());
        let taken = Instant::now();
        descent.outcome.assembly_time += taken - started;
        let done = multigrid.prepare(first);
        descent.outcome.update_time += taken.elapsed();
        Ok(done?)
    }

    /// Computes the direction.
    fn solve(&mut self, descent: &mut Descent<'_>) -> Result<(), MinimiseError> {
        let started = Instant::now();
        let Self { work, rhs, direction, multigrid, diagonal, iteration, .. } = self;
        let is_spread = !rhs.is_empty();
        for (&node, gradient) in work.vertices.iter().zip(&work.gradient).filter(|_| is_spread) {
            rhs[node as usize] = *gradient;
        }
        let (rhs, solution) =
            if is_spread { (&*rhs, &mut *direction) } else { (&work.gradient, &mut work.direction) };
        let stop = StopRule { deadline: descent.limits.deadline, ..self.stop };
        let operator = multigrid.operator();
        let mut solve_with = |preconditioner: &mut dyn Preconditioner| {
            solution.fill(DVec3::ZERO);
            let solved = iteration.solve(&operator, preconditioner, rhs, solution, &stop);
            descent.outcome.linear_iterations += solved.iterations as u32;
            solved.end
        };
        let mut end = LinearTermination::IndefinitePreconditioner;
        for _ in 0..MORE_DAMPING {
            end = solve_with(multigrid);
            if end != LinearTermination::IndefinitePreconditioner {
                break;
            }
            multigrid.damp_more();
        }
        if end == LinearTermination::IndefinitePreconditioner {
            diagonal.update(&operator)?;
            end = solve_with(diagonal);
        }
        descent.outcome.solve_time += started.elapsed();
        for (&node, to) in work.vertices.iter().zip(&mut work.direction).filter(|_| is_spread) {
            *to = direction[node as usize];
        }
        // The system was solved for the gradient: the descent direction is its negative.
        work.direction.iter_mut().for_each(|direction| *direction = -*direction);
        match end {
            LinearTermination::NotFinite | LinearTermination::IndefinitePreconditioner => {
                Err(MinimiseError::Unsolvable(
                    "the octree's system could not be solved: stiffnesses are not finite in single precision",
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Minimiser for OctreeNewton {
    fn minimise(
        &mut self,
        objective: &dyn Objective,
        x: &mut [DVec3],
        limits: &StoppingCriteria<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), MinimiseError> {
        descend(self, objective, x, limits, outcome)
    }

    fn correction(&mut self, objective: &dyn Objective, x: &[DVec3]) -> Result<Option<f64>, MinimiseError> {
        let (mut at, mut outcome) = (x.to_vec(), Outcome::default());
        let usual = std::mem::replace(&mut self.stop, StopRule::tolerance(TIGHT, MOST_TIGHT_ITERATIONS));
        let done = self.direction_at(objective, &mut at, &mut outcome);
        self.stop = usual;
        done?;
        Ok(Some(self.work.farthest_move()))
    }
}

impl DescentMethod for OctreeNewton {
    fn work(&mut self) -> &mut DescentWorkspace {
        &mut self.work
    }

    fn step(&mut self, descent: &mut Descent<'_>) -> Result<Option<Termination>, MinimiseError> {
        let first = descent.outcome.iterations == 0;
        self.linearise(descent, first)?;
        self.solve(descent)?;
        descent.outcome.iterations += 1;
        let length = descent.line_search(&mut self.work, 1.0);
        Ok(length.is_none().then_some(Termination::Stalled))
    }
}

impl SolverState for OctreeNewton {
    fn inner(&self) -> Option<&dyn SolverState> {
        Some(&self.multigrid)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn SolverState> {
        Some(&mut self.multigrid)
    }

    fn bytes(&self) -> usize {
        self.multigrid.bytes()
            + self.diagonal.bytes()
            + self.iteration.bytes()
            + 24 * (self.rhs.len() + self.direction.len())
            + 8 * self.inertia.capacity()
    }

    /// Names only: a node belongs to several octants, which are shown as cells.
    fn regions(&self) -> Vec<Regions> {
        let level = |k: usize| {
            let name = format!("level {}: {} octants", k + 1, self.multigrid.size(k)[0]);
            Regions { name, ..Regions::default() }
        };
        (0..self.multigrid.levels()).map(level).collect()
    }
}
