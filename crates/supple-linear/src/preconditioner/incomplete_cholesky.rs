//! Incomplete block Cholesky `A ≈ L D Lᵀ` of 3x3 blocks, by columns, left-looking:
//!
//! ```text
//! W = A_jj - Σ_k L_jk D_k L_jkᵀ = D_j        L_ij = (A_ij - Σ_k L_ik D_k L_jkᵀ) D_j⁻¹
//! ```
//!
//! `ic0` keeps the blocks of `A` only (Meijerink and van der Vorst 1977). `ict` keeps fill whose norm exceeds
//! `drop_tolerance √(|A_ii| |A_jj|)`, at most a multiple of the column's own blocks (Saad 1994; Wu 2022, figure 16, takes
//! 1e-4; 1e-2, where factor and solve together are quickest on this CPU, is the default). A pivot that breaks down
//! restarts with a shifted diagonal, `A + α diag A` (Manteuffel 1980). What is factored is the matrix times a power of two.
//!
//! Rows are ordered by chunks of near nodes, the chunks coloured, so that chunks of one colour are factored and solved at
//! the same time (see `triangular.rs`). Fill between two of them is dropped.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::matrix::pivot;
use crate::matrix::triangular::{ColourSchedule, Triangular};
use crate::ordering::node_order::local_order;
use crate::{BlockMatrix, BlockPattern, LinearError, LinearOperator, Preconditioner, SolverState, assembled};

/// Which blocks the factor keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fill {
    /// Those of the matrix.
    None,
    /// Those of the matrix and the larger ones of the fill.
    Threshold {
        /// Blocks below this fraction of their diagonals' geometric mean are dropped.
        drop_tolerance: f64,
        /// A column keeps at most this many times half the blocks of its row in the matrix: about those below the diagonal.
        factor: f64,
    },
}

/// The least pivot, relative to the matrix's diagonal block, that does not count as a breakdown.
const BREAKDOWN: f64 = 1e-8;

/// Shifts tried one after the other, relative to the diagonal.
const SHIFTS: [f64; 9] = [0.0, 1e-3, 4e-3, 1.6e-2, 6.4e-2, 0.256, 1.0, 4.0, 16.0];

/// An incomplete factor as a preconditioner.
#[derive(Debug, Clone)]
pub struct IncompleteCholesky {
    fill: Fill,
    positions: Option<Arc<[DVec3]>>,
    pattern: Option<Arc<BlockPattern>>,
    factor: Triangular<DMat3>,
}

impl IncompleteCholesky {
    /// With the given fill; nodes are ordered by position where there are positions, else by the graph.
    pub fn new(fill: Fill, positions: Option<Arc<[DVec3]>>) -> Self {
        Self { fill, positions, pattern: None, factor: Triangular::new(ColourSchedule::default()) }
    }

    /// Orders and colours the rows, if the pattern is another than before. Contacts make a new one of each matrix, mostly with
    /// the same pairs.
    fn schedule(&mut self, pattern: &Arc<BlockPattern>) {
        if self.pattern.as_ref().is_some_and(|known| known.is_same(pattern)) {
            return;
        }
        let order = local_order(pattern, self.positions.as_deref());
        self.factor.schedule = coloured_chunks(pattern, &order);
        self.pattern = Some(pattern.clone());
    }
}

impl Preconditioner for IncompleteCholesky {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), LinearError> {
        let matrix = assembled(operator, "incomplete Cholesky")?;
        let merged = matrix.with_outside_merged();
        let matrix = merged.as_ref().unwrap_or(matrix);
        self.schedule(matrix.pattern());
        let scale = unit_scale(matrix);
        for shift in SHIFTS {
            let work = Factoring { matrix, schedule: &self.factor.schedule, fill: self.fill, shift, scale };
            if let Some((panels, rows)) = work.factor() {
                self.factor.clear();
                collect(&panels, &rows, scale, &mut self.factor);
                return Ok(());
            }
        }
        Err(LinearError::NotPositiveDefinite {
            solver: "incomplete Cholesky",
            found: "breaks down even with a strongly shifted diagonal; the matrix is not positive definite, or not finite",
        })
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        self.factor.apply(r, z);
    }
}

impl SolverState for IncompleteCholesky {
    fn bytes(&self) -> usize {
        self.factor.bytes()
    }
}

/// Chunks of consecutive nodes of an order, coloured greedily so that coupled chunks differ.
fn coloured_chunks(pattern: &BlockPattern, order: &[u32]) -> ColourSchedule {
    let chunk = (order.len() / 64).clamp(32, 512);
    let count = order.len().div_ceil(chunk);
    let mut chunk_of = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(place, &node)| chunk_of[node as usize] = (place / chunk) as u32);
    let coupled = |c: usize| {
        let nodes = &order[c * chunk..(c * chunk + chunk).min(order.len())];
        let mut others: Vec<u32> = nodes
            .iter()
            .flat_map(|&node| pattern.row(node as usize).1.iter().map(|&j| chunk_of[j as usize]))
            .collect();
        others.sort_unstable();
        others.dedup();
        others
    };
    let neighbours: Vec<Vec<u32>> = (0..count).into_par_iter().map(coupled).collect();
    let mut colours: Vec<usize> = Vec::with_capacity(count);
    for (c, others) in neighbours.iter().enumerate() {
        let taken = |colour| others.iter().any(|&o| (o as usize) < c && colours[o as usize] == colour);
        // Only the last chunk may be short, and a short one must be the last of its colour: it is, by its number.
        let free = (0..).find(|&colour| !taken(colour)).unwrap_or(0);
        colours.push(free);
    }
    let mut sorted = Vec::with_capacity(order.len());
    let mut starts = vec![0];
    for colour in 0..colours.iter().max().map_or(0, |most| most + 1) {
        for c in (0..count).filter(|&c| colours[c] == colour) {
            sorted.extend_from_slice(&order[c * chunk..(c * chunk + chunk).min(order.len())]);
        }
        starts.push(sorted.len());
    }
    ColourSchedule::new(sorted, starts, chunk)
}

/// The columns of `L` that belong to one chunk.
#[derive(Debug, Default)]
struct Panel {
    starts: Vec<usize>,
    rows: Vec<u32>,
    blocks: Vec<DMat3>,
    pivots: Vec<DMat3>,
    inverses: Vec<DMat3>,
}

/// The location of a block of a row of `L`: its panel, the column within it, and its index there.
#[derive(Debug, Clone, Copy)]
struct Entry {
    panel: u32,
    column: u32,
    at: u32,
}

/// The blocks of every row, in the order in which columns were finished.
type RowEntries = Vec<Vec<Entry>>;

/// The column in progress.
struct Column {
    slot: Vec<u32>,
    rows: Vec<u32>,
    blocks: Vec<DMat3>,
}

const EMPTY: u32 = u32::MAX;

/// One attempt.
struct Factoring<'a> {
    matrix: &'a BlockMatrix,
    schedule: &'a ColourSchedule,
    fill: Fill,
    shift: f64,
    /// What the matrix is multiplied by.
    scale: f64,
}

impl Factoring<'_> {
    /// The panels of all chunks in order, or `None` at a breakdown.
    fn factor(&self) -> Option<(Vec<Panel>, RowEntries)> {
        let n = self.matrix.unknowns();
        let mut panels: Vec<Panel> = Vec::new();
        let mut rows: RowEntries = vec![Vec::new(); n];
        for colour in self.schedule.colours.windows(2) {
            let chunks: Vec<usize> = (colour[0]..colour[1]).step_by(self.schedule.chunk).collect();
            let column = || Column { slot: vec![EMPTY; n], rows: Vec::new(), blocks: Vec::new() };
            let finished: Option<Vec<Panel>> = chunks
                .into_par_iter()
                .map_init(column, |column, first| {
                    let last = (first + self.schedule.chunk).min(colour[1]);
                    self.panel(first..last, [colour[0], colour[1]], &panels, &rows, column)
                })
                .collect();
            for panel in finished? {
                note_rows(&panel, panels.len() as u32, &mut rows);
                panels.push(panel);
            }
        }
        Some((panels, rows))
    }

    /// The columns of one chunk, from finished panels and its own earlier columns.
    fn panel(
        &self,
        places: std::ops::Range<usize>,
        colour: [usize; 2],
        panels: &[Panel],
        rows: &RowEntries,
        column: &mut Column,
    ) -> Option<Panel> {
        let mut panel = Panel { starts: vec![0], ..Panel::default() };
        let mut own: RowEntries = vec![Vec::new(); places.len()];
        for place in places.clone() {
            let mut diagonal = self.start_column(place, column);
            let scale = diagonal;
            let allowed = |row: usize| row >= colour[1] || places.contains(&row);
            let earlier = rows[place].iter().map(|entry| (&panels[entry.panel as usize], entry));
            let local = own[place - places.start].iter().map(|entry| (&panel, entry));
            for (source, entry) in earlier.chain(local) {
                self.subtract(source, entry, &mut diagonal, column, &allowed);
            }
            let limit = BREAKDOWN * (scale.x_axis.x + scale.y_axis.y + scale.z_axis.z);
            let inverse = pivot::inverse(&diagonal).filter(|_| smallest_pivot(&diagonal) > limit);
            let Some(inverse) = inverse else {
                column.clear();
                return None;
            };
            self.finish_column(place, &inverse, column, &mut panel);
            panel.pivots.push(diagonal);
            panel.inverses.push(inverse);
            for at in panel.starts[panel.starts.len() - 2]..panel.rows.len() {
                let row = panel.rows[at] as usize;
                if places.contains(&row) {
                    let entry = Entry { panel: EMPTY, column: (place - places.start) as u32, at: at as u32 };
                    own[row - places.start].push(entry);
                }
            }
        }
        Some(panel)
    }

    /// Takes the matrix's column below the diagonal; gives the shifted diagonal block.
    fn start_column(&self, place: usize, column: &mut Column) -> DMat3 {
        let node = self.schedule.order[place] as usize;
        let (start, nodes) = self.matrix.pattern().row(node);
        for (&j, block) in nodes.iter().zip(&self.matrix.blocks()[start..]) {
            let row = self.schedule.place[j as usize];
            if row as usize > place {
                column.add_row(row, block.transpose() * self.scale);
            }
        }
        self.diagonal(place) * (1.0 + self.shift)
    }

    /// The scaled diagonal block at an index.
    fn diagonal(&self, place: usize) -> DMat3 {
        self.matrix.diagonal_block(self.schedule.order[place] as usize) * self.scale
    }

    /// Subtracts what column `k` contributes: `L_ik D_k L_jkᵀ` for all rows `i` from `j` on.
    fn subtract(
        &self,
        source: &Panel,
        entry: &Entry,
        diagonal: &mut DMat3,
        column: &mut Column,
        allowed: &impl Fn(usize) -> bool,
    ) {
        let at = entry.at as usize;
        let k = entry.column as usize;
        let factor = source.pivots[k] * source.blocks[at].transpose();
        *diagonal -= source.blocks[at] * factor;
        let below = at + 1..source.starts[k + 1];
        for (&row, block) in source.rows[below.clone()].iter().zip(&source.blocks[below]) {
            let slot = column.slot[row as usize];
            if slot != EMPTY {
                column.blocks[slot as usize] -= *block * factor;
            } else if self.fill != Fill::None && allowed(row as usize) {
                column.add_row(row, -(*block * factor));
            }
        }
    }

    /// Drops what is small, divides by the pivot and moves the column to its panel, rows ascending.
    fn finish_column(&self, place: usize, inverse: &DMat3, column: &mut Column, panel: &mut Panel) {
        let mut kept: Vec<(u32, f64, DMat3)> =
            column.rows.iter().zip(&column.blocks).map(|(&row, block)| (row, norm(block), *block)).collect();
        if let Fill::Threshold { drop_tolerance, factor } = self.fill {
            let node = self.schedule.order[place] as usize;
            let own = norm(&self.diagonal(place));
            kept.retain(|&(row, size, _)| {
                let other = norm(&self.diagonal(row as usize));
                size > drop_tolerance * (own * other).sqrt()
            });
            let most =
                (factor * self.matrix.pattern().row(node).1.len() as f64 / 2.0).ceil().max(1.0) as usize;
            if kept.len() > most {
                kept.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                kept.truncate(most);
            }
        }
        kept.sort_unstable_by_key(|&(row, _, _)| row);
        for (row, _, block) in kept {
            panel.rows.push(row);
            panel.blocks.push(block * *inverse);
        }
        panel.starts.push(panel.rows.len());
        column.clear();
    }
}

impl Column {
    fn add_row(&mut self, row: u32, block: DMat3) {
        self.slot[row as usize] = self.rows.len() as u32;
        self.rows.push(row);
        self.blocks.push(block);
    }

    fn clear(&mut self) {
        for row in self.rows.drain(..) {
            self.slot[row as usize] = EMPTY;
        }
        self.blocks.clear();
    }
}

fn norm(block: &DMat3) -> f64 {
    let [a, b, c] = [block.x_axis, block.y_axis, block.z_axis];
    (a.length_squared() + b.length_squared() + c.length_squared()).sqrt()
}

/// The smallest pivot of the 3x3 Cholesky factorisation.
fn smallest_pivot(block: &DMat3) -> f64 {
    let [a, b, c] = [block.x_axis, block.y_axis, block.z_axis];
    let second = b.y - a.y * a.y / a.x;
    let coupling = b.z - a.y * a.z / a.x;
    let third = c.z - a.z * a.z / a.x - coupling * coupling / second;
    a.x.min(second).min(third)
}

fn note_rows(panel: &Panel, number: u32, rows: &mut RowEntries) {
    for (column, range) in panel.starts.windows(2).enumerate() {
        for at in range[0]..range[1] {
            let entry = Entry { panel: number, column: column as u32, at: at as u32 };
            rows[panel.rows[at] as usize].push(entry);
        }
    }
}

/// The power of two that brings the largest number of a matrix's diagonal to between ½ and 1. Products do not round by it,
/// and squares of entries cannot leave the range of `f64`.
fn unit_scale(matrix: &BlockMatrix) -> f64 {
    let largest_of = |block: DMat3| block.to_cols_array().iter().fold(0.0, |most: f64, e| most.max(e.abs()));
    let largest = (0..matrix.unknowns()).map(|i| largest_of(matrix.diagonal_block(i))).fold(0.0, f64::max);
    match largest {
        usual if usual > 0.0 && usual.is_finite() => (-usual.log2().ceil()).clamp(-1000.0, 1000.0).exp2(),
        _ => 1.0,
    }
}

/// Copies the panels of the matrix times `scale` into the form in which they are applied to the matrix itself.
fn collect(panels: &[Panel], rows: &RowEntries, scale: f64, factor: &mut Triangular<DMat3>) {
    let mut firsts = Vec::with_capacity(panels.len());
    for panel in panels {
        firsts.push(factor.pivots.len() as u32);
        factor.pivots.extend(panel.inverses.iter().map(|inverse| *inverse * scale));
        for range in panel.starts.windows(2) {
            for at in range[0]..range[1] {
                factor.upper.push(panel.rows[at], panel.blocks[at].transpose());
            }
            factor.upper.end_row();
        }
    }
    for row in rows {
        for entry in row {
            let block = panels[entry.panel as usize].blocks[entry.at as usize];
            factor.lower.push(firsts[entry.panel as usize] + entry.column, block);
        }
        factor.lower.end_row();
    }
}
