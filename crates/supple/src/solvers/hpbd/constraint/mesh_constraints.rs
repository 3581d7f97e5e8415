//! The constraints of level 0: the effect of the SI material on particles.
//!
//! Cloth and solids get the springs of `energy::spring_network`, each a distance constraint with the compliance `1/k`: at
//! rest they have the same equilibrium as the model `spring` under any other method. Cloth bends by distances (the network's own springs)
//! or by angles (`bending = "dihedral"`). A network of springs always has Poisson's ratio 1/4; solids of a larger one
//! also preserve the volume of every tetrahedron, with the missing stiffness,
//!
//! ```text
//! E = ½ (λ - μ) V₀ (V/V₀ - 1)²,      so α = V₀ / (λ - μ) for C = V - V₀.
//! ```

use std::collections::BTreeSet;
use std::ops::Range;

use glam::DVec3;

use crate::body::{Body, Elements};
use crate::energy::bending::hinge::hinges;
use crate::energy::element::spring::{Resists, Spring};
use crate::energy::element::spring_network::{cloth_springs, solid_springs};
use crate::material::Material;
use crate::scene::Bending;
use crate::solvers::hpbd::constraint::{ConstraintSide, Distance, Fold, Volume};

/// The constraints of all bodies, over all particles.
#[derive(Debug, Default)]
pub(crate) struct MeshConstraints {
    /// The input of the hierarchy: for every body the edges of its triangles or tetrahedra, then its shear springs.
    pub(crate) links: Vec<Distance>,
    /// Other distances: bending springs.
    pub(crate) braces: Vec<Distance>,
    pub(crate) folds: Vec<Fold>,
    pub(crate) volumes: Vec<Volume>,
    /// The triangles of cloth.
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) bodies: Vec<BodyParts>,
}

/// The constraints of one body.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyParts {
    pub(crate) particles: Range<u32>,
    /// Among the links.
    pub(crate) edges: Range<u32>,
    pub(crate) shears: Range<u32>,
    pub(crate) triangles: Range<u32>,
}

impl MeshConstraints {
    pub(crate) fn add(&mut self, body: &Body, first: u32) {
        let [first_link, first_triangle] = [self.links.len() as u32, self.triangles.len() as u32];
        let shears = match &body.elements {
            Elements::Triangles(triangles) => self.add_cloth(body, triangles, first),
            Elements::Tets(tets) => {
                self.add_solid(body, tets, first);
                Vec::new()
            }
            // Only their own family divides bodies into octants.
            Elements::Octants(_) => Vec::new(),
        };
        let first_shear = self.links.len() as u32;
        self.links.extend(shears);
        self.bodies.push(BodyParts {
            particles: first..first + body.start.len() as u32,
            edges: first_link..first_shear,
            shears: first_shear..self.links.len() as u32,
            triangles: first_triangle..self.triangles.len() as u32,
        });
    }

    /// Adds all but the shear springs, which it returns.
    fn add_cloth(&mut self, body: &Body, triangles: &[[u32; 3]], first: u32) -> Vec<Distance> {
        let mut shears = Vec::new();
        let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].map(|[i, j]| [i.min(j), i.max(j)]);
        let edges: BTreeSet<[u32; 2]> = triangles.iter().flat_map(sides).collect();
        let angles = body.bending == Some(Bending::Dihedral);
        for spring in cloth_springs(&body.rest_corners, triangles, &body.materials) {
            if edges.contains(&spring.ends) {
                self.links.push(distance(&spring, first));
            } else if spring.resists == Resists::Both {
                shears.push(distance(&spring, first));
            } else if !angles {
                self.braces.push(distance(&spring, first));
            }
        }
        if angles {
            let first_triangle = self.triangles.len() as u32;
            for hinge in hinges(triangles, &body.rest_corners) {
                let [one, other] = hinge.triangles.map(|t| body.materials.of(t));
                let mean = |a: f64, b: f64| 0.5 * (a + b);
                let stiffness = mean(one.bend_stiffness, other.bend_stiffness);
                let fold = Fold::new(&hinge, stiffness, mean(one.damping, other.damping));
                self.folds.extend(fold.map(|f| Fold {
                    corners: f.corners.map(|v| v + first),
                    triangles: f.triangles.map(|t| t + first_triangle),
                    ..f
                }));
            }
        }
        self.triangles.extend(triangles.iter().map(|t| t.map(|v| v + first)));
        shears
    }

    fn add_solid(&mut self, body: &Body, tets: &[[u32; 4]], first: u32) {
        let modulus = |material: &Material| share_of_springs(material.poisson_ratio) * material.young_modulus;
        let springs = solid_springs(&body.rest, tets, &body.materials, modulus);
        self.links.extend(springs.iter().map(|spring| distance(spring, first)));
        for (t, tet) in tets.iter().enumerate() {
            let lame = body.materials.of(t).solid_lame();
            let [a, b, c, d] = tet.map(|v| body.rest[v as usize]);
            let (rest, missing) = (volume(a, b, c, d), lame.lambda - lame.mu);
            if missing > 1e-6 * lame.mu {
                let corners = tet.map(|v| v + first);
                self.volumes.push(Volume { corners, rest, compliance: rest / missing });
            }
        }
    }
}

/// The fraction of a network's stiffness that gives the material's shear modulus: `E/(2 (1 + ν))` against `E/2.5`.
fn share_of_springs(poisson_ratio: f64) -> f64 {
    if poisson_ratio > 0.25 { 1.25 / (1.0 + poisson_ratio) } else { 1.0 }
}

fn distance(spring: &Spring, first: u32) -> Distance {
    Distance {
        ends: spring.ends.map(|v| v + first),
        rest: spring.rest,
        compliance: 1.0 / spring.stiffness,
        damping: spring.damping,
        acts: match spring.resists {
            Resists::Both => ConstraintSide::Both,
            Resists::Compression => ConstraintSide::Pressed,
        },
    }
}

fn volume(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> f64 {
    (b - a).cross(c - a).dot(d - a) / 6.0
}
