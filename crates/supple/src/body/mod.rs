//! Bodies: the display surface (the user's mesh), the unknowns (the solver family's), and the embedding between them.

pub(crate) mod build;
mod closed;
mod element_materials;
mod embedding;
mod seam;
mod shape;
mod tear;

use std::sync::Arc;

use glam::{DAffine3, DVec2, DVec3};
use xxhash_rust::xxh3::Xxh3;

pub use element_materials::ElementMaterials;
pub use embedding::Embedding;
pub use seam::{ActiveSeam, Stitch};
pub use shape::inside_mesh;
pub(crate) use shape::{are_inside, closed_mesh};
pub use tear::{Split, TimedTear, TornSurface};

use crate::output::FrameSurface;
use crate::scene::{Bending, Method, Model, Participant};
use supple_mesh::octree::Filled;

/// The elements that carry the elasticity, over a body's unknowns.
#[derive(Debug, Clone, PartialEq)]
pub enum Elements {
    /// Cloth.
    Triangles(Vec<[u32; 3]>),
    /// A solid of tetrahedra.
    Tets(Vec<[u32; 4]>),
    /// A solid of octants; their nodes are the unknowns.
    Octants(Arc<Filled>),
}

/// The discretisation of a solid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Discretisation {
    /// Tetrahedra.
    #[default]
    Tets,
    /// Octants.
    Octants,
}

impl From<Method> for Discretisation {
    fn from(method: Method) -> Self {
        if method.traits().octants { Self::Octants } else { Self::Tets }
    }
}

impl Elements {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Triangles(triangles) => triangles.len(),
            Self::Tets(tets) => tets.len(),
            Self::Octants(filled) => filled.tree.elements().len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `edge` for every edge of every triangle and tetrahedron. Octants have none: no matrix is assembled for them.
    pub fn for_each_edge(&self, mut edge: impl FnMut(u32, u32)) {
        let mut pairs = |vertices: &[u32]| {
            for (i, &a) in vertices.iter().enumerate() {
                vertices[..i].iter().for_each(|&b| edge(a, b));
            }
        };
        match self {
            Self::Triangles(triangles) => triangles.iter().for_each(|t| pairs(t)),
            Self::Tets(tets) => tets.iter().for_each(|t| pairs(t)),
            Self::Octants(_) => {}
        }
    }

    /// Feeds the topology to a hash.
    pub fn hash_into(&self, hash: &mut Xxh3) {
        match self {
            Self::Triangles(triangles) => hash.update(bytemuck::cast_slice(triangles)),
            Self::Tets(tets) => hash.update(bytemuck::cast_slice(tets)),
            Self::Octants(filled) => hash.update(bytemuck::cast_slice(filled.tree.conforming())),
        }
    }
}

/// A body ready to be simulated.
#[derive(Debug, Clone)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// Maps points of its shape, in the shape's unit and axes, to their start positions in world metres.
    pub world_from_shape: DAffine3,
    /// The user's mesh at rest, to which frames refer.
    pub surface: Arc<FrameSurface>,
    /// Initial positions of the surface's vertices, in world metres.
    pub surface_start: Vec<DVec3>,
    /// The triangulated surface.
    pub surface_triangles: Vec<[u32; 3]>,
    /// Area represented by each surface vertex, in m².
    pub point_areas: Vec<f64>,
    /// The embedding of the surface's vertices in the unknowns.
    pub embedding: Embedding,
    /// The elements that carry the elasticity.
    pub elements: Elements,
    /// Rest positions of a solid's unknowns in metres; empty for cloth.
    pub rest: Vec<DVec3>,
    /// Rest positions of the corners of a cloth's elements in metres, separately per element: panels that are sewn
    /// together at the start are separate at rest. Empty for solids.
    pub rest_corners: Vec<[DVec3; 3]>,
    /// Texture coordinates of the corners of a cloth's elements, where the mesh has them: warp runs along the first.
    /// Empty for solids.
    pub texture_corners: Vec<Option<[DVec2; 3]>>,
    /// Start positions of the unknowns, in world metres.
    pub start: Vec<DVec3>,
    /// Their initial velocities in m/s.
    pub velocity: DVec3,
    /// Lumped mass of each unknown in kg.
    pub mass: Vec<f64>,
    /// The materials of its elements.
    pub materials: ElementMaterials,
    /// The elastic model.
    pub model: Model,
    /// The bending model of cloth; `None` takes the elastic model's own.
    pub bending: Option<Bending>,
    /// Gauge pressure of the enclosed gas in Pa, at the start.
    pub pressure: Option<f64>,
    /// The edge stretch at which a cloth tears.
    pub tear_stretch: Option<f64>,
    /// Scheduled tears, in the scene's order.
    pub tears: Vec<TimedTear>,
    /// Whether it collides with itself.
    pub self_contact: bool,
    /// Its group, for pairs of bodies and colliders.
    pub group: Option<String>,
    /// Side of the cells requested for it, in metres.
    pub cell: Option<f64>,
    /// Notes for the user about how it was built.
    pub notes: Vec<String>,
}

/// Acceleration per metre of distance with which a drag or a soft pin pulls, in 1/s²: a body hung from one
/// such point sags by two millimetres.
const ATTACHMENT_STIFFNESS: f64 = 5000.0;

/// Deceleration of a fall in contact in m/s²: 5 m/s within a sixtieth of a second.
const CONTACT_STOP: f64 = 300.0;
/// The strain of a solid whose stress contact carries at half its thickness.
const CONTACT_STRAIN: f64 = 0.02;
/// The radius in metres around which a sheet at unit strain would press as hard as contact at half its thickness: at a
/// strain of 5 % one of 5 cm.
const SHEET_RADIUS: f64 = 1.0;

/// How many times as stiff as the material the repulsion is (Wu et al. 2022, section 8).
const REPULSION_RATIO: f64 = 1000.0;

impl<'a> From<&'a Body> for Participant<'a> {
    fn from(body: &'a Body) -> Self {
        let (name, group) = (body.name.as_str(), body.group.as_deref());
        Self { name, group, is_collider: false, self_contact: body.self_contact }
    }
}

impl Body {
    /// The centre of each element at the start, in world metres.
    fn element_centres(&self) -> Vec<DVec3> {
        let at = |v: u32| self.start[v as usize];
        match &self.elements {
            Elements::Triangles(triangles) => {
                triangles.iter().map(|t| t.map(at).into_iter().sum::<DVec3>() / 3.0).collect()
            }
            Elements::Tets(tets) => tets.iter().map(|t| t.map(at).into_iter().sum::<DVec3>() / 4.0).collect(),
            Elements::Octants(filled) => (0..self.elements.len()).map(|e| filled.tree.centre(e)).collect(),
        }
    }

    /// Whether it is a sheet.
    pub fn is_cloth(&self) -> bool {
        matches!(self.elements, Elements::Triangles(_))
    }

    /// The mean length of the surface's edges at rest, in metres; those of two faces count twice.
    pub fn mean_edge(&self) -> f64 {
        let rest = &self.surface.mesh.positions;
        let around = |[a, b, c]: [DVec3; 3]| a.distance(b) + b.distance(c) + c.distance(a);
        let sum: f64 = self.surface_triangles.iter().map(|t| around(t.map(|p| rest[p as usize]))).sum();
        sum / f64::max(3.0 * self.surface_triangles.len() as f64, 1.0)
    }

    /// A stiffness in N/m that holds up the whole body at one point without being stiffer than needed.
    pub fn attachment_stiffness(&self) -> f64 {
        ATTACHMENT_STIFFNESS * self.mass.iter().sum::<f64>()
    }

    /// The friction coefficient of each surface vertex: the mean of the elements around it.
    pub fn point_friction(&self) -> Vec<f64> {
        let main = self.materials.main().friction;
        let of = |element: usize| self.materials.of(element).friction;
        if (0..self.elements.len()).all(|element| of(element) == main) {
            return vec![main; self.embedding.len()];
        }
        let mut sums = vec![(0.0, 0u32); self.start.len()];
        let mut add = |element: usize, vertices: &[u32]| {
            for &v in vertices {
                let (sum, count) = &mut sums[v as usize];
                *sum += of(element);
                *count += 1;
            }
        };
        match &self.elements {
            Elements::Triangles(all) => all.iter().enumerate().for_each(|(e, corners)| add(e, corners)),
            Elements::Tets(all) => all.iter().enumerate().for_each(|(e, corners)| add(e, corners)),
            Elements::Octants(filled) => {
                filled.tree.conforming().iter().enumerate().for_each(|(e, nodes)| add(e, nodes));
            }
        }
        let mean = |v: u32| match sums[v as usize] {
            (_, 0) => main,
            (sum, count) => sum / f64::from(count),
        };
        let point = |p: usize| self.embedding.weights(p).iter().map(|&(v, w)| w * mean(v)).sum();
        (0..self.embedding.len()).map(point).collect()
    }

    /// The force in newtons with which each surface vertex resists contact at about half of its thickness. Without a
    /// `stiffness` in Pa/m it stops its own mass from a fast fall within a step, and bears the stress of the material at a
    /// few percent of strain.
    pub fn contact_forces(&self, stiffness: Option<f64>, thickness: f64) -> Vec<f64> {
        let material = self.materials.main();
        let pressure = match self.elements {
            Elements::Triangles(_) => {
                0.5 * (material.stretch_stiffness[0] + material.stretch_stiffness[1]) / SHEET_RADIUS
            }
            Elements::Tets(_) | Elements::Octants(_) => CONTACT_STRAIN * material.young_modulus,
        };
        let force = |p: usize| match stiffness {
            Some(stiffness) => stiffness * thickness * self.point_areas[p],
            None => {
                let mass: f64 =
                    self.embedding.weights(p).iter().map(|&(v, w)| w * self.mass[v as usize]).sum();
                CONTACT_STOP * mass + pressure * self.point_areas[p]
            }
        };
        (0..self.embedding.len()).map(force).collect()
    }

    /// The stiffness in N/m with which each surface vertex repels others: `stiffness` in Pa/m on its area, or a thousand times that of the
    /// material (Wu et al. 2022, section 8). That of a sheet is its stretch stiffness, which is the force per strain across a width equal to the
    /// length; that of a solid is Young's modulus times the length `√A` of the vertex' area, for the same reason.
    pub fn repulsion_stiffness(&self, stiffness: Option<f64>) -> Vec<f64> {
        let material = self.materials.main();
        let sheet = 0.5 * (material.stretch_stiffness[0] + material.stretch_stiffness[1]);
        let of_area = |area: f64| match (stiffness, &self.elements) {
            (Some(stiffness), _) => stiffness * area,
            (None, Elements::Triangles(_)) if area > 0.0 => REPULSION_RATIO * sheet,
            (None, Elements::Triangles(_)) => 0.0,
            (None, _) => REPULSION_RATIO * material.young_modulus * area.sqrt(),
        };
        self.point_areas.iter().map(|area| of_area(*area)).collect()
    }

    /// A point of a surface triangle as unknowns and weights.
    pub fn point_on_triangle(&self, corners: [u32; 3], barycentric: [f64; 3]) -> Vec<(u32, f64)> {
        let mut weights: Vec<(u32, f64)> = Vec::with_capacity(3);
        for (corner, part) in corners.into_iter().zip(barycentric) {
            for &(v, w) in self.embedding.weights(corner as usize) {
                match weights.iter_mut().find(|(u, _)| *u == v) {
                    Some((_, weight)) => *weight += part * w,
                    None => weights.push((v, part * w)),
                }
            }
        }
        weights
    }

    /// The smallest volume of any tetrahedron, or of the middle of any octant, over its rest volume; `None` for cloth.
    pub fn min_volume_ratio(&self, x: &[DVec3]) -> Option<f64> {
        if let Elements::Octants(filled) = &self.elements {
            return Some(filled.tree.min_volume_ratio(x));
        }
        let Elements::Tets(tets) = &self.elements else { return None };
        let volume = |tet: &[u32; 4], x: &[DVec3]| {
            let [a, b, c, d] = tet.map(|v| x[v as usize]);
            (b - a).cross(c - a).dot(d - a)
        };
        Some(tets.iter().map(|tet| volume(tet, x) / volume(tet, &self.rest)).fold(f64::INFINITY, f64::min))
    }
}
