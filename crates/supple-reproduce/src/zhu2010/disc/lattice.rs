//! The lattice over the unit square, and its classification into cells of the disc.

use super::problem::{self, CENTRE, RADIUS};

/// The kind of a cell (section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiscCellKind {
    Interior,
    Dirichlet,
    Exterior,
}

/// The fixed part of the outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixedOutline {
    /// Two quadrants, as in the paper.
    Quadrants,
    /// All of it, so that the error only comes from the differences in the interior.
    Outline,
}

/// The cells.
pub(super) struct DiscCells {
    /// Along a side of the square.
    pub count: usize,
    kinds: Vec<DiscCellKind>,
}

impl DiscCells {
    /// Cells that overlap the disc are interior; those on a fixed part of the outline are Dirichlet cells.
    pub(super) fn new(count: usize, fixed: FixedOutline) -> Self {
        let kinds = (0..count * count).map(|n| kind([n / count, n % count], count, fixed)).collect();
        Self { count, kinds }
    }

    /// The side of a cell.
    pub(super) fn spacing(&self) -> f64 {
        1.0 / self.count as f64
    }

    /// The kind of a cell; everything outside the square is empty.
    pub(super) fn kind(&self, [i, j]: [i32; 2]) -> DiscCellKind {
        let inside = |k: i32| usize::try_from(k).ok().filter(|k| *k < self.count);
        let at = inside(i).zip(inside(j)).map(|(i, j)| i * self.count + j);
        at.map_or(DiscCellKind::Exterior, |at| self.kinds[at])
    }

    /// All cells of a kind.
    pub(super) fn of(&self, kind: DiscCellKind) -> impl Iterator<Item = [usize; 2]> {
        let all = self.kinds.iter().enumerate().filter(move |(_, found)| **found == kind);
        all.map(|(n, _)| [n / self.count, n % self.count])
    }
}

fn kind(cell: [usize; 2], count: usize, fixed: FixedOutline) -> DiscCellKind {
    let h = 1.0 / count as f64;
    let [low, high] = [0.0, 1.0].map(|end| cell.map(|k| (k as f64 + end) * h));
    let nearest = [0, 1].map(|k| CENTRE.clamp(low[k], high[k]));
    let farthest = [0, 1].map(|k| if CENTRE - low[k] > high[k] - CENTRE { low[k] } else { high[k] });
    let middle = cell.map(|k| (k as f64 + 0.5) * h);
    match problem::distance(nearest) < RADIUS {
        false => DiscCellKind::Exterior,
        true if problem::distance(farthest) <= RADIUS => DiscCellKind::Interior,
        true if fixed == FixedOutline::Outline || problem::in_fixed_quadrant(middle) => {
            DiscCellKind::Dirichlet
        }
        true => DiscCellKind::Interior,
    }
}
