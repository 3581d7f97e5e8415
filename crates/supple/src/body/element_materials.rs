//! The material of each element of a body: the body's own, that of a region, or a random variation.

use glam::DVec3;

use crate::material::Material;
use crate::scene::{Region, Selection, Spread};
use supple_core::Error;

/// The materials of a body's elements.
#[derive(Debug, Clone, PartialEq)]
pub struct ElementMaterials {
    /// The body's own material, then those of its regions.
    materials: Vec<Material>,
    /// The material of each element; empty if all have the body's own.
    of_element: Vec<u32>,
    /// The stiffness factor of each element; empty if there is none.
    factors: Vec<f64>,
}

impl From<Material> for ElementMaterials {
    fn from(material: Material) -> Self {
        Self { materials: vec![material], of_element: Vec::new(), factors: Vec::new() }
    }
}

impl ElementMaterials {
    /// The materials of elements with these centres at the start; later regions override earlier ones. `select` gives
    /// the centres inside a selection.
    pub fn new(
        material: Material,
        regions: &[Region],
        centres: &[DVec3],
        select: impl Fn(&Selection) -> Result<Vec<u32>, Error>,
    ) -> Result<Self, Error> {
        let mut all = Self::from(material);
        if regions.is_empty() {
            return Ok(all);
        }
        all.of_element = vec![0; centres.len()];
        for region in regions {
            let chosen = select(&region.selection)?;
            if let Some(spec) = &region.material {
                let index = all.materials.len() as u32;
                all.materials.push(spec.resolve()?);
                chosen.iter().for_each(|&e| all.of_element[e as usize] = index);
            }
            if let Some(spread) = &region.random {
                all.factors.resize(centres.len(), 1.0);
                chosen.iter().for_each(|&e| all.factors[e as usize] = random_factor(spread, e));
            }
        }
        Ok(all)
    }

    /// The material of an element.
    pub fn of(&self, element: usize) -> Material {
        let index = self.of_element.get(element).map_or(0, |&index| index as usize);
        let material = self.materials[index].clone();
        match self.factors.get(element) {
            Some(&factor) => material.stiffened(factor),
            None => material,
        }
    }

    /// The body's own material.
    pub fn main(&self) -> &Material {
        &self.materials[0]
    }
}

/// A factor between `1/spread` and `spread`, uniform in its logarithm, from the seed and the element's number alone.
fn random_factor(spread: &Spread, element: u32) -> f64 {
    // SplitMix64 (Steele, Lea and Flood 2014).
    let mut z = spread.seed.wrapping_add(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(u64::from(element) + 1));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let uniform = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
    spread.spread.powf(2.0 * uniform - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_factors_fill_the_spread_evenly_on_a_logarithmic_scale() {
        let spread = Spread { spread: 10.0, seed: 7 };
        let logs: Vec<f64> = (0..10_000).map(|e| random_factor(&spread, e).log10()).collect();
        assert!(logs.iter().all(|l| (-1.0..=1.0).contains(l)));
        let mean = logs.iter().sum::<f64>() / 1e4;
        let variance = logs.iter().map(|l| l * l).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.02 && (variance - 1.0 / 3.0).abs() < 0.01, "{mean} {variance}");
    }
}
