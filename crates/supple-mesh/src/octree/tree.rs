//! An incomplete linear octree with its nodes (Milne 2016, sections 3.2, 5 and 6): the leaves that are elements, which of
//! their corners hang, and the conforming nodes in their place.
//!
//! The corners of an element are numbered from the corner that it shares with its parent: slot `m` is corner `m ^ c`
//! of child `c`. In this order the shape functions of all elements have the same form: slot 0 is a corner of the
//! parent and never hangs, slots 1, 2 and 4 lie in the middle of the parent's edges, 3, 5 and 6 in the middle of its
//! faces, 7 in its centre. Hanging slots are interpolated from corners of the parent, so the conforming node of a
//! hanging slot is the same corner of the parent. A balanced tree has all of these as nodes.
//!
//! Nodes are numbered by the first element that has them. The paper numbers nodes and elements as one list of
//! octants; separately, vectors over nodes have no gaps where anchors hang.

use glam::DVec3;
use supple_core::parallel::prelude::*;

use super::octant::{Octant, morton_order};

/// Elements per task.
const CHUNK: usize = 4096;

/// Hanging slots of an element: bit `k` for the middle of the parent's edge along axis `k` (slot `1 << k`), bit `3 + k` for
/// the middle of its face across axis `k` (slot `7 ^ (1 << k)`).
pub type Hanging = u8;

/// The position of a tree's finest cells in space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OctreeFrame {
    /// The root's lowest corner in metres.
    pub origin: DVec3,
    /// The finest cells' side in metres.
    pub cell: f64,
    /// The root's height.
    pub root: u8,
}

impl OctreeFrame {
    /// The position of a cell corner in metres.
    pub fn place(&self, corner: [u16; 3]) -> DVec3 {
        self.origin + self.cell * DVec3::from_array(corner.map(f64::from))
    }
}

/// Elements and nodes of one body.
#[derive(Debug, Clone, PartialEq)]
pub struct Octree {
    /// Its position in space.
    pub frame: OctreeFrame,
    elements: Vec<Octant>,
    hanging: Vec<Hanging>,
    /// The conforming nodes of every element's slots.
    conforming: Vec<[u32; 8]>,
    /// The nodes' positions in finest cells.
    nodes: Vec<[u16; 3]>,
}

/// A node as seen by an element: its position, the element and the slot.
#[derive(Clone, Copy)]
struct NodeVisit {
    place: [u16; 3],
    element: u32,
    slot: u8,
}

impl Octree {
    /// The octree of some leaves of a balanced tree, which must be sorted.
    pub fn new(frame: OctreeFrame, elements: Vec<Octant>) -> Self {
        let hanging: Vec<Hanging> = elements
            .par_iter()
            .with_min_len(CHUNK)
            .map(|&element| hanging_slots(&elements, element, frame.root))
            .collect();
        let mut meetings: Vec<NodeVisit> = elements
            .par_iter()
            .enumerate()
            .with_min_len(CHUNK)
            .flat_map_iter(|(e, &element)| {
                let hanging = hanging[e];
                let stands = move |slot: &u8| !hangs(hanging, usize::from(*slot));
                (0..8u8).filter(stands).map(move |slot| {
                    let place = element.corner(usize::from(slot) ^ element.child_number());
                    NodeVisit { place, element: e as u32, slot }
                })
            })
            .collect();
        let by_place = |a: &NodeVisit, b: &NodeVisit| {
            morton_order(a.place, b.place).then(a.element.cmp(&b.element)).then(a.slot.cmp(&b.slot))
        };
        meetings.par_sort_unstable_by(by_place);
        meetings.dedup_by(|later, first| later.place == first.place);
        let (nodes, number) = numbered(&meetings);
        let find = |place: [u16; 3]| {
            let at = meetings.binary_search_by(|meeting| morton_order(meeting.place, place));
            number[at
                .expect("the corners of a balanced tree's parents are nodes where something hangs on them")]
        };
        let conforming = elements
            .par_iter()
            .zip(&hanging)
            .with_min_len(CHUNK)
            .map(|(&element, &hanging)| {
                std::array::from_fn(|slot| find(conforming_place(element, hanging, slot)))
            })
            .collect();
        Self { frame, elements, hanging, conforming, nodes }
    }

    /// The elements, in the order of their Morton codes.
    pub fn elements(&self) -> &[Octant] {
        &self.elements
    }

    /// Which slots of each element hang.
    pub fn hanging(&self) -> &[Hanging] {
        &self.hanging
    }

    /// The conforming nodes of each element's slots.
    pub fn conforming(&self) -> &[[u32; 8]] {
        &self.conforming
    }

    /// The nodes' positions in finest cells.
    pub fn nodes(&self) -> &[[u16; 3]] {
        &self.nodes
    }

    /// The nodes' positions in metres.
    pub fn node_places(&self) -> Vec<DVec3> {
        self.nodes.iter().map(|node| self.frame.place(*node)).collect()
    }

    /// The side of an element in metres.
    pub fn side(&self, element: usize) -> f64 {
        self.frame.cell * f64::from(self.elements[element].size())
    }

    /// The centre of an element in metres.
    pub fn centre(&self, element: usize) -> DVec3 {
        self.frame.place(self.elements[element].anchor()) + 0.5 * self.side(element)
    }

    /// The last element that starts at or before a finest cell in the order of Morton codes; the first one if none does.
    pub fn before(&self, cell: [u16; 3]) -> usize {
        let after = self.elements.partition_point(|element| morton_order(element.anchor(), cell).is_le());
        after.saturating_sub(1)
    }

    /// The element that contains a finest cell.
    pub fn find(&self, cell: [u16; 3]) -> Option<usize> {
        let before = self.before(cell);
        self.elements.get(before)?.holds(cell).then_some(before)
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        (size_of::<Octant>() + size_of::<Hanging>() + size_of::<[u32; 8]>()) * self.elements.len()
            + size_of::<[u16; 3]>() * self.nodes.len()
    }
}

/// The nodes in the order of their first elements, and the number of each position.
fn numbered(meetings: &[NodeVisit]) -> (Vec<[u16; 3]>, Vec<u32>) {
    let mut order: Vec<u32> = (0..meetings.len() as u32).collect();
    order.par_sort_unstable_by_key(|&at| {
        let meeting = &meetings[at as usize];
        (meeting.element, meeting.slot)
    });
    let mut number = vec![0; meetings.len()];
    for (node, &at) in order.iter().enumerate() {
        number[at as usize] = node as u32;
    }
    (order.iter().map(|&at| meetings[at as usize].place).collect(), number)
}

/// Whether a slot hangs.
pub fn hangs(hanging: Hanging, slot: usize) -> bool {
    match slot {
        1 | 2 | 4 => hanging >> slot.trailing_zeros() & 1 == 1,
        3 | 5 | 6 => hanging >> (3 + (7 ^ slot).trailing_zeros()) & 1 == 1,
        _ => false,
    }
}

/// The slots of an element that lie inside an edge or a face of a leaf twice its size: any of the three others around the
/// parent's edge, or the one across the parent's face.
fn hanging_slots(elements: &[Octant], element: Octant, root: u8) -> Hanging {
    if element.height() >= root {
        return 0;
    }
    let (parent, number) = (element.parent(), element.child_number());
    let step = |axis: usize| if number >> axis & 1 == 0 { -1 } else { 1 };
    let is_leaf = |offset: [i32; 3]| {
        parent.neighbour(offset, root).is_some_and(|beside| elements.binary_search(&beside).is_ok())
    };
    let across = |axis: usize| {
        let mut offset = [0; 3];
        offset[axis] = step(axis);
        is_leaf(offset)
    };
    let faces = [across(0), across(1), across(2)];
    let mut hanging = 0;
    for axis in 0..3 {
        let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut diagonal = [step(0), step(1), step(2)];
        diagonal[axis] = 0;
        if faces[i] || faces[j] || is_leaf(diagonal) {
            hanging |= 1 << axis;
        }
        if faces[axis] {
            hanging |= 8 << axis;
        }
    }
    hanging
}

/// The position of a slot's conforming node.
fn conforming_place(element: Octant, hanging: Hanging, slot: usize) -> [u16; 3] {
    let corner = slot ^ element.child_number();
    if hangs(hanging, slot) { element.parent().corner(corner) } else { element.corner(corner) }
}
