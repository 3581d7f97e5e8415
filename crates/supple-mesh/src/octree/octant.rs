//! Octants of 8 bytes (Milne 2016, section 5): the anchor in cells of the finest size, the height, and flags. They are
//! sorted by the Morton code of their anchors, which is never formed: the highest bit in which two anchors differ decides
//! (Chan 2002).

use std::cmp::Ordering;

/// The largest height of a root: 2¹⁵ cells along its side, so that the far corner still fits into 16 bits.
pub const MAX_HEIGHT: u8 = 15;

/// The flag of octants of the finest size intersected by the surface.
const SURFACE: u8 = 1;

/// A cube of `2^height` finest cells per side. Two octants are equal if they cover the same cells.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Octant {
    anchor: [u16; 3],
    height: u8,
    flags: u8,
}

impl Octant {
    /// The octant of a height with this lowest corner, in finest cells.
    pub fn new(anchor: [u16; 3], height: u8) -> Self {
        Self { anchor, height, flags: 0 }
    }

    /// The same, intersected by the surface.
    pub fn on_surface(mut self) -> Self {
        self.flags |= SURFACE;
        self
    }

    /// Whether the surface intersects it.
    pub fn is_on_surface(self) -> bool {
        self.flags & SURFACE != 0
    }

    /// Its lowest corner in finest cells.
    pub fn anchor(self) -> [u16; 3] {
        self.anchor
    }

    /// Its height: 0 for the finest.
    pub fn height(self) -> u8 {
        self.height
    }

    /// Its side in finest cells.
    pub fn size(self) -> u16 {
        1 << self.height
    }

    /// A corner in finest cells; bit `k` of its number is its side along axis `k`.
    pub fn corner(self, number: usize) -> [u16; 3] {
        let side = |axis: usize| self.anchor[axis] + ((number >> axis & 1) as u16) * self.size();
        [side(0), side(1), side(2)]
    }

    /// The octant twice as large that contains it.
    pub fn parent(self) -> Self {
        let mask = !((self.size() << 1) - 1);
        Self::new(self.anchor.map(|a| a & mask), self.height + 1)
    }

    /// Its child number in its parent; numbered like corners.
    pub fn child_number(self) -> usize {
        let bit = |axis: usize| usize::from(self.anchor[axis] >> self.height & 1) << axis;
        bit(0) | bit(1) | bit(2)
    }

    /// One of its eight children.
    pub fn child(self, number: usize) -> Self {
        let half = self.size() >> 1;
        let side = |axis: usize| self.anchor[axis] + ((number >> axis & 1) as u16) * half;
        Self::new([side(0), side(1), side(2)], self.height - 1)
    }

    /// The octant of its size at this offset in sizes, if the root of height `root` contains it.
    pub fn neighbour(self, offset: [i32; 3], root: u8) -> Option<Self> {
        let size = i32::from(self.size());
        let mut anchor = [0; 3];
        for axis in 0..3 {
            let moved = i32::from(self.anchor[axis]) + offset[axis] * size;
            if moved < 0 || moved >= 1 << root {
                return None;
            }
            anchor[axis] = moved as u16;
        }
        Some(Self::new(anchor, self.height))
    }

    /// Whether it contains a cell of the finest size.
    pub fn holds(self, cell: [u16; 3]) -> bool {
        (0..3).all(|axis| cell[axis] >> self.height == self.anchor[axis] >> self.height)
    }
}

impl PartialEq for Octant {
    fn eq(&self, other: &Self) -> bool {
        self.anchor == other.anchor && self.height == other.height
    }
}

impl Eq for Octant {}

impl PartialOrd for Octant {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Octant {
    fn cmp(&self, other: &Self) -> Ordering {
        morton_order(self.anchor, other.anchor).then(other.height.cmp(&self.height))
    }
}

/// The order of two points by their Morton codes, in which bits of z come before those of y and x.
pub fn morton_order(a: [u16; 3], b: [u16; 3]) -> Ordering {
    let mut axis = 2;
    let mut highest = a[2] ^ b[2];
    for other in [1, 0] {
        let difference = a[other] ^ b[other];
        // Whether its highest bit is above that of the axis so far.
        if highest < difference && highest < (highest ^ difference) {
            (axis, highest) = (other, difference);
        }
    }
    a[axis].cmp(&b[axis])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use supple_core::morton::encode;

    proptest! {
        #[test]
        fn octants_are_sorted_by_morton_codes(a: [u16; 3], b: [u16; 3]) {
            let code = |p: [u16; 3]| encode(p.map(u32::from));
            prop_assert_eq!(morton_order(a, b), code(a).cmp(&code(b)));
        }

        #[test]
        fn children_lie_in_their_parents_and_know_their_number(a: [u16; 3], height in 1u8..10, number in 0usize..8) {
            let anchor = a.map(|c| (c & 0x7fff) >> height << height);
            let parent = Octant::new(anchor, height);
            let child = parent.child(number);
            prop_assert_eq!(child.parent(), parent);
            prop_assert_eq!(child.child_number(), number);
            prop_assert!(parent.holds(child.anchor()));
            prop_assert_eq!(child.corner(number), parent.corner(number));
        }
    }

    #[test]
    fn an_octant_has_eight_bytes_and_neighbours_inside_the_root_only() {
        assert_eq!(size_of::<Octant>(), 8);
        let corner = Octant::new([6, 0, 4], 1);
        assert_eq!(corner.neighbour([0, 1, -1], 3), Some(Octant::new([6, 2, 2], 1)));
        assert_eq!(corner.neighbour([1, 0, 0], 3), None);
        assert_eq!(corner.neighbour([0, -1, 0], 3), None);
    }
}
