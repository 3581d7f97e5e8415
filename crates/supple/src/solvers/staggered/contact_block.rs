//! The block of a linear system that contact stiffens: the displacements next to points in contact, solved directly. Cycles know nothing of
//! contact, and GMRES alone needs an iteration for about every stiff direction; after a cycle, this block removes what contact resists.

use glam::{DMat3, DVec3};

use crate::solvers::staggered::body::LatticeBody;
use supple_core::simd::Simd;
use supple_linear::DenseFactor;

/// Rows of a dense factor at most; blocks with more are divided.
const MOST_ROWS: usize = 900;

/// The displacements next to contacts, of all bodies, and the factors of their equations in newtons per metre.
#[derive(Debug, Default)]
pub(super) struct ContactBlock {
    /// Body and entry of its fields, sorted.
    displacements: Vec<(u32, u32)>,
    /// Factors of consecutive ranges of them.
    factors: Vec<DenseFactor>,
    /// The weights of one combination of points, by displacement.
    row: Vec<(u32, DVec3)>,
    all: Vec<(u32, u32)>,
    values: Vec<f64>,
}

/// A combination of unknowns, and its Hessian.
pub(super) type PointBlock<'a> = (&'a [(u32, f64)], &'a DMat3);

impl ContactBlock {
    /// Factorises the block of bodies that these Hessians stiffen.
    pub(super) fn update<'a>(
        &mut self,
        (bodies, first_unknown): (&[LatticeBody], &[u32]),
        points: impl Iterator<Item = PointBlock<'a>> + Clone,
        simd: Simd,
    ) {
        self.find_displacements(bodies, first_unknown, points.clone());
        let count = self.displacements.len();
        let mut factors = std::mem::take(&mut self.factors);
        factors.resize_with(count.div_ceil(MOST_ROWS), DenseFactor::default);
        let mut matrices: Vec<&mut [f64]> = Vec::with_capacity(factors.len());
        for (chunk, factor) in self.displacements.chunks(MOST_ROWS).zip(&mut factors) {
            let matrix = factor.clear(chunk.len());
            add_elasticity(bodies, chunk, matrix);
            matrices.push(matrix);
        }
        for (point, hessian) in points {
            self.find_row(bodies, first_unknown, point);
            for (n, (i, a)) in self.row.iter().enumerate() {
                let pulled = *hessian * *a;
                for (j, b) in &self.row[..=n] {
                    let (low, high) = (*i.min(j) as usize, *i.max(j) as usize);
                    let chunk = low / MOST_ROWS;
                    if chunk == high / MOST_ROWS {
                        let rows = MOST_ROWS.min(count - chunk * MOST_ROWS);
                        matrices[chunk][low % MOST_ROWS * rows + high % MOST_ROWS] += pulled.dot(*b);
                    }
                }
            }
        }
        drop(matrices);
        // Without a factor cycles are alone, which is slower but not wrong.
        if !factors.iter_mut().all(|factor| factor.factorise(simd)) {
            self.displacements.clear();
        }
        self.factors = factors;
    }

    /// Whether nothing is stiffened.
    pub(super) fn is_empty(&self) -> bool {
        self.displacements.is_empty()
    }

    /// Adds the solution for the residuals in `change` of each body, in newtons, to its correction.
    pub(super) fn correct(&mut self, bodies: &mut [LatticeBody]) {
        let Self { displacements, factors, values, .. } = self;
        values.clear();
        values.extend(displacements.iter().map(|&(body, at)| bodies[body as usize].change[at as usize]));
        for (factor, values) in factors.iter().zip(values.chunks_mut(MOST_ROWS)) {
            factor.solve(values);
        }
        // The operator is negative.
        for (&(body, at), value) in displacements.iter().zip(&*values) {
            bodies[body as usize].work.wide[at as usize] -= value;
        }
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let factors: usize = self.factors.iter().map(DenseFactor::bytes).sum();
        factors + 8 * (self.displacements.len() + self.all.len() + self.values.len()) + 32 * self.row.len()
    }

    fn find_displacements<'a>(
        &mut self,
        bodies: &[LatticeBody],
        first_unknown: &[u32],
        points: impl Iterator<Item = PointBlock<'a>>,
    ) {
        let Self { displacements, all, .. } = self;
        all.clear();
        for &(unknown, _) in points.flat_map(|(point, _)| point) {
            all.push((unknown, 0));
        }
        all.sort_unstable();
        all.dedup();
        displacements.clear();
        for &(unknown, _) in &*all {
            let index = first_unknown.partition_point(|first| *first <= unknown) - 1;
            let body = &bodies[index];
            let of_body = (unknown - first_unknown[index]) as usize;
            for_each_weight(body, of_body, |_, at, _| displacements.push((index as u32, at)));
        }
        displacements.sort_unstable();
        displacements.dedup();
    }

    /// The weights of a combination of unknowns on the displacements of the block.
    fn find_row(&mut self, bodies: &[LatticeBody], first_unknown: &[u32], point: &[(u32, f64)]) {
        let Self { displacements, row, .. } = self;
        row.clear();
        for &(unknown, weight) in point {
            let index = first_unknown.partition_point(|first| *first <= unknown) - 1;
            let body = &bodies[index];
            let of_body = (unknown - first_unknown[index]) as usize;
            for_each_weight(body, of_body, |field, at, w| {
                if let Ok(place) = displacements.binary_search(&(index as u32, at)) {
                    row.push((place as u32, weight * w * body.frame.rotation.col(field)));
                }
            });
        }
        row.sort_by_key(|entry| entry.0);
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }
}

/// Calls `visit` with field, entry of all fields, and weight of the free displacements that a body's unknown depends on.
fn for_each_weight(body: &LatticeBody, unknown: usize, mut visit: impl FnMut(usize, u32, f64)) {
    let lattice = body.hierarchy.finest().lattice();
    for field in 0..3 {
        for &(cell, w) in body.points.weights(unknown, field) {
            if lattice.is_unknown(field, cell as usize) {
                visit(field, (field * lattice.len()) as u32 + cell, w);
            }
        }
    }
}

/// Adds the equations of elasticity and inertia among some displacements.
fn add_elasticity(bodies: &[LatticeBody], displacements: &[(u32, u32)], matrix: &mut [f64]) {
    let rows = displacements.len();
    for (i, &(index, at)) in displacements.iter().enumerate() {
        let body = &bodies[index as usize];
        let (operator, len) = (body.hierarchy.finest().operator(), body.len());
        let (field, cell) = (at as usize / len, at as usize % len);
        for (offset, value) in operator.row(field, cell).entries {
            let (of, entry) = operator.place(cell, offset);
            let Ok(j) = displacements.binary_search(&(index, (of * len + entry) as u32)) else { continue };
            if j >= i {
                matrix[i * rows + j] -= value / body.force_scale();
            }
        }
    }
}
