//! The points selected by a pin.

use glam::DVec3;

use super::PinPoint;
use crate::body::{Body, Elements};
use crate::scene::{ClosedMesh, Pin, PinStrength, Selection, SelectionPoints};
use supple_core::Error;

impl Body {
    /// The points selected by a pin: vertices of a cloth, vertices of a solid's elements, or, where the
    /// selection refers to the user's mesh, points of a solid's surface.
    pub(super) fn select(&self, pin: &Pin, folder: &std::path::Path) -> Result<Vec<PinPoint>, Error> {
        if let (Elements::Octants(filled), Selection::InsideMesh(bone), PinStrength::Stiffness(_)) =
            (&self.elements, &pin.selection, pin.hold)
        {
            return self.bone_points(&filled.tree, bone, folder);
        }
        let inside = |mesh: &ClosedMesh, points: &[DVec3]| crate::body::inside_mesh(mesh, folder, points);
        let cloth = matches!(self.elements, Elements::Triangles(_));
        let on_surface = cloth || pin.selection.speaks_of_the_mesh();
        let points = SelectionPoints {
            body: &self.name,
            positions: if on_surface { &self.surface_start } else { &self.start },
            surface: on_surface.then_some(&self.surface.mesh),
            inside: Some(&inside),
        };
        let chosen = pin.selection.evaluate(&points)?;
        if !on_surface {
            let vertex = |v: u32| PinPoint::new(vec![(v, 1.0)], self.start[v as usize]);
            return Ok(chosen.into_iter().map(vertex).collect());
        }
        let mut picked: Vec<PinPoint> = Vec::new();
        let mut taken = vec![false; self.start.len()];
        for point in chosen {
            let weights = self.embedding.weights(point as usize).to_vec();
            match weights[..] {
                // Vertices split by UVs are one unknown.
                [(v, _)] if std::mem::replace(&mut taken[v as usize], true) => continue,
                [_] => {}
                _ if pin.hold == PinStrength::Hard => return Err(self.cannot_hold_hard()),
                _ => {}
            }
            picked.push(PinPoint::new(weights, self.surface_start[point as usize]));
        }
        Ok(picked)
    }

    fn cannot_hold_hard(&self) -> Error {
        Error::Invalid(format!(
            "body `{}`: vertices of an embedded surface cannot be pinned exactly; give the pin a stiffness, or select \
             by a box, sphere or plane, which holds the solid's own vertices",
            self.name
        ))
    }
}

impl Selection {
    /// Whether it needs the user's own vertices: their numbers, names, colours or boundary.
    fn speaks_of_the_mesh(&self) -> bool {
        match self {
            Self::Indices(_)
            | Self::BoundaryLoop(_)
            | Self::BoundaryPath(_)
            | Self::Group(_)
            | Self::Color(_) => true,
            Self::Any(parts) | Self::AllOf(parts) => parts.iter().any(Self::speaks_of_the_mesh),
            Self::Not(part) => part.speaks_of_the_mesh(),
            _ => false,
        }
    }
}
