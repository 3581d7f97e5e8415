//! The JSON of a `.glb`: the layout of the binary chunk. The chunk contains, body by body, triangles, UVs,
//! colours and base positions; then, frame by frame, the targets of every body; then the animation's times and weights.

use glam::Vec3;
use serde_json::{Value, json};

use super::super::job::Job;
use super::Bounds;
use super::split::SplitMesh;

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
/// Buffer views for vertices and for indices.
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// The whole document and the length of its binary chunk.
pub(super) struct Layout {
    document: Value,
    binary_bytes: u64,
    times: Vec<f32>,
}

/// Accessors and buffer views, in the order of the binary chunk.
#[derive(Default)]
struct Accessors {
    views: Vec<Value>,
    accessors: Vec<Value>,
    bytes: u64,
}

/// Accessor indices of one body.
struct BodyAccessors {
    parts: Vec<(usize, Option<String>)>,
    attributes: serde_json::Map<String, Value>,
    targets: Vec<Value>,
}

impl Layout {
    /// Computes the layout of everything that [`super::export`] then writes.
    pub(super) fn new(job: &Job, meshes: &[SplitMesh], bounds: &[Vec<Bounds>]) -> Self {
        let times: Vec<f32> = job.frames().iter().map(|&f| (f64::from(f) / job.fps()) as f32).collect();
        let mut accessors = Accessors::default();
        let shown: Vec<usize> = (0..meshes.len()).filter(|&b| meshes[b].parts().next().is_some()).collect();
        let mut bodies: Vec<BodyAccessors> =
            shown.iter().map(|&b| accessors.body(&meshes[b], bounds[0][b])).collect();
        for frame in &bounds[1..] {
            for (body, &b) in bodies.iter_mut().zip(&shown) {
                let target = accessors.vectors(meshes[b].vertices().len(), frame[b]);
                body.targets.push(json!({ "POSITION": target }));
            }
        }
        let animations = accessors.animation(&times, &bodies);
        let names: Vec<&str> = shown.iter().map(|&b| meshes[b].name()).collect();
        let document =
            document(job.scene(), &names, bodies, accessors.views, accessors.accessors, animations);
        let mut layout = Self { document, binary_bytes: accessors.bytes, times };
        if layout.binary_bytes > 0 {
            layout.document["buffers"] = json!([{ "byteLength": layout.binary_bytes }]);
        }
        layout
    }

    /// The JSON chunk's text.
    pub(super) fn json(&self) -> Vec<u8> {
        self.document.to_string().into_bytes()
    }

    /// The length of the binary chunk.
    pub(super) fn binary_bytes(&self) -> u64 {
        self.binary_bytes
    }

    /// Times, then for each time the weights of all targets: the frame's own is 1.
    pub(super) fn animation_bytes(&self) -> Vec<u8> {
        let frames = self.times.len();
        let mut bytes: Vec<u8> = Vec::with_capacity(4 * frames * frames);
        if frames < 2 || self.document.get("animations").is_none() {
            return bytes;
        }
        self.times.iter().for_each(|time| bytes.extend_from_slice(&time.to_le_bytes()));
        for frame in 0..frames {
            for target in 1..frames {
                let weight: f32 = if target == frame { 1.0 } else { 0.0 };
                bytes.extend_from_slice(&weight.to_le_bytes());
            }
        }
        bytes
    }
}

impl Accessors {
    fn body(&mut self, mesh: &SplitMesh, base: Bounds) -> BodyAccessors {
        let count = mesh.vertices().len();
        let mut parts = Vec::new();
        for (material, triangles) in mesh.parts() {
            let indices = self.add(3 * triangles, 4, UNSIGNED_INT, "SCALAR", Some(ELEMENT_ARRAY_BUFFER));
            parts.push((indices, material.map(str::to_owned)));
        }
        let mut attributes = serde_json::Map::new();
        if mesh.has_uvs() {
            attributes
                .insert("TEXCOORD_0".into(), self.add(count, 8, FLOAT, "VEC2", Some(ARRAY_BUFFER)).into());
        }
        if mesh.has_colors() {
            attributes
                .insert("COLOR_0".into(), self.add(count, 16, FLOAT, "VEC4", Some(ARRAY_BUFFER)).into());
        }
        attributes.insert("POSITION".into(), self.vectors(count, base).into());
        BodyAccessors { parts, attributes, targets: Vec::new() }
    }

    fn vectors(&mut self, count: usize, (low, high): Bounds) -> usize {
        let accessor = self.add(count, 12, FLOAT, "VEC3", Some(ARRAY_BUFFER));
        self.accessors[accessor]["min"] = exact(low);
        self.accessors[accessor]["max"] = exact(high);
        accessor
    }

    fn add(&mut self, count: usize, size: u64, component: u32, kind: &str, target: Option<u32>) -> usize {
        let bytes = count as u64 * size;
        let mut view = json!({ "buffer": 0, "byteOffset": self.bytes, "byteLength": bytes });
        if let Some(target) = target {
            view["target"] = target.into();
        }
        let view_number = self.views.len();
        self.views.push(view);
        self.bytes += bytes;
        self.accessors.push(json!({
            "bufferView": view_number, "componentType": component, "count": count, "type": kind
        }));
        self.accessors.len() - 1
    }

    /// One sampler drives the weights of all bodies, which have the same number of targets.
    fn animation(&mut self, times: &[f32], bodies: &[BodyAccessors]) -> Option<Value> {
        let [first, .., last] = *times else { return None };
        if bodies.is_empty() {
            return None;
        }
        let input = self.add(times.len(), 4, FLOAT, "SCALAR", None);
        self.accessors[input]["min"] = json!([f64::from(first)]);
        self.accessors[input]["max"] = json!([f64::from(last)]);
        let output = self.add(times.len() * (times.len() - 1), 4, FLOAT, "SCALAR", None);
        let channels: Vec<Value> = (0..bodies.len())
            .map(|node| json!({ "sampler": 0, "target": { "node": node, "path": "weights" } }))
            .collect();
        let sampler = json!({ "input": input, "output": output, "interpolation": "LINEAR" });
        Some(json!([{ "name": "simulation", "samplers": [sampler], "channels": channels }]))
    }
}

fn document(
    scene: &str,
    names: &[&str],
    bodies: Vec<BodyAccessors>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    animations: Option<Value>,
) -> Value {
    let mut materials: Vec<Option<String>> = Vec::new();
    let meshes: Vec<Value> =
        bodies.into_iter().zip(names).map(|(body, name)| mesh(name, body, &mut materials)).collect();
    let nodes: Vec<Value> =
        names.iter().enumerate().map(|(mesh, name)| json!({ "name": name, "mesh": mesh })).collect();
    let mut scene = json!({ "name": scene });
    if !nodes.is_empty() {
        scene["nodes"] = (0..nodes.len()).collect();
    }
    let mut document = json!({
        "asset": { "version": "2.0", "generator": concat!("Supple ", env!("CARGO_PKG_VERSION")) },
        "scene": 0,
        "scenes": [scene],
    });
    // glTF allows no empty lists.
    let lists = [("nodes", nodes), ("meshes", meshes), ("bufferViews", views), ("accessors", accessors)];
    for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        document[key] = list.into();
    }
    if !materials.is_empty() {
        document["materials"] = materials.iter().map(material).collect();
    }
    if let Some(animations) = animations {
        document["animations"] = animations;
    }
    document
}

fn mesh(name: &str, body: BodyAccessors, materials: &mut Vec<Option<String>>) -> Value {
    let mut primitives = Vec::new();
    for (indices, material) in body.parts {
        let number = materials.iter().position(|other| *other == material).unwrap_or_else(|| {
            materials.push(material);
            materials.len() - 1
        });
        let mut primitive = json!({ "attributes": body.attributes, "indices": indices, "material": number });
        if !body.targets.is_empty() {
            primitive["targets"] = body.targets.clone().into();
        }
        primitives.push(primitive);
    }
    let mut mesh = json!({ "name": name, "primitives": primitives });
    if !body.targets.is_empty() {
        mesh["weights"] = vec![0.0; body.targets.len()].into();
    }
    mesh
}

/// Cloth is visible from both sides; the rest is up to the user.
fn material(name: &Option<String>) -> Value {
    let surface = json!({ "metallicFactor": 0.0, "roughnessFactor": 0.8 });
    let mut material = json!({ "doubleSided": true, "pbrMetallicRoughness": surface });
    if let Some(name) = name {
        material["name"] = name.as_str().into();
    }
    material
}

/// Single-precision values as JSON numbers that round-trip exactly.
fn exact(v: Vec3) -> Value {
    v.to_array().map(f64::from).to_vec().into()
}
