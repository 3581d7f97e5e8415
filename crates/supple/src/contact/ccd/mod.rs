//! Continuous collision detection: how far two primitives may move before they touch.

pub(crate) mod time_of_impact;
