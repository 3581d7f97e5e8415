//! Blocks of consecutive elements that threads work on (Milne 2016, section 9). A block owns the nodes that its elements reference
//! first, copies the other blocks' nodes that it needs, and adds up the forces of its elements in its own buffers. Forces on
//! nodes of other blocks go into an outbox, from which every block takes its messages, in a fixed order.
//!
//! The paper computes elements on the border of a block once for each block that they touch (ghost cells); an outbox costs less
//! than half of that, and results are bit-identical for any number of threads as well.

#![allow(clippy::needless_range_loop, reason = "components are indexed as in other kernels")]

use std::ops::Range;

use crate::solvers::octree::element::wide::{Part, Real, Vector};
use supple_mesh::octree::{Hanging, Octree, hangs};

/// Elements in a block.
pub(crate) const BLOCK: usize = 512;
/// Elements per batch.
pub(crate) const BATCH: usize = 16;
/// Maximum number of nodes of the elements of a block.
pub(crate) const LOCAL: usize = 8 * BLOCK;

/// Sixteen elements: the indices of their conforming nodes in the block, and their hanging slots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Corners {
    pub(crate) slots: [[u16; BATCH]; 8],
    pub(crate) hanging: [Hanging; BATCH],
}

/// Forces that a block has for a node of another one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct HaloMessage {
    /// The node, counted from the first of the block that owns it.
    node: u32,
    /// Its index in the outbox.
    from: u32,
}

/// The blocks of several trees.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Blocks {
    elements: usize,
    corners: Vec<Corners>,
    /// The first node of each block, and the end.
    node_start: Vec<u32>,
    /// Nodes of other blocks that a block needs.
    foreign_start: Vec<u32>,
    foreign: Vec<u32>,
    parcel_start: Vec<u32>,
    parcels: Vec<HaloMessage>,
}

/// A thread's copy of the nodes of a block. The fourth number of a node stays zero: with it a node is read and written at once.
pub(crate) struct Scratch<T> {
    pub(crate) x: Box<[[T; 4]; LOCAL]>,
    pub(crate) y: Box<[[T; 4]; LOCAL]>,
}

impl<T: Real> Default for Scratch<T> {
    fn default() -> Self {
        Self { x: zeros(), y: zeros() }
    }
}

fn zeros<T: Real>() -> Box<[[T; 4]; LOCAL]> {
    vec![[T::default(); 4]; LOCAL].try_into().unwrap_or_else(|_| unreachable!("it has that many entries"))
}

/// The work on the elements of a block: reads `x` and adds to `y` of the scratch; returns a term of a sum.
pub(crate) trait BlockWork<T>: Sync {
    /// Performs it for the batches of one block.
    fn run(&self, batches: Range<usize>, scratch: &mut Scratch<T>) -> f64;
}

/// Vectors over nodes, and the messages of blocks to each other.
pub(crate) struct Output<'a, T> {
    pub(crate) y: &'a mut [[T; 3]],
    pub(crate) outbox: &'a mut Vec<[T; 3]>,
}

impl Blocks {
    /// The blocks of trees whose elements and nodes are numbered consecutively.
    pub(crate) fn new<'a>(trees: impl IntoIterator<Item = &'a Octree>) -> Self {
        let mut blocks =
            Self { node_start: vec![0], foreign_start: vec![0], parcel_start: vec![0], ..Self::default() };
        let mut conforming: Vec<([u32; 8], Hanging)> = Vec::new();
        let mut first = 0;
        for tree in trees {
            let own = tree.conforming().iter().map(|nodes| nodes.map(|node| node + first));
            conforming.extend(own.zip(tree.hanging().iter().copied()));
            first += tree.nodes().len() as u32;
        }
        blocks.elements = conforming.len();
        let mut met = 0;
        for own in conforming.chunks(BLOCK) {
            let last = own.iter().flat_map(|(nodes, hanging)| {
                (0..8).filter(|slot| !hangs(*hanging, *slot)).map(|slot| nodes[slot] + 1)
            });
            met = last.fold(met, u32::max);
            blocks.node_start.push(met);
            blocks.add(own);
        }
        blocks.address();
        blocks
    }

    fn add(&mut self, own: &[([u32; 8], Hanging)]) {
        let [.., start, end] = self.node_start[..] else { return };
        let is_own = |node: u32| (start..end).contains(&node);
        let others = own.iter().flat_map(|(nodes, _)| nodes).copied().filter(|node| !is_own(*node));
        let mut foreign: Vec<u32> = others.collect();
        foreign.sort_unstable();
        foreign.dedup();
        let local = |node: u32| match foreign.binary_search(&node) {
            Ok(at) => (end - start) as usize + at,
            Err(_) => (node - start) as usize,
        };
        for batch in own.chunks(BATCH) {
            // Padding elements of the last batch have no stiffness; they read some node of the block.
            let mut corners = Corners { slots: [[0; BATCH]; 8], hanging: [0; BATCH] };
            for (lane, (nodes, hanging)) in batch.iter().enumerate() {
                corners.hanging[lane] = *hanging;
                for slot in 0..8 {
                    corners.slots[slot][lane] = local(nodes[slot]) as u16;
                }
            }
            self.corners.push(corners);
        }
        self.foreign.extend(foreign);
        self.foreign_start.push(self.foreign.len() as u32);
    }

    /// Assigns every block its entries of the outbox.
    fn address(&mut self) {
        let mut all: Vec<(u32, u32)> = self.foreign.iter().copied().zip(0..).collect();
        all.sort_unstable();
        let mut sorted = all.into_iter().peekable();
        for block in 0..self.count() {
            let [start, end] = [self.node_start[block], self.node_start[block + 1]];
            while let Some((node, from)) = sorted.next_if(|(node, _)| *node < end) {
                self.parcels.push(HaloMessage { node: node - start, from });
            }
            self.parcel_start.push(self.parcels.len() as u32);
        }
    }

    /// The number of blocks.
    pub(crate) fn count(&self) -> usize {
        self.node_start.len() - 1
    }

    /// The number of elements.
    pub(crate) fn elements(&self) -> usize {
        self.elements
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.node_start.last().map_or(0, |&end| end as usize)
    }

    /// Elements in batches of sixteen.
    pub(crate) fn corners(&self) -> &[Corners] {
        &self.corners
    }

    /// The batches of a block.
    fn batches(&self, block: usize) -> Range<usize> {
        let many = BLOCK / BATCH;
        block * many..self.corners.len().min((block + 1) * many)
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Corners>() * self.corners.len()
            + 4 * (self.node_start.len()
                + self.foreign_start.len()
                + self.parcel_start.len()
                + self.foreign.len())
            + size_of::<HaloMessage>() * self.parcels.len()
    }

    /// `y = Σ` of `work` on every block with `x`, then `finish` on each block's part of `y`, identified by its first node.
    /// Returns the sum of the results of `work`, in a fixed order.
    pub(crate) fn sum<T: Real>(
        &self,
        x: &[[T; 3]],
        output: Output<'_, T>,
        work: &impl BlockWork<T>,
        finish: impl Fn(usize, &mut [[T; 3]]) + Sync,
    ) -> f64 {
        let Output { y, outbox } = output;
        outbox.resize(self.foreign.len(), [T::default(); 3]);
        let total = self.fork(0..self.count(), y, outbox, &|block, y, outbox| {
            T::with_scratch(|scratch| {
                self.fetch(block, x, scratch);
                let part = work.run(self.batches(block), scratch);
                store(scratch, 0, y);
                store(scratch, y.len(), outbox);
                part
            })
        });
        let outbox = &outbox[..];
        self.fork(0..self.count(), y, &mut [], &|block, y, _| {
            let [start, end] = [self.parcel_start[block], self.parcel_start[block + 1]];
            for parcel in &self.parcels[start as usize..end as usize] {
                let (to, from) = (&mut y[parcel.node as usize], &outbox[parcel.from as usize]);
                for c in 0..3 {
                    to[c] += from[c];
                }
            }
            finish(self.node_start[block] as usize, y);
            0.0
        });
        total
    }

    /// Read-only: the sum of the results of `work`.
    pub(crate) fn fold<T: Real>(&self, x: &[[T; 3]], work: &impl BlockWork<T>) -> f64 {
        self.fork(0..self.count(), &mut [] as &mut [[T; 3]], &mut [], &|block, _, _| {
            T::with_scratch(|scratch| {
                self.fetch(block, x, scratch);
                work.run(self.batches(block), scratch)
            })
        })
    }

    /// Copies the part of `x` that a block needs and clears its sums.
    pub(crate) fn fetch<T: Real>(&self, block: usize, x: &[[T; 3]], scratch: &mut Scratch<T>) {
        let own = self.node_start[block] as usize..self.node_start[block + 1] as usize;
        let foreign =
            &self.foreign[self.foreign_start[block] as usize..self.foreign_start[block + 1] as usize];
        let local = own.len() + foreign.len();
        let widen = |[a, b, c]: [T; 3]| [a, b, c, T::default()];
        let (to_own, to_foreign) = scratch.x[..local].split_at_mut(own.len());
        to_own.iter_mut().zip(&x[own]).for_each(|(to, from)| *to = widen(*from));
        to_foreign.iter_mut().zip(foreign).for_each(|(to, node)| *to = widen(x[*node as usize]));
        scratch.y[..local].fill([T::default(); 4]);
    }

    /// Runs `work` on every block with its part of vectors over nodes and of the outbox, which may both be empty.
    fn fork<T: Real>(
        &self,
        blocks: Range<usize>,
        y: &mut [[T; 3]],
        outbox: &mut [[T; 3]],
        work: &(impl Fn(usize, &mut [[T; 3]], &mut [[T; 3]]) -> f64 + Sync),
    ) -> f64 {
        match blocks.len() {
            0 => return 0.0,
            1 => return work(blocks.start, y, outbox),
            _ => {}
        }
        let middle = blocks.start + blocks.len() / 2;
        let cut = |starts: &[u32], all: usize| match all {
            0 => 0,
            _ => (starts[middle] - starts[blocks.start]) as usize,
        };
        let (y_low, y_high) = y.split_at_mut(cut(&self.node_start, y.len()));
        let (low, high) = outbox.split_at_mut(cut(&self.foreign_start, outbox.len()));
        let (a, b) = supple_core::parallel::join(
            || self.fork(blocks.start..middle, y_low, low, work),
            || self.fork(middle..blocks.end, y_high, high, work),
        );
        a + b
    }
}

/// Copies a part of a block's sums.
fn store<T: Real>(scratch: &Scratch<T>, first: usize, to: &mut [[T; 3]]) {
    for (to, [a, b, c, _]) in to.iter_mut().zip(&scratch.y[first..]) {
        *to = [*a, *b, *c];
    }
}

/// The values at the corners of elements: three components of eight slots.
pub(crate) type CornerValues<V> = [[V; 8]; 3];

impl Corners {
    /// A part of the elements' corners: conforming values gathered, hanging slots interpolated.
    #[inline(always)]
    pub(crate) fn gather<V: Vector>(&self, from: &[[V::Number; 4]; LOCAL], part: Part<V>) -> CornerValues<V> {
        let mut x = [[V::splat(part.proof(), 0.0); 8]; 3];
        for slot in 0..8 {
            let node = V::gather(from, &self.slots[slot], part);
            (x[0][slot], x[1][slot], x[2][slot]) = (node[0], node[1], node[2]);
        }
        if self.some_hang() {
            let weights = self.weights(part);
            for c in 0..3 {
                interpolate(&mut x[c], &weights);
            }
        }
        x
    }

    /// Adds forces at corners to conforming nodes: the transpose of [`Self::gather`].
    #[inline(always)]
    pub(crate) fn scatter<V: Vector>(
        &self,
        mut forces: CornerValues<V>,
        part: Part<V>,
        to: &mut [[V::Number; 4]; LOCAL],
    ) {
        if self.some_hang() {
            let weights = self.weights(part);
            for c in 0..3 {
                distribute(&mut forces[c], &weights);
            }
        }
        self.add(&forces, part, to);
    }

    /// Adds values to the conforming nodes of all slots.
    #[inline(always)]
    pub(crate) fn add<V: Vector>(
        &self,
        values: &CornerValues<V>,
        part: Part<V>,
        to: &mut [[V::Number; 4]; LOCAL],
    ) {
        for slot in 0..8 {
            let node = [values[0][slot], values[1][slot], values[2][slot]];
            V::add_to(node, to, &self.slots[slot], part);
        }
    }

    /// Whether a slot of an element hangs.
    #[inline(always)]
    fn some_hang(&self) -> bool {
        self.hanging != [0; BATCH]
    }

    #[inline(always)]
    fn weights<V: Vector>(&self, part: Part<V>) -> Weights<V> {
        let (flags, zero) = (&self.hanging, V::splat(part.proof(), 0.0));
        let (mut edges, mut faces) = ([zero; 3], [zero; 3]);
        for k in 0..3 {
            edges[k] = V::where_set(flags, part, 1 << k, 0.5);
            faces[k] = V::where_set(flags, part, 8 << k, 0.25);
        }
        Weights { edges, faces, three: V::splat(part.proof(), 3.0) }
    }
}

/// Weights of the other corners at hanging slots, zero where a slot does not hang: for the three edges and the three faces.
struct Weights<V> {
    edges: [V; 3],
    faces: [V; 3],
    /// 3.
    three: V,
}

/// `x = W x̃` for one component: faces first, since they need the conforming values of their edges.
#[inline(always)]
fn interpolate<V: Vector>(x: &mut [V; 8], &Weights { edges, faces, three }: &Weights<V>) {
    x[6] += faces[0] * (x[0] + x[2] + x[4] - three * x[6]);
    x[5] += faces[1] * (x[0] + x[4] + x[1] - three * x[5]);
    x[3] += faces[2] * (x[0] + x[1] + x[2] - three * x[3]);
    x[1] += edges[0] * (x[0] - x[1]);
    x[2] += edges[1] * (x[0] - x[2]);
    x[4] += edges[2] * (x[0] - x[4]);
}

/// `f̃ = Wᵀ f` for one component: edges first.
#[inline(always)]
fn distribute<V: Vector>(f: &mut [V; 8], &Weights { edges, faces, three }: &Weights<V>) {
    let along = [edges[0] * f[1], edges[1] * f[2], edges[2] * f[4]];
    let across = [faces[0] * f[6], faces[1] * f[5], faces[2] * f[3]];
    f[0] += along[0] + along[1] + along[2] + (across[0] + across[1] + across[2]);
    f[1] += across[1] + across[2] - along[0];
    f[2] += across[0] + across[2] - along[1];
    f[4] += across[0] + across[1] - along[2];
    f[6] -= three * across[0];
    f[5] -= three * across[1];
    f[3] -= three * across[2];
}
