//! VTK XML files, after "VTK File Formats": every encoding of the same two tetrahedra must give the same mesh.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use supple_mesh::format::{PointData, PointValues, read_vtu, write_vtu};

use super::*;

/// The storage of arrays.
#[derive(Debug, Clone, Copy)]
struct Storage {
    big_endian: bool,
    wide_header: bool,
    compressor: Option<&'static str>,
    format: &'static str,
    appended_base64: bool,
}

/// Block size of compressed arrays; small, so that the arrays of the test have several and a shorter last one.
const BLOCK: usize = 48;

impl Storage {
    fn header(&self, numbers: &[usize]) -> Vec<u8> {
        let file = Bytes::new(self.big_endian);
        match self.wide_header {
            true => file.u64(numbers.iter().map(|&n| n as u64)).bytes,
            false => file.u32(numbers.iter().map(|&n| n as u32)).bytes,
        }
    }

    /// Header and data of an array, which are encoded separately in base64 if compressed.
    fn parts(&self, data: &[u8]) -> Vec<Vec<u8>> {
        let Some(compressor) = self.compressor else {
            return vec![[self.header(&[data.len()]), data.to_vec()].concat()];
        };
        let blocks: Vec<Vec<u8>> = data
            .chunks(BLOCK)
            .map(|block| match compressor {
                "vtkLZ4DataCompressor" => lz4_flex::block::compress(block),
                _ => {
                    let mut encoder =
                        flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
                    encoder.write_all(block).unwrap();
                    encoder.finish().unwrap()
                }
            })
            .collect();
        let sizes = blocks.iter().map(Vec::len);
        let numbers: Vec<usize> =
            [blocks.len(), BLOCK, data.len() % BLOCK].into_iter().chain(sizes).collect();
        vec![self.header(&numbers), blocks.concat()]
    }

    fn file(&self) -> Vec<u8> {
        let mut appended = Vec::new();
        let mut array = |attributes: &str, data: Bytes| {
            let parts = self.parts(&data.bytes);
            let base64: String = parts.iter().map(|part| STANDARD.encode(part)).collect();
            if self.format == "binary" {
                return format!("<DataArray {attributes} format=\"binary\">\n {base64}\n</DataArray>\n");
            }
            let offset = appended.len();
            appended.extend(if self.appended_base64 { base64.into_bytes() } else { parts.concat() });
            format!("<DataArray {attributes} format=\"appended\" offset=\"{offset}\"/>\n")
        };
        let bytes = || Bytes::new(self.big_endian);
        let points =
            array("type=\"Float64\" NumberOfComponents=\"3\"", bytes().f64(coordinates(&two_tets())));
        let nodes = [0, 1, 2, 3, 2, 1, 4, 3, 0, 1];
        let cells = array("type=\"Int64\" Name=\"connectivity\"", bytes().i64(nodes))
            + &array("type=\"UInt32\" Name=\"offsets\"", bytes().u32([4, 8, 10]))
            + &array("type=\"UInt8\" Name=\"types\"", bytes().u8([10, 10, 3]));
        let region = array("type=\"Int32\" Name=\"region\"", bytes().i32([7, -8, 1]));
        let order = if self.big_endian { "BigEndian" } else { "LittleEndian" };
        let header = if self.wide_header { " header_type=\"UInt64\"" } else { "" };
        let compressor = self.compressor.map(|name| format!(" compressor=\"{name}\"")).unwrap_or_default();
        let mut file = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" byte_order=\"{order}\"{header}{compressor}>\n\
             <UnstructuredGrid><Piece NumberOfPoints=\"5\" NumberOfCells=\"3\">\n<Points>{points}</Points>\n\
             <Cells>{cells}</Cells><CellData>{region}</CellData></Piece></UnstructuredGrid>\n"
        )
        .into_bytes();
        if self.format == "appended" {
            let encoding = if self.appended_base64 { "base64" } else { "raw" };
            file.extend(format!("<AppendedData encoding=\"{encoding}\">\n_").bytes());
            file.extend(appended);
            file.extend(b"\n</AppendedData>\n");
        }
        file.extend(b"</VTKFile>\n");
        file
    }
}

#[test]
fn every_binary_encoding_gives_the_same_mesh() {
    for compressor in [None, Some("vtkZLibDataCompressor"), Some("vtkLZ4DataCompressor")] {
        for (format, appended_base64) in [("binary", true), ("appended", true), ("appended", false)] {
            for (big_endian, wide_header) in [(false, false), (false, true), (true, false), (true, true)] {
                let storage = Storage { big_endian, wide_header, compressor, format, appended_base64 };
                let loaded = read(read_vtu, storage.file());
                assert!(has_note(&loaded, "left out: 1 line"), "{storage:?}");
                assert_eq!(tets(loaded), with_regions(two_tets(), &[7, -8]), "{storage:?}");
            }
        }
    }
}

fn text_piece(first_region: i32) -> String {
    let points = coordinate_text(&two_tets());
    format!(
        "<Piece NumberOfPoints=\"5\" NumberOfCells=\"2\"><CellData><DataArray type=\"Int32\" Name=\"medit:ref\">\
         {first_region} 0</DataArray></CellData><Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" \
         format=\"ascii\">\n{points}</DataArray></Points><Cells>\
         <DataArray type=\"Int32\" Name=\"connectivity\" format=\"ascii\">0 1 2 3 2 1 4 3</DataArray>\
         <DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">4 8</DataArray>\
         <DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">10 10</DataArray></Cells></Piece>\n"
    )
}

#[test]
fn pieces_in_text_are_joined() {
    let text = format!(
        "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid>{}{}</UnstructuredGrid></VTKFile>",
        text_piece(3),
        text_piece(4)
    );
    let mesh = tets(read(read_vtu, &text));
    assert_eq!(mesh.tets, [[0, 1, 2, 3], [2, 1, 4, 3], [5, 6, 7, 8], [7, 6, 9, 8]]);
    assert_eq!(mesh.regions, Some(vec![3, 0, 4, 0]));
    assert_eq!(mesh.positions[5..], two_tets().positions);
    assert_eq!(tets(read(read_vtu, crlf(&text))), mesh);
}

#[test]
fn polygonal_data_give_a_surface() {
    let points = coordinate_text(&two_tets());
    let text = format!(
        "<VTKFile type=\"PolyData\"><PolyData><Piece NumberOfPoints=\"5\" NumberOfPolys=\"2\" NumberOfLines=\"0\">\
         <Points><DataArray type=\"Float64\" NumberOfComponents=\"3\">{points}</DataArray></Points><Polys>\
         <DataArray type=\"Int32\" Name=\"connectivity\">0 1 2 4 3 2 1 0</DataArray>\
         <DataArray type=\"Int32\" Name=\"offsets\">3 8</DataArray></Polys></Piece></PolyData></VTKFile>"
    );
    let mesh = surface(read(read_vtu, text));
    assert_eq!((mesh.face(0), mesh.face(1)), (&[0, 1, 2][..], &[4, 3, 2, 1, 0][..]));
}

#[test]
fn other_compressors_and_lists_of_files_are_refused_with_the_way_out() {
    let error =
        problem(read_vtu, "<VTKFile type=\"UnstructuredGrid\" compressor=\"vtkLZMADataCompressor\"/>");
    assert!(error.contains("LZMA") && error.contains("ZLib, LZ4 or none"), "{error}");
    let error = problem(read_vtu, "<VTKFile type=\"PUnstructuredGrid\"/>");
    assert!(error.contains("use one of those files"), "{error}");
}

/// A file of one compressed array of points that claims to be `length` bytes long.
fn zlib_bomb(points: usize, claimed: usize, data: &[u8]) -> String {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    let packed = encoder.finish().unwrap();
    let header = Bytes::new(false).u64([1, claimed as u64, 0, packed.len() as u64]).bytes;
    format!(
        "<VTKFile type=\"UnstructuredGrid\" header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\">\
         <UnstructuredGrid><Piece NumberOfPoints=\"{points}\" NumberOfCells=\"0\"><Points>\
         <DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"binary\">{}{}</DataArray></Points></Piece>\
         </UnstructuredGrid></VTKFile>",
        STANDARD.encode(header),
        STANDARD.encode(packed)
    )
}

#[test]
fn compressed_blocks_cannot_grow_beyond_what_is_announced_and_possible() {
    let error = problem(read_vtu, zlib_bomb(10, 240, &vec![0; 50_000_000]));
    assert!(error.contains("does not contain the expected 240 bytes"), "{error}");
    let error = problem(read_vtu, zlib_bomb(4_000_000_000, 96_000_000_000, &[0; 100]));
    assert!(error.contains("more than the file can contain"), "{error}");
    let error = problem(read_vtu, zlib_bomb(10_000, 240_000, &[0; 100]));
    assert!(error.contains("cannot expand to 240000"), "{error}");
}

#[test]
fn what_is_written_is_the_same_when_read() {
    let mesh = with_regions(two_tets(), &[i32::MIN, i32::MAX]);
    let lengths: Vec<f64> = mesh.positions.iter().map(|p| p.length()).collect();
    let data = [
        PointData { name: "<\"&", values: PointValues::Scalars(&lengths) },
        PointData { name: "velocity", values: PointValues::Vectors(&mesh.positions) },
    ];
    let mut file = Vec::new();
    write_vtu(&mesh, &data, &mut file).unwrap();
    assert_eq!(read(read_vtu, file), LoadedMesh { mesh: Mesh::Tets(mesh), notes: Vec::new() });
}

#[test]
fn polygons_are_written_with_their_order() {
    let mut mesh = SurfaceMesh { positions: two_tets().positions, ..SurfaceMesh::default() };
    for face in [&[0, 1, 2][..], &[0, 1, 2, 3], &[4, 3, 2, 1, 0]] {
        mesh.push_face(face);
    }
    let mut file = Vec::new();
    write_vtu(&mesh, &[], &mut file).unwrap();
    assert_eq!(surface(read(read_vtu, file)), mesh);
}

#[test]
fn point_data_of_the_wrong_length_are_refused() {
    let data = [PointData { name: "short", values: PointValues::Scalars(&[1.0]) }];
    let error = write_vtu(&two_tets(), &data, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("\"short\" has 1 values for 5 vertices"), "{error}");
}
