//! Adapters that use the position of items, for iterators with one item per index.

use std::ops::Range;

use super::{IndexedParallelIterator, ParallelIterator};

/// Items with their indices; see [`IndexedParallelIterator::enumerate`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Enumerate<I> {
    pub(super) base: I,
}

// SAFETY: as many items as the base has.
unsafe impl<I: IndexedParallelIterator> ParallelIterator for Enumerate<I> {
    type Item = (usize, I::Item);
    const EXACT: bool = I::EXACT;

    fn index_count(&self) -> usize {
        self.base.index_count()
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = (usize, I::Item)> {
        // SAFETY: the caller's promise.
        range.clone().zip(unsafe { self.base.piece(range) })
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Enumerate<I> {}

/// Pairs of items; see [`IndexedParallelIterator::zip`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Zip<A, B> {
    pub(super) a: A,
    pub(super) b: B,
}

// SAFETY: both sides have an item for every index of the shorter one.
unsafe impl<A: IndexedParallelIterator, B: IndexedParallelIterator> ParallelIterator for Zip<A, B> {
    type Item = (A::Item, B::Item);
    const EXACT: bool = A::EXACT && B::EXACT;

    fn index_count(&self) -> usize {
        self.a.index_count().min(self.b.index_count())
    }

    fn min_len(&self) -> usize {
        self.a.min_len().max(self.b.min_len())
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the caller's promise; a non-empty range ends at the count only once.
        unsafe {
            if !range.is_empty() && range.end == self.index_count() {
                drop_rest(&self.a, range.end);
                drop_rest(&self.b, range.end);
            }
            self.a.piece(range.clone()).zip(self.b.piece(range))
        }
    }
}

impl<A: IndexedParallelIterator, B: IndexedParallelIterator> IndexedParallelIterator for Zip<A, B> {}

/// Drops items that have no partner.
///
/// # Safety
/// No index from `start` on was or will be taken.
#[inline]
unsafe fn drop_rest(items: &impl ParallelIterator, start: usize) {
    let rest = start..items.index_count();
    if !rest.is_empty() {
        // SAFETY: the caller's promise.
        drop(unsafe { items.piece(rest) });
    }
}

/// Items of one iterator after those of another; see [`IndexedParallelIterator::chain`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Chain<A, B> {
    pub(super) a: A,
    pub(super) b: B,
}

// SAFETY: every index belongs to exactly one of the two.
unsafe impl<A, B> ParallelIterator for Chain<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator<Item = A::Item>,
{
    type Item = A::Item;
    const EXACT: bool = A::EXACT && B::EXACT;

    fn index_count(&self) -> usize {
        self.a.index_count() + self.b.index_count()
    }

    fn min_len(&self) -> usize {
        self.a.min_len().max(self.b.min_len())
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = Self::Item> {
        let first = self.a.index_count();
        let low = range.start.min(first)..range.end.min(first);
        let high = range.start.max(first) - first..range.end.max(first) - first;
        // SAFETY: the caller's promise; each index goes to one side.
        unsafe { self.a.piece(low).chain(self.b.piece(high)) }
    }
}

impl<A, B> IndexedParallelIterator for Chain<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator<Item = A::Item>,
{
}

/// Every n-th item; see [`IndexedParallelIterator::step_by`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct StepBy<I> {
    pub(super) base: I,
    pub(super) step: usize,
}

// SAFETY: each index corresponds to a non-empty run of the base, the first item of which is yielded.
unsafe impl<I: IndexedParallelIterator> ParallelIterator for StepBy<I> {
    type Item = I::Item;
    const EXACT: bool = I::EXACT;

    fn index_count(&self) -> usize {
        self.base.index_count().div_ceil(self.step)
    }

    fn min_len(&self) -> usize {
        self.base.min_len().div_ceil(self.step)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = I::Item> {
        let count = self.base.index_count();
        let of_base = |index: usize| index.saturating_mul(self.step).min(count);
        // SAFETY: the caller's promise; runs of different indices are disjoint.
        unsafe { self.base.piece(of_base(range.start)..of_base(range.end)) }.step_by(self.step)
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for StepBy<I> {}

/// The same items in pieces that are not too short; see [`IndexedParallelIterator::with_min_len`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct MinLen<I> {
    pub(super) base: I,
    pub(super) min_len: usize,
}

// SAFETY: the items of the base.
unsafe impl<I: IndexedParallelIterator> ParallelIterator for MinLen<I> {
    type Item = I::Item;
    const EXACT: bool = I::EXACT;

    fn index_count(&self) -> usize {
        self.base.index_count()
    }

    fn min_len(&self) -> usize {
        self.base.min_len().max(self.min_len)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = I::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.base.piece(range) }
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for MinLen<I> {}
