//! Wind on particles: one step of Newton's method per particle, since drag may be too stiff for an
//! explicit force. Triangles first, then every particle gathers its forces, on all threads with bit-identical results.

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::energy::wind::Wind;
use crate::solvers::hpbd::positions::TASK;

/// Which triangles act on which particle, once there is wind.
#[derive(Debug, Default)]
pub(crate) struct Drag {
    /// The triangles of every particle with its weight in their centroids, and where they start.
    around: Vec<(u32, f64)>,
    first: Vec<u32>,
    /// The force on each triangle in newtons, and its derivative with respect to the centroid.
    pulls: Vec<(DVec3, DMat3)>,
}

impl Drag {
    fn new(wind: &Wind, particles: usize) -> Self {
        let triangles =
            || (0..wind.len()).flat_map(|t| wind.weights(t).iter().map(move |&(p, a)| (t as u32, p, a)));
        let mut first = vec![0; particles + 1];
        triangles().for_each(|(_, particle, _)| first[particle as usize + 1] += 1);
        (0..particles).for_each(|p| first[p + 1] += first[p]);
        let mut next = first.clone();
        let mut around = vec![(0, 0.0); first[particles] as usize];
        for (triangle, particle, part) in triangles() {
            around[next[particle as usize] as usize] = (triangle, part);
            next[particle as usize] += 1;
        }
        Self { around, first, pulls: Vec::new() }
    }

    /// Moves predicted particles of these masses in kg by the wind of a step of `dt` seconds.
    pub(crate) fn add(&mut self, wind: &Wind, masses: &[f64], dt: f64, predicted: &mut [DVec3]) {
        if wind.is_still() {
            return;
        }
        if self.first.len() != masses.len() + 1 {
            *self = Self::new(wind, masses.len());
        }
        self.pulls.resize(wind.len(), Default::default());
        let at: &[DVec3] = predicted;
        let triangles = self.pulls.par_iter_mut().enumerate().with_min_len(TASK);
        triangles.for_each(|(t, pull)| *pull = wind.pull(t, at));
        predicted.par_iter_mut().enumerate().with_min_len(TASK).for_each(|(i, predicted)| {
            let inertia = masses[i] / (dt * dt);
            if inertia > 0.0 {
                let mut stiffness = DMat3::from_diagonal(DVec3::splat(inertia));
                let mut force = DVec3::ZERO;
                for &(t, part) in &self.around[self.first[i] as usize..self.first[i + 1] as usize] {
                    let (pull, change) = self.pulls[t as usize];
                    force += part * pull;
                    stiffness += change * (part * part);
                }
                *predicted += stiffness.inverse() * force;
            }
        });
    }
}
