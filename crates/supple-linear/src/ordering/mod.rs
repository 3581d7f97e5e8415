//! Orderings and colourings of nodes.

pub(crate) mod colouring;
pub(crate) mod node_order;
