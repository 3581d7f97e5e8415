//! Soft pins and dragged points: a material point `q = Σ aᵢ pᵢ` pulled to a target by a spring of stiffness `k`, projected like a
//! constraint of compliance `1/k` with a multiplier for each direction.

use glam::DVec3;

use crate::energy::attachment::Attachments;
use crate::solvers::hpbd::constraint::Step;

/// All of them over one step.
#[derive(Debug, Default)]
pub(crate) struct SoftPins {
    pub(crate) attachments: Attachments,
    multipliers: Vec<DVec3>,
}

impl SoftPins {
    /// Resets the multipliers of the last step.
    pub(crate) fn begin_step(&mut self) {
        self.multipliers.clear();
        self.multipliers.resize(self.attachments.len(), DVec3::ZERO);
    }

    /// Projects the points all of whose particles are on a level.
    pub(crate) fn project(&mut self, step: &Step<'_>, on_level: impl Fn(u32) -> bool) {
        for (multiplier, (point, constraint)) in self.multipliers.iter_mut().zip(self.attachments.iter()) {
            if !point.iter().all(|&(p, _)| on_level(p)) {
                continue;
            }
            let at: DVec3 = point.iter().map(|&(p, a)| a * step.positions.get(p as usize)).sum();
            let give: f64 = point.iter().map(|&(p, a)| a * a * step.positions.weight(p as usize)).sum();
            if give <= 0.0 {
                continue;
            }
            let soft = 1.0 / (constraint.stiffness * step.length * step.length);
            let change = (constraint.target - at - soft * *multiplier) / (give + soft);
            *multiplier += change;
            for &(p, a) in point {
                let p = p as usize;
                step.positions.set(p, step.positions.get(p) + a * step.positions.weight(p) * change);
            }
        }
    }
}
