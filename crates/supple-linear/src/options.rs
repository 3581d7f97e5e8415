//! Which linear solver, with its options: as a scene file, a command line or a program states it.

use std::fmt;

use glam::DVec3;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::LinearError;
use crate::levels::Levels;
use crate::mas::{Layout, MOST_NODES, Modes, Partition};
use crate::multigrid::galerkin::{Distances, Smoother};

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

impl LinearKind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Cholesky,
        Self::Jacobi,
        Self::Schwarz,
        Self::Ic0,
        Self::Ict,
        Self::GaussSeidel,
        Self::Chebyshev,
        Self::Galerkin,
        Self::GalerkinCycle,
        Self::Mas,
    ];

    /// Whether it takes the options of the V-cycle of Xian 2019.
    fn is_galerkin(self) -> bool {
        matches!(self, Self::Galerkin | Self::GalerkinCycle)
    }

    /// Its word in scenes and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cholesky => "cholesky",
            Self::Jacobi => "jacobi",
            Self::Schwarz => "schwarz",
            Self::Ic0 => "ic0",
            Self::Ict => "ict",
            Self::GaussSeidel => "gauss-seidel",
            Self::Chebyshev => "chebyshev",
            Self::Galerkin => "galerkin",
            Self::GalerkinCycle => "galerkin-cycle",
            Self::Mas => "mas",
        }
    }
}

/// The linear solver and its options. In a scene file also a word: `linear = "cholesky"`. An option that is not given has the
/// solver's own default; one that the solver does not have is refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct LinearOptions {
    /// Which one.
    pub kind: LinearKind,
    /// Iterative solvers: stop when `|b - A x| <= tolerance |b|`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Iterative solvers: stop after this many iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// `schwarz`, `mas`: nodes in a domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<u32>,
    /// `schwarz`: symmetric Gauss-Seidel sweeps in domains above 32 nodes. `galerkin`: sweeps on the finest level before and
    /// after the coarser ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweeps: Option<u32>,
    /// `galerkin`: the same on the coarser levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarse_sweeps: Option<u32>,
    /// `galerkin`: the coarse levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Levels>,
    /// `galerkin`: the vertices nearest to these points, in metres where the bodies start, are coarse nodes before all others;
    /// a single one is where the sampling starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Vec<DVec3>>,
    /// `galerkin`: unknowns of a coarse node, 12 (an affine motion) or 3 (a translation).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknowns: Option<u32>,
    /// `galerkin`: what smooths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoother: Option<Smoother>,
    /// `galerkin`: how far apart coupled vertices are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distances: Option<Distances>,
    /// `mas`: unknowns of a supernode, 3 (a translation), 6 (a rigid motion) or 12 (an affine one).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<u32>,
    /// `mas`: how domains are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// `mas`: how inverses are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// `mas`: steps between two constructions of the domains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<u32>,
    /// `ict`: blocks below this fraction of their diagonals' geometric mean are dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_tolerance: Option<f64>,
    /// `ict`: a column of the factor keeps at most this many times the matrix's blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// `chebyshev`: the spectral radius of the Jacobi iteration; found by Lanczos if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spectral_radius: Option<f64>,
    /// `chebyshev`: Jacobi iterations before the acceleration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<u32>,
}

impl From<LinearKind> for LinearOptions {
    fn from(kind: LinearKind) -> Self {
        Self { kind, ..Self::default() }
    }
}

impl LinearOptions {
    /// Refuses options that the solver does not have, and values outside their range.
    pub fn check(&self) -> Result<(), LinearError> {
        self.check_numbers()?;
        let words = [
            ("levels", self.levels.is_some()),
            ("first", self.first.is_some()),
            ("unknowns", self.unknowns.is_some()),
            ("smoother", self.smoother.is_some()),
            ("distances", self.distances.is_some()),
        ];
        if let Some((name, _)) = words.into_iter().find(|(_, said)| *said && !self.kind.is_galerkin()) {
            return Err(self.has_no(name));
        }
        if let Some(point) = self.first.iter().flatten().find(|point| !point.is_finite()) {
            return Err(LinearError::InvalidOption(format!(
                "`first` of the linear solver holds {point}; its points must be finite"
            )));
        }
        let words = [
            ("modes", self.modes.is_some()),
            ("partition", self.partition.is_some()),
            ("layout", self.layout.is_some()),
        ];
        if let Some((name, _)) = words.into_iter().find(|(_, said)| *said && self.kind != LinearKind::Mas) {
            return Err(self.has_no(name));
        }
        if let Some(modes) = self.modes.filter(|&modes| Modes::of_count(modes).is_none()) {
            return Err(LinearError::InvalidOption(format!(
                "`modes` of the linear solver is {modes}; it must be 3, 6 or 12"
            )));
        }
        let unknowns = self.unknowns.unwrap_or(12);
        if unknowns != 3 && unknowns != 12 {
            return Err(LinearError::InvalidOption(format!(
                "`unknowns` of the linear solver is {unknowns}; it must be 3 or 12"
            )));
        }
        self.levels.as_ref().map_or(Ok(()), |levels| levels.check(unknowns))
    }

    /// Whether the solver's structure follows the stiffness of the matrix that it sees first.
    pub fn follows_stiffness(&self) -> bool {
        self.kind.is_galerkin() && self.distances.unwrap_or_default() == Distances::Stiffness
    }

    fn check_numbers(&self) -> Result<(), LinearError> {
        use LinearKind::{Chebyshev, Cholesky, Ict, Mas, Schwarz};
        let kind = self.kind;
        let iterative = kind != Cholesky;
        let domains = kind == Schwarz || kind == Mas;
        let sweeps = kind == Schwarz || kind.is_galerkin();
        let count = |value: Option<u32>| value.map(f64::from);
        let (most_nodes, nodes) = match kind {
            Mas => ([4.0, MOST_NODES as f64], "4 to 128 nodes"),
            _ => ([1.0, 1e5], "1 to 100000 nodes"),
        };
        let options = [
            ("tolerance", self.tolerance, iterative, [0.0, 1.0], "a fraction from 0 to 1"),
            ("max_iterations", count(self.max_iterations), iterative, [1.0, 1e9], "1 to 1000000000"),
            ("domain", count(self.domain), domains, most_nodes, nodes),
            ("rebuild", count(self.rebuild), kind == Mas, [1.0, 1e9], "1 to 1000000000 steps"),
            ("sweeps", count(self.sweeps), sweeps, [1.0, 100.0], "1 to 100"),
            ("coarse_sweeps", count(self.coarse_sweeps), kind.is_galerkin(), [1.0, 100.0], "1 to 100"),
            ("drop_tolerance", self.drop_tolerance, kind == Ict, [0.0, 1.0], "a fraction from 0 to 1"),
            ("fill", self.fill, kind == Ict, [1.0, 100.0], "1 to 100"),
            ("spectral_radius", self.spectral_radius, kind == Chebyshev, [0.0, 1.0 - 1e-12], "0 to below 1"),
            ("delay", count(self.delay), kind == Chebyshev, [0.0, 1e9], "0 to 1000000000"),
        ];
        for (name, value, has, [low, high], range) in options {
            let Some(value) = value else { continue };
            if !has {
                return Err(self.has_no(name));
            }
            if !(low..=high).contains(&value) {
                return Err(LinearError::InvalidOption(format!(
                    "`{name}` of the linear solver is {value}; it must be {range}"
                )));
            }
        }
        Ok(())
    }

    fn has_no(&self, option: &str) -> LinearError {
        LinearError::InvalidOption(format!(
            "the linear solver `{}` has no option `{option}`; leave it out",
            self.kind.word()
        ))
    }
}

impl Serialize for LinearOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for LinearOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrTable)
    }
}

/// Reads `"word"` as `{ kind = "word" }`.
struct WordOrTable;

impl<'de> Visitor<'de> for WordOrTable {
    type Value = LinearOptions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a linear solver, or a table with `kind`")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<LinearOptions, E> {
        LinearKind::deserialize(word.into_deserializer()).map(LinearOptions::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<LinearOptions, A::Error> {
        LinearOptions::deserialize(MapAccessDeserializer::new(table))
    }
}
