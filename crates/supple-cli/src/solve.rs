//! `supple solve`: solves a linear system given by the user.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use glam::DVec3;
use serde_json::json;
use supple::FileError;
use supple::linear::io::{SparseMatrix, System, load_array, load_matrix, write_npy};
use supple::linear::{HistoryPoint, LinearError, SolveOutcome, StopRule, linear_solver};
use supple::output::write_whole;
use supple::scene::{LinearKind, LinearOptions, linear_with_sets};

use crate::arguments::{Common, Solve};
use crate::failure::Failure;
use crate::print::line;

/// A solve with its times.
struct Solved {
    x: Vec<f64>,
    outcome: SolveOutcome,
    relative_residual: f64,
    setup_seconds: f64,
    solve_seconds: f64,
    bytes: usize,
    history: Vec<HistoryPoint>,
}

/// Reads, solves, writes and reports.
pub(crate) fn solve(options: &Solve, common: &Common) -> Result<ExitCode, Failure> {
    let linear = chosen(options)?;
    check_options(options)?;
    let matrix = load_matrix(&options.matrix).map_err(Failure::usage)?;
    let rhs = load_rhs(&options.rhs, matrix.rows())?;
    let solved = perform(options, common, &linear, &matrix, &rhs)?;
    write_results(options, &solved)?;
    report(options, common, &solved, matrix.rows());
    match solved.outcome.problem() {
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
    let known = LinearKind::ALL.into_iter().find(|kind| kind.word() == word);
    known.ok_or_else(|| {
        let words = LinearKind::ALL.map(LinearKind::word).join(", ");
        Failure::usage(anyhow::anyhow!("--solver {word}: no such linear solver; there are {words}"))
    })
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
    linear: &LinearOptions,
    matrix: &SparseMatrix,
    rhs: &[f64],
) -> Result<Solved, Failure> {
    let positions = options.positions.as_deref().map(|path| load_array(path).map(|array| (array, path)));
    let positions = positions.transpose().map_err(Failure::usage)?;
    let begin = Instant::now();
    let positions = positions.as_ref().map(|(array, path)| (array, *path));
    let system = System::new(matrix, positions).map_err(Failure::usage)?;
    let mut solver = linear_solver(linear, system.positions.clone(), common.simd.into())
        .map_err(|problem| Failure::usage(anyhow::anyhow!("--solver {}: {problem}", options.solver)))?;
    let refused =
        |problem: LinearError| Failure::usage(FileError::whole(&options.matrix, problem.to_string()));
    solver.prepare(&system.matrix).map_err(refused)?;
    let setup_seconds = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let mut x = vec![DVec3::ZERO; system.matrix.pattern().unknowns()];
    let stop = StopRule::tolerance(options.tolerance, options.max_iterations as usize);
    let outcome = solver.solve(&system.matrix, &system.gather(rhs), &mut x, &stop);
    let x = system.scatter(&x);
    let solve_seconds = begin.elapsed().as_secs_f64();
    let relative_residual = matrix.relative_residual(&x, rhs);
    let (bytes, history) = (solver.bytes(), solver.history().to_vec());
    Ok(Solved { x, outcome, relative_residual, setup_seconds, solve_seconds, bytes, history })
}

fn write_results(options: &Solve, solved: &Solved) -> Result<(), Failure> {
    if let Some(path) = &options.out {
        write_whole(path, |file| write_npy(&solved.x, file)).map_err(Failure::running)?;
    }
    if let Some(path) = &options.history {
        let written = write_whole(path, |file| {
            writeln!(file, "iteration,seconds,relative_residual")?;
            solved.history.iter().enumerate().try_for_each(|(iteration, point)| {
                writeln!(file, "{iteration},{},{:e}", point.seconds, point.relative_residual)
            })
        });
        written.map_err(Failure::running)?;
    }
    Ok(())
}

fn report(options: &Solve, common: &Common, solved: &Solved, unknowns: usize) {
    let Solved { outcome, relative_residual, setup_seconds, solve_seconds, bytes, .. } = solved;
    if common.json {
        line(json!({
            "solver": options.solver,
            "unknowns": unknowns,
            "threads": supple_core::parallel::current_num_threads(),
            "setup_seconds": setup_seconds,
            "solve_seconds": solve_seconds,
            "iterations": outcome.iterations,
            "relative_residual": relative_residual,
            "converged": outcome.converged(),
            "bytes": bytes,
        }));
    } else {
        let word = if outcome.converged() { "converged" } else { "did not converge" };
        line(format!(
            "{}: {word}, {} iterations, relative residual {relative_residual:.2e}",
            options.solver, outcome.iterations
        ));
        line(format!(
            "{unknowns} unknowns, set up in {setup_seconds:.3} s, solved in {solve_seconds:.3} s, {:.1} MB",
            1e-6 * *bytes as f64
        ));
    }
}
