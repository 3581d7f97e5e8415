//! Scenes and runs from file to file: reading, stepping, changing, saving, resuming and exporting.

mod builtin_scenes;
mod changes_between_steps;
mod examples;
mod export_readers;
mod exports;
#[cfg(unix)]
mod interrupted_writes;
mod mutated_corpus;
mod resumed_runs;
mod scene_files;
mod scene_round_trip;
mod small_run;
mod stage_times;
mod stepper_conformance;
