"""Sparse tensors in files, pickles and copies, and the switch of the checks."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
warnings.filterwarnings("ignore", message="Sparse")

MADE = {
    "coo": lambda f: f.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)),
    "coalesced": lambda f: f.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).coalesce(),
    "hybrid": lambda f: f.sparse_coo_tensor([[0, 1]], f.ones(2, 3), (2, 3)),
    "csr": lambda f: f.eye(3).to_sparse_csr(),
    "csc": lambda f: f.eye(3).double().to_sparse_csc(),
    "bsr": lambda f: f.eye(4).to_sparse_bsr((2, 2)),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(("writer", "reader"), [(torch, pellucid), (pellucid, torch), (pellucid, pellucid)])
def test_files_cross_both_ways(name, writer, reader):
    file = io.BytesIO()
    writer.save({"value": MADE[name](writer)}, file)
    file.seek(0)
    found, expected = reader.load(file)["value"], MADE[name](reader)
    assert str(found) == str(expected)
    if name in ("coo", "coalesced"):
        assert found.is_coalesced() == expected.is_coalesced()


@pytest.mark.parametrize("name", MADE)
def test_copies_and_pickles_have_parts_of_their_own(name):
    made = MADE[name](pellucid)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), made.clone()):
        assert str(other) == str(made)
        other._array.values.add_(1)
        assert str(other) != str(made)


def test_parts_are_seen_through_all_tensors_over_them():
    made = MADE["coo"](pellucid)
    seen = made.detach()
    made._values().mul_(2)
    assert seen.to_dense().sum().item() == 24
    made.add_(made)
    assert seen.to_dense().sum().item() == 48
    assert made._version == seen._version


def test_a_module_and_its_optimizer_with_sparse_state_are_saved():
    layer = pellucid.nn.Embedding(4, 2, sparse=True)
    optimizer = pellucid.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    layer(pellucid.tensor([1, 2])).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    pellucid.save(optimizer.state_dict(), file)
    file.seek(0)
    kept = pellucid.load(file)["state"][0]["momentum_buffer"]
    assert kept.is_sparse
    assert kept.to_dense().tolist() == [[0, 0], [1, 1], [1, 1], [0, 0]]


def test_the_checks_can_be_switched_on():
    switch = pellucid.sparse.check_sparse_tensor_invariants
    assert not switch.is_enabled()
    pellucid.sparse_coo_tensor([[5]], [1.0], (2,))
    with switch(), pytest.raises(RuntimeError, match="found index 5"):
        pellucid.sparse_coo_tensor([[5]], [1.0], (2,))
    with switch():
        with switch(False):
            pellucid.sparse_coo_tensor([[5]], [1.0], (2,))
        assert switch.is_enabled()
    switch.enable()
    try:
        with pytest.raises(RuntimeError):
            pellucid.sparse_coo_tensor([[5]], [1.0], (2,))
    finally:
        switch.disable()


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("seed", range(4))
def test_products_of_random_matrices(layout, seed):
    random = np.random.default_rng(seed)
    rows, inner, columns = random.integers(1, 40, 3)
    left = random.standard_normal((rows, inner)) * (random.random((rows, inner)) < 0.2)
    right = random.standard_normal((inner, columns)) * (random.random((inner, columns)) < 0.3)
    sparse = pellucid.from_numpy(left).to_sparse(layout=getattr(pellucid, layout))
    dense = pellucid.from_numpy(right)
    assert np.allclose((sparse @ dense).numpy(), left @ right)
    other = dense.to_sparse(layout=getattr(pellucid, layout))
    assert np.allclose((sparse @ other).to_dense().numpy(), left @ right)
    assert np.allclose((dense.t() @ sparse.t()).numpy(), (left @ right).T)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "int64", "bool"])
def test_coalescing_adds_equal_positions_in_every_type(dtype):
    def total(f):
        values = f.tensor([1, 1, 1, 1]).to(getattr(f, dtype))
        made = f.sparse_coo_tensor([[2, 0, 2, 2]], values, (4,)).coalesce()
        return made.indices().tolist(), made.values().to(f.complex64).tolist()

    assert total(pellucid) == total(torch)


def test_the_constructors_of_old_programs():
    for f in (pellucid, torch):
        index, values = f.tensor([[0, 1], [1, 0]]), f.tensor([1.0, 2.0])
        made = f.sparse.FloatTensor(index, values, f.Size([2, 3]))
        assert made.to_dense().tolist() == [[0, 1, 0], [2, 0, 0]]
        assert isinstance(made, f.sparse.FloatTensor)
        assert not isinstance(made, f.sparse.DoubleTensor)
        assert not isinstance(made, f.FloatTensor)
        assert f.sparse.DoubleTensor(2, 3).dtype is f.float64
        assert made.type("torch.sparse.DoubleTensor").dtype is f.float64
        assert f.spmm(made, f.ones(3, 1)).tolist() == [[1], [2]]
        with pytest.raises(RuntimeError, match="expected scalar type Long"):
            f.sparse.FloatTensor(index.int(), values)


def test_gradcheck_takes_sparse_inputs():
    made = MADE["coo"](pellucid).double().requires_grad_()
    factor = pellucid.ones(3, 2, dtype=pellucid.float64, requires_grad=True)
    assert pellucid.autograd.gradcheck(pellucid.sparse.mm, (made, factor), masked=True)
    assert pellucid.autograd.gradgradcheck(pellucid.sparse.mm, (made, factor), masked=True)
    check = pellucid.sparse.as_sparse_gradcheck(pellucid.autograd.gradcheck)
    assert check(lambda x: x.to_dense(), (MADE["csr"](pellucid).double().requires_grad_(),))

    class Wrong(pellucid.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            return dy

    with pytest.raises(Exception, match="Jacobian mismatch"):
        check(lambda x: Wrong.apply(x.to_dense()), (made,))
