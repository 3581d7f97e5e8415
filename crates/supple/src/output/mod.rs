//! What leaves the engine: the frame cache, exports and pictures.

mod frame;
pub mod render;

pub use frame::{Frame, FrameBody, FrameSurface};
