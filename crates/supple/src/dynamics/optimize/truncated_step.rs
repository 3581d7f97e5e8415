//! The step of a descent whose direction would make surfaces meet: truncated by vertex if that descends, else by island, else for all.

use super::descent::{Descent, DescentWorkspace, SUFFICIENT_DECREASE};
use super::truncation::Couplings;
use crate::scene::Truncation;
use supple_core::parallel;
use supple_linear::vectors::dot;

/// The part of the decrease that one step length for all would give, by the quadratic model, which a truncated step must reach.
const COMPARABLE_DECREASE: f64 = 0.5;

impl Descent<'_> {
    /// Moves `x` along a truncated direction, if one decreases the objective enough at the full `length`, of which the fraction `free` is
    /// possible for all vertices alike. The direction then is the truncated one.
    pub(super) fn truncated_step(
        &mut self,
        work: &mut DescentWorkspace,
        length: f64,
        free: f64,
        slope: f64,
    ) -> Option<f64> {
        // Of a parabola with its minimum at the full step, as Newton's is.
        let comparable = COMPARABLE_DECREASE * free * (1.0 - 0.5 * free) * length * -slope;
        let rules = [Truncation::Vertex, Truncation::Island];
        let first = rules.iter().position(|rule| *rule == self.objective.truncation())?;
        for rule in &rules[first..] {
            if !self.truncate(work, length, *rule) {
                continue;
            }
            let slope = work.truncated_slope();
            if slope >= 0.0 {
                continue;
            }
            let lower = self.objective.value_and_gradient(&work.trial, &mut work.tried);
            let fallen = self.value - lower;
            if fallen >= comparable && fallen >= SUFFICIENT_DECREASE * length * -slope {
                self.outcome.cuts.by_island += u32::from(*rule == Truncation::Island);
                work.truncate_direction(length);
                return self.accept(work, (length, lower));
            }
        }
        None
    }

    /// Truncates the direction and moves the trial positions along it, if the slope along it is at least as steep as along the fraction
    /// `free` of the whole: for methods that do not test the objective.
    pub(super) fn truncate_descending(&mut self, work: &mut DescentWorkspace, free: f64) -> bool {
        let global = free * dot(&work.gradient, &work.direction);
        let rules = [Truncation::Vertex, Truncation::Island];
        let first = rules.iter().position(|rule| *rule == self.objective.truncation());
        let Some(first) = first else { return false };
        let taken = rules[first..]
            .iter()
            .find(|rule| self.truncate(work, 1.0, **rule) && work.truncated_slope() <= global);
        let Some(rule) = taken else { return false };
        self.outcome.cuts.by_island += u32::from(*rule == Truncation::Island);
        work.truncate_direction(1.0);
        true
    }

    /// Truncates the displacement of a step of some length in the trial positions; `false` if this rule cannot.
    pub(super) fn truncate(&mut self, work: &mut DescentWorkspace, length: f64, rule: Truncation) -> bool {
        work.move_trial(self.x, length);
        work.trial_length = f64::NAN;
        let DescentWorkspace { fractions, trial, pattern, vertices, full_step, .. } = work;
        full_step.clone_from(trial);
        let way = [&*self.x, &full_step[..]];
        match rule {
            Truncation::Vertex => {
                fractions.by_vertex(self.objective, way, trial, Couplings { pattern, vertices })
            }
            Truncation::Island => fractions.by_island(self.objective, way, trial),
            Truncation::Global => false,
        }
    }
}

impl DescentWorkspace {
    /// The slope along the truncated direction.
    pub(super) fn truncated_slope(&self) -> f64 {
        let Self { vertices, gradient, direction, fractions, .. } = self;
        parallel::sum(vertices.len(), |i| fractions.of(vertices[i]) * gradient[i].dot(direction[i]))
    }

    /// Replaces the direction by the truncated one, along which the trial positions are `length` away.
    pub(super) fn truncate_direction(&mut self, length: f64) {
        let Self { vertices, direction, fractions, .. } = self;
        direction.iter_mut().zip(vertices).for_each(|(d, v)| *d *= fractions.of(*v));
        self.trial_length = length;
    }
}
