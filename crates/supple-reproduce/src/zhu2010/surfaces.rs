//! Figures 17 and 18: how smoothly a surface follows a coarse lattice. An arm is bent at its middle; instead of a
//! picture, the root mean square of the change of the angles between neighbouring triangles. The bend itself is part
//! of that, the rest are the steps of the lattice.

use std::collections::BTreeMap;

use glam::DVec3;
use supple::scene::Scene;
use supple::simulation::Simulation;
use supple::solvers::staggered::{self, Interpolation};

use super::super::catalogue::Request;
use super::super::findings::Findings;
use supple_cli::failure::Failure;

const QUANTITY: &str = "change of angles between triangles (degrees)";
/// Length of the arm and its radius in metres, and the bending angle in degrees.
const ARM: &str = r#"
[time]
mode = "quasistatic"

[world]
gravity = [0, 0, 0]

[[body]]
name = "arm"
shape = { implicit = { capsule = { from = [-0.3, 0, 0], to = [0.3, 0, 0], radii = [0.09, 0.07] } } }
cell = 0.0125
material = { density = 1000, young_modulus = 5e4, poisson_ratio = 0.475 }
model = "corotated"

[[pin]]
body = "arm"
selection = { box = { min = [-0.3, -0.03, -0.03], max = [-0.08, 0.03, 0.03] } }

[[pin]]
body = "arm"
selection = { box = { min = [0.08, -0.03, -0.03], max = [0.3, 0.03, 0.03] } }
follows = { keyframes = [{ time = 0, rotate = [0, 0, 0] }, { time = 1, rotate = [0, 0, 45] }] }

[solver]
method = "staggered"
tolerance = 1e-3
"#;

/// Figure 17: a coarse lattice, the same with a layer of cells around it, and one of half the spacing.
pub(super) fn padding(request: &Request) -> Result<Findings, Failure> {
    let cell = request.value("cell");
    let mut findings = Findings::default();
    for (name, cell, padding) in
        [("no padding", cell, 0), ("one layer of padding", cell, 1), ("half the spacing", 0.5 * cell, 0)]
    {
        let measured = roughness(request, name, cell, padding, Interpolation::Trilinear)?;
        findings.add(format!("cells of {cell} m, {name}"), QUANTITY, None, measured);
    }
    Ok(findings)
}

/// Figure 18: both interpolations.
pub(super) fn interpolation(request: &Request) -> Result<Findings, Failure> {
    let cell = request.value("cell");
    let mut findings = Findings::default();
    for (name, kind) in [("trilinear", Interpolation::Trilinear), ("tricubic", Interpolation::Tricubic)] {
        let measured = roughness(request, name, cell, 1, kind)?;
        findings.add(format!("cells of {cell} m, {name}"), QUANTITY, None, measured);
    }
    Ok(findings)
}

fn roughness(
    request: &Request,
    name: &str,
    cell: f64,
    padding: u32,
    interpolation: Interpolation,
) -> Result<f64, Failure> {
    request.report_progress(&format!("cells of {cell} m, {name}"));
    let mut scene = Scene::from_toml(ARM, "arm", ".").map_err(Failure::of)?;
    let options = scene.solver.options.get_mut::<staggered::StaggeredOptions>();
    (options.cell, options.padding, options.interpolation) = (Some(cell), padding, interpolation);
    let mut simulation = Simulation::with_simd(scene, request.simd).map_err(Failure::of)?;
    for _ in 0..request.count("steps") {
        simulation.step(1.0 / request.value("steps").round()).map_err(Failure::of)?;
    }
    let body = &simulation.scene_state().bodies[0];
    let before = angles(&body.surface_triangles, &body.surface_start);
    let after = angles(&body.surface_triangles, simulation.positions());
    let squares: f64 = before.iter().zip(&after).map(|(a, b)| (a - b).powi(2)).sum();
    Ok((squares / before.len().max(1) as f64).sqrt().to_degrees())
}

/// The angle between the two triangles at every inner edge, in radians.
fn angles(triangles: &[[u32; 3]], points: &[DVec3]) -> Vec<f64> {
    let mut edges: BTreeMap<[u32; 2], Vec<DVec3>> = BTreeMap::new();
    for triangle in triangles {
        let [a, b, c] = triangle.map(|v| points[v as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        for n in 0..3 {
            let (from, to) = (triangle[n], triangle[(n + 1) % 3]);
            edges.entry([from.min(to), from.max(to)]).or_default().push(normal);
        }
    }
    let pairs = edges.values().filter(|normals| normals.len() == 2);
    pairs.map(|normals| normals[0].angle_between(normals[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_pair_of_triangles_has_the_angle_of_its_fold() {
        let fold = 0.4_f64;
        let points = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(0.0, -fold.cos(), fold.sin())];
        let found = angles(&[[0, 1, 2], [1, 0, 3]], &points);
        assert!(found.len() == 1 && (found[0] - fold).abs() < 1e-12, "{found:?}");
    }
}
