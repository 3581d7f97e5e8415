//! The linear system of a step, for studies of linear solvers on systems from real simulations.

use std::sync::Arc;

use glam::DVec3;

use supple_linear::BlockMatrix;

/// The system solved by the first iteration of a step, over the free vertices.
pub struct StepSystem {
    /// The matrix of projective dynamics if that is the scene's method, else the projected Hessian.
    pub matrix: BlockMatrix,
    /// Minus the gradient at the start of the step, in newtons.
    pub rhs: Vec<DVec3>,
    /// Positions of the vertices at the start of the simulation, in metres.
    pub positions: Arc<[DVec3]>,
    /// Their current positions: vertices in contact are near here, and perhaps far there.
    pub current: Arc<[DVec3]>,
}
