//! Preconditioners and linear solvers for SciPy matrices.

use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use glam::DVec3;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use supple::linear::io::{CsrArrays, SparseMatrix, System};
use supple::linear::{
    self, HistoryPoint, LinearError, Preconditioner as EnginePreconditioner, Simd, Solution, SolveOptions,
    StopRule, preconditioner,
};
use supple::scene::LinearOptions;
use toml::{Table, Value};

use crate::errors::invalid;
use crate::numpy_points::points;
use crate::pool::in_pool;
use crate::tables::{read_tables, to_table};

/// A matrix in arrays, copied from Python.
struct Matrix {
    starts: Vec<i64>,
    columns: Vec<i64>,
    values: Vec<f64>,
    block: usize,
}

impl Matrix {
    fn sparse(&self) -> Result<SparseMatrix, LinearError> {
        let Self { starts, columns, values, block } = self;
        SparseMatrix::from_csr(&CsrArrays { starts, columns, values, block: *block })
    }
}

/// Row starts, columns, values and the number of rows per block.
type MatrixArrays<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>, usize);

fn matrix_of((starts, columns, values, block): &MatrixArrays<'_>) -> Matrix {
    let whole = |array: &PyReadonlyArray1<'_, i64>| array.as_array().to_vec();
    let (starts, columns, values) = (whole(starts), whole(columns), values.as_array().to_vec());
    Matrix { starts, columns, values, block: *block }
}

fn refused(problem: LinearError) -> PyErr {
    invalid(problem.to_string())
}

fn linear_of(options: &Bound<'_, PyDict>) -> PyResult<LinearOptions> {
    let (mut solver, mut tables) = (Table::new(), Table::new());
    solver.insert("linear".into(), Value::Table(to_table(options)?));
    tables.insert("solver".into(), Value::Table(solver));
    Ok(read_tables(&tables, Path::new(""))?.solver.linear())
}

/// An approximate inverse of a matrix.
#[pyclass(frozen, module = "supple._native")]
pub(crate) struct Preconditioner {
    state: Mutex<Approximation>,
}

struct Approximation {
    system: System,
    inverse: Box<dyn EnginePreconditioner>,
    positions: Option<Vec<DVec3>>,
    z: Vec<DVec3>,
}

#[pymethods]
impl Preconditioner {
    #[new]
    fn new(
        py: Python<'_>,
        matrix: MatrixArrays<'_>,
        positions: Option<PyReadonlyArray2<'_, f64>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (matrix, linear) = (matrix_of(&matrix), linear_of(options)?);
        let positions = positions.as_ref().map(points).transpose()?;
        let made = in_pool(py, || Approximation::new(&matrix, positions, &linear))?;
        Ok(Self { state: Mutex::new(made.map_err(refused)?) })
    }

    /// Prepares for another matrix; keeps everything that only depends on its pattern.
    fn update(&self, py: Python<'_>, matrix: MatrixArrays<'_>) -> PyResult<()> {
        let matrix = matrix_of(&matrix);
        let mut guard = self.lock()?;
        let state = &mut *guard;
        in_pool(py, || state.update(&matrix))?.map_err(refused)
    }

    /// The product with a vector.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        r: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let r = r.as_array().to_vec();
        let mut guard = self.lock()?;
        let state = &mut *guard;
        let z = in_pool(py, || state.apply(&r))?.map_err(invalid)?;
        drop(guard);
        Ok(PyArray1::from_vec(py, z))
    }

    #[getter]
    fn unknowns(&self) -> PyResult<usize> {
        Ok(self.lock()?.system.unknowns())
    }

    /// Memory in bytes.
    #[getter]
    fn bytes(&self) -> PyResult<usize> {
        Ok(self.lock()?.inverse.bytes())
    }
}

impl Preconditioner {
    fn lock(&self) -> PyResult<MutexGuard<'_, Approximation>> {
        let busy = "another thread is using this preconditioner; create one per thread";
        self.state.try_lock().map_err(|_| PyRuntimeError::new_err(busy))
    }
}

impl Approximation {
    fn new(
        matrix: &Matrix,
        positions: Option<Vec<DVec3>>,
        linear: &LinearOptions,
    ) -> Result<Self, LinearError> {
        let system = System::with_points(&matrix.sparse()?, positions.clone())?;
        let mut inverse = preconditioner(linear, system.positions.clone(), Simd::Auto)?;
        inverse.update(&system.matrix)?;
        let z = vec![DVec3::ZERO; system.matrix.pattern().unknowns()];
        Ok(Self { system, inverse, positions, z })
    }

    fn update(&mut self, matrix: &Matrix) -> Result<(), LinearError> {
        let sparse = matrix.sparse()?;
        let (rows, before) = (sparse.rows(), self.system.unknowns());
        if rows != before {
            return Err(LinearError::InvalidMatrix(format!(
                "the new matrix has {rows} rows, the previous one {before}; create another preconditioner"
            )));
        }
        let system = System::with_points(&sparse, self.positions.clone())?;
        if let Err(problem) = self.inverse.update(&system.matrix) {
            // A failed update may stop anywhere; restore the previous matrix.
            self.inverse.update(&self.system.matrix)?;
            return Err(problem);
        }
        self.system = system;
        Ok(())
    }

    fn apply(&mut self, r: &[f64]) -> Result<Vec<f64>, String> {
        let (count, rows) = (r.len(), self.system.unknowns());
        if count != rows {
            return Err(format!("the vector has {count} numbers, but the matrix has {rows} rows"));
        }
        self.inverse.apply(&self.system.gather(r), &mut self.z);
        let z = self.system.scatter(&self.z);
        let product: f64 = r.iter().zip(&z).map(|(r, z)| r * z).sum();
        if product.is_nan() || product < 0.0 {
            let cause = if r.iter().all(|number| number.is_finite()) { "matrix" } else { "vector" };
            return Err(match cause {
                "vector" => "the vector contains numbers that are not finite".to_owned(),
                _ => format!(
                    "the preconditioner is not positive definite (rᵀ M r is {product:.1e}): the matrix is not, or too nearly \
                     singular"
                ),
            });
        }
        Ok(z)
    }
}

/// Solves a system. Gives the solution, the report, and the residuals and seconds of every iteration.
#[pyfunction]
#[pyo3(signature = (matrix, rhs, *, positions, options, tolerance, max_iterations))]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    matrix: MatrixArrays<'_>,
    rhs: PyReadonlyArray1<'_, f64>,
    positions: Option<PyReadonlyArray2<'_, f64>>,
    options: &Bound<'_, PyDict>,
    tolerance: f64,
    max_iterations: usize,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>)> {
    let (matrix, linear) = (matrix_of(&matrix), linear_of(options)?);
    let (rhs, positions) = (rhs.as_array().to_vec(), positions.as_ref().map(points).transpose()?);
    let (solver, stop) = (linear.kind.name(), StopRule::tolerance(tolerance, max_iterations));
    let all = SolveOptions { linear, stop, positions, simd: Simd::Auto };
    let solved = in_pool(py, || linear::solve(&matrix.sparse()?, &rhs, all))?.map_err(refused)?;
    py.check_signals()?;
    let Solution { x, report: solved, .. } = solved;
    if let Some(problem) = solved.problem {
        return Err(invalid(problem));
    }
    let report = PyDict::new(py);
    report.set_item("solver", solver)?;
    report.set_item("unknowns", rhs.len())?;
    report.set_item("setup_seconds", solved.setup_time.as_secs_f64())?;
    report.set_item("solve_seconds", solved.solve_time.as_secs_f64())?;
    report.set_item("iterations", solved.iterations)?;
    report.set_item("relative_residual", solved.relative_residual)?;
    report.set_item("converged", solved.converged)?;
    report.set_item("bytes", solved.bytes)?;
    let column = |of: fn(&HistoryPoint) -> f64| PyArray1::from_iter(py, solved.history.iter().map(of));
    report.set_item("residuals", column(|point| point.relative_residual))?;
    report.set_item("seconds", column(|point| point.seconds))?;
    Ok((PyArray1::from_vec(py, x), report))
}
