//! Finite elements for the disc: linear triangles that conform to its outline, and the paper's embedding, in which every cell of
//! a lattice that the disc overlaps is an element as a whole: two linear triangles, or bilinear.
//!
//! ```text
//! energy = sum over samples of weight [ mu (e_11^2 + e_22^2 + g_12^2 / 2) + lambda (e_11 + e_22)^2 / 2 ]
//! ```
//!
//! with the strains `e_ij` and `g_12 = 2 e_12` of the elements' shape functions.

use std::f64::consts::FRAC_PI_4;

use super::lattice::{DiscCellKind, DiscCells, FixedOutline};
use super::problem::{self, CENTRE, DiscMaterial, RADIUS};
use super::system::{DiscSystem, Errors, Role};

/// Points per side of a cell at which forces inside the disc are summed.
const SAMPLES: usize = 8;

/// The elements that fill the cells of a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    Triangles,
    Bilinear,
}

/// A quadrature point of an element: its area, and the gradients of the corners' shape functions.
struct Sample {
    weight: f64,
    gradients: Vec<(usize, [f64; 2])>,
}

/// Points with the forces on them, and all samples of all elements.
struct DiscMesh {
    points: Vec<[f64; 2]>,
    fixed: Vec<bool>,
    forces: Vec<[f64; 2]>,
    samples: Vec<Sample>,
}

impl DiscMesh {
    fn new(points: Vec<[f64; 2]>) -> Self {
        let len = points.len();
        Self { points, fixed: vec![false; len], forces: vec![[0.0; 2]; len], samples: Vec::new() }
    }

    fn push(&mut self, point: usize, share: f64, force: [f64; 2]) {
        (0..2).for_each(|i| self.forces[point][i] += share * force[i]);
    }

    /// A linear triangle: one sample. Its corners are in counter-clockwise order.
    fn add_triangle(&mut self, corners: [usize; 3]) {
        let [a, b, c] = corners.map(|n| self.points[n]);
        let twice = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        let against = |p: [f64; 2], q: [f64; 2]| [(p[1] - q[1]) / twice, (q[0] - p[0]) / twice];
        let gradients = [against(b, c), against(c, a), against(a, b)];
        let gradients = corners.into_iter().zip(gradients).collect();
        self.samples.push(Sample { weight: 0.5 * twice, gradients });
    }

    /// A bilinear square with four Gauss points.
    fn add_square(&mut self, corners: [usize; 4]) {
        let h = self.points[corners[1]][0] - self.points[corners[0]][0];
        let places = [-1.0, 1.0].map(|side: f64| 0.5 + side / 12f64.sqrt());
        for (x, y) in places.into_iter().flat_map(|x| places.map(|y| (x, y))) {
            let gradients = [[y - 1.0, x - 1.0], [1.0 - y, -x], [y, x], [-y, 1.0 - x]];
            let gradients = corners.into_iter().zip(gradients.map(|g| g.map(|g| g / h))).collect();
            self.samples.push(Sample { weight: 0.25 * h * h, gradients });
        }
    }

    fn solve(self, material: DiscMaterial) -> Errors {
        let exact: Vec<[f64; 2]> = self.points.iter().map(|at| problem::displacement(*at)).collect();
        let mut roles = vec![Role::Absent; 2 * self.points.len()];
        for &(n, _) in self.samples.iter().flat_map(|sample| &sample.gradients) {
            let role = |i: usize| if self.fixed[n] { Role::Prescribed(exact[n][i]) } else { Role::Unknown };
            (0..2).for_each(|i| roles[2 * n + i] = role(i));
        }
        let mut system = DiscSystem::new(roles, |n| self.points[n / 2]);
        for Sample { weight, gradients } in &self.samples {
            let strain = |i: usize, k: usize| gradients.iter().map(move |(n, g)| (2 * n + i, g[k]));
            let pair = |a: [usize; 2], b: [usize; 2]| -> Vec<_> {
                strain(a[0], a[1]).chain(strain(b[0], b[1])).collect()
            };
            (0..2).for_each(|i| {
                system.add_stress(2.0 * material.mu * weight, &strain(i, i).collect::<Vec<_>>());
            });
            system.add_stress(material.mu * weight, &pair([0, 1], [1, 0]));
            system.add_stress(material.lambda * weight, &pair([0, 0], [1, 1]));
        }
        for (n, force) in self.forces.iter().enumerate() {
            (0..2).for_each(|i| system.add_force(2 * n + i, force[i]));
        }
        system.errors(|n| self.points[n / 2])
    }
}

/// Linear triangles between rings around the centre, with `8 k` points on the `k`-th.
pub(super) fn conforming(material: DiscMaterial, rings: usize) -> Errors {
    let mut mesh = DiscMesh::new(ring_points(rings));
    for corners in ring_triangles(rings) {
        mesh.add_triangle(corners);
        let points = corners.map(|n| mesh.points[n]);
        let middle = [0, 1].map(|i| points.iter().map(|p| p[i]).sum::<f64>() / 3.0);
        let weight = mesh.samples[mesh.samples.len() - 1].weight;
        corners.iter().for_each(|n| mesh.push(*n, -weight / 3.0, material.divergence(middle)));
    }
    let (first, around) = (first_of(rings), 8 * rings);
    // Angles start on the right: the quadrants around 0 and pi are fixed including their ends.
    for n in 0..around {
        mesh.fixed[first + n] = (n + rings) % (4 * rings) <= 2 * rings;
    }
    for point in problem::outline_forces(material, 2 * rings) {
        let turn = (point.at[1] - CENTRE).atan2(point.at[0] - CENTRE) / FRAC_PI_4;
        let n = (turn * rings as f64).round().rem_euclid(around as f64) as usize;
        mesh.push(first + n, 1.0, point.force);
    }
    mesh.solve(material)
}

/// The number of the first point of a ring.
fn first_of(ring: usize) -> usize {
    if ring == 0 { 0 } else { 1 + 4 * ring * (ring - 1) }
}

fn ring_points(rings: usize) -> Vec<[f64; 2]> {
    let mut points = vec![[CENTRE; 2]];
    for ring in 1..=rings {
        let share = ring as f64 / rings as f64;
        let outline = |n: usize| problem::on_outline(FRAC_PI_4 * n as f64 / ring as f64);
        points.extend((0..8 * ring).map(|n| outline(n).map(|x| CENTRE + share * (x - CENTRE))));
    }
    points
}

fn ring_triangles(rings: usize) -> Vec<[usize; 3]> {
    let at = |ring: usize, n: usize| first_of(ring) + n % (8 * ring).max(1);
    let mut triangles = Vec::new();
    for (ring, sector) in (1..=rings).flat_map(|ring| (0..8).map(move |sector| (ring, sector))) {
        for n in 0..ring {
            let (outer, inner) = (sector * ring + n, sector * (ring - 1) + n);
            triangles.push([at(ring, outer), at(ring, outer + 1), at(ring - 1, inner)]);
            if n + 1 < ring {
                triangles.push([at(ring, outer + 1), at(ring - 1, inner + 1), at(ring - 1, inner)]);
            }
        }
    }
    triangles
}

/// Whole cells of a lattice; forces inside the disc and on its outline are distributed to the corners of their cells
/// by shape functions.
pub(super) fn embedded(material: DiscMaterial, count: usize, filling: Filling) -> Errors {
    let cells = DiscCells::new(count, FixedOutline::Quadrants);
    let (h, side) = (cells.spacing(), count + 1);
    let corners =
        |[i, j]: [usize; 2]| [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(|[i, j]| i * side + j);
    let points = (0..side * side).map(|n| [n / side, n % side].map(|k| k as f64 * h)).collect();
    let mut mesh = DiscMesh::new(points);
    for cell in cells.of(DiscCellKind::Interior) {
        let all @ [a, b, c, d] = corners(cell);
        match filling {
            Filling::Triangles => [[a, b, c], [a, c, d]].into_iter().for_each(|t| mesh.add_triangle(t)),
            Filling::Bilinear => mesh.add_square(all),
        }
        for (inside, force) in forces_inside(material, cell, h) {
            let shares = all.into_iter().zip(weights(inside, filling));
            shares.for_each(|(n, weight)| mesh.push(n, weight, force));
        }
    }
    for n in cells.of(DiscCellKind::Dirichlet).flat_map(corners) {
        mesh.fixed[n] = true;
    }
    for point in problem::outline_forces(material, 2 * count) {
        let cell = point.at.map(|x| (x / h).floor());
        let inside = [0, 1].map(|k| point.at[k] / h - cell[k]);
        let shares = corners(cell.map(|k| k as usize)).into_iter().zip(weights(inside, filling));
        shares.for_each(|(n, weight)| mesh.push(n, weight, point.force));
    }
    mesh.solve(material)
}

/// The forces on the part of a cell that is inside the disc, at positions in units of the cell's side.
fn forces_inside(material: DiscMaterial, cell: [usize; 2], h: f64) -> Vec<([f64; 2], [f64; 2])> {
    let area = (h / SAMPLES as f64).powi(2);
    let places = (0..SAMPLES * SAMPLES).map(|n| [n / SAMPLES, n % SAMPLES]);
    let forces = places.filter_map(|place| {
        let inside = place.map(|k| (k as f64 + 0.5) / SAMPLES as f64);
        let at = [0, 1].map(|k| (cell[k] as f64 + inside[k]) * h);
        let force = material.divergence(at).map(|f| -area * f);
        (problem::distance(at) <= RADIUS).then_some((inside, force))
    });
    forces.collect()
}

/// The shape functions of a cell's corners at a point inside it.
fn weights([x, y]: [f64; 2], filling: Filling) -> [f64; 4] {
    match filling {
        Filling::Triangles if x >= y => [1.0 - x, x - y, y, 0.0],
        Filling::Triangles => [1.0 - y, 0.0, x, y - x],
        Filling::Bilinear => [(1.0 - x) * (1.0 - y), x * (1.0 - y), x * y, (1.0 - x) * y],
    }
}
