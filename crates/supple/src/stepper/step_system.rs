//! The linear system of a step, for studies of linear solvers on the systems that simulations really make.

use std::sync::Arc;

use glam::DVec3;

use supple_linear::BlockMatrix;

/// What the first iteration of a step solves, over the vertices that are not held.
pub struct StepSystem {
    /// The matrix of projective dynamics if that is the scene's method, else the projected Hessian.
    pub matrix: BlockMatrix,
    /// Minus the gradient where the step starts, in newtons.
    pub rhs: Vec<DVec3>,
    /// Where the vertices were when the simulation began, in metres.
    pub positions: Arc<[DVec3]>,
    /// Where they are now: what contacts join is near here, and perhaps far there.
    pub current: Arc<[DVec3]>,
}
