//! The order in which a sweep processes its constraints: the particles are numbered in layers, each adjacent to the previous
//! one (breadth first from an outermost particle), and the constraints are divided into strips of whole layers. A constraint
//! joins particles of one layer or of two consecutive ones, so non-consecutive strips have no particle
//! in common: a sweep runs all even strips in parallel, and then all odd ones. Within a strip the constraints are
//! projected one after the other, as in the paper. The strips depend on the mesh alone, so a sweep is bit-identical for
//! any number of threads, and there are only two barriers per sweep.

use std::marker::PhantomData;

use supple_core::parallel::prelude::*;

use crate::solvers::hpbd::constraint::{Constraint, Step};
use crate::solvers::hpbd::positions::Positions;

/// Strips of a large mesh: enough for many threads to share evenly.
const STRIPS: usize = 64;
/// Minimum number of constraints per strip.
const SMALLEST_STRIP: usize = 256;
/// A phase with fewer constraints than this is done before another thread wakes up.
pub(crate) const WORTH_A_THREAD: usize = 1500;

/// The direction of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// Alternating forwards and backwards, which makes pairs of sweeps symmetric.
    pub(crate) fn of(sweep: u32) -> Self {
        if sweep.is_multiple_of(2) { Self::Forward } else { Self::Backward }
    }

    /// The two phases in their order.
    pub(crate) fn phases(self) -> [usize; 2] {
        if self == Self::Forward { [0, 1] } else { [1, 0] }
    }
}

/// The constraints of every strip, in order, for constraints between these of `count` particles.
pub(crate) fn strips<const K: usize>(constraints: &[[u32; K]], count: usize) -> Vec<Vec<u32>> {
    let layers = Layers::new(constraints, count).layer;
    let layer = |c: &[u32; K]| c.iter().map(|&p| layers[p as usize]).min().unwrap_or(0);
    let mut order: Vec<(u32, u32)> = constraints.iter().map(layer).zip(0..).collect();
    order.sort_unstable();
    // A single-threaded sweep needs no strips, and full groups of lanes are easier to find in one.
    let alone = constraints.len() < 2 * WORTH_A_THREAD;
    let wanted = if alone { usize::MAX } else { SMALLEST_STRIP.max(constraints.len().div_ceil(STRIPS)) };
    let mut strips: Vec<Vec<u32>> = Vec::new();
    for same_layer in order.chunk_by(|a, b| a.0 == b.0) {
        let has_space = strips.last().is_some_and(|strip| strip.len() < wanted);
        if !has_space {
            strips.push(Vec::new());
        }
        let last = strips.len() - 1;
        strips[last].extend(same_layer.iter().map(|&(_, constraint)| constraint));
    }
    strips
}

/// The layer of every particle.
struct Layers<'a, const K: usize> {
    constraints: &'a [[u32; K]],
    /// The constraints of every particle, and where they start.
    around: Vec<u32>,
    first: Vec<usize>,
    layer: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl<'a, const K: usize> Layers<'a, K> {
    fn new(constraints: &'a [[u32; K]], count: usize) -> Self {
        let mut first = vec![0; count + 1];
        constraints.iter().flatten().for_each(|&p| first[p as usize + 1] += 1);
        (0..count).for_each(|p| first[p + 1] += first[p]);
        let mut next = first.clone();
        let mut around = vec![0; first[count]];
        for (constraint, number) in constraints.iter().zip(0..) {
            for &p in constraint {
                around[next[p as usize]] = number;
                next[p as usize] += 1;
            }
        }
        let mut layers = Self { constraints, around, first, layer: vec![NONE; count] };
        layers.number();
        layers
    }

    fn number(&mut self) {
        let (mut reached, mut base) = (Vec::new(), 0);
        for start in 0..self.layer.len() as u32 {
            if self.layer[start as usize] == NONE {
                // The particle reached last is outermost: from there the layers are many and thin.
                self.walk(start, base, &mut reached);
                let outermost = reached[reached.len() - 1];
                reached.iter().for_each(|&p| self.layer[p as usize] = NONE);
                self.walk(outermost, base, &mut reached);
                base = self.layer[reached[reached.len() - 1] as usize] + 1;
            }
        }
    }

    /// Numbers the layers around a particle, starting with `base`; lists the particles in the order they are reached.
    fn walk(&mut self, start: u32, base: u32, reached: &mut Vec<u32>) {
        reached.clear();
        reached.push(start);
        self.layer[start as usize] = base;
        let mut next = 0;
        while let Some(&p) = reached.get(next) {
            let beyond = self.layer[p as usize] + 1;
            for &c in &self.around[self.first[p as usize]..self.first[p as usize + 1]] {
                for &other in &self.constraints[c as usize] {
                    if self.layer[other as usize] == NONE {
                        self.layer[other as usize] = beyond;
                        reached.push(other);
                    }
                }
            }
            next += 1;
        }
    }
}

/// Strips of constraints, of which the even ones run at the same time, and then the odd ones. A strip must claim every particle
/// that its constraints touch; that no two strips of one phase claim the same is checked here.
#[derive(Debug, Clone)]
pub(crate) struct Strips<S> {
    /// The even strips and the odd ones.
    phases: [Vec<S>; 2],
    /// By phase and particle: the strip that has claimed it, or `NONE`.
    owners: [Vec<u32>; 2],
}

impl<S> Default for Strips<S> {
    fn default() -> Self {
        Self { phases: Default::default(), owners: Default::default() }
    }
}

/// Proof that the thread which has it is the only one that runs its strip, and that no strip which runs at the same time has
/// claimed a particle of this one. Only [`Strips::for_each`] makes it, and it stays on its thread.
#[derive(Clone, Copy)]
pub(crate) struct StripToken<'a>(PhantomData<(&'a (), *const ())>);

impl<S> Strips<S> {
    /// Adds the next strip, which claims these particles.
    pub(crate) fn push(&mut self, strip: S, particles: impl IntoIterator<Item = u32>) {
        let number = self.phases.iter().map(Vec::len).sum::<usize>();
        self.phases[number % 2].push(strip);
        self.claim(number as u32, particles);
    }

    /// Claims more particles for a strip. Another strip of its phase must not have claimed them: a bug, since both would be
    /// corrected by two threads at once.
    pub(crate) fn claim(&mut self, strip: u32, particles: impl IntoIterator<Item = u32>) {
        let owners = &mut self.owners[strip as usize % 2];
        for particle in particles {
            let particle = particle as usize;
            if owners.len() <= particle {
                owners.resize(particle + 1, NONE);
            }
            let owner = &mut owners[particle];
            assert!(
                *owner == NONE || *owner == strip,
                "strips {owner} and {strip} share particle {particle}"
            );
            *owner = strip;
        }
    }

    pub(crate) fn get(&self, strip: u32) -> &S {
        &self.phases[strip as usize % 2][strip as usize / 2]
    }

    pub(crate) fn get_mut(&mut self, strip: u32) -> &mut S {
        &mut self.phases[strip as usize % 2][strip as usize / 2]
    }

    /// Phase by phase.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &S> {
        self.phases.iter().flatten()
    }

    /// Phase by phase.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.phases.iter_mut().flatten()
    }

    pub(crate) fn bytes_of_claims(&self) -> usize {
        self.owners.iter().map(|owners| size_of::<u32>() * owners.len()).sum()
    }
}

impl<S: Send> Strips<S> {
    /// Calls `visit` with every strip of a phase, on all threads if there is enough work.
    pub(crate) fn for_each(
        &mut self,
        phase: usize,
        constraints: usize,
        visit: impl Fn(&mut S, StripToken<'_>) + Send + Sync,
    ) {
        // A token is made here for one strip at a time of one phase only, and `claim` has seen to it that the strips of a phase
        // have no particle in common.
        let visit = |strip: &mut S| visit(strip, StripToken(PhantomData));
        if constraints < WORTH_A_THREAD {
            self.phases[phase].iter_mut().for_each(visit);
        } else {
            self.phases[phase].par_iter_mut().for_each(visit);
        }
    }
}

/// A constraint with its multiplier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Multiplied<C> {
    pub(crate) constraint: C,
    pub(crate) multiplier: f64,
}

/// Constraints of one kind in the order of their sweep, one after the other.
#[derive(Debug)]
pub(crate) struct Sweep<C> {
    strips: Strips<Vec<Multiplied<C>>>,
    /// The strip of each constraint and its index there.
    places: Vec<[u32; 2]>,
}

impl<C> Default for Sweep<C> {
    fn default() -> Self {
        Self { strips: Strips::default(), places: Vec::new() }
    }
}

impl<C: Copy + Send> Sweep<C> {
    /// Orders constraints between `particles`.
    pub(crate) fn new<const K: usize>(constraints: &[C], particles: usize) -> Self
    where
        C: Constraint<K>,
    {
        let ends: Vec<[u32; K]> = constraints.iter().map(C::particles).collect();
        let mut sweep = Self { places: vec![[0; 2]; constraints.len()], ..Self::default() };
        for (s, strip) in strips(&ends, particles).into_iter().enumerate() {
            strip.iter().zip(0..).for_each(|(&c, place)| sweep.places[c as usize] = [s as u32, place]);
            let begin = |&c: &u32| Multiplied { constraint: constraints[c as usize], multiplier: 0.0 };
            let particles = strip.iter().flat_map(|&c| ends[c as usize]);
            sweep.strips.push(strip.iter().map(begin).collect(), particles);
        }
        sweep
    }

    /// Resets the multipliers of the last step.
    pub(crate) fn begin_step(&mut self) {
        self.strips.iter_mut().flatten().for_each(|c| c.multiplier = 0.0);
    }

    /// A constraint by its index.
    pub(crate) fn get(&self, constraint: u32) -> &C {
        let [strip, place] = self.places[constraint as usize];
        &self.strips.get(strip)[place as usize].constraint
    }

    /// Changes a constraint; its particles may become clones.
    pub(crate) fn set(&mut self, constraint: u32, new: C) {
        let [strip, place] = self.places[constraint as usize];
        self.strips.get_mut(strip)[place as usize].constraint = new;
    }

    /// Projects every constraint once.
    pub(crate) fn run<const K: usize>(&mut self, step: &Step<'_>, direction: Direction)
    where
        C: Constraint<K>,
    {
        let count = self.places.len() / 2;
        for phase in direction.phases() {
            self.strips.for_each(phase, count, |strip, _| {
                let project = |c: &mut Multiplied<C>| {
                    step.project(&c.constraint, &mut c.multiplier);
                };
                match direction {
                    Direction::Forward => strip.iter_mut().for_each(project),
                    Direction::Backward => strip.iter_mut().rev().for_each(project),
                }
            });
        }
    }

    /// Damps velocities once along every active constraint.
    pub(crate) fn damp<const K: usize>(&mut self, step: &Step<'_>, velocities: &Positions)
    where
        C: Constraint<K>,
    {
        let count = self.places.len() / 2;
        for phase in Direction::Forward.phases() {
            self.strips.for_each(phase, count, |strip, _| {
                for c in strip.iter().filter(|c| c.multiplier != 0.0) {
                    step.damp(&c.constraint, velocities);
                }
            });
        }
    }

    /// All constraints, in an order that depends on the mesh alone.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &C> {
        self.strips.iter().flatten().map(|c| &c.constraint)
    }

    pub(crate) fn bytes(&self) -> usize {
        (size_of::<Multiplied<C>>() + 8) * self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(constraints: &[[u32; 2]], count: usize) -> usize {
        let strips = strips(constraints, count);
        let mut all: Vec<u32> = strips.iter().flatten().copied().collect();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..constraints.len() as u32), "nothing is lost");
        for phase in 0..2 {
            let mut owner = vec![usize::MAX; count];
            for (s, strip) in strips.iter().enumerate().filter(|(s, _)| s % 2 == phase) {
                for &p in strip.iter().flat_map(|&c| &constraints[c as usize]) {
                    assert!(owner[p as usize] == usize::MAX || owner[p as usize] == s);
                    owner[p as usize] = s;
                }
            }
        }
        strips.len()
    }

    #[test]
    fn strips_of_a_grid_are_many_and_those_of_one_phase_have_no_particle_in_common() {
        let n = 60u32;
        let at = |i: u32, j: u32| i * n + j;
        let mut pairs = Vec::new();
        for i in 0..n - 1 {
            for j in 0..n - 1 {
                pairs.extend([
                    [at(i, j), at(i + 1, j)],
                    [at(i, j), at(i, j + 1)],
                    [at(i, j), at(i + 1, j + 1)],
                ]);
            }
        }
        assert!(check(&pairs, (n * n) as usize) >= 16);
        // A hub, which is adjacent to almost everything.
        pairs.extend((1..n * n).map(|i| [0, i]));
        check(&pairs, (n * n) as usize);
    }

    proptest! {
        #[test]
        fn strips_of_one_phase_have_no_particle_in_common_on_any_graph(
            pairs in prop::collection::vec((0u32..900, 1u32..30), 0..2000),
        ) {
            let pairs: Vec<[u32; 2]> = pairs.into_iter().map(|(a, by)| [a, (a + by) % 930]).collect();
            check(&pairs, 930);
        }
    }
}
