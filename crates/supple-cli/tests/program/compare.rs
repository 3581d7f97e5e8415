//! `supple compare`: solvers compared on one step.

use std::fs;

use crate::common::{run, succeed, text};

#[test]
fn every_solver_comes_down_to_the_same_solution_and_the_files_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let scene = ["compare", "bar", "--resolution", "0.3", "--frame", "2", "--out", text(folder.path())];
    let solvers = ["--solvers", "cholesky,galerkin,jacobi,lbfgs", "--tolerance", "1e-5", "--json"];
    let output = succeed(&[&scene[..], &solvers[..]].concat());
    let lines: Vec<serde_json::Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    for line in &lines {
        assert!(line["error"].as_f64().unwrap() < 1e-6, "{line}");
        assert!(line["converged"].as_bool().unwrap(), "{line}");
    }
    let csv = fs::read_to_string(folder.path().join("convergence.csv")).unwrap();
    for name in ["cholesky", "galerkin", "jacobi", "lbfgs"] {
        let own: Vec<f64> = csv
            .lines()
            .filter(|line| line.starts_with(&format!("{name},")))
            .map(|line| line.split(',').nth(3).unwrap().parse().unwrap())
            .collect();
        // All start from the same state, where the error is 1 by definition, and the error only decreases.
        assert_eq!(own[0], 1.0, "{name}");
        assert!(own.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12), "{name}: {own:?}");
    }
    assert!(fs::read_to_string(folder.path().join("convergence.svg")).unwrap().starts_with("<svg"));
}

#[test]
fn solvers_that_cannot_take_the_scene_are_left_out_and_no_others() {
    let bar = ["compare", "bar", "--resolution", "0.15", "--budget", "1"];
    let usual = run(&bar);
    let message = String::from_utf8_lossy(&usual.stderr).into_owned();
    assert!(usual.status.success(), "{message}");
    assert!(message.contains("projective was skipped"), "{message}");
    let asked = run(&[&bar[..], &["--solvers", "projective,newton"]].concat());
    let message = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(asked.status.success() && message.contains("projective was skipped"), "{message}");
    let table = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(table.contains("newton") && !table.contains("projective"), "{table}");
    let none_left = run(&[&bar[..], &["--solvers", "projective"]].concat());
    assert_eq!(none_left.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none_left.stderr).contains("projective was skipped"));
}
