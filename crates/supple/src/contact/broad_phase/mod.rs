//! Which pieces of surfaces may come near each other on a motion.

pub(crate) mod candidates;
mod drift;
mod patches;
mod swept_bvh;
