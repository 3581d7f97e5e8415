//! Cylinders and tubes.

use std::f64::consts::TAU;

use glam::DVec3;

use super::{CylinderShape, check_length, check_vertex_count, grid_uvs, push_quads, scaled};
use crate::SurfaceMesh;
use supple_core::Error;

impl CylinderShape {
    /// The side as quads; the discs as concentric rings of triangles about as large as the side's cells.
    pub fn surface(&self, resolution: f64) -> Result<SurfaceMesh, Error> {
        check_length("cylinder's radius", self.radius)?;
        check_length("cylinder's height", self.height)?;
        let segments = scaled("the cylinder's number of segments", self.segments, 3, resolution)?;
        let rings = scaled("the cylinder's number of rings", self.rings, 1, resolution)?;
        let (around, across) = (f64::from(segments), f64::from(cap_rings(segments)));
        let caps = if self.closed { around * (across + 1.0) } else { 0.0 };
        check_vertex_count("cylinder", around * (f64::from(rings) + 1.0) + caps)?;
        let mut mesh = self.side(segments, rings);
        if self.closed {
            self.push_cap(&mut mesh, segments, rings, true);
            self.push_cap(&mut mesh, segments, rings, false);
        }
        Ok(mesh)
    }

    fn side(&self, segments: u32, rings: u32) -> SurfaceMesh {
        let height = |j: u32| self.height * (f64::from(j) / f64::from(rings) - 0.5);
        let ring = |j: u32| (0..segments).map(move |i| on_circle(self.radius, i, segments, height(j)));
        let mut mesh =
            SurfaceMesh { positions: (0..=rings).flat_map(ring).collect(), ..SurfaceMesh::default() };
        push_quads(&mut mesh, segments, rings, |i, j| j * segments + i % segments);
        mesh.uvs = Some(grid_uvs(segments, rings));
        mesh
    }

    /// Closes the upper or lower end, from the rim inward.
    fn push_cap(&self, mesh: &mut SurfaceMesh, segments: u32, rings: u32, upper: bool) {
        let y = if upper { 0.5 * self.height } else { -0.5 * self.height };
        let inner = cap_rings(segments);
        let mut outer = (if upper { rings * segments } else { 0 }, segments);
        for ring in (0..inner).rev() {
            let count = if ring == 0 { 1 } else { (segments * ring / inner).max(3) };
            let first = mesh.positions.len() as u32;
            let radius = self.radius * f64::from(ring) / f64::from(inner);
            mesh.positions.extend((0..count).map(|i| on_circle(radius, i, count, y)));
            self.stitch(mesh, outer, (first, count), upper);
            outer = (first, count);
        }
    }

    /// Triangles between two rings given by first vertex and count, going around both by angle. A ring of one vertex is
    /// the centre.
    fn stitch(&self, mesh: &mut SurfaceMesh, (outer, n): (u32, u32), (inner, m): (u32, u32), upper: bool) {
        let steps = if m == 1 { 0 } else { m };
        let (mut i, mut j) = (0, 0);
        while i < n || j < steps {
            let (a, c) = (outer + i % n, inner + j % m);
            let outward = j == steps
                || (i < n && u64::from(2 * i + 1) * u64::from(m) <= u64::from(2 * j + 1) * u64::from(n));
            let b = if outward {
                i += 1;
                outer + i % n
            } else {
                j += 1;
                inner + j % m
            };
            self.push_cap_triangle(mesh, if upper { [a, b, c] } else { [a, c, b] });
        }
    }

    /// Adds a face with its own texture coordinates: the disc seen from above, in the unit square.
    fn push_cap_triangle(&self, mesh: &mut SurfaceMesh, triangle: [u32; 3]) {
        mesh.push_face(&triangle);
        let uv = triangle.map(|v| {
            let p = mesh.positions[v as usize] / (2.0 * self.radius);
            [0.5 + p.x, 0.5 - p.z]
        });
        if let Some(uvs) = &mut mesh.uvs {
            let first = uvs.values.len() as u32;
            uvs.values.extend(uv);
            uvs.indices.extend(first..first + 3);
        }
    }
}

/// Rings of a disc so that its cells are about as wide as those around its rim.
fn cap_rings(segments: u32) -> u32 {
    ((f64::from(segments) / TAU).round() as u32).max(1)
}

/// Point `i` of `count` around the y axis, counter-clockwise seen from above, starting at +z.
pub(super) fn on_circle(radius: f64, i: u32, count: u32, y: f64) -> DVec3 {
    let angle = TAU * f64::from(i) / f64::from(count);
    DVec3::new(radius * angle.sin(), y, radius * angle.cos())
}
