//! Checks the bounds of a scene's `[expect]` table against a run's reports.

use crate::scene::Expect;
use crate::simulation::FrameReport;

impl Expect {
    /// The violated bounds: one sentence each, with the first frame and the value.
    pub fn violations(&self, reports: &[FrameReport]) -> Vec<String> {
        let mut found = Vec::new();
        let mut at_most = |name: &str, bound: Option<f64>, value: fn(&FrameReport) -> f64| {
            let Some(bound) = bound else { return };
            if let Some(report) = reports.iter().find(|report| exceeds(value(report), bound)) {
                found.push(format!("{name} is {} at frame {}, above {bound}", value(report), report.frame));
            }
        };
        at_most("max_stretch", self.max_stretch, |report| report.max_stretch);
        at_most("p99_stretch", self.p99_stretch, |report| report.p99_stretch);
        at_most("residual", self.residual, |report| report.residual.unwrap_or(0.0));
        at_most("iterations", self.iterations.map(f64::from), |report| f64::from(report.max_step_iterations));
        let squeezed = |report: &&FrameReport| {
            let ratio = report.min_volume_ratio.unwrap_or(f64::INFINITY);
            self.min_volume_ratio.is_some_and(|bound| ratio.is_nan() || ratio < bound)
        };
        if let (Some(report), Some(bound)) = (reports.iter().find(squeezed), self.min_volume_ratio) {
            let ratio = report.min_volume_ratio.unwrap_or(f64::NAN);
            found.push(format!("min_volume_ratio is {ratio} at frame {}, below {bound}", report.frame));
        }
        let Some(last) = reports.last() else { return found };
        if self.penetration.is_some_and(|bound| exceeds(last.penetration, bound)) {
            found.push(format!(
                "penetration is {} m at the end, above {:?}",
                last.penetration, self.penetration
            ));
        }
        if let Some([low, high]) =
            self.height.filter(|[low, high]| !(last.height[0] >= *low && last.height[1] <= *high))
        {
            found.push(format!(
                "the bodies span {:?} m in height at the end, outside {low} to {high}",
                last.height
            ));
        }
        found
    }
}

/// Whether a value is above a bound; NaN always is.
fn exceeds(value: f64, bound: f64) -> bool {
    value.is_nan() || value > bound
}
