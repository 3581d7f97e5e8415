//! The traits of parallel iterators and their operations.

use std::iter::Sum;
use std::ops::Range;

use super::adapters::{Cloned, Copied, Filter, FilterMap, FlatMapIter, Fold, Map, MapInit};
use super::indexed::{Chain, Enumerate, MinLen, StepBy, Zip};
use super::{FromParallelIterator, collect, drive, search};

/// Items that several threads can take at the same time, each from its own piece of an index range.
///
/// # Safety
/// If `EXACT` is true, [`piece`](Self::piece) must yield exactly one item per index: `collect` relies on it to
/// initialise every slot of its result.
pub unsafe trait ParallelIterator: Sized + Sync {
    /// The type of the items.
    type Item: Send;

    /// Whether there is exactly one item per index.
    const EXACT: bool;

    /// The number of indices.
    fn index_count(&self) -> usize;

    /// The minimum number of indices worth a separate piece.
    fn min_len(&self) -> usize {
        1
    }

    /// The items of some indices, in their order.
    ///
    /// # Safety
    /// The range lies within `0..self.index_count()`, and no index is taken twice over the life of `self`.
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = Self::Item>;

    /// The results of `map`.
    fn map<R: Send, F: Fn(Self::Item) -> R + Sync>(self, map: F) -> Map<Self, F> {
        Map { base: self, map }
    }

    /// The results of `map`, which is passed a state created by `init` for each piece.
    fn map_init<S, R: Send, I, F>(self, init: I, map: F) -> MapInit<Self, I, F>
    where
        I: Fn() -> S + Sync,
        F: Fn(&mut S, Self::Item) -> R + Sync,
    {
        MapInit { base: self, init, map }
    }

    /// The items for which `keep` holds.
    fn filter<F: Fn(&Self::Item) -> bool + Sync>(self, keep: F) -> Filter<Self, F> {
        Filter { base: self, keep }
    }

    /// The values that `map` returns for the items, where it returns some.
    fn filter_map<R: Send, F: Fn(Self::Item) -> Option<R> + Sync>(self, map: F) -> FilterMap<Self, F> {
        FilterMap { base: self, map }
    }

    /// The items of the sequential iterators that `map` returns.
    fn flat_map_iter<R, F>(self, map: F) -> FlatMapIter<Self, F>
    where
        R: IntoIterator<Item: Send>,
        F: Fn(Self::Item) -> R + Sync,
    {
        FlatMapIter { base: self, map }
    }

    /// Copies of the items behind references.
    fn copied<'a, T: Copy + Send + Sync + 'a>(self) -> Copied<Self>
    where
        Self: ParallelIterator<Item = &'a T>,
    {
        Copied { base: self }
    }

    /// Clones of the items behind references.
    fn cloned<'a, T: Clone + Send + Sync + 'a>(self) -> Cloned<Self>
    where
        Self: ParallelIterator<Item = &'a T>,
    {
        Cloned { base: self }
    }

    /// Calls `op` for every item.
    fn for_each(self, op: impl Fn(Self::Item) + Sync) {
        drive(self.index_count(), self.min_len(), &|range| {
            // SAFETY: the driver's pieces are disjoint and within the count.
            unsafe { for_each_of(&self, range, &op) }
        });
    }

    /// Calls `op` for every item with a state created by `init` for each piece.
    fn for_each_init<S>(self, init: impl Fn() -> S + Sync, op: impl Fn(&mut S, Self::Item) + Sync) {
        self.map_init(init, op).for_each(|()| ());
    }

    /// Calls `op` for the items until one fails, and returns the error of lowest index. Items after it may have been
    /// visited or not.
    ///
    /// # Errors
    /// The first in the order of indices.
    fn try_for_each<E: Send>(self, op: impl Fn(Self::Item) -> Result<(), E> + Sync) -> Result<(), E> {
        search::first(self, |item| op(item).err()).map_or(Ok(()), Err)
    }

    /// All items in index order.
    fn collect<C: FromParallelIterator<Self::Item>>(self) -> C {
        C::from_par_iter(self)
    }

    /// Joins all items by `join`, in index order, in a tree that does not depend on the number of threads. Each part
    /// of the tree starts with an `identity`.
    fn reduce(
        self,
        identity: impl Fn() -> Self::Item + Sync,
        join: impl Fn(Self::Item, Self::Item) -> Self::Item + Sync,
    ) -> Self::Item {
        self.fold(&identity, &join).reduce(&identity, &join)
    }

    /// Folds parts of the items, each from an `identity`; the parts are to be joined by [`Fold::reduce`].
    fn fold<T: Send, I, F>(self, identity: I, fold: F) -> Fold<Self, I, F>
    where
        I: Fn() -> T + Sync,
        F: Fn(T, Self::Item) -> T + Sync,
    {
        Fold { base: self, identity, fold }
    }

    /// The sum of all items, in an order that does not depend on the number of threads.
    fn sum<S: Send + Sum<Self::Item> + Sum<S>>(self) -> S {
        let add = |a: S, b: S| [a, b].into_iter().sum();
        let empty = || std::iter::empty::<S>().sum();
        self.fold(empty, |sum, item| add(sum, std::iter::once(item).sum())).reduce(empty, add)
    }

    /// The number of items.
    fn count(self) -> usize {
        self.fold(|| 0, |count, _| count + 1).reduce(|| 0, |a, b| a + b)
    }

    /// The least item, the first of equal ones.
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        let better = |a: Option<_>, b: Option<_>| a.into_iter().chain(b).min();
        self.fold(|| None, |best, item| better(best, Some(item))).reduce(|| None, better)
    }

    /// The greatest item, the last of equal ones.
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        let better = |a: Option<_>, b: Option<_>| a.into_iter().chain(b).max();
        self.fold(|| None, |best, item| better(best, Some(item))).reduce(|| None, better)
    }

    /// Whether `holds` is true for every item; not all need be visited.
    fn all(self, holds: impl Fn(Self::Item) -> bool + Sync) -> bool {
        search::first(self, |item| (!holds(item)).then_some(())).is_none()
    }

    /// Whether `holds` is true for some item; not all need be visited.
    fn any(self, holds: impl Fn(Self::Item) -> bool + Sync) -> bool {
        search::first(self, |item| holds(item).then_some(())).is_some()
    }

    /// The item of lowest index for which `matches` holds.
    fn find_first(self, matches: impl Fn(&Self::Item) -> bool + Sync) -> Option<Self::Item> {
        search::first(self, |item| matches(&item).then_some(item))
    }

    /// The first value that `find` returns, in index order.
    fn find_map_first<R: Send>(self, find: impl Fn(Self::Item) -> Option<R> + Sync) -> Option<R> {
        search::first(self, find)
    }
}

/// Calls `op` for the items of a piece. A function of its own, since the compiler may assume of parameters, but not of what
/// a closure captures, that writing to items does not change them.
///
/// # Safety
/// That of [`ParallelIterator::piece`].
#[inline(never)]
unsafe fn for_each_of<I: ParallelIterator>(items: &I, range: Range<usize>, op: &impl Fn(I::Item)) {
    // SAFETY: the caller's promise.
    unsafe { items.piece(range) }.for_each(op);
}

/// A parallel iterator with exactly one item per index.
pub trait IndexedParallelIterator: ParallelIterator {
    /// The number of items.
    fn len(&self) -> usize {
        self.index_count()
    }

    /// Whether there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items with their indices.
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate { base: self }
    }

    /// Pairs of items of two iterators, as many as the shorter one has.
    fn zip<B: IntoParallelIterator<Iter: IndexedParallelIterator>>(self, other: B) -> Zip<Self, B::Iter> {
        Zip { a: self, b: other.into_par_iter() }
    }

    /// First the items of this, then those of `other`.
    fn chain<B>(self, other: B) -> Chain<Self, B::Iter>
    where
        B: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        Chain { a: self, b: other.into_par_iter() }
    }

    /// Every `step`-th item, beginning with the first.
    ///
    /// # Panics
    /// If `step` is zero.
    fn step_by(self, step: usize) -> StepBy<Self> {
        assert!(step > 0, "a step must be at least 1");
        StepBy { base: self, step }
    }

    /// The same items, of which no piece has fewer than `min_len`.
    fn with_min_len(self, min_len: usize) -> MinLen<Self> {
        MinLen { base: self, min_len }
    }

    /// Replaces the contents of `target` by all items in order; allocates only where its capacity is too small.
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        target.clear();
        collect::append(self, target);
    }
}

/// A type that can be turned into a parallel iterator.
pub trait IntoParallelIterator {
    /// The type of the items.
    type Item: Send;
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;

    /// The parallel iterator.
    fn into_par_iter(self) -> Self::Iter;
}

impl<I: ParallelIterator> IntoParallelIterator for I {
    type Item = I::Item;
    type Iter = I;

    fn into_par_iter(self) -> I {
        self
    }
}

/// A type with a parallel iterator over references to its items.
pub trait IntoParallelRefIterator<'a> {
    /// The iterator.
    type Iter: ParallelIterator;

    /// The parallel iterator over references.
    fn par_iter(&'a self) -> Self::Iter;
}

impl<'a, I: ?Sized + 'a> IntoParallelRefIterator<'a> for I
where
    &'a I: IntoParallelIterator,
{
    type Iter = <&'a I as IntoParallelIterator>::Iter;

    fn par_iter(&'a self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// A type with a parallel iterator over mutable references to its items.
pub trait IntoParallelRefMutIterator<'a> {
    /// The iterator.
    type Iter: ParallelIterator;

    /// The parallel iterator over mutable references.
    fn par_iter_mut(&'a mut self) -> Self::Iter;
}

impl<'a, I: ?Sized + 'a> IntoParallelRefMutIterator<'a> for I
where
    &'a mut I: IntoParallelIterator,
{
    type Iter = <&'a mut I as IntoParallelIterator>::Iter;

    fn par_iter_mut(&'a mut self) -> Self::Iter {
        self.into_par_iter()
    }
}
