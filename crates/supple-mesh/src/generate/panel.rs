//! Flat pieces of cloth cut along an outline: points along the outline and on a lattice inside, triangulated by Delaunay.

use glam::{DVec2, DVec3};

use super::{PanelShape, check_length, check_vertex_count, delaunay};
use crate::{CornerAttribute, SurfaceMesh};
use supple_core::Error;

/// Minimum distance of lattice points from the outline, in spacings: far enough that the circle over each of its
/// edges stays empty.
const MIN_OUTLINE_DISTANCE: f64 = 0.6;
/// Maximum number of corners of an outline.
const MOST_CORNERS: usize = 10_000;

impl PanelShape {
    /// The panel as triangles that face +z, with texture coordinates from 0 to 1 along x and y. Vertices along the outline come
    /// first, in its order.
    pub fn surface(&self, resolution: f64) -> Result<SurfaceMesh, Error> {
        check_length("panel's spacing", self.spacing)?;
        self.check()?;
        check_vertex_count("panel", self.estimated_vertices(resolution))?;
        let spacing = self.spacing / resolution;
        let corners = self.corners();
        let mut points = along(&corners, spacing);
        let boundary = points.len();
        inside(&corners, spacing, &mut points);
        let mut triangles = delaunay::triangulate(&points);
        triangles.retain(|t| contains(&corners, t.iter().map(|&v| points[v as usize]).sum::<DVec2>() / 3.0));
        if !has_edges(&triangles, boundary) {
            return Err(Error::Invalid(format!(
                "a panel whose outline has corners too sharp, or passes too close to itself, for a spacing of {spacing} m; use a \
                 smaller spacing or a blunter outline"
            )));
        }
        Ok(mesh(&points, &triangles))
    }

    /// The approximate number of vertices.
    pub fn estimated_vertices(&self, resolution: f64) -> f64 {
        let area = 0.5 * doubled_area(&self.outline.iter().map(|&p| p.into()).collect::<Vec<_>>()).abs();
        1.2 * area * (resolution / self.spacing).powi(2) + self.outline.len() as f64
    }

    /// Rejects invalid outlines.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |problem: String| Err(Error::Invalid(problem));
        let count = self.outline.len();
        if !(3..=MOST_CORNERS).contains(&count) {
            return refuse(format!("the outline has {count} corners; it must have 3 to {MOST_CORNERS}"));
        }
        if let Some(k) = self.outline.iter().position(|p| !p.iter().all(|c| c.is_finite())) {
            return refuse(format!("corner {k} of the outline is {:?}; it must be finite", self.outline[k]));
        }
        let at = |k: usize| DVec2::from(self.outline[k % count]);
        if let Some(k) = (0..count).find(|&k| at(k) == at(k + 1)) {
            return refuse(format!(
                "corners {k} and {} of the outline are at the same position",
                (k + 1) % count
            ));
        }
        let crossing = (0..count)
            .flat_map(|i| (i + 2..count).map(move |j| (i, j)))
            .find(|&(i, j)| (j + 1) % count != i && segments_cross([at(i), at(i + 1)], [at(j), at(j + 1)]));
        match crossing {
            Some((i, j)) => refuse(format!("the outline intersects itself at its sides {i} and {j}")),
            None => Ok(()),
        }
    }

    /// The corners, counter-clockwise.
    fn corners(&self) -> Vec<DVec2> {
        let mut corners: Vec<DVec2> = self.outline.iter().map(|&p| p.into()).collect();
        if doubled_area(&corners) < 0.0 {
            corners.reverse();
        }
        corners
    }
}

fn doubled_area(corners: &[DVec2]) -> f64 {
    (0..corners.len()).map(|k| corners[k].perp_dot(corners[(k + 1) % corners.len()])).sum()
}

/// Whether two closed segments meet.
fn segments_cross([a, b]: [DVec2; 2], [c, d]: [DVec2; 2]) -> bool {
    let side = |p: DVec2, q: DVec2, r: DVec2| (q - p).perp_dot(r - p);
    let (c_side, d_side) = (side(a, b, c), side(a, b, d));
    let (a_side, b_side) = (side(c, d, a), side(c, d, b));
    let boxes = a.min(b).cmple(c.max(d)).all() && c.min(d).cmple(a.max(b)).all();
    boxes && c_side * d_side <= 0.0 && a_side * b_side <= 0.0
}

/// Points along the outline: its corners, and as many between them as fit.
fn along(corners: &[DVec2], spacing: f64) -> Vec<DVec2> {
    let side = |k: usize| {
        let (from, to) = (corners[k], corners[(k + 1) % corners.len()]);
        let pieces = (from.distance(to) / spacing).round().max(1.0) as u32;
        (0..pieces).map(move |i| from.lerp(to, f64::from(i) / f64::from(pieces)))
    };
    (0..corners.len()).flat_map(side).collect()
}

/// Points of a lattice of equal triangles inside the outline, row by row, in alternating directions.
fn inside(corners: &[DVec2], spacing: f64, points: &mut Vec<DVec2>) {
    let (low, high) =
        corners.iter().fold((corners[0], corners[0]), |(low, high), p| (low.min(*p), high.max(*p)));
    let height = 0.75f64.sqrt() * spacing;
    let rows = ((high.y - low.y) / height).ceil() as u32;
    let columns = ((high.x - low.x) / spacing).ceil() as u32 + 1;
    for row in 0..=rows {
        let shift = 0.5 * f64::from(row % 2);
        let at = |i: u32| low + DVec2::new((f64::from(i) + shift) * spacing, f64::from(row) * height);
        let fits = |p: &DVec2| contains(corners, *p) && !is_near(corners, *p, MIN_OUTLINE_DISTANCE * spacing);
        let across = (0..=columns).map(|i| at(if row % 2 == 0 { i } else { columns - i }));
        points.extend(across.filter(fits));
    }
}

/// Whether a point lies inside an outline, by counting the sides that a ray along x crosses.
fn contains(corners: &[DVec2], p: DVec2) -> bool {
    let meets = |k: usize| {
        let (a, b) = (corners[k], corners[(k + 1) % corners.len()]);
        (a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x)
    };
    (0..corners.len()).filter(|&k| meets(k)).count() % 2 == 1
}

fn is_near(corners: &[DVec2], p: DVec2, distance: f64) -> bool {
    (0..corners.len()).any(|k| {
        let (from, edge) = (corners[k], corners[(k + 1) % corners.len()] - corners[k]);
        let along = ((p - from).dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
        p.distance_squared(from + along * edge) < distance * distance
    })
}

/// Whether the first vertices, in order, are the boundary of some triangles.
fn has_edges(triangles: &[[u32; 3]], boundary: usize) -> bool {
    let mut found = vec![false; boundary];
    for t in triangles {
        for i in 0..3 {
            let (a, b) = (t[i] as usize, t[(i + 1) % 3] as usize);
            if a < boundary && b == (a + 1) % boundary {
                found[a] = true;
            }
        }
    }
    found.into_iter().all(|found| found)
}

fn mesh(points: &[DVec2], triangles: &[[u32; 3]]) -> SurfaceMesh {
    let positions = points.iter().map(|p| DVec3::new(p.x, p.y, 0.0)).collect();
    let mut mesh = SurfaceMesh::from_triangles(positions, triangles);
    let (low, high) =
        points.iter().fold((points[0], points[0]), |(low, high), p| (low.min(*p), high.max(*p)));
    let values = points.iter().map(|p| ((*p - low) / (high - low)).to_array()).collect();
    mesh.uvs = Some(CornerAttribute { values, indices: mesh.corners.clone() });
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn panel(outline: &[[f64; 2]], spacing: f64) -> PanelShape {
        PanelShape { outline: outline.to_vec(), spacing }
    }

    fn area(mesh: &SurfaceMesh) -> f64 {
        let part = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
            0.5 * (b - a).cross(c - a).z
        };
        mesh.triangles().iter().map(part).sum()
    }

    fn least_angle(mesh: &SurfaceMesh) -> f64 {
        let of = |t: &[u32; 3]| {
            let p = t.map(|v| mesh.positions[v as usize]);
            (0..3)
                .map(|i| (p[(i + 1) % 3] - p[i]).angle_between(p[(i + 2) % 3] - p[i]))
                .fold(f64::INFINITY, f64::min)
        };
        mesh.triangles().iter().map(of).fold(f64::INFINITY, f64::min).to_degrees()
    }

    proptest! {
        #[test]
        fn triangles_fill_a_star_and_keep_its_outline(
            radii in prop::collection::vec(0.4..1.0f64, 5..14), spacing in 0.03..0.2f64,
        ) {
            let count = radii.len() as f64;
            let corner = |(k, r): (usize, &f64)| {
                let angle = std::f64::consts::TAU * k as f64 / count;
                [r * angle.cos(), r * angle.sin()]
            };
            let shape = panel(&radii.iter().enumerate().map(corner).collect::<Vec<_>>(), spacing);
            // Corners of a star may be too sharp for a coarse spacing, which is rejected.
            let mesh = shape.surface(1.0).map_err(|refused| TestCaseError::reject(refused.to_string()))?;
            let expected = 0.5 * doubled_area(&shape.corners());
            prop_assert!((area(&mesh) / expected - 1.0).abs() < 1e-9, "{} {expected}", area(&mesh));
            let euler = mesh.positions.len() + mesh.triangles().len();
            let mut edges: Vec<_> = mesh.triangles().iter()
                .flat_map(|t| [0, 1, 2].map(|i| [t[i].min(t[(i + 1) % 3]), t[i].max(t[(i + 1) % 3])])).collect();
            edges.sort_unstable();
            edges.dedup();
            prop_assert_eq!(euler, edges.len() + 1, "a disc");
        }
    }

    #[test]
    fn a_square_has_good_triangles_at_any_spacing() {
        for spacing in [0.5, 0.11, 0.03] {
            let mesh =
                panel(&[[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]], spacing).surface(1.0).unwrap();
            assert!((area(&mesh) - 1.0).abs() < 1e-12, "faces +z also where the outline is clockwise");
            assert!(least_angle(&mesh) > 20.0, "{spacing}: {}", least_angle(&mesh));
        }
    }

    #[test]
    fn outlines_that_bound_nothing_are_refused() {
        let refused = |outline: &[[f64; 2]]| panel(outline, 0.1).surface(1.0).unwrap_err().to_string();
        assert!(refused(&[[0.0, 0.0], [1.0, 0.0]]).contains("has 2 corners"));
        let bow = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
        assert!(refused(&bow).contains("itself at its sides 0 and 2"));
        assert!(refused(&[[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]).contains("same position"));
        assert!(refused(&[[0.0, 0.0], [f64::NAN, 0.0], [1.0, 1.0]]).contains("finite"));
    }
}
