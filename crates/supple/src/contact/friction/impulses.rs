//! Coulomb friction by impulses (Bridson, Fedkiw and Anderson 2002, section 7.2), after a frictionless step. A contact has
//! the normal impulse `N dt`; its tangential displacement `r` over the step, relative to its support, is reverted as far as
//! Coulomb's law allows:
//!
//! ```text
//! r = T (Σ cⱼ Δxⱼ - carried),   W = Σ cⱼ²/mⱼ,   J ← J - r/(dt W) clamped to |J| <= μ N dt,   Δxⱼ += dt cⱼ ΔJ/mⱼ
//! ```
//!
//! with weights `cⱼ` on unknowns of mass `mⱼ`. A single contact is solved exactly; those that share unknowns are swept in a
//! fixed order, each with its accumulated impulse `J`, so that no sweep exceeds Coulomb's law. The weights of a pair of
//! surfaces sum to zero, so momentum is conserved.
//!
//! The velocities are changed with the positions. An unknown is slowed by its own mass alone: cloth is stopped entirely, the
//! inside of a solid by its elasticity only, in the steps that follow.

use glam::DVec3;

use crate::contact::forces::ContactSite;
use crate::contact::friction::across;

/// The number of sweeps over the contacts.
const MAX_SWEEPS: u32 = 10;

/// A contact with a normal impulse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormalImpulse {
    /// Unit normal.
    pub normal: DVec3,
    /// The largest friction.
    pub limit: f64,
    /// Displacement of its support over the step, in metres.
    pub carried: DVec3,
}

/// All contacts of a step.
#[derive(Debug, Default)]
pub struct FrictionImpulses {
    weights: Vec<(u32, f64)>,
    contacts: Vec<ImpulseContact>,
    /// Where each contact is.
    sites: Vec<ContactSite>,
}

#[derive(Debug, Clone, Copy)]
struct ImpulseContact {
    /// The end of its weights; they start where those of the previous contact end.
    end: u32,
    /// Its limit in N·s.
    press: NormalImpulse,
    /// The accumulated impulse, in N·s.
    impulse: DVec3,
}

impl FrictionImpulses {
    /// Removes all contacts.
    pub fn clear(&mut self) {
        self.weights.clear();
        self.contacts.clear();
        self.sites.clear();
    }

    /// The impulses on the combinations of points at which contacts are, in N·s.
    pub(crate) fn impulses(&self) -> impl Iterator<Item = (&ContactSite, DVec3)> {
        self.sites.iter().zip(self.contacts.iter().map(|contact| contact.impulse))
    }

    /// Adds a contact with weights on unknowns, with its limit in N·s.
    pub(crate) fn push(&mut self, weights: &[(u32, f64)], press: NormalImpulse, site: ContactSite) {
        self.sites.push(site);
        self.weights.extend_from_slice(weights);
        self.contacts.push(ImpulseContact { end: self.weights.len() as u32, press, impulse: DVec3::ZERO });
    }

    /// Removes slip from a step of `dt` seconds from `from` to `to`. `mass` is `None` for fixed unknowns.
    pub fn slow(&mut self, from: &[DVec3], to: &mut [DVec3], dt: f64, mass: impl Fn(usize) -> Option<f64>) {
        // Massless points, at the tip of a triangle without area, are skipped too.
        let softness = |v: u32| mass(v as usize).filter(|mass| *mass > 0.0).map_or(0.0, f64::recip);
        for _ in 0..MAX_SWEEPS {
            let mut start = 0;
            for contact in &mut self.contacts {
                let weights = &self.weights[start..contact.end as usize];
                start = contact.end as usize;
                let give: f64 = weights.iter().map(|&(v, c)| c * c * softness(v)).sum();
                if give <= 0.0 {
                    continue;
                }
                let NormalImpulse { normal, limit, carried } = contact.press;
                let moved: DVec3 =
                    weights.iter().map(|&(v, c)| c * (to[v as usize] - from[v as usize])).sum();
                let slip = across(moved - carried, normal);
                let impulse = (contact.impulse - slip / (dt * give)).clamp_length_max(limit);
                let change = impulse - contact.impulse;
                contact.impulse = impulse;
                weights.iter().for_each(|&(v, c)| to[v as usize] += dt * c * softness(v) * change);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::forces::Support;

    const SITE: ContactSite = ContactSite { points: [0; 4], weights: [0.0; 4], support: Support::Points };

    #[test]
    fn a_point_alone_stops_or_loses_what_coulomb_allows() {
        let (from, dt, mass) = (DVec3::new(1.0, 2.0, 3.0), 0.01, 0.5);
        let step = DVec3::new(0.03, -0.002, 0.04);
        for limit in [1.0, 10.0] {
            let mut impulses = FrictionImpulses::default();
            impulses.push(&[(0, 1.0)], NormalImpulse { normal: DVec3::Y, limit, carried: DVec3::ZERO }, SITE);
            let mut to = [from + step];
            impulses.slow(&[from], &mut to, dt, |_| Some(mass));
            // It slides by 5 cm per step with 2.5 N·s; the normal part is unchanged.
            let left = 0.05 - f64::min(limit * dt / mass, 0.05);
            let expected = from + DVec3::new(0.6 * left, -0.002, 0.8 * left);
            assert!(to[0].distance(expected) < 1e-14, "{limit}: {}", to[0]);
        }
    }

    #[test]
    fn what_is_carried_along_is_no_slip_and_what_is_held_does_not_move() {
        let carried = DVec3::new(0.01, 0.0, 0.0);
        let mut impulses = FrictionImpulses::default();
        impulses.push(&[(0, 1.0)], NormalImpulse { normal: DVec3::Y, limit: 1.0, carried }, SITE);
        impulses.push(&[(1, 1.0)], NormalImpulse { normal: DVec3::Y, limit: 1.0, carried }, SITE);
        let mut to = [carried, DVec3::ZERO];
        impulses.slow(&[DVec3::ZERO; 2], &mut to, 0.01, |v| (v == 0).then_some(1.0));
        assert_eq!(to, [carried, DVec3::ZERO]);
    }

    #[test]
    fn pairs_keep_momentum_and_come_to_move_together() {
        let masses = [1.0, 2.0, 3.0, 4.0];
        let weights = [(0, 1.0), (1, -0.2), (2, -0.5), (3, -0.3)];
        let from = [DVec3::ZERO, DVec3::X, DVec3::Z, -DVec3::X];
        let moves = [DVec3::new(0.02, 0.01, 0.0), DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        let momentum = |to: &[DVec3; 4]| (0..4).map(|i| masses[i] * (to[i] - from[i])).sum::<DVec3>();
        for (limit, sticks) in [(100.0, true), (0.1, false)] {
            let mut impulses = FrictionImpulses::default();
            impulses.push(&weights, NormalImpulse { normal: DVec3::Y, limit, carried: DVec3::ZERO }, SITE);
            let mut to: [DVec3; 4] = std::array::from_fn(|i| from[i] + moves[i]);
            let before = momentum(&to);
            impulses.slow(&from, &mut to, 0.01, |v| Some(masses[v]));
            assert!(momentum(&to).distance(before) < 1e-15);
            let slip: DVec3 = weights.iter().map(|&(v, w)| w * (to[v as usize] - from[v as usize])).sum();
            assert!((slip.x.abs() < 1e-15) == sticks && slip.x >= -1e-15, "{limit}: {slip}");
        }
    }
}
