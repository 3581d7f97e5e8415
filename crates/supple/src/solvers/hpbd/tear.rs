//! Splits a particle (Müller 2008, section 8): constraints follow the triangles that they belong to, and the hierarchy is
//! repaired on all levels along the links it was built from, so that nothing pulls across a cut.
//!
//! The paper removes every link of the split particle and of its ancestors. Here each coarse constraint stores the links of
//! the finer level that it represents, down to edges of the mesh: it is removed only if these no longer join its ends (the
//! paper's future work). The remaining ones measure along these edges from then on, since a straight distance might cross
//! the cut. All changes are local to the split particle: the cost does not depend on the size of the mesh.

use std::collections::{BTreeMap, BTreeSet};

use glam::DVec3;

use crate::solvers::hpbd::constraint::mesh_constraints::MeshConstraints;
use crate::solvers::hpbd::constraint::{Distance, Fold};
use crate::solvers::hpbd::hierarchy::restriction::parent_weights;
use crate::solvers::hpbd::hierarchy::{Limit, Parent};
use crate::solvers::hpbd::solver::HierarchicalSolver;

const NONE: u32 = u32::MAX;

/// A split of a particle, over all particles and triangles of a system.
pub(crate) struct ParticleSplit<'a> {
    pub(crate) particle: u32,
    pub(crate) clones: &'a [u32],
    /// The triangles that stay with the particle, then those of every clone.
    pub(crate) fans: Vec<Vec<u32>>,
    /// All triangles, as they are after the split.
    pub(crate) triangles: &'a [[u32; 3]],
    /// The start positions of the particles; clones have those of their originals.
    pub(crate) start: &'a [DVec3],
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

    /// The corners of two triangles opposite to their common edge; `None` if they have none.
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

/// Adjacency, for bodies that may tear.
#[derive(Debug, Default)]
pub(crate) struct Neighbourhood {
    /// The links of level 0 at every particle.
    links: Vec<Vec<u32>>,
    /// The shear and bending springs across each triangle's sides.
    braces: Vec<Vec<u32>>,
    /// The two triangles of such a spring.
    triangles_of_brace: BTreeMap<u32, [u32; 2]>,
    /// The folds of every triangle.
    folds: Vec<Vec<u32>>,
    /// The index of the first distance constraint that is a bending spring: all before are links, with the same index.
    first_bend: u32,
    levels: Vec<LevelNeighbourhood>,
}

#[derive(Debug, Default)]
struct LevelNeighbourhood {
    /// For each link of the finer level, the limits that represent it.
    limits: Vec<Vec<u32>>,
    /// The limits at every particle.
    at: Vec<Vec<u32>>,
    /// For each particle its index among the level's children.
    child: Vec<u32>,
    /// The children of each particle, now or earlier.
    children_of: Vec<Vec<u32>>,
    /// For children that are not adjacent to all of their parents, the links of the finer level on the path there.
    paths: BTreeMap<u32, BTreeSet<u32>>,
    /// The children with a path over a link.
    over: BTreeMap<u32, BTreeSet<u32>>,
}

impl LevelNeighbourhood {
    fn forget_trajectory(&mut self, child: u32) {
        for link in self.paths.remove(&child).into_iter().flatten() {
            self.over.get_mut(&link).map(|children| children.remove(&child));
        }
    }

    fn keep_path(&mut self, child: u32, path: BTreeSet<u32>) {
        path.iter().for_each(|&link| {
            self.over.entry(link).or_default().insert(child);
        });
        self.paths.insert(child, path);
    }
}

/// For every level the particles whose links changed.
type Changed = Vec<BTreeSet<u32>>;

/// A particle of a coarser level, and the links on the shortest path there.
type Reached = (u32, Vec<u32>);

/// Particles that a search for parents visits, at most.
const SEARCHED: usize = 128;
/// A particle with fewer parents gets others from farther away too.
const FEWEST_PARENTS: usize = 2;

impl Neighbourhood {
    pub(crate) fn new(mesh: &MeshConstraints, solver: &HierarchicalSolver, particles: usize) -> Self {
        let mut around = Self {
            links: vec![Vec::new(); particles],
            braces: vec![Vec::new(); mesh.triangles.len()],
            folds: vec![Vec::new(); mesh.triangles.len()],
            first_bend: mesh.links.len() as u32,
            ..Self::default()
        };
        for link in mesh.bodies.iter().flat_map(|body| body.edges.clone()) {
            mesh.links[link as usize].ends.iter().for_each(|&p| around.links[p as usize].push(link));
        }
        for (fold, number) in mesh.folds.iter().zip(0..) {
            fold.triangles.iter().for_each(|&t| around.folds[t as usize].push(number));
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
            let mut level = LevelNeighbourhood {
                limits: vec![Vec::new(); links],
                at: vec![Vec::new(); particles],
                child: vec![NONE; particles],
                children_of: vec![Vec::new(); particles],
                ..LevelNeighbourhood::default()
            };
            for (limit, number) in coarse.level.limits.iter().zip(0..) {
                limit.ends.iter().for_each(|&p| level.at[p as usize].push(number));
                for &part in coarse.level.parts(number as usize) {
                    level.limits[part as usize].push(number);
                }
            }
            for (&child, place) in coarse.level.children.iter().zip(0..) {
                level.child[child as usize] = place;
                let parents = coarse.level.parents(place as usize).iter();
                parents.for_each(|parent| level.children_of[parent.particle as usize].push(child));
            }
            links = coarse.level.limits.len();
            around.levels.push(level);
        }
        around
    }

    /// The links of level `l` at a particle.
    fn links_at(&self, l: usize, particle: u32) -> &[u32] {
        l.checked_sub(1).map_or(&self.links, |coarse| &self.levels[coarse].at)[particle as usize].as_slice()
    }
}

/// The two triangles adjacent to every inner edge, by the corners opposite to it.
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
    /// Updates after a split of a particle. Clones are on the levels of their originals, as far as they have limits there.
    pub(crate) fn split(&mut self, around: &mut Neighbourhood, split: &ParticleSplit<'_>) {
        (self.is_torn, self.followers) = (true, None);
        split.clones.iter().for_each(|&clone| self.add_clone(around, split.particle, clone));
        let mut changed: Changed = vec![BTreeSet::new(); self.coarse.len() + 1];
        let level = usize::from(self.level_of[split.particle as usize]);
        for of_level in &mut changed[..=level] {
            of_level.extend(split.owners().map(|(owner, _)| owner));
        }
        let mut touched = self.split_links(around, split);
        touched.extend(self.split_braces(around, split, &mut changed[0]));
        self.split_folds(around, split);
        changed[0].extend(touched.iter().flat_map(|&link| self.ends_of_link(0, link)));
        self.mend_limits(around, split, touched, &mut changed);
        self.leave_levels(around, &mut changed);
        for (l, particles) in changed.iter().enumerate().take(self.coarse.len()) {
            let on_level = |p: &&u32| usize::from(self.level_of[**p as usize]) == l;
            let children: Vec<u32> = particles.iter().filter(on_level).copied().collect();
            children.iter().for_each(|&child| self.find_new_parents(around, l, child, split.start));
        }
    }

    fn add_clone(&mut self, around: &mut Neighbourhood, original: u32, clone: u32) {
        let level = self.level_of[original as usize];
        self.level_of.push(level);
        around.links.push(Vec::new());
        for (l, coarse) in self.coarse.iter_mut().enumerate() {
            coarse.place.push(coarse.level.particles.len() as u32);
            if l < usize::from(level) {
                coarse.level.particles.push(clone);
            }
            around.levels[l].child.push(NONE);
            around.levels[l].at.push(Vec::new());
            around.levels[l].children_of.push(Vec::new());
        }
    }

    /// Edges go to those of the particle and its clones that have a triangle at them; edges along the cut become two, each
    /// with its share of the stiffness. Returns the links that changed.
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
                self.links.push(self.distances.push_adjacent(number, new) as u32);
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

    /// Springs across an inner edge remain where both triangles still share it. Returns the links among those that changed.
    fn split_braces(
        &mut self,
        around: &Neighbourhood,
        split: &ParticleSplit<'_>,
        changed: &mut BTreeSet<u32>,
    ) -> Vec<u32> {
        let triangles = split.fans.iter().flatten();
        let braces: BTreeSet<u32> =
            triangles.flat_map(|&t| around.braces.get(t as usize).into_iter().flatten().copied()).collect();
        let mut touched = Vec::new();
        for brace in braces {
            let old = self.distances.get(brace as usize);
            let ends = split.opposite(around.triangles_of_brace[&brace]).unwrap_or([old.ends[0]; 2]);
            self.distances.set(brace as usize, Distance { ends, ..old });
            if brace < around.first_bend && ends != old.ends {
                changed.extend(old.ends);
                touched.push(brace);
            }
        }
        touched
    }

    /// Folds remain where both triangles still share their edge; otherwise their corners are merged.
    fn split_folds(&mut self, around: &Neighbourhood, split: &ParticleSplit<'_>) {
        let owner = |triangle: u32| {
            let has = |(_, fan): &(u32, &[u32])| fan.contains(&triangle);
            split.owners().find(has).map(|(owner, _)| owner)
        };
        let of_triangle = |&t: &u32| around.folds.get(t as usize).into_iter().flatten().copied();
        let folds: BTreeSet<u32> = split.fans.iter().flatten().flat_map(of_triangle).collect();
        for number in folds {
            let old: Fold = *self.folds.get(number);
            if !old.corners.contains(&split.particle) {
                continue;
            }
            let rename = |v: u32| if v == split.particle { owner(old.triangles[0]).unwrap_or(v) } else { v };
            let corners = match split.opposite(old.triangles) {
                Some([c, d]) => [rename(old.corners[0]), rename(old.corners[1]), c, d],
                None => [old.corners[0]; 4],
            };
            self.folds.set(number, Fold { corners, ..old });
        }
    }

    /// The ends of a link of level `l`; the same particle twice if it was removed.
    fn ends_of_link(&self, l: usize, link: u32) -> [u32; 2] {
        match l.checked_sub(1) {
            None => self.distances.get(self.links[link as usize] as usize).ends,
            Some(coarse) => self.coarse[coarse].level.limits[link as usize].ends,
        }
    }

    /// Removes the parents of a child of coarse level `l` whose links are gone or go to its clones; others may have become
    /// clones themselves. Returns how many are left.
    fn prune_parents(&mut self, around: &mut Neighbourhood, l: usize, particle: u32) -> usize {
        let child = around.levels[l].child[particle as usize];
        if child == NONE {
            return 0;
        }
        let still = |parent: &Parent| {
            let ends = self.ends_of_link(l, parent.link);
            let other = if ends[0] == particle { ends[1] } else { ends[0] };
            let holds = ends.contains(&particle) && usize::from(self.level_of[other as usize]) > l;
            (other, holds && other != particle && parent.weight > 0.0)
        };
        let kept: Vec<(u32, bool)> = self.coarse[l].level.parents(child as usize).iter().map(still).collect();
        let parents = self.coarse[l].level.parents_mut(child as usize);
        let left: f64 = parents.iter().zip(&kept).filter(|(_, (_, kept))| *kept).map(|(p, _)| p.weight).sum();
        for (parent, &(other, kept)) in parents.iter_mut().zip(&kept) {
            parent.weight = if kept { parent.weight / left } else { 0.0 };
            if kept && parent.particle != other {
                parent.particle = other;
                around.levels[l].children_of[other as usize].push(particle);
            }
        }
        kept.iter().filter(|(_, kept)| *kept).count()
    }

    /// Moves the ends of coarse constraints to the clones that their edges connect to now, and removes those whose edges no longer join their
    /// ends; the others nearby measure along them. Children over changed links are recorded too.
    fn mend_limits(
        &mut self,
        around: &mut Neighbourhood,
        split: &ParticleSplit<'_>,
        touched: Vec<u32>,
        changed: &mut Changed,
    ) {
        let mut finer: BTreeSet<u32> = touched.into_iter().collect();
        for l in 0..self.coarse.len() {
            let children_of = finer.iter().filter_map(|link| around.levels[l].over.get(link)).flatten();
            changed[l].extend(children_of);
            let limits_of = |link: &u32| around.levels[l].limits[*link as usize].iter().copied();
            let limits: BTreeSet<u32> = finer.iter().flat_map(limits_of).collect();
            for &number in &limits {
                let Limit { ends, rest } = self.coarse[l].level.limits[number as usize];
                if ends[0] == ends[1] {
                    continue;
                }
                let edges: Vec<Distance> = self.edges_of(l, number).iter().map(|&e| self.edge(e)).collect();
                let along: f64 = edges.iter().map(|edge| edge.rest).sum();
                let edge_ends: Vec<[u32; 2]> = edges.iter().map(|edge| edge.ends).collect();
                let at = |owner: u32| ends.map(|p| if p == split.particle { owner } else { p });
                let joined =
                    split.owners().map(|(owner, _)| at(owner)).find(|new| is_joined(*new, &edge_ends));
                changed[l + 1].extend(ends);
                changed[l + 1].extend(joined.into_iter().flatten());
                let limit = match joined {
                    Some(ends) => Limit { ends, rest: rest.max(along) },
                    None => Limit { ends: [ends[0]; 2], rest },
                };
                self.set_limit(around, l, number, limit);
            }
            finer = limits;
        }
    }

    /// A link of level 0.
    fn edge(&self, link: u32) -> Distance {
        self.distances.get(self.links[link as usize] as usize)
    }

    /// Changes a limit of coarse level `l`: one with the same end twice is removed.
    fn set_limit(&mut self, around: &mut Neighbourhood, l: usize, number: u32, limit: Limit) {
        let at = &mut around.levels[l].at;
        let old = std::mem::replace(&mut self.coarse[l].level.limits[number as usize], limit);
        old.ends.iter().for_each(|&p| at[p as usize].retain(|other| *other != number));
        if limit.ends[0] != limit.ends[1] {
            limit.ends.iter().for_each(|&p| at[p as usize].push(number));
        }
        let spring = self.spring_of_limit(l, number);
        let coarse = &mut self.coarse[l];
        let sweep = coarse.sweep.get(number as usize);
        coarse.sweep.set(number as usize, Distance { ends: limit.ends, rest: limit.rest, ..sweep });
        coarse.own.iter_mut().for_each(|own| own.set(number as usize, spring));
    }

    /// Particles that have lost all limits of a level leave it if others of that level can be their parents; otherwise they keep
    /// their former children.
    fn leave_levels(&mut self, around: &mut Neighbourhood, changed: &mut Changed) {
        for l in 0..self.coarse.len() {
            let loose = |p: &&u32| {
                usize::from(self.level_of[**p as usize]) > l && around.levels[l].at[**p as usize].is_empty()
            };
            let loose: Vec<u32> = changed[l + 1].iter().filter(loose).copied().collect();
            for particle in loose {
                if self.reach(around, l, particle).is_empty() {
                    continue;
                }
                let old = usize::from(self.level_of[particle as usize]);
                self.clear_parents(around, old, particle);
                for coarser in l..old {
                    self.remove_from_level(around, coarser, particle, changed);
                    changed[coarser].extend(&around.levels[coarser].children_of[particle as usize]);
                }
                self.level_of[particle as usize] = l as u8;
                changed[l].insert(particle);
                changed[l].extend(&around.levels[l].children_of[particle as usize]);
            }
        }
    }

    fn remove_from_level(
        &mut self,
        around: &mut Neighbourhood,
        l: usize,
        particle: u32,
        changed: &mut Changed,
    ) {
        for number in around.levels[l].at[particle as usize].clone() {
            let limit = self.coarse[l].level.limits[number as usize];
            changed[l + 1].extend(limit.ends);
            self.set_limit(around, l, number, Limit { ends: [limit.ends[0]; 2], ..limit });
        }
        let coarse = &mut self.coarse[l];
        let place = coarse.place[particle as usize];
        coarse.level.particles.swap_remove(place as usize);
        if let Some(&moved) = coarse.level.particles.get(place as usize) {
            coarse.place[moved as usize] = place;
        }
    }

    fn clear_parents(&mut self, around: &mut Neighbourhood, l: usize, particle: u32) {
        let Some(level) = around.levels.get_mut(l) else { return };
        level.forget_trajectory(particle);
        let child = std::mem::replace(&mut level.child[particle as usize], NONE);
        if child != NONE {
            let parents = self.coarse[l].level.parents_mut(child as usize);
            parents.iter_mut().for_each(|parent| parent.weight = 0.0);
        }
    }

    /// Keeps the parents of a child of coarse level `l` if there are enough left, and searches for others if not.
    fn find_new_parents(&mut self, around: &mut Neighbourhood, l: usize, child: u32, start: &[DVec3]) {
        let has_remote_parents = around.levels[l].paths.contains_key(&child);
        if !has_remote_parents && self.prune_parents(around, l, child) >= FEWEST_PARENTS {
            return;
        }
        self.clear_parents(around, l, child);
        let reached = self.reach(around, l, child);
        let parents: Vec<u32> = reached.iter().map(|(parent, _)| *parent).collect();
        let weights = parent_weights(start[child as usize], &parents, start);
        let parent = |((particle, weight), (_, path)): ((u32, f64), &Reached)| Parent {
            particle,
            weight,
            link: path[0],
        };
        let level = &mut around.levels[l];
        level.child[child as usize] = self.coarse[l].level.children.len() as u32;
        parents.iter().for_each(|&parent| level.children_of[parent as usize].push(child));
        self.coarse[l].level.push_child(child, weights.into_iter().zip(&reached).map(parent));
        if reached.iter().any(|(_, path)| path.len() > 1) {
            level.keep_path(child, reached.into_iter().flat_map(|(_, path)| path).collect());
        }
    }

    /// The nearest particles of coarse level `l` by links of the next finer one: all that are as near as the second.
    fn reach(&self, around: &Neighbourhood, l: usize, from: u32) -> Vec<Reached> {
        let mut seen = BTreeSet::from([from]);
        let mut ring: Vec<Reached> = vec![(from, Vec::new())];
        let mut found: Vec<Reached> = Vec::new();
        while !ring.is_empty() && found.len() < FEWEST_PARENTS && seen.len() < SEARCHED {
            let mut next = Vec::new();
            for (here, path) in &ring {
                for &link in around.links_at(l, *here) {
                    let [a, b] = self.ends_of_link(l, link);
                    let other = if a == *here { b } else { a };
                    if seen.insert(other) {
                        let path: Vec<u32> = path.iter().copied().chain([link]).collect();
                        let on_level = usize::from(self.level_of[other as usize]) > l;
                        if on_level { found.push((other, path)) } else { next.push((other, path)) }
                    }
                }
            }
            ring = next;
        }
        found
    }

    /// The links of level 0 that a limit of coarse level `l` represents.
    pub(crate) fn edges_of(&self, l: usize, limit: u32) -> Vec<u32> {
        let parts = self.coarse[l].level.parts(limit as usize);
        match l.checked_sub(1) {
            None => parts.to_vec(),
            Some(finer) => parts.iter().flat_map(|&part| self.edges_of(finer, part)).collect(),
        }
    }
}

/// Whether edges join two particles, all of them on the same side of any cut: their loads determine how far a limit yields.
fn is_joined([from, to]: [u32; 2], edges: &[[u32; 2]]) -> bool {
    let mut left = edges.to_vec();
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
