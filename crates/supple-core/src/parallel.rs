//! Loops over many elements or points on all threads, in chunks of fixed size: the bits of every result are the same for
//! any number of threads, and nothing is allocated once buffers have grown.

use std::ops::Range;

use rayon::prelude::*;

/// Elements handled by one task; fixed, so that sums do not depend on the number of threads.
pub const CHUNK: usize = 2048;

/// The sum of `term` over `count` elements.
pub fn sum(count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    fold(count, CHUNK, 0.0, |range| range.map(&term).sum(), |a, b| a + b)
}

/// What `part` gives for every chunk of `0..count`, joined pairwise in a tree whose shape depends on `count` alone.
pub fn fold<T: Send>(
    count: usize,
    chunk: usize,
    empty: T,
    part: impl Fn(Range<usize>) -> T + Sync,
    join: impl Fn(T, T) -> T + Sync,
) -> T {
    match count.div_ceil(chunk) {
        0 => empty,
        chunks => branch(0..chunks, &|c| part(c * chunk..count.min((c + 1) * chunk)), &join),
    }
}

fn branch<T: Send>(
    chunks: Range<usize>,
    part: &(impl Fn(usize) -> T + Sync),
    join: &(impl Fn(T, T) -> T + Sync),
) -> T {
    if chunks.len() == 1 {
        return part(chunks.start);
    }
    let middle = chunks.start + chunks.len() / 2;
    let (low, high) =
        rayon::join(|| branch(chunks.start..middle, part, join), || branch(middle..chunks.end, part, join));
    join(low, high)
}

/// What was found at some of many points, in their order. Points without anything cost no memory, and what is found again
/// and again needs no new one.
#[derive(Debug, Clone)]
pub struct Found<R> {
    chunks: Vec<Vec<R>>,
    /// How many of them the last look needed; others keep their room.
    used: usize,
}

impl<R> Default for Found<R> {
    fn default() -> Self {
        Self { chunks: Vec::new(), used: 0 }
    }
}

impl<R: Send> Found<R> {
    /// Looks at `count` points anew: `look` puts what it finds at one of them at the end of a list.
    pub fn look(&mut self, count: usize, look: impl Fn(usize, &mut Vec<R>) + Sync) {
        self.used = count.div_ceil(CHUNK);
        if self.chunks.len() < self.used {
            self.chunks.resize_with(self.used, Vec::new);
        }
        self.chunks[..self.used].par_iter_mut().enumerate().for_each(|(c, found)| {
            found.clear();
            for i in c * CHUNK..count.min((c + 1) * CHUNK) {
                let before = found.len();
                look(i, found);
                // Where something is found, the next look may find it at all points, and is to need no more room.
                if before == 0 && !found.is_empty() {
                    found.reserve(CHUNK);
                }
            }
        });
    }

    /// Fills a list for each of some parts anew: `fill` puts what it finds in one of them at the end of its list.
    pub fn fill<P: Sync>(&mut self, parts: &[P], fill: impl Fn(&P, &mut Vec<R>) + Sync) {
        self.used = parts.len();
        if self.chunks.len() < self.used {
            self.chunks.resize_with(self.used, Vec::new);
        }
        self.chunks[..self.used].par_iter_mut().zip(parts).for_each(|(found, part)| {
            found.clear();
            fill(part, found);
        });
    }

    /// How much was found.
    pub fn len(&self) -> usize {
        self.chunks[..self.used].iter().map(Vec::len).sum()
    }

    /// What was found, in order.
    pub fn iter(&self) -> impl Iterator<Item = &R> {
        self.chunks[..self.used].iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    #[test]
    fn sums_are_exact_on_whole_numbers_and_the_same_for_any_number_of_threads() {
        for count in [0, 1, CHUNK, CHUNK + 1, 7 * CHUNK + 5] {
            let whole = (count * count.saturating_sub(1) / 2) as f64;
            assert_eq!(sum(count, |i| i as f64), whole);
            let rounded = |threads| in_pool(threads, || sum(count, |i| (i as f64).sin() * 1e3).to_bits());
            assert_eq!(rounded(1), rounded(2));
            assert_eq!(rounded(1), rounded(3));
        }
    }

    #[test]
    fn what_is_found_comes_in_order_and_only_once() {
        let mut found = Found::default();
        for (count, step) in [(5 * CHUNK + 3, 7), (CHUNK, 11), (0, 1)] {
            in_pool(3, || {
                found.look(count, |i, list| {
                    if i % step == 0 {
                        list.extend([i, i]);
                    }
                });
            });
            let expected: Vec<usize> = (0..count).step_by(step).flat_map(|i| [i, i]).collect();
            assert!(found.iter().copied().eq(expected));
            let mut tens = Found::default();
            tens.fill(&[3, 0, 2], |part, list: &mut Vec<usize>| list.extend(10 * part..10 * part + part));
            assert!(tens.iter().copied().eq([30, 31, 32, 20, 21]));
        }
    }
}
