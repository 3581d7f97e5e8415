//! A symmetric positive definite matrix by rows, each from its first entry to the diagonal, and its Cholesky factor
//! in place. A matrix whose unknowns are numbered along one axis of a plane has short rows, and the factor has no
//! fill outside them.

/// The lower triangle of the matrix.
#[derive(Debug, Default)]
pub(super) struct Skyline {
    rows: Vec<SkylineRow>,
}

/// Columns from `first` to the diagonal.
#[derive(Debug)]
struct SkylineRow {
    first: usize,
    values: Vec<f64>,
}

impl Skyline {
    /// A matrix of zeros.
    pub(super) fn new(unknowns: usize) -> Self {
        Self { rows: (0..unknowns).map(|first| SkylineRow { first, values: vec![0.0] }).collect() }
    }

    /// Adds to an entry of the lower triangle: `column` is at most `row`.
    pub(super) fn add(&mut self, row: usize, column: usize, value: f64) {
        let SkylineRow { first, values } = &mut self.rows[row];
        if column < *first {
            values.splice(0..0, std::iter::repeat_n(0.0, *first - column));
            *first = column;
        }
        values[column - *first] += value;
    }

    /// Solves `A x = b` in place of `b`; the matrix becomes its factor.
    pub(super) fn solve(mut self, b: &mut [f64]) {
        for i in 0..self.rows.len() {
            self.factor(i);
            let row = &self.rows[i];
            let below = row.values.len() - 1;
            let sum = dot(&row.values[..below], &b[row.first..i]);
            b[i] = (b[i] - sum) / row.values[below];
        }
        for (i, row) in self.rows.iter().enumerate().rev() {
            let below = row.values.len() - 1;
            b[i] /= row.values[below];
            let x = b[i];
            b[row.first..i].iter_mut().zip(&row.values).for_each(|(b, l)| *b -= l * x);
        }
    }

    /// Computes a row of the factor from the rows before it.
    fn factor(&mut self, i: usize) {
        let (before, rest) = self.rows.split_at_mut(i);
        let SkylineRow { first, values } = &mut rest[0];
        for (j, other) in before.iter().enumerate().skip(*first) {
            let common = other.first.max(*first);
            let sum = dot(&values[common - *first..j - *first], &other.values[common - other.first..]);
            values[j - *first] = (values[j - *first] - sum) / other.values[j - other.first];
        }
        let below = i - *first;
        let left = values[below] - dot(&values[..below], &values[..below]);
        assert!(left > 0.0, "the matrix is not positive definite: {left} in row {i}");
        values[below] = left.sqrt();
    }
}

/// Over the shorter of both; four sums, since a single one is limited by the latency of additions.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let len = a.len().min(b.len());
    let (a, b) = (a[..len].chunks_exact(4), b[..len].chunks_exact(4));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in a.zip(b) {
        (0..4).for_each(|k| sums[k] += a[k] * b[k]);
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_with_gaps_is_solved() {
        let entries =
            [(0, 0, 4.0), (1, 1, 5.0), (2, 0, 1.0), (2, 2, 6.0), (3, 1, -2.0), (3, 2, 1.5), (3, 3, 7.0)];
        let x = [1.0, -2.0, 0.5, 3.0];
        let mut matrix = Skyline::new(4);
        let mut b = [0.0; 4];
        for (row, column, value) in entries {
            matrix.add(row, column, value);
            b[row] += value * x[column];
            if row != column {
                b[column] += value * x[row];
            }
        }
        matrix.solve(&mut b);
        b.iter().zip(x).for_each(|(found, x)| assert!((found - x).abs() < 1e-12, "{b:?}"));
    }
}
