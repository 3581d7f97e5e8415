//! Legacy VTK files, after "VTK File Formats". Binary numbers are big-endian.

use supple_mesh::format::read_vtk;

use super::*;

fn header(kind: &str, version: &str) -> String {
    format!("# vtk DataFile Version {version}\n\n{kind}\nDATASET UNSTRUCTURED_GRID\n")
}

fn classic_text() -> String {
    let points = coordinate_text(&two_tets());
    header("ASCII", "3.0")
        + "FIELD FieldData 2\nTIME 1 1 double\n0.5\nMETADATA\nINFORMATION 0\n\nother 2 2 int\n1 2 3 4\n"
        + &format!(
            "POINTS 5 double\n{points}METADATA\nINFORMATION 1\nNAME L2 LOCATION vtkDataArray\nDATA 2 0 1\n\n"
        )
        + "CELLS 3 13\n4 0 1 2 3\n4 2 1 4 3\n2 0 1\nCELL_TYPES 3\n10 10 3\nPOINT_DATA 5\nSCALARS what double\n"
}

#[test]
fn classic_text_is_read() {
    let loaded = read(read_vtk, classic_text());
    assert!(has_note(&loaded, "left out: 1 line"), "{:?}", loaded.notes);
    assert_eq!(tets(loaded), two_tets());
    assert_eq!(read(read_vtk, crlf(&classic_text())), read(read_vtk, classic_text()));
    assert_eq!(
        read(
            read_vtk,
            classic_text().to_lowercase().replace("# vtk datafile version", "# vtk DataFile Version")
        ),
        read(read_vtk, classic_text())
    );
}

#[test]
fn classic_binary_equals_the_text() {
    let file = Bytes::new(true)
        .text(&header("BINARY", "4.2"))
        .text("FIELD FieldData 1\nTIME 1 1 double\n")
        .f64([0.5])
        .text("\nMETADATA\nINFORMATION 0\n\nPOINTS 5 double\n")
        .f64(coordinates(&two_tets()))
        .text("\nCELLS 3 13\n")
        .i32([4, 0, 1, 2, 3, 4, 2, 1, 4, 3, 2, 0, 1])
        .text("\nCELL_TYPES 3\n")
        .i32([10, 10, 3])
        .text("\n");
    assert_eq!(read(read_vtk, &file.bytes), read(read_vtk, classic_text()));
}

#[test]
fn offsets_and_connectivity_of_version_5_are_read() {
    let points = coordinate_text(&two_tets());
    let text = header("ASCII", "5.1")
        + &format!("POINTS 5 double\n{points}CELLS 4 10\nOFFSETS vtktypeint64\n0 4 8 10\n")
        + "CONNECTIVITY vtktypeint64\n0 1 2 3 2 1 4 3 0 1\nCELL_TYPES 3\n10\n10\n3\n";
    assert_eq!(read(read_vtk, &text), read(read_vtk, classic_text()));
    let single = two_tets_in_single_precision();
    for wide in [true, false] {
        let kind = if wide { "vtktypeint64" } else { "int" };
        let whole = |file: Bytes, values: &[i64]| match wide {
            true => file.i64(values.iter().copied()),
            false => file.i32(values.iter().map(|&value| value as i32)),
        };
        let file = Bytes::new(true).text(&header("BINARY", "5.1")).text("POINTS 5 float\n");
        let file = file.f32(coordinates(&single).map(|x| x as f32)).text("\nCELLS 4 10\nOFFSETS ").text(kind);
        let file = whole(file.text("\n"), &[0, 4, 8, 10]).text("\nCONNECTIVITY ").text(kind).text("\n");
        let file = whole(file, &[0, 1, 2, 3, 2, 1, 4, 3, 0, 1]).text("\nCELL_TYPES 3\n").i32([10, 10, 3]);
        assert_eq!(tets(read(read_vtk, &file.bytes)), single, "{kind}");
    }
}

#[test]
fn polygonal_data_give_a_surface_and_strips_are_cut() {
    let points = coordinate_text(&two_tets());
    let text = format!(
        "# vtk DataFile Version 2.0\ntitle\nASCII\nDATASET POLYDATA\nPOINTS 5 float\n{points}VERTICES 1 2\n1 0\n\
         LINES 1 4\n3 0 1 2\nPOLYGONS 2 9\n3 0 1 2\n4 0 1 2 3\nTRIANGLE_STRIPS 1 6\n5 0 1 2 3 4\nCELL_DATA 4\n"
    );
    let loaded = read(read_vtk, text);
    assert!(has_note(&loaded, "left out: 1 point, 1 line"), "{:?}", loaded.notes);
    let mesh = surface(loaded);
    let faces: Vec<&[u32]> = mesh.faces().collect();
    assert_eq!(faces, [&[0, 1, 2][..], &[0, 1, 2, 3], &[0, 1, 2], &[2, 1, 3], &[2, 3, 4]]);
}

#[test]
fn pixels_become_quads_and_other_datasets_are_refused() {
    let points = coordinate_text(&two_tets());
    let text =
        header("ASCII", "3.0") + &format!("POINTS 5 double\n{points}CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n8\n");
    assert_eq!(surface(read(read_vtk, text)).face(0), [0, 1, 3, 2]);
    let error = problem(read_vtk, "# vtk DataFile Version 3.0\nx\nASCII\nDATASET STRUCTURED_POINTS\n");
    assert!(error.contains("line 4") && error.contains("UNSTRUCTURED_GRID"), "{error}");
}
