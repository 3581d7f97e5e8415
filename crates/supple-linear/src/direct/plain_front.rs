//! The dense elimination of [`super::front`] in plain loops: each number is computed in the same order on every machine.

use super::front::DenseFront;

/// Columns processed together.
const WIDE: usize = 4;
/// Rows processed together.
const TALL: usize = 4;

/// Factorises the front's columns in sequence, then subtracts their outer product from the update.
pub(super) fn eliminate(front: DenseFront) -> bool {
    let DenseFront { rows, columns, factor, update } = front;
    for j in 0..columns {
        let (done, rest) = factor.split_at_mut(j * rows);
        let column = &mut rest[..rows];
        for finished in done.chunks_exact(rows) {
            let scale = finished[j];
            column[j..].iter_mut().zip(&finished[j..]).for_each(|(value, l)| *value -= scale * l);
        }
        let pivot = column[j];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let root = pivot.sqrt();
        column[j..].iter_mut().for_each(|value| *value /= root);
    }
    let below = rows - columns;
    for j in (0..below).step_by(WIDE) {
        for i in (j..below).step_by(TALL) {
            subtract_tile(factor, rows, columns, update, [i, j]);
        }
    }
    true
}

/// Subtracts one tile of the outer product; tiles on the diagonal also write a little above it.
fn subtract_tile(factor: &[f64], rows: usize, columns: usize, update: &mut [f64], [i, j]: [usize; 2]) {
    let below = rows - columns;
    let (tall, wide) = (TALL.min(below - i), WIDE.min(below - j));
    let mut sums = [[0.0; TALL]; WIDE];
    for column in factor.chunks_exact(rows) {
        let down = &column[columns + i..][..tall];
        let across = &column[columns + j..][..wide];
        if let (Ok(down), Ok(across)) = (<&[f64; TALL]>::try_from(down), <&[f64; WIDE]>::try_from(across)) {
            for (sum, b) in sums.iter_mut().zip(across) {
                sum.iter_mut().zip(down).for_each(|(value, a)| *value += a * b);
            }
        } else {
            for (sum, b) in sums.iter_mut().zip(across) {
                sum.iter_mut().zip(down).for_each(|(value, a)| *value += a * b);
            }
        }
    }
    for (b, sum) in sums.iter().enumerate().take(wide) {
        let target = &mut update[(j + b) * below + i..][..tall];
        target.iter_mut().zip(sum).for_each(|(value, sum)| *value -= sum);
    }
}
