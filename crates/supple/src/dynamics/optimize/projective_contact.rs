//! Contact in the matrix of projective dynamics (Xian 2019, section 4.6): `L ⊗ I₃ + Σ wᵢ wⱼ B` over the contacts with weights `w` on
//! unknowns and Hessians `B`, `k n nᵀ` in the normal direction. Contacts couple unknowns that `L` does not: their blocks lie
//! outside its pattern, as under Newton's method.

use std::sync::Arc;

use glam::DVec3;

use super::error::MinimiseError;
use super::objective::Objective;
use super::preconditioning::{FIRST_SHIFT, MAX_SHIFTS};
use supple_linear::{
    BlockJacobi, BlockMatrix, BlockPattern, LinearSolver, PointHessians, Preconditioner, ScalarMatrix,
};

/// The matrix with full blocks.
pub(super) struct ContactBlocks {
    pub(super) matrix: BlockMatrix,
    sums: PointHessians,
    /// Provides directions where the solver diverges.
    diagonal: BlockJacobi,
}

impl ContactBlocks {
    pub(super) fn new(pattern: Arc<BlockPattern>) -> Self {
        Self {
            matrix: BlockMatrix::zero(pattern),
            sums: PointHessians::default(),
            diagonal: BlockJacobi::default(),
        }
    }

    /// Replaces the matrix by the sum of `scalars` and the Hessians of all contacts at `x`; `false`, and nothing is done, if
    /// nothing touches.
    pub(super) fn assemble(
        &mut self,
        objective: &dyn Objective,
        x: &[DVec3],
        scalars: &ScalarMatrix,
    ) -> bool {
        self.sums.clear();
        objective.contact_hessians(x, &mut |point, block| self.sums.push(point, block));
        if self.sums.is_empty() {
            return false;
        }
        scalars.write_to(&mut self.matrix);
        self.matrix.add_points(&mut self.sums);
        self.matrix.gather_extra_blocks();
        true
    }

    /// Prepares a solver for the matrix. Contact may be so much stiffer than the rest that rounding destroys definiteness; a small
    /// multiple of the diagonal restores it.
    pub(super) fn prepare(&mut self, solver: &mut dyn LinearSolver) -> Result<(), MinimiseError> {
        let mut shift = FIRST_SHIFT * self.matrix.largest_diagonal();
        for _ in 0..MAX_SHIFTS {
            if solver.prepare(&self.matrix).is_ok() {
                return Ok(());
            }
            self.matrix.shift_diagonal(shift);
            shift *= 100.0;
        }
        Ok(solver.prepare(&self.matrix)?)
    }

    /// `d = D⁻¹ b` with the matrix's diagonal blocks.
    pub(super) fn divide_by_diagonal(
        &mut self,
        rhs: &[DVec3],
        direction: &mut [DVec3],
    ) -> Result<(), MinimiseError> {
        self.diagonal.update(&self.matrix)?;
        self.diagonal.apply(rhs, direction);
        Ok(())
    }

    pub(super) fn bytes(&self) -> usize {
        72 * self.matrix.blocks().len()
    }
}

#[cfg(test)]
mod tests {
    use glam::DMat3;

    use super::*;
    use crate::energy::PointVisitor;
    use crate::material::HessianMode;

    /// A vertex that presses on the triangle of three others.
    struct Pressing;

    const POINT: [(u32, f64); 4] = [(0, 1.0), (1, -0.5), (2, -0.3), (3, -0.2)];

    impl Objective for Pressing {
        fn value(&self, _x: &[DVec3]) -> f64 {
            0.0
        }

        fn gradient(&self, _x: &[DVec3], _gradient: &mut [DVec3]) {}

        fn hessian(&self, _x: &[DVec3], _mode: HessianMode, _hessian: &mut BlockMatrix) {}

        fn contact_hessians(&self, x: &[DVec3], visit: PointVisitor<'_>) {
            if x[0].y < 1.0 {
                let normal = DVec3::new(0.6, 0.8, 0.0);
                visit(&POINT, 1e4 * DMat3::from_cols(normal * 0.6, normal * 0.8, DVec3::ZERO));
            }
        }
    }

    #[test]
    fn contact_couples_all_of_its_vertices_along_the_normal_only() {
        // The first vertex is not connected to the others.
        let pattern = Arc::new(BlockPattern::new(&[false; 4], &[[1, 2], [2, 3], [1, 3]]));
        let mut scalars = ScalarMatrix::zero(pattern.clone());
        (0..4).for_each(|v| scalars.add_diagonal(v, 3.0));
        scalars.add_pair(1, 2, -1.0);
        let mut contact = ContactBlocks::new(pattern);
        assert!(!contact.assemble(&Pressing, &[DVec3::Y; 4], &scalars));
        assert!(contact.assemble(&Pressing, &[DVec3::ZERO; 4], &scalars));
        assert_eq!(contact.matrix.outside().len(), 3);
        let d = [DVec3::X, DVec3::new(0.0, 2.0, 1.0), DVec3::new(-1.0, 0.5, 0.0), DVec3::Z];
        let normal = DVec3::new(0.6, 0.8, 0.0);
        let pressed = 1e4 * POINT.iter().map(|&(v, w)| w * d[v as usize].dot(normal)).sum::<f64>();
        let elastic = [3.0 * d[0], 3.0 * d[1] - d[2], 3.0 * d[2] - d[1], 3.0 * d[3]];
        for ((product, elastic), (_, w)) in contact.matrix.multiply(&d).iter().zip(elastic).zip(POINT) {
            let expected = elastic + w * pressed * normal;
            assert!(product.distance(expected) < 1e-11 * pressed.abs(), "{product} {expected}");
        }
    }
}
