//! The foundation of the `supple` crates: code shared by meshes, linear solvers and the engine.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`parallel`] | loops and sums on all threads that are bit-identical for any number of them |
//! | [`simd`] | lanes of numbers and run-time dispatch of instruction sets |
//! | [`small_matrix`] | singular values, nearest rotations and eigenvalues of small matrices, eight at a time |
//! | [`morton`], [`Aabb`] | Morton codes and axis-aligned boxes |
//! | [`memory`] | the memory that this process may have, and the refusal of what would not fit |
//! | [`state`] | byte encoding of saved states |
//! | [`text`] | numbers in messages, scanning of text files, suggestions for misspelt names |
//! | [`all_declared`] | the variants of an enum from the table that declares them |
//! | [`Error`], [`FileError`] | errors |

mod aabb;
mod declared;
mod error;
pub mod memory;
pub mod morton;
pub mod parallel;
pub mod simd;
pub mod small_matrix;
pub mod state;
pub mod state_words;
pub mod text;

pub use aabb::Aabb;
pub use error::{Error, FileError, Place};
