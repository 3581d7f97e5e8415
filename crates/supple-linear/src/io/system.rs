//! A scalar system as one of 3x3 blocks. Three unknowns of a node become a block. For matrices with one unknown per
//! node, three nearby ones do, grouped along the Morton curve of their positions, or of the graph. The rows are
//! padded to a multiple of three with rows that only contain a diagonal entry, which do not change the solution.

use std::path::Path;
use std::sync::Arc;

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use super::{DenseArray, SparseMatrix};
use crate::{BlockMatrix, BlockPattern, CouplingGraph, LinearError, graph_order, morton_order};
use supple_core::FileError;

/// Rows of one unknown per node are regrouped unless consecutive triples fill their blocks to this fraction.
const FILLED: f64 = 0.6;

const NOBODY: u32 = u32::MAX;

/// A system of blocks made from one of scalars.
pub struct System {
    /// The matrix.
    pub matrix: BlockMatrix,
    /// A position for every block, if positions were given.
    pub positions: Option<Arc<[DVec3]>>,
    /// The scalar row at every index of the blocks; the last ones may be padding.
    rows: Vec<u32>,
    unknowns: usize,
}

impl System {
    /// Groups a matrix's rows. `positions` has one point per node with three or one unknown; the path appears in errors.
    pub fn new(sparse: &SparseMatrix, positions: Option<(&DenseArray, &Path)>) -> Result<Self, FileError> {
        let points = positions.map(|(array, path)| points(array, sparse.rows(), path)).transpose()?;
        Ok(Self::grouped(sparse, points))
    }

    /// The same with positions in the caller's memory.
    pub fn with_points(sparse: &SparseMatrix, positions: Option<Vec<DVec3>>) -> Result<Self, LinearError> {
        if let Some(points) = &positions {
            let (count, n) = (points.len(), sparse.rows());
            if count != n && 3 * count != n {
                return Err(LinearError::InvalidPositions(format!(
                    "{count} positions for a matrix of {n} rows; there must be {n}, or a third of it for three unknowns per node"
                )));
            }
            if let Some(i) = points.iter().position(|point| !point.is_finite()) {
                return Err(LinearError::InvalidPositions(format!(
                    "position {i} is {}; it must be finite",
                    points[i]
                )));
            }
        }
        Ok(Self::grouped(sparse, positions))
    }

    fn grouped(sparse: &SparseMatrix, points: Option<Vec<DVec3>>) -> Self {
        let n = sparse.rows();
        let rows = grouping(sparse, points.as_deref());
        let positions = points.map(|points| block_positions(&points, &rows, n));
        Self { matrix: blocks(sparse, &rows), positions, rows, unknowns: n }
    }

    /// The number of scalar unknowns.
    pub fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// A vector of scalars as blocks; zero in padding rows.
    pub fn gather(&self, scalars: &[f64]) -> Vec<DVec3> {
        let at = |row: u32| if row == NOBODY { 0.0 } else { scalars[row as usize] };
        let (triples, _) = self.rows.as_chunks::<3>();
        triples.iter().map(|triple| DVec3::from_array(triple.map(at))).collect()
    }

    /// Blocks as a vector of scalars.
    pub fn scatter(&self, blocks: &[DVec3]) -> Vec<f64> {
        let mut scalars = vec![0.0; self.unknowns];
        for (place, &row) in self.rows.iter().enumerate().filter(|(_, row)| **row != NOBODY) {
            scalars[row as usize] = blocks[place / 3][place % 3];
        }
        scalars
    }
}

pub(super) fn points(array: &DenseArray, n: usize, path: &Path) -> Result<Vec<DVec3>, FileError> {
    let [rows, columns] = array.shape;
    let flat = columns == 1 && (rows == n || rows == 3 * n) && rows.is_multiple_of(3);
    let count = if flat { rows / 3 } else { rows };
    if (columns != 3 && !flat) || (3 * count != n && count != n) {
        return Err(FileError::whole(
            path,
            format!(
                "contains {rows} x {columns} numbers; positions must be {n} x 3, or {} x 3 for three unknowns per node",
                n / 3
            ),
        ));
    }
    Ok(array.values.chunks_exact(3).map(DVec3::from_slice).collect())
}

/// The scalar row at each index, three per block.
fn grouping(sparse: &SparseMatrix, points: Option<&[DVec3]>) -> Vec<u32> {
    let n = sparse.rows();
    let one_a_node = match points {
        Some(points) => points.len() == n,
        None => sparse.file_block != 3 && (!n.is_multiple_of(3) || block_fill(sparse) < FILLED),
    };
    let mut rows: Vec<u32> = match points {
        Some(points) if one_a_node => morton_order(points),
        None if one_a_node => graph_order(CouplingGraph::new(&sparse.starts, &sparse.columns)),
        _ => (0..n as u32).collect(),
    };
    rows.resize(n.next_multiple_of(3), NOBODY);
    rows
}

/// The fill ratio of the non-empty 3x3 blocks of consecutive rows.
fn block_fill(sparse: &SparseMatrix) -> f64 {
    let touched = |block: usize| {
        let rows = 3 * block..(3 * block + 3).min(sparse.rows());
        let mut columns: Vec<u32> = rows.flat_map(|i| sparse.row(i).0.iter().map(|&c| c / 3)).collect();
        columns.sort_unstable();
        columns.dedup();
        columns.len()
    };
    let blocks: usize = (0..sparse.rows().div_ceil(3)).into_par_iter().map(touched).sum();
    sparse.entries() as f64 / (9 * blocks).max(1) as f64
}

fn block_positions(points: &[DVec3], rows: &[u32], n: usize) -> Arc<[DVec3]> {
    if points.len() != n {
        return points.into();
    }
    let (triples, _) = rows.as_chunks::<3>();
    let mean = |triple: &[u32; 3]| {
        let members = triple.iter().filter(|row| **row != NOBODY);
        let (sum, count) =
            members.fold((DVec3::ZERO, 0.0), |(sum, c), &row| (sum + points[row as usize], c + 1.0));
        sum / count
    };
    triples.iter().map(mean).collect()
}

fn blocks(sparse: &SparseMatrix, rows: &[u32]) -> BlockMatrix {
    let mut place = vec![0u32; sparse.rows()];
    for (at, &row) in rows.iter().enumerate().filter(|(_, row)| **row != NOBODY) {
        place[row as usize] = at as u32;
    }
    let count = rows.len() / 3;
    let pairs: Vec<[u32; 2]> = (0..count)
        .into_par_iter()
        .flat_map_iter(|block| {
            let members = rows[3 * block..3 * block + 3].iter().filter(|row| **row != NOBODY);
            let coupled = members.flat_map(|&row| sparse.row(row as usize).0);
            let mut others: Vec<u32> =
                coupled.map(|&c| place[c as usize] / 3).filter(|&other| other as usize != block).collect();
            others.dedup();
            others.sort_unstable();
            others.dedup();
            others.into_iter().map(move |other| [block as u32, other])
        })
        .collect();
    let mut matrix = BlockMatrix::zero(Arc::new(BlockPattern::new(&vec![false; count], &pairs)));
    fill(sparse, rows, &place, &mut matrix);
    matrix
}

fn fill(sparse: &SparseMatrix, rows: &[u32], place: &[u32], matrix: &mut BlockMatrix) {
    let pattern = matrix.pattern().clone();
    let mut pieces: Vec<&mut [DMat3]> = Vec::with_capacity(pattern.unknowns());
    let mut rest = matrix.blocks_mut();
    for i in 0..pattern.unknowns() {
        let (piece, later) = rest.split_at_mut(pattern.row(i).1.len());
        pieces.push(piece);
        rest = later;
    }
    pieces.into_par_iter().enumerate().for_each(|(i, blocks)| {
        let (_, columns) = pattern.row(i);
        for (r, &row) in rows[3 * i..3 * i + 3].iter().enumerate() {
            if row == NOBODY {
                let own = pattern.diagonal_slot(i) - pattern.row(i).0;
                blocks[own].col_mut(r)[r] = filler(sparse, rows[3 * i]);
                continue;
            }
            let (scalar_columns, values) = sparse.row(row as usize);
            let mut slot = 0;
            for (&column, &value) in scalar_columns.iter().zip(values) {
                let at = place[column as usize];
                if columns[slot] != at / 3 {
                    slot = columns.binary_search(&(at / 3)).expect("the pattern contains every coupling");
                }
                blocks[slot].col_mut(at as usize % 3)[r] = value;
            }
        }
    });
}

/// The diagonal entry of a row that pads the block of `row`: as large as that row's own, so that it matches its
/// units.
fn filler(sparse: &SparseMatrix, row: u32) -> f64 {
    let own = sparse.entry(row as usize, row as usize).abs();
    if own > 0.0 { own } else { 1.0 }
}
