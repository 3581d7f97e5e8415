//! Random meshes round-trip bit by bit; random and damaged files give an error or a mesh, never a panic.

use proptest::prelude::*;
use supple_mesh::format::{
    read_medit, read_msh, read_tetgen, read_vtk, read_vtu, write_msh22, write_msh22_binary, write_vtu,
};

use super::*;

/// Any finite coordinates and any elements on them, of mixed orientation (the first is not inverted).
fn any_mesh() -> impl Strategy<Value = TetMesh> {
    let coordinate = any::<f64>().prop_filter("finite", |x| x.is_finite());
    let points = prop::collection::vec([coordinate.clone(), coordinate.clone(), coordinate], 0..20);
    (points, any::<bool>()).prop_flat_map(|(points, has_regions)| {
        let corner = || 0..points.len() as u32 + 4;
        let tets = prop::collection::vec([corner(), corner(), corner(), corner()], 0..20);
        let mut positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        positions.extend(points.into_iter().map(DVec3::from_array));
        (Just(positions), tets, prop::collection::vec(any::<i32>(), 21)).prop_map(
            move |(positions, tets, regions)| {
                let tets = [vec![[0, 1, 2, 3]], tets].concat();
                // Regions that are all 0 mean "no regions" in every format.
                let mut regions = regions[..tets.len()].to_vec();
                regions[0] = regions[0].max(1);
                TetMesh { positions, tets, regions: has_regions.then_some(regions) }
            },
        )
    })
}

/// Equality that distinguishes -0.0 from 0.0.
fn are_bit_identical(a: &TetMesh, b: &TetMesh) -> bool {
    let bits = |mesh: &TetMesh| coordinates(mesh).map(f64::to_bits).collect::<Vec<_>>();
    a == b && bits(a) == bits(b)
}

/// A valid file of every format, text and binary.
fn samples() -> Vec<(Read, Vec<u8>)> {
    let mesh = with_regions(two_tets(), &[1, 2]);
    let (mut text, mut binary, mut xml) = (Vec::new(), Vec::new(), Vec::new());
    write_msh22(&mesh, &mut text).unwrap();
    write_msh22_binary(&mesh, &mut binary).unwrap();
    write_vtu(&mesh, &[], &mut xml).unwrap();
    let rows = coordinate_text(&mesh);
    let medit = format!(
        "MeshVersionFormatted 2 Dimension 3 Vertices 5\n{}Tetrahedra 1\n1 2 3 4 0\nEnd\n",
        rows.replace('\n', " 0\n")
    );
    let vtk =
        format!("# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n{rows}");
    let vtk = vtk + "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n";
    let vtk_binary = Bytes::new(true)
        .text("# vtk DataFile Version 5.1\nx\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n")
        .f64(coordinates(&mesh))
        .text("\nCELLS 2 4\nOFFSETS vtktypeint64\n")
        .i64([0, 4])
        .text("\nCONNECTIVITY vtktypeint64\n")
        .i64([0, 1, 2, 3])
        .text("\nCELL_TYPES 1\n")
        .i32([10]);
    vec![
        (read_msh, text),
        (read_msh, binary),
        (read_msh, super::msh::version_4_text().into_bytes()),
        (read_vtu, xml),
        (read_medit, medit.into_bytes()),
        (read_vtk, vtk.into_bytes()),
        (read_vtk, vtk_binary.bytes),
    ]
}

#[test]
fn a_file_cut_anywhere_before_its_last_number_is_an_error() {
    for (reader, file) in samples() {
        reader(&file, Path::new("whole")).unwrap();
        for length in 0..file.len() {
            let result = reader(&file[..length], Path::new("cut"));
            let tail = file.len() - length;
            assert!(
                result.is_err() || tail <= 30,
                "{tail} bytes missing of {}",
                String::from_utf8_lossy(&file)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_meshes_come_back_bit_for_bit(mesh in any_mesh()) {
        let (mut text, mut binary, mut xml) = (Vec::new(), Vec::new(), Vec::new());
        write_msh22(&mesh, &mut text).unwrap();
        write_msh22_binary(&mesh, &mut binary).unwrap();
        write_vtu(&mesh, &[], &mut xml).unwrap();
        prop_assert!(are_bit_identical(&tets(read(read_msh, text)), &mesh));
        prop_assert!(are_bit_identical(&tets(read(read_msh, binary)), &mesh));
        prop_assert!(are_bit_identical(&tets(read(read_vtu, xml)), &mesh));
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let path = Path::new("noise");
        for reader in [read_msh, read_vtk, read_vtu, read_medit] {
            prop_assert!(reader(&bytes, path).is_err());
        }
        let half = bytes.len() / 2;
        let _ = read_tetgen(&bytes[..half], path, &bytes[half..], path);
    }

    #[test]
    fn damaged_files_never_panic(
        sample in 0usize..7,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        digits in any::<bool>(),
    ) {
        let (reader, mut file) = samples().swap_remove(sample);
        for (at, byte) in damage {
            // Digits damage counts and indices while the file stays readable up to there.
            let at = at.index(file.len());
            file[at] = if digits { b'0' + byte % 10 } else { byte };
        }
        let _ = reader(&file, Path::new("damaged"));
    }

    #[test]
    fn damaged_tetgen_pairs_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let node = b"4 3 0 1\n1 0 0 0 1\n2 1 0 0 1\n3 0 1 0 1\n4 0 0 1 1\n".to_vec();
        let ele = b"1 4 1\n1 1 2 3 4 7\n".to_vec();
        let mut both = [node.clone(), ele].concat();
        let at = at.index(both.len());
        both[at] = byte;
        let (node, ele) = both.split_at(node.len());
        let _ = read_tetgen(node, Path::new("a.node"), ele, Path::new("a.ele"));
    }
}
