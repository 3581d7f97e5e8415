//! Parallel loops with the call syntax of rayon's iterators and a driver that is compiled once.
//!
//! # Why it exists
//!
//! rayon's bridge is generic over producer and consumer, so every loop of a crate instantiates the whole scheduler
//! glue again: a `join`, a stack job and its latch, twice per loop. Here every loop ends in [`drive`], which is not
//! generic. Only a closure is instantiated per loop, which runs a plain sequential iterator over one piece of the
//! index range, so inner loops are inlined and vectorised as before.
//!
//! # How it works
//!
//! - A [`ParallelIterator`] has a length in indices and gives a sequential iterator for any piece of them.
//! - [`drive`] splits the indices as rayon does: into about as many pieces as there are threads, and further where
//!   an idle thread has stolen one; never into pieces shorter than [`with_min_len`] asks for.
//! - Consumers run on each piece, and combine their results in index order.
//!
//! # Determinism
//!
//! All results are bit-identical for any number of threads, sums of floating-point numbers included:
//!
//! - [`collect`] and [`par_extend`] keep the order of indices.
//! - [`sum`](ParallelIterator::sum), [`reduce`](ParallelIterator::reduce) and the other reductions join parts of fixed
//!   size in a tree; both depend on the length and the minimum length of a piece, not on the scheduling.
//! - Searches, and loops that may fail, return the match or error of lowest index.
//! - Sorts are stable, so there is only one right result.
//!
//! Only state that is created per piece ([`map_init`], [`for_each_init`]) sees how the range was split: use it for
//! buffers whose old contents do not matter.
//!
//! # Panics
//!
//! A panic in a loop's body reaches the caller once all other pieces have ended. Values that were already moved into
//! a result, or not yet taken out of a `Vec` that was iterated by value, are then leaked, never dropped twice.
//!
//! [`collect`]: ParallelIterator::collect
//! [`for_each_init`]: ParallelIterator::for_each_init
//! [`map_init`]: ParallelIterator::map_init
//! [`par_extend`]: ParallelExtend::par_extend
//! [`with_min_len`]: IndexedParallelIterator::with_min_len

#![allow(unsafe_code, reason = "pieces of one slice are handed to several threads")]

mod adapters;
mod chunked;
mod collect;
mod driver;
mod indexed;
mod iterator;
mod search;
mod slices;
mod sort;
mod sources;

pub use adapters::*;
pub use chunked::{CHUNK, Found, fold, sum};
pub use collect::{FromParallelIterator, ParallelExtend};
pub use driver::{drive, join};
pub use indexed::*;
pub use iterator::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator,
    ParallelIterator,
};
pub use rayon::{ThreadPool, ThreadPoolBuilder, current_num_threads};
pub use slices::*;
pub use sort::ParallelSort;
pub use sources::*;

/// The traits that give `par_iter`, `par_chunks_mut`, `into_par_iter`, `par_sort_unstable` and all adapters.
pub mod prelude {
    pub use super::{
        FromParallelIterator, IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
        IntoParallelRefMutIterator, ParallelExtend, ParallelIterator, ParallelSlice, ParallelSliceMut,
        ParallelSort,
    };
}

#[cfg(test)]
mod tests;
