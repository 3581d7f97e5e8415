//! `supple render`: pictures and animations of a run, or of a scene simulated on the fly.

mod frames;
mod spool;

use std::process::ExitCode;

use anyhow::anyhow;
use glam::DVec3;
use supple::FileError;
use supple::output::AtomicFile;
use supple_core::parallel::prelude::*;
use supple_render::{
    Camera, CameraChoice, ColorBy, GifWriter, Image, RenderOptions, RenderScene, Survey, render as draw,
};

use self::frames::{FrameSequence, FrameSource, stop_if_interrupted};
use self::spool::ShownFrame;
use crate::alive;
use crate::arguments::{Color, Common, Render};
use crate::colliders::{DrawnColliders, ground};
use crate::failure::Failure;
use crate::interrupt;
use crate::print::notice;
use crate::progress::Progress;

/// Maximum frame rate of animations: GIF delays are in hundredths of a second, and viewers slow down faster ones.
const MAX_GIF_FPS: f64 = 50.0;

/// Draws a picture or an animation.
pub(crate) fn render(options: &Render, common: &Common) -> Result<ExitCode, Failure> {
    let animated = is_animation(options)?;
    let wanted = render_options(options)?;
    wanted.check().map_err(Failure::usage)?;
    let source = FrameSource::open(options, common)?;
    interrupt::install_handler(common);
    // Opened before anything is simulated: an unwritable path must not cost an hour of simulation.
    let file = AtomicFile::create(&options.out).map_err(Failure::of)?;
    let scene = source.scene.clone();
    let wanted = RenderOptions { ground: ground(&scene), ..wanted };
    let drawn = DrawnColliders::new(&scene);
    let mut survey = Survey::new(&wanted);
    let mut frames = source.frames(options, animated, common, &mut |ShownFrame { frame, overlay }| {
        let colliders = drawn.at(frame.time);
        survey.add(&RenderScene { frame, colliders: &colliders, overlay }, &wanted);
    })?;
    alive::now_at(|| "drawing".to_owned());
    let studio = Studio { fps: scene.time.fps, colliders: drawn, options: wanted.fixed_for(&survey) };
    if animated {
        write_animation(file, options, &studio, &mut frames, common)?;
    } else {
        write_picture(file, options, &studio, &mut frames)?;
    }
    if !common.quiet {
        notice(format_args!("wrote {}", options.out.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the output is an animation; incompatible options are rejected.
fn is_animation(options: &Render) -> Result<bool, Failure> {
    let extension = options.out.extension().map(|e| e.to_string_lossy().to_lowercase());
    let refuse = |problem: &str| Err(Failure::usage(anyhow!("{problem}")));
    match extension.as_deref() {
        Some("gif") if options.frame.is_some() => {
            refuse("--frame applies to a picture (.png); an animation shows all frames")
        }
        Some("png") if options.every.is_some() => {
            refuse("--every applies to an animation (.gif); a picture shows one frame, selected by --frame")
        }
        Some("gif") => Ok(true),
        Some("png") => Ok(false),
        _ => refuse(&format!("--out {}: must end in .png or .gif", options.out.display())),
    }
}

/// A scene with camera, ground and colour scale fixed.
struct Studio {
    fps: f64,
    colliders: DrawnColliders,
    options: RenderOptions,
}

impl Studio {
    fn picture(&self, ShownFrame { frame, overlay }: &ShownFrame) -> Result<Image, Failure> {
        let colliders = self.colliders.at(frame.time);
        draw(&RenderScene { frame, colliders: &colliders, overlay }, &self.options).map_err(Failure::usage)
    }
}

fn write_picture(
    mut file: AtomicFile,
    options: &Render,
    studio: &Studio,
    frames: &mut FrameSequence,
) -> Result<(), Failure> {
    let image = studio.picture(&frames.read(0)?)?;
    let disk_error = |error| Failure::running(FileError::io(&options.out, "write", &error));
    image.write_png(&mut file).map_err(disk_error)?;
    file.commit().map_err(Failure::running)
}

fn write_animation(
    file: AtomicFile,
    options: &Render,
    studio: &Studio,
    frames: &mut FrameSequence,
    common: &Common,
) -> Result<(), Failure> {
    let progress = Progress::work(common, "drawing");
    let fps = (studio.fps / f64::from(options.every.unwrap_or(1))).min(MAX_GIF_FPS);
    let (width, height) = (studio.options.width, studio.options.height);
    let mut gif = GifWriter::new(file, width, height, fps).map_err(Failure::running)?;
    let count = frames.len();
    let mut done = 0;
    while done < count {
        // As many at once as there are threads: parts of the drawing of one picture are single-threaded.
        let batch = (done..count.min(done + supple_core::parallel::current_num_threads()))
            .map(|place| frames.read(place));
        let batch = batch.collect::<Result<Vec<ShownFrame>, Failure>>()?;
        let pictures = batch.par_iter().map(|frame| studio.picture(frame));
        for picture in pictures.collect::<Result<Vec<Image>, Failure>>()? {
            gif.add(&picture).map_err(Failure::running)?;
        }
        done += batch.len();
        progress.set(done as u32, count as u32);
        if done < count {
            stop_if_interrupted(options, || format!("drawing {done} of {count} frames"))?;
        }
    }
    progress.end();
    gif.finish().map_err(Failure::running)?.commit().map_err(Failure::running)
}

fn render_options(options: &Render) -> Result<RenderOptions, Failure> {
    let (width, height) = picture_size(options)?;
    let camera = match options.camera[..] {
        [] => CameraChoice::Auto,
        [a, b, c, d, e, f] => CameraChoice::Given(Camera {
            eye: DVec3::new(a, b, c),
            target: DVec3::new(d, e, f),
            up: DVec3::Y,
            fov_degrees: 35.0,
        }),
        _ => {
            return Err(Failure::usage(anyhow!(
                "--camera takes six numbers: position x,y,z and target x,y,z"
            )));
        }
    };
    let color = match options.color {
        Color::Plain | Color::Hierarchy => ColorBy::Plain,
        Color::Stretch => ColorBy::Stretch { limit: None },
        Color::Stress => ColorBy::Stress { limit: None },
        Color::Contact => ColorBy::Contact { limit: None },
    };
    Ok(RenderOptions {
        width,
        height,
        camera,
        color,
        wireframe: options.wireframe,
        ..RenderOptions::default()
    })
}

fn picture_size(options: &Render) -> Result<(u32, u32), Failure> {
    let parsed =
        options.size.split_once(['x', 'X']).and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parsed.ok_or_else(|| {
        Failure::usage(anyhow!("--size {}: write it as WIDTHxHEIGHT, such as 960x720", options.size))
    })
}
