//! A cloth that tears: one of its particles is split (Müller 2008, section 8, after Müller 2006). Each fan of triangles around it
//! except the first gets a clone of the particle. Clones are appended to all lists, so that existing indices remain
//! valid.

use std::sync::Arc;

use glam::DVec3;

use super::{Body, Elements};

/// A split of one particle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The unknown of the body that is split.
    pub particle: u32,
    /// The elements of every clone, the first clone's first. Elements in none of them stay with the particle.
    pub fans: Vec<Vec<u32>>,
}

/// Particles that are split at a given time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedTear {
    /// When, in seconds.
    pub time: f64,
    /// The unknowns of the body.
    pub particles: Vec<u32>,
    /// The normal of the plane of each split where the body was at the start.
    pub across: DVec3,
}

/// How a cloth's elements map to its surface: the data needed by a tear.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TornSurface {
    /// The corners of each element, as indices into the surface's list of corners.
    corners: Vec<[u32; 3]>,
    /// The surface triangle of each element.
    triangle: Vec<u32>,
    /// The polygon of each element.
    pub(crate) face: Vec<u32>,
    /// The elements around every unknown.
    pub(crate) around: Vec<Vec<u32>>,
}

impl TornSurface {
    /// Of a cloth; `None` for a solid.
    pub fn new(body: &Body) -> Option<Self> {
        let Elements::Triangles(elements) = &body.elements else { return None };
        let mut surface = Self { around: vec![Vec::new(); body.start.len()], ..Self::default() };
        let corners = body.surface.mesh.triangle_corners();
        let faces = &body.surface.mesh.face_starts;
        let unknown = |corner: u32| body.unknown_of_corner(corner);
        for (corners, triangle) in corners.into_iter().zip(0..) {
            let [a, b, c] = corners.map(unknown);
            // Triangles collapsed by welding are not elements.
            if a != b && b != c && c != a {
                surface.corners.push(corners);
                surface.triangle.push(triangle);
                surface.face.push(faces.partition_point(|&start| start <= corners[0]) as u32 - 1);
            }
        }
        for (element, number) in elements.iter().zip(0..) {
            element.iter().for_each(|&v| surface.around[v as usize].push(number));
        }
        Some(surface)
    }
}

impl Body {
    /// Whether it may tear.
    pub fn can_tear(&self) -> bool {
        self.tear_stretch.is_some() || !self.tears.is_empty()
    }

    fn unknown_of_corner(&self, corner: u32) -> u32 {
        let point = self.surface.mesh.corners[corner as usize];
        self.embedding.weights(point as usize)[0].0
    }

    /// Splits a particle of a cloth; returns the indices of the clones.
    pub fn split(&mut self, surface: &mut TornSurface, split: &Split) -> Vec<u32> {
        let first = self.start.len() as u32;
        for (fan, clone) in split.fans.iter().zip(first..) {
            self.start.push(self.start[split.particle as usize]);
            self.mass.push(0.0);
            self.move_surface(surface, split.particle, fan, clone);
            self.move_elements(surface, split.particle, fan, clone);
        }
        (first..self.start.len() as u32).collect()
    }

    fn move_elements(&mut self, surface: &mut TornSurface, particle: u32, fan: &[u32], clone: u32) {
        let mut moved = 0.0;
        for &element in fan {
            moved += self.mass_of_corner(element);
            if let Elements::Triangles(triangles) = &mut self.elements {
                let corners = &mut triangles[element as usize];
                corners.iter_mut().filter(|v| **v == particle).for_each(|v| *v = clone);
            }
        }
        self.mass[clone as usize] = moved;
        // The remainder is summed again: differences would leave rounding.
        let left = surface.around[particle as usize].iter().filter(|element| !fan.contains(element));
        let left: Vec<u32> = left.copied().collect();
        self.mass[particle as usize] = left.iter().map(|&element| self.mass_of_corner(element)).sum();
        surface.around[particle as usize] = left;
        surface.around.push(fan.to_vec());
    }

    /// The share of an element's mass assigned to each of its corners, in kg.
    fn mass_of_corner(&self, element: u32) -> f64 {
        let [a, b, c] = self.rest_corners[element as usize];
        let area = 0.5 * (b - a).cross(c - a).length();
        self.materials.of(element as usize).area_density * area / 3.0
    }

    /// Surface vertices used only by the fan move to the clone; those that others use as well are cloned too.
    fn move_surface(&mut self, surface: &TornSurface, particle: u32, fan: &[u32], clone: u32) {
        let of_element = |element: u32| {
            let corners = surface.corners[element as usize];
            corners.into_iter().find(|&corner| self.unknown_of_corner(corner) == particle)
        };
        let place =
            |e: u32| of_element(e).map(|corner| (e, corner, self.surface.mesh.corners[corner as usize]));
        let moved: Vec<(u32, u32, u32)> = fan.iter().filter_map(|&element| place(element)).collect();
        let staying: Vec<u32> = surface.around[particle as usize]
            .iter()
            .filter(|element| !fan.contains(element))
            .filter_map(|&element| of_element(element))
            .map(|corner| self.surface.mesh.corners[corner as usize])
            .collect();
        let mesh = &mut Arc::make_mut(&mut self.surface).mesh;
        let mut renamed: Vec<(u32, u32)> = Vec::new();
        for (element, corner, point) in moved {
            let new = match renamed.iter().find(|&&(old, _)| old == point) {
                Some(&(_, new)) => new,
                None if !staying.contains(&point) => {
                    self.embedding.set_vertex(point as usize, clone);
                    renamed.push((point, point));
                    point
                }
                None => {
                    let new = mesh.positions.len() as u32;
                    mesh.clone_vertex(point);
                    self.embedding.push([(clone, 1.0)]);
                    self.surface_start.push(self.surface_start[point as usize]);
                    self.point_areas.push(0.0);
                    renamed.push((point, new));
                    new
                }
            };
            mesh.corners[corner as usize] = new;
            let triangle = &mut self.surface_triangles[surface.triangle[element as usize] as usize];
            triangle.iter_mut().filter(|v| **v == point).for_each(|v| *v = new);
            if new != point {
                let [a, b, c] = self.rest_corners[element as usize];
                let third = (b - a).cross(c - a).length() / 6.0;
                self.point_areas[new as usize] += third;
                self.point_areas[point as usize] -= third;
            }
        }
    }
}
