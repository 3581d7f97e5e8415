//! Pictures of a simulation in its current state.

use glam::DVec3;
use supple::scene::Scene;
use supple::simulation::Simulation;
use supple::{Error, FileError};
use supple_cli::{drawn_colliders, drawn_ground};
use supple_render::{Camera, CameraChoice, ColorBy, Overlay, RenderOptions, RenderScene, render};

/// The angle between the top and the bottom of a picture in degrees, as in the command-line program.
const FIELD_OF_VIEW: f64 = 35.0;

/// Options of a picture.
pub(crate) struct PictureOptions {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) stretch: bool,
    pub(crate) wireframe: bool,
    /// Camera position and target in metres.
    pub(crate) camera: Option<[[f64; 3]; 2]>,
}

/// Draws a PNG file.
pub(crate) fn draw(
    simulation: &Simulation,
    scene: &Scene,
    picture: &PictureOptions,
) -> Result<Vec<u8>, Error> {
    let scene_state = simulation.scene_state();
    let colliders = scene_state.colliders.iter().map(|(_, collider)| collider.clone()).collect();
    let now = Scene { colliders, time: scene.time.clone(), folder: scene.folder.clone(), ..Scene::default() };
    let camera = match picture.camera {
        None => CameraChoice::Auto,
        Some([eye, target]) => CameraChoice::Given(Camera {
            eye: DVec3::from(eye),
            target: DVec3::from(target),
            up: DVec3::Y,
            fov_degrees: FIELD_OF_VIEW,
        }),
    };
    let options = RenderOptions {
        width: picture.width,
        height: picture.height,
        camera,
        color: if picture.stretch { ColorBy::Stretch { limit: None } } else { ColorBy::Plain },
        wireframe: picture.wireframe,
        ground: drawn_ground(&now),
        ..RenderOptions::default()
    };
    let (frame, colliders) = (simulation.frame(0), drawn_colliders(&now, simulation.time()));
    let image =
        render(&RenderScene { frame: &frame, colliders: &colliders, overlay: &Overlay::None }, &options)?;
    let mut file = Vec::new();
    let failure = |error| FileError::io("the picture".as_ref(), "write", &error);
    image.write_png(&mut file).map_err(failure)?;
    Ok(file)
}
