//! Steps that are truncated vertex by vertex, or island by island, in place of one step length for the whole scene.
//!
//! A displacement `d` on which surfaces would meet is replaced by `s d` with a fraction `s` of each vertex:
//!
//! ```text
//! s = 1;   repeat: sweep x → x + s d;   for each pair that would meet after a fraction t: s = t s at its vertices;   until none would
//! ```
//!
//! **Nothing crosses.** The displacement that is returned was itself swept, with all its pairs, and none of them met: the same proof as for one
//! step length, whatever the fractions are. Nothing is assumed about them, so it holds as well where a surface is embedded, with weights of any
//! sign: a pair then limits every unknown that moves one of its points. All points move straight and at one rate, so every shorter step along
//! `s d` is free as well. Bounds that hold whatever the other vertices do (a plane between each pair, or a part of each vertex' gap) need no
//! second sweep, but cut the common motion of layers that move together.
//!
//! **It descends.** Where fractions of adjacent vertices differ, elements are strained. Fractions therefore change gradually over the mesh, by
//! at most `1/`[`RAMP`] from a vertex to the next. A step is taken only if the objective falls by what the slope along `s d` demands, and
//! by about as much as one step length for all would give by the quadratic model (`descent.rs`). Otherwise each island gets one fraction: the
//! bodies that contacts and seams connect. The objective is a sum over islands, so that each part of the direction descends by itself. If that
//! fails too, or there is one island only, all get the same.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::objective::Objective;
use supple_core::parallel::CHUNK;
use supple_linear::BlockPattern;

/// Vertices over which fractions rise from nothing to one.
const RAMP: f64 = 8.0;
/// Sweeps after which no fractions are found.
const MAX_SWEEPS: u32 = 8;
/// From this sweep on, all vertices of a pair get the smallest fraction of them: such a pair moves as it was swept at first.
const UNITE_AFTER: u32 = 3;
/// What is kept of a fraction where a pair meets again after it was shortened once.
const AGAIN: f64 = 0.9;

/// Fractions of a displacement and the workspace to find them.
#[derive(Default)]
pub(crate) struct StepFractions {
    /// Of each vertex.
    fractions: Vec<f64>,
    /// The same, of vertices or of bodies, in the last sweep.
    swept: Vec<f64>,
    /// Vertices from which smaller fractions spread.
    queue: Vec<u32>,
    /// The island of each body: its lowest body.
    islands: Vec<u32>,
    /// The fraction of each body.
    of_body: Vec<f64>,
}

/// Which vertices are coupled.
#[derive(Clone, Copy)]
pub(crate) struct Couplings<'a> {
    /// Over the unknowns.
    pub(crate) pattern: &'a BlockPattern,
    /// The vertex of each unknown.
    pub(crate) vertices: &'a [u32],
}

impl StepFractions {
    /// The fraction of a vertex.
    pub(crate) fn of(&self, vertex: u32) -> f64 {
        self.fractions[vertex as usize]
    }

    /// Truncates the displacement between two states vertex by vertex, so that `trial` can be reached; `false` if it finds no fractions. They
    /// change gradually along the couplings.
    pub(crate) fn by_vertex(
        &mut self,
        objective: &dyn Objective,
        [from, to]: [&[DVec3]; 2],
        trial: &mut [DVec3],
        couplings: Couplings<'_>,
    ) -> bool {
        self.fractions.clear();
        self.fractions.resize(from.len(), 1.0);
        trial.copy_from_slice(to);
        for sweep in 0..MAX_SWEEPS {
            self.swept.clone_from(&self.fractions);
            self.queue.clear();
            let Self { fractions, swept, queue, .. } = self;
            let examined = objective.collisions([from, trial], &mut |vertices, free| {
                let least = vertices.iter().map(|v| swept[*v as usize]).fold(1.0, f64::min);
                for &v in vertices {
                    let swept = if sweep < UNITE_AFTER { swept[v as usize] } else { least };
                    let fraction = &mut fractions[v as usize];
                    *fraction = fraction.min(kept(sweep) * free * swept);
                    queue.push(v);
                }
            });
            if !examined || self.queue.is_empty() {
                return examined;
            }
            self.spread(couplings);
            shorten(&self.fractions, [from, to], trial);
        }
        false
    }

    /// Lets fractions rise gradually from the vertices in the queue. The result does not depend on the order: each is the smallest sum over
    /// all paths.
    fn spread(&mut self, Couplings { pattern, vertices }: Couplings<'_>) {
        let Self { fractions, queue, .. } = self;
        let mut next = 0;
        while let Some(&v) = queue.get(next) {
            next += 1;
            let limit = fractions[v as usize] + 1.0 / RAMP;
            let Some(row) = pattern.unknown(v).filter(|_| limit < 1.0) else { continue };
            for &column in pattern.row(row).1 {
                let other = vertices[column as usize];
                if fractions[other as usize] > limit {
                    fractions[other as usize] = limit;
                    queue.push(other);
                }
            }
        }
    }

    /// The same with one fraction for each island; `false` if there is only one island.
    pub(crate) fn by_island(
        &mut self,
        objective: &dyn Objective,
        [from, to]: [&[DVec3]; 2],
        trial: &mut [DVec3],
    ) -> bool {
        let first_vertex = objective.bodies();
        if first_vertex.len() < 2 {
            return false;
        }
        let Self { fractions, swept, islands, of_body, .. } = self;
        let body = |v: u32| first_vertex.partition_point(|first| *first <= v) - 1;
        islands.clear();
        islands.extend(0..first_vertex.len() as u32);
        objective.contact_links(from, &mut |vertices| {
            vertices.iter().for_each(|v| unite(islands, [vertices[0], *v].map(body)));
        });
        of_body.clear();
        of_body.resize(first_vertex.len(), 1.0);
        fractions.clear();
        fractions.resize(from.len(), 1.0);
        trial.copy_from_slice(to);
        for sweep in 0..MAX_SWEEPS {
            if islands.iter().all(|island| *island == 0) {
                return false;
            }
            swept.clone_from(of_body);
            let mut any = false;
            let examined = objective.collisions([from, trial], &mut |vertices, free| {
                any = true;
                let least = vertices.iter().map(|v| swept[body(*v)]).fold(1.0, f64::min);
                for &v in vertices {
                    of_body[body(v)] = of_body[body(v)].min(kept(sweep) * free * least);
                    unite(islands, [vertices[0], v].map(body));
                }
            });
            if !examined || !any {
                return examined;
            }
            for body in (0..islands.len()).rev() {
                let island = islands[body] as usize;
                of_body[island] = of_body[island].min(of_body[body]);
            }
            (0..islands.len()).for_each(|body| of_body[body] = of_body[islands[body] as usize]);
            fractions.iter_mut().zip(0..).for_each(|(fraction, v)| *fraction = of_body[body(v)]);
            shorten(fractions, [from, to], trial);
        }
        false
    }
}

/// What is kept of a fraction at which a pair was found to meet.
fn kept(sweep: u32) -> f64 {
    if sweep == 0 { 1.0 } else { AGAIN }
}

/// `trial = from + s (to - from)`.
fn shorten(fractions: &[f64], [from, to]: [&[DVec3]; 2], trial: &mut [DVec3]) {
    trial.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(v, trial)| {
        let fraction = fractions[v];
        *trial = if fraction < 1.0 { from[v] + fraction * (to[v] - from[v]) } else { to[v] };
    });
}

/// Joins the islands of two bodies.
fn unite(islands: &mut [u32], bodies: [usize; 2]) {
    let [a, b] = bodies.map(|body| islands[body]);
    if a != b {
        islands.iter_mut().filter(|island| **island == a.max(b)).for_each(|island| *island = a.min(b));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::material::HessianMode;
    use supple_linear::BlockMatrix;

    /// Beads on a line, which must keep their order; bodies of three each.
    struct Beads {
        bodies: Vec<u32>,
    }

    impl Objective for Beads {
        fn value(&self, _x: &[DVec3]) -> f64 {
            0.0
        }

        fn gradient(&self, _x: &[DVec3], _gradient: &mut [DVec3]) {}

        fn hessian(&self, _x: &[DVec3], _mode: HessianMode, _hessian: &mut BlockMatrix) {}

        fn collisions(&self, [from, to]: [&[DVec3]; 2], visit: &mut dyn FnMut(&[u32], f64)) -> bool {
            for v in 1..from.len() {
                let [before, after] = [from, to].map(|x| x[v].x - x[v - 1].x);
                // A tenth of the gap must be left.
                if after < 0.1 * before {
                    visit(&[v as u32 - 1, v as u32], 0.9 * before / (before - after));
                }
            }
            true
        }

        fn bodies(&self) -> &[u32] {
            &self.bodies
        }
    }

    /// Positions with gaps, and displacements.
    fn displacements() -> impl Strategy<Value = (Vec<DVec3>, Vec<DVec3>)> {
        let bead = (0.1..1.0f64, -2.0..2.0f64, 0..3u32);
        prop::collection::vec(bead, 30).prop_map(|beads| {
            let mut x = 0.0;
            let place = |(gap, _, _): &(f64, f64, u32)| {
                x += gap;
                x * DVec3::X
            };
            let from: Vec<DVec3> = beads.iter().map(place).collect();
            // Most move little.
            let goes = |(from, (_, by, much)): (&DVec3, &(f64, f64, u32))| {
                *from + if *much == 0 { *by } else { 0.01 * by } * DVec3::X
            };
            let to = from.iter().zip(&beads).map(goes).collect();
            (from, to)
        })
    }

    proptest! {
        #[test]
        fn truncated_displacements_are_free_and_no_longer_than_the_whole((from, to) in displacements()) {
            let beads = Beads { bodies: (0..10).map(|body| 3 * body).collect() };
            let pairs: Vec<[u32; 2]> = (0..30).filter(|v| v % 3 > 0).map(|v| [v - 1, v]).collect();
            let pattern = BlockPattern::new(&[false; 30], &pairs);
            let vertices: Vec<u32> = (0..30).collect();
            let couplings = Couplings { pattern: &pattern, vertices: &vertices };
            let mut fractions = StepFractions::default();
            let mut trial = vec![DVec3::ZERO; 30];
            for by_island in [false, true] {
                let found = match by_island {
                    true => fractions.by_island(&beads, [&from, &to], &mut trial),
                    false => fractions.by_vertex(&beads, [&from, &to], &mut trial, couplings),
                };
                if !found {
                    continue;
                }
                for v in 0..30 {
                    let fraction = fractions.of(v as u32);
                    prop_assert!(fraction > 0.0 && fraction <= 1.0);
                    prop_assert!((trial[v] - from[v] - fraction * (to[v] - from[v])).length() < 1e-12);
                    prop_assert!(v == 0 || trial[v].x > trial[v - 1].x, "they have passed each other");
                    if v % 3 > 0 {
                        let change = (fraction - fractions.of(v as u32 - 1)).abs();
                        let most = if by_island { 0.0 } else { 1.0 / RAMP + 1e-12 };
                        prop_assert!(change <= most);
                    }
                }
            }
        }
    }

    #[test]
    fn what_meets_nothing_moves_as_far_as_it_wants() {
        let from: Vec<DVec3> = (0..30).map(|v| f64::from(v) * DVec3::X).collect();
        let mut to: Vec<DVec3> = from.iter().map(|x| *x + 7.0 * DVec3::Y).collect();
        to[10].x += 1.5;
        let beads = Beads { bodies: (0..10).map(|body| 3 * body).collect() };
        let mut fractions = StepFractions::default();
        let mut trial = vec![DVec3::ZERO; 30];
        assert!(fractions.by_island(&beads, [&from, &to], &mut trial));
        for v in 0..30 {
            // Beads 10 and 11 belong to the fourth body.
            assert_eq!(fractions.of(v) < 1.0, (9..12).contains(&v), "{v}");
        }
    }
}
