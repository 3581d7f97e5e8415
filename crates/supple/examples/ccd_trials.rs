//! Tries continuous collision detection on random and degenerate pairs:
//!
//! ```text
//! cargo run --release -p supple --example ccd_trials -- --full
//! ```
//!
//! | trial | pairs with `--full` | compared with |
//! | --- | --- | --- |
//! | exact | 1e6 | separating axes over intervals of time, in integers of 128 bits: nothing is rounded |
//! | intervals | 1e7 | the same in double precision with bounds of rounding |
//! | rotating | 1e5 | the same, with the enclosure of a screw motion around its chord |
//!
//! A **miss** is a pair that cannot be shown to be free up to the time returned. Of pairs that meet, the time returned over the true one is
//! compared with 0.8; of those that never do, how many are cut is counted. What this shows and what not: `docs/numerics.md`.

use crossing_audit::sweep::{Mover, first_touch, nearest_offset};
use glam::{DQuat, DVec3};
use supple::contact::{PrimitivePair, time_of_impact, time_of_impact_within};

/// Activation distance, for primitives of about the size 1.
const REACH: f64 = 1e-3;
/// Coordinates of exact trials are multiples of this.
const UNIT: f64 = 1.0 / 4096.0;
/// Times of exact trials are multiples of `2^-40`.
const TIMES: i128 = 1 << 40;

/// Runs the trials.
pub fn main() -> Result<(), String> {
    let full = std::env::args().any(|argument| argument == "--full");
    let counts: [u64; 3] = if full { [1_000_000, 10_000_000, 100_000] } else { [4000, 20_000, 400] };
    let mut missed = 0;
    for (name, count, trial) in [
        ("exact", counts[0], exact_trial as fn(&mut Random) -> Trial),
        ("intervals", counts[1], interval_trial),
        ("rotating", counts[2], rotating_trial),
    ] {
        let mut tally = Tally::default();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        (0..count).for_each(|_| tally.add(&trial(&mut random)));
        missed += tally.missed;
        println!("{name}: {}", tally.summary());
    }
    if missed > 0 { Err(format!("{missed} pairs are not free up to the time returned")) } else { Ok(()) }
}

/// The outcome of one pair.
struct Trial {
    /// The time that detection returned.
    returned: f64,
    /// Whether the pair is free until then.
    free: bool,
    /// When it meets.
    meets: Option<f64>,
}

#[derive(Default)]
struct Tally {
    pairs: u64,
    missed: u64,
    meet: u64,
    /// Pairs that meet and get at least 0.8 of the time.
    late_enough: u64,
    never_meet: u64,
    cut: u64,
}

impl Tally {
    fn add(&mut self, trial: &Trial) {
        self.pairs += 1;
        self.missed += u64::from(!trial.free);
        match trial.meets {
            Some(time) => {
                self.meet += 1;
                self.late_enough += u64::from(trial.returned >= 0.8 * time);
            }
            None => {
                self.never_meet += 1;
                self.cut += u64::from(trial.returned < 1.0);
            }
        }
    }

    fn summary(&self) -> String {
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        format!(
            "{} pairs, {} missed; {} meet, {:.2} % of them with at least 0.8 of the time; {} never meet, {:.2} % of them are cut",
            self.pairs,
            self.missed,
            self.meet,
            percent(self.late_enough, self.meet),
            self.never_meet,
            percent(self.cut, self.never_meet)
        )
    }
}

/// Reproducible numbers (xorshift).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From -1 to 1.
    fn number(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self) -> DVec3 {
        DVec3::new(self.number(), self.number(), self.number())
    }

    fn kind(&mut self) -> PrimitivePair {
        if self.bits() & 1 == 0 { PrimitivePair::VertexTriangle } else { PrimitivePair::EdgeEdge }
    }
}

/// A random pair that does not touch at the start, half of them degenerate, with its displacements. All coordinates are multiples of `unit`,
/// if it is not zero.
fn pair(random: &mut Random, kind: PrimitivePair, unit: f64) -> ([DVec3; 4], [DVec3; 4]) {
    loop {
        let (points, moves) = any_pair(random, unit);
        // Coplanar primitives may cross: nothing can be said about these.
        if kind.distance(&points) > 1e-9 {
            return (points, moves);
        }
    }
}

fn any_pair(random: &mut Random, unit: f64) -> ([DVec3; 4], [DVec3; 4]) {
    // Even multiples: midpoints are multiples too.
    let rounded = |v: DVec3| if unit > 0.0 { 2.0 * unit * (0.5 * v / unit).round() } else { v };
    let mut points: [DVec3; 4] = std::array::from_fn(|_| rounded(random.vector()));
    let mut moves: [DVec3; 4] = std::array::from_fn(|_| rounded(random.vector()));
    match random.bits() % 16 {
        // Parallel edges; edges on one line.
        0 => points[3] = points[2] + (points[1] - points[0]),
        1 => {
            (points[2], points[3]) =
                (points[0] + 2.0 * (points[1] - points[0]), points[0] + 3.0 * (points[1] - points[0]))
        }
        // A triangle without area, or with two equal corners.
        2 => points[3] = 0.5 * (points[1] + points[2]),
        3 => points[3] = points[2],
        // Everything in a plane, and stays there.
        4 => points.iter_mut().chain(&mut moves).for_each(|p| p.z = 0.0),
        // All but one at rest; all move alike but one.
        5 => moves[1..].fill(DVec3::ZERO),
        6 => moves[2] = moves[1],
        // Straight onto a corner, or onto an edge.
        7 => {
            (moves[0], moves[1], moves[2], moves[3]) =
                (points[2] - points[0], DVec3::ZERO, DVec3::ZERO, DVec3::ZERO)
        }
        _ => {}
    }
    (points, moves)
}

/// The primitives of a pair as parts of the four points.
fn split(kind: PrimitivePair) -> usize {
    if kind == PrimitivePair::VertexTriangle { 1 } else { 2 }
}

fn interval_trial(random: &mut Random) -> Trial {
    let kind = random.kind();
    let (points, moves) = pair(random, kind, 0.0);
    let returned = time_of_impact(kind, &points, &moves, REACH, 1.0);
    let to: [DVec3; 4] = std::array::from_fn(|i| points[i] + moves[i]);
    let at = split(kind);
    let one = Mover { from: &points[..at], to: &to[..at], radius: [0.0; 2] };
    let meets = first_touch(&one, &Mover { from: &points[at..], to: &to[at..], radius: [0.0; 2] });
    Trial { returned, free: meets.is_none_or(|time| returned <= time), meets }
}

/// Four points in integers: at the time `t / TIMES` they are at `TIMES · from + t · moves`, in units of `UNIT / TIMES`.
struct Exact {
    from: [[i128; 3]; 4],
    moves: [[i128; 3]; 4],
    split: usize,
}

fn exact_trial(random: &mut Random) -> Trial {
    let kind = random.kind();
    let (points, moves) = pair(random, kind, UNIT);
    // Quotients by a power of two are exact.
    let whole = |v: DVec3| v.to_array().map(|x| (x / UNIT) as i128);
    let exact = Exact { from: points.map(whole), moves: moves.map(whole), split: split(kind) };
    let returned = time_of_impact(kind, &points, &moves, REACH, 1.0);
    let end = (returned * TIMES as f64).ceil() as i128;
    let free = exact.first_touch([0, end], None).is_none() || end == 0;
    let meets = exact.first_touch([0, TIMES], None).map(|time| time as f64 / TIMES as f64);
    Trial { returned, free, meets }
}

impl Exact {
    fn at(&self, time: i128) -> [[i128; 3]; 4] {
        std::array::from_fn(|i| std::array::from_fn(|k| TIMES * self.from[i][k] + time * self.moves[i][k]))
    }

    /// Whether an axis separates the primitives at two times, and so between them: projections are linear in time.
    fn separates(&self, axis: [i128; 3], span: [i128; 2]) -> bool {
        span.iter().all(|&time| {
            let heights = self.at(time).map(|p| axis[0] * p[0] + axis[1] * p[1] + axis[2] * p[2]);
            let (one, other) = heights.split_at(self.split);
            one.iter().min() > other.iter().max()
        })
    }

    /// The first time at which no axis is found.
    fn first_touch(&self, span: [i128; 2], hint: Option<[i128; 3]>) -> Option<i128> {
        if hint.is_some_and(|axis| self.separates(axis, span)) {
            return None;
        }
        let middle = (span[0] + span[1]) / 2;
        let places = self.at(middle).map(|p| DVec3::from_array(p.map(|x| x as f64)) / TIMES as f64);
        let (one, other) = places.split_at(self.split);
        let offset = nearest_offset(one, other).normalize_or_zero();
        // Any integer axis will do: rounding it proves nothing wrong.
        let axis = offset.to_array().map(|x| (x * TIMES as f64) as i128);
        if self.separates(axis, span) {
            return None;
        }
        if span[1] - span[0] <= 1 {
            return Some(span[0]);
        }
        self.first_touch([span[0], middle], Some(axis))
            .or_else(|| self.first_touch([middle, span[1]], Some(axis)))
    }
}

/// A vertex or edge that turns about an axis while it moves along, against one at rest.
struct Screw {
    points: [DVec3; 4],
    split: usize,
    pivot: DVec3,
    /// Axis times angle over the whole motion.
    turn: DVec3,
    shift: DVec3,
}

impl Screw {
    fn at(&self, time: f64) -> [DVec3; 4] {
        let rotation = DQuat::from_scaled_axis(time * self.turn);
        std::array::from_fn(|i| match i < self.split {
            true => self.pivot + rotation * (self.points[i] - self.pivot) + time * self.shift,
            false => self.points[i],
        })
    }

    /// How far a point may be from its chord over this much of the motion: `|p''| Δt² / 8`.
    fn deviation(&self, duration: f64) -> f64 {
        let arm = self.points[..self.split].iter().map(|p| p.distance(self.pivot)).fold(0.0, f64::max);
        (self.turn.length() * duration).powi(2) * arm / 8.0
    }

    /// The first short interval in which the enclosure of the moving points around their chord is not surely apart from the others.
    fn first_touch(&self, [begin, end]: [f64; 2]) -> Option<f64> {
        let (from, to) = (self.at(begin), self.at(end));
        let slack = self.deviation(end - begin) + 1e-14;
        let one = Mover { from: &from[..self.split], to: &to[..self.split], radius: [slack; 2] };
        let other = Mover { from: &from[self.split..], to: &to[self.split..], radius: [0.0; 2] };
        let touch = first_touch(&one, &other)?;
        if end - begin < 1e-9 {
            return Some(begin + touch * (end - begin));
        }
        let middle = 0.5 * (begin + end);
        self.first_touch([begin, middle]).or_else(|| self.first_touch([middle, end]))
    }

    /// As the engine moves colliders that turn: along chords so short that they depart from the motion by a tenth of the distance, with that
    /// much more distance kept.
    fn returned(&self, kind: PrimitivePair) -> f64 {
        let mut gone = 0.0;
        while gone < 1.0 {
            let places = self.at(gone);
            let gap = kind.distance(&places).clamp(0.01 * REACH, REACH);
            let mut next: f64 = 1.0;
            while 2.0 * self.deviation(next - gone) > 0.1 * gap {
                next = 0.5 * (gone + next);
            }
            let (slack, end) = (2.0 * self.deviation(next - gone), self.at(next));
            let moves = std::array::from_fn(|i| end[i] - places[i]);
            let free = time_of_impact_within(kind, &places, &moves, [REACH, slack], 1.0);
            gone += free * (next - gone);
            if free < 1.0 {
                return gone;
            }
            gone = next;
        }
        1.0
    }
}

fn rotating_trial(random: &mut Random) -> Trial {
    let kind = random.kind();
    let points = std::array::from_fn(|_| random.vector());
    let screw = Screw {
        points,
        split: split(kind),
        pivot: random.vector(),
        turn: 3.0 * random.vector(),
        shift: random.vector(),
    };
    let (returned, meets) = (screw.returned(kind), screw.first_touch([0.0, 1.0]));
    Trial { returned, free: meets.is_none_or(|time| returned <= time), meets }
}
