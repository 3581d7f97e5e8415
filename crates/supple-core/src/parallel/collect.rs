//! Collections of all items in index order.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::search::First;
use super::slices::SharedMut;
use super::{IntoParallelIterator, ParallelIterator, drive};

/// A collection that [`ParallelIterator::collect`] can build.
pub trait FromParallelIterator<T: Send> {
    /// The collection of all items.
    fn from_par_iter<I: ParallelIterator<Item = T>>(items: I) -> Self;
}

impl<T: Send> FromParallelIterator<T> for Vec<T> {
    fn from_par_iter<I: ParallelIterator<Item = T>>(items: I) -> Self {
        let mut all = Self::with_capacity(if I::EXACT { items.index_count() } else { 0 });
        append(items, &mut all);
        all
    }
}

impl<T: Send> FromParallelIterator<T> for Box<[T]> {
    fn from_par_iter<I: ParallelIterator<Item = T>>(items: I) -> Self {
        Vec::from_par_iter(items).into_boxed_slice()
    }
}

/// All values, or the error of lowest index.
impl<T: Send, E: Send> FromParallelIterator<Result<T, E>> for Result<Vec<T>, E> {
    fn from_par_iter<I: ParallelIterator<Item = Result<T, E>>>(items: I) -> Self {
        let (pieces, error) = (CollectedPieces::new(), First::new());
        drive(items.index_count(), items.min_len(), &|range| {
            let start = range.start;
            // SAFETY: the driver's pieces are disjoint and within the count.
            let piece = unsafe { items.piece(range) };
            if error.is_before(start) {
                return;
            }
            match piece.collect() {
                Ok(values) => pieces.put(start, values),
                Err(first) => error.put(start, first),
            }
        });
        error.into_found().map_or_else(|| Ok(pieces.concat()), Err)
    }
}

/// All values, or nothing if one is missing.
impl<T: Send> FromParallelIterator<Option<T>> for Option<Vec<T>> {
    fn from_par_iter<I: ParallelIterator<Item = Option<T>>>(items: I) -> Self {
        Result::<Vec<T>, ()>::from_par_iter(items.map(|item| item.ok_or(()))).ok()
    }
}

/// A collection that can be extended by the items of a parallel iterator.
pub trait ParallelExtend<T: Send> {
    /// Appends all items in index order.
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, items: I);
}

impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, items: I) {
        append(items.into_par_iter(), self);
    }
}

/// Appends all items in index order.
pub(super) fn append<I: ParallelIterator>(items: I, target: &mut Vec<I::Item>) {
    if I::EXACT {
        append_exact(items, target);
    } else {
        append_pieces(items, target);
    }
}

/// Writes items directly to their slots.
fn append_exact<I: ParallelIterator>(items: I, target: &mut Vec<I::Item>) {
    assert!(I::EXACT, "only iterators that promise an item per index fill every slot");
    let (before, count) = (target.len(), items.index_count());
    target.reserve(count);
    let places = SharedMut::new(&mut target.spare_capacity_mut()[..count]);
    drive(count, items.min_len(), &|range| {
        // SAFETY: the driver's pieces are disjoint and within the count, which is also the number of slots.
        unsafe { write(&items, range, &places) }
    });
    // SAFETY: the driver has covered all slots, and an exact piece has an item for each of its own.
    unsafe { target.set_len(before + count) };
}

/// Writes the items of a piece to their slots. A separate function, for the same reason as `for_each_of`.
///
/// # Safety
/// That of [`ParallelIterator::piece`], also for the slots.
#[inline(never)]
unsafe fn write<I: ParallelIterator>(
    items: &I,
    range: Range<usize>,
    places: &SharedMut<'_, MaybeUninit<I::Item>>,
) {
    // SAFETY: the caller's promise.
    let (places, items) = unsafe { (places.part(range.clone()), items.piece(range)) };
    places.iter_mut().zip(items).for_each(|(place, item)| {
        place.write(item);
    });
}

fn append_pieces<I: ParallelIterator>(items: I, target: &mut Vec<I::Item>) {
    let pieces = CollectedPieces::new();
    drive(items.index_count(), items.min_len(), &|range| {
        let start = range.start;
        // SAFETY: the driver's pieces are disjoint and within the count.
        pieces.put(start, unsafe { items.piece(range) }.collect());
    });
    if target.capacity() == 0 {
        *target = pieces.concat();
    } else {
        target.append(&mut pieces.concat());
    }
}

/// The items of pieces of unknown length, keyed by the start of the piece.
struct CollectedPieces<T>(Mutex<Vec<(usize, Vec<T>)>>);

impl<T> CollectedPieces<T> {
    fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn put(&self, start: usize, items: Vec<T>) {
        if items.is_empty() {
            return;
        }
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = pieces.partition_point(|piece| piece.0 < start);
        pieces.insert(place, (start, items));
    }

    fn concat(self) -> Vec<T> {
        let pieces = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let count: usize = pieces.iter().map(|piece| piece.1.len()).sum();
        let mut pieces = pieces.into_iter().map(|piece| piece.1);
        let mut all = pieces.next().unwrap_or_default();
        all.reserve_exact(count - all.len());
        pieces.for_each(|mut piece| all.append(&mut piece));
        all
    }
}
