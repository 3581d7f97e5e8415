//! Bones in flesh (Milne 2016, section 8): octants inside a body may be larger than a bone is thick, so that none of their nodes
//! is inside it. The vertices of the bone's mesh constrain the flesh where they are, at any point of an octant.

use std::path::Path;

use super::PinPoint;
use crate::body::{Body, are_inside, closed_mesh};
use crate::scene::ClosedMesh;
use supple_core::Error;
use supple_mesh::octree::Octree;

impl Body {
    /// The constraints of a bone: the flesh at the vertices of its mesh, and the nodes of octants inside it.
    pub(crate) fn bone_points(
        &self,
        tree: &Octree,
        bone: &ClosedMesh,
        folder: &Path,
    ) -> Result<Vec<PinPoint>, Error> {
        let surface = closed_mesh(bone, folder)?;
        let at_vertex = |p: &glam::DVec3| Some(PinPoint::new(tree.embed_inside(*p)?, *p));
        let mut points: Vec<PinPoint> = surface.positions.iter().filter_map(at_vertex).collect();
        let nodes = are_inside(&surface, &self.start).into_iter().enumerate().filter(|(_, inside)| *inside);
        points.extend(nodes.map(|(node, _)| PinPoint::new(vec![(node as u32, 1.0)], self.start[node])));
        if points.is_empty() {
            let (file, name) = (bone.file.display(), &self.name);
            return Err(Error::Invalid(format!(
                "the bone `{file}` is outside body `{name}`; both are placed in world metres, check `scale` and `up`"
            )));
        }
        Ok(points)
    }
}
