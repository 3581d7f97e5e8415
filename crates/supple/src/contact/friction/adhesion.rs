//! The slip of pairs of surfaces since they first stuck, kept from step to step for adhesive friction.
//!
//! A slip is perpendicular to the normal. It is stored in the frame of the normal and an edge of the pair, so that primitives which
//! rotate together keep sticking.

use glam::DVec3;

use super::FrictionConstraint;
use crate::contact::PrimitivePair;
use crate::contact::barrier::ContactKind;
use crate::contact::friction::across;
use supple_core::Error;
use supple_core::state::{StateReader, StateWriter};

/// Slips of pairs, ordered by them.
#[derive(Debug, Default)]
pub(crate) struct Adhesion {
    held: Vec<(Key, [f64; 2])>,
}

/// The kind of a contact as a number, and its points.
type Key = (u32, [u32; 4]);

impl Adhesion {
    /// The slip of a pair with this normal now; zero for a new pair.
    pub(crate) fn slip(&self, kind: ContactKind, points: [u32; 4], normal: DVec3, at: &[DVec3]) -> DVec3 {
        let Ok(place) = self.held.binary_search_by_key(&key(kind, points), |(key, _)| *key) else {
            return DVec3::ZERO;
        };
        let [along, beside] = frame(kind, points, normal, at);
        let [u, v] = self.held[place].1;
        u * along + v * beside
    }

    /// Stores the `slip` of each friction constraint at the end of a step.
    pub(crate) fn keep(
        &mut self,
        friction_constraints: &[FrictionConstraint],
        at: &[DVec3],
        slip: impl Fn(&FrictionConstraint) -> DVec3,
    ) {
        self.held.clear();
        self.held.extend(friction_constraints.iter().map(|constraint| {
            let axes = frame(constraint.kind, constraint.points, constraint.normal, at);
            (key(constraint.kind, constraint.points), axes.map(|axis| axis.dot(slip(constraint))))
        }));
        self.held.sort_unstable_by_key(|(key, _)| *key);
    }

    /// Saves all slips.
    pub(crate) fn save(&self, state: &mut StateWriter) {
        let pair = |((kind, points), _): &(Key, [f64; 2])| {
            let [a, b, c, d] = *points;
            [*kind, a, b, c, d]
        };
        state.words(&self.held.iter().flat_map(pair).collect::<Vec<u32>>());
        let slips = self.held.iter().map(|(_, [u, v])| DVec3::new(*u, *v, 0.0));
        state.vectors(&slips.collect::<Vec<DVec3>>());
    }

    /// Restores saved slips.
    pub(crate) fn restore(&mut self, state: &mut StateReader<'_>) -> Result<(), Error> {
        let (words, slips) = (state.words()?, state.list()?);
        let held = |(&[kind, ref points @ ..], slip): (&[u32; 5], DVec3)| ((kind, *points), [slip.x, slip.y]);
        self.held = words.as_chunks::<5>().0.iter().zip(slips).map(held).collect();
        Ok(())
    }
}

fn key(kind: ContactKind, points: [u32; 4]) -> Key {
    let number = match kind {
        ContactKind::Pair(PrimitivePair::VertexTriangle) => 0,
        ContactKind::Pair(PrimitivePair::EdgeEdge) => 1,
        ContactKind::VertexSolid(solid) => 2 + 2 * solid,
        ContactKind::TriangleSolid(solid) => 3 + 2 * solid,
    };
    (number, points)
}

/// Two axes perpendicular to the normal, the first along an edge of the pair.
fn frame(kind: ContactKind, points: [u32; 4], normal: DVec3, at: &[DVec3]) -> [DVec3; 2] {
    let [from, to] = match kind {
        ContactKind::Pair(PrimitivePair::VertexTriangle) => [points[1], points[2]],
        ContactKind::Pair(PrimitivePair::EdgeEdge) | ContactKind::TriangleSolid(_) => [points[0], points[1]],
        ContactKind::VertexSolid(_) => [points[0]; 2],
    };
    let edge = across(at[to as usize] - at[from as usize], normal);
    let along = edge.try_normalize().unwrap_or_else(|| normal.any_orthonormal_vector());
    [along, normal.cross(along)]
}
