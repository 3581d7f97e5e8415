//! nonlinear
