//! Coloured symmetric block Gauss-Seidel (Vivace: Fratarcangeli, Tibaldo, Pellacini 2016): nodes of one colour are not coupled,
//! so a sweep goes colour by colour, each in parallel.
//!
//! With the strict lower triangle `L` of the coloured matrix and its block diagonal `D`, a forward and a backward sweep from
//! zero are `z = M⁻¹ r` with `M = (D + L) D⁻¹ (D + L)ᵀ = (I + L D⁻¹) D (I + L D⁻¹)ᵀ`, symmetric and positive definite: a
//! preconditioner.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::colouring::{by_colour, colour};
use super::triangular::{Schedule, Triangular};
use super::{BlockJacobi, BlockMatrix, BlockPattern, LinearOperator, Preconditioner, assembled};

/// Places in a task.
const CHUNK: usize = 256;

/// One symmetric sweep.
#[derive(Debug, Clone, Default)]
pub struct GaussSeidel {
    pattern: Option<Arc<BlockPattern>>,
    sweep: Triangular,
    lower: Vec<Source>,
    upper: Vec<Source>,
    inverses: BlockJacobi,
}

/// What a block of the sweep is made of: a block of the matrix and the inverse of a node's diagonal block.
#[derive(Debug, Clone, Copy)]
struct Source {
    slot: u32,
    node: u32,
}

impl GaussSeidel {
    /// The number of colours of the last matrix.
    pub fn colours(&self) -> usize {
        self.sweep.schedule.colours.len().saturating_sub(1)
    }

    fn analyse(&mut self, pattern: &Arc<BlockPattern>) {
        if self.pattern.as_ref().is_some_and(|known| Arc::ptr_eq(known, pattern)) {
            return;
        }
        let (colours, count) = colour(pattern.graph());
        let nodes: Vec<u32> = (0..pattern.unknowns() as u32).collect();
        let (order, starts) = by_colour(&colours, count, &nodes);
        self.sweep.clear();
        self.sweep.schedule = Schedule::new(order, starts, CHUNK);
        self.lower.clear();
        self.upper.clear();
        let Triangular { schedule, lower, upper, .. } = &mut self.sweep;
        for (&node, own) in schedule.order.iter().zip(0..) {
            let (start, columns) = pattern.row(node as usize);
            for (&j, slot) in columns.iter().zip(start as u32..).filter(|(j, _)| **j != node) {
                let place = schedule.place[j as usize];
                let (rows, sources, scaled_by) = if place < own {
                    (&mut *lower, &mut self.lower, j)
                } else {
                    (&mut *upper, &mut self.upper, node)
                };
                rows.push(place, &DMat3::ZERO);
                sources.push(Source { slot, node: scaled_by });
            }
            lower.end_row();
            upper.end_row();
        }
        self.pattern = Some(pattern.clone());
    }

    /// `L D⁻¹` and its transpose from the numbers of a matrix.
    fn fill(&mut self, matrix: &BlockMatrix) -> Result<(), String> {
        self.inverses.update(matrix)?;
        let inverses = self.inverses.inverses();
        let Triangular { schedule, lower, upper, pivots, .. } = &mut self.sweep;
        let of = |Source { slot, node }: Source| (matrix.blocks()[slot as usize], inverses[node as usize]);
        lower.refill(|k| {
            let (block, inverse) = of(self.lower[k]);
            block * inverse
        });
        upper.refill(|k| {
            let (block, inverse) = of(self.upper[k]);
            inverse * block
        });
        pivots.clear();
        pivots.extend(schedule.order.iter().map(|&node| inverses[node as usize]));
        Ok(())
    }
}

impl Preconditioner for GaussSeidel {
    fn update(&mut self, operator: &dyn LinearOperator) -> Result<(), String> {
        let matrix = assembled(operator, "gauss-seidel")?;
        let merged = matrix.with_outside_merged();
        let matrix = merged.as_ref().unwrap_or(matrix);
        self.analyse(matrix.pattern());
        self.fill(matrix)
    }

    fn apply(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        self.sweep.apply(r, z);
    }

    fn bytes(&self) -> usize {
        let sources = size_of::<Source>() * (self.lower.len() + self.upper.len());
        self.sweep.bytes() + self.inverses.bytes() + sources
    }
}
