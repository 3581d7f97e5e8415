//! `[solver]`: the method and the linear solver under it.

use serde::{Deserialize, Serialize};
use supple_linear::{LinearKind, LinearOptions};

use crate::solvers::hpbd;
use crate::solvers::octree;
use crate::solvers::staggered;

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

impl Method {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Newton,
        Self::Projective,
        Self::Lbfgs,
        Self::NonlinearCg,
        Self::AcceleratedGradient,
        Self::Hpbd,
        Self::Octree,
        Self::Staggered,
    ];

    /// Its word in scenes and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Newton => "newton",
            Self::Projective => "projective",
            Self::Lbfgs => "lbfgs",
            Self::NonlinearCg => "nonlinear-cg",
            Self::AcceleratedGradient => "accelerated-gradient",
            Self::Hpbd => "hpbd",
            Self::Octree => "octree",
            Self::Staggered => "staggered",
        }
    }
}

/// Method, linear solver and when to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Solver {
    /// The nonlinear method or family.
    pub method: Method,
    /// The linear solver under it.
    pub linear: LinearOptions,
    /// Stop when the gradient's norm has fallen to this fraction of that at the step's start.
    pub tolerance: f64,
    /// Stop after this many nonlinear iterations.
    pub max_iterations: u32,
    /// `newton`: a step is also solved when an iteration would move no vertex faster than so many m/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity_tolerance: Option<f64>,
    /// Renew the preconditioner every so many nonlinear iterations; each method has its own usual number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh: Option<u32>,
    /// Renew the preconditioner when a vertex has moved by so many metres against the others since it was made, instead of or
    /// beside `refresh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_moved: Option<f64>,
    /// Keep the preconditioner for so many steps instead of making one in each; `refresh` and `refresh_moved` may end it sooner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_steps: Option<u32>,
    /// `accelerated-gradient`: the estimate ρ of how fast plain descent converges; 0.99 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spectral_radius: Option<f64>,
    /// Options of `hpbd`.
    #[serde(skip_serializing_if = "is_default")]
    pub hpbd: hpbd::Options,
    /// Options of `octree`.
    #[serde(skip_serializing_if = "is_default")]
    pub octree: octree::Options,
    /// Options of `staggered`.
    #[serde(skip_serializing_if = "is_default")]
    pub staggered: staggered::Options,
}

fn is_default<T: Default + PartialEq>(options: &T) -> bool {
    *options == T::default()
}

impl Solver {
    /// Refuses options that do not go with the method or the linear solver, and values outside their range.
    pub fn check(&self) -> Result<(), String> {
        self.linear.check()?;
        self.hpbd.check()?;
        self.octree.check()?;
        self.staggered.check()?;
        let method = self.method.word();
        let solves = matches!(self.method, Method::Newton | Method::Projective);
        if !solves && self.linear.kind == LinearKind::Chebyshev {
            return Err(format!(
                "`{method}` needs a preconditioner and `chebyshev` is none; choose another `linear`, or `newton`"
            ));
        }
        let stops = self.linear.tolerance.is_some() || self.linear.max_iterations.is_some();
        if !solves && stops {
            return Err(format!(
                "`{method}` applies its preconditioner once an iteration: `tolerance` and `max_iterations` of `linear` have no \
                 meaning there; leave them out"
            ));
        }
        if self.refresh == Some(0) {
            return Err("`refresh` is 0; it must be 1 or more iterations".to_owned());
        }
        if let Some(moved) = self.refresh_moved.filter(|moved| !(*moved > 0.0 && moved.is_finite())) {
            return Err(format!("`refresh_moved` is {moved}; it must be positive and finite, in metres"));
        }
        self.check_velocity_tolerance()?;
        if self.refresh_steps == Some(0) {
            return Err("`refresh_steps` is 0; it must be 1 or more steps".to_owned());
        }
        if self.refresh_steps.is_some() && !self.method.solves_linear_systems() {
            return Err(format!("`refresh_steps` has no meaning for `{method}`; leave it out"));
        }
        let refreshes =
            self.refresh.is_some() || self.refresh_moved.is_some() || self.refresh_steps.is_some();
        if refreshes && self.method == Method::Projective {
            return Err("projective dynamics renews its matrix when it changes: leave `refresh`, `refresh_moved` and \
                        `refresh_steps` out"
                .to_owned());
        }
        match self.spectral_radius {
            Some(_) if self.method != Method::AcceleratedGradient => Err(format!(
                "`spectral_radius` of the solver is for `accelerated-gradient`, not for `{method}`; leave it out"
            )),
            Some(radius) if !(0.0..1.0).contains(&radius) => {
                Err(format!("`spectral_radius` is {radius}; it must be 0 to below 1"))
            }
            _ => Ok(()),
        }
    }

    fn check_velocity_tolerance(&self) -> Result<(), String> {
        let Some(speed) = self.velocity_tolerance else { return Ok(()) };
        if self.method != Method::Newton {
            return Err(format!(
                "`velocity_tolerance` is for `newton`, whose steps say how far the solution is, not for `{}`; leave it out",
                self.method.word()
            ));
        }
        if speed > 0.0 && speed.is_finite() {
            return Ok(());
        }
        Err(format!("`velocity_tolerance` is {speed}; it must be positive and finite, in m/s"))
    }

    /// Method and linear solver in the words of the command line, as `newton+cholesky`.
    pub fn name(&self) -> String {
        if matches!(self.method, Method::Hpbd | Method::Octree | Method::Staggered) {
            return self.method.word().to_owned();
        }
        format!("{}+{}", self.method.word(), self.linear.kind.word())
    }
}

impl Default for Solver {
    fn default() -> Self {
        Self {
            method: Method::Newton,
            linear: LinearOptions::default(),
            tolerance: 1e-4,
            max_iterations: 50,
            velocity_tolerance: None,
            refresh: None,
            refresh_moved: None,
            refresh_steps: None,
            spectral_radius: None,
            hpbd: hpbd::Options::default(),
            octree: octree::Options::default(),
            staggered: staggered::Options::default(),
        }
    }
}
