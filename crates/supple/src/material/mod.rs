//! One material in SI units for every family, and presets by name.

mod presets;

use serde::{Deserialize, Serialize};

/// Stretch stiffness of cloth in N/m: force for each metre of width at unit strain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StretchStiffness {
    /// The same along warp and weft.
    Uniform(f64),
    /// Different along warp (u) and weft (v).
    Directions {
        /// Along warp.
        warp: f64,
        /// Along weft.
        weft: f64,
    },
}

/// A material as a scene file says it: a preset's name, or a table that may start from a preset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MaterialSpec {
    /// Start from this preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Young's modulus in Pa.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub young_modulus: Option<f64>,
    /// Poisson's ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poisson_ratio: Option<f64>,
    /// Density in kg/m³.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Thickness of cloth in m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thickness: Option<f64>,
    /// Mass of cloth in kg/m²; overrides density times thickness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area_density: Option<f64>,
    /// Stretch stiffness of cloth in N/m; overrides Young's modulus times thickness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stretch_stiffness: Option<StretchStiffness>,
    /// Bending stiffness of cloth in N·m; overrides that of a plate of this thickness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend_stiffness: Option<f64>,
    /// Largest stretch allowed, as a ratio above 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strain_limit: Option<f64>,
    /// Coulomb friction coefficient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub friction: Option<f64>,
    /// Damping time in s: the damping force is this time times stiffness times the rate of stretch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
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
    /// Bending stiffness of cloth in N·m.
    pub bend_stiffness: f64,
    /// Largest stretch allowed.
    pub strain_limit: Option<f64>,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Damping time in s.
    pub damping: f64,
}
