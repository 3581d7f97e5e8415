//! The hierarchical solver (Müller 2008, section 7): from the coarsest level to the finest, each level's constraints are
//! projected, and what that moved its particles by is handed down to their children,
//!
//! ```text
//! pᵢ += Σ wᵢⱼ (pⱼ - qⱼ)      over the parents j of i      (equation 7);
//! ```
//!
//! then come the usual sweeps over the mesh's own constraints, forwards and backwards in turn.
//!
//! **Compliance.** A coarse constraint that took away every stretch would make the cloth stiffer than its material: at rest
//! under load a spring of compliance `α` and force `f` is longer by `α f`, and so is a row of them. So a limit gives way by
//! what the links it stands for were stretched by their own forces, in series, in the step before: `Σ α |λ|/h²`. A cloth at
//! rest then lies within its limits, and the coarse levels leave it alone.

use glam::DVec3;
use rayon::prelude::*;

use super::collisions::Collisions;
use super::constraint::{Acts, Constraint, Distance, Fold, Step, Volume};
use super::hierarchy::{Finest, Level, Plan, build};
use super::holds::Holds;
use super::mesh_constraints::MeshConstraints;
use super::options::Options;
use super::positions::Positions;
use super::schedule::{Direction, Sweep};
use crate::energy::chunks;

/// A coarse level with its sweep.
#[derive(Debug)]
struct CoarseLevel {
    level: Level,
    sweep: Sweep<Distance, 2>,
    /// For each constraint of the sweep, its limit.
    limit: Vec<u32>,
    /// By how much each limit gives way in this step, in metres.
    give: Vec<f64>,
    /// Where its particles were before it was solved.
    before: Vec<DVec3>,
    /// The place of a particle in `level.particles`.
    place: Vec<u32>,
}

/// All constraints of a system and its hierarchy.
#[derive(Debug, Default)]
pub(super) struct HierarchicalSolver {
    edges: Sweep<Distance, 2>,
    /// For each edge of the mesh, its constraint in the sweep.
    place_of_edge: Vec<u32>,
    braces: Sweep<Distance, 2>,
    folds: Sweep<Fold, 4>,
    volumes: Sweep<Volume, 4>,
    /// The finest first.
    coarse: Vec<CoarseLevel>,
    /// The coarsest level that has each particle.
    level_of: Vec<u8>,
    /// How much longer its own force made each edge in the last step, in metres: a part of the state.
    pub(super) stretched: Vec<f64>,
}

/// What a step's projections work on.
pub(super) struct Work<'a> {
    pub(super) step: Step<'a>,
    pub(super) collisions: &'a Collisions,
    pub(super) holds: &'a Holds,
    pub(super) options: &'a Options,
}

impl HierarchicalSolver {
    pub(super) fn new(
        mesh: &MeshConstraints,
        positions: &[DVec3],
        attached: &[bool],
        options: &Options,
    ) -> Self {
        let links: Vec<([u32; 2], f64)> = mesh.edges.iter().map(|edge| (edge.ends, edge.rest)).collect();
        let finest = Finest { positions, links: &links, triangles: &mesh.triangles, attached };
        let plan =
            Plan { levels: options.levels, parents: options.parents, rest_lengths: options.rest_lengths };
        let levels = build(&finest, plan);
        let mut level_of = vec![0; positions.len()];
        for (level, number) in levels.iter().zip(1..) {
            level.particles.iter().for_each(|&p| level_of[p as usize] = number);
        }
        let (edges, order) = Sweep::new(&mesh.edges, positions);
        Self {
            place_of_edge: places(&order),
            edges,
            braces: Sweep::new(&mesh.braces, positions).0,
            folds: Sweep::new(&mesh.folds, positions).0,
            volumes: Sweep::new(&mesh.volumes, positions).0,
            coarse: levels.into_iter().map(|level| CoarseLevel::new(level, positions)).collect(),
            level_of,
            stretched: vec![0.0; mesh.edges.len()],
        }
    }

    /// The coarse levels, the finest first.
    pub(super) fn levels(&self) -> impl Iterator<Item = &Level> {
        self.coarse.iter().map(|coarse| &coarse.level)
    }

    /// Constraints of the mesh, and of all coarse levels.
    pub(super) fn counts(&self) -> (usize, Vec<usize>) {
        let mesh = self.edges.constraints.len()
            + self.braces.constraints.len()
            + self.folds.constraints.len()
            + self.volumes.constraints.len();
        (mesh, self.coarse.iter().map(|level| level.sweep.constraints.len()).collect())
    }

    /// Corrects the positions of a step; gives the number of sweeps over the mesh.
    pub(super) fn solve(&mut self, work: &Work<'_>) {
        self.begin_step();
        for l in (0..self.coarse.len()).rev() {
            self.coarse[l].save(work.step.positions);
            self.solve_level(l, work);
            self.coarse[l].hand_down(work.step.positions, work.step.weights);
        }
        for sweep in 0..work.options.sweeps {
            let direction = if sweep % 2 == 0 { Direction::Forward } else { Direction::Backward };
            self.sweep_mesh(work, direction);
        }
        self.remember_stretch(work.step.length);
    }

    fn begin_step(&mut self) {
        self.edges.begin_step();
        self.braces.begin_step();
        self.folds.begin_step();
        self.volumes.begin_step();
        let mut finer: &[f64] = &self.stretched;
        for coarse in &mut self.coarse {
            coarse.begin_step(finer);
            finer = &coarse.give;
        }
    }

    fn solve_level(&self, l: usize, work: &Work<'_>) {
        // Limits are hard: their give is in their length.
        let stiffness = work.step.stiffness.unwrap_or(1.0);
        let step = Step { stiffness: Some(stiffness), ..work.step };
        let on_level = |particle: u32| usize::from(self.level_of[particle as usize]) > l;
        for sweep in 0..work.options.coarse_sweeps {
            let direction = if sweep % 2 == 0 { Direction::Forward } else { Direction::Backward };
            work.holds.project(&step, on_level);
            self.coarse[l].sweep.run(&step, direction);
            work.collisions.project(step.positions, on_level);
        }
    }

    fn sweep_mesh(&self, work: &Work<'_>, direction: Direction) {
        let step = &work.step;
        work.holds.project(step, |_| true);
        if direction == Direction::Forward {
            self.folds.run(step, direction);
            self.braces.run(step, direction);
            self.volumes.run(step, direction);
            self.edges.run(step, direction);
        } else {
            self.edges.run(step, direction);
            self.volumes.run(step, direction);
            self.braces.run(step, direction);
            self.folds.run(step, direction);
        }
        work.collisions.project(step.positions, |_| true);
    }

    fn remember_stretch(&mut self, length: f64) {
        for (stretched, &place) in self.stretched.iter_mut().zip(&self.place_of_edge) {
            let pull = -self.edges.multiplier(place as usize) / (length * length);
            *stretched = (self.edges.constraints[place as usize].compliance * pull).max(0.0);
        }
    }

    /// The elastic energy of all constraints in joules.
    pub(super) fn energy(&self, x: &[DVec3]) -> f64 {
        energy(&self.edges, x) + energy(&self.braces, x) + energy(&self.folds, x) + energy(&self.volumes, x)
    }

    pub(super) fn bytes(&self) -> usize {
        let mesh = self.edges.bytes() + self.braces.bytes() + self.folds.bytes() + self.volumes.bytes();
        let coarse =
            |c: &CoarseLevel| c.level.bytes() + c.sweep.bytes() + 12 * c.give.len() + 28 * c.before.len();
        mesh + self.coarse.iter().map(coarse).sum::<usize>()
    }
}

/// `½ C²/α` of every constraint that acts.
fn energy<C: Constraint<K> + Copy + Send, const K: usize>(sweep: &Sweep<C, K>, x: &[DVec3]) -> f64 {
    let of = |constraint: &C| {
        let p = constraint.particles().map(|i| x[i as usize]);
        let [low, high] = constraint.multipliers();
        let value = constraint.evaluate(&p).map_or(0.0, |(value, _)| value);
        let acts = if value > 0.0 { low < 0.0 } else { high > 0.0 };
        if acts { 0.5 * value * value / constraint.compliance() } else { 0.0 }
    };
    chunks::sum(sweep.constraints.len(), |i| of(&sweep.constraints[i]))
}

impl CoarseLevel {
    fn new(level: Level, positions: &[DVec3]) -> Self {
        let limit = |limit: &super::hierarchy::Limit| Distance {
            ends: limit.ends,
            rest: limit.rest,
            compliance: 0.0,
            damping: 0.0,
            acts: Acts::Stretched,
        };
        let limits: Vec<Distance> = level.limits.iter().map(limit).collect();
        let (sweep, order) = Sweep::new(&limits, positions);
        let mut place = vec![0; positions.len()];
        level.particles.iter().zip(0..).for_each(|(&p, at)| place[p as usize] = at);
        Self { limit: order, sweep, give: vec![0.0; limits.len()], before: Vec::new(), place, level }
    }

    /// Sets the length of every limit from how much the finer links that it stands for give way.
    fn begin_step(&mut self, finer: &[f64]) {
        for (limit, give) in self.give.iter_mut().enumerate() {
            *give = self.level.parts(limit).iter().map(|&part| finer[part as usize]).sum();
        }
        for (constraint, &limit) in self.sweep.constraints.iter_mut().zip(&self.limit) {
            constraint.rest = self.level.limits[limit as usize].rest + self.give[limit as usize];
        }
    }

    fn save(&mut self, positions: &Positions) {
        self.before.clear();
        self.before.extend(self.level.particles.iter().map(|&p| positions.get(p as usize)));
    }

    /// Equation 7.
    fn hand_down(&self, positions: &Positions, weights: &[f64]) {
        let moved = |p: u32| positions.get(p as usize) - self.before[self.place[p as usize] as usize];
        self.level.children.par_iter().enumerate().with_min_len(1024).for_each(|(c, &child)| {
            if weights[child as usize] > 0.0 {
                let by: DVec3 = self.level.parents(c).iter().map(|&(p, w)| w * moved(p)).sum();
                positions.set(child as usize, positions.get(child as usize) + by);
            }
        });
    }
}

/// The place of every number in a list of all.
fn places(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&number, place)| places[number as usize] = place);
    places
}
