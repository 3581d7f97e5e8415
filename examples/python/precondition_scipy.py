"""SciPy's conjugate gradients on your own matrix, with and without a multilevel preconditioner."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg

import supple

n = 60
line = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
A = sp.csr_array(sp.kronsum(line, line) + 1e-6 * sp.eye_array(n * n))
b = np.ones(n * n)
x, y = np.meshgrid(np.arange(n), np.arange(n))
positions = np.column_stack([x.ravel(), y.ravel(), np.zeros(n * n)]) / n


def iterations(M: Any) -> int:
    residuals: list[float] = []
    _, info = cg(A, b, rtol=1e-8, M=M, callback=lambda x: residuals.append(0.0))
    assert info == 0
    return len(residuals)


print("without a preconditioner:", iterations(None))
print("with multilevel Schwarz: ", iterations(supple.MultilevelSchwarz(A, positions=positions)))
print("with Galerkin multigrid: ", iterations(supple.Galerkin(A, positions=positions)))
solution, report = supple.solve(A, b, positions=positions, solver="mas", tolerance=1e-8)
print(f"supple.solve: {report.iterations} iterations, residual {report.relative_residual:.1e}")
