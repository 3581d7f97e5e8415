//! From a scene's body to one ready to be simulated: placed, welded, filled, weighed.

use std::path::Path;
use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::shape::{Inside, Shaped, shape_meshes, world_from_shape};
use super::weld::weld;
use super::{Body, Elements, Embedding};
use crate::error::Error;
use crate::mesh::locate::locate;
use crate::output::FrameSurface;
use crate::scene::{self, Placement};

impl Body {
    /// Builds a scene's body; files are relative to `folder`.
    pub fn build(spec: &scene::Body, folder: &Path) -> Result<Self, Error> {
        let named = |error: Error| match error {
            Error::Invalid(problem) => Error::Invalid(format!("body `{}`: {problem}", spec.name)),
            other => other,
        };
        let shaped = shape_meshes(&spec.shape, spec.cell, folder).map_err(named)?;
        if shaped.surface.positions.is_empty() || shaped.surface.face_count() == 0 {
            return Err(Error::Invalid(format!("body `{}` has no faces to simulate", spec.name)));
        }
        let rest = match &spec.rest {
            Some(shape) => Some(rest_surface(spec, shape, &shaped, folder).map_err(named)?),
            None => None,
        };
        let material = spec.material.resolve().map_err(named)?;
        let body = Self::from_meshes(spec, shaped, rest, material).map_err(named)?;
        body.check_mass()?;
        Ok(body)
    }

    fn from_meshes(
        spec: &scene::Body,
        shaped: Shaped,
        rest: Option<Vec<DVec3>>,
        material: crate::material::Material,
    ) -> Result<Self, Error> {
        let Shaped { mut surface, inside, notes } = shaped;
        let surface_triangles = surface.triangles();
        let place = |p: &DVec3| placed(&spec.transform, *p);
        let surface_start: Vec<DVec3> = surface.positions.iter().map(place).collect();
        let surface_rest = rest.unwrap_or_else(|| surface_start.clone());
        let point_areas = lumped_areas(&surface_rest, &surface_triangles);
        surface.positions.clone_from(&surface_rest);
        let file_from_world = world_from_shape(&spec.shape).inverse();
        let mut body = Self {
            name: spec.name.clone(),
            surface: Arc::new(FrameSurface { name: spec.name.clone(), mesh: surface, file_from_world }),
            surface_start,
            surface_triangles,
            point_areas,
            embedding: Embedding::default(),
            elements: Elements::Triangles(Vec::new()),
            rest: Vec::new(),
            start: Vec::new(),
            velocity: spec.velocity,
            mass: Vec::new(),
            material,
            notes,
        };
        match inside {
            Some(inside) => body.make_solid(inside, &spec.transform)?,
            None => body.make_cloth(&surface_rest),
        }
        Ok(body)
    }

    fn make_cloth(&mut self, surface_rest: &[DVec3]) {
        let (unknowns, count) = weld(&self.surface_start);
        if count < unknowns.len() {
            let split = unknowns.len() - count;
            self.notes.push(format!("{split} vertices at the place of another are simulated as one with it"));
        }
        self.rest = vec![DVec3::ZERO; count];
        self.start = vec![DVec3::ZERO; count];
        self.mass = vec![0.0; count];
        for (point, &unknown) in unknowns.iter().enumerate() {
            self.rest[unknown as usize] = surface_rest[point];
            self.start[unknown as usize] = self.surface_start[point];
            self.mass[unknown as usize] += self.material.area_density * self.point_areas[point];
        }
        let triangles = self.surface_triangles.iter().map(|t| t.map(|v| unknowns[v as usize]));
        self.elements =
            Elements::Triangles(triangles.filter(|[a, b, c]| a != b && b != c && c != a).collect());
        self.embedding = Embedding::of_vertices(&unknowns);
    }

    fn make_solid(&mut self, inside: Inside, transform: &Placement) -> Result<(), Error> {
        let Inside { tets, vertex_of_surface } = inside;
        self.start = tets.positions.iter().map(|p| placed(transform, *p)).collect();
        self.rest.clone_from(&self.start);
        let placed_tets = crate::mesh::TetMesh { positions: self.start.clone(), ..tets };
        self.embedding = match vertex_of_surface {
            Some(vertices) => Embedding::of_vertices(&vertices),
            None => {
                let located = locate(&self.surface_start, &placed_tets)?;
                Embedding::from_lists(
                    located.into_iter().map(|p| p.vertices.into_iter().zip(p.weights).collect()),
                )
            }
        };
        self.mass = vec![0.0; self.start.len()];
        for (t, tet) in placed_tets.tets.iter().enumerate() {
            let share = 0.25 * self.material.density * placed_tets.volume(t).abs();
            tet.iter().for_each(|&v| self.mass[v as usize] += share);
        }
        self.elements = Elements::Tets(placed_tets.tets);
        Ok(())
    }

    fn check_mass(&self) -> Result<(), Error> {
        let total: f64 = self.mass.iter().sum();
        if total > 0.0 && total.is_finite() {
            return Ok(());
        }
        let problem = format!(
            "body `{}` weighs {total} kg: its faces have no area or its elements no volume",
            self.name
        );
        Err(Error::Invalid(format!("{problem}; `supple check` on the file shows which")))
    }
}

/// A placement applied to a point.
pub(super) fn placed(placement: &Placement, point: DVec3) -> DVec3 {
    let turn = DQuat::from_scaled_axis(placement.rotate * std::f64::consts::PI / 180.0);
    turn * (placement.scale * point) + placement.translate
}

/// The rest positions of a cloth given by another shape with the same vertices.
fn rest_surface(
    spec: &scene::Body,
    shape: &scene::Shape,
    shaped: &Shaped,
    folder: &Path,
) -> Result<Vec<DVec3>, Error> {
    if shaped.inside.is_some() {
        return Err(Error::NotSupported(format!("a rest shape of the solid body `{}`", spec.name)));
    }
    let rest = shape_meshes(shape, None, folder)?.surface;
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
