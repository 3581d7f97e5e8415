//! `supple solve`: the user's matrix goes in; the solution, the history and one line of JSON come out.

use std::fs;
use std::path::{Path, PathBuf};

use supple::scene::LinearKind;

use crate::common::{run, succeed, text, values};

/// A chain of `n` springs as Matrix Market, and a right-hand side of ones.
fn chain(folder: &Path, n: usize) -> (PathBuf, PathBuf) {
    let mut lines = vec![format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}", 2 * n - 1)];
    lines.extend((1..=n).map(|i| format!("{i} {i} 2.5")));
    lines.extend((2..=n).map(|i| format!("{i} {} -1", i - 1)));
    let (matrix, rhs) = (folder.join("chain.mtx"), folder.join("b.mtx"));
    fs::write(&matrix, lines.join("\n")).unwrap();
    fs::write(&rhs, format!("%%MatrixMarket matrix array real general\n{n} 1\n{}", "1\n".repeat(n))).unwrap();
    (matrix, rhs)
}

/// The numbers of a `.npy` file of doubles.
fn read_npy(path: &Path) -> Vec<f64> {
    let bytes = fs::read(path).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..].chunks(8).map(|chunk| f64::from_le_bytes(chunk.try_into().unwrap())).collect()
}

#[test]
fn every_solver_solves_a_users_system_and_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let n = 100;
    let (matrix, rhs) = chain(folder.path(), n);
    let (out, history) = (folder.path().join("x.npy"), folder.path().join("h.csv"));
    for solver in LinearKind::ALL.map(LinearKind::name) {
        let lines = succeed(&[
            "solve",
            text(&matrix),
            "--rhs",
            text(&rhs),
            "--solver",
            solver,
            "--tolerance",
            "1e-9",
            "--out",
            text(&out),
            "--history",
            text(&history),
            "--json",
            "--threads",
            "2",
        ]);
        assert_eq!(lines.lines().count(), 1, "{lines}");
        for key in ["setup_seconds", "solve_seconds", "bytes"] {
            assert!(values(&lines, key)[0].as_f64().unwrap() > 0.0, "{key}: {lines}");
        }
        assert_eq!(values(&lines, "solver"), [solver]);
        assert_eq!((&values(&lines, "unknowns")[0], &values(&lines, "threads")[0]), (&n.into(), &2.into()));
        assert_eq!(values(&lines, "converged"), [true]);
        assert!(values(&lines, "relative_residual")[0].as_f64().unwrap() <= 1.001e-9, "{lines}");
        let x = read_npy(&out);
        for i in 0..n {
            let beside = if i > 0 { x[i - 1] } else { 0.0 } + x.get(i + 1).copied().unwrap_or(0.0);
            assert!((2.5 * x[i] - beside - 1.0).abs() < 1e-7, "{solver}");
        }
        let table = fs::read_to_string(&history).unwrap();
        let iterations = values(&lines, "iterations")[0].as_u64().unwrap();
        assert_eq!(table.lines().next(), Some("iteration,seconds,relative_residual"));
        assert_eq!(table.lines().count() as u64, iterations + 2, "{solver}: {table}");
    }
}

#[test]
fn too_few_iterations_are_said_and_are_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let (matrix, rhs) = chain(folder.path(), 100);
    let solve = ["solve", text(&matrix), "--rhs", text(&rhs), "--solver", "jacobi", "--max-iterations", "2"];
    let lines = succeed(&[&solve[..], &["--json"]].concat());
    assert_eq!(values(&lines, "converged"), [false]);
    assert_eq!(values(&lines, "iterations"), [2]);
    assert!(succeed(&solve).contains("did not converge"));
}

#[test]
fn systems_that_cannot_be_solved_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (matrix, rhs) = chain(folder.path(), 9);
    let indefinite = folder.path().join("indefinite.mtx");
    fs::write(&indefinite, fs::read_to_string(&matrix).unwrap().replace("5 5 2.5", "5 5 -2.5")).unwrap();
    let other = tempfile::tempdir().unwrap();
    let (_, short) = chain(other.path(), 5);
    let (m, b) = (text(&matrix), text(&rhs));
    let cases: &[(&[&str], &[&str])] = &[
        (&["solve", m, "--rhs", b, "--solver", "magic"], &["magic", "cholesky", "galerkin"]),
        (&["solve", m, "--solver", "jacobi"], &["--rhs"]),
        (&["solve", m, "--rhs", text(&short), "--solver", "jacobi"], &["b.mtx", "5 x 1", "9 rows"]),
        (&["solve", m, "--rhs", m, "--solver", "jacobi"], &["chain.mtx", "line 1", "array"]),
        (
            &["solve", m, "--rhs", b, "--positions", text(&short), "--solver", "schwarz"],
            &["b.mtx", "5 x 1", "9 x 3"],
        ),
        (&["solve", m, "--rhs", b, "--solver", "jacobi", "--tolerance", "2"], &["tolerance", "2"]),
        (&["solve", m, "--rhs", b, "--solver", "jacobi", "--out", "x.txt"], &["x.txt", ".npy"]),
        (
            &["solve", m, "--rhs", b, "--solver", "jacobi", "--out", "no/where/x.npy"],
            &["x.npy", "folder no/where does not exist"],
        ),
        (
            &["solve", m, "--rhs", b, "--solver", "jacobi", "--history", "no/where/h.csv"],
            &["h.csv", "folder no/where does not exist"],
        ),
        (&["solve", "nowhere.mtx", "--rhs", b, "--solver", "jacobi"], &["nowhere.mtx"]),
    ];
    for (arguments, words) in cases {
        let output = run(arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "supple {}: {message}", arguments.join(" "));
        for word in *words {
            assert!(message.contains(word), "supple {}: `{word}` is not in: {message}", arguments.join(" "));
        }
        assert!(output.stdout.is_empty() && !message.contains("panicked"), "{message}");
    }
    for solver in LinearKind::ALL.map(LinearKind::name) {
        let output = run(&["solve", text(&indefinite), "--rhs", b, "--solver", solver]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{solver}: {message}");
        assert!(
            message.contains("indefinite.mtx") && message.contains("positive definite"),
            "{solver}: {message}"
        );
    }
}

#[test]
fn options_of_a_solver_reach_it_and_those_it_has_not_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (matrix, rhs) = chain(folder.path(), 300);
    let solve = |solver, set: &str| {
        let words = ["solve", text(&matrix), "--rhs", text(&rhs), "--solver", solver, "--set", set, "--json"];
        run(&words)
    };
    // A larger domain contains more of the chain, so its factors take more memory.
    let bytes = |set| {
        let done = solve("mas", set);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        values(&String::from_utf8(done.stdout).unwrap(), "bytes")[0].as_u64().unwrap()
    };
    assert!(bytes("domain=64") > bytes("domain=8"));
    for (solver, set, complaint) in [
        ("jacobi", "domain=8", "has no option `domain`"),
        ("mas", "domian=8", "domain"),
        ("mas", "kind=jacobi", "--solver"),
        ("mas", "tolerance=0.1", "--tolerance"),
        ("mas", "modes=7", "3, 6 or 12"),
        // Without --positions the node positions are unknown.
        ("galerkin", "unknowns=12", "positions"),
        ("galerkin", "first=[[0, 0, 0]]", "positions"),
    ] {
        let refused = solve(solver, set);
        assert_eq!(refused.status.code(), Some(2), "{set}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(complaint), "{set}: {said}");
    }
}

/// The squares of its entries underflow to zero in double precision; the right-hand side does not.
#[test]
fn a_tiny_right_hand_side_is_not_taken_for_zero() {
    let folder = tempfile::tempdir().unwrap();
    let (matrix, rhs) = chain(folder.path(), 30);
    let head = "%%MatrixMarket matrix array real general\n30 1\n";
    fs::write(&rhs, format!("{head}{}", "2e-170\n".repeat(30))).unwrap();
    let out = folder.path().join("x.npy");
    for solver in ["jacobi", "gauss-seidel", "cholesky"] {
        let words =
            ["solve", text(&matrix), "--rhs", text(&rhs), "--solver", solver, "--out", text(&out), "--json"];
        let lines = succeed(&words);
        assert_eq!(values(&lines, "converged"), [true]);
        assert!(values(&lines, "iterations")[0].as_u64().unwrap() > 0, "{solver}: {lines}");
        assert!(values(&lines, "relative_residual")[0].as_f64().unwrap() < 1e-3, "{solver}: {lines}");
        assert!(read_npy(&out).iter().all(|x| *x > 1e-172), "{solver}");
    }
}

/// A free chain of springs: every diagonal entry is positive, and a translation of the whole chain costs no energy.
#[test]
fn a_singular_domain_is_not_blamed_on_its_diagonal() {
    let folder = tempfile::tempdir().unwrap();
    let (matrix, rhs) = chain(folder.path(), 12);
    let loose = fs::read_to_string(&matrix).unwrap().replace(" 2.5", " 2").replace("12 12 2\n", "12 12 1\n");
    fs::write(&matrix, loose.replace("\n1 1 2\n", "\n1 1 1\n")).unwrap();
    for solver in ["schwarz", "mas"] {
        let output = run(&["solve", text(&matrix), "--rhs", text(&rhs), "--solver", solver]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{solver}: {message}");
        assert!(message.contains("singular to rounding"), "{solver}: {message}");
    }
}

/// Units must not matter: the same system in other units, near the limits of double precision.
#[test]
fn incomplete_factors_take_matrices_of_any_scale() {
    let folder = tempfile::tempdir().unwrap();
    let (matrix, rhs) = chain(folder.path(), 100);
    let usual = fs::read_to_string(&matrix).unwrap();
    for exponent in ["e300", "e-300"] {
        fs::write(
            &matrix,
            usual.replace(" 2.5", &format!(" 2.5{exponent}")).replace(" -1", &format!(" -1{exponent}")),
        )
        .unwrap();
        for solver in ["ic0", "ict"] {
            let solve = ["solve", text(&matrix), "--rhs", text(&rhs), "--solver", solver, "--json"];
            let lines = succeed(&solve);
            assert_eq!(values(&lines, "converged"), [true], "{solver}, {exponent}: {lines}");
        }
    }
}
