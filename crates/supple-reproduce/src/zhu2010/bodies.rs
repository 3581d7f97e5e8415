//! The bodies of the paper's comparisons, as lattices.

use supple::solvers::staggered::{Cell, Lattice};

/// A box that is fixed at one face and free elsewhere.
pub(super) fn elastic_box(cells: usize) -> Lattice {
    Lattice::new([cells; 3], |[x, ..]| if x == -1 { Cell::Dirichlet } else { Cell::Interior })
}

/// A box that is fixed at two opposite faces.
pub(super) fn box_between_walls(cells: usize) -> Lattice {
    let end = cells as i32;
    Lattice::new([cells; 3], |[x, ..]| if x == -1 || x == end { Cell::Dirichlet } else { Cell::Interior })
}

/// Directions of the arms, not aligned with the axes of the lattice.
const ARMS: [[f64; 3]; 6] = [
    [1.0, 0.23, 0.11],
    [-1.0, 0.17, -0.2],
    [0.19, 1.0, -0.13],
    [-0.21, -1.0, 0.1],
    [0.12, -0.2, 1.0],
    [-0.15, 0.22, -1.0],
];

/// A ball with six slanting arms, a fifth as thick as the ball; the ends of four are fixed. It represents the paper's
/// characters with thin limbs, and fills an eighth of the lattice's cells.
pub(super) fn ball_with_arms(cells: usize) -> Lattice {
    let (radius, thickness, length, fixed_from) = (0.3, 0.06, 0.44, 0.41);
    Lattice::new([cells; 3], |at| {
        let p = at.map(|x| (f64::from(x) + 0.5) / cells as f64 - 0.5);
        let mut found = if dot(p, p) < radius * radius { Cell::Interior } else { Cell::Exterior };
        for (n, arm) in ARMS.into_iter().enumerate() {
            let along = dot(p, arm) / dot(arm, arm).sqrt();
            let across = dot(p, p) - along * along;
            if along > 0.0 && along < length && across < thickness * thickness {
                let fixed = n < 4 && along > fixed_from;
                found = if fixed { Cell::Dirichlet } else { Cell::Interior };
            }
        }
        found
    })
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| a[i] * b[i]).sum()
}

/// The body's weight: a right-hand side of one for every unknown along y.
pub(super) fn weight_of(lattice: &Lattice) -> Vec<f64> {
    let len = lattice.len();
    let mut b = vec![0.0; 4 * len];
    for cell in (lattice.plane()..len).filter(|c| lattice.is_unknown(1, *c)) {
        b[len + cell] = 1.0;
    }
    b
}
