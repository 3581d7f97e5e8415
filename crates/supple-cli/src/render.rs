//! `supple render`: pictures and animations of a run, or of a scene simulated on the way.

use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use glam::DVec3;
use supple::output::render::{
    Camera, CameraChoice, ColorBy, GifWriter, Image, RenderOptions, RenderScene, Survey, render as draw,
};
use supple::output::{AtomicFile, Frame, FrameCache, write_whole};
use supple::scene::Scene;
use supple::simulation::{Simulation, scene_of_run};

use crate::arguments::{Color, Common, Render};
use crate::colliders::{DrawnColliders, ground};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::scenes::choose;

/// Animations show at most this many frames a second: GIF knows hundredths of a second, and viewers slow down more.
const MOST_GIF_FPS: f64 = 50.0;

/// Draws a picture or an animation.
pub(crate) fn render(options: &Render, common: &Common) -> Result<ExitCode, Failure> {
    let animated = match options.out.extension().map(|e| e.to_string_lossy().to_lowercase()).as_deref() {
        Some("gif") => true,
        Some("png") => false,
        _ => {
            return Err(Failure::usage(anyhow!(
                "--out {}: it must end in .png or .gif",
                options.out.display()
            )));
        }
    };
    if animated && options.frame.is_some() {
        return Err(Failure::usage(anyhow!(
            "--frame is for a picture (.png); an animation shows all frames"
        )));
    }
    let wanted = render_options(options)?;
    let (scene, frames) = frames(options, animated, common)?;
    let render_options = RenderOptions { ground: ground(&scene), ..wanted };
    let drawn = DrawnColliders::new(&scene);
    let mut survey = Survey::new(&render_options);
    for frame in &frames {
        let colliders = drawn.at(frame.time);
        survey.add(&RenderScene { frame, colliders: &colliders }, &render_options);
    }
    let render_options = render_options.fixed_for(&survey);
    let picture = |frame: &Frame| -> Result<Image, Failure> {
        let colliders = drawn.at(frame.time);
        draw(&RenderScene { frame, colliders: &colliders }, &render_options).map_err(Failure::usage)
    };
    if animated {
        write_animation(options, &scene, &frames, common, picture)?;
    } else if let Some(frame) = frames.last() {
        let image = picture(frame)?;
        write_whole(&options.out, |file| image.write_png(file)).map_err(Failure::running)?;
    }
    if !common.quiet {
        eprintln!("wrote {}", options.out.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn write_animation(
    options: &Render,
    scene: &Scene,
    frames: &[Frame],
    common: &Common,
    picture: impl Fn(&Frame) -> Result<Image, Failure>,
) -> Result<(), Failure> {
    let progress = Progress::work(common, "drawing");
    let fps = (scene.time.fps / f64::from(options.every)).min(MOST_GIF_FPS);
    let file = AtomicFile::create(&options.out).map_err(Failure::running)?;
    let (width, height) = picture_size(options)?;
    let mut gif = GifWriter::new(file, width, height, fps).map_err(Failure::running)?;
    for (done, frame) in frames.iter().enumerate() {
        gif.add(&picture(frame)?).map_err(Failure::running)?;
        progress.set(done as u32 + 1, frames.len() as u32);
    }
    progress.end();
    gif.finish().map_err(Failure::running)?.commit().map_err(Failure::running)
}

/// The frames to draw: all (or every n-th) for an animation, one for a picture.
fn frames(options: &Render, animated: bool, common: &Common) -> Result<(Scene, Vec<Frame>), Failure> {
    let folder = Path::new(&options.source);
    if folder.is_dir() {
        if options.choice.changes_something() {
            let problem = "is a run: --resolution, --set, --frames and --solver have no effect on it";
            return Err(Failure::usage(anyhow!("{} {problem}", folder.display())));
        }
        return frames_of_run(folder, options, animated);
    }
    let scene = choose(&options.source, &options.choice)?;
    let frames = simulate(&scene, options, animated, common)?;
    Ok((scene, frames))
}

fn frames_of_run(folder: &Path, options: &Render, animated: bool) -> Result<(Scene, Vec<Frame>), Failure> {
    let scene = scene_of_run(folder).map_err(Failure::usage)?;
    let cache = FrameCache::open(folder).map_err(Failure::usage)?;
    let present = cache.frames().map_err(Failure::usage)?;
    let last =
        *present.last().ok_or_else(|| Failure::usage(anyhow!("{}: no frames yet", folder.display())))?;
    let wanted: Vec<u32> = if animated {
        present.into_iter().step_by(options.every as usize).collect()
    } else {
        vec![options.frame.unwrap_or(last)]
    };
    let frames = wanted.into_iter().map(|frame| cache.read(frame)).collect::<Result<_, _>>();
    Ok((scene, frames.map_err(Failure::usage)?))
}

fn simulate(scene: &Scene, options: &Render, animated: bool, common: &Common) -> Result<Vec<Frame>, Failure> {
    let mut simulation = Simulation::with_simd(scene.clone(), common.simd.into()).map_err(Failure::usage)?;
    let last = if animated { scene.time.frames } else { options.frame.unwrap_or(scene.time.frames) };
    let dt = 1.0 / (scene.time.fps * f64::from(scene.time.substeps));
    let progress = Progress::work(common, "simulating");
    let mut frames = vec![simulation.frame(0)];
    for frame in 1..=last {
        for _ in 0..scene.time.substeps {
            simulation.step(dt).map_err(Failure::running)?;
        }
        if !animated {
            frames.clear();
        }
        if !animated || frame.is_multiple_of(options.every) {
            frames.push(simulation.frame(frame));
        }
        progress.set(frame, last);
    }
    progress.end();
    Ok(frames)
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
        _ => return Err(Failure::usage(anyhow!("--camera takes six numbers: eye x,y,z and target x,y,z"))),
    };
    let color = match options.color {
        Color::Plain => ColorBy::Plain,
        Color::Stretch => ColorBy::Stretch { limit: None },
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
