//! Supple: high-resolution cloth and soft bodies by multilevel solvers. SI units everywhere; the world is y-up.

pub mod body;
pub mod contact;
pub mod energy;
mod error;
pub mod geometry;
pub mod linear;
pub mod material;
pub mod mesh;
pub mod nonlinear;
pub mod output;
pub mod scene;
pub mod simulation;

pub use error::{Error, FileError, Place};
