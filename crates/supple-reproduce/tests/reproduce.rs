//! The program behind `supple reproduce`: papers' numbers next to ours.

use std::fs;

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program to its end.
fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_supple-reproduce")).args(arguments).output().expect("the program starts")
}

/// Runs the program and expects success; returns its standard output.
fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {:?}\n{errors}", arguments.join(" "), output.status);
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The values of a key in JSON lines.
fn values(lines: &str, key: &str) -> Vec<serde_json::Value> {
    let parsed = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect(line));
    parsed.filter_map(|line| line.get(key).cloned()).collect()
}

/// A path as text.
fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn without_a_name_all_reproductions_are_listed_with_their_parameters() {
    let (listed, lines) = (succeed(&[]), succeed(&["--json"]));
    let names = values(&lines, "reproduction");
    let mut seen = std::collections::BTreeSet::new();
    for name in &names {
        let name = name.as_str().unwrap();
        let (paper, _) = name.split_once('-').expect("AUTHORYEAR-figN");
        assert!(paper.trim_start_matches(char::is_alphabetic).parse::<u32>().is_ok(), "{name}");
        assert!(listed.contains(&format!("\n{name} ")) || listed.starts_with(name), "{name}: {listed}");
        assert!(seen.insert(name), "two are called {name}");
    }
    assert!(listed.contains("size=0.2") && listed.contains("frames=10"), "{listed}");
    let parameters = values(&lines, "parameters");
    assert_eq!(parameters.len(), names.len());
    for parameter in parameters.iter().flat_map(|list| list.as_array().unwrap()) {
        let [value, low, high] = [&parameter["default"], &parameter["range"][0], &parameter["range"][1]]
            .map(|number| number.as_f64().unwrap());
        assert!(parameter["meaning"].is_string() && low <= value && value <= high, "{parameter}");
    }
}

#[test]
fn what_a_reproduction_does_not_have_is_refused() {
    let refused = |arguments: &[&str], words: &[&str]| {
        let output = run(arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        words.iter().for_each(|word| assert!(message.contains(word), "{word}: {message}"));
    };
    refused(&["xian2019-tabel1"], &["xian2019-tabel1", "xian2019-table1"]);
    refused(&["xian2019-fig9", "--set", "sise=1"], &["`sise`", "size, frame, cycles"]);
    refused(&["xian2019-fig9", "--set", "size=big"], &["a number from 0.01 to 10"]);
    refused(&["xian2019-fig9", "--set", "size"], &["KEY=VALUE"]);
    refused(&["xian2019-fig9", "--mesh", "nowhere.obj"], &["nowhere.obj", "does not exist"]);
    let folder = tempfile::tempdir().unwrap();
    let tets = folder.path().join("one.mesh");
    let vertices = "4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n";
    let medit =
        format!("MeshVersionFormatted 2\nDimension 3\nVertices\n{vertices}Tetrahedra\n1\n1 2 3 4 0\nEnd\n");
    fs::write(&tets, medit).unwrap();
    for figure in ["xian2019-fig6", "xian2019-fig7"] {
        refused(&[figure, "--mesh", text(&tets)], &["one.mesh", "fixed resolution", "surface"]);
    }
}

/// The order of table 3: smooth weights leave less of the error than piecewise-constant ones, three unknowns leave more.
#[test]
fn coarse_spaces_stand_in_the_papers_order() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        ["xian2019-table3", "--set", "size=0.1", "--set", "frame=2", "--out", text(folder.path()), "--json"];
    let lines = succeed(&arguments);
    let errors: Vec<f64> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|line| line["quantity"] == "error left by the coarse solve")
        .map(|line| {
            assert!(line["figure"] == "xian2019-table3" && line["paper"].is_number(), "{line}");
            line["measured"].as_f64().unwrap()
        })
        .collect();
    assert!(errors[1] < errors[0] && errors[0] < errors[3] && errors[3] < errors[2], "{errors:?}");
    let csv = fs::read_to_string(folder.path().join("xian2019-table3.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + lines.lines().count());
}

/// The order of figure 4: more levels need fewer iterations than one, and one level fewer than Jacobi.
#[test]
fn more_levels_need_fewer_iterations() {
    let lines = succeed(&["wu2022-fig4", "--set", "vertices=2500", "--json"]);
    let iterations = |solver: &str| {
        let row =
            lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()).find(|row| {
                let case = row["case"].as_str().unwrap_or_default().ends_with(&format!(", {solver}"));
                case && row["quantity"] == "iterations to an error of 1e-3"
            });
        row.and_then(|row| row["measured"].as_f64()).unwrap()
    };
    let order = ["MAS, default", "AS", "Jacobi"].map(iterations);
    assert!(order[0] < order[1] && order[1] < order[2], "{order:?}: {lines}");
}

#[test]
fn residuals_are_plotted_for_a_mesh_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = folder.path().join("brick.obj");
    let corner = |k: u32| format!("v {} {} {}\n", 40 * (k & 1), 100 * (k >> 1 & 1), 30 * (k >> 2));
    let faces = ["1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"];
    let faces: String = faces.iter().map(|face| format!("f {face}\n")).collect();
    fs::write(&mesh, (0..8).map(corner).collect::<String>() + &faces).unwrap();
    let (mesh, out) = (text(&mesh), text(folder.path()));
    let fixed = ["xian2019-fig9", "--mesh", mesh, "--out", out, "--json"];
    let lines =
        succeed(&[&fixed[..], &["--set", "size=0.03", "--set", "frame=1", "--set", "cycles=4"]].concat());
    let left = values(&lines, "measured");
    assert_eq!(left.len(), 7);
    assert!(left[..6].iter().all(|rate| rate.as_f64().unwrap() < 0.5), "{left:?}");
    assert!(fs::read_to_string(folder.path().join("xian2019-fig9.svg")).unwrap().contains("<polyline"));
}

/// Figure 15 of Milne 2016: after twenty iterations cycles with conjugate gradients have left less than cycles alone, and those less
/// than conjugate gradients alone.
#[test]
fn errors_on_a_face_of_the_cube_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let fixed = ["milne2016-fig15", "--out", text(folder.path()), "--json"];
    let lines = succeed(&[&fixed[..], &["--set", "size=16"]].concat());
    let left: Vec<f64> = values(&lines, "measured").iter().map(|left| left.as_f64().unwrap()).collect();
    assert_eq!(left.len(), 18);
    assert!(left[17] < left[11] && left[11] < left[5], "{left:?}");
    let svg = fs::read_to_string(folder.path().join("milne2016-fig15.svg")).unwrap();
    assert_eq!(svg.matches("<text").count(), 18);
}

/// All three grids of figure 11 of Milne 2016 are solved, the octree with the fewest elements and the least memory.
#[test]
fn octrees_have_fewer_elements_than_uniform_grids() {
    let sets = ["--set", "cells=48", "--set", "resolutions=1", "--set", "newton=1"];
    let lines = succeed(&[&["milne2016-fig11", "--json"][..], &sets].concat());
    let measured: Vec<f64> = values(&lines, "measured").iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(measured.len(), 9, "{lines}");
    for column in [0, 2] {
        assert!(
            measured[column] < measured[3 + column] && measured[3 + column] < measured[6 + column],
            "{lines}"
        );
    }
}
