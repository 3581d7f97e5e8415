//! Particle positions that several threads correct at once, each its own: the schedule of a sweep sees to it that no two
//! tasks touch the same particle, and relaxed atomics say so to the compiler at the price of plain loads and stores.
//! A particle's inverse mass stands beside its position: a projection reads both.

use std::sync::atomic::{AtomicU64, Ordering};

use glam::DVec3;
use rayon::prelude::*;

/// Particles of a task of its own.
pub(super) const TASK: usize = 8192;

/// One number.
#[derive(Debug, Default)]
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

/// Positions in metres with inverse masses in 1/kg; 0 for what is held.
#[derive(Debug, Default)]
pub(super) struct Positions(Vec<[Shared; 4]>);

impl Positions {
    pub(super) fn copy_from(&mut self, positions: &[DVec3], weights: &[f64]) {
        self.0.resize_with(positions.len(), Default::default);
        let both = positions.par_iter().zip(weights).with_min_len(TASK);
        self.0.par_iter().zip(both).for_each(|([x, y, z, w], (position, weight))| {
            x.set(position.x);
            y.set(position.y);
            z.set(position.z);
            w.set(*weight);
        });
    }

    pub(super) fn copy_to(&self, positions: &mut [DVec3]) {
        positions.par_iter_mut().enumerate().with_min_len(TASK).for_each(|(i, p)| *p = self.get(i));
    }

    #[inline(always)]
    pub(super) fn get(&self, particle: usize) -> DVec3 {
        let [x, y, z, _] = &self.0[particle];
        DVec3::new(x.get(), y.get(), z.get())
    }

    /// The inverse mass.
    #[inline(always)]
    pub(super) fn weight(&self, particle: usize) -> f64 {
        self.0[particle][3].get()
    }

    #[inline(always)]
    pub(super) fn set(&self, particle: usize, position: DVec3) {
        let [x, y, z, _] = &self.0[particle];
        x.set(position.x);
        y.set(position.y);
        z.set(position.z);
    }
}
