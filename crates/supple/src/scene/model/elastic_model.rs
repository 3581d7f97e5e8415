//! `model` of a body: which elastic law it has as a sheet, as a solid of tetrahedra, and of octants.

use serde::{Deserialize, Serialize};

use crate::material::law::SolidLaw;
use crate::material::membrane::SheetLaw;

/// The elastic model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Mass and springs.
    #[default]
    Spring,
    /// Co-rotated linear elasticity.
    Corotated,
    /// Stable neo-Hookean.
    NeoHookean,
    /// Baraff-Witkin cloth.
    BaraffWitkin,
    /// St. Venant-Kirchhoff.
    Stvk,
    /// Linear elasticity.
    Linear,
    /// As rigid as possible.
    Arap,
}

/// What a model means for each kind of body; `None` where there is no such body.
struct Declaration {
    model: Model,
    /// In scene files: the variant in kebab-case.
    name: &'static str,
    sheet: Option<SheetLaw>,
    solid: Option<SolidLaw>,
    octants: bool,
}

/// Every model, in the order of [`Model`]. `spring` has no law: springs stand between the vertices of any mesh.
const MODELS: [Declaration; 7] = [
    Declaration { model: Model::Spring, name: "spring", sheet: None, solid: None, octants: false },
    Declaration {
        model: Model::Corotated,
        name: "corotated",
        sheet: Some(SheetLaw::Corotated),
        solid: Some(SolidLaw::Corotated),
        octants: true,
    },
    Declaration {
        model: Model::NeoHookean,
        name: "neo-hookean",
        sheet: None,
        solid: Some(SolidLaw::NeoHookean),
        octants: true,
    },
    Declaration {
        model: Model::BaraffWitkin,
        name: "baraff-witkin",
        sheet: Some(SheetLaw::BaraffWitkin),
        solid: None,
        octants: false,
    },
    Declaration {
        model: Model::Stvk,
        name: "stvk",
        sheet: Some(SheetLaw::StVenantKirchhoff),
        solid: Some(SolidLaw::StVenantKirchhoff),
        octants: false,
    },
    Declaration {
        model: Model::Linear,
        name: "linear",
        sheet: None,
        solid: Some(SolidLaw::Linear),
        octants: false,
    },
    Declaration {
        model: Model::Arap,
        name: "arap",
        sheet: None,
        solid: Some(SolidLaw::Arap),
        octants: false,
    },
];

impl Model {
    /// All of them.
    pub const ALL: [Self; MODELS.len()] = supple_core::all_declared!(MODELS, model);

    /// Its name in scene files.
    pub fn name(self) -> &'static str {
        self.declaration().name
    }

    /// Its law for sheets.
    pub fn sheet_law(self) -> Option<SheetLaw> {
        self.declaration().sheet
    }

    /// Its law for solids of tetrahedra.
    pub fn solid_law(self) -> Option<SolidLaw> {
        self.declaration().solid
    }

    /// Whether cloth can have it.
    pub fn is_for_cloth(self) -> bool {
        self == Self::Spring || self.sheet_law().is_some()
    }

    /// Whether a solid of tetrahedra can have it.
    pub fn is_for_solids(self) -> bool {
        self == Self::Spring || self.solid_law().is_some()
    }

    /// Whether a solid of octants can have it.
    pub fn is_for_octants(self) -> bool {
        self.declaration().octants
    }

    fn declaration(self) -> &'static Declaration {
        &MODELS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::check::supported::variant_name;

    #[test]
    fn names_are_those_of_scene_files_and_every_law_has_one() {
        assert!(Model::ALL.into_iter().all(|model| model.name() == variant_name(&model)));
        for law in SolidLaw::ALL {
            assert_eq!(Model::ALL.into_iter().filter(|model| model.solid_law() == Some(law)).count(), 1);
        }
        for law in SheetLaw::ALL {
            assert_eq!(Model::ALL.into_iter().filter(|model| model.sheet_law() == Some(law)).count(), 1);
        }
    }
}
