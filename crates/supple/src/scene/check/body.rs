//! Checks of `[[body]]`: names, shapes, materials and options.

use crate::material::MaterialSpec;
use crate::scene::check::Checker;
use crate::scene::defaults;
use crate::scene::{Body, Cuboid, Model, Region, Shape, ShapeSource};
use supple_core::memory;
use supple_core::text::number::components;
use supple_mesh::generate::{ClothGrid, CylinderShape, KnotShape, PanelShape, TorusShape};
use supple_mesh::implicit::ImplicitShape;
use supple_mesh::{SurfaceMesh, TetMesh};

/// Generated meshes have at most this many vertices; most have fewer, by the memory that there is.
const MAX_VERTICES: f64 = 1e8;
/// Memory per vertex of cloth in bytes, as measured in runs: meshes, elements, contact and the matrix of a step, without a
/// factor.
const CLOTH_VERTEX_BYTES: f64 = 3000.0;
/// Memory per vertex of the surface of a solid in bytes; its cells are estimated when they are made.
const SURFACE_VERTEX_BYTES: f64 = 400.0;

/// What helps against too many vertices.
const FEWER: &str = "use fewer vertices, larger cells or a lower `--resolution`";

impl Checker<'_> {
    pub(crate) fn bodies(&mut self) {
        let scene = self.scene;
        if scene.bodies.is_empty() {
            self.wrong("", "the scene has no [[body]]; add at least one".to_owned());
        }
        let names: Vec<&str> = scene.bodies.iter().map(|body| body.name.as_str()).collect();
        for (i, body) in scene.bodies.iter().enumerate() {
            let place = format!("body.{i}");
            self.name(&place, "body", &body.name, &names[..i]);
            self.body(&place, body);
        }
        let what = format!("the generated shapes of {} bodies together", scene.bodies.len());
        if let Err(problem) = memory::require(&what, self.generated_bytes, |_| FEWER.to_owned()) {
            self.wrong("", problem.to_string());
        }
    }

    fn body(&mut self, place: &str, body: &Body) {
        self.shape(&format!("{place}.shape"), &body.shape, body.cell);
        if let Some(rest) = &body.rest {
            self.shape(&format!("{place}.rest"), rest, None);
        }
        self.positive(&format!("{place}.transform.scale"), body.transform.scale);
        self.body_material(&format!("{place}.material"), &body.material, body);
        if let Some(cell) = body.cell {
            self.positive(&format!("{place}.cell"), cell);
        }
        if let Some(rate) = body.interior {
            let fine = rate > 0.0 && rate <= 1.0;
            self.number(&format!("{place}.interior"), rate, fine, "above 0 and at most 1");
        }
        if let Some(stretch) = body.tear_stretch {
            self.number(&format!("{place}.tear_stretch"), stretch, stretch > 1.0, "above 1");
        }
        if body.cell.is_none()
            && matches!(body.shape.source, ShapeSource::Character(_) | ShapeSource::Implicit(_))
        {
            let problem = format!(
                "body `{}` has a shape without cells of its own: set `cell`, their size in metres",
                body.name
            );
            self.wrong(&format!("{place}.shape"), problem);
        }
        for (r, region) in body.regions.iter().enumerate() {
            self.region(&format!("{place}.region.{r}"), region, body);
        }
        for (t, tear) in body.tears.iter().enumerate() {
            let place = format!("{place}.tear.{t}");
            let time = tear.time.is_finite() && tear.time >= 0.0;
            self.number(&format!("{place}.time"), tear.time, time, "0 s or later");
            self.selection(&format!("{place}.selection"), &tear.selection);
            if !(tear.across.is_finite() && tear.across.length() > 0.0) {
                let problem = format!("`across` is {}: it must be a direction", components(tear.across));
                self.wrong(&format!("{place}.across"), problem);
            }
        }
    }

    fn region(&mut self, place: &str, region: &Region, body: &Body) {
        self.selection(&format!("{place}.selection"), &region.selection);
        match (&region.material, &region.random) {
            (Some(material), None) => self.body_material(&format!("{place}.material"), material, body),
            (None, Some(random)) => {
                let fine = random.spread >= 1.0;
                self.number(&format!("{place}.random.spread"), random.spread, fine, "1 or above");
            }
            _ => self.wrong(place, "a region needs either `material` or `random`".to_owned()),
        }
    }

    fn body_material(&mut self, place: &str, material: &MaterialSpec, body: &Body) {
        for (key, problem) in material.problems() {
            // A preset alone is written as the material itself.
            let alone = MaterialSpec { preset: material.preset.clone(), ..MaterialSpec::default() };
            let written = if *material == alone { "material" } else { key };
            self.wrong(&format!("{place}.{key}"), format!("`{written}` {problem}"));
        }
        let directions = material.stretch_stiffness.map(|stiffness| stiffness.directions());
        let model = body.model.unwrap_or_else(|| defaults::model(self.scene.solver.method));
        let other = (model != Model::BaraffWitkin).then_some(model);
        if let Some(other) = other
            && directions.is_some_and(|[warp, weft]| warp != weft)
        {
            let problem = format!(
                "`stretch_stiffness` differs between warp and weft, which `model = \"{}\"` of body `{}` does not support; use \
                 `model = \"baraff-witkin\"`, or one number",
                other.name(),
                body.name
            );
            self.wrong(&format!("{place}.stretch_stiffness"), problem);
        }
        if let Some(other) = other
            && material.shear_stiffness.is_some()
        {
            let problem = format!(
                "`shear_stiffness` is that of a weave, and `model = \"{}\"` of body `{}` has none; use `model = \"baraff-witkin\"`, or \
                 leave it out",
                other.name(),
                body.name
            );
            self.wrong(&format!("{place}.shear_stiffness"), problem);
        }
    }

    fn shape(&mut self, place: &str, shape: &Shape, cell: Option<f64>) {
        self.positive(&format!("{place}.scale"), shape.scale);
        match &shape.source {
            ShapeSource::Grid(grid) => self.grid(&format!("{place}.grid"), grid, cell),
            ShapeSource::Box(shape) => self.cuboid(&format!("{place}.box"), shape, cell),
            ShapeSource::Cylinder(shape) => self.cylinder(&format!("{place}.cylinder"), shape, cell),
            ShapeSource::Sphere(shape) => {
                let place = format!("{place}.sphere");
                self.positive(&format!("{place}.radius"), shape.radius);
                self.count(&format!("{place}.cells"), shape.cells, 1, u32::MAX);
                self.vertices(&place, 10.0 * f64::from(shape.cells).powi(2), cell);
            }
            ShapeSource::Torus(shape) => self.torus(&format!("{place}.torus"), shape, cell),
            ShapeSource::Knot(shape) => self.knot(&format!("{place}.knot"), shape, cell),
            ShapeSource::Panel(shape) => self.panel(&format!("{place}.panel"), shape, cell),
            ShapeSource::Implicit(shape) => self.implicit(&format!("{place}.implicit"), shape),
            ShapeSource::Mesh(mesh) => self.mesh(place, mesh),
            ShapeSource::Tets(mesh) => self.tets(place, mesh),
            ShapeSource::File(_) | ShapeSource::Character(_) => {}
        }
    }

    fn grid(&mut self, place: &str, grid: &ClothGrid, cell: Option<f64>) {
        grid.size.iter().for_each(|&side| self.positive(&format!("{place}.size"), side));
        grid.vertices.iter().for_each(|&n| self.count(&format!("{place}.vertices"), n, 2, u32::MAX));
        self.vertices(place, grid.vertices.iter().map(|&n| f64::from(n)).product(), cell);
    }

    fn panel(&mut self, place: &str, shape: &PanelShape, cell: Option<f64>) {
        self.positive(&format!("{place}.spacing"), shape.spacing);
        match shape.check() {
            Ok(()) => self.vertices(place, shape.estimated_vertices(1.0), cell),
            Err(problem) => self.wrong(&format!("{place}.outline"), problem.to_string()),
        }
    }

    fn knot(&mut self, place: &str, shape: &KnotShape, cell: Option<f64>) {
        self.positive(&format!("{place}.length"), shape.length);
        self.positive(&format!("{place}.width"), shape.width);
        shape.vertices.iter().for_each(|&n| self.count(&format!("{place}.vertices"), n, 2, u32::MAX));
        self.vertices(place, shape.vertices.iter().map(|&n| f64::from(n)).product(), cell);
    }

    fn cuboid(&mut self, place: &str, shape: &Cuboid, cell: Option<f64>) {
        shape.size.iter().for_each(|&side| self.positive(&format!("{place}.size"), side));
        match (shape.cells, cell) {
            (Some(_), Some(cell)) => self.wrong(
                &format!("{place}.cells"),
                format!(
                    "the box has `cells`, and the body has a `cell` of {cell} m: leave out `cells` for a solid box, or \
                     `cell` for a box of cloth"
                ),
            ),
            (None, None) => self.wrong(
                place,
                "a box of cloth needs `cells`, their number along each side; a solid box needs the body's `cell`, \
                 their size in metres"
                    .to_owned(),
            ),
            _ => {}
        }
        if let Some(cells) = shape.cells {
            cells.iter().for_each(|&n| self.count(&format!("{place}.cells"), n, 1, u32::MAX));
            let [x, y, z] = cells.map(f64::from);
            self.vertices(place, 2.0 * (x * y + y * z + z * x), cell);
        }
    }

    fn cylinder(&mut self, place: &str, shape: &CylinderShape, cell: Option<f64>) {
        self.positive(&format!("{place}.radius"), shape.radius);
        self.positive(&format!("{place}.height"), shape.height);
        self.count(&format!("{place}.segments"), shape.segments, 3, u32::MAX);
        self.count(&format!("{place}.rings"), shape.rings, 1, u32::MAX);
        self.vertices(place, f64::from(shape.segments) * f64::from(shape.rings), cell);
    }

    fn torus(&mut self, place: &str, shape: &TorusShape, cell: Option<f64>) {
        self.positive(&format!("{place}.minor_radius"), shape.minor_radius);
        let fine = shape.major_radius > shape.minor_radius;
        self.number(&format!("{place}.major_radius"), shape.major_radius, fine, "above `minor_radius`");
        self.count(&format!("{place}.segments"), shape.segments, 3, u32::MAX);
        self.count(&format!("{place}.rings"), shape.rings, 3, u32::MAX);
        self.vertices(place, f64::from(shape.segments) * f64::from(shape.rings), cell);
    }

    fn vertices(&mut self, place: &str, count: f64, cell: Option<f64>) {
        if count > MAX_VERTICES {
            let problem = format!("about {count:.2e} vertices; the limit is {MAX_VERTICES:.0e}: {FEWER}");
            self.wrong(place, problem);
            return;
        }
        let bytes = count * if cell.is_some() { SURFACE_VERTEX_BYTES } else { CLOTH_VERTEX_BYTES };
        match memory::require(&format!("about {count:.2e} vertices"), bytes, |_| FEWER.to_owned()) {
            Ok(()) => self.generated_bytes += bytes,
            Err(problem) => self.wrong(place, problem.to_string()),
        }
    }

    fn implicit(&mut self, place: &str, shape: &ImplicitShape) {
        match shape {
            ImplicitShape::Sphere { radius, .. } => self.positive(&format!("{place}.sphere.radius"), *radius),
            ImplicitShape::Capsule { radii, .. } => {
                radii.iter().for_each(|&radius| self.positive(&format!("{place}.capsule.radii"), radius));
            }
            ImplicitShape::Ellipsoid { radii, .. } => {
                radii.to_array().iter().for_each(|&r| self.positive(&format!("{place}.ellipsoid.radii"), r));
            }
            ImplicitShape::Union { of, blend } => {
                let place = format!("{place}.union");
                self.number(&format!("{place}.blend"), *blend, *blend >= 0.0, "0 or above");
                if of.is_empty() {
                    self.wrong(&format!("{place}.of"), "an empty union; add at least one shape".to_owned());
                }
                of.iter().enumerate().for_each(|(i, part)| self.implicit(&format!("{place}.of.{i}"), part));
            }
            ImplicitShape::Transform { of, scale, .. } => {
                self.positive(&format!("{place}.transform.scale"), *scale);
                self.implicit(&format!("{place}.transform.of"), of);
            }
        }
    }

    /// A mesh from the caller must not index out of its own arrays.
    fn mesh(&mut self, place: &str, mesh: &SurfaceMesh) {
        let starts = &mesh.face_starts;
        let in_order = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        let whole = starts.first().is_none_or(|&start| start == 0)
            && starts.last().copied().unwrap_or(0) as usize == mesh.corners.len();
        if !in_order || !whole {
            self.wrong(
                place,
                "`face_starts` of the mesh must increase from 0 to the number of corners".to_owned(),
            );
        }
        let count = mesh.positions.len();
        if let Some(corner) = mesh.corners.iter().find(|&&corner| corner as usize >= count) {
            self.wrong(
                place,
                format!(
                    "a face of the mesh refers to vertex {corner}; it has {count} vertices, numbered from 0"
                ),
            );
        }
        if let Some(vertex) = mesh.positions.iter().position(|p| !p.is_finite()) {
            self.wrong(place, format!("vertex {vertex} of the mesh is not finite"));
        }
    }
    /// The same for tetrahedra.
    fn tets(&mut self, place: &str, mesh: &TetMesh) {
        let count = mesh.positions.len();
        let beyond = |tet: &[u32; 4]| tet.iter().any(|&corner| corner as usize >= count);
        if let Some(t) = mesh.tets.iter().position(beyond) {
            let corners = mesh.tets[t];
            self.wrong(
                place,
                format!(
                    "tetrahedron {t} has the vertices {corners:?}; the mesh has {count}, numbered from 0"
                ),
            );
        } else if let Some(t) = (0..mesh.tets.len()).find(|&t| mesh.volume(t) <= 0.0) {
            let problem = format!(
                "tetrahedron {t} has a volume of {:.3e} m³; it must be above 0, so swap two of its vertices or leave it out",
                mesh.volume(t)
            );
            self.wrong(place, problem);
        }
        if let Some(vertex) = mesh.positions.iter().position(|p| !p.is_finite()) {
            self.wrong(place, format!("vertex {vertex} of the mesh is not finite"));
        }
    }
}
