//! Sorting on all threads.
//!
//! Halves are sorted at the same time, then the standard library's stable sort of the whole finds them as two runs and
//! merges them. All sorts are stable, even those whose names, taken from rayon, promise less: equal items keep their
//! order, so the result is the same for any number of threads and any splitting.

use std::cmp::Ordering;

use super::join;

/// Slices up to this length are sorted by the calling thread.
const SEQUENTIAL: usize = 4096;

/// Slices are split recursively at most this often: merging more runs costs more than further threads gain.
const DEPTH: u32 = 3;

/// Sorts on all threads.
pub trait ParallelSort<T: Send> {
    /// Sorts by the order of the items.
    fn par_sort_unstable(&mut self)
    where
        T: Ord;

    /// Sorts by a comparison.
    fn par_sort_unstable_by(&mut self, compare: impl Fn(&T, &T) -> Ordering + Sync);

    /// Sorts by a key, which is computed at every comparison.
    fn par_sort_unstable_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync);

    /// Sorts by a comparison; equal items keep their order.
    fn par_sort_by(&mut self, compare: impl Fn(&T, &T) -> Ordering + Sync);
}

impl<T: Send> ParallelSort<T> for [T] {
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        sort(self, DEPTH, &T::cmp);
    }

    fn par_sort_unstable_by(&mut self, compare: impl Fn(&T, &T) -> Ordering + Sync) {
        sort(self, DEPTH, &compare);
    }

    fn par_sort_unstable_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync) {
        sort(self, DEPTH, &|a: &T, b: &T| key(a).cmp(&key(b)));
    }

    fn par_sort_by(&mut self, compare: impl Fn(&T, &T) -> Ordering + Sync) {
        sort(self, DEPTH, &compare);
    }
}

fn sort<T: Send>(items: &mut [T], depth: u32, compare: &(impl Fn(&T, &T) -> Ordering + Sync)) {
    if depth > 0 && items.len() > SEQUENTIAL {
        let (low, high) = items.split_at_mut(items.len() / 2);
        join(|| sort(low, depth - 1, compare), || sort(high, depth - 1, compare));
    }
    items.sort_by(compare);
}
