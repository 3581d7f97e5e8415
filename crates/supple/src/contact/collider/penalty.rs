//! Contact of surface points with colliders: a quadratic penalty with its normal Hessian, and Coulomb friction with a
//! smoothed static part.
//!
//! A point with surface area `A` and depth `d = thickness - distance > 0` has `E = A k/2 d²`, gradient `-A k d n` and
//! Hessian `A k n nᵀ`; the curvature of the collider is left out, since it is negative outside convex shapes.
//!
//! Signed distances change by no more than a point moves. So each step measures once how far every point is from contact,
//! and skips it until it has moved that far.
//!
//! Friction (`contact/friction`) acts on points that touched at the step's start, with normal force and normal lagged from
//! then. The slip is relative to the collider's own motion. Adhesive friction stores where on the collider a point stuck.
//! Friction by impulses (`friction/impulses.rs`) is not part of the energy.

use std::sync::{Arc, Mutex, PoisonError};

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::body::Embedding;
use crate::contact::PosedCollider;
use crate::contact::forces::{ContactSite, ForceKind, ForceSums, Owner, Support};
use crate::contact::friction::impulses::{FrictionImpulses, NormalImpulse};
use crate::contact::friction::{Friction, across};
use crate::energy::attachment::point_couplings;
use crate::energy::outer;
use crate::energy::{Energy, PointVisitor};
use crate::material::HessianMode;
use crate::scene::FrictionModel;
use supple_core::Error;
use supple_core::parallel::{self, CHUNK, Found};
use supple_core::state::{StateReader, StateWriter};

/// The position of a point if it stuck to a collider.
#[derive(Debug, Clone, Copy)]
struct StickAnchor {
    point: u32,
    collider: u32,
    anchor: DVec3,
}

/// Friction of one point over one step.
#[derive(Debug, Clone, Copy)]
struct PointFriction {
    hold: StickAnchor,
    normal: DVec3,
    /// Friction coefficient times normal force, in newtons.
    limit: f64,
}

/// Contact of all surface points with all colliders over one step.
#[derive(Debug, Default)]
pub struct Contacts {
    /// The surface points.
    pub points: Arc<Embedding>,
    /// Surface area represented by each point, in m².
    pub areas: Vec<f64>,
    /// The body of each point; the first one where that is not said.
    pub bodies: Vec<u32>,
    /// Friction coefficient of each point's body, used where neither the scene's pairs nor the collider specify one.
    pub friction: Vec<f64>,
    /// The colliders over this step.
    pub colliders: Vec<PosedCollider>,
    /// The friction model.
    pub model: FrictionModel,
    /// The thickness of surfaces in metres, which determines the elastic range of adhesive friction.
    pub thickness: f64,
    frictions: Found<PointFriction>,
    law: Friction,
    /// Where points stick, by point and collider: for adhesive friction.
    holds: Vec<StickAnchor>,
    clearances: Vec<Clearance>,
    scratch: Mutex<ContactScratch>,
}

/// Contact forces of points, kept so that evaluations allocate nothing.
#[derive(Debug, Default)]
struct ContactScratch {
    forces: Found<(usize, DVec3)>,
    hessians: Found<(usize, DMat3)>,
    presses: Found<(usize, u32, NormalImpulse)>,
}

/// Position of a point at the step's start, and how far it can move before it can touch anything, in metres.
#[derive(Debug, Clone, Copy, Default)]
struct Clearance {
    from: DVec3,
    distance: f64,
}

impl Contacts {
    /// Starts a step of `dt` seconds from `x`, with the current colliders: sets friction anchors and limits.
    pub fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        self.law = Friction::over(self.model, dt, self.thickness);
        let mut clearances = std::mem::take(&mut self.clearances);
        clearances.resize(self.points.len(), Clearance::default());
        clearances.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, clearance)| {
            *clearance = self.clearance(i, self.points.position(i, x));
        });
        self.clearances = clearances;
        let mut frictions = std::mem::take(&mut self.frictions);
        let count = if self.model == FrictionModel::Impulse { 0 } else { self.points.len() };
        frictions.look(count, |i, found| found.extend(self.lagged_frictions_of(i)));
        self.frictions = frictions;
    }

    /// Ends a step at `x`: adhesive friction stores the anchors of points.
    pub fn end_step(&mut self, x: &[DVec3]) {
        if self.model != FrictionModel::Adhesive {
            return;
        }
        let mut holds = std::mem::take(&mut self.holds);
        holds.clear();
        holds.extend(self.frictions.iter().map(|friction_point| {
            // Relative to the current position: on round shapes, an anchor would otherwise stay behind below the surface.
            let position = self.points.position(friction_point.hold.point as usize, x);
            StickAnchor {
                anchor: position - self.law.kept(self.slip(friction_point, x)),
                ..friction_point.hold
            }
        }));
        self.holds = holds;
    }

    /// Takes over the anchors from the previous contacts of the same points.
    pub fn take_over_anchors(&mut self, before: &mut Self) {
        self.holds = std::mem::take(&mut before.holds);
    }

    /// Saves the anchors of points.
    pub fn save(&self, state: &mut StateWriter) {
        let words: Vec<u32> = self.holds.iter().flat_map(|hold| [hold.point, hold.collider]).collect();
        let anchors: Vec<DVec3> = self.holds.iter().map(|hold| hold.anchor).collect();
        state.words(&words);
        state.vectors(&anchors);
    }

    /// Restores saved anchors.
    pub fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let words = state.words()?;
        let anchors = state.list()?;
        let hold = |(&[point, collider], anchor): (&[u32; 2], DVec3)| StickAnchor { point, collider, anchor };
        self.holds = words.as_chunks::<2>().0.iter().zip(anchors).map(hold).collect();
        Ok(())
    }

    /// Adds the contacts that friction impulses act on, over a step of `dt` seconds that ends at `x`.
    pub fn add_impulses(&self, x: &[DVec3], dt: f64, impulses: &mut FrictionImpulses) {
        let mut touching = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let touching = &mut touching.presses;
        touching.look(self.points.len(), |i, found| found.extend(self.presses(i, x)));
        for &(i, collider, NormalImpulse { normal, limit, carried }) in touching.iter() {
            let press = NormalImpulse { normal, limit: dt * limit, carried };
            impulses.push(self.points.weights(i), press, site(i, collider));
        }
    }

    /// The normal impulses of a point on the colliders that it touches, with limits in newtons.
    fn presses(&self, i: usize, x: &[DVec3]) -> impl Iterator<Item = (usize, u32, NormalImpulse)> {
        let near = self.near(i, x).map(|position| (position, self.clearances[i].from));
        self.colliders_of(i).filter_map(move |(c, collider)| {
            let (position, from) = near?;
            let separation = collider.separation_after(from, position);
            let force = self.areas[i] * collider.stiffness * (collider.thickness - separation.distance);
            let limit = collider.friction(self.body(i)).unwrap_or(self.friction[i]) * force;
            let carried = collider.carry(from) - from;
            (limit > 0.0).then_some((i, c, NormalImpulse { normal: separation.normal, limit, carried }))
        })
    }

    fn body(&self, i: usize) -> u32 {
        self.bodies.get(i).copied().unwrap_or(0)
    }

    /// The colliders that a point's body meets, with their numbers.
    fn colliders_of(&self, i: usize) -> impl Iterator<Item = (u32, &PosedCollider)> {
        let body = self.body(i);
        (0..).zip(&self.colliders).filter(move |(_, collider)| collider.meets(body))
    }

    fn clearance(&self, i: usize, from: DVec3) -> Clearance {
        let free = |(_, collider): (u32, &PosedCollider)| {
            collider.separation_after(from, from).distance - collider.thickness
        };
        Clearance { from, distance: self.colliders_of(i).map(free).fold(f64::INFINITY, f64::min) }
    }

    /// The position of a point that may touch a collider at the step's end; `None` if it is too far from all.
    fn near(&self, i: usize, x: &[DVec3]) -> Option<DVec3> {
        let position = self.points.position(i, x);
        let Clearance { from, distance } = self.clearances[i];
        // The margin covers rounding; NaN must not be skipped.
        let is_free = position.distance(from) * (1.0 + 1e-9) + 1e-12 < distance;
        (!is_free).then_some(position)
    }

    fn lagged_frictions_of(&self, i: usize) -> impl Iterator<Item = PointFriction> {
        let Clearance { from, distance } = self.clearances[i];
        let touches = move |collider: &PosedCollider| distance <= 0.0 || !collider.rests();
        let colliders = self.colliders_of(i).filter(move |(_, collider)| touches(collider));
        colliders.filter_map(move |(c, collider)| self.lagged_friction([i as u32, c], collider, from))
    }

    fn lagged_friction(
        &self,
        [point, c]: [u32; 2],
        collider: &PosedCollider,
        position: DVec3,
    ) -> Option<PointFriction> {
        let (area, friction) = (self.areas[point as usize], self.friction[point as usize]);
        let separation = collider.start_separation(position);
        let force = area * collider.stiffness * (collider.thickness - separation.distance);
        let limit = collider.friction(self.body(point as usize)).unwrap_or(friction) * force;
        let here = collider.carry(position);
        let normal = collider.separation(here).normal;
        let fresh = PointFriction { hold: StickAnchor { point, collider: c, anchor: here }, normal, limit };
        (limit > 0.0).then(|| self.held(fresh, collider, here))
    }

    /// The same friction constraint at the earlier anchor, if there is one. An anchor beyond the range of any stored slip belongs to
    /// another collider, or to a state that was edited.
    fn held(&self, fresh: PointFriction, collider: &PosedCollider, here: DVec3) -> PointFriction {
        let key = |hold: &StickAnchor| (hold.point, hold.collider);
        let Ok(place) = self.holds.binary_search_by_key(&key(&fresh.hold), key) else { return fresh };
        let anchor = collider.carry(self.holds[place].anchor);
        let friction_point = PointFriction { hold: StickAnchor { anchor, ..fresh.hold }, ..fresh };
        if self.law.holds(across(here - anchor, friction_point.normal)) { friction_point } else { fresh }
    }

    /// The number of points in contact, and the deepest penetration past the thickness in metres.
    pub fn count_and_depth(&self, x: &[DVec3]) -> (u32, f64) {
        if self.colliders.is_empty() {
            return (0, 0.0);
        }
        let deeper = |a: (u32, f64), b: (u32, f64)| (a.0 + b.0, a.1.max(b.1));
        parallel::fold(
            self.points.len(),
            CHUNK,
            (0, 0.0),
            |points| points.map(|i| self.touches(i, x)).fold((0, 0.0), deeper),
            deeper,
        )
    }

    /// The number of colliders that a point touches, and how deep it is in the deepest.
    fn touches(&self, i: usize, x: &[DVec3]) -> (u32, f64) {
        // A point that represents no area belongs to no triangle.
        let Some(position) = self.near(i, x).filter(|_| self.areas[i] > 0.0) else { return (0, 0.0) };
        let (mut count, mut deepest) = (0, 0.0_f64);
        for (_, collider) in self.colliders_of(i) {
            let distance = collider.separation_after(self.clearances[i].from, position).distance;
            count += u32::from(distance < collider.thickness);
            deepest = deepest.max(-distance);
        }
        (count, deepest)
    }

    fn penalty_value(&self, i: usize, x: &[DVec3]) -> f64 {
        let Some(position) = self.near(i, x) else { return 0.0 };
        let energy = |(_, collider): (u32, &PosedCollider)| {
            let distance = collider.separation_after(self.clearances[i].from, position).distance;
            let depth = (collider.thickness - distance).max(0.0);
            0.5 * self.areas[i] * collider.stiffness * depth * depth
        };
        self.colliders_of(i).map(energy).sum()
    }

    fn penalty_gradient(&self, i: usize, x: &[DVec3]) -> Option<(usize, DVec3)> {
        let position = self.near(i, x)?;
        let force: DVec3 =
            self.colliders_of(i).map(|(_, collider)| self.collider_gradient(i, collider, position)).sum();
        (force != DVec3::ZERO).then_some((i, force))
    }

    /// The gradient of a point's penalty in one collider.
    fn collider_gradient(&self, i: usize, collider: &PosedCollider, position: DVec3) -> DVec3 {
        let separation = collider.separation_after(self.clearances[i].from, position);
        let depth = (collider.thickness - separation.distance).max(0.0);
        -self.areas[i] * collider.stiffness * depth * separation.normal
    }

    /// Adds the forces of the colliders on the points at `x`.
    pub(crate) fn add_forces(&self, x: &[DVec3], body: impl Fn(u32) -> u32, sums: &mut ForceSums) {
        if self.colliders.is_empty() || self.clearances.len() != self.points.len() {
            return;
        }
        let at: Vec<DVec3> = (0..self.points.len()).map(|i| self.points.position(i, x)).collect();
        let owner = |point: u32| Owner::Body(body(point));
        let alone = |force: DVec3| [force, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        for i in 0..self.points.len() {
            let Some(position) = self.near(i, x) else { continue };
            for (c, collider) in self.colliders_of(i) {
                let force = alone(-self.collider_gradient(i, collider, position));
                sums.add(&site(i, c), &force, &at, owner, ForceKind::Normal);
            }
        }
        for friction_point in self.frictions.iter() {
            let force = -friction_point.limit * self.law.gradient(self.slip(friction_point, x));
            let site = site(friction_point.hold.point as usize, friction_point.hold.collider);
            sums.add(&site, &alone(force), &at, owner, ForceKind::Friction);
        }
    }

    fn penalty_hessian(&self, i: usize, x: &[DVec3]) -> Option<(usize, DMat3)> {
        let position = self.near(i, x)?;
        let mut block = None;
        for (_, collider) in self.colliders_of(i) {
            let separation = collider.separation_after(self.clearances[i].from, position);
            if separation.distance < collider.thickness {
                let stiffness = self.areas[i] * collider.stiffness;
                *block.get_or_insert(DMat3::ZERO) += stiffness * outer(separation.normal);
            }
        }
        block.map(|block| (i, block))
    }

    fn slip(&self, friction_point: &PointFriction, x: &[DVec3]) -> DVec3 {
        across(
            self.points.position(friction_point.hold.point as usize, x) - friction_point.hold.anchor,
            friction_point.normal,
        )
    }
}

/// A point on a soft collider.
fn site(point: usize, collider: u32) -> ContactSite {
    let weights = [1.0, 0.0, 0.0, 0.0];
    ContactSite { points: [point as u32; 4], weights, support: Support::Soft(collider) }
}

impl Energy for Contacts {
    fn value(&self, x: &[DVec3]) -> f64 {
        if self.colliders.is_empty() {
            return 0.0;
        }
        let friction = |friction_point: &PointFriction| {
            friction_point.limit * self.law.value(self.slip(friction_point, x))
        };
        parallel::sum(self.points.len(), |i| self.penalty_value(i, x))
            + self.frictions.iter().map(friction).sum::<f64>()
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        if self.colliders.is_empty() {
            return;
        }
        let forces = &mut self.scratch.lock().unwrap_or_else(PoisonError::into_inner).forces;
        forces.look(self.points.len(), |i, found| found.extend(self.penalty_gradient(i, x)));
        forces.iter().for_each(|&(i, force)| self.points.scatter(i, force, gradient));
        for friction_point in self.frictions.iter() {
            let force = friction_point.limit * self.law.gradient(self.slip(friction_point, x));
            self.points.scatter(friction_point.hold.point as usize, force, gradient);
        }
    }

    fn couplings(&self, pair: &mut dyn FnMut(u32, u32)) {
        for i in 0..self.points.len() {
            point_couplings(self.points.weights(i), pair);
        }
    }

    fn point_hessians(&self, x: &[DVec3], mode: HessianMode, visit: PointVisitor<'_>) {
        let hessians = &mut self.scratch.lock().unwrap_or_else(PoisonError::into_inner).hessians;
        hessians.look(self.points.len(), |i, found| found.extend(self.penalty_hessian(i, x)));
        hessians.iter().for_each(|&(i, block)| visit(self.points.weights(i), block));
        for friction_point in self.frictions.iter() {
            let hessian = friction_point.limit
                * self.law.hessian(self.slip(friction_point, x), friction_point.normal, mode);
            visit(self.points.weights(friction_point.hold.point as usize), hessian);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::contact::ColliderMeshes;
    use crate::energy::conformance::*;
    use crate::scene::{Collider, ColliderShape};

    fn posed(collider: &Collider, meshes: &ColliderMeshes) -> Vec<PosedCollider> {
        vec![PosedCollider::new(collider, meshes, [0.0, 0.02], None).unwrap()]
    }

    /// Three points on and over a tilted plane, and where their vertices start.
    pub(crate) fn on_a_plane(friction: f64) -> (Contacts, [DVec3; 3]) {
        let plane = ColliderShape::Plane { point: DVec3::ZERO, normal: DVec3::new(0.1, 1.0, 0.2) };
        let collider = Collider { thickness: 0.02, stiffness: Some(1e4), ..Collider::new("ground", plane) };
        let start = [DVec3::new(0.3, 0.0, -0.1), DVec3::new(0.0, 0.01, 0.0), DVec3::new(1.0, 5.0, 1.0)];
        let mut contacts = Contacts {
            points: Arc::new(Embedding::from_lists([
                vec![(0, 1.0)],
                vec![(1, 0.7), (2, 0.3)],
                vec![(1, 1.0)],
            ])),
            areas: vec![0.5, 1.0, 0.25],
            friction: vec![friction; 3],
            colliders: posed(&collider, &ColliderMeshes::default()),
            ..Contacts::default()
        };
        contacts.begin_step(&start, 0.02);
        (contacts, start)
    }

    #[test]
    fn derivatives_are_exact_on_a_plane_sticking_and_sliding() {
        // The sticking slip is 2e-5 m; friction changes over micrometres, and so must the differences.
        for slip in [3e-6, 1e-3] {
            let (mut contacts, mut x) = on_a_plane(0.6);
            x[0] += DVec3::new(slip, -1e-4, 0.3 * slip);
            x[1] += DVec3::new(-slip, -2e-4, slip);
            let error = gradient_error_by(1e-8, &contacts, &x);
            assert!(error < 1e-6, "gradient at a slip of {slip}: {error}");
            let error = hessian_error_by(1e-8, &mut contacts, &x);
            assert!(error < 1e-6, "Hessian at a slip of {slip}: {error}");
            assert!(smallest_eigenvalue(&mut contacts, &x) > -1e-12);
        }
    }

    /// Points inside, at and around a solid about the origin that extends to about 0.5 m.
    fn around_a_solid(collider: &Collider, meshes: &ColliderMeshes) -> (Contacts, Vec<DVec3>) {
        let directions =
            [[0.9, 0.1, 0.2], [-0.3, 0.8, 0.1], [0.2, -0.4, -0.9], [0.5, 0.6, -0.55]].map(DVec3::from);
        let x: Vec<DVec3> = [0.2, 0.45, 0.6].iter().flat_map(|r| directions.map(|d| *r * d)).collect();
        let mut contacts = Contacts {
            points: Arc::new(Embedding::from_lists((0..x.len() as u32).map(|v| vec![(v, 1.0)]))),
            areas: vec![0.1; x.len()],
            friction: vec![0.0; x.len()],
            colliders: posed(collider, meshes),
            ..Contacts::default()
        };
        contacts.begin_step(&x, 0.02);
        (contacts, x)
    }

    #[test]
    fn gradients_are_exact_at_every_shape() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ball.obj");
        let ball = supple_mesh::generate::SphereShape { radius: 0.5, cells: 4 }.surface(1.0).unwrap();
        let mut bytes = Vec::new();
        supple_mesh::format::write_obj(&ball, &mut bytes).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let shapes = [
            ColliderShape::Capsule { from: DVec3::new(-0.2, 0.0, 0.1), to: DVec3::X * 0.3, radius: 0.4 },
            ColliderShape::Box { center: DVec3::new(0.01, 0.02, -0.03), size: DVec3::new(0.9, 1.0, 0.8) },
            ColliderShape::Mesh(path.into()),
        ];
        for shape in shapes {
            let collider =
                Collider { thickness: 0.02, stiffness: Some(1e4), ..Collider::new("solid", shape) };
            let mut meshes = ColliderMeshes::new(30.0);
            meshes.load(&collider, std::path::Path::new(""), 0.0).unwrap();
            let (mut contacts, x) = around_a_solid(&collider, &meshes);
            let error = gradient_error(&contacts, &x);
            assert!(error < 1e-4, "{:?}: {error}", collider.shape);
            assert!(smallest_eigenvalue(&mut contacts, &x) > -1e-12);
        }
    }

    #[test]
    fn points_that_come_from_far_within_a_step_are_met() {
        let ball = ColliderShape::Sphere { center: DVec3::ZERO, radius: 0.5 };
        let collider = Collider { stiffness: Some(1e4), ..Collider::new("ball", ball) };
        let (contacts, start) = around_a_solid(&collider, &ColliderMeshes::default());
        let far: Vec<DVec3> = start.iter().map(|p| 5.0 * *p).collect();
        let (mut from_far, _) = around_a_solid(&collider, &ColliderMeshes::default());
        from_far.begin_step(&far, 0.02);
        assert_eq!(from_far.count_and_depth(&far).0, 0);
        assert_eq!(from_far.value(&start), contacts.value(&start));
        assert!(contacts.value(&start) > 0.0);
    }

    #[test]
    fn friction_never_exceeds_coulombs_limit() {
        let (contacts, start) = on_a_plane(0.6);
        let mut x = start;
        x[0].x += 0.05;
        let mut with = [DVec3::ZERO; 3];
        contacts.add_gradient(&x, &mut with);
        let (frictionless, _) = on_a_plane(0.0);
        let mut without = [DVec3::ZERO; 3];
        frictionless.add_gradient(&x, &mut without);
        let mut normal_force = [DVec3::ZERO; 3];
        frictionless.add_gradient(&start, &mut normal_force);
        let friction = (with[0] - without[0]).length();
        assert!((friction - 0.6 * normal_force[0].length()).abs() < 1e-9 * friction);
    }
}
