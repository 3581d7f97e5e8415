//! Line plots as SVG; each axis is linear or logarithmic.

use std::fmt::Write;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 460.0;
/// Margins around the axes: left, top, right (for the names), bottom.
const MARGIN: [f64; 4] = [70.0, 34.0, 240.0, 48.0];
/// Colours that colour-blind readers can distinguish (Okabe and Ito 2008); repeated with dashes.
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Maximum number of decades on a logarithmic axis.
const DECADES: f64 = 12.0;

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisScale {
    /// Linear.
    Linear,
    /// Logarithmic.
    Logarithmic,
}

/// A line of a plot.
#[derive(Debug, Clone)]
pub struct PlotLine {
    /// Its name in the legend.
    pub name: String,
    /// x and y of its points.
    pub points: Vec<[f64; 2]>,
}

/// A plot.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Title above the plot.
    pub title: String,
    /// Labels of x and y.
    pub labels: [&'static str; 2],
    /// Scales of x and y.
    pub scales: [AxisScale; 2],
    /// The lines to draw.
    pub lines: Vec<PlotLine>,
}

impl Plot {
    /// The plot as SVG.
    pub fn svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        let axes = [0, 1].map(|k| self.axis(k));
        self.draw_axes(&mut svg, &axes);
        for (k, line) in self.lines.iter().enumerate() {
            draw_line(&mut svg, &axes, line, k);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The axis of x or of y.
    fn axis(&self, k: usize) -> PlotAxis {
        let scale = self.scales[k];
        let ends = match k {
            0 => [MARGIN[0], WIDTH - MARGIN[2]],
            _ => [HEIGHT - MARGIN[3], MARGIN[1]],
        };
        let values = self.lines.iter().flat_map(|line| &line.points).map(|point| point[k]);
        let drawn = values.filter(|value| value.is_finite() && (scale == AxisScale::Linear || *value > 0.0));
        PlotAxis::of(scale, drawn.map(|value| scale.measure(value)), ends)
    }

    fn draw_axes(&self, svg: &mut String, [x, y]: &[PlotAxis; 2]) {
        let ([left, right], [bottom, top]) = (x.ends, y.ends);
        for tick in x.ticks() {
            let at = x.at(tick);
            rule(svg, [at, top], [at, bottom], "#e4e4e4");
            text(svg, [at, bottom + 16.0], "text-anchor=\"middle\"", &x.words(tick));
        }
        for tick in y.ticks() {
            let at = y.at(tick);
            rule(svg, [left, at], [right, at], "#e4e4e4");
            text(svg, [left - 6.0, at + 4.0], "text-anchor=\"end\"", &y.words(tick));
        }
        rule(svg, [left, bottom], [right, bottom], "#444");
        rule(svg, [left, top], [left, bottom], "#444");
        let [across, up] = self.labels;
        text(svg, [left, top - 14.0], "font-size=\"14\"", &self.title);
        text(svg, [0.5 * (left + right), HEIGHT - 10.0], "text-anchor=\"middle\"", across);
        let middle = 0.5 * (top + bottom);
        let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 16 {middle:.1})\"");
        text(svg, [16.0, middle], &turned, up);
    }
}

impl AxisScale {
    /// The position of a value along an axis of this kind, before scaling to pixels.
    fn measure(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.max(1e-300).log10(),
        }
    }
}

/// An axis with its range, in decades if it is logarithmic.
struct PlotAxis {
    scale: AxisScale,
    range: [f64; 2],
    /// Distance between two ticks.
    step: f64,
    /// Start and end of the range in pixels.
    ends: [f64; 2],
}

impl PlotAxis {
    fn of(scale: AxisScale, measures: impl Iterator<Item = f64>, ends: [f64; 2]) -> Self {
        let empty = [f64::INFINITY, f64::NEG_INFINITY];
        let found = measures.fold(empty, |[low, high], m| [low.min(m), high.max(m)]);
        let [low, high] = if found[0] <= found[1] { found } else { [0.0, 1.0] };
        let (low, step) = match scale {
            AxisScale::Logarithmic => (low.max(high - DECADES), 1.0),
            AxisScale::Linear => (low, nice_step(high - low)),
        };
        let low = (low / step).floor() * step;
        let high = ((high / step).ceil() * step).max(low + step);
        Self { scale, range: [low, high], step, ends }
    }

    /// The pixel position of a measure.
    fn at(&self, measure: f64) -> f64 {
        let [low, high] = self.range;
        let inside = ((measure - low) / (high - low)).clamp(0.0, 1.0);
        self.ends[0] + inside * (self.ends[1] - self.ends[0])
    }

    fn ticks(&self) -> Vec<f64> {
        let count = ((self.range[1] - self.range[0]) / self.step).round() as usize;
        (0..=count).map(|k| self.range[0] + k as f64 * self.step).collect()
    }

    fn words(&self, tick: f64) -> String {
        match self.scale {
            AxisScale::Logarithmic if (-3.0..=3.0).contains(&tick) => format!("{}", 10f64.powi(tick as i32)),
            AxisScale::Logarithmic => format!("1e{tick}"),
            // The step's own digits, not those of its rounding error.
            AxisScale::Linear => format!("{}", (tick / self.step).round() * (1e6 * self.step).round() / 1e6),
        }
    }
}

/// 1, 2 or 5 times a power of ten, about a sixth of a range.
fn nice_step(range: f64) -> f64 {
    if !(range > 0.0 && range.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powf((range / 6.0).log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| nice * power >= range / 6.0);
    nice.unwrap_or(10.0) * power
}

fn text(svg: &mut String, [x, y]: [f64; 2], attributes: &str, words: &str) {
    let safe = words.replace('&', "&amp;").replace('<', "&lt;");
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{safe}</text>");
}

fn rule(svg: &mut String, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], stroke: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\"/>"
    );
}

fn draw_line(svg: &mut String, [x, y]: &[PlotAxis; 2], line: &PlotLine, k: usize) {
    let color = COLORS[k % COLORS.len()];
    let dash = if k < COLORS.len() { "" } else { "\" stroke-dasharray=\"6 3" };
    let at = |point: &[f64; 2]| {
        format!("{:.1},{:.1}", x.at(x.scale.measure(point[0])), y.at(y.scale.measure(point[1])))
    };
    let path: Vec<String> = line.points.iter().map(at).collect();
    let stroke = format!("{color}\" stroke-width=\"1.8{dash}");
    let _ = writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\"/>", path.join(" "));
    let (left, middle) = (WIDTH - MARGIN[2] + 14.0, MARGIN[1] + 10.0 + 20.0 * k as f64);
    rule(svg, [left, middle], [left + 22.0, middle], &stroke);
    text(svg, [left + 28.0, middle + 4.0], "", &line.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(scales: [AxisScale; 2], points: Vec<[f64; 2]>) -> String {
        let lines = vec![PlotLine { name: "a < b".into(), points }];
        Plot { title: "t".into(), labels: ["x", "y"], scales, lines }.svg()
    }

    #[test]
    fn points_at_the_ends_of_the_ticks_lie_at_the_corners_of_the_axes() {
        let svg = plot([AxisScale::Linear, AxisScale::Logarithmic], vec![[0.0, 1e-2], [6.0, 1e3]]);
        assert!(svg.contains("points=\"70.0,412.0 560.0,34.0\""), "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains(">0.01<") && svg.contains(">6<"), "{svg}");
    }

    #[test]
    fn values_that_cannot_be_drawn_leave_the_rest_of_the_picture_whole() {
        for points in
            [vec![], vec![[f64::NAN, 1.0]], vec![[0.0, 0.0]], vec![[1.0, 1.0], [2.0, f64::INFINITY]]]
        {
            let svg = plot([AxisScale::Logarithmic; 2], points);
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("inf"), "{svg}");
        }
    }
}
