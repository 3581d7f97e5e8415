//! The pairs that are nearer than their activation distance.

use std::sync::{MutexGuard, PoisonError};

use glam::DVec3;

use super::near_solids::NearSolids;
use super::potential::{Mollifier, barrier, repulsion};
use super::{ContactProperties, ContactSystem, place};
use crate::contact::broad_phase::candidates::Collision;
use crate::contact::collider::obstacles::Solid;
use crate::contact::distance::solids::{NearAxis, SolidFeature};
use crate::contact::{Candidate, Candidates, ClosestPoints, EnclosingMeshes, PrimitivePair};
use crate::scene::ContactModel;
use supple_core::parallel::Found;
use supple_linear::PointHessians;

/// Contacts found at some positions, kept so that evaluations allocate nothing.
#[derive(Debug, Default)]
pub(super) struct Detection {
    pub(super) candidates: Candidates,
    /// The positions at which `normal_contacts` were found.
    pub(super) at: Vec<DVec3>,
    pub(super) normal_contacts: Found<NormalContact>,
    /// The same with spheres, capsules and planes.
    pub(super) solid_contacts: Found<NormalContact>,
    /// Whether both are valid.
    pub(super) known: bool,
    /// The ends of a displacement.
    pub(super) from: Vec<DVec3>,
    pub(super) to: Vec<DVec3>,
    /// Positions of unknowns, as workspace.
    pub(super) unknowns: Vec<DVec3>,
    pub(super) weights: Vec<(u32, f64)>,
    pub(super) sums: PointHessians,
    /// What is near spheres, capsules and planes at some positions, and on displacements.
    pub(super) near_solids: NearSolids,
    pub(super) near_ways: NearSolids,
    /// Pairs that would meet on a displacement, those with spheres, capsules and planes, and the unknowns of one of them.
    pub(super) collisions: Found<Collision>,
    pub(super) solid_collisions: Found<Collision>,
    pub(super) vertices: Vec<u32>,
    /// Colliders that are meshes, for what is inside of them.
    pub(super) enclosing: EnclosingMeshes,
}

impl Detection {
    /// All contacts, in an order that depends on the surfaces alone.
    pub(super) fn contacts(&self) -> impl Iterator<Item = &NormalContact> {
        self.normal_contacts.iter().chain(self.solid_contacts.iter())
    }
}

/// A pair nearer than its activation distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct NormalContact {
    pub(super) kind: ContactKind,
    pub(super) points: [u32; 4],
    pub(super) weights: [f64; 4],
    pub(super) normal: DVec3,
    pub(super) distance: f64,
    /// `k b`, `k b'` and `k b''`.
    pub(super) barrier: [f64; 3],
    pub(super) fade: Mollifier,
    /// How the nearest point of a triangle moves over a sphere or capsule as the triangle tilts.
    pub(super) tilts: [[f64; 4]; 2],
}

/// What meets what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContactKind {
    /// Two primitives of surfaces.
    Pair(PrimitivePair),
    /// A vertex, the first point, and the sphere, capsule or plane of this number.
    VertexSolid(u32),
    /// A triangle, the first three points, and the sphere or capsule of this number.
    TriangleSolid(u32),
}

impl ContactKind {
    /// The collider that is a sphere, capsule or plane.
    pub(super) fn solid(self) -> Option<usize> {
        match self {
            Self::Pair(_) => None,
            Self::VertexSolid(solid) | Self::TriangleSolid(solid) => Some(solid as usize),
        }
    }
}

impl NormalContact {
    /// `k m b`, `k m b'` and `k m b''`.
    pub(super) fn barrier(&self) -> [f64; 3] {
        self.barrier.map(|b| self.fade.value * b)
    }

    /// The gradient by each of its points.
    pub(super) fn gradient(&self) -> [DVec3; 4] {
        let slope = self.barrier()[1];
        let mut gradient = self.weights.map(|w| slope * w * self.normal);
        if self.fade.value < 1.0 {
            let [first, second] = self.fade.by_edge.map(|edge| self.barrier[0] * edge);
            gradient[0] -= first;
            gradient[1] += first;
            gradient[2] -= second;
            gradient[3] += second;
        }
        gradient
    }
}

impl ContactSystem {
    pub(super) fn lock(&self) -> MutexGuard<'_, Detection> {
        self.detection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn found_mut(&mut self) -> &mut Detection {
        self.detection.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds all contacts at `x`.
    pub(super) fn normal_contacts(&self, x: &[DVec3]) -> MutexGuard<'_, Detection> {
        let ContactProperties { surfaces, points, .. } = &self.properties;
        let mut found = self.lock();
        let Detection {
            candidates, at, normal_contacts, solid_contacts, known, from: next, near_solids, ..
        } = &mut *found;
        place(points, x, &self.driven, next);
        // A step evaluates value, gradient and Hessian at the same positions.
        if *known && at == next {
            return found;
        }
        std::mem::swap(at, next);
        candidates.look(
            surfaces,
            self.widest(),
            at,
            normal_contacts,
            |candidate, closest, normal_contacts| {
                normal_contacts.push(self.normal_contact(candidate, &closest, at));
            },
        );
        self.find_solid_contacts(at, near_solids, solid_contacts);
        *known = true;
        found
    }

    /// Finds the contacts with spheres, capsules and planes at the points' positions.
    fn find_solid_contacts(&self, at: &[DVec3], near: &mut NearSolids, contacts: &mut Found<NormalContact>) {
        let surfaces = &self.properties.surfaces;
        let still = self.solids.iter().map(|(_, solid)| [*solid; 2]);
        near.update(surfaces, still, [at, at], self.widest());
        let (near, triangles) = (&*near, surfaces.body_triangles());
        let [of_vertices, of_triangles] = near.chunks();
        contacts.fill_chunks(of_vertices + of_triangles, |chunk, list| {
            match chunk.checked_sub(of_vertices) {
                None => list.extend(near.vertices(chunk).iter().filter_map(|&[p, k]| {
                    let (index, solid) = self.solids[k as usize];
                    self.vertex_contact(p, index as usize, solid, at)
                })),
                Some(chunk) => {
                    for &[t, k] in near.triangles(chunk) {
                        let (index, solid) = self.solids[k as usize];
                        self.add_triangle_contacts(triangles[t as usize], (index as usize, solid), at, list);
                    }
                }
            }
        });
    }

    fn vertex_contact(&self, p: u32, index: usize, solid: Solid, at: &[DVec3]) -> Option<NormalContact> {
        let ContactProperties { surfaces, stiffness, .. } = &self.properties;
        let reach = surfaces.collider_reach(surfaces.body(p), index);
        let found = solid.to_vertex(at[p as usize]);
        let is_near = found.distance < reach && stiffness[p as usize] > 0.0 && self.meets(p, index);
        is_near.then(|| NormalContact {
            kind: ContactKind::VertexSolid(index as u32),
            points: [p; 4],
            weights: [1.0, 0.0, 0.0, 0.0],
            normal: found.normal,
            distance: found.distance,
            barrier: self.scaled_potential(found.distance, reach, stiffness[p as usize]),
            fade: Mollifier::NONE,
            tilts: [[0.0; 4]; 2],
        })
    }

    /// The contacts of a triangle with a sphere or capsule, one for each of the places that may touch it.
    fn add_triangle_contacts(
        &self,
        t: [u32; 3],
        (index, solid): (usize, Solid),
        at: &[DVec3],
        list: &mut Vec<NormalContact>,
    ) {
        let Solid::Round { from, to, .. } = solid else { return };
        let ContactProperties { surfaces, stiffness, .. } = &self.properties;
        if !self.meets_triangle(t, index) {
            return;
        }
        let reach = surfaces.collider_reach(surfaces.body(t[0]), index);
        let corners = t.map(|p| at[p as usize]);
        let mean = t.iter().map(|p| stiffness[*p as usize]).sum::<f64>() / 6.0;
        solid.features(&corners, reach, |SolidFeature { found, near }| {
            // The first two points are the edge, and the last one, without a weight, tells the contacts of a triangle apart.
            let (first, last) = match near {
                NearAxis::End(end) => (0, t[end]),
                NearAxis::Edge(first) => (first, t[(first + 2) % 3]),
            };
            let turned = [0, 1, 2].map(|i| (first + i) % 3);
            let [a, b, c] = turned.map(|i| t[i]);
            let [wa, wb, wc] = turned.map(|i| found.weights[i]);
            let fade = match near {
                NearAxis::End(_) => Mollifier::NONE,
                NearAxis::Edge(_) => self.fade_along([a, b], to - from, at),
            };
            let tilts = solid.tilts(&corners, &found);
            list.push(NormalContact {
                kind: ContactKind::TriangleSolid(index as u32),
                points: [a, b, c, last],
                weights: [wa, wb, wc, 0.0],
                normal: found.normal,
                distance: found.distance,
                barrier: self.scaled_potential(found.distance, reach, mean),
                fade,
                tilts: tilts.map(|tilt| {
                    let [a, b, c] = turned.map(|i| tilt[i]);
                    [a, b, c, 0.0]
                }),
            });
        });
    }

    /// The mollifier of an edge of a body next to the axis of a capsule, which has no points of a body.
    fn fade_along(&self, [a, b]: [u32; 2], axis: DVec3, at: &[DVec3]) -> Mollifier {
        let start = &self.properties.surfaces.start[..];
        let [start, now] = [start, at].map(|x| x[b as usize] - x[a as usize]);
        let fade = Mollifier::of([now, axis], [start, axis]);
        Mollifier { by_edge: [fade.by_edge[0], DVec3::ZERO], ..fade }
    }

    /// `k b`, `k b'` and `k b''` for a stiffness at the thickness of bodies.
    fn scaled_potential(&self, distance: f64, reach: f64, stiffness: f64) -> [f64; 3] {
        let potential = match self.properties.model {
            ContactModel::Barrier => barrier(distance, reach),
            ContactModel::Repulsion => repulsion(distance, reach),
        };
        potential.map(|b| stiffness * self.properties.thickness / reach * b)
    }

    fn normal_contact(&self, candidate: &Candidate, closest: &ClosestPoints, at: &[DVec3]) -> NormalContact {
        let Candidate { kind, points, reach, .. } = *candidate;
        let corners = points.map(|p| at[p as usize]);
        let distance = closest.offset.length();
        let ContactProperties { surfaces, stiffness, .. } = &self.properties;
        let of = points.map(|p| stiffness.get(p as usize).copied().unwrap_or(0.0));
        let (stiffness, fade) = match kind {
            // A vertex of a collider meets a triangle of a body, which alone is stiff.
            PrimitivePair::VertexTriangle if surfaces.is_driven(points[0]) => {
                ((of[1] + of[2] + of[3]) / 3.0, Mollifier::NONE)
            }
            PrimitivePair::VertexTriangle => (of[0], Mollifier::NONE),
            PrimitivePair::EdgeEdge => {
                let start = points.map(|p| surfaces.start[p as usize]);
                let edges = |[a, b, c, d]: [DVec3; 4]| [b - a, d - c];
                (0.125 * of.iter().sum::<f64>(), Mollifier::of(edges(corners), edges(start)))
            }
        };
        NormalContact {
            kind: ContactKind::Pair(kind),
            points,
            weights: closest.weights,
            normal: closest.offset.normalize_or_zero(),
            distance,
            barrier: self.scaled_potential(distance, reach, stiffness),
            fade,
            tilts: [[0.0; 4]; 2],
        }
    }
}
