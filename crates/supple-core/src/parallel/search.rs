//! Searches for the match of lowest index.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{ParallelIterator, drive};

/// The result of the piece of lowest index so far.
pub(super) struct First<R> {
    /// The start of the piece that has found something; the maximum value if none has.
    start: AtomicUsize,
    found: Mutex<Option<R>>,
}

impl<R> First<R> {
    pub(super) fn new() -> Self {
        Self { start: AtomicUsize::new(usize::MAX), found: Mutex::new(None) }
    }

    /// Whether something was found before this piece, which then has nothing to contribute.
    #[inline]
    pub(super) fn is_before(&self, piece: usize) -> bool {
        self.start.load(Ordering::Relaxed) < piece
    }

    /// Records the first match of a piece.
    pub(super) fn put(&self, piece: usize, found: R) {
        let mut first = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if piece < self.start.load(Ordering::Relaxed) {
            self.start.store(piece, Ordering::Relaxed);
            *first = Some(found);
        }
    }

    pub(super) fn into_found(self) -> Option<R> {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first value that `find` returns, in index order.
pub(super) fn first<I: ParallelIterator, R: Send>(
    items: I,
    find: impl Fn(I::Item) -> Option<R> + Sync,
) -> Option<R> {
    let first = First::new();
    drive(items.index_count(), items.min_len(), &|range| {
        let start = range.start;
        // SAFETY: the driver's pieces are disjoint and within the count.
        let mut piece = unsafe { items.piece(range) };
        while !first.is_before(start) {
            let Some(item) = piece.next() else { return };
            if let Some(found) = find(item) {
                return first.put(start, found);
            }
        }
    });
    first.into_found()
}
