//! Points and indices between NumPy and the engine.

#![allow(unsafe_code, reason = "NumPy borrows the memory of points that Python keeps alive")]

use std::sync::Arc;

use glam::DVec3;
use numpy::ndarray::ArrayView2;
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::invalid;

/// Rows of three numbers as points.
pub(crate) fn points(array: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<DVec3>> {
    match array.shape() {
        &[_, 3] => Ok(array.as_array().outer_iter().map(|row| DVec3::new(row[0], row[1], row[2])).collect()),
        shape => Err(invalid(format!("points need shape (n, 3), not {shape:?}"))),
    }
}

/// Integers as indices below `count`; `what` appears in errors.
pub(crate) fn indices(array: &PyReadonlyArray1<'_, i64>, count: usize, what: &str) -> PyResult<Vec<u32>> {
    let checked = |(place, &index): (usize, &i64)| match u32::try_from(index) {
        Ok(fine) if (fine as usize) < count => Ok(fine),
        _ => Err(invalid(format!("{what} {place} is {index}; there are {count} vertices, numbered from 0"))),
    };
    array.as_array().iter().enumerate().map(checked).collect()
}

/// Keeps points alive for the arrays that view them.
#[pyclass(frozen)]
struct SharedPoints(Arc<Vec<DVec3>>);

/// A read-only array that views points without copying them.
pub(crate) fn shared(py: Python<'_>, points: Arc<Vec<DVec3>>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let container = Bound::new(py, SharedPoints(points))?;
    let numbers: &[f64] = bytemuck::cast_slice(container.get().0.as_slice());
    let view = ArrayView2::from_shape((numbers.len() / 3, 3), numbers).expect("three numbers per point");
    // SAFETY: the container, which the array references, owns the numbers and never moves them; other owners can only
    // read them meanwhile, since writing requires the sole `Arc`; and the array is made read-only before it is
    // returned.
    let array = unsafe { PyArray2::borrow_from_array(&view, container.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// A new array of points.
pub(crate) fn owned(py: Python<'_>, points: Vec<DVec3>) -> Bound<'_, PyArray2<f64>> {
    let array = PyArray2::zeros(py, [points.len(), 3], false);
    array.readwrite().as_slice_mut().expect("just made").copy_from_slice(bytemuck::cast_slice(&points));
    array
}
