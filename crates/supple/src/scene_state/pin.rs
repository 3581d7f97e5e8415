//! Pins as points: when they become active, and where.
//!
//! A pin that becomes active after the start captures the current positions of its points, at the start of the first step
//! from that moment on. These positions are part of the state, so that a resumed run keeps the same targets.

use glam::DVec3;
use xxhash_rust::xxh3::Xxh3;

use super::Anchor;
use super::driver::PinDriver;
use supple_core::Error;
use supple_core::state::{StateReader, StateWriter};

/// A pin of a running simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PinId(pub(crate) u32);

/// A pinned point.
#[derive(Debug, Clone, PartialEq)]
pub struct PinPoint {
    /// The point as unknowns of its body and weights.
    pub weights: Vec<(u32, f64)>,
    /// Its position when the pin became active, in metres.
    pub start: DVec3,
    /// Its anchor on the driver, if that deforms.
    pub(crate) anchor: Option<Anchor>,
}

impl PinPoint {
    /// A point at a position.
    pub(crate) fn new(weights: Vec<(u32, f64)>, start: DVec3) -> Self {
        Self { weights, start, anchor: None }
    }
}

/// A pin as points.
#[derive(Debug, Clone)]
pub struct ActivePin {
    /// Its handle.
    pub id: PinId,
    /// Index of its body.
    pub body: usize,
    /// The pinned points.
    pub points: Vec<PinPoint>,
    /// Stiffness in N/m per point; `None` for an exact constraint.
    pub stiffness: Option<f64>,
    /// Its driver; without it points stay where they were when it became active.
    pub(crate) driver: Option<PinDriver>,
    /// The interval in which it is active, in seconds.
    pub during: Option<[f64; 2]>,
    /// When it became active, in seconds; `None` before that.
    pub active_since: Option<f64>,
    /// User displacement, in metres.
    pub offset: DVec3,
}

/// Times are sums of steps: equal times may differ by this many seconds of rounding.
const ROUNDING: f64 = 1e-9;

impl ActivePin {
    /// Whether it is active at the end of a step.
    pub fn is_active_at(&self, time: f64) -> bool {
        self.active_since.is_some() && self.during.is_none_or(|[_, to]| time <= to + ROUNDING)
    }

    /// Whether it becomes active with the step that starts at `time`.
    pub(crate) fn activates_at(&self, time: f64) -> bool {
        self.active_since.is_none() && self.may_be_active(time)
    }

    fn may_be_active(&self, time: f64) -> bool {
        self.during.is_none_or(|[from, _]| from <= time + ROUNDING)
    }

    /// Captures the current positions of its points: `x` are the unknowns of its body.
    pub(crate) fn begin(&mut self, time: f64, x: &[DVec3]) {
        self.active_since = Some(time);
        for point in &mut self.points {
            point.start = point.weights.iter().map(|&(v, w)| w * x[v as usize]).sum();
        }
    }

    /// A hash of its points, by the body's name and the points: unchanged if the scene changed elsewhere.
    pub(crate) fn key(&self, body: &str) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(body.as_bytes());
        for point in &self.points {
            hash.update(&(point.weights.len() as u64).to_le_bytes());
            for (unknown, weight) in &point.weights {
                hash.update(&unknown.to_le_bytes());
                hash.update(&weight.to_le_bytes());
            }
        }
        hash.digest()
    }
}

/// When and where a pin of a saved state became active.
#[derive(Debug)]
pub(crate) struct SavedPin {
    key: u64,
    active_since: Option<f64>,
    starts: Vec<DVec3>,
}

impl SavedPin {
    /// Writes the state of pins; `keys` are theirs, in the same order.
    pub(crate) fn save_all(pins: &[ActivePin], keys: &[u64], state: &mut StateWriter) {
        state.whole(pins.len() as u64);
        for (pin, key) in pins.iter().zip(keys) {
            state.whole(*key);
            state.whole(u64::from(pin.active_since.is_some()));
            state.number(pin.active_since.unwrap_or(0.0));
            state.vectors(&pin.points.iter().map(|point| point.start).collect::<Vec<_>>());
        }
    }

    /// Reads the written state.
    pub(crate) fn read_all(state: &mut StateReader<'_>) -> Result<Vec<Self>, Error> {
        let count = state.whole()?;
        // Every pin is read before space for the next one is allocated: a wrong count ends with the bytes.
        let mut pins = Vec::new();
        for _ in 0..count {
            let (key, is_active, active_since) = (state.whole()?, state.whole()? != 0, state.number()?);
            pins.push(Self { key, active_since: is_active.then_some(active_since), starts: state.list()? });
        }
        Ok(pins)
    }

    /// Restores the state of pins. Those that are not in the state, since the scene changed or they were added
    /// later, are not active yet: they capture their points' positions when the next step starts.
    pub(crate) fn restore_all(mut saved: Vec<Self>, pins: &mut [ActivePin], keys: &[u64]) {
        for (pin, key) in pins.iter_mut().zip(keys) {
            pin.active_since = None;
            let same = |other: &Self| other.key == *key && other.starts.len() == pin.points.len();
            let Some(found) = saved.iter().position(same) else { continue };
            let found = saved.remove(found);
            pin.active_since = found.active_since.filter(|active_since| pin.may_be_active(*active_since));
            for (point, start) in pin.points.iter_mut().zip(found.starts) {
                point.start = start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Body, Keyframe, Motion, Scene};
    use crate::scene_state::SceneState;
    use supple_linear::Simd;

    fn target(pin: &ActivePin, time: f64) -> DVec3 {
        let scene =
            Scene::builder().body(Body::cloth("cloth").size([1.0, 1.0]).vertices([2, 2])).build().unwrap();
        let scene_state = SceneState::new(&scene, Simd::Baseline, &|_| Ok(())).unwrap();
        pin.pose_at(&scene_state, time).unwrap().target(&pin.points[0])
    }

    fn motion_of(pin: &ActivePin) -> &Motion {
        let Some(PinDriver::Motion(motion)) = &pin.driver else { panic!("it has keyframes") };
        motion
    }

    fn lifted_pin(during: Option<[f64; 2]>) -> ActivePin {
        let motion = Motion {
            pivot: DVec3::X,
            keyframes: vec![
                Keyframe::at(0.0).translate([0.0, 0.5, 0.0]).rotate([0.0, 0.0, 10.0]).scale(2.0),
                Keyframe::at(4.0).translate([0.0, 4.5, 0.0]).rotate([0.0, 0.0, 90.0]).scale(1.0),
            ],
        };
        ActivePin {
            id: PinId(1),
            body: 0,
            points: vec![PinPoint::new(vec![(0, 0.5), (1, 0.5)], DVec3::ZERO)],
            stiffness: None,
            driver: Some(PinDriver::Motion(motion)),
            during,
            active_since: None,
            offset: DVec3::ZERO,
        }
    }

    #[test]
    fn a_later_pin_starts_where_its_points_are_and_moves_by_the_change_of_its_pose() {
        let mut pin = lifted_pin(Some([1.0, 3.0]));
        assert!(!pin.activates_at(0.9) && pin.activates_at(1.0) && pin.activates_at(1.0 - 1e-12));
        pin.begin(1.0, &[DVec3::new(2.0, 3.0, 4.0), DVec3::new(4.0, 5.0, 6.0)]);
        let held = DVec3::new(3.0, 4.0, 5.0);
        assert_eq!(pin.points[0].start, held);
        assert!(target(&pin, 1.0).distance(held) < 1e-14);
        let motion = motion_of(&pin);
        let expected = motion.pose(2.5).apply(motion.pose(1.0).apply_inverse(held));
        assert_eq!(target(&pin, 2.5), expected);
        assert!(pin.is_active_at(3.0) && !pin.is_active_at(3.1));
    }

    #[test]
    fn a_pin_from_the_start_has_the_pose_of_its_motion() {
        let mut pin = lifted_pin(None);
        pin.active_since = Some(0.0);
        assert_eq!(target(&pin, 2.0), motion_of(&pin).pose(2.0).apply(DVec3::ZERO));
    }
}
