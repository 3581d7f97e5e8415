//! The order in which a sweep goes through its constraints: chunks of neighbours, coloured such that chunks of one colour have
//! no particle in common. Within a chunk the constraints are projected one after the other, as in the paper; chunks of one
//! colour at the same time. Order and colours follow from the mesh alone, so the bits of a sweep do not depend on threads.

use std::ops::Range;

use glam::DVec3;
use rayon::prelude::*;

use super::constraint::{Constraint, Step};
use super::positions::Shared;
use crate::linear::morton_order;

/// Constraints in a chunk.
const CHUNK: usize = 256;
/// Colours that run in parallel; what finds none free comes last, chunk after chunk.
const COLOURS: u32 = 63;

/// Which way a sweep goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// Constraints of one kind in the order of their sweep, with their multipliers.
#[derive(Debug)]
pub(super) struct Sweep<C, const K: usize> {
    pub(super) constraints: Vec<C>,
    multipliers: Vec<Shared>,
    /// The constraints of every chunk.
    chunks: Vec<Range<usize>>,
    /// The chunks of every colour.
    colours: Vec<Range<usize>>,
}

impl<C, const K: usize> Default for Sweep<C, K> {
    fn default() -> Self {
        Self { constraints: Vec::new(), multipliers: Vec::new(), chunks: Vec::new(), colours: Vec::new() }
    }
}

impl<C: Constraint<K> + Copy + Send, const K: usize> Sweep<C, K> {
    /// Orders constraints between particles that lie at `positions`; gives the old place of each as well.
    pub(super) fn new(constraints: &[C], positions: &[DVec3]) -> (Self, Vec<u32>) {
        let middle =
            |c: &C| c.particles().map(|i| positions[i as usize]).into_iter().sum::<DVec3>() / K as f64;
        let middles: Vec<DVec3> = constraints.iter().map(middle).collect();
        let near = morton_order(&middles);
        let chunks: Vec<&[u32]> = near.chunks(CHUNK).collect();
        let particles = |chunk: &[u32]| {
            let of = |&c: &u32| constraints[c as usize].particles();
            chunk.iter().flat_map(of).collect::<Vec<u32>>()
        };
        let colours = colour_chunks(chunks.iter().map(|chunk| particles(chunk)), positions.len());
        let mut order: Vec<usize> = (0..chunks.len()).collect();
        order.sort_by_key(|&chunk| colours[chunk]);
        let mut sweep = Self::default();
        let mut places = Vec::with_capacity(constraints.len());
        for &chunk in &order {
            let first = places.len();
            places.extend_from_slice(chunks[chunk]);
            sweep.chunks.push(first..places.len());
        }
        sweep.constraints = places.iter().map(|&c| constraints[c as usize]).collect();
        sweep.multipliers.resize_with(places.len(), Shared::default);
        sweep.colours = ranges_of_equals(order.iter().map(|&chunk| colours[chunk]));
        (sweep, places)
    }

    /// Forgets the multipliers of the last step.
    pub(super) fn begin_step(&mut self) {
        self.multipliers.iter().for_each(|multiplier| multiplier.set(0.0));
    }

    pub(super) fn multiplier(&self, constraint: usize) -> f64 {
        self.multipliers[constraint].get()
    }

    /// Projects every constraint once.
    pub(super) fn run(&self, step: &Step<'_>, direction: Direction) {
        let colours = self.colours.len();
        for k in 0..colours {
            let colour = if direction == Direction::Forward { k } else { colours - 1 - k };
            let chunks = &self.chunks[self.colours[colour].clone()];
            if chunks.len() == 1 {
                self.run_chunk(step, chunks[0].clone(), direction);
            } else {
                chunks.par_iter().for_each(|chunk| self.run_chunk(step, chunk.clone(), direction));
            }
        }
    }

    fn run_chunk(&self, step: &Step<'_>, chunk: Range<usize>, direction: Direction) {
        let project = |c: usize| step.project(&self.constraints[c], &self.multipliers[c]);
        match direction {
            Direction::Forward => chunk.for_each(project),
            Direction::Backward => chunk.rev().for_each(project),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        (size_of::<C>() + 8) * self.constraints.len() + 16 * self.chunks.len()
    }
}

/// A colour for every chunk, the smallest that no earlier chunk with a particle in common has.
fn colour_chunks(chunks: impl Iterator<Item = Vec<u32>>, particles: usize) -> Vec<u32> {
    let mut taken = vec![0u64; particles];
    let mut alone = COLOURS;
    let colour = |chunk: Vec<u32>| {
        let used = chunk.iter().fold(0, |used, &p| used | taken[p as usize]);
        let free = used.trailing_ones();
        if free < COLOURS {
            chunk.iter().for_each(|&p| taken[p as usize] |= 1 << free);
            return free;
        }
        alone += 1;
        alone
    };
    chunks.map(colour).collect()
}

/// Where runs of equal values begin and end.
fn ranges_of_equals(values: impl Iterator<Item = u32>) -> Vec<Range<usize>> {
    let mut ranges: Vec<(u32, Range<usize>)> = Vec::new();
    for (i, value) in values.enumerate() {
        match ranges.last_mut() {
            Some((last, range)) if *last == value => range.end = i + 1,
            _ => ranges.push((value, i..i + 1)),
        }
    }
    ranges.into_iter().map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests {
    use super::super::constraint::{Acts, Distance};
    use super::*;

    fn springs(pairs: &[[u32; 2]]) -> Vec<Distance> {
        let spring =
            |&ends: &[u32; 2]| Distance { ends, rest: 1.0, compliance: 0.0, damping: 0.0, acts: Acts::Both };
        pairs.iter().map(spring).collect()
    }

    #[test]
    fn chunks_of_one_colour_have_no_particle_in_common_and_nothing_is_lost() {
        let n = 60u32;
        let at = |i: u32, j: u32| i * n + j;
        let mut pairs = Vec::new();
        for i in 0..n - 1 {
            for j in 0..n - 1 {
                pairs.extend([
                    [at(i, j), at(i + 1, j)],
                    [at(i, j), at(i, j + 1)],
                    [at(i, j), at(i + 1, j + 1)],
                ]);
            }
        }
        // A hub, which every chunk has.
        pairs.extend((1..n * n).map(|i| [0, i]));
        let positions: Vec<DVec3> =
            (0..n * n).map(|v| DVec3::new(f64::from(v / n), 0.0, f64::from(v % n))).collect();
        let (sweep, places) = Sweep::new(&springs(&pairs), &positions);
        let mut sorted = places.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().zip(0..).all(|(a, b)| *a == b) && sorted.len() == pairs.len());
        for colour in &sweep.colours {
            let mut seen = vec![usize::MAX; positions.len()];
            for (chunk, range) in sweep.chunks[colour.clone()].iter().enumerate() {
                for spring in &sweep.constraints[range.clone()] {
                    for &p in &spring.ends {
                        assert!(seen[p as usize] == usize::MAX || seen[p as usize] == chunk);
                        seen[p as usize] = chunk;
                    }
                }
            }
        }
    }
}
