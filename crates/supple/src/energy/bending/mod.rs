//! Bending energies of sheets over their hinges.

pub mod dihedral;
pub mod hinge;
pub mod quadratic;
