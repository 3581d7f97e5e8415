//! Single points of pins: where they are pinned, and releasing one of them.

use glam::DVec3;

use crate::simulation::{ActivePin, PinId, Simulation, unknown};
use supple_core::Error;

/// A currently pinned point.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PinnedPoint {
    /// Its pin.
    pub pin: PinId,
    /// Which of the pin's points it is.
    pub index: usize,
    /// Index of its body.
    pub body: usize,
    /// Its position in the body's initial shape, in metres, as seen by selections of the scene.
    pub start: DVec3,
    /// Its target position, in metres.
    pub target: DVec3,
}

impl Simulation {
    /// Every currently pinned point, pin by pin.
    pub fn pinned_points(&self) -> impl Iterator<Item = PinnedPoint> {
        let time = self.scene_state.time;
        // An unreadable driver is reported by the next step.
        let posed = move |pin| Some((pin, ActivePin::pose_at(pin, &self.scene_state, time).ok()?));
        let held = self.scene_state.pins.iter().filter(move |pin| pin.is_active_at(time));
        held.filter_map(posed).flat_map(move |(pin, pose)| {
            let x = &self.scene_state.bodies[pin.body].start;
            pin.points.iter().enumerate().map(move |(index, point)| PinnedPoint {
                pin: pin.id,
                index,
                body: pin.body,
                start: point.weights.iter().map(|&(v, w)| w * x[v as usize]).sum(),
                target: pose.target(point),
            })
        })
    }

    /// Releases one point of a pin; a pin without points is removed.
    pub fn unpin_point(&mut self, pin: PinId, index: usize) -> Result<(), Error> {
        let found =
            self.scene_state.pins.iter_mut().find(|other| other.id == pin).ok_or_else(|| unknown("pin"))?;
        if index >= found.points.len() {
            return Err(Error::Invalid(format!(
                "a pin of {} points has none with number {index}",
                found.points.len()
            )));
        }
        found.points.remove(index);
        if found.points.is_empty() {
            self.unpin(pin)?;
        }
        Ok(())
    }
}
