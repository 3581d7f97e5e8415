//! The hierarchical solver (Müller 2008, section 7): from the coarsest level to the finest, each level's constraints are
//! projected, and the displacements of its particles are prolonged to their children,
//!
//! ```text
//! pᵢ += Σ wᵢⱼ (pⱼ - qⱼ)      over the parents j of i      (equation 7);
//! ```
//!
//! then come the usual sweeps over the mesh's own constraints, alternating forwards and backwards. Every step starts forwards: the error of
//! one sweep is then the same in every step, while alternating from step to step would shake the particles.
//!
//! **Compliance.** A coarse constraint that removed all stretch would make the cloth stiffer than its material: at rest
//! under load a spring of compliance `α` and force `f` is longer by `α f`, and so is a row of them. So a limit yields by
//! the stretch under load of the links that it represents, in series: `Σ α f`.
//!
//! Links and limits share the load, in a ratio determined by the sweeps; its sum is known, since at rest all of them together carry the
//! weight. A link carries `λ/h²` by itself. A limit over `n` links in a row moves about `n` particles of that row with each of
//! its ends, those to which its correction is prolonged: it carries `n λ/h²` for each of its links. These forces jump from step
//! to step while a cloth moves, so limits use their mean of the last tenth of a second.
//!
//! The load of limits is known only roughly where they work against each other. It counts fully for soft materials, whose
//! stretch is visible; where a link's compliance `α/h²` is small relative to the inverse masses `w` of its ends, the material
//! stretches by less than the error of a few sweeps, and tight limits matter more.

use std::collections::BTreeSet;
use std::ops::Range;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::solvers::hpbd::collision::colliders::Collisions;
use crate::solvers::hpbd::collision::pushes::Pushes;
use crate::solvers::hpbd::collision::self_collisions::SelfCollisions;
use crate::solvers::hpbd::constraint::distance_sweep::DistanceSweep;
use crate::solvers::hpbd::constraint::mesh_constraints::{BodyParts, MeshConstraints};
use crate::solvers::hpbd::constraint::schedule::{Direction, Sweep};
use crate::solvers::hpbd::constraint::soft_pins::SoftPins;
use crate::solvers::hpbd::constraint::{Constraint, ConstraintSide, Distance, Fold, Step, Volume};
use crate::solvers::hpbd::dependent_particles::{DependentParticles, follow};
use crate::solvers::hpbd::hierarchy::{ConstraintLevel, Finest, Plan, build};
use crate::solvers::hpbd::options::HpbdOptions;
use crate::solvers::hpbd::positions::Positions;
use crate::solvers::hpbd::progress::Progress;
use crate::stepper::ParticleLevel;
use supple_core::Error;
use supple_core::simd::Simd;
use supple_core::state::{StateReader, StateWriter};

/// The seconds over which limits average the load of their links.
const FOLLOW: f64 = 0.1;
/// The fraction of the limits' load that counts, per unit of `α/(h² w)`.
const COUNTED: f64 = 0.3;

/// A coarse level with its sweep.
#[derive(Debug)]
pub(crate) struct CoarseLevel {
    pub(crate) level: ConstraintLevel,
    /// Its limits, by number.
    pub(crate) sweep: DistanceSweep,
    /// Sweeps over it per sweep over the finest of the coarse levels.
    sweeps: u32,
    /// By how much each limit yields in this step, in metres; on the finest level in use a part of the state.
    give: Vec<f64>,
    /// The load of the links of the next finer level that limits carry for them, times `h²`.
    carried: Vec<f64>,
    /// The links of the simulated level that each limit represents.
    row: Vec<f64>,
    /// The positions of its particles before it was solved.
    before: Vec<DVec3>,
    /// The index of a particle in `level.particles`.
    pub(crate) place: Vec<u32>,
    /// Its links as bilateral constraints with the material's compliance, once it was simulated by itself.
    pub(crate) own: Option<DistanceSweep>,
}

/// All constraints of a system and its hierarchy.
#[derive(Debug, Default)]
pub(crate) struct HierarchicalSolver {
    /// The links of level 0, then bending springs, then those added by tearing.
    pub(crate) distances: DistanceSweep,
    /// The distance constraint of each link of level 0.
    pub(crate) links: Vec<u32>,
    pub(crate) folds: Sweep<Fold>,
    volumes: Sweep<Volume>,
    /// Finest first.
    pub(crate) coarse: Vec<CoarseLevel>,
    /// The coarsest level that contains each particle.
    pub(crate) level_of: Vec<u8>,
    /// Whether any constraint has a damper.
    pub(crate) is_damped: bool,
    /// The level that the last step simulated.
    active: usize,
    /// The dependent particles there, since it was torn; found when a step needs them.
    pub(crate) followers: Option<DependentParticles>,
    /// Whether anything was torn.
    pub(crate) is_torn: bool,
    /// Of the links of every level.
    mean_lengths: Vec<f64>,
}

/// The data of a step's projections.
pub(crate) struct ProjectionData<'a> {
    pub(crate) step: Step<'a>,
    pub(crate) collisions: &'a mut Collisions,
    pub(crate) self_collisions: &'a mut SelfCollisions,
    pub(crate) soft_pins: &'a mut SoftPins,
    pub(crate) options: &'a HpbdOptions,
    pub(crate) progress: &'a mut Progress,
}

impl HierarchicalSolver {
    pub(crate) fn new(
        mesh: &MeshConstraints,
        positions: &[DVec3],
        attached: &[bool],
        options: &HpbdOptions,
    ) -> Self {
        let levels = all_levels(mesh, positions, attached, options);
        let mut level_of = vec![0; positions.len()];
        for (level, number) in levels.iter().zip(1..) {
            level.particles.iter().for_each(|&p| level_of[p as usize] = number);
        }
        let mean_lengths = std::iter::once(mean(mesh.links.iter().map(|link| link.rest)))
            .chain(levels.iter().map(|level| mean(level.limits.iter().map(|limit| limit.rest))))
            .collect();
        let distances: Vec<Distance> = mesh.links.iter().chain(&mesh.braces).copied().collect();
        let dampings = distances.iter().map(|d| d.damping).chain(mesh.folds.iter().map(|fold| fold.damping));
        Self {
            is_damped: dampings.into_iter().any(|damping| damping > 0.0),
            distances: DistanceSweep::new(&distances, positions.len()),
            links: (0..mesh.links.len() as u32).collect(),
            folds: Sweep::new(&mesh.folds, positions.len()),
            volumes: Sweep::new(&mesh.volumes, positions.len()),
            coarse: coarse_levels(levels, positions.len()),
            level_of,
            active: 0,
            followers: None,
            is_torn: false,
            mean_lengths,
        }
    }

    /// The mean length in metres of the links of a level's particles.
    pub(crate) fn mean_length(&self, level: usize) -> f64 {
        self.mean_lengths[level.min(self.coarse.len())]
    }

    /// The coarse levels, finest first.
    pub(crate) fn coarse(&self) -> impl Iterator<Item = &ConstraintLevel> {
        self.coarse.iter().map(|coarse| &coarse.level)
    }

    /// Corrects the positions of a step.
    pub(crate) fn solve(&mut self, work: &mut ProjectionData<'_>) {
        self.folds.begin_step();
        self.volumes.begin_step();
        for l in (self.active..self.coarse.len()).rev() {
            self.coarse[l].save(work.step.positions);
            self.solve_level(l, work);
            self.coarse[l].hand_down(work.step.positions);
            self.coarse[l].hand_down_pushes(work);
        }
        for sweep in 0..work.options.sweeps {
            // One is always done on every level, or the step would be little more than the prediction.
            if sweep > 0 && work.progress.leaves_out_sweep() {
                break;
            }
            work.progress.sweeps += 1;
            match self.active.checked_sub(1) {
                None => self.sweep_mesh(work, sweep),
                Some(l) => self.sweep_level(l, work, sweep),
            }
        }
        self.lay_finer_levels(&work.step);
        if work.collisions.pushes.any() {
            for coarse in self.coarse[..self.active].iter().rev() {
                coarse.lay_pushes_between(&mut work.collisions.pushes);
            }
        }
    }

    /// The particles omitted by the simulated level.
    fn lay_finer_levels(&self, step: &Step<'_>) {
        let nothing = DependentParticles::default();
        let followers = self.followers.as_ref().unwrap_or(&nothing);
        follow(&followers.on_level, step.positions, step.start);
        for coarse in self.coarse[..self.active].iter().rev() {
            coarse.lay_between(step.positions, step.start);
        }
        follow(&followers.between, step.positions, step.start);
    }

    /// Prepares to simulate a level by itself; 0 is the mesh.
    fn choose_level(&mut self, level: usize) {
        let level = level.min(self.coarse.len());
        if level != self.active {
            self.active = level;
            self.followers = None;
            if let Some(next) = self.coarse.get_mut(level) {
                next.give.fill(0.0);
            }
        }
        if let Some(l) = level.checked_sub(1).filter(|&l| self.coarse[l].own.is_none()) {
            // In the order of the limits, which tears do not change: a resumed run is bit-identical.
            let mut own = self.coarse[l].sweep.acting_always();
            for limit in 0..own.len() as u32 {
                own.set(limit as usize, self.spring_of_limit(l, limit));
            }
            self.coarse[l].own = Some(own);
        }
        if self.is_torn && self.followers.is_none() {
            self.followers = level.checked_sub(1).map(|l| self.find_followers(l));
        }
    }

    /// The constraint of a limit of coarse level `l` if that level is simulated by itself.
    pub(crate) fn spring_of_limit(&self, l: usize, number: u32) -> Distance {
        let limit = self.coarse[l].level.limits[number as usize];
        let edges = self.edges_of(l, number);
        let edge = |e: &u32| self.distances.get(self.links[*e as usize] as usize);
        Distance {
            ends: limit.ends,
            rest: limit.rest,
            compliance: edges.iter().map(|e| edge(e).compliance).sum(),
            damping: self.links.first().map_or(0.0, |link| self.distances.get(*link as usize).damping),
            acts: ConstraintSide::Both,
        }
    }

    pub(crate) fn save(&self, state: &mut StateWriter) {
        state.whole(self.active as u64);
        state.numbers(self.coarse.get(self.active).map_or(&[], |next| &next.give));
    }

    pub(crate) fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let active = state.whole()? as usize;
        if active > self.coarse.len() {
            let problem =
                format!("a saved state of level {active} for a scene with {} levels", self.coarse.len());
            return Err(Error::Invalid(format!("{problem}: it belongs to another scene or resolution")));
        }
        let give = state.numbers(self.coarse.get(active).map_or(0, |next| next.give.len()))?;
        self.active = active;
        if let Some(next) = self.coarse.get_mut(active) {
            next.give = give;
        }
        Ok(())
    }

    /// Extends limits by the stretch under load of the links that they represent. Small steps of one step share them.
    pub(crate) fn begin_step(&mut self, options: &HpbdOptions) {
        self.choose_level(options.level as usize);
        if options.stiffness.is_some() {
            return;
        }
        match self.active.checked_sub(1) {
            None => self.distances.begin_step(),
            Some(l) => self.coarse[l].own.iter_mut().for_each(DistanceSweep::begin_step),
        }
        let mut finer: &[f64] = &[];
        for (l, coarse) in self.coarse[self.active..].iter_mut().enumerate() {
            if l > 0 {
                coarse.yield_to(|part| finer[part as usize]);
            }
            coarse.set_lengths();
            coarse.sweep.begin_step();
            finer = &coarse.give;
        }
    }

    fn sweep_level(&mut self, l: usize, work: &mut ProjectionData<'_>, sweep: u32) {
        let on_level = |particle: u32| usize::from(self.level_of[particle as usize]) > l;
        work.soft_pins.project(&work.step, on_level);
        if let Some(own) = &mut self.coarse[l].own {
            own.run(&mut work.step, Direction::of(sweep), sweep == 0);
        }
        work.collisions.project(work.step.positions, on_level);
    }

    fn solve_level(&mut self, l: usize, work: &mut ProjectionData<'_>) {
        // Limits are hard: their yield is in their length.
        let sweeps = work.options.coarse_sweeps * self.coarse[l].sweeps;
        let stiffness = work.options.stiffness_of_a_sweep(sweeps * work.progress.planned).unwrap_or(1.0);
        let mut step = Step { positions: &mut *work.step.positions, stiffness: Some(stiffness), ..work.step };
        let on_level = |particle: u32| usize::from(self.level_of[particle as usize]) > l;
        for sweep in 0..sweeps {
            if sweep > 0 && work.progress.leaves_out_sweep() {
                break;
            }
            work.soft_pins.project(&step, on_level);
            self.coarse[l].sweep.run(&mut step, Direction::of(sweep), false);
            work.collisions.project(step.positions, on_level);
        }
    }

    fn sweep_mesh(&mut self, work: &mut ProjectionData<'_>, sweep: u32) {
        let (step, direction) = (&mut work.step, Direction::of(sweep));
        work.soft_pins.project(step, |_| true);
        if direction == Direction::Forward {
            self.folds.run(step, direction);
            self.volumes.run(step, direction);
            self.distances.run(step, direction, sweep == 0);
        } else {
            self.distances.run(step, direction, sweep == 0);
            self.volumes.run(step, direction);
            self.folds.run(step, direction);
        }
        work.self_collisions.project(step.positions, step.start);
        work.collisions.project(step.positions, |_| true);
    }

    /// The stretch of the active level's links under the load of a step of `dt` seconds determines how far the limits over it
    /// yield in the next step.
    pub(crate) fn end_step(&mut self, step: &Step<'_>, progress: &Progress, dt: f64, options: &HpbdOptions) {
        if options.stiffness.is_some() {
            return;
        }
        self.hand_down_load();
        let (below, above) = self.coarse.split_at_mut(self.active);
        let Some(next) = above.first_mut() else { return };
        let (distances, links) = match below.last().and_then(|active| active.own.as_ref()) {
            Some(own) => (own, None),
            None => (&self.distances, Some(&self.links)),
        };
        let per_pull = 1.0 / progress.squared_lengths(dt);
        let follow = 1.0 - (-step.length * f64::from(progress.taken) / FOLLOW).exp();
        let (level, carried) = (&next.level, &next.carried);
        let stretch = |link: u32| {
            let number = links.map_or(link, |links| links[link as usize]) as usize;
            let Distance { ends, compliance, .. } = distances.get(number);
            let weight: f64 = ends.iter().map(|&p| step.positions.weight(p as usize)).sum();
            let softness = compliance / (step.length * step.length * weight);
            let counted = (COUNTED * softness).min(1.0) * carried[link as usize];
            (per_pull * compliance * (counted - distances.pull(number))).max(0.0)
        };
        next.give.par_iter_mut().enumerate().with_min_len(2048).for_each(|(limit, give)| {
            let wanted: f64 = level.parts(limit).iter().map(|&part| stretch(part)).sum();
            *give += follow * (wanted - *give);
        });
    }

    /// From level to level the load that limits carry for their links.
    fn hand_down_load(&mut self) {
        let active = self.active;
        let links = active.checked_sub(1).map_or(self.links.len(), |l| self.coarse[l].level.limits.len());
        for l in active..self.coarse.len() {
            let (below, above) = self.coarse.split_at_mut(l);
            let finer = below[active..].last();
            above[0].count_links(finer.map(|finer| finer.row.as_slice()));
            above[0].carried.clear();
            above[0].carried.resize(finer.map_or(links, |finer| finer.level.limits.len()), 0.0);
        }
        for l in (active..self.coarse.len()).rev() {
            let (finer, coarser) = self.coarse.split_at_mut(l + 1);
            finer[l].carry(coarser.first().map(|coarser| coarser.carried.as_slice()));
        }
    }

    /// Damps the velocities at the end of a step.
    pub(crate) fn damp(&mut self, step: &Step<'_>, velocities: &Positions) {
        match self.active.checked_sub(1) {
            None => {
                self.distances.damp(step, velocities);
                self.folds.damp(step, velocities);
            }
            Some(l) => self.coarse[l].own.iter_mut().for_each(|own| own.damp(step, velocities)),
        }
    }

    /// The elastic energy of all constraints in joules.
    pub(crate) fn energy(&mut self, x: &[DVec3], simd: Simd) -> f64 {
        self.distances.energy(x, simd) + energy(&self.folds, x) + energy(&self.volumes, x)
    }

    /// The current mesh and its coarser levels.
    pub(crate) fn levels(&self) -> Vec<ParticleLevel> {
        let distances = (0..self.distances.len()).map(|c| self.distances.get(c).ends);
        let folds = self.folds.iter().flat_map(|fold| [1, 2, 3].map(|k| [fold.corners[0], fold.corners[k]]));
        let volumes = self.volumes.iter().flat_map(|v| [1, 2, 3].map(|k| [v.corners[0], v.corners[k]]));
        let mesh = ParticleLevel {
            particles: (0..self.level_of.len() as u32).collect(),
            links: distances.chain(folds).chain(volumes).filter(|[a, b]| a != b).collect(),
            ..ParticleLevel::default()
        };
        std::iter::once(mesh).chain(self.coarse.iter().map(CoarseLevel::inspect)).collect()
    }

    pub(crate) fn bytes(&self) -> usize {
        let mesh = self.distances.bytes() + self.folds.bytes() + self.volumes.bytes();
        let coarse =
            |c: &CoarseLevel| c.level.bytes() + c.sweep.bytes() + 28 * c.give.len() + 28 * c.before.len();
        mesh + self.coarse.iter().map(coarse).sum::<usize>()
    }
}

/// The coarse levels of all bodies together. A body with fewer levels than another has its coarsest on all coarser ones, so
/// that it is complete on whichever level is simulated.
fn all_levels(
    mesh: &MeshConstraints,
    positions: &[DVec3],
    attached: &[bool],
    options: &HpbdOptions,
) -> Vec<ConstraintLevel> {
    let of_bodies: Vec<Vec<ConstraintLevel>> =
        mesh.bodies.iter().map(|body| levels_of_body(mesh, body, positions, attached, options)).collect();
    let count = of_bodies.iter().map(Vec::len).max().map_or(0, |count| count - 1);
    let mut levels = vec![ConstraintLevel::default(); count];
    for (body, mut own) in mesh.bodies.iter().zip(of_bodies) {
        while own.len() <= count {
            own.push(own[own.len() - 1].repeat());
        }
        let mut first_link = body.edges.start;
        for (level, own) in levels.iter_mut().zip(&own[1..]) {
            let limits_before = level.limits.len() as u32;
            level.append(own, body.particles.start, first_link);
            first_link = limits_before;
        }
    }
    levels
}

/// A body's mesh and its coarse levels, in its own numbering.
fn levels_of_body(
    mesh: &MeshConstraints,
    body: &BodyParts,
    positions: &[DVec3],
    attached: &[bool],
    options: &HpbdOptions,
) -> Vec<ConstraintLevel> {
    let plan = Plan { levels: options.levels, parents: options.parents, rest_lengths: options.rest_lengths };
    let (first, particles) = (body.particles.start, places(&body.particles));
    let own = |links: &Range<u32>| -> Vec<([u32; 2], f64)> {
        let links = mesh.links[places(links)].iter();
        links.map(|link| (link.ends.map(|p| p - first), link.rest)).collect()
    };
    let (links, shears) = (own(&body.edges), own(&body.shears));
    let triangles = mesh.triangles[places(&body.triangles)].iter();
    let triangles: Vec<[u32; 3]> = triangles.map(|t| t.map(|p| p - first)).collect();
    let finest = Finest {
        positions: &positions[particles.clone()],
        links: &links,
        shears: &shears,
        triangles: &triangles,
        attached: &attached[particles],
    };
    let mut levels = build(&finest, plan);
    levels.insert(0, finest.level());
    levels
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

fn places(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// `½ C²/α` of every constraint.
fn energy<C: Constraint<K> + Copy + Send, const K: usize>(sweep: &Sweep<C>, x: &[DVec3]) -> f64 {
    let of = |constraint: &C| {
        let p = constraint.particles().map(|i| x[i as usize]);
        let value = constraint.evaluate(&p).map_or(0.0, |(value, _)| value);
        0.5 * value * value / constraint.compliance()
    };
    sweep.iter().map(of).sum()
}

/// Levels ready to be swept.
fn coarse_levels(levels: Vec<ConstraintLevel>, particles: usize) -> Vec<CoarseLevel> {
    let finest = levels.first().map_or(0, |level| level.limits.len());
    let sweeps = |l: usize, limits: usize| {
        let affordable = (finest / limits.max(1)).max(1) as u32;
        affordable.min(1 << l.min(31))
    };
    let with_sweeps = |(l, level): (usize, ConstraintLevel)| CoarseLevel {
        sweeps: sweeps(l, level.limits.len()),
        ..CoarseLevel::new(level, particles)
    };
    levels.into_iter().enumerate().map(with_sweeps).collect()
}

impl CoarseLevel {
    fn new(level: ConstraintLevel, particles: usize) -> Self {
        let limit = |limit: &crate::solvers::hpbd::hierarchy::Limit| Distance {
            ends: limit.ends,
            rest: limit.rest,
            compliance: 0.0,
            damping: 0.0,
            acts: ConstraintSide::Stretched,
        };
        let limits: Vec<Distance> = level.limits.iter().map(limit).collect();
        let mut place = vec![0; particles];
        level.particles.iter().zip(0..).for_each(|(&p, at)| place[p as usize] = at);
        Self {
            sweep: DistanceSweep::new(&limits, particles),
            sweeps: 1,
            give: vec![0.0; limits.len()],
            carried: Vec::new(),
            row: Vec::new(),
            before: Vec::new(),
            place,
            own: None,
            level,
        }
    }

    fn inspect(&self) -> ParticleLevel {
        let level = &self.level;
        let links: BTreeSet<[u32; 2]> =
            level.limits.iter().map(|limit| limit.ends).filter(|[a, b]| a != b).collect();
        let whole = |t: &&[u32; 3]| {
            let sides = [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
            sides.iter().all(|&[a, b]| links.contains(&[a.min(b), a.max(b)]))
        };
        let parents = level.children.iter().enumerate().flat_map(|(c, &child)| {
            let used = level.parents(c).iter().filter(|parent| parent.weight != 0.0);
            used.map(move |parent| [child, parent.particle])
        });
        ParticleLevel {
            particles: level.particles.clone(),
            triangles: level.triangles.iter().filter(whole).copied().collect(),
            parents: parents.collect(),
            links: links.into_iter().collect(),
        }
    }

    /// Every limit yields by as much as the finer links that it represents do together.
    fn yield_to(&mut self, of_part: impl Fn(u32) -> f64 + Sync) {
        let level = &self.level;
        self.give.par_iter_mut().enumerate().with_min_len(2048).for_each(|(limit, give)| {
            *give = level.parts(limit).iter().map(|&part| of_part(part)).sum();
        });
    }

    /// Counts the links that every limit represents, given the counts of the next finer level's links.
    fn count_links(&mut self, finer: Option<&[f64]>) {
        let Self { level, row, .. } = self;
        let of_part = |part: &u32| finer.map_or(1.0, |finer| finer[*part as usize]);
        row.clear();
        row.extend((0..level.limits.len()).map(|limit| level.parts(limit).iter().map(of_part).sum::<f64>()));
    }

    /// Passes to the links of the next finer level the load that this one and the coarser ones carry for them.
    fn carry(&mut self, coarser: Option<&[f64]>) {
        for limit in 0..self.row.len() {
            let own = self.row[limit] * self.sweep.pull(limit);
            let load = coarser.map_or(0.0, |coarser| coarser[limit]) - own;
            self.level.parts(limit).iter().for_each(|&part| self.carried[part as usize] += load);
        }
    }

    fn set_lengths(&mut self) {
        for (limit, give) in self.give.iter().enumerate() {
            self.sweep.set_rest(limit, self.level.limits[limit].rest + give);
        }
    }

    fn save(&mut self, positions: &Positions) {
        self.before.clear();
        self.before.extend(self.level.particles.iter().map(|&p| positions.get(p as usize)));
    }

    /// Places the children between their parents. A child of a single parent would coincide with it and have no direction to it: it
    /// keeps its offset from the start of the step.
    fn lay_between(&self, positions: &Positions, start: &[DVec3]) {
        for (c, &child) in self.level.children.iter().enumerate() {
            let parents = self.level.parents(c).iter().filter(|parent| parent.weight > 0.0);
            let (mut whole, mut at, mut moved, mut count) = (0.0, DVec3::ZERO, DVec3::ZERO, 0);
            for parent in parents {
                let now = positions.get(parent.particle as usize);
                whole += parent.weight;
                at += parent.weight * now;
                moved = now - start[parent.particle as usize];
                count += 1;
            }
            if count > 0 && positions.weight(child as usize) > 0.0 {
                let new = if count == 1 { start[child as usize] + moved } else { at / whole };
                positions.set(child as usize, new);
            }
        }
    }

    /// Where children are placed between their parents, what pushed these pushes them too.
    fn lay_pushes_between(&self, pushes: &mut Pushes) {
        for (c, &child) in self.level.children.iter().enumerate() {
            let parents = self.level.parents(c).iter().filter(|parent| parent.weight > 0.0);
            let whole: f64 = parents.clone().map(|parent| parent.weight).sum();
            pushes.follow(child, parents.map(|parent| (parent.particle, parent.weight / whole)));
        }
    }

    /// The pushes of this level, which are handed down like the displacements.
    fn hand_down_pushes(&self, work: &mut ProjectionData<'_>) {
        let (pushes, positions) = (&mut work.collisions.pushes, &*work.step.positions);
        if !pushes.any() {
            return;
        }
        for (c, &child) in self.level.children.iter().enumerate() {
            let parents = self.level.parents(c).iter().filter(|parent| parent.weight > 0.0);
            if positions.weight(child as usize) > 0.0 {
                pushes.follow(child, parents.map(|parent| (parent.particle, parent.weight)));
            }
        }
        let particles = self.level.particles.iter().chain(&self.level.children);
        pushes.keep(particles.copied(), positions);
    }

    /// Equation 7.
    fn hand_down(&self, positions: &Positions) {
        let moved = |p: u32| positions.get(p as usize) - self.before[self.place[p as usize] as usize];
        self.level.children.par_iter().enumerate().with_min_len(2048).for_each(|(c, &child)| {
            let child = child as usize;
            if positions.weight(child) > 0.0 {
                // Children removed by a tear may not be on this level any more.
                let mut parents =
                    self.level.parents(c).iter().filter(|parent| parent.weight > 0.0).peekable();
                // A child that was given other parents is twice in the list: only one entry may write.
                if parents.peek().is_some() {
                    let by: DVec3 = parents.map(|p| p.weight * moved(p.particle)).sum();
                    positions.set(child, positions.get(child) + by);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solvers::hpbd::constraint::mesh_constraints::BodyParts;

    /// The fraction of one link's stretch that a step leaves.
    fn left(sweeps: u32, small_steps: u32) -> f64 {
        let link =
            Distance { ends: [0, 1], rest: 1.0, compliance: 0.0, damping: 0.0, acts: ConstraintSide::Both };
        let body = BodyParts { particles: 0..2, edges: 0..1, shears: 1..1, triangles: 0..0 };
        let mesh = MeshConstraints { links: vec![link], bodies: vec![body], ..MeshConstraints::default() };
        let start = [DVec3::ZERO, 1.5 * DVec3::X];
        let options = HpbdOptions { sweeps, stiffness: Some(0.6), ..HpbdOptions::default() };
        let mut solver = HierarchicalSolver::new(&mesh, &start, &[false; 2], &options);
        let mut positions = Positions::default();
        positions.copy_from(&start, &[1.0, 2.0]);
        for _ in 0..small_steps {
            let stiffness = options.stiffness_of_a_sweep(sweeps * small_steps);
            let (positions, start) = (&mut positions, &start[..]);
            solver.solve(&mut ProjectionData {
                step: Step { positions, start, length: 0.1, stiffness, simd: Simd::Auto },
                collisions: &mut Collisions::default(),
                self_collisions: &mut SelfCollisions::default(),
                soft_pins: &mut SoftPins::default(),
                options: &options,
                progress: &mut Progress::new(small_steps, None),
            });
        }
        (positions.get(1).distance(positions.get(0)) - 1.0) / 0.5
    }

    #[test]
    fn stiffness_is_what_a_step_removes_for_any_number_of_sweeps_and_small_steps() {
        for (sweeps, small_steps) in [(1, 1), (5, 1), (1, 7), (3, 4)] {
            let left = left(sweeps, small_steps);
            assert!((left - 0.4).abs() < 1e-12, "{left} after {sweeps} sweeps in {small_steps} small steps");
        }
    }
}
