//! The paper's staggered differences in the plane, embedded in a lattice, with the boundary of section 5.3.
//!
//! Displacements `u_i` are located on the faces normal to `i`, pressures `p = -(lambda / mu) div u` in cells:
//!
//! ```text
//! P_ii = 2 mu D_i u_i - mu p   in cells,      P_12 = mu (D_2 u_1 + D_1 u_2)   in nodes,
//! D_j P_ij = f_i   on faces between interior cells,      mu D_i u_i + (mu^2 / lambda) p = 0   in interior cells.
//! ```
//!
//! A stress that needs a displacement beyond a free face is not differenced but prescribed: `P_ij = t_i`. In the
//! pressure's equation of such a cell `(t_i + mu p) / (2 mu)` replaces `D_i u_i`, so with `b` such directions
//!
//! ```text
//! D_p p = -(mu sum of other D_i u_i + sum of given t_i / 2),      D_p = mu^2 / lambda + b mu / 2,
//! ```
//!
//! and pressures are eliminated: `mu^2 / D_p` is the stiffness of the other directions' dilation, and given `t_i` act
//! through `p`.
//!
//! Sources of the prescribed stresses:
//! - On the lattice: from the exact stress at the location of the discretised stress, just as prescribed
//!   displacements are exact at their locations. Only the error of the differences remains, of second order.
//! - On the lattice's faces (section 5.3) from the exact stress at the face. `P_ii` is located half a cell behind its
//!   face, which makes the method first-order, with an error that grows as the body becomes less compressible: the
//!   stress of a dilation that changes along the normal changes by `lambda` times as much over that half cell.
//! - From the outline (section 9.2): as forces on a polygon, which are distributed to displacements by bilinear
//!   weights. A force on a displacement beyond a free face is applied to the stresses between it and the
//!   displacements behind. The paper assigns `N . N'` of the force to every face of the normal `N'`: on a staircase
//!   of 45 degrees 1.4 times the force, and errors do not decrease. Here the fractions have that proportion and add
//!   up to one.

use super::lattice::{DiscCellKind, DiscCells, FixedOutline};
use super::problem::{self, DiscMaterial, PointForce};
use super::system::{DiscSystem, Errors, Role};

/// A displacement: its axis, and the cell whose lower face normal to that axis it is on.
type FaceIndex = (usize, [i32; 2]);

/// The source of prescribed stresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traction {
    Stresses,
    Faces,
    Outline,
}

/// The lattice with its loads.
struct Staggered {
    cells: DiscCells,
    material: DiscMaterial,
    traction: Traction,
    /// Force per unit of area on every displacement.
    forces: Vec<f64>,
    /// `P_ii` of cells with a free face normal to `i`, by the number of their lower face.
    given: Vec<f64>,
}

/// Errors with this many cells along the side of the square.
pub(super) fn staggered(
    material: DiscMaterial,
    count: usize,
    fixed: FixedOutline,
    traction: Traction,
) -> Errors {
    let len = 2 * (count + 1).pow(2);
    let cells = DiscCells::new(count, fixed);
    let mut body = Staggered { cells, material, traction, forces: vec![0.0; len], given: vec![0.0; len] };
    if traction == Traction::Outline {
        problem::outline_forces(material, 2 * count).iter().for_each(|point| body.spread(point));
    }
    let mut system =
        DiscSystem::new((0..len).map(|n| body.role(body.face(n))).collect(), |n| body.place(body.face(n)));
    for n in 0..len {
        let (axis, _) = body.face(n);
        let inside = -material.divergence(body.place(body.face(n)))[axis];
        system.add_force(n, body.forces[n] + inside);
    }
    for cell in body.cells.of(DiscCellKind::Interior).map(|cell| cell.map(|k| k as i32)) {
        body.add_normal_stresses(&mut system, cell);
    }
    for corner in (1..count * count).map(|n| [n / count, n % count].map(|k| k as i32)) {
        body.add_shear_stress(&mut system, corner);
    }
    system.errors(|n| body.place(body.face(n)))
}

impl Staggered {
    fn number(&self, (axis, [i, j]): FaceIndex) -> usize {
        2 * (i as usize * (self.cells.count + 1) + j as usize) + axis
    }

    fn face(&self, number: usize) -> FaceIndex {
        let side = self.cells.count + 1;
        (number % 2, [number / 2 / side, number / 2 % side].map(|k| k as i32))
    }

    fn place(&self, (axis, cell): FaceIndex) -> [f64; 2] {
        [0, 1].map(|k| (f64::from(cell[k]) + if k == axis { 0.0 } else { 0.5 }) * self.cells.spacing())
    }

    fn middle(&self, cell: [i32; 2]) -> [f64; 2] {
        cell.map(|k| (f64::from(k) + 0.5) * self.cells.spacing())
    }

    fn role(&self, face @ (axis, cell): FaceIndex) -> Role {
        match [cell, moved(cell, axis, -1)].map(|cell| self.cells.kind(cell)) {
            [DiscCellKind::Dirichlet, _] | [_, DiscCellKind::Dirichlet] => {
                Role::Prescribed(problem::displacement(self.place(face))[axis])
            }
            [DiscCellKind::Interior, DiscCellKind::Interior] => Role::Unknown,
            _ => Role::Absent,
        }
    }

    /// A force on a point of the outline goes to the displacements around it.
    fn spread(&mut self, point: &PointForce) {
        for axis in 0..2 {
            let shift = |k: usize| if k == axis { 0.0 } else { 0.5 };
            let at = [0, 1].map(|k| point.at[k] / self.cells.spacing() - shift(k));
            for corner in 0..4 {
                let end = [corner & 1, corner >> 1];
                let cell = [0, 1].map(|k| at[k].floor() + f64::from(end[k]));
                let weight: f64 = (0..2).map(|k| 1.0 - (at[k] - cell[k]).abs()).product();
                self.push((axis, cell.map(|k| k as i32)), point.normal, weight * point.force[axis]);
            }
        }
    }

    /// A force on a displacement; if that does not exist, on those behind it through the stresses in between.
    fn push(&mut self, face @ (axis, cell): FaceIndex, normal: [f64; 2], force: f64) {
        let h = self.cells.spacing();
        match self.role(face) {
            Role::Prescribed(_) => {}
            Role::Unknown => {
                let n = self.number(face);
                self.forces[n] += force / (h * h);
            }
            Role::Absent => {
                for (along, part) in self.parts(face, normal) {
                    let back = if normal[along] > 0.0 { -1 } else { 1 };
                    let behind = (axis, moved(cell, along, back));
                    if along == axis && self.role(behind) != Role::Absent {
                        let between = self.number((axis, moved(cell, axis, back.min(0))));
                        self.given[between] += normal[axis].signum() * part * force / h;
                    }
                    self.push(behind, normal, part * force);
                }
            }
        }
    }

    /// The axes along which a force on a missing face is passed back, and its fractions. In a corner of the staircase
    /// both are missing: then it is passed on along the axis nearer to the normal.
    fn parts(&self, (axis, cell): FaceIndex, normal: [f64; 2]) -> Vec<(usize, f64)> {
        let back = |along: usize| if normal[along] > 0.0 { -1 } else { 1 };
        let there = |along: &usize| self.role((axis, moved(cell, *along, back(*along)))) != Role::Absent;
        let found: Vec<usize> = (0..2).filter(there).collect();
        if found.is_empty() {
            return vec![(if normal[0].abs() > normal[1].abs() { 0 } else { 1 }, 1.0)];
        }
        let whole: f64 = found.iter().map(|k| normal[*k].abs()).sum();
        found.into_iter().map(|k| (k, normal[k].abs() / whole)).collect()
    }

    /// `P_11` and `P_22` of a cell.
    fn add_normal_stresses(&self, system: &mut DiscSystem, cell: [i32; 2]) {
        let DiscMaterial { mu, lambda } = self.material;
        let h = self.cells.spacing();
        let (mut dilation, mut own, mut given) = (Vec::new(), mu * mu / lambda, 0.0);
        for axis in 0..2 {
            let faces = [(axis, cell), (axis, moved(cell, axis, 1))];
            let stretch = [(faces[0], -1.0 / h), (faces[1], 1.0 / h)];
            match faces.into_iter().find(|face| self.role(*face) == Role::Absent) {
                None => {
                    let stretch = stretch.map(|(face, g)| (self.number(face), g));
                    system.add_stress(2.0 * mu, &stretch);
                    dilation.extend(stretch);
                }
                Some(free) => {
                    own += 0.5 * mu;
                    let at = if self.traction == Traction::Stresses {
                        self.middle(cell)
                    } else {
                        self.place(free)
                    };
                    given += 0.5 * self.given_stress(system, &stretch, at, [axis, axis]);
                }
            }
        }
        system.add_stress(mu * mu / own, &dilation);
        let pressure = -given / own;
        dilation.iter().for_each(|(n, g)| system.add_force(*n, mu * pressure * g));
    }

    /// `P_12` in the node at the lower corner of a cell.
    fn add_shear_stress(&self, system: &mut DiscSystem, cell: [i32; 2]) {
        let h = self.cells.spacing();
        let faces = [(0, cell), (0, moved(cell, 1, -1)), (1, cell), (1, moved(cell, 0, -1))];
        let shear = [0, 1, 2, 3].map(|n| (faces[n], if n % 2 == 0 { 1.0 / h } else { -1.0 / h }));
        if cell.contains(&0) {
            return;
        }
        if faces.iter().any(|face| self.role(*face) == Role::Absent) {
            self.given_stress(system, &shear, cell.map(|k| f64::from(k) * h), [0, 1]);
            return;
        }
        system.add_stress(self.material.mu, &shear.map(|(face, g)| (self.number(face), g)));
    }

    /// A stress that is prescribed instead of differenced by `g`. From the lattice's faces it acts on the existing
    /// entries of `g`; that of the outline is already applied.
    fn given_stress(
        &self,
        system: &mut DiscSystem,
        g: &[(FaceIndex, f64)],
        at: [f64; 2],
        [i, j]: [usize; 2],
    ) -> f64 {
        if self.traction == Traction::Outline {
            return self.given[self.number(g[0].0)];
        }
        let stress = self.material.stress(at)[i][j];
        for (face, g) in g.iter().filter(|(face, _)| self.role(*face) == Role::Unknown) {
            system.add_force(self.number(*face), -g * stress);
        }
        stress
    }
}

fn moved(mut cell: [i32; 2], axis: usize, by: i32) -> [i32; 2] {
    cell[axis] += by;
    cell
}
