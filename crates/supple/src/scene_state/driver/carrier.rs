//! Surfaces that carry nearby points: each point keeps its position relative to one face.

use std::sync::Arc;

use glam::{DMat3, DMat4, DVec3};

use supple_mesh::geometry::TriangleTree;
use supple_mesh::geometry::triangle::combine;
use supple_mesh::skin::Skin;

/// Position of a point on a surface that carries it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Anchor {
    triangle: u32,
    barycentric: [f64; 3],
    /// On a skin the modelled position; on faces the offset from its triangle, along the triangle's own axes.
    local: DVec3,
}

/// A surface at one time, in world metres.
#[derive(Debug)]
pub(crate) enum Carrier<'a> {
    /// A skin, and the current transform of each of its bones.
    Bones { skin: &'a Skin, bones: Vec<DMat4> },
    /// Triangles, and the positions of their vertices.
    Faces { triangles: &'a [[u32; 3]], positions: Vec<DVec3> },
}

impl Carrier<'_> {
    /// The position of an anchored point.
    pub(crate) fn place(&self, anchor: &Anchor) -> DVec3 {
        match self {
            Self::Bones { skin, bones } => {
                let mut place = DVec3::ZERO;
                for_each_bone(skin, anchor, |bone, weight| {
                    place += weight * bones[bone].transform_point3(anchor.local);
                });
                place
            }
            Self::Faces { .. } => {
                let corners = self.corners(anchor.triangle);
                combine(&corners, anchor.barycentric) + axes(&corners) * anchor.local
            }
        }
    }

    /// The anchor of a point that is at `place` now.
    fn anchored(&self, mut anchor: Anchor, place: DVec3) -> Anchor {
        anchor.local = match self {
            Self::Bones { skin, bones } => {
                let mut blended = DMat4::ZERO;
                for_each_bone(skin, &anchor, |bone, weight| blended += bones[bone] * weight);
                let modelled = blended.inverse().transform_point3(place);
                // Bones that rotate relative to each other can collapse their mean.
                if modelled.is_finite() { modelled } else { place }
            }
            Self::Faces { .. } => {
                let corners = self.corners(anchor.triangle);
                axes(&corners).transpose() * (place - combine(&corners, anchor.barycentric))
            }
        };
        anchor
    }

    fn corners(&self, triangle: u32) -> [DVec3; 3] {
        match self {
            Self::Bones { skin, .. } => skin.triangles[triangle as usize].map(|v| skin.positions[v as usize]),
            Self::Faces { triangles, positions } => {
                triangles[triangle as usize].map(|v| positions[v as usize])
            }
        }
    }
}

/// The bones that an anchored point follows: those of its triangle's corners, by their weights.
fn for_each_bone(skin: &Skin, anchor: &Anchor, mut each: impl FnMut(usize, f64)) {
    for (corner, share) in skin.triangles[anchor.triangle as usize].into_iter().zip(anchor.barycentric) {
        for &(bone, weight) in skin.influences.of(corner as usize) {
            each(bone as usize, share * weight);
        }
    }
}

/// A triangle's own axes: along its first side, across it, and its normal.
fn axes(&[a, b, c]: &[DVec3; 3]) -> DMat3 {
    let along = (b - a).normalize_or(DVec3::X);
    let normal = (b - a).cross(c - a).normalize_or(along.any_orthonormal_vector());
    DMat3::from_cols(along, normal.cross(along), normal)
}

/// Finds the anchors of points when their driver becomes active.
#[derive(Debug)]
pub(crate) struct Anchoring<'a> {
    tree: Arc<TriangleTree>,
    /// Whether a point belongs to the face nearest to its rest position, not to that nearest to its current one.
    by_rest: bool,
    carrier: Carrier<'a>,
}

impl<'a> Anchoring<'a> {
    /// By the faces of `tree` nearest to points at rest; `carrier` is the surface when the driver becomes active.
    pub(crate) fn at_rest(tree: &Arc<TriangleTree>, carrier: Carrier<'a>) -> Self {
        Self { tree: tree.clone(), by_rest: true, carrier }
    }

    /// By the faces nearest to the current positions.
    pub(crate) fn where_they_are(tree: Arc<TriangleTree>, carrier: Carrier<'a>) -> Self {
        Self { tree, by_rest: false, carrier }
    }

    /// The anchor of a point with the rest position `rest` that is at `place` now.
    pub(crate) fn anchor(&self, rest: DVec3, place: DVec3) -> Anchor {
        let query = if self.by_rest { rest } else { place };
        let found = self.tree.closest_point(query, f64::INFINITY);
        let (triangle, barycentric) =
            found.map_or((0, [1.0, 0.0, 0.0]), |closest| (closest.triangle, closest.barycentric));
        self.carrier.anchored(Anchor { triangle, barycentric, local: DVec3::ZERO }, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_beside_a_face_moves_rigidly_with_it_and_one_in_it_with_its_corners() {
        let triangles = [[0, 1, 2]];
        let start = vec![DVec3::ZERO, DVec3::X, DVec3::Y];
        let turned: Vec<DVec3> = start.iter().map(|p| DVec3::new(3.0, p.x, p.y)).collect();
        let tree = Arc::new(TriangleTree::new(&start, triangles.to_vec()));
        let carrier = Carrier::Faces { triangles: &triangles, positions: start };
        let anchoring = Anchoring::at_rest(&tree, carrier);
        let later = Carrier::Faces { triangles: &triangles, positions: turned };
        for p in [DVec3::new(0.2, 0.3, 0.0), DVec3::new(0.2, 0.3, 0.7), DVec3::new(-0.5, 1.5, -0.2)] {
            let anchor = anchoring.anchor(p, p);
            assert!(anchoring.carrier.place(&anchor).distance(p) < 1e-15);
            // x, y and the normal z of the triangle have become y, z and x.
            assert!(later.place(&anchor).distance(DVec3::new(3.0 + p.z, p.x, p.y)) < 1e-15);
        }
        let wide = vec![DVec3::ZERO, 2.0 * DVec3::X, 2.0 * DVec3::Y];
        let wide = Carrier::Faces { triangles: &triangles, positions: wide };
        let inside = DVec3::new(0.2, 0.3, 0.0);
        assert!(wide.place(&anchoring.anchor(inside, inside)).distance(2.0 * inside) < 1e-15);
    }
}
