//! The hierarchy of levels as a preconditioner (Milne 2016, section 7), over all bodies of a scene at once: level `k` contains the
//! `k`-th coarser tree of every body, or its coarsest. Coarsening ends at the first level whose factor costs little relative to a cycle on
//! the finest: with trilinear elements thin parts are four times too stiff in bending on every level that is coarser than they are
//! thick, and thin bodies have small factors.
//!
//! Nodes are fixed exactly on the finest level only. Coarser levels have springs at the fixed nodes instead, as stiff as the
//! nodes' own diagonals: the cost of a coarse function that is pulled to zero at one fine node. (A coarse node fixed where it
//! coincides with a fine one would leave a body free to rotate about the last such node.)

#![allow(clippy::needless_range_loop, reason = "components are indexed as in other kernels")]

pub(crate) mod coarsest;
pub(crate) mod largest_eigenvalue;
pub(crate) mod level;
pub(crate) mod smoother;
pub(crate) mod transfer;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::solvers::octree::element::blocks::{BATCH, Blocks, Output};
use crate::solvers::octree::element::elasticity::{OctantElasticity, Rest, stiffness_from_gradients};
use crate::solvers::octree::element::springs::PointSprings;
use crate::solvers::octree::element::stiffness::{Batches, ElementBatch, Stiffness};
use crate::solvers::octree::forest::{Forest, OctantLaw, rest_of};
use crate::solvers::octree::multigrid::coarsest::CoarsestSolver;
use crate::solvers::octree::multigrid::level::{JacobiDamping, OctreeLevel, OctreeOperator};
use crate::solvers::octree::multigrid::smoother::Smoother;
use crate::solvers::octree::multigrid::transfer::Transfer;
use supple_linear::{CycleTimes, LinearError, LinearOperator, Preconditioner, Simd, SolverState, cycle};
use supple_mesh::octree::Octree;
use supple_mesh::octree::{Coarsened, coarsen};

/// The damping over the inverse of the estimated largest eigenvalue: below 2, since the estimate comes from below.
const DAMPING: f32 = 1.7;
/// A body with no more elements than this is not coarsened further; its factorisation is cheap.
const COARSEST: usize = 64;
/// Levels with more nodes are not factorised,
const MOST_NODES: usize = 20_000;
/// nor those whose factors have more entries per element of the finest level, since every cycle reads them twice,
const MOST_NUMBERS: f64 = 50.0;
/// nor those whose factorisation takes more products of blocks per element, about as much as four cycles,
const MOST_WORK: f64 = 300.0;
/// nor, beyond an amount of memory that any machine has, those that take more bytes per element: all other data of an element
/// takes about 500. The fronts of a factorisation need more than the factor itself.
const MOST_BYTES: f64 = 100.0;
const ALWAYS_SMALL_BYTES: f64 = 40e6;

/// Nodes processed by one task.
const CHUNK: usize = 4096;

/// How the hierarchy is built and smoothed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OctreeCycleOptions {
    /// Levels, at most.
    pub levels: u32,
    /// The factor of Jacobi's method on every level [default: per level from an estimate of the largest eigenvalue].
    pub damping: Option<f64>,
    /// Sweeps of Jacobi's method on the coarsest level in place of a direct solve.
    pub coarsest_sweeps: Option<u32>,
    /// The smoother of every level.
    pub smoother: Smoother,
}

impl Default for OctreeCycleOptions {
    fn default() -> Self {
        Self { levels: 32, damping: None, coarsest_sweeps: None, smoother: Smoother::Jacobi }
    }
}

/// The tree of a body on the next coarser level; `None` if it is unchanged.
pub(crate) fn coarser(tree: &Octree) -> Option<Coarsened> {
    (tree.elements().len() > COARSEST).then(|| coarsen(tree)).flatten()
}

/// All levels.
#[derive(Debug)]
pub struct Multigrid {
    levels: Vec<OctreeLevel>,
    /// For each level but the finest, the first element of the finer level in each of its elements, and the end.
    first_child: Vec<Vec<u32>>,
    held_springs: PointSprings,
    damping: JacobiDamping,
    smoother: Smoother,
    times: CycleTimes,
    simd: Simd,
}

impl Multigrid {
    /// The hierarchy over a forest of these trees.
    pub fn new(
        forest: &Forest,
        trees: &[&Octree],
        options: &OctreeCycleOptions,
    ) -> Result<Self, LinearError> {
        let (simd, law) = (forest.simd, forest.law);
        let mut trees: Vec<Cow<'_, Octree>> = trees.iter().map(|tree| Cow::Borrowed(*tree)).collect();
        let mut finest = Some(forest);
        let mut multigrid = Self {
            levels: Vec::new(),
            first_child: Vec::new(),
            held_springs: PointSprings::default(),
            damping: options
                .damping
                .map_or(JacobiDamping::Estimated(DAMPING), |damping| JacobiDamping::Given(damping as f32)),
            smoother: options.smoother,
            times: CycleTimes::default(),
            simd,
        };
        let mut coarsest = None;
        loop {
            let operator = match finest.take() {
                Some(forest) => operator(forest.blocks.clone(), forest.rest.clone(), forest.law, simd),
                None => {
                    let blocks = Blocks::new(trees.iter().map(|tree| &**tree));
                    let rest = rest_of(trees.iter().map(|tree| &**tree));
                    operator(Arc::new(blocks), Arc::new(rest), law, simd)
                }
            };
            if options.coarsest_sweeps.is_none() && !multigrid.levels.is_empty() {
                coarsest = cheap_coarsest(&trees, multigrid.size(0)[0], simd)?;
            }
            let full = coarsest.is_some() || multigrid.levels.len() as u32 + 1 >= options.levels;
            let coarser: Vec<Option<Coarsened>> =
                trees.iter().map(|tree| (!full).then(|| coarser(tree)).flatten()).collect();
            let done = coarser.iter().all(Option::is_none);
            let pairs: Vec<_> =
                trees.iter().map(|tree| &**tree).zip(coarser.iter().map(Option::as_ref)).collect();
            let transfer = (!done).then(|| Transfer::new(&pairs));
            multigrid.levels.push(OctreeLevel::new(operator, transfer));
            if done {
                break;
            }
            multigrid.first_child.push(first_children(&trees, &coarser));
            for (tree, coarser) in trees.iter_mut().zip(coarser) {
                if let Some(coarser) = coarser {
                    *tree = Cow::Owned(coarser.tree);
                }
            }
        }
        let coarsest = match (options.coarsest_sweeps, coarsest) {
            (Some(sweeps), _) => CoarsestSolver::of_sweeps(sweeps),
            (None, Some(coarsest)) => coarsest,
            (None, None) => direct_coarsest(&trees, simd)?,
        };
        if let Some(level) = multigrid.levels.last_mut() {
            level.coarsest = coarsest;
        }
        multigrid.coarsen_materials();
        Ok(multigrid)
    }

    /// Gives coarser elements the mean of the Lamé parameters over eight children, missing ones counted as nothing.
    fn coarsen_materials(&mut self) {
        for (k, first_child) in self.first_child.iter().enumerate() {
            let (fine, coarse) = two(&mut self.levels, k);
            let rest = Arc::make_mut(&mut coarse.operator_mut().rest);
            coarsen_lame(&fine.operator.rest, first_child, rest);
        }
    }

    /// The number of levels.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Elements and nodes of a level, finest first.
    pub fn size(&self, level: usize) -> [usize; 2] {
        let blocks = &self.levels[level].operator.blocks;
        [blocks.elements(), blocks.nodes()]
    }

    /// The estimated largest eigenvalue of `D⁻¹ A` on a level; zero if the damping is given.
    pub fn eigenvalue(&self, level: usize) -> f64 {
        f64::from(self.levels[level].eigenvalue)
    }

    /// Computes the projected stiffness at `x` on all levels, with the mean deformation gradient of existing children. `rate` is one over
    /// the step of damping in 1/s.
    pub fn linearise(&mut self, x: &[DVec3], rate: f64) {
        let simd = self.simd;
        let OctreeOperator { blocks, rest, stiffness, .. } = self.levels[0].operator_mut();
        let elasticity = OctantElasticity { blocks, rest, start: None, simd };
        elasticity.deformation_gradients(bytemuck::cast_slice(x), stiffness);
        for (k, first_child) in self.first_child.iter().enumerate() {
            let (fine, coarse) = two(&mut self.levels, k);
            coarsen_gradients(&fine.operator.stiffness, first_child, &mut coarse.operator_mut().stiffness);
        }
        for level in &mut self.levels {
            let OctreeOperator { rest, stiffness, .. } = level.operator_mut();
            stiffness_from_gradients(rest, rate, stiffness);
        }
    }

    /// Sets mass over the square of the step in N/m for each node; coarser levels get it by restriction.
    pub fn set_inertia(&mut self, inertia: impl IntoIterator<Item = f64>) {
        let finest = self.levels[0].operator_mut();
        finest.inertia.clear();
        finest.inertia.extend(inertia.into_iter().map(|inertia| inertia as f32));
        for k in 1..self.levels.len() {
            let (fine, coarse) = two(&mut self.levels, k - 1);
            let Some(transfer) = &fine.transfer else { continue };
            // The first component of fields that are unused between cycles.
            fine.x.iter_mut().zip(&fine.operator.inertia).for_each(|(x, inertia)| *x = [*inertia, 0.0, 0.0]);
            transfer.restrict(&fine.x, &mut coarse.x);
            let OctreeLevel { operator, x, .. } = coarse;
            let operator = Arc::get_mut(operator).expect("the operator has no other owner between solves");
            operator.inertia.clear();
            operator.inertia.extend(x.iter().map(|x| x[0]));
        }
    }

    /// Fixes nodes of the finest level.
    pub fn set_fixed(&mut self, fixed: &[bool]) {
        let own = &mut self.levels[0].operator_mut().fixed;
        own.clear();
        if fixed.contains(&true) {
            own.extend_from_slice(fixed);
        }
    }

    /// Removes all springs.
    pub fn clear_springs(&mut self) {
        self.levels[0].operator_mut().springs.clear();
    }

    /// Adds a spring at a material point, given by nodes and weights, with a stiffness in N/m.
    pub fn add_spring(&mut self, point: &[(u32, f64)], stiffness: DMat3) {
        let OctreeOperator { springs, fixed, .. } = self.levels[0].operator_mut();
        let free = point.iter().filter(|(node, _)| fixed.is_empty() || !fixed[*node as usize]);
        springs.push(free.map(|&(node, weight)| (node, weight as f32)), stiffness);
    }

    /// Prepares cycles once stiffness, inertia, springs and fixed nodes are set. `estimate`: estimates the largest eigenvalues again.
    pub fn prepare(&mut self, estimate: bool) -> Result<(), LinearError> {
        self.spring_fixed_nodes();
        self.levels[0].update_smoother(self.smoother, self.damping, estimate);
        for k in 1..self.levels.len() {
            let (fine, coarse) = two(&mut self.levels, k - 1);
            let Some(transfer) = &fine.transfer else { continue };
            let springs = &mut coarse.operator_mut().springs;
            springs.clear();
            fine.operator.springs.coarsen_onto(transfer, springs);
            if k == 1 {
                self.held_springs.coarsen_onto(transfer, springs);
            }
            coarse.update_diagonal();
            coarse.update_smoother(self.smoother, self.damping, estimate);
        }
        let Some(OctreeLevel { operator, coarsest, .. }) = self.levels.last_mut() else { return Ok(()) };
        match coarsest.update(operator) {
            true => Ok(()),
            false => Err(LinearError::NotPositiveDefinite {
                solver: "octree",
                found: "the coarsest level is not finite or not positive definite",
            }),
        }
    }

    /// The diagonal of the finest level, and springs in place of fixed nodes for the coarser ones.
    fn spring_fixed_nodes(&mut self) {
        self.held_springs.clear();
        let operator = self.levels[0].operator.clone();
        let diagonal = self.levels[0].update_diagonal();
        for (node, _) in operator.fixed.iter().enumerate().filter(|(_, fixed)| **fixed) {
            let [x, y, z] = diagonal[node].map(f64::from);
            self.held_springs.push([(node as u32, 1.0)], DMat3::from_diagonal(DVec3::new(x, y, z)));
        }
    }

    /// Increases the damping on every level, since a cycle was not positive definite.
    pub fn damp_more(&mut self) {
        self.levels.iter_mut().for_each(|level| level.damp_more(self.smoother));
    }

    /// The operator of the finest level, in double precision.
    pub fn operator(&self) -> FineOperator {
        FineOperator { operator: self.levels[0].operator.clone() }
    }

    /// One V-cycle for a right-hand side.
    fn cycle(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        let to_single = |(b, r): (&mut [f32; 3], &DVec3)| *b = r.to_array().map(|entry| entry as f32);
        self.levels[0].b.par_iter_mut().zip(r).with_min_len(CHUNK).for_each(to_single);
        cycle(&mut self.levels, &mut self.times);
        let to_double = |(z, x): (&mut DVec3, &[f32; 3])| *z = DVec3::from_array(x.map(f64::from));
        z.par_iter_mut().zip(&self.levels[0].x).with_min_len(CHUNK).for_each(to_double);
    }
}

impl Preconditioner for Multigrid {
    fn update(&mut self, _operator: &dyn LinearOperator) -> Result<(), LinearError> {
        Ok(())
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        self.cycle(r, z);
    }
}

impl SolverState for Multigrid {
    fn bytes(&self) -> usize {
        let children: usize = self.first_child.iter().map(|list| 4 * list.len()).sum();
        self.levels.iter().map(OctreeLevel::bytes).sum::<usize>() + children + self.held_springs.bytes()
    }

    fn cycle_times(&self) -> CycleTimes {
        self.times
    }
}

/// The operator of the finest level, as the outer iteration applies it.
#[derive(Debug)]
pub struct FineOperator {
    operator: Arc<OctreeOperator>,
}

impl FineOperator {
    /// Bytes of the elements' data that a product reads: their nodes and their stiffness.
    pub fn element_bytes(&self) -> usize {
        self.operator.blocks.bytes() + self.operator.stiffness.bytes()
    }
}

impl LinearOperator for FineOperator {
    fn unknowns(&self) -> usize {
        self.operator.blocks.nodes()
    }

    fn apply(&self, x: &[DVec3], y: &mut [DVec3]) {
        let mut outbox = self.operator.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        let output = Output { y: bytemuck::cast_slice_mut(y), outbox: &mut outbox };
        self.operator.apply(bytemuck::cast_slice(x), output);
    }

    fn diagonal(&self, diagonal: &mut [DMat3]) {
        for (entry, own) in diagonal.iter_mut().zip(self.operator.diagonal()) {
            *entry = DMat3::from_diagonal(DVec3::from_array(own.map(f64::from)));
        }
    }
}

/// A level and the next coarser one.
fn two(levels: &mut [OctreeLevel], k: usize) -> (&mut OctreeLevel, &mut OctreeLevel) {
    let (fine, coarse) = levels.split_at_mut(k + 1);
    (&mut fine[k], &mut coarse[0])
}

fn operator(blocks: Arc<Blocks>, rest: Arc<Vec<Rest>>, law: OctantLaw, simd: Simd) -> OctreeOperator {
    let stiffness = Stiffness::new(blocks.elements(), law, simd);
    let inertia = vec![0.0; blocks.nodes()];
    let mut springs = PointSprings::default();
    springs.clear();
    OctreeOperator { blocks, rest, stiffness, inertia, springs, fixed: Vec::new(), outbox: Mutex::default() }
}

/// The factorisation of a level if it costs little relative to cycles on the finest level, which has this many elements. Thin parts
/// bend far too little on coarse levels: a level that can be factorised should not be coarsened. Thin bodies are those whose factors
/// are small.
fn cheap_coarsest(
    trees: &[Cow<'_, Octree>],
    finest: usize,
    simd: Simd,
) -> Result<Option<CoarsestSolver>, LinearError> {
    let nodes: usize = trees.iter().map(|tree| tree.nodes().len()).sum();
    if nodes > finest / 4 || nodes > MOST_NODES {
        return Ok(None);
    }
    let coarsest = direct_coarsest(trees, simd)?;
    let each = finest as f64;
    let is_fast = coarsest.factor_len() as f64 <= MOST_NUMBERS * each && coarsest.work() <= MOST_WORK * each;
    let is_small = coarsest.bytes() as f64 <= (MOST_BYTES * each).max(ALWAYS_SMALL_BYTES);
    Ok((is_fast && is_small).then_some(coarsest))
}

fn direct_coarsest(trees: &[Cow<'_, Octree>], simd: Simd) -> Result<CoarsestSolver, LinearError> {
    let (mut places, mut conforming) = (Vec::new(), Vec::new());
    for tree in trees {
        let first = places.len() as u32;
        conforming.extend(tree.conforming().iter().map(|nodes| nodes.map(|node| node + first)));
        places.extend(tree.node_places());
    }
    CoarsestSolver::direct(&places, conforming, simd)
}

/// The first fine element in each coarse one, numbered over all bodies.
fn first_children(trees: &[Cow<'_, Octree>], coarser: &[Option<Coarsened>]) -> Vec<u32> {
    let (mut all, mut first) = (Vec::new(), 0);
    for (tree, coarser) in trees.iter().zip(coarser) {
        let count = tree.elements().len() as u32;
        match coarser {
            Some(coarser) => {
                all.extend(coarser.first_child[..coarser.tree.elements().len()].iter().map(|e| e + first))
            }
            None => all.extend(first..first + count),
        }
        first += count;
    }
    all.push(first);
    all
}

fn coarsen_lame(fine: &[Rest], first_child: &[u32], coarse: &mut [Rest]) {
    for (c, range) in first_child.windows(2).enumerate() {
        let (to, lane) = (&mut coarse[c / BATCH], c % BATCH);
        (to.lambda[lane], to.mu[lane], to.damping[lane]) = (0.0, 0.0, 0.0);
        let each = 1.0 / (range[1] - range[0]) as f32;
        let first = range[0] as usize;
        to.neo_hookean[lane] = fine[first / BATCH].neo_hookean[first % BATCH];
        for e in range[0] as usize..range[1] as usize {
            let (from, at) = (&fine[e / BATCH], e % BATCH);
            let part = if from.side[at] == to.side[lane] { 1.0 } else { 0.125 };
            to.lambda[lane] += part * from.lambda[at];
            to.mu[lane] += part * from.mu[at];
            to.damping[lane] += each * from.damping[at];
        }
    }
}

/// Gives coarser elements the mean deformation gradient of their children.
fn coarsen_gradients(fine: &Stiffness, first_child: &[u32], coarse: &mut Stiffness) {
    match (&fine.batches, &mut coarse.batches) {
        (Batches::Corotated(fine), Batches::Corotated(coarse)) => mean_gradients(fine, first_child, coarse),
        (Batches::Principal(fine), Batches::Principal(coarse)) => mean_gradients(fine, first_child, coarse),
        _ => unreachable!("all levels have the stiffness of their elements in the same form"),
    }
}

fn mean_gradients<B: ElementBatch>(fine: &[B], first_child: &[u32], coarse: &mut [B]) {
    coarse.par_iter_mut().enumerate().with_min_len(16).for_each(|(b, batch)| {
        let own = &first_child[b * BATCH..first_child.len().min((b + 1) * BATCH + 1)];
        for (lane, range) in own.windows(2).enumerate() {
            let part = 1.0 / (range[1] - range[0]) as f32;
            for entry in 0..9 {
                let children = (range[0] as usize..range[1] as usize)
                    .map(|e| fine[e / BATCH].gradient()[entry][e % BATCH]);
                batch.gradient_mut()[entry][lane] = part * children.sum::<f32>();
            }
        }
    });
}
