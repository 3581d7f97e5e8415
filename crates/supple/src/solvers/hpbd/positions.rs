//! Particle positions that several threads correct at once, each its own: the schedule of a sweep sees to it that no two
//! tasks touch the same particle, and relaxed atomics say so to the compiler at the price of plain loads and stores.

use std::sync::atomic::{AtomicU64, Ordering};

use glam::DVec3;

/// One number.
#[derive(Debug, Default)]
pub(super) struct Shared(AtomicU64);

impl Shared {
    #[inline]
    pub(super) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

/// Positions in metres.
#[derive(Debug, Default)]
pub(super) struct Positions(Vec<[Shared; 3]>);

impl Positions {
    pub(super) fn copy_from(&mut self, positions: &[DVec3]) {
        self.0.resize_with(positions.len(), Default::default);
        positions.iter().enumerate().for_each(|(i, p)| self.set(i, *p));
    }

    pub(super) fn copy_to(&self, positions: &mut [DVec3]) {
        positions.iter_mut().enumerate().for_each(|(i, p)| *p = self.get(i));
    }

    #[inline]
    pub(super) fn get(&self, particle: usize) -> DVec3 {
        let [x, y, z] = &self.0[particle];
        DVec3::new(x.get(), y.get(), z.get())
    }

    #[inline]
    pub(super) fn set(&self, particle: usize, position: DVec3) {
        let [x, y, z] = &self.0[particle];
        x.set(position.x);
        y.set(position.y);
        z.set(position.z);
    }
}
