//! The multifrontal method (Duff and Reid 1983; Liu 1992): every supernode gathers its matrix entries and its
//! children's updates in a dense front, eliminates its columns there, and passes the remainder to its parent. All
//! sums have an order fixed by the structure, so results are bit-identical for any number of threads.

use std::ops::Range;

use supple_core::parallel::prelude::*;

use super::elimination::Elimination;
use super::front::{DenseFront, FrontThreads};
use super::graph::{ABSENT, AdjacencyGraph};
use super::schedule::FactorSchedule;
use super::supernodes::Supernodes;
use crate::LinearError;
use supple_core::memory;
use supple_core::simd::Simd;

/// The numbers of a matrix of blocks.
pub(crate) trait BlockValues: Sync {
    /// The scalar at (row, column) of the block in a slot.
    fn scalar(&self, slot: u32, row: usize, column: usize) -> f64;
}

/// The location of a matrix block in a front.
#[derive(Clone, Copy)]
pub(crate) struct FrontEntry {
    /// The supernode.
    pub(crate) supernode: u32,
    /// The row's index in the front.
    pub(crate) row: u32,
    /// The column's index in the front.
    pub(crate) column: u32,
    /// The slot of the block in the matrix.
    pub(crate) slot: u32,
}

/// A factorisation of symmetric matrices of one structure.
pub(crate) struct Multifrontal {
    /// Scalar rows per block.
    dof: usize,
    simd: Simd,
    /// The elimination index of every unknown.
    pub(super) place: Vec<u32>,
    pub(super) supernodes: Supernodes,
    pub(super) schedule: FactorSchedule,
    supernode_of: Vec<u32>,
    /// The start of each supernode's columns in `factor`.
    pub(super) factor_start: Vec<usize>,
    pub(super) factor: Vec<f64>,
    workspace: Vec<f64>,
    work: f64,
}

impl Multifrontal {
    /// Analyses a graph for an elimination order. Fails if the factor does not fit in memory.
    pub(crate) fn new(
        graph: &AdjacencyGraph,
        order: &[u32],
        dof: usize,
        simd: Simd,
    ) -> Result<Self, LinearError> {
        let names = &mut vec![ABSENT; graph.len()];
        let ordered = graph.renamed(order, names);
        let elimination = Elimination::new(&ordered);
        let postorder = elimination.postorder();
        let elimination = elimination.renamed(&postorder);
        let order: Vec<u32> = postorder.iter().map(|&k| order[k as usize]).collect();
        let ordered = graph.renamed(&order, names);
        let supernodes = Supernodes::new(&ordered, &elimination, dof);
        let schedule = FactorSchedule::new(&supernodes, dof);
        let mut place = vec![0; graph.len()];
        order.iter().zip(0..).for_each(|(&v, k)| place[v as usize] = k);
        let mut factor_start = vec![0];
        for s in 0..supernodes.len() {
            let columns = supernodes.columns(s).len();
            let length = (columns + supernodes.rows(s).len()) * columns * dof * dof;
            factor_start.push(factor_start[s] + length);
        }
        Ok(Self {
            dof,
            simd,
            place,
            supernode_of: supernodes.of_columns(),
            factor: zeros(factor_start[supernodes.len()])?,
            workspace: zeros(schedule.space)?,
            factor_start,
            supernodes,
            schedule,
            work: elimination.work(),
        })
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        8 * (self.factor.len() + self.workspace.len())
            + 8 * self.supernodes.rows.len()
            + 8 * (self.place.len() + self.factor_start.len())
    }

    /// Stored numbers of the factor.
    pub(crate) fn stored(&self) -> usize {
        self.factor.len()
    }

    /// The work of a factorisation, in units of a block's multiplication.
    pub(crate) fn work(&self) -> f64 {
        self.work
    }

    /// The unknowns in elimination order.
    pub(crate) fn order(&self) -> Vec<u32> {
        let mut order = vec![0; self.place.len()];
        self.place.iter().zip(0..).for_each(|(&k, v)| order[k as usize] = v);
        order
    }

    /// The location of the block of two unknowns in the factor, and whether it is that of (j, i), transposed; `None`
    /// if the factor has no slot for it.
    pub(crate) fn entry(&self, [i, j]: [u32; 2]) -> Option<(FrontEntry, bool)> {
        let [a, b] = [self.place[i as usize], self.place[j as usize]];
        let (row, column) = (a.max(b), a.min(b));
        let s = self.supernode_of[column as usize];
        let row = self.supernodes.place(s as usize, row)? as u32;
        let column = column - self.supernodes.first_column[s as usize];
        Some((FrontEntry { supernode: s, row, column, slot: 0 }, a < b))
    }

    /// Factorises the matrix whose blocks are at `entries`, sorted by supernode. `false` if it is not positive definite.
    pub(crate) fn factorise(&mut self, numbers: &impl BlockValues, entries: [&[FrontEntry]; 2]) -> bool {
        let Self { supernodes, schedule, factor_start, factor, workspace, dof, simd, .. } = self;
        let step =
            EliminationStep { supernodes, schedule, factor_start, dof: *dof, simd: *simd, numbers, entries };
        step.run_tasks(0..schedule.tasks.len(), (factor, 0), (workspace, 0))
            && schedule.top.iter().all(|&s| {
                let columns = &mut factor[factor_start[s]..factor_start[s + 1]];
                step.eliminate(s, columns, (workspace, 0), FrontThreads::All)
            })
    }
}

fn split((numbers, start): OffsetSlice, at: usize) -> (OffsetSlice, OffsetSlice) {
    let (before, after) = numbers.split_at_mut(at - start);
    ((before, start), (after, at))
}

fn zeros(length: usize) -> Result<Vec<f64>, LinearError> {
    // Systems promise more memory than there is. Reserved and freed again as a test: the macro below gets untouched zero
    // pages, but cannot report failure.
    let fits = memory::fits(8.0 * length as f64) && Vec::<f64>::new().try_reserve_exact(length).is_ok();
    if fits {
        Ok(vec![0.0; length])
    } else {
        Err(LinearError::OutOfMemory { gigabytes: length as f64 * 8e-9 })
    }
}

/// Inputs of the elimination of one supernode.
struct EliminationStep<'a, N> {
    supernodes: &'a Supernodes,
    schedule: &'a FactorSchedule,
    factor_start: &'a [usize],
    dof: usize,
    simd: Simd,
    numbers: &'a N,
    entries: [&'a [FrontEntry]; 2],
}

/// A slice of a vector of numbers, and its start in the vector.
type OffsetSlice<'a> = (&'a mut [f64], usize);

impl<N: BlockValues> EliminationStep<'_, N> {
    /// Runs some of the tasks, by recursive halving on all threads, on their parts of factor and workspace.
    fn run_tasks(&self, tasks: Range<usize>, factor: OffsetSlice, space: OffsetSlice) -> bool {
        match tasks.len() {
            0 => return true,
            1 => return self.run_task(tasks.start, factor, space),
            _ => {}
        }
        let middle = tasks.start + tasks.len() / 2;
        let (factor_before, factor_after) =
            split(factor, self.factor_start[self.schedule.tasks[middle].start]);
        let (space_before, space_after) = split(space, self.schedule.task_room[middle].start);
        let (before, after) = supple_core::parallel::join(
            || self.run_tasks(tasks.start..middle, factor_before, space_before),
            || self.run_tasks(middle..tasks.end, factor_after, space_after),
        );
        before && after
    }

    fn run_task(
        &self,
        task: usize,
        (factor, factor_base): OffsetSlice,
        (space, space_base): OffsetSlice,
    ) -> bool {
        self.schedule.tasks[task].clone().all(|s| {
            let range = self.factor_start[s] - factor_base..self.factor_start[s + 1] - factor_base;
            self.eliminate(s, &mut factor[range], (space, space_base), FrontThreads::One)
        })
    }

    /// Assembles and eliminates one front; `space` is a part of the workspace with its start.
    fn eliminate(
        &self,
        s: usize,
        factor: &mut [f64],
        (space, space_start): (&mut [f64], usize),
        threads: FrontThreads,
    ) -> bool {
        let dof = self.dof;
        let columns = self.supernodes.columns(s).len() * dof;
        let below = self.supernodes.rows(s).len() * dof;
        let start = self.schedule.update_start[s] - space_start;
        let (before, rest) = space.split_at_mut(start);
        let (update, after) = rest.split_at_mut(below * below);
        let updates = Updates { before, after, space_start, gap: start..start + below * below };
        let front = DenseFront { rows: columns + below, columns, factor, update };
        self.assemble(s, front.factor, 0, front.rows, &updates, threads);
        self.assemble(s, front.update, columns, below, &updates, threads);
        self.add_matrix(s, front.factor, front.rows);
        front.eliminate(self.simd, threads)
    }

    /// Fills columns of a front, each `height` long, with the sum of the children's updates. The first column and row
    /// have index `first` in the front.
    fn assemble(
        &self,
        s: usize,
        target: &mut [f64],
        first: usize,
        height: usize,
        updates: &Updates,
        threads: FrontThreads,
    ) {
        if target.is_empty() {
            return;
        }
        let dof = self.dof;
        let block_column = |(c, columns): (usize, &mut [f64])| {
            columns.fill(0.0);
            let place = (first / dof + c) as u32;
            for &child in self.supernodes.children(s) {
                let places = self.supernodes.places(child as usize);
                if let Ok(found) = places.binary_search(&place) {
                    let update = updates.get(self.schedule.update_start[child as usize], places.len() * dof);
                    add_columns(columns, update, &places[found..], [found, first], dof);
                }
            }
        };
        match threads {
            FrontThreads::One => target.chunks_mut(height * dof).enumerate().for_each(block_column),
            FrontThreads::All => {
                target.par_chunks_mut(height * dof).with_min_len(16).enumerate().for_each(block_column);
            }
        }
    }

    fn add_matrix(&self, s: usize, factor: &mut [f64], height: usize) {
        for entries in self.entries {
            let start = entries.partition_point(|entry| (entry.supernode as usize) < s);
            let own = entries[start..].iter().take_while(|entry| entry.supernode as usize == s);
            for entry in own {
                for c in 0..self.dof {
                    let column = &mut factor[(entry.column as usize * self.dof + c) * height..];
                    for r in 0..self.dof {
                        column[entry.row as usize * self.dof + r] += self.numbers.scalar(entry.slot, r, c);
                    }
                }
            }
        }
    }
}

/// Finished updates around the one being computed.
struct Updates<'a> {
    before: &'a [f64],
    after: &'a [f64],
    space_start: usize,
    gap: Range<usize>,
}

impl Updates<'_> {
    fn get(&self, start: usize, size: usize) -> &[f64] {
        let start = start - self.space_start;
        let part =
            if start < self.gap.start { &self.before[start..] } else { &self.after[start - self.gap.end..] };
        &part[..size * size]
    }
}

/// Adds the columns of block `found` of a child's update, from its diagonal down, to the same columns of the parent.
fn add_columns(columns: &mut [f64], update: &[f64], places: &[u32], [found, first]: [usize; 2], dof: usize) {
    let size = (found + places.len()) * dof;
    let height = columns.len() / dof;
    for (c, column) in columns.chunks_mut(height).enumerate() {
        let source = &update[(found * dof + c) * size + found * dof..][..places.len() * dof];
        if dof == 3 {
            let (source, _) = source.as_chunks::<3>();
            for (values, &place) in source.iter().zip(places) {
                let target = &mut column[place as usize * 3 - first..][..3];
                target.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        } else {
            for (value, &place) in source.iter().zip(places) {
                column[place as usize - first] += value;
            }
        }
    }
}
