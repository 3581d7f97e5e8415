//! The worker threads. They belong to this module and not to the process: their number may change at any time, and a
//! process forked from one with threads, as by `multiprocessing`, gets its own threads.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use supple_core::parallel::ThreadPool;

use crate::errors::invalid;

/// The threads, and the process that made them.
struct WorkerPool {
    process: u32,
    pool: Arc<ThreadPool>,
}

static THREADS: Mutex<Option<WorkerPool>> = Mutex::new(None);

/// Runs a closure on the threads, without the interpreter lock.
pub(crate) fn in_pool<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = current()?;
    Ok(py.detach(|| pool.install(work)))
}

/// The number of threads.
#[pyfunction]
pub(crate) fn threads() -> PyResult<usize> {
    Ok(current()?.current_num_threads())
}

/// Sets the number of threads [default: number of cores]. The results do not depend on it.
#[pyfunction]
pub(crate) fn set_threads(count: Option<i64>) -> PyResult<()> {
    let count = match count {
        None => 0,
        Some(count @ 1..=1024) => count as usize,
        Some(count) => {
            return Err(invalid(format!("the number of threads is {count}; it must be 1 to 1024")));
        }
    };
    let threads = start(count)?;
    *THREADS.lock().unwrap_or_else(PoisonError::into_inner) = Some(threads);
    Ok(())
}

fn current() -> PyResult<Arc<ThreadPool>> {
    let mut kept = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    let count = match kept.as_ref() {
        Some(threads) if threads.process == process => return Ok(Arc::clone(&threads.pool)),
        Some(parents) => parents.pool.current_num_threads(),
        None => 0,
    };
    // The parent's threads do not exist here, so they cannot be joined: the old pool is leaked.
    std::mem::forget(kept.replace(start(count)?));
    Ok(Arc::clone(&kept.as_ref().expect("just made").pool))
}

fn start(count: usize) -> PyResult<WorkerPool> {
    let pool = supple_core::parallel::ThreadPoolBuilder::new().num_threads(count).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(format!("no threads: {error}")))?;
    Ok(WorkerPool { process: std::process::id(), pool: Arc::new(pool) })
}
