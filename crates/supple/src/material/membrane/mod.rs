//! Constitutive laws of sheets: energy density, stress and its derivative as functions of the 3x2 deformation gradient
//! `F`, whose columns are the images of the unit vectors along warp and weft, eight at a time.
//!
//! A sheet has no stiffness against bending here; stiffness is in N/m (already times the thickness), energy in J/m².

mod baraff_witkin;
mod corotated;
mod isotropic;
mod sheet_law;
mod stvk;

pub use baraff_witkin::BaraffWitkin;
pub use corotated::CorotatedSheet;
pub use isotropic::{PrincipalModes, isotropic_stress, isotropic_tangent};
pub use sheet_law::SheetLaw;
pub use stvk::StVenantKirchhoffSheet;

use super::law::LaneLame;
use super::{Lame, Material};
use crate::material::HessianMode;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};

/// Material parameters of a sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sheet {
    /// Lamé parameters in plane stress, in N/m, of the isotropic laws.
    pub lame: Lame,
    /// Stiffness along warp in N/m.
    pub warp: f64,
    /// Stiffness along weft in N/m.
    pub weft: f64,
    /// Shear stiffness between them in N/m, of woven sheets.
    pub shear: f64,
    /// Damping time β in seconds.
    pub damping: f64,
}

impl From<&Material> for Sheet {
    fn from(material: &Material) -> Self {
        let lame = material.sheet_lame();
        let [warp, weft] = material.stretch_stiffness;
        Self { lame, warp, weft, shear: material.shear_stiffness, damping: material.damping }
    }
}

/// [`Sheet`] of eight elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneSheet {
    /// Lamé parameters in plane stress, in N/m.
    pub lame: LaneLame,
    /// Stiffness along warp in N/m.
    pub warp: Lanes,
    /// Stiffness along weft in N/m.
    pub weft: Lanes,
    /// Shear stiffness in N/m.
    pub shear: Lanes,
    /// Damping time β in seconds.
    pub damping: Lanes,
}

impl LaneSheet {
    /// `value(i)` in lane `i`.
    pub fn from_fn(value: impl Fn(usize) -> Sheet) -> Self {
        Self {
            lame: LaneLame::from_fn(|i| value(i).lame),
            warp: Lanes::from_fn(|i| value(i).warp),
            weft: Lanes::from_fn(|i| value(i).weft),
            shear: Lanes::from_fn(|i| value(i).shear),
            damping: Lanes::from_fn(|i| value(i).damping),
        }
    }
}

/// The derivative of a sheet's stress, by columns of stress and deformation gradient.
pub struct SheetTangent {
    /// `∂P₀/∂F₀`.
    pub warp: LaneMat3,
    /// `∂P₀/∂F₁`; its transpose is `∂P₁/∂F₀`.
    pub mixed: LaneMat3,
    /// `∂P₁/∂F₁`.
    pub weft: LaneMat3,
}

impl SheetTangent {
    /// The block between two vertices with the shape function gradients `a` and `b`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn block(&self, a: &[Lanes; 2], b: &[Lanes; 2]) -> LaneMat3 {
        self.warp * (a[0] * b[0])
            + self.mixed * (a[0] * b[1])
            + self.mixed.transpose() * (a[1] * b[0])
            + self.weft * (a[1] * b[1])
    }
}

/// The constitutive law of a sheet. Every method must be `#[cfg_attr(not(debug_assertions), inline(always))]`.
pub trait Membrane: Send + Sync + 'static {
    /// Energy density in J/m² of undeformed area, zero at rest.
    fn energy(&self, f: [LaneVec3; 2], sheet: &LaneSheet) -> Lanes;
    /// First Piola-Kirchhoff stress `P = ∂Ψ/∂F` in N/m.
    fn stress(&self, f: [LaneVec3; 2], sheet: &LaneSheet) -> [LaneVec3; 2];
    /// Both, bit-identical to the separate evaluations.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy_and_stress(&self, f: [LaneVec3; 2], sheet: &LaneSheet) -> (Lanes, [LaneVec3; 2]) {
        (self.energy(f, sheet), self.stress(f, sheet))
    }
    /// The derivative of the stress, exact or projected to positive semi-definite.
    fn tangent(&self, f: [LaneVec3; 2], sheet: &LaneSheet, mode: HessianMode) -> SheetTangent;
}
