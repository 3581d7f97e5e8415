//! Results of a reproduction: a table of the paper's numbers and ours, and plots.

use serde_json::json;

use supple_cli::plot::Plot;

/// One number.
#[derive(Debug, Clone)]
pub(super) struct Measurement {
    pub case: String,
    /// The measured quantity, with its unit.
    pub quantity: &'static str,
    /// The paper's number, where it has one.
    pub paper: Option<f64>,
    pub measured: f64,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub rows: Vec<Measurement>,
    /// Plots, each with the suffix of its file name.
    pub plots: Vec<(&'static str, Plot)>,
    /// The same for SVG pictures.
    pub pictures: Vec<(&'static str, String)>,
}

impl Findings {
    /// Adds a number.
    pub(super) fn add(
        &mut self,
        case: impl Into<String>,
        quantity: &'static str,
        paper: impl Into<Option<f64>>,
        measured: f64,
    ) {
        self.rows.push(Measurement { case: case.into(), quantity, paper: paper.into(), measured });
    }

    /// The table as lines of text.
    pub(super) fn table(&self) -> Vec<String> {
        let widest = |text: &dyn Fn(&Measurement) -> usize| self.rows.iter().map(text).max().unwrap_or(0);
        let case = widest(&|row| row.case.chars().count()).max(4);
        let quantity = widest(&|row| row.quantity.chars().count()).max(8);
        let header =
            format!("{:<case$}  {:<quantity$}  {:>10}  {:>10}", "case", "quantity", "paper", "measured");
        let row = |row: &Measurement| {
            let paper = row.paper.map_or_else(|| "-".to_owned(), short);
            let measured = short(row.measured);
            format!("{:<case$}  {:<quantity$}  {paper:>10}  {measured:>10}", row.case, row.quantity)
        };
        std::iter::once(header).chain(self.rows.iter().map(row)).collect()
    }

    /// One JSON object per number.
    pub(super) fn json_lines(&self, figure: &str) -> Vec<String> {
        let line = |row: &Measurement| {
            let mut line = json!({
                "figure": figure, "case": row.case, "quantity": row.quantity, "measured": row.measured,
            });
            if let Some(paper) = row.paper {
                line["paper"] = json!(paper);
            }
            line.to_string()
        };
        self.rows.iter().map(line).collect()
    }

    /// The table as comma-separated values.
    pub(super) fn csv(&self) -> String {
        let row = |row: &Measurement| {
            let paper = row.paper.map_or_else(String::new, |paper| paper.to_string());
            format!("\"{}\",\"{}\",{paper},{}\n", row.case.replace('"', "\"\""), row.quantity, row.measured)
        };
        let rows: String = self.rows.iter().map(row).collect();
        format!("case,quantity,paper,measured\n{rows}")
    }
}

/// A number with four significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e4.. => format!("{value:.0}"),
        size if size < 1e-3 => format!("{value:.2e}"),
        size => format!("{value:.*}", (3.0 - size.log10().floor()).max(0.0) as usize),
    }
}

/// The slope of the best straight line through points, both coordinates as logarithms.
pub(super) fn slope(points: &[[f64; 2]]) -> f64 {
    let logs: Vec<[f64; 2]> = points.iter().map(|point| point.map(f64::ln)).collect();
    let mean = |k: usize| logs.iter().map(|point| point[k]).sum::<f64>() / logs.len() as f64;
    let centre = [mean(0), mean(1)];
    let moment = |k: usize| logs.iter().map(|p| (p[0] - centre[0]) * (p[k] - centre[k])).sum::<f64>();
    moment(1) / moment(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_power_law_is_its_exponent() {
        let points: Vec<[f64; 2]> = [1.0, 3.0, 20.0, 700.0].map(|x: f64| [x, 5.0 * x.powf(1.3)]).to_vec();
        assert!((slope(&points) - 1.3).abs() < 1e-12);
    }

    #[test]
    fn numbers_are_short_and_rows_keep_what_a_paper_does_not_say_empty() {
        let mut findings = Findings::default();
        findings.add("a \"b\"", "time (s)", 0.25, 12345.6);
        findings.add("c", "time (s)", None, 0.000123);
        assert_eq!(
            findings.csv(),
            "case,quantity,paper,measured\n\"a \"\"b\"\"\",\"time (s)\",0.25,12345.6\n\"c\",\"time (s)\",,0.000123\n"
        );
        assert!(findings.table()[1].ends_with("0.2500       12346"), "{:?}", findings.table());
        assert!(findings.table()[2].ends_with("-     1.23e-4"));
        assert!(!findings.json_lines("x")[1].contains("paper"));
    }
}
