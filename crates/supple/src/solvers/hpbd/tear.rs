//! A particle is split (Müller 2008, section 8): constraints follow the triangles that they belong to, and the hierarchy is
//! mended on all levels along what it was made of, so that nothing pulls across a cut.
//!
//! The paper removes every link of the split particle and of its ancestors. Here each coarse constraint knows the links of
//! the finer level that it stands for, down to edges of the mesh: it is removed only if these no longer join its ends (the
//! paper's future work). Those that still do measure along these edges from then on, since a straight distance might lie
//! across the cut. All of it happens around the split particle: the cost does not depend on the size of the mesh.

use std::collections::{BTreeMap, BTreeSet};

use glam::DVec3;

use super::constraint::{Distance, Fold};
use super::hierarchy::Parent;
use super::mesh_constraints::MeshConstraints;
use super::restriction::parent_weights;
use super::solver::HierarchicalSolver;

const NONE: u32 = u32::MAX;

/// A split of a particle, over all particles and triangles of a system.
pub(super) struct ParticleSplit<'a> {
    pub(super) particle: u32,
    pub(super) clones: &'a [u32],
    /// The triangles that stay with the particle, then those of every clone.
    pub(super) fans: Vec<Vec<u32>>,
    /// All triangles, as they are after the split.
    pub(super) triangles: &'a [[u32; 3]],
    /// Where the particles were at the start; clones where their originals were.
    pub(super) start: &'a [DVec3],
}

impl ParticleSplit<'_> {
    /// The particle and its clones with the triangles of each.
    fn owners(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let particles = std::iter::once(self.particle).chain(self.clones.iter().copied());
        particles.zip(self.fans.iter().map(Vec::as_slice))
    }

    fn corners(&self, triangle: u32) -> [u32; 3] {
        self.triangles[triangle as usize]
    }

    /// Which of the particle and its clones still have an edge to another particle.
    fn owners_of_edge(&self, other: u32) -> Vec<u32> {
        let has = |fan: &[u32]| fan.iter().any(|&t| self.corners(t).contains(&other));
        self.owners().filter(|(_, fan)| has(fan)).map(|(owner, _)| owner).collect()
    }

    /// The corners of two triangles that lie opposite to their common edge; `None` if they have none.
    fn opposite(&self, pair: [u32; 2]) -> Option<[u32; 2]> {
        let [one, other] = pair.map(|t| self.corners(t));
        let lone = |own: [u32; 3], with: [u32; 3]| {
            let mut lone = own.into_iter().filter(|v| !with.contains(v));
            let first = lone.next();
            first.filter(|_| lone.next().is_none())
        };
        Some([lone(one, other)?, lone(other, one)?])
    }
}

/// What is next to what, for bodies that may tear.
#[derive(Debug, Default)]
pub(super) struct Neighbourhood {
    /// The links of level 0 at every particle.
    links: Vec<Vec<u32>>,
    /// The shear and bending springs across each triangle's sides.
    braces: Vec<Vec<u32>>,
    /// The two triangles of such a spring.
    triangles_of_brace: BTreeMap<u32, [u32; 2]>,
    /// The first distance constraint that is a bending spring: all before are links, and bear their number.
    first_bend: u32,
    levels: Vec<LevelNeighbourhood>,
}

#[derive(Debug, Default)]
struct LevelNeighbourhood {
    /// For each link of the finer level, the limits that stand for it.
    limits: Vec<Vec<u32>>,
    /// For each particle its place among the level's children.
    child: Vec<u32>,
}

impl Neighbourhood {
    pub(super) fn new(mesh: &MeshConstraints, solver: &HierarchicalSolver, particles: usize) -> Self {
        let mut around = Self {
            links: vec![Vec::new(); particles],
            braces: vec![Vec::new(); mesh.triangles.len()],
            first_bend: mesh.links.len() as u32,
            ..Self::default()
        };
        for link in mesh.bodies.iter().flat_map(|body| body.edges.clone()) {
            mesh.links[link as usize].ends.iter().for_each(|&p| around.links[p as usize].push(link));
        }
        let flaps = flaps(&mesh.triangles);
        let shears = mesh.bodies.iter().flat_map(|body| body.shears.clone());
        let shears = shears.map(|number| (&mesh.links[number as usize], number));
        for (brace, number) in shears.chain(mesh.braces.iter().zip(mesh.links.len() as u32..)) {
            let [a, b] = brace.ends;
            if let Some(&pair) = flaps.get(&[a.min(b), a.max(b)]) {
                pair.iter().for_each(|&t| around.braces[t as usize].push(number));
                around.triangles_of_brace.insert(number, pair);
            }
        }
        let mut links = solver.links.len();
        for coarse in &solver.coarse {
            let mut level =
                LevelNeighbourhood { limits: vec![Vec::new(); links], child: vec![NONE; particles] };
            for limit in 0..coarse.level.limits.len() {
                for &part in coarse.level.parts(limit) {
                    level.limits[part as usize].push(limit as u32);
                }
            }
            coarse.level.children.iter().zip(0..).for_each(|(&p, child)| level.child[p as usize] = child);
            links = coarse.level.limits.len();
            around.levels.push(level);
        }
        around
    }
}

/// The two triangles beside every inner edge, by the corners opposite to it.
fn flaps(triangles: &[[u32; 3]]) -> BTreeMap<[u32; 2], [u32; 2]> {
    let mut beside: BTreeMap<[u32; 2], Vec<(u32, u32)>> = BTreeMap::new();
    for (&[a, b, c], t) in triangles.iter().zip(0..) {
        for [i, j, apex] in [[a, b, c], [b, c, a], [c, a, b]] {
            beside.entry([i.min(j), i.max(j)]).or_default().push((t, apex));
        }
    }
    let flap = |sides: Vec<(u32, u32)>| match sides[..] {
        [(s, p), (t, q)] => Some(([p.min(q), p.max(q)], [s, t])),
        _ => None,
    };
    beside.into_values().filter_map(flap).collect()
}

impl HierarchicalSolver {
    /// Follows a split of a particle.
    pub(super) fn split(&mut self, around: &mut Neighbourhood, split: &ParticleSplit<'_>) {
        for _ in split.clones {
            self.level_of.push(0);
            self.coarse.iter_mut().for_each(|coarse| coarse.place.push(0));
            around.links.push(Vec::new());
            around.levels.iter_mut().for_each(|level| level.child.push(NONE));
        }
        self.coarse.iter_mut().for_each(|coarse| coarse.own = None);
        let mut touched = self.split_links(around, split);
        touched.extend(self.split_braces(around, split));
        self.split_folds(split);
        let mut ends: Vec<u32> = touched.iter().flat_map(|&link| self.ends_of_link(0, link)).collect();
        ends.push(split.particle);
        ends.iter().for_each(|&p| self.prune_parents(around, 0, p));
        self.mend_limits(around, touched);
        for &clone in split.clones {
            self.adopt(around, clone, split.start);
        }
    }

    /// Edges go to those of the particle and its clones that have a triangle at them; edges along the cut become two, each
    /// with its share of the stiffness. Gives the links that changed.
    fn split_links(&mut self, around: &mut Neighbourhood, split: &ParticleSplit<'_>) -> Vec<u32> {
        let mut touched = std::mem::take(&mut around.links[split.particle as usize]);
        for &link in &touched {
            let number = self.links[link as usize] as usize;
            let old = self.distances.get(number);
            let other = if old.ends[0] == split.particle { old.ends[1] } else { old.ends[0] };
            let owners = split.owners_of_edge(other);
            let compliance = old.compliance * owners.len() as f64;
            for (&owner, copy) in owners.iter().zip(0..) {
                let new = Distance { ends: [owner, other], compliance, ..old };
                if copy == 0 {
                    self.distances.set(number, new);
                    around.links[owner as usize].push(link);
                    continue;
                }
                let copied = self.links.len() as u32;
                self.links.push(self.distances.push_beside(number, new) as u32);
                around.links[owner as usize].push(copied);
                around.links[other as usize].push(copied);
                if let Some(level) = around.levels.first_mut() {
                    level.limits.push(Vec::new());
                }
            }
        }
        touched.sort_unstable();
        touched
    }

    /// Springs across an inner edge stay where both triangles still have it in common. Gives the links among those that changed.
    fn split_braces(&mut self, around: &Neighbourhood, split: &ParticleSplit<'_>) -> Vec<u32> {
        let triangles = split.fans.iter().flatten();
        let braces: BTreeSet<u32> =
            triangles.flat_map(|&t| around.braces.get(t as usize).into_iter().flatten().copied()).collect();
        let mut touched = Vec::new();
        for brace in braces {
            let old = self.distances.get(brace as usize);
            let ends = split.opposite(around.triangles_of_brace[&brace]).unwrap_or([old.ends[0]; 2]);
            self.distances.set(brace as usize, Distance { ends, ..old });
            if brace < around.first_bend && ends != old.ends {
                touched.push(brace);
            }
        }
        touched
    }

    fn split_folds(&mut self, split: &ParticleSplit<'_>) {
        let owner = |triangle: u32| {
            let has = |(_, fan): &(u32, &[u32])| fan.contains(&triangle);
            split.owners().find(has).map(|(owner, _)| owner)
        };
        self.folds.retain(|fold: &mut Fold| {
            if !fold.corners.contains(&split.particle) {
                return true;
            }
            let Some([c, d]) = split.opposite(fold.triangles) else { return false };
            let rename = |v: u32| if v == split.particle { owner(fold.triangles[0]).unwrap_or(v) } else { v };
            let [a, b] = [fold.corners[0], fold.corners[1]].map(rename);
            fold.corners = [a, b, c, d];
            true
        });
    }

    /// The ends of a link of level `l`; twice the same where it was removed.
    fn ends_of_link(&self, l: usize, link: u32) -> [u32; 2] {
        match l.checked_sub(1) {
            None => self.distances.get(self.links[link as usize] as usize).ends,
            Some(coarse) => self.coarse[coarse].level.limits[link as usize].ends,
        }
    }

    /// Takes those parents away from a particle of level `l` whose links are gone or go to its clones.
    fn prune_parents(&mut self, around: &Neighbourhood, l: usize, particle: u32) {
        let Some(&child) = around.levels.get(l).and_then(|level| level.child.get(particle as usize)) else {
            return;
        };
        if child == NONE {
            return;
        }
        let holds = |parent: &Parent| {
            let [a, b] = self.ends_of_link(l, parent.link);
            [a, b] == [particle, parent.particle] || [b, a] == [particle, parent.particle]
        };
        let kept: Vec<bool> = self.coarse[l].level.parents(child as usize).iter().map(holds).collect();
        let parents = self.coarse[l].level.parents_mut(child as usize);
        let left: f64 = parents.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(p, _)| p.weight).sum();
        for (parent, kept) in parents.iter_mut().zip(kept) {
            parent.weight = if kept && left > 0.0 { parent.weight / left } else { 0.0 };
        }
    }

    /// Removes the coarse constraints whose edges no longer join their ends; lets the others around measure along them.
    fn mend_limits(&mut self, around: &Neighbourhood, touched: Vec<u32>) {
        let mut finer: BTreeSet<u32> = touched.into_iter().collect();
        for l in 0..self.coarse.len() {
            let limits_of = |link: &u32| around.levels[l].limits[*link as usize].iter().copied();
            let limits: BTreeSet<u32> = finer.iter().flat_map(limits_of).collect();
            for &number in &limits {
                let limit = self.coarse[l].level.limits[number as usize];
                if limit.ends[0] == limit.ends[1] {
                    continue;
                }
                let edges = self.edges_of(l, number);
                let level = &mut self.coarse[l];
                let ends = |&link: &u32| self.distances.get(self.links[link as usize] as usize).ends;
                if is_joined(limit.ends, edges.iter().map(ends).collect()) {
                    let along =
                        edges.iter().map(|&e| self.distances.get(self.links[e as usize] as usize).rest).sum();
                    let rest = limit.rest.max(along);
                    level.level.limits[number as usize].rest = rest;
                    level.sweep.set_rest(number as usize, rest);
                    continue;
                }
                level.level.limits[number as usize].ends = [limit.ends[0]; 2];
                let old = level.sweep.get(number as usize);
                level.sweep.set(number as usize, Distance { ends: [limit.ends[0]; 2], ..old });
                limit.ends.iter().for_each(|&p| self.prune_parents(around, l + 1, p));
            }
            finer = limits;
        }
    }

    /// The links of level 0 that a limit of coarse level `l` stands for.
    pub(super) fn edges_of(&self, l: usize, limit: u32) -> Vec<u32> {
        let parts = self.coarse[l].level.parts(limit as usize);
        match l.checked_sub(1) {
            None => parts.to_vec(),
            Some(finer) => parts.iter().flat_map(|&part| self.edges_of(finer, part)).collect(),
        }
    }

    /// Gives a clone its parents: those of its neighbours that are on the first coarse level.
    fn adopt(&mut self, around: &mut Neighbourhood, clone: u32, start: &[DVec3]) {
        let Some(coarse) = self.coarse.first_mut() else { return };
        let mut links: Vec<(u32, u32)> = Vec::new();
        for &link in &around.links[clone as usize] {
            let [a, b] = self.distances.get(self.links[link as usize] as usize).ends;
            let other = if a == clone { b } else { a };
            if self.level_of[other as usize] > 0 {
                links.push((other, link));
            }
        }
        let parents: Vec<u32> = links.iter().map(|&(parent, _)| parent).collect();
        let weights = parent_weights(start[clone as usize], &parents, start);
        let parent =
            |((particle, weight), (_, link)): ((u32, f64), (u32, u32))| Parent { particle, weight, link };
        around.levels[0].child[clone as usize] = coarse.level.children.len() as u32;
        coarse.level.push_child(clone, weights.into_iter().zip(links).map(parent));
    }
}

/// Whether edges join two particles, all of them on the same side of any cut: their loads say how far a limit gives way.
fn is_joined([from, to]: [u32; 2], mut left: Vec<[u32; 2]>) -> bool {
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&here) = reached.get(next) {
        left.retain(|&[a, b]| {
            let beyond = if a == here { b } else { a };
            let at = a == here || b == here;
            if at {
                reached.push(beyond);
            }
            !at
        });
        next += 1;
    }
    left.is_empty() && reached.contains(&to)
}
