//! Pinches: where colliders close on a body that has nowhere to go, the colliders win. The points without room are released from contact
//! with one collider, that of lower priority if there are several. What is inside that collider afterwards stays released until it has
//! come out again (`untangling.rs`); what is not takes part again in the next step.

use glam::DVec3;

use super::{ContactSystem, Detection, place};
use supple_core::Error;

/// Distances, over the activation distance, below which contacts count as squeezed: one after the other, until there is room.
const SQUEEZED: [f64; 4] = [0.1, 0.25, 0.5, 1.0];

/// Places at which colliders look for what they pass, at most.
const MOST_PLACES: f64 = 1024.0;

impl ContactSystem {
    /// How often [`Self::release_pinched`] can release more.
    pub(crate) const PINCH_ROUNDS: usize = SQUEEZED.len();

    /// Releases the points that are squeezed at `x`, where colliders cannot move on; returns how many.
    pub(crate) fn release_pinched(&mut self, x: &[DVec3], round: usize) -> usize {
        let before = self.pinched.len();
        let squeezed = self.squeezed_points(x, SQUEEZED[round]);
        self.pinched.extend(squeezed);
        self.pinched.sort_unstable();
        self.pinched.dedup();
        if self.pinched.len() > before {
            self.apply_releases(x);
        }
        self.pinched.len() - before
    }

    /// Moves the colliders to the step's end, whatever is in their way, and releases what they pass.
    pub(crate) fn force_to_end(&mut self, x: &[DVec3]) -> Result<(), Error> {
        // Nothing is missed between two places that are nearer to each other than contacts reach.
        let places = (self.farthest_driven()? / self.properties.thickness).ceil().clamp(1.0, MOST_PLACES);
        let begin = self.pose();
        for place in 1..=places as u32 {
            self.set_pose(begin + (1.0 - begin) * (f64::from(place) / places).min(1.0))?;
            let passed = self.squeezed_points(x, 1.0);
            self.pinched.extend(passed);
        }
        self.set_pose(1.0)?;
        self.pinched.sort_unstable();
        self.pinched.dedup();
        self.record_forced(x);
        self.update_tangle(x);
        self.tangled = true;
        Ok(())
    }

    /// Collider and point of all points that a pinch has released in this step.
    pub(crate) fn pinched(&self) -> &[[u32; 2]] {
        &self.pinched
    }

    /// Collider and point of all points that are left out of contact with a collider now.
    pub(crate) fn released_points(&self) -> &[[u32; 2]] {
        self.released.points()
    }

    /// Collider and point of squeezed contacts, each point with the touching collider of the lowest priority.
    fn squeezed_points(&self, x: &[DVec3], squeezed: f64) -> Vec<[u32; 2]> {
        let found = self.normal_contacts(x);
        let surfaces = &self.properties.surfaces;
        let mut touching = Vec::new();
        for contact in found.contacts() {
            let Some(collider) = self.collider_of(contact) else { continue };
            let reach =
                surfaces.collider_reach(surfaces.body(contact.points[0].min(contact.points[3])), collider);
            let own = contact.points.iter().zip(contact.weights);
            let own = own.filter(|(p, w)| *w != 0.0 && !surfaces.is_driven(**p));
            touching.extend(own.map(|(p, _)| (*p, collider as u32, contact.distance < squeezed * reach)));
        }
        touching.sort_unstable();
        touching.dedup();
        // Points between two colliders first: others may only be next to them.
        let between = |all: &[(u32, u32, bool)]| all.iter().any(|t| t.1 != all[0].1);
        let squeezed = || touching.chunk_by(|a, b| a.0 == b.0).filter(|all| all.iter().any(|t| t.2));
        let any_between = squeezed().any(between);
        let of_point = squeezed().filter(|all| !any_between || between(all));
        let lowest = |all: &[(u32, u32, bool)]| {
            let least = |a: u32, b: u32| if self.yields_to(b, a) { b } else { a };
            all.iter().map(|t| t.1).reduce(least).map(|collider| [collider, all[0].0])
        };
        of_point.filter_map(lowest).collect()
    }

    /// Whether a collider has a lower priority than another; of two that are equal the later one has.
    fn yields_to(&self, collider: u32, other: u32) -> bool {
        let key = |index: u32| (self.obstacles.priority(index as usize), std::cmp::Reverse(index));
        key(collider) < key(other)
    }

    /// Updates what is released at `x`.
    fn apply_releases(&mut self, x: &[DVec3]) {
        let mut found = std::mem::take(self.found_mut());
        let Detection { candidates, at, known, .. } = &mut found;
        place(&self.properties.points, x, &self.driven, at);
        let mut released = std::mem::take(&mut self.released);
        self.release(&self.entanglement, at, &mut released);
        candidates.set_released(&released);
        *known = false;
        *self.found_mut() = found;
        self.released = released;
        self.tangled = true;
    }
}
