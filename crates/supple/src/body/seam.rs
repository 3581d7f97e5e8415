//! Seams as stitches: the boundaries that a scene names, traversed from end to end and matched by their rest length.

use std::collections::HashMap;

use std::path::Path;

use super::{Body, Elements};
use crate::scene::{ClosedMesh, Seam, Selection, SelectionPoints};
use glam::DVec3;
use supple_core::Error;

/// How many times stiffer a stitch is than the cloth that it joins, relative to the total pull over one edge.
const STIFFER: f64 = 20.0;

/// A seam of a running simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveSeam {
    /// The bodies by index.
    pub bodies: [usize; 2],
    /// The stitches.
    pub stitches: Vec<Stitch>,
    /// Stiffness of each stitch in N/m.
    pub stiffness: f64,
    /// When it is closed, in seconds.
    pub closes: f64,
}

/// A vertex of the first body sewn to a point of the second, by unknowns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stitch {
    /// Unknowns and weights of the first body; a single one unless it has fewer vertices along the seam.
    pub first: [(u32, f64); 2],
    /// The same for the second.
    pub second: [(u32, f64); 2],
}

/// A piece of boundary from end to end, or a closed loop.
struct Chain {
    vertices: Vec<u32>,
    /// Position of each vertex along it, from 0 to 1; a loop ends at 1 where it began.
    along: Vec<f64>,
    closed: bool,
}

impl ActiveSeam {
    /// The stitches of a scene's seam; files of selections are relative to `folder`.
    pub(crate) fn resolve(seam: &Seam, all: &[Body], folder: &Path) -> Result<Self, Error> {
        let mut chains = Vec::with_capacity(2);
        let mut bodies = [0; 2];
        for ((name, selection), index) in seam.bodies.iter().zip(&seam.selections).zip(&mut bodies) {
            let found = all.iter().position(|body| body.name == *name);
            *index = found.ok_or_else(|| {
                Error::Invalid(format!("a seam names the body `{name}`, which does not exist"))
            })?;
            chains.push(all[*index].boundary_chain(selection, folder)?);
        }
        let [first, second] = [&chains[0], &chains[1]];
        if first.closed != second.closed {
            return Err(Error::Invalid(format!(
                "a seam of `{}` and `{}` joins a closed loop to a piece with two ends; select loops or pieces on both sides",
                seam.bodies[0], seam.bodies[1]
            )));
        }
        let [one, other] = bodies.map(|body| &all[body]);
        let second = chains.pop().map(|chain| chain.turned_to(&chains[0], &one.start, &other.start));
        let stitches = second.map_or_else(Vec::new, |second| match_chains(&chains[0], &second));
        let stiffness = STIFFER * one.sheet_stiffness().max(other.sheet_stiffness());
        Ok(Self { bodies, stitches, stiffness, closes: seam.closes })
    }
}

/// Each vertex of the chain with more vertices is matched to the point at the same fraction of the other one.
fn match_chains(first: &Chain, second: &Chain) -> Vec<Stitch> {
    let vertex = |chain: &Chain, i: usize| [(chain.vertices[i], 1.0), (chain.vertices[i], 0.0)];
    if first.vertices.len() >= second.vertices.len() {
        let point = |i: usize| Stitch { first: vertex(first, i), second: second.point(first.along[i]) };
        return (0..first.vertices.len()).map(point).collect();
    }
    let point = |i: usize| Stitch { first: first.point(second.along[i]), second: vertex(second, i) };
    (0..second.vertices.len()).map(point).collect()
}

impl Chain {
    /// The point at a fraction of its length.
    fn point(&self, along: f64) -> [(u32, f64); 2] {
        let count = self.vertices.len();
        let after = self.along.partition_point(|&a| a <= along);
        if after == count && !self.closed {
            return [(self.vertices[count - 1], 1.0), (self.vertices[count - 1], 0.0)];
        }
        let (low, high) = (self.along[after - 1], self.along.get(after).copied().unwrap_or(1.0));
        let part = if high > low { (along - low) / (high - low) } else { 0.0 };
        // Rounding must not turn a stitch of two vertices into one of three.
        let part = if part < 1e-9 { 0.0 } else { part };
        [(self.vertices[after - 1], 1.0 - part), (self.vertices[after % count], part)]
    }

    /// The same chain, reversed (and, for a loop, restarted) so that it is as near as possible to another.
    fn turned_to(self, other: &Self, other_at: &[DVec3], at: &[DVec3]) -> Self {
        let place = |chain: &Self, at: &[DVec3], along: f64| -> DVec3 {
            chain.point(along).iter().map(|&(v, w)| w * at[v as usize]).sum()
        };
        let distance = |chain: &Self| -> f64 {
            let off = |k: u32| {
                let along = f64::from(k) / 8.0;
                place(chain, at, along).distance(place(other, other_at, along))
            };
            (0..8 + u32::from(!chain.closed)).map(off).sum()
        };
        let mut chain = self;
        if chain.closed {
            let target = other_at[other.vertices[0] as usize];
            let near = |i: &usize| at[chain.vertices[*i] as usize].distance(target);
            let nearest = (0..chain.vertices.len()).min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(0);
            chain = chain.restarted_at(nearest);
        }
        let reversed = chain.reversed();
        if distance(&reversed) < distance(&chain) { reversed } else { chain }
    }

    fn restarted_at(&self, first: usize) -> Self {
        let count = self.vertices.len();
        let vertices = (0..count).map(|i| self.vertices[(first + i) % count]).collect();
        let along = (0..count).map(|i| (self.along[(first + i) % count] - self.along[first]).rem_euclid(1.0));
        Self { vertices, along: along.collect(), closed: self.closed }
    }

    fn reversed(&self) -> Self {
        let count = self.vertices.len();
        if self.closed {
            // The first vertex remains the first.
            let at = |i: usize| (count - i) % count;
            let vertices = (0..count).map(|i| self.vertices[at(i)]).collect();
            let along = (0..count).map(|i| if i == 0 { 0.0 } else { 1.0 - self.along[at(i)] }).collect();
            return Self { vertices, along, closed: true };
        }
        let vertices = self.vertices.iter().rev().copied().collect();
        Self { vertices, along: self.along.iter().rev().map(|a| 1.0 - a).collect(), closed: false }
    }
}

impl Body {
    /// The stretch stiffness of its cloth in N/m.
    fn sheet_stiffness(&self) -> f64 {
        let [warp, weft] = self.materials.main().stretch_stiffness;
        warp.max(weft)
    }

    /// The selected part of its boundary, by unknowns.
    fn boundary_chain(&self, selection: &Selection, folder: &std::path::Path) -> Result<Chain, Error> {
        let Elements::Triangles(triangles) = &self.elements else {
            return Err(Error::Invalid(format!("a seam joins cloth, and body `{}` is a solid", self.name)));
        };
        let inside = |mesh: &ClosedMesh, points: &[DVec3]| crate::body::inside_mesh(mesh, folder, points);
        let points = SelectionPoints {
            body: &self.name,
            positions: &self.surface_start,
            surface: Some(&self.surface.mesh),
            inside: Some(&inside),
        };
        let mut chosen = vec![false; self.start.len()];
        for point in selection.evaluate(&points)? {
            self.embedding.weights(point as usize).iter().for_each(|(v, _)| chosen[*v as usize] = true);
        }
        let edges = boundary_edges(triangles, &self.rest_corners);
        let edges: Vec<_> =
            edges.into_iter().filter(|(e, _)| e.iter().all(|&v| chosen[v as usize])).collect();
        self.walk(&edges).map_err(|found| {
            Error::Invalid(format!(
                "`{selection}` picks {found} of the boundary of body `{}`; a seam needs one unbroken piece of it, or a whole \
                 loop",
                self.name
            ))
        })
    }

    /// Boundary edges as one chain. `Err` describes what they are instead.
    fn walk(&self, edges: &[([u32; 2], f64)]) -> Result<Chain, String> {
        let mut around: HashMap<u32, Vec<(u32, f64)>> = HashMap::new();
        for &([a, b], length) in edges {
            around.entry(a).or_default().push((b, length));
            around.entry(b).or_default().push((a, length));
        }
        let mut ends: Vec<u32> = around.iter().filter(|(_, next)| next.len() == 1).map(|(v, _)| *v).collect();
        ends.sort_unstable();
        if edges.is_empty() {
            return Err("no edge".to_owned());
        }
        if ends.len() > 2 || around.values().any(|next| next.len() > 2) {
            return Err(format!("{} pieces", (ends.len() / 2).max(2)));
        }
        let closed = ends.is_empty();
        let lowest = around.keys().min().copied().unwrap_or(0);
        let mut vertices = vec![ends.first().copied().unwrap_or(lowest)];
        let mut lengths = vec![0.0];
        let mut before = None;
        loop {
            let here = vertices[vertices.len() - 1];
            let onward = around[&here].iter().find(|(v, _)| Some(*v) != before);
            let Some(&(next, length)) = onward else { break };
            lengths.push(lengths[lengths.len() - 1] + length);
            if next == vertices[0] {
                break;
            }
            before = Some(here);
            vertices.push(next);
        }
        if vertices.len() < around.len() {
            return Err("several pieces".to_owned());
        }
        let whole = lengths[lengths.len() - 1];
        let along = lengths.iter().take(vertices.len()).map(|l| l / whole).collect();
        Ok(Chain { vertices, along, closed })
    }
}

/// The edges with only one triangle, with their rest lengths, in the triangles' order.
fn boundary_edges(triangles: &[[u32; 3]], rest: &[[DVec3; 3]]) -> Vec<([u32; 2], f64)> {
    let edge = |t: &[u32; 3], i: usize| [t[i].min(t[(i + 1) % 3]), t[i].max(t[(i + 1) % 3])];
    let mut count: HashMap<[u32; 2], u32> = HashMap::new();
    for t in triangles {
        (0..3).for_each(|i| *count.entry(edge(t, i)).or_default() += 1);
    }
    let of = |(t, corners): (&[u32; 3], &[DVec3; 3])| {
        [0, 1, 2].map(|i| (edge(t, i), corners[i].distance(corners[(i + 1) % 3])))
    };
    let all = triangles.iter().zip(rest).flat_map(of);
    all.filter(|(edge, _)| count[edge] == 1).collect()
}
