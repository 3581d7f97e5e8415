//! The particles that a torn cloth's coarse level cannot move by itself: those whose limits connect to no more than a few others at the edge
//! of a tear, while edges of the mesh still join them to the rest, and particles without parents. Each follows the nearest
//! particle of the largest part of its piece, so that the piece stays together. They are searched in the whole mesh, if a
//! coarse level is simulated by itself and something has torn since the last step. A scrap without any
//! particle of the level follows its first one, without rotation.

use glam::DVec3;

use crate::solvers::hpbd::positions::Positions;
use crate::solvers::hpbd::solver::HierarchicalSolver;
use supple_mesh::geometry::DisjointSets;

const NONE: u32 = u32::MAX;

/// A particle and the one that it follows.
type Follower = [u32; 2];

/// Of one level.
#[derive(Debug, Default)]
pub(crate) struct DependentParticles {
    /// Particles of the level.
    pub(crate) on_level: Vec<Follower>,
    /// Others, which have no parents.
    pub(crate) between: Vec<Follower>,
}

/// Moves dependent particles by the displacement of their leaders since the start of the step.
pub(crate) fn follow(followers: &[Follower], positions: &Positions, start: &[DVec3]) {
    for &[follower, leader] in followers {
        let [follower, leader] = [follower as usize, leader as usize];
        if positions.weight(follower) > 0.0 {
            positions.set(follower, start[follower] + positions.get(leader) - start[leader]);
        }
    }
}

/// Which particles links join.
fn joined(particles: usize, links: impl Iterator<Item = [u32; 2]>) -> DisjointSets {
    let mut sets = DisjointSets::new(particles);
    links.for_each(|[a, b]| sets.join(a as usize, b as usize));
    sets
}

/// The first particle of the set that one is in.
fn first(sets: &mut DisjointSets, particle: u32) -> u32 {
    sets.find(particle as usize).0 as u32
}

impl HierarchicalSolver {
    /// The dependent particles of coarse level `l`.
    pub(crate) fn find_followers(&self, l: usize) -> DependentParticles {
        let count = self.level_of.len();
        let edges = || self.links.iter().map(|&link| self.distances.get(link as usize).ends);
        let leader = self.leaders(l, &edges().collect::<Vec<_>>());
        let on_level = |p: u32| usize::from(self.level_of[p as usize]) > l;
        let mut is_laid: Vec<bool> = (0..count as u32).map(on_level).collect();
        for level in self.coarse[..=l].iter().rev().map(|coarse| &coarse.level) {
            for (c, &child) in level.children.iter().enumerate() {
                let mut parents = level.parents(c).iter().filter(|parent| parent.weight > 0.0);
                is_laid[child as usize] |= parents.any(|parent| is_laid[parent.particle as usize]);
            }
        }
        let mut followers = DependentParticles::default();
        for (particle, &leader) in (0..count as u32).zip(&leader) {
            let follower = [particle, leader];
            if leader != NONE && leader != particle && on_level(particle) {
                followers.on_level.push(follower);
            } else if leader != NONE && leader != particle && !is_laid[particle as usize] {
                followers.between.push(follower);
            }
        }
        followers
    }

    /// For every particle the nearest one, by edges, of the largest part of coarse level `l` in its piece: itself if it is there.
    fn leaders(&self, l: usize, edges: &[[u32; 2]]) -> Vec<u32> {
        let count = self.level_of.len();
        let mut pieces = joined(count, edges.iter().copied());
        let mut parts = joined(count, self.coarse[l].level.limits.iter().map(|limit| limit.ends));
        let particles = || (0..count as u32).filter(|p| usize::from(self.level_of[*p as usize]) > l);
        let mut size = vec![0_u32; count];
        particles().for_each(|p| size[first(&mut parts, p) as usize] += 1);
        // The largest part of each piece.
        let mut largest = vec![NONE; count];
        for p in particles() {
            let (own, of_piece) = (first(&mut parts, p), &mut largest[first(&mut pieces, p) as usize]);
            if *of_piece == NONE || size[own as usize] > size[*of_piece as usize] {
                *of_piece = own;
            }
        }
        let mut leads = |p: &u32| largest[first(&mut pieces, *p) as usize] == first(&mut parts, *p);
        let mut reached: Vec<u32> = particles().filter(&mut leads).collect();
        // A scrap without any particle of the level follows its first one.
        let is_scrap = |p: &u32| largest[*p as usize] == NONE && first(&mut pieces, *p) == *p;
        reached.extend((0..count as u32).filter(is_scrap));
        let mut leader = vec![NONE; count];
        reached.iter().for_each(|&p| leader[p as usize] = p);
        let around = neighbours(count, edges);
        let mut next = 0;
        while let Some(&here) = reached.get(next) {
            for &other in &around[here as usize] {
                if leader[other as usize] == NONE {
                    leader[other as usize] = leader[here as usize];
                    reached.push(other);
                }
            }
            next += 1;
        }
        leader
    }
}

fn neighbours(count: usize, edges: &[[u32; 2]]) -> Vec<Vec<u32>> {
    let mut around = vec![Vec::new(); count];
    for &[a, b] in edges {
        around[a as usize].push(b);
        around[b as usize].push(a);
    }
    around
}
