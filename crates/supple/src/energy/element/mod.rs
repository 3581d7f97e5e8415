//! Energies that are sums over elements of `K` vertices, evaluated eight elements at a time.
//!
//! An [`Element`] evaluates one batch; [`ElementSum`] turns it into an [`Energy`]. Elements are processed in chunks of fixed size. A
//! chunk accumulates its own vertices' gradients and its own pairs' Hessian blocks in a private buffer that stays in the
//! cache; then every vertex and every block of the matrix gathers its terms from the chunks, in order. No two
//! threads write to the same place, and the order of every sum is fixed: results are bit-identical for any number of threads.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

pub(crate) mod gather;
pub(crate) mod order;
pub mod spring;
pub mod spring_network;
pub mod tetrahedron;
pub mod triangle;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::energy::Energy;
use crate::energy::element::gather::{BlockGather, VertexGather};
use crate::material::HessianMode;
use supple_core::parallel;
use supple_core::simd::{Kernel, LaneMat3, LaneVec3, Lanes, Simd, WIDTH, dispatch};
use supple_linear::{BlockMatrix, BlockPattern, ScalarMatrix};

/// The 3x3 blocks of an element's Hessian; those with `j <= i` are read, the others are their transposes.
pub type ElementBlocks<const K: usize> = [[LaneMat3; K]; K];

/// All blocks of a translation-invariant element, from those among corners 1 to 3: 11, 21, 22, 31, 32, 33.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn completed([a, b, c, d, e, f]: [LaneMat3; 6]) -> ElementBlocks<4> {
    let zero = LaneMat3::default();
    let first = -(a + b.transpose() + d.transpose());
    let second = -(b + c + e.transpose());
    let third = -(d + e + f);
    [
        [-(first + second + third), zero, zero, zero],
        [first, a, zero, zero],
        [second, b, c, zero],
        [third, d, e, f],
    ]
}

/// One kind of element over `K` vertices, for eight elements at a time. Batch `b` has the elements `8 b .. 8 b + 8`; the
/// last one may be padded with anything finite. Every method must be `#[cfg_attr(not(debug_assertions), inline(always))]`.
pub trait Element<const K: usize>: Send + Sync {
    /// Starts a step of `dt` seconds from `x`.
    fn begin_step(&mut self, _x: &[DVec3], _dt: f64) {}
    /// The vertices of each element. Neighbours in space should be neighbours in this list.
    fn vertices(&self) -> &[[u32; K]];
    /// Energies in joules.
    fn value(&self, batch: usize, x: &[LaneVec3; K]) -> Lanes;
    /// Energies without damping.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn elastic_value(&self, batch: usize, x: &[LaneVec3; K]) -> Lanes {
        self.value(batch, x)
    }
    /// Energies, bit-identical to [`Self::value`], and gradients in newtons.
    fn value_and_gradient(&self, batch: usize, x: &[LaneVec3; K]) -> (Lanes, [LaneVec3; K]);
    /// Hessians in N/m.
    fn hessian(&self, batch: usize, x: &[LaneVec3; K], mode: HessianMode) -> ElementBlocks<K>;
    /// The numbers that projective dynamics uses in place of element `e`'s Hessian blocks; those with `j <= i` are read.
    /// `None` if there are none.
    fn projective(&self, _e: usize) -> Option<[[f64; K]; K]> {
        None
    }
}

/// The corners of a batch's elements; lanes beyond the last element repeat it.
pub(crate) fn batch_corners<const K: usize>(
    elements: &[[u32; K]],
    batch: usize,
    x: &[DVec3],
) -> [LaneVec3; K] {
    let element = |lane: usize| elements[(WIDTH * batch + lane).min(elements.len() - 1)];
    std::array::from_fn(|k| LaneVec3::from_fn(|lane| x[element(lane)[k] as usize]))
}

/// Elements processed by one task, a multiple of [`WIDTH`]: their vertices and blocks stay in a core's cache.
pub(crate) const CHUNK: usize = 512;

/// The sum of an element's energy over all elements.
pub struct ElementSum<E, const K: usize> {
    elements: E,
    simd: Simd,
    vertices: VertexGather<K>,
    blocks: Option<BlockGather<K>>,
    scratch: Mutex<ElementScratch>,
    /// The step in seconds for which the projective-dynamics numbers in `scratch` are valid.
    step: f64,
}

/// Buffers of the chunks, kept so that evaluations allocate nothing.
#[derive(Default)]
struct ElementScratch {
    vectors: Vec<DVec3>,
    /// The energy of each chunk.
    values: Vec<f64>,
    blocks: Vec<DMat3>,
    /// The elements' contribution to the matrix of projective dynamics, independent of the positions.
    projective: Option<ScalarMatrix>,
}

impl<E: Element<K> + Default, const K: usize> Default for ElementSum<E, K> {
    fn default() -> Self {
        Self::new(E::default(), 0, Simd::Auto)
    }
}

impl<E: Element<K>, const K: usize> ElementSum<E, K> {
    /// The sum over `elements`, whose vertex indices are below `vertex_count`.
    pub fn new(elements: E, vertex_count: usize, simd: Simd) -> Self {
        let vertices = VertexGather::new(elements.vertices(), vertex_count);
        Self { elements, simd, vertices, blocks: None, scratch: Mutex::default(), step: f64::NAN }
    }

    /// The elements.
    pub fn elements(&self) -> &E {
        &self.elements
    }

    fn chunks(&self) -> usize {
        self.elements.vertices().len().div_ceil(CHUNK)
    }

    fn scratch(&self) -> MutexGuard<'_, ElementScratch> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chunk<'a>(&'a self, index: usize, x: &'a [DVec3]) -> ElementChunk<'a, E, K> {
        ElementChunk { elements: &self.elements, corners: self.vertices.corners(), index, x }
    }

    fn sum(&self, x: &[DVec3], damped: bool) -> f64 {
        let value = |chunk: Range<usize>| {
            dispatch(self.simd, ValueKernel { chunk: self.chunk(chunk.start / CHUNK, x), damped })
        };
        parallel::fold(self.elements.vertices().len(), CHUNK, 0.0, value, |a, b| a + b)
    }

    /// The sum of energies; adds their gradients to `gradient`.
    fn sum_with_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) -> f64 {
        let ElementScratch { vectors, values, .. } = &mut *self.scratch();
        let stride = self.vertices.stride();
        vectors.resize(self.chunks() * stride, DVec3::ZERO);
        values.resize(self.chunks(), 0.0);
        let parts = vectors.par_chunks_mut(stride.max(1)).zip(values.par_iter_mut());
        parts.enumerate().for_each(|(chunk, (out, value))| {
            out.fill(DVec3::ZERO);
            *value = dispatch(self.simd, ValueAndGradient { chunk: self.chunk(chunk, x), out });
        });
        self.vertices.gather(vectors, gradient);
        // In the order of the sums without gradients.
        parallel::fold(values.len(), 1, 0.0, |chunk| values[chunk.start], |a, b| a + b)
    }
}

impl<E: Element<K>, const K: usize> Energy for ElementSum<E, K> {
    fn begin_step(&mut self, x: &[DVec3], dt: f64) {
        self.elements.begin_step(x, dt);
        if self.step != dt {
            self.step = dt;
            self.scratch().projective = None;
        }
    }

    fn elastic_energy(&self, x: &[DVec3]) -> f64 {
        self.sum(x, false)
    }

    fn value(&self, x: &[DVec3]) -> f64 {
        self.sum(x, true)
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        self.sum_with_gradient(x, gradient);
    }

    fn value_and_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) -> f64 {
        self.sum_with_gradient(x, gradient)
    }

    fn couplings(&self, pair: &mut dyn FnMut(u32, u32)) {
        for element in self.elements.vertices() {
            for (i, &a) in element.iter().enumerate() {
                element[..i].iter().for_each(|&b| pair(a, b));
            }
        }
    }

    fn bind(&mut self, pattern: &BlockPattern) {
        self.blocks = Some(BlockGather::new(self.elements.vertices(), pattern));
        self.scratch().projective = None;
    }

    fn add_hessian(&self, x: &[DVec3], mode: HessianMode, hessian: &mut BlockMatrix) {
        let places = self.blocks.as_ref().expect("bound to the matrix's pattern before the first Hessian");
        let buffer = &mut self.scratch().blocks;
        buffer.resize(self.chunks() * places.stride(), DMat3::ZERO);
        buffer.par_chunks_mut(places.stride().max(1)).enumerate().for_each(|(chunk, out)| {
            out.fill(DMat3::ZERO);
            dispatch(self.simd, Hessian { chunk: self.chunk(chunk, x), mode, places, out });
        });
        places.gather(buffer, hessian);
    }

    fn add_projective(&self, _x: &[DVec3], matrix: &mut ScalarMatrix) -> bool {
        let known = &mut self.scratch().projective;
        if known.as_ref().is_none_or(|known| !Arc::ptr_eq(known.pattern(), matrix.pattern())) {
            let mut rebuilt = ScalarMatrix::zero(matrix.pattern().clone());
            if !self.sum_projective(&mut rebuilt) {
                return false;
            }
            *known = Some(rebuilt);
        }
        known.iter().for_each(|known| matrix.add(known));
        true
    }
}

impl<E: Element<K>, const K: usize> ElementSum<E, K> {
    /// Adds the numbers of all elements; `false` if they have none.
    fn sum_projective(&self, matrix: &mut ScalarMatrix) -> bool {
        for (e, vertices) in self.elements.vertices().iter().enumerate() {
            let Some(weights) = self.elements.projective(e) else { return false };
            for (i, &a) in vertices.iter().enumerate() {
                matrix.add_diagonal(a, weights[i][i]);
                vertices[..i].iter().zip(&weights[i]).for_each(|(&b, &w)| matrix.add_pair(a, b, w));
            }
        }
        true
    }
}

/// One chunk of elements, at positions `x`.
struct ElementChunk<'a, E, const K: usize> {
    elements: &'a E,
    corners: &'a [[u16; K]],
    index: usize,
    x: &'a [DVec3],
}

impl<E: Element<K>, const K: usize> ElementChunk<'_, E, K> {
    /// The batches of the chunk: batch number, first element and how many of its lanes are elements.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn batches(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<'_, E, K> {
        let total = self.elements.vertices().len();
        let first = self.index * CHUNK;
        let end = total.min(first + CHUNK);
        (first..end).step_by(WIDTH).map(move |e| (e / WIDTH, e, (end - e).min(WIDTH)))
    }

    /// A batch's corners of a field; lanes beyond the last element repeat it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn corners_of(&self, field: &[DVec3], first: usize, count: usize) -> [LaneVec3; K] {
        let vertices = &self.elements.vertices()[first..first + count];
        let mut corners = [LaneVec3::default(); K];
        for lane in 0..WIDTH {
            let element = &vertices[lane.min(count - 1)];
            for k in 0..K {
                let point = field[element[k] as usize];
                corners[k].0[0].0[lane] = point.x;
                corners[k].0[1].0[lane] = point.y;
                corners[k].0[2].0[lane] = point.z;
            }
        }
        corners
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn scatter(&self, parts: &[LaneVec3; K], first: usize, count: usize, out: &mut [DVec3]) {
        for (lane, corners) in self.corners[first..first + count].iter().enumerate() {
            for (part, &corner) in parts.iter().zip(corners) {
                out[corner as usize] += part.lane(lane);
            }
        }
    }
}

/// Both energies in one kernel, since kernels take long to compile.
struct ValueKernel<'a, E, const K: usize> {
    chunk: ElementChunk<'a, E, K>,
    damped: bool,
}

impl<E: Element<K>, const K: usize> Kernel for ValueKernel<'_, E, K> {
    type Output = f64;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) -> f64 {
        let Self { chunk, damped } = self;
        let mut sum = LaneSum::default();
        for (batch, first, count) in chunk.batches() {
            let x = chunk.corners_of(chunk.x, first, count);
            let value = if damped {
                chunk.elements.value(batch, &x)
            } else {
                chunk.elements.elastic_value(batch, &x)
            };
            sum.add(value, count);
        }
        sum.total()
    }
}

/// A sum over batches. Lanes are accumulated separately, so that batches do not wait for each other's horizontal sums.
#[derive(Default)]
struct LaneSum {
    lanes: Lanes,
    /// Of batches that are not full.
    rest: f64,
}

impl LaneSum {
    /// Adds the first `count` lanes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add(&mut self, value: Lanes, count: usize) {
        if count == WIDTH {
            self.lanes += value;
        } else {
            self.rest += value.sum_of_first(count);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn total(&self) -> f64 {
        self.lanes.sum_of_first(WIDTH) + self.rest
    }
}

struct ValueAndGradient<'a, 'o, E, const K: usize> {
    chunk: ElementChunk<'a, E, K>,
    out: &'o mut [DVec3],
}

impl<E: Element<K>, const K: usize> Kernel for ValueAndGradient<'_, '_, E, K> {
    type Output = f64;
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) -> f64 {
        let Self { chunk, out } = self;
        let mut sum = LaneSum::default();
        for (batch, first, count) in chunk.batches() {
            let x = chunk.corners_of(chunk.x, first, count);
            let (value, parts) = chunk.elements.value_and_gradient(batch, &x);
            sum.add(value, count);
            chunk.scatter(&parts, first, count, out);
        }
        sum.total()
    }
}

struct Hessian<'a, 'o, E, const K: usize> {
    chunk: ElementChunk<'a, E, K>,
    mode: HessianMode,
    places: &'a BlockGather<K>,
    out: &'o mut [DMat3],
}

impl<E: Element<K>, const K: usize> Kernel for Hessian<'_, '_, E, K> {
    type Output = ();
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let Self { chunk, mode, places, out } = self;
        for (batch, first, count) in chunk.batches() {
            let x = chunk.corners_of(chunk.x, first, count);
            let blocks = chunk.elements.hessian(batch, &x, mode);
            add_pairs(&blocks, places, first, count, out);
        }
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn add_pairs<const K: usize>(
    blocks: &ElementBlocks<K>,
    places: &BlockGather<K>,
    first: usize,
    count: usize,
    out: &mut [DMat3],
) {
    for lane in 0..count {
        for (i, row) in blocks.iter().enumerate() {
            for (j, block) in row[..=i].iter().enumerate() {
                places.add(first + lane, i, j, block.lane(lane), out);
            }
        }
    }
}
