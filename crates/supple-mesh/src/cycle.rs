//! Time of an animation that repeats.

/// Times are sums of steps: one that is earlier than a seam by this fraction of a period is at the seam.
const ROUNDING: f64 = 1e-9;

/// A part of an animation that repeats: after `first + period` it is as at `first` again. Before `first` nothing repeats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cycle {
    /// Start of the part, in seconds.
    pub first: f64,
    /// Its duration in seconds, above 0.
    pub period: f64,
}

impl Cycle {
    /// The time of the animation at a time in seconds: at a seam that of the start.
    pub fn phase(&self, time: f64) -> f64 {
        if time < self.first { time } else { self.first + self.fraction(time) * self.period }
    }

    /// The fraction of the part that has passed, from 0 to below 1; 0 before it starts.
    pub fn fraction(&self, time: f64) -> f64 {
        let turns = ((time - self.first) / self.period).max(0.0);
        (turns - (turns + ROUNDING).floor()).max(0.0)
    }

    /// The first seam after a time.
    pub fn next_seam(&self, after: f64) -> f64 {
        self.first + self.period * self.turns(after).max(0.0) + self.period
    }

    /// The last seam between two times, that of the start excluded.
    pub fn seam_within(&self, [start, end]: [f64; 2]) -> Option<f64> {
        let turns = self.turns(end);
        (turns > 0.0 && turns > self.turns(start)).then_some(self.first + turns * self.period)
    }

    /// Complete periods at a time; below 0 before the start.
    fn turns(&self, time: f64) -> f64 {
        ((time - self.first) / self.period + ROUNDING).floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_starts_again_at_its_seams_whatever_the_rounding() {
        let cycle = Cycle { first: 0.5, period: 0.7 };
        let step = 0.7 / 21.0;
        let mut time = 0.5;
        for n in 1..=210 {
            time += step;
            let expected = 0.5 + step * f64::from(n % 21);
            assert!((cycle.phase(time) - expected).abs() < 1e-9, "step {n}: {}", cycle.phase(time));
        }
        assert_eq!([0.0, 0.3].map(|time| cycle.phase(time)), [0.0, 0.3]);
    }

    #[test]
    fn a_seam_belongs_to_the_step_that_ends_at_it() {
        let cycle = Cycle { first: 0.0, period: 2.0 };
        let within = |start, end| cycle.seam_within([start, end]);
        assert_eq!([within(-1.0, 1.0), within(1.0, 2.0), within(2.0, 3.0)], [None, Some(2.0), None]);
        assert_eq!(within(1.0, 7.0), Some(6.0));
        assert_eq!([0.0, 1.9, 2.0].map(|after| cycle.next_seam(after)), [2.0, 2.0, 4.0]);
    }
}
