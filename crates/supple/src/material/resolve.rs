//! Resolves a scene's material specification to all of its numbers.
//!
//! 1. A number given in the table takes precedence.
//! 2. A number that is not given, but can be derived from one that is, is derived:
//!    `area_density` = `density` · `thickness`; `stretch_stiffness` = `young_modulus` · `thickness`;
//!    `shear_stiffness` = E t / (2 (1 + ν)) and `bend_stiffness` = E t³ / (12 (1 - ν²)) of `young_modulus` or `thickness`; and backwards `density` = `area_density` / `thickness`,
//!    `young_modulus` = mean `stretch_stiffness` / `thickness`. The other factor comes from the table or the preset.
//! 3. Everything else is the preset's (`cotton` if the table names none).
//!
//! So `{ preset = "silk", thickness = 0.001 }` is silk five times as thick, heavier and stiffer by the rules of
//! a homogeneous sheet, while `{ preset = "silk", area_density = 0.2 }` is silk with twice the mass and the same
//! stiffness.

use super::presets::find;
use super::{Material, MaterialSpec, plate_bend_stiffness, sheet_shear_stiffness};
use supple_core::Error;
use supple_core::text::number::{Short, finite_and};

impl MaterialSpec {
    /// Every number of the material; an unknown preset or a number out of range is an error.
    ///
    /// ```
    /// use supple::MaterialSpec;
    /// let rubber = MaterialSpec { young_modulus: Some(2e6), thickness: Some(1e-3), ..MaterialSpec::preset("rubber") };
    /// assert_eq!(rubber.resolve()?.stretch_stiffness, [2e3, 2e3]);
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn resolve(&self) -> Result<Material, Error> {
        match self.problems().into_iter().next() {
            Some((key, problem)) => Err(Error::Invalid(format!("material: `{key}` {problem}"))),
            None => {
                Ok(self.derive(&find(self.preset.as_deref().unwrap_or("cotton")).map_err(Error::Invalid)?))
            }
        }
    }

    fn derive(&self, preset: &Material) -> Material {
        let thickness = self.thickness.unwrap_or(preset.thickness);
        let poisson_ratio = self.poisson_ratio.unwrap_or(preset.poisson_ratio);
        let said_stretch = self.stretch_stiffness.map(|stiffness| stiffness.directions());
        let young_modulus = self
            .young_modulus
            .or_else(|| said_stretch.map(|[warp, weft]| 0.5 * (warp + weft) / thickness))
            .unwrap_or(preset.young_modulus);
        let density =
            self.density.or_else(|| self.area_density.map(|mass| mass / thickness)).unwrap_or(preset.density);
        let says_sheet = self.young_modulus.is_some() || self.thickness.is_some();
        let says_mass = self.density.is_some() || self.thickness.is_some();
        let derive = |is_given: bool, derived: f64, preset: f64| if is_given { derived } else { preset };
        let shear = sheet_shear_stiffness(young_modulus, thickness, poisson_ratio);
        let plate = plate_bend_stiffness(young_modulus, thickness, poisson_ratio);
        Material {
            young_modulus,
            poisson_ratio,
            density,
            thickness,
            area_density: self
                .area_density
                .unwrap_or_else(|| derive(says_mass, density * thickness, preset.area_density)),
            stretch_stiffness: said_stretch.unwrap_or_else(|| {
                preset
                    .stretch_stiffness
                    .map(|stiffness| derive(says_sheet, young_modulus * thickness, stiffness))
            }),
            shear_stiffness: self
                .shear_stiffness
                .unwrap_or_else(|| derive(says_sheet, shear, preset.shear_stiffness)),
            bend_stiffness: self
                .bend_stiffness
                .unwrap_or_else(|| derive(says_sheet, plate, preset.bend_stiffness)),
            strain_limit: self.strain_limit,
            friction: self.friction.unwrap_or(preset.friction),
            damping: self.damping.unwrap_or(preset.damping),
        }
    }

    /// What is wrong with the numbers: the key and the message that follows it.
    pub(crate) fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if let Some(Err(problem)) = self.preset.as_deref().map(find) {
            problems.push(("preset", format!("names no material: {problem}")));
        }
        let [warp, weft] = match self.stretch_stiffness {
            Some(stiffness) => stiffness.directions().map(Some),
            None => [None, None],
        };
        let positive = [
            ("young_modulus", self.young_modulus, "Pa"),
            ("density", self.density, "kg/m³"),
            ("thickness", self.thickness, "m"),
            ("area_density", self.area_density, "kg/m²"),
            ("stretch_stiffness", warp, "N/m"),
            ("stretch_stiffness", weft, "N/m"),
        ];
        for (key, value, unit) in positive {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                let must = finite_and(value, "above 0");
                problems.push((key, format!("is {} {unit}; it must be {must}", Short(value))));
            }
        }
        let from_zero = [
            ("shear_stiffness", self.shear_stiffness),
            ("bend_stiffness", self.bend_stiffness),
            ("friction", self.friction),
            ("damping", self.damping),
        ];
        for (key, value) in from_zero {
            if let Some(value) = value.filter(|value| !(*value >= 0.0 && value.is_finite())) {
                let must = finite_and(value, "0 or above");
                problems.push((key, format!("is {}; it must be {must}", Short(value))));
            }
        }
        if let Some(ratio) = self.poisson_ratio.filter(|ratio| !(0.0..0.5).contains(ratio)) {
            problems
                .push(("poisson_ratio", format!("is {}; it must be at least 0 and below 0.5", Short(ratio))));
        }
        if let Some(limit) = self.strain_limit.filter(|limit| !(*limit > 1.0 && limit.is_finite())) {
            problems
                .push(("strain_limit", format!("is {}; it is a ratio above 1, such as 1.05", Short(limit))));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{StretchStiffness, presets};
    use super::*;

    fn relative(a: f64, b: f64) -> f64 {
        (a - b).abs() / b.abs()
    }

    #[test]
    fn without_a_word_it_is_cotton() {
        assert_eq!(
            MaterialSpec::default().resolve().unwrap(),
            MaterialSpec::preset("cotton").resolve().unwrap()
        );
        assert_eq!(Material::default(), MaterialSpec::default().resolve().unwrap());
    }

    #[test]
    fn a_sheet_follows_from_modulus_and_thickness() {
        let spec = MaterialSpec {
            young_modulus: Some(1e6),
            thickness: Some(2e-3),
            poisson_ratio: Some(0.3),
            density: Some(1000.0),
            ..MaterialSpec::default()
        };
        let material = spec.resolve().unwrap();
        assert_eq!(material.stretch_stiffness, [2e3, 2e3]);
        assert_eq!(material.area_density, 2.0);
        assert!(relative(material.shear_stiffness, 2e3 / 2.6) < 1e-12);
        assert!(relative(material.bend_stiffness, 1e6 * 8e-9 / (12.0 * 0.91)) < 1e-12);
    }

    #[test]
    fn a_number_that_is_said_beats_one_that_is_derived() {
        let spec = MaterialSpec {
            young_modulus: Some(1e6),
            thickness: Some(1e-3),
            stretch_stiffness: Some(StretchStiffness::Directions { warp: 10.0, weft: 20.0 }),
            shear_stiffness: Some(3.0),
            bend_stiffness: Some(7e-6),
            area_density: Some(0.3),
            ..MaterialSpec::default()
        };
        let material = spec.resolve().unwrap();
        assert_eq!(material.stretch_stiffness, [10.0, 20.0]);
        let given = (material.shear_stiffness, material.bend_stiffness, material.area_density);
        assert_eq!(given, (3.0, 7e-6, 0.3));
    }

    #[test]
    fn changing_the_mass_of_a_preset_keeps_its_stiffness() {
        let silk = MaterialSpec::preset("silk").resolve().unwrap();
        let heavy =
            MaterialSpec { area_density: Some(0.5), ..MaterialSpec::preset("silk") }.resolve().unwrap();
        assert_eq!(heavy.stretch_stiffness, silk.stretch_stiffness);
        assert_eq!(heavy.shear_stiffness, silk.shear_stiffness);
        assert_eq!(heavy.bend_stiffness, silk.bend_stiffness);
        assert!(relative(heavy.density * heavy.thickness, 0.5) < 1e-12);
    }

    #[test]
    fn lame_parameters_give_back_young_and_poisson() {
        for preset in presets() {
            let material = preset.material();
            let solid = material.solid_lame();
            let young = solid.mu * (3.0 * solid.lambda + 2.0 * solid.mu) / (solid.lambda + solid.mu);
            let poisson = solid.lambda / (2.0 * (solid.lambda + solid.mu));
            assert!(relative(young, material.young_modulus) < 1e-9);
            assert!((poisson - material.poisson_ratio).abs() < 1e-9);
            // Plane stress: uniaxial stress along one axis leaves no stress across it, at strain -ν.
            let sheet = material.sheet_lame();
            let nu = material.poisson_ratio;
            let along = (sheet.lambda + 2.0 * sheet.mu) - sheet.lambda * nu;
            let across = sheet.lambda - (sheet.lambda + 2.0 * sheet.mu) * nu;
            assert!(relative(along, material.stretch_stiffness[0]) < 1e-9);
            assert!(across.abs() < 1e-9 * along);
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_key() {
        let cases = [
            (MaterialSpec { density: Some(0.0), ..Default::default() }, "`density` is 0 kg/m³"),
            (MaterialSpec { poisson_ratio: Some(0.5), ..Default::default() }, "`poisson_ratio` is 0.5"),
            (MaterialSpec { young_modulus: Some(f64::NAN), ..Default::default() }, "`young_modulus` is NaN"),
            (
                MaterialSpec { young_modulus: Some(f64::INFINITY), ..Default::default() },
                "`young_modulus` is inf Pa; it must be finite and above 0",
            ),
            (MaterialSpec { density: Some(-1e300), ..Default::default() }, "`density` is -1e300 kg/m³"),
            (MaterialSpec { friction: Some(-0.1), ..Default::default() }, "`friction` is -0.1"),
            (MaterialSpec { strain_limit: Some(0.9), ..Default::default() }, "`strain_limit` is 0.9"),
            (MaterialSpec::preset("dennim"), "did you mean `denim`?"),
        ];
        for (spec, expected) in cases {
            let error = spec.resolve().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_not_said_stays_consistent(
            young in prop::option::of(1e3..1e7_f64),
            thickness in prop::option::of(1e-4..1e-2_f64),
            stretch in prop::option::of(10.0..1e4_f64),
            density in prop::option::of(10.0..2e3_f64),
        ) {
            let stretch_stiffness = stretch.map(StretchStiffness::Uniform);
            let spec = MaterialSpec { young_modulus: young, thickness, stretch_stiffness, density, ..Default::default() };
            let material = spec.resolve().unwrap();
            prop_assert!(relative(material.density * material.thickness, material.area_density) < 1e-9);
            if young.is_none() || stretch.is_none() {
                let sheet = material.young_modulus * material.thickness;
                prop_assert!(relative(sheet, material.stretch_stiffness[0]) < 1e-9);
            }
        }
    }
}
