//! The constraints of a coarser level (Müller 2008, section 6.3): every particle that it omits is collapsed into one of
//! its kept neighbours, the one nearest to their average, and takes its constraints along. Rest lengths add up, so that
//! they measure along the surface and around cuts.
//!
//! Collapses keep a triangle mesh a triangle mesh as long as the edge's ends have no other neighbours in common than the
//! corners opposite to the edge (the link condition). A neighbour that violates this is skipped; a particle without any
//! other is kept.

use std::collections::BTreeMap;

use glam::DVec3;

/// A link between two particles: its links on the finer level, and their total rest length.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    pub(crate) rest: f64,
    pub(crate) parts: Vec<u32>,
}

/// The links and triangles of a level, while it is being coarsened.
#[derive(Debug, Default)]
pub(crate) struct Mesh {
    /// The links from every particle, by the other end. Both ends have them.
    links: Vec<BTreeMap<u32, Link>>,
    /// The triangles around every particle; empty for solids.
    triangles: Vec<Vec<[u32; 3]>>,
}

impl Mesh {
    /// A mesh of this many particles with these links (numbered as given) and triangles.
    pub(crate) fn new(
        particles: usize,
        links: impl Iterator<Item = ([u32; 2], f64)>,
        triangles: &[[u32; 3]],
    ) -> Self {
        let mut mesh =
            Self { links: vec![BTreeMap::new(); particles], triangles: vec![Vec::new(); particles] };
        for (([a, b], rest), number) in links.zip(0..) {
            let link = Link { rest, parts: vec![number] };
            mesh.links[a as usize].insert(b, link.clone());
            mesh.links[b as usize].insert(a, link);
        }
        for triangle in triangles {
            triangle.iter().for_each(|&v| mesh.triangles[v as usize].push(*triangle));
        }
        mesh
    }

    pub(crate) fn neighbours(&self, particle: u32) -> Vec<u32> {
        self.links[particle as usize].keys().copied().collect()
    }

    /// Collapses all of `order` that are not kept; those that cannot be collapsed become kept.
    pub(crate) fn collapse(&mut self, order: &[u32], kept: &mut [bool], positions: &[DVec3]) {
        for &particle in order.iter().filter(|p| !kept[**p as usize]).collect::<Vec<_>>() {
            match self.choose(particle, kept, positions) {
                Some(into) => self.collapse_one(particle, into),
                None => kept[particle as usize] = true,
            }
        }
    }

    /// The kept neighbour nearest to the average of all, among those whose collapse preserves a triangle mesh.
    fn choose(&self, particle: u32, kept: &[bool], positions: &[DVec3]) -> Option<u32> {
        let around = self.links[particle as usize].keys().copied().filter(|&n| kept[n as usize]);
        let mut around: Vec<u32> = around.collect();
        let sum: DVec3 = around.iter().map(|&n| positions[n as usize]).sum();
        let average = sum / around.len() as f64;
        let off = |n: u32| positions[n as usize].distance_squared(average);
        around.sort_by(|&a, &b| off(a).total_cmp(&off(b)).then(a.cmp(&b)));
        around.into_iter().find(|&n| self.stays_a_mesh(particle, n))
    }

    fn stays_a_mesh(&self, particle: u32, into: u32) -> bool {
        let own = &self.triangles[particle as usize];
        if own.is_empty() {
            return true;
        }
        let others = &self.links[into as usize];
        let common = self.links[particle as usize].keys().filter(|n| others.contains_key(n)).count();
        let shared = own.iter().filter(|triangle| triangle.contains(&into)).count();
        // Of a triangle that vanishes, the two other edges become one, which must still be the side of a triangle.
        let mut vanishing = own.iter().filter(|triangle| triangle.contains(&into));
        let has_another = |triangle: &[u32; 3]| {
            let apex = triangle.iter().copied().find(|v| *v != particle && *v != into);
            let beside = |t: &&[u32; 3]| *t != triangle && (t.contains(&particle) || t.contains(&into));
            apex.is_some_and(|apex| self.triangles[apex as usize].iter().any(|t| beside(&t)))
        };
        common == shared && own.len() > shared && vanishing.all(has_another)
    }

    fn collapse_one(&mut self, particle: u32, into: u32) {
        let mut links = std::mem::take(&mut self.links[particle as usize]);
        let bridge = links.remove(&into).expect("a particle is collapsed into a neighbour");
        self.links[into as usize].remove(&particle);
        for (other, link) in links {
            self.links[other as usize].remove(&particle);
            if self.links[into as usize].contains_key(&other) {
                continue;
            }
            let parts = link.parts.into_iter().chain(bridge.parts.iter().copied()).collect();
            let joined = Link { rest: link.rest + bridge.rest, parts };
            self.links[other as usize].insert(into, joined.clone());
            self.links[into as usize].insert(other, joined);
        }
        self.collapse_triangles(particle, into);
    }

    fn collapse_triangles(&mut self, particle: u32, into: u32) {
        for old in std::mem::take(&mut self.triangles[particle as usize]) {
            let vanishes = old.contains(&into);
            let new = old.map(|v| if v == particle { into } else { v });
            for &corner in old.iter().filter(|&&v| v != particle) {
                let around = &mut self.triangles[corner as usize];
                let place =
                    around.iter().position(|t| *t == old).expect("triangles are listed at their corners");
                if vanishes {
                    around.remove(place);
                } else {
                    around[place] = new;
                }
            }
            if !vanishes {
                self.triangles[into as usize].push(new);
            }
        }
    }

    /// Every link once, its smaller end first, in order.
    pub(crate) fn into_links(self) -> Vec<([u32; 2], Link)> {
        let from = |(a, links): (usize, BTreeMap<u32, Link>)| {
            let a = a as u32;
            links.into_iter().filter(move |(b, _)| a < *b).map(move |(b, link)| ([a, b], link))
        };
        self.links.into_iter().enumerate().flat_map(from).collect()
    }

    /// Every triangle once.
    pub(crate) fn triangles(&self) -> Vec<[u32; 3]> {
        let first = |v: usize| {
            let smallest = move |t: &&[u32; 3]| t.iter().min() == Some(&(v as u32));
            self.triangles[v].iter().filter(smallest).copied()
        };
        (0..self.triangles.len()).flat_map(first).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hexagon around particle 0.
    fn fan() -> (Mesh, Vec<DVec3>) {
        let mut positions = vec![DVec3::ZERO];
        positions.extend((0..6).map(|k| {
            let angle = std::f64::consts::FRAC_PI_3 * f64::from(k);
            DVec3::new(angle.cos(), 0.0, angle.sin())
        }));
        let triangles: Vec<[u32; 3]> = (0..6).map(|k| [0, 1 + k, 1 + (k + 1) % 6]).collect();
        let spokes = (1..7).map(|k| ([0, k], 1.0));
        let rim = (0..6).map(|k| ([1 + k, 1 + (k + 1) % 6], 1.0));
        (Mesh::new(7, spokes.chain(rim), &triangles), positions)
    }

    #[test]
    fn a_collapse_makes_longer_links_and_leaves_a_triangle_mesh() {
        let (mut mesh, positions) = fan();
        let mut kept = vec![true; 7];
        kept[0] = false;
        mesh.collapse(&[0], &mut kept, &positions);
        assert!(!kept[0] && mesh.neighbours(0).is_empty());
        let triangles = mesh.triangles();
        let links = mesh.into_links();
        // Two triangles are gone, the hexagon is divided into four; the rim stays and three links are new.
        assert_eq!((triangles.len(), links.len()), (4, 9));
        for (ends, link) in &links {
            let long = link.parts.len() == 2;
            assert_eq!(link.rest, if long { 2.0 } else { 1.0 }, "{ends:?}");
            assert!(positions[ends[0] as usize].distance(positions[ends[1] as usize]) <= link.rest + 1e-12);
        }
    }

    #[test]
    fn what_would_break_the_mesh_is_kept() {
        // A lone triangle has no smaller triangle mesh.
        let positions = [DVec3::ZERO, DVec3::X, DVec3::Z];
        let links = [([0, 1], 1.0), ([0, 2], 1.0), ([1, 2], 1.4)];
        let mut mesh = Mesh::new(3, links.into_iter(), &[[0, 1, 2]]);
        let mut kept = vec![false, true, true];
        mesh.collapse(&[0], &mut kept, &positions);
        assert!(kept[0]);
        assert_eq!(mesh.triangles(), [[0, 1, 2]]);
    }
}
