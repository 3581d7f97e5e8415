//! One material in SI units for every solver family, and presets by name.
//!
//! A scene specifies a [`MaterialSpec`]; the engine uses a [`Material`], in which every number is known
//! ([`MaterialSpec::resolve`]). The energy of a deformation is defined by a [`law`] for solids and by a [`membrane`] for
//! sheets.

pub mod law;
pub mod membrane;
mod presets;
mod resolve;
mod spec;

pub use presets::{Preset, presets};
pub use spec::{MaterialSpec, StretchStiffness};

/// How a Hessian is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HessianMode {
    /// The true second derivative, which may be indefinite: Newton converges quadratically where it is not.
    Exact,
    /// Each element projected to positive semi-definite: always a descent direction.
    PsdProjected,
}

/// A material with every number known. Defaults are those of cotton.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Young's modulus in Pa.
    pub young_modulus: f64,
    /// Poisson's ratio.
    pub poisson_ratio: f64,
    /// Density in kg/m³.
    pub density: f64,
    /// Thickness of cloth in m.
    pub thickness: f64,
    /// Mass of cloth in kg/m².
    pub area_density: f64,
    /// Stretch stiffness of cloth along warp and weft in N/m.
    pub stretch_stiffness: [f64; 2],
    /// Shear stiffness of woven cloth in N/m.
    pub shear_stiffness: f64,
    /// Bending stiffness of cloth in N·m.
    pub bend_stiffness: f64,
    /// Largest stretch allowed.
    pub strain_limit: Option<f64>,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Damping time in s.
    pub damping: f64,
}

impl Default for Material {
    fn default() -> Self {
        presets()[0].material()
    }
}

/// The Lamé parameters of an isotropic material, in Pa (or N/m for a sheet).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lame {
    /// First parameter λ: resistance to change of volume (of area, for a sheet).
    pub lambda: f64,
    /// Second parameter μ: the shear modulus.
    pub mu: f64,
}

impl Material {
    /// Lamé parameters of a solid in Pa: λ = E ν / ((1 + ν)(1 - 2ν)), μ = E / (2 (1 + ν)).
    pub fn solid_lame(&self) -> Lame {
        let (e, nu) = (self.young_modulus, self.poisson_ratio);
        Lame { lambda: e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), mu: e / (2.0 * (1.0 + nu)) }
    }

    /// The same material, stiffer by a factor in stretch, shear and bending.
    pub fn stiffened(mut self, factor: f64) -> Self {
        self.young_modulus *= factor;
        self.stretch_stiffness = self.stretch_stiffness.map(|s| factor * s);
        self.shear_stiffness *= factor;
        self.bend_stiffness *= factor;
        self
    }

    /// Lamé parameters of a sheet in N/m, in plane stress (free to thin as it is stretched): with its mean stretch
    /// stiffness S, λ = S ν / (1 - ν²), μ = S / (2 (1 + ν)).
    pub fn sheet_lame(&self) -> Lame {
        let [warp, weft] = self.stretch_stiffness;
        let (s, nu) = (0.5 * (warp + weft), self.poisson_ratio);
        Lame { lambda: s * nu / (1.0 - nu * nu), mu: s / (2.0 * (1.0 + nu)) }
    }
}

/// Shear stiffness in N/m of a homogeneous sheet: E t / (2 (1 + ν)).
pub fn sheet_shear_stiffness(young_modulus: f64, thickness: f64, poisson_ratio: f64) -> f64 {
    young_modulus * thickness / (2.0 * (1.0 + poisson_ratio))
}

/// Bending stiffness in N·m of a homogeneous plate: E t³ / (12 (1 - ν²)).
pub fn plate_bend_stiffness(young_modulus: f64, thickness: f64, poisson_ratio: f64) -> f64 {
    young_modulus * thickness.powi(3) / (12.0 * (1.0 - poisson_ratio * poisson_ratio))
}
