//! The achieved speed: how much simulated time passes in how much wall-clock time, over the last seconds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Over how long the speed is averaged.
const WINDOW: Duration = Duration::from_secs(2);
/// A shorter time says little about the speed.
const SHORTEST: Duration = Duration::from_millis(200);

/// Measures the speed from the ends of steps.
#[derive(Debug)]
pub(super) struct Pace {
    /// When a step ended, and the simulated time in seconds until then; the first is where the measurement begins.
    marks: VecDeque<(Instant, f64)>,
}

impl Pace {
    /// Starts to measure.
    pub(super) fn new(now: Instant) -> Self {
        Self { marks: VecDeque::from([(now, 0.0)]) }
    }

    /// Records a step that ended now and simulated this many seconds.
    pub(super) fn add(&mut self, now: Instant, seconds: f64) {
        let simulated = self.marks.back().map_or(0.0, |mark| mark.1);
        self.marks.push_back((now, simulated + seconds));
        // The mark before the window stays: the step that reaches into it counts with its whole duration.
        while self.marks.get(1).is_some_and(|mark| now.duration_since(mark.0) >= WINDOW) {
            self.marks.pop_front();
        }
    }

    /// Simulated over wall-clock time; `None` until enough time has passed.
    pub(super) fn rate(&self) -> Option<f64> {
        let (first, last) = (self.marks.front()?, self.marks.back()?);
        let wall = last.0.duration_since(first.0);
        (wall >= SHORTEST).then(|| (last.1 - first.1) / wall.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of 0.1 s that take this many seconds each.
    fn pace(steps: u32, seconds: f64) -> Pace {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        (1..=steps).for_each(|k| pace.add(start + Duration::from_secs_f64(seconds * f64::from(k)), 0.1));
        pace
    }

    #[test]
    fn the_rate_is_simulated_over_elapsed_time() {
        for seconds in [0.05, 0.1, 0.5, 30.0] {
            let rate = pace(20, seconds).rate().unwrap();
            assert!((rate * seconds / 0.1 - 1.0).abs() < 1e-9, "{seconds} s a step: {rate}");
        }
        assert_eq!(pace(0, 1.0).rate(), None);
        assert_eq!(pace(1, 0.01).rate(), None);
    }

    #[test]
    fn an_earlier_speed_is_forgotten() {
        let mut pace = pace(50, 0.01);
        let start = pace.marks.back().unwrap().0;
        (1..=4).for_each(|k| pace.add(start + Duration::from_secs(k), 0.1));
        assert!((pace.rate().unwrap() - 0.1).abs() < 1e-9);
    }
}
