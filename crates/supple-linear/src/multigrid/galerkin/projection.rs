//! The projection between two levels (Xian 2019, section 4.2) with weights of zero and one: every node has exactly one
//! parent on the coarser level.
//!
//! A node with `c` functions has `3 c` unknowns `q`: function `f`, direction `d` at `3 f + d`. A vertex has one function, which
//! is 1. Then with the share `T[f][g]` of a node's function `f` in its parent's function `g`,
//!
//! ```text
//! prolong:  q[f, d] = Σ_g T[f][g] q'[g, d]        restrict:  b'[g, d] = Σ_children Σ_f T[f][g] r[f, d]
//! ```
//!
//! are equation 4 (vertex: `T` is the row of its parent's functions) and equation 5 (identity in a common frame), and are
//! each other's transposes.

use supple_core::parallel::prelude::*;

use supple_core::simd::{Kernel, Simd, dispatch};

/// Nodes and parents per task.
const NODES: usize = 512;
const PARENTS: usize = 8;

/// The parent of each node, and the shares `T`.
#[derive(Debug, Clone, Default)]
pub(super) struct Projection {
    /// Functions per node of the finer and of the coarser level.
    pub functions: [usize; 2],
    /// Numbers per function in the vectors: its three directions, and perhaps one that stays zero.
    stride: usize,
    /// The parent of every node.
    pub parents: Vec<u32>,
    /// The children of parent `k` are `children[starts[k]..starts[k + 1]]`, ascending.
    pub starts: Vec<usize>,
    pub children: Vec<u32>,
    /// `T` of every node, by rows.
    pub shares: Vec<f32>,
    /// The same in the order of `children`, as restriction reads them.
    child_shares: Vec<f32>,
    simd: Simd,
}

impl Projection {
    /// A projection to `count` parents with the shares of all nodes in sequence.
    pub(super) fn new(functions: [usize; 2], parents: Vec<u32>, count: usize, shares: Vec<f32>) -> Self {
        let (starts, children) = children(&parents, count);
        let size = functions[0] * functions[1];
        let share = |&child: &u32| shares[child as usize * size..][..size].iter().copied();
        let child_shares = children.iter().flat_map(share).collect();
        Self { functions, stride: 3, parents, starts, children, shares, child_shares, simd: Simd::Auto }
    }

    /// The same with nodes and parents renumbered: `order` is the node of each slot, `parent_place` the slot of each
    /// parent, for vectors of another stride.
    pub(super) fn renumbered(&self, order: &[u32], parent_place: &[u32], stride: usize, simd: Simd) -> Self {
        let size = self.functions[0] * self.functions[1];
        let parent = |&node: &u32| parent_place[self.parents[node as usize] as usize];
        let share = |&node: &u32| self.shares[node as usize * size..][..size].iter().copied();
        let parents = order.iter().map(parent).collect();
        let shares = order.iter().flat_map(share).collect();
        Self { stride, simd, ..Self::new(self.functions, parents, parent_place.len(), shares) }
    }

    /// `b' = Uᵀ r`.
    pub(super) fn restrict(&self, r: &[f32], b: &mut [f32]) {
        match (self.functions, self.stride) {
            ([1, 1], 3) => self.restrict_by::<1, 1, 3>(r, b),
            ([1, 1], _) => self.restrict_by::<1, 1, 4>(r, b),
            ([1, _], 3) => self.restrict_by::<1, 4, 3>(r, b),
            ([1, _], _) => self.restrict_by::<1, 4, 4>(r, b),
            (_, 3) => self.restrict_by::<4, 4, 3>(r, b),
            _ => self.restrict_by::<4, 4, 4>(r, b),
        }
    }

    /// `x += U x'`.
    pub(super) fn prolong_add(&self, coarse: &[f32], x: &mut [f32]) {
        match (self.functions, self.stride) {
            ([1, 1], 3) => self.prolong_by::<1, 1, 3>(coarse, x),
            ([1, 1], _) => self.prolong_by::<1, 1, 4>(coarse, x),
            ([1, _], 3) => self.prolong_by::<1, 4, 3>(coarse, x),
            ([1, _], _) => self.prolong_by::<1, 4, 4>(coarse, x),
            (_, 3) => self.prolong_by::<4, 4, 3>(coarse, x),
            _ => self.prolong_by::<4, 4, 4>(coarse, x),
        }
    }

    fn restrict_by<const C: usize, const P: usize, const D: usize>(&self, r: &[f32], b: &mut [f32]) {
        let (b, _) = b.as_chunks_mut::<D>().0.as_chunks_mut::<P>();
        b.par_chunks_mut(PARENTS).enumerate().for_each(|(chunk, b)| {
            dispatch(self.simd, Restrict::<C, P, D> { projection: self, first: chunk * PARENTS, r, b });
        });
    }

    fn prolong_by<const C: usize, const P: usize, const D: usize>(&self, coarse: &[f32], x: &mut [f32]) {
        let (x, _) = x.as_chunks_mut::<D>().0.as_chunks_mut::<C>();
        x.par_chunks_mut(NODES).enumerate().for_each(|(chunk, x)| {
            dispatch(self.simd, Prolong::<C, P, D> { projection: self, first: chunk * NODES, coarse, x });
        });
    }

    pub(super) fn bytes(&self) -> usize {
        8 * self.starts.len() + 8 * self.parents.len() + 8 * self.shares.len()
    }
}

/// The restriction to consecutive parents.
struct Restrict<'a, const C: usize, const P: usize, const D: usize> {
    projection: &'a Projection,
    first: usize,
    r: &'a [f32],
    b: &'a mut [[[f32; D]; P]],
}

impl<const C: usize, const P: usize, const D: usize> Kernel for Restrict<'_, C, P, D> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let Projection { starts, children, child_shares, .. } = self.projection;
        let (r, _) = self.r.as_chunks::<D>().0.as_chunks::<C>();
        let (shares, _) = child_shares.as_chunks::<P>().0.as_chunks::<C>();
        for (k, b) in self.b.iter_mut().enumerate() {
            let own = starts[self.first + k]..starts[self.first + k + 1];
            let mut sum = [[0.0; D]; P];
            for (&child, shares) in children[own.clone()].iter().zip(&shares[own]) {
                let r = &r[child as usize];
                for f in 0..C {
                    for g in 0..P {
                        for d in 0..D {
                            sum[g][d] += shares[f][g] * r[f][d];
                        }
                    }
                }
            }
            *b = sum;
        }
    }
}

/// The prolongation to consecutive nodes.
struct Prolong<'a, const C: usize, const P: usize, const D: usize> {
    projection: &'a Projection,
    first: usize,
    coarse: &'a [f32],
    x: &'a mut [[[f32; D]; C]],
}

impl<const C: usize, const P: usize, const D: usize> Kernel for Prolong<'_, C, P, D> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let Projection { parents, shares, .. } = self.projection;
        let (coarse, _) = self.coarse.as_chunks::<D>().0.as_chunks::<P>();
        let (shares, _) = shares.as_chunks::<P>().0.as_chunks::<C>();
        let nodes = self.first..self.first + self.x.len();
        for (x, (&parent, shares)) in self.x.iter_mut().zip(parents[nodes.clone()].iter().zip(&shares[nodes]))
        {
            let q = &coarse[parent as usize];
            for f in 0..C {
                let mut sum = [0.0; D];
                for g in 0..P {
                    for d in 0..D {
                        sum[d] += shares[f][g] * q[g][d];
                    }
                }
                for d in 0..D {
                    x[f][d] += sum[d];
                }
            }
        }
    }
}

/// Groups nodes by parent: the start of each parent's children, and the children, ascending.
pub(super) fn children(parents: &[u32], count: usize) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; count + 1];
    parents.iter().for_each(|&parent| starts[parent as usize + 1] += 1);
    (0..count).for_each(|k| starts[k + 1] += starts[k]);
    let mut next = starts.clone();
    let mut children = vec![0; parents.len()];
    for (node, &parent) in parents.iter().enumerate() {
        children[next[parent as usize]] = node as u32;
        next[parent as usize] += 1;
    }
    (starts, children)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(i: usize) -> f32 {
        (1.7 * i as f32 + 0.3).sin()
    }

    #[test]
    fn restriction_is_the_transpose_of_prolongation_in_any_numbering() {
        for functions in [[1, 1], [1, 4], [4, 4]] {
            let parents: Vec<u32> = (0..50).map(|i| (i * 7 % 11) as u32).collect();
            let shares = (0..50 * functions[0] * functions[1]).map(wave).collect();
            let plain = Projection::new(functions, parents, 11, shares);
            let order: Vec<u32> = (0..50).map(|i| i * 3 % 50).collect();
            let parent_place: Vec<u32> = (0..11).map(|i| i * 4 % 11).collect();
            for projection in [
                plain.renumbered(&order, &parent_place, 3, Simd::Auto),
                plain.renumbered(&order, &parent_place, 4, Simd::Baseline),
                plain,
            ] {
                let stride = projection.stride;
                let r: Vec<f32> = (0..stride * functions[0] * 50).map(|i| wave(i + 9)).collect();
                let q: Vec<f32> = (0..stride * functions[1] * 11).map(|i| wave(2 * i + 1)).collect();
                let (mut b, mut x) = (q.clone(), vec![0.0; r.len()]);
                projection.restrict(&r, &mut b);
                projection.prolong_add(&q, &mut x);
                let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
                assert!((dot(&r, &x) - dot(&b, &q)).abs() < 1e-4, "{functions:?}");
                assert!(dot(&r, &x).abs() > 0.1);
            }
        }
    }
}
