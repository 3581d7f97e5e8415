//! Particle positions that several threads correct at once, each its own: the schedule of a sweep ensures that no two
//! tasks access the same particle, and relaxed atomics express this at the cost of plain loads and stores.
//! A particle's inverse mass is stored next to its position: a projection reads both.

#![allow(
    unsafe_code,
    reason = "four atomics are loaded and stored at once; see `distance_sweep` for why that is sound"
)]

use std::sync::atomic::{AtomicU64, Ordering};

use glam::DVec3;
use supple_core::parallel::prelude::*;

/// Particles per task.
pub(crate) const TASK: usize = 8192;

/// One number, with the layout of an `f64`.
#[derive(Debug, Default)]
#[repr(transparent)]
struct Shared(AtomicU64);

impl Shared {
    #[inline(always)]
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

/// A position and its inverse mass, within one cache line.
#[derive(Debug, Default)]
#[repr(C, align(32))]
struct Particle([Shared; 4]);

/// Positions in metres with inverse masses in 1/kg; 0 for fixed particles.
#[derive(Debug, Default)]
pub(crate) struct Positions(Vec<Particle>);

impl Positions {
    pub(crate) fn copy_from(&mut self, positions: &[DVec3], weights: &[f64]) {
        self.0.resize_with(positions.len(), Default::default);
        let both = positions.par_iter().zip(weights).with_min_len(TASK);
        self.0.par_iter().zip(both).for_each(|(Particle([x, y, z, w]), (position, weight))| {
            x.set(position.x);
            y.set(position.y);
            z.set(position.z);
            w.set(*weight);
        });
    }

    pub(crate) fn copy_to(&self, positions: &mut [DVec3]) {
        positions.par_iter_mut().enumerate().with_min_len(TASK).for_each(|(i, p)| *p = self.get(i));
    }

    #[inline(always)]
    pub(crate) fn get(&self, particle: usize) -> DVec3 {
        let Particle([x, y, z, _]) = &self.0[particle];
        DVec3::new(x.get(), y.get(), z.get())
    }

    /// The inverse mass.
    #[inline(always)]
    pub(crate) fn weight(&self, particle: usize) -> f64 {
        self.0[particle].0[3].get()
    }

    #[inline(always)]
    pub(crate) fn set(&self, particle: usize, position: DVec3) {
        let Particle([x, y, z, _]) = &self.0[particle];
        x.set(position.x);
        y.set(position.y);
        z.set(position.z);
    }

    /// Position and inverse mass at once: atomics are loaded one by one and go through the stack before they are lanes.
    ///
    /// # Safety
    /// No other thread may write this particle meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn load(&self, particle: usize) -> [f64; 4] {
        // SAFETY: an atomic has the layout of its number, the particle is in bounds, and the caller ensures that no thread writes it.
        unsafe { *(&raw const self.0[particle]).cast::<[f64; 4]>() }
    }

    /// Writes the data that [`Self::load`] reads at once, so that the next load need not wait for parts of it.
    ///
    /// # Safety
    /// No other thread may read or write this particle meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, particle: usize, position_and_weight: [f64; 4]) {
        let place: *const Particle = &raw const self.0[particle];
        // SAFETY: as in `load`; atomics may be written behind a shared reference.
        unsafe { *place.cast_mut().cast::<[f64; 4]>() = position_and_weight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_and_stored_at_once_is_what_single_numbers_say() {
        let mut positions = Positions::default();
        positions.copy_from(&[DVec3::X, DVec3::new(1.0, -2.0, 3.5)], &[0.0, 7.0]);
        // SAFETY: one thread.
        unsafe {
            assert_eq!(positions.load(1), [1.0, -2.0, 3.5, 7.0]);
            positions.store(0, [4.0, 5.0, 6.0, 0.25]);
        }
        assert_eq!((positions.get(0), positions.weight(0)), (DVec3::new(4.0, 5.0, 6.0), 0.25));
        assert_eq!((positions.get(1), positions.weight(1)), (DVec3::new(1.0, -2.0, 3.5), 7.0));
    }
}
