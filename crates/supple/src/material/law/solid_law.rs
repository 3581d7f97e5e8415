//! The law of a solid chosen at run time, by the words of a scene. One kernel serves all laws: what is long in it (the
//! singular value decomposition, projections, blocks) is compiled once, and the choice is made once for eight elements.

use super::tangent::Tangent;
use super::{
    Arap, Corotated, LaneLame, Law, Linear, NeoHookean, StVenantKirchhoff, arap, corotated, neo_hookean, stvk,
};
use crate::energy::Curvature;
use crate::geometry::svd::{Svd, svd};
use crate::simd::{LaneMat3, Lanes};

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
}

impl Law for SolidLaw {
    fn projective_stiffness(&self, lame: &LaneLame) -> Option<Lanes> {
        match self {
            Self::Linear | Self::NeoHookean | Self::StVenantKirchhoff => None,
            Self::Corotated => Corotated.projective_stiffness(lame),
            Self::Arap => Arap.projective_stiffness(lame),
        }
    }

    #[inline(always)]
    fn energy(&self, f: LaneMat3, lame: &LaneLame) -> Lanes {
        match self {
            Self::Linear => Linear.energy(f, lame),
            Self::NeoHookean => NeoHookean.energy(f, lame),
            Self::StVenantKirchhoff => StVenantKirchhoff.energy(f, lame),
            Self::Corotated => Corotated.energy(f, lame),
            Self::Arap => Arap.energy(f, lame),
        }
    }

    #[inline(always)]
    fn stress(&self, f: LaneMat3, lame: &LaneLame) -> LaneMat3 {
        match self {
            Self::Linear => Linear.stress(f, lame),
            Self::NeoHookean => NeoHookean.stress(f, lame),
            Self::StVenantKirchhoff => StVenantKirchhoff.stress(f, lame),
            Self::Corotated => Corotated.stress(f, lame),
            Self::Arap => Arap.stress(f, lame),
        }
    }

    #[inline(always)]
    fn tangent(&self, f: LaneMat3, lame: &LaneLame, curvature: Curvature) -> Tangent {
        if *self == Self::Linear {
            return Linear.tangent(f, lame, curvature);
        }
        let Svd { u, sigma, v } = svd(f);
        let modes = match self {
            Self::NeoHookean => neo_hookean::modes(sigma, lame),
            Self::StVenantKirchhoff => stvk::modes(sigma, lame),
            Self::Arap => arap::modes(sigma, lame),
            Self::Corotated | Self::Linear => corotated::modes(sigma, lame),
        };
        Tangent::new(u, v, modes, curvature)
    }

    #[inline(always)]
    fn stress_differential(
        &self,
        f: LaneMat3,
        df: LaneMat3,
        lame: &LaneLame,
        curvature: Curvature,
    ) -> LaneMat3 {
        match (self, curvature) {
            (Self::Linear, _) => Linear.stress_differential(f, df, lame, curvature),
            (Self::NeoHookean, Curvature::Exact) => neo_hookean::exact_differential(f, df, lame),
            (Self::StVenantKirchhoff, Curvature::Exact) => stvk::exact_differential(f, df, lame),
            _ => self.tangent(f, lame, curvature).apply(df),
        }
    }
}
