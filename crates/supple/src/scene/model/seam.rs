//! `[[seam]]`: two boundaries sewn together.

use serde::{Deserialize, Serialize};

use crate::scene::Selection;

/// Two boundaries of cloth sewn together along their whole length, whatever their vertex counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seam {
    /// The bodies' names.
    pub bodies: [String; 2],
    /// The boundary points of each: one unbroken piece of the boundary, or a whole loop.
    pub selections: [Selection; 2],
    /// The seconds from the start over which separate boundaries are drawn together [default: sewn at once].
    #[serde(default)]
    pub closes: f64,
}

impl Seam {
    /// A seam that is closed from the start.
    pub fn new(first: (&str, Selection), second: (&str, Selection)) -> Self {
        let bodies = [first.0, second.0].map(str::to_owned);
        Self { bodies, selections: [first.1, second.1], closes: 0.0 }
    }

    /// Drawn together within this many seconds.
    pub fn closing(self, seconds: f64) -> Self {
        Self { closes: seconds, ..self }
    }
}
