//! Where the terms of a sum over elements go: from elements to their chunk's buffer, and from the chunks to vertices and
//! to the blocks of a matrix.

use std::collections::BTreeMap;

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::energy::element::CHUNK;
use supple_linear::{BlockMatrix, BlockPattern};

/// Targets gathered by one task.
const GATHERED: usize = 1024;

/// Lists of sources, one list per target.
#[derive(Default)]
struct Lists {
    starts: Vec<u32>,
    sources: Vec<u32>,
}

impl Lists {
    /// Lists from (target, source) pairs; each list keeps the order of the pairs.
    fn new(targets: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0; targets + 1];
        for (target, _) in pairs {
            starts[*target as usize + 1] += 1;
        }
        for i in 0..targets {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut sources = vec![0; pairs.len()];
        for (target, source) in pairs {
            sources[next[*target as usize] as usize] = *source;
            next[*target as usize] += 1;
        }
        Self { starts, sources }
    }

    fn of(&self, target: usize) -> &[u32] {
        &self.sources[self.starts[target] as usize..self.starts[target + 1] as usize]
    }
}

/// The map from the corners of elements to vertices.
pub(crate) struct VertexGather<const K: usize> {
    /// For each element, the indices of its corners in its chunk's buffer.
    corners: Vec<[u16; K]>,
    /// Length of a chunk's buffer.
    stride: usize,
    lists: Lists,
}

impl<const K: usize> VertexGather<K> {
    pub(crate) fn new(elements: &[[u32; K]], vertex_count: usize) -> Self {
        let locals: Vec<Vec<u32>> = elements
            .par_chunks(CHUNK)
            .map(|chunk| {
                let mut vertices = chunk.as_flattened().to_vec();
                vertices.sort_unstable();
                vertices.dedup();
                vertices
            })
            .collect();
        let stride = locals.iter().map(Vec::len).max().unwrap_or(0);
        let place = |e: usize, v: u32| locals[e / CHUNK].partition_point(|&u| u < v) as u16;
        let corners =
            elements.par_iter().enumerate().map(|(e, element)| element.map(|v| place(e, v))).collect();
        let mut pairs = Vec::with_capacity(locals.iter().map(Vec::len).sum());
        for (chunk, vertices) in locals.iter().enumerate() {
            pairs.extend(vertices.iter().enumerate().map(|(i, &v)| (v, (chunk * stride + i) as u32)));
        }
        Self { corners, stride, lists: Lists::new(vertex_count, &pairs) }
    }

    pub(crate) fn corners(&self) -> &[[u16; K]] {
        &self.corners
    }

    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Adds the sums of the chunks to the vertices.
    pub(crate) fn gather(&self, buffer: &[DVec3], out: &mut [DVec3]) {
        out.par_chunks_mut(GATHERED).enumerate().for_each(|(part, values)| {
            for (i, value) in values.iter_mut().enumerate() {
                for &source in self.lists.of(part * GATHERED + i) {
                    *value += buffer[source as usize];
                }
            }
        });
    }
}

/// The map from the blocks of elements to those of a matrix.
pub(crate) struct BlockGather<const K: usize> {
    /// For each element and pair of corners (`j <= i`), the index of their block in the chunk's buffer.
    places: Vec<[[u16; K]; K]>,
    stride: usize,
    lists: Lists,
}

/// The pair is not in the matrix: one of its vertices is fixed.
const NOWHERE: u16 = u16::MAX;
/// The block is stored transposed.
const TRANSPOSED: u16 = 1 << 15;

impl<const K: usize> BlockGather<K> {
    pub(crate) fn new(elements: &[[u32; K]], pattern: &BlockPattern) -> Self {
        let locals: Vec<BTreeMap<(u32, u32), u16>> =
            elements.par_chunks(CHUNK).map(|chunk| chunk_pairs(chunk, pattern)).collect();
        let stride = locals.iter().map(BTreeMap::len).max().unwrap_or(0);
        let places = elements
            .par_iter()
            .enumerate()
            .map(|(e, element)| element_places(element, &locals[e / CHUNK], pattern))
            .collect();
        let mut pairs = Vec::new();
        for (chunk, local) in locals.iter().enumerate() {
            for (&(row, column), &place) in local {
                let source = 2 * (chunk * stride + place as usize) as u32;
                let mut target = |i: u32, j: u32, source: u32| {
                    let slot = pattern.slot(i as usize, j as usize);
                    pairs.push((slot.expect("an energy reports its own couplings") as u32, source));
                };
                target(row, column, source);
                if row != column {
                    target(column, row, source + 1);
                }
            }
        }
        Self { places, stride, lists: Lists::new(pattern.block_count(), &pairs) }
    }

    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Adds a block of element `e` to its chunk's buffer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn add(&self, e: usize, i: usize, j: usize, block: DMat3, buffer: &mut [DMat3]) {
        let place = self.places[e][i][j];
        if place == NOWHERE {
            return;
        }
        let block = if place & TRANSPOSED != 0 { block.transpose() } else { block };
        buffer[(place & !TRANSPOSED) as usize] += block;
    }

    /// Adds the sums of the chunks to the matrix.
    pub(crate) fn gather(&self, buffer: &[DMat3], matrix: &mut BlockMatrix) {
        matrix.blocks_mut().par_chunks_mut(GATHERED).enumerate().for_each(|(part, blocks)| {
            for (i, block) in blocks.iter_mut().enumerate() {
                for &source in self.lists.of(part * GATHERED + i) {
                    let value = buffer[source as usize / 2];
                    *block += if source % 2 == 0 { value } else { value.transpose() };
                }
            }
        });
    }
}

/// The pairs of unknowns of a chunk (larger first), numbered in their order.
fn chunk_pairs<const K: usize>(chunk: &[[u32; K]], pattern: &BlockPattern) -> BTreeMap<(u32, u32), u16> {
    let mut pairs = BTreeMap::new();
    for element in chunk {
        let unknowns = element.map(|v| pattern.unknown(v).map(|u| u as u32));
        for a in unknowns.into_iter().flatten() {
            for b in unknowns.into_iter().flatten().filter(|b| *b <= a) {
                pairs.insert((a, b), 0);
            }
        }
    }
    pairs.values_mut().enumerate().for_each(|(i, place)| *place = i as u16);
    pairs
}

fn element_places<const K: usize>(
    element: &[u32; K],
    places: &BTreeMap<(u32, u32), u16>,
    pattern: &BlockPattern,
) -> [[u16; K]; K] {
    let unknowns = element.map(|v| pattern.unknown(v).map(|u| u as u32));
    let place = |i: usize, j: usize| match (unknowns[i], unknowns[j]) {
        (Some(a), Some(b)) if a >= b => places[&(a, b)],
        (Some(a), Some(b)) => places[&(b, a)] | TRANSPOSED,
        _ => NOWHERE,
    };
    std::array::from_fn(|i| std::array::from_fn(|j| if j <= i { place(i, j) } else { NOWHERE }))
}
