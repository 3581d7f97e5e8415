//! The grid hierarchy (Xian 2019, section 4.1) with its projections (4.2): the children of every node, with their
//! shares. It depends on the mesh and, by the distances, on the first matrix; later matrices on the same pattern
//! reuse it.

use glam::DVec3;

use super::GalerkinOptions;
use super::distances::edge_lengths;
use super::furthest_points::{Metric, Sampling, furthest_points};
use super::projection::{Projection, children};
use super::regularisation::{Frame, frames};
use crate::{BlockMatrix, LinearError, LinearOperator, Regions, local_order};

/// Vertices per node of the first coarse level: such that its matrix costs a quarter of the finest one, and twelve
/// unknowns still represent them. On cloth and on solids from 10,000 to 200,000 vertices, 32 need as many iterations
/// at a higher cost, 128 up to a quarter more. A translation represents fewer vertices and costs less.
const FIRST_RATIO: [usize; 2] = [8, 64];
/// Nodes per node of the next coarser level. Coarse levels are cheap, so there may be many.
const NEXT_RATIO: usize = 4;
/// Number of nodes for which the dense factorisation of the coarsest level has negligible cost.
const COARSEST: [usize; 2] = [256, 64];
/// Maximum unknowns of the coarsest level: more would make its dense factor larger than most fine matrices, 300 MB.
pub const COARSEST_UNKNOWNS: usize = 6144;

/// The numbers of nodes of the coarse levels, from fine to coarse.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LevelSizes {
    /// From the number of vertices: one node of the first coarse level per 64 vertices (8 if nodes have 3 unknowns),
    /// then one node per 4, until at most 64 (256) are left for the dense factorisation.
    #[default]
    Auto,
    /// As given, decreasing; those not below the number of vertices are omitted. None: the matrix itself is factored
    /// densely.
    Given(Vec<usize>),
}

impl LevelSizes {
    /// The sizes for this many vertices: decreasing, from below their number down to at least 1.
    fn of(&self, vertices: usize, affine: bool) -> Vec<usize> {
        let (first, coarsest) = (FIRST_RATIO[usize::from(affine)], COARSEST[usize::from(affine)]);
        let wanted = match self {
            Self::Given(sizes) => sizes.clone(),
            Self::Auto if 3 * vertices <= COARSEST[0] => Vec::new(),
            Self::Auto => {
                let more = |k: &usize| (*k > coarsest).then_some(k / NEXT_RATIO);
                std::iter::successors(Some(vertices / first), more).collect()
            }
        };
        let mut last = vertices;
        let mut sizes = Vec::new();
        for size in wanted.into_iter().map(|size| size.max(1)) {
            if size < last {
                sizes.push(size);
                last = size;
            }
        }
        sizes
    }
}

/// The hierarchy without numbers.
pub(super) struct Tree {
    /// From each level to the next coarser one, nodes as numbered by the sampling.
    pub projections: Vec<Projection>,
    /// For each level an order that keeps nearby nodes together.
    pub orders: Vec<Vec<u32>>,
    /// The vertices that are coarse nodes: the first `k` of them on a level of `k` nodes.
    pub samples: Vec<u32>,
}

impl Tree {
    /// The hierarchy over the vertices of a matrix. `positions` are theirs; without them coarse nodes only have the
    /// three translations.
    pub(super) fn new(
        matrix: &BlockMatrix,
        positions: Option<&[DVec3]>,
        options: &GalerkinOptions,
    ) -> Result<Self, LinearError> {
        let vertices = matrix.unknowns();
        let order = local_order(matrix.pattern(), positions);
        let affine = positions.filter(|_| options.affine);
        let sizes = options.levels.of(vertices, affine.is_some());
        check_coarsest(sizes.last().copied(), vertices, affine.is_some())?;
        let lengths = edge_lengths(matrix, positions, options.distances);
        let metric = Metric { graph: matrix.pattern().graph(), lengths: &lengths };
        let sampling = furthest_points(metric, &sizes, &options.first, &order);
        let samples = sampling.samples.clone();
        let mut tree = Self { projections: Vec::new(), orders: vec![order], samples };
        let mut builder = Builder {
            sampling: &sampling,
            positions: affine,
            owner: (0..vertices as u32).collect(),
            frames: Vec::new(),
        };
        let mut nodes = vertices;
        for (level, &size) in sizes.iter().enumerate() {
            let projection = builder.next(level, nodes, size);
            nodes = size;
            tree.orders.push(parents_along(&tree.orders[level], &projection.parents, size));
            tree.projections.push(projection);
        }
        Ok(tree)
    }

    /// The regions of every coarse level: the vertices below each of its nodes.
    pub(super) fn regions(&self) -> Vec<Regions> {
        let mut regions: Vec<Regions> = Vec::new();
        for (level, projection) in self.projections.iter().enumerate() {
            let of_unknown: Vec<u32> = match regions.last() {
                None => projection.parents.clone(),
                Some(finer) => {
                    finer.of_unknown.iter().map(|&node| projection.parents[node as usize]).collect()
                }
            };
            let nodes = self.samples[..projection.starts.len() - 1].to_vec();
            let name = format!("coarse level {}: {} nodes", level + 1, nodes.len());
            regions.push(Regions { name, of_unknown, nodes });
        }
        regions
    }

    pub(super) fn bytes(&self) -> usize {
        let orders: usize = self.orders.iter().map(|order| 4 * order.len()).sum();
        4 * self.samples.len() + orders + self.projections.iter().map(Projection::bytes).sum::<usize>()
    }
}

/// Rejects a coarsest level that is too large to be factored densely.
fn check_coarsest(coarsest: Option<usize>, vertices: usize, affine: bool) -> Result<(), LinearError> {
    let (nodes, unknowns) = match coarsest {
        Some(nodes) if affine => (nodes, 12 * nodes),
        nodes => (nodes.unwrap_or(vertices), 3 * nodes.unwrap_or(vertices)),
    };
    if unknowns <= COARSEST_UNKNOWNS {
        return Ok(());
    }
    Err(LinearError::CoarsestTooLarge { nodes, unknowns, limit: COARSEST_UNKNOWNS })
}

/// Builds projections level by level.
struct Builder<'a> {
    sampling: &'a Sampling,
    positions: Option<&'a [DVec3]>,
    /// The node of the level built last that every vertex belongs to.
    owner: Vec<u32>,
    /// The frames of that level's nodes.
    frames: Vec<Frame>,
}

impl Builder<'_> {
    /// The projection from a level of `nodes` nodes to the next one, of `size`.
    fn next(&mut self, level: usize, nodes: usize, size: usize) -> Projection {
        let nearest = &self.sampling.nearest[level];
        let is_first = level == 0;
        let parents: Vec<u32> = match is_first {
            true => nearest.clone(),
            false => self.sampling.samples[..nodes].iter().map(|&v| nearest[v as usize]).collect(),
        };
        self.owner.iter_mut().for_each(|owner| *owner = parents[*owner as usize]);
        let Some(positions) = self.positions else {
            let shares = vec![1.0; parents.len()];
            return Projection::new([1, 1], parents, size, shares);
        };
        let (starts, members) = children(&self.owner, size);
        let frames = frames(positions, &starts, &members);
        let shares: Vec<f32> = if is_first {
            let at = |(x, &parent): (&DVec3, &u32)| frames[parent as usize].at(*x);
            positions.iter().zip(&parents).flat_map(at).map(|share| share as f32).collect()
        } else {
            let of = |(part, &parent): (&Frame, &u32)| frames[parent as usize].in_terms_of(part);
            self.frames.iter().zip(&parents).flat_map(of).flatten().map(|share| share as f32).collect()
        };
        self.frames = frames;
        Projection::new([if is_first { 1 } else { 4 }, 4], parents, size, shares)
    }
}

/// Parents in the order of their first children.
fn parents_along(order: &[u32], parents: &[u32], count: usize) -> Vec<u32> {
    let mut seen = vec![false; count];
    let first = |&node: &u32| {
        let parent = parents[node as usize];
        (!std::mem::replace(&mut seen[parent as usize], true)).then_some(parent)
    };
    order.iter().filter_map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_fall_to_a_size_for_the_dense_factorisation() {
        assert_eq!(LevelSizes::Auto.of(0, true), Vec::<usize>::new());
        assert_eq!(LevelSizes::Auto.of(60, true), Vec::<usize>::new());
        assert_eq!(LevelSizes::Auto.of(100, true), [1]);
        assert_eq!(LevelSizes::Auto.of(200_000, true), [3125, 781, 195, 48]);
        assert_eq!(LevelSizes::Auto.of(200_000, false), [25_000, 6250, 1562, 390, 97]);
        assert_eq!(LevelSizes::Given(vec![1000, 50]).of(200_000, true), [1000, 50]);
        assert_eq!(LevelSizes::Given(vec![1000, 50, 50, 0]).of(500, true), [50, 1]);
    }
}
