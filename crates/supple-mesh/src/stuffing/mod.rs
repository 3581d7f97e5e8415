//! Isosurface stuffing: a signed field filled with tetrahedra of one size and guaranteed angles.
//!
//! F. Labelle and J. R. Shewchuk, *Isosurface Stuffing: Fast Tetrahedral Meshes with Good Dihedral Angles*, ACM
//! Transactions on Graphics 26(3), 2007.
//!
//! | paper | here |
//! | --- | --- |
//! | 3.1 body-centred cubic lattice | `lattice.rs` |
//! | 3.2 cut points, warping with `alpha_long` and `alpha_short` | `cuts.rs` |
//! | 3.3 stencils, parity rule | `stencils.rs` |
//!
//! Differences: every violated lattice point moves at once to its nearest violating cut point (the paper goes
//! through them in some order), so the result depends neither on an order nor on threads. A tetrahedron whose
//! final shape is cut from the lattice has the same local cases in both.
//!
//! The angle bounds hold for any signed field, resolved or not: they come from the lattice, the warping thresholds
//! and the stencils alone. See [`ALPHA_LONG`] for the parameters and the bounds.

mod cuts;
mod lattice;
mod stencils;

use glam::DVec3;
use supple_core::parallel::prelude::*;

use self::cuts::CutLattice;
pub use self::cuts::find_root;
pub use self::cuts::{ALPHA_LONG, ALPHA_SHORT};
use self::lattice::BccLattice;
pub use self::lattice::MAX_LATTICE_POINTS;
use super::TetMesh;
use supple_core::Error;

/// How the error begins where the shape is too small or too thin for its cells.
pub(crate) const NOTHING_FITS: &str = "no tetrahedron fits";

/// A closed region of space as a function: negative inside, positive outside, zero on the surface.
pub trait SignedField: Sync {
    /// The field at a point; only its sign must be correct, but a smooth one is cut with fewer evaluations.
    fn value(&self, point: DVec3) -> f64;

    /// `Some(inside)` if the whole ball is known to lie strictly inside or strictly outside.
    fn side_of_ball(&self, _center: DVec3, _radius: f64) -> Option<bool> {
        None
    }

    /// The intersection of the surface with the segment from a point inside to one outside, as a fraction of its length.
    fn crossing(&self, inside: DVec3, outside: DVec3) -> f64 {
        find_root(|t| self.value(inside.lerp(outside, t)), inside.distance(outside))
    }
}

impl<F: Fn(DVec3) -> f64 + Sync> SignedField for F {
    fn value(&self, point: DVec3) -> f64 {
        self(point)
    }
}

/// Fills the inside of `field` with tetrahedra of edge length about `cell` (metres).
///
/// The region must lie within `bounds`. Vertices on the boundary lie on the zero set. Features thinner than about
/// a cell may be lost, and where two parts of the surface pass within a cell of one another the boundary may touch
/// itself in a vertex or an edge; elsewhere it is a closed manifold.
pub fn stuff<F: SignedField + ?Sized>(
    field: &F,
    bounds: (DVec3, DVec3),
    cell: f64,
) -> Result<TetMesh, Error> {
    let lattice = BccLattice::new(bounds, cell)?;
    let sides = lattice.sides(field)?;
    let cut = CutLattice::new(&lattice, field, sides);
    let tets = cut_tets(&lattice, &cut);
    if tets.is_empty() {
        return Err(Error::Invalid(format!(
            "{NOTHING_FITS}: no lattice point with a cell of {cell} m lies inside the shape, whose size is {} \
             m; use a smaller cell",
            (bounds.1 - bounds.0).max_element()
        )));
    }
    Ok(TetMesh { positions: cut.positions, tets, regions: None })
}

/// The tetrahedra of all lattice cells, layer by layer in lattice order.
fn cut_tets(lattice: &BccLattice, cut: &CutLattice) -> Vec<[u32; 4]> {
    let layers: Vec<Vec<[u32; 4]>> = (0..lattice.counts[2])
        .into_par_iter()
        .map(|layer| {
            let mut tets = Vec::new();
            lattice.for_each_tet_in_layer(layer, &cut.states, |tet| {
                stencils::cut_tet(lattice, cut, tet, &mut tets)
            });
            tets
        })
        .collect();
    layers.concat()
}

#[cfg(test)]
mod tests;
