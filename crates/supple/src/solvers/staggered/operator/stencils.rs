//! Rows of equal coefficients share one entry of a table: a boundary has many rows and few kinds of them.

use std::collections::HashMap;

use crate::solvers::staggered::operator::kernels::KernelReal;
use crate::solvers::staggered::operator::rows::Row;

/// The numbers of one kind of row.
#[derive(Debug, Clone, Copy)]
struct Stencil {
    /// Where its part on the unknowns starts, where that ends and its part on the right-hand side starts, and its end.
    range: [u32; 3],
    scale: f64,
}

/// Kinds of rows.
#[derive(Debug, Default)]
pub(crate) struct Stencils {
    stencils: Vec<Stencil>,
    offsets: Vec<i32>,
    coefficients: Vec<f64>,
    narrow: Vec<f32>,
    known: HashMap<Vec<u64>, u32>,
}

impl Stencils {
    /// The index of a row on the unknowns, a row on the right-hand side and a factor.
    pub(crate) fn insert(&mut self, unknowns: &Row, known: &Row, scale: f64) -> u32 {
        let mut key = vec![unknowns.entries.len() as u64, scale.to_bits()];
        for &(offset, value) in unknowns.entries.iter().chain(&known.entries) {
            key.extend([offset as u64, value.to_bits()]);
        }
        if let Some(index) = self.known.get(&key) {
            return *index;
        }
        let index = self.stencils.len() as u32;
        self.known.insert(key, index);
        let start = self.offsets.len();
        for &(offset, value) in unknowns.entries.iter().chain(&known.entries) {
            self.offsets.push(offset as i32);
            self.coefficients.push(value);
            self.narrow.push(value as f32);
        }
        let range = [start, start + unknowns.entries.len(), self.offsets.len()].map(|x| x as u32);
        self.stencils.push(Stencil { range, scale });
        index
    }

    /// Frees the data needed only for insertion.
    pub(crate) fn close(&mut self) {
        self.known = HashMap::new();
    }

    /// The factor of a kind.
    #[inline]
    pub(crate) fn scale(&self, index: u32) -> f32 {
        self.stencils[index as usize].scale as f32
    }

    /// The part on the unknowns.
    #[inline]
    pub(crate) fn unknowns(&self, index: u32) -> (&[i32], &[f32]) {
        let [start, end, _] = self.stencils[index as usize].range.map(|x| x as usize);
        (&self.offsets[start..end], &self.narrow[start..end])
    }

    /// The part on the unknowns in double precision.
    #[inline]
    pub(crate) fn wide_unknowns(&self, index: u32) -> (&[i32], &[f64]) {
        let [start, end, _] = self.stencils[index as usize].range.map(|x| x as usize);
        (&self.offsets[start..end], &self.coefficients[start..end])
    }

    /// The part on the right-hand side.
    #[inline]
    pub(crate) fn known(&self, index: u32) -> (&[i32], &[f32]) {
        let [_, start, end] = self.stencils[index as usize].range.map(|x| x as usize);
        (&self.offsets[start..end], &self.narrow[start..end])
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.offsets.len() * 16 + self.stencils.len() * size_of::<Stencil>()
    }
}

/// A part of a stencil applied at a cell.
#[inline]
pub(crate) fn apply((offsets, coefficients): (&[i32], &[f32]), field: &[f32], cell: u32) -> f32 {
    let mut sum = 0.0;
    for (&offset, &value) in offsets.iter().zip(coefficients) {
        sum += value * field[(cell as i32 + offset) as usize];
    }
    sum
}

/// A part of a stencil applied at many cells: `each` gets the number of the cell in the list, and the value. Several cells
/// are summed concurrently, since a single sum waits for every addition.
#[inline(always)]
pub(crate) fn apply_each<C: Copy + Into<A>, T: Copy + Into<A>, A: KernelReal>(
    (offsets, coefficients): (&[i32], &[C]),
    field: &[T],
    cells: &[u32],
    mut each: impl FnMut(usize, A),
) {
    for (first, cells) in (0..).step_by(LANES).zip(cells.chunks(LANES)) {
        let mut at = [cells[0] as i32; LANES];
        at.iter_mut().zip(cells).for_each(|(at, cell)| *at = *cell as i32);
        let mut sums = [A::default(); LANES];
        for (&offset, &value) in offsets.iter().zip(coefficients) {
            for lane in 0..LANES {
                sums[lane] = sums[lane] + value.into() * field[(at[lane] + offset) as usize].into();
            }
        }
        (0..cells.len()).for_each(|lane| each(first + lane, sums[lane]));
    }
}

/// Cells summed concurrently.
const LANES: usize = 8;

/// Cells whose entries of one field have rows of the table.
#[derive(Debug, Default, Clone)]
pub(crate) struct RowList {
    /// The cells.
    pub(crate) cells: Vec<u32>,
    /// The kind of each row.
    pub(crate) kinds: Vec<u32>,
    /// The lowest cell of each task, after [`RowList::cut_into_tasks`].
    starts: Vec<u32>,
}

/// Rows of one task.
pub(crate) const ROWS: usize = 2048;

impl RowList {
    pub(crate) fn push(&mut self, cell: usize, kind: u32) {
        self.cells.push(cell as u32);
        self.kinds.push(kind);
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.cells.iter().copied().zip(self.kinds.iter().copied())
    }

    /// Groups rows of one kind within every `chunk` of cells.
    pub(crate) fn group(&mut self, chunk: usize) {
        let mut rows: Vec<(u32, u32)> = self.iter().collect();
        rows.sort_unstable_by_key(|&(cell, kind)| (cell as usize / chunk, kind, cell));
        (self.cells, self.kinds) = rows.into_iter().unzip();
    }

    /// Divides the rows into tasks of [`ROWS`] rows with cells that precede those of the next task, and groups rows of one kind
    /// within each.
    pub(crate) fn cut_into_tasks(&mut self) {
        let mut rows: Vec<(u32, u32)> = self.iter().collect();
        rows.sort_unstable();
        self.starts = rows.iter().step_by(ROWS).map(|row| row.0).collect();
        rows.chunks_mut(ROWS).for_each(|task| task.sort_unstable_by_key(|&(cell, kind)| (kind, cell)));
        (self.cells, self.kinds) = rows.into_iter().unzip();
    }

    /// Calls `set` with the entry of each row's cell and the row's value, on all threads. Needs [`RowList::cut_into_tasks`].
    pub(crate) fn set_each(
        &self,
        field: &mut [f32],
        values: &[f32],
        set: impl Fn(&mut f32, f32) + Copy + Sync,
    ) {
        set_tasks(&self.starts, &self.cells, (field, 0), values, set);
    }

    /// The rows of cells in a range of whole chunks, one kind after the other.
    pub(crate) fn within(&self, cells: std::ops::Range<usize>) -> impl Iterator<Item = (u32, &[u32])> {
        let start = self.cells.partition_point(|c| (*c as usize) < cells.start);
        let end = self.cells.partition_point(|c| (*c as usize) < cells.end);
        groups(&self.kinds[start..end]).map(move |group| {
            (self.kinds[start + group.start], &self.cells[start + group.start..start + group.end])
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.len() * 8
    }
}

/// Sets the entries of the rows of some tasks, whose cells are in a part of the field from an entry on.
fn set_tasks(
    starts: &[u32],
    cells: &[u32],
    (field, first): (&mut [f32], u32),
    values: &[f32],
    set: impl Fn(&mut f32, f32) + Copy + Sync,
) {
    let half = starts.len() / 2;
    if half == 0 {
        cells.iter().zip(values).for_each(|(cell, value)| set(&mut field[(cell - first) as usize], *value));
        return;
    }
    let middle = starts[half];
    let (low, high) = field.split_at_mut((middle - first) as usize);
    let [cells, high_cells] = [&cells[..half * ROWS], &cells[half * ROWS..]];
    let [values, high_values] = [&values[..half * ROWS], &values[half * ROWS..]];
    supple_core::parallel::join(
        || set_tasks(&starts[..half], cells, (low, first), values, set),
        || set_tasks(&starts[half..], high_cells, (high, middle), high_values, set),
    );
}

/// The ranges of equal kinds.
pub(crate) fn groups(kinds: &[u32]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let mut next = 0;
    kinds.chunk_by(|a, b| a == b).map(move |group| {
        let start = next;
        next += group.len();
        start..next
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_many_tasks_sets_its_own_entry() {
        let mut list = RowList::default();
        let cell = |row: usize| row * 7919 % 20_011;
        (0..9000).for_each(|row| list.push(cell(row), (row % 5) as u32));
        list.cut_into_tasks();
        assert!(list.starts.len() > 3);
        let values: Vec<f32> = list.cells.iter().map(|cell| *cell as f32).collect();
        let mut field = vec![-1.0; 20_011];
        list.set_each(&mut field, &values, |own, value| *own += value);
        let mut expected = vec![-1.0; 20_011];
        (0..9000).for_each(|row| expected[cell(row)] += cell(row) as f32);
        assert_eq!(field, expected);
    }
}
