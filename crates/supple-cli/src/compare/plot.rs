//! A plot of errors over time as SVG, both axes logarithmic.

use std::fmt::Write;

use supple::simulation::Curve;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 460.0;
/// Room around the axes: left, top, right (for the names), bottom.
const MARGIN: [f64; 4] = [70.0, 34.0, 240.0, 48.0];
/// Colours that the colour-blind tell apart (Okabe and Ito 2008), then dashed once more.
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Errors below this are not drawn.
const LOWEST: f64 = 1e-10;

/// The ranges of both axes as powers of ten.
struct Axes {
    time: [f64; 2],
    error: [f64; 2],
}

impl Axes {
    fn of(curves: &[Curve]) -> Self {
        let points = || curves.iter().flat_map(|curve| &curve.points).filter(|point| point.seconds > 0.0);
        let shortest = points().map(|point| point.seconds).fold(f64::INFINITY, f64::min).clamp(1e-5, 1e3);
        let longest = points().map(|point| point.seconds).fold(shortest, f64::max);
        let smallest = points().map(|point| point.error).fold(1.0, f64::min).max(LOWEST);
        let time = [shortest.log10().floor(), longest.log10().ceil().max(shortest.log10().floor() + 1.0)];
        Self { time, error: [smallest.log10().floor().min(-1.0), 0.0] }
    }

    fn x(&self, seconds: f64) -> f64 {
        let [low, high] = self.time;
        let inside = ((seconds.max(1e-12).log10() - low) / (high - low)).clamp(0.0, 1.0);
        MARGIN[0] + inside * (WIDTH - MARGIN[0] - MARGIN[2])
    }

    fn y(&self, error: f64) -> f64 {
        let [low, high] = self.error;
        let inside = ((error.max(1e-300).log10() - low) / (high - low)).clamp(0.0, 1.0);
        HEIGHT - MARGIN[3] - inside * (HEIGHT - MARGIN[1] - MARGIN[3])
    }
}

/// The plot of all curves.
pub(super) fn convergence(title: &str, curves: &[Curve]) -> String {
    let axes = Axes::of(curves);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    draw_axes(&mut svg, &axes, title);
    for (k, curve) in curves.iter().enumerate() {
        draw_curve(&mut svg, &axes, curve, k);
    }
    svg.push_str("</svg>\n");
    svg
}

fn text(svg: &mut String, [x, y]: [f64; 2], attributes: &str, words: &str) {
    let safe = words.replace('&', "&amp;").replace('<', "&lt;");
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{safe}</text>");
}

fn draw_axes(svg: &mut String, axes: &Axes, title: &str) {
    let (left, right) = (MARGIN[0], WIDTH - MARGIN[2]);
    let (top, bottom) = (MARGIN[1], HEIGHT - MARGIN[3]);
    let mut rule = |from: [f64; 2], to: [f64; 2], color: &str| {
        let ([x1, y1], [x2, y2]) = (from, to);
        let _ = writeln!(
            svg,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\"/>"
        );
    };
    let powers = |[low, high]: [f64; 2]| (low as i32)..=(high as i32);
    for power in powers(axes.time) {
        let x = axes.x(10f64.powi(power));
        rule([x, top], [x, bottom], "#e4e4e4");
    }
    for power in powers(axes.error) {
        let y = axes.y(10f64.powi(power));
        rule([left, y], [right, y], "#e4e4e4");
    }
    rule([left, bottom], [right, bottom], "#444");
    rule([left, top], [left, bottom], "#444");
    for power in powers(axes.time) {
        text(svg, [axes.x(10f64.powi(power)), bottom + 16.0], "text-anchor=\"middle\"", &seconds(power));
    }
    for power in powers(axes.error) {
        let words = format!("1e{power}");
        text(svg, [left - 6.0, axes.y(10f64.powi(power)) + 4.0], "text-anchor=\"end\"", &words);
    }
    text(svg, [left, top - 14.0], "font-size=\"14\"", title);
    text(svg, [0.5 * (left + right), HEIGHT - 10.0], "text-anchor=\"middle\"", "time in seconds");
    let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 16 {:.1})\"", 0.5 * (top + bottom));
    text(svg, [16.0, 0.5 * (top + bottom)], &turned, "relative error of the objective");
}

fn seconds(power: i32) -> String {
    if (-3..=3).contains(&power) { format!("{}", 10f64.powi(power)) } else { format!("1e{power}") }
}

fn draw_curve(svg: &mut String, axes: &Axes, curve: &Curve, k: usize) {
    let color = COLORS[k % COLORS.len()];
    let dash = if k < COLORS.len() { "" } else { " stroke-dasharray=\"6 3\"" };
    let points = curve.points.iter().take_while(|point| point.error > LOWEST).chain(
        // The first point below the lowest error shows when it got there.
        curve.points.iter().find(|point| point.error <= LOWEST),
    );
    let path: Vec<String> =
        points.map(|point| format!("{:.1},{:.1}", axes.x(point.seconds), axes.y(point.error))).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\"{dash}/>",
        path.join(" ")
    );
    let (x, y) = (WIDTH - MARGIN[2] + 14.0, MARGIN[1] + 10.0 + 20.0 * k as f64);
    let _ = writeln!(
        svg,
        "<line x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"{color}\" stroke-width=\"1.8\"{dash}/>",
        x + 22.0
    );
    text(svg, [x + 28.0, y + 4.0], "", &curve.name);
}
