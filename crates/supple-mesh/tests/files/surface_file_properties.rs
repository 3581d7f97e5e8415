//! Properties of the surface readers and writers: written meshes read back unchanged, and no input makes a reader panic.

use std::path::Path;

use glam::DVec3;
use proptest::prelude::*;
use supple_mesh::format::{
    Mesh, read, read_gltf, read_obj, read_off, read_ply, read_stl, write_obj, write_ply,
};
use supple_mesh::{CornerAttribute, FaceLabels, LabelKind, NO_LABEL, NO_VALUE, SurfaceMesh};

fn surface(mesh: Mesh) -> SurfaceMesh {
    match mesh {
        Mesh::Surface(surface) => surface,
        Mesh::Tets(_) => panic!("tetrahedra from a surface format"),
    }
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -100.0..100.0f64,
        1 => any::<f32>().prop_map(|v| if v.is_finite() { f64::from(v) } else { 0.0 }),
        1 => any::<f64>().prop_map(|v| if v.is_finite() { v } else { -0.0 }),
        1 => (-1000i32..1000).prop_map(f64::from),
    ]
}

/// Indices below `count`, or none at all.
fn indices(count: usize, corners: usize) -> impl Strategy<Value = Vec<u32>> {
    let one = prop_oneof![3 => 0..count.max(1) as u32, 1 => Just(NO_VALUE)];
    prop::collection::vec(one, corners)
}

fn attribute<const N: usize>(corners: usize) -> impl Strategy<Value = Option<CornerAttribute<N>>> {
    let values = prop::collection::vec(prop::array::uniform::<_, N>(finite()), 1..6);
    let attribute = values.prop_flat_map(move |values| {
        (indices(values.len(), corners), Just(values))
            .prop_map(|(indices, values)| CornerAttribute { values, indices })
    });
    prop::option::of(attribute)
}

/// Labels as produced by a reader: names in order of first use, each in use.
fn labels(kind: LabelKind, faces: usize) -> impl Strategy<Value = Option<FaceLabels>> {
    let pool: &[&str] = match kind {
        LabelKind::Smoothing => &["1", "2", "17"],
        LabelKind::Group => &["left_sleeve", "#collar", "körper", "g"],
        _ => &["left sleeve", "# not a comment", "o", "ärmel\\"],
    };
    prop::collection::vec(prop::option::of(0..pool.len()), faces).prop_map(move |chosen| {
        let mut names: Vec<String> = Vec::new();
        let mut label_of_face = Vec::new();
        for choice in chosen {
            label_of_face.push(match choice {
                None => NO_LABEL,
                Some(i) => names.iter().position(|n| n == pool[i]).unwrap_or_else(|| {
                    names.push(pool[i].to_owned());
                    names.len() - 1
                }) as u32,
            });
        }
        (!names.is_empty()).then_some(FaceLabels { kind, names, label_of_face })
    })
}

fn mesh() -> impl Strategy<Value = SurfaceMesh> {
    let shape = (3usize..12, prop::collection::vec(3usize..7, 0..8));
    shape.prop_flat_map(|(vertices, sizes)| {
        let (corners, faces) = (sizes.iter().sum::<usize>(), sizes.len());
        let positions =
            prop::collection::vec(prop::array::uniform3(finite()).prop_map(DVec3::from), vertices);
        let color = prop_oneof![
            prop::array::uniform4(0.0..=1.0f32),
            prop::array::uniform4(any::<u8>()).prop_map(|c| c.map(|c| f32::from(c) / 255.0))
        ];
        let labels = (
            labels(LabelKind::Object, faces),
            labels(LabelKind::Group, faces),
            labels(LabelKind::Material, faces),
            labels(LabelKind::Smoothing, faces),
        );
        (
            positions,
            prop::collection::vec(0..vertices as u32, corners),
            attribute::<2>(corners),
            attribute::<3>(corners),
            prop::option::of(prop::collection::vec(color, vertices)),
            labels,
            prop::collection::vec("[a-z ]{0,3}[a-z]\\.mtl", 0..3),
        )
            .prop_map(move |(positions, corners, uvs, normals, colors, (o, g, m, s), libraries)| {
                SurfaceMesh {
                    positions,
                    face_starts: (0..=sizes.len()).map(|f| sizes[..f].iter().sum::<usize>() as u32).collect(),
                    corners,
                    uvs,
                    normals,
                    colors,
                    labels: [o, g, m, s].into_iter().flatten().collect(),
                    material_libraries: libraries.into_iter().map(|l| l.trim().to_owned()).collect(),
                    clone_of: Vec::new(),
                }
            })
    })
}

fn obj_bytes(mesh: &SurfaceMesh) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_obj(mesh, &mut bytes).unwrap();
    bytes
}

fn ply_bytes(mesh: &SurfaceMesh) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_ply(mesh, &mut bytes).unwrap();
    bytes
}

/// The mesh in a text format without attributes.
fn off_text(mesh: &SurfaceMesh) -> Vec<u8> {
    let mut text = format!("OFF\n{} {} 0\n", mesh.positions.len(), mesh.face_count());
    for p in &mesh.positions {
        text += &format!("{} {} {}\n", p.x, p.y, p.z);
    }
    for face in mesh.faces() {
        let list: Vec<_> = face.iter().map(u32::to_string).collect();
        text += &format!("{} {}\n", face.len(), list.join(" "));
    }
    text.into_bytes()
}

fn stl_bytes(mesh: &SurfaceMesh) -> Vec<u8> {
    let triangles = mesh.triangles();
    let mut bytes = vec![0; 80];
    bytes.extend((triangles.len() as u32).to_le_bytes());
    for triangle in triangles {
        bytes.extend([0; 12]);
        for v in triangle {
            bytes
                .extend(mesh.positions[v as usize].to_array().iter().flat_map(|&c| (c as f32).to_le_bytes()));
        }
        bytes.extend([0; 2]);
    }
    bytes
}

fn gltf_text(mesh: &SurfaceMesh) -> Vec<u8> {
    let triangles = mesh.triangles();
    let mut buffer: Vec<u8> = triangles.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect();
    let index_bytes = buffer.len();
    buffer.extend(mesh.positions.iter().flat_map(|p| p.to_array()).flat_map(|c| (c as f32).to_le_bytes()));
    let data: String = buffer.iter().map(|b| format!("{b:08b}")).collect();
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let digits = data.as_bytes().chunks(6).map(|bits| {
        let value = bits.iter().fold(0, |v, b| 2 * v + usize::from(b - b'0')) << (6 - bits.len());
        alphabet[value]
    });
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],
"nodes":[{{"mesh":0,"translation":[1,0,0]}}],
"meshes":[{{"primitives":[{{"attributes":{{"POSITION":1}},"indices":0}}]}}],
"accessors":[{{"bufferView":0,"componentType":5125,"count":{},"type":"SCALAR"}},
{{"bufferView":1,"componentType":5126,"count":{},"type":"VEC3","min":[-1,-1,-1],"max":[1,1,1]}}],
"bufferViews":[{{"buffer":0,"byteLength":{index_bytes}}},
{{"buffer":0,"byteOffset":{index_bytes},"byteLength":{}}}],
"buffers":[{{"byteLength":{},"uri":"data:application/octet-stream;base64,{}"}}]}}"#,
        3 * triangles.len(),
        mesh.positions.len(),
        buffer.len() - index_bytes,
        buffer.len(),
        digits.collect::<String>()
    )
    .into_bytes()
}

/// Valid files of every format, to be damaged.
fn files(mesh: &SurfaceMesh) -> [(&'static str, Vec<u8>); 5] {
    [
        ("m.obj", obj_bytes(mesh)),
        ("m.ply", ply_bytes(mesh)),
        ("m.off", off_text(mesh)),
        ("m.stl", stl_bytes(mesh)),
        ("m.gltf", gltf_text(mesh)),
    ]
}

fn per_vertex<const N: usize>(mesh: &SurfaceMesh, attribute: &CornerAttribute<N>) -> Vec<Option<[f64; N]>> {
    attribute
        .indices
        .iter()
        .zip(&mesh.corners)
        .map(|(&index, _)| attribute.values.get(index as usize).copied())
        .collect()
}

/// The nearest finite number of single precision.
fn single(c: f64) -> f64 {
    f64::from((c as f32).clamp(f32::MIN, f32::MAX))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_mesh_written_as_obj_comes_back_equal(mesh in mesh()) {
        let back = read_obj(&obj_bytes(&mesh), Path::new("m.obj")).unwrap();
        prop_assert_eq!(surface(back.mesh), mesh);
    }

    #[test]
    fn a_mesh_written_as_ply_keeps_polygons_colours_and_every_uv(mesh in mesh()) {
        let back = surface(read_ply(&ply_bytes(&mesh), Path::new("m.ply")).unwrap().mesh);
        prop_assert_eq!(&back.positions, &mesh.positions);
        prop_assert_eq!(&back.corners, &mesh.corners);
        prop_assert_eq!(&back.face_starts, &mesh.face_starts);
        prop_assert_eq!(back.colors.is_some(), mesh.colors.is_some());
        for (after, before) in back.colors.iter().flatten().zip(mesh.colors.iter().flatten()) {
            prop_assert!((0..4).all(|k| (after[k] - before[k]).abs() <= 0.5001 / 255.0), "{after:?} {before:?}");
        }
        if let Some(uvs) = mesh.uvs.as_ref().filter(|_| !mesh.corners.is_empty()) {
            let found = per_vertex(&back, back.uvs.as_ref().unwrap());
            for (before, after) in per_vertex(&mesh, uvs).into_iter().zip(found) {
                prop_assert_eq!(before.unwrap_or([0.0; 2]).map(single), after.unwrap());
            }
        }
    }

    #[test]
    fn one_uv_and_normal_a_vertex_come_back_equal_from_ply(
        mesh in mesh(),
        uv in prop::array::uniform2(finite()),
        normal in prop::array::uniform3(finite()),
    ) {
        let values = |n: usize| (0..n).map(|i| uv.map(|c| single(c + i as f64))).collect::<Vec<_>>();
        let mesh = SurfaceMesh {
            uvs: Some(CornerAttribute { values: values(mesh.positions.len()), indices: mesh.corners.clone() }),
            normals: Some(CornerAttribute {
                values: vec![normal; mesh.positions.len()],
                indices: mesh.corners.clone(),
            }),
            colors: None,
            labels: Vec::new(),
            material_libraries: Vec::new(),
            ..mesh
        };
        prop_assert_eq!(surface(read_ply(&ply_bytes(&mesh), Path::new("m.ply")).unwrap().mesh), mesh);
    }

    #[test]
    fn off_and_gltf_give_the_same_shape(mesh in mesh()) {
        let off = surface(read_off(&off_text(&mesh), Path::new("m.off")).unwrap().mesh);
        prop_assert_eq!((&off.positions, &off.corners), (&mesh.positions, &mesh.corners));
        let single = |p: &DVec3| p.as_vec3().as_dvec3();
        let rounded: Vec<_> = mesh.positions.iter().map(|p| single(p) + DVec3::X).collect();
        prop_assume!(rounded.iter().all(|p| p.is_finite()) && !mesh.corners.is_empty());
        let gltf = surface(read_gltf(&gltf_text(&mesh), Path::new("m.gltf")).unwrap().mesh);
        prop_assert_eq!(&gltf.positions, &rounded);
        prop_assert_eq!(gltf.corners, mesh.triangles().into_flattened());
    }

    #[test]
    fn stl_corners_are_where_they_were_and_equal_positions_are_one_vertex(mesh in mesh()) {
        let single = |p: DVec3| p.as_vec3().as_dvec3();
        prop_assume!(!mesh.corners.is_empty() && mesh.positions.iter().all(|&p| single(p).is_finite()));
        let back = surface(read_stl(&stl_bytes(&mesh), Path::new("m.stl")).unwrap().mesh);
        for (before, after) in mesh.triangles().into_iter().flatten().zip(&back.corners) {
            prop_assert_eq!(single(mesh.positions[before as usize]), back.positions[*after as usize]);
        }
        for (i, a) in back.positions.iter().enumerate() {
            prop_assert!(back.positions[..i].iter().all(|b| a != b));
        }
    }

    #[test]
    fn cut_files_give_a_mesh_or_an_error(mesh in mesh(), cut in 0.0..1.0f64) {
        for (name, bytes) in files(&mesh) {
            let kept = (bytes.len() as f64 * cut) as usize;
            drop(read(&bytes[..kept], Path::new(name)));
        }
    }

    #[test]
    fn damaged_files_give_a_valid_mesh_or_an_error(
        mesh in mesh(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        for (name, mut bytes) in files(&mesh) {
            for (place, byte) in &damage {
                let at = place.index(bytes.len());
                bytes[at] = *byte;
            }
            if let Ok(loaded) = read(&bytes, Path::new(name)) {
                let mesh = surface(loaded.mesh);
                prop_assert!(mesh.positions.iter().all(|p| p.is_finite()));
                prop_assert!(mesh.corners.iter().all(|&v| (v as usize) < mesh.positions.len()));
                prop_assert!(mesh.faces().all(|face| face.len() >= 3));
                prop_assert_eq!(*mesh.face_starts.last().unwrap() as usize, mesh.corners.len());
            }
        }
    }

    #[test]
    fn noise_gives_an_error_or_a_mesh(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let heads: [(&str, &[u8]); 9] = [
            ("n.obj", b""),
            ("n.obj", b"v 0 0 0\nf 1 1 1\n"),
            ("n.off", b"OFF\n"),
            ("n.off", b"STCNOFF 1 1 0\n"),
            ("n.ply", b"ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty list uchar int q\nproperty float x\nproperty short y\nproperty double z\nelement tristrips 1\nproperty list int int vertex_indices\nend_header\n"),
            ("n.ply", b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n"),
            ("n.stl", b"solid a\nfacet normal 0 0 1\n"),
            ("n.stl", b""),
            ("n.glb", b"glTF\x02\x00\x00\x00"),
        ];
        for (name, head) in heads {
            drop(read(&[head, &bytes].concat(), Path::new(name)));
        }
    }
}
