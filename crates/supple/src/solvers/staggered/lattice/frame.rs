//! The rotation of a whole body, factored out of its displacements: with the centre `c` of the body at rest,
//!
//! ```text
//! x = c + R0 (X + u - c).
//! ```
//!
//! Pressures in cells and displacements on faces are a stable pair as long as the displacements are along the faces'
//! normals. For a body rotated by a right angle they are not: the divergence `R : F` then depends on
//! displacements along faces, and a pressure that alternates its sign from cell to cell is invisible to it. Cycles know
//! nothing of rotations either. In a frame that rotates with the body both are as at rest.
//!
//! When the frame rotates, displacements are recomputed: the new component along a face's normal mixes the old component
//! there with the others, which are means of the four around the face. So linear fields, and with them rigid motions, are
//! reproduced exactly.

use glam::{DMat3, DQuat, DVec3};
use supple_core::parallel::prelude::*;

use crate::solvers::staggered::lattice::embedding::{Interpolation, LatticePoints};
use crate::solvers::staggered::lattice::{Lattice, Variable};

/// A body that has rotated by more than this relative to its frame rotates the frame, in radians.
const FARTHEST: f64 = 0.15;
/// Faces processed by one task.
const CHUNK: usize = 4096;

/// The reference frame of a body's displacements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BodyFrame {
    /// `R0`.
    pub(crate) rotation: DMat3,
    middle: DVec3,
}

impl BodyFrame {
    /// The frame of a body at rest.
    pub(crate) fn new(rest: &[DVec3]) -> Self {
        let (low, high) = rest.iter().fold((rest[0], rest[0]), |(low, high), p| (low.min(*p), high.max(*p)));
        Self { rotation: DMat3::IDENTITY, middle: 0.5 * (low + high) }
    }

    /// The position of a point.
    pub(crate) fn place(&self, rest: DVec3, displacement: DVec3) -> DVec3 {
        if self.rotation == DMat3::IDENTITY {
            return rest + displacement;
        }
        self.middle + self.rotation * (rest + displacement - self.middle)
    }

    /// The displacement of a point from its position.
    pub(crate) fn displacement(&self, rest: DVec3, place: DVec3) -> DVec3 {
        if self.rotation == DMat3::IDENTITY {
            return place - rest;
        }
        self.inward(place - self.middle) + self.middle - rest
    }

    /// A force or velocity in the frame's axes.
    pub(crate) fn inward(&self, vector: DVec3) -> DVec3 {
        self.rotation.transpose() * vector
    }

    /// The frame rotated with a body, if that rotated far enough relative to this one.
    pub(crate) fn turned(&self, by: DMat3) -> Option<Self> {
        let quaternion = DQuat::from_mat3(&by);
        let angle = 2.0 * quaternion.xyz().length().atan2(quaternion.w.abs());
        // Via a unit quaternion, so that many rotations do not accumulate a stretch.
        let rotation = DQuat::from_mat3(&(self.rotation * by)).normalize();
        (angle > FARTHEST).then(|| Self { rotation: DMat3::from_quat(rotation), ..*self })
    }
}

/// The faces of a lattice with values, and how full vectors are computed on them.
#[derive(Debug)]
pub(crate) struct FaceVectors {
    /// Fields and entries of faces around which all values are known.
    inner: Vec<(u8, u32)>,
    /// Those of the others, and the same as points of the lattice.
    outer: Vec<(u8, u32)>,
    points: LatticePoints,
}

impl FaceVectors {
    pub(crate) fn new(lattice: &Lattice) -> Self {
        let faces = (0..3).flat_map(|field| {
            let known = move |cell: &usize| is_known(lattice, field, *cell);
            (0..lattice.len()).filter(known).map(move |cell| (field as u8, cell as u32))
        });
        let (inner, outer): (Vec<_>, Vec<_>) = faces.partition(|&(field, cell)| {
            let field = usize::from(field);
            others(field).iter().all(|of| {
                around(lattice, field, *of, cell as usize).iter().all(|c| is_known(lattice, *of, *c))
            })
        });
        let place = |&(field, cell): &(u8, u32)| in_cells(lattice, field.into(), cell as usize);
        let places: Vec<DVec3> = outer.iter().map(place).collect();
        Self { points: LatticePoints::new(lattice, &places, Interpolation::Trilinear), inner, outer }
    }

    /// Rotates vectors: the value of every face becomes `turn` of its position in cells and the full vector there.
    pub(crate) fn turn(
        &self,
        lattice: &Lattice,
        fields: &mut [f64],
        before: &[f64],
        turn: impl Fn(DVec3, DVec3) -> DVec3 + Sync,
    ) {
        let len = lattice.len();
        let value = |(field, cell): (u8, u32), vector: DVec3| {
            let field = usize::from(field);
            turn(in_cells(lattice, field, cell as usize), vector)[field]
        };
        let inner = self.inner.par_iter().with_min_len(CHUNK);
        let inner: Vec<f64> = inner
            .map(|&(field, cell)| {
                let mean = mean_vector(lattice, before, field.into(), cell as usize);
                value((field, cell), mean)
            })
            .collect();
        for (&(field, cell), value) in self.inner.iter().zip(inner) {
            fields[usize::from(field) * len + cell as usize] = value;
        }
        for (n, &(field, cell)) in self.outer.iter().enumerate() {
            let vector = self.points.displacement(n, before, len);
            fields[usize::from(field) * len + cell as usize] = value((field, cell), vector);
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        8 * (self.inner.len() + self.outer.len()) + self.points.bytes()
    }
}

/// The centre of a face in cells from the lattice's origin.
fn in_cells(lattice: &Lattice, field: usize, cell: usize) -> DVec3 {
    let mut at = DVec3::from(lattice.coordinates(cell).map(|x| f64::from(x) + 0.5));
    at[field] -= 0.5;
    at
}

fn others(field: usize) -> [usize; 2] {
    [(field + 1) % 3, (field + 2) % 3]
}

/// The four faces of another field around a face.
fn around(lattice: &Lattice, field: usize, of: usize, cell: usize) -> [usize; 4] {
    let strides = lattice.strides();
    let below = cell - strides[field];
    [cell, cell + strides[of], below, below + strides[of]]
}

fn mean_vector(lattice: &Lattice, fields: &[f64], field: usize, cell: usize) -> DVec3 {
    let len = lattice.len();
    let mut vector = DVec3::ZERO;
    vector[field] = fields[field * len + cell];
    for of in others(field) {
        let sum: f64 = around(lattice, field, of, cell).iter().map(|c| fields[of * len + c]).sum();
        vector[of] = 0.25 * sum;
    }
    vector
}

/// Whether an entry is an unknown or prescribed and has all its neighbours in the lattice.
fn is_known(lattice: &Lattice, field: usize, cell: usize) -> bool {
    let (at, size) = (lattice.coordinates(cell), lattice.size());
    let near = (0..3).all(|a| at[a] >= -1 && at[a] <= size[a] as i32);
    near && matches!(lattice.variable(field, cell), Variable::Interior | Variable::Dirichlet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solvers::staggered::tests::ball;

    /// Displacements that a deformation gives in a frame, on all faces with values.
    fn seen_from(frame: &BodyFrame, lattice: &Lattice, deformed: impl Fn(DVec3) -> DVec3) -> Vec<f64> {
        let len = lattice.len();
        let mut fields = vec![0.0; 3 * len];
        for field in 0..3 {
            for cell in (0..len).filter(|c| is_known(lattice, field, *c)) {
                let rest = in_cells(lattice, field, cell);
                fields[field * len + cell] = frame.displacement(rest, deformed(rest))[field];
            }
        }
        fields
    }

    #[test]
    fn a_linear_deformation_is_the_same_in_a_frame_that_has_turned() {
        let lattice = ball(12);
        let old = BodyFrame::new(&[DVec3::ZERO, DVec3::splat(12.0)]);
        let new = old.turned(DMat3::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 0.7)).unwrap();
        let f = DMat3::from_axis_angle(DVec3::Y, 0.5) * DMat3::from_diagonal(DVec3::new(1.2, 0.9, 1.0));
        let deformed = |rest: DVec3| f * rest + DVec3::new(3.0, -1.0, 0.5);
        let before = seen_from(&old, &lattice, deformed);
        let mut fields = before.clone();
        FaceVectors::new(&lattice)
            .turn(&lattice, &mut fields, &before, |rest, u| new.displacement(rest, old.place(rest, u)));
        for (found, expected) in fields.iter().zip(seen_from(&new, &lattice, deformed)) {
            assert!((found - expected).abs() < 1e-11, "{found} {expected}");
        }
    }

    #[test]
    fn small_turns_leave_a_frame_where_it_is() {
        let frame = BodyFrame::new(&[DVec3::ZERO, DVec3::ONE]);
        assert_eq!(frame.turned(DMat3::from_rotation_x(0.9 * FARTHEST)), None);
        assert!(frame.turned(DMat3::from_rotation_x(1.1 * FARTHEST)).is_some());
    }
}
