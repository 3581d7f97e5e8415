//! `supple compare`: one step of a scene by several solvers, as a table, `convergence.csv` and `convergence.svg`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use supple::output::write_whole;
use supple::scene::{LinearKind, Solver};
use supple::simulation::{Comparison, Curve};
use supple::{Error, FileError};

use crate::arguments::{Common, Compare, SceneChoice};
use crate::failure::Failure;
use crate::plot::{AxisScale, Plot, PlotLine};
use crate::print::{line, notice};
use crate::scenes::choose;

/// Methods compared by default, in addition to every linear solver under Newton's method.
const OTHER_METHODS: [&str; 4] =
    ["projective", "lbfgs", "nonlinear-cg+jacobi", "accelerated-gradient+jacobi"];

/// Compares and reports.
pub(crate) fn compare(options: &Compare, common: &Common) -> Result<ExitCode, Failure> {
    check_options(options)?;
    let scene = choose(&options.scene, &choice(options, None), common)?;
    if options.frame > scene.time.frames {
        return Err(Failure::usage(anyhow::anyhow!(
            "--frame {}: the scene has {} frames; use `--set time.frames=N` for more",
            options.frame,
            scene.time.frames
        )));
    }
    let comparison = Comparison {
        frame: options.frame,
        solvers: solvers(options, common)?,
        budget: Duration::from_secs_f64(options.budget),
        tolerance: options.tolerance,
        reference_budget: None,
    };
    let compared =
        comparison.run_with_steppers(&scene, common.simd.into(), &common.steppers).map_err(Failure::of)?;
    let reasons: Vec<String> =
        compared.left_out.iter().map(|(name, error)| format!("{name} was skipped: {error}")).collect();
    if compared.curves.is_empty() {
        return Err(Failure::of(Error::Invalid(reasons.join("\n"))));
    }
    reasons.iter().for_each(|reason| notice(format_args!("note: {reason}")));
    if !compared.reference_converged {
        notice("warning: the reference did not converge; errors are against the lowest objective found");
    }
    let curves = compared.curves;
    if let Some(folder) = &options.out {
        write_files(folder, &format!("{}, frame {}", options.scene, options.frame), &curves)?;
    }
    match common.json {
        true => curves.iter().for_each(|curve| line(json_line(curve))),
        false => print_table(&curves),
    }
    Ok(ExitCode::SUCCESS)
}

fn check_options(options: &Compare) -> Result<(), Failure> {
    let positive = |value: f64| value.is_finite() && value > 0.0;
    for (name, value) in [("--budget", options.budget), ("--tolerance", options.tolerance)] {
        if !positive(value) {
            return Err(Failure::usage(anyhow::anyhow!("{name} {value}: must be greater than 0")));
        }
    }
    match options.out.as_ref().map(|folder| (folder, std::fs::create_dir_all(folder))) {
        Some((folder, Err(error))) => {
            Err(Failure::usage(FileError::whole(folder, format!("cannot be created: {error}"))))
        }
        _ => Ok(()),
    }
}

fn choice(options: &Compare, solver: Option<String>) -> SceneChoice {
    SceneChoice { resolution: options.resolution, sets: options.sets.clone(), frames: None, solver }
}

/// The solvers by name.
fn solvers(options: &Compare, common: &Common) -> Result<Vec<(String, Solver)>, Failure> {
    let names: Vec<String> = match options.solvers.is_empty() {
        true => {
            LinearKind::ALL.map(LinearKind::name).iter().chain(&OTHER_METHODS).map(|&n| n.into()).collect()
        }
        false => options.solvers.clone(),
    };
    let solver = |name: String| {
        let scene = choose(&options.scene, &choice(options, Some(name.clone())), common)?;
        Ok((name, scene.solver))
    };
    names.into_iter().map(solver).collect()
}

fn print_table(curves: &[Curve]) {
    line(format!(
        "{:<28} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "solver", "setup s", "to 1e-1", "to 1e-3", "to 1e-6", "nonlinear", "linear", "residual", "MB"
    ));
    for curve in curves {
        let to = |bound: f64| curve.seconds_to(bound).map_or("-".to_owned(), |s| format!("{s:.3}"));
        let residual = curve.points.last().map_or(f64::NAN, |point| point.residual);
        line(format!(
            "{:<28} {:>9.3} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9.1e} {:>9.1}",
            curve.name,
            curve.setup_seconds,
            to(1e-1),
            to(1e-3),
            to(1e-6),
            curve.iterations,
            curve.linear_iterations,
            residual,
            curve.bytes as f64 * 1e-6
        ));
    }
}

fn json_line(curve: &Curve) -> String {
    let last = curve.points.last();
    json!({
        "solver": curve.name,
        "setup_seconds": curve.setup_seconds,
        "seconds": last.map(|point| point.seconds),
        "seconds_to_1e-1": curve.seconds_to(1e-1),
        "seconds_to_1e-3": curve.seconds_to(1e-3),
        "seconds_to_1e-6": curve.seconds_to(1e-6),
        "nonlinear_iterations": curve.iterations,
        "linear_iterations": curve.linear_iterations,
        "residual": last.map(|point| point.residual),
        "error": last.map(|point| point.error),
        "converged": curve.converged,
        "bytes": curve.bytes,
    })
    .to_string()
}

fn write_files(folder: &Path, title: &str, curves: &[Curve]) -> Result<(), Failure> {
    let mut csv = "solver,iteration,seconds,error,residual\n".to_owned();
    for curve in curves {
        for (k, point) in curve.points.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(csv, "{},{k},{},{},{}", curve.name, point.seconds, point.error, point.residual);
        }
    }
    let svg = convergence(title.to_owned(), curves).svg();
    for (name, text) in [("convergence.csv", csv), ("convergence.svg", svg)] {
        write_whole(&folder.join(name), |file| file.write_all(text.as_bytes())).map_err(Failure::running)?;
    }
    Ok(())
}

/// Errors below this are not drawn.
const LOWEST_ERROR: f64 = 1e-10;

/// The plot of errors over time.
pub fn convergence(title: String, curves: &[Curve]) -> Plot {
    let line = |curve: &Curve| {
        // The first point below the lowest error shows when it was reached.
        let below = curve.points.iter().position(|point| point.error <= LOWEST_ERROR);
        let drawn = &curve.points[..below.map_or(curve.points.len(), |first| first + 1)];
        let points = drawn.iter().filter(|point| point.seconds > 0.0);
        let points = points.map(|point| [point.seconds.max(1e-5), point.error.max(LOWEST_ERROR)]).collect();
        PlotLine { name: curve.name.clone(), points }
    };
    Plot {
        title,
        labels: ["time in seconds", "relative error of the objective"],
        scales: [AxisScale::Logarithmic; 2],
        lines: curves.iter().map(line).collect(),
    }
}
