//! Materials by name, in round SI numbers typical of their kind.
//!
//! Fabrics: mass and thickness as mills state them; bending and stretch inside the ranges that fabric hand
//! measurements (KES-F and FAST instruments: bending 1e-6 to 1e-4 N·m) and fits of cloth simulators to such
//! measurements report. The stretch stiffness is that of small strains, where the weave's crimp gives way; taut
//! fabric is stiffer. Warp and weft are taken as equal. Shear: a weave resists it only by friction where threads cross, ten to fifty times less than
//! stretch; KES-F measures 0.2 to 6 gf/(cm·°), of which one is 56.2 N/m per radian (denims of several mills: 1.5 to 3.4). Leather is a felt
//! of fibres in all directions, so its shear stiffness is that of a homogeneous sheet. Solids: textbook ranges of elastic moduli at small strain.
//! Damping times are chosen by how long such objects visibly swing; they are not measured.

use super::{Material, plate_bend_stiffness, sheet_shear_stiffness};
use supple_core::text::suggest::{did_you_mean, list};

/// A named material.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preset {
    /// The name in scene files.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    kind: PresetKind,
    thickness: f64,
    poisson_ratio: f64,
    friction: f64,
    damping: f64,
}

/// The given numbers of a preset; the others are derived.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PresetKind {
    /// kg/m², N/m, N/m, N·m.
    Fabric { area_density: f64, stretch: f64, shear: f64, bend: f64 },
    /// kg/m³, Pa.
    Solid { density: f64, young_modulus: f64 },
}

const fn fabric(
    name: &'static str,
    about: &'static str,
    [area_density, thickness, stretch, shear, bend, friction]: [f64; 6],
) -> Preset {
    let kind = PresetKind::Fabric { area_density, stretch, shear, bend };
    Preset { name, about, kind, thickness, poisson_ratio: 0.3, friction, damping: 0.002 }
}

const fn solid(
    name: &'static str,
    about: &'static str,
    [density, young_modulus, poisson_ratio, friction, damping]: [f64; 5],
) -> Preset {
    let kind = PresetKind::Solid { density, young_modulus };
    Preset { name, about, kind, thickness: 0.001, poisson_ratio, friction, damping }
}

// Columns: kg/m², thickness in m, stretch and shear in N/m, bending in N·m, friction; and for solids kg/m³, Young's modulus in
// Pa, Poisson's ratio, friction, damping time in s. A solid used as cloth is a sheet of 1 mm.
static PRESETS: [Preset; 14] = [
    fabric("cotton", "plain-weave shirting, 150 g/m²", [0.15, 0.0004, 2000.0, 55.0, 6e-6, 0.4]),
    fabric("silk", "satin for dresses and scarves, 85 g/m²", [0.085, 0.0002, 1500.0, 20.0, 1.5e-6, 0.2]),
    fabric("denim", "twill for jeans, 400 g/m²", [0.4, 0.0008, 5000.0, 110.0, 6e-5, 0.5]),
    fabric("wool", "worsted suiting, 250 g/m²", [0.25, 0.0006, 1000.0, 40.0, 1e-5, 0.4]),
    fabric("linen", "plain weave, crisp, 200 g/m²", [0.2, 0.0004, 3500.0, 60.0, 2e-5, 0.4]),
    fabric("jersey", "single knit for T-shirts, 180 g/m²", [0.18, 0.0006, 500.0, 35.0, 3e-6, 0.4]),
    fabric("nylon", "ripstop for kites and jackets, 60 g/m²", [0.06, 0.0001, 4000.0, 200.0, 3e-6, 0.3]),
    fabric("canvas", "tent and tarpaulin cloth, 500 g/m²", [0.5, 0.0009, 8000.0, 300.0, 1e-4, 0.5]),
    fabric("leather", "garment leather, 0.9 mm, 600 g/m²", [0.6, 0.0009, 8000.0, 3100.0, 1.5e-4, 0.5]),
    solid("rubber", "soft vulcanised natural rubber", [1100.0, 1.5e6, 0.49, 0.8, 0.002]),
    solid("silicone", "casting silicone, as used in soft robots", [1070.0, 1e5, 0.48, 0.7, 0.003]),
    solid("flesh", "muscle and fat together, at rest", [1050.0, 2e4, 0.45, 0.5, 0.01]),
    solid("gelatin", "a firm dessert", [1020.0, 5e3, 0.45, 0.3, 0.003]),
    solid("foam", "flexible polyurethane, mattress grade", [40.0, 5e4, 0.2, 0.6, 0.02]),
];

/// Every preset; the first is the default.
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

impl Preset {
    /// Whether it is a fabric; the others are solids, which as cloth are sheets of 1 mm.
    pub fn is_fabric(&self) -> bool {
        matches!(self.kind, PresetKind::Fabric { .. })
    }

    /// Its numbers.
    pub fn material(&self) -> Material {
        let Self { thickness, poisson_ratio, friction, damping, .. } = *self;
        let (density, young_modulus, area_density, stretch, shear, bend) = match self.kind {
            PresetKind::Fabric { area_density, stretch, shear, bend } => {
                (area_density / thickness, stretch / thickness, area_density, stretch, shear, bend)
            }
            PresetKind::Solid { density, young_modulus } => {
                let bend = plate_bend_stiffness(young_modulus, thickness, poisson_ratio);
                let shear = sheet_shear_stiffness(young_modulus, thickness, poisson_ratio);
                (density, young_modulus, density * thickness, young_modulus * thickness, shear, bend)
            }
        };
        Material {
            young_modulus,
            poisson_ratio,
            density,
            thickness,
            area_density,
            stretch_stiffness: [stretch; 2],
            shear_stiffness: shear,
            bend_stiffness: bend,
            strain_limit: None,
            friction,
            damping,
        }
    }
}

/// The preset of this name, or an error message with the nearest one.
pub(super) fn find(name: &str) -> Result<Material, String> {
    let found = PRESETS.iter().find(|preset| preset.name == name);
    found.map(Preset::material).ok_or_else(|| {
        let names = || PRESETS.iter().map(|preset| preset.name);
        let hint = did_you_mean(name, names());
        format!("there is no material `{name}`{hint} Available: {}", list(names()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fabrics_lie_in_the_measured_ranges() {
        for preset in presets().iter().filter(|preset| matches!(preset.kind, PresetKind::Fabric { .. })) {
            let material = preset.material();
            assert!((0.05..=0.6).contains(&material.area_density), "{}", preset.name);
            assert!((5e-5..=2e-3).contains(&material.thickness), "{}", preset.name);
            assert!((300.0..=1e4).contains(&material.stretch_stiffness[0]), "{}", preset.name);
            assert!((1e-6..=2e-4).contains(&material.bend_stiffness), "{}", preset.name);
            // Threads turn where they cross: no fabric is stiffer in shear than a solid sheet of its own stretch stiffness.
            let sheet =
                sheet_shear_stiffness(material.young_modulus, material.thickness, material.poisson_ratio);
            assert!((10.0..=1.01 * sheet).contains(&material.shear_stiffness), "{}", preset.name);
            // Fibres slide: no fabric is stiffer in bending than a solid plate of its own stretch stiffness.
            let plate =
                plate_bend_stiffness(material.young_modulus, material.thickness, material.poisson_ratio);
            assert!(material.bend_stiffness <= plate, "{}: {plate}", preset.name);
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = presets().iter().map(|preset| preset.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), presets().len());
    }
}
