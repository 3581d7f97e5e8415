//! Sweeps over distance constraints, eight at a time: within a strip (see `schedule`) constraints without a common particle are
//! put into groups of eight, one for each lane. Constraints without a full group are projected separately at the strip's end, and so
//! are those added by tearing.
//!
//! Tearing changes constraints in place: one end becomes a clone of its particle. Constraints that share the clone shared
//! the original before, so groups and strips remain free of common particles.
//!
//! Groups read and write particles without atomics. That is sound because
//!
//! 1. a sweep has the positions to itself ([`DistanceSweep::run`] borrows the step exclusively);
//! 2. a strip is projected by one thread at a time, and no two strips that run at the same time have claimed the same particle
//!    ([`Strips`] checks every claim, [`StripToken`] says that it did);
//! 3. the ends of a strip's constraints are claimed for it: every function here that sets ends claims them first.

#![allow(
    unsafe_code,
    reason = "groups load and store whole particles; atomics would go through the stack one by one"
)]
#![allow(clippy::needless_range_loop, reason = "iterators and closures are not always inlined into kernels")]

use glam::DVec3;

use crate::solvers::hpbd::constraint::schedule::{Direction, StripToken, Strips, strips};
use crate::solvers::hpbd::constraint::{Constraint, ConstraintSide, Distance, SHORTEST, Step};
use crate::solvers::hpbd::positions::Positions;
use supple_core::simd::{Kernel, LaneVec3, Lanes, Simd, WIDTH, dispatch};

/// The largest number of incomplete groups of a strip: a constraint is compared with all of them.
const OPEN_GROUPS: usize = 24;

/// Eight constraints without a common particle.
#[derive(Debug, Clone)]
struct Group {
    rest: Lanes,
    compliance: Lanes,
    /// Of this small step.
    multiplier: Lanes,
    /// The multipliers of all small steps of this step, summed.
    pulled: Lanes,
    ends: [[u32; WIDTH]; 2],
    acts: ConstraintSide,
}

/// Constraints that one thread projects.
#[derive(Debug, Clone, Default)]
struct Strip {
    groups: Vec<Group>,
    /// Of every group, apart from the data that sweeps read.
    dampings: Vec<Lanes>,
    singles: Vec<Single>,
    /// The elastic energy in joules when it was last computed.
    energy: f64,
}

/// A single constraint.
#[derive(Debug, Clone, Copy)]
struct Single {
    constraint: Distance,
    /// As in a group.
    multiplier: f64,
    pulled: f64,
}

impl Single {
    fn new(constraint: Distance) -> Self {
        Self { constraint, multiplier: 0.0, pulled: 0.0 }
    }

    fn project(&mut self, step: &Step<'_>, is_first: bool) {
        if is_first {
            self.multiplier = 0.0;
        }
        self.pulled += step.project(&self.constraint, &mut self.multiplier);
    }
}

/// Where a constraint is stored.
#[derive(Debug, Clone, Copy)]
struct Place {
    strip: u32,
    /// In a group: eight times its number and the lane; else among the singles, from `FIRST_SINGLE` on.
    slot: u32,
}

const FIRST_SINGLE: u32 = 1 << 31;

/// Distance constraints in the order of their sweep.
#[derive(Debug, Clone, Default)]
pub(crate) struct DistanceSweep {
    strips: Strips<Strip>,
    places: Vec<Place>,
}

impl DistanceSweep {
    /// Orders constraints between this many particles; they keep their indices.
    pub(crate) fn new(constraints: &[Distance], particles: usize) -> Self {
        let ends: Vec<[u32; 2]> = constraints.iter().map(|c| c.ends).collect();
        let mut sweep = Self { places: vec![Place { strip: 0, slot: 0 }; ends.len()], ..Self::default() };
        for (numbers, s) in strips(&ends, particles).iter().zip(0..) {
            let mut strip = Strip::default();
            for acts in [ConstraintSide::Both, ConstraintSide::Stretched, ConstraintSide::Pressed] {
                let alike = numbers.iter().copied().filter(|&c| constraints[c as usize].acts == acts);
                for batch in batches(alike, constraints) {
                    for (&c, lane) in batch.iter().zip(0..) {
                        let slot = match batch.len() {
                            WIDTH => (WIDTH * strip.groups.len()) as u32 + lane,
                            _ => FIRST_SINGLE + strip.singles.len() as u32 + lane,
                        };
                        sweep.places[c as usize] = Place { strip: s, slot };
                    }
                    strip.add(&batch, constraints);
                }
            }
            let particles = numbers.iter().flat_map(|&c| ends[c as usize]);
            sweep.strips.push(strip, particles);
        }
        sweep
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The same constraints in the same order, all bilateral.
    pub(crate) fn acting_always(&self) -> Self {
        let mut always = self.clone();
        for strip in always.strips.iter_mut() {
            strip.groups.iter_mut().for_each(|group| group.acts = ConstraintSide::Both);
            strip.singles.iter_mut().for_each(|single| single.constraint.acts = ConstraintSide::Both);
        }
        always.begin_step();
        always
    }

    /// A constraint in its current state. One that was removed has the same end twice.
    pub(crate) fn get(&self, constraint: usize) -> Distance {
        let place = self.places[constraint];
        let strip = self.strips.get(place.strip);
        match place.slot.checked_sub(FIRST_SINGLE) {
            Some(single) => strip.singles[single as usize].constraint,
            None => strip.get(place.slot as usize / WIDTH, place.slot as usize % WIDTH),
        }
    }

    /// The sum of a constraint's multipliers over all small steps of this step.
    pub(crate) fn pull(&self, constraint: usize) -> f64 {
        let place = self.places[constraint];
        let strip = self.strips.get(place.strip);
        match place.slot.checked_sub(FIRST_SINGLE) {
            Some(single) => strip.singles[single as usize].pulled,
            None => strip.groups[place.slot as usize / WIDTH].pulled.0[place.slot as usize % WIDTH],
        }
    }

    /// Sets the rest length of a constraint.
    pub(crate) fn set_rest(&mut self, constraint: usize, rest: f64) {
        let place = self.places[constraint];
        let strip = self.strips.get_mut(place.strip);
        match place.slot.checked_sub(FIRST_SINGLE) {
            Some(single) => strip.singles[single as usize].constraint.rest = rest,
            None => {
                strip.groups[place.slot as usize / WIDTH].rest.0[place.slot as usize % WIDTH] = rest;
            }
        }
    }

    /// Changes a constraint, but not its side: its ends may become clones, or the same particle twice
    /// to remove it.
    pub(crate) fn set(&mut self, constraint: usize, new: Distance) {
        let place = self.places[constraint];
        self.strips.claim(place.strip, new.ends);
        let strip = self.strips.get_mut(place.strip);
        match place.slot.checked_sub(FIRST_SINGLE) {
            Some(single) => strip.singles[single as usize].constraint = new,
            None => {
                let (number, lane) = (place.slot as usize / WIDTH, place.slot as usize % WIDTH);
                let group = &mut strip.groups[number];
                group.rest.0[lane] = new.rest;
                group.compliance.0[lane] = new.compliance;
                group.ends[0][lane] = new.ends[0];
                group.ends[1][lane] = new.ends[1];
                strip.dampings[number].0[lane] = new.damping;
            }
        }
    }

    /// Adds a constraint between the particles of another, or their clones; returns its index.
    pub(crate) fn push_adjacent(&mut self, other: usize, constraint: Distance) -> usize {
        let strip = self.places[other].strip;
        self.strips.claim(strip, constraint.ends);
        let singles = &mut self.strips.get_mut(strip).singles;
        singles.push(Single::new(constraint));
        let slot = FIRST_SINGLE + (singles.len() - 1) as u32;
        self.places.push(Place { strip, slot });
        self.places.len() - 1
    }

    /// Resets all multipliers.
    pub(crate) fn begin_step(&mut self) {
        self.visit(|strip: &mut Strip, _| {
            for group in &mut strip.groups {
                (group.multiplier, group.pulled) = (Lanes::default(), Lanes::default());
            }
            strip.singles.iter_mut().for_each(|single| *single = Single::new(single.constraint));
        });
    }

    fn visit(&mut self, visit: impl Fn(&mut Strip, StripToken<'_>) + Send + Sync) {
        let count = self.places.len() / 2;
        for phase in Direction::Forward.phases() {
            self.strips.for_each(phase, count, &visit);
        }
    }

    /// Projects every constraint once. In the first sweep of a small step multipliers start at zero.
    pub(crate) fn run(&mut self, step: &mut Step<'_>, direction: Direction, is_first: bool) {
        let (count, step) = (self.places.len() / 2, &*step);
        for phase in direction.phases() {
            self.strips.for_each(phase, count, |strip, token| {
                dispatch(step.simd, Projections { strip, token, step, direction, is_first });
            });
        }
    }

    /// Damps velocities once along every active constraint.
    pub(crate) fn damp(&mut self, step: &Step<'_>, velocities: &Positions) {
        self.visit(|strip: &mut Strip, _| dispatch(step.simd, Dampings { strip, step, velocities }));
    }

    /// `½ C²/α` of every active constraint, in joules.
    pub(crate) fn energy(&mut self, x: &[DVec3], simd: Simd) -> f64 {
        self.visit(|strip: &mut Strip, _| dispatch(simd, Energies { strip, x }));
        self.strips.iter().map(|strip| strip.energy).sum()
    }

    pub(crate) fn bytes(&self) -> usize {
        let of = |s: &Strip| {
            (size_of::<Group>() + size_of::<Lanes>()) * s.groups.len() + size_of::<Single>() * s.singles.len()
        };
        self.strips.iter().map(of).sum::<usize>()
            + self.strips.bytes_of_claims()
            + size_of::<Place>() * self.places.len()
    }
}

/// Constraints batched such that those of a batch have no particle in common; full batches have one for each lane.
fn batches(numbers: impl Iterator<Item = u32>, constraints: &[Distance]) -> Vec<Vec<u32>> {
    let mut whole = Vec::new();
    let mut open: Vec<Vec<u32>> = Vec::new();
    for number in numbers {
        let ends = constraints[number as usize].ends;
        let apart = |other: &u32| constraints[*other as usize].ends.iter().all(|end| !ends.contains(end));
        match open.iter().position(|batch| batch.iter().all(apart)) {
            Some(place) => {
                open[place].push(number);
                if open[place].len() == WIDTH {
                    whole.push(open.remove(place));
                }
            }
            None => {
                open.push(vec![number]);
                if open.len() > OPEN_GROUPS {
                    whole.push(open.remove(0));
                }
            }
        }
    }
    whole.extend(open);
    whole
}

impl Strip {
    fn add(&mut self, batch: &[u32], constraints: &[Distance]) {
        let of = |c: &u32| constraints[*c as usize];
        if batch.len() < WIDTH {
            self.singles.extend(batch.iter().map(|c| Single::new(of(c))));
            return;
        }
        let lane = |value: &dyn Fn(&Distance) -> f64| Lanes::from_fn(|i| value(&of(&batch[i])));
        self.groups.push(Group {
            rest: lane(&|c| c.rest),
            compliance: lane(&|c| c.compliance),
            multiplier: Lanes::default(),
            pulled: Lanes::default(),
            ends: [0, 1].map(|end| std::array::from_fn(|i| of(&batch[i]).ends[end])),
            acts: of(&batch[0]).acts,
        });
        self.dampings.push(lane(&|c| c.damping));
    }

    fn get(&self, group: usize, lane: usize) -> Distance {
        let (damping, group) = (self.dampings[group].0[lane], &self.groups[group]);
        Distance {
            ends: [group.ends[0][lane], group.ends[1][lane]],
            rest: group.rest.0[lane],
            compliance: group.compliance.0[lane],
            damping,
            acts: group.acts,
        }
    }
}

/// All constraints of a strip, projected.
struct Projections<'a, 'b> {
    strip: &'a mut Strip,
    token: StripToken<'a>,
    step: &'a Step<'b>,
    direction: Direction,
    is_first: bool,
}

impl Kernel for Projections<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { strip, token, step, direction, is_first } = self;
        if direction == Direction::Forward {
            for group in &mut strip.groups {
                group.project(token, step, is_first);
            }
            strip.singles.iter_mut().for_each(|single| single.project(step, is_first));
        } else {
            strip.singles.iter_mut().rev().for_each(|single| single.project(step, is_first));
            for group in strip.groups.iter_mut().rev() {
                group.project(token, step, is_first);
            }
        }
    }
}

/// All constraints of a strip, damped.
struct Dampings<'a, 'b> {
    strip: &'a Strip,
    step: &'a Step<'b>,
    velocities: &'a Positions,
}

impl Kernel for Dampings<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { strip, step, velocities } = self;
        for g in 0..strip.groups.len() {
            if strip.dampings[g] != Lanes::default() {
                strip.groups[g].damp(step, velocities, strip.dampings[g]);
            }
        }
        for single in strip.singles.iter().filter(|single| single.multiplier != 0.0) {
            step.damp(&single.constraint, velocities);
        }
    }
}

/// The energy of a strip.
struct Energies<'a> {
    strip: &'a mut Strip,
    x: &'a [DVec3],
}

impl Kernel for Energies<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut sum = Lanes::default();
        for group in &self.strip.groups {
            let (mut a, mut b) = (LaneVec3::default(), LaneVec3::default());
            for i in 0..WIDTH {
                let [p, q] = [self.x[group.ends[0][i] as usize], self.x[group.ends[1][i] as usize]];
                (a.0[0].0[i], a.0[1].0[i], a.0[2].0[i]) = (p.x, p.y, p.z);
                (b.0[0].0[i], b.0[1].0[i], b.0[2].0[i]) = (q.x, q.y, q.z);
            }
            let length = (a - b).length();
            let off = group.side(length - group.rest, true);
            // Removed constraints have no length.
            sum += Lanes::splat(SHORTEST).less(length, off * off * 0.5 / group.compliance, Lanes::default());
        }
        let mut energy = sum.sum_of_first(WIDTH);
        for Single { constraint, .. } in &self.strip.singles {
            energy += constraint.energy(&constraint.ends.map(|p| self.x[p as usize]));
        }
        self.strip.energy = energy;
    }
}

/// The positions and inverse masses of eight particles that the strip of the token has claimed.
#[inline(always)]
fn gather(_: StripToken<'_>, positions: &Positions, particles: &[u32; WIDTH]) -> (LaneVec3, Lanes) {
    let (mut at, mut weight) = (LaneVec3::default(), Lanes::default());
    for i in 0..WIDTH {
        // SAFETY: no other thread accesses this particle: it is claimed for the strip whose token this is, and the sweep has the
        // positions to itself (see the module).
        let [x, y, z, w] = unsafe { positions.load(particles[i] as usize) };
        (at.0[0].0[i], at.0[1].0[i], at.0[2].0[i], weight.0[i]) = (x, y, z, w);
    }
    (at, weight)
}

/// Moves eight particles that the strip of the token has claimed.
#[inline(always)]
fn scatter(
    _: StripToken<'_>,
    positions: &Positions,
    particles: &[u32; WIDTH],
    at: &LaneVec3,
    weight: &Lanes,
) {
    for i in 0..WIDTH {
        let new = [at.0[0].0[i], at.0[1].0[i], at.0[2].0[i], weight.0[i]];
        // SAFETY: as in `gather`.
        unsafe { positions.store(particles[i] as usize, new) };
    }
}

impl Group {
    /// The part of a violation (or, with the other sign, of a multiplier) that is on the group's active side.
    #[inline(always)]
    fn side(&self, value: Lanes, stretch_is_positive: bool) -> Lanes {
        let zero = Lanes::default();
        match (self.acts, stretch_is_positive) {
            (ConstraintSide::Both, _) => value,
            (ConstraintSide::Stretched, true) | (ConstraintSide::Pressed, false) => value.max(zero),
            (ConstraintSide::Stretched, false) | (ConstraintSide::Pressed, true) => value.min(zero),
        }
    }

    /// [`Step::project`] for eight constraints.
    #[inline(always)]
    fn project(&mut self, token: StripToken<'_>, step: &Step<'_>, is_first: bool) {
        let (mut a, weight_a) = gather(token, step.positions, &self.ends[0]);
        let (mut b, weight_b) = gather(token, step.positions, &self.ends[1]);
        let zero = Lanes::default();
        let apart = a - b;
        // A compliant constraint that has pulled before must relax first.
        let pulls = !is_first && step.stiffness.is_none() && self.multiplier != zero;
        if !pulls && self.is_slack(apart.dot(apart)) {
            self.multiplier = if is_first { zero } else { self.multiplier };
            return;
        }
        let length = apart.length();
        let give = weight_a + weight_b;
        let value = length - self.rest;
        let old = if is_first { zero } else { self.multiplier };
        let wanted = match step.stiffness {
            Some(stiffness) => self.side(-value / give, false) * stiffness,
            None => self.compliant_change(step, value, give, old),
        };
        // Where nothing can move or there is no direction, nothing changes.
        let shortest = Lanes::splat(SHORTEST);
        let movable = zero.less(give, wanted, zero);
        let change = shortest.less(length, movable, zero);
        self.multiplier = old + change;
        if change == zero {
            return;
        }
        self.pulled += change;
        let along = apart * shortest.less(length, change / length, zero);
        a += along * weight_a;
        b = b - along * weight_b;
        scatter(token, step.positions, &self.ends[0], &a, &weight_a);
        scatter(token, step.positions, &self.ends[1], &b, &weight_b);
    }

    #[inline(always)]
    fn compliant_change(&self, step: &Step<'_>, value: Lanes, give: Lanes, old: Lanes) -> Lanes {
        let soft = self.compliance * (1.0 / (step.length * step.length));
        self.side(old - (value + soft * old) / (give + soft), false) - old
    }

    /// Whether nothing is on the group's active side.
    #[inline(always)]
    fn is_slack(&self, length_squared: Lanes) -> bool {
        let rest_squared = self.rest * self.rest;
        match self.acts {
            ConstraintSide::Both => false,
            ConstraintSide::Stretched => length_squared.max(rest_squared) == rest_squared,
            ConstraintSide::Pressed => length_squared.min(rest_squared) == rest_squared,
        }
    }

    /// [`Step::damp`] for the active ones of eight constraints.
    #[inline(always)]
    fn damp(&self, step: &Step<'_>, velocities: &Positions, damping: Lanes) {
        let (mut apart, mut relative) = (LaneVec3::default(), LaneVec3::default());
        let (mut weight_a, mut weight_b) = (Lanes::default(), Lanes::default());
        for i in 0..WIDTH {
            let (p, q) = (self.ends[0][i] as usize, self.ends[1][i] as usize);
            let from = step.positions.get(p) - step.positions.get(q);
            let faster = velocities.get(p) - velocities.get(q);
            (apart.0[0].0[i], apart.0[1].0[i], apart.0[2].0[i]) = (from.x, from.y, from.z);
            (relative.0[0].0[i], relative.0[1].0[i], relative.0[2].0[i]) = (faster.x, faster.y, faster.z);
            weight_a.0[i] = velocities.weight(p);
            weight_b.0[i] = velocities.weight(q);
        }
        let zero = Lanes::default();
        let (length, give) = (apart.length(), weight_a + weight_b);
        let strength = damping * give * step.length;
        let rate = apart.dot(relative) / length;
        let change = -rate / (give * length) * (strength / (self.compliance + strength));
        let acting = zero.less(self.multiplier.abs(), change, zero);
        let movable = zero.less(strength, acting, zero);
        let change = Lanes::splat(SHORTEST).less(length, movable, zero);
        for i in 0..WIDTH {
            if change.0[i] != 0.0 {
                let (p, q) = (self.ends[0][i] as usize, self.ends[1][i] as usize);
                let along = apart.lane(i) * change.0[i];
                velocities.set(p, velocities.get(p) + along * weight_a.0[i]);
                velocities.set(q, velocities.get(q) - along * weight_b.0[i]);
            }
        }
    }
}

impl Distance {
    /// `½ C²/α` where it is active.
    fn energy(&self, ends: &[DVec3; 2]) -> f64 {
        let value = self.evaluate(ends).map_or(0.0, |(value, _)| value);
        let [low, high] = self.multipliers();
        let acts = if value > 0.0 { low < 0.0 } else { high > 0.0 };
        if acts { 0.5 * value * value / self.compliance } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Springs of all kinds on a jittered grid.
    fn springs(n: u32) -> (Vec<Distance>, Vec<DVec3>) {
        let at = |i: u32, j: u32| i * n + j;
        let mut springs = Vec::new();
        let mut push = |ends: [u32; 2], rest: f64, acts: ConstraintSide| {
            let damping = if (ends[0] / 7).is_multiple_of(3) { 0.01 } else { 0.0 };
            springs.push(Distance { ends, rest, compliance: 1e-3, damping, acts });
        };
        for i in 0..n - 1 {
            for j in 0..n - 1 {
                push([at(i, j), at(i + 1, j)], 1.0, ConstraintSide::Both);
                push([at(i, j), at(i, j + 1)], 0.9, ConstraintSide::Stretched);
                push([at(i, j), at(i + 1, j + 1)], 1.5, ConstraintSide::Pressed);
            }
        }
        let wobble = |k: u32| 0.2 * (f64::from(k) * 12.9898).sin();
        let point = |v: u32| {
            DVec3::new(f64::from(v / n) + wobble(v), wobble(3 * v + 1), f64::from(v % n) + wobble(5 * v))
        };
        (springs, (0..n * n).map(point).collect())
    }

    fn step<'a>(positions: &'a mut Positions, start: &'a [DVec3], stiffness: Option<f64>) -> Step<'a> {
        Step { positions, start, length: 0.05, stiffness, simd: Simd::Auto }
    }

    #[test]
    fn groups_project_as_single_constraints_do() {
        let (springs, start) = springs(24);
        let weights: Vec<f64> = (0..start.len()).map(|i| if i % 11 == 0 { 0.0 } else { 1.0 }).collect();
        let moved: Vec<DVec3> = start.iter().map(|p| *p * 1.02).collect();
        for stiffness in [None, Some(0.7)] {
            let mut sweep = DistanceSweep::new(&springs, start.len());
            let full: usize = sweep.strips.iter().map(|s| WIDTH * s.groups.len()).sum();
            assert!(full > springs.len() / 2, "most of them are in groups: {full}");
            let mut together = Positions::default();
            together.copy_from(&moved, &weights);
            let mut alone = Positions::default();
            alone.copy_from(&moved, &weights);
            // One after the other, in the order of the sweep.
            for strip in sweep.strips.iter() {
                let in_groups =
                    (0..strip.groups.len()).flat_map(|g| (0..WIDTH).map(move |lane| strip.get(g, lane)));
                for spring in in_groups.chain(strip.singles.iter().map(|single| single.constraint)) {
                    step(&mut alone, &start, stiffness).project(&spring, &mut 0.0);
                }
            }
            sweep.run(&mut step(&mut together, &start, stiffness), Direction::Forward, true);
            for i in 0..start.len() {
                assert!((together.get(i) - alone.get(i)).length() < 1e-12, "{i}");
            }
            // The same for velocities, along constraints that were active.
            let (mut fast, mut fast_alone) = (Positions::default(), Positions::default());
            fast.copy_from(&moved, &weights);
            fast_alone.copy_from(&moved, &weights);
            for strip in sweep.strips.iter() {
                let in_groups = (0..strip.groups.len()).flat_map(|g| {
                    (0..WIDTH).map(move |l| (strip.get(g, l), strip.groups[g].multiplier.0[l]))
                });
                let singles = strip.singles.iter().map(|single| (single.constraint, single.multiplier));
                for (spring, _) in in_groups.chain(singles).filter(|(_, multiplier)| *multiplier != 0.0) {
                    step(&mut together, &start, stiffness).damp(&spring, &fast_alone);
                }
            }
            sweep.damp(&step(&mut together, &start, stiffness), &fast);
            for i in 0..start.len() {
                assert!((fast.get(i) - fast_alone.get(i)).length() < 1e-11, "{i}");
            }
            assert!((0..start.len()).any(|i| fast.get(i).distance(moved[i]) > 0.01), "it damps");
        }
    }

    #[test]
    fn constraints_keep_their_numbers_and_can_be_changed_removed_and_added() {
        let (springs, start) = springs(12);
        let mut sweep = DistanceSweep::new(&springs, start.len());
        assert!((0..springs.len()).all(|c| sweep.get(c) == springs[c]));
        sweep.set_rest(7, 3.5);
        assert_eq!(sweep.get(7), Distance { rest: 3.5, ..springs[7] });
        let added = sweep.push_adjacent(7, springs[3]);
        assert_eq!((added, sweep.get(added)), (springs.len(), springs[3]));
        let energy = sweep.energy(&start, Simd::Auto);
        let of_removed: f64 = [0, 20, 41]
            .map(|c| {
                let constraint = sweep.get(c);
                constraint.energy(&constraint.ends.map(|p| start[p as usize]))
            })
            .iter()
            .sum();
        for c in [0, 20, 41] {
            sweep.set(c, Distance { ends: [springs[c].ends[0]; 2], ..springs[c] });
        }
        let left = sweep.energy(&start, Simd::Auto);
        assert!((energy - of_removed - left).abs() < 1e-12 * energy, "{energy} {of_removed} {left}");
        let mut positions = {
            let mut p = Positions::default();
            p.copy_from(&start, &vec![1.0; start.len()]);
            p
        };
        sweep.run(&mut step(&mut positions, &start, None), Direction::Backward, true);
        assert!((0..start.len()).all(|i| positions.get(i).is_finite()));
    }
}
