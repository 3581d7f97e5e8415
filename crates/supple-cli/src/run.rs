//! `supple run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;
use supple::output::ExportFormat;
use supple::scene::{Body, Mode, Scene, Solver};
use supple::simulation::{FrameCorrection, FrameReport, Run as DiskRun, StartMode, scene_of_run_with};

use crate::arguments::{Common, Run, SimdChoice};
use crate::export::{export_frames, parse_formats};
use crate::failure::Failure;
use crate::interrupt;
use crate::print::{line, notice};
use crate::progress::{Progress, peak_memory_bytes};
use crate::scenes::choose;

/// The last line of `run --json`.
#[derive(Serialize)]
struct Summary<'a> {
    scene: &'a str,
    solver: &'a str,
    vertices: usize,
    elements: usize,
    unknowns: usize,
    frames: u32,
    setup_seconds: f64,
    wall_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_bytes: Option<u64>,
    threads: usize,
}

/// Simulates a scene.
pub(crate) fn run(options: &Run, common: &Common) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let mut scene = chosen_scene(options, common)?;
    scene.output.record_states |= options.record_states;
    scene.output.verify_steps |= options.verify_steps;
    scene.output.contact_forces |= options.contact_forces;
    let formats = wanted_formats(options, &scene)?;
    let folder = options.out.clone().unwrap_or_else(|| free_folder(&scene.name));
    let begin = match (options.resume, options.from, options.replace) {
        (true, _, _) => StartMode::Resume,
        (_, Some(frame), _) => StartMode::From(frame),
        (_, _, true) => StartMode::Replace,
        _ => StartMode::Fresh,
    };
    let mut run = DiskRun::with_steppers(scene, &folder, begin, common.simd.into(), &common.steppers)
        .map_err(Failure::of)?;
    let setup_seconds = started.elapsed().as_secs_f64();
    interrupt::install_handler(common);
    announce(&run, &folder, common);
    let resume = resume_command(options, common, &folder);
    let reports = simulate(&mut run, common).map_err(|failure| advise(failure, &run, &folder, &resume))?;
    warn(&run, &reports);
    let exported = match run.is_done() {
        true => export_frames(run.cache(), &formats, &folder.join("exports"), common),
        false => Ok(()),
    };
    if common.json {
        print_summary(&run, setup_seconds, started);
    }
    exported.map_err(|failure| advise_export(failure, &formats, &folder))?;
    if !run.is_done() {
        notice(format_args!("stopped after frame {}; resume with: {resume}", run.frame()));
        return Ok(ExitCode::from(interrupt::STOPPED));
    }
    if formats.is_empty() && !reports.is_empty() && folder.join("exports").is_dir() {
        let folder = folder.display();
        notice(format_args!(
            "note: {folder}/exports is older than the frames; regenerate it with `supple export`"
        ));
    }
    if !common.json && !common.quiet {
        finish(&run, &folder, started);
    }
    Ok(ExitCode::SUCCESS)
}

/// Notes about finished frames: steps that stopped early, violated bounds.
fn warn(run: &DiskRun, reports: &[FrameReport]) {
    let early: Vec<&FrameReport> = reports.iter().filter(|report| report.converged == Some(false)).collect();
    let residual = |report: &FrameReport| report.residual.unwrap_or(f64::NAN);
    if let Some(worst) = early.iter().max_by(|a, b| residual(a).total_cmp(&residual(b))) {
        notice(format_args!(
            "note: {} of {} frames stopped before {}, the worst, frame {}, at a residual of {:.1e}; {}",
            early.len(),
            reports.len(),
            goal(&run.scene().solver),
            worst.frame,
            residual(worst),
            remedy(run.scene(), worst)
        ));
    }
    note_verified_steps(reports);
    if run.is_done() {
        warn_of_expectations(run);
    }
    note_what_remains(run, reports);
}

/// When the steps of a frame would have converged.
fn goal(solver: &Solver) -> String {
    if solver.tolerance.is_none() && solver.method.traits().velocity_tolerance {
        return "their steps were solved".to_owned();
    }
    format!("the tolerance {:.0e}", solver.gradient_tolerance())
}

/// How far the steps ended from their solution, if they were verified.
fn note_verified_steps(reports: &[FrameReport]) {
    let verified = || reports.iter().filter_map(|report| Some((report.frame, report.correction?)));
    let ratio = |found: &FrameCorrection| found.worst.distance / found.worst.limit;
    let Some((frame, worst)) = verified().max_by(|(_, a), (_, b)| ratio(a).total_cmp(&ratio(b))) else {
        return;
    };
    let total = |count: fn(&FrameCorrection) -> u32| verified().map(|(_, found)| count(&found)).sum::<u32>();
    let (unsolved, wrongly) = (total(|found| found.unsolved), total(|found| found.wrongly_converged));
    let steps: u32 =
        reports.iter().filter(|report| report.correction.is_some()).map(|report| report.steps).sum();
    notice(format_args!(
        "verified: {} of {steps} steps are solved; a Newton step from the end of the worst, in frame {frame}, would move a vertex by \
         {:.1e} m (limit {:.1e} m); {wrongly} steps are reported as converged without being solved",
        steps - unsolved,
        worst.worst.distance,
        worst.worst.limit,
    ));
}

/// What is still inside a collider or crosses, after a run in which something was.
fn note_what_remains(run: &DiskRun, reports: &[FrameReport]) {
    if reports.is_empty() {
        return;
    }
    let remaining: Vec<String> =
        run.simulation().notes().into_iter().filter(|note| !run.notes().contains(note)).collect();
    for note in &remaining {
        notice(format_args!("note: after frame {}: {note}", run.frame()));
    }
    let was_entangled = reports
        .iter()
        .any(|report| report.crossings.is_some_and(|count| count > 0) || !report.released.is_empty());
    if remaining.is_empty() && was_entangled {
        notice(format_args!("note: after frame {}: nothing is inside a collider or crosses", run.frame()));
    }
}

/// The limit of iterations of a linear solve that scenes do not give.
const LINEAR_ITERATIONS: u32 = 1000;

/// Advice for a frame that stopped early.
fn remedy(scene: &Scene, worst: &FrameReport) -> String {
    let touches = worst.contacts > 0 || worst.pairs > 0;
    let is_pinned = |body: &Body| scene.pins.iter().any(|pin| pin.body == body.name);
    let loose: Vec<String> =
        scene.bodies.iter().filter(|body| !is_pinned(body)).map(|body| format!("`{}`", body.name)).collect();
    if scene.time.mode == Mode::Quasistatic && !touches && !loose.is_empty() {
        return format!(
            "nothing supports body {}, so there is no equilibrium: pin it, put a collider below it, or use \
             `mode = \"dynamic\"`",
            loose.join(", ")
        );
    }
    let solver = &scene.solver;
    if solver.method.traits().velocity_tolerance
        && solver.velocity_tolerance.is_none()
        && let Some(tolerance) = solver.tolerance
    {
        return format!(
            "`solver.tolerance` asks for forces to fall to {tolerance:.0e}, also where nothing would move: leave it out, or set \
             `solver.velocity_tolerance`"
        );
    }
    let of_linear = solver.linear().max_iterations.unwrap_or(LINEAR_ITERATIONS);
    if worst.nonlinear_iterations > 0
        && worst.linear_iterations / worst.nonlinear_iterations >= of_linear * 9 / 10
    {
        return format!(
            "its linear solves ended at their limit of {of_linear} iterations: choose another `solver.linear`, `cholesky` for a \
             reference"
        );
    }
    if worst.max_step_iterations >= solver.max_iterations {
        return format!(
            "its steps used all {} iterations: raise `solver.max_iterations`, or take shorter steps by `time.substeps`",
            solver.max_iterations
        );
    }
    "iterations made no more progress there: take shorter steps by `time.substeps`".to_owned()
}

/// The scene's bounds over all frames, including those before the run was resumed.
fn warn_of_expectations(run: &DiskRun) {
    match run.reports() {
        Ok(reports) => run.scene().expect.violations(&reports).iter().for_each(|violation| {
            notice(format_args!("warning: expectation violated: {violation}"));
        }),
        Err(error) => notice(format_args!("warning: the scene's expectations could not be checked: {error}")),
    }
}

/// The scene named on the command line; with `--resume` alone, that of the run itself.
fn chosen_scene(options: &Run, common: &Common) -> Result<Scene, Failure> {
    match (&options.scene, &options.out) {
        (None, Some(folder)) if options.resume || options.from.is_some() => {
            if options.choice.resolution.is_some() {
                let problem =
                    "--resolution would scale the run's own scene again; omit it, or name the scene";
                return Err(Failure::usage(anyhow::anyhow!(problem)));
            }
            let path = folder.join("scene.toml");
            let name = scene_of_run_with(folder, &common.steppers).map_err(Failure::usage)?.name;
            let mut scene = choose(&path.to_string_lossy(), &options.choice, common)?;
            scene.name = name;
            Ok(scene)
        }
        (source, _) => choose(source.as_deref().unwrap_or("demo"), &options.choice, common),
    }
}

fn wanted_formats(options: &Run, scene: &Scene) -> Result<Vec<ExportFormat>, Failure> {
    let words = if options.format.is_empty() { &scene.output.formats } else { &options.format };
    parse_formats(words)
}

/// `out/NAME`, or the first of `out/NAME-2`, `out/NAME-3` … that does not exist.
fn free_folder(name: &str) -> PathBuf {
    let first = Path::new("out").join(name);
    if !first.exists() {
        return first;
    }
    let numbered = (2u32..).map(|n| Path::new("out").join(format!("{name}-{n}")));
    numbered.into_iter().find(|folder| !folder.exists()).unwrap_or(first)
}

fn announce(run: &DiskRun, folder: &Path, common: &Common) {
    if common.quiet {
        return;
    }
    let counts = run.simulation().counts();
    notice(format_args!(
        "{}: {} vertices, {} elements, {} unknowns, into {}",
        run.scene().name,
        counts.vertices,
        counts.elements,
        counts.unknowns,
        folder.display()
    ));
    notice(format_args!("by {}", run.simulation().choices()));
    if run.frame() > 0 && run.is_done() {
        let asked = run.scene().time.frames;
        notice(format_args!(
            "the run already has {} frames, and {asked} were requested: nothing to simulate",
            run.frame()
        ));
    } else if run.frame() > 0 {
        notice(format_args!("resuming after frame {}", run.frame()));
    }
    for note in run.notes() {
        notice(format_args!("note: {note}"));
    }
}

fn simulate(run: &mut DiskRun, common: &Common) -> Result<Vec<FrameReport>, Failure> {
    let progress = Progress::frames(common, run.frame(), run.scene().time.frames);
    let mut reports = Vec::new();
    while !run.is_done() && !interrupt::asked() {
        let report = run.next_frame().map_err(Failure::running)?;
        progress.frame(&report);
        if common.json {
            line(serde_json::to_string(&report).map_err(Failure::running)?);
        }
        reports.push(report);
    }
    run.checkpoint_now().map_err(Failure::running)?;
    progress.end();
    Ok(reports)
}

fn advise(failure: Failure, run: &DiskRun, folder: &Path, resume: &str) -> Failure {
    failure.with_advice(format!(
        "everything up to frame {} is in {}; resume with `{resume}`, or from an earlier frame with a changed scene by \
         `--from K`",
        run.frame(),
        folder.display()
    ))
}

/// All frames exist: only the export has to be repeated.
fn advise_export(failure: Failure, formats: &[ExportFormat], folder: &Path) -> Failure {
    let words: Vec<&str> = formats.iter().map(|format| format.name()).collect();
    let (folder, words) = (folder.display(), words.join(","));
    failure.with_advice(format!(
        "all frames are complete; export them with: supple export {folder} --format {words}"
    ))
}

fn resume_command(options: &Run, common: &Common, folder: &Path) -> String {
    let mut words = vec!["supple".to_owned(), "run".to_owned()];
    words.extend(["--out".to_owned(), folder.display().to_string(), "--resume".to_owned()]);
    if !options.format.is_empty() {
        words.extend(["--format".to_owned(), options.format.join(",")]);
    }
    if let SimdChoice::Baseline = common.simd {
        words.extend(["--simd".to_owned(), "baseline".to_owned()]);
    }
    words.join(" ")
}

fn print_summary(run: &DiskRun, setup_seconds: f64, started: Instant) {
    let counts = run.simulation().counts();
    let summary = Summary {
        scene: &run.scene().name,
        solver: &run.scene().solver.name(),
        vertices: counts.vertices,
        elements: counts.elements,
        unknowns: counts.unknowns,
        frames: run.frame(),
        setup_seconds,
        wall_seconds: started.elapsed().as_secs_f64(),
        peak_memory_bytes: peak_memory_bytes(),
        threads: supple_core::parallel::current_num_threads(),
    };
    line(serde_json::json!({ "summary": summary }));
}

fn finish(run: &DiskRun, folder: &Path, started: Instant) {
    let folder = folder.display();
    notice(format_args!("{} frames in {:.1} s, in {folder}", run.frame(), started.elapsed().as_secs_f64()));
    notice(format_args!("render:  supple render {folder} --out {}.gif", run.scene().name));
    notice(format_args!("export:  supple export {folder} --format usd,pc2"));
}
