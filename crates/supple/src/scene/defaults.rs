//! What the engine chooses where a scene is silent: elastic model, self-contact, contact thickness and linear solver.
//!
//! The rules read the scene and its meshes only, never timings, threads, instruction sets or free memory, so that a scene has the same
//! results everywhere. What a scene states always wins. A run writes what was chosen into its `scene.toml`, and a resumed run keeps it.
//! Reasons and measurements: `docs/decisions/0059-chosen-defaults.md`.

use crate::scene::{Method, Model, Scene};
use supple_linear::LinearKind;

/// The elastic model: springs where the method has any.
pub(crate) fn model(method: Method) -> Model {
    if method.traits().no_springs { Model::Corotated } else { Model::Spring }
}

/// Whether a body collides with itself.
pub(crate) const SELF_CONTACT: bool = false;

/// The contact thickness in metres.
pub(crate) const CONTACT_THICKNESS: f64 = 1e-3;

/// Nodes up to which a sparse factorisation is as fast as conjugate gradients with multigrid: of sheets, whose factors fill little, and of
/// tetrahedra.
const FACTORED_SHEET_NODES: f64 = 4000.0;
const FACTORED_SOLID_NODES: f64 = 1500.0;

/// The linear solver for bodies with these numbers of nodes.
pub(crate) fn linear(sheet_nodes: usize, solid_nodes: usize) -> LinearKind {
    let share = sheet_nodes as f64 / FACTORED_SHEET_NODES + solid_nodes as f64 / FACTORED_SOLID_NODES;
    if share <= 1.0 { LinearKind::Cholesky } else { LinearKind::Galerkin }
}

impl Scene {
    /// Takes what this scene leaves to the engine from another one, which may have more or other bodies.
    pub(crate) fn adopt_choices(&mut self, from: &Self) {
        for body in &mut self.bodies {
            let Some(other) = from.bodies.iter().find(|other| other.name == body.name) else { continue };
            body.model = body.model.or(other.model);
            body.self_contact = body.self_contact.or(other.self_contact);
        }
        self.contact.thickness = self.contact.thickness.or(from.contact.thickness);
        if self.solver.method == from.solver.method && self.solver.linear.is_none() {
            self.solver.linear.clone_from(&from.solver.linear);
        }
    }
}
