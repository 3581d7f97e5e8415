//! A body on its lattice: displacements and velocities in double precision, and the equations of a step (Zhu 2010,
//! section 8). With the damping time `g`, the density `rho` and the operator `L` in units of `mu / h^2`:
//!
//! ```text
//! L u - c u + t h^2/mu f(u) = -c (u0 + dt v0) - t h^2/mu rho gravity + (1 - t) L u0
//! c = h^2 rho / (mu dt (dt + g)),   t = dt / (dt + g)
//! ```
//!
//! `f` are forces on material points, distributed over the lattice by their weights (section 9.2). For statics `c = 0` and
//! `t = 1`. For co-rotational elasticity `L u` is `L u + div Q` ([`Corotation`]), all of it in a frame that rotates
//! with the body ([`BodyFrame`]).

use std::collections::BTreeMap;
use std::time::Instant;

use glam::DVec3;

use crate::body::{Body, Elements};
use crate::scene::{Mode, Model};
use crate::scene_state::{Anchor, PinPoint, SceneState};
use crate::solvers::staggered::lattice::embedding::{Interpolation, LatticePoints};
use crate::solvers::staggered::lattice::frame::{BodyFrame, FaceVectors};
use crate::solvers::staggered::lattice::prescribed::{Prescribed, PrescribedEntry};
use crate::solvers::staggered::lattice::voxels::{LatticePlacement, MOST_CELLS_PER_SIDE, voxelise};
use crate::solvers::staggered::lattice::{Cell, Lattice, MARGIN};
use crate::solvers::staggered::multigrid::hierarchy::Hierarchy;
use crate::solvers::staggered::operator::corotation::Corotation;
use crate::solvers::staggered::operator::rows::{Coefficients, LatticeOperator};
use crate::solvers::staggered::operator::strain_energy::strain_energy;
use crate::solvers::staggered::options::StaggeredOptions;
use crate::solvers::staggered::solve::{GmresWorkspace, Limits, Solve, solve, solve_by_cycles};
use supple_core::simd::Simd;
use supple_core::{Aabb, Error, memory};
use supple_mesh::check::scale_hint;

/// The response of material points in a linear system: takes displacements of the points, adds the reaction forces,
/// with the sign of a stiffness.
pub(crate) type PointStiffness<'a> = dyn FnMut(&[DVec3], &mut [DVec3]) + 'a;

/// The largest ratio of the moduli: materials with a Poisson's ratio below 0.0005 use the pressures of 0.0005.
const MOST_COMPRESSIBLE: f64 = 1e3;

/// How accurately unknowns follow the prescribed values before Newton's method starts.
const FOLLOW: f64 = 0.05;

/// A body on its lattice.
#[derive(Debug)]
pub(crate) struct LatticeBody {
    pub(crate) placement: LatticePlacement,
    /// The body's unknowns as points of the lattice.
    pub(super) points: LatticePoints,
    rest: Vec<DVec3>,
    pub(crate) hierarchy: Hierarchy,
    /// The co-rotational terms.
    pub(super) corotation: Option<Corotation>,
    /// The reference frame of displacements, and the data for rotating it, once it was needed.
    pub(crate) frame: BodyFrame,
    faces: Option<FaceVectors>,
    pub(super) prescribed: Prescribed,
    /// Position of each prescribed entry when its pin became active, in metres.
    pub(crate) starts: Vec<DVec3>,
    /// The anchor of each on its pin's driver.
    anchors: Vec<Option<Anchor>>,
    /// Displacements in metres and pressures times the cell's side; velocities in m/s; in the frame's axes.
    pub(crate) u: Vec<f64>,
    pub(crate) v: Vec<f64>,
    constant: Vec<f64>,
    pub(super) right: Vec<f64>,
    pub(super) change: Vec<f64>,
    /// The last step of Newton's method.
    pub(super) step: Vec<f64>,
    /// Displacements at the start of a step in which pins move a co-rotational body.
    before: Vec<f64>,
    pub(super) work: GmresWorkspace,
    shear_modulus: f64,
    pub(super) density: f64,
    /// Displacements whose mass is not that of a cell, as entries of the fields, and what it differs by, over the mass of a cell.
    lumped: Vec<(u32, f64)>,
    damping: f64,
    pub(super) options: StaggeredOptions,
    simd: Simd,
    /// The weight of forces in the step's equations, `t`.
    share: f64,
    prescribed_values: Vec<f64>,
    /// The values of prescribed entries at the end of the step.
    pub(super) targets: Vec<f64>,
    moved: Vec<DVec3>,
    answers: Vec<DVec3>,
}

/// Memory per cell of the lattice, in bytes: displacements, pressures and velocities, all levels, and what a step adds, as measured
/// in runs.
const CELL_BYTES: f64 = 1800.0;

/// Refuses lattices that this process cannot have.
fn check_memory(body: &Body, cell: f64, padding: u32) -> Result<(), Error> {
    let bounds = Aabb::of_points(&body.surface_start);
    let extent = bounds.high - bounds.low;
    let counts = (extent / cell).ceil() + f64::from(2 * padding) + 2.0 * MARGIN as f64;
    let cells = counts.x * counts.y * counts.z;
    if !(cell > 0.0 && cells.is_finite()) {
        return Ok(());
    }
    let what = format!("body `{}` on a lattice of {cells:.2e} cells of {cell} m", body.name);
    memory::require(&what, CELL_BYTES * cells, |excess| {
        let (least, size) = (cell * excess.cbrt(), extent.max_element());
        format!("use a `cell` of at least {least:.2e} m{}", scale_hint(size))
    })
}

impl LatticeBody {
    /// A body at its start, with cells fixed by the hard pins on it.
    pub(crate) fn new(body: &Body, index: usize, scene_state: &SceneState) -> Result<Self, Error> {
        let options: StaggeredOptions = scene_state.solver.options.get();
        let cell = options.cell.or(body.cell).unwrap_or_else(|| side_of_tetrahedra(body));
        if !cell.is_finite() {
            return Err(Error::Invalid(format!(
                "`staggered` needs the side of its cells: set `cell` of body `{}`, in metres",
                body.name
            )));
        }
        check_memory(body, cell, options.padding)?;
        let made =
            voxelise(&body.surface_start, &body.surface_triangles, cell, options.padding as usize, |_| false);
        let (mut lattice, placement) = made.ok_or_else(|| {
            Error::Invalid(format!(
                "body `{}` does not fit on a lattice of cells of {cell} m: it may have at most {MOST_CELLS_PER_SIDE} cells along a side and \
                 half a billion in all; set a larger `staggered.cell`",
                body.name
            ))
        })?;
        let holders = held_cells(body, index, scene_state, &lattice, &placement);
        holders.keys().for_each(|cell| lattice.make_dirichlet(*cell));
        let in_cells: Vec<DVec3> = body.start.iter().map(|p| placement.in_cells(*p)).collect();
        let points = LatticePoints::new(&lattice, &in_cells, options.interpolation);
        let material = body.materials.main();
        let lame = material.solid_lame();
        let compressibility = (lame.mu / lame.lambda).clamp(0.0, MOST_COMPRESSIBLE);
        let of = Coefficients { spacing: 1.0, compressibility, inertia: 0.0 };
        let len = lattice.len();
        let mut v = vec![0.0; 3 * len];
        (0..3).for_each(|f| v[f * len..(f + 1) * len].fill(body.velocity[f]));
        let hierarchy = Hierarchy::new(lattice, of, options.cycle(), scene_state.simd);
        let operator = hierarchy.finest().operator();
        let corotation = (body.model == Model::Corotated)
            .then(|| Corotation::new(&operator, placement.cell, scene_state.simd));
        let lumped = lumped_masses(&operator);
        let prescribed = Prescribed::new(&hierarchy.finest().operator(), |cell| holders[&cell]);
        let place = |h: &PrescribedEntry| placement.of_entry(hierarchy.finest().lattice(), h.field, h.entry);
        let starts: Vec<DVec3> = prescribed.entries.iter().map(place).collect();
        let anchors = anchors(&prescribed, &starts, scene_state)?;
        Ok(Self {
            starts,
            anchors,
            placement,
            points,
            frame: BodyFrame::new(&body.start),
            faces: None,
            rest: body.start.clone(),
            hierarchy,
            corotation,
            prescribed,
            u: vec![0.0; 4 * len],
            v,
            constant: vec![0.0; 4 * len],
            right: vec![0.0; 4 * len],
            change: vec![0.0; 4 * len],
            step: vec![0.0; 4 * len],
            before: Vec::new(),
            work: GmresWorkspace::default(),
            shear_modulus: lame.mu,
            density: material.density,
            lumped,
            damping: material.damping,
            options,
            simd: scene_state.simd,
            share: 1.0,
            prescribed_values: Vec::new(),
            targets: Vec::new(),
            moved: Vec::new(),
            answers: Vec::new(),
        })
    }

    fn lattice(&self) -> &Lattice {
        self.hierarchy.finest().lattice()
    }

    pub(super) fn len(&self) -> usize {
        self.lattice().len()
    }

    /// What one newton on an unknown is in the step's equations.
    pub(super) fn force_scale(&self) -> f64 {
        self.share / (self.placement.cell * self.shear_modulus)
    }

    /// Positions of the body's unknowns.
    pub(crate) fn positions(&self, out: &mut [DVec3]) {
        self.positions_of(&self.u, out);
    }

    /// Positions of the body's unknowns for some displacements.
    pub(super) fn positions_of(&self, fields: &[f64], out: &mut [DVec3]) {
        for (n, (out, rest)) in out.iter_mut().zip(&self.rest).enumerate() {
            *out = self.frame.place(*rest, self.points.displacement(n, fields, self.len()));
        }
    }

    /// Velocities of the body's unknowns.
    pub(crate) fn velocities(&self, out: &mut [DVec3]) {
        let velocity = |n: usize| self.frame.rotation * self.points.displacement(n, &self.v, self.len());
        out.iter_mut().enumerate().for_each(|(n, out)| *out = velocity(n));
    }

    /// Rotates the frame if the body has rotated far relative to it.
    pub(crate) fn turn_frame(&mut self) {
        let Some(corotation) = &mut self.corotation else { return };
        corotation.linearise(&self.u, true);
        let Some(frame) = self.frame.turned(corotation.mean_rotation()) else { return };
        let lattice = self.hierarchy.finest().lattice();
        let faces = self.faces.get_or_insert_with(|| FaceVectors::new(lattice));
        let (old, placement) = (self.frame, self.placement);
        self.before.clone_from(&self.u);
        faces.turn(lattice, &mut self.u, &self.before, |at, u| {
            let rest = placement.origin + placement.cell * at;
            frame.displacement(rest, old.place(rest, u))
        });
        self.before.clone_from(&self.v);
        faces.turn(lattice, &mut self.v, &self.before, |_, v| frame.inward(old.rotation * v));
        self.frame = frame;
    }

    /// Starts a step: the constant part of its equations, prescribed entries at their pins' targets at its end, and the free
    /// ones at their free-flight positions.
    pub(crate) fn begin_step(
        &mut self,
        scene_state: &SceneState,
        dt: f64,
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        self.begin_equations(scene_state, dt);
        if self.corotation.is_some() && !self.prescribed.entries.is_empty() {
            self.before.clone_from(&self.u);
            self.prescribe(scene_state, scene_state.time + dt)?;
            self.follow_prescribed(deadline);
        } else {
            self.prescribe(scene_state, scene_state.time + dt)?;
        }
        Ok(())
    }

    /// The constant part of the equations of a step.
    pub(super) fn begin_equations(&mut self, scene_state: &SceneState, dt: f64) {
        let (h, mu) = (self.placement.cell, self.shear_modulus);
        let (inertia, share) = match scene_state.mode {
            Mode::Dynamic => {
                (h * h * self.density / (mu * dt * (dt + self.damping)), dt / (dt + self.damping))
            }
            Mode::Quasistatic => (0.0, 1.0),
        };
        self.share = share;
        self.set_inertia(inertia);
        let len = self.len();
        self.constant.fill(0.0);
        if share < 1.0 {
            self.add_damping(1.0 - share, inertia);
        }
        let weight = self.frame.inward(scene_state.world.gravity) * (share * h * h / mu * self.density);
        let Self { constant, u, v, lumped, .. } = self;
        let force = |at: usize| inertia * (u[at] + dt * v[at]) + weight[at / len];
        (0..3 * len).for_each(|at| constant[at] -= force(at));
        lumped.iter().for_each(|&(at, more)| constant[at as usize] -= more * force(at as usize));
    }

    /// The mass of a displacement in kilograms, by its entry of the fields.
    pub(super) fn mass(&self, at: u32) -> f64 {
        let found = self.lumped.binary_search_by_key(&at, |(lumped, _)| *lumped);
        let more = found.map_or(0.0, |index| self.lumped[index].1);
        (1.0 + more) * self.density * self.placement.cell.powi(3)
    }

    /// Moves the unknowns with the prescribed values by the tangent at the step's start: otherwise one layer of
    /// cells would take all of the deformation, far outside the convergence region of Newton's method.
    fn follow_prescribed(&mut self, deadline: Option<Instant>) {
        let Self { hierarchy, corotation, u, before, change, right, step, work, prescribed, .. } = self;
        let Some(corotation) = corotation else { return };
        change.iter_mut().zip(u.iter().zip(&*before)).for_each(|(change, (new, old))| *change = new - old);
        corotation.linearise(before, true);
        right.fill(0.0);
        prescribed.subtract(change, right);
        corotation.subtract_product(change, right);
        step.fill(0.0);
        let limits = Limits { tolerance: FOLLOW, deadline, ..Limits::default() };
        let mut add = |fields: &[f64], out: &mut [f64]| corotation.subtract_product(fields, out);
        solve(hierarchy, (step, right), &limits, work, Some(&mut add));
        u.iter_mut().zip(&*step).for_each(|(u, step)| *u += step);
    }

    /// Sets the prescribed values of a goal to their targets, and moves its other values along by the tangent at the current ones.
    pub(super) fn follow_targets(&mut self, goal: &mut [f64], deadline: Option<Instant>) {
        let len = self.len();
        let Self { hierarchy, corotation, u, change, right, step, work, prescribed, targets, .. } = self;
        change.fill(0.0);
        for (entry_of_pin, target) in prescribed.entries.iter().zip(&*targets) {
            let at = entry_of_pin.field * len + entry_of_pin.entry;
            change[at] = target - goal[at];
            goal[at] = *target;
        }
        if change.iter().all(|change| *change == 0.0) {
            return;
        }
        right.fill(0.0);
        prescribed.subtract(change, right);
        step.fill(0.0);
        let limits = Limits { tolerance: FOLLOW, deadline, ..Limits::default() };
        if let Some(corotation) = corotation {
            corotation.linearise(u, true);
            corotation.subtract_product(change, right);
            let mut add = |fields: &[f64], out: &mut [f64]| corotation.subtract_product(fields, out);
            solve(hierarchy, (step, right), &limits, work, Some(&mut add));
        } else {
            solve(hierarchy, (step, right), &limits, work, None);
        }
        goal.iter_mut().zip(&*step).for_each(|(goal, step)| *goal += step);
    }

    /// Sets the prescribed values of some fields to their targets.
    pub(super) fn put_targets(&self, fields: &mut [f64]) {
        let len = self.len();
        for (entry_of_pin, target) in self.prescribed.entries.iter().zip(&self.targets) {
            fields[entry_of_pin.field * len + entry_of_pin.entry] = *target;
        }
    }

    /// The prescribed values, each with its target.
    pub(super) fn prescribed_values_and_targets(&self) -> impl Iterator<Item = (f64, f64)> {
        let value = |h: &PrescribedEntry| self.u[h.field * self.len() + h.entry];
        self.prescribed.entries.iter().map(value).zip(self.targets.iter().copied())
    }

    /// Which of the body's unknowns depend on prescribed values alone.
    pub(super) fn held_unknowns(&self) -> Vec<bool> {
        let lattice = self.lattice();
        let is_held = |n: usize| {
            (0..3).all(|f| self.points.weights(n, f).iter().all(|(c, _)| !lattice.is_unknown(f, *c as usize)))
        };
        (0..self.points.len()).map(is_held).collect()
    }

    /// The part of the damping that is determined at the step's start: the forces of its strain, `L u0`.
    fn add_damping(&mut self, factor: f64, inertia: f64) {
        let len = self.len();
        self.change.fill(0.0);
        self.prescribed.subtract(&self.u, &mut self.change);
        self.take_prescribed();
        self.hierarchy.finest().residual_of(&self.u, &self.change, &mut self.right);
        self.put_prescribed();
        if let Some(corotation) = &mut self.corotation {
            corotation.linearise(&self.u, true);
            corotation.subtract_defect(&mut self.right);
        }
        for (constant, (r, u)) in self.constant[..3 * len].iter_mut().zip(self.right.iter().zip(&self.u)) {
            *constant += factor * (inertia * u - r);
        }
        for &(at, more) in &self.lumped {
            self.constant[at as usize] += factor * inertia * more * self.u[at as usize];
        }
    }

    /// Sets prescribed entries to zero; [`Self::put_prescribed`] restores them.
    fn take_prescribed(&mut self) {
        let len = self.len();
        self.prescribed_values.clear();
        for entry_of_pin in &self.prescribed.entries {
            self.prescribed_values
                .push(std::mem::take(&mut self.u[entry_of_pin.field * len + entry_of_pin.entry]));
        }
    }

    fn put_prescribed(&mut self) {
        let len = self.len();
        for (entry_of_pin, value) in self.prescribed.entries.iter().zip(&self.prescribed_values) {
            self.u[entry_of_pin.field * len + entry_of_pin.entry] = *value;
        }
    }

    fn set_inertia(&mut self, inertia: f64) {
        let of = self.hierarchy.finest().operator().coefficients;
        if of.inertia != inertia {
            let lattice = self.lattice().clone();
            self.hierarchy =
                Hierarchy::new(lattice, Coefficients { inertia, ..of }, self.options.cycle(), self.simd);
        }
    }

    fn prescribe(&mut self, scene_state: &SceneState, time: f64) -> Result<(), Error> {
        self.find_targets(scene_state, time)?;
        let len = self.len();
        for (entry_of_pin, target) in self.prescribed.entries.iter().zip(&self.targets) {
            self.u[entry_of_pin.field * len + entry_of_pin.entry] = *target;
        }
        Ok(())
    }

    /// The values of prescribed entries at a time.
    pub(super) fn find_targets(&mut self, scene_state: &SceneState, time: f64) -> Result<(), Error> {
        let lattice = self.hierarchy.finest().lattice();
        self.targets.resize(self.prescribed.entries.len(), 0.0);
        for (number, pin) in scene_state.pins.iter().enumerate().filter(|(_, pin)| pin.stiffness.is_none()) {
            let pose = pin.pose_at(scene_state, time)?;
            let entries = self.prescribed.entries.iter().zip(self.starts.iter().zip(&self.anchors));
            for ((entry_of_pin, (start, anchor)), value) in entries.zip(&mut self.targets) {
                if entry_of_pin.pin as usize != number {
                    continue;
                }
                let place = self.placement.of_entry(lattice, entry_of_pin.field, entry_of_pin.entry);
                let point = PinPoint { anchor: *anchor, ..PinPoint::new(Vec::new(), *start) };
                let moved = self.frame.displacement(place, pose.target(&point));
                *value = moved[entry_of_pin.field];
            }
        }
        Ok(())
    }

    /// Continues from the displacements and velocities of another body on the same lattice; later pins capture the
    /// current positions of their points.
    pub(crate) fn continue_from(&mut self, other: Self, scene_state: &SceneState) {
        if other.u.len() != self.u.len() {
            return;
        }
        (self.u, self.v, self.frame) = (other.u, other.v, other.frame);
        let len = self.len();
        let places: Vec<DVec3> = self.starts.iter().map(|p| self.placement.in_cells(*p)).collect();
        let at = LatticePoints::new(self.lattice(), &places, Interpolation::Trilinear);
        for (n, entry_of_pin) in self.prescribed.entries.iter().enumerate() {
            if scene_state.pins[entry_of_pin.pin as usize].active_since.is_some_and(|time| time > 0.0) {
                self.starts[n] = self.frame.place(self.starts[n], at.displacement(n, &self.u, len));
            }
        }
    }

    /// One step of Newton's method: the current forces on the body's unknowns in newtons, and their response to
    /// displacements.
    pub(crate) fn improve(
        &mut self,
        forces: &[DVec3],
        mut stiffness: Option<&mut PointStiffness<'_>>,
        tolerance: f64,
        deadline: Option<Instant>,
    ) -> Solve {
        let len = self.len();
        let scale = self.force_scale();
        self.residual(forces);
        self.step.fill(0.0);
        let max_cycles = self.options.max_cycles as usize;
        let limits = Limits { tolerance, max_cycles, deadline, ..Limits::default() };
        let Self {
            hierarchy, corotation, step, right, work, points, moved, answers, prescribed, frame, ..
        } = self;
        let solved = if stiffness.is_none() && corotation.is_none() {
            match self.options.krylov {
                true => solve(hierarchy, (step, right), &limits, work, None),
                false => solve_by_cycles(hierarchy, (step, right), &limits, work),
            }
        } else {
            let mut add = |fields: &[f64], out: &mut [f64]| {
                if let Some(corotation) = corotation.as_mut() {
                    corotation.subtract_product(fields, out);
                }
                let Some(stiffness) = stiffness.as_mut() else { return };
                moved.clear();
                moved.extend((0..points.len()).map(|n| frame.rotation * points.displacement(n, fields, len)));
                answers.clear();
                answers.resize(points.len(), DVec3::ZERO);
                stiffness(moved, answers);
                let answers = answers.iter().map(|force| scale * frame.inward(*force));
                answers.enumerate().for_each(|(n, force)| points.scatter(n, force, out, len));
                // Prescribed entries have no equation.
                prescribed.entries.iter().for_each(|h| out[h.field * len + h.entry] = 0.0);
            };
            solve(hierarchy, (step, right), &limits, work, Some(&mut add))
        };
        self.u.iter_mut().zip(&self.step).for_each(|(u, step)| *u += step);
        solved
    }

    /// Adds a fraction of the last step of Newton's method.
    pub(super) fn add_step(&mut self, part: f64) {
        self.u.iter_mut().zip(&self.step).for_each(|(u, step)| *u += part * step);
    }

    /// Shortens the record of the last step of Newton's method to a fraction.
    pub(super) fn scale_step(&mut self, part: f64) {
        self.step.iter_mut().for_each(|step| *step *= part);
    }

    /// Reverts a fraction of the last step of Newton's method.
    pub(crate) fn step_back(&mut self, part: f64) {
        self.u.iter_mut().zip(&self.step).for_each(|(u, step)| *u -= part * step);
    }

    /// `right` becomes the residual of the step's equations; returns its norm.
    pub(crate) fn residual(&mut self, forces: &[DVec3]) -> f64 {
        let len = self.len();
        let scale = self.force_scale();
        self.change.copy_from_slice(&self.constant);
        for (n, force) in forces.iter().enumerate().filter(|(_, f)| **f != DVec3::ZERO) {
            self.points.scatter(n, -scale * self.frame.inward(*force), &mut self.change, len);
        }
        self.prescribed.subtract(&self.u, &mut self.change);
        self.take_prescribed();
        self.hierarchy.finest().residual_of(&self.u, &self.change, &mut self.right);
        self.put_prescribed();
        if let Some(corotation) = &mut self.corotation {
            corotation.linearise(&self.u, true);
            corotation.subtract_defect(&mut self.right);
        }
        self.right.iter().map(|r| r * r).sum::<f64>().sqrt()
    }

    /// Ends a step that started at displacements `before`.
    pub(crate) fn end_step(&mut self, before: &[f64], dt: f64, mode: Mode) {
        let rate = if mode == Mode::Dynamic { 1.0 / dt } else { 0.0 };
        for (v, (new, old)) in self.v.iter_mut().zip(self.u.iter().zip(before)) {
            *v = rate * (new - old);
        }
        if let Some(corotation) = &mut self.corotation {
            corotation.linearise(&self.u, true);
        }
    }

    /// Elastic energy in joules.
    pub(crate) fn elastic_energy(&self) -> f64 {
        let linear = || strain_energy(&self.hierarchy.finest().operator(), &self.u);
        let energy = self.corotation.as_ref().map_or_else(linear, Corotation::energy);
        self.shear_modulus * self.placement.cell * energy
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let (fields, rest) = self.hierarchy.bytes();
        let wide = self.u.len()
            + self.v.len()
            + self.constant.len()
            + self.right.len()
            + self.change.len()
            + self.step.len()
            + self.before.len();
        let turned = self.corotation.as_ref().map_or(0, Corotation::bytes)
            + self.faces.as_ref().map_or(0, FaceVectors::bytes);
        turned + fields + rest + self.work.bytes() + 16 * self.lumped.len() + 8 * wide + self.points.bytes()
    }

    /// Whether one linear solve suffices for Newton's method as long as no forces act on points.
    pub(crate) fn is_linear(&self) -> bool {
        self.corotation.is_none()
    }

    /// A description of the lattices for the user.
    pub(crate) fn describe(&self) -> String {
        let [x, y, z] = self.lattice().size();
        let cells = self.lattice().interior_cells();
        let levels = self.hierarchy.levels().len();
        format!("{cells} cells of {} m in a lattice of {x} x {y} x {z}, {levels} levels", self.placement.cell)
    }
}

/// The displacements whose mass is not that of a cell, with the difference, over the mass of a cell.
fn lumped_masses(operator: &LatticeOperator<'_>) -> Vec<(u32, f64)> {
    let lattice = operator.lattice;
    let more = |(field, cell): (usize, usize)| {
        let more = if lattice.is_unknown(field, cell) { operator.mass(field, cell) - 1.0 } else { 0.0 };
        (more != 0.0).then(|| ((field * lattice.len() + cell) as u32, more))
    };
    let cells = |field: usize| (lattice.plane()..lattice.len()).map(move |cell| (field, cell));
    (0..3).flat_map(cells).filter_map(more).collect()
}

/// The anchors of prescribed entries on their pins' drivers. Driven pins on lattices are active from the start.
fn anchors(
    prescribed: &Prescribed,
    starts: &[DVec3],
    scene_state: &SceneState,
) -> Result<Vec<Option<Anchor>>, Error> {
    let mut anchors = vec![None; starts.len()];
    for (number, pin) in scene_state.pins.iter().enumerate().filter(|(_, pin)| pin.stiffness.is_none()) {
        let Some(driver) = &pin.driver else { continue };
        let Some(anchoring) = scene_state.anchoring(driver, 0.0)? else { continue };
        for (n, start) in starts.iter().enumerate() {
            if prescribed.entries[n].pin as usize == number {
                anchors[n] = Some(anchoring.anchor(*start, *start));
            }
        }
    }
    Ok(anchors)
}

/// Cells fixed by hard pins, each with the index of the first such pin. A pinned point fixes the cell that contains
/// it. One that is a corner of cells fixes those all of whose corners are pinned, and those outside the body with at
/// least three pinned corners: so a pinned side of a body is fixed from outside.
fn held_cells(
    body: &Body,
    index: usize,
    scene_state: &SceneState,
    lattice: &Lattice,
    placement: &LatticePlacement,
) -> BTreeMap<usize, u32> {
    let mut holders = BTreeMap::new();
    for (number, pin) in
        scene_state.pins.iter().enumerate().filter(|(_, pin)| pin.body == index && pin.stiffness.is_none())
    {
        let mut corners: BTreeMap<usize, usize> = BTreeMap::new();
        for point in &pin.points {
            let rest: DVec3 = point.weights.iter().map(|&(v, w)| w * body.start[v as usize]).sum();
            let at = placement.in_cells(rest);
            let corner = at.round();
            if (at - corner).abs().max_element() > CORNER {
                holders.entry(cell_at(lattice, at.floor())).or_insert(number as u32);
                continue;
            }
            for n in 0..8 {
                let below = DVec3::new((n & 1) as f64, (n >> 1 & 1) as f64, (n >> 2) as f64);
                *corners.entry(cell_at(lattice, corner - below)).or_default() += 1;
            }
        }
        for (cell, count) in corners {
            let outside = lattice.cells()[cell] == Cell::Exterior;
            if count == 8 || (outside && count >= 3) {
                holders.entry(cell).or_insert(number as u32);
            }
        }
    }
    holders
}

/// A point within this fraction of a cell from a corner of cells is at it.
const CORNER: f64 = 1e-3;

/// The cell at some coordinates, or the nearest one next to the lattice.
fn cell_at(lattice: &Lattice, at: DVec3) -> usize {
    let size = DVec3::from(lattice.size().map(|n| n as f64));
    lattice.index(at.clamp(-DVec3::ONE, size).to_array().map(|x| x as i32))
}

/// The side of a cube of six of the body's mean tetrahedra, in metres.
fn side_of_tetrahedra(body: &Body) -> f64 {
    let Elements::Tets(tets) = &body.elements else { return f64::NAN };
    let volume = |tet: &[u32; 4]| {
        let [a, b, c, d] = tet.map(|v| body.start[v as usize]);
        (b - a).cross(c - a).dot(d - a).abs()
    };
    (tets.iter().map(volume).sum::<f64>() / tets.len().max(1) as f64).cbrt()
}
