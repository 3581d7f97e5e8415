//! Ranges of integers, and vectors by value, as sources.

use std::mem::ManuallyDrop;
use std::ops::{Range, RangeInclusive};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

/// Consecutive integers.
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Integers<T> {
    first: T,
    count: usize,
}

macro_rules! integer_sources {
    ($($type:ty, $unsigned:ty;)*) => {$(
        // SAFETY: one integer per index.
        unsafe impl ParallelIterator for Integers<$type> {
            type Item = $type;
            const EXACT: bool = true;

            fn index_count(&self) -> usize {
                self.count
            }

            #[inline]
            unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = $type> {
                let first = self.first;
                range.map(move |index| first.wrapping_add(index as $type))
            }
        }

        impl IndexedParallelIterator for Integers<$type> {}

        impl IntoParallelIterator for Range<$type> {
            type Item = $type;
            type Iter = Integers<$type>;

            fn into_par_iter(self) -> Integers<$type> {
                let count = if self.is_empty() { 0 } else { self.end.wrapping_sub(self.start) as $unsigned };
                Integers { first: self.start, count: count as usize }
            }
        }

        impl IntoParallelIterator for RangeInclusive<$type> {
            type Item = $type;
            type Iter = Integers<$type>;

            fn into_par_iter(self) -> Integers<$type> {
                let (first, last) = (*self.start(), *self.end());
                if self.is_empty() {
                    return Integers { first, count: 0 };
                }
                let count = (last.wrapping_sub(first) as $unsigned as usize).checked_add(1);
                Integers { first, count: count.expect("more integers than can be counted") }
            }
        }
    )*};
}

integer_sources! {
    usize, usize;
    u64, u64;
    u32, u32;
    i64, u64;
    i32, u32;
}

/// The items of a vector by value. Those that are not taken are dropped, unless a panic ends the loop.
#[must_use = "iterators do nothing unless consumed"]
pub struct VecIter<T> {
    first: *mut T,
    len: usize,
    capacity: usize,
    /// Whether a loop has started: from then on it owns the items, and only the buffer is left to free.
    taken: AtomicBool,
}

// SAFETY: owns its items as a `Vec<T>` does.
unsafe impl<T: Send> Send for VecIter<T> {}
// SAFETY: a shared reference gives items by value only, each once, by the promise of `piece`.
unsafe impl<T: Send> Sync for VecIter<T> {}

// SAFETY: one item per index.
unsafe impl<T: Send> ParallelIterator for VecIter<T> {
    type Item = T;
    const EXACT: bool = true;

    fn index_count(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = T> {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        if !range.is_empty() {
            self.taken.store(true, Ordering::Relaxed);
        }
        // SAFETY: within the buffer, which outlives `self`; nobody else has these items by the caller's promise.
        // `ManuallyDrop` has the layout of its contents.
        Taken(
            unsafe { slice::from_raw_parts_mut(self.first.add(range.start).cast(), range.len()) }.iter_mut(),
        )
    }
}

impl<T: Send> IndexedParallelIterator for VecIter<T> {}

impl<T> Drop for VecIter<T> {
    fn drop(&mut self) {
        let left = if *self.taken.get_mut() { 0 } else { self.len };
        // SAFETY: the parts of a vector; items that were taken are not counted.
        drop(unsafe { Vec::from_raw_parts(self.first, left, self.capacity) });
    }
}

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Item = T;
    type Iter = VecIter<T>;

    fn into_par_iter(self) -> VecIter<T> {
        let mut vector = ManuallyDrop::new(self);
        let (len, capacity) = (vector.len(), vector.capacity());
        VecIter { first: vector.as_mut_ptr(), len, capacity, taken: AtomicBool::new(false) }
    }
}

/// Items that were taken out of a vector: moved to the consumer, or dropped.
struct Taken<'a, T>(slice::IterMut<'a, ManuallyDrop<T>>);

impl<T> Iterator for Taken<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // SAFETY: the iterator passes each item once.
        self.0.next().map(|item| unsafe { ManuallyDrop::take(item) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}
