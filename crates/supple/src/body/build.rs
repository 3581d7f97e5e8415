//! Builds a simulation body from a scene's body: placed, welded, filled, masses lumped.

use std::path::Path;
use std::sync::Arc;

use glam::{DAffine3, DMat3, DQuat, DVec3};

use super::shape::{BuiltShape, VolumeMesh, inside_mesh, shape_meshes};
use super::{Body, Discretisation, ElementMaterials, Elements, Embedding, TimedTear};
use crate::material::Material;
use crate::output::FrameSurface;
use crate::scene::defaults;
use crate::scene::{self, ClosedMesh, Method, Model, Placement, SelectionPoints, ShapeSource};
use supple_core::text::number::Brief;
use supple_core::text::suggest::list;
use supple_core::{Error, memory};
use supple_mesh::check::size_note;
use supple_mesh::closed::check_closed;
use supple_mesh::locate::locate;
use supple_mesh::octree::{Grading, fill};
use supple_mesh::weld::weld;

/// Memory per tetrahedron in bytes: elements, vertices and the matrix of a step, without a factor.
const TET_BYTES: f64 = 350.0;

impl Body {
    /// Builds a scene's body for a method; files are relative to `folder`.
    pub fn build(spec: &scene::Body, folder: &Path, method: Method) -> Result<Self, Error> {
        let cut = Discretisation::from(method);
        let named = |error: Error| match error {
            Error::Invalid(problem) => Error::Invalid(format!("body `{}`: {problem}", spec.name)),
            other => other,
        };
        let shaped =
            shape_meshes(&spec.shape, spec.cell.map(|cell| cell / spec.transform.scale), folder, cut)
                .map_err(named)?;
        if shaped.surface.positions.is_empty() || shaped.surface.face_count() == 0 {
            return Err(Error::Invalid(format!("body `{}` has no faces to simulate", spec.name)));
        }
        let rest = match &spec.rest {
            Some(_) if cut == Discretisation::Octants => {
                return Err(Error::NotSupported(format!("a rest shape of the solid body `{}`", spec.name)));
            }
            Some(shape) => Some(rest_surface(spec, shape, &shaped, folder).map_err(named)?),
            None => None,
        };
        let material = spec.material.resolve().map_err(named)?;
        let mut body = Self::from_meshes(spec, shaped, rest, (material, method), folder).map_err(named)?;
        body.check_model()?;
        body.check_pressure()?;
        body.check_mass()?;
        body.check_elements()?;
        body.note_size(spec);
        body.warn_about_cloth_only_keys(spec);
        Ok(body)
    }

    fn from_meshes(
        spec: &scene::Body,
        shaped: BuiltShape,
        rest: Option<Vec<DVec3>>,
        (material, method): (Material, Method),
        folder: &Path,
    ) -> Result<Self, Error> {
        let cut = Discretisation::from(method);
        let BuiltShape { mut surface, inside, notes } = shaped;
        let corners = surface.triangle_corners();
        let surface_triangles = surface.triangles();
        let place = |p: &DVec3| placed(&spec.transform, *p);
        let surface_start: Vec<DVec3> = surface.positions.iter().map(place).collect();
        let surface_rest = rest.unwrap_or_else(|| surface_start.clone());
        let point_areas = lumped_areas(&surface_rest, &surface_triangles);
        surface.positions.clone_from(&surface_rest);
        let file_from_world = spec.shape.to_metres().inverse();
        let mut body = Self {
            name: spec.name.clone(),
            world_from_shape: world_from_shape(spec),
            surface: Arc::new(FrameSurface { name: spec.name.clone(), mesh: surface, file_from_world }),
            surface_start,
            surface_triangles,
            point_areas,
            embedding: Embedding::default(),
            elements: Elements::Triangles(Vec::new()),
            rest: Vec::new(),
            rest_corners: Vec::new(),
            texture_corners: Vec::new(),
            start: Vec::new(),
            velocity: spec.velocity,
            mass: Vec::new(),
            materials: material.clone().into(),
            model: spec.model.unwrap_or_else(|| defaults::model(method)),
            bending: spec.bending,
            pressure: spec.pressure,
            tear_stretch: spec.tear_stretch,
            tears: Vec::new(),
            cell: spec.cell,
            self_contact: spec.self_contact.unwrap_or(defaults::SELF_CONTACT),
            group: spec.group.clone(),
            notes,
        };
        match inside {
            Some(inside) => body.make_solid(inside, &spec.transform)?,
            None if cut == Discretisation::Octants => body.make_octants(spec)?,
            None => {
                body.make_cloth(&surface_rest, &corners);
                body.tears = body.timed_tears(spec, folder)?;
            }
        }
        body.materials = body.region_materials(spec, material, folder)?;
        body.lump_masses();
        Ok(body)
    }

    fn make_cloth(&mut self, surface_rest: &[DVec3], corners: &[[u32; 3]]) {
        let (unknowns, count) = weld(&self.surface_start);
        if count < unknowns.len() {
            let split = unknowns.len() - count;
            self.notes
                .push(format!("{split} vertices coincide with others and are simulated as one with them"));
        }
        self.start = vec![DVec3::ZERO; count];
        for (point, &unknown) in unknowns.iter().enumerate() {
            self.start[unknown as usize] = self.surface_start[point];
        }
        let mut triangles = Vec::with_capacity(self.surface_triangles.len());
        for (surface_triangle, corners) in self.surface_triangles.iter().zip(corners) {
            let [a, b, c] = surface_triangle.map(|v| unknowns[v as usize]);
            if a != b && b != c && c != a {
                triangles.push([a, b, c]);
                self.rest_corners.push(surface_triangle.map(|v| surface_rest[v as usize]));
                self.texture_corners.push(self.surface.mesh.texture_of(*corners));
            }
        }
        self.elements = Elements::Triangles(triangles);
        self.embedding = Embedding::of_vertices(&unknowns);
    }

    fn make_solid(&mut self, inside: VolumeMesh, transform: &Placement) -> Result<(), Error> {
        let VolumeMesh { tets, vertex_of_surface } = inside;
        let count = tets.tets.len() as f64;
        let remedy = |excess: f64| format!("use a `cell` at least {:.2} times as large", excess.cbrt());
        memory::require(&format!("a body of {count:.2e} tetrahedra"), TET_BYTES * count, remedy)?;
        self.start = tets.positions.iter().map(|p| placed(transform, *p)).collect();
        self.rest.clone_from(&self.start);
        let placed_tets = supple_mesh::TetMesh { positions: self.start.clone(), ..tets };
        self.embedding = match vertex_of_surface {
            Some(vertices) => Embedding::of_vertices(&vertices),
            None => {
                let located = locate(&self.surface_start, &placed_tets)?;
                Embedding::from_lists(
                    located.into_iter().map(|p| p.vertices.into_iter().zip(p.weights).collect()),
                )
            }
        };
        self.elements = Elements::Tets(placed_tets.tets);
        Ok(())
    }

    /// Fills the surface at its start position: octants are aligned with the axes of the world.
    fn make_octants(&mut self, spec: &scene::Body) -> Result<(), Error> {
        let cell = spec.cell.ok_or_else(|| {
            Error::Invalid(
                "`octree` fills surfaces: set the body's `cell`, the side of its smallest octants in metres"
                    .into(),
            )
        })?;
        let inside = Grading::at_rate(spec.interior.unwrap_or(1.0));
        let filled = fill(&self.surface_start, self.surface_triangles.clone(), cell, inside)?;
        self.notes.extend(filled.notes.iter().cloned());
        self.start = filled.tree.node_places();
        self.rest.clone_from(&self.start);
        self.embedding = Embedding::from_lists(filled.tree.embed(&self.surface_start));
        self.elements = Elements::Octants(Arc::new(filled));
        Ok(())
    }

    /// The particles of the vertices that tear at given times.
    fn timed_tears(&self, spec: &scene::Body, folder: &Path) -> Result<Vec<TimedTear>, Error> {
        let inside = |mesh: &ClosedMesh, points: &[DVec3]| inside_mesh(mesh, folder, points);
        let points = SelectionPoints {
            body: &self.name,
            positions: &self.surface_start,
            surface: Some(&self.surface.mesh),
            inside: Some(&inside),
        };
        let timed = |tear: &scene::Tear| {
            let chosen = tear.selection.evaluate(&points)?;
            let mut particles: Vec<u32> =
                chosen.iter().map(|&point| self.embedding.weights(point as usize)[0].0).collect();
            particles.sort_unstable();
            particles.dedup();
            Ok(TimedTear { time: tear.time, particles, across: tear.across })
        };
        spec.tears.iter().map(timed).collect()
    }

    fn region_materials(
        &self,
        spec: &scene::Body,
        material: Material,
        folder: &Path,
    ) -> Result<ElementMaterials, Error> {
        let centres = self.element_centres();
        let inside = |mesh: &ClosedMesh, points: &[DVec3]| inside_mesh(mesh, folder, points);
        let points =
            SelectionPoints { body: &self.name, positions: &centres, surface: None, inside: Some(&inside) };
        ElementMaterials::new(material, &spec.regions, &centres, |selection| {
            selection.evaluate_centres(&points)
        })
    }

    /// Distributes the mass of the elements to the unknowns around them.
    fn lump_masses(&mut self) {
        let mut mass = vec![0.0; self.start.len()];
        let mut share = |vertices: &[u32], whole: f64| {
            vertices.iter().for_each(|&v| mass[v as usize] += whole / vertices.len() as f64);
        };
        match &self.elements {
            Elements::Triangles(triangles) => {
                for (t, (triangle, [a, b, c])) in triangles.iter().zip(&self.rest_corners).enumerate() {
                    let area = 0.5 * (*b - *a).cross(*c - *a).length();
                    share(triangle, self.materials.of(t).area_density * area);
                }
            }
            Elements::Tets(tets) => {
                for (t, tet) in tets.iter().enumerate() {
                    let [a, b, c, d] = tet.map(|v| self.rest[v as usize]);
                    let volume = (b - a).cross(c - a).dot(d - a).abs() / 6.0;
                    share(tet, self.materials.of(t).density * volume);
                }
            }
            Elements::Octants(filled) => {
                mass = filled.node_masses(|e| self.materials.of(e).density);
            }
        }
        self.mass = mass;
    }

    /// Each model applies to cloth, to solids, or to both.
    fn check_model(&self) -> Result<(), Error> {
        let (kind, fits): (_, fn(Model) -> bool) = match self.elements {
            Elements::Triangles(_) => ("cloth", Model::is_for_cloth),
            Elements::Tets(_) => ("a solid", Model::is_for_solids),
            Elements::Octants(_) => ("a solid of octants", Model::is_for_octants),
        };
        if fits(self.model) {
            return Ok(());
        }
        let models = Model::ALL.into_iter().filter(|model| fits(*model)).map(Model::name);
        let problem = format!("body `{}` is {kind}, which its `model` does not support", self.name);
        Err(Error::Invalid(format!("{problem}; use one of {}", list(models))))
    }

    /// Only a closed cloth can hold a pressure.
    fn check_pressure(&self) -> Result<(), Error> {
        if self.pressure.is_none() {
            return Ok(());
        }
        let refuse = |problem: &str| {
            Err(Error::Invalid(format!("body `{}` cannot hold a `pressure`: {problem}", self.name)))
        };
        match &self.elements {
            Elements::Tets(_) | Elements::Octants(_) => {
                refuse("it is a solid; leave out `cell` for a closed cloth with gas inside")
            }
            Elements::Triangles(triangles) => {
                check_closed(triangles).or_else(|fault| refuse(&fault.to_string()))
            }
        }
    }

    fn check_mass(&self) -> Result<(), Error> {
        let total: f64 = self.mass.iter().sum();
        if total > 0.0 && total.is_finite() {
            return Ok(());
        }
        let name = &self.name;
        Err(Error::Invalid(if total == 0.0 {
            format!(
                "body `{name}` weighs 0 kg: its faces have no area or its elements no volume; `supple check` on the file \
                 shows which"
            )
        } else {
            format!(
                "body `{name}` weighs {total} kg: its size or its density is too large to compute with; check the size and \
                 `scale` of its shape, its `transform` and the densities of its material"
            )
        }))
    }
}

impl Body {
    /// Inverted or flat tetrahedra cannot define a rest shape.
    fn check_elements(&self) -> Result<(), Error> {
        let Elements::Tets(tets) = &self.elements else { return Ok(()) };
        let volume = |tet: &[u32; 4]| {
            let [a, b, c, d] = tet.map(|v| self.rest[v as usize]);
            (b - a).cross(c - a).dot(d - a) / 6.0
        };
        match tets.iter().position(|tet| volume(tet) <= 0.0 || volume(tet).is_nan()) {
            None => Ok(()),
            Some(bad) => Err(Error::Invalid(format!(
                "body `{}`: tetrahedron {bad} has the volume {} m³; `supple check` on the file lists all such elements",
                self.name,
                Brief(volume(&tets[bad]))
            ))),
        }
    }

    /// Keys that only apply to sheets are ignored for a solid.
    fn warn_about_cloth_only_keys(&mut self, spec: &scene::Body) {
        if matches!(self.elements, Elements::Triangles(_)) {
            return;
        }
        let materials = || {
            let of_regions = spec.regions.iter().filter_map(|region| region.material.as_ref());
            std::iter::once(&spec.material).chain(of_regions)
        };
        let keys = [
            ("bending", spec.bending.is_some()),
            ("tear_stretch", spec.tear_stretch.is_some()),
            ("tear", !spec.tears.is_empty()),
            ("bend_stiffness", materials().any(|m| m.bend_stiffness.is_some())),
            ("shear_stiffness", materials().any(|m| m.shear_stiffness.is_some())),
            ("stretch_stiffness", materials().any(|m| m.stretch_stiffness.is_some())),
            ("strain_limit", materials().any(|m| m.strain_limit.is_some())),
        ];
        for (key, _) in keys.iter().filter(|(_, is_set)| *is_set) {
            self.notes.push(format!("`{key}` only applies to cloth; ignored for solids"));
        }
    }

    /// Bodies of a size that garments and characters do not have are probably in another unit; a generated shape is as large
    /// as the scene says, within 1 cm to 100 m.
    fn note_size(&mut self, spec: &scene::Body) {
        let Some((low, high)) = self.surface.mesh.bounds() else { return };
        let size = (high - low).max_element();
        let generated = !matches!(spec.shape.source, ShapeSource::File(_));
        if !(generated && (0.01..100.0).contains(&size)) {
            self.notes.extend(size_note(size));
        }
    }
}

/// A placement applied to a point.
pub(super) fn placed(placement: &Placement, point: DVec3) -> DVec3 {
    let turn = DQuat::from_scaled_axis(placement.rotate * std::f64::consts::PI / 180.0);
    turn * (placement.scale * point) + placement.translate
}

/// The effect of a body's unit, axes and placement on points of its shape.
pub(crate) fn world_from_shape(spec: &scene::Body) -> DAffine3 {
    let place = |p: DVec3| placed(&spec.transform, spec.shape.to_metres() * p);
    let origin = place(DVec3::ZERO);
    let [x, y, z] = DVec3::AXES.map(|axis| place(axis) - origin);
    DAffine3::from_mat3_translation(DMat3::from_cols(x, y, z), origin)
}

/// The rest positions of a cloth given by another shape with the same vertices.
fn rest_surface(
    spec: &scene::Body,
    shape: &scene::Shape,
    shaped: &BuiltShape,
    folder: &Path,
) -> Result<Vec<DVec3>, Error> {
    if shaped.inside.is_some() {
        return Err(Error::NotSupported(format!("a rest shape of the solid body `{}`", spec.name)));
    }
    let rest = shape_meshes(shape, None, folder, Discretisation::Tets)?.surface;
    let (have, need) = (rest.positions.len(), shaped.surface.positions.len());
    if have != need {
        return Err(Error::Invalid(format!(
            "the rest shape has {have} vertices, the shape {need}: they must match"
        )));
    }
    Ok(rest.positions.iter().map(|p| spec.transform.scale * *p).collect())
}

/// A third of every triangle's area for each of its corners.
fn lumped_areas(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut areas = vec![0.0; positions.len()];
    for triangle in triangles {
        let [a, b, c] = triangle.map(|v| positions[v as usize]);
        let third = (b - a).cross(c - a).length() / 6.0;
        triangle.iter().for_each(|&v| areas[v as usize] += third);
    }
    areas
}
