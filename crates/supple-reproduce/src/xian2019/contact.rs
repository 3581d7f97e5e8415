//! Section 4.6 (the cloth of figure 4, right): contact as 3x3 blocks in the matrix of projective dynamics, against a bound of it with
//! one number per block. A step of the built-in scene `cloth-on-sphere`, with the mass of the paper's cloth and weaker springs, is
//! taken by both from the same state; the error is that of equation 9.

use std::time::Duration;

use supple::scene::{ContactMatrix, LinearKind, LinearOptions, Method, Model, Scene, Solver};
use supple::simulation::Comparison;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::examples::cloth_material;
use supple_cli::convergence;
use supple_cli::failure::Failure;

/// Names of the two matrices.
const MATRICES: [(&str, ContactMatrix); 2] =
    [("blocks", ContactMatrix::Blocks), ("bound", ContactMatrix::Bound)];

/// Iterations to an error, for each linear solver.
pub(super) fn iterations_with_contact(request: &Request) -> Result<Findings, Failure> {
    let mut scene = Scene::builtin("cloth-on-sphere").map_err(Failure::of)?;
    scene.scale_resolution(request.value("resolution")).map_err(Failure::of)?;
    let spacing = 1.0 / (60.0 * request.value("resolution"));
    for body in &mut scene.bodies {
        (body.model, body.bending) = (Some(Model::Spring), None);
        body.material = cloth_material(request.value("stiffness"), spacing);
    }
    let kinds = [LinearKind::Cholesky, LinearKind::Galerkin, LinearKind::Mas];
    let solvers = kinds.into_iter().flat_map(|kind| {
        MATRICES.map(|(matrix, contact)| (format!("{}, {matrix}", kind.name()), projective(kind, contact)))
    });
    let comparison = Comparison {
        frame: request.count("frame") as u32,
        solvers: solvers.collect(),
        budget: Duration::from_secs_f64(request.value("budget")),
        tolerance: 1e-8,
        reference_budget: None,
    };
    request.report_progress("comparing the matrices");
    let compared = comparison.run(&scene, request.simd).map_err(Failure::of)?;
    if let Some((name, error)) = compared.left_out.into_iter().next() {
        return Err(Failure::running(anyhow::anyhow!("{name}: {error}")));
    }
    let mut findings = Findings::default();
    findings.add("start", "contacts", None, f64::from(compared.contacts));
    findings.add("reference", "residual", None, compared.reference_residual);
    for curve in &compared.curves {
        for (quantity, bound) in [("iterations to an error of 1e-2", 1e-2), ("iterations to 1e-4", 1e-4)] {
            let count = curve.iterations_to(bound).map_or(f64::INFINITY, f64::from);
            findings.add(curve.name.clone(), quantity, None, count);
        }
        let each = f64::from(curve.linear_iterations) / f64::from(curve.iterations.max(1));
        findings.add(curve.name.clone(), "linear iterations per iteration", None, each);
    }
    findings.plots.push(("", convergence("projective dynamics with contact".to_owned(), &compared.curves)));
    Ok(findings)
}

fn projective(kind: LinearKind, contact: ContactMatrix) -> Solver {
    Solver {
        method: Method::PROJECTIVE,
        linear: Some(LinearOptions::from(kind)),
        contact_matrix: Some(contact),
        ..Solver::default()
    }
}
