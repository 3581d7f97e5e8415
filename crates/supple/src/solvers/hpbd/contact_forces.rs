//! The forces of contact in a step: the mean of what colliders, pairs and the projection of contacts have pushed.
//!
//! The impulse of a push on a particle is its mass times its displacement over the length of the small step; the force is the sum of all
//! impulses over the length of the step. Points of a surface inside a lattice take over the impulses of the particles that move them.

use glam::DVec3;

use crate::contact::forces::{ContactForces, ContactSite, ForceKind, ForceSums, Owner, Support};
use crate::dynamics::{ContactImpulse, ContactProjection, System};
use crate::scene_state::SceneState;
use crate::solvers::hpbd::collision::pushes::{ByKind, Pushes};

const KINDS: ByKind<ForceKind> = [ForceKind::Normal, ForceKind::Friction];

/// The impulses of a step, and where everything is at its end.
pub(crate) struct StepImpulses<'a> {
    pub(crate) scene_state: &'a SceneState,
    pub(crate) system: &'a System,
    pub(crate) contact: &'a ContactProjection,
    pub(crate) x: &'a [DVec3],
    /// The length of the step in seconds.
    pub(crate) length: f64,
    /// By colliders on particles.
    pub(crate) pushes: &'a Pushes,
    /// Of pairs, on colliding points.
    pub(crate) pairs: &'a [ContactImpulse],
}

impl StepImpulses<'_> {
    /// The mean forces of the step.
    pub(crate) fn forces(&self) -> ContactForces {
        let bodies = &self.scene_state.bodies;
        let ends: Vec<u32> = bodies
            .iter()
            .scan(0, |end, body| {
                *end += body.embedding.len() as u32;
                Some(*end)
            })
            .collect();
        let system = &self.system.contact_system;
        let owner = |point: u32| match system.is_empty() {
            true => Owner::Body(ends.partition_point(|end| *end <= point) as u32),
            false => system.owner(point),
        };
        let soft = self.scene_state.colliders.iter().map(|(_, collider)| collider.stiffness.is_some());
        let soft_count = soft.clone().filter(|is_soft| *is_soft).count();
        let counts = [self.scene_state.colliders.len() - soft_count, soft_count];
        let mut sums = ForceSums::new(self.system.points.len(), counts);
        let at = system.place_all(&self.system.points, self.x);
        let numbers = self.point_numbers();
        let of_pairs = self.pairs.iter().map(|pair| {
            let points = pair.site.points.map(|point| numbers[point as usize]);
            ContactImpulse { site: ContactSite { points, ..pair.site }, ..*pair }
        });
        for ContactImpulse { site, impulses } in self.contact.impulses().iter().copied().chain(of_pairs) {
            for (impulse, kind) in impulses.into_iter().zip(KINDS) {
                let forces = site.weights.map(|weight| weight * impulse / self.length);
                sums.add(&site, &forces, &at, owner, kind);
            }
        }
        let supports = supports(soft.clone());
        for (impulses, support) in self.pushes.impulses().zip(supports) {
            for (impulses, kind) in impulses.iter().zip(KINDS) {
                for (point, impulse) in self.on_points(impulses) {
                    let site = ContactSite { points: [point; 4], weights: [1.0, 0.0, 0.0, 0.0], support };
                    let force = [impulse / self.length, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
                    sums.add(&site, &force, &at, owner, kind);
                }
            }
        }
        let areas: Vec<f64> = bodies.iter().flat_map(|body| &body.point_areas).copied().collect();
        sums.finish(&areas, |point| system.stands_for(point), soft)
    }

    /// The impulses on surface points, given those on particles. What particles without a surface point have is spread in proportion to what
    /// the points of their body have.
    fn on_points(&self, impulses: &[DVec3]) -> Vec<(u32, DVec3)> {
        let mut found = Vec::new();
        if impulses.is_empty() {
            return found;
        }
        let mut first_point = 0;
        for (b, body) in self.scene_state.bodies.iter().enumerate() {
            let first = self.system.first_unknown[b] as usize;
            let impulse = |v: u32| impulses.get(first + v as usize).copied().unwrap_or(DVec3::ZERO);
            let points = 0..body.embedding.len();
            let own: Vec<usize> = points
                .filter(|p| self.system.contact_system.stands_for(first_point + p) == first_point + p)
                .collect();
            let mut whole = vec![0.0; body.start.len()];
            let parts = |p: usize| body.embedding.weights(p).iter().map(|&(v, weight)| (v, weight.max(0.0)));
            own.iter().flat_map(|p| parts(*p)).for_each(|(v, weight)| whole[v as usize] += weight);
            let of_point = |p: usize| -> DVec3 {
                let used = parts(p).filter(|(_, weight)| *weight > 0.0);
                used.map(|(v, weight)| weight / whole[v as usize] * impulse(v)).sum()
            };
            let begin = found.len();
            let pushed = own.iter().map(|&p| ((first_point + p) as u32, of_point(p)));
            found.extend(pushed.filter(|(_, impulse)| *impulse != DVec3::ZERO));
            let inner: DVec3 = (0..whole.len()).filter(|v| whole[*v] == 0.0).map(|v| impulse(v as u32)).sum();
            let total: f64 = found[begin..].iter().map(|(_, impulse)| impulse.length()).sum();
            if inner != DVec3::ZERO && total > 0.0 {
                found[begin..].iter_mut().for_each(|(_, own)| *own += own.length() / total * inner);
            }
            first_point += body.embedding.len();
        }
        found
    }

    /// The surface point of each colliding point: first the points of surfaces inside lattices, then the particles.
    fn point_numbers(&self) -> Vec<u32> {
        let (mut embedded, mut particles) = (Vec::new(), vec![u32::MAX; self.x.len()]);
        let mut first_point = 0;
        for (body, &first) in self.scene_state.bodies.iter().zip(&self.system.first_unknown) {
            let points = 0..body.embedding.len();
            if points.clone().any(|p| body.embedding.weights(p).len() > 1) {
                embedded.extend(points.map(|p| (first_point + p) as u32));
            } else {
                for p in points.rev() {
                    if let [(v, _)] = body.embedding.weights(p) {
                        particles[(first + v) as usize] = (first_point + p) as u32;
                    }
                }
            }
            first_point += body.embedding.len();
        }
        embedded.extend(particles);
        embedded
    }
}

/// What each collider of a scene is among the hard and the soft ones.
fn supports(is_soft: impl Iterator<Item = bool>) -> impl Iterator<Item = Support> {
    let mut counts = [0, 0];
    is_soft.map(move |is_soft| {
        let count = &mut counts[usize::from(is_soft)];
        *count += 1;
        if is_soft { Support::Soft(*count - 1) } else { Support::Hard(*count - 1) }
    })
}
