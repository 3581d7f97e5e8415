//! The two functions through which all loops call rayon. Neither is generic inside, so rayon's own code is
//! instantiated once for each.

use std::ops::Range;

/// Calls `body` on pieces of `0..count` that are disjoint, cover it, and are at least `min_len` long (unless `count` is
/// less), on all threads of the current pool. Does not call it for `count = 0`.
///
/// Splits like rayon's bridge: into as many pieces as there are threads, and into as many again when a piece was
/// stolen, since threads are idle then.
pub fn drive(count: usize, min_len: usize, body: &(dyn Fn(Range<usize>) + Sync)) {
    if count == 0 {
        return;
    }
    let min_len = min_len.max(1);
    if count / 2 < min_len {
        return body(0..count);
    }
    LoopTask { range: 0..count, min_len, splits: rayon::current_num_threads(), body }.run(false);
}

/// A piece of a loop that may still be split.
struct LoopTask<'a> {
    range: Range<usize>,
    min_len: usize,
    /// How often this piece may be split, as a power of two.
    splits: usize,
    body: &'a (dyn Fn(Range<usize>) + Sync),
}

impl LoopTask<'_> {
    fn run(mut self, stolen: bool) {
        if !self.may_split(stolen) {
            return (self.body)(self.range);
        }
        let middle = self.range.start + self.range.len() / 2;
        let high = LoopTask { range: middle..self.range.end, ..self };
        let low = LoopTask { range: self.range.start..middle, ..self };
        rayon::join_context(|context| low.run(context.migrated()), |context| high.run(context.migrated()));
    }

    fn may_split(&mut self, stolen: bool) -> bool {
        if self.range.len() / 2 < self.min_len {
            return false;
        }
        let may = stolen || self.splits > 0;
        self.splits /= 2;
        if stolen {
            self.splits = self.splits.max(rayon::current_num_threads());
        }
        may
    }
}

/// Runs both closures, possibly at the same time, and returns both results.
///
/// # Panics
/// If one of them does.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut a, mut b) = (Some(a), Some(b));
    let (mut of_a, mut of_b) = (None, None);
    run_both(&mut || of_a = a.take().map(|a| a()), &mut || of_b = b.take().map(|b| b()));
    match (of_a, of_b) {
        (Some(a), Some(b)) => (a, b),
        _ => unreachable!("a join that returns has run both closures"),
    }
}

#[inline(never)]
fn run_both(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    rayon::join(a, b);
}
