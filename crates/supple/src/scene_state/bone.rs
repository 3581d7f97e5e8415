//! Bones in flesh (Milne 2016, section 8): octants inside a body may be larger than a bone is thick, so that none of their nodes
//! lies in it. The vertices of the bone's mesh hold the flesh where they lie, at any point of an octant.

use std::path::Path;

use super::PinPoint;
use crate::body::{Body, are_inside, closed_mesh};
use crate::scene::ClosedMesh;
use supple_core::Error;
use supple_mesh::octree::Octree;

impl Body {
    /// What a bone holds: the flesh at the vertices of its mesh, and the nodes of octants inside it.
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
                "the bone `{file}` lies outside body `{name}`; both are placed in the world's metres, look at `scale` and `up`"
            )));
        }
        Ok(points)
    }
}
