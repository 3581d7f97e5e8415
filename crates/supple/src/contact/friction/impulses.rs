//! Coulomb friction by impulses (Bridson, Fedkiw and Anderson 2002, section 7.2), after a step that knew none. A contact presses
//! with the impulse `N dt`; its tangential displacement `r` over the step, against what it rests on, is taken back as far as
//! Coulomb's law allows:
//!
//! ```text
//! r = T (Σ cⱼ Δxⱼ - carried),   W = Σ cⱼ²/mⱼ,   J ← J - r/(dt W) cut to |J| <= μ N dt,   Δxⱼ += dt cⱼ ΔJ/mⱼ
//! ```
//!
//! with weights `cⱼ` on unknowns of mass `mⱼ`. One contact alone is solved at once; those that share unknowns take turns in a
//! fixed order, each with the sum `J` of what it has given, so that no turn goes beyond Coulomb's law. The weights of a pair of
//! surfaces sum to zero, so momentum stays as it is.
//!
//! The velocities are changed with the positions. An unknown is slowed by its own mass alone: cloth is held whole, the
//! inside of a solid by its elasticity only, in the steps that follow.

use glam::DVec3;

use crate::contact::friction::across;

/// How often contacts take turns.
const MAX_SWEEPS: u32 = 10;

/// A contact that presses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormalImpulse {
    /// Unit normal.
    pub normal: DVec3,
    /// The largest friction.
    pub limit: f64,
    /// How what it rests on was moved over the step, in metres.
    pub carried: DVec3,
}

/// All contacts of a step.
#[derive(Debug, Default)]
pub struct FrictionImpulses {
    weights: Vec<(u32, f64)>,
    contacts: Vec<Contact>,
}

#[derive(Debug, Clone, Copy)]
struct Contact {
    /// The end of its weights; they begin where those of the contact before end.
    end: u32,
    /// Its limit in N·s.
    press: NormalImpulse,
    /// The impulse so far, in N·s.
    impulse: DVec3,
}

impl FrictionImpulses {
    /// Forgets all contacts.
    pub fn clear(&mut self) {
        self.weights.clear();
        self.contacts.clear();
    }

    /// Adds a contact of a point with weights on unknowns, with its limit in N·s.
    pub fn push(&mut self, weights: &[(u32, f64)], press: NormalImpulse) {
        self.weights.extend_from_slice(weights);
        self.contacts.push(Contact { end: self.weights.len() as u32, press, impulse: DVec3::ZERO });
    }

    /// Takes slip out of a step of `dt` seconds from `from` to `to`. Unknowns that are held have no `mass` that could be moved.
    pub fn slow(&mut self, from: &[DVec3], to: &mut [DVec3], dt: f64, mass: impl Fn(usize) -> Option<f64>) {
        // What weighs nothing, at the tip of a triangle without area, is left alone too.
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

    #[test]
    fn a_point_alone_stops_or_loses_what_coulomb_allows() {
        let (from, dt, mass) = (DVec3::new(1.0, 2.0, 3.0), 0.01, 0.5);
        let step = DVec3::new(0.03, -0.002, 0.04);
        for limit in [1.0, 10.0] {
            let mut impulses = FrictionImpulses::default();
            impulses.push(&[(0, 1.0)], NormalImpulse { normal: DVec3::Y, limit, carried: DVec3::ZERO });
            let mut to = [from + step];
            impulses.slow(&[from], &mut to, dt, |_| Some(mass));
            // It slides by 5 cm a step with 2.5 N·s; the normal part stays.
            let left = 0.05 - f64::min(limit * dt / mass, 0.05);
            let expected = from + DVec3::new(0.6 * left, -0.002, 0.8 * left);
            assert!(to[0].distance(expected) < 1e-14, "{limit}: {}", to[0]);
        }
    }

    #[test]
    fn what_is_carried_along_is_no_slip_and_what_is_held_does_not_move() {
        let carried = DVec3::new(0.01, 0.0, 0.0);
        let mut impulses = FrictionImpulses::default();
        impulses.push(&[(0, 1.0)], NormalImpulse { normal: DVec3::Y, limit: 1.0, carried });
        impulses.push(&[(1, 1.0)], NormalImpulse { normal: DVec3::Y, limit: 1.0, carried });
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
            impulses.push(&weights, NormalImpulse { normal: DVec3::Y, limit, carried: DVec3::ZERO });
            let mut to: [DVec3; 4] = std::array::from_fn(|i| from[i] + moves[i]);
            let before = momentum(&to);
            impulses.slow(&from, &mut to, 0.01, |v| Some(masses[v]));
            assert!(momentum(&to).distance(before) < 1e-15);
            let slip: DVec3 = weights.iter().map(|&(v, w)| w * (to[v as usize] - from[v as usize])).sum();
            assert!((slip.x.abs() < 1e-15) == sticks && slip.x >= -1e-15, "{limit}: {slip}");
        }
    }
}
