//! Adapters that change, choose or multiply items one by one.

use std::ops::Range;

use super::{IndexedParallelIterator, ParallelIterator, chunked};

/// The results of a function; see [`ParallelIterator::map`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Map<I, F> {
    pub(super) base: I,
    pub(super) map: F,
}

// SAFETY: as many items as the base has.
unsafe impl<I: ParallelIterator, R: Send, F: Fn(I::Item) -> R + Sync> ParallelIterator for Map<I, F> {
    type Item = R;
    const EXACT: bool = I::EXACT;

    fn index_count(&self) -> usize {
        self.base.index_count()
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = R> {
        // SAFETY: the caller's promise.
        unsafe { self.base.piece(range) }.map(&self.map)
    }
}

impl<I: IndexedParallelIterator, R: Send, F: Fn(I::Item) -> R + Sync> IndexedParallelIterator for Map<I, F> {}

/// The results of a function with a state per piece; see [`ParallelIterator::map_init`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct MapInit<I, S, F> {
    pub(super) base: I,
    pub(super) init: S,
    pub(super) map: F,
}

// SAFETY: as many items as the base has.
unsafe impl<I, T, R, S, F> ParallelIterator for MapInit<I, S, F>
where
    I: ParallelIterator,
    R: Send,
    S: Fn() -> T + Sync,
    F: Fn(&mut T, I::Item) -> R + Sync,
{
    type Item = R;
    const EXACT: bool = I::EXACT;

    fn index_count(&self) -> usize {
        self.base.index_count()
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = R> {
        let mut state = (self.init)();
        // SAFETY: the caller's promise.
        unsafe { self.base.piece(range) }.map(move |item| (self.map)(&mut state, item))
    }
}

impl<I, T, R, S, F> IndexedParallelIterator for MapInit<I, S, F>
where
    I: IndexedParallelIterator,
    R: Send,
    S: Fn() -> T + Sync,
    F: Fn(&mut T, I::Item) -> R + Sync,
{
}

/// Some of the items; see [`ParallelIterator::filter`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Filter<I, F> {
    pub(super) base: I,
    pub(super) keep: F,
}

// SAFETY: makes no promise.
unsafe impl<I: ParallelIterator, F: Fn(&I::Item) -> bool + Sync> ParallelIterator for Filter<I, F> {
    type Item = I::Item;
    const EXACT: bool = false;

    fn index_count(&self) -> usize {
        self.base.index_count()
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = I::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.base.piece(range) }.filter(&self.keep)
    }
}

/// The values that a function returns for some of the items; see [`ParallelIterator::filter_map`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct FilterMap<I, F> {
    pub(super) base: I,
    pub(super) map: F,
}

// SAFETY: makes no promise.
unsafe impl<I, R, F> ParallelIterator for FilterMap<I, F>
where
    I: ParallelIterator,
    R: Send,
    F: Fn(I::Item) -> Option<R> + Sync,
{
    type Item = R;
    const EXACT: bool = false;

    fn index_count(&self) -> usize {
        self.base.index_count()
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = R> {
        // SAFETY: the caller's promise.
        unsafe { self.base.piece(range) }.filter_map(&self.map)
    }
}

/// The items of many sequential iterators; see [`ParallelIterator::flat_map_iter`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct FlatMapIter<I, F> {
    pub(super) base: I,
    pub(super) map: F,
}

// SAFETY: makes no promise.
unsafe impl<I, R, F> ParallelIterator for FlatMapIter<I, F>
where
    I: ParallelIterator,
    R: IntoIterator<Item: Send>,
    F: Fn(I::Item) -> R + Sync,
{
    type Item = R::Item;
    const EXACT: bool = false;

    fn index_count(&self) -> usize {
        self.base.index_count()
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = R::Item> {
        // SAFETY: the caller's promise.
        unsafe { self.base.piece(range) }.flat_map(&self.map)
    }
}

/// Copies of items behind references; see [`ParallelIterator::copied`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Copied<I> {
    pub(super) base: I,
}

// SAFETY: as many items as the base has.
unsafe impl<'a, T: Copy + Send + Sync + 'a, I: ParallelIterator<Item = &'a T>> ParallelIterator
    for Copied<I>
{
    type Item = T;
    const EXACT: bool = I::EXACT;

    fn index_count(&self) -> usize {
        self.base.index_count()
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = T> {
        // SAFETY: the caller's promise.
        unsafe { self.base.piece(range) }.copied()
    }
}

impl<'a, T: Copy + Send + Sync + 'a, I: IndexedParallelIterator<Item = &'a T>> IndexedParallelIterator
    for Copied<I>
{
}

/// Clones of items behind references; see [`ParallelIterator::cloned`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Cloned<I> {
    pub(super) base: I,
}

// SAFETY: as many items as the base has.
unsafe impl<'a, T: Clone + Send + Sync + 'a, I: ParallelIterator<Item = &'a T>> ParallelIterator
    for Cloned<I>
{
    type Item = T;
    const EXACT: bool = I::EXACT;

    fn index_count(&self) -> usize {
        self.base.index_count()
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = T> {
        // SAFETY: the caller's promise.
        unsafe { self.base.piece(range) }.cloned()
    }
}

impl<'a, T: Clone + Send + Sync + 'a, I: IndexedParallelIterator<Item = &'a T>> IndexedParallelIterator
    for Cloned<I>
{
}

/// Parts of the items, folded; see [`ParallelIterator::fold`]. Not itself an iterator: no result may depend on the
/// number of parts.
#[derive(Clone)]
#[must_use = "folds do nothing unless reduced"]
pub struct Fold<I, S, F> {
    pub(super) base: I,
    pub(super) identity: S,
    pub(super) fold: F,
}

impl<I, S, F> Fold<I, S, F> {
    /// At most this many parts, so that threads of large machines find work and joining costs little.
    const PARTS: usize = 128;

    /// Joins the parts in index order, in a tree that does not depend on the number of threads. `identity` is the
    /// result if there are no items.
    pub fn reduce<T>(self, identity: impl Fn() -> T, join: impl Fn(T, T) -> T + Sync) -> T
    where
        T: Send,
        I: ParallelIterator,
        S: Fn() -> T + Sync,
        F: Fn(T, I::Item) -> T + Sync,
    {
        let count = self.base.index_count();
        if count == 0 {
            return identity();
        }
        let part = |range| {
            // SAFETY: the parts of the tree are disjoint and within the count.
            unsafe { self.base.piece(range) }.fold((self.identity)(), &self.fold)
        };
        chunked::tree(count, self.base.min_len().max(count.div_ceil(Self::PARTS)), &part, &join)
    }
}
