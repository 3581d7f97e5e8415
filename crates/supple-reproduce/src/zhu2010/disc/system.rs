//! A discretised elastic body in the plane: a sum of squares `c (g . u)^2 / 2`, one per stress, where `g` computes the
//! strain from nearby displacements. So the matrix is the sum of `c g g^T`, symmetric by construction.

use super::problem;
use super::skyline::Skyline;

/// The role of a displacement component at a point of the discretisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Role {
    /// Unknown.
    Unknown,
    /// Prescribed.
    Prescribed(f64),
    /// Not part of the discretisation.
    Absent,
}

/// The equations of all unknowns.
pub(super) struct DiscSystem {
    roles: Vec<Role>,
    /// The row of every unknown.
    rows: Vec<usize>,
    matrix: Skyline,
    right: Vec<f64>,
}

impl DiscSystem {
    /// No stresses and no forces yet. Unknowns are numbered from left to right, which keeps rows short.
    pub(super) fn new(roles: Vec<Role>, place: impl Fn(usize) -> [f64; 2]) -> Self {
        let mut unknowns: Vec<usize> = (0..roles.len()).filter(|n| roles[*n] == Role::Unknown).collect();
        unknowns.sort_by(|a, b| place(*a).partial_cmp(&place(*b)).expect("places are finite"));
        let mut rows = vec![usize::MAX; roles.len()];
        unknowns.iter().enumerate().for_each(|(row, n)| rows[*n] = row);
        Self { matrix: Skyline::new(unknowns.len()), right: vec![0.0; unknowns.len()], roles, rows }
    }

    /// Adds a stress: `stiffness (g . u)^2 / 2` to the energy.
    pub(super) fn add_stress(&mut self, stiffness: f64, g: &[(usize, f64)]) {
        for &(a, value) in g.iter().filter(|(a, _)| self.roles[*a] == Role::Unknown) {
            let row = self.rows[a];
            for &(b, other) in g {
                let entry = stiffness * value * other;
                match self.roles[b] {
                    Role::Unknown if self.rows[b] <= row => self.matrix.add(row, self.rows[b], entry),
                    Role::Unknown => {}
                    Role::Prescribed(given) => self.right[row] -= entry * given,
                    Role::Absent => unreachable!("a stress only uses existing displacements"),
                }
            }
        }
    }

    /// Adds a force on a component; a force on a fixed one is absorbed by the constraint.
    pub(super) fn add_force(&mut self, n: usize, force: f64) {
        if self.roles[n] == Role::Unknown {
            self.right[self.rows[n]] += force;
        }
    }

    /// Solves, and compares every unknown with the exact solution; the even ones are along x, the odd ones along y.
    pub(super) fn errors(mut self, place: impl Fn(usize) -> [f64; 2]) -> Errors {
        self.matrix.solve(&mut self.right);
        let mut errors = Errors { unknowns: self.right.len(), ..Errors::default() };
        let (mut squares, mut inside) = (0.0, 0.0_f64);
        for (n, row) in self.rows.iter().enumerate().filter(|(_, row)| **row < self.right.len()) {
            let error = (self.right[*row] - problem::displacement(place(n))[n % 2]).abs();
            errors.largest = errors.largest.max(error);
            if problem::distance(place(n)) <= problem::RADIUS {
                errors.inside = errors.inside.max(error);
                (squares, inside) = (squares + error * error, inside + 1.0);
            }
        }
        errors.mean = (squares / inside.max(1.0)).sqrt();
        errors
    }
}

/// Errors of a solution, in units of the square's side.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Errors {
    /// Unknown components: twice the vertices.
    pub unknowns: usize,
    /// Of all unknowns, those beyond the outline included.
    pub largest: f64,
    /// Of those inside the disc.
    pub inside: f64,
    /// The root of the mean square inside the disc.
    pub mean: f64,
}
