//! High-resolution cloth and soft bodies by multilevel solvers, in SI units, y up, bit-identical for any number of
//! threads.
//!
//! ```
#![doc = include_str!("../examples/first_steps.rs")]
//! ```
//!
//! | purpose | start at |
//! | --- | --- |
//! | a scene in code or from a file | [`Scene`] |
//! | stepping, dragging, pins, colliders | [`Simulation`] |
//! | frames and checkpoints on disk | [`Run`] |
//! | meshes: files, checks, generators, tetrahedra | [`mesh`] |
//! | exports and pictures | [`output`] |
//!
//! What most programs need is at the root, `use supple::{Body, Pin, Scene, Simulation}`; the modules have the rest. Vectors
//! are those of [`glam`].

pub mod body;
pub mod contact;
pub mod dynamics;
pub mod energy;
pub mod material;
pub mod output;
pub mod scene;
pub mod scene_state;
pub mod simulation;
pub mod solvers;
pub mod stepper;

pub use glam;
pub use material::MaterialSpec;
pub use scene::{
    Body, Collider, ContactPair, Keyframe, Model, Motion, Pin, PinStrength, Scene, SceneBuilder, Selection,
    Solver,
};
pub use simulation::{FrameReport, Run, Simulation, StartMode, StepReport};
pub use supple_core::simd;
pub use supple_core::simd::Simd;
pub use supple_core::{Error, FileError, Place};
pub use supple_linear as linear;
pub use supple_mesh as mesh;

/// The Rust page of the manual, whose programs are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
mod rust_page {}
