//! The list of reproductions, their parameters, and the parameters of a request.

use std::path::PathBuf;

use supple::FileError;
use supple::linear::Simd;

use super::PAPERS;
use super::findings::Findings;
use supple_cli::failure::Failure;
use supple_cli::print::notice;
use supple_cli::{Common, Reproduce};

/// A number that `--set` changes.
pub(super) struct Parameter {
    pub name: &'static str,
    pub default: f64,
    pub range: [f64; 2],
    pub meaning: &'static str,
}

/// A figure or table of a paper.
pub(super) struct Reproduction {
    pub name: &'static str,
    pub title: &'static str,
    pub parameters: &'static [Parameter],
    pub run: fn(&Request) -> Result<Findings, Failure>,
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Reproduction> {
    PAPERS.into_iter().flatten()
}

/// The reproduction of this name.
pub(super) fn find(name: &str) -> Result<&'static Reproduction, Failure> {
    all().find(|reproduction| reproduction.name == name).ok_or_else(|| {
        let names: Vec<_> = all().map(|reproduction| reproduction.name).collect();
        Failure::usage(anyhow::anyhow!("there is no reproduction `{name}`; available: {}", names.join(", ")))
    })
}

/// The parameters of one call.
pub(super) struct Request {
    values: Vec<(&'static str, f64)>,
    /// The user's own mesh.
    pub mesh: Option<PathBuf>,
    pub simd: Simd,
    quiet: bool,
}

impl Request {
    /// Applies the parameters. Rejects a parameter that does not exist, a value out of range or a missing mesh.
    pub(super) fn new(
        reproduction: &Reproduction,
        options: &Reproduce,
        common: &Common,
    ) -> Result<Self, Failure> {
        let mut values: Vec<_> = reproduction.parameters.iter().map(|p| (p.name, p.default)).collect();
        for set in &options.sets {
            let (place, value) = read_set(reproduction, set)?;
            values[place].1 = value;
        }
        if let Some(path) = options.mesh.as_ref().filter(|path| !path.is_file()) {
            return Err(Failure::usage(FileError::whole(path, "does not exist; --mesh takes a mesh file")));
        }
        let quiet = common.quiet || common.json;
        Ok(Self { values, mesh: options.mesh.clone(), simd: common.simd.into(), quiet })
    }

    /// The value of a parameter.
    pub(super) fn value(&self, name: &str) -> f64 {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).expect("a reproduction asks for its own parameters only")
    }

    /// The same as a count.
    pub(super) fn count(&self, name: &str) -> usize {
        self.value(name).round() as usize
    }

    /// Prints progress.
    pub(super) fn report_progress(&self, what: &str) {
        if !self.quiet {
            notice(format_args!("{what} …"));
        }
    }
}

/// The parameter of a `KEY=VALUE`, by its index, and its value.
fn read_set(reproduction: &Reproduction, set: &str) -> Result<(usize, f64), Failure> {
    let refuse = |problem: String| Failure::usage(anyhow::anyhow!("--set {set}: {problem}"));
    let (key, value) = set.split_once('=').ok_or_else(|| refuse("must be KEY=VALUE".to_owned()))?;
    let parameters = reproduction.parameters;
    let place = parameters.iter().position(|p| p.name == key).ok_or_else(|| {
        let names: Vec<_> = parameters.iter().map(|p| p.name).collect();
        refuse(format!("`{}` has no parameter `{key}`; it has {}", reproduction.name, names.join(", ")))
    })?;
    let [low, high] = parameters[place].range;
    let number = value.parse().ok().filter(|value| (low..=high).contains(value));
    let number = number.ok_or_else(|| refuse(format!("`{key}` must be a number from {low} to {high}")))?;
    Ok((place, number))
}
