//! Tests of the glTF reader on files made here, by the tables of the specification.

use std::path::Path;

use glam::DVec3;
use serde_json::{Value, json};

use super::super::{Mesh, load};
use super::read_gltf;
use crate::{NO_VALUE, SurfaceMesh};

fn surface(loaded: super::LoadedMesh) -> (SurfaceMesh, Vec<String>) {
    match loaded.mesh {
        Mesh::Surface(mesh) => (mesh, loaded.notes),
        Mesh::Tets(_) => unreachable!("glTF holds surfaces"),
    }
}

/// A GLB with this JSON and this binary chunk.
pub(super) fn glb(json: &Value, binary: &[u8]) -> Vec<u8> {
    let mut json = json.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let length = 12 + 8 + json.len() + 8 + binary.len();
    let mut bytes = b"glTF".to_vec();
    bytes.extend([2, length as u32, json.len() as u32].iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(b"JSON");
    bytes.extend(json);
    bytes.extend((binary.len() as u32).to_le_bytes());
    bytes.extend(b"BIN\0");
    bytes.extend(binary);
    bytes
}

fn read(json: &Value, binary: &[u8]) -> (SurfaceMesh, Vec<String>) {
    surface(read_gltf(&glb(json, binary), Path::new("t.glb")).unwrap())
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Five points in the plane z = 0: a strip of three triangles, or a fan.
const POINTS: [f32; 15] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 2.0, 0.0];

/// One node with one primitive over `POINTS`; `more` is merged into the primitive.
fn document(primitive: Value, node: Value) -> Value {
    json!({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [node], "meshes": [{"primitives": [primitive]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 5, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 60}],
        "buffers": [{"byteLength": 60}],
    })
}

fn add_accessor(document: &mut Value, binary: &mut Vec<u8>, accessor: Value, data: &[u8]) {
    let view = json!({"buffer": 0, "byteOffset": binary.len(), "byteLength": data.len()});
    binary.extend(data);
    binary.resize(binary.len().next_multiple_of(4), 0);
    let mut accessor = accessor;
    accessor["bufferView"] = json!(document["bufferViews"].as_array().unwrap().len());
    document["bufferViews"].as_array_mut().unwrap().push(view);
    document["accessors"].as_array_mut().unwrap().push(accessor);
    document["buffers"][0]["byteLength"] = json!(binary.len());
}

/// A strip of four squares in the plane z = 0 from x = 0 to 2 on two joints: one at the origin, which is still, and one that hangs
/// from it at x = 1 and turns by a right angle about z in two seconds. Weights go from the first to the second between 0.5 and 1.5.
pub(super) fn strip_of_two_bones() -> (Value, Vec<u8>) {
    let along: Vec<f32> = (0..5).map(|i| 0.5 * i as f32).collect();
    let points: Vec<f32> = along.iter().flat_map(|&x| [x, 0.0, 0.0, x, 0.5, 0.0]).collect();
    let mut document = json!({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0, "skin": 0}, {"children": [2]}, {"translation": [1, 0, 0]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}, "mode": 5}]}],
        "skins": [{"joints": [1, 2], "inverseBindMatrices": 3}],
        "animations": [{
            "name": "bend",
            "channels": [{"sampler": 0, "target": {"node": 2, "path": "rotation"}}],
            "samplers": [{"input": 4, "output": 5}],
        }],
        "accessors": [], "bufferViews": [], "buffers": [{"byteLength": 0}],
    });
    let mut binary = Vec::new();
    let mut add = |accessor: Value, data: &[u8]| add_accessor(&mut document, &mut binary, accessor, data);
    let float = |kind: &str, count: usize| json!({"componentType": 5126, "count": count, "type": kind});
    add(float("VEC3", 10), &floats(&points));
    add(json!({"componentType": 5121, "count": 10, "type": "VEC4"}), &[0, 1, 0, 0].repeat(10));
    let weights: Vec<f32> = along
        .iter()
        .map(|x| (x - 0.5).clamp(0.0, 1.0))
        .flat_map(|second| [1.0 - second, second, 0.0, 0.0].repeat(2))
        .collect();
    add(float("VEC4", 10), &floats(&weights));
    let still = glam::Mat4::IDENTITY.to_cols_array();
    let moved = glam::Mat4::from_translation(-glam::Vec3::X).to_cols_array();
    add(float("MAT4", 2), &floats(&[still, moved].concat()));
    add(float("SCALAR", 2), &floats(&[0.0, 2.0]));
    let half = std::f32::consts::FRAC_1_SQRT_2;
    add(float("VEC4", 2), &floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, half, half]));
    (document, binary)
}

#[test]
fn strips_and_fans_have_the_winding_of_the_specification() {
    let primitive = |mode: u32| json!({"attributes": {"POSITION": 0}, "mode": mode});
    let strip = read(&document(primitive(5), json!({"mesh": 0})), &floats(&POINTS)).0;
    assert_eq!(strip.corners, [0, 1, 2, 1, 3, 2, 2, 3, 4]);
    let fan = read(&document(primitive(6), json!({"mesh": 0})), &floats(&POINTS)).0;
    assert_eq!(fan.corners, [1, 2, 0, 2, 3, 0, 3, 4, 0]);
}

#[test]
fn transforms_chain_and_mirrored_triangles_are_turned_back() {
    let mut document = document(json!({"attributes": {"POSITION": 0}, "mode": 5}), json!({}));
    let half = std::f32::consts::FRAC_1_SQRT_2;
    document["nodes"] = json!([
        {"children": [1], "translation": [10, 0, 0], "rotation": [0, 0, half, half]},
        {"mesh": 0, "name": "panel", "scale": [-2, 1, 1]},
    ]);
    let mesh = read(&document, &floats(&POINTS)).0;
    // (x, y) is scaled to (-2x, y), turned by 90 degrees about z to (-y, -2x), then moved.
    for (p, point) in mesh.positions.iter().zip(POINTS.as_chunks::<3>().0) {
        let expected = DVec3::new(10.0 - f64::from(point[1]), -2.0 * f64::from(point[0]), 0.0);
        assert!(p.distance(expected) < 1e-6, "{p} {expected}");
    }
    let normal = |t: [u32; 3]| {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
        (b - a).cross(c - a).z
    };
    assert!(mesh.triangles().into_iter().all(|t| normal(t) > 0.0));
    assert_eq!(mesh.labels[0].names, ["panel"]);
}

#[test]
fn attributes_of_all_types_are_read_and_v_counts_upwards() {
    let attributes = json!({"POSITION": 0, "TEXCOORD_0": 1, "COLOR_0": 2, "NORMAL": 3});
    let mut document =
        document(json!({"attributes": attributes, "indices": 4, "material": 0}), json!({"mesh": 0}));
    document["materials"] = json!([{"name": "cotton"}]);
    let mut binary = floats(&POINTS);
    let uvs: Vec<u8> =
        [0u16, 65535, 65535, 0, 0, 0, 0, 0, 0, 0].iter().flat_map(|c| c.to_le_bytes()).collect();
    let uv = json!({"componentType": 5123, "normalized": true, "count": 5, "type": "VEC2"});
    add_accessor(&mut document, &mut binary, uv, &uvs);
    let color = json!({"componentType": 5121, "normalized": true, "count": 5, "type": "VEC4"});
    add_accessor(&mut document, &mut binary, color, &[51; 20]);
    let normal = json!({"componentType": 5126, "count": 5, "type": "VEC3"});
    add_accessor(&mut document, &mut binary, normal, &floats(&[0.0, 0.0, 1.0].repeat(5)));
    add_accessor(
        &mut document,
        &mut binary,
        json!({"componentType": 5121, "count": 3, "type": "SCALAR"}),
        &[4, 0, 1],
    );
    let mesh = read(&document, &binary).0;
    assert_eq!(mesh.corners, [4, 0, 1]);
    let uvs = mesh.uvs.unwrap();
    assert_eq!((uvs.values[0], uvs.values[1], uvs.indices), ([0.0, 0.0], [1.0, 1.0], vec![4, 0, 1]));
    assert_eq!(mesh.colors.unwrap(), [[0.2; 4]; 5]);
    assert_eq!(mesh.normals.unwrap().values, [[0.0, 0.0, 1.0]; 5]);
    assert_eq!(mesh.labels[1].names, ["cotton"]);
}

#[test]
fn sparse_values_replace_those_of_the_buffer() {
    let mut document = document(json!({"attributes": {"POSITION": 0}, "mode": 5}), json!({"mesh": 0}));
    let mut binary = floats(&POINTS);
    let (indices, values) = (binary.len(), binary.len() + 4);
    binary.extend([3, 0, 0, 0]);
    binary.extend(floats(&[7.0, 8.0, 9.0]));
    document["buffers"][0]["byteLength"] = json!(binary.len());
    document["bufferViews"] = json!([
        {"buffer": 0, "byteLength": 60},
        {"buffer": 0, "byteOffset": indices, "byteLength": 2},
        {"buffer": 0, "byteOffset": values, "byteLength": 12},
    ]);
    document["accessors"][0]["sparse"] = json!({
        "count": 1, "indices": {"bufferView": 1, "componentType": 5123}, "values": {"bufferView": 2},
    });
    let mesh = read(&document, &binary).0;
    assert_eq!(mesh.positions[3], DVec3::new(7.0, 8.0, 9.0));
    assert_eq!(mesh.positions[4], DVec3::new(0.0, 2.0, 0.0));
}

#[test]
fn primitives_that_share_positions_share_vertices() {
    let mut document = document(json!({}), json!({"mesh": 0}));
    document["meshes"] = json!([{"primitives": [
        {"attributes": {"POSITION": 0, "NORMAL": 0}, "mode": 5},
        {"attributes": {"POSITION": 0}, "mode": 6},
        {"attributes": {"POSITION": 0}, "mode": 1},
    ]}]);
    let (mesh, notes) = read(&document, &floats(&POINTS));
    assert_eq!((mesh.positions.len(), mesh.face_count()), (5, 6));
    assert_eq!(mesh.normals.unwrap().indices[9..], [NO_VALUE; 9]);
    assert!(notes[0].contains("1 primitives without triangles"));
}

#[test]
fn buffers_beside_the_file_are_found_by_their_decoded_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut document = document(json!({"attributes": {"POSITION": 0}, "mode": 5}), json!({"mesh": 0}));
    document["buffers"][0]["uri"] = json!("my%20data.bin");
    std::fs::write(folder.path().join("my data.bin"), floats(&POINTS)).unwrap();
    std::fs::write(folder.path().join("a.gltf"), document.to_string()).unwrap();
    let (mesh, _) = surface(load(&folder.path().join("a.gltf")).unwrap());
    assert_eq!((mesh.positions.len(), mesh.face_count()), (5, 3));
}

/// What the reader says to the strip of two bones with one value of its JSON replaced, or removed by `null`.
fn error_with(pointer: &str, value: Value) -> String {
    let (mut document, binary) = strip_of_two_bones();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}")) {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        object => object[key] = value,
    }
    read_gltf(&glb(&document, &binary), Path::new("t.glb")).unwrap_err().to_string()
}

#[test]
fn references_to_nothing_are_named() {
    let lists = [
        ("/scene", "scene is scene 9"),
        ("/scenes/0/nodes/1", "scenes[0].nodes[1] is node 9"),
        ("/nodes/0/mesh", "nodes[0].mesh is mesh 9"),
        ("/nodes/0/skin", "nodes[0].skin is skin 9"),
        ("/nodes/1/children/0", "nodes[1].children[0] is node 9"),
        (
            "/meshes/0/primitives/0/attributes/POSITION",
            "meshes[0].primitives[0].attributes.POSITION is accessor 9",
        ),
        ("/meshes/0/primitives/0/indices", "meshes[0].primitives[0].indices is accessor 9"),
        ("/meshes/0/primitives/0/material", "meshes[0].primitives[0].material is material 9"),
        ("/skins/0/joints/1", "skins[0].joints[1] is node 9"),
        ("/skins/0/inverseBindMatrices", "skins[0].inverseBindMatrices is accessor 9"),
        ("/animations/0/channels/0/sampler", "animations[0].channels[0].sampler is sampler 9"),
        ("/animations/0/channels/0/target/node", "animations[0].channels[0].target.node is node 9"),
        ("/animations/0/samplers/0/input", "animations[0].samplers[0].input is accessor 9"),
        ("/animations/0/samplers/0/output", "animations[0].samplers[0].output is accessor 9"),
        ("/accessors/2/bufferView", "accessors[2].bufferView is buffer view 9"),
        ("/bufferViews/2/buffer", "bufferViews[2].buffer is buffer 9"),
    ];
    for (pointer, problem) in lists {
        let error = error_with(pointer, json!(9));
        let whole = format!("t.glb: the glTF is not valid: {problem}, which does not exist: the file has ");
        assert!(error.starts_with(&whole), "{error}");
    }
}

#[test]
fn fields_that_are_missing_or_of_the_wrong_type_are_named() {
    let sparse = |indices: Value| json!({"count": 1, "indices": indices, "values": {"bufferView": 0}});
    let rows = [
        ("/asset", json!(null), "asset is missing"),
        ("/asset/version", json!(2), "asset.version must be a text"),
        ("/asset/version", json!("1.0"), "asset.version is `1.0`; only version 2"),
        ("/nodes", json!({}), "nodes must be a list"),
        ("/nodes/1", json!(3), "nodes[1] must be an object"),
        ("/nodes/1/children/0", json!(-1), "nodes[1].children[0] must be an unsigned integer"),
        ("/nodes/1/matrix", json!([1, 2]), "nodes[1].matrix must be a list of 16 numbers"),
        ("/nodes/2/translation", json!([1, 2, "x"]), "nodes[2].translation must be a list of 3 numbers"),
        ("/meshes/0/name", json!(7), "meshes[0].name must be a text"),
        ("/meshes/0/primitives/0/attributes", json!(null), "primitives[0].attributes is missing"),
        ("/meshes/0/primitives/0/mode", json!(7), "primitives[0].mode is 7; it must be 0 to 6"),
        ("/animations/0/channels/0/target", json!(null), "channels[0].target is missing"),
        ("/animations/0/samplers/0/interpolation", json!("BEZIER"), "must be LINEAR, STEP or CUBICSPLINE"),
        ("/accessors/2/bufferView", json!(null), "accessors[2].bufferView is missing"),
        ("/accessors/2/count", json!(1.5), "accessors[2].count must be an unsigned integer"),
        ("/accessors/2/componentType", json!(5124), "accessors[2].componentType is 5124"),
        ("/accessors/2/type", json!("VEC5"), "accessors[2].type must be SCALAR"),
        ("/accessors/2/normalized", json!(1), "accessors[2].normalized must be true or false"),
        ("/accessors/0/sparse", sparse(json!(null)), "accessors[0].sparse.indices is missing"),
        (
            "/accessors/0/sparse",
            sparse(json!({"bufferView": 0, "componentType": 5126})),
            "sparse.indices.componentType",
        ),
        ("/bufferViews/2/byteStride", json!(3), "bufferViews[2].byteStride is 3; it must be 4 to 252 bytes"),
        ("/bufferViews/2/byteLength", json!(null), "bufferViews[2].byteLength is missing"),
        ("/buffers/0/byteLength", json!(null), "buffers[0].byteLength is missing"),
    ];
    for (pointer, value, problem) in rows {
        let error = error_with(pointer, value);
        assert!(error.contains("not valid") && error.contains(problem), "`{problem}` is not in: {error}");
    }
    let list = read_gltf(b"[]", Path::new("t.gltf")).unwrap_err().to_string();
    assert!(list.contains("must be an object"), "{list}");
}

#[test]
fn what_the_reader_does_not_know_is_left_out() {
    let (mut document, binary) = strip_of_two_bones();
    document["meshes"][0]["primitives"][0]["attributes"]["_WIND"] = json!(0);
    document["cameras"] = json!("of another kind");
    document["nodes"][2]["camera"] = json!(3);
    assert_eq!(read(&document, &binary).0.face_count(), 8);
    document["meshes"][0]["primitives"][0]["attributes"] = json!({});
    let error = read_gltf(&glb(&document, &binary), Path::new("t.glb")).unwrap_err().to_string();
    assert!(error.contains("no vertices") || error.contains("no triangles"), "{error}");
}

#[test]
fn compressed_meshes_are_refused_by_the_name_that_exporters_give_them() {
    let problem = |change: &dyn Fn(&mut Value)| {
        let mut document = document(json!({"attributes": {"POSITION": 0}}), json!({"mesh": 0}));
        change(&mut document);
        read_gltf(&glb(&document, &floats(&POINTS)), Path::new("t.glb")).unwrap_err().problem
    };
    let draco = problem(&|document| document["extensionsRequired"] = json!(["KHR_draco_mesh_compression"]));
    assert!(
        draco.contains("compressed with Draco") && draco.contains("export without compression"),
        "{draco}"
    );
    let meshopt = problem(&|document| document["extensionsRequired"] = json!(["EXT_meshopt_compression"]));
    assert!(meshopt.contains("compressed with meshopt"), "{meshopt}");
    // Some exporters leave out what is required, and the data that other readers need.
    let unsaid = problem(&|document| {
        document["extensionsUsed"] = json!(["KHR_draco_mesh_compression"]);
        document["accessors"][0].as_object_mut().unwrap().remove("componentType");
    });
    assert!(unsaid.contains("compressed with Draco"), "{unsaid}");
}
