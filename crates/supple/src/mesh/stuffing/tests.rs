//! The guarantees of isosurface stuffing, held on shapes, on fields that no shape would give, and under refinement.

use std::collections::HashMap;
use std::f64::consts::PI;

use proptest::prelude::*;

use super::*;


/// Signs and cuts drawn at random for each lattice point and edge, mostly at the thresholds of the warping rule: the
/// worst that any field can do.
struct Adversary {
    seed: u64,
}

impl Adversary {
    fn draw(&self, point: DVec3, salt: u64) -> f64 {
        let mut hash = self.seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for x in point.to_array() {
            hash = (hash ^ (x * 1024.0).round() as i64 as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash ^= hash >> 32;
        }
        (hash >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl SignedField for Adversary {
    fn value(&self, point: DVec3) -> f64 {
        if point.abs().max_element() > 9.0 { 1.0 } else { self.draw(point, 1) - 0.5 }
    }

    fn crossing(&self, inside: DVec3, outside: DVec3) -> f64 {
        let alpha = if inside.distance(outside) > 0.9 { cuts::ALPHA_LONG } else { cuts::ALPHA_SHORT };
        let (which, t) = (self.draw(inside + 0.37 * outside, 2), self.draw(inside + 0.37 * outside, 3));
        match (8.0 * which) as u32 {
            0..3 => alpha + 1e-9,
            3..6 => 1.0 - alpha - 1e-9,
            6 => if t < 0.5 { alpha - 1e-9 } else { 1.0 - alpha + 1e-9 },
            _ => t,
        }
    }
}

/// Smallest and largest dihedral angle in degrees.
fn dihedral_range(mesh: &TetMesh) -> (f64, f64) {
    let mut range = (180.0f64, 0.0f64);
    for tet in &mesh.tets {
        let p = tet.map(|v| mesh.positions[v as usize]);
        for [i, j, k, l] in [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 0, 2], [2, 3, 0, 1]] {
            let axis = (p[j] - p[i]).normalize();
            let (u, w) = ((p[k] - p[i]).reject_from(axis), (p[l] - p[i]).reject_from(axis));
            let angle = u.angle_between(w).to_degrees();
            range = (range.0.min(angle), range.1.max(angle));
        }
    }
    range
}

fn total_volume(mesh: &TetMesh) -> f64 {
    (0..mesh.tets.len()).map(|t| mesh.volume(t)).sum()
}

fn boundary_area(mesh: &TetMesh) -> f64 {
    let area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
        0.5 * (b - a).cross(c - a).length()
    };
    mesh.boundary_triangles().iter().map(area).sum()
}

#[test]
fn probe() {
    let mut all = (180.0f64, 0.0f64);
    for seed in 0..20 {
        let mesh = stuff(&Adversary { seed }, (DVec3::splat(-10.0), DVec3::splat(10.0)), 1.0).unwrap();
        let r = dihedral_range(&mesh);
        all = (all.0.min(r.0), all.1.max(r.1));
    }
    println!("{all:?}");
}
