//! A fixed corpus of broken tetrahedral mesh files: each must be rejected with the location and a message that helps
//! the user.

use std::path::{Path, PathBuf};

use supple_core::{FileError, Place};
use supple_mesh::format::{LoadedMesh, read_medit, read_msh, read_tetgen_pair_of, read_vtk, read_vtu};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bad_tets")
}

fn read(name: &str) -> Result<LoadedMesh, FileError> {
    let path = folder().join(name);
    let bytes = std::fs::read(&path).unwrap();
    match path.extension().unwrap().to_str().unwrap() {
        "msh" => read_msh(&bytes, &path),
        "vtk" => read_vtk(&bytes, &path),
        "vtu" => read_vtu(&bytes, &path),
        "mesh" | "meshb" => read_medit(&bytes, &path),
        _ => read_tetgen_pair_of(&bytes, &path),
    }
}

use Place::{Byte, Line, Whole};

/// File, location of the error, and part of the message.
const TABLE: &[(&str, Place, &str)] = &[
    ("empty.msh", Line(1), "expected $MeshFormat, but the file ends"),
    ("not_gmsh.msh", Line(1), "starts with $MeshFormat or $NOD, found `solid cube`"),
    ("version40.msh", Line(2), "save the mesh as 4.1 or 2.2"),
    ("data_size.msh", Line(2), "data size should be 8, found `4`"),
    ("nan.msh", Line(7), "y is `nan`, which is not a finite number"),
    ("huge_count.msh", Line(5), "the number of nodes is 999999999999, which does not fit"),
    ("negative_count.msh", Line(5), "-4, which is negative"),
    ("too_few_nodes.msh", Line(10), "a node's number should be an integer, found `$EndNodes`"),
    ("too_many_nodes.msh", Line(9), "expected $EndNodes, found `4 0 0 1`; are there more entries"),
    ("unknown_node.msh", Line(13), "uses node 9, which is not among the nodes"),
    ("twice_the_same_node.msh", Line(9), "node 1 is defined twice"),
    ("elements_first.msh", Line(6), "uses node 1, which is not among the nodes before it"),
    ("unknown_type.msh", Line(13), "element type 99"),
    ("cut.msh", Line(13), "expected a node of an element, but the file ends"),
    ("only_hexahedra.msh", Whole, "contains 1 hexahedron but no tetrahedra; split the cells"),
    ("only_lines.msh", Whole, "contains 1 line, but neither tetrahedra nor polygons"),
    ("crlf_bad_number.msh", Line(8), "y should be a number, found `x`"),
    ("binary_infinite.msh", Byte(81), "x is inf, which is not a finite number"),
    ("binary_cut.msh", Byte(47), "the number of nodes is 4, which does not fit in the remaining 100 bytes"),
    ("binary_long_run.msh", Byte(188), "a run of 2 elements exceeds the 1 left by the total count"),
    ("binary_order.msh", Byte(20), "the byte order should be 1, found 7"),
    ("block_counts.msh", Line(12), "the blocks contain 3 nodes, but the header declares 4"),
    ("block_huge.msh", Line(6), "a node block's number of nodes is 88888888888"),
    ("empty.vtk", Line(1), "starts with `# vtk DataFile Version`"),
    ("not_vtk.vtk", Line(1), "found `ply`"),
    ("no_kind.vtk", Line(3), "expected ASCII or BINARY, but the file ends"),
    ("structured.vtk", Line(4), "save it as UNSTRUCTURED_GRID or POLYDATA"),
    ("inf.vtk", Line(8), "y is `inf`, which is not a finite number"),
    ("huge_points.vtk", Line(5), "the number of points is 4000000000"),
    ("index.vtk", Line(11), "uses point 4, but there are 4 points"),
    ("negative_index.vtk", Line(11), "uses point -3"),
    ("list_size.vtk", Line(11), "the cell list has 5 numbers, but the header declares 6"),
    ("no_types.vtk", Line(12), "expected CELL_TYPES, but the file ends"),
    ("three_corners.vtk", Line(13), "1 tetrahedron (VTK type 10) with only 3 nodes"),
    ("cells_before_points.vtk", Line(6), "there are 0 points before it"),
    ("cut.vtk", Line(10), "the size of the cell list is 5, which does not fit in the remaining 7 bytes"),
    ("offsets_fall.vtk", Line(12), "offset 4 should lie between 5 and 8"),
    ("offsets_end.vtk", Line(12), "the offsets end with 4, but the header declares 5 nodes"),
    ("binary_nan.vtk", Byte(88), "z is NaN, which is not a finite number"),
    ("binary_cut.vtk", Byte(53), "the number of points is 3, which does not fit in the remaining 20 bytes"),
    ("binary_shifted.vtk", Byte(104), "expected a keyword such as POINTS or CELLS, found `xyz`"),
    ("empty.vtu", Line(1), "the XML ends too early; is the file truncated?"),
    ("not_xml.vtu", Line(1), "is not valid XML"),
    ("not_vtk.vtu", Line(1), "the root element should be <VTKFile>"),
    ("image.vtu", Line(1), "type \"ImageData\" is not supported; save the mesh as UnstructuredGrid"),
    ("lzma.vtu", Line(1), "save with ZLib, LZ4 or none"),
    ("nan.vtu", Line(8), "expected a finite number, found `nan`"),
    ("few_points.vtu", Line(8), "the array has 6 numbers, but 12 are needed"),
    ("many_points.vtu", Line(10), "the array has 12 numbers, but 12000000000 are needed"),
    ("bad_count.vtu", Line(3), "NumberOfPoints should be an integer up to 4294967295, found \"-4\""),
    ("index.vtu", Line(13), "number 3 is point 4, but the piece has 4 points"),
    ("offset_falls.vtu", Line(14), "cell 1 ends at offset 4, before its start at 5"),
    ("offset_long.vtu", Line(13), "the array has 4 numbers, but 400000000000 are needed"),
    ("three_corners.vtu", Line(12), "cell 0: 1 tetrahedron (VTK type 10) with only 3 nodes"),
    ("no_types.vtu", Line(12), "<Cells> has no array named \"types\""),
    ("cut.vtu", Line(15), "the XML ends too early; is the file truncated?"),
    ("not_utf8.vtu", Byte(15), "is not UTF-8 text"),
    ("base64.vtu", Line(5), "`*` is not a base64 character"),
    ("base64_short.vtu", Line(5), "96 bytes are declared, but at most"),
    ("base64_length.vtu", Line(5), "the array has 24 bytes, but 96 are needed"),
    ("appended_offset.vtu", Line(5), "offset \"999\" is outside the 100 appended bytes"),
    ("appended_length.vtu", Byte(524), "the array has 4000000000 bytes, but 96 are needed"),
    ("appended_cut.vtu", Byte(493), "AppendedData is not closed; is the file truncated?"),
    ("appended_nan.vtu", Byte(524), "number 7 of the array is not a finite number"),
    ("zlib_damaged.vtu", Line(5), "block 0: zlib:"),
    ("zlib_bomb.vtu", Line(5), "does not contain the expected 96 bytes"),
    ("zlib_blocks.vtu", Line(5), "4000000000 compressed blocks are more than the file can contain"),
    ("empty.mesh", Line(1), "expected MeshVersionFormatted, but the file ends"),
    ("mfem.mesh", Line(1), "starts with MeshVersionFormatted, found `MFEM`"),
    ("binary.meshb", Whole, "convert it to text"),
    ("dimension.mesh", Line(2), "the dimension should be 2 or 3, found 4"),
    ("inf.mesh", Line(7), "y is `-inf`, which is not a finite number"),
    ("index.mesh", Line(11), "uses vertex 5, but the vertices before it are 1 to 4"),
    ("zero_index.mesh", Line(11), "uses vertex 0"),
    ("huge.mesh", Line(4), "the number of vertices is 123456789012"),
    ("more_rows.mesh", Line(12), "does the section have more rows than its count?"),
    ("fewer_rows.mesh", Line(12), "a vertex of a cell should be an integer, found `End`"),
    ("no_vertices.mesh", Line(5), "uses vertex 1"),
    ("cut.mesh", Line(10), "the number of cells is 1, which does not fit in the remaining 5 bytes"),
    ("tet_empty.node", Line(1), "expected the number of nodes, but the file ends"),
    ("tet_no_elements.ele", Line(2), "expected the number of elements, but the file ends"),
    ("tet_nan.node", Line(3), "x is `NaN`, which is not a finite number"),
    ("tet_index.ele", Line(2), "uses node 5, but the nodes are 1 to 4"),
    ("tet_zero_index.ele", Line(2), "uses node 0"),
    ("tet_numbering.node", Line(4), "expected node 3, found node 7"),
    ("tet_start.node", Line(2), "expected node 0 or 1, found node 5"),
    ("tet_few.node", Line(6), "expected a node, but the file ends"),
    ("tet_many.ele", Line(3), "more rows than the header declares"),
    ("tet_wide.node", Line(3), "more numbers than the header declares"),
    ("tet_narrow.node", Line(3), "expected z, but the line ends"),
    ("tet_huge.node", Line(1), "the number of nodes is 4000000000"),
    ("tet_shape.ele", Line(1), "4 or 10 nodes (3 or 6 for triangles), found 8"),
    ("tet_alone.ele", Whole, "a TetGen mesh is a pair of files"),
];

#[test]
fn every_broken_file_is_refused_with_the_place_and_the_reason() {
    let mut wrong = String::new();
    for &(name, place, words) in TABLE {
        match read(name) {
            Ok(_) => wrong += &format!("{name}: was read\n"),
            Err(error) if error.place == place && error.problem.contains(words) => {
                assert!(error.to_string().contains(name), "{error}");
            }
            Err(error) => {
                wrong += &format!(
                    "{name}: expected {place:?} `{words}`, got {:?} `{}`\n",
                    error.place, error.problem
                )
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_table_names_every_file_of_the_corpus() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let partner = name.starts_with("tet_");
        assert!(
            partner || TABLE.iter().any(|(listed, _, _)| *listed == name),
            "{name} is in no row of the table"
        );
    }
}
