//! The levels (Müller 2008, section 6): level 0 is the mesh, every coarser one keeps some of its particles, links them by upper
//! limits of their distance, and gives every omitted particle its parents.

pub(crate) mod collapse;
pub(crate) mod grid_levels;
pub(crate) mod restriction;

use std::collections::BTreeMap;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::solvers::hpbd::hierarchy::collapse::{Link, Mesh};
use crate::solvers::hpbd::hierarchy::grid_levels::grid_levels;
use crate::solvers::hpbd::hierarchy::restriction::{parent_weights, restrict};

/// The rest lengths of coarse constraints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestLengths {
    /// Straight in solids and in cloth that is flat at the start, along the surface in other cloth.
    #[default]
    Auto,
    /// The sum along the edges that they represent: right for curved and torn cloth, but looser on every level.
    Surface,
    /// The distance at the start: tight, for cloth that is flat there.
    Straight,
}

/// The parameters of a hierarchy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Coarse levels, at most.
    pub(crate) levels: u32,
    /// Parents of every particle, at least.
    pub(crate) parents: u32,
    pub(crate) rest_lengths: RestLengths,
}

/// Level 0: particles, their links with rest lengths, and triangles if they are a cloth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finest<'a> {
    pub(crate) positions: &'a [DVec3],
    pub(crate) links: &'a [([u32; 2], f64)],
    /// Shear springs, numbered after the links.
    pub(crate) shears: &'a [([u32; 2], f64)],
    pub(crate) triangles: &'a [[u32; 3]],
    /// Which particles are pinned at the start.
    pub(crate) attached: &'a [bool],
}

/// A constraint of a coarse level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limit {
    pub(crate) ends: [u32; 2],
    /// The longest distance in metres.
    pub(crate) rest: f64,
}

/// A parent of a particle omitted on a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parent {
    pub(crate) particle: u32,
    /// Its weight in equation 7.
    pub(crate) weight: f64,
    /// The link of the finer level between the two.
    pub(crate) link: u32,
}

/// One coarse level.
#[derive(Debug, Clone)]
pub(crate) struct ConstraintLevel {
    /// Its particles.
    pub(crate) particles: Vec<u32>,
    /// Its triangles; none for solids.
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) limits: Vec<Limit>,
    /// For every limit the links of the next finer level that it represents, and where they start.
    parts: Vec<u32>,
    first_part: Vec<u32>,
    /// The particles of the next finer level that are not on this one.
    pub(crate) children: Vec<u32>,
    /// Their parents, and where those of each child start.
    parents: Vec<Parent>,
    first_parent: Vec<u32>,
}

impl Default for ConstraintLevel {
    fn default() -> Self {
        Self {
            particles: Vec::new(),
            triangles: Vec::new(),
            limits: Vec::new(),
            parts: Vec::new(),
            first_part: vec![0],
            children: Vec::new(),
            parents: Vec::new(),
            first_parent: vec![0],
        }
    }
}

impl ConstraintLevel {
    pub(crate) fn push_limit(&mut self, limit: Limit, parts: impl IntoIterator<Item = u32>) {
        self.limits.push(limit);
        self.parts.extend(parts);
        self.first_part.push(self.parts.len() as u32);
    }

    pub(crate) fn push_child(&mut self, child: u32, parents: impl IntoIterator<Item = Parent>) {
        self.children.push(child);
        self.parents.extend(parents);
        self.first_parent.push(self.parents.len() as u32);
    }

    /// Appends another body's level: its particles are numbered from `particle` on, the links of its finer level from
    /// `link` on.
    pub(crate) fn append(&mut self, other: &Self, particle: u32, link: u32) {
        self.particles.extend(other.particles.iter().map(|p| p + particle));
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|p| p + particle)));
        for (l, limit) in other.limits.iter().enumerate() {
            let limit = Limit { ends: limit.ends.map(|p| p + particle), ..*limit };
            self.push_limit(limit, other.parts(l).iter().map(|part| part + link));
        }
        for (c, child) in other.children.iter().enumerate() {
            let parents = other.parents(c).iter();
            let parents = parents
                .map(|p| Parent { particle: p.particle + particle, link: p.link + link, ..*p })
                .collect::<Vec<_>>();
            self.push_child(child + particle, parents);
        }
    }

    /// A copy of the finer level: for bodies that have fewer levels than others.
    pub(crate) fn repeat(&self) -> Self {
        let mut level =
            Self { particles: self.particles.clone(), triangles: self.triangles.clone(), ..Self::default() };
        self.limits.iter().zip(0..).for_each(|(limit, number)| level.push_limit(*limit, [number]));
        level
    }

    /// The links of the next finer level that a limit represents.
    pub(crate) fn parts(&self, limit: usize) -> &[u32] {
        &self.parts[self.first_part[limit] as usize..self.first_part[limit + 1] as usize]
    }

    /// The parents of a child.
    pub(crate) fn parents(&self, child: usize) -> &[Parent] {
        &self.parents[self.first_parent[child] as usize..self.first_parent[child + 1] as usize]
    }

    /// The same, mutable.
    pub(crate) fn parents_mut(&mut self, child: usize) -> &mut [Parent] {
        &mut self.parents[self.first_parent[child] as usize..self.first_parent[child + 1] as usize]
    }

    pub(crate) fn bytes(&self) -> usize {
        4 * (self.particles.len() + self.parts.len() + self.first_part.len() + self.children.len())
            + 12 * self.triangles.len()
            + 16 * (self.limits.len() + self.parents.len())
    }
}

/// A level with fewer particles than this has nothing left to accelerate.
pub(crate) const SMALLEST: usize = 12;
/// A level that keeps more than this fraction of the particles is not worth its constraints.
const LEAST_REDUCTION: f64 = 0.9;

/// The coarse levels of one body, finest first: those of a regular grid where the mesh is one, which are coarser
/// grids (section 9), and otherwise those of section 6.
pub(crate) fn build(finest: &Finest<'_>, plan: Plan) -> Vec<ConstraintLevel> {
    grid_levels(finest, plan).unwrap_or_else(|| general_levels(finest, plan))
}

/// The levels of section 6 for any mesh.
pub(crate) fn general_levels(finest: &Finest<'_>, plan: Plan) -> Vec<ConstraintLevel> {
    let mut levels: Vec<ConstraintLevel> = Vec::new();
    let mut links: Vec<([u32; 2], f64)> = finest.links.to_vec();
    let mut triangles = finest.triangles.to_vec();
    let mut particles: Vec<u32> = (0..finest.positions.len() as u32).collect();
    while levels.len() < plan.levels as usize && particles.len() >= SMALLEST {
        let level = coarsen(finest, plan, &particles, &links, &triangles);
        if level.particles.len() as f64 > LEAST_REDUCTION * particles.len() as f64 {
            break;
        }
        links = level.limits.iter().map(|limit| (limit.ends, limit.rest)).collect();
        triangles.clone_from(&level.triangles);
        particles.clone_from(&level.particles);
        levels.push(level);
    }
    levels
}

impl Finest<'_> {
    /// The mesh in the form of a coarse level.
    pub(crate) fn level(&self) -> ConstraintLevel {
        let mut level = ConstraintLevel {
            particles: (0..self.positions.len() as u32).collect(),
            triangles: self.triangles.to_vec(),
            ..ConstraintLevel::default()
        };
        for (&(ends, rest), number) in self.links.iter().chain(self.shears).zip(0..) {
            level.push_limit(Limit { ends, rest }, [number]);
        }
        level
    }
}

impl RestLengths {
    /// Whether this body uses initial distances as rest lengths.
    pub(crate) fn are_straight(self, finest: &Finest<'_>) -> bool {
        match self {
            Self::Surface => false,
            Self::Straight => true,
            Self::Auto => is_flat(finest),
        }
    }
}

/// Whether all triangles lie in parallel planes.
fn is_flat(finest: &Finest<'_>) -> bool {
    let normal = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|p| finest.positions[p as usize]);
        (b - a).cross(c - a).normalize_or_zero()
    };
    let first = finest.triangles.first().map(normal);
    finest.triangles.iter().all(|t| first.is_some_and(|first| first.cross(normal(t)).length() < 1e-6))
}

fn coarsen(
    finest: &Finest<'_>,
    plan: Plan,
    particles: &[u32],
    links: &[([u32; 2], f64)],
    triangles: &[[u32; 3]],
) -> ConstraintLevel {
    let mut mesh = Mesh::new(finest.positions.len(), links.iter().copied(), triangles);
    let neighbours: Vec<Vec<u32>> = (0..finest.positions.len() as u32).map(|p| mesh.neighbours(p)).collect();
    // Attached particles come last: they are the likeliest to be kept (section 6.2).
    let (attached, free): (Vec<u32>, Vec<u32>) =
        particles.iter().partition(|&&p| finest.attached[p as usize]);
    let order: Vec<u32> = free.into_iter().chain(attached).collect();
    let mut kept = restrict(&neighbours, &order, plan.parents as usize);
    mesh.collapse(&order, &mut kept, finest.positions);
    let mut level = ConstraintLevel {
        particles: particles.iter().copied().filter(|&p| kept[p as usize]).collect(),
        triangles: mesh.triangles(),
        ..ConstraintLevel::default()
    };
    let numbers: BTreeMap<[u32; 2], u32> = links.iter().map(|(ends, _)| *ends).zip(0..).collect();
    for &child in particles.iter().filter(|p| !kept[**p as usize]) {
        let parents: Vec<u32> =
            neighbours[child as usize].iter().copied().filter(|&n| kept[n as usize]).collect();
        let at = finest.positions[child as usize];
        let weights = parent_weights(at, &parents, finest.positions);
        let parents = weights.into_iter().map(|(particle, weight)| {
            let link = numbers[&[child.min(particle), child.max(particle)]];
            Parent { particle, weight, link }
        });
        level.push_child(child, parents.collect::<Vec<_>>());
    }
    let straight = plan.rest_lengths.are_straight(finest);
    for (ends, Link { rest, parts }) in mesh.into_links() {
        let [a, b] = ends.map(|p| finest.positions[p as usize]);
        level.push_limit(Limit { ends, rest: if straight { a.distance(b) } else { rest } }, parts);
    }
    level
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use supple_mesh::generate::{ClothGrid, GridPattern};

    /// Two separate sheets side by side.
    fn two_sheets(n: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let pattern = GridPattern::Irregular;
        let one = ClothGrid { size: [1.0, 1.0], vertices: [n, n], pattern, seed: 1 }.surface(1.0).unwrap();
        let count = one.positions.len() as u32;
        let mut positions = one.positions.clone();
        positions.extend(one.positions.iter().map(|p| *p + 3.0 * DVec3::X));
        let mut triangles = one.triangles();
        triangles.extend(one.triangles().iter().map(|t| t.map(|v| v + count)));
        (positions, triangles)
    }

    fn edges(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<([u32; 2], f64)> {
        let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].map(|[i, j]| [i.min(j), i.max(j)]);
        let edges: BTreeSet<[u32; 2]> = triangles.iter().flat_map(sides).collect();
        edges
            .into_iter()
            .map(|[a, b]| ([a, b], positions[a as usize].distance(positions[b as usize])))
            .collect()
    }

    const PLAN: Plan = Plan { levels: 8, parents: 2, rest_lengths: RestLengths::Surface };

    #[test]
    fn levels_shrink_and_never_join_separate_sheets() {
        let (positions, triangles) = two_sheets(30);
        let links = edges(&positions, &triangles);
        let attached = vec![false; positions.len()];
        let finest = Finest {
            positions: &positions,
            links: &links,
            shears: &[],
            triangles: &triangles,
            attached: &attached,
        };
        let levels = build(&finest, PLAN);
        assert!(levels.len() >= 4, "{}", levels.len());
        let total: usize = levels.iter().map(|level| level.limits.len()).sum();
        assert!(total < links.len(), "{total} of {}", links.len());
        let half = positions.len() as u32 / 2;
        for level in &levels {
            assert!(level.limits.iter().all(|limit| (limit.ends[0] < half) == (limit.ends[1] < half)));
            for child in 0..level.children.len() {
                assert!(level.parents(child).len() >= 2);
                let same_side = |p: &Parent| (p.particle < half) == (level.children[child] < half);
                assert!(level.parents(child).iter().all(same_side));
            }
        }
    }

    #[test]
    fn every_level_is_a_triangle_mesh_whose_edges_are_its_constraints() {
        let (positions, triangles) = two_sheets(24);
        let links = edges(&positions, &triangles);
        let attached = vec![false; positions.len()];
        let finest = Finest {
            positions: &positions,
            links: &links,
            shears: &[],
            triangles: &triangles,
            attached: &attached,
        };
        for level in general_levels(&finest, PLAN) {
            let of_triangles: BTreeSet<[u32; 2]> =
                edges(&positions, &level.triangles).into_iter().map(|(ends, _)| ends).collect();
            let of_limits: BTreeSet<[u32; 2]> = level.limits.iter().map(|limit| limit.ends).collect();
            assert_eq!(of_triangles, of_limits);
            let mut around = std::collections::BTreeMap::new();
            for &[a, b, c] in &level.triangles {
                for [i, j] in [[a, b], [b, c], [c, a]] {
                    *around.entry([i.min(j), i.max(j)]).or_insert(0) += 1;
                }
            }
            assert!(around.values().all(|count| *count <= 2));
        }
    }

    #[test]
    fn surface_lengths_are_no_shorter_than_straight_ones() {
        let (positions, triangles) = two_sheets(20);
        let links = edges(&positions, &triangles);
        let attached = vec![false; positions.len()];
        let finest = Finest {
            positions: &positions,
            links: &links,
            shears: &[],
            triangles: &triangles,
            attached: &attached,
        };
        let straight = general_levels(&finest, Plan { rest_lengths: RestLengths::Straight, ..PLAN });
        for (along, straight) in general_levels(&finest, PLAN).iter().zip(&straight) {
            for (a, b) in along.limits.iter().zip(&straight.limits) {
                assert_eq!(a.ends, b.ends);
                assert!(a.rest >= b.rest - 1e-12);
            }
        }
    }
}
