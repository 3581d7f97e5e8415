//! 63-bit Morton codes: the bits of three 21-bit coordinates interleaved, so that points that are close on the curve
//! are close in space (Morton 1966). Bit 0 belongs to x, bit 1 to y, bit 2 to z.

use glam::DVec3;

use crate::Aabb;

/// Bits per coordinate.
pub const BITS: u32 = 21;

/// The code of three coordinates, each below 2^21 (higher bits are dropped).
pub fn encode([x, y, z]: [u32; 3]) -> u64 {
    spread(x) | spread(y) << 1 | spread(z) << 2
}

/// The three coordinates of a code.
pub fn decode(code: u64) -> [u32; 3] {
    [gather(code), gather(code >> 1), gather(code >> 2)]
}

/// Maps points of a box to codes.
#[derive(Debug, Clone, Copy)]
pub struct MortonGrid {
    low: DVec3,
    cells_per_metre: DVec3,
}

impl MortonGrid {
    /// A grid of 2^21 cubic cells along the box's longest side. Cubes, not cells stretched to the box: neighbours on
    /// the curve are then close in Euclidean distance.
    pub fn new(bounds: &Aabb) -> Self {
        let side = (bounds.high - bounds.low).max_element();
        let scale = if side.is_finite() && side > 0.0 { f64::from(1u32 << BITS) / side } else { 0.0 };
        Self { low: bounds.low, cells_per_metre: DVec3::splat(scale) }
    }

    /// The code of a point; points outside are clamped to the box, and NaN maps to its corner.
    pub fn code(&self, point: DVec3) -> u64 {
        let cell = (point - self.low) * self.cells_per_metre;
        let largest = (1u32 << BITS) - 1;
        encode(cell.to_array().map(|c| (c as u32).min(largest)))
    }
}

fn spread(v: u32) -> u64 {
    let mut v = u64::from(v) & 0x1f_ffff;
    v = (v | v << 32) & 0x001f_0000_0000_ffff;
    v = (v | v << 16) & 0x001f_0000_ff00_00ff;
    v = (v | v << 8) & 0x100f_00f0_0f00_f00f;
    v = (v | v << 4) & 0x10c3_0c30_c30c_30c3;
    (v | v << 2) & 0x1249_2492_4924_9249
}

fn gather(code: u64) -> u32 {
    let mut v = code & 0x1249_2492_4924_9249;
    v = (v | v >> 2) & 0x10c3_0c30_c30c_30c3;
    v = (v | v >> 4) & 0x100f_00f0_0f00_f00f;
    v = (v | v >> 8) & 0x001f_0000_ff00_00ff;
    v = (v | v >> 16) & 0x001f_0000_0000_ffff;
    ((v | v >> 32) & 0x1f_ffff) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_interleaved_one_by_one(x in 0u32..1 << BITS, y in 0u32..1 << BITS, z in 0u32..1 << BITS) {
            let by_hand = (0..BITS).fold(0u64, |code, bit| {
                let of = |v: u32, axis: u32| u64::from(v >> bit & 1) << (3 * bit + axis);
                code | of(x, 0) | of(y, 1) | of(z, 2)
            });
            prop_assert_eq!(encode([x, y, z]), by_hand);
            prop_assert_eq!(decode(by_hand), [x, y, z]);
        }
    }

    #[test]
    fn corners_of_the_box_have_the_first_and_last_code() {
        let grid = MortonGrid::new(&Aabb { low: DVec3::splat(-1.0), high: DVec3::splat(3.0) });
        assert_eq!(grid.code(DVec3::splat(-1.0)), 0);
        assert_eq!(grid.code(DVec3::splat(3.0)), (1 << 63) - 1);
        assert_eq!(grid.code(DVec3::splat(1.0)), 0b111 << 60);
    }

    #[test]
    fn points_that_are_not_numbers_or_outside_are_clamped() {
        let grid = MortonGrid::new(&Aabb { low: DVec3::ZERO, high: DVec3::ONE });
        assert_eq!(grid.code(DVec3::NAN), 0);
        assert_eq!(grid.code(DVec3::INFINITY), (1 << 63) - 1);
        assert_eq!(grid.code(DVec3::splat(-5.0)), 0);
        assert_eq!(MortonGrid::new(&Aabb::EMPTY).code(DVec3::ONE), 0);
    }
}
