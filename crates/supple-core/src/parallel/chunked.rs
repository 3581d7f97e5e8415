//! Loops in chunks of fixed size, for sums and searches whose results must not depend on the number of threads, and that
//! allocate nothing once buffers have grown.

use std::ops::Range;

use super::join;
use super::prelude::*;

/// Elements per chunk; fixed, so that sums do not depend on the number of threads.
pub const CHUNK: usize = 2048;

/// The sum of `term` over `0..count`.
pub fn sum(count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    fold(count, CHUNK, 0.0, |range| range.map(&term).sum(), |a, b| a + b)
}

/// The results of `part` for all chunks of `0..count`, combined pairwise by `join` in a tree whose shape only depends on
/// `count` and `chunk`; `empty` if `count` is zero.
pub fn fold<T: Send>(
    count: usize,
    chunk: usize,
    empty: T,
    part: impl Fn(Range<usize>) -> T + Sync,
    join: impl Fn(T, T) -> T + Sync,
) -> T {
    if count == 0 { empty } else { tree(count, chunk, &part, &join) }
}

type FoldPart<'a, T> = &'a (dyn Fn(Range<usize>) -> T + Sync);
type Join<'a, T> = &'a (dyn Fn(T, T) -> T + Sync);

/// [`fold`] over at least one item; instantiated once per result type, not per loop.
pub(super) fn tree<T: Send>(count: usize, chunk: usize, part: FoldPart<'_, T>, join: Join<'_, T>) -> T {
    let part = |c: usize| part(c * chunk..count.min((c + 1) * chunk));
    branch(0..count.div_ceil(chunk), &part, join)
}

fn branch<T: Send>(chunks: Range<usize>, part: &(dyn Fn(usize) -> T + Sync), unite: Join<'_, T>) -> T {
    if chunks.len() == 1 {
        return part(chunks.start);
    }
    let middle = chunks.start + chunks.len() / 2;
    let (low, high) =
        join(|| branch(chunks.start..middle, part, unite), || branch(middle..chunks.end, part, unite));
    unite(low, high)
}

/// Results found at some of a large number of points, in the order of the points. Points without results cost no memory, and
/// buffers are reused from search to search.
#[derive(Debug, Clone)]
pub struct Found<R> {
    chunks: Vec<Vec<R>>,
    /// How many buffers the last search used; others keep their capacity.
    used: usize,
}

impl<R> Default for Found<R> {
    fn default() -> Self {
        Self { chunks: Vec::new(), used: 0 }
    }
}

impl<R: Send> Found<R> {
    /// Searches `count` points, replacing earlier results: `look` appends what it finds at one of them to a list.
    pub fn look(&mut self, count: usize, look: impl Fn(usize, &mut Vec<R>) + Sync) {
        self.for_each_list(count.div_ceil(CHUNK), |c, found| {
            for i in c * CHUNK..count.min((c + 1) * CHUNK) {
                let before = found.len();
                look(i, found);
                // The next search may find something at every point of this chunk, and must not allocate then.
                if before == 0 && !found.is_empty() {
                    found.reserve(CHUNK);
                }
            }
        });
    }

    /// Refills one list per part: `fill` appends what it finds in the part to its list.
    pub fn fill<P: Sync>(&mut self, parts: &[P], fill: impl Fn(&P, &mut Vec<R>) + Sync) {
        self.for_each_list(parts.len(), |part, found| fill(&parts[part], found));
    }

    /// Refills one list per chunk of another search: `fill` appends what it finds in a chunk of that number to its list.
    pub fn fill_chunks(&mut self, count: usize, fill: impl Fn(usize, &mut Vec<R>) + Sync) {
        self.for_each_list(count, |chunk, found| {
            fill(chunk, found);
            // The next search may find more, and must not allocate then.
            if !found.is_empty() {
                found.reserve(CHUNK.saturating_sub(found.len()));
            }
        });
    }

    fn for_each_list(&mut self, count: usize, fill: impl Fn(usize, &mut Vec<R>) + Sync) {
        self.used = count;
        if self.chunks.len() < count {
            self.chunks.resize_with(count, Vec::new);
        }
        self.chunks[..count].par_iter_mut().enumerate().for_each(|(c, found)| {
            found.clear();
            fill(c, found);
        });
    }
}

impl<R> Found<R> {
    /// The number of results.
    pub fn len(&self) -> usize {
        self.chunks[..self.used].iter().map(Vec::len).sum()
    }

    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.chunks[..self.used].iter().all(Vec::is_empty)
    }

    /// The number of chunks of the last search.
    pub fn chunks(&self) -> usize {
        self.used
    }

    /// The results of a chunk of [`CHUNK`] points.
    pub fn chunk(&self, chunk: usize) -> &[R] {
        &self.chunks[chunk]
    }

    /// The results, in the order of the points.
    pub fn iter(&self) -> impl Iterator<Item = &R> {
        self.chunks[..self.used].iter().flatten()
    }
}
