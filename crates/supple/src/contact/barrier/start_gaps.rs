//! Bodies that start nearer to each other than the thickness would be thrown apart by it. So the activation distance of such a body
//! towards others is initially the smallest distance at the start, and grows from there to the thickness.

use glam::DVec3;

use super::ContactSystem;

/// How long it takes, in seconds, until bodies that start in contact have the whole thickness between them: at a thickness of a
/// millimetre they separate at one centimetre per second, from which they would fly half a hundredth of a millimetre high.
const WIDENING: f64 = 0.1;

/// For each body its distance to others at its start.
#[derive(Debug, Clone, Default)]
pub(crate) struct StartGaps(Vec<StartGap>);

#[derive(Debug, Clone, Copy)]
struct StartGap {
    /// When it started, in seconds.
    time: f64,
    /// Its smallest distance from another body then, in metres; infinite if none was nearer than the thickness.
    distance: f64,
}

impl StartGap {
    /// How near others come before they are repelled.
    fn reach(&self, time: f64, thickness: f64) -> f64 {
        let widened = thickness * (time - self.time).max(0.0) / WIDENING;
        (self.distance + widened).min(thickness)
    }
}

impl StartGaps {
    /// The activation distance of every body at a time.
    pub(crate) fn reaches(&self, time: f64, thickness: f64) -> impl Iterator<Item = f64> + Clone {
        self.0.iter().map(move |gap| gap.reach(time, thickness))
    }

    /// Two numbers per body.
    pub(crate) fn saved(&self) -> Vec<f64> {
        self.0.iter().flat_map(|gap| [gap.time, gap.distance]).collect()
    }

    /// The count of saved numbers.
    pub(crate) fn saved_len(&self) -> usize {
        2 * self.0.len()
    }

    /// Restores saved numbers.
    pub(crate) fn restore(&mut self, saved: &[f64]) {
        let pairs = saved.as_chunks::<2>().0;
        self.0.iter_mut().zip(pairs).for_each(|(gap, &[time, distance])| *gap = StartGap { time, distance });
    }
}

impl ContactSystem {
    /// Measures how near bodies that start at a time, in seconds, are to others; existing bodies keep their values:
    /// `old_index[b]` is the previous index of body `b`.
    pub fn begin_bodies(&mut self, before: &Self, x: &[DVec3], time: f64, old_index: &[Option<usize>]) {
        let new = StartGap { time, distance: f64::INFINITY };
        let known = |old: &Option<usize>| old.and_then(|old| before.start_gaps.0.get(old).copied());
        let mut gaps: Vec<StartGap> = old_index.iter().map(|old| known(old).unwrap_or(new)).collect();
        self.set_reaches(&StartGaps::default(), time);
        let found = self.normal_contacts(x);
        for contact in found.contacts().filter(|contact| contact.distance > 0.0) {
            let bodies = [0, 3].map(|side| self.surfaces().body(contact.points[side]) as usize);
            let is_between = bodies[0] != bodies[1] || contact.kind.solid().is_some();
            let is_new = |body: &usize| old_index.get(*body).is_some_and(Option::is_none);
            for body in bodies.into_iter().filter(|body| is_between && is_new(body)) {
                gaps[body].distance = gaps[body].distance.min(contact.distance);
            }
        }
        drop(found);
        self.start_gaps = StartGaps(gaps);
    }
}
