//! The skin of a glTF file: the surface as the mesh reader has it, the joints that each vertex follows, and an animation of
//! them. What has no skin moves with its node; morph targets are left out.

use std::collections::HashMap;
use std::path::Path;

use glam::DMat4;

use super::super::{Mesh, find_object};
use super::animation::read_channels;
use super::buffers::{self, Buffers};
use super::document::{Document, Node};
use super::{GltfReader, VertexRange};
use crate::skin::{Bone, Influences, Skeleton, SkeletonNode, Skin};
use supple_core::FileError;

/// Reads the skinned surface of a glTF or GLB file, or one object of it, in the file's own unit and axes, with the animation of a name, or
/// the first one.
pub fn load_skin(path: &Path, object: Option<&str>, animation: Option<&str>) -> Result<Skin, FileError> {
    if !matches!(super::super::extension(path).as_str(), "gltf" | "glb") {
        return Err(FileError::whole(
            path,
            "a skin is read from a .glb or .gltf file; export the character as one",
        ));
    }
    let bytes = std::fs::read(path).map_err(|error| FileError::io(path, "read", &error))?;
    read_skin(&bytes, path, object, animation)
}

fn read_skin(
    bytes: &[u8],
    path: &Path,
    object: Option<&str>,
    animation: Option<&str>,
) -> Result<Skin, FileError> {
    let (document, blob) = buffers::parse(bytes, path)?;
    let buffers = Buffers::load(&document, blob, path)?;
    let mut reader = GltfReader::new(&buffers, path, Vec::new());
    let roots = reader.roots();
    reader.read_nodes(roots)?;
    let ranges = std::mem::take(&mut reader.ranges);
    let Mesh::Surface(surface) = reader.finish()?.mesh else { unreachable!("glTF holds surfaces") };
    if !ranges.iter().any(|range| document.nodes[range.node].skin.is_some()) {
        let problem = "no mesh of its scene has a skin; export the character together with its armature";
        return Err(FileError::whole(path, problem));
    }
    let part = object.map(|name| find_object(&surface, name, path)).transpose()?;
    let triangles = part.as_ref().map_or(&surface, |part| &part.surface).triangles();
    if triangles.is_empty() {
        return Err(FileError::whole(path, "its meshes have no triangles; a skin needs a surface"));
    }
    let channels = read_channels(&buffers, animation)?;
    let skeleton = Skeleton::new(skeleton_nodes(&document), channels)
        .ok_or_else(|| FileError::whole(path, "a node is its own ancestor; nodes must form a tree"))?;
    let mut bones = BoneReader::new(&buffers, skeleton.at_rest());
    ranges.iter().try_for_each(|range| bones.read(range))?;
    let BoneReader { bones, influences, .. } = bones;
    let (positions, influences) = match part {
        Some(part) => (part.surface.positions, influences.of_vertices(&part.vertices)),
        None => (surface.positions, influences),
    };
    Ok(Skin::new((positions, triangles), influences, skeleton, bones))
}

fn skeleton_nodes(document: &Document) -> Vec<SkeletonNode> {
    let of = |node: &Node| SkeletonNode { parent: None, local: node.matrix(), parts: node.parts() };
    let mut nodes: Vec<SkeletonNode> = document.nodes.iter().map(of).collect();
    for (index, node) in document.nodes.iter().enumerate() {
        node.children.iter().for_each(|&child| nodes[child].parent = Some(index));
    }
    nodes
}

/// Collects bones and which vertices follow them.
struct BoneReader<'a> {
    buffers: &'a Buffers<'a>,
    /// Where each node stands without animation.
    at_rest: Vec<DMat4>,
    bones: Vec<Bone>,
    /// The first bone of each node with a mesh; the joints of its skin come one after the other.
    first_bone: HashMap<usize, u32>,
    influences: Influences,
}

impl<'a> BoneReader<'a> {
    fn new(buffers: &'a Buffers<'a>, at_rest: Vec<DMat4>) -> Self {
        let (bones, first_bone, influences) = (Vec::new(), HashMap::new(), Influences::default());
        Self { buffers, at_rest, bones, first_bone, influences }
    }

    /// The influences of vertices that were read one after the other under one node.
    fn read(&mut self, range: &VertexRange) -> Result<(), FileError> {
        let first = self.bones_of(range.node)?;
        let document = self.buffers.document;
        let joints = document.nodes[range.node].skin.map_or(0, |skin| document.skins[skin].joints.len());
        let mut lists: Vec<Vec<(u32, f64)>> = vec![Vec::new(); range.count];
        if joints > 0 {
            self.read_weights(range, joints, &mut lists)?;
        }
        // The bone after the joints is the node itself: what follows no joint moves with it.
        let own = (joints as u32, 1.0);
        for list in &mut lists {
            if !list.iter().any(|(_, weight)| *weight > 0.0) {
                *list = vec![own];
            }
            self.influences.push(list.iter().map(|&(joint, weight)| (first + joint, weight)));
        }
        Ok(())
    }

    fn read_weights(
        &self,
        range: &VertexRange,
        joints: usize,
        lists: &mut [Vec<(u32, f64)>],
    ) -> Result<(), FileError> {
        let document = self.buffers.document;
        let Some(mesh) = document.nodes[range.node].mesh else { return Ok(()) };
        let primitive = &document.meshes[mesh].primitives[range.primitive];
        for set in 0.. {
            let (of_name, by_name) = (format!("JOINTS_{set}"), format!("WEIGHTS_{set}"));
            let accessors = (primitive.attribute(&of_name), primitive.attribute(&by_name));
            let (Some(of), Some(by)) = accessors else { break };
            let followed = self.buffers.read::<4>(self.buffers.accessor(of), &of_name)?;
            let weights = self.buffers.read::<4>(self.buffers.accessor(by), &by_name)?;
            if followed.len() != range.count || weights.len() != range.count {
                let (have, want) = (followed.len().min(weights.len()), range.count);
                let problem = format!("{of_name} and {by_name} of node {} have {have} values", range.node);
                return Err(self.buffers.error(format!("{problem} for {want} vertices; re-export the file")));
            }
            for (vertex, (joint, weight)) in
                followed.iter().flatten().zip(weights.iter().flatten()).enumerate()
            {
                if *weight > 0.0 && *joint >= joints as f64 {
                    let problem =
                        format!("vertex {} of node {} follows joint {joint}", vertex / 4, range.node);
                    return Err(self.buffers.error(format!("{problem}, but the skin has {joints} joints")));
                }
                lists[vertex / 4].push((*joint as u32, *weight));
            }
        }
        Ok(())
    }

    /// The first of a node's bones: the joints of its skin in their order, then itself.
    fn bones_of(&mut self, node: usize) -> Result<u32, FileError> {
        if let Some(first) = self.first_bone.get(&node) {
            return Ok(*first);
        }
        let first = self.bones.len() as u32;
        let to_mesh = self.at_rest[node].inverse();
        if !to_mesh.is_finite() {
            let problem = format!("node {node} has a scale of zero; give it a size and export again");
            return Err(self.buffers.error(problem));
        }
        let document = self.buffers.document;
        if let Some(number) = document.nodes[node].skin {
            let skin = &document.skins[number];
            let joints = &skin.joints;
            let to_joints = match skin.inverse_bind_matrices {
                Some(index) => {
                    self.buffers.read::<16>(self.buffers.accessor(index), "inverseBindMatrices")?
                }
                None => vec![DMat4::IDENTITY.to_cols_array(); joints.len()],
            };
            if to_joints.len() < joints.len() {
                let (have, want) = (to_joints.len(), joints.len());
                let problem = format!("skin {number} has {have} bind matrices for {want} joints");
                return Err(self.buffers.error(format!("{problem}; re-export the file")));
            }
            for (&joint, matrix) in joints.iter().zip(to_joints) {
                let from_model = DMat4::from_cols_array(&matrix) * to_mesh;
                if !from_model.inverse().is_finite() {
                    let problem = format!("the bind matrix of node {joint} in skin {number} is singular");
                    return Err(self.buffers.error(format!("{problem}; re-export the file")));
                }
                self.bones.push(Bone { node: joint, from_model });
            }
        }
        self.bones.push(Bone { node, from_model: to_mesh });
        self.first_bone.insert(node, first);
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use glam::{DQuat, DVec3};
    use serde_json::json;

    use super::super::tests::{glb, strip_of_two_bones};
    use super::*;

    fn error(document: &serde_json::Value, binary: &[u8], animation: Option<&str>) -> String {
        read_skin(&glb(document, binary), Path::new("strip.glb"), None, animation).unwrap_err().to_string()
    }

    #[test]
    fn a_strip_bends_where_its_skin_does() {
        let (document, binary) = strip_of_two_bones();
        let skin = read_skin(&glb(&document, &binary), Path::new("strip.glb"), None, Some("bend")).unwrap();
        // The first joint is still, the second stands at (1, 0, 0) and turns by a right angle about z in two seconds.
        for (time, angle) in [(0.0, 0.0), (1.0, 0.5 * FRAC_PI_2), (2.0, FRAC_PI_2), (5.0, FRAC_PI_2)] {
            let bones = skin.bones_at(time, 1.0);
            for (vertex, p) in skin.positions.iter().enumerate() {
                let of = skin.influences.of(vertex);
                let now: DVec3 = of.iter().map(|&(b, w)| w * bones[b as usize].transform_point3(*p)).sum();
                let turned = DVec3::X + DQuat::from_rotation_z(angle) * (*p - DVec3::X);
                let part = (p.x - 0.5).clamp(0.0, 1.0);
                assert!(now.distance(p.lerp(turned, part)) < 1e-6, "vertex {vertex} at {time} s: {now}");
            }
        }
        assert!(skin.first_move() < 1e-6);
    }

    #[test]
    fn the_transform_of_a_skinned_node_is_that_of_the_model_and_not_of_the_skin() {
        let (mut document, binary) = strip_of_two_bones();
        document["nodes"][0]["translation"] = json!([0, 7, 0]);
        let skin = read_skin(&glb(&document, &binary), Path::new("strip.glb"), None, None).unwrap();
        assert_eq!(skin.positions[0].y, 7.0);
        let p = skin.bones_at(0.0, 1.0)[0].transform_point3(skin.positions[0]);
        assert!(p.distance(skin.positions[0] - 7.0 * DVec3::Y) < 1e-12);
    }

    #[test]
    fn what_is_missing_is_named() {
        let (document, binary) = strip_of_two_bones();
        let mut bare = document.clone();
        bare["nodes"][0].as_object_mut().unwrap().remove("skin");
        assert!(error(&bare, &binary, None).contains("strip.glb: no mesh of its scene has a skin"));
        let mut still = document.clone();
        still.as_object_mut().unwrap().remove("animations");
        assert!(error(&still, &binary, None).contains("no animation"));
        let unknown = error(&document, &binary, Some("jump"));
        assert!(unknown.contains("`jump`") && unknown.contains("`bend`"), "{unknown}");
        let mut short = document.clone();
        short["skins"][0]["joints"] = json!([1]);
        assert!(error(&short, &binary, None).contains("follows joint 1, but the skin has 1 joints"));
    }

    #[test]
    fn channels_that_move_no_node_are_left_out() {
        let (mut document, binary) = strip_of_two_bones();
        let mut channels = document["animations"][0]["channels"].as_array().unwrap().clone();
        channels.push(json!({"sampler": 0, "target": {"path": "rotation"}}));
        channels.push(json!({"sampler": 0, "target": {"node": 1, "path": "weights"}}));
        document["animations"][0]["channels"] = json!(channels);
        let skin = read_skin(&glb(&document, &binary), Path::new("strip.glb"), None, None).unwrap();
        assert!(skin.bones_at(2.0, 1.0)[0].abs_diff_eq(DMat4::IDENTITY, 1e-12));
        document["animations"][0]["channels"] = json!(channels[1..]);
        assert!(error(&document, &binary, None).contains("animation 0 moves no node"));
    }

    #[test]
    fn a_matrix_stands_for_its_parts() {
        let (mut document, binary) = strip_of_two_bones();
        let turned = DMat4::from_translation(DVec3::X) * DMat4::from_rotation_x(0.5);
        document["nodes"][2] = json!({"matrix": turned.to_cols_array()});
        let parts = Document::new(&document).unwrap().nodes[2].parts();
        assert!(parts.matrix().abs_diff_eq(turned, 1e-6), "{parts:?}");
        let skin = read_skin(&glb(&document, &binary), Path::new("strip.glb"), None, None).unwrap();
        assert!(skin.first_move() < 1e-6);
        document["nodes"][2] = json!({"matrix": vec![0.0; 16]});
        let flat = Document::new(&document).unwrap().nodes[2].parts();
        assert_eq!(flat.rotation, DQuat::IDENTITY);
    }
}
