"""ldl_factor and ldl_solve against PyTorch (LAPACK): factors, pivots, solutions, errors."""

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")


def matrices(size, kind, hermitian, seed):
    random = np.random.default_rng(seed)
    made = random.standard_normal((3, size, size))
    if kind.startswith("complex"):
        made = made + 1j * random.standard_normal((3, size, size))
    turned = made.swapaxes(-1, -2)
    made = (made + (turned.conj() if hermitian else turned)).astype(kind)
    made[1] -= np.diag(made[1].diagonal())  # zeros on the diagonal call for blocks of two
    return made


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8, 13, 40])
@pytest.mark.parametrize(("kind", "hermitian"), [("float64", False), ("complex128", False), ("complex128", True)])
def test_factors_pivots_and_solutions(size, kind, hermitian):
    for seed in range(3):
        A = matrices(size, kind, hermitian, seed)
        if size == 1:
            A[1] = 1
        right = matrices(size, kind, hermitian, seed + 10)[..., :2] if size > 1 else np.ones((3, size, 2), kind)
        expected = torch.linalg.ldl_factor_ex(torch.from_numpy(A), hermitian=hermitian)
        found = pellucid.linalg.ldl_factor_ex(pellucid.from_numpy(A), hermitian=hermitian)
        assert found.pivots.tolist() == expected.pivots.tolist()
        np.testing.assert_allclose(found.LD.numpy(), expected.LD.numpy(), rtol=1e-8, atol=1e-9)
        assert found.info.tolist() == expected.info.tolist()
        x = pellucid.linalg.ldl_solve(found.LD, found.pivots, pellucid.from_numpy(right), hermitian=hermitian)
        np.testing.assert_allclose(A @ x.numpy(), right, rtol=1e-6, atol=1e-6)


def test_singular_matrices():
    for f in (pellucid, torch):
        assert f.linalg.ldl_factor_ex(f.zeros(2, 2)).info.item() == 1
        with pytest.raises(RuntimeError):
            f.linalg.ldl_factor(f.zeros(2, 2))
        with pytest.raises(RuntimeError):
            f.linalg.ldl_factor_ex(f.zeros(2, 2), check_errors=True)


ERRORS = {
    "not square": lambda f: f.linalg.ldl_factor(f.ones(2, 3)),
    "one dimension": lambda f: f.linalg.ldl_factor(f.ones(2)),
    "whole numbers": lambda f: f.linalg.ldl_factor(f.ones(2, 2, dtype=f.int64)),
    "other sizes": lambda f: f.linalg.ldl_solve(*f.linalg.ldl_factor(f.eye(2)), f.ones(3, 1)),
    "vector": lambda f: f.linalg.ldl_solve(*f.linalg.ldl_factor(f.eye(2)), f.ones(2)),
    "other pivots": lambda f: f.linalg.ldl_solve(f.eye(2), f.ones(3, dtype=f.int32), f.ones(2, 1)),
    "other dtype": lambda f: f.linalg.ldl_solve(*f.linalg.ldl_factor(f.eye(2)), f.ones(2, 1).double()),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    with pytest.raises(Exception) as expected:
        ERRORS[name](torch)
    with pytest.raises(expected.type) as found:
        ERRORS[name](pellucid)
    assert str(found.value).startswith(str(expected.value)[:22])
