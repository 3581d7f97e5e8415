//! The coarsest level: a sparse Cholesky factorisation in double precision, or the paper's sweeps of damped Jacobi.

use std::collections::HashMap;
use std::sync::Arc;

use glam::{DMat3, DVec3};

use crate::solvers::octree::element::springs::matrix;
use crate::solvers::octree::multigrid::level::OctreeOperator;
use supple_linear::{BlockMatrix, BlockPattern, Cholesky, Factorisation, LinearError, Simd};

/// Added to the diagonal, as a fraction of the largest entry that flesh and masses have: an unconstrained body has rigid motions without
/// stiffness. Springs do not count, since a shift that is small next to the stiffest contact would hold all flesh in place.
const REGULARISATION: f64 = 1e-9;
/// If rounding still leaves a pivot that is not positive, the shift grows by this factor, and is at least this fraction of the largest
/// entry of all.
const GROWTH: f64 = 1e3;
const ROUNDING: f64 = 1e-13;

/// Blocks between pairs of nodes, in the order in which pairs first occur. Thousands of contacts couple the few nodes of the
/// coarsest level in the same pattern: their blocks are summed before they go into the matrix.
#[derive(Default)]
struct Couplings {
    place: HashMap<[u32; 2], u32>,
    blocks: Vec<([u32; 2], DMat3)>,
}

impl Couplings {
    fn clear(&mut self) {
        self.place.clear();
        self.blocks.clear();
    }

    /// Adds a symmetric block.
    fn add(&mut self, a: u32, b: u32, block: DMat3) {
        let pair = [a.max(b), a.min(b)];
        let next = self.blocks.len() as u32;
        match *self.place.entry(pair).or_insert(next) {
            at if at == next => self.blocks.push((pair, block)),
            at => self.blocks[at as usize].1 += block,
        }
    }
}

/// How the coarsest level is solved.
#[derive(Default)]
pub(crate) struct CoarsestSolver {
    sweeps: Option<u32>,
    conforming: Vec<[u32; 8]>,
    factor: Option<Cholesky>,
    matrix: Option<BlockMatrix>,
    couplings: Couplings,
    x: Vec<DVec3>,
}

impl std::fmt::Debug for CoarsestSolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bottom of {} nodes", self.x.len())
    }
}

impl CoarsestSolver {
    /// This many sweeps of damped Jacobi.
    pub(crate) fn of_sweeps(sweeps: u32) -> Self {
        Self { sweeps: Some(sweeps), ..Self::default() }
    }

    /// A factorisation over nodes at these positions, coupled by elements.
    pub(crate) fn direct(
        places: &[DVec3],
        conforming: Vec<[u32; 8]>,
        simd: Simd,
    ) -> Result<Self, LinearError> {
        let mut pairs = Vec::new();
        for nodes in &conforming {
            for (i, &a) in nodes.iter().enumerate() {
                pairs.extend(nodes[..i].iter().map(|&b| [a, b]));
            }
        }
        let pattern = Arc::new(BlockPattern::new(&vec![false; places.len()], &pairs));
        let factor = Cholesky::new(pattern.clone(), Some(places), simd)?;
        let matrix = Some(BlockMatrix::zero(pattern));
        let x = vec![DVec3::ZERO; places.len()];
        Ok(Self { conforming, factor: Some(factor), matrix, x, ..Self::default() })
    }

    /// Numbers in the factor.
    pub(crate) fn factor_len(&self) -> usize {
        self.factor.as_ref().map_or(0, Cholesky::factor_len)
    }

    /// Multiplications of a factorisation.
    pub(crate) fn work(&self) -> f64 {
        self.factor.as_ref().map_or(0.0, Cholesky::work)
    }

    /// The sweeps in place of a factorisation.
    pub(crate) fn sweeps(&self) -> Option<u32> {
        self.sweeps
    }

    /// Factorises the operator's matrix, with as small a shift of its diagonal as makes it definite; `false` if none does, since some of it is
    /// not finite.
    pub(crate) fn update(&mut self, operator: &OctreeOperator) -> bool {
        let (Some(factor), Some(matrix)) = (&mut self.factor, &mut self.matrix) else { return true };
        let flesh = assemble(operator, &self.conforming, &mut self.couplings, matrix);
        let largest = matrix.largest_diagonal();
        let mut shift = REGULARISATION * flesh;
        loop {
            matrix.shift_diagonal(shift);
            factor.forget();
            if factor.factorise(matrix) == Factorisation::Done {
                return true;
            }
            if shift >= largest {
                return false;
            }
            shift = (GROWTH * shift).max(ROUNDING * largest);
        }
    }

    /// `x = A⁻¹ b`.
    pub(crate) fn solve(&mut self, b: &[[f32; 3]], x: &mut [[f32; 3]]) {
        let Some(factor) = &mut self.factor else { return };
        for (to, from) in self.x.iter_mut().zip(b) {
            *to = DVec3::from_array(from.map(f64::from));
        }
        factor.solve(&mut self.x);
        for (to, from) in x.iter_mut().zip(&self.x) {
            *to = from.to_array().map(|entry| entry as f32);
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let matrix = self.matrix.as_ref().map_or(0, |matrix| 72 * matrix.blocks().len());
        self.factor.as_ref().map_or(0, Cholesky::bytes)
            + matrix
            + size_of::<([u32; 2], DMat3)>() * self.couplings.blocks.len()
            + 24 * self.x.len()
            + 32 * self.conforming.len()
    }
}

/// Writes the operator's matrix; returns the largest entry on the diagonal without springs.
fn assemble(
    operator: &OctreeOperator,
    conforming: &[[u32; 8]],
    couplings: &mut Couplings,
    to: &mut BlockMatrix,
) -> f64 {
    let is_free = |node: u32| !operator.fixed.get(node as usize).copied().unwrap_or(false);
    to.clear();
    couplings.clear();
    for (e, nodes) in conforming.iter().enumerate() {
        let hanging = operator.blocks.corners()[e / 16].hanging[e % 16];
        let own = operator.stiffness.element_matrix(e, hanging);
        for (a, row) in own.iter().enumerate().filter(|(a, _)| is_free(nodes[*a])) {
            to.add_diagonal(nodes[a], row[a]);
            for (b, block) in row[..a].iter().enumerate().filter(|(b, _)| is_free(nodes[*b])) {
                to.add_pair(nodes[a], nodes[b], *block);
            }
        }
    }
    // Fixed nodes do not move: only a body of a single level has some here.
    for (node, inertia) in operator.inertia.iter().enumerate() {
        let inertia = if is_free(node as u32) { inertia } else { &1.0 };
        to.add_diagonal(node as u32, DMat3::from_diagonal(DVec3::splat(f64::from(*inertia))));
    }
    let flesh = to.largest_diagonal();
    for (point, factor) in operator.springs.iter() {
        let h = matrix(factor);
        for (i, &(a, wa)) in point.iter().enumerate() {
            to.add_diagonal(a, f64::from(wa * wa) * h);
            for &(b, wb) in &point[..i] {
                couplings.add(a, b, f64::from(wa * wb) * h);
            }
        }
    }
    couplings.blocks.iter().for_each(|([a, b], block)| to.add_pair(*a, *b, *block));
    flesh
}
