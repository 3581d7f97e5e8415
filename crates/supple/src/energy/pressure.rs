//! A constant pressure `p` inside a closed surface of volume `V`, as from a pump: `E = -p V`.
//!
//! With the triangle's doubled normal `n = (b - a) × (c - a)`, a closed surface has `∂V/∂xᵢ = Σ n/6` over the triangles
//! around vertex `i`. The derivative of one triangle's part by corner `j` is `[eⱼ]×/6`, `eⱼ` its edge opposite to `j`.
//! Only the sum over the closed surface is symmetric, so half of each triangle's transpose is taken: blocks
//! `([eⱼ]× - [eᵢ]×)/12`. They do not depend on where the surface is.
//!
//! **Projection.** These blocks map the plane of the triangle to its normal and back: `K = [0 M; Mᵀ 0]`, with eigenvalues in
//! pairs of both signs. So the positive part of `-p K` is `½(|p| |K| - p K)`, `|K|` with the blocks `√(M Mᵀ)`, `√(Mᵀ M)`.

#![allow(clippy::needless_range_loop, reason = "kernels are plain loops, see `supple_core::simd`")]

use glam::DVec3;

use crate::energy::Energy;
use crate::energy::element::order::morton_order;
use crate::energy::element::{Element, ElementBlocks, ElementSum};
use crate::material::HessianMode;
use supple_core::parallel;
use supple_core::simd::{LaneMat3, LaneVec3, Lanes, Simd};
use supple_core::small_matrix::symmetric_eigen::{SquareMatrix, symmetric_eigen};
use supple_linear::{BlockMatrix, BlockPattern};
use supple_mesh::closed::{NotClosed, check_closed};

/// A closed surface under pressure.
pub struct Pressure {
    faces: ElementSum<Faces, 3>,
}

impl Pressure {
    /// The pressure `gauge` in Pa, inside minus outside, of a closed surface, whose vertex indices are below `x.len()`. It is
    /// oriented so that the volume at `x` is positive. An error names the open edge.
    pub fn new(triangles: &[[u32; 3]], x: &[DVec3], gauge: f64, simd: Simd) -> Result<Self, NotClosed> {
        check_closed(triangles)?;
        let centroid = |t: usize| triangles[t].iter().map(|&v| x[v as usize]).sum::<DVec3>() / 3.0;
        let order = morton_order(triangles.len(), centroid);
        let mut triangles: Vec<[u32; 3]> = order.iter().map(|&t| triangles[t as usize]).collect();
        if volume(&triangles, x) < 0.0 {
            triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        Ok(Self { faces: ElementSum::new(Faces { triangles, gauge }, x.len(), simd) })
    }

    /// The volume inside in m³.
    pub fn volume(&self, x: &[DVec3]) -> f64 {
        volume(&self.faces.elements().triangles, x)
    }
}

impl Energy for Pressure {
    fn value(&self, x: &[DVec3]) -> f64 {
        -self.faces.elements().gauge * self.volume(x)
    }

    /// A pump's work is not stored in the body.
    fn elastic_energy(&self, _x: &[DVec3]) -> f64 {
        0.0
    }

    fn add_gradient(&self, x: &[DVec3], gradient: &mut [DVec3]) {
        self.faces.add_gradient(x, gradient);
    }

    fn couplings(&self, pair: &mut dyn FnMut(u32, u32)) {
        self.faces.couplings(pair);
    }

    fn bind(&mut self, pattern: &BlockPattern) {
        self.faces.bind(pattern);
    }

    fn add_hessian(&self, x: &[DVec3], mode: HessianMode, hessian: &mut BlockMatrix) {
        self.faces.add_hessian(x, mode, hessian);
    }
}

/// The signed volume inside a closed surface.
fn volume(triangles: &[[u32; 3]], x: &[DVec3]) -> f64 {
    // Relative to a point of the surface, so that far away from the origin no digits are lost.
    let Some(origin) = triangles.first().map(|t| x[t[0] as usize]) else { return 0.0 };
    parallel::sum(triangles.len(), |t| {
        let [a, b, c] = triangles[t].map(|v| x[v as usize] - origin);
        a.dot(b.cross(c)) / 6.0
    })
}

/// The triangles of a closed surface under pressure.
struct Faces {
    triangles: Vec<[u32; 3]>,
    /// Pressure inside minus that outside, in Pa.
    gauge: f64,
}

/// Eight triangles' corners in plane and normal: the ingredients of `|K|`.
struct Bent {
    normal: LaneVec3,
    /// Columns of `M`: the effect of a unit displacement of corner `j` along the normal on corner `i` in the plane, as `m[i][j]`.
    m: [[LaneVec3; 3]; 3],
    /// `√(Mᵀ M)` and its pseudo-inverse.
    root: SquareMatrix<3>,
    inverse_root: SquareMatrix<3>,
}

impl Bent {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new(x: &[LaneVec3; 3], edges: &[LaneVec3; 3]) -> Self {
        let one = Lanes::splat(1.0);
        let double = (x[1] - x[0]).cross(x[2] - x[0]);
        let normal = double * (one / double.length().max(Lanes::splat(1e-150)));
        let mut m = [[LaneVec3::default(); 3]; 3];
        let mut gram = [[Lanes::default(); 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                m[i][j] = (edges[j] - edges[i]).cross(normal) * Lanes::splat(1.0 / 12.0);
            }
            for j in 0..3 {
                for k in 0..3 {
                    gram[j][k] += m[i][j].dot(m[i][k]);
                }
            }
        }
        let noise = (gram[0][0] + gram[1][1] + gram[2][2]) * 1e-14 + 1e-200;
        let eigen = symmetric_eigen(gram);
        let (mut roots, mut inverses) = ([Lanes::default(); 3], [Lanes::default(); 3]);
        for k in 0..3 {
            let value = eigen.values[k];
            roots[k] = value.max(Lanes::default()).sqrt();
            inverses[k] = noise.less(value, one / value.max(noise).sqrt(), Lanes::default());
        }
        let (root, inverse_root) = (eigen.with_values(&roots), eigen.with_values(&inverses));
        Self { normal, m, root, inverse_root }
    }

    /// The block (i, k) of `|K|`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn absolute(&self, i: usize, k: usize) -> LaneMat3 {
        let mut block = self.normal.outer(self.normal) * self.root[i][k];
        for j in 0..3 {
            let mut weighted = LaneVec3::default();
            for l in 0..3 {
                weighted += self.m[k][l] * self.inverse_root[j][l];
            }
            block += self.m[i][j].outer(weighted);
        }
        block
    }
}

impl Element<3> for Faces {
    fn vertices(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value(&self, _batch: usize, x: &[LaneVec3; 3]) -> Lanes {
        x[0].dot(x[1].cross(x[2])) * (-self.gauge / 6.0)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn value_and_gradient(&self, batch: usize, x: &[LaneVec3; 3]) -> (Lanes, [LaneVec3; 3]) {
        let double = (x[1] - x[0]).cross(x[2] - x[0]);
        (self.value(batch, x), [double * Lanes::splat(-self.gauge / 6.0); 3])
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hessian(&self, _batch: usize, x: &[LaneVec3; 3], mode: HessianMode) -> ElementBlocks<3> {
        let pressure = self.gauge;
        let edges = [x[2] - x[1], x[0] - x[2], x[1] - x[0]];
        let mut blocks = ElementBlocks::<3>::default();
        for i in 0..3 {
            for j in 0..=i {
                blocks[i][j] = (edges[j] - edges[i]).cross_matrix() * Lanes::splat(-pressure / 12.0);
            }
        }
        if mode == HessianMode::PsdProjected {
            let bent = Bent::new(x, &edges);
            let size = Lanes::splat(pressure.abs());
            for i in 0..3 {
                for j in 0..=i {
                    blocks[i][j] = (bent.absolute(i, j) * size + blocks[i][j]) * Lanes::splat(0.5);
                }
            }
        }
        blocks
    }
}
