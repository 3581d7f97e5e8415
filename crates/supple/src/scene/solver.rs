//! `[solver]`: the method and the linear solver under it.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How a step is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Newton with line search.
    #[default]
    Newton,
    /// Projective dynamics.
    Projective,
    /// Limited-memory BFGS.
    Lbfgs,
    /// Nonlinear conjugate gradients.
    NonlinearCg,
    /// Accelerated gradient descent.
    AcceleratedGradient,
    /// Hierarchical position based dynamics (Müller 2008).
    Hpbd,
    /// Octree flesh (Milne 2016).
    Octree,
    /// Staggered multigrid (Zhu 2010).
    Staggered,
}

/// The linear solver under a nonlinear method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinearKind {
    /// Sparse Cholesky factorisation.
    #[default]
    Cholesky,
    /// CG with block Jacobi.
    Jacobi,
    /// CG with one-level additive Schwarz.
    Schwarz,
    /// CG with incomplete Cholesky without fill.
    Ic0,
    /// CG with incomplete Cholesky with a threshold.
    Ict,
    /// Stationary coloured Gauss-Seidel.
    GaussSeidel,
    /// Chebyshev iteration.
    Chebyshev,
    /// CG with the V-cycle of Xian 2019.
    Galerkin,
    /// The V-cycles of Xian 2019 alone.
    GalerkinCycle,
    /// CG with multilevel additive Schwarz (Wu 2022).
    Mas,
}

/// The linear solver and its options. In a scene file also a word: `linear = "cholesky"`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct Linear {
    /// Which one.
    pub kind: LinearKind,
}

impl From<LinearKind> for Linear {
    fn from(kind: LinearKind) -> Self {
        Self { kind }
    }
}

impl Serialize for Linear {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Linear {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrTable)
    }
}

/// Reads `"word"` as `{ kind = "word" }`.
struct WordOrTable;

impl<'de> Visitor<'de> for WordOrTable {
    type Value = Linear;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a linear solver, or a table with `kind`")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Linear, E> {
        LinearKind::deserialize(word.into_deserializer()).map(Linear::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Linear, A::Error> {
        Linear::deserialize(MapAccessDeserializer::new(table))
    }
}

/// Method, linear solver and when to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Solver {
    /// The nonlinear method or family.
    pub method: Method,
    /// The linear solver under it.
    pub linear: Linear,
    /// Stop when the gradient's norm has fallen to this fraction of that at the step's start.
    pub tolerance: f64,
    /// Stop after this many nonlinear iterations.
    pub max_iterations: u32,
}

impl Default for Solver {
    fn default() -> Self {
        Self { method: Method::Newton, linear: Linear::default(), tolerance: 1e-4, max_iterations: 50 }
    }
}
