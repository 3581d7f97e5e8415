"""Preconditioners and solvers for other matrices: SciPy's CSR and BSR, symmetric and positive definite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import FloatArray, IntArray, numbers, points
from ._errors import InvalidInput


class Preconditioner:
    """An approximate inverse of a sparse matrix `A`, for use as `M=` in `scipy.sparse.linalg.cg`.

    `A` is any sparse matrix or array of SciPy, symmetric and positive definite, with one or three unknowns per node; `positions`, shape
    (nodes, 3), provide locality; without them the matrix's graph is used. `M @ r` applies it.

    `kind` is one of the linear solvers of `supple.solvers()`, and `options` are those of its table in the scene format. The classes below
    are the same with the options of one kind.
    """

    def __init__(self, A: Any, kind: str, *, positions: npt.ArrayLike | None = None, **options: object) -> None:
        places = None if positions is None else points(positions, "positions")
        self._native = _native.Preconditioner(_matrix(A), places, {"kind": kind, **options})
        self.shape = (self._native.unknowns, self._native.unknowns)
        self.dtype = np.dtype(np.float64)

    def update(self, A: Any) -> None:
        """Prepares for another matrix of the same size. Data that only depends on its pattern is kept where possible."""
        self._native.update(_matrix(A))

    def matvec(self, r: npt.ArrayLike) -> FloatArray:
        """The product with a vector, of shape (n,) or (n, 1)."""
        vector = np.asarray(r)
        if vector.dtype.kind not in "fiu":
            raise TypeError(f"the vector has the dtype {vector.dtype}; it must contain real numbers")
        flat = np.ascontiguousarray(vector, dtype=np.float64).reshape(-1)
        return self._native.apply(flat).reshape(vector.shape)

    def rmatvec(self, r: npt.ArrayLike) -> FloatArray:
        """The product of the transpose, which is the same: all are symmetric."""
        return self.matvec(r)

    def __matmul__(self, r: npt.ArrayLike) -> FloatArray:
        return self.matvec(r)

    @property
    def nbytes(self) -> int:
        """Its memory in bytes."""
        return self._native.bytes

    def __repr__(self) -> str:
        return f"<supple.{type(self).__name__} of {self.shape[0]} unknowns, {self.nbytes / 1e6:.1f} MB>"


class BlockJacobi(Preconditioner):
    """The inverses of the 3x3 blocks on the diagonal."""

    _kind = "jacobi"

    def __init__(self, A: Any, *, positions: npt.ArrayLike | None = None) -> None:
        super().__init__(A, self._kind, positions=positions)


class Schwarz(Preconditioner):
    """One level of additive Schwarz: the inverses of domains of `domain` nodes, explicit up to 32, else by `sweeps` of Gauss-Seidel."""

    _kind = "schwarz"

    def __init__(
        self, A: Any, *, positions: npt.ArrayLike | None = None, domain: int | None = None, sweeps: int | None = None
    ) -> None:
        super().__init__(A, self._kind, positions=positions, domain=domain, sweeps=sweeps)


class IncompleteCholesky(Preconditioner):
    """Incomplete Cholesky without fill, or, with `drop_tolerance` or `fill`, with a threshold.

    Blocks below the fraction `drop_tolerance` of their diagonals' geometric mean are dropped (0.01); a column keeps at most `fill` times
    the matrix's blocks (4).
    """

    _kind = "ic0"

    def __init__(
        self,
        A: Any,
        *,
        positions: npt.ArrayLike | None = None,
        drop_tolerance: float | None = None,
        fill: float | None = None,
    ) -> None:
        if drop_tolerance is not None or fill is not None:
            self._kind = "ict"
        super().__init__(A, self._kind, positions=positions, drop_tolerance=drop_tolerance, fill=fill)


class GaussSeidel(Preconditioner):
    """A sweep of coloured Gauss-Seidel."""

    _kind = "gauss-seidel"

    def __init__(self, A: Any, *, positions: npt.ArrayLike | None = None) -> None:
        super().__init__(A, self._kind, positions=positions)


class Cholesky(Preconditioner):
    """The sparse Cholesky factorisation: the exact inverse, to rounding."""

    _kind = "cholesky"

    def __init__(self, A: Any, *, positions: npt.ArrayLike | None = None) -> None:
        super().__init__(A, self._kind, positions=positions)


class Galerkin(Preconditioner):
    """A V-cycle of the Galerkin multigrid of Xian, Tong and Liu 2019.

    `levels` are the numbers of nodes of the coarse levels, `"auto"` by default; `unknowns` per coarse node are 12, an affine motion, or 3;
    `smoother` is `"gauss-seidel"` or `"jacobi"`; `distances` are `"stiffness"` or `"geodesic"`; `sweeps` and `coarse_sweeps` are those on the
    finest and on the coarse levels.
    """

    _kind = "galerkin"

    def __init__(
        self,
        A: Any,
        *,
        positions: npt.ArrayLike | None = None,
        levels: str | list[int] | None = None,
        unknowns: int | None = None,
        smoother: str | None = None,
        distances: str | None = None,
        sweeps: int | None = None,
        coarse_sweeps: int | None = None,
    ) -> None:
        options: dict[str, object] = {
            "levels": levels,
            "unknowns": unknowns,
            "smoother": smoother,
            "distances": distances,
            "sweeps": sweeps,
            "coarse_sweeps": coarse_sweeps,
        }
        super().__init__(A, self._kind, positions=positions, **options)


class MultilevelSchwarz(Preconditioner):
    """The multilevel additive Schwarz preconditioner of Wu, Wang and Wang 2022.

    `domain` is the number of nodes per domain (32), `modes` the unknowns per supernode, 3, 6 or 12 (6), `partition` how domains are built
    (`"stiffness"`, `"morton"`), `layout` how inverses are stored (`"i16"`, `"f32"`).
    """

    _kind = "mas"

    def __init__(
        self,
        A: Any,
        *,
        positions: npt.ArrayLike | None = None,
        domain: int | None = None,
        modes: int | None = None,
        partition: str | None = None,
        layout: str | None = None,
    ) -> None:
        options: dict[str, object] = {"domain": domain, "modes": modes, "partition": partition, "layout": layout}
        super().__init__(A, self._kind, positions=positions, **options)


@dataclass(frozen=True)
class SolveReport:
    """Statistics of a linear solve."""

    #: The solver's name.
    solver: str
    #: Scalar unknowns.
    unknowns: int
    #: Iterations done.
    iterations: int
    #: |b - A x| / |b|, recomputed at the end.
    relative_residual: float
    #: Whether the tolerance was reached.
    converged: bool
    #: Seconds before the first iteration.
    setup_seconds: float
    #: Seconds of the iterations.
    solve_seconds: float
    #: Memory of the solver in bytes.
    bytes: int
    #: The relative residual at the start and after every iteration.
    residuals: FloatArray
    #: The time of each, in seconds since the start of the solve.
    seconds: FloatArray

    def plot(self) -> Any:
        """The residuals over the iterations, as axes of matplotlib, which must be installed."""
        from ._plot import residual_axes

        return residual_axes(self.residuals, f"{self.solver}, {self.unknowns} unknowns", "iteration")


def solve(
    A: Any,
    b: npt.ArrayLike,
    *,
    positions: npt.ArrayLike | None = None,
    solver: str = "mas",
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
    options: dict[str, object] | None = None,
) -> tuple[FloatArray, SolveReport]:
    """Solves `A x = b` and returns the solution, in the shape of `b`, and its statistics.

    `A` and `positions` are as for `Preconditioner`, `b` has the shape (n,), or (nodes, 3) for three unknowns per node. `solver` is one of the
    linear solvers of `supple.solvers()`, and `options` are those of its table in the scene format. It stops when the residual's norm is the
    fraction `tolerance` of that of `b`, or after `max_iterations`; `converged` in the report tells which.
    """
    if not 0.0 <= tolerance < 1.0:
        raise InvalidInput(f"`tolerance` is {tolerance}; it must be a fraction from 0 to below 1")
    if max_iterations < 0:
        raise InvalidInput(f"`max_iterations` is {max_iterations}; it must be 0 or above")
    known = _native.solver_words()[1]
    if solver not in known:
        raise InvalidInput(f"there is no linear solver `{solver}`; available: {', '.join(known)}")
    matrix = _matrix(A)
    rhs = numbers(b, "b")
    rows = len(matrix[0]) - 1
    if rhs.size != rows:
        raise InvalidInput(f"`b` has the shape {rhs.shape}; the matrix has {rows} rows")
    x, report = _native.solve(
        matrix,
        rhs.reshape(-1),
        positions=None if positions is None else points(positions, "positions"),
        options={"kind": solver, **(options or {})},
        tolerance=float(tolerance),
        max_iterations=int(max_iterations),
    )
    return x.reshape(rhs.shape), SolveReport(**report)


def solvers() -> tuple[list[str], list[str]]:
    """The names of the methods, and those of the linear solvers."""
    return _native.solver_words()


def _matrix(A: Any) -> tuple[IntArray, IntArray, FloatArray, int]:
    """Row starts, columns, values and the rows per block."""
    if not hasattr(A, "tocsr") or not hasattr(A, "format"):
        kind = type(A).__name__
        raise TypeError(f"the matrix is a `{kind}`; it must be a SciPy sparse matrix, such as `scipy.sparse.csr_array(A)`")
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise InvalidInput(f"the matrix has the shape {tuple(A.shape)}; it must be square")
    if A.dtype.kind not in "fiu":
        raise TypeError(f"the matrix has the dtype {A.dtype}; it must contain real numbers")
    block = int(A.blocksize[0]) if A.format == "bsr" else 1
    rows = A.tocsr()
    return (
        np.ascontiguousarray(rows.indptr, dtype=np.int64),
        np.ascontiguousarray(rows.indices, dtype=np.int64),
        np.ascontiguousarray(rows.data, dtype=np.float64),
        block,
    )
