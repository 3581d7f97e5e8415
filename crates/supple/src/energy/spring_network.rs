//! Mass-spring networks with the stiffness of an SI material.
//!
//! **Cloth.** Springs along directions `e` with stiffness `k` and length `L` in an area `A` have the energy density
//! `½ Σ (k L²/A) (eᵀ ε e)²` under the strain `ε`. Its trace `C_iijj = Σ k L²/A` must be that of an isotropic sheet with
//! stretch stiffness `S` (N/m); spring networks have Poisson's ratio 1/3, for which it is `3 S`. So a triangle of area
//! `A` that takes part in `n` springs gives each of them `k = (3 S/n) A/L²`.
//! *Structural* springs are the edges (`n = 3`). Where an edge is the longest of both its triangles, as the diagonal of
//! a quad is, the other diagonal becomes a *shear* spring of both (`n = 4`). On square cells and on equilateral
//! triangles this is exactly isotropic with the right Young's modulus.
//!
//! **Bending springs** join the vertices opposite to every other inner edge. A flat flap's distance changes only in
//! second order with the fold angle, so no spring can have a hinge's stiffness at rest; this one has the energy of a
//! hinge `½ B (3 l²/A) θ²` at a fold of one radian. It resists only compression, so that it adds nothing to stretch.
//!
//! **Solids.** Likewise over the six edges of a tetrahedron: `C_iijj = 6 E` for Poisson's ratio 1/4 (the only one a
//! network has), so each edge gets `k = E V/L²`.

use std::collections::BTreeMap;

use glam::DVec3;

use super::spring::{Resists, Spring};
use crate::material::Material;

/// The springs of a cloth with these rest positions.
pub fn cloth_springs(rest: &[DVec3], triangles: &[[u32; 3]], material: &Material) -> Vec<Spring> {
    let edges = edge_triangles(triangles);
    let flaps: Vec<Flap> =
        edges.iter().filter_map(|(&edge, around)| Flap::new(edge, around, rest, triangles)).collect();
    let mut springs_of_triangle = vec![3.0; triangles.len()];
    for flap in flaps.iter().filter(|flap| flap.is_quad) {
        flap.triangles.iter().for_each(|&t| springs_of_triangle[t] = 4.0);
    }
    let share =
        |t: usize| 3.0 * material.stretch_stiffness[0] / springs_of_triangle[t] * area(rest, triangles[t]);
    let spring = |ends: [u32; 2], stiffness_length_squared: f64, resists| {
        let rest = rest[ends[0] as usize].distance(rest[ends[1] as usize]);
        let stiffness = stiffness_length_squared / (rest * rest);
        Spring { ends, rest, stiffness, damping: material.damping, resists }
    };
    let mut springs: Vec<Spring> = edges
        .iter()
        .map(|(&ends, around)| spring(ends, around.iter().map(|&t| share(t)).sum(), Resists::Both))
        .collect();
    for flap in &flaps {
        springs.push(if flap.is_quad {
            spring(flap.opposite, flap.triangles.iter().map(|&t| share(t)).sum(), Resists::Both)
        } else {
            let mut bending = spring(flap.opposite, 0.0, Resists::Compression);
            bending.stiffness = flap.bending_stiffness(material.bend_stiffness);
            bending
        });
    }
    springs.retain(|s| s.rest > 0.0 && s.stiffness > 0.0);
    springs
}

/// The springs of a solid with these rest positions.
pub fn solid_springs(rest: &[DVec3], tets: &[[u32; 4]], material: &Material) -> Vec<Spring> {
    let mut stiffness: BTreeMap<[u32; 2], f64> = BTreeMap::new();
    for tet in tets {
        let [a, b, c, d] = tet.map(|v| rest[v as usize]);
        let volume = ((b - a).cross(c - a).dot(d - a) / 6.0).abs();
        for (i, j) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let ends = [tet[i].min(tet[j]), tet[i].max(tet[j])];
            let length_squared = rest[tet[i] as usize].distance_squared(rest[tet[j] as usize]);
            *stiffness.entry(ends).or_default() += material.young_modulus * volume / length_squared;
        }
    }
    let spring = |(ends, stiffness): ([u32; 2], f64)| Spring {
        ends,
        rest: rest[ends[0] as usize].distance(rest[ends[1] as usize]),
        stiffness,
        damping: material.damping,
        resists: Resists::Both,
    };
    stiffness.into_iter().map(spring).collect()
}

/// The triangles around every edge (smaller vertex first), in order of the edges.
fn edge_triangles(triangles: &[[u32; 3]]) -> BTreeMap<[u32; 2], Vec<usize>> {
    let mut edges: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
    for (t, &[a, b, c]) in triangles.iter().enumerate() {
        for [i, j] in [[a, b], [b, c], [c, a]] {
            if i != j {
                edges.entry([i.min(j), i.max(j)]).or_default().push(t);
            }
        }
    }
    edges
}

/// Two triangles and the edge between them.
struct Flap {
    triangles: [usize; 2],
    opposite: [u32; 2],
    is_quad: bool,
    edge_length: f64,
    area: f64,
    /// Heights of the opposite vertices over the edge, and their offset along it.
    heights: [f64; 2],
    offset: f64,
}

impl Flap {
    /// `None` at boundaries, where more than two triangles meet, and for flaps folded onto themselves.
    fn new(edge: [u32; 2], around: &[usize], rest: &[DVec3], triangles: &[[u32; 3]]) -> Option<Self> {
        let &[first, second] = around else { return None };
        let opposite = [first, second].map(|t| triangles[t].into_iter().find(|v| !edge.contains(v)));
        let [Some(p), Some(q)] = opposite else { return None };
        let [from, to] = edge.map(|v| rest[v as usize]);
        let edge_length = from.distance(to);
        if p == q || edge_length == 0.0 {
            return None;
        }
        let along = (to - from) / edge_length;
        let [p_offset, q_offset] = [p, q].map(|v| rest[v as usize] - from);
        let height = |offset: DVec3| (offset - offset.dot(along) * along).length();
        let longest = |v: u32| {
            let corner = rest[v as usize];
            1.000_001 * corner.distance(from).max(corner.distance(to)) < edge_length
        };
        Some(Self {
            triangles: [first, second],
            opposite: [p.min(q), p.max(q)],
            is_quad: longest(p) && longest(q),
            edge_length,
            area: area(rest, triangles[first]) + area(rest, triangles[second]),
            heights: [height(p_offset), height(q_offset)],
            offset: (p_offset - q_offset).dot(along),
        })
    }

    fn bending_stiffness(&self, bend_stiffness: f64) -> f64 {
        let [p, q] = self.heights;
        let distance =
            |fold: f64| (self.offset * self.offset + p * p + q * q + 2.0 * p * q * fold.cos()).sqrt();
        let shortening = distance(0.0) - distance(1.0);
        if shortening <= 1e-9 * self.edge_length || self.area <= 0.0 {
            return 0.0;
        }
        3.0 * bend_stiffness * self.edge_length * self.edge_length / (self.area * shortening * shortening)
    }
}

fn area(rest: &[DVec3], triangle: [u32; 3]) -> f64 {
    let [a, b, c] = triangle.map(|v| rest[v as usize]);
    0.5 * (b - a).cross(c - a).length()
}
