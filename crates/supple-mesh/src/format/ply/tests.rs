//! Tests of the PLY reader on hand-made files of every encoding.

use std::path::Path;

use glam::DVec3;

use super::super::Mesh;
use super::{read_ply, write_ply};
use crate::{CornerAttribute, SurfaceMesh};

fn read(bytes: &[u8]) -> (SurfaceMesh, Vec<String>) {
    let loaded = read_ply(bytes, Path::new("t.ply")).unwrap();
    match loaded.mesh {
        Mesh::Surface(mesh) => (mesh, loaded.notes),
        Mesh::Tets(_) => unreachable!("PLY contains surfaces"),
    }
}

fn quad() -> Vec<DVec3> {
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]].map(DVec3::from).to_vec()
}

const PLAIN: &str = "element vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty \
                     list uchar int vertex_indices\nend_header\n";

#[test]
fn text_and_both_byte_orders_give_the_same_mesh() {
    let text = format!("ply\nformat ascii 1.0\n{PLAIN}0 0 0\n1 0 0\n1 0 1\n0 0 1\n4 0 1 2 3");
    let (mesh, _) = read(text.as_bytes());
    assert_eq!((mesh.positions.clone(), mesh.corners.clone()), (quad(), vec![0, 1, 2, 3]));
    for (name, big) in [("binary_little_endian", false), ("binary_big_endian", true)] {
        let mut bytes = format!("ply\r\nformat {name} 1.0\r\n{}", PLAIN.replace('\n', "\r\n")).into_bytes();
        let mut push = |mut number: [u8; 4]| {
            if big {
                number.reverse();
            }
            bytes.extend(number);
        };
        quad().iter().flat_map(|p| p.to_array()).for_each(|c| push((c as f32).to_le_bytes()));
        bytes.push(4);
        let mut push =
            |number: u32| bytes.extend(if big { number.to_be_bytes() } else { number.to_le_bytes() });
        (0..4).for_each(&mut push);
        assert_eq!(read(&bytes).0, mesh, "{name}");
    }
}

#[test]
fn attributes_are_found_among_properties_nobody_knows() {
    let text = "ply\nformat ascii 1.0\ncomment x\nobj_info y\nelement vertex 3\nproperty uchar red\nproperty uchar \
                green\nproperty uchar blue\nproperty list uchar float q\nproperty double z\nproperty double y\n\
                property double x\nproperty float quality\nproperty float nx\nproperty float ny\nproperty float nz\n\
                property float s\nproperty float t\nelement edge 1\nproperty int vertex1\nproperty int vertex2\n\
                element face 1\nproperty uchar flags\nproperty list uint ushort vertex_index\nend_header\n\
                255 0 51 2 7 7 3 2 1 nan 0 1 0 0.5 0.25\n0 0 0 0 0 0 1 inf 0 1 0 0 0\n0 0 0 1 9 0 1 0 0 nan 0 0 1 1\n\
                0 1\n9 3 0 1 2\n";
    let (mesh, notes) = read(text.as_bytes());
    assert_eq!(mesh.positions, [[1.0, 2.0, 3.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].map(DVec3::from));
    assert_eq!(mesh.colors.unwrap()[0], [1.0, 0.0, 0.2, 1.0]);
    let uvs = mesh.uvs.unwrap();
    assert_eq!((uvs.values[0], uvs.indices), ([0.5, 0.25], vec![0, 1, 2]));
    assert_eq!(mesh.normals.unwrap().values, [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0; 3]]);
    assert!(
        notes.iter().any(|note| note.contains("`edge`"))
            && notes.iter().any(|note| note.contains("not finite"))
    );
}

#[test]
fn strips_turn_every_second_triangle_and_part_at_minus_one() {
    let text = "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n\
                element tristrips 1\nproperty list int int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n\
                0 2 0\n9 0 1 2 3 4 -1 0 1 2\n";
    let (mesh, _) = read(text.as_bytes());
    assert_eq!(mesh.corners, [0, 1, 2, 2, 1, 3, 2, 3, 4, 0, 1, 2]);
    let normal = |t: &[u32]| {
        let [a, b, c] = [0, 1, 2].map(|i| mesh.positions[t[i] as usize]);
        (b - a).cross(c - a).z
    };
    assert!(mesh.faces().all(|face| normal(face) > 0.0), "all triangles of a flat strip face the same side");
}

#[test]
fn points_without_faces_load_with_a_note() {
    let text = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
                end_header\n1 2 3\n";
    let (mesh, notes) = read(text.as_bytes());
    assert_eq!((mesh.positions.len(), mesh.face_count()), (1, 0));
    assert!(notes[0].contains("no faces"));
}

#[test]
fn seams_survive_and_only_seams_part() {
    let corners = vec![0, 1, 2, 0, 2, 3];
    let values = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [5.0, 5.0], [0.0, 1.0]];
    let mesh = SurfaceMesh {
        positions: quad(),
        face_starts: vec![0, 3, 6],
        corners,
        uvs: Some(CornerAttribute { values, indices: vec![0, 1, 2, 3, 2, 4] }),
        ..SurfaceMesh::default()
    };
    let mut bytes = Vec::new();
    write_ply(&mesh, &mut bytes).unwrap();
    assert_eq!(read(&bytes).0, mesh);
}

#[test]
fn long_polygons_are_written_with_long_lengths() {
    let mut mesh = SurfaceMesh { positions: quad(), ..SurfaceMesh::default() };
    mesh.push_face(&(0..300).map(|i| i % 4).collect::<Vec<_>>());
    let mut bytes = Vec::new();
    write_ply(&mesh, &mut bytes).unwrap();
    assert_eq!(read(&bytes).0, mesh);
}

/// The property types of files written by Blender and MeshLab.
#[test]
fn colours_are_written_as_bytes_and_texture_coordinates_as_floats() {
    let mut mesh = SurfaceMesh { positions: quad(), ..SurfaceMesh::default() };
    mesh.push_face(&[0, 1, 2, 3]);
    mesh.colors = Some(vec![[0.1, 0.5, 1.0, 0.25]; 4]);
    mesh.uvs = Some(CornerAttribute { values: vec![[0.1, 0.7]; 4], indices: vec![0, 1, 2, 3] });
    let mut bytes = Vec::new();
    write_ply(&mesh, &mut bytes).unwrap();
    let end = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
    let header = std::str::from_utf8(&bytes[..end]).unwrap();
    for line in ["uchar red", "uchar green", "uchar blue", "uchar alpha", "float s", "float t"] {
        assert!(header.contains(&format!("property {line}\n")), "`{line}` is not in: {header}");
    }
    assert_eq!(bytes[end + 12..end + 16], [26, 128, 255, 64]);
    let single = f64::from(0.1f32);
    assert_eq!(read(&bytes).0.uvs.unwrap().values[0][0], single);
    // Seams are stored in the faces, in the same precision.
    mesh.push_face(&[0, 1, 2]);
    mesh.uvs =
        Some(CornerAttribute { values: vec![[0.1, 0.7], [0.2, 0.3]], indices: vec![0, 0, 0, 0, 1, 1, 1] });
    let mut bytes = Vec::new();
    write_ply(&mesh, &mut bytes).unwrap();
    assert!(bytes.windows(29).any(|w| w == b"property list uchar float tex"));
    assert_eq!(read(&bytes).0.uvs.unwrap().values[0][0], single);
}

#[test]
fn colours_of_any_number_type_mean_the_same() {
    let file = |kind: &str, color: &str| {
        let properties = format!("property {kind} red\nproperty {kind} green\nproperty {kind} blue");
        format!(
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n{properties}\n\
             end_header\n0 0 0 {color}\n"
        )
    };
    for (kind, color) in
        [("uchar", "255 0 51"), ("ushort", "65535 0 13107"), ("float", "1 0 0.2"), ("double", "1 0 0.2")]
    {
        let found = read(file(kind, color).as_bytes()).0.colors.unwrap()[0];
        assert_eq!(found, [1.0, 0.0, 0.2, 1.0], "{kind}");
    }
}
