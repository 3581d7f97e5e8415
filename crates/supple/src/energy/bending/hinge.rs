//! Hinges: the inner edges of a sheet with the two adjacent triangles, at rest. The elements of the bending energies.
//!
//! Corners 0 and 1 are the edge in the orientation of the first triangle, 2 the first triangle's other corner, 3 the second
//! one's. With `e`, `p`, `q` the corners 1, 2, 3 seen from 0, the normals are `n₁ = e × p` and `n₂ = q × e`, and the fold
//! angle `θ` is that from `n₁` to `n₂` around `e`: zero when flat.

use std::collections::BTreeMap;

use glam::DVec3;

/// An inner edge of a sheet and its adjacent triangles, at rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hinge {
    /// The edge's ends and the opposite corners.
    pub vertices: [u32; 4],
    /// The triangles.
    pub triangles: [usize; 2],
    /// Rest length of the edge in m.
    pub length: f64,
    /// How far along the edge the opposite corners lie, from its first end, in m.
    pub along: [f64; 2],
    /// Heights of the opposite corners over the edge in m.
    pub heights: [f64; 2],
    /// Fold angle at rest.
    pub angle: f64,
    /// Midpoint of the edge at rest.
    pub centre: DVec3,
}

/// One triangle at rest seen from one of its edges.
struct Side {
    from: DVec3,
    to: DVec3,
    apex: DVec3,
    apex_vertex: u32,
}

/// The hinges of a sheet; `rest` has the rest corners of each triangle separately. Two triangles that are not adjacent
/// at rest (panels to be sewn) make a flat hinge. Edges of one or of more than two triangles, and of triangles without
/// area, are not hinges.
pub fn hinges(triangles: &[[u32; 3]], rest: &[[DVec3; 3]]) -> Vec<Hinge> {
    let mut edges: BTreeMap<[u32; 2], Vec<(usize, usize)>> = BTreeMap::new();
    for (t, corners) in triangles.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            edges.entry([a.min(b), a.max(b)]).or_default().push((t, k));
        }
    }
    edges.values().filter_map(|around| hinge(around, triangles, rest)).collect()
}

fn hinge(around: &[(usize, usize)], triangles: &[[u32; 3]], rest: &[[DVec3; 3]]) -> Option<Hinge> {
    let &[(first, k), (second, _)] = around else { return None };
    let (a, b) = (triangles[first][k], triangles[first][(k + 1) % 3]);
    let one = Side::new(a, b, &triangles[first], &rest[first])?;
    let other = Side::new(a, b, &triangles[second], &rest[second])?;
    if one.apex_vertex == other.apex_vertex {
        return None;
    }
    let ([along_one, height_one], [along_other, height_other]) = (one.coordinates()?, other.coordinates()?);
    let together = one.from == other.from && one.to == other.to;
    Some(Hinge {
        vertices: [a, b, one.apex_vertex, other.apex_vertex],
        triangles: [first, second],
        length: 0.5 * (one.from.distance(one.to) + other.from.distance(other.to)),
        along: [along_one, along_other],
        heights: [height_one, height_other],
        angle: if together { one.fold_angle(other.apex) } else { 0.0 },
        centre: 0.5 * (one.from + one.to),
    })
}

impl Side {
    fn new(a: u32, b: u32, triangle: &[u32; 3], rest: &[DVec3; 3]) -> Option<Self> {
        let place = |v: u32| triangle.iter().position(|&u| u == v);
        let apex = (0..3).find(|&i| triangle[i] != a && triangle[i] != b)?;
        Some(Self {
            from: rest[place(a)?],
            to: rest[place(b)?],
            apex: rest[apex],
            apex_vertex: triangle[apex],
        })
    }

    /// How far along the edge the apex lies and how high over it; `None` without an area.
    fn coordinates(&self) -> Option<[f64; 2]> {
        let direction = (self.to - self.from).try_normalize()?;
        let across = (self.apex - self.from).cross(direction).length();
        (across > 0.0).then(|| [(self.apex - self.from).dot(direction), across])
    }

    fn fold_angle(&self, other_apex: DVec3) -> f64 {
        let (e, p, q) = (self.to - self.from, self.apex - self.from, other_apex - self.from);
        let (n1, n2) = (e.cross(p), q.cross(e));
        n1.cross(n2).dot(e).atan2(n1.dot(n2) * e.length())
    }
}

/// Rest angles below this count as flat: they are rounding errors.
const FLAT: f64 = 1e-9;

impl Hinge {
    /// Whether it is folded at rest.
    pub fn is_folded(&self) -> bool {
        self.angle.abs() > FLAT
    }

    /// Area of both triangles in m².
    pub fn area(&self) -> f64 {
        0.5 * self.length * (self.heights[0] + self.heights[1])
    }

    /// Stiffness in J/rad² against folding, of a sheet with the bending stiffness `B` in N·m: `B l²/A`.
    ///
    /// For a prescribed cylinder whose axis runs along a family of edges this gives the energy `½ B/R²` per area, as in plate
    /// theory. (With the factor 3 that often appears in the formula, the sum of all hinges is right for spheres, but
    /// cylinders are three times too stiff; cloth bends into cylinders.) In equilibrium a sheet is softer than that: it
    /// distributes its folds among the hinges at the least cost. A clamped strip of a regular grid with 41 vertices along it
    /// sags about 17 % more than plate theory predicts.
    pub fn stiffness(&self, bend_stiffness: f64) -> f64 {
        bend_stiffness * self.length * self.length / self.area()
    }

    /// Distance of the opposite corners in m, with the triangles as at rest and this fold angle.
    pub fn opposite_distance(&self, fold: f64) -> f64 {
        let ([p, q], offset) = (self.heights, self.along[0] - self.along[1]);
        (offset * offset + p * p + q * q + 2.0 * p * q * fold.cos()).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_quad_has_one_hinge_with_its_angle() {
        let fold = 0.7f64;
        let x = [DVec3::ZERO, DVec3::X, DVec3::new(0.3, 0.8, 0.0), DVec3::new(0.6, -fold.cos(), fold.sin())];
        for triangles in [[[0, 1, 2], [1, 0, 3]], [[2, 0, 1], [0, 1, 3]]] {
            let rest = triangles.map(|t: [u32; 3]| t.map(|v| x[v as usize]));
            let [hinge] = hinges(&triangles, &rest)[..] else { panic!("one inner edge") };
            assert_eq!(hinge.vertices, [0, 1, 2, 3]);
            // The second triangle is lifted towards the first one's normal, which is a negative fold.
            assert!((hinge.angle + fold).abs() < 1e-15, "{}", hinge.angle);
            assert!((hinge.area() - 0.9).abs() < 1e-15);
            assert!((hinge.along[1] - 0.6).abs() < 1e-15 && (hinge.heights[1] - 1.0).abs() < 1e-15);
            assert!((hinge.opposite_distance(hinge.angle) - x[2].distance(x[3])).abs() < 1e-15);
            assert!((hinge.opposite_distance(0.0) - 0.3f64.hypot(1.8)).abs() < 1e-15);
        }
    }

    #[test]
    fn panels_that_lie_apart_make_flat_hinges_and_boundaries_none() {
        let rest = [
            [DVec3::ZERO, DVec3::X, DVec3::Y],
            [DVec3::X * 5.0, DVec3::X * 5.0 + DVec3::Z, DVec3::X * 5.0 + DVec3::Y],
        ];
        let hinges = hinges(&[[0, 1, 2], [0, 2, 3]], &rest);
        assert_eq!(hinges.len(), 1);
        assert_eq!(hinges[0].angle, 0.0);
    }
}
