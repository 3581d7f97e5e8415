//! Eigenvalues of symmetric matrices of any size, for tests: cyclic Jacobi rotations (Golub and Van Loan, "Matrix
//! Computations", section 8.5). Slow, short, and accurate to rounding relative to the largest eigenvalue.

/// The eigenvalues, ascending, of the symmetric matrix of `n` rows whose lower triangle is `entry(row, column)`.
pub fn eigenvalues(n: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let row = |i: usize| (0..n).map(|j| entry(i.max(j), i.min(j))).collect();
    let mut a: Vec<Vec<f64>> = (0..n).map(row).collect();
    let size = a.iter().flatten().map(|v| v * v).sum::<f64>().sqrt();
    let mut sweeps = 0;
    while off_diagonal(&a) > n as f64 * f64::EPSILON * size {
        sweeps += 1;
        assert!(sweeps < 50, "Jacobi rotations do not converge; is every entry finite?");
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, p, q);
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The norm of all entries off the diagonal; infinite if one is not finite.
fn off_diagonal(a: &[Vec<f64>]) -> f64 {
    let squares = (0..a.len()).map(|i| a[i][..i].iter().map(|v| v * v).sum::<f64>()).sum::<f64>();
    let norm = (2.0 * squares).sqrt();
    if norm.is_finite() { norm } else { f64::INFINITY }
}

/// The rotation of rows and columns `p` and `q` that makes their common entry zero.
fn rotate(a: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / t.hypot(1.0);
    let sine = t * cosine;
    let turn = |x: &mut f64, y: &mut f64| (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    let (above, below) = a.split_at_mut(q);
    above[p].iter_mut().zip(&mut below[0]).for_each(|(x, y)| turn(x, y));
    for row in a.iter_mut() {
        let (left, right) = row.split_at_mut(q);
        turn(&mut left[p], &mut right[0]);
    }
    (a[p][q], a[q][p]) = (0.0, 0.0);
}

#[test]
fn eigenvalues_of_the_second_difference_are_known() {
    let n = 60;
    let entry = |i: usize, j: usize| [2.0, -1.0].get(i - j).copied().unwrap_or(0.0);
    for (k, value) in eigenvalues(n, entry).into_iter().enumerate() {
        let angle = std::f64::consts::PI * (k + 1) as f64 / (n + 1) as f64;
        assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-13, "{k}: {value}");
    }
}
