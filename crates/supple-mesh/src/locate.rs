//! Point location in tetrahedra with barycentric weights, which binds a display surface to a body.

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use super::TetMesh;
use crate::geometry::triangle::closest_point;
use crate::geometry::{Aabb, Bvh};
use supple_core::Error;

/// Points per task.
const CHUNK: usize = 256;

/// A point in barycentric coordinates of a tetrahedron.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointInTet {
    /// The tetrahedron.
    pub tet: u32,
    /// Its vertices.
    pub vertices: [u32; 4],
    /// The weights of the vertices: they sum to 1 and reproduce linear fields; some are negative for a point outside.
    pub weights: [f64; 4],
}

/// Finds for each point the tetrahedron that contains it, or for a point outside the mesh the closest one, with weights
/// extrapolated. Of several equally distant ones, the one with the least extrapolation, then the first.
pub fn locate(points: &[DVec3], mesh: &TetMesh) -> Result<Vec<PointInTet>, Error> {
    let finder = Finder::new(mesh);
    if finder.bvh.bounds().is_empty() {
        return Err(Error::Invalid(format!(
            "the tetrahedral mesh ({} elements) has no element with volume, so no point can be located in it",
            mesh.tets.len()
        )));
    }
    if let Some(bad) = points.iter().position(|p| !p.is_finite()) {
        return Err(Error::Invalid(format!("point {bad} to locate is {}; it must be finite", points[bad])));
    }
    Ok(points.par_iter().with_min_len(CHUNK).map(|&point| finder.find(point)).collect())
}

struct Finder<'a> {
    mesh: &'a TetMesh,
    bvh: Bvh,
}

impl<'a> Finder<'a> {
    /// Elements without volume get an empty box, so that no query finds them.
    fn new(mesh: &'a TetMesh) -> Self {
        let box_of = |tet: &[u32; 4]| {
            let corners = tet.map(|v| mesh.positions[v as usize]);
            if inverse_edges(&corners).is_some() { Aabb::of_points(&corners) } else { Aabb::EMPTY }
        };
        let boxes: Vec<Aabb> = mesh.tets.par_iter().with_min_len(CHUNK).map(box_of).collect();
        Self { mesh, bvh: Bvh::build(&boxes) }
    }

    fn corners(&self, tet: u32) -> [DVec3; 4] {
        self.mesh.tets[tet as usize].map(|v| self.mesh.positions[v as usize])
    }

    fn find(&self, point: DVec3) -> PointInTet {
        let (tet, weights) = match self.best_around(point, point) {
            Some(found) if least(&found.1) >= 0.0 => found,
            _ => self.nearest(point),
        };
        PointInTet { tet, vertices: self.mesh.tets[tet as usize], weights }
    }

    /// The tetrahedron closest to a point outside: of those that share the closest point of the mesh, the best.
    fn nearest(&self, point: DVec3) -> (u32, [f64; 4]) {
        let distance = |tet: u32| nearest_point(&self.corners(tet), point).distance_squared(point);
        let (tet, _) = self.bvh.nearest(point, f64::INFINITY, distance).expect("some element has volume");
        let foot = nearest_point(&self.corners(tet), point);
        self.best_around(foot, point).unwrap_or_else(|| {
            (tet, weights(&self.corners(tet), point).expect("elements without volume are never met"))
        })
    }

    /// Of the tetrahedra that contain `foot` (up to rounding), the one whose weights for `point` are the least negative.
    fn best_around(&self, foot: DVec3, point: DVec3) -> Option<(u32, [f64; 4])> {
        let mut best: Option<(u32, [f64; 4])> = None;
        let slack = 1e-12 * foot.abs().max_element();
        self.bvh.for_each_overlap(&Aabb { low: foot, high: foot }.inflated(slack), |tet| {
            let corners = self.corners(tet);
            let holds_foot = weights(&corners, foot).is_some_and(|w| least(&w) >= -1e-9);
            let Some(found) = weights(&corners, point).filter(|_| holds_foot) else { return };
            let better = best.is_none_or(|(other, w)| {
                let (new, old) = (least(&found), least(&w));
                new > old || (new == old && tet < other)
            });
            if better {
                best = Some((tet, found));
            }
        });
        best
    }
}

fn least(weights: &[f64; 4]) -> f64 {
    weights.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The inverse of the matrix of edges from the first corner; `None` without volume.
fn inverse_edges(&[a, b, c, d]: &[DVec3; 4]) -> Option<DMat3> {
    let inverse = DMat3::from_cols(b - a, c - a, d - a).inverse();
    inverse.is_finite().then_some(inverse)
}

/// Barycentric weights of a point; `None` for an element without volume.
fn weights(corners: &[DVec3; 4], point: DVec3) -> Option<[f64; 4]> {
    let w = inverse_edges(corners)? * (point - corners[0]);
    Some([1.0 - (w.x + w.y + w.z), w.x, w.y, w.z])
}

/// The point of a tetrahedron closest to a point.
fn nearest_point(corners: &[DVec3; 4], point: DVec3) -> DVec3 {
    if weights(corners, point).is_some_and(|w| least(&w) >= 0.0) {
        return point;
    }
    let &[a, b, c, d] = corners;
    let faces = [[a, b, c], [a, b, d], [a, c, d], [b, c, d]];
    let nearest = faces.map(|face| closest_point(&face, point).point);
    nearest.into_iter().fold(nearest[0], |best, p| {
        if p.distance_squared(point) < best.distance_squared(point) { p } else { best }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::generate::BoxShape;
    use crate::implicit::ImplicitShape;

    fn point(extent: f64) -> impl Strategy<Value = DVec3> {
        [-extent..extent, -extent..extent, -extent..extent].prop_map(DVec3::from_array)
    }

    fn ball() -> TetMesh {
        ImplicitShape::Sphere { center: DVec3::ZERO, radius: 1.0 }.tets(0.3).expect("a ball of 6 cells")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn weights_sum_to_one_and_reproduce_linear_fields(
            points in prop::collection::vec(point(1.6), 50),
            slope in point(3.0),
        ) {
            let mesh = ball();
            let field = |p: DVec3| slope.dot(p) + 0.7;
            for (p, found) in points.iter().zip(locate(&points, &mesh).unwrap()) {
                prop_assert_eq!(found.vertices, mesh.tets[found.tet as usize]);
                let corner = found.vertices.map(|v| mesh.positions[v as usize]);
                let value: f64 = (0..4).map(|i| found.weights[i] * field(corner[i])).sum();
                prop_assert!((found.weights.iter().sum::<f64>() - 1.0).abs() < 1e-13);
                prop_assert!((value - field(*p)).abs() < 1e-11, "{p} {value}");
            }
        }

        #[test]
        fn inside_points_have_weights_between_zero_and_one(points in prop::collection::vec(point(0.5), 50)) {
            for found in locate(&points, &ball()).unwrap() {
                prop_assert!(found.weights.iter().all(|w| (0.0..=1.0).contains(w)));
            }
        }

        #[test]
        fn outside_points_go_to_the_element_that_is_nearest_by_brute_force(p in point(2.0)) {
            let mesh = ball();
            let found = locate(&[p], &mesh).unwrap()[0];
            let distance = |t: usize| nearest_point(&mesh.tets[t].map(|v| mesh.positions[v as usize]), p).distance(p);
            let least = (0..mesh.tets.len()).map(distance).fold(f64::INFINITY, f64::min);
            prop_assert!(distance(found.tet as usize) <= least + 1e-9);
        }
    }

    #[test]
    fn vertices_of_the_mesh_get_their_own_weight() {
        let mesh = BoxShape { size: [2.0, 1.0, 1.0], cells: [4, 2, 2] }.tets(1.0).unwrap();
        for (v, found) in locate(&mesh.positions, &mesh).unwrap().iter().enumerate() {
            let own = found.vertices.iter().position(|&w| w as usize == v).expect("its own element");
            assert!((found.weights[own] - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn meshes_without_volume_are_refused() {
        let flat = TetMesh {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X + DVec3::Y],
            tets: vec![[0, 1, 2, 3]],
            regions: None,
        };
        let error = locate(&[DVec3::ZERO], &flat).unwrap_err().to_string();
        assert!(error.contains("no element with volume"), "{error}");
        assert!(locate(&[DVec3::ZERO], &TetMesh::default()).is_err());
    }
}
