//! When the next step or frame is due: at a multiple of real time, or as soon as possible.

use std::time::{Duration, Instant};

use super::pace::Pace;

/// The minimum and maximum speed.
const SPEEDS: [f64; 2] = [0.01, 100.0];
/// Maximum lag before the clock stops catching up.
const PATIENCE: Duration = Duration::from_millis(100);

/// A clock that can be paused.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) is_running: bool,
    /// Speed as a multiple of real time; `None`: as fast as possible.
    pub(super) speed: Option<f64>,
    due: Instant,
    pace: Pace,
}

impl Clock {
    /// A running clock at real-time speed.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { is_running: true, speed: Some(1.0), due: now, pace: Pace::new(now) }
    }

    /// Starts or stops it.
    pub(super) fn run(&mut self, runs: bool) {
        self.is_running = runs;
        self.restart();
    }

    /// Changes its speed; the error states the valid range.
    pub(super) fn set_speed(&mut self, speed: Option<f64>) -> Result<(), String> {
        let [slowest, fastest] = SPEEDS;
        if speed.is_some_and(|speed| !(slowest..=fastest).contains(&speed)) {
            return Err(format!(
                "the speed must be {slowest} to {fastest} times real time, or as fast as possible"
            ));
        }
        self.speed = speed;
        self.restart();
        Ok(())
    }

    /// Waits for nothing from before, and starts a new measurement of the speed.
    fn restart(&mut self) {
        self.due = Instant::now();
        self.pace = Pace::new(self.due);
    }

    /// The achieved speed as a multiple of real time; `None` while it is stopped or not yet known.
    pub(super) fn rate(&self) -> Option<f64> {
        self.pace.rate().filter(|_| self.is_running)
    }

    /// How long to wait until the next step or frame is due.
    pub(super) fn wait(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Records that this many seconds of simulated time have passed.
    pub(super) fn advance(&mut self, seconds: f64) {
        let now = Instant::now();
        self.pace.add(now, seconds);
        let length = self.speed.map_or(Duration::ZERO, |speed| Duration::from_secs_f64(seconds / speed));
        self.due = (self.due + length).max(now.checked_sub(PATIENCE).unwrap_or(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_scales_what_is_waited_for_and_is_bounded() {
        let mut clock = Clock::new();
        clock.set_speed(Some(0.5)).unwrap();
        clock.advance(1.0);
        assert!((1.9..=2.0).contains(&clock.wait().as_secs_f64()));
        clock.set_speed(None).unwrap();
        clock.advance(1.0);
        assert_eq!(clock.wait(), Duration::ZERO);
        for speed in [0.0, -1.0, 1e9, f64::NAN] {
            assert!(clock.set_speed(Some(speed)).is_err());
        }
    }

    #[test]
    fn a_late_clock_does_not_race_to_catch_up() {
        let mut clock = Clock::new();
        clock.due = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
        clock.advance(0.01);
        assert!(clock.due.elapsed() <= PATIENCE + Duration::from_millis(50));
    }
}
