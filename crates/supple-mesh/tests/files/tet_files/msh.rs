//! Gmsh files, after the reference manual's chapter on file formats.

use supple_mesh::NO_LABEL;
use supple_mesh::format::read_msh;

use super::*;

/// The tags of the five nodes: gaps, not sorted.
const TAGS: [i32; 5] = [3, 17, 4, 900, 21];

fn numbered_nodes(mesh: &TetMesh) -> String {
    let rows = mesh.positions.iter().zip(TAGS);
    rows.map(|(p, tag)| format!("{tag} {:?} {:?} {:?}\n", p.x, p.y, p.z)).collect()
}

#[test]
fn version_1_is_read() {
    let nodes = numbered_nodes(&two_tets());
    let text = format!(
        "$NOD\n5\n{nodes}$ENDNOD\n$ELM\n3\n1 15 0 1 1 3\n2 4 7 1 4 3 17 4 900\n3 4 8 1 4 4 17 21 900\n$ENDELM\n"
    );
    let loaded = read(read_msh, &text);
    assert!(has_note(&loaded, "left out: 1 point"), "{:?}", loaded.notes);
    assert_eq!(tets(loaded), with_regions(two_tets(), &[7, 8]));
    assert_eq!(read(read_msh, crlf(&text)), read(read_msh, &text));
}

fn version_2_text() -> String {
    let nodes = numbered_nodes(&two_tets());
    format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 5 \"the skin\"\n3 7 \"liver\"\n$EndPhysicalNames\n\
         $Whatever\n1 2 3\n$EndWhatever\n$Nodes\n5\n{nodes}$EndNodes\n$Elements\n3\n\
         1 2 2 5 1 3 17 4\n2 4 2 7 1 3 17 4 900\n3 4 3 7 2 1 4 17 21 900\n$EndElements\n$NodeData\n"
    )
}

#[test]
fn version_2_text_is_read() {
    let loaded = read(read_msh, version_2_text());
    assert!(has_note(&loaded, "left out: 1 triangle"), "{:?}", loaded.notes);
    assert!(has_note(&loaded, "7 is \"liver\""), "{:?}", loaded.notes);
    assert_eq!(tets(loaded), with_regions(two_tets(), &[7, 7]));
    assert_eq!(read(read_msh, crlf(&version_2_text())), read(read_msh, version_2_text()));
}

#[test]
fn version_2_binary_of_both_byte_orders_equals_the_text() {
    for big_endian in [false, true] {
        let mut file = Bytes::new(big_endian).text("$MeshFormat\n2.2 1 8\n").i32([1]).text(
            "\n$EndMeshFormat\n$PhysicalNames\n2\n2 5 \"the skin\"\n3 7 \"liver\"\n$EndPhysicalNames\n$Nodes\n5\n",
        );
        for (tag, p) in TAGS.into_iter().zip(two_tets().positions) {
            file = file.i32([tag]).f64(p.to_array());
        }
        let file = file
            .text("\n$EndNodes\n$Elements\n3\n")
            .i32([2, 1, 2, /**/ 1, 5, 1, 3, 17, 4])
            .i32([4, 1, 2, /**/ 2, 7, 1, 3, 17, 4, 900])
            .i32([4, 1, 3, /**/ 3, 7, 2, 1, 4, 17, 21, 900])
            .text("\n$EndElements\n");
        assert_eq!(read(read_msh, &file.bytes), read(read_msh, version_2_text()), "big endian: {big_endian}");
    }
}

/// Version 4.1 with two node blocks (the first on a curve, with a parameter), a surface and two volumes.
pub(super) fn version_4_text() -> String {
    let rows: Vec<String> = coordinate_text(&two_tets()).lines().map(str::to_owned).collect();
    format!(
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 7 \"liver\"\n$EndPhysicalNames\n\
         $Entities\n1 1 1 2\n1 0 0 0 0\n1 0 0 0 1 1 1 0 2 1 -1\n1 0 0 0 1 1 1 1 5 1 1\n\
         1 0 0 0 1 1 1 2 7 9 1 1\n2 0 0 0 1 1 1 0 0\n$EndEntities\n\
         $Nodes\n2 5 3 900\n1 1 1 2\n3\n17\n{} 0.5\n{} 0.75\n3 1 0 3\n4\n900\n21\n{}\n{}\n{}\n$EndNodes\n\
         $Elements\n3 3 1 3\n2 1 2 1\n1 3 17 4\n3 1 4 1\n2 3 17 4 900\n3 2 4 1\n3 4 17 21 900\n$EndElements\n",
        rows[0], rows[1], rows[2], rows[3], rows[4]
    )
}

#[test]
pub(super) fn version_4_text_is_read_with_the_groups_of_its_entities() {
    let loaded = read(read_msh, version_4_text());
    assert!(has_note(&loaded, "left out: 1 triangle"), "{:?}", loaded.notes);
    assert_eq!(tets(loaded), with_regions(two_tets(), &[7, 0]));
    assert_eq!(read(read_msh, crlf(&version_4_text())), read(read_msh, version_4_text()));
}

#[test]
fn parts_of_a_partitioned_mesh_keep_the_groups_of_their_volumes() {
    let text = version_4_text().replace(
        "$Nodes",
        "$PartitionedEntities\n2\n1\n9 1\n1 0 0 1\n5 0 1 1 2 0 0 0 0\n3 3 1 2 1 2 0 0 0 1 1 1 1 7 2 1 2\n\
         $EndPartitionedEntities\n$Nodes",
    );
    let text = text.replace("\n3 2 4 1\n", "\n3 3 4 1\n");
    assert_eq!(tets(read(read_msh, text)), with_regions(two_tets(), &[7, 7]));
}

#[test]
fn version_4_binary_of_both_byte_orders_and_sizes_equals_the_text() {
    for (big_endian, size) in [(false, 8), (true, 8), (false, 4), (true, 4)] {
        let sizes = |file: Bytes, values: &[u64]| match size {
            8 => file.u64(values.iter().copied()),
            _ => file.u32(values.iter().map(|&value| value as u32)),
        };
        let p: Vec<[f64; 3]> = two_tets().positions.iter().map(|p| p.to_array()).collect();
        let box_of = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        let file = Bytes::new(big_endian).text(&format!("$MeshFormat\n4.1 1 {size}\n")).i32([1]);
        let file =
            file.text("\n$EndMeshFormat\n$PhysicalNames\n1\n3 7 \"liver\"\n$EndPhysicalNames\n$Entities\n");
        let file = sizes(file, &[1, 1, 1, 2]);
        let file = sizes(file.i32([1]).f64([0.0; 3]), &[0]);
        let file = sizes(sizes(file.i32([1]).f64(box_of), &[0]), &[2]).i32([1, -1]);
        let file = sizes(sizes(file.i32([1]).f64(box_of), &[1]).i32([5]), &[1]).i32([1]);
        let file = sizes(sizes(file.i32([1]).f64(box_of), &[2]).i32([7, 9]), &[1]).i32([1]);
        let file = sizes(sizes(file.i32([2]).f64(box_of), &[0]), &[0]).text("\n$EndEntities\n$Nodes\n");
        let file = sizes(sizes(file, &[2, 5, 3, 900]).i32([1, 1, 1]), &[2, /**/ 3, 17]);
        let file = file.f64(p[0]).f64([0.5]).f64(p[1]).f64([0.75]).i32([3, 1, 0]);
        let file = sizes(file, &[3, /**/ 4, 900, 21]).f64(p[2]).f64(p[3]).f64(p[4]);
        let file = sizes(file.text("\n$EndNodes\n$Elements\n"), &[3, 3, 1, 3]);
        let file = sizes(file.i32([2, 1, 2]), &[1, /**/ 1, 3, 17, 4]);
        let file = sizes(file.i32([3, 1, 4]), &[1, /**/ 2, 3, 17, 4, 900]);
        let file = sizes(file.i32([3, 2, 4]), &[1, /**/ 3, 4, 17, 21, 900]).text("\n$EndElements\n");
        let case = format!("big endian: {big_endian}, size: {size}");
        assert_eq!(read(read_msh, &file.bytes), read(read_msh, version_4_text()), "{case}");
    }
}

#[test]
fn triangles_and_quads_alone_give_a_surface_with_named_groups() {
    let nodes = numbered_nodes(&two_tets());
    let text = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n2 5 \"the skin\"\n$EndPhysicalNames\n$Nodes\n5\n{nodes}\
         $EndNodes\n$Elements\n4\n1 2 2 5 1 3 17 4\n2 3 2 6 1 3 17 4 900\n3 2 0 4 17 21\n4 1 0 3 4\n$EndElements\n"
    );
    let loaded = read(read_msh, text);
    assert!(has_note(&loaded, "left out: 1 line"), "{:?}", loaded.notes);
    let mesh = surface(loaded);
    let faces: Vec<&[u32]> = mesh.faces().collect();
    assert_eq!(faces, [&[0, 1, 2][..], &[0, 1, 2, 3], &[2, 1, 4]]);
    assert_eq!(mesh.labels[0].names, ["the skin", "6"]);
    assert_eq!(mesh.labels[0].label_of_face, [0, 1, NO_LABEL]);
    assert_eq!(mesh.positions, two_tets().positions);
}

#[test]
fn quadratic_tetrahedra_give_their_corners_and_a_note() {
    let nodes: String = (1..=10).map(|i| format!("{i} {i} {} {}\n", i * i % 7, i * i * i % 5)).collect();
    let text = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n10\n{nodes}$EndNodes\n$Elements\n1\n\
         1 11 0 2 1 3 4 5 6 7 8 9 10\n$EndElements\n"
    );
    let loaded = read(read_msh, text);
    assert!(has_note(&loaded, "1 tetrahedron of higher order"), "{:?}", loaded.notes);
    let mesh = tets(loaded);
    let mut corners = mesh.tets[0];
    corners.sort_unstable();
    assert_eq!((corners, mesh.positions.len()), ([0, 1, 2, 3], 10));
}

#[test]
fn versions_that_are_not_read_name_the_way_out() {
    for version in ["4.0", "3", "4", "5.0"] {
        let error = problem(read_msh, format!("$MeshFormat\n{version} 0 8\n$EndMeshFormat\n"));
        assert!(error.contains("line 2") && error.contains("4.1 or 2.2"), "{error}");
    }
}
