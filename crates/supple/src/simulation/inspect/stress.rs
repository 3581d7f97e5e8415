//! The stress of the material, for drawing: the von Mises stress of every element, averaged to the points of the surface.
//!
//! All models are measured alike, by the co-rotational law with the material's moduli, to which every law reduces at small
//! strains. With the principal stretches `σ` of the deformation gradient and the shear modulus `μ`, solids have
//!
//! ```text
//! 2 μ sqrt(((σ₁ - σ₂)² + (σ₂ - σ₃)² + (σ₃ - σ₁)²) / 2)        in Pa,
//! ```
//!
//! sheets `sqrt(T₁² - T₁ T₂ + T₂²)` in N/m, with the principal forces per width `T = 2 μ (σ - 1) + λ (σ₁ + σ₂ - 2)`.

use glam::{DMat3, DVec3};
use supple_core::parallel::prelude::*;

use crate::body::{Body, Elements};
use crate::material::Lame;
use crate::simulation::Simulation;
use supple_core::Error;
use supple_core::simd::{LaneMat3, WIDTH};
use supple_core::small_matrix::svd::svd;
use supple_mesh::geometry::stretch::principal_stretch;

/// The stress of every surface point of all bodies, in the order of [`Simulation::positions`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stress {
    /// In the unit of the point's body.
    pub of_point: Vec<f64>,
    /// The unit of each body and its number of points.
    pub bodies: Vec<(StressUnit, usize)>,
}

impl Stress {
    /// Whether a body has the unit of the first one, so that one scale applies to both.
    pub fn has_first_unit(&self, body: usize) -> bool {
        let unit = |body: usize| self.bodies.get(body).map(|body| body.0);
        unit(body).is_some() && unit(body) == unit(0)
    }
}

/// The unit of stress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StressUnit {
    /// Force per area: solids.
    Pascal,
    /// Force per width: sheets.
    NewtonPerMetre,
}

impl StressUnit {
    /// Its symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Pascal => "Pa",
            Self::NewtonPerMetre => "N/m",
        }
    }
}

impl Simulation {
    /// The current stress in all bodies. Position based dynamics has none: springs and volumes are
    /// not an elastic law.
    ///
    /// ```
    /// use supple::{Body, Scene, Simulation, simulation::StressUnit};
    /// let scene = Scene::builder().body(Body::cloth("cloth").vertices([9, 9])).build()?;
    /// let stress = Simulation::new(scene)?.stress()?;
    /// assert_eq!(stress.bodies, [(StressUnit::NewtonPerMetre, 81)]);
    /// assert!(stress.of_point.iter().all(|stress| *stress < 1e-9));
    /// # Ok::<(), supple::Error>(())
    /// ```
    pub fn stress(&self) -> Result<Stress, Error> {
        let method = self.scene_state.solver.method;
        if let Some(reason) = method.traits().no_stress {
            return Err(Error::Invalid(format!("`{}` has no stress to show: {reason}", method.name())));
        }
        let x = self.stepper.unknown_positions();
        let mut rest: &[DVec3] = &x;
        let mut stress = Stress::default();
        for body in &self.scene_state.bodies {
            let (x, others) = rest.split_at(body.start.len());
            rest = others;
            let nodes = of_nodes(body, x);
            let of_point = |point| body.embedding.weights(point).iter().map(|&(n, w)| w * nodes[n as usize]);
            let points = (0..body.embedding.len()).map(|point| of_point(point).sum::<f64>().max(0.0));
            stress.of_point.extend(points);
            let unit = match body.elements {
                Elements::Triangles(_) => StressUnit::NewtonPerMetre,
                _ => StressUnit::Pascal,
            };
            stress.bodies.push((unit, body.embedding.len()));
        }
        Ok(stress)
    }
}

/// The mean over the elements around each unknown, weighted by their sizes.
fn of_nodes(body: &Body, x: &[DVec3]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); x.len()];
    let mut add = |node: u32, stress: f64, size: f64| {
        let sum = &mut sums[node as usize];
        *sum = (sum.0 + size * stress, sum.1 + size);
    };
    match &body.elements {
        Elements::Triangles(triangles) => {
            for (e, (triangle, rest)) in triangles.iter().zip(&body.rest_corners).enumerate() {
                let lame = body.materials.of(e).sheet_lame();
                let stress = of_triangle(*rest, triangle.map(|v| x[v as usize]), &lame);
                let size = (rest[1] - rest[0]).cross(rest[2] - rest[0]).length();
                triangle.iter().for_each(|&v| add(v, stress, size));
            }
        }
        Elements::Tets(tets) => {
            let edges = |tet: &[u32; 4], x: &[DVec3]| {
                let [a, b, c, d] = tet.map(|v| x[v as usize]);
                DMat3::from_cols(b - a, c - a, d - a)
            };
            let gradient = |e: usize| edges(&tets[e], x) * edges(&tets[e], &body.rest).inverse();
            for (e, stress) in of_solids(body, tets.len(), gradient).into_iter().enumerate() {
                let size = edges(&tets[e], &body.rest).determinant().abs();
                tets[e].iter().for_each(|&v| add(v, stress, size));
            }
        }
        Elements::Octants(filled) => {
            let tree = &filled.tree;
            let gradient = |e: usize| tree.deformation_gradient(e, x);
            for (e, stress) in of_solids(body, tree.elements().len(), gradient).into_iter().enumerate() {
                tree.conforming()[e].iter().for_each(|&v| add(v, stress, tree.side(e).powi(3)));
            }
        }
    }
    sums.into_iter().map(|(sum, size)| if size > 0.0 { sum / size } else { 0.0 }).collect()
}

fn of_triangle(rest: [DVec3; 3], now: [DVec3; 3], lame: &Lame) -> f64 {
    let Some(stretch) = principal_stretch(rest, now) else { return 0.0 };
    let [a, b] = [stretch.largest - 1.0, stretch.smallest - 1.0];
    let [p, q] = [a, b].map(|strain| 2.0 * lame.mu * strain + lame.lambda * (a + b));
    (p * p - p * q + q * q).sqrt()
}

/// The stress of every element with its deformation gradient; none where that is not finite.
fn of_solids(body: &Body, count: usize, gradient: impl Fn(usize) -> DMat3 + Sync) -> Vec<f64> {
    let batch = |first: usize| {
        let element = |lane: usize| (first + lane).min(count - 1);
        let sigma = svd(LaneMat3::from_fn(|lane| gradient(element(lane)))).sigma;
        let stress = move |lane: usize| {
            let [a, b, c] = std::array::from_fn(|k| sigma.0[k].0[lane]);
            let squares: f64 = [a - b, b - c, c - a].map(|d| d * d).iter().sum();
            let stress = 2.0 * body.materials.of(first + lane).solid_lame().mu * (0.5 * squares).sqrt();
            if stress.is_finite() { stress } else { 0.0 }
        };
        (0..WIDTH.min(count - first)).map(stress).collect::<Vec<f64>>()
    };
    (0..count.div_ceil(WIDTH)).into_par_iter().with_min_len(64).flat_map_iter(|b| batch(b * WIDTH)).collect()
}
