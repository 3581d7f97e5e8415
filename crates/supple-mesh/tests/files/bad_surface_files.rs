//! Damaged surface files: each is rejected with the location and a helpful message.

use std::path::Path;

use supple_core::Place::{self, Byte, Line, Whole};
use supple_mesh::format::load;

/// The file, the location of the error, and parts of its message.
const BAD_FILES: &[(&str, Place, &[&str])] = &[
    ("index_beyond_end.obj", Line(4), &["vertex index 4", "3"]),
    ("index_zero.obj", Line(4), &["index 0", "from 1"]),
    ("index_before_start.obj", Line(4), &["-4", "3"]),
    ("index_overflow.obj", Line(4), &["99999999999999999999"]),
    ("index_above_32_bits.obj", Line(4), &["4294967299", "3"]),
    ("index_not_a_number.obj", Line(4), &["vertex/texture/normal", "three"]),
    ("index_four_parts.obj", Line(4), &["3/1/1/1"]),
    ("texture_index_beyond_end.obj", Line(5), &["texture coordinate index 2"]),
    ("normal_index_without_normals.obj", Line(4), &["normal index 1", "0"]),
    ("two_corners.obj", Line(4), &["3 corners", "2"]),
    ("nan.obj", Line(2), &["x coordinate", "nan", "finite"]),
    ("infinite.obj", Line(2), &["z coordinate", "1e999", "finite"]),
    ("short_vertex.obj", Line(2), &["z coordinate", "ends"]),
    ("word_for_number.obj", Line(2), &["y coordinate", "zero"]),
    ("five_numbers.obj", Line(1), &["5"]),
    ("continued_line.obj", Line(6), &["vertex index 7"]),
    ("no_vertices.obj", Whole, &["no vertices"]),
    ("noise.obj", Line(1), &["not an OBJ statement"]),
    ("not_off.off", Line(1), &["OFF", "solid"]),
    ("binary.off", Line(1), &["binary OFF"]),
    ("four_dimensions.off", Line(1), &["4OFF", "not supported"]),
    ("no_counts.off", Line(2), &["number of vertices", "truncated"]),
    ("huge_counts.off", Line(2), &["4000000000", "truncated"]),
    ("count_overflow.off", Line(2), &["9999999999999"]),
    ("missing_vertex.off", Line(5), &["4 numbers", "3"]),
    ("missing_face.off", Line(8), &["corners of a face", "truncated"]),
    ("index_beyond_end.off", Line(7), &["vertex index 3", "3 vertices"]),
    ("negative_index.off", Line(6), &["-1"]),
    ("two_corners.off", Line(6), &["3 corners", "2"]),
    ("nan.off", Line(4), &["y coordinate", "NaN"]),
    ("wrong_layout.off", Line(3), &["6 numbers", "5"]),
    ("no_magic.ply", Line(1), &["`ply`"]),
    ("no_format.ply", Line(3), &["format"]),
    ("unknown_format.ply", Line(2), &["binary_middle_endian", "ascii"]),
    ("unknown_type.ply", Line(4), &["quad", "double"]),
    ("no_end_header.ply", Line(4), &["end_header"]),
    ("unknown_header_line.ply", Line(3), &["vertices"]),
    ("negative_count.ply", Line(3), &["-1"]),
    ("property_first.ply", Line(3), &["element"]),
    ("no_positions.ply", Line(7), &["`z`"]),
    ("two_vertex_elements.ply", Line(5), &["twice"]),
    ("huge_count.ply", Byte(178), &["4000000000", "line 3", "truncated"]),
    ("short_row.ply", Line(12), &["too many", "too few"]),
    ("long_row.ply", Line(10), &["too many"]),
    ("ended.ply", Line(13), &["truncated"]),
    ("index_beyond_end.ply", Line(13), &["vertex index 3", "3 vertices"]),
    ("fractional_index.ply", Line(13), &["1.5"]),
    ("negative_index.ply", Line(13), &["-1"]),
    ("two_corners.ply", Line(13), &["3 corners", "2"]),
    ("nan.ply", Line(11), &["vertex 1", "NaN"]),
    ("nan_binary.ply", Byte(181), &["vertex 1", "NaN"]),
    ("infinite_big_endian.ply", Byte(190), &["vertex 2", "inf"]),
    ("index_beyond_end_big_endian.ply", Byte(202), &["vertex index 3", "3 vertices"]),
    ("negative_index_binary.ply", Byte(205), &["vertex index -1"]),
    ("two_corners_binary.ply", Byte(205), &["3 corners", "2"]),
    ("cut_vertices.ply", Byte(169), &["3 elements `vertex`", "1"]),
    ("cut_face.ply", Byte(205), &["a face", "9"]),
    ("not_stl.stl", Whole, &["solid", "84"]),
    ("cut.stl", Byte(134), &["2 triangles", "184", "134"]),
    ("nan.stl", Byte(134), &["triangle 1", "NaN"]),
    ("huge_count.stl", Byte(134), &["4294967295"]),
    ("nan_text.stl", Line(6), &["nan"]),
    ("four_corners.stl", Line(7), &["endloop", "vertex"]),
    ("ended.stl", Line(5), &["truncated"]),
    ("empty_solid.stl", Whole, &["no vertices"]),
    ("missing_accessor.gltf", Whole, &["POSITION", "accessor 7"]),
    ("missing_view.gltf", Whole, &["not valid", "bufferView"]),
    ("count_beyond_view.gltf", Whole, &["accessor 0", "POSITION", "36 bytes"]),
    ("huge_count.gltf", Whole, &["accessor 0", "4611686018427387904"]),
    ("huge_count_without_view.gltf", Whole, &["accessor 0", "without a buffer view"]),
    ("view_beyond_buffer.gltf", Whole, &["buffer view 0", "42 bytes"]),
    ("index_beyond_end.gltf", Whole, &["index 2", "accessor 1", "is 3", "3 vertices"]),
    ("nan.gltf", Whole, &["vertex 1", "accessor 0", "(1, 0, NaN)"]),
    ("short_buffer.gltf", Whole, &["buffer 0", "43", "42"]),
    ("bad_base64.gltf", Whole, &["buffer 0", "data URI"]),
    ("remote_buffer.gltf", Whole, &["buffer 0", "in the folder of the glTF file"]),
    ("missing_buffer_file.gltf", Whole, &["buffer 0", "no such file.bin"]),
    ("node_cycle.gltf", Whole, &["node 0", "tree"]),
    ("compressed.gltf", Whole, &["KHR_draco_mesh_compression", "without compression"]),
    ("wrong_type.gltf", Whole, &["accessor 0", "3 components"]),
    ("float_indices.gltf", Whole, &["accessor 0", "indices"]),
    ("short_normals.gltf", Whole, &["accessor 2", "NORMAL", "2 values", "3 vertices"]),
    ("not_json.gltf", Line(3), &["JSON"]),
    ("version_one.glb", Byte(4), &["version 1"]),
    ("cut.glb", Byte(20), &["500", "20"]),
    ("chunk_beyond_end.glb", Byte(12), &["999"]),
    ("no_json.glb", Byte(12), &["no JSON"]),
];

#[test]
fn bad_files_are_refused_at_the_right_place_with_the_right_words() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bad");
    for (name, place, words) in BAD_FILES {
        let error = load(&folder.join(name)).expect_err(name);
        assert_eq!(error.place, *place, "{error}");
        for word in *words {
            assert!(error.problem.contains(word), "`{word}` is not in: {error}");
        }
    }
}

#[test]
fn every_bad_surface_file_has_a_row() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bad");
    let surface = ["obj", "off", "ply", "stl", "gltf", "glb"];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            !surface.contains(&extension.as_str()) || BAD_FILES.iter().any(|row| row.0 == name),
            "{name}"
        );
    }
}
