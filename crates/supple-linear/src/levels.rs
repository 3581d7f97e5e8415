//! `levels` of the linear solver `galerkin`: `"auto"`, or the numbers of coarse nodes.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::LinearError;
use crate::multigrid::galerkin::{COARSEST_UNKNOWNS, LevelSizes};

/// The coarse levels of a hierarchy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Levels {
    /// Chosen from the mesh.
    #[default]
    Auto,
    /// The numbers of coarse nodes, in any order: `[50, 1000]`.
    Counts(Vec<u32>),
}

impl Levels {
    /// The problem with it, if any, for coarse nodes with this many unknowns.
    pub(crate) fn check(&self, unknowns: u32) -> Result<(), LinearError> {
        let Self::Counts(counts) = self else { return Ok(()) };
        let largest = COARSEST_UNKNOWNS as u32 / unknowns.max(1);
        match counts.iter().min() {
            Some(smallest) if (1..=largest).contains(smallest) => Ok(()),
            _ => Err(LinearError::InvalidOption(format!(
                "`levels` of the linear solver is {counts:?}; it must be \"auto\" or a list of coarse node counts, \
                 each at least 1 and the smallest, which is factored densely, at most {largest}, such as [50, 1000]"
            ))),
        }
    }

    /// The same for the solver.
    pub(crate) fn sizes(&self) -> LevelSizes {
        match self {
            Self::Auto => LevelSizes::Auto,
            Self::Counts(counts) => {
                let mut sizes: Vec<usize> = counts.iter().map(|count| *count as usize).collect();
                sizes.sort_unstable_by(|a, b| b.cmp(a));
                LevelSizes::Given(sizes)
            }
        }
    }
}

impl Serialize for Levels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Counts(counts) => counts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Levels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrList)
    }
}

struct NameOrList;

impl<'de> Visitor<'de> for NameOrList {
    type Value = Levels;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"auto\" or a list of coarse node counts")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Levels, E> {
        match word {
            "auto" => Ok(Levels::Auto),
            _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Levels, A::Error> {
        let mut counts = Vec::new();
        while let Some(count) = list.next_element()? {
            counts.push(count);
        }
        Ok(Levels::Counts(counts))
    }
}
