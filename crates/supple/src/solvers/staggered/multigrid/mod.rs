//! Multigrid on staggered lattices: levels, smoothers, transfers and the coarsest-level solver.

pub(crate) mod boundary_smoother;
pub(crate) mod box_smoother;
pub(crate) mod coarsest;
pub(crate) mod discrepancy;
pub(crate) mod hierarchy;
pub(crate) mod level;
pub(crate) mod planes;
pub(crate) mod transfer;
