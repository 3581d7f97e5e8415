//! `supple solve`: solves a linear system given by the user.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use supple::FileError;
use supple::linear::io::{load_array, load_positions, write_npy};
use supple::linear::{
    self, LinearError, Solution, SolveOptions, SolveReport, SparseMatrix, StopRule, load_matrix,
};
use supple::output::write_whole;
use supple::scene::{LinearKind, LinearOptions, linear_with_sets};

use crate::arguments::{Common, Solve};
use crate::failure::Failure;
use crate::print::line;

/// Reads, solves, writes and reports.
pub(crate) fn solve(options: &Solve, common: &Common) -> Result<ExitCode, Failure> {
    let linear = chosen(options)?;
    check_options(options)?;
    let matrix = load_matrix(&options.matrix).map_err(Failure::usage)?;
    let rhs = load_rhs(&options.rhs, matrix.rows())?;
    let solved = perform(options, common, linear, &matrix, &rhs)?;
    write_results(options, &solved)?;
    report(options, common, &solved, matrix.rows());
    match solved.report.problem {
        Some(problem) => Err(Failure::running(FileError::whole(&options.matrix, problem))),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The solver with its options; parameters with their own flag are not accepted as options.
fn chosen(options: &Solve) -> Result<LinearOptions, Failure> {
    let kind = solver_kind(&options.solver)?;
    let linear = linear_with_sets(kind, &options.sets).map_err(Failure::usage)?;
    let twice = [
        ("kind", "--solver", linear.kind != kind),
        ("tolerance", "--tolerance", linear.tolerance.is_some()),
        ("max_iterations", "--max-iterations", linear.max_iterations.is_some()),
    ];
    match twice.into_iter().find(|(.., said)| *said) {
        Some((key, flag, _)) => Err(Failure::usage(anyhow::anyhow!("--set {key}: use {flag} for this"))),
        None => Ok(linear),
    }
}

fn solver_kind(word: &str) -> Result<LinearKind, Failure> {
    word.parse().map_err(|problem: LinearError| Failure::usage(anyhow::anyhow!("--solver: {problem}")))
}

fn check_options(options: &Solve) -> Result<(), Failure> {
    let tolerance = options.tolerance;
    if !(0.0..1.0).contains(&tolerance) {
        let problem = anyhow::anyhow!("--tolerance {tolerance}: must be a fraction from 0 to below 1");
        return Err(Failure::usage(problem));
    }
    for (path, extension) in [(&options.out, "npy"), (&options.history, "csv")] {
        if let Some(path) =
            path.as_ref().filter(|path| path.extension().is_none_or(|found| found != extension))
        {
            let problem = format!("the name must end in .{extension}");
            return Err(Failure::usage(FileError::whole(path, problem)));
        }
        path.as_deref().map_or(Ok(()), check_folder)?;
    }
    Ok(())
}

/// An unwritable path is reported before the work.
fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        Some(folder) => {
            let problem = format!("folder {} does not exist; create it first", folder.display());
            Err(Failure::usage(FileError::whole(path, problem)))
        }
        None => Ok(()),
    }
}

fn load_rhs(path: &Path, rows: usize) -> Result<Vec<f64>, Failure> {
    let array = load_array(path).map_err(Failure::usage)?;
    if array.values.len() != rows {
        let [r, c] = array.shape;
        let problem = format!("contains {r} x {c} numbers, but the matrix has {rows} rows: expected {rows}");
        return Err(Failure::usage(FileError::whole(path, problem)));
    }
    Ok(array.values)
}

fn perform(
    options: &Solve,
    common: &Common,
    linear: LinearOptions,
    matrix: &SparseMatrix,
    rhs: &[f64],
) -> Result<Solution, Failure> {
    let positions = options.positions.as_ref().map(|path| load_positions(path, matrix.rows()));
    let positions = positions.transpose().map_err(Failure::usage)?;
    let stop = StopRule::tolerance(options.tolerance, options.max_iterations as usize);
    let all = SolveOptions { linear, stop, positions, simd: common.simd.into() };
    linear::solve(matrix, rhs, all).map_err(|problem| match problem {
        LinearError::InvalidOption(_) => {
            Failure::usage(anyhow::anyhow!("--solver {}: {problem}", options.solver))
        }
        _ => Failure::usage(FileError::whole(&options.matrix, problem.to_string())),
    })
}

fn write_results(options: &Solve, solved: &Solution) -> Result<(), Failure> {
    if let Some(path) = &options.out {
        write_whole(path, |file| write_npy(&solved.x, file)).map_err(Failure::running)?;
    }
    if let Some(path) = &options.history {
        let written = write_whole(path, |file| {
            writeln!(file, "iteration,seconds,relative_residual")?;
            solved.report.history.iter().enumerate().try_for_each(|(iteration, point)| {
                writeln!(file, "{iteration},{},{:e}", point.seconds, point.relative_residual)
            })
        });
        written.map_err(Failure::running)?;
    }
    Ok(())
}

fn report(options: &Solve, common: &Common, solved: &Solution, unknowns: usize) {
    let SolveReport { iterations, relative_residual, converged, setup_time, solve_time, bytes, .. } =
        &solved.report;
    let [setup_seconds, solve_seconds] = [setup_time, solve_time].map(Duration::as_secs_f64);
    if common.json {
        line(json!({
            "solver": options.solver,
            "unknowns": unknowns,
            "threads": supple_core::parallel::current_num_threads(),
            "setup_seconds": setup_seconds,
            "solve_seconds": solve_seconds,
            "iterations": iterations,
            "relative_residual": relative_residual,
            "converged": converged,
            "bytes": bytes,
        }));
    } else {
        let word = if *converged { "converged" } else { "did not converge" };
        line(format!(
            "{}: {word}, {} iterations, relative residual {relative_residual:.2e}",
            options.solver, iterations
        ));
        line(format!(
            "{unknowns} unknowns, set up in {setup_seconds:.3} s, solved in {solve_seconds:.3} s, {:.1} MB",
            1e-6 * *bytes as f64
        ));
    }
}
