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
    /// Direct factorisation factorisation.
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

/// How a linear solver iterates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iteration {
    /// It is the preconditioner of conjugate gradients.
    ConjugateGradients,
    /// It is repeated on the residual.
    Stationary,
    /// It is a [`LinearSolver`](crate::LinearSolver) of its own and preconditions nothing.
    Own,
}

/// Static properties of a linear solver.
struct Declaration {
    kind: LinearKind,
    /// In scenes and on the command line: the variant in kebab-case.
    name: &'static str,
    /// In menus.
    title: &'static str,
    iteration: Iteration,
    /// Nonlinear iterations between two updates, where it is not the method's own number.
    refresh: Option<u32>,
    /// The options that it has, apart from `tolerance` and `max_iterations`.
    options: &'static [&'static str],
}

impl Declaration {
    /// A preconditioner without options.
    const fn new(kind: LinearKind, name: &'static str, title: &'static str) -> Self {
        Self { kind, name, title, iteration: Iteration::ConjugateGradients, refresh: None, options: &[] }
    }
}

const GALERKIN: &[&str] =
    &["sweeps", "coarse_sweeps", "levels", "first", "unknowns", "smoother", "distances"];

/// Every linear solver, in the order of [`LinearKind`].
const SOLVERS: [Declaration; 10] = [
    Declaration::new(LinearKind::Cholesky, "cholesky", "Direct factorisation"),
    Declaration::new(LinearKind::Jacobi, "jacobi", "Simplest: block Jacobi"),
    Declaration {
        options: &["domain", "sweeps"],
        ..Declaration::new(LinearKind::Schwarz, "schwarz", "Domains on one level")
    },
    Declaration::new(LinearKind::Ic0, "ic0", "Incomplete factors"),
    Declaration {
        options: &["drop_tolerance", "fill"],
        ..Declaration::new(LinearKind::Ict, "ict", "Incomplete factors, pruned")
    },
    Declaration {
        iteration: Iteration::Stationary,
        ..Declaration::new(LinearKind::GaussSeidel, "gauss-seidel", "Sweeps alone")
    },
    Declaration {
        iteration: Iteration::Own,
        options: &["spectral_radius", "delay"],
        ..Declaration::new(LinearKind::Chebyshev, "chebyshev", "Accelerated sweeps")
    },
    Declaration { options: GALERKIN, ..Declaration::new(LinearKind::Galerkin, "galerkin", "Multigrid") },
    Declaration {
        iteration: Iteration::Stationary,
        options: GALERKIN,
        ..Declaration::new(LinearKind::GalerkinCycle, "galerkin-cycle", "Multigrid alone")
    },
    Declaration {
        // Wu 2022, section 4.3.
        refresh: Some(8),
        options: &["domain", "modes", "partition", "layout", "rebuild"],
        ..Declaration::new(LinearKind::Mas, "mas", "Domains on several levels")
    },
];

impl LinearKind {
    /// All of them.
    pub const ALL: [Self; SOLVERS.len()] = supple_core::all_declared!(SOLVERS, kind);

    /// Its name in scenes and on the command line.
    pub fn name(self) -> &'static str {
        self.declaration().name
    }

    /// A few words for menus.
    pub fn title(self) -> &'static str {
        self.declaration().title
    }

    /// How it iterates.
    pub fn iteration(self) -> Iteration {
        self.declaration().iteration
    }

    /// Nonlinear iterations between two updates, if not the method's own number.
    pub fn refresh(self) -> Option<u32> {
        self.declaration().refresh
    }

    /// The options of [`LinearOptions`] that it has.
    pub fn options(self) -> impl Iterator<Item = &'static str> {
        let stops: &[&str] = if self == Self::Cholesky { &[] } else { &["tolerance", "max_iterations"] };
        stops.iter().chain(self.declaration().options).copied()
    }

    /// Whether it has this option.
    pub fn has_option(self, name: &str) -> bool {
        self.options().any(|option| option == name)
    }

    fn declaration(self) -> &'static Declaration {
        &SOLVERS[self as usize]
    }
}

/// The linear solver and its options. In a scene file also a name: `linear = "cholesky"`. An option that is not given has the
/// solver's own default; one that the solver does not have is rejected.
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
    /// `galerkin`: the smoother.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoother: Option<Smoother>,
    /// `galerkin`: distance measure between coupled vertices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distances: Option<Distances>,
    /// `mas`: unknowns of a supernode, 3 (a translation), 6 (a rigid motion) or 12 (an affine one).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<u32>,
    /// `mas`: how domains are built.
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
    /// Rejects options that the solver does not have, and values outside their range.
    pub fn check(&self) -> Result<(), LinearError> {
        if let Some((name, _)) =
            self.given().into_iter().find(|(name, given)| *given && !self.kind.has_option(name))
        {
            return Err(LinearError::InvalidOption(format!(
                "the linear solver `{}` has no option `{name}`; leave it out",
                self.kind.name()
            )));
        }
        self.check_numbers()?;
        if let Some(point) = self.first.iter().flatten().find(|point| !point.is_finite()) {
            return Err(LinearError::InvalidOption(format!(
                "`first` of the linear solver contains {point}; its points must be finite"
            )));
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

    /// Every option, and whether it is given.
    fn given(&self) -> [(&'static str, bool); 18] {
        [
            ("tolerance", self.tolerance.is_some()),
            ("max_iterations", self.max_iterations.is_some()),
            ("domain", self.domain.is_some()),
            ("sweeps", self.sweeps.is_some()),
            ("coarse_sweeps", self.coarse_sweeps.is_some()),
            ("levels", self.levels.is_some()),
            ("first", self.first.is_some()),
            ("unknowns", self.unknowns.is_some()),
            ("smoother", self.smoother.is_some()),
            ("distances", self.distances.is_some()),
            ("modes", self.modes.is_some()),
            ("partition", self.partition.is_some()),
            ("layout", self.layout.is_some()),
            ("rebuild", self.rebuild.is_some()),
            ("drop_tolerance", self.drop_tolerance.is_some()),
            ("fill", self.fill.is_some()),
            ("spectral_radius", self.spectral_radius.is_some()),
            ("delay", self.delay.is_some()),
        ]
    }

    /// Whether the solver's structure follows the stiffness of the matrix that it sees first.
    pub fn follows_stiffness(&self) -> bool {
        self.kind.has_option("distances") && self.distances.unwrap_or_default() == Distances::Stiffness
    }

    fn check_numbers(&self) -> Result<(), LinearError> {
        let count = |value: Option<u32>| value.map(f64::from);
        let (most_nodes, nodes) = match self.kind {
            LinearKind::Mas => ([4.0, MOST_NODES as f64], "4 to 128 nodes"),
            _ => ([1.0, 1e5], "1 to 100000 nodes"),
        };
        let options = [
            ("tolerance", self.tolerance, [0.0, 1.0], "a fraction from 0 to 1"),
            ("max_iterations", count(self.max_iterations), [1.0, 1e9], "1 to 1000000000"),
            ("domain", count(self.domain), most_nodes, nodes),
            ("rebuild", count(self.rebuild), [1.0, 1e9], "1 to 1000000000 steps"),
            ("sweeps", count(self.sweeps), [1.0, 100.0], "1 to 100"),
            ("coarse_sweeps", count(self.coarse_sweeps), [1.0, 100.0], "1 to 100"),
            ("drop_tolerance", self.drop_tolerance, [0.0, 1.0], "a fraction from 0 to 1"),
            ("fill", self.fill, [1.0, 100.0], "1 to 100"),
            ("spectral_radius", self.spectral_radius, [0.0, 1.0 - 1e-12], "0 to below 1"),
            ("delay", count(self.delay), [0.0, 1e9], "0 to 1000000000"),
        ];
        for (name, value, [low, high], range) in options {
            if let Some(value) = value.filter(|value| !(low..=high).contains(value)) {
                return Err(LinearError::InvalidOption(format!(
                    "`{name}` of the linear solver is {value}; it must be {range}"
                )));
            }
        }
        Ok(())
    }
}

impl Serialize for LinearOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for LinearOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

/// Reads `"name"` as `{ kind = "name" }`.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_its_solver() {
        for kind in LinearKind::ALL {
            let read = NameOrTable.visit_str::<de::value::Error>(kind.name()).unwrap();
            assert_eq!(read, kind.into());
        }
    }

    #[test]
    fn every_declared_option_is_a_field() {
        let fields = LinearOptions::default().given().map(|(name, _)| name);
        for option in SOLVERS.iter().flat_map(|solver| solver.options) {
            assert!(fields.contains(option), "{option}");
        }
    }
}
