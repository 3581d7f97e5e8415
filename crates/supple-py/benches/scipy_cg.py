"""Iterations of SciPy's conjugate gradients with our preconditioners against our own: python scipy_cg.py [SIDE] [TOLERANCE] [CLASS]...

The matrix is that of springs along the edges of a square grid and its diagonals, three unknowns per node, 100,489 nodes by default.
"""

import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg

import supple

side = int(sys.argv[1]) if len(sys.argv) > 1 else 317
tolerance = float(sys.argv[2]) if len(sys.argv) > 2 else 1e-6
nodes = np.arange(side * side).reshape(side, side)
i, j = np.divmod(nodes.ravel(), side)
rng = np.random.default_rng(0)
positions = np.column_stack([i, 0.3 * rng.standard_normal(side * side), j]).astype(float)
ends = [(nodes[1:], nodes[:-1]), (nodes[:, 1:], nodes[:, :-1]), (nodes[1:, 1:], nodes[:-1, :-1]), (nodes[1:, :-1], nodes[:-1, 1:])]
pairs = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in ends])
d = positions[pairs[:, 0]] - positions[pairs[:, 1]]
d /= np.linalg.norm(d, axis=1, keepdims=True)
springs = d[:, :, None] * d[:, None, :]
mass = np.broadcast_to(1e-3 * np.eye(3), (side * side, 3, 3))
blocks = np.concatenate([springs, springs, -springs, -springs, mass])
rows = np.concatenate([pairs[:, 0], pairs[:, 1], pairs[:, 0], pairs[:, 1], nodes.ravel()])
columns = np.concatenate([pairs[:, 0], pairs[:, 1], pairs[:, 1], pairs[:, 0], nodes.ravel()])
at = np.arange(3)
r = np.broadcast_to(3 * rows[:, None, None] + at[:, None], blocks.shape).ravel()
c = np.broadcast_to(3 * columns[:, None, None] + at, blocks.shape).ravel()
A = sp.coo_array((blocks.ravel(), (r, c)), shape=(3 * side * side,) * 2).tocsr()
b = rng.standard_normal(3 * side * side)
print(f"{side * side} nodes, {A.nnz} entries, to {tolerance:.0e}")

for name in sys.argv[3:] or ["BlockJacobi", "MultilevelSchwarz", "Galerkin"]:
    kind = getattr(supple, name)
    M = kind(A, positions=positions)
    count = 0

    def step(_: object) -> None:
        global count
        count += 1

    started = time.perf_counter()
    x, info = cg(A, b, rtol=tolerance, M=M, callback=step)
    seconds = time.perf_counter() - started
    _, report = supple.solve(A, b, positions=positions, solver=M._kind, tolerance=tolerance)
    print(
        f"{name:18} SciPy {count:4} iterations in {seconds:6.2f} s, "
        f"ours {report.iterations:4} in {report.solve_seconds:6.2f} s"
    )
