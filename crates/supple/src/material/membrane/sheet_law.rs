//! The law of a sheet chosen at run time, by its scene name: one kernel serves all of them.

use super::{
    BaraffWitkin, CorotatedSheet, LaneSheet, Membrane, SheetTangent, StVenantKirchhoffSheet, corotated,
    isotropic_tangent, stvk,
};
use crate::material::HessianMode;
use supple_core::simd::{LaneVec3, Lanes};
use supple_core::small_matrix::svd::svd32;

/// One of the laws of sheets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SheetLaw {
    /// [`CorotatedSheet`]: isotropic, linear in the stretch.
    #[default]
    Corotated,
    /// [`StVenantKirchhoffSheet`]: isotropic, linear in the Green strain.
    StVenantKirchhoff,
    /// [`BaraffWitkin`]: woven, with a stiffness for each direction.
    BaraffWitkin,
}

impl SheetLaw {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Corotated, Self::StVenantKirchhoff, Self::BaraffWitkin];
}

impl Membrane for SheetLaw {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy(&self, f: [LaneVec3; 2], sheet: &LaneSheet) -> Lanes {
        match self {
            Self::Corotated => CorotatedSheet.energy_and_stress(f, sheet).0,
            Self::StVenantKirchhoff => StVenantKirchhoffSheet.energy(f, sheet),
            Self::BaraffWitkin => BaraffWitkin.energy(f, sheet),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stress(&self, f: [LaneVec3; 2], sheet: &LaneSheet) -> [LaneVec3; 2] {
        match self {
            Self::Corotated => CorotatedSheet.energy_and_stress(f, sheet).1,
            Self::StVenantKirchhoff => StVenantKirchhoffSheet.stress(f, sheet),
            Self::BaraffWitkin => BaraffWitkin.stress(f, sheet),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy_and_stress(&self, f: [LaneVec3; 2], sheet: &LaneSheet) -> (Lanes, [LaneVec3; 2]) {
        match self {
            Self::Corotated => CorotatedSheet.energy_and_stress(f, sheet),
            _ => (self.energy(f, sheet), self.stress(f, sheet)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tangent(&self, f: [LaneVec3; 2], sheet: &LaneSheet, mode: HessianMode) -> SheetTangent {
        if *self == Self::BaraffWitkin {
            return BaraffWitkin.tangent(f, sheet, mode);
        }
        let svd = svd32(f);
        let modes = match self {
            Self::StVenantKirchhoff => stvk::modes(svd.sigma, sheet),
            _ => corotated::modes(svd.sigma, sheet),
        };
        isotropic_tangent(&svd, modes, mode)
    }
}
