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
use crate::body::ElementMaterials;
use crate::material::Material;

/// The springs of a cloth; `rest` has the rest positions of every triangle's corners, each triangle for itself.
pub fn cloth_springs(
    rest: &[[DVec3; 3]],
    triangles: &[[u32; 3]],
    materials: &ElementMaterials,
) -> Vec<Spring> {
    let edges = edge_triangles(triangles);
    let flaps: Vec<Flap> =
        edges.iter().filter_map(|(&edge, around)| Flap::new(edge, around, rest, triangles)).collect();
    let mut springs_of_triangle = vec![3.0; triangles.len()];
    for flap in flaps.iter().filter(|flap| flap.is_quad) {
        flap.triangles.iter().for_each(|&t| springs_of_triangle[t] = 4.0);
    }
    let share =
        |t: usize| 3.0 * materials.of(t).stretch_stiffness[0] / springs_of_triangle[t] * area(&rest[t]);
    let mean = |around: &[usize], of: &dyn Fn(&Material) -> f64| {
        around.iter().map(|&t| of(&materials.of(t))).sum::<f64>() / around.len() as f64
    };
    let spring = |ends: [u32; 2], rest: f64, around: &[usize]| {
        let stiffness = around.iter().map(|&t| share(t)).sum::<f64>() / (rest * rest);
        Spring { ends, rest, stiffness, damping: mean(around, &|m| m.damping), resists: Resists::Both }
    };
    let mut springs: Vec<Spring> = Vec::with_capacity(edges.len() + flaps.len());
    for (&ends, around) in &edges {
        // The two sides of a seam may be cut to slightly different lengths.
        let lengths = around.iter().map(|&t| Side::new(ends, triangles[t], &rest[t]).edge_length);
        springs.push(spring(ends, lengths.sum::<f64>() / around.len() as f64, around));
    }
    for flap in &flaps {
        let mut crossing = spring(flap.opposite, flap.distance, &flap.triangles);
        if !flap.is_quad {
            crossing.stiffness = flap.bending_stiffness(mean(&flap.triangles, &|m| m.bend_stiffness));
            crossing.resists = Resists::Compression;
        }
        springs.push(crossing);
    }
    springs.retain(|s| s.rest > 0.0 && s.stiffness > 0.0);
    springs
}

/// The springs of a solid with these rest positions.
pub fn solid_springs(rest: &[DVec3], tets: &[[u32; 4]], materials: &ElementMaterials) -> Vec<Spring> {
    // Of every edge the stiffness, and that times the damping.
    let mut edges: BTreeMap<[u32; 2], [f64; 2]> = BTreeMap::new();
    for (t, tet) in tets.iter().enumerate() {
        let material = materials.of(t);
        let [a, b, c, d] = tet.map(|v| rest[v as usize]);
        let volume = ((b - a).cross(c - a).dot(d - a) / 6.0).abs();
        for (i, j) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let ends = [tet[i].min(tet[j]), tet[i].max(tet[j])];
            let length_squared = rest[tet[i] as usize].distance_squared(rest[tet[j] as usize]);
            if length_squared > 0.0 {
                let stiffness = material.young_modulus * volume / length_squared;
                let edge = edges.entry(ends).or_default();
                edge[0] += stiffness;
                edge[1] += stiffness * material.damping;
            }
        }
    }
    let spring = |(ends, [stiffness, damped]): ([u32; 2], [f64; 2])| Spring {
        ends,
        rest: rest[ends[0] as usize].distance(rest[ends[1] as usize]),
        stiffness,
        damping: if damped > 0.0 { damped / stiffness } else { 0.0 },
        resists: Resists::Both,
    };
    edges.into_iter().map(spring).filter(|s| s.rest > 0.0 && s.stiffness > 0.0).collect()
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

/// A triangle at rest, seen from one of its edges.
struct Side {
    edge_length: f64,
    /// The edge's ends and the vertex opposite to it, at rest.
    from: DVec3,
    to: DVec3,
    apex: DVec3,
    /// How far along the edge and how high over it that vertex is.
    along: f64,
    height: f64,
}

impl Side {
    fn new(edge: [u32; 2], triangle: [u32; 3], rest: &[DVec3; 3]) -> Self {
        let corner =
            |is_it: &dyn Fn(u32) -> bool| (0..3).find(|&i| is_it(triangle[i])).map_or(rest[0], |i| rest[i]);
        let (from, to) = (corner(&|v| v == edge[0]), corner(&|v| v == edge[1]));
        let apex = corner(&|v| !edge.contains(&v));
        let edge_length = from.distance(to);
        let direction = (to - from) / edge_length;
        let along = (apex - from).dot(direction);
        let height = (apex - from - along * direction).length();
        Self { edge_length, from, to, apex, along, height }
    }

    /// Whether the edge is the longest, as the diagonal of a quad is.
    fn is_half_a_quad(&self) -> bool {
        1.000_001 * self.apex.distance(self.from).max(self.apex.distance(self.to)) < self.edge_length
    }
}

/// Two triangles and the edge between them.
struct Flap {
    triangles: [usize; 2],
    opposite: [u32; 2],
    is_quad: bool,
    /// Distance of the opposite vertices at rest; where the two triangles lie apart at rest, when laid flat.
    distance: f64,
    edge_length: f64,
    area: f64,
    /// Heights of the opposite vertices over the edge, and their offset along it.
    heights: [f64; 2],
    offset: f64,
}

impl Flap {
    /// `None` at boundaries, where more than two triangles meet, and for flaps folded onto themselves.
    fn new(edge: [u32; 2], around: &[usize], rest: &[[DVec3; 3]], triangles: &[[u32; 3]]) -> Option<Self> {
        let &[first, second] = around else { return None };
        let opposite = [first, second].map(|t| triangles[t].into_iter().find(|v| !edge.contains(v)));
        let [Some(p), Some(q)] = opposite else { return None };
        let [one, other] = [first, second].map(|t| Side::new(edge, triangles[t], &rest[t]));
        if p == q || one.edge_length == 0.0 || other.edge_length == 0.0 {
            return None;
        }
        let offset = one.along - other.along;
        let together = one.from == other.from && one.to == other.to;
        let flat = offset.hypot(one.height + other.height);
        Some(Self {
            triangles: [first, second],
            opposite: [p.min(q), p.max(q)],
            is_quad: one.is_half_a_quad() && other.is_half_a_quad(),
            distance: if together { one.apex.distance(other.apex) } else { flat },
            edge_length: one.edge_length,
            area: area(&rest[first]) + area(&rest[second]),
            heights: [one.height, other.height],
            offset,
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

fn area([a, b, c]: &[DVec3; 3]) -> f64 {
    0.5 * (b - a).cross(c - a).length()
}
