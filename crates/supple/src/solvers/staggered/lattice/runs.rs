//! Vectors of the unknowns alone, without the rest of the lattice's box, of which GMRES stores many.

use std::ops::Range;

use supple_core::parallel::prelude::*;

/// Unknowns processed by one task, about.
const PART: usize = 1 << 14;

/// The runs of unknowns in the four fields.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    runs: Vec<Range<usize>>,
    /// Runs per task, and their number of unknowns.
    parts: Vec<(Range<usize>, usize)>,
    unknowns: usize,
}

impl Runs {
    pub(crate) fn new(runs: impl Iterator<Item = Range<usize>>) -> Self {
        let mut all = Self { runs: runs.collect(), ..Self::default() };
        for (n, run) in all.runs.iter().enumerate() {
            all.unknowns += run.len();
            match all.parts.last_mut() {
                Some(last) if last.1 < PART => {
                    last.0.end = n + 1;
                    last.1 += run.len();
                }
                _ => all.parts.push((n..n + 1, run.len())),
            }
        }
        all
    }

    /// Number of unknowns.
    pub(crate) fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// The unknowns of the fields, one run after the other.
    pub(crate) fn pack<I: Copy + Sync, O: Send>(
        &self,
        fields: &[I],
        out: &mut [O],
        of: impl Fn(I) -> O + Sync,
    ) {
        let mut rest = out;
        let mut tasks = Vec::with_capacity(self.parts.len());
        for (runs, len) in &self.parts {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(*len);
            rest = after;
            tasks.push((runs.clone(), part));
        }
        tasks.into_par_iter().for_each(|(runs, mut part)| {
            for run in &self.runs[runs] {
                let (own, after) = std::mem::take(&mut part).split_at_mut(run.len());
                own.iter_mut().zip(&fields[run.clone()]).for_each(|(out, value)| *out = of(*value));
                part = after;
            }
        });
    }

    /// Calls `set` with every unknown of the fields and its packed value.
    pub(crate) fn unpack<I: Copy, O>(&self, packed: &[I], fields: &mut [O], mut set: impl FnMut(&mut O, I)) {
        let mut rest = packed;
        for run in &self.runs {
            let (own, after) = rest.split_at(run.len());
            fields[run.clone()].iter_mut().zip(own).for_each(|(out, value)| set(out, *value));
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back_to_its_place() {
        let runs = Runs::new([2..5, 7..8, 20..60_000, 60_002..90_000].into_iter());
        let fields: Vec<i32> = (0..100_000).collect();
        let mut packed = vec![0; runs.unknowns()];
        runs.pack(&fields, &mut packed, |value| value);
        assert_eq!((packed[2], packed[3], packed[4], packed.last()), (4, 7, 20, Some(&89_999)));
        let mut back = vec![0; fields.len()];
        runs.unpack(&packed, &mut back, |out, value| *out = value);
        for (n, value) in back.iter().enumerate() {
            let inside = [2..5, 7..8, 20..60_000, 60_002..90_000].iter().any(|run| run.contains(&n));
            assert_eq!(*value, if inside { n as i32 } else { 0 });
        }
    }
}
