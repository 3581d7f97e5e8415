//! Tori.

use std::f64::consts::TAU;

use glam::DVec3;

use super::cylinder::on_circle;
use super::{TorusShape, check_length, check_vertex_count, grid_uvs, push_quads, scaled};
use crate::SurfaceMesh;
use supple_core::Error;

impl TorusShape {
    /// The torus as quads, with texture coordinates around the axis and around the tube.
    pub fn surface(&self, resolution: f64) -> Result<SurfaceMesh, Error> {
        check_length("torus's major radius", self.major_radius)?;
        check_length("torus's minor radius", self.minor_radius)?;
        if self.minor_radius >= self.major_radius {
            return Err(Error::Invalid(format!(
                "the torus's minor radius of {} m must be less than its major radius of {} m: it would intersect itself",
                self.minor_radius, self.major_radius
            )));
        }
        let segments = scaled("the torus's number of segments", self.segments, 3, resolution)?;
        let rings = scaled("the torus's number of rings", self.rings, 3, resolution)?;
        check_vertex_count("torus", f64::from(segments) * f64::from(rings))?;
        let circle = |j: u32| (0..segments).map(move |i| self.point(i, segments, j, rings));
        let mut mesh =
            SurfaceMesh { positions: (0..rings).flat_map(circle).collect(), ..SurfaceMesh::default() };
        push_quads(&mut mesh, segments, rings, |i, j| (j % rings) * segments + i % segments);
        mesh.uvs = Some(grid_uvs(segments, rings));
        Ok(mesh)
    }

    fn point(&self, i: u32, segments: u32, j: u32, rings: u32) -> DVec3 {
        let angle = TAU * f64::from(j) / f64::from(rings);
        let (up, out) = angle.sin_cos();
        on_circle(self.major_radius + self.minor_radius * out, i, segments, self.minor_radius * up)
    }
}
