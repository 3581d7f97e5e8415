//! A descent in progress, for all nonlinear methods: the gradient at the current iterate, the line search
//! (Armijo's condition, approximate Wolfe near rounding), and termination.

use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::error::MinimiseError;
use super::objective::{Evaluated, Objective, Outcome, StoppingCriteria, Termination};
use super::outer_loop::{StepRule, Stopping, iterate};
use super::short_step::farthest;
use super::truncation::StepFractions;
use crate::stepper::IterationRecord;
use supple_core::parallel;
use supple_core::text::number::components;
use supple_linear::vectors::{dot, norm};
use supple_linear::{BlockPattern, LinearOperator};

/// A minimisation in progress: the objective along `x`, in terms of the unknowns.
pub(crate) struct Descent<'a> {
    pub(crate) objective: &'a dyn Objective,
    pub(crate) x: &'a mut [DVec3],
    pub(crate) limits: &'a StoppingCriteria<'a>,
    pub(crate) outcome: &'a mut Outcome,
    /// The objective at `x`.
    pub(crate) value: f64,
    /// Whether the objective's rounding hid the decrease of the last step.
    in_rounding: bool,
    stopping: Stopping,
    started: Instant,
    /// Time spent on records.
    recording: Duration,
}

/// Vectors of a descent, kept from step to step.
pub(crate) struct DescentWorkspace {
    /// The vertex of each unknown.
    pub(crate) vertices: Vec<u32>,
    /// The gradient over all vertices, and whether it is that at the current iterate.
    full: Vec<DVec3>,
    known: bool,
    /// The trial positions of a step of `trial_length`.
    pub(super) trial: Vec<DVec3>,
    pub(super) trial_length: f64,
    /// The gradient at the accepted step, in case no longer one is better.
    pub(super) tried: Vec<DVec3>,
    /// Which unknowns are coupled.
    pub(super) pattern: Arc<BlockPattern>,
    /// The fractions of a truncated step, and where the whole step would lead.
    pub(super) fractions: StepFractions,
    pub(super) full_step: Vec<DVec3>,
    /// The gradient over the unknowns.
    pub(crate) gradient: Vec<DVec3>,
    /// The search direction over the unknowns.
    pub(crate) direction: Vec<DVec3>,
}

impl DescentWorkspace {
    pub(crate) fn new(pattern: &Arc<BlockPattern>, vertices: usize) -> Self {
        let unknowns = pattern.unknowns();
        let free = (0..vertices as u32).filter(|v| pattern.unknown(*v).is_some());
        Self {
            vertices: free.collect(),
            full: vec![DVec3::ZERO; vertices],
            known: false,
            trial: vec![DVec3::ZERO; vertices],
            trial_length: f64::NAN,
            tried: vec![DVec3::ZERO; vertices],
            pattern: pattern.clone(),
            fractions: StepFractions::default(),
            full_step: Vec::new(),
            gradient: vec![DVec3::ZERO; unknowns],
            direction: vec![DVec3::ZERO; unknowns],
        }
    }

    /// The largest displacement of a vertex by the direction, in metres.
    pub(crate) fn farthest_move(&self) -> f64 {
        farthest(self.direction.iter().copied())
    }

    /// `trial = x + length direction`.
    pub(super) fn move_trial(&mut self, x: &[DVec3], length: f64) {
        let Self { vertices, direction, trial, .. } = self;
        trial.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).enumerate().for_each(|(chunk, (trial, x))| {
            trial.copy_from_slice(x);
            let first = chunk * CHUNK;
            let unknown = |vertex: usize| vertices.partition_point(|v| (*v as usize) < vertex);
            let own = unknown(first)..unknown(first + x.len());
            for (&v, d) in vertices[own.clone()].iter().zip(&direction[own]) {
                trial[v as usize - first] += length * *d;
            }
        });
        self.trial_length = length;
    }

    /// The same, if the last trial along this direction had another length.
    fn try_length(&mut self, x: &[DVec3], length: f64) {
        if self.trial_length != length {
            self.move_trial(x, length);
        }
    }

    /// The slope along the direction at the last trial.
    fn tried_slope(&self) -> f64 {
        let Self { vertices, direction, tried, .. } = self;
        parallel::sum(vertices.len(), |i| tried[vertices[i] as usize].dot(direction[i]))
    }

    /// The objective after a step of this length. Most are accepted, so the gradient is computed along with it.
    fn evaluate(&mut self, objective: &dyn Objective, x: &[DVec3], length: f64) -> f64 {
        self.try_length(x, length);
        objective.value_and_gradient(&self.trial, &mut self.tried)
    }
}

/// Iterations for whose residuals space is reserved.
const MOST_RESIDUALS: u32 = 4096;
/// A decrease, over the objective, that its rounding hides.
const ROUNDOFF_DECREASE: f64 = 1e-12;
/// A change of the objective, over itself, that may be rounding: its terms may be many times larger than their sum.
const ROUNDOFF_CHANGE: f64 = 1e-9;
/// Armijo's constant of sufficient decrease.
pub(super) const SUFFICIENT_DECREASE: f64 = 1e-4;
/// The fraction of the decrease predicted by the slope that a step must achieve for a longer one to be tried.
const EXPANSION_THRESHOLD: f64 = 0.6;
/// The acceleration of a whole body in m/s² that a step may miss.
const LARGEST_IMBALANCE: f64 = 0.02;
/// The fraction of the gradient that a last step may leave.
const LAST_STEP_DECREASE: f64 = 0.1;
/// Halvings before the line search gives up.
const MAX_HALVINGS: u32 = 40;
/// Doublings of a step while the objective keeps decreasing.
const MAX_DOUBLINGS: u32 = 8;

impl<'a> Descent<'a> {
    pub(crate) fn begin(
        objective: &'a dyn Objective,
        x: &'a mut [DVec3],
        limits: &'a StoppingCriteria<'a>,
        work: &mut DescentWorkspace,
        outcome: &'a mut Outcome,
    ) -> Result<Self, MinimiseError> {
        let called = Instant::now();
        let value = finite_value(objective, x, limits.initial, &mut work.full)?;
        work.known = true;
        outcome.restart();
        // Space for all iterations, so that a step which takes more than any before allocates nothing.
        outcome.residuals.reserve(limits.max_iterations.min(MOST_RESIDUALS) as usize + 2);
        let started = Instant::now();
        outcome.evaluation_time += started - called;
        Ok(Self {
            objective,
            x,
            limits,
            outcome,
            value,
            in_rounding: false,
            stopping: Stopping::begin(limits.max_iterations, limits.deadline),
            started,
            recording: Duration::ZERO,
        })
    }

    /// Computes the gradient at `x` and tests for termination.
    pub(crate) fn check_convergence(
        &mut self,
        work: &mut DescentWorkspace,
    ) -> Result<Option<Termination>, MinimiseError> {
        let started = self.stopping.next(self.outcome.iterations);
        if !std::mem::take(&mut work.known) {
            self.objective.gradient(self.x, &mut work.full);
        }
        let DescentWorkspace { gradient, vertices, full, .. } = work;
        let free = gradient.par_iter_mut().zip(&*vertices).with_min_len(CHUNK);
        free.for_each(|(g, &v)| *g = full[v as usize]);
        let norm = norm(&work.gradient);
        self.outcome.evaluation_time += started.elapsed();
        if !norm.is_finite() {
            return Err(MinimiseError::NotFinite(describe_non_finite(work)));
        }
        self.outcome.residuals.push(norm / self.limits.reference);
        if self.limits.record {
            self.record(norm / self.limits.reference);
        }
        Ok(self.should_stop(norm))
    }

    /// Replaces the last evaluation after `x` was reset to an earlier iterate.
    pub(crate) fn reevaluate(&mut self, work: &mut DescentWorkspace) -> Result<(), MinimiseError> {
        self.outcome.residuals.pop();
        if self.limits.record {
            self.outcome.history.pop();
        }
        self.check_convergence(work).map(|_| ())
    }

    fn record(&mut self, residual: f64) {
        let now = Instant::now();
        let seconds = (now - self.started - self.recording).as_secs_f64();
        let value = self.objective.value(self.x);
        self.outcome.history.push(IterationRecord { seconds, value, residual });
        self.recording += now.elapsed();
    }

    fn should_stop(&self, norm: f64) -> Option<Termination> {
        let limits = self.limits;
        if norm <= limits.tolerance * limits.reference {
            Some(Termination::Converged)
        } else if self.in_rounding && self.gradient_grew() {
            Some(Termination::Stalled)
        } else {
            self.stopping.limit(self.outcome.iterations)
        }
    }

    /// Whether the gradient has grown in the last iteration.
    pub(crate) fn gradient_grew(&self) -> bool {
        matches!(self.outcome.residuals[..], [.., before, now] if now > before)
    }

    /// Moves `x` along the direction with sufficient decrease of the objective, starting with `length`; returns the
    /// length, or `None` if no step does.
    ///
    /// A good first step may be doubled while the objective keeps decreasing: where a fold is about to form,
    /// the projected Hessian is too stiff, and the descent takes many such steps. Methods that descend by a fixed
    /// matrix also benefit: with overshooting, projective dynamics of solids converged in less than half the time of exact line minima.
    pub(crate) fn line_search(&mut self, work: &mut DescentWorkspace, length: f64) -> Option<f64> {
        let started = Instant::now();
        let found = self.search(work, length);
        self.outcome.evaluation_time += started.elapsed();
        found
    }

    fn search(&mut self, work: &mut DescentWorkspace, length: f64) -> Option<f64> {
        let slope = dot(&work.gradient, &work.direction);
        let rounding = 1e-14 * self.value.abs();
        // Where so little is to be gained, it is hidden by the rounding of the objective's terms, which are many times larger than their
        // sum: the full step is the best there is, until the gradient grows.
        self.in_rounding = slope.abs() * length <= ROUNDOFF_DECREASE * self.value.abs();
        let wanted = length.min(self.longest_step(work));
        let free = self.free_part(work, wanted);
        let mut length = free * wanted;
        if self.in_rounding {
            let value = work.evaluate(self.objective, self.x, length);
            return self.accept(work, (length, value));
        }
        if free < 1.0 {
            if let Some(length) = self.truncated_step(work, wanted, free, slope) {
                return Some(length);
            }
            self.outcome.cuts.global += 1;
        }
        for halvings in 0..MAX_HALVINGS {
            let lower = work.evaluate(self.objective, self.x, length);
            let enough = lower <= self.value + SUFFICIENT_DECREASE * length * slope + rounding;
            if enough || self.approximate_wolfe(work, slope, lower) {
                self.in_rounding = !enough;
                // A parabola still decreases beyond the step where it has decreased by more than 2/3 of the slope's prediction.
                let fallen = self.value - lower;
                let doubled =
                    halvings == 0 && fallen > rounding && fallen > EXPANSION_THRESHOLD * length * -slope;
                let best = if doubled { self.expand_step(work, length, lower) } else { (length, lower) };
                return self.accept(work, best);
            }
            length *= 0.5;
        }
        None
    }

    /// Whether the net force on every free body is solved. Friction that holds is so stiff that the direction of a block which should slide
    /// is short: what it lacks shows in the force.
    pub(crate) fn is_balanced(&self, work: &DescentWorkspace) -> bool {
        self.objective.imbalance(&work.full, &work.pattern) <= LARGEST_IMBALANCE
    }

    /// Takes the whole of a last, short step, if that is where the minimum is: the gradient vanishes there to a tenth. Where it does not, a
    /// step that is short where it starts may lead to one that is not.
    pub(crate) fn take_last_step(&mut self, work: &mut DescentWorkspace) -> bool {
        let started = Instant::now();
        let taken = self.free_part(work, 1.0) >= 1.0 && {
            let lower = work.evaluate(self.objective, self.x, 1.0);
            let unknowns = work.vertices.iter().map(|&v| work.tried[v as usize].length_squared());
            let left = unknowns.sum::<f64>().sqrt();
            let vanishes = left <= LAST_STEP_DECREASE * norm(&work.gradient);
            vanishes && self.accept(work, (1.0, lower)).is_some()
        };
        self.outcome.evaluation_time += started.elapsed();
        taken
    }

    /// Whether a step that ends at the value `lower` has decreased the objective enough, judged by slopes where rounding hides the change. On a
    /// parabola this is the same as Armijo's condition (Hager & Zhang 2005, "approximate Wolfe").
    fn approximate_wolfe(&self, work: &DescentWorkspace, slope: f64, lower: f64) -> bool {
        let hidden = (lower - self.value).abs() <= ROUNDOFF_CHANGE * self.value.abs();
        hidden && work.tried_slope() <= (2.0 * SUFFICIENT_DECREASE - 1.0) * slope
    }

    /// The fraction of a step of `length` along the direction before surfaces touch.
    fn free_part(&mut self, work: &mut DescentWorkspace, length: f64) -> f64 {
        work.move_trial(self.x, length);
        let free = self.objective.collision_free_step(self.x, &work.trial);
        self.outcome.cuts.all += u32::from(free < 1.0);
        free
    }

    /// The multiple of the direction that moves no vertex too far.
    fn longest_step(&self, work: &DescentWorkspace) -> f64 {
        if self.limits.max_displacement == f64::INFINITY {
            return f64::INFINITY;
        }
        self.limits.max_displacement / work.farthest_move().max(f64::MIN_POSITIVE)
    }

    /// Extends a step of `length`, where the objective is `lower`.
    fn expand_step(&self, work: &mut DescentWorkspace, mut length: f64, mut lower: f64) -> (f64, f64) {
        let longest = self.longest_step(work);
        for _ in 0..MAX_DOUBLINGS {
            if 2.0 * length > longest {
                break;
            }
            work.move_trial(self.x, 2.0 * length);
            if self.objective.collision_free_step(self.x, &work.trial) < 1.0 {
                break;
            }
            // The gradient at the previous iterate is no longer needed.
            let value = self.objective.value_and_gradient(&work.trial, &mut work.full);
            if value.is_nan() || value >= lower {
                break;
            }
            std::mem::swap(&mut work.full, &mut work.tried);
            (length, lower) = (2.0 * length, value);
        }
        (length, lower)
    }

    pub(super) fn accept(&mut self, work: &mut DescentWorkspace, (length, value): (f64, f64)) -> Option<f64> {
        work.try_length(self.x, length);
        self.objective.accepted(self.x, &work.trial);
        let parts = self.x.par_chunks_mut(CHUNK).zip(work.trial.par_chunks(CHUNK));
        let goes = |(x, trial): (&mut [DVec3], &[DVec3])| {
            let moves = *x != *trial;
            x.copy_from_slice(trial);
            moves
        };
        let moved = parts.map(goes).reduce(|| false, |a, b| a | b);
        self.value = value;
        std::mem::swap(&mut work.full, &mut work.tried);
        work.known = true;
        moved.then_some(length)
    }

    /// Moves `x` by the direction without testing the objective, as far as it is collision-free. The direction then is the displacement.
    pub(crate) fn step_without_line_search(&mut self, work: &mut DescentWorkspace) {
        let free = self.free_part(work, 1.0);
        if free < 1.0 && !self.truncate_descending(work, free) {
            work.direction.iter_mut().for_each(|d| *d *= free);
            work.move_trial(self.x, 1.0);
            self.outcome.cuts.global += 1;
        }
        self.objective.accepted(self.x, &work.trial);
        self.x.copy_from_slice(&work.trial);
    }

    pub(crate) fn end(self, stop: Termination) -> Result<(), MinimiseError> {
        self.outcome.stop = stop;
        Ok(())
    }
}

/// The objective and its gradient at the start of a descent, if they are not known already.
fn finite_value(
    objective: &dyn Objective,
    x: &[DVec3],
    started: Option<Evaluated<'_>>,
    gradient: &mut [DVec3],
) -> Result<f64, MinimiseError> {
    if let Some(vertex) = x.iter().position(|p| !p.is_finite()) {
        return Err(MinimiseError::NotFinite(format!("vertex {vertex} is at {}", components(x[vertex]))));
    }
    let value = match started {
        Some(known) => {
            gradient.copy_from_slice(known.gradient);
            known.value
        }
        None => objective.value_and_gradient(x, gradient),
    };
    if value.is_finite() {
        Ok(value)
    } else {
        Err(MinimiseError::NotFinite(format!("the energy is {value}")))
    }
}

fn describe_non_finite(work: &DescentWorkspace) -> String {
    let describe = |unknown: usize| (work.vertices[unknown], components(work.gradient[unknown]));
    if let Some(unknown) = work.gradient.iter().position(|g| !g.is_finite()) {
        let (vertex, force) = describe(unknown);
        return format!("the force on vertex {vertex} is {force} N");
    }
    let sizes = work.gradient.iter().map(|g| g.abs().max_element()).enumerate();
    let largest = sizes.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(unknown, _)| unknown);
    let (vertex, force) = describe(largest);
    format!("the forces are too large, their norm overflows: the largest, on vertex {vertex}, is {force} N")
}

/// Whether a direction `d` of a linear solve that ended at this relative residual is usable: it descends, and
/// makes the model `½ dᵀA d - bᵀd` smaller than zero. Conjugate gradients always do, though their residual
/// may rise at first; a diverged stationary iteration does not. `product` is workspace.
pub(crate) fn is_usable_direction(
    matrix: &dyn LinearOperator,
    rhs: &[DVec3],
    direction: &[DVec3],
    relative_residual: f64,
    product: &mut Vec<DVec3>,
) -> bool {
    let slope = dot(rhs, direction);
    if !(slope > 0.0 && slope.is_finite()) {
        return false;
    }
    // `|b - A d| <= |b|` implies nothing for any one matrix, but no iteration that ends there has diverged.
    if relative_residual <= 1.0 {
        return true;
    }
    product.resize(direction.len(), DVec3::ZERO);
    matrix.apply(direction, product);
    0.5 * dot(direction, product) < slope
}

/// A method that finds a direction in every iteration and searches along it.
pub(crate) trait DescentMethod {
    /// Its workspace.
    fn work(&mut self) -> &mut DescentWorkspace;

    /// One iteration, after the gradient was evaluated; `Some` ends the descent.
    fn step(&mut self, descent: &mut Descent<'_>) -> Result<Option<Termination>, MinimiseError>;
}

/// Minimises by a descent method from `x`.
pub(crate) fn descend(
    method: &mut dyn DescentMethod,
    objective: &dyn Objective,
    x: &mut [DVec3],
    limits: &StoppingCriteria<'_>,
    outcome: &mut Outcome,
) -> Result<(), MinimiseError> {
    let mut descent = Descent::begin(objective, x, limits, method.work(), outcome)?;
    let stop = iterate(&mut LineSearch { method, descent: &mut descent })?;
    descent.end(stop)
}

/// Steps by a line search on the objective.
struct LineSearch<'a, 'b> {
    method: &'a mut dyn DescentMethod,
    descent: &'a mut Descent<'b>,
}

impl StepRule for LineSearch<'_, '_> {
    fn check(&mut self) -> Result<Option<Termination>, MinimiseError> {
        self.descent.check_convergence(self.method.work())
    }

    fn step(&mut self) -> Result<Option<Termination>, MinimiseError> {
        self.method.step(self.descent)
    }
}

/// Unknowns that one task moves.
const CHUNK: usize = 4096;

#[cfg(test)]
mod tests {
    use super::super::objective::tests::{Wells, limits};
    use super::*;
    use crate::material::HessianMode;
    use supple_linear::BlockMatrix;

    /// One line search from `x` along a fraction of the displacement to the minimum; returns its length and the gradient it has there.
    fn searched(
        wells: &dyn Objective,
        x: &mut [DVec3],
        part: f64,
        max_displacement: f64,
    ) -> (f64, Vec<DVec3>) {
        let limits = StoppingCriteria { max_displacement, ..limits() };
        let mut work = DescentWorkspace::new(&Wells::new(x.len() as u32).pattern(), x.len());
        let mut outcome = Outcome::default();
        let mut descent = Descent::begin(wells, x, &limits, &mut work, &mut outcome).unwrap();
        descent.check_convergence(&mut work).unwrap();
        // The minimum of the wells is the origin.
        work.direction.iter_mut().zip(&*descent.x).for_each(|(d, x)| *d = -part * *x);
        let length = descent.line_search(&mut work, 1.0).unwrap();
        descent.check_convergence(&mut work).unwrap();
        (length, work.gradient)
    }

    #[test]
    fn a_step_that_is_too_short_is_doubled_as_long_as_a_parabola_falls() {
        let wells = Wells::new(8);
        for part in [1.0, 0.8, 0.6, 0.4, 0.1, 0.01] {
            let mut x: Vec<DVec3> = (0..8).map(|v| DVec3::new(1.0, 0.2 * f64::from(v), -0.5)).collect();
            let (length, gradient) = searched(&wells, &mut x, part, f64::INFINITY);
            // A doubled step is lower if the shorter one covered less than two thirds of the distance to the minimum.
            assert!((2.0 / 3.0..4.0 / 3.0).contains(&(part * length)), "{part}: {length}");
            assert_eq!(length == 1.0, part > 2.0 / 3.0, "{part}: {length}");
            let mut rebuilt = vec![DVec3::ZERO; 8];
            wells.gradient(&x, &mut rebuilt);
            assert_eq!(gradient, rebuilt, "{part}");
        }
    }

    #[test]
    fn a_doubled_step_moves_no_vertex_farther_than_it_may() {
        let mut x = vec![DVec3::X; 8];
        let (length, _) = searched(&Wells::new(8), &mut x, 0.1, 0.5);
        assert!(length > 1.0 && length <= 5.0, "{length}");
        assert!(x.iter().all(|x| x.distance(DVec3::X) <= 0.5 + 1e-12));
    }

    /// Slopes down along x up to a wall at 1.2.
    struct Wall;

    impl Objective for Wall {
        fn value(&self, x: &[DVec3]) -> f64 {
            x.iter().map(|x| -x.x + 1e3 * (x.x - 1.2).max(0.0).powi(2)).sum()
        }

        fn gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
            let slope = |x: &DVec3| DVec3::X * (-1.0 + 2e3 * (x.x - 1.2).max(0.0));
            gradient.iter_mut().zip(x).for_each(|(g, x)| *g = slope(x));
        }

        fn hessian(&self, _x: &[DVec3], _curvature: HessianMode, _hessian: &mut BlockMatrix) {}
    }

    #[test]
    fn a_doubled_step_that_climbs_is_rejected_and_restores_the_gradient() {
        let limits = limits();
        let mut x = [DVec3::ZERO];
        let mut work = DescentWorkspace::new(&Arc::new(BlockPattern::new(&[false], &[])), 1);
        let mut outcome = Outcome::default();
        let mut descent = Descent::begin(&Wall, &mut x, &limits, &mut work, &mut outcome).unwrap();
        descent.check_convergence(&mut work).unwrap();
        work.direction[0] = DVec3::X;
        assert_eq!(descent.line_search(&mut work, 1.0), Some(1.0));
        descent.check_convergence(&mut work).unwrap();
        assert_eq!((x, &work.gradient[..]), ([DVec3::X], &[-DVec3::X][..]));
    }

    /// Wells whose value is raised, with the possible rounding of large terms.
    struct Rough(Wells);

    impl Objective for Rough {
        fn value(&self, x: &[DVec3]) -> f64 {
            let scrambled = x.iter().fold(0u64, |bits, x| {
                (bits ^ x.x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
            });
            let noise = (scrambled >> 11) as f64 / (1u64 << 53) as f64;
            1.0 + 1e-10 * noise + self.0.value(x)
        }

        fn gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
            self.0.gradient(x, gradient);
        }

        fn hessian(&self, x: &[DVec3], mode: HessianMode, hessian: &mut BlockMatrix) {
            self.0.hessian(x, mode, hessian);
        }
    }

    #[test]
    fn a_good_step_is_taken_whole_where_rounding_hides_what_it_gains() {
        let rough = Rough(Wells::new(8));
        for start in 1..=50 {
            let mut x = vec![DVec3::splat(1e-6 * f64::from(start).sqrt()); 8];
            let (length, _) = searched(&rough, &mut x, 1.0, f64::INFINITY);
            assert_eq!(length, 1.0, "{start}");
        }
    }

    #[test]
    fn a_known_initial_objective_does_not_change_the_descent() {
        let wells = Wells::new(8);
        let start: Vec<DVec3> = (0..8).map(|v| DVec3::new(1.0, 0.3 * f64::from(v), -0.7)).collect();
        let mut gradient = vec![DVec3::ZERO; 8];
        let value = wells.value_and_gradient(&start, &mut gradient);
        let ends = [None, Some(Evaluated { value, gradient: &gradient })].map(|initial| {
            let (mut x, limits) = (start.clone(), StoppingCriteria { initial, ..limits() });
            let mut work = DescentWorkspace::new(&wells.pattern(), 8);
            let mut outcome = Outcome::default();
            let mut descent = Descent::begin(&wells, &mut x, &limits, &mut work, &mut outcome).unwrap();
            descent.check_convergence(&mut work).unwrap();
            work.direction.iter_mut().zip(&work.gradient).for_each(|(d, g)| *d = -0.1 * *g);
            descent.line_search(&mut work, 1.0);
            (x, outcome.residuals)
        });
        assert_eq!(ends[0], ends[1]);
    }
}
