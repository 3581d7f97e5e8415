//! MEDIT text files.

use supple_mesh::format::read_medit;

use super::*;

fn text() -> String {
    let vertices: String = coordinate_text(&two_tets()).lines().map(|row| format!("{row} 1\n")).collect();
    format!(
        "MeshVersionFormatted 2 # a comment\n\n# another\nDimension\n3\nVertices\n5\n{vertices}Corners 1\n1\nStrange\n1\n\
         2.5\nTriangles\n1\n1 2 3 9\nTetrahedra\n2\n1 2 3 4 7\n3 2 5 4 -8\nEnd\n trailing"
    )
}

#[test]
fn text_is_read_with_references() {
    let loaded = read(read_medit, text());
    assert!(has_note(&loaded, "left out: 1 triangle"), "{:?}", loaded.notes);
    assert!(
        has_note(&loaded, "`Strange` is not supported") && !has_note(&loaded, "Corners"),
        "{:?}",
        loaded.notes
    );
    assert_eq!(tets(loaded), with_regions(two_tets(), &[7, -8]));
    assert_eq!(read(read_medit, crlf(&text())), read(read_medit, text()));
}

#[test]
fn triangles_of_a_flat_mesh_give_a_surface_with_their_references() {
    let text = "MeshVersionFormatted 1\nDimension 2\nVertices 4\n0 0 0 1 0 0 1 1 0 0 1 0\n\
                Triangles 1\n1 2 3 3\nQuadrilaterals 1\n1 2 3 4 4\n";
    let mesh = surface(read(read_medit, text));
    assert_eq!(mesh.positions[2], DVec3::new(1.0, 1.0, 0.0));
    assert_eq!(mesh.labels[0].names, ["3", "4"]);
    assert_eq!(mesh.face(1), [0, 1, 2, 3]);
}

#[test]
fn quadratic_tetrahedra_give_their_corners() {
    let vertices: String = (0..10).map(|i| format!("{i} {} {} 0\n", i * i % 7, i * i * i % 5)).collect();
    let text = format!(
        "MeshVersionFormatted 2 Dimension 3 Vertices 10\n{vertices}TetrahedraP2 1\n1 2 3 4 5 6 7 8 9 10 0\nEnd\n"
    );
    let loaded = read(read_medit, text);
    assert!(has_note(&loaded, "higher order"), "{:?}", loaded.notes);
    assert_eq!(tets(loaded).regions, None);
}

#[test]
fn binary_files_are_refused_with_the_way_out() {
    for bytes in [[1, 0, 0, 0, 2, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 2]] {
        assert!(problem(read_medit, bytes).contains("meshb"));
    }
    let error = read_medit(b"anything", Path::new("a.meshb")).unwrap_err();
    assert!(error.problem.contains("convert it to text"), "{error}");
}
