//! Which primitives may come near each other during a motion.

pub(crate) mod candidates;
mod drift;
mod patches;
mod swept_bvh;
