//! An independent look at a run: between any two recorded states, and in each of them, does anything cross anything?
//!
//! It shares no code with the engine. The record (`supple run --record-states`, `docs/states.md`) has every state that a step accepted,
//! with the colliders where they were then. From one state to the next all points move on straight lines at constant speed.
//!
//! | question | answered by |
//! | --- | --- |
//! | does a vertex pass a triangle, or an edge an edge, on the way | [`sweep`]: separating axes over intervals of time |
//! | does a face enter a sphere, capsule or half-space on the way | the same, with a radius |
//! | do edges cross triangles at the end of a step | [`still`]: signs of determinants, exact |
//! | is a vertex inside a closed collider at the end of a step | [`still`]: the winding number |
//! | are colliders and pins where they belong | distances to the intended positions in the record |

pub mod audit;
pub mod grid;
pub mod record;
pub mod still;
pub mod sweep;
