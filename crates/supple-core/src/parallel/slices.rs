//! Slices as sources: their items, chunks and windows.

use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

use super::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

/// A mutable slice of which threads take disjoint parts.
pub(super) struct SharedMut<'a, T> {
    first: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: stands for a `&mut [T]`, which may go to other threads if `T` may.
unsafe impl<T: Send> Send for SharedMut<'_, T> {}
// SAFETY: a shared reference gives only parts that are disjoint by the promise of `part`.
unsafe impl<T: Send> Sync for SharedMut<'_, T> {}

impl<'a, T> SharedMut<'a, T> {
    pub(super) fn new(slice: &'a mut [T]) -> Self {
        Self { first: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// # Safety
    /// The range lies within the slice, and no element is taken twice.
    #[inline]
    pub(super) unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: within the slice that is borrowed for 'a, and borrowed by nobody else by the caller's promise.
        unsafe { slice::from_raw_parts_mut(self.first.add(range.start), range.len()) }
    }
}

/// References to the items of a slice.
#[must_use = "iterators do nothing unless consumed"]
pub struct Iter<'a, T>(&'a [T]);

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

// SAFETY: one item per index.
unsafe impl<'a, T: Sync> ParallelIterator for Iter<'a, T> {
    type Item = &'a T;
    const EXACT: bool = true;

    fn index_count(&self) -> usize {
        self.0.len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = &'a T> {
        self.0[range].iter()
    }
}

impl<T: Sync> IndexedParallelIterator for Iter<'_, T> {}

/// Mutable references to the items of a slice.
#[must_use = "iterators do nothing unless consumed"]
pub struct IterMut<'a, T>(SharedMut<'a, T>);

// SAFETY: one item per index.
unsafe impl<'a, T: Send> ParallelIterator for IterMut<'a, T> {
    type Item = &'a mut T;
    const EXACT: bool = true;

    fn index_count(&self) -> usize {
        self.0.len
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = &'a mut T> {
        // SAFETY: the caller's promise.
        unsafe { self.0.part(range) }.iter_mut()
    }
}

impl<T: Send> IndexedParallelIterator for IterMut<'_, T> {}

/// Chunks of a slice; the last may be shorter.
#[must_use = "iterators do nothing unless consumed"]
pub struct Chunks<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<T> Clone for Chunks<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

// SAFETY: the part of a piece has as many chunks as the piece has indices.
unsafe impl<'a, T: Sync> ParallelIterator for Chunks<'a, T> {
    type Item = &'a [T];
    const EXACT: bool = true;

    fn index_count(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = &'a [T]> {
        self.slice[of_chunks(range, self.size, self.slice.len())].chunks(self.size)
    }
}

impl<T: Sync> IndexedParallelIterator for Chunks<'_, T> {}

/// Mutable chunks of a slice; the last may be shorter.
#[must_use = "iterators do nothing unless consumed"]
pub struct ChunksMut<'a, T> {
    slice: SharedMut<'a, T>,
    size: usize,
}

// SAFETY: the part of a piece has as many chunks as the piece has indices.
unsafe impl<'a, T: Send> ParallelIterator for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    const EXACT: bool = true;

    fn index_count(&self) -> usize {
        self.slice.len.div_ceil(self.size)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = &'a mut [T]> {
        // SAFETY: the caller's promise; chunks of different indices are disjoint.
        unsafe { self.slice.part(of_chunks(range, self.size, self.slice.len)) }.chunks_mut(self.size)
    }
}

impl<T: Send> IndexedParallelIterator for ChunksMut<'_, T> {}

/// Mutable chunks of a slice that all have the same size.
#[must_use = "iterators do nothing unless consumed"]
pub struct ChunksExactMut<'a, T> {
    slice: SharedMut<'a, T>,
    size: usize,
}

// SAFETY: the part of a piece has as many chunks as the piece has indices.
unsafe impl<'a, T: Send> ParallelIterator for ChunksExactMut<'a, T> {
    type Item = &'a mut [T];
    const EXACT: bool = true;

    fn index_count(&self) -> usize {
        self.slice.len / self.size
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = &'a mut [T]> {
        // SAFETY: the caller's promise; chunks of different indices are disjoint.
        unsafe { self.slice.part(of_chunks(range, self.size, self.slice.len)) }.chunks_exact_mut(self.size)
    }
}

impl<T: Send> IndexedParallelIterator for ChunksExactMut<'_, T> {}

/// Overlapping windows of a slice.
#[must_use = "iterators do nothing unless consumed"]
pub struct Windows<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<T> Clone for Windows<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

// SAFETY: a part that is longer than a piece by one window less one item has a window per index.
unsafe impl<'a, T: Sync> ParallelIterator for Windows<'a, T> {
    type Item = &'a [T];
    const EXACT: bool = true;

    fn index_count(&self) -> usize {
        (self.slice.len() + 1).saturating_sub(self.size)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> impl Iterator<Item = &'a [T]> {
        let end = self.slice.len().min(range.end + self.size - 1);
        self.slice[range.start.min(end)..end].windows(self.size)
    }
}

impl<T: Sync> IndexedParallelIterator for Windows<'_, T> {}

/// The range of some chunks.
#[inline]
fn of_chunks(chunks: Range<usize>, size: usize, len: usize) -> Range<usize> {
    let place = |chunk: usize| chunk.saturating_mul(size).min(len);
    place(chunks.start)..place(chunks.end)
}

/// Parallel iterators over parts of a slice.
pub trait ParallelSlice<T: Sync> {
    /// Chunks of `size` items; the last may be shorter.
    ///
    /// # Panics
    /// If `size` is zero.
    fn par_chunks(&self, size: usize) -> Chunks<'_, T>;

    /// All runs of `size` neighbouring items.
    ///
    /// # Panics
    /// If `size` is zero.
    fn par_windows(&self, size: usize) -> Windows<'_, T>;
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
        assert!(size > 0, "a chunk must have at least one item");
        Chunks { slice: self, size }
    }

    fn par_windows(&self, size: usize) -> Windows<'_, T> {
        assert!(size > 0, "a window must have at least one item");
        Windows { slice: self, size }
    }
}

/// Parallel iterators over mutable parts of a slice.
pub trait ParallelSliceMut<T: Send> {
    /// Chunks of `size` items; the last may be shorter.
    ///
    /// # Panics
    /// If `size` is zero.
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;

    /// Chunks of exactly `size` items; the remainder is not visited.
    ///
    /// # Panics
    /// If `size` is zero.
    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T>;
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        assert!(size > 0, "a chunk must have at least one item");
        ChunksMut { slice: SharedMut::new(self), size }
    }

    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T> {
        assert!(size > 0, "a chunk must have at least one item");
        ChunksExactMut { slice: SharedMut::new(self), size }
    }
}

/// References to types that can be viewed as a slice are sources.
macro_rules! slice_sources {
    ($([$($parameters:tt)*] $type:ty;)*) => {$(
        impl<'a, T: Sync, $($parameters)*> IntoParallelIterator for &'a $type {
            type Item = &'a T;
            type Iter = Iter<'a, T>;

            fn into_par_iter(self) -> Iter<'a, T> {
                Iter(self)
            }
        }

        impl<'a, T: Send, $($parameters)*> IntoParallelIterator for &'a mut $type {
            type Item = &'a mut T;
            type Iter = IterMut<'a, T>;

            fn into_par_iter(self) -> IterMut<'a, T> {
                IterMut(SharedMut::new(self))
            }
        }
    )*};
}

slice_sources! {
    [] [T];
    [] Vec<T>;
    [] Box<[T]>;
    [const N: usize] [T; N];
}
