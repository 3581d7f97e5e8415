//! Progress of a run: frame k of N, seconds per frame, time left, residual, memory.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use supple::simulation::FrameReport;

use crate::alive;
use crate::arguments::Common;
use crate::print::{notice, silence};

/// Where there is no terminal, a finished frame is printed if nothing has been for this long.
const SILENCE: Duration = Duration::from_secs(5);

/// A progress line on standard error; nothing with `--quiet`.
pub(crate) struct Progress {
    bar: ProgressBar,
    plain: bool,
    frames: u32,
    what: String,
}

impl Progress {
    /// A line for frames `done` to `frames`.
    pub(crate) fn frames(common: &Common, done: u32, frames: u32) -> Self {
        let bar = Self::bar(common, u64::from(frames), "frame {pos} of {len} {wide_bar} {msg}, {eta} left");
        bar.set_position(u64::from(done));
        bar.reset_eta();
        // If standard error is not a terminal, indicatif draws nothing: print a few plain lines per run instead.
        let plain = bar.is_hidden() && !common.quiet && !common.json;
        alive::now_at(|| format!("simulating frame {} of {frames}", done + 1));
        Self { bar, plain, frames, what: String::new() }
    }

    /// A line for other work.
    pub(crate) fn work(common: &Common, what: &str) -> Self {
        let bar = Self::bar(common, 1, "{msg} {wide_bar} {pos}/{len}, {eta} left");
        bar.set_message(what.to_owned());
        alive::now_at(|| what.to_owned());
        Self { bar, plain: false, frames: 0, what: what.to_owned() }
    }

    fn bar(common: &Common, length: u64, template: &str) -> ProgressBar {
        let target = if common.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(length), target).with_style(style);
        if !bar.is_hidden() {
            alive::shown_by_a_bar();
        }
        bar
    }

    /// Reports a finished frame.
    pub(crate) fn frame(&self, report: &FrameReport) {
        let memory = peak_memory_bytes().map_or(String::new(), |bytes| format!(", {} MB", bytes / 1_000_000));
        let residual = report.residual.map_or(String::new(), |residual| format!(", residual {residual:.1e}"));
        let message = format!("{:.3} s per frame{residual}{memory}", report.wall_seconds);
        let is_due =
            report.frame == self.frames || report.frame.is_multiple_of(self.frames.div_ceil(10).max(1));
        if self.plain && (is_due || silence() > SILENCE) {
            notice(format_args!("frame {} of {}, {message}", report.frame, self.frames));
        }
        self.bar.set_message(message);
        self.bar.set_position(u64::from(report.frame));
        alive::now_at(|| format!("simulating frame {} of {}", report.frame + 1, self.frames));
    }

    /// Reports the fraction of the work that is done.
    pub(crate) fn set(&self, done: u32, of: u32) {
        self.bar.set_length(u64::from(of));
        self.bar.set_position(u64::from(done));
        alive::now_at(|| format!("{}, {done} of {of}", self.what));
    }

    /// Leaves the line on the screen.
    pub(crate) fn end(&self) {
        self.bar.abandon();
        alive::now_at(|| "writing".to_owned());
    }
}

/// Peak memory of this process, where the system reports it.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(1024 * kilobytes)
}
