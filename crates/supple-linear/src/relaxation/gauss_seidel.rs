//! Coloured symmetric block Gauss-Seidel (Vivace: Fratarcangeli, Tibaldo, Pellacini 2016): nodes of one colour are not coupled,
//! so a sweep goes colour by colour, each in parallel.
//!
//! With the strict lower triangle `L` of the coloured matrix and its block diagonal `D`, a forward and a backward
//! sweep from zero are `z = M⁻¹ r` with `M = (D + L) D⁻¹ (D + L)ᵀ = (I + L D⁻¹) D (I + L D⁻¹)ᵀ`, symmetric and
//! positive definite: a preconditioner. Where every block is a multiple of the identity (projective dynamics) the
//! sweep stores one number per block.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use crate::matrix::triangular::{ColourSchedule, FactorBlock, Triangular};
use crate::ordering::colouring::{by_colour, colour};
use crate::{
    BlockJacobi, BlockMatrix, BlockPattern, LinearError, LinearOperator, Preconditioner, ScalarMatrix,
    SolverState, assembled,
};

/// Slots per task.
const CHUNK: usize = 256;

/// One symmetric sweep.
#[derive(Debug, Clone, Default)]
pub struct GaussSeidel {
    /// The sweep, and the pattern it was created for.
    sweep: Option<(Arc<BlockPattern>, AnySweep)>,
}

/// A sweep, with directions coupled or not.
#[derive(Debug, Clone)]
enum AnySweep {
    Coupled(BlockSweep<DMat3>, BlockJacobi),
    /// Every block is a multiple of the identity.
    Isotropic(BlockSweep<f64>, Vec<f64>),
}

/// A sweep over blocks that are matrices or numbers.
#[derive(Debug, Clone)]
struct BlockSweep<B: FactorBlock> {
    factors: Triangular<B>,
    lower: Vec<SweepInput>,
    upper: Vec<SweepInput>,
}

/// The ingredients of a block of the sweep: a block of the matrix and the inverse of a node's diagonal block.
#[derive(Debug, Clone, Copy)]
struct SweepInput {
    slot: u32,
    node: u32,
}

impl<B: FactorBlock> BlockSweep<B> {
    /// The order and structure of a sweep, filled with `zero`.
    fn new(pattern: &BlockPattern, zero: B) -> Self {
        let (colours, count) = colour(pattern.graph());
        let nodes: Vec<u32> = (0..pattern.unknowns() as u32).collect();
        let (order, starts) = by_colour(&colours, count, &nodes);
        let factors = Triangular::new(ColourSchedule::new(order, starts, CHUNK));
        let mut sweep = Self { factors, lower: Vec::new(), upper: Vec::new() };
        let Triangular { schedule, lower, upper, .. } = &mut sweep.factors;
        for (&node, own) in schedule.order.iter().zip(0..) {
            let (start, columns) = pattern.row(node as usize);
            for (&j, slot) in columns.iter().zip(start as u32..).filter(|(j, _)| **j != node) {
                let place = schedule.place[j as usize];
                let (rows, sources, scaled_by) = if place < own {
                    (&mut *lower, &mut sweep.lower, j)
                } else {
                    (&mut *upper, &mut sweep.upper, node)
                };
                rows.push(place, zero);
                sources.push(SweepInput { slot, node: scaled_by });
            }
            lower.end_row();
            upper.end_row();
        }
        sweep
    }

    /// `L D⁻¹` and its transpose from the blocks of a matrix and the inverses of its diagonal.
    fn fill(&mut self, blocks: &[B], inverses: &[B]) {
        let Triangular { schedule, lower, upper, pivots, .. } = &mut self.factors;
        let of = |SweepInput { slot, node }: SweepInput| (blocks[slot as usize], inverses[node as usize]);
        lower.refill(|k| {
            let (block, inverse) = of(self.lower[k]);
            block * inverse
        });
        upper.refill(|k| {
            let (block, inverse) = of(self.upper[k]);
            inverse * block
        });
        pivots.clear();
        pivots.extend(schedule.order.iter().map(|&node| inverses[node as usize]));
    }

    fn bytes(&self) -> usize {
        self.factors.bytes() + size_of::<SweepInput>() * (self.lower.len() + self.upper.len())
    }
}

impl GaussSeidel {
    /// The number of colours of the last matrix.
    pub fn colours(&self) -> usize {
        let schedule = match &self.sweep {
            None => return 0,
            Some((_, AnySweep::Coupled(sweep, _))) => &sweep.factors.schedule,
            Some((_, AnySweep::Isotropic(sweep, _))) => &sweep.factors.schedule,
        };
        schedule.colours.len().saturating_sub(1)
    }

    /// The sweep of the last matrix, if this one has the same pattern. With contacts each matrix has a new pattern
    /// object, mostly with the same pairs.
    fn take_cached(&mut self, pattern: &Arc<BlockPattern>) -> (Arc<BlockPattern>, Option<AnySweep>) {
        match self.sweep.take() {
            Some((known, sweep)) if known.is_same(pattern) => (known, Some(sweep)),
            _ => (pattern.clone(), None),
        }
    }

    fn update_coupled(&mut self, matrix: &BlockMatrix) -> Result<(), LinearError> {
        let (pattern, known) = self.take_cached(matrix.pattern());
        let (mut sweep, mut jacobi) = match known {
            Some(AnySweep::Coupled(sweep, jacobi)) => (sweep, jacobi),
            _ => (BlockSweep::new(&pattern, DMat3::ZERO), BlockJacobi::default()),
        };
        let inverted = jacobi.update(matrix);
        if inverted.is_ok() {
            sweep.fill(matrix.blocks(), jacobi.inverses());
        }
        self.sweep = Some((pattern, AnySweep::Coupled(sweep, jacobi)));
        inverted
    }

    fn update_isotropic(&mut self, matrix: &ScalarMatrix) -> Result<(), LinearError> {
        let (pattern, known) = self.take_cached(matrix.pattern());
        let (mut sweep, mut inverses) = match known {
            Some(AnySweep::Isotropic(sweep, inverses)) => (sweep, inverses),
            _ => (BlockSweep::new(&pattern, 0.0), Vec::new()),
        };
        let inverted = invert_diagonal(matrix, &mut inverses);
        if inverted.is_ok() {
            sweep.fill(matrix.values(), &inverses);
        }
        self.sweep = Some((pattern, AnySweep::Isotropic(sweep, inverses)));
        inverted
    }
}

fn invert_diagonal(matrix: &ScalarMatrix, inverses: &mut Vec<f64>) -> Result<(), LinearError> {
    let pattern = matrix.pattern();
    inverses.clear();
    inverses.extend((0..pattern.unknowns()).map(|i| matrix.values()[pattern.diagonal_slot(i)].recip()));
    let usable = |inverse: &f64| *inverse > 0.0 && inverse.is_finite();
    inverses
        .iter()
        .position(|inverse| !usable(inverse))
        .map_or(Ok(()), |row| Err(LinearError::IndefiniteDiagonal { row }))
}

impl Preconditioner for GaussSeidel {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), LinearError> {
        let matrix = assembled(operator, "gauss-seidel")?;
        let merged = matrix.with_outside_merged();
        match (operator.scalars(), merged) {
            (Some(scalars), None) => self.update_isotropic(scalars),
            (_, merged) => self.update_coupled(merged.as_ref().unwrap_or(matrix)),
        }
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        match &mut self.sweep {
            None => z.copy_from_slice(r),
            Some((_, AnySweep::Coupled(sweep, _))) => sweep.factors.apply(r, z),
            Some((_, AnySweep::Isotropic(sweep, _))) => sweep.factors.apply(r, z),
        }
    }
}

impl SolverState for GaussSeidel {
    fn bytes(&self) -> usize {
        match &self.sweep {
            None => 0,
            Some((_, AnySweep::Coupled(sweep, jacobi))) => sweep.bytes() + jacobi.bytes(),
            Some((_, AnySweep::Isotropic(sweep, inverses))) => sweep.bytes() + 8 * inverses.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WithBlocks;

    /// A Laplacian on a grid of `n` by `n` nodes, plus one, with contacts outside its pattern.
    fn grid(n: u32, contacts: &[[u32; 2]]) -> ScalarMatrix {
        let right = (0..n * n).filter(|v| v % n + 1 < n).map(|v| [v, v + 1]);
        let pairs: Vec<[u32; 2]> = right.chain((0..n * (n - 1)).map(|v| [v, v + n])).collect();
        let pattern = Arc::new(BlockPattern::new(&vec![false; (n * n) as usize], &pairs));
        let mut matrix = ScalarMatrix::zero(pattern);
        (0..n * n).for_each(|v| matrix.add_diagonal(v, 1.0 + 0.1 * f64::from(v % 7)));
        for &[a, b] in pairs.iter().chain(contacts) {
            matrix.add_diagonal(a, 1.0);
            matrix.add_diagonal(b, 1.0);
            matrix.add_pair(a, b, -1.0);
        }
        matrix
    }

    fn swept(operator: &dyn LinearOperator) -> (Vec<DVec3>, usize) {
        let mut preconditioner = GaussSeidel::default();
        preconditioner.update(operator).unwrap();
        let r: Vec<DVec3> =
            (0..operator.unknowns()).map(|i| DVec3::new((i as f64).sin(), 1.0, i as f64 / 50.0)).collect();
        let mut z = r.clone();
        preconditioner.apply(&r, &mut z);
        (z, preconditioner.bytes())
    }

    #[test]
    fn one_number_a_block_sweeps_like_nine_in_a_fraction_of_the_memory() {
        let scalars = grid(40, &[]);
        let blocks = scalars.to_blocks();
        let (full, full_bytes) = swept(&blocks);
        let isotropic = WithBlocks { scalars: &scalars, blocks: &blocks };
        let (narrow, bytes) = swept(&isotropic);
        assert!(full.iter().zip(&narrow).all(|(a, b)| a.distance(*b) < 1e-6 * a.length()));
        assert!(3 * bytes < 2 * full_bytes, "{bytes} {full_bytes}");
        for threads in [1, 3] {
            let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| swept(&isotropic)).0, narrow);
        }
    }

    #[test]
    fn contacts_that_stay_need_no_new_colours() {
        let mut preconditioner = GaussSeidel::default();
        let mut patterns = Vec::new();
        for contacts in [[[0, 50], [3, 70]], [[0, 50], [3, 70]], [[0, 50], [4, 71]]] {
            preconditioner.update(&grid(10, &contacts).to_blocks()).unwrap();
            patterns.extend(preconditioner.sweep.as_ref().map(|(pattern, _)| pattern.clone()));
        }
        assert!(Arc::ptr_eq(&patterns[0], &patterns[1]));
        assert!(!Arc::ptr_eq(&patterns[1], &patterns[2]));
    }

    #[test]
    fn a_diagonal_number_that_is_not_positive_is_refused() {
        for bad in [-10.0, f64::NAN, f64::INFINITY] {
            let mut scalars = grid(4, &[]);
            scalars.add_diagonal(5, bad);
            let blocks = scalars.to_blocks();
            let refused = GaussSeidel::default().update(&WithBlocks { scalars: &scalars, blocks: &blocks });
            assert!(refused.is_err_and(|problem| problem == LinearError::IndefiniteDiagonal { row: 5 }));
        }
    }
}
