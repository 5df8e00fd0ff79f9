"""einsum, tensordot, kron, chains of matrices, cross products, distances: values, gradients and errors against
PyTorch.
"""

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,kj->ki", (2, 3), (4, 3)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bij,bjk->ik", (5, 2, 3), (5, 3, 4)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (4, 3, 2)),
    ("i...,i...->...", (3, 2, 4), (3, 1, 4)),
    ("i,j->ij", (3,), (2,)),
    ("i,i->", (3,), (3,)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,ij->ji", (1, 3), (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->ji", (2, 2, 3)),
    ("ijk->kji", (2, 3, 4)),
    ("...ii->...i", (2, 3, 3)),
    (" i j , k -> k i ", (2, 3), (4,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("bhid,bhjd,bhjv->bhiv", (2, 1, 3, 4), (2, 1, 5, 4), (2, 1, 5, 2)),
    ("ij,jk->ik", (0, 3), (3, 2)),
    ("ij,jk->ik", (2, 0), (0, 2)),
    ("Ab,bA", (2, 3), (3, 2)),
]


pytestmark = pytest.mark.filterwarnings("ignore:.*torch.c(ross|hain_matmul)")


def arrays(*shapes):
    random = np.random.default_rng(0)
    return [random.standard_normal(shape) for shape in shapes]


def both(function, operands, second=True):
    """The function's result, gradients and gradients of gradients in both frameworks."""
    results = []
    for framework in (pellucid, torch):
        inputs = [framework.tensor(each, requires_grad=True) for each in operands]
        y = function(framework, *inputs)
        weights = framework.tensor(np.random.default_rng(1).standard_normal(tuple(y.shape)))
        found = framework.autograd.grad((y * weights).sum(), inputs, create_graph=second)
        values = [y, *found]
        if second and any(each.requires_grad for each in found):
            total = sum([(each**2).sum() for each in found])
            values += framework.autograd.grad(total, inputs, allow_unused=True)
        results.append([None if each is None else each.detach().numpy() for each in values])
    for ours, expected in zip(*results, strict=True):
        if ours is None or expected is None:
            assert not np.any(ours) if expected is None and ours is not None else not np.any(expected)
        else:
            np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("equation, shapes", [(row[0], row[1:]) for row in EQUATIONS])
def test_einsum(equation, shapes):
    both(lambda framework, *inputs: framework.einsum(equation, *inputs), arrays(*shapes))


def test_einsum_of_lists_of_numbers():
    a, b = arrays((2, 3), (3, 4))
    both(lambda framework, x, y: framework.einsum(x, [0, 1], y, [1, 2], [2, 0]), [a, b])
    both(lambda framework, x, y: framework.einsum(x, [..., 1], y, [1, 30]), [a, b])


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ijk", [(2, 2)]), ("ij->iz", [(2, 2)]), ("ij->ii", [(2, 2)]), ("ij,jk", [(2, 2), (3, 2)]), ("i2", [(2, 2)]),
        ("ij,jk", [(2, 2)]), ("i", [(2,), (2,)]), ("i..j", [(2, 2)]), ("...i...", [(2, 2)]), ("ij-k", [(2, 2)]),
        ("ii", [(2, 3)]),
        ("i->j", [(2,)]), ("ij,jk->ik", []),
    ],
)  # fmt: skip
def test_wrong_equations_are_named_as_in_pytorch(equation, shapes):
    with pytest.raises(Exception) as expected:
        torch.einsum(equation, *[torch.ones(shape) for shape in shapes])
    with pytest.raises(type(expected.value)) as ours:
        pellucid.einsum(equation, *[pellucid.ones(shape) for shape in shapes])
    assert str(ours.value).startswith(str(expected.value).split("\n")[0][:60])


@pytest.mark.parametrize(
    "function, shapes",
    [
        (lambda f, a, b: f.tensordot(a, b, 2), [(2, 3, 4), (3, 4, 5)]),
        (lambda f, a, b: f.tensordot(a, b, ([0, 2], [1, 0])), [(2, 3, 4), (4, 2, 5)]),
        (lambda f, a, b: f.tensordot(a, b, 0), [(2,), (3,)]),
        (lambda f, a, b: f.inner(a, b), [(2, 3), (4, 3)]),
        (lambda f, a, b: f.inner(a, b), [(), (4, 3)]),
        (lambda f, a, b: f.kron(a, b), [(2, 3), (3,)]),
        (lambda f, a, b: f.kron(a, b), [(), (3, 2)]),
        (lambda f, a, b: f.cross(a, b), [(2, 3), (2, 3)]),
        (lambda f, a, b: f.linalg.cross(a, b, dim=0), [(3, 1), (3, 4)]),
        (lambda f, a, b: f.linalg.vecdot(a, b), [(4, 3), (3,)]),
        (lambda f, a, b, c: f.linalg.multi_dot([a, b, c]), [(2,), (2, 5), (5, 3)]),
        (lambda f, a, b, c, d: f.chain_matmul(a, b, c, d), [(2, 7), (7, 5), (5, 3), (3, 2)]),
        (lambda f, a: f.trace(a), [(2, 3)]),
        (lambda f, a: f.matrix_power(a, 5), [(2, 3, 3)]),
        (lambda f, a: f.matrix_power(a, -3), [(3, 3)]),
        (lambda f, a: f.matrix_power(a, 1), [(3, 3)]),
    ],
)
def test_products(function, shapes):
    both(function, arrays(*shapes))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("shapes", [[(3, 4), (2, 4)], [(2, 1, 3, 4), (5, 2, 4)], [(0, 4), (2, 4)], [(3, 0), (2, 0)]])
def test_distances(p, shapes):
    both(lambda framework, a, b: framework.cdist(a, b, p=p), arrays(*shapes), second=False)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, float("inf")])
def test_equal_rows_get_no_gradient(p):
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        a = pellucid.ones(2, 3, dtype=pellucid.float64, requires_grad=True)
        pellucid.cdist(a, a.detach(), p=p, compute_mode=mode).sum().backward()
        assert a.grad.tolist() == [[0.0] * 3] * 2


def test_many_rows_use_a_product_and_stay_close():
    a, b = arrays((40, 6), (30, 6))
    both(lambda framework, x, y: framework.cdist(x, y), [a, b], second=False)
