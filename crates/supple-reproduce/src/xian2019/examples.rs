//! The paper's examples with the parameters of its table 4, on built-in characters or on the user's mesh, at a chosen size.
//!
//! The paper does not state the size of its objects; here they measure one metre. Its solids fall from lying to
//! hanging by their upper end (the armadillo by its ears and the top of its skull), attached by soft pins. Table 4's
//! attachment stiffness is per vertex of the paper's finest mesh; on coarser meshes it is scaled up by the ratio of
//! vertex counts, so that all hang the same.

use std::path::{Path, PathBuf};

use glam::DVec3;
use supple::Error;
use supple::material::{MaterialSpec, StretchStiffness};
use supple::mesh::format::{Mesh, load};
use supple::mesh::geometry::Aabb;
use supple::mesh::implicit::{Character, ImplicitShape};
use supple::mesh::{SurfaceMesh, tetrahedralise};
use supple::scene::{Body, Model, Pin, Placement, Scene, Selection, Shape, ShapeSource, Solver};

use super::super::catalogue::Request;
use supple_cli::failure::Failure;

/// Frames per second (section 5.1).
pub(super) const FPS: f64 = 30.0;

/// A solid of table 4.
pub(super) struct PaperSolid {
    pub name: &'static str,
    character: Character,
    /// Lamé's second and first coefficient, `μ` and `λ`, in Pa.
    lame: [f64; 2],
    attachment: f64,
    /// Vertices of its finest mesh in the paper.
    finest: f64,
    /// The pinned part: above this fraction of the height.
    held_above: f64,
    /// Its size in metres.
    metres: f64,
}

pub(super) const ARMADILLO: PaperSolid = PaperSolid {
    name: "armadillo",
    character: Character::Armadillo,
    lame: [500.0, 0.0],
    attachment: 1.0,
    finest: 126_966.0,
    held_above: 0.84,
    metres: 1.0,
};

pub(super) const DRAGON: PaperSolid = PaperSolid {
    name: "dragon",
    character: Character::Creature,
    lame: [250.0, 0.0],
    attachment: 1.0,
    finest: 200_094.0,
    held_above: 0.85,
    metres: 1.0,
};

pub(super) const OCTOPUS: PaperSolid = PaperSolid {
    name: "octopus",
    character: Character::Octopus,
    lame: [1000.0, 0.0],
    attachment: 1.0,
    finest: 39_223.0,
    held_above: 0.75,
    metres: 1.0,
};

/// Springs of the cloth in N/m: stretch and bending.
const CLOTH_SPRINGS: [f64; 2] = [100.0, 20.0];
const CLOTH_ATTACHMENT: f64 = 100.0;

/// The origin of a solid.
enum SolidSource {
    Implicit(ImplicitShape),
    Surface(PathBuf, Box<SurfaceMesh>),
    Tets(PathBuf, Vec<DVec3>),
}

impl SolidSource {
    fn of(solid: &PaperSolid, mesh: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = mesh else { return Ok(Self::Implicit(solid.character.shape())) };
        Ok(match load(path)?.mesh {
            Mesh::Surface(surface) => Self::Surface(path.to_owned(), Box::new(surface)),
            Mesh::Tets(tets) => Self::Tets(path.to_owned(), tets.positions),
        })
    }

    /// The vertices of its tetrahedra with cells of a size.
    fn filled(&self, cell: f64) -> Result<Vec<DVec3>, Error> {
        Ok(match self {
            Self::Implicit(shape) => shape.tets(cell)?.positions,
            Self::Surface(_, surface) => tetrahedralise(surface, cell)?.mesh.positions,
            Self::Tets(_, positions) => positions.clone(),
        })
    }

    fn bounds(&self) -> Result<Aabb, Error> {
        Ok(match self {
            Self::Implicit(_) => Aabb::of_points(&self.filled(1.0 / 16.0)?),
            Self::Surface(_, surface) => Aabb::of_points(&surface.positions),
            Self::Tets(_, positions) => Aabb::of_points(positions),
        })
    }

    /// The cell that fills it with about this many vertices; none for a mesh that already has tetrahedra.
    fn cell(&self, vertices: f64, largest_side: f64) -> Result<Option<f64>, Error> {
        if matches!(self, Self::Tets(..)) {
            return Ok(None);
        }
        // Interior vertices scale with the volume, those of the boundary with the area: n = a / h³ + b / h².
        let [h, k] = [largest_side / 16.0, largest_side / 26.0];
        let [n, m] = [self.filled(h)?.len() as f64, self.filled(k)?.len() as f64];
        let a = (m * k * k - n * h * h) / (1.0 / k - 1.0 / h);
        let b = n * h * h - a / h;
        let (mut fine, mut coarse) = (1e-4 * largest_side, largest_side);
        for _ in 0..60 {
            let cell = 0.5 * (fine + coarse);
            let found = a / cell.powi(3) + b / cell.powi(2);
            if found > vertices { fine = cell } else { coarse = cell }
        }
        Ok(Some(fine))
    }

    fn shape(self, scale: f64) -> Shape {
        let source = match self {
            Self::Implicit(shape) => ShapeSource::Implicit(shape),
            Self::Surface(path, _) | Self::Tets(path, _) => ShapeSource::File(path),
        };
        Shape { scale, ..Shape::new(source) }
    }
}

impl PaperSolid {
    /// A scene with about this many vertices.
    pub(super) fn scene(&self, vertices: f64, solver: Solver, request: &Request) -> Result<Scene, Failure> {
        let source = SolidSource::of(self, request.mesh.as_deref()).map_err(Failure::usage)?;
        self.scene_of(source, vertices, solver).map_err(Failure::of)
    }

    /// The same with a different size.
    pub(super) fn with_metres(&self, metres: f64) -> Self {
        Self { metres, ..*self }
    }

    /// The same with a different `μ`.
    pub(super) fn with_stiffness(&self, mu: f64) -> Self {
        Self { lame: [mu, self.lame[1]], ..*self }
    }

    fn scene_of(&self, source: SolidSource, vertices: f64, solver: Solver) -> Result<Scene, Error> {
        let bounds = source.bounds()?;
        let largest = (bounds.high - bounds.low).max_element();
        let cell = source.cell(vertices, largest)?;
        let scale =
            self.metres * if matches!(source, SolidSource::Implicit(_)) { 1.0 } else { 1.0 / largest };
        let lying = Placement { rotate: DVec3::new(90.0, 0.0, 0.0), ..Placement::default() };
        let height = bounds.low.y + self.held_above * (bounds.high.y - bounds.low.y);
        let point = lying.apply(DVec3::Y * height * scale);
        let fixed = Selection::Plane { point, normal: lying.apply(DVec3::Y) };
        let mut body = Body::new(self.name, source.shape(scale)).material(self.material());
        body.cell = cell.map(|cell| cell * scale);
        body.model = Some(Model::Corotated);
        body.transform = lying;
        let scene = Scene::builder().name(self.name).fps(FPS).body(body);
        scene
            .pin(Pin::soft(self.name, fixed, self.attachment * self.finest / vertices))
            .solver(solver)
            .build()
    }

    fn material(&self) -> MaterialSpec {
        let [mu, lambda] = self.lame;
        MaterialSpec {
            young_modulus: Some(mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu)),
            poisson_ratio: Some(0.5 * lambda / (lambda + mu)),
            density: Some(1.0),
            damping: Some(0.0),
            ..MaterialSpec::default()
        }
    }
}

/// The hanging cloth with about this many vertices, pinned at two corners; the user's mesh, pinned at its highest part.
pub(super) fn cloth(vertices: f64, solver: Solver, request: &Request) -> Result<Scene, Failure> {
    let scene = match &request.mesh {
        None => square(vertices, solver),
        Some(path) => garment(path, solver),
    };
    scene.map_err(Failure::of)
}

fn square(vertices: f64, solver: Solver) -> Result<Scene, Error> {
    let side = vertices.sqrt().round().max(3.0) as u32;
    let spacing = 1.0 / f64::from(side - 1);
    let body = Body::cloth("cloth")
        .size([1.0, 1.0])
        .vertices([side, side])
        .material(cloth_material(CLOTH_SPRINGS[0], spacing));
    let corners = [-0.5, 0.5].map(|x| DVec3::new(x, 0.0, -0.5)).to_vec();
    let pin = Pin::soft("cloth", Selection::Nearest(corners), CLOTH_ATTACHMENT);
    Scene::builder().name("cloth").fps(FPS).body(body).pin(pin).solver(solver).build()
}

fn garment(path: &Path, solver: Solver) -> Result<Scene, Error> {
    let (surface, _) = supple::mesh::format::load_surface(path)?;
    let bounds = Aabb::of_points(&surface.positions);
    let sides = bounds.high - bounds.low;
    let scale = 1.0 / sides.max_element();
    let spacing = 1.0 / (surface.positions.len() as f64).sqrt();
    let shape = Shape { scale, ..Shape::new(ShapeSource::File(path.to_owned())) };
    let body = Body::new("cloth", shape).material(cloth_material(CLOTH_SPRINGS[0], spacing));
    let point = DVec3::Y * scale * (bounds.high.y - 0.02 * sides.max_element());
    let pin = Pin::soft("cloth", Selection::Plane { point, normal: DVec3::Y }, CLOTH_ATTACHMENT);
    Scene::builder().name("cloth").fps(FPS).body(body).pin(pin).solver(solver).build()
}

/// A material that gives the springs of a square grid the stiffnesses of table 4: structural springs have ¾ of the stretch
/// stiffness, and bending springs about 64 times the bending stiffness over the square of the spacing (see
/// [`supple::energy::element::spring_network`]).
pub(super) fn cloth_material(stretch: f64, spacing: f64) -> MaterialSpec {
    let bend = CLOTH_SPRINGS[1] * stretch / CLOTH_SPRINGS[0];
    MaterialSpec {
        area_density: Some(1.0),
        stretch_stiffness: Some(StretchStiffness::Uniform(stretch / 0.75)),
        bend_stiffness: Some(bend * spacing * spacing / 64.0),
        damping: Some(0.0),
        ..MaterialSpec::default()
    }
}
