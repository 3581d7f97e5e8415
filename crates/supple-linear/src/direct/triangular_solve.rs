//! Forward and backward substitution with a multifrontal factor. Contributions of a supernode to rows above it in the
//! tree are passed from child to parent and back, so that subtrees are independent, as in the factorisation.

use std::ops::{AddAssign, Div, Mul, Range, SubAssign};

use glam::DVec3;

use super::multifrontal::Multifrontal;

/// One right-hand side (one number per row), or three (one vector per row).
pub(crate) trait SolveValue:
    Copy + Default + Send + Sync + AddAssign + SubAssign + Mul<f64, Output = Self> + Div<f64, Output = Self>
{
}

impl SolveValue for f64 {}
impl SolveValue for DVec3 {}

/// Partial sums of a dot product.
const WIDTH: usize = 8;

/// Vectors of a solve, in elimination order.
#[derive(Default)]
pub(crate) struct SolveSpace<V> {
    x: Vec<V>,
    /// For the rows below every supernode: the contribution of its subtree, then their solution.
    carried: Vec<V>,
}

impl Multifrontal {
    /// Solves in place; `x` has `dof` values per unknown.
    pub(crate) fn solve<V: SolveValue>(&self, x: &mut [V], space: &mut SolveSpace<V>) {
        let dof = x.len().checked_div(self.place.len()).unwrap_or(1);
        space.x.resize(x.len(), V::default());
        space.carried.resize(self.supernodes.rows.len() * dof, V::default());
        for (&place, values) in self.place.iter().zip(x.chunks(dof)) {
            space.x[place as usize * dof..][..dof].copy_from_slice(values);
        }
        let tasks = &self.schedule.tasks[..];
        SupernodeSlices::whole(self, space, dof)
            .over(tasks, &|part, task| task.for_each(|s| part.forward(s)));
        let mut whole = SupernodeSlices::whole(self, space, dof);
        self.schedule.top.iter().for_each(|&s| whole.forward(s));
        self.schedule.top.iter().rev().for_each(|&s| whole.backward(s));
        whole.over(tasks, &|part, task| task.rev().for_each(|s| part.backward(s)));
        for (&place, values) in self.place.iter().zip(x.chunks_mut(dof)) {
            values.copy_from_slice(&space.x[place as usize * dof..][..dof]);
        }
    }
}

/// Consecutive supernodes with their slices of the vectors.
struct SupernodeSlices<'a, V> {
    of: &'a Multifrontal,
    dof: usize,
    x: &'a mut [V],
    first_x: usize,
    carried: &'a mut [V],
    first_carried: usize,
}

impl<'a, V: SolveValue> SupernodeSlices<'a, V> {
    fn whole(of: &'a Multifrontal, space: &'a mut SolveSpace<V>, dof: usize) -> Self {
        Self { of, dof, x: &mut space.x, first_x: 0, carried: &mut space.carried, first_carried: 0 }
    }

    /// Calls `work` for every task, by recursive halving on all threads.
    fn over(mut self, tasks: &[Range<usize>], work: &(impl Fn(&mut Self, Range<usize>) + Sync)) {
        match tasks {
            [] => {}
            [task] => work(&mut self, task.clone()),
            _ => {
                let (first, second) = tasks.split_at(tasks.len() / 2);
                let (before, after) = self.split_before(second[0].start);
                supple_core::parallel::join(|| before.over(first, work), || after.over(second, work));
            }
        }
    }

    fn split_before(self, s: usize) -> (Self, Self) {
        let Self { of, dof, .. } = self;
        let first_x = of.supernodes.first_column[s] as usize * dof;
        let first_carried = of.supernodes.row_starts[s] * dof;
        let (x, x_after) = self.x.split_at_mut(first_x - self.first_x);
        let (carried, carried_after) = self.carried.split_at_mut(first_carried - self.first_carried);
        let after = Self { of, dof, x: x_after, first_x, carried: carried_after, first_carried };
        (Self { x, carried, ..self }, after)
    }

    /// The columns of a supernode in the factor, its values, and the carried values before it and its own.
    fn split(&mut self, s: usize) -> (&'a [f64], &mut [V], &mut [V], &mut [V]) {
        let of = self.of;
        let factor = &of.factor[of.factor_start[s]..of.factor_start[s + 1]];
        let columns = of.supernodes.columns(s);
        let rows = of.supernodes.row_starts[s] * self.dof - self.first_carried;
        let (before, own) = self.carried.split_at_mut(rows);
        let x = &mut self.x[columns.start * self.dof - self.first_x..columns.end * self.dof - self.first_x];
        (factor, x, before, &mut own[..of.supernodes.rows(s).len() * self.dof])
    }

    fn forward(&mut self, s: usize) {
        let (of, dof, first) = (self.of, self.dof, self.first_carried);
        let (factor, x, before, own) = self.split(s);
        own.fill(V::default());
        for &child in of.supernodes.children(s) {
            let carried = &before[of.supernodes.row_starts[child as usize] * dof - first..];
            for (values, &place) in carried.chunks(dof).zip(of.supernodes.places(child as usize)) {
                let target = of_front(x, own, place as usize * dof, dof);
                target.iter_mut().zip(values).for_each(|(sum, value)| *sum += *value);
            }
        }
        let columns = x.len();
        for (j, column) in factor.chunks_exact(columns + own.len()).enumerate() {
            let value = x[j] / column[j];
            x[j] = value;
            subtract(&mut x[j + 1..], &column[j + 1..columns], value);
            subtract(own, &column[columns..], value);
        }
    }

    fn backward(&mut self, s: usize) {
        let (of, dof, first) = (self.of, self.dof, self.first_carried);
        let (factor, x, before, own) = self.split(s);
        let columns = x.len();
        for (j, column) in factor.chunks_exact(columns + own.len()).enumerate().rev() {
            let mut value = x[j];
            value -= dot(&column[columns..], own);
            value -= dot(&column[j + 1..columns], &x[j + 1..]);
            x[j] = value / column[j];
        }
        for &child in of.supernodes.children(s) {
            let carried = &mut before[of.supernodes.row_starts[child as usize] * dof - first..];
            for (values, &place) in carried.chunks_mut(dof).zip(of.supernodes.places(child as usize)) {
                values.copy_from_slice(of_front(x, own, place as usize * dof, dof));
            }
        }
    }
}

/// The value at an index of a front: its columns' first, then its rows'.
fn of_front<'a, V>(x: &'a mut [V], own: &'a mut [V], start: usize, dof: usize) -> &'a mut [V] {
    let columns = x.len();
    if start < columns { &mut x[start..start + dof] } else { &mut own[start - columns..][..dof] }
}

fn subtract<V: SolveValue>(target: &mut [V], column: &[f64], value: V) {
    target.iter_mut().zip(column).for_each(|(target, l)| *target -= value * *l);
}

fn dot<V: SolveValue>(column: &[f64], values: &[V]) -> V {
    let mut sums = [V::default(); WIDTH];
    let (columns, column_rest) = column.as_chunks::<WIDTH>();
    let (chunks, value_rest) = values.as_chunks::<WIDTH>();
    for (l, v) in columns.iter().zip(chunks) {
        for k in 0..WIDTH {
            sums[k] += v[k] * l[k];
        }
    }
    let mut total = V::default();
    sums.into_iter().for_each(|sum| total += sum);
    column_rest.iter().zip(value_rest).for_each(|(l, v)| total += *v * *l);
    total
}
