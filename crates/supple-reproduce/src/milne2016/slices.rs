//! Figure 15: the remainder of random displacements on a face of a cube after some iterations, as colours.

use std::fmt::Write as _;

use glam::DVec3;
use supple::mesh::octree::Octree;

use super::super::catalogue::Request;
use super::super::findings::Findings;
use super::convergence::{PerturbedSystem, SolveMethod};
use supple_cli::failure::Failure;

/// Numbers of iterations.
const AFTER: [usize; 6] = [0, 1, 2, 5, 10, 20];
/// The methods of the figure.
const METHODS: [(SolveMethod, &str); 3] =
    [(SolveMethod::Plain, "CG"), (SolveMethod::Cycles, "MG"), (SolveMethod::Preconditioned, "MGPCG")];
/// Squares along a side of a picture, at most.
const SQUARES: usize = 32;
/// The side of a picture, and its margin.
const SIDE: f64 = 120.0;
const MARGIN: f64 = 30.0;

/// The largest error in each square of a face, as fractions of the initial largest error.
type FaceErrors = Vec<f64>;

/// The figure.
pub(super) fn pictures(request: &Request) -> Result<Findings, Failure> {
    let side = request.count("size");
    let mut cube = PerturbedSystem::cube(request, side)?;
    let (squares, mut findings) = (side.min(SQUARES), Findings::default());
    let mut svg = String::new();
    for (row, (method, name)) in METHODS.into_iter().enumerate() {
        request.report_progress(&format!("{name}, {side} cells"));
        let solved = cube.solve(method, AFTER[AFTER.len() - 1], &AFTER);
        let first = solved.kept.first().map_or(1.0, |x| largest(x));
        for (column, (after, x)) in AFTER.iter().zip(&solved.kept).enumerate() {
            let case = format!("{side}, {name}, {after} iterations");
            findings.add(case, "largest error / initial largest error", None, largest(x) / first);
            let at = [column as f64 * (SIDE + MARGIN) + MARGIN, row as f64 * (SIDE + MARGIN) + MARGIN];
            draw(&mut svg, at, &format!("{name}, {after}"), &face(&cube.tree, x, first, side, squares));
        }
    }
    let [width, height] = [AFTER.len(), METHODS.len()].map(|count| count as f64 * (SIDE + MARGIN) + MARGIN);
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    findings.pictures.push(("", head + &svg + "</svg>\n"));
    Ok(findings)
}

fn largest(x: &[DVec3]) -> f64 {
    x.iter().map(|x| x.abs().max_element()).fold(0.0, f64::max)
}

/// The face where the last coordinate is zero: its nodes are those of finest cells.
fn face(tree: &Octree, x: &[DVec3], first: f64, side: usize, squares: usize) -> FaceErrors {
    let mut face = vec![0.0_f64; squares * squares];
    for (node, x) in tree.nodes().iter().zip(x).filter(|(node, _)| node[2] == 0) {
        let [i, j] = [node[0], node[1]].map(|c| (usize::from(c) * squares / (side + 1)).min(squares - 1));
        let square = &mut face[j * squares + i];
        *square = square.max(x.abs().max_element() / first);
    }
    face
}

/// Squares from white (no error left) over yellow and red to black (all of it or more), over three decades.
fn draw(svg: &mut String, [left, top]: [f64; 2], title: &str, face: &FaceErrors) {
    let squares = face.len().isqrt();
    let side = SIDE / squares as f64;
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "<text x=\"{left}\" y=\"{:.1}\">{title}</text>", top - 6.0);
    for (k, error) in face.iter().enumerate() {
        let (x, y) = (left + (k % squares) as f64 * side, top + SIDE - (k / squares + 1) as f64 * side);
        let color = color(1.0 + error.max(1e-9).log10() / 3.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{side:.2}\" height=\"{side:.2}\" fill=\"{color}\"/>"
        );
    }
    let _ = writeln!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"black\"/>"
    );
}

/// The colour of a number from 0 to 1.
fn color(value: f64) -> String {
    let value = value.clamp(0.0, 1.0);
    let falls = |from: f64, to: f64| (255.0 * (1.0 - ((value - from) / (to - from)).clamp(0.0, 1.0))) as u8;
    format!("#{:02x}{:02x}{:02x}", falls(0.75, 1.0), falls(0.3, 0.75), falls(0.0, 0.4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_grow_darker_from_white_to_black() {
        assert_eq!(
            [color(-1.0), color(0.0), color(1.0), color(3.0)],
            ["#ffffff", "#ffffff", "#000000", "#000000"]
        );
        let light = |value: f64| {
            let text = color(value);
            (0..3).map(|k| u32::from_str_radix(&text[1 + 2 * k..3 + 2 * k], 16).unwrap()).sum::<u32>()
        };
        assert!((0..20).all(|k| light(0.05 * f64::from(k)) >= light(0.05 * f64::from(k + 1))));
    }
}
