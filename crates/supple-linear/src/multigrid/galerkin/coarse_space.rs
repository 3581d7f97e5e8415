//! One coarse space as a whole, solved exactly: what table 3 and figure 3 of the paper (section 5.2) measure. The cycle itself has
//! piecewise-constant weights only; here a vertex may follow several nodes with smooth weights,
//!
//! ```text
//! x_i = Σ_j ω_ij A_j φ_j(X_i)          ω_ij >= 0,   Σ_j ω_ij = 1
//! ```
//!
//! The paper's smooth weights are bounded and biharmonic (Jacobson 2011). Equivalent here, and cheap: the piecewise-constant ones
//! diffused over the mesh, `ω <- (1 - θ) ω + θ D⁻¹ N ω` with the neighbours `N` of every vertex. Each step takes
//! means, so the weights stay between 0 and 1 and still sum to 1, and they fall off smoothly around their node.

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use super::distances::{Distances, edge_lengths};
use super::furthest_points::{Metric, furthest_points};
use super::projection::children;
use super::regularisation::frames;
use super::tree::COARSEST_UNKNOWNS;
use crate::{BlockMatrix, BlockPattern, DenseFactor, LinearError, local_order};
use supple_core::simd::Simd;

/// How vertices follow coarse nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// Each its nearest one.
    PiecewiseConstant,
    /// Several, by smooth weights.
    Smooth,
}

/// The share of the mean of the neighbours in a step of diffusion.
const DIFFUSION: f32 = 0.5;
/// Weights below this are left out.
const SMALLEST: f32 = 1e-4;

/// A weight of a coarse node.
type Weight = (u32, f32);

/// The projection `U` of a coarse space by rows: of every vertex the nodes and the values of their functions, weighted.
pub struct CoarseSpace {
    nodes: usize,
    functions: usize,
    rows: Vec<Vec<(u32, [f64; 4])>>,
}

impl CoarseSpace {
    /// `nodes` furthest points of the vertices of a matrix, with 12 unknowns each if `affine`, else with 3.
    pub fn new(
        matrix: &BlockMatrix,
        positions: &[DVec3],
        nodes: usize,
        affine: bool,
        weights: Weights,
    ) -> Self {
        let pattern = matrix.pattern();
        let nodes = nodes.clamp(1, pattern.unknowns().max(1));
        let lengths = edge_lengths(matrix, Some(positions), Distances::Geodesic);
        let metric = Metric { graph: pattern.graph(), lengths: &lengths };
        let order = local_order(pattern, Some(positions));
        let sampling = furthest_points(metric, &[nodes], &[], &order);
        let nearest = &sampling.nearest[0];
        let (starts, members) = children(nearest, nodes);
        let frames = frames(positions, &starts, &members);
        let weights = match weights {
            Weights::PiecewiseConstant => nearest.iter().map(|&node| vec![(node, 1.0)]).collect(),
            Weights::Smooth => smooth_weights(pattern, &sampling.samples, nearest),
        };
        let row = |(x, weights): (&DVec3, &Vec<Weight>)| -> Vec<(u32, [f64; 4])> {
            let at = |&(node, weight): &Weight| {
                let values = if affine { frames[node as usize].at(*x) } else { [1.0, 0.0, 0.0, 0.0] };
                (node, values.map(|value| value * f64::from(weight)))
            };
            weights.iter().map(at).collect()
        };
        let rows = positions.iter().zip(&weights).map(row).collect();
        Self { nodes, functions: if affine { 4 } else { 1 }, rows }
    }

    /// The number of entries of the coarse matrix `Uᵀ A U` that are stored: whole blocks of nodes that are coupled.
    pub fn nonzeros(&self, matrix: &BlockMatrix) -> usize {
        let mut coupled = vec![false; self.nodes * self.nodes];
        for (i, row) in self.rows.iter().enumerate() {
            for &j in matrix.pattern().row(i).1 {
                for (a, _) in row {
                    for (b, _) in &self.rows[j as usize] {
                        coupled[*a as usize * self.nodes + *b as usize] = true;
                    }
                }
            }
        }
        coupled.iter().filter(|coupled| **coupled).count() * (3 * self.functions).pow(2)
    }

    /// `U (Uᵀ A U)⁻¹ Uᵀ r`: what the coarse space makes of a residual when it is solved exactly.
    pub fn correction(&self, matrix: &BlockMatrix, r: &[DVec3]) -> Result<Vec<DVec3>, LinearError> {
        let size = 3 * self.functions * self.nodes;
        if size > COARSEST_UNKNOWNS {
            return Err(LinearError::CoarsestTooLarge {
                nodes: self.nodes,
                unknowns: size,
                limit: COARSEST_UNKNOWNS,
            });
        }
        let mut factor = DenseFactor::default();
        self.fill(matrix, factor.clear(size), size);
        if !factor.factorise(Simd::Auto) {
            return Err(LinearError::IndefiniteLevel { solver: "galerkin", level: 1 });
        }
        let mut q = self.restricted(r);
        factor.solve(&mut q);
        Ok(self.prolonged(&q))
    }

    /// Where function `f` of a node has its three unknowns.
    fn place(&self, node: u32, f: usize) -> usize {
        3 * (self.functions * node as usize + f)
    }

    /// `Uᵀ r`.
    fn restricted(&self, r: &[DVec3]) -> Vec<f64> {
        let mut q = vec![0.0; 3 * self.functions * self.nodes];
        for (row, r) in self.rows.iter().zip(r) {
            for (node, values) in row {
                for (f, value) in values.iter().take(self.functions).enumerate() {
                    let target = &mut q[self.place(*node, f)..][..3];
                    target.iter_mut().zip((*r * *value).to_array()).for_each(|(target, r)| *target += r);
                }
            }
        }
        q
    }

    /// `U q`.
    fn prolonged(&self, q: &[f64]) -> Vec<DVec3> {
        let of = |(node, values): &(u32, [f64; 4])| -> DVec3 {
            let terms = values.iter().take(self.functions).enumerate();
            terms.map(|(f, value)| DVec3::from_slice(&q[self.place(*node, f)..]) * *value).sum()
        };
        self.rows.iter().map(|row| row.iter().map(of).sum()).collect()
    }

    /// The lower triangle of `Uᵀ A U` by columns, with ones for functions that a rank-deficient node does not have.
    fn fill(&self, matrix: &BlockMatrix, columns: &mut [f64], size: usize) {
        let mut products: Vec<[DMat3; 4]> = vec![[DMat3::ZERO; 4]; self.nodes];
        for (i, row) in self.rows.iter().enumerate() {
            let touched = self.row_times_projection(matrix, i, &mut products);
            for &column in &touched {
                for (node, values) in row {
                    for (g, product) in products[column as usize].iter().take(self.functions).enumerate() {
                        for (f, value) in values.iter().take(self.functions).enumerate() {
                            let corner = self.place(column, g) * size + self.place(*node, f);
                            add_block(&mut columns[corner..], size, *product * *value);
                        }
                    }
                }
                products[column as usize] = [DMat3::ZERO; 4];
            }
        }
        for diagonal in (0..size).map(|k| k * (size + 1)) {
            if columns[diagonal] == 0.0 {
                columns[diagonal] = 1.0;
            }
        }
    }

    /// Row `i` of `A U`, added into `products`; gives the nodes that it touches.
    fn row_times_projection(&self, matrix: &BlockMatrix, i: usize, products: &mut [[DMat3; 4]]) -> Vec<u32> {
        let (start, others) = matrix.pattern().row(i);
        let mut touched = Vec::new();
        for (&j, block) in others.iter().zip(&matrix.blocks()[start..]) {
            for (node, values) in &self.rows[j as usize] {
                touched.push(*node);
                let sums = &mut products[*node as usize];
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += *block * *value);
            }
        }
        touched.sort_unstable();
        touched.dedup();
        touched
    }
}

/// Adds a 3x3 block whose corner is the first of `columns`, which are `size` long.
fn add_block(columns: &mut [f64], size: usize, block: DMat3) {
    for (c, column) in block.to_cols_array_2d().iter().enumerate() {
        let target = &mut columns[c * size..][..3];
        target.iter_mut().zip(column).for_each(|(target, entry)| *target += entry);
    }
}

/// Diffuses the piecewise-constant weights until their edges are about as wide as a node.
fn smooth_weights(pattern: &BlockPattern, samples: &[u32], nearest: &[u32]) -> Vec<Vec<Weight>> {
    let mut weights: Vec<Vec<Weight>> = nearest.iter().map(|&node| vec![(node, 1.0)]).collect();
    for _ in 0..diffusion_steps(pattern, samples) {
        let before = weights;
        let vertices = 0..pattern.unknowns();
        let room = || (vec![0.0; samples.len()], Vec::new());
        weights = vertices
            .into_par_iter()
            .with_min_len(256)
            .map_init(room, |room, i| diffused(pattern, &before, i, room))
            .collect();
    }
    weights
}

/// The weights of a vertex after a step of diffusion.
fn diffused(
    pattern: &BlockPattern,
    weights: &[Vec<Weight>],
    i: usize,
    (sums, touched): &mut (Vec<f32>, Vec<u32>),
) -> Vec<Weight> {
    let neighbours = pattern.row(i).1.iter().filter(|j| **j as usize != i);
    let count = neighbours.clone().count();
    let own = if count == 0 { 1.0 } else { 1.0 - DIFFUSION };
    let mut add = |vertex: usize, share: f32| {
        for &(node, weight) in &weights[vertex] {
            touched.push(node);
            sums[node as usize] += share * weight;
        }
    };
    add(i, own);
    neighbours.for_each(|&j| add(j as usize, DIFFUSION / count as f32));
    touched.sort_unstable();
    touched.dedup();
    let all = touched.drain(..).map(|node| (node, std::mem::take(&mut sums[node as usize])));
    let kept: Vec<Weight> = all.filter(|(_, weight)| *weight >= SMALLEST).collect();
    let total: f32 = kept.iter().map(|(_, weight)| weight).sum();
    kept.into_iter().map(|(node, weight)| (node, weight / total)).collect()
}

/// The number of random steps after which a walk is, in the root mean square, as far away as vertices are from their node.
fn diffusion_steps(pattern: &BlockPattern, samples: &[u32]) -> usize {
    let mut hops = vec![u32::MAX; pattern.unknowns()];
    samples.iter().for_each(|&sample| hops[sample as usize] = 0);
    let mut front = samples.to_vec();
    let (mut squares, mut reached) = (0.0, front.len().max(1));
    let mut away = 0;
    while !front.is_empty() {
        away += 1;
        let mut next = Vec::new();
        for &vertex in &front {
            for &other in pattern.row(vertex as usize).1 {
                if hops[other as usize] == u32::MAX {
                    hops[other as usize] = away;
                    next.push(other);
                }
            }
        }
        squares += f64::from(away * away) * next.len() as f64;
        reached += next.len();
        front = next;
    }
    (squares / (reached as f64 * f64::from(DIFFUSION))).ceil() as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A block of springs on a mass, `n` vertices per side.
    fn block(n: u32) -> (BlockMatrix, Vec<DVec3>) {
        let place = |v: u32| DVec3::new(f64::from(v % n), f64::from(v / n % n), f64::from(v / (n * n)));
        let steps = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]];
        let mut pairs = Vec::new();
        for v in 0..n * n * n {
            for [i, j, k] in steps {
                if v % n + i < n && v / n % n + j < n && v / (n * n) + k < n {
                    pairs.push([v, v + i + n * j + n * n * k]);
                }
            }
        }
        let count = n * n * n;
        let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; count as usize], &pairs)));
        for &[a, b] in &pairs {
            let u = (place(b) - place(a)).normalize();
            let stiffness = DMat3::from_cols(u * u.x, u * u.y, u * u.z) + 0.2 * DMat3::IDENTITY;
            matrix.add_diagonal(a, stiffness);
            matrix.add_diagonal(b, stiffness);
            matrix.add_pair(a, b, -stiffness);
        }
        matrix.shift_diagonal(1e-3);
        (matrix, (0..count).map(place).collect())
    }

    fn largest(a: &[DVec3], b: &[DVec3]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
    }

    fn bent(positions: &[DVec3]) -> Vec<DVec3> {
        let bend = |x: &DVec3| DVec3::new((0.3 * x.y).sin(), (0.4 * x.z).cos(), 0.05 * x.x * x.x);
        positions.iter().map(bend).collect()
    }

    #[test]
    fn smooth_weights_are_a_bounded_partition_of_unity_that_falls_off() {
        let (matrix, positions) = block(12);
        let space = CoarseSpace::new(&matrix, &positions, 20, false, Weights::Smooth);
        for row in &space.rows {
            let sum: f64 = row.iter().map(|(_, values)| values[0]).sum();
            assert!((sum - 1.0).abs() < 1e-5 && row.iter().all(|(_, values)| values[0] >= 0.0), "{row:?}");
        }
        // Neighbours have nearly the same weights: no cliff like the one from 1 to 0 of piecewise-constant ones.
        let weight = |v: usize, node: u32| {
            space.rows[v].iter().find(|(other, _)| *other == node).map_or(0.0, |(_, values)| values[0])
        };
        for v in 0..positions.len() {
            for &other in matrix.pattern().row(v).1 {
                assert!((0..20).all(|node| (weight(v, node) - weight(other as usize, node)).abs() < 0.35));
            }
        }
        let many = space.rows.iter().filter(|row| row.len() > 1).count();
        assert!(2 * many > positions.len());
    }

    #[test]
    fn affine_motions_lie_in_every_space_of_twelve_unknowns_and_the_correction_is_a_projection() {
        let (matrix, positions) = block(7);
        let gradient = DMat3::from_cols_array(&[0.1, 0.3, -0.2, 0.05, -0.4, 0.6, 0.7, 0.2, 0.1]);
        let affine: Vec<DVec3> =
            positions.iter().map(|x| gradient * *x + DVec3::new(1.0, -2.0, 0.5)).collect();
        for weights in [Weights::PiecewiseConstant, Weights::Smooth] {
            let space = CoarseSpace::new(&matrix, &positions, 9, true, weights);
            let found = space.correction(&matrix, &matrix.multiply(&affine)).unwrap();
            // Weights are kept in single precision.
            assert!(largest(&found, &affine) < 1e-4, "{weights:?}: {}", largest(&found, &affine));
            let once = space.correction(&matrix, &bent(&positions)).unwrap();
            let twice = space.correction(&matrix, &matrix.multiply(&once)).unwrap();
            let size = largest(&once, &vec![DVec3::ZERO; once.len()]);
            assert!(largest(&once, &twice) < 1e-8 * size, "{weights:?}");
        }
    }

    /// The order of table 3, for a smooth error.
    #[test]
    fn smooth_weights_leave_less_of_a_smooth_error_and_three_unknowns_more_at_the_price_of_memory() {
        let (matrix, positions) = block(12);
        let error = bent(&positions);
        let residual = matrix.multiply(&error);
        let left = |affine: bool, weights: Weights| {
            let space = CoarseSpace::new(&matrix, &positions, 30, affine, weights);
            let correction = space.correction(&matrix, &residual).unwrap();
            let norm = error.iter().zip(&correction).map(|(e, c)| e.distance_squared(*c)).sum::<f64>().sqrt();
            (norm, space.nonzeros(&matrix))
        };
        let (piecewise, smooth) = (left(true, Weights::PiecewiseConstant), left(true, Weights::Smooth));
        assert!(smooth.0 < piecewise.0 && piecewise.0 < left(false, Weights::PiecewiseConstant).0);
        assert!(smooth.1 > 2 * piecewise.1);
    }

    #[test]
    fn a_space_too_large_to_be_solved_exactly_is_refused() {
        let (matrix, positions) = block(9);
        let space = CoarseSpace::new(&matrix, &positions, 600, true, Weights::PiecewiseConstant);
        assert!(space.correction(&matrix, &bent(&positions)).unwrap_err().to_string().contains("600 nodes"));
    }
}
