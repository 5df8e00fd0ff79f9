"""Linear algebra against PyTorch: values, gradients, gradients of gradients, batches, empties, errors and named
results.

Signs and phases of singular and eigenvectors are free, so what is compared is made of what does not depend on them.
"""

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated")


def matrices(*shape, kind="float64", seed=0):
    random = np.random.default_rng(seed)
    made = random.standard_normal(shape)
    return made + 1j * random.standard_normal(shape) if kind == "complex128" else made


def both(function, *operands, second=True, tolerance=1e-8):
    """The function's results, their gradients and gradients of gradients in both frameworks."""
    results = []
    for framework in (pellucid, torch):
        inputs = [framework.tensor(each, requires_grad=True) for each in operands]
        found = function(framework, *inputs)
        outputs = [each for each in (found if isinstance(found, tuple) else (found,)) if each.requires_grad]
        random = np.random.default_rng(1)
        loss = sum(
            [
                (each * framework.tensor(random.standard_normal(tuple(each.shape)))).abs().pow(2).sum()
                for each in outputs
            ]
        )
        gradients = framework.autograd.grad(loss, inputs, create_graph=True)
        values = [*outputs, *gradients]
        if second:
            values += framework.autograd.grad(sum([each.abs().pow(2).sum() for each in gradients]), inputs)
        results.append([each.detach().resolve_conj().numpy() for each in values])
    for ours, expected in zip(*results, strict=True):
        scale = max(np.abs(expected).max(initial=0), 1)
        np.testing.assert_allclose(ours / scale, expected / scale, rtol=tolerance, atol=tolerance)


def positive(framework, a):
    return a @ a.mH + 2 * framework.eye(a.shape[-1], dtype=a.dtype)


def hermitian(a):
    return a + a.mH


SQUARE = {
    "inv": lambda f, a: f.linalg.inv(a),
    "inverse": lambda f, a: f.inverse(a),
    "det": lambda f, a: f.linalg.det(a),
    "slogdet": lambda f, a: tuple(f.linalg.slogdet(a)),
    "cholesky": lambda f, a: f.linalg.cholesky(positive(f, a)),
    "cholesky upper": lambda f, a: f.linalg.cholesky(positive(f, a), upper=True),
    "cholesky_inverse": lambda f, a: f.cholesky_inverse(f.linalg.cholesky(positive(f, a))),
    "lu": lambda f, a: tuple(f.linalg.lu(a)),
    "lu_factor": lambda f, a: f.linalg.lu_factor(a).LU,
    "eigvalsh": lambda f, a: f.linalg.eigvalsh(hermitian(a)),
    "eigh": lambda f, a: (lambda found: (found[1] * found[0].exp().unsqueeze(-2)) @ found[1].mH)(
        f.linalg.eigh(hermitian(a))
    ),
    "eigvals": lambda f, a: f.linalg.eigvals(a).pow(3).sum(-1),
    "eig": lambda f, a: (lambda v: v.abs().pow(2).sum(-1))(f.linalg.eig(a)[1]),
    "svdvals": lambda f, a: f.linalg.svdvals(a),
    "matrix_exp": lambda f, a: f.linalg.matrix_exp(a),
    "pinv hermitian": lambda f, a: f.linalg.pinv(hermitian(a), hermitian=True),
    "cond": lambda f, a: f.linalg.cond(a),
    "nuclear norm": lambda f, a: f.linalg.matrix_norm(a, "nuc"),
    "spectral norm": lambda f, a: f.linalg.matrix_norm(a, 2),
}


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 4, 4)])
@pytest.mark.parametrize("name", SQUARE)
def test_square(name, shape, kind):
    if name in ("eig", "eigvals") and len(shape) > 2:
        shape = (2, 3, 3)
    both(SQUARE[name], matrices(*shape, kind=kind), second=name not in ("eig",), tolerance=1e-6)


RECTANGULAR = {
    "svd": lambda f, a: (lambda u, s, v: (u * s.sin().unsqueeze(-2)) @ v)(*f.linalg.svd(a, full_matrices=False)),
    "svd left": lambda f, a: (lambda u, s, v: u @ (u.mH * s.unsqueeze(-1)))(*f.linalg.svd(a, full_matrices=False)),
    "torch.svd": lambda f, a: (lambda u, s, v: (u * s.exp().unsqueeze(-2)) @ v.mH)(*f.svd(a)),
    "qr": lambda f, a: tuple(f.linalg.qr(a)),
    "lu": lambda f, a: tuple(f.linalg.lu(a)),
    "lu_unpack": lambda f, a: tuple(f.lu_unpack(*f.linalg.lu_factor(a))),
    "pinv": lambda f, a: f.linalg.pinv(a),
}


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (2, 3, 3)])
@pytest.mark.parametrize("name", RECTANGULAR)
def test_rectangular(name, shape, kind):
    both(RECTANGULAR[name], matrices(*shape, kind=kind), second=name != "qr" or shape[-2] >= shape[-1], tolerance=1e-6)


TWO = {
    "solve": (lambda f, a, b: f.linalg.solve(a, b), (2, 3, 3), (3, 4)),
    "solve vector": (lambda f, a, b: f.linalg.solve(a, b), (3, 3), (3,)),
    "solve right": (lambda f, a, b: f.linalg.solve(a, b, left=False), (3, 3), (2, 4, 3)),
    "solve_triangular": (lambda f, a, b: f.linalg.solve_triangular(a, b, upper=True), (2, 3, 3), (3, 2)),
    "solve_triangular unit": (
        lambda f, a, b: f.linalg.solve_triangular(a, b, upper=False, unitriangular=True),
        (3, 3),
        (3, 2),
    ),
    "solve_triangular right": (
        lambda f, a, b: f.linalg.solve_triangular(a, b, upper=False, left=False),
        (3, 3),
        (2, 3),
    ),
    "triangular_solve": (lambda f, b, a: f.triangular_solve(b, a, transpose=True)[0], (3, 2), (3, 3)),
    "lstsq tall": (lambda f, a, b: f.linalg.lstsq(a, b)[0], (5, 3), (5, 2)),
    "lstsq wide": (lambda f, a, b: f.linalg.lstsq(a, b)[0], (3, 5), (3, 2)),
    "cholesky_solve": (lambda f, b, a: f.cholesky_solve(b, f.linalg.cholesky(positive(f, a))), (3, 2), (3, 3)),
    "lu_solve": (lambda f, a, b: f.linalg.lu_solve(*f.linalg.lu_factor(a), b), (2, 3, 3), (3, 4)),
    "lu_solve adjoint": (lambda f, a, b: f.linalg.lu_solve(*f.linalg.lu_factor(a), b, adjoint=True), (3, 3), (3, 4)),
    "lu_solve right": (lambda f, a, b: f.linalg.lu_solve(*f.linalg.lu_factor(a), b, left=False), (3, 3), (4, 3)),
    "tensorsolve": (lambda f, a, b: f.linalg.tensorsolve(a, b), (2, 3, 6), (2, 3)),
    "householder_product": (lambda f, a, t: f.linalg.householder_product(a, t), (4, 3), (3,)),
}


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("name", TWO)
def test_two_operands(name, kind):
    function, first, second = TWO[name]
    both(
        function,
        matrices(*first, kind=kind),
        matrices(*second, kind=kind, seed=1),
        second="householder" not in name,
        tolerance=1e-6,
    )


def test_larger_matrices_go_through_the_blocked_loops():
    a = matrices(70, 70)
    P, L, U = pellucid.linalg.lu(pellucid.tensor(a))
    np.testing.assert_allclose((P @ L @ U).numpy(), a, atol=1e-10)
    expected = torch.linalg.lu_factor(torch.tensor(a))
    np.testing.assert_array_equal(pellucid.linalg.lu_factor(pellucid.tensor(a)).pivots.numpy(), expected.pivots.numpy())
    b, lower = matrices(70, 3), np.tril(a) + 10 * np.eye(70)
    for upper, triangle in ((False, lower), (True, lower.T)):
        ours = pellucid.linalg.solve_triangular(pellucid.tensor(triangle), pellucid.tensor(b), upper=upper)
        np.testing.assert_allclose(triangle @ ours.numpy(), b, atol=1e-10)


def test_the_gradient_of_a_singular_determinant():
    for rank in (1, 2):
        a = matrices(3, rank) @ matrices(rank, 3)
        ours, expected = [f.tensor(a, requires_grad=True) for f in (pellucid, torch)]
        pellucid.linalg.det(ours).backward()
        torch.linalg.det(expected).backward()
        np.testing.assert_allclose(ours.grad.numpy(), expected.grad.numpy(), atol=1e-9)


def test_repeated_singular_values_hurt_only_their_vectors():
    a = pellucid.eye(3, dtype=pellucid.float64, requires_grad=True)
    pellucid.linalg.svd(a).S.sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.eye(3))
    b = pellucid.eye(3, dtype=pellucid.float64, requires_grad=True)
    pellucid.linalg.eigh(b).eigenvalues.sum().backward()
    np.testing.assert_allclose(b.grad.numpy(), np.eye(3))


ERRORS = {
    "singular": lambda f: f.linalg.inv(f.zeros(2, 2)),
    "singular in a batch": lambda f: f.linalg.inv(f.stack([f.eye(2), f.zeros(2, 2)])),
    "not square": lambda f: f.linalg.inv(f.ones(2, 3)),
    "a vector": lambda f: f.linalg.det(f.ones(3)),
    "integers": lambda f: f.linalg.inv(f.ones(2, 2, dtype=f.int32)),
    "half": lambda f: f.linalg.solve(f.ones(2, 2, dtype=f.float16), f.ones(2, dtype=f.float16)),
    "unsolvable": lambda f: f.linalg.solve(f.zeros(1, 2, 2), f.ones(1, 2)),
    "shapes": lambda f: f.linalg.solve(f.eye(2), f.ones(3, 3)),
    "dtypes": lambda f: f.linalg.solve(f.eye(2), f.ones(2, dtype=f.float64)),
    "not positive": lambda f: f.linalg.cholesky(-f.eye(2)),
    "not positive in a batch": lambda f: f.linalg.cholesky(f.stack([f.eye(2), -f.eye(2)])),
    "not finite": lambda f: f.linalg.svd(f.full((2, 2), float("nan"))),
    "not finite eig": lambda f: f.linalg.eig(f.full((2, 2), float("nan"))),
    "driver": lambda f: f.linalg.svd(f.eye(2), driver="gesvd"),
    "mode": lambda f: f.linalg.qr(f.eye(2), mode="x"),
    "triangle": lambda f: f.linalg.eigh(f.eye(2), UPLO="x"),
    "power": lambda f: f.linalg.matrix_power(f.eye(2), 1.5),
    "removed": lambda f: f.symeig(f.eye(2)),
    "tensorinv": lambda f: f.linalg.tensorinv(f.ones(3, 2, 2)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_pytorchs(name):
    with pytest.raises(Exception) as expected:
        ERRORS[name](torch)
    with pytest.raises(Exception) as ours:
        ERRORS[name](pellucid)
    assert type(ours.value).__name__ == type(expected.value).__name__
    assert str(ours.value)[:35] == str(expected.value)[:35]
    if type(expected.value).__name__ == "_LinAlgError":
        assert isinstance(ours.value, pellucid.linalg.LinAlgError)


EMPTY = {
    "inv": lambda f: f.linalg.inv(f.ones(0, 0)),
    "det": lambda f: f.linalg.det(f.ones(2, 0, 0)),
    "solve": lambda f: f.linalg.solve(f.ones(0, 0), f.ones(0, 3)),
    "svd": lambda f: f.linalg.svd(f.ones(2, 0, 3), full_matrices=False),
    "qr": lambda f: f.linalg.qr(f.ones(3, 0)),
    "eigh": lambda f: f.linalg.eigh(f.ones(0, 2, 2)),
    "eig": lambda f: f.linalg.eig(f.ones(0, 0)),
    "cholesky": lambda f: f.linalg.cholesky(f.ones(0, 0)),
    "lu": lambda f: f.linalg.lu(f.ones(0, 3)),
    "pinv": lambda f: f.linalg.pinv(f.ones(0, 3)),
    "rank": lambda f: f.linalg.matrix_rank(f.ones(0, 3)),
    "exp": lambda f: f.linalg.matrix_exp(f.ones(0, 0)),
    "lstsq": lambda f: f.linalg.lstsq(f.ones(2, 3, 0), f.ones(2, 3, 1)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty(name):
    found, expected = EMPTY[name](pellucid), EMPTY[name](torch)
    several = isinstance(expected, tuple)
    for ours, theirs in zip(found if several else (found,), expected if several else (expected,), strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype)
        if name != "lstsq":
            np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_named_results_and_nodes():
    a = (np.eye(3) * 2).tolist()
    for function in (
        lambda f, x: f.linalg.svd(x), lambda f, x: f.linalg.qr(x), lambda f, x: f.linalg.eigh(x), lambda f,
        x: f.linalg.slogdet(x),
        lambda f, x: f.linalg.inv_ex(x), lambda f, x: f.linalg.cholesky_ex(x), lambda f, x: f.linalg.lu_factor_ex(x),
        lambda f, x: f.linalg.lu(x), lambda f, x: f.slogdet(x), lambda f, x: f.linalg.solve_ex(x, x), lambda f,
        x: f.linalg.eig(x),
    ):  # fmt: skip
        ours, theirs = [function(f, f.tensor(a, requires_grad=True)) for f in (pellucid, torch)]
        assert repr(ours).split("(")[0] == repr(theirs).split("(")[0]
        assert [name for name in dir(theirs) if not name.startswith("_") and not hasattr(ours, name)] in (
            [],
            ["n_sequence_fields", "n_unnamed_fields"],
        )
        for mine, other in zip(ours, theirs, strict=True):
            assert type(mine.grad_fn).__name__ == type(other.grad_fn).__name__


def test_out_and_meta():
    out = pellucid.empty(0)
    assert pellucid.linalg.inv(pellucid.eye(2) * 2, out=out) is out and out.tolist() == [[0.5, 0], [0, 0.5]]
    a = pellucid.empty(2, 3, 3, device="meta")
    assert pellucid.linalg.inv(a).shape == (2, 3, 3) and pellucid.linalg.svd(a).S.shape == (2, 3)
    assert pellucid.linalg.solve(a, a).is_meta and pellucid.linalg.lstsq(a, a).solution.shape == (2, 3, 3)


def test_ranks():
    a = matrices(4, 2) @ matrices(2, 4)
    assert int(pellucid.linalg.matrix_rank(pellucid.tensor(a))) == 2
    assert int(pellucid.linalg.matrix_rank(pellucid.tensor(a), atol=100.0)) == 0
    assert int(pellucid.linalg.matrix_rank(pellucid.tensor(a @ a.T), hermitian=True)) == 2


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_householder_reflections(left, transpose):
    a = matrices(4, 3)
    ours, theirs = pellucid.geqrf(pellucid.tensor(a)), torch.geqrf(torch.tensor(a))
    np.testing.assert_allclose(ours.a.numpy(), theirs.a.numpy(), atol=1e-12)
    np.testing.assert_allclose(ours.tau.numpy(), theirs.tau.numpy(), atol=1e-12)
    other = matrices(4, 2) if left else matrices(2, 4)
    found = pellucid.ormqr(*ours, pellucid.tensor(other), left, transpose)
    np.testing.assert_allclose(
        found.numpy(), torch.ormqr(*theirs, torch.tensor(other), left, transpose).numpy(), atol=1e-12
    )
