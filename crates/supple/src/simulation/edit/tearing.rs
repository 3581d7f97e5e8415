//! Cloth that tears. After every step each edge that is stretched beyond the body's `tear_stretch` splits one of its ends, along
//! the plane through it perpendicular to the edge (Müller 2006, section 4.5): triangles beyond the plane get a clone of the particle,
//! fan by fan. Of adjacent particles only one is split per step. Polygons stay whole: all triangles of one are on the same side.
//! Vertices with a scheduled tear are split in the same way, one after the other, along planes in the initial
//! state.
//!
//! Splits are recorded in order. A saved state contains them, and restoring it replays them from the whole body, so that a
//! resumed run is bit-identical.

use glam::DVec3;

use crate::body::{Body, Elements, Split, TornSurface};
use crate::simulation::{SceneState, Simulation, StateReader, StateWriter, Torn};
use supple_core::Error;

/// The tears of the last body of a scene state.
#[derive(Debug, Clone)]
pub(crate) struct Tearing {
    whole: Body,
    surface: TornSurface,
    splits: Vec<Split>,
    /// The square of the largest allowed length of every element's sides, from its first corner to the second and so on, in m².
    limits: Vec<[f64; 3]>,
}

impl Tearing {
    /// `None` if the last body does not tear.
    pub(crate) fn new(scene_state: &SceneState) -> Option<Self> {
        let body = scene_state.bodies.last()?;
        if !body.can_tear() {
            return None;
        }
        let stretch = body.tear_stretch.unwrap_or(f64::INFINITY);
        let limit = |a: DVec3, b: DVec3| stretch * stretch * a.distance_squared(b);
        let limits = body.rest_corners.iter().map(|&[a, b, c]| [limit(a, b), limit(b, c), limit(c, a)]);
        Some(Self {
            surface: TornSurface::new(body)?,
            whole: body.clone(),
            splits: Vec::new(),
            limits: limits.collect(),
        })
    }

    /// Ends of overstretched edges, with the direction of the edge, in descending order of stretch.
    fn overstretched(&self, elements: &[[u32; 3]], x: &[DVec3]) -> Vec<Overstretched> {
        let mut found: Vec<Overstretched> = Vec::new();
        for (&[a, b, c], limits) in elements.iter().zip(&self.limits) {
            for ([i, j], limit) in [[a, b], [b, c], [c, a]].into_iter().zip(limits) {
                let squared = x[i as usize].distance_squared(x[j as usize]);
                if squared > *limit {
                    found.push(Overstretched { ends: [i.min(j), i.max(j)], excess: squared / limit });
                }
            }
        }
        found.sort_by(|a, b| b.excess.total_cmp(&a.excess).then(a.ends.cmp(&b.ends)));
        found
    }

    /// How a particle would be split across a direction; `None` if everything is on one side.
    fn split(&self, elements: &[[u32; 3]], x: &[DVec3], particle: u32, direction: DVec3) -> Option<Split> {
        let around = &self.surface.around[particle as usize];
        let here = x[particle as usize];
        // The side of a polygon is that of the centre of its triangles at the particle.
        let side = |element: u32| {
            let face = self.surface.face[element as usize];
            let same = around.iter().filter(|&&other| self.surface.face[other as usize] == face);
            let middle = |&t: &u32| elements[t as usize].map(|v| x[v as usize]).into_iter().sum::<DVec3>();
            same.map(|t| (middle(t) / 3.0 - here).dot(direction)).sum::<f64>() > 0.0
        };
        let sides: Vec<bool> = around.iter().map(|&element| side(element)).collect();
        let mut fan_of: Vec<usize> = (0..around.len()).collect();
        // Triangles that share an edge on one side form one fan: the smallest index propagates.
        let all_pairs = (0..around.len()).flat_map(|i| (0..around.len()).map(move |j| (i, j)));
        let joined =
            |&(i, j): &(usize, usize)| sides[i] == sides[j] && share_a_side(elements, around[i], around[j]);
        let joined: Vec<(usize, usize)> = all_pairs.filter(joined).collect();
        for _ in 0..around.len() {
            joined.iter().for_each(|&(i, j)| fan_of[i] = fan_of[i].min(fan_of[j]));
        }
        let fans: Vec<Vec<u32>> = (1..around.len())
            .map(|fan| (0..around.len()).filter(|&i| fan_of[i] == fan).map(|i| around[i]).collect::<Vec<_>>())
            .filter(|fan: &Vec<u32>| !fan.is_empty())
            .collect();
        (!fans.is_empty()).then_some(Split { particle, fans })
    }

    /// Whether a particle is at the boundary of the cloth, where tears continue.
    fn is_at_border(&self, elements: &[[u32; 3]], particle: u32) -> bool {
        let around = &self.surface.around[particle as usize];
        let ends = || around.iter().flat_map(|&t| elements[t as usize]).filter(|v| *v != particle);
        ends().any(|v| ends().filter(|w| *w == v).count() == 1)
    }
}

/// An overstretched edge.
struct Overstretched {
    ends: [u32; 2],
    /// The square of its length over that of the longest allowed.
    excess: f64,
}

fn share_a_side(elements: &[[u32; 3]], one: u32, other: u32) -> bool {
    let own = elements[one as usize];
    own.iter().filter(|v| elements[other as usize].contains(v)).count() >= 2
}

impl Simulation {
    /// Splits overstretched edges, and performs the tears scheduled since `earlier`; returns whether there were any.
    pub(crate) fn tear(&mut self, earlier: f64) -> bool {
        let Some(tearing) = self.tearing.take() else { return false };
        let before = tearing.splits.len();
        let splits = self.find_splits(&tearing);
        self.tearing = Some(tearing);
        splits.iter().for_each(|split| self.apply_split(split));
        self.tear_by_time(earlier..self.scene_state.time);
        let torn = self.tearing.as_ref().is_some_and(|tearing| tearing.splits.len() > before);
        if torn {
            self.stepper.after_tears(&self.scene_state);
        }
        torn
    }

    /// Performs the tears that are due.
    fn tear_by_time(&mut self, times: std::ops::Range<f64>) {
        let Some(body) = self.scene_state.bodies.last() else { return };
        let due = body.tears.iter().filter(|tear| times.contains(&tear.time));
        let due: Vec<(u32, DVec3)> =
            due.flat_map(|tear| tear.particles.iter().map(|&particle| (particle, tear.across))).collect();
        for (particle, across) in due {
            let (Some(tearing), Some(body)) = (&self.tearing, self.scene_state.bodies.last()) else { return };
            let Elements::Triangles(elements) = &body.elements else { return };
            if let Some(split) = tearing.split(elements, &body.start, particle, across) {
                self.apply_split(&split);
            }
        }
    }

    /// At most one split among adjacent particles.
    fn find_splits(&self, tearing: &Tearing) -> Vec<Split> {
        let last = self.scene_state.bodies.len() - 1;
        let Elements::Triangles(elements) = &self.scene_state.bodies[last].elements else {
            return Vec::new();
        };
        let x = &*self.body_unknowns(last);
        let mut splits = Vec::new();
        let mut busy = std::collections::BTreeSet::new();
        for edge in tearing.overstretched(elements, x) {
            let mut ends = edge.ends;
            ends.sort_by_key(|&v| !tearing.is_at_border(elements, v));
            let split = ends.iter().find_map(|&v| {
                let other = if v == ends[0] { ends[1] } else { ends[0] };
                if busy.contains(&v) {
                    return None;
                }
                tearing.split(elements, x, v, x[other as usize] - x[v as usize])
            });
            if let Some(split) = split {
                let around = &tearing.surface.around[split.particle as usize];
                let ring = around.iter().flat_map(|&t| elements[t as usize]);
                // The adjacent triangles may not be split by a neighbour in the same step either.
                let wide = ring.flat_map(|v| {
                    tearing.surface.around[v as usize].iter().flat_map(|&t| elements[t as usize])
                });
                busy.extend(wide);
                splits.push(split);
            }
        }
        splits
    }

    fn apply_split(&mut self, split: &Split) {
        let Some(tearing) = &mut self.tearing else { return };
        let Some(body) = self.scene_state.bodies.last_mut() else { return };
        let clones = body.split(&mut tearing.surface, split);
        let left = tearing.surface.around[split.particle as usize].clone();
        tearing.splits.push(split.clone());
        self.stepper.torn(&self.scene_state, &Torn { split, clones: &clones, left: &left });
    }

    /// Only bodies that tear have this in their state.
    pub(crate) fn save_tears(&self, state: &mut StateWriter) {
        let Some(tearing) = &self.tearing else { return };
        let mut words = Vec::new();
        for split in &tearing.splits {
            words.extend([split.particle, split.fans.len() as u32]);
            for fan in &split.fans {
                words.push(fan.len() as u32);
                words.extend(fan);
            }
        }
        state.words(&words);
    }

    /// Restores the whole body and replays the tears of the saved state.
    pub(crate) fn restore_tears(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let Some(tearing) = &mut self.tearing else { return Ok(()) };
        let splits = read_splits(&state.words()?)?;
        if tearing.splits == splits {
            return Ok(());
        }
        let kept: Vec<Option<usize>> = (0..self.scene_state.bodies.len()).map(|_| None).collect();
        if let Some(body) = self.scene_state.bodies.last_mut() {
            *body = tearing.whole.clone();
        }
        self.tearing = Tearing::new(&self.scene_state);
        self.stepper.bodies_changed(&self.scene_state, &kept);
        for split in &splits {
            if !self.fits(split) {
                let problem =
                    "a saved state with a tear that does not fit the body: it belongs to another scene";
                return Err(Error::Invalid(problem.into()));
            }
            self.apply_split(split);
        }
        self.stepper.after_tears(&self.scene_state);
        Ok(())
    }

    /// Whether every fan of a split consists of elements around its particle, and no two share an element.
    fn fits(&self, split: &Split) -> bool {
        let Some(tearing) = &self.tearing else { return false };
        let Some(around) = tearing.surface.around.get(split.particle as usize) else { return false };
        let mut seen = std::collections::BTreeSet::new();
        split.fans.iter().flatten().all(|element| around.contains(element) && seen.insert(*element))
    }
}

fn read_splits(words: &[u32]) -> Result<Vec<Split>, Error> {
    let mut words = words.iter().copied();
    let early = || Error::Invalid("a saved state whose tears end early: it is damaged".into());
    let mut splits = Vec::new();
    while let Some(particle) = words.next() {
        let mut fans = Vec::new();
        for _ in 0..words.next().ok_or_else(early)? {
            let count = words.next().ok_or_else(early)? as usize;
            let fan: Vec<u32> = words.by_ref().take(count).collect();
            if fan.len() != count {
                return Err(early());
            }
            fans.push(fan);
        }
        splits.push(Split { particle, fans });
    }
    Ok(splits)
}
