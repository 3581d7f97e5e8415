//! Material points on the three offset lattices of the displacements (Zhu 2010, sections 9.2 and 9.3): trilinear, or
//! tricubic with derivatives by central differences (Lekien and Marsden 2005), which on a lattice is the tensor product of
//! one-dimensional cubics. Positions gather through the weights, forces scatter through their transpose.

use glam::DVec3;

use crate::solvers::staggered::lattice::{Lattice, MARGIN, Variable};

/// How a surface follows the lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// Eight values of each component.
    #[default]
    Trilinear,
    /// 64 values of each component; smooth normals.
    Tricubic,
}

impl Interpolation {
    /// Values along an axis from one before the base, and their weights at a fraction of a cell.
    fn weights(self, t: f64) -> [f64; 4] {
        match self {
            Self::Trilinear => [0.0, 1.0 - t, t, 0.0],
            Self::Tricubic => [
                0.5 * t * (-1.0 + t * (2.0 - t)),
                1.0 + 0.5 * t * t * (-5.0 + 3.0 * t),
                0.5 * t * (1.0 + t * (4.0 - 3.0 * t)),
                0.5 * t * t * (t - 1.0),
            ],
        }
    }
}

/// Points on a lattice: for each component of each, entries of its field with weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LatticePoints {
    starts: Vec<u32>,
    weights: Vec<(u32, f64)>,
}

impl LatticePoints {
    /// Points given in cells from the lattice's origin. Values that are neither unknown nor prescribed are extrapolated
    /// linearly along the axes on which two values are known; at edges and corners of a body those two are extrapolated
    /// themselves, so that linear fields are reproduced there too. Values without such a line are left out, and the others take their
    /// weight. Where a body is one or two cells thick there may be none at all: the point then follows the nearest value.
    pub fn new(lattice: &Lattice, points: &[DVec3], interpolation: Interpolation) -> Self {
        let mut embedding = Self { starts: vec![0], weights: Vec::new() };
        for point in points {
            for field in 0..3 {
                let first = embedding.weights.len();
                embedding.push_entries(lattice, *point, field, interpolation);
                let sum: f64 = embedding.weights[first..].iter().map(|w| w.1).sum();
                if sum > 0.0 {
                    embedding.weights[first..].iter_mut().for_each(|w| w.1 /= sum);
                } else {
                    embedding.weights.truncate(first);
                    embedding.weights.extend(nearest(lattice, *point, field).map(|entry| (entry, 1.0)));
                }
                embedding.starts.push(embedding.weights.len() as u32);
            }
        }
        embedding
    }

    fn push_entries(&mut self, lattice: &Lattice, point: DVec3, field: usize, interpolation: Interpolation) {
        let at = offset(point, field);
        let base = at.floor();
        let [wx, wy, wz] = (at - base).to_array().map(|t| interpolation.weights(t));
        let base = base.to_array().map(|x| x as i32);
        for n in 0..64 {
            let [i, j, k] = [n % 4, n / 4 % 4, n / 16];
            let weight = wx[i] * wy[j] * wz[k];
            let near = [base[0] + i as i32 - 1, base[1] + j as i32 - 1, base[2] + k as i32 - 1];
            if weight == 0.0 {
                continue;
            }
            self.push_value(lattice, field, near, weight);
        }
    }

    /// A value with a weight, or those from which it is extrapolated.
    fn push_value(&mut self, lattice: &Lattice, field: usize, at: [i32; 3], weight: f64) {
        if is_known(lattice, field, at) {
            return self.weights.push((lattice.index(at) as u32, weight));
        }
        let lines = (0..3).map(|steps| lines(lattice, field, at, steps)).find(|lines| !lines.is_empty());
        let lines = lines.unwrap_or_default();
        let share = weight / lines.len().max(1) as f64;
        for [near, far] in lines {
            self.push_value(lattice, field, near, 2.0 * share);
            self.push_value(lattice, field, far, -share);
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1) / 3
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entries of a field and their weights for a component of a point.
    pub fn weights(&self, point: usize, field: usize) -> &[(u32, f64)] {
        let n = 3 * point + field;
        &self.weights[self.starts[n] as usize..self.starts[n + 1] as usize]
    }

    /// The displacement of a point, from fields of `len` entries each.
    pub fn displacement(&self, point: usize, fields: &[f64], len: usize) -> DVec3 {
        let component = |field: usize| {
            self.weights(point, field).iter().map(|(c, w)| w * fields[field * len + *c as usize]).sum()
        };
        DVec3::new(component(0), component(1), component(2))
    }

    /// Adds a force on a point to the fields.
    pub fn scatter(&self, point: usize, force: DVec3, fields: &mut [f64], len: usize) {
        for field in 0..3 {
            self.weights(point, field)
                .iter()
                .for_each(|(c, w)| fields[field * len + *c as usize] += w * force[field]);
        }
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        self.starts.len() * 4 + self.weights.len() * 16
    }
}

/// A point's position on the lattice of a component's faces.
fn offset(point: DVec3, field: usize) -> DVec3 {
    let mut at = point - 0.5;
    at[field] += 0.5;
    at
}

/// The next two values along every half axis from a position, where both are known or extrapolated in this many steps, one axis
/// each.
fn lines(lattice: &Lattice, field: usize, at: [i32; 3], steps: usize) -> Vec<[[i32; 3]; 2]> {
    let there = |place: [i32; 3]| {
        is_known(lattice, field, place)
            || (0..steps).any(|steps| !lines(lattice, field, place, steps).is_empty())
    };
    let mut found = Vec::with_capacity(6);
    for axis in 0..3 {
        for sign in [-1, 1] {
            let moved = |by: i32| {
                let mut to = at;
                to[axis] += sign * by;
                to
            };
            if there(moved(1)) && there(moved(2)) {
                found.push([moved(1), moved(2)]);
            }
        }
    }
    found
}

/// How many cells away a value that a point follows may be.
const FARTHEST: i32 = 4;

/// The known entry of a field that is nearest to a point.
fn nearest(lattice: &Lattice, point: DVec3, field: usize) -> Option<u32> {
    let at = offset(point, field);
    let middle = at.round().to_array().map(|x| x as i32);
    (1..=FARTHEST).find_map(|radius| {
        let side = 2 * radius + 1;
        let around = |n: i32| {
            let [i, j, k] = [n % side, n / side % side, n / (side * side)].map(|by| by - radius);
            [middle[0] + i, middle[1] + j, middle[2] + k]
        };
        let known = (0..side.pow(3)).map(around).filter(|near| is_known(lattice, field, *near));
        let distance = |near: &[i32; 3]| DVec3::from(near.map(f64::from)).distance_squared(at);
        let found = known.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        Some(lattice.index(found) as u32)
    })
}

/// Whether an entry is an unknown or prescribed. The faces before the first cell of the margin have no cell below them.
fn is_known(lattice: &Lattice, field: usize, at: [i32; 3]) -> bool {
    let size = lattice.size();
    let exists = (0..3).all(|a| at[a] > -(MARGIN as i32) && at[a] < size[a] as i32 + MARGIN as i32);
    let known = |cell| matches!(lattice.variable(field, cell), Variable::Interior | Variable::Dirichlet);
    exists && known(lattice.index(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solvers::staggered::lattice::Cell;

    fn solid() -> Lattice {
        Lattice::new([8; 3], |_| Cell::Interior)
    }

    fn field_of(lattice: &Lattice, value: impl Fn(usize, DVec3) -> f64) -> Vec<f64> {
        let len = lattice.len();
        let mut fields = vec![0.0; 3 * len];
        for field in 0..3 {
            for cell in 0..len {
                let mut at = DVec3::from(lattice.coordinates(cell).map(|x| f64::from(x) + 0.5));
                at[field] -= 0.5;
                fields[field * len + cell] = value(field, at);
            }
        }
        fields
    }

    #[test]
    fn trilinear_keeps_linear_fields_and_tricubic_keeps_quadratic_ones() {
        let lattice = solid();
        let points: Vec<DVec3> = (0..50)
            .map(f64::from)
            .map(|n| DVec3::new(3.0 + (0.37 * n) % 2.0, 3.0 + (0.71 * n) % 2.0, 3.0 + (0.53 * n) % 2.0))
            .collect();
        let linear = |f: usize, p: DVec3| 0.3 + p.dot(DVec3::new(0.2, -0.4, 0.7)) * (1.0 + f as f64);
        let quadratic = |f: usize, p: DVec3| linear(f, p) + p.x * p.x - 2.0 * p.y * p.z + p.z * p.z;
        type Field<'a> = &'a dyn Fn(usize, DVec3) -> f64;
        let cases: [(Interpolation, Field<'_>); 3] = [
            (Interpolation::Trilinear, &linear),
            (Interpolation::Tricubic, &linear),
            (Interpolation::Tricubic, &quadratic),
        ];
        for (interpolation, value) in cases {
            let embedding = LatticePoints::new(&lattice, &points, interpolation);
            let fields = field_of(&lattice, value);
            for (n, point) in points.iter().enumerate() {
                let found = embedding.displacement(n, &fields, lattice.len());
                for field in 0..3 {
                    assert!((found[field] - value(field, *point)).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn linear_fields_are_kept_up_to_the_corners_of_a_body() {
        let lattice = solid();
        // Inside, on faces, on edges, at corners.
        let places = [[0.1, 4.2, 3.7], [4.0, 0.0, 3.3], [7.9, 2.0, 5.1], [0.0, 0.0, 3.3], [4.0, 8.0, 8.0]];
        let corners = [[0.0, 0.0, 0.0], [8.0, 8.0, 8.0], [0.0, 8.0, 0.0]];
        let points: Vec<DVec3> = places.into_iter().chain(corners).map(DVec3::from).collect();
        let linear = |f: usize, p: DVec3| 0.3 + p.dot(DVec3::new(0.2, -0.4, 0.7)) * (1.0 + f as f64);
        let embedding = LatticePoints::new(&lattice, &points, Interpolation::Trilinear);
        let fields = field_of(&lattice, linear);
        for (n, point) in points.iter().enumerate() {
            let found = embedding.displacement(n, &fields, lattice.len());
            (0..3).for_each(|field| assert!((found[field] - linear(field, *point)).abs() < 1e-12));
        }
    }

    #[test]
    fn a_body_two_cells_thick_takes_all_its_points_along() {
        let lattice = Lattice::new([6, 2, 2], |_| Cell::Interior);
        let corners = (0..8).map(|n| [6 * (n & 1), n & 2, (n & 4) / 2].map(f64::from));
        let points: Vec<DVec3> =
            corners.map(DVec3::from).chain([DVec3::new(3.0, 0.0, 1.0), DVec3::new(2.5, 2.0, 0.3)]).collect();
        let moved = DVec3::new(0.2, -0.7, 0.4);
        let fields = field_of(&lattice, |field, _| moved[field]);
        for interpolation in [Interpolation::Trilinear, Interpolation::Tricubic] {
            let embedding = LatticePoints::new(&lattice, &points, interpolation);
            for n in 0..points.len() {
                assert!((embedding.displacement(n, &fields, lattice.len()) - moved).length() < 1e-12);
            }
        }
    }

    #[test]
    fn weights_sum_to_one_at_the_surface_and_forces_are_their_transpose() {
        let lattice = solid();
        let points = [DVec3::new(0.1, 0.2, 7.9), DVec3::new(4.0, 0.0, 3.3), DVec3::splat(8.0)];
        for interpolation in [Interpolation::Trilinear, Interpolation::Tricubic] {
            let embedding = LatticePoints::new(&lattice, &points, interpolation);
            let fields = field_of(&lattice, |f, p| (p.x + 2.0 * p.y * f as f64).sin());
            for n in 0..embedding.len() {
                for field in 0..3 {
                    let sum: f64 = embedding.weights(n, field).iter().map(|w| w.1).sum();
                    assert!((sum - 1.0).abs() < 1e-12);
                }
                let force = DVec3::new(0.3, -1.0, 2.0);
                let mut forces = vec![0.0; fields.len()];
                embedding.scatter(n, force, &mut forces, lattice.len());
                let work: f64 = forces.iter().zip(&fields).map(|(a, b)| a * b).sum();
                assert!((work - force.dot(embedding.displacement(n, &fields, lattice.len()))).abs() < 1e-12);
            }
        }
    }
}
