//! Elasticity of conforming meshes: springs, tetrahedra, triangles, hinges, strain limits and pressure over the vertices of the bodies'
//! own meshes.

use glam::DVec3;

use super::elasticity::Elasticity;
use super::method::{Nodes, minimiser};
use super::optimize::{MinimiseError, Minimiser};
use crate::body::{Body, Elements};
use crate::energy::Energy;
use crate::energy::bending::dihedral::{DihedralBending, HingeMaterial};
use crate::energy::bending::hinge::{Hinge, hinges};
use crate::energy::bending::quadratic::QuadraticBending;
use crate::energy::element::ElementSum;
use crate::energy::element::spring::{Resists, Spring, Springs, in_local_order};
use crate::energy::element::spring_network::{cloth_springs, solid_springs};
use crate::energy::element::tetrahedron::{Solid, Tetrahedra};
use crate::energy::element::triangle::Triangles;
use crate::energy::pressure::Pressure;
use crate::energy::strain_limit::{StrainLimits, StretchLimit};
use crate::material::law::SolidLaw;
use crate::material::membrane::{Sheet, SheetLaw};
use crate::scene::{Bending, Model};
use crate::scene_state::SceneState;
use supple_linear::Simd;

/// How much stiffer a sheet is beyond its strain limit.
const LIMIT_STIFFNESS: f64 = 100.0;

/// The elasticity of the implicit methods: energies that are assembled into one matrix.
#[derive(Debug, Default)]
pub(crate) struct ConformingElasticity;

impl Elasticity for ConformingElasticity {
    fn energies(&mut self, scene_state: &SceneState, first_unknown: &[u32]) -> Vec<Box<dyn Energy>> {
        let mut energies = elastic_energies(scene_state, first_unknown);
        let start: Vec<DVec3> = scene_state.bodies.iter().flat_map(|body| &body.start).copied().collect();
        for (body, &first) in scene_state.bodies.iter().zip(first_unknown) {
            energies.extend(pressure(body, first, &start, scene_state.simd));
        }
        energies
    }

    fn minimiser(&self, scene_state: &SceneState, nodes: Nodes) -> Result<Box<dyn Minimiser>, MinimiseError> {
        minimiser(&scene_state.solver, nodes, scene_state.simd)
    }
}

/// The bodies of one model, combined.
struct Gathered<'a> {
    bodies: Vec<(&'a Body, u32)>,
    vertices: usize,
    simd: Simd,
}

/// The energies of all elements.
fn elastic_energies(scene_state: &SceneState, first_unknown: &[u32]) -> Vec<Box<dyn Energy>> {
    let vertices = first_unknown.last().map_or(0, |&end| end as usize);
    let of = |belongs: &dyn Fn(Model) -> bool| {
        let bodies = scene_state.bodies.iter().zip(first_unknown.iter().copied());
        let bodies: Vec<_> = bodies.filter(|(body, _)| belongs(body.model)).collect();
        (!bodies.is_empty()).then_some(Gathered { bodies, vertices, simd: scene_state.simd })
    };
    let mut energies: Vec<Option<Box<dyn Energy>>> = Vec::new();
    energies.extend(of(&|model| model == Model::Spring).map(|gathered| gathered.springs()));
    for law in SolidLaw::ALL {
        energies.extend(of(&|model| model.solid_law() == Some(law)).map(|gathered| gathered.solids(law)));
    }
    for law in SheetLaw::ALL {
        energies.extend(of(&|model| model.sheet_law() == Some(law)).map(|gathered| gathered.sheets(law)));
    }
    let bend = |bending: Bending| {
        let bodies = scene_state.bodies.iter().zip(first_unknown.iter().copied());
        let bodies: Vec<_> = bodies.filter(|(body, _)| hinge_bending(body) == Some(bending)).collect();
        Gathered { bodies, vertices, simd: scene_state.simd }
    };
    energies.push(bend(Bending::Quadratic).quadratic_bending());
    energies.push(bend(Bending::Dihedral).dihedral_bending());
    let all = Gathered {
        bodies: scene_state.bodies.iter().zip(first_unknown.iter().copied()).collect(),
        vertices,
        simd: scene_state.simd,
    };
    energies.push(all.strain_limits());
    energies.into_iter().flatten().collect()
}

/// How a body's hinges bend; `None` for solids and for cloth whose springs resist bending.
fn hinge_bending(body: &Body) -> Option<Bending> {
    match (&body.elements, body.model) {
        (Elements::Tets(_) | Elements::Octants(_), _) => None,
        (Elements::Triangles(_), Model::Spring) => body.bending,
        (Elements::Triangles(_), _) => Some(body.bending.unwrap_or(Bending::Quadratic)),
    }
}

/// Pressure inside a body's surface.
fn pressure(body: &Body, first: u32, x: &[DVec3], simd: Simd) -> Option<Box<dyn Energy>> {
    let (Some(gauge), Elements::Triangles(triangles)) = (body.pressure, &body.elements) else { return None };
    let triangles: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(|v| v + first)).collect();
    let pressure = Pressure::new(&triangles, x, gauge, simd);
    Some(Box::new(pressure.expect("a body with pressure is closed, which was checked when it was built")))
}

impl Gathered<'_> {
    fn springs(&self) -> Option<Box<dyn Energy>> {
        let mut springs: Vec<Spring> = Vec::new();
        for (body, first) in &self.bodies {
            let own = match &body.elements {
                Elements::Triangles(triangles) => {
                    cloth_springs(&body.rest_corners, triangles, &body.materials)
                }
                Elements::Tets(tets) => {
                    solid_springs(&body.rest, tets, &body.materials, |material| material.young_modulus)
                }
                Elements::Octants(_) => Vec::new(),
            };
            let own = in_local_order(&own, |vertex| body.start[vertex as usize]);
            let bends = body.bending.is_none();
            let own = own.into_iter().filter(|s| bends || s.resists == Resists::Both);
            springs.extend(own.map(|s| Spring { ends: s.ends.map(|v| v + first), ..s }));
        }
        let sum = ElementSum::new(Springs::new(springs), self.vertices, self.simd);
        Some(Box::new(sum))
    }

    fn solids(&self, law: SolidLaw) -> Option<Box<dyn Energy>> {
        let mut rest = vec![DVec3::ZERO; self.vertices];
        let (mut tets, mut solids) = (Vec::new(), Vec::new());
        for (body, first) in &self.bodies {
            let Elements::Tets(own) = &body.elements else { continue };
            rest[*first as usize..][..body.rest.len()].copy_from_slice(&body.rest);
            tets.extend(own.iter().map(|tet| tet.map(|v| v + first)));
            solids.extend((0..own.len()).map(|t| Solid::of(law, &body.materials.of(t))));
        }
        let elements = Tetrahedra::new(law, &rest, &tets, |t| solids[t]);
        let sum = ElementSum::new(elements, self.vertices, self.simd);
        (!tets.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }

    fn sheets(&self, law: SheetLaw) -> Option<Box<dyn Energy>> {
        let (mut triangles, mut rest) = (Vec::new(), Vec::new());
        let (mut texture, mut sheets) = (Vec::new(), Vec::new());
        for (body, first) in &self.bodies {
            let Elements::Triangles(own) = &body.elements else { continue };
            triangles.extend(own.iter().map(|triangle| triangle.map(|v| v + first)));
            rest.extend_from_slice(&body.rest_corners);
            texture.extend_from_slice(&body.texture_corners);
            sheets.extend((0..own.len()).map(|t| Sheet::from(&body.materials.of(t))));
        }
        let elements = Triangles::new(law, &triangles, &rest, |t| texture[t], |t| sheets[t]);
        let sum = ElementSum::new(elements, self.vertices, self.simd);
        (!triangles.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }

    /// The hinges of all bodies, with the material of each.
    fn hinges(&self) -> (Vec<Hinge>, Vec<HingeMaterial>) {
        let (mut all, mut materials) = (Vec::new(), Vec::new());
        for (body, first) in &self.bodies {
            let Elements::Triangles(triangles) = &body.elements else { continue };
            for hinge in hinges(triangles, &body.rest_corners) {
                let [one, other] = hinge.triangles.map(|t| body.materials.of(t));
                materials.push(HingeMaterial {
                    bend_stiffness: 0.5 * (one.bend_stiffness + other.bend_stiffness),
                    damping: 0.5 * (one.damping + other.damping),
                });
                all.push(Hinge { vertices: hinge.vertices.map(|v| v + first), ..hinge });
            }
        }
        (all, materials)
    }

    fn quadratic_bending(&self) -> Option<Box<dyn Energy>> {
        let (hinges, materials) = self.hinges();
        let elements = QuadraticBending::new(&hinges, |h| materials[h]);
        let sum = ElementSum::new(elements, self.vertices, self.simd);
        (!hinges.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }

    fn dihedral_bending(&self) -> Option<Box<dyn Energy>> {
        let (hinges, materials) = self.hinges();
        let sum = ElementSum::new(DihedralBending::new(&hinges, |h| materials[h]), self.vertices, self.simd);
        (!hinges.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }

    fn strain_limits(&self) -> Option<Box<dyn Energy>> {
        let (mut triangles, mut rest, mut limits) = (Vec::new(), Vec::new(), Vec::new());
        for (body, first) in &self.bodies {
            let Elements::Triangles(own) = &body.elements else { continue };
            for (t, triangle) in own.iter().enumerate() {
                let material = body.materials.of(t);
                let Some(stretch) = material.strain_limit else { continue };
                let stiffness =
                    LIMIT_STIFFNESS * material.stretch_stiffness[0].max(material.stretch_stiffness[1]);
                triangles.push(triangle.map(|v| v + first));
                rest.push(body.rest_corners[t]);
                limits.push(StretchLimit { stretch, stiffness });
            }
        }
        let sum =
            ElementSum::new(StrainLimits::new(&triangles, &rest, |t| limits[t]), self.vertices, self.simd);
        (!triangles.is_empty()).then(|| Box::new(sum) as Box<dyn Energy>)
    }
}
