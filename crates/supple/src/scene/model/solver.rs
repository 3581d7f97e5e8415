//! `[solver]`: the method, the linear solver under it, and the options of steppers.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use supple_linear::{Iteration, LinearOptions};

use crate::scene::method::{LinearUse, Method};
use crate::scene::options::{NamedOptions, OptionSet};
use supple_core::Error;

/// How contact enters the matrix of projective dynamics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContactMatrix {
    /// By 3x3 blocks `k n nᵀ` with all couplings of a contact (Xian 2019, section 4.6).
    #[default]
    Blocks,
    /// By an upper bound on the diagonal, the same in all directions.
    Bound,
}

/// Method, linear solver and stopping criteria.
///
/// [`SceneReader`](crate::scene::SceneReader) reads `method` and the tables of `options` by the steppers' declarations; serde alone
/// reads the other keys.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Solver {
    /// The nonlinear method or family.
    #[serde(skip)]
    pub method: Method,
    /// The linear solver under it [default: by size, `scene::defaults`].
    pub linear: Option<LinearOptions>,
    /// Stop when the gradient's norm has fallen to this fraction of that at the step's start [default:
    /// [`gradient_tolerance`](Self::gradient_tolerance)].
    pub tolerance: Option<f64>,
    /// Stop after this many nonlinear iterations.
    pub max_iterations: u32,
    /// `newton`: a step is also solved when an iteration would change no vertex's velocity by more than this many m/s [default, unless
    /// `tolerance` is given: 0.05 for steps of 1/30 s, in proportion for shorter ones].
    pub velocity_tolerance: Option<f64>,
    /// Number of nonlinear iterations between refreshes of the preconditioner; each method has its own default.
    pub refresh: Option<u32>,
    /// Refresh the preconditioner when a vertex has moved by this many metres relative to the others since it was built, instead of or
    /// in addition to `refresh`.
    pub refresh_moved: Option<f64>,
    /// Keep the preconditioner for this many steps instead of building one per step; `refresh` and `refresh_moved` may end it sooner.
    pub refresh_steps: Option<u32>,
    /// `accelerated-gradient`: the estimate ρ of the convergence rate of plain descent [default: 0.99].
    pub spectral_radius: Option<f64>,
    /// `projective`: how contact enters its matrix [default: blocks].
    pub contact_matrix: Option<ContactMatrix>,
    /// The options of steppers.
    #[serde(skip)]
    pub options: OptionSet,
}

impl Serialize for Solver {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", &self.method)?;
        if let Some(linear) = &self.linear {
            map.serialize_entry("linear", linear)?;
        }
        if let Some(tolerance) = self.tolerance {
            map.serialize_entry("tolerance", &tolerance)?;
        }
        map.serialize_entry("max_iterations", &self.max_iterations)?;
        if let Some(speed) = self.velocity_tolerance {
            map.serialize_entry("velocity_tolerance", &speed)?;
        }
        if let Some(iterations) = self.refresh {
            map.serialize_entry("refresh", &iterations)?;
        }
        if let Some(moved) = self.refresh_moved {
            map.serialize_entry("refresh_moved", &moved)?;
        }
        if let Some(steps) = self.refresh_steps {
            map.serialize_entry("refresh_steps", &steps)?;
        }
        if let Some(radius) = self.spectral_radius {
            map.serialize_entry("spectral_radius", &radius)?;
        }
        if let Some(matrix) = self.contact_matrix {
            map.serialize_entry("contact_matrix", &matrix)?;
        }
        self.options.serialize_into(&mut map)?;
        map.end()
    }
}

impl Solver {
    /// The fraction to which the gradient's norm must fall: `tolerance`, by default 1e-4. Methods that know how far they are from the
    /// solution stop by that, unless their gradient is smaller than matters anywhere.
    pub fn gradient_tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(if self.method.traits().velocity_tolerance { 1e-8 } else { 1e-4 })
    }

    /// With the options of a stepper.
    ///
    /// ```
    /// use supple::{Solver, scene::Method, solvers::hpbd};
    /// let options = hpbd::HpbdOptions { levels: 3, ..hpbd::HpbdOptions::default() };
    /// let solver = Solver { method: Method::HPBD, ..Solver::default() }.with_options(options);
    /// assert_eq!(solver.options.get::<hpbd::HpbdOptions>().levels, 3);
    /// ```
    pub fn with_options(mut self, options: impl NamedOptions) -> Self {
        self.options.set(options);
        self
    }

    /// The linear solver and its options; `cholesky` as long as none is stated or chosen.
    pub fn linear(&self) -> LinearOptions {
        self.linear.clone().unwrap_or_default()
    }

    /// Rejects options that do not apply to the method or the linear solver, and values outside their range.
    pub fn check(&self) -> Result<(), Error> {
        let linear = self.linear();
        linear.check().map_err(|problem| Error::Invalid(problem.to_string()))?;
        self.options.check()?;
        let (method, traits) = (self.method.name(), self.method.traits());
        let solves = traits.linear == LinearUse::Solver;
        if !solves && linear.kind.iteration() == Iteration::Own {
            return Err(Error::Invalid(format!(
                "`{method}` needs a preconditioner and `{}` is not one; choose another `linear`, or `newton`",
                linear.kind.name()
            )));
        }
        let stops = linear.tolerance.is_some() || linear.max_iterations.is_some();
        if !solves && stops {
            return Err(Error::Invalid(format!(
                "`{method}` applies its preconditioner once per iteration: `tolerance` and `max_iterations` of `linear` have no \
                 meaning there; leave them out"
            )));
        }
        if self.refresh == Some(0) {
            return Err(Error::out_of_range("refresh", 0, "1 or more iterations"));
        }
        if let Some(moved) = self.refresh_moved.filter(|moved| !(*moved > 0.0 && moved.is_finite())) {
            return Err(Error::out_of_range("refresh_moved", moved, "positive and finite, in metres"));
        }
        self.check_velocity_tolerance()?;
        if self.refresh_steps == Some(0) {
            return Err(Error::out_of_range("refresh_steps", 0, "1 or more steps"));
        }
        if self.refresh_steps.is_some() && traits.linear == LinearUse::None {
            return Err(Error::Invalid(format!(
                "`refresh_steps` has no meaning for `{method}`; leave it out"
            )));
        }
        let refreshes =
            self.refresh.is_some() || self.refresh_moved.is_some() || self.refresh_steps.is_some();
        if refreshes && traits.renews_by_itself {
            return Err(Error::Invalid(
                "projective dynamics updates its matrix whenever it changes: leave `refresh`, `refresh_moved` and \
                 `refresh_steps` out"
                    .to_owned(),
            ));
        }
        if self.contact_matrix.is_some() && !traits.contact_matrix {
            return Err(Error::Invalid(format!(
                "`contact_matrix` of the solver is for `projective`, not for `{method}`; leave it out"
            )));
        }
        match self.spectral_radius {
            Some(_) if !traits.spectral_radius => Err(Error::Invalid(format!(
                "`spectral_radius` of the solver is for `accelerated-gradient`, not for `{method}`; leave it out"
            ))),
            Some(radius) if !(0.0..1.0).contains(&radius) => {
                Err(Error::out_of_range("spectral_radius", radius, "0 to below 1"))
            }
            _ => Ok(()),
        }
    }

    fn check_velocity_tolerance(&self) -> Result<(), Error> {
        let Some(speed) = self.velocity_tolerance else { return Ok(()) };
        if !self.method.traits().velocity_tolerance {
            return Err(Error::Invalid(format!(
                "`velocity_tolerance` is for `newton`, whose steps estimate the distance to the solution, not for `{}`; leave it out",
                self.method.name()
            )));
        }
        if speed > 0.0 && speed.is_finite() {
            return Ok(());
        }
        Err(Error::out_of_range("velocity_tolerance", speed, "positive and finite, in m/s"))
    }

    /// Method and linear solver, if there is one, in command-line notation, as `newton+cholesky`.
    pub fn name(&self) -> String {
        match &self.linear {
            Some(linear) if self.method.traits().linear != LinearUse::None => {
                format!("{}+{}", self.method.name(), linear.kind.name())
            }
            _ => self.method.name().to_owned(),
        }
    }
}

impl Default for Solver {
    fn default() -> Self {
        Self {
            method: Method::default(),
            linear: None,
            tolerance: None,
            max_iterations: 50,
            velocity_tolerance: None,
            refresh: None,
            refresh_moved: None,
            refresh_steps: None,
            spectral_radius: None,
            contact_matrix: None,
            options: OptionSet::default(),
        }
    }
}
