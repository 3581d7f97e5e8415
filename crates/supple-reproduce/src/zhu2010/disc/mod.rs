//! Figure 15 (section 9.2): errors on a disc whose deformation is known, of staggered differences embedded in a lattice, of
//! embedded finite elements and of linear triangles that conform to the disc, under refinement.
//!
//! Orders are slopes of errors over the number of cells along the square, in logarithms. The paper reports 1.15 to
//! 1.25 for all of its six curves.

mod elements;
mod lattice;
mod problem;
mod skyline;
mod staggered;
mod system;

use super::super::catalogue::Request;
use super::super::findings::{Findings, slope};
use elements::{Filling, conforming, embedded};
use lattice::FixedOutline;
use problem::DiscMaterial;
use staggered::{Traction, staggered};
use supple_cli::failure::Failure;
use supple_cli::plot::{AxisScale, Plot, PlotLine};
use system::Errors;

/// Poisson's ratios of the figure.
const RATIOS: [f64; 2] = [0.2, 0.49];
/// The middle of the range that the paper reports for all curves.
const ORDER: f64 = 1.2;
/// Cells along the square of the coarsest lattice.
const COARSEST: f64 = 24.0;

/// A discretisation: errors by the number of cells along the square.
struct DiscMethod {
    name: &'static str,
    /// The paper's order.
    paper: Option<f64>,
    errors: fn(DiscMaterial, usize) -> Errors,
}

const METHODS: [DiscMethod; 7] = [
    DiscMethod {
        name: "staggered differences, exact stresses at their lattice positions",
        paper: Some(ORDER),
        errors: |material, cells| staggered(material, cells, FixedOutline::Quadrants, Traction::Stresses),
    },
    DiscMethod {
        name: "staggered differences, tractions on the lattice's faces",
        paper: Some(ORDER),
        errors: |material, cells| staggered(material, cells, FixedOutline::Quadrants, Traction::Faces),
    },
    DiscMethod {
        name: "staggered differences, tractions as forces of the outline",
        paper: Some(ORDER),
        errors: |material, cells| staggered(material, cells, FixedOutline::Quadrants, Traction::Outline),
    },
    DiscMethod {
        name: "embedded linear triangles",
        paper: Some(ORDER),
        errors: |material, cells| embedded(material, cells, Filling::Triangles),
    },
    DiscMethod {
        name: "embedded bilinear squares",
        paper: None,
        errors: |material, cells| embedded(material, cells, Filling::Bilinear),
    },
    DiscMethod {
        name: "conforming linear triangles",
        paper: Some(ORDER),
        // As many rings as cells along the radius.
        errors: |material, cells| conforming(material, cells / 4),
    },
    DiscMethod {
        name: "staggered differences, whole outline fixed",
        // Differences are of second order where there is no free boundary.
        paper: Some(2.0),
        errors: |material, cells| staggered(material, cells, FixedOutline::Outline, Traction::Faces),
    },
];

/// Figure 15.
pub(super) fn accuracy(request: &Request) -> Result<Findings, Failure> {
    let sizes = sizes(request.value("cells"));
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for ratio in RATIOS {
        for method in &METHODS {
            let case = format!("{}, nu={ratio}", method.name);
            request.report_progress(&case);
            let found: Vec<Errors> =
                sizes.iter().map(|n| (method.errors)(DiscMaterial::new(ratio), *n)).collect();
            add_rows(&mut findings, &case, method.paper, &sizes, &found);
            let points = found.iter().map(|e| [e.unknowns as f64 / 2.0, e.inside]).collect();
            lines.push(PlotLine { name: case, points });
        }
    }
    findings.plots.push(("", plot(lines)));
    Ok(findings)
}

/// Orders, and the error on the finest lattice.
fn add_rows(findings: &mut Findings, case: &str, paper: Option<f64>, sizes: &[usize], found: &[Errors]) {
    let [all, inside, mean] = [|e: &Errors| e.largest, |e: &Errors| e.inside, |e: &Errors| e.mean]
        .map(|error| order(sizes, found, error));
    let finest = found[found.len() - 1];
    let at_finest = format!("{case}, {} vertices", finest.unknowns / 2);
    findings.add(case, "order of the largest error", paper, all);
    findings.add(case, "order of the largest error inside the disc", paper, inside);
    findings.add(case, "order of the RMS error inside", None, mean);
    findings.add(at_finest, "largest error inside / side of the square", None, finest.inside);
}

fn plot(lines: Vec<PlotLine>) -> Plot {
    let scales = [AxisScale::Logarithmic; 2];
    Plot { title: "errors on the disc".into(), labels: ["vertices", "largest error"], scales, lines }
}

/// Numbers of cells up to the finest, each about 1.4 times the previous one. Several, since the alignment of the
/// lattice with the outline changes the error from one to the next. Multiples of four, so that the number of rings is
/// an integer.
fn sizes(finest: f64) -> Vec<usize> {
    let steps = (2.0 * (finest / COARSEST).max(1.0).log2()).ceil().max(1.0);
    let size = |n: f64| 4 * (0.25 * COARSEST * (finest / COARSEST).powf(n / steps)).round() as usize;
    (0..=steps as usize).map(|n| size(n as f64)).collect()
}

/// The order of a method, from all sizes.
fn order(sizes: &[usize], found: &[Errors], error: impl Fn(&Errors) -> f64) -> f64 {
    let points: Vec<[f64; 2]> = sizes.iter().zip(found).map(|(n, e)| [*n as f64, error(e)]).collect();
    -slope(&points)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Better than first order, which a boundary off by half a cell would give: conditions that are exact on the
    /// lattice, conforming elements, and an outline that is fixed everywhere.
    #[test]
    fn errors_fall_with_the_orders_of_their_methods() {
        let sizes = [24, 32, 48, 64];
        for (method, largest) in [(&METHODS[0], 1.1), (&METHODS[5], 1.1), (&METHODS[6], 1.1)] {
            for ratio in RATIOS {
                let found = sizes.map(|n| (method.errors)(DiscMaterial::new(ratio), n));
                let order = order(&sizes, &found, |e| e.inside);
                assert!(order >= largest, "{}, nu={ratio}: {order}", method.name);
            }
        }
    }

    #[test]
    fn sizes_end_at_the_finest_and_are_multiples_of_four() {
        let found = sizes(192.0);
        assert!(found[0] == 24 && found[found.len() - 1] == 192, "{found:?}");
        assert!(found.iter().all(|n| n % 4 == 0) && found.windows(2).all(|n| n[0] < n[1]), "{found:?}");
    }
}
