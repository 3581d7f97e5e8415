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
//! second order with the fold angle, so no spring can have a hinge's stiffness at rest, and small folds cost next to
//! nothing; this one has the energy of a hinge, `½ B (l²/A) θ²` (see [`Hinge::stiffness`]), at a fold of one radian. It
//! resists only compression, so that it adds nothing to stretch.
//!
//! **Solids.** Likewise over the six edges of a tetrahedron: `C_iijj = 6 E` for Poisson's ratio 1/4 (the only one a
//! network has), so each edge gets `k = E V/L²`.

use std::collections::BTreeMap;

use glam::DVec3;

use crate::body::ElementMaterials;
use crate::energy::bending::hinge::{Hinge, hinges};
use crate::energy::element::spring::{Resists, Spring};
use crate::material::Material;

/// The springs of a cloth; `rest` has the rest positions of each triangle's corners separately.
pub fn cloth_springs(
    rest: &[[DVec3; 3]],
    triangles: &[[u32; 3]],
    materials: &ElementMaterials,
) -> Vec<Spring> {
    let edges = edge_triangles(triangles);
    let hinges = hinges(triangles, rest);
    let mut springs_of_triangle = vec![3.0; triangles.len()];
    for hinge in hinges.iter().filter(|hinge| is_quad(hinge)) {
        hinge.triangles.iter().for_each(|&t| springs_of_triangle[t] = 4.0);
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
    let mut springs: Vec<Spring> = Vec::with_capacity(edges.len() + hinges.len());
    for (&ends, around) in &edges {
        // The two sides of a seam may be cut to slightly different lengths.
        let lengths = around.iter().map(|&t| edge_length(ends, triangles[t], &rest[t]));
        springs.push(spring(ends, lengths.sum::<f64>() / around.len() as f64, around));
    }
    for hinge in &hinges {
        let [_, _, p, q] = hinge.vertices;
        let distance = hinge.opposite_distance(hinge.angle);
        let mut crossing = spring([p.min(q), p.max(q)], distance, &hinge.triangles);
        if !is_quad(hinge) {
            crossing.stiffness = bending_stiffness(hinge, mean(&hinge.triangles, &|m| m.bend_stiffness));
            crossing.resists = Resists::Compression;
        }
        springs.push(crossing);
    }
    springs.retain(|s| s.rest > 0.0 && s.stiffness > 0.0);
    springs
}

/// The springs of a solid with these rest positions, whose elements have the Young's modulus `E` that `modulus` gives.
pub fn solid_springs(
    rest: &[DVec3],
    tets: &[[u32; 4]],
    materials: &ElementMaterials,
    modulus: impl Fn(&Material) -> f64,
) -> Vec<Spring> {
    // Per edge, the stiffness, and the stiffness times the damping.
    let mut edges: BTreeMap<[u32; 2], [f64; 2]> = BTreeMap::new();
    for (t, tet) in tets.iter().enumerate() {
        let material = materials.of(t);
        let [a, b, c, d] = tet.map(|v| rest[v as usize]);
        let volume = ((b - a).cross(c - a).dot(d - a) / 6.0).abs();
        for (i, j) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let ends = [tet[i].min(tet[j]), tet[i].max(tet[j])];
            let length_squared = rest[tet[i] as usize].distance_squared(rest[tet[j] as usize]);
            if length_squared > 0.0 {
                let stiffness = modulus(&material) * volume / length_squared;
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

/// The triangles adjacent to every edge (smaller vertex first), in order of the edges.
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

/// The rest length of a triangle's edge.
fn edge_length(ends: [u32; 2], triangle: [u32; 3], rest: &[DVec3; 3]) -> f64 {
    let place = |v: u32| triangle.iter().position(|&u| u == v).unwrap_or(0);
    rest[place(ends[0])].distance(rest[place(ends[1])])
}

/// Whether the edge is the longest of both triangles, as the diagonal of a quad is.
fn is_quad(hinge: &Hinge) -> bool {
    let sides = hinge.along.into_iter().zip(hinge.heights);
    sides.into_iter().all(|(along, height)| {
        let longer = along.hypot(height).max((hinge.length - along).hypot(height));
        1.000_001 * longer < hinge.length
    })
}

/// The stiffness in N/m of the spring that has the hinge's energy at a fold of one radian.
fn bending_stiffness(hinge: &Hinge, bend_stiffness: f64) -> f64 {
    let shortening = hinge.opposite_distance(0.0) - hinge.opposite_distance(1.0);
    if shortening <= 1e-9 * hinge.length {
        return 0.0;
    }
    hinge.stiffness(bend_stiffness) / (shortening * shortening)
}

fn area([a, b, c]: &[DVec3; 3]) -> f64 {
    0.5 * (b - a).cross(c - a).length()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::Energy;
    use crate::energy::element::ElementSum;
    use crate::energy::element::spring::Springs;
    use supple_core::simd::Simd;

    #[test]
    fn a_bending_spring_has_the_energy_of_a_hinge_at_one_radian() {
        let material = Material { bend_stiffness: 2.0, stretch_stiffness: [0.0; 2], ..Material::default() };
        let shape = |fold: f64| {
            let lifted = DVec3::new(0.6, -0.7 * fold.cos(), 0.7 * fold.sin());
            [DVec3::ZERO, DVec3::X, DVec3::new(0.4, 0.8, 0.0), lifted]
        };
        let triangles = [[0, 1, 2], [1, 0, 3]];
        let rest = triangles.map(|t: [u32; 3]| t.map(|v| shape(0.0)[v as usize]));
        let springs = cloth_springs(&rest, &triangles, &material.into());
        let energy = ElementSum::new(Springs::new(springs), 4, Simd::Baseline);
        // B l²/A over both triangles, of height 0.8 and 0.7 over an edge of 1 m.
        let hinge = 0.5 * 2.0 / (0.5 * (0.8 + 0.7));
        assert!((energy.value(&shape(1.0)) - hinge).abs() < 1e-12, "{}", energy.value(&shape(1.0)));
        assert!(energy.value(&shape(0.0)).abs() < 1e-25);
    }
}
