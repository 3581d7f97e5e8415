"""Preconditioners and solvers on SciPy matrices, against SciPy's own direct solver."""

import numpy as np
import pytest

import supple

sp = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")

CLASSES = [
    supple.BlockJacobi,
    supple.Schwarz,
    supple.IncompleteCholesky,
    supple.Cholesky,
    supple.Galerkin,
    supple.MultilevelSchwarz,
]


def laplace(n):
    """The five-point matrix on n x n nodes with a little of the identity, and the nodes' positions."""
    line = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    matrix = sp.csr_array(sp.kronsum(line, line) + 1e-3 * sp.eye_array(n * n))
    x, y = np.meshgrid(np.arange(n), np.arange(n))
    return matrix, np.column_stack([x.ravel(), y.ravel(), np.zeros(n * n)]).astype(float)


def elastic(n):
    """Three coupled unknowns per node: springs between neighbours of a grid, in BSR."""
    _, positions = laplace(n)
    nodes = np.arange(n * n).reshape(n, n)
    pairs = np.concatenate(
        [np.column_stack([a.ravel(), b.ravel()]) for a, b in
         [(nodes[1:], nodes[:-1]), (nodes[:, 1:], nodes[:, :-1]), (nodes[1:, 1:], nodes[:-1, :-1])]]
    )
    rows, columns, blocks = [], [], []
    for i, j in pairs:
        d = positions[i] - positions[j]
        block = np.outer(d, d) / (d @ d) + 0.05 * np.eye(3)
        rows += [i, j, i, j]
        columns += [i, j, j, i]
        blocks += [block, block, -block, -block]
    rows += range(n * n)
    columns += range(n * n)
    blocks += [0.01 * np.eye(3)] * (n * n)
    at = np.arange(3)
    r = (3 * np.array(rows)[:, None, None] + at[:, None]).repeat(3, axis=2)
    c = (3 * np.array(columns)[:, None, None] + at).repeat(3, axis=1)
    matrix = sp.coo_array((np.array(blocks).ravel(), (r.ravel(), c.ravel())), shape=(3 * n * n, 3 * n * n))
    return sp.bsr_array(matrix.tocsr(), blocksize=(3, 3)), positions


@pytest.mark.parametrize("solver", supple.solvers()[1])
@pytest.mark.parametrize("system", [laplace, elastic])
def test_every_solver_finds_the_solution_of_the_direct_one(solver, system):
    A, positions = system(14)
    b = np.random.default_rng(0).standard_normal(A.shape[0])
    x, report = supple.solve(A, b, positions=positions, solver=solver, tolerance=1e-9, max_iterations=20000)
    assert report.converged and report.solver == solver and report.unknowns == len(b)
    np.testing.assert_allclose(x, linalg.spsolve(A.tocsc(), b), rtol=0, atol=1e-5)
    assert len(report.residuals) == len(report.seconds) == report.iterations + 1
    assert report.residuals[0] == 1.0 and report.residuals[-1] <= 1e-9
    true = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
    assert report.relative_residual == pytest.approx(true, rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("system", [laplace, elastic])
def test_preconditioners_are_symmetric_and_positive(kind, system):
    A, positions = system(12)
    M = kind(A, positions=positions)
    assert M.shape == A.shape and M.nbytes > 0
    rng = np.random.default_rng(3)
    for _ in range(3):
        a, b = rng.standard_normal((2, A.shape[0]))
        assert a @ (M @ b) == pytest.approx(b @ (M @ a), rel=1e-4, abs=1e-4)
        assert a @ (M @ a) > 0


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("system", [laplace, elastic])
def test_scipys_conjugate_gradients_need_as_many_iterations_as_ours(kind, system):
    A, positions = system(24)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    M = kind(A, positions=positions)
    count = 0

    def step(_):
        nonlocal count
        count += 1

    x, info = linalg.cg(A, b, rtol=1e-8, M=M, callback=step)
    assert info == 0 and np.linalg.norm(b - A @ x) <= 1.01e-8 * np.linalg.norm(b)
    _, report = supple.solve(A, b, positions=positions, solver=kind._kind, tolerance=1e-8)
    assert abs(count - report.iterations) <= 2


def test_better_preconditioners_need_fewer_iterations():
    A, positions = elastic(24)
    b = np.random.default_rng(2).standard_normal(A.shape[0])
    count = {
        word: supple.solve(A, b, positions=positions, solver=word)[1].iterations
        for word in ("jacobi", "mas", "galerkin", "cholesky")
    }
    assert count["cholesky"] <= 2 and count["galerkin"] < count["mas"] < count["jacobi"]


def test_an_updated_preconditioner_is_that_of_the_new_matrix():
    A, positions = elastic(10)
    B = sp.bsr_array(A.tocsr() + 5.0 * sp.eye_array(A.shape[0]), blocksize=(3, 3))
    r = np.random.default_rng(4).standard_normal(A.shape[0])
    for kind in CLASSES:
        M = kind(A, positions=positions)
        first = M @ r
        M.update(B)
        np.testing.assert_allclose(M @ r, kind(B, positions=positions) @ r, rtol=1e-3, atol=1e-3 * np.abs(first).max())
        M.update(A)
        np.testing.assert_allclose(M @ r, first, rtol=1e-6, atol=1e-9)
        with pytest.raises(supple.InvalidInput, match="create another"):
            M.update(laplace(4)[0])


def test_a_matrix_that_is_refused_leaves_the_preconditioner_as_it_was():
    A, positions = elastic(10)
    r = np.random.default_rng(5).standard_normal(A.shape[0])
    for kind in (supple.MultilevelSchwarz, supple.Galerkin, supple.Cholesky):
        M = kind(A, positions=positions)
        first = M @ r
        with pytest.raises(supple.InvalidInput):
            M.update(-A)
        np.testing.assert_allclose(M @ r, first, rtol=1e-6, atol=1e-9)


def test_matrices_of_all_formats_are_the_same():
    A, positions = laplace(8)
    b = np.arange(64.0)
    expected = supple.solve(A, b, positions=positions)[0]
    for other in (A.tocsc(), A.tocoo(), A.tobsr((2, 2)), sp.csr_matrix(A), A.astype(np.float32), A.tolil()):
        np.testing.assert_allclose(supple.solve(other, b, positions=positions)[0], expected, rtol=1e-4)


def test_the_solution_has_the_shape_of_the_right_hand_side():
    A, positions = elastic(6)
    b = np.ones((36, 3))
    assert supple.solve(A, b, positions=positions)[0].shape == (36, 3)
    assert (supple.MultilevelSchwarz(A) @ np.ones((108, 1))).shape == (108, 1)


def test_a_solve_that_does_not_converge_is_reported_not_raised():
    A, _ = laplace(20)
    x, report = supple.solve(A, np.ones(400), solver="jacobi", tolerance=1e-12, max_iterations=3)
    assert not report.converged and report.iterations == 3 and np.isfinite(x).all()


def with_entry(value, row=5, column=6):
    A = laplace(6)[0].tolil()
    A[row, column] = value
    return A.tocsr()


def holed():
    A = laplace(6)[0].copy()
    A.indices[3] = 99
    return A


INDEFINITE = sp.csr_array(laplace(6)[0] - 4.0 * sp.eye_array(36))


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (with_entry(7.0), r"not symmetric: entry \(5, 6\) is 7"),
        (with_entry(np.nan), "(5, 6) is NaN|must be finite"),
        (sp.csr_array(np.ones((3, 4))), "square"),
        (holed(), "column 99"),
        (INDEFINITE, "positive definite"),
        (sp.csr_array(-np.eye(9)), "positive definite"),
        (sp.csr_array((9, 9)), "positive definite|diagonal|singular"),
    ],
)
@pytest.mark.parametrize("solver", ["jacobi", "ic0", "cholesky", "galerkin", "mas"])
def test_matrices_that_cannot_be_solved_are_refused(matrix, words, solver):
    b = np.random.default_rng(5).standard_normal(matrix.shape[0])
    with pytest.raises(supple.InvalidInput, match=words):
        supple.solve(matrix, b, solver=solver)


@pytest.mark.parametrize("kind", CLASSES)
def test_an_indefinite_matrix_never_yields_a_quiet_preconditioner(kind):
    with pytest.raises(supple.InvalidInput, match="definite"):
        M = kind(INDEFINITE)
        linalg.cg(INDEFINITE, np.random.default_rng(6).standard_normal(36), M=M, maxiter=200)
        supple.solve(INDEFINITE, np.ones(36), solver=kind._kind)


def test_arguments_that_cannot_be_are_refused():
    A, positions = laplace(6)
    b = np.ones(36)
    for call, words in [
        (lambda: supple.solve(A, np.ones(35)), "36 rows"),
        (lambda: supple.solve(A, np.full(36, np.nan)), "nan"),
        (lambda: supple.solve(A, b, positions=positions[:5]), "5 positions"),
        (lambda: supple.solve(A, b, positions=positions[:, :2]), r"\(n, 3\)"),
        (lambda: supple.solve(A, b, positions=np.full((36, 3), np.inf)), "inf"),
        (lambda: supple.solve(A, b, solver="magic"), "cholesky"),
        (lambda: supple.solve(A, b, tolerance=1.0), "tolerance"),
        (lambda: supple.solve(A, b, max_iterations=-1), "max_iterations"),
        (lambda: supple.solve(A, b, options={"modes": 5}), "modes"),
        (lambda: supple.solve(A, b, options={"mode": 6}), "modes"),
        (lambda: supple.Galerkin(A, smoother="magic"), "gauss-seidel"),
        (lambda: supple.MultilevelSchwarz(A, domain=1), "domain"),
        (lambda: supple.MultilevelSchwarz(A) @ np.ones(5), "5 numbers"),
        (lambda: supple.MultilevelSchwarz(A) @ np.full(36, np.nan), "not finite"),
    ]:
        with pytest.raises(supple.InvalidInput, match=words):
            call()
    for call in (
        lambda: supple.solve(A.toarray(), b),
        lambda: supple.solve("A", b),
        lambda: supple.solve(A.astype(complex), b),
        lambda: supple.solve(A, b.astype(complex)),
        lambda: supple.BlockJacobi(A) @ np.ones(36, dtype=complex),
        lambda: supple.Preconditioner(A, "mas", None),
    ):
        with pytest.raises(TypeError):
            call()


def test_every_linear_solver_that_preconditions_does_so_by_its_name():
    A, positions = elastic(8)
    b = np.ones(A.shape[0])
    for name in supple.solvers()[1]:
        if name == "chebyshev":
            with pytest.raises(supple.InvalidInput, match="not a preconditioner"):
                supple.Preconditioner(A, name, positions=positions)
        else:
            M = supple.Preconditioner(A, name, positions=positions)
            assert b @ (M @ b) > 0.0
    with pytest.raises(supple.InvalidInput, match="no option `domain`"):
        supple.Preconditioner(A, "jacobi", domain=8)
