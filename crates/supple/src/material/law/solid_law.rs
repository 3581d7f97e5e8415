//! The law of a solid chosen at run time, by its scene name. One kernel serves all laws: its long parts (the
//! singular value decomposition, projections, blocks) are compiled once, and the law is selected once per eight elements.

use super::arap::shear_only;
use super::{Arap, Corotated, LaneLame, Law, Linear, NeoHookean, StVenantKirchhoff, TangentModes};
use crate::material::Lame;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes};
use supple_core::small_matrix::svd::{Svd, svd};

/// One of the laws of solids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SolidLaw {
    /// [`Linear`]: small displacements only.
    Linear,
    /// [`Corotated`]: large rotations, moderate strains.
    #[default]
    Corotated,
    /// [`NeoHookean`]: large strains, keeps volume near Poisson's ratio 1/2.
    NeoHookean,
    /// [`StVenantKirchhoff`]: large rotations, small strains.
    StVenantKirchhoff,
    /// [`Arap`]: Poisson's ratio 0.
    Arap,
}

impl SolidLaw {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Linear, Self::Corotated, Self::NeoHookean, Self::StVenantKirchhoff, Self::Arap];

    /// Whether its energy is a squared distance, as projective dynamics needs it.
    pub fn is_projective(self) -> bool {
        self.projective_stiffness(&LaneLame::from_fn(|_| Lame { lambda: 1.0, mu: 1.0 })).is_some()
    }

    /// Energy and stress of the two laws that factor out the rotation, sharing one decomposition.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn corotated(&self, f: LaneMat3, lame: &LaneLame) -> (Lanes, LaneMat3) {
        let lame = if *self == Self::Arap { shear_only(lame) } else { *lame };
        Corotated.energy_and_stress(f, &lame)
    }
}

impl Law for SolidLaw {
    fn projective_stiffness(&self, lame: &LaneLame) -> Option<Lanes> {
        match self {
            Self::Linear | Self::NeoHookean | Self::StVenantKirchhoff => None,
            Self::Corotated => Corotated.projective_stiffness(lame),
            Self::Arap => Arap.projective_stiffness(lame),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy(&self, f: LaneMat3, lame: &LaneLame) -> Lanes {
        match self {
            Self::Linear => Linear.energy(f, lame),
            Self::NeoHookean => NeoHookean.energy(f, lame),
            Self::StVenantKirchhoff => StVenantKirchhoff.energy(f, lame),
            Self::Corotated | Self::Arap => self.corotated(f, lame).0,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stress(&self, f: LaneMat3, lame: &LaneLame) -> LaneMat3 {
        match self {
            Self::Linear => Linear.stress(f, lame),
            Self::NeoHookean => NeoHookean.stress(f, lame),
            Self::StVenantKirchhoff => StVenantKirchhoff.stress(f, lame),
            Self::Corotated | Self::Arap => self.corotated(f, lame).1,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn energy_and_stress(&self, f: LaneMat3, lame: &LaneLame) -> (Lanes, LaneMat3) {
        match self {
            Self::Linear => Linear.energy_and_stress(f, lame),
            Self::NeoHookean => NeoHookean.energy_and_stress(f, lame),
            Self::StVenantKirchhoff => StVenantKirchhoff.energy_and_stress(f, lame),
            Self::Corotated | Self::Arap => self.corotated(f, lame),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn axes(&self, f: LaneMat3) -> Svd {
        match self {
            Self::Linear => Linear.axes(f),
            _ => svd(f),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn modes(&self, stretches: LaneVec3, lame: &LaneLame) -> TangentModes {
        match self {
            Self::Linear => Linear.modes(stretches, lame),
            Self::Corotated => Corotated.modes(stretches, lame),
            Self::NeoHookean => NeoHookean.modes(stretches, lame),
            Self::StVenantKirchhoff => StVenantKirchhoff.modes(stretches, lame),
            Self::Arap => Arap.modes(stretches, lame),
        }
    }
}
