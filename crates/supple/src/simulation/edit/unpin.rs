//! Single points of pins: where they are held, and letting one of them go.

use glam::DVec3;

use crate::simulation::{ActivePin, PinId, Simulation, unknown};
use supple_core::Error;

/// A point that is held now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PinnedPoint {
    /// Its pin.
    pub pin: PinId,
    /// Which of the pin's points it is.
    pub index: usize,
    /// Index of its body.
    pub body: usize,
    /// Where its body's shape has it at the start, in metres: what selections of the scene see.
    pub start: DVec3,
    /// Where it is held, in metres.
    pub target: DVec3,
}

impl Simulation {
    /// Every point that is held now, pin by pin.
    pub fn pinned_points(&self) -> impl Iterator<Item = PinnedPoint> {
        let time = self.setup.time;
        // What cannot be read any more is an error of the next step.
        let posed = move |pin| Some((pin, ActivePin::pose_at(pin, &self.setup, time).ok()?));
        let held = self.setup.pins.iter().filter(move |pin| pin.holds_at(time));
        held.filter_map(posed).flat_map(move |(pin, pose)| {
            let x = &self.setup.bodies[pin.body].start;
            pin.points.iter().enumerate().map(move |(index, point)| PinnedPoint {
                pin: pin.id,
                index,
                body: pin.body,
                start: point.weights.iter().map(|&(v, w)| w * x[v as usize]).sum(),
                target: pose.target(point),
            })
        })
    }

    /// Lets one point of a pin go; a pin without points is removed.
    pub fn unpin_point(&mut self, pin: PinId, index: usize) -> Result<(), Error> {
        let found = self.setup.pins.iter_mut().find(|other| other.id == pin).ok_or_else(|| unknown("pin"))?;
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
