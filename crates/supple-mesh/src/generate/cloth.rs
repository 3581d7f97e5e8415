//! Flat rectangular cloth.

use glam::{DVec2, DVec3};

use super::{ClothGrid, GridPattern, check_length, check_vertex_count, delaunay, scaled};
use crate::{CornerAttribute, SurfaceMesh};
use supple_core::Error;

/// Maximum displacement of points of the irregular pattern from the grid, in cells. Points of a square grid then stay
/// 0.56 cells apart and no empty circle is larger than 0.72 sqrt(2) cells, so no Delaunay angle is below 15.9
/// degrees.
const JITTER: f64 = 0.22;

impl ClothGrid {
    /// The cloth as triangles that face up, with texture coordinates from 0 to 1 along x and against z.
    pub fn surface(&self, resolution: f64) -> Result<SurfaceMesh, Error> {
        check_length("cloth's size along x", self.size[0])?;
        check_length("cloth's size along z", self.size[1])?;
        let [nx, nz] = self.cells(resolution)?;
        let points = self.points(nx, nz);
        let mut triangles = triangulate(nx, nz, self.pattern);
        if self.pattern == GridPattern::Irregular {
            delaunay::flip_to_delaunay(&points, &mut triangles);
        }
        let positions = points.iter().map(|p| DVec3::new(p.x, 0.0, -p.y)).collect();
        let mut mesh = SurfaceMesh::from_triangles(positions, &triangles);
        let size = DVec2::from_array(self.size);
        let values = points.iter().map(|p| (*p / size + 0.5).to_array()).collect();
        mesh.uvs = Some(CornerAttribute { values, indices: mesh.corners.clone() });
        Ok(mesh)
    }

    fn cells(&self, resolution: f64) -> Result<[u32; 2], Error> {
        let [vx, vz] = self.vertices;
        if vx < 2 || vz < 2 {
            return Err(Error::Invalid(format!(
                "a cloth of {vx} x {vz} vertices; at least 2 x 2 are needed"
            )));
        }
        let nx = scaled("the cloth's number of cells along x", vx - 1, 1, resolution)?;
        let nz = scaled("the cloth's number of cells along z", vz - 1, 1, resolution)?;
        check_vertex_count("cloth", (f64::from(nx) + 1.0) * (f64::from(nz) + 1.0))?;
        Ok([nx, nz])
    }

    /// The vertices seen from above: x to the right, -z up. Those on a side slide along it, the corners stay.
    fn points(&self, nx: u32, nz: u32) -> Vec<DVec2> {
        let irregular = self.pattern == GridPattern::Irregular;
        let coordinate = |i: u32, n: u32, shift: f64| {
            let shift = if irregular && i > 0 && i < n { JITTER * shift } else { 0.0 };
            (f64::from(i) + shift) / f64::from(n) - 0.5
        };
        let point = |i: u32, j: u32| {
            let [dx, dz] = shifts(self.seed, i, j);
            DVec2::new(self.size[0] * coordinate(i, nx, dx), -self.size[1] * coordinate(j, nz, dz))
        };
        (0..=nz).flat_map(|j| (0..=nx).map(move |i| (i, j))).map(|(i, j)| point(i, j)).collect()
    }
}

/// Two numbers from -1 to 1, fixed by the seed and the grid point (the finalizer of SplitMix64).
fn shifts(seed: u64, i: u32, j: u32) -> [f64; 2] {
    [0u64, 1].map(|axis| {
        let key = (u64::from(i) << 32 | u64::from(j)).wrapping_mul(2).wrapping_add(axis);
        let mut z =
            seed.wrapping_add(key.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

fn triangulate(nx: u32, nz: u32, pattern: GridPattern) -> Vec<[u32; 3]> {
    let cell = |i: u32, j: u32| {
        let a = j * (nx + 1) + i;
        let (b, d) = (a + 1, a + nx + 1);
        let c = d + 1;
        if pattern == GridPattern::Crossed && (i + j) % 2 == 1 {
            [[a, d, b], [d, c, b]]
        } else {
            [[a, d, c], [a, c, b]]
        }
    };
    (0..nz).flat_map(|j| (0..nx).map(move |i| (i, j))).flat_map(|(i, j)| cell(i, j)).collect()
}
