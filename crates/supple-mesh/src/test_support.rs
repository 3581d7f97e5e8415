//! Shapes shared by the tests of several crates.

use std::f64::consts::PI;

use glam::DVec3;

use crate::octree::splits::{Splits, set};
use crate::octree::{Filled, Grading, Octant, Octree, OctreeFrame, fill};

/// A sphere of latitude rings around z: `2 n` segments, `n` rings, facing outwards.
pub fn sphere(n: u32, radius: f64) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let segments = 2 * n;
    let mut positions = vec![DVec3::Z * radius, -DVec3::Z * radius];
    for ring in 1..n {
        let latitude = PI * f64::from(ring) / f64::from(n);
        for s in 0..segments {
            let angle = 2.0 * PI * f64::from(s) / f64::from(segments);
            let p = DVec3::new(latitude.sin() * angle.cos(), latitude.sin() * angle.sin(), latitude.cos());
            positions.push(radius * p);
        }
    }
    let at = |ring: u32, s: u32| 2 + (ring - 1) * segments + s % segments;
    let mut triangles = Vec::new();
    for s in 0..segments {
        triangles.push([0, at(1, s), at(1, s + 1)]);
        triangles.push([1, at(n - 1, s + 1), at(n - 1, s)]);
        for ring in 1..n - 1 {
            triangles.push([at(ring, s), at(ring + 1, s), at(ring + 1, s + 1)]);
            triangles.push([at(ring, s), at(ring + 1, s + 1), at(ring, s + 1)]);
        }
    }
    (positions, triangles)
}

/// The surface of a box as twelve triangles.
pub fn box_surface(low: DVec3, high: DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let corner = |n: u32| {
        let pick = |axis: usize| if n >> axis & 1 == 1 { high[axis] } else { low[axis] };
        DVec3::new(pick(0), pick(1), pick(2))
    };
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    ((0..8).map(corner).collect(), triangles)
}

/// A cube of `n` unit cells along each edge.
///
/// # Panics
/// If it cannot be filled.
pub fn cube(n: u32, inside: Grading) -> Filled {
    let (positions, triangles) = box_surface(DVec3::ZERO, DVec3::splat(f64::from(n)));
    fill(&positions, triangles, 1.0, inside).expect("a closed surface")
}

/// A sphere with bumps and a thin spike, so that coarsening must rebalance.
///
/// # Panics
/// If it cannot be filled.
pub fn bumpy(n: u32) -> Filled {
    let (segments, rings) = (4 * n, 2 * n);
    let radius = |d: DVec3| {
        let spike = 0.9 * (8.0 * (d.dot(DVec3::new(0.6, 0.8, 0.0)) - 1.0) * 8.0).exp();
        f64::from(n) * (0.3 + 0.04 * (9.0 * d.x).sin() * (7.0 * d.y).cos() + 0.25 * spike)
    };
    let point = |ring: u32, segment: u32| {
        let (lat, lon) = (
            std::f64::consts::PI * f64::from(ring) / f64::from(rings),
            std::f64::consts::TAU * f64::from(segment % segments) / f64::from(segments),
        );
        let d = DVec3::new(lat.sin() * lon.cos(), lat.sin() * lon.sin(), lat.cos());
        radius(d) * d
    };
    let positions: Vec<DVec3> = (0..=rings).flat_map(|r| (0..segments).map(move |s| point(r, s))).collect();
    let at = |r: u32, s: u32| r * segments + s % segments;
    let mut triangles = Vec::new();
    for r in 0..rings {
        for s in 0..segments {
            triangles.push([at(r, s), at(r + 1, s), at(r + 1, s + 1)]);
            triangles.push([at(r, s), at(r + 1, s + 1), at(r, s + 1)]);
        }
    }
    fill(&positions, triangles, 1.0, Grading::Layers(1)).expect("a closed surface")
}

/// The balanced tree with leaves of the given cells of height 0 under a root of height `root`; `keep` decides for
/// each leaf whether it stays.
pub fn balanced_tree(frame: OctreeFrame, cells: Vec<Octant>, mut keep: impl FnMut() -> bool) -> Octree {
    let finest = set(cells);
    let mut leaves = Splits::around(&finest, frame.root, 1).leaves(frame.root, &finest);
    leaves.retain(|_| keep());
    Octree::new(frame, leaves)
}
