//! A skinned bar for tests, as GLB, and where its points are.

use std::f64::consts::FRAC_PI_4;
use std::path::Path;

use glam::{DQuat, DVec3};
use serde_json::{Value, json};

/// A bar from x = 0 to 2 of width 0.5, in five sections of four vertices, closed at its ends.
pub(crate) fn bar() -> (Vec<[f32; 3]>, Vec<[u16; 3]>) {
    let corners = [[-0.25, -0.25], [0.25, -0.25], [0.25, 0.25], [-0.25, 0.25]];
    let points = (0..5).flat_map(|s| corners.map(|[y, z]| [0.5 * s as f32, y, z])).collect();
    let mut faces = vec![[0, 2, 1], [0, 3, 2], [16, 17, 18], [16, 18, 19]];
    for section in 0..4u16 {
        for corner in 0..4u16 {
            let (a, b) = (4 * section + corner, 4 * section + (corner + 1) % 4);
            faces.extend([[a, b, b + 4], [a, b + 4, a + 4]]);
        }
    }
    (points, faces)
}

/// The weight of the second bone's motion at a position of the bar.
pub(crate) fn share(x: f64) -> f64 {
    (x - 0.5).clamp(0.0, 1.0)
}

/// The skinned position of a modelled point of the bar: its second bone rotates about z at (1, 0, 0), in two seconds by a right angle.
pub(crate) fn skinned(p: DVec3, time: f64) -> DVec3 {
    let turned = DVec3::X + DQuat::from_rotation_z(FRAC_PI_4 * time.clamp(0.0, 2.0)) * (p - DVec3::X);
    p.lerp(turned, share(p.x))
}

/// The bar as GLB on two joints; `change` modifies its JSON.
pub(crate) fn save_bar(folder: &Path, change: impl FnOnce(&mut Value)) {
    let (points, faces) = bar();
    let (mut binary, mut views, mut accessors) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |kind: &str, component: u32, count: usize, data: Vec<u8>| {
        accessors.push(
            json!({"bufferView": views.len(), "componentType": component, "count": count, "type": kind}),
        );
        views.push(json!({"buffer": 0, "byteOffset": binary.len(), "byteLength": data.len()}));
        binary.extend(data);
        binary.resize(binary.len().next_multiple_of(4), 0);
    };
    let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    add("VEC3", 5126, 20, floats(points.as_flattened()));
    add("SCALAR", 5123, 3 * faces.len(), faces.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect());
    add("VEC4", 5121, 20, [0, 1, 0, 0].repeat(20));
    let weights = points.iter().map(|p| share(p[0].into()) as f32);
    add("VEC4", 5126, 20, floats(&weights.flat_map(|w| [1.0 - w, w, 0.0, 0.0]).collect::<Vec<_>>()));
    let [still, moved] = [glam::Mat4::IDENTITY, glam::Mat4::from_translation(-glam::Vec3::X)];
    add("MAT4", 5126, 2, floats(&[still.to_cols_array(), moved.to_cols_array()].concat()));
    add("SCALAR", 5126, 2, floats(&[0.0, 2.0]));
    let half = std::f32::consts::FRAC_1_SQRT_2;
    add("VEC4", 5126, 2, floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, half, half]));
    let attributes = json!({"POSITION": 0, "JOINTS_0": 2, "WEIGHTS_0": 3});
    let mut document = json!({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0, "skin": 0}, {"children": [2]}, {"translation": [1, 0, 0]}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 1}]}],
        "skins": [{"joints": [1, 2], "inverseBindMatrices": 4}],
        "animations": [{
            "name": "bend",
            "channels": [{"sampler": 0, "target": {"node": 2, "path": "rotation"}}],
            "samplers": [{"input": 5, "output": 6}],
        }],
        "accessors": accessors, "bufferViews": views, "buffers": [{"byteLength": binary.len()}],
    });
    change(&mut document);
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let length = (28 + text.len() + binary.len()) as u32;
    let mut bytes = b"glTF".to_vec();
    bytes.extend([2, length, text.len() as u32].iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(b"JSON");
    bytes.extend(text);
    bytes.extend((binary.len() as u32).to_le_bytes());
    bytes.extend(b"BIN\0");
    bytes.extend(binary);
    std::fs::write(folder.join("bar.glb"), bytes).unwrap();
}
