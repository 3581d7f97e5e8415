//! What leaves the engine: the frame cache, exports and pictures.

mod frame;

pub use frame::{Frame, FrameBody, FrameSurface};
