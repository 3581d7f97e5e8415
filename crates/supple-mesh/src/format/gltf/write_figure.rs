//! Writes a figure with its skeleton and animation as binary glTF.

use std::io::{self, Write};

use glam::{DMat4, DVec3};
use serde_json::{Value, json};

use crate::skin::{Figure, Joint};

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const UNSIGNED_SHORT: u32 = 5123;

/// Accessors and the bytes that they refer to.
#[derive(Default)]
struct Binary {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Binary {
    /// Adds an accessor; returns its number.
    fn add(&mut self, kind: &str, component: u32, count: usize, data: Vec<u8>) -> usize {
        let view = json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": data.len()});
        self.accessors.push(json!({
            "bufferView": self.views.len(), "componentType": component, "count": count, "type": kind
        }));
        self.views.push(view);
        self.bytes.extend(data);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.accessors.len() - 1
    }

    fn floats(&mut self, kind: &str, count: usize, values: impl Iterator<Item = f64>) -> usize {
        self.add(kind, FLOAT, count, values.flat_map(|value| (value as f32).to_le_bytes()).collect())
    }
}

/// Writes a figure called `name` as `.glb`: a skinned mesh, its joints, and one animation.
pub fn write_figure(figure: &Figure, name: &str, out: &mut impl Write) -> io::Result<()> {
    let mut binary = Binary::default();
    let attributes = mesh(figure, &mut binary);
    let (animation, bind) = (animation(figure, &mut binary), bind_matrices(figure, &mut binary));
    let mut nodes: Vec<Value> = (0..figure.joints.len()).map(|index| node(&figure.joints, index)).collect();
    let roots = figure.joints.iter().enumerate().filter(|(_, joint)| joint.parent.is_none());
    let mut scene: Vec<usize> = roots.map(|(index, _)| index).collect();
    scene.push(nodes.len());
    nodes.push(json!({"name": name, "mesh": 0, "skin": 0}));
    let joints: Vec<usize> = (0..figure.joints.len()).collect();
    let document = json!({
        "asset": {"version": "2.0", "generator": "supple"},
        "scene": 0, "scenes": [{"nodes": scene}], "nodes": nodes,
        "meshes": [{"name": name, "primitives": [attributes]}],
        "skins": [{"joints": joints, "inverseBindMatrices": bind}],
        "animations": [animation],
        "accessors": binary.accessors, "bufferViews": binary.views,
        "buffers": [{"byteLength": binary.bytes.len()}],
    });
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let length = 28 + text.len() + binary.bytes.len();
    out.write_all(b"glTF")?;
    [2, length as u32, text.len() as u32].iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
    out.write_all(b"JSON")?;
    out.write_all(&text)?;
    out.write_all(&(binary.bytes.len() as u32).to_le_bytes())?;
    out.write_all(b"BIN\0")?;
    out.write_all(&binary.bytes)
}

/// The primitive.
fn mesh(figure: &Figure, binary: &mut Binary) -> Value {
    let (positions, triangles) = (&figure.surface.positions, figure.surface.triangles());
    let count = positions.len();
    let place = binary.floats("VEC3", count, positions.iter().flat_map(|p| p.to_array()));
    if let Some((low, high)) = figure.surface.bounds() {
        // The specification asks for the bounds of positions.
        binary.accessors[place]["min"] = json!(low.as_vec3().to_array());
        binary.accessors[place]["max"] = json!(high.as_vec3().to_array());
    }
    let corners = triangles.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect();
    let corners = binary.add("SCALAR", UNSIGNED_INT, 3 * triangles.len(), corners);
    let followed = figure.weights.iter().flatten().flat_map(|(joint, _)| (*joint as u16).to_le_bytes());
    let joints = binary.add("VEC4", UNSIGNED_SHORT, count, followed.collect());
    let weights = binary.floats("VEC4", count, figure.weights.iter().flatten().map(|(_, weight)| *weight));
    json!({"attributes": {"POSITION": place, "JOINTS_0": joints, "WEIGHTS_0": weights}, "indices": corners})
}

fn animation(figure: &Figure, binary: &mut Binary) -> Value {
    let keys = figure.times.len();
    let times = binary.floats("SCALAR", keys, figure.times.iter().copied());
    if let (Some(first), Some(last)) = (figure.times.first(), figure.times.last()) {
        binary.accessors[times]["min"] = json!([*first as f32]);
        binary.accessors[times]["max"] = json!([*last as f32]);
    }
    let (mut channels, mut samplers) = (Vec::new(), Vec::new());
    for (index, joint) in figure.joints.iter().enumerate().filter(|(_, joint)| !joint.turns.is_empty()) {
        let turns = binary.floats("VEC4", keys, joint.turns.iter().flat_map(|turn| turn.to_array()));
        channels.push(json!({"sampler": samplers.len(), "target": {"node": index, "path": "rotation"}}));
        samplers.push(json!({"input": times, "output": turns}));
    }
    json!({"name": figure.animation, "channels": channels, "samplers": samplers})
}

fn bind_matrices(figure: &Figure, binary: &mut Binary) -> usize {
    let matrices = figure.joints.iter().map(|joint| DMat4::from_translation(-joint.position));
    let numbers: Vec<f64> = matrices.flat_map(|matrix| matrix.to_cols_array()).collect();
    binary.floats("MAT4", figure.joints.len(), numbers.into_iter())
}

fn node(joints: &[Joint], index: usize) -> Value {
    let joint = &joints[index];
    let from = joint.parent.map_or(DVec3::ZERO, |parent| joints[parent].position);
    let children: Vec<usize> =
        (0..joints.len()).filter(|child| joints[*child].parent == Some(index)).collect();
    let mut node = json!({"name": joint.name, "translation": (joint.position - from).to_array()});
    if !children.is_empty() {
        node["children"] = json!(children);
    }
    node
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::{Mesh, load_skin, read};
    use super::*;
    use crate::skin::walking_figure;

    #[test]
    fn a_written_figure_is_read_back_and_walks_in_a_cycle() {
        let figure = walking_figure(0.06).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figure.glb");
        let mut bytes = Vec::new();
        write_figure(&figure, "Figure", &mut bytes).unwrap();
        let Mesh::Surface(surface) = read(&bytes, Path::new("figure.glb")).unwrap().mesh else {
            panic!("a figure is a surface")
        };
        assert_eq!(surface.triangles(), figure.surface.triangles());
        assert_eq!(surface.object_names(), ["Figure"]);
        std::fs::write(&path, bytes).unwrap();
        let skin = load_skin(&path, Some("Figure"), Some("Walk")).unwrap().repeated();
        assert!(!skin.jumps());
        // At every key a foot is turned about its hip and knee as the keys of the figure say.
        let [hips, thigh, shin] = [0, 3, 4].map(|joint| &figure.joints[joint]);
        for (key, time) in figure.times.iter().enumerate() {
            let bones = skin.bones_at(*time, 1.0);
            let foot = shin.position - 0.4 * DVec3::Y;
            let bent = shin.position + shin.turns[key] * (foot - shin.position);
            let swung = thigh.position + thigh.turns[key] * (bent - thigh.position);
            assert!(
                hips.turns[key].is_near_identity() && bones[4].transform_point3(foot).distance(swung) < 1e-6
            );
        }
    }
}
