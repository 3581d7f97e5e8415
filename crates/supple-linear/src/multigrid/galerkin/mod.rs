//! `galerkin`: Zangyueyang Xian, Xin Tong, Tiantian Liu, *A Scalable Galerkin Multigrid Method for Real-time Simulation of
//! Deformable Objects*, ACM Transactions on Graphics 38 (6), 2019.
//!
//! | section of the paper | here |
//! | --- | --- |
//! | 3.2, algorithm 2: two-grid cycle, nested | [`crate::cycle`], `level` |
//! | 4.1 grid hierarchy: furthest-point sampling | `furthest_points`, `tree` |
//! | 4.2 restriction and interpolation, equations 4 and 5 | `projection`, `regularisation` (a node's functions) |
//! | 4.3 fast update, equations 6 and 7, in full and where something changed | `coarse_matrix`, `changes` |
//! | 4.4 rank-deficient nodes | `regularisation` |
//! | 4.5 smoothers, coarsest level | `relaxation`, `fill`, `coarsest` |
//! | 4.6, 4.7, algorithms 3 and 4 | `hierarchy`; [`Galerkin`] under the methods of the engine, in CG or alone as a [`crate::StationarySolver`] |
//! | 5.2, table 3 and figure 3: smooth weights, 3 unknowns per node | [`CoarseSpace`] |
//! | 6, future work: preconditioner of CG | [`Galerkin`] |
//! | 6, future work: heterogeneous materials | `distances` |
//!
//! Differences from the paper, with reasons:
//! - Each coarse node has functions about its own centre and axes instead of one origin for all. They span the same
//!   motions of its vertices, and block smoothers only differ by rounding, but the matrices tolerate single
//!   precision. The identity between coarse levels becomes the change of frames.
//! - A sweep of Gauss-Seidel visits the colours in one order before the coarser levels and in the reverse order after
//!   them, which makes the cycle symmetric. The paper's iterations are symmetric themselves: one of them is two
//!   sweeps here.
//! - Rank-deficient directions are removed instead of regularised; both give the same `x = U q`.
//! - Hard-pinned vertices have no row in the matrix and no part in the projection; the paper only has soft attachments.
//! - Levels, their matrices and vectors are `f32` except for the coarsest; coarse matrices are summed in `f64`.
//!   Outside the cycle everything is `f64`, so even plain cycles converge to full precision.
//! - The number of levels follows from the mesh, and the coarse ones are many and smoothed twice: on a CPU they cost little, and
//!   iterations grow less with the resolution.
//! - The matrices of projective dynamics do not couple directions; all levels then have one number where others have a 3x3
//!   block, and three right-hand sides (`numbers`).
//! - Couplings outside the pattern that appear and disappear (contacts) are merged into the pattern, which is
//!   analysed again when the set of pairs has changed; the tree stays.
//! - Without positions a coarse node only has the three translations, and there are more of them.

mod changes;
mod coarse_matrix;
mod coarse_space;
mod coarsest;
mod distances;
mod fill;
mod furthest_points;
mod hierarchy;
mod level;
mod numbers;
mod projection;
mod regularisation;
mod relaxation;
mod tree;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use crate::{
    BlockMatrix, BlockPattern, CycleTimes, LinearError, LinearOperator, Preconditioner, Regions, Simd,
    SolverState, assembled, cycle,
};
use hierarchy::{Cycle, Hierarchy};
use tree::Tree;

pub use coarse_space::{CoarseSpace, Weights};
pub use distances::Distances;
pub use relaxation::Smoother;
pub use tree::{COARSEST_UNKNOWNS, LevelSizes};

/// Options of [`Galerkin`].
#[derive(Debug, Clone, PartialEq)]
pub struct GalerkinOptions {
    /// How many nodes the coarse levels have.
    pub levels: LevelSizes,
    /// Vertices that are coarse nodes before all others (the paper's manually picked ones).
    pub first: Vec<u32>,
    /// Twelve unknowns per coarse node, an affine motion; else three, a translation (table 3).
    pub affine: bool,
    /// The smoother.
    pub smoother: Smoother,
    /// Sweeps on the finest level before and after the coarser ones.
    pub sweeps: usize,
    /// The same on the coarser levels.
    pub coarse_sweeps: usize,
    /// The distance measure between coupled vertices.
    pub distances: Distances,
    /// Instruction set.
    pub simd: Simd,
}

impl Default for GalerkinOptions {
    fn default() -> Self {
        Self {
            levels: LevelSizes::Auto,
            first: Vec::new(),
            affine: true,
            smoother: Smoother::GaussSeidel,
            sweeps: 1,
            coarse_sweeps: 2,
            distances: Distances::Stiffness,
            simd: Simd::Auto,
        }
    }
}

/// One V-cycle as an approximate inverse.
pub struct Galerkin {
    options: GalerkinOptions,
    positions: Option<Arc<[DVec3]>>,
    /// The hierarchy, and the pattern it was created for.
    tree: Option<(Arc<BlockPattern>, Tree)>,
    hierarchy: Option<Hierarchy>,
    times: CycleTimes,
}

impl Galerkin {
    /// With the given options. `positions`, one for each unknown, give coarse nodes their affine motions.
    pub fn new(options: GalerkinOptions, positions: Option<Arc<[DVec3]>>) -> Self {
        let positions = positions.filter(|positions| positions.iter().all(|x| x.is_finite()));
        Self { options, positions, tree: None, hierarchy: None, times: CycleTimes::default() }
    }

    /// The numbers of nodes of all levels, the finest first; empty before the first update.
    pub fn level_sizes(&self) -> Vec<usize> {
        let Some((pattern, tree)) = &self.tree else { return Vec::new() };
        let coarse = tree.projections.iter().map(|projection| projection.starts.len() - 1);
        std::iter::once(pattern.unknowns()).chain(coarse).collect()
    }

    fn grow_tree(&mut self, matrix: &BlockMatrix) -> Result<(), LinearError> {
        if self.tree.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, matrix.pattern())) {
            return Ok(());
        }
        self.hierarchy = None;
        let positions = self.positions.as_deref().filter(|x| x.len() == matrix.unknowns());
        self.tree = Some((matrix.pattern().clone(), Tree::new(matrix, positions, &self.options)?));
        Ok(())
    }

    /// Updates from a matrix given by `width²` numbers per block of its pattern.
    fn update_levels(
        &mut self,
        width: usize,
        pattern: &Arc<BlockPattern>,
        entries: &[f64],
    ) -> Result<(), LinearError> {
        let Some((_, tree)) = &self.tree else { return Ok(()) };
        let known = self.hierarchy.take().filter(|known| known.is_of(width, pattern));
        let hierarchy = known.unwrap_or_else(|| Hierarchy::new(width, pattern, tree, &self.options));
        self.hierarchy.insert(hierarchy).update(entries, tree)
    }
}

impl Preconditioner for Galerkin {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), LinearError> {
        let matrix = assembled(operator, "galerkin")?;
        self.grow_tree(matrix)?;
        let merged = matrix.with_outside_merged();
        if let (Some(scalars), None) = (operator.scalars(), &merged) {
            return self.update_levels(1, scalars.pattern(), scalars.values());
        }
        let matrix = merged.as_ref().unwrap_or(matrix);
        self.update_levels(3, matrix.pattern(), bytemuck::cast_slice(matrix.blocks()))
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        let Some(hierarchy) = &mut self.hierarchy else { return };
        let Cycle { levels, order, place, stride, scale } = &mut hierarchy.cycle;
        let stride = *stride;
        // The largest entry becomes one, so that the cycle stays in the range of single precision.
        let size = r.par_iter().with_min_len(4096).map(|r| r.abs().max_element()).reduce(|| 0.0, f64::max);
        if size == 0.0 || !size.is_finite() {
            return z.copy_from_slice(r);
        }
        let b = levels[0].b.par_chunks_exact_mut(stride);
        b.zip(&*order).with_min_len(4096).for_each(|(b, &vertex)| {
            b[..3].copy_from_slice(&(r[vertex as usize] / size).to_array().map(|entry| entry as f32));
        });
        cycle(levels, &mut self.times);
        let x = &levels[0].x;
        let factor = size * *scale;
        z.par_iter_mut().zip(&*place).with_min_len(4096).for_each(|(z, &place)| {
            let own = &x[stride * place as usize..][..3];
            *z = DVec3::new(f64::from(own[0]), f64::from(own[1]), f64::from(own[2])) * factor;
        });
    }
}

impl SolverState for Galerkin {
    fn bytes(&self) -> usize {
        let tree = self.tree.as_ref().map_or(0, |(_, tree)| tree.bytes());
        tree + self.hierarchy.as_ref().map_or(0, Hierarchy::bytes)
    }

    fn cycle_times(&self) -> CycleTimes {
        self.times
    }

    fn regions(&self) -> Vec<Regions> {
        self.tree.as_ref().map_or_else(Vec::new, |(_, tree)| tree.regions())
    }
}
