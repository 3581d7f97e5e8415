//! Linear systems in files: files written by Matrix Market, NumPy and SciPy are read correctly, and damaged files are
//! rejected with the location and a helpful message, without a panic.

use std::io::Write;
use std::path::Path;

use glam::DVec3;
use proptest::prelude::*;
use supple_core::Place::{self, Byte, Line, Whole};
use supple_linear::io::{DenseArray, System, read_array, read_matrix, write_npy};
use supple_linear::{LinearKind, LinearOperator, Simd, StopRule, linear_solver};

/// An array as NumPy writes it (version 1 of the format).
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (header.len() + 11).next_multiple_of(64) - 10;
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((length as u16).to_le_bytes());
    file.extend(format!("{header:<width$}\n", width = length - 1).bytes());
    file.extend(data);
    file
}

fn floats(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn integers(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A ZIP archive of arrays, deflated or stored.
fn zip(members: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for (name, data) in members {
        let mut sum = flate2::Crc::new();
        sum.update(data);
        let packed = if deflated {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        } else {
            data.clone()
        };
        let mut common = vec![20, 0, 0, 0, if deflated { 8 } else { 0 }, 0, 0, 0, 0, 0];
        common.extend(sum.sum().to_le_bytes());
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend((file.len() as u32).to_le_bytes());
        directory.extend(name.bytes());
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.bytes());
        file.extend(packed);
    }
    let start = file.len() as u32;
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend((members.len() as u16).to_le_bytes());
    file.extend((members.len() as u16).to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

/// [[4, -1, 0, 0], [-1, 4, -1, 0], [0, -1, 4, -1], [0, 0, -1, 4]]
const CHAIN: &str = "%%MatrixMarket matrix coordinate real symmetric\n% a chain\n4 4 7\n1 1 4\n2 1 -1\n2 2 4.0\n3 2 -1\n3 3 4e0\n4 3 -1\n4 4 4\n";

fn csr_members() -> Vec<(&'static str, Vec<u8>)> {
    let data = [4.0, -1.0, -1.0, 4.0, -1.0, -1.0, 4.0, -1.0, -1.0, 4.0];
    vec![
        ("indices.npy", npy("<i4", "(10,)", &integers(&[0, 1, 0, 1, 2, 1, 2, 3, 2, 3]))),
        ("indptr.npy", npy("<i4", "(5,)", &integers(&[0, 2, 5, 8, 10]))),
        ("format.npy", npy("|S3", "()", b"csr")),
        ("shape.npy", npy("<i8", "(2,)", &[4, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0])),
        ("data.npy", npy("<f8", "(10,)", &floats(&data))),
    ]
}

fn with(name: &str, array: Vec<u8>) -> Vec<u8> {
    let replaced = csr_members().into_iter().map(|(n, old)| (n, if n == name { array.clone() } else { old }));
    zip(&replaced.collect::<Vec<_>>(), false)
}

fn matrix(bytes: &[u8], name: &str) -> supple_linear::io::SparseMatrix {
    read_matrix(bytes, Path::new(name)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn all_formats_give_the_same_matrix() {
    let market = matrix(CHAIN.as_bytes(), "a.mtx");
    assert_eq!((market.rows(), market.entries()), (4, 10));
    assert_eq!((market.entry(0, 1), market.entry(1, 0), market.entry(0, 3)), (-1.0, -1.0, 0.0));
    let general = "%%MatrixMarket MATRIX Coordinate Integer General\r\n\r\n4 4 10\r\n4 4 4\r\n1 1 4\r\n1 2 -1\r\n2 1 -1\r\n2 2 4\r\n2 3 -1\r\n3 2 -1\r\n3 3 4\r\n3 4 -1\r\n4 3 -1\r\n";
    assert_eq!(matrix(general.as_bytes(), "a.MTX"), market);
    for deflated in [false, true] {
        assert_eq!(matrix(&zip(&csr_members(), deflated), "a.npz"), market);
    }
    let wide = npy(">i8", "(5,)", &[0i64, 2, 5, 8, 10].map(i64::to_be_bytes).concat());
    assert_eq!(matrix(&with("indptr.npy", wide), "a.npz"), market);
}

#[test]
fn blocks_of_scipy_are_rows_within_columns() {
    // Two nodes; the coupling block is not symmetric, its transpose is on the other side.
    let own = [9.0, 1.0, 0.0, 1.0, 8.0, 0.5, 0.0, 0.5, 7.0];
    let coupling: [f64; 9] = std::array::from_fn(|i| i as f64 / 10.0);
    let transposed: [f64; 9] = std::array::from_fn(|i| coupling[3 * (i % 3) + i / 3]);
    let file = zip(
        &[
            ("indices.npy", npy("<i4", "(4,)", &integers(&[0, 1, 0, 1]))),
            ("indptr.npy", npy("<i4", "(3,)", &integers(&[0, 2, 4]))),
            ("format.npy", npy("|S3", "()", b"bsr")),
            ("data.npy", npy("<f8", "(4, 3, 3)", &floats(&[own, coupling, transposed, own].concat()))),
        ],
        true,
    );
    let sparse = matrix(&file, "a.npz");
    assert_eq!((sparse.entry(0, 4), sparse.entry(4, 0), sparse.entry(1, 3)), (0.1, 0.1, 0.3));
    let system = System::new(&sparse, None).unwrap();
    assert_eq!(system.matrix.unknowns(), 2);
    let x = [1.0, -2.0, 0.5, 3.0, 0.25, -1.0];
    let y = system.scatter(&system.matrix.multiply(&system.gather(&x)));
    for (i, y) in y.iter().enumerate() {
        let expected: f64 = (0..6).map(|j| sparse.entry(i, j) * x[j]).sum();
        assert!((y - expected).abs() < 1e-14);
    }
}

#[test]
fn arrays_are_read_in_every_type_and_order() {
    let read = |bytes: &[u8], name: &str| read_array(bytes, Path::new(name)).unwrap();
    let expected = DenseArray { shape: [2, 3], values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
    let doubles = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(read(&npy("<f8", "(2, 3)", &doubles), "a.npy"), expected);
    let singles: Vec<u8> = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    assert_eq!(read(&npy(">f4", "(2,3)", &singles), "a.npy"), expected);
    let by_columns = npy("<f8", "(2, 3)", &floats(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    let text = String::from_utf8_lossy(&by_columns[..128]).into_owned();
    assert!(text.contains("False"));
    let at = by_columns.windows(5).position(|w| w == b"False").unwrap();
    let fortran = [&by_columns[..at], b"True ", &by_columns[at + 5..]].concat();
    assert_eq!(read(&fortran, "a.npy"), expected);
    let market = "%%MatrixMarket matrix array real general\n2 3\n1\n4\n2\n5\n3\n6\n";
    assert_eq!(read(market.as_bytes(), "a.mtx"), expected);
    let small = read(&npy("|i1", "(3,)", &[1, 255, 128]), "a.npy");
    assert_eq!(small.values, [1.0, -1.0, -128.0]);
    let unsigned = read(&npy("<u2", "(2,)", &[255, 255, 1, 0]), "a.npy");
    assert_eq!(unsigned.values, [65535.0, 1.0]);
}

#[test]
fn written_arrays_are_read_back_to_the_bit() {
    let values = [0.1, -1e-300, f64::MAX, 0.0, 3.0];
    let mut file = Vec::new();
    write_npy(&values, &mut file).unwrap();
    assert_eq!((file.len() - 8 * values.len()) % 64, 0);
    assert_eq!(
        read_array(&file, Path::new("x.npy")).unwrap(),
        DenseArray { shape: [5, 1], values: values.into() }
    );
}

/// A 2D Laplacian on a grid whose rows are numbered at random: one unknown per node, and not a multiple of three.
fn shuffled_grid(n: usize) -> (String, Vec<usize>) {
    let count = n * n;
    let number: Vec<usize> = (0..count).map(|i| (i * 37 + 11) % count).collect();
    let mut lines = Vec::new();
    for (j, i) in (0..n).flat_map(|j| (0..n).map(move |i| (j, i))) {
        let here = number[j * n + i] + 1;
        lines.push(format!("{here} {here} 4.1"));
        for there in [(i + 1 < n).then_some(j * n + i + 1), (j + 1 < n).then_some(j * n + i + n)] {
            let Some(there) = there else { continue };
            let there = number[there] + 1;
            lines.push(format!("{} {} -1", here.max(there), here.min(there)));
        }
    }
    let header =
        format!("%%MatrixMarket matrix coordinate real symmetric\n{count} {count} {}\n", lines.len());
    (header + &lines.join("\n"), number)
}

#[test]
fn scalar_systems_of_any_size_are_solved_by_every_solver() {
    let n = 20;
    let (file, number) = shuffled_grid(n);
    let sparse = matrix(file.as_bytes(), "grid.mtx");
    let mut positions = vec![0.0; 3 * n * n];
    for (place, &row) in number.iter().enumerate() {
        positions[3 * row] = (place % n) as f64;
        positions[3 * row + 1] = (place / n) as f64;
    }
    let positions = DenseArray { shape: [n * n, 3], values: positions };
    let exact: Vec<f64> = (0..n * n).map(|i| (i as f64).sin()).collect();
    let rhs: Vec<f64> = (0..n * n).map(|i| (0..n * n).map(|j| sparse.entry(i, j) * exact[j]).sum()).collect();
    for given in [None, Some((&positions, Path::new("p.npy")))] {
        let system = System::new(&sparse, given).unwrap();
        assert_eq!((system.unknowns(), system.matrix.unknowns()), (400, 134));
        // Nearby rows share a block: fewer blocks than entries of the file.
        assert!(system.matrix.pattern().block_count() < 400 * 3, "{}", system.matrix.pattern().block_count());
        for kind in LinearKind::ALL {
            let mut solver = linear_solver(&kind.into(), system.positions.clone(), Simd::Auto).unwrap();
            solver.prepare(&system.matrix).unwrap();
            let mut x = vec![DVec3::ZERO; system.matrix.unknowns()];
            let stop = StopRule::tolerance(1e-10, 10_000);
            assert!(
                solver.solve(&system.matrix, &system.gather(&rhs), &mut x, &stop).converged(),
                "{kind:?}"
            );
            let x = system.scatter(&x);
            assert!(x.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-7), "{kind:?}");
            assert!(sparse.relative_residual(&x, &rhs) < 1e-9);
        }
    }
}

#[test]
fn positions_of_the_wrong_number_are_refused() {
    let sparse = matrix(CHAIN.as_bytes(), "a.mtx");
    let positions = DenseArray { shape: [3, 3], values: vec![0.0; 9] };
    let error = System::new(&sparse, Some((&positions, Path::new("p.npy")))).err().unwrap();
    assert!(error.problem.contains("3 x 3") && error.problem.contains("4 x 3"), "{error}");
}

fn refuse(bytes: &[u8], name: &str, place: Place, words: &[&str]) {
    let path = Path::new(name);
    let matrix = read_matrix(bytes, path).err();
    let error = if name.starts_with('v') { read_array(bytes, path).err() } else { matrix };
    let error = error.unwrap_or_else(|| panic!("{name} was taken: {words:?}"));
    for word in words {
        assert!(error.problem.contains(word), "`{word}` is not in: {error}");
    }
    assert_eq!(error.place, place, "{error}");
}

#[test]
fn damaged_text_is_refused_at_its_line() {
    let general = "%%MatrixMarket matrix coordinate real general\n";
    let cases: &[(String, Place, &[&str])] = &[
        (String::new(), Line(1), &["%%MatrixMarket"]),
        ("1 1 4\n".into(), Line(1), &["%%MatrixMarket", "1 1 4"]),
        (CHAIN.replace("real", "complex"), Line(1), &["complex", "real"]),
        (CHAIN.replace("symmetric", "hermitian"), Line(1), &["hermitian", "symmetric"]),
        (CHAIN.replace("coordinate", "array"), Line(1), &["array", "coordinate"]),
        (CHAIN.replace("4 4 7", "4 5 7"), Line(3), &["4 rows", "5 columns", "square"]),
        (CHAIN.replace("4 4 7", "0 0 0"), Line(3), &["no rows"]),
        (CHAIN.replace("4 4 7", "4 4 4000000000"), Line(3), &["4000000000", "truncated"]),
        (CHAIN.replace("4 4 7", "4000000000 4000000000 7"), Line(3), &["4000000000 rows", "7 entries"]),
        (CHAIN.replace("4 4 7", "4 4 99999999999999"), Line(3), &["99999999999999"]),
        (CHAIN.replace("4 4 7", "4 4 8"), Line(11), &["row", "truncated"]),
        (CHAIN.replace("4 4 7", "4 4 6"), Line(10), &["`4`", "6"]),
        (CHAIN.replace("3 2 -1", "3 2 nan"), Line(7), &["nan", "finite"]),
        (CHAIN.replace("3 2 -1", "3 2 1e999"), Line(7), &["1e999", "finite"]),
        (CHAIN.replace("3 2 -1", "3 2 one"), Line(7), &["one", "number"]),
        (CHAIN.replace("3 2 -1", "3 2"), Line(7), &["line ends"]),
        (CHAIN.replace("3 2 -1", "3 2 -1 0"), Line(7), &["`0`", "end"]),
        (CHAIN.replace("3 2 -1", "5 2 -1"), Line(7), &["row is 5", "1 to 4"]),
        (CHAIN.replace("3 2 -1", "3 0 -1"), Line(7), &["column is 0", "1 to 4"]),
        (CHAIN.replace("3 2 -1", "3 -2 -1"), Line(7), &["column", "-2"]),
        (
            format!("{general}2 2 4\n1 1 2\n% note\n1 2 0.5\n2 1 0.25\n2 2 2\n"),
            Line(5),
            &["(1, 2) is 0.5", "(2, 1) is 0.25", "not symmetric"],
        ),
        (format!("{general}2 2 3\n1 1 2\n2 1 0.25\n2 2 2\n"), Line(4), &["not symmetric", "0.25", "is 0"]),
    ];
    for (text, place, words) in cases {
        refuse(text.as_bytes(), "m.mtx", *place, words);
    }
    let array = "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n";
    refuse(array.replace("3 1", "4 1").as_bytes(), "v.mtx", Line(6), &["(4, 1)", "truncated"]);
    refuse(array.replace("3 1", "2 1").as_bytes(), "v.mtx", Line(5), &["`3`", "2"]);
    refuse(
        array.replace("3 1", "4000000000 4000000000").as_bytes(),
        "v.mtx",
        Line(2),
        &["4000000000", "truncated"],
    );
    refuse(array.replace("\n2\n", "\ninf\n").as_bytes(), "v.mtx", Line(4), &["inf", "(2, 1)"]);
    refuse(CHAIN.as_bytes(), "v.mtx", Line(1), &["coordinate", "array"]);
    refuse(b"x", "m.txt", Whole, &[".mtx or .npz"]);
}

#[test]
fn damaged_archives_are_refused_at_their_array() {
    let good = zip(&csr_members(), false);
    refuse(b"nonsense", "m.npz", Byte(0), &["ZIP"]);
    refuse(&good[..good.len() - 30], "m.npz", Byte(good.len() as u64 - 30), &["truncated"]);
    refuse(&with("format.npy", npy("|S3", "()", b"dia")), "m.npz", Whole, &["format", "dia", "tocsr"]);
    refuse(
        &with("indptr.npy", npy("<i4", "(5,)", &integers(&[0, 2, 1, 8, 10]))),
        "m.npz",
        Whole,
        &["indptr", "number 2 is 1"],
    );
    refuse(
        &with("indptr.npy", npy("<i4", "(5,)", &integers(&[0, 2, 5, 8, 9]))),
        "m.npz",
        Whole,
        &["indptr", "10"],
    );
    refuse(&with("indptr.npy", npy("<i4", "(0,)", &[])), "m.npz", Whole, &["indptr"]);
    let empty = [
        ("indices.npy", npy("<i4", "(0,)", &[])),
        ("indptr.npy", npy("<i4", "(1,)", &integers(&[0]))),
        ("format.npy", npy("|S3", "()", b"csr")),
        ("data.npy", npy("<f8", "(0,)", &[])),
    ];
    refuse(&zip(&empty, false), "m.npz", Whole, &["empty", "no rows"]);
    let indices = integers(&[0, 1, 0, 1, 2, 1, 2, 4, 2, 3]);
    refuse(
        &with("indices.npy", npy("<i4", "(10,)", &indices)),
        "m.npz",
        Whole,
        &["indices", "number 7 is 4"],
    );
    let indices = integers(&[0, 1, 0, 1, 2, 1, 2, -3, 2, 3]);
    refuse(&with("indices.npy", npy("<i4", "(10,)", &indices)), "m.npz", Whole, &["indices", "-3"]);
    let mut data = [4.0, -1.0, -1.0, 4.0, -1.0, -1.0, 4.0, -1.0, -1.0, 4.0];
    data[4] = -1.5;
    refuse(
        &with("data.npy", npy("<f8", "(10,)", &floats(&data))),
        "m.npz",
        Whole,
        &["(1, 2) is -1.5", "(2, 1) is -1"],
    );
    data[4] = f64::NAN;
    refuse(
        &with("data.npy", npy("<f8", "(10,)", &floats(&data))),
        "m.npz",
        Whole,
        &["data", "number 4", "NaN"],
    );
    refuse(
        &with("data.npy", npy("<c16", "(5,)", &floats(&data))),
        "m.npz",
        Whole,
        &["data", "c16", "astype"],
    );
    refuse(
        &with("data.npy", npy("<f8", "(11,)", &floats(&data))),
        "m.npz",
        Whole,
        &["data", "(11)", "truncated"],
    );
    let huge = npy("<f8", "(18446744073709551615, 9)", &floats(&data));
    refuse(&with("data.npy", huge), "m.npz", Whole, &["data", "truncated"]);
    let shape = integers(&[4, 5]);
    refuse(&with("shape.npy", npy("<i4", "(2,)", &shape)), "m.npz", Whole, &["shape", "(4, 5)", "square"]);
    let missing: Vec<_> = csr_members().into_iter().filter(|(name, _)| *name != "indptr.npy").collect();
    refuse(&zip(&missing, true), "m.npz", Whole, &["indptr", "missing", "save_npz"]);
    let mut flipped = good.clone();
    let at = flipped.windows(8).position(|w| w == 4f64.to_le_bytes()).unwrap();
    flipped[at] ^= 1;
    let error = read_matrix(&flipped, Path::new("m.npz")).unwrap_err();
    assert!(error.problem.contains("damaged") && matches!(error.place, Byte(_)), "{error}");
    refuse(
        &npy("<f8", "(3,)", &floats(&[1.0, f64::INFINITY, 2.0])),
        "v.npy",
        Byte(128 + 8),
        &["number 1", "inf"],
    );
    refuse(&npy("<f8", "(3,)", &floats(&[1.0, 2.0])), "v.npy", Byte(128), &["(3)", "16 bytes"]);
    refuse(&npy("<f8", "(1, 1, 2)", &floats(&[1.0, 2.0])), "v.npy", Whole, &["(1, 1, 2)", "two dimensions"]);
    refuse(b"\x93NUMPY\x09\x00\x10\x00", "v.npy", Byte(6), &["version 9"]);
    refuse(b"\x93NUMPY\x02\x00\xff\xff\xff\xff__", "v.npy", Byte(8), &["4294967295"]);
}

/// For any bytes: a result or an error, and nothing that is not finite.
fn never_panics(bytes: &[u8]) {
    for name in ["a.mtx", "a.npz"] {
        if let Ok(sparse) = read_matrix(bytes, Path::new(name)) {
            assert!(System::new(&sparse, None).is_ok());
        }
    }
    for name in ["a.mtx", "a.npy"] {
        if let Ok(array) = read_array(bytes, Path::new(name)) {
            assert!(array.values.iter().all(|value| value.is_finite()));
            assert_eq!(array.values.len(), array.shape[0] * array.shape[1]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn noise_and_damage_never_panic(
        noise in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0usize..2000,
        at in 0usize..2000,
        byte in any::<u8>(),
        deflated in any::<bool>(),
    ) {
        never_panics(&noise);
        let files = [CHAIN.as_bytes().to_vec(), zip(&csr_members(), deflated), npy("<f8", "(2,)", &floats(&[1.0, 2.0]))];
        for file in files {
            never_panics(&file[..cut.min(file.len())]);
            let mut damaged = file.clone();
            let place = at % damaged.len();
            damaged[place] = byte;
            never_panics(&damaged);
            never_panics(&[&file[..place], &noise, &file[place..]].concat());
        }
    }
}
