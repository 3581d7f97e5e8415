//! A run on disk: frames and checkpoints, and exports for Blender. For a picture of a frame see the crate `supple-render`.

use std::ops::ControlFlow;

use supple::output::{ExportFormat, export};
use supple::{Run, Scene, Simd, StartMode};

/// Ten frames of the built-in demo at a fifth of its resolution.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("supple-frames-{}", std::process::id()));
    let mut scene = Scene::builtin("demo")?;
    scene.scale_resolution(0.2)?;
    scene.time.frames = 10;

    let mut run = Run::new(scene, &folder, StartMode::Replace, Simd::Auto)?;
    while !run.is_done() {
        let report = run.next_frame()?;
        println!("frame {}: stretch up to {:.3}", report.frame, report.max_stretch);
    }

    let files = export(
        run.cache(),
        &[ExportFormat::Pc2, ExportFormat::Usd],
        &folder.join("exports"),
        &mut |_, _| ControlFlow::Continue(()),
    )?;
    println!("exported {files:?}");
    println!("the last frame has {} bodies", run.cache().read(10)?.bodies.len());
    Ok(std::fs::remove_dir_all(&folder)?)
}
