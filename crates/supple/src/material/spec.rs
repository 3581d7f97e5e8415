//! A material as specified in a scene.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Stretch stiffness of cloth in N/m: force per metre of width at unit strain. In a scene file a number, or a
/// table with `warp` and `weft`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

impl StretchStiffness {
    /// Along warp and along weft.
    pub fn directions(self) -> [f64; 2] {
        match self {
            Self::Uniform(stiffness) => [stiffness, stiffness],
            Self::Directions { warp, weft } => [warp, weft],
        }
    }
}

/// A material as specified in a scene file: a preset's name, or a table that may start from a preset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct MaterialSpec {
    /// The preset to start from [default: `cotton`].
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
    /// Shear stiffness of woven cloth in N/m: shear force per metre of width and radian of the angle between warp and weft; overrides that
    /// of a homogeneous sheet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shear_stiffness: Option<f64>,
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

impl MaterialSpec {
    /// A preset by name, unchanged.
    pub fn preset(name: impl Into<String>) -> Self {
        Self { preset: Some(name.into()), ..Self::default() }
    }
}

impl From<&str> for MaterialSpec {
    fn from(preset: &str) -> Self {
        Self::preset(preset)
    }
}

impl Serialize for MaterialSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for MaterialSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PresetOrTable)
    }
}

/// Reads `"name"` as `{ preset = "name" }`.
struct PresetOrTable;

impl<'de> Visitor<'de> for PresetOrTable {
    type Value = MaterialSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a preset's name, or a table")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<MaterialSpec, E> {
        Ok(MaterialSpec::preset(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<MaterialSpec, A::Error> {
        MaterialSpec::deserialize(MapAccessDeserializer::new(table))
    }
}

/// The table form of [`StretchStiffness`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Directions {
    warp: f64,
    weft: f64,
}

impl<'de> Deserialize<'de> for StretchStiffness {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrTable)
    }
}

struct NumberOrTable;

impl<'de> Visitor<'de> for NumberOrTable {
    type Value = StretchStiffness;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number in N/m, or a table with `warp` and `weft`")
    }

    fn visit_f64<E: de::Error>(self, stiffness: f64) -> Result<StretchStiffness, E> {
        Ok(StretchStiffness::Uniform(stiffness))
    }

    fn visit_i64<E: de::Error>(self, stiffness: i64) -> Result<StretchStiffness, E> {
        Ok(StretchStiffness::Uniform(stiffness as f64))
    }

    fn visit_u64<E: de::Error>(self, stiffness: u64) -> Result<StretchStiffness, E> {
        Ok(StretchStiffness::Uniform(stiffness as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<StretchStiffness, A::Error> {
        let Directions { warp, weft } = Directions::deserialize(MapAccessDeserializer::new(table))?;
        Ok(StretchStiffness::Directions { warp, weft })
    }
}
