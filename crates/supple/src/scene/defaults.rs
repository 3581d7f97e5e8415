//! What the engine chooses where a scene is silent: elastic model, bending, self-contact, contact thickness and linear solver.
//!
//! The rules read the scene and its meshes only, never timings, threads, instruction sets or free memory, so that a scene has the same
//! results everywhere. What a scene states always wins. A run writes what was chosen into its `scene.toml`, and a resumed run keeps it.
//! The measurements behind the rules are in `docs/decisions/0059-defaults.md`.

use crate::scene::{Bending, Method, Model, Scene};
use supple_linear::LinearKind;

/// What a body is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// Triangles.
    Cloth {
        /// Whether some of its hinges are folded at rest.
        is_curved: bool,
    },
    /// Tetrahedra or octants.
    Solid,
}

/// The elastic model. Springs depend on the mesh: they resist shear and bending by as much as the triangulation happens to make them. Only
/// methods that cannot do without have them by default.
pub(crate) fn model(kind: BodyKind, method: Method) -> Model {
    match kind {
        BodyKind::Cloth { .. } if method.traits().cloth_of_springs => Model::Spring,
        BodyKind::Cloth { .. } => Model::BaraffWitkin,
        BodyKind::Solid => Model::Corotated,
    }
}

/// The bending model: the quadratic one is constant, but bends towards flat. `None` for springs, which bend by themselves.
pub(crate) fn bending(kind: BodyKind, model: Model) -> Option<Bending> {
    match kind {
        BodyKind::Cloth { is_curved } if model != Model::Spring => {
            Some(if is_curved { Bending::Dihedral } else { Bending::Quadratic })
        }
        _ => None,
    }
}

/// Whether a body collides with itself: cloth folds, most solids do not.
pub(crate) fn self_contact(kind: BodyKind) -> bool {
    matches!(kind, BodyKind::Cloth { .. })
}

/// The contact thickness of scenes without cloth, and the largest one of cloth, in metres.
const THICKNESS: f64 = 1e-3;
/// The smallest one of cloth: thinner fabrics look no different, and cost more iterations.
const LEAST_THICKNESS: f64 = 5e-4;
/// The contact thickness over that of the thickest fabric: two layers at rest are about half of it apart, as far as their middle surfaces.
const LAYERS: f64 = 2.0;
/// The contact thickness over the mean length of the edges at most: contacts are between parts that are farther apart along the surface.
const EDGE_FRACTION: f64 = 0.25;

/// The contact thickness in metres, from the thickness of the thickest fabric and the mean edge of the finest surface.
pub(crate) fn contact_thickness(thickest_fabric: Option<f64>, mean_edge: f64) -> f64 {
    let of_fabric =
        thickest_fabric.map_or(THICKNESS, |fabric| (LAYERS * fabric).clamp(LEAST_THICKNESS, THICKNESS));
    match mean_edge > 0.0 && mean_edge.is_finite() {
        true => of_fabric.min(EDGE_FRACTION * mean_edge),
        false => of_fabric,
    }
}

/// Nodes up to which a sparse factorisation is as fast as conjugate gradients with multigrid, for cloth and for solids.
const FACTORED_CLOTH: usize = 2000;
const FACTORED_SOLID: usize = 1000;

/// The linear solver for bodies of so many nodes together.
pub(crate) fn linear(cloth_nodes: usize, solid_nodes: usize) -> LinearKind {
    let share = cloth_nodes as f64 / FACTORED_CLOTH as f64 + solid_nodes as f64 / FACTORED_SOLID as f64;
    if share <= 1.0 { LinearKind::Cholesky } else { LinearKind::Galerkin }
}

impl Scene {
    /// Takes what this scene leaves to the engine from another one, which may have more or other bodies.
    pub(crate) fn adopt_choices(&mut self, from: &Self) {
        for body in &mut self.bodies {
            let Some(other) = from.bodies.iter().find(|other| other.name == body.name) else { continue };
            body.model = body.model.or(other.model);
            body.bending = body.bending.or(other.bending);
            body.self_contact = body.self_contact.or(other.self_contact);
        }
        self.contact.thickness = self.contact.thickness.or(from.contact.thickness);
        if self.solver.method == from.solver.method && self.solver.linear.is_none() {
            self.solver.linear.clone_from(&from.solver.linear);
        }
    }
}
