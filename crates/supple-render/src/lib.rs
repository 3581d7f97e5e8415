//! Pictures of frames without a graphics card or a window: a small software rasteriser.
//!
//! ```
//! use supple::output::Frame;
//!
//! let frame = Frame { index: 0, time: 0.0, bodies: Vec::new() };
//! let scene = supple_render::RenderScene { frame: &frame, colliders: &[], overlay: &supple_render::Overlay::None };
//! let options = supple_render::RenderOptions { width: 64, height: 48, ..Default::default() };
//! let mut file = Vec::new();
//! supple_render::render(&scene, &options)?.write_png(&mut file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For an animation feed all frames to a [`Survey`], fix camera, ground and colour scale with
//! [`RenderOptions::fixed_for`], draw each frame and pass the pictures to [`write_gif`].
//!
//! | step | file |
//! | --- | --- |
//! | extent of a whole animation | `survey.rs` |
//! | camera, clipping | `camera.rs` |
//! | one mesh of everything | `drawing.rs`, `normals.rs` |
//! | light | `shadow.rs`, `ambient.rs`, `shading.rs`, `ground.rs`, `colors.rs` |
//! | pixels | `raster.rs`, `tiles.rs`, `legend.rs` |
//! | files | `image.rs`, `gif.rs`, `palette.rs` |

mod ambient;
mod camera;
mod colors;
mod drawing;
mod gif;
mod ground;
mod image;
mod legend;
mod normals;
mod palette;
mod raster;
mod shading;
mod shadow;
mod survey;
#[cfg(test)]
mod tests;
mod tiles;

use glam::DVec3;

pub use camera::{Bounds, Camera, auto_camera};
pub use colors::Rgb;
pub use gif::{GifWriter, write_gif};
pub use image::Image;
pub use survey::Survey;

use self::legend::ColorScale;
use supple::output::Frame;
use supple::simulation::{Slice, SlicedCell, Stress, StressUnit};
use supple_core::Error;

/// The largest width and height of a picture in pixels.
const MAX_SIDE: u32 = 8192;
/// The largest number of samples per pixel.
const MAX_SAMPLES: u32 = 16;

/// The choice of camera.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum CameraChoice {
    /// A three-quarter view of everything, see [`auto_camera`].
    #[default]
    Auto,
    /// The given one.
    Given(Camera),
}

/// Quantity shown by the colours of bodies.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum ColorBy {
    /// One colour per body.
    #[default]
    Plain,
    /// The largest principal stretch against the rest shape, blue below 1 and red above, with a legend.
    Stretch {
        /// The stretch shown as the deepest red, above 1; `None` takes it from the data.
        limit: Option<f64>,
    },
    /// The stress of the scene ([`Overlay::Stress`]), white to red from 0, with a legend.
    Stress {
        /// The stress shown as the deepest red, above 0; `None` takes it from the data.
        limit: Option<f64>,
    },
    /// The pressure of contact ([`Overlay::Contact`]), white to red from 0, with a legend.
    Contact {
        /// The pressure in Pa shown as the deepest red, above 0; `None` takes it from the data.
        limit: Option<f64>,
    },
}

/// The height of the ground.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Ground {
    /// At the lowest point of bodies and colliders.
    #[default]
    Lowest,
    /// At this height in metres.
    Height(f64),
    /// Nowhere.
    Hidden,
}

/// The background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// From one colour at the top to another at the bottom, which is also the colour of the ground.
    Gradient {
        /// At the top of the picture.
        top: Rgb,
        /// At the bottom.
        bottom: Rgb,
    },
    /// Nothing: the picture has an alpha channel.
    Transparent,
}

impl Default for Background {
    /// A light studio.
    fn default() -> Self {
        Self::Gradient { top: [222, 227, 233], bottom: [244, 244, 242] }
    }
}

/// Options of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderOptions {
    /// Width in pixels, 1 to 8192; 960 by default.
    pub width: u32,
    /// Height in pixels, 1 to 8192; 720 by default.
    pub height: u32,
    /// The camera; automatic by default.
    pub camera: CameraChoice,
    /// Quantity shown by the colours; one colour per body by default.
    pub color: ColorBy,
    /// Samples per pixel for anti-aliasing, 1 to 16; 8 by default.
    pub samples: u32,
    /// Draws the edges of the user's polygons too; off by default.
    pub wireframe: bool,
    /// The ground; at the lowest point by default.
    pub ground: Ground,
    /// The background; a light studio by default.
    pub background: Background,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            width: 960,
            height: 720,
            camera: CameraChoice::Auto,
            color: ColorBy::Plain,
            samples: 8,
            wireframe: false,
            ground: Ground::Lowest,
            background: Background::default(),
        }
    }
}

impl RenderOptions {
    /// The same options with everything automatic (camera, ground, colour scale) fixed to the surveyed frames, so
    /// that the pictures of an animation are consistent.
    pub fn fixed_for(&self, survey: &Survey) -> Self {
        let mut fixed = self.clone();
        if fixed.camera == CameraChoice::Auto {
            fixed.camera = CameraChoice::Given(survey.camera());
        }
        if fixed.ground == Ground::Lowest {
            fixed.ground = Ground::Height(survey.bounds().map_or(0.0, |b| b.low.y));
        }
        if fixed.color == (ColorBy::Stretch { limit: None }) {
            fixed.color = ColorBy::Stretch { limit: Some(survey.stretch_limit()) };
        }
        if fixed.color == (ColorBy::Stress { limit: None }) {
            fixed.color = ColorBy::Stress { limit: Some(survey.stress_limit()) };
        }
        if fixed.color == (ColorBy::Contact { limit: None }) {
            fixed.color = ColorBy::Contact { limit: Some(survey.pressure_limit()) };
        }
        fixed
    }

    /// Rejects sizes, samples, heights, scales and cameras that are out of range.
    pub fn check(&self) -> Result<(), Error> {
        for (what, side) in [("width", self.width), ("height", self.height)] {
            if !(1..=MAX_SIDE).contains(&side) {
                let message = format!("the picture's {what} is {side} pixels; use 1 to {MAX_SIDE}");
                return Err(Error::Invalid(message));
            }
        }
        if !(1..=MAX_SAMPLES).contains(&self.samples) {
            let message =
                format!("{} samples per pixel were requested; use 1 to {MAX_SAMPLES}", self.samples);
            return Err(Error::Invalid(message));
        }
        if let Ground::Height(y) = self.ground
            && !y.is_finite()
        {
            return Err(Error::Invalid(format!("the ground's height is {y}; use a finite number of metres")));
        }
        if let ColorBy::Stretch { limit: Some(limit) } = self.color
            && !(limit > 1.0 && limit.is_finite())
        {
            return Err(Error::Invalid(format!(
                "the colour scale ends at a stretch of {limit}; use more than 1"
            )));
        }
        if let ColorBy::Stress { limit: Some(limit) } = self.color
            && !(limit > 0.0 && limit.is_finite())
        {
            return Err(Error::Invalid(format!(
                "the colour scale ends at a stress of {limit}; use more than 0"
            )));
        }
        if let ColorBy::Contact { limit: Some(limit) } = self.color
            && !(limit > 0.0 && limit.is_finite())
        {
            return Err(Error::Invalid(format!(
                "the colour scale ends at a pressure of {limit} Pa; use more than 0"
            )));
        }
        match self.camera {
            CameraChoice::Auto => Ok(()),
            CameraChoice::Given(camera) => camera.check(),
        }
    }
}

/// A collider at the time of one frame.
#[derive(Debug, Clone, PartialEq)]
pub struct ColliderMesh {
    /// Its name, for messages.
    pub name: String,
    /// World positions in metres.
    pub positions: Vec<DVec3>,
    /// Triangles, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Its colour; `None` means neutral grey.
    pub color: Option<Rgb>,
}

/// Solver data shown on the bodies.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Overlay {
    /// None: the options select the colours.
    #[default]
    None,
    /// A level of the solver's hierarchy.
    Hierarchy {
        /// The region of every vertex of all bodies, in the order of bodies: each region gets its own colour,
        /// `u32::MAX` none.
        regions: Vec<u32>,
        /// Cells by their kinds. If there are any, the slice cuts the bodies open to show them.
        cells: Vec<SlicedCell>,
        /// Position of the slice.
        slice: Slice,
    },
    /// Stress, for [`ColorBy::Stress`]. Bodies whose unit differs from the first are drawn in their own colours.
    Stress(Stress),
    /// Contact, for [`ColorBy::Contact`].
    Contact {
        /// The pressure on every vertex of all bodies in Pa, in the order of bodies.
        pressure: Vec<f32>,
        /// Vertices that are left out of contact with a collider, numbered over all bodies: they have a colour of their own.
        released: Vec<u32>,
    },
}

/// The bodies and colliders to draw.
#[derive(Debug, Clone, Copy)]
pub struct RenderScene<'a> {
    /// The bodies.
    pub frame: &'a Frame,
    /// The colliders.
    pub colliders: &'a [ColliderMesh],
    /// Solver data shown by the colours.
    pub overlay: &'a Overlay,
}

impl RenderScene<'_> {
    fn check(&self) -> Result<(), Error> {
        let vertices: usize = self.frame.bodies.iter().map(|body| body.positions.len()).sum();
        let given = match self.overlay {
            Overlay::Hierarchy { regions, .. } if !regions.is_empty() => Some(("regions", regions.len())),
            Overlay::Stress(stress) => Some(("stresses", stress.of_point.len())),
            Overlay::Contact { pressure, .. } => Some(("pressures", pressure.len())),
            _ => None,
        };
        if let Some((what, count)) = given
            && count != vertices
        {
            return Err(Error::Invalid(format!(
                "got {count} {what} for the {vertices} vertices of all bodies"
            )));
        }
        if let Overlay::Contact { released, .. } = self.overlay
            && let Some(vertex) = released.iter().find(|vertex| **vertex as usize >= vertices)
        {
            return Err(Error::Invalid(format!(
                "vertex {vertex} is released, but there are {vertices} of all bodies"
            )));
        }
        for body in &self.frame.bodies {
            let (mesh, name) = (&body.surface.mesh, &body.surface.name);
            if body.positions.len() != mesh.positions.len() {
                return Err(Error::Invalid(format!(
                    "body `{name}` has {} positions in frame {} for the {} vertices of its mesh",
                    body.positions.len(),
                    self.frame.index,
                    mesh.positions.len()
                )));
            }
            check_indices("body", name, &mesh.corners, mesh.positions.len())?;
        }
        for collider in self.colliders {
            let corners = collider.triangles.as_flattened();
            check_indices("collider", &collider.name, corners, collider.positions.len())?;
        }
        Ok(())
    }
}

fn check_indices(what: &str, name: &str, corners: &[u32], vertices: usize) -> Result<(), Error> {
    match corners.iter().find(|&&v| v as usize >= vertices) {
        None => Ok(()),
        Some(v) => Err(Error::Invalid(format!(
            "{what} `{name}` has a face with vertex {v} but only {vertices} vertices"
        ))),
    }
}

/// Draws a picture. Triangles with positions that are not finite are skipped. The same scene and options give
/// bit-identical pictures for any number of threads.
pub fn render(scene: &RenderScene, options: &RenderOptions) -> Result<Image, Error> {
    options.check()?;
    scene.check()?;
    let mut survey = Survey::new(options);
    survey.add(scene, options);
    let options = options.fixed_for(&survey);
    let camera = match options.camera {
        CameraChoice::Given(camera) => camera,
        CameraChoice::Auto => unreachable!("a survey fixes the camera"),
    };
    let limit = match options.color {
        ColorBy::Stretch { limit } | ColorBy::Stress { limit } | ColorBy::Contact { limit } => limit,
        ColorBy::Plain => None,
    };
    let stage = camera::Stage::new(&camera);
    let view = camera::StageView::new(&camera, &stage, options.width, options.height);
    let drawing = drawing::Drawing::new(scene, &stage, options.color);
    let ground = match options.ground {
        Ground::Height(y) => Some(stage.height(y)),
        Ground::Lowest | Ground::Hidden => None,
    };
    let lighting = shading::Lighting::new(&drawing, &view, ground);
    let backdrop = ground::Backdrop::new(&options.background, options.height);
    let painter = tiles::Painter {
        view,
        drawing: &drawing,
        lighting: &lighting,
        ground: ground
            .and_then(|g| ground::GroundPlane::new(g, &view, &stage, &lighting, backdrop.ground_color())),
        backdrop,
        samples: options.samples,
        wireframe: options.wireframe,
    };
    let mut image = painter.paint(options.width, options.height);
    match (options.color, limit, scene.overlay) {
        (ColorBy::Stretch { .. }, Some(limit), _) => legend::draw(&mut image, &ColorScale::stretch(limit)),
        (ColorBy::Stress { .. }, Some(limit), Overlay::Stress(Stress { bodies, .. })) => {
            let unit = bodies.first().map_or(StressUnit::Pascal, |body| body.0);
            legend::draw(&mut image, &ColorScale::stress(limit, unit));
        }
        (ColorBy::Contact { .. }, Some(limit), Overlay::Contact { released, .. }) => {
            legend::draw(&mut image, &ColorScale::contact(limit, !released.is_empty()));
        }
        _ => {}
    }
    Ok(image)
}
