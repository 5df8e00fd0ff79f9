"""Gradients through sparse tensors, sparse gradients of leaves, and how they add up, as PyTorch has them."""

import pytest

import pellucid
from pellucid.autograd import gradcheck, gradgradcheck

torch = pytest.importorskip("torch")


def coo(values):
    return pellucid.sparse_coo_tensor(pellucid.tensor([[0, 1, 1], [2, 0, 2]]), values, (2, 3))


def ones(*size):
    return pellucid.ones(*size, dtype=pellucid.float64)


# Functions of three stored values `v` and of a dense 3 x 2 matrix `d`, with a dense result.
FUNCTIONS = {
    "to_dense": lambda v, d: coo(v).to_dense(),
    "product": lambda v, d: coo(v) @ d,
    "sparse.mm": lambda v, d: pellucid.sparse.mm(coo(v), d),
    "from the right": lambda v, d: d.t() @ coo(v).t(),
    "of two": lambda v, d: (coo(v) @ coo(v * 2).t()).to_dense(),
    "sparse.mm of two": lambda v, d: pellucid.sparse.mm(coo(v), coo(v).t()).to_dense(),
    "with a vector": lambda v, d: coo(v) @ d[:, 0],
    "sparse.addmm": lambda v, d: pellucid.sparse.addmm(ones(2, 2), coo(v), d, beta=2, alpha=3),
    "sampled_addmm": lambda v, d: pellucid.sparse.sampled_addmm(coo(v).to_sparse_csr(), d.t(), ones(3, 3)).to_dense(),
    "sin": lambda v, d: coo(v).sin().to_dense(),
    "square": lambda v, d: coo(v).square().to_dense(),
    "times dense": lambda v, d: (coo(v) * d.t()).to_dense(),
    "times sparse": lambda v, d: (coo(v) * coo(v * v)).to_dense(),
    "divided": lambda v, d: (coo(v) / 3).to_dense(),
    "plus dense": lambda v, d: d.t() + coo(v),
    "plus sparse": lambda v, d: (coo(v) + coo(v * 3)).to_dense(),
    "sum along": lambda v, d: pellucid.sparse.sum(coo(v), 0).to_dense(),
    "sum": lambda v, d: pellucid.sparse.sum(coo(v)),
    "norm": lambda v, d: coo(v).norm(),
    "softmax": lambda v, d: pellucid.sparse.softmax(coo(v), 1).to_dense(),
    "log_softmax": lambda v, d: pellucid.sparse.log_softmax(coo(v), 1).to_dense(),
    "csr": lambda v, d: coo(v).to_sparse_csr() @ d,
    "csc": lambda v, d: coo(v).to_sparse_csc().to_dense(),
    "bsr": lambda v, d: coo(v).to_dense().to_sparse_bsr((1, 3)).to_dense(),
    "csr values": lambda v, d: pellucid.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)).to_dense(),
    "transposed": lambda v, d: coo(v).t().to_dense(),
    "row": lambda v, d: coo(v)[1].to_dense(),
    "index_select": lambda v, d: coo(v).index_select(0, pellucid.tensor([1, 1, 0])).to_dense(),
    "cat": lambda v, d: pellucid.cat([coo(v), coo(v * 2)], 1).to_dense(),
    "unsqueeze": lambda v, d: coo(v).unsqueeze(0).to_dense(),
    "values": lambda v, d: coo(v).coalesce().values(),
    "sparse_mask": lambda v, d: d.t().sparse_mask(coo(v).detach()).to_dense(),
    "spdiags": lambda v, d: pellucid.sparse.spdiags(d.t(), pellucid.tensor([0, 1]), (3, 3)).to_dense(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_and_second_gradients_are_right(name):
    pellucid.manual_seed(1)
    values = pellucid.tensor([3.0, 4.0, 5.0], dtype=pellucid.float64, requires_grad=True)
    dense = pellucid.randn(3, 2, dtype=pellucid.float64, requires_grad=True)
    assert gradcheck(FUNCTIONS[name], (values, dense))
    assert gradgradcheck(FUNCTIONS[name], (values, dense))


def leaf(f, is_coalesced):
    made = f.sparse_coo_tensor(f.tensor([[0, 1, 1], [2, 0, 2]]), f.tensor([3.0, 4.0, 5.0]), (2, 3))
    return (made.coalesce() if is_coalesced else made).requires_grad_()


LEAVES = {
    "to_dense": lambda f, s: s.to_dense(),
    "to_dense of everything": lambda f, s: s.to_dense(masked_grad=False),
    "neg": lambda f, s: -s,
    "times": lambda f, s: s * 2,
    "square": lambda f, s: s.square(),
    "coalesce": lambda f, s: s.coalesce(),
    "values": lambda f, s: s.coalesce().values(),
    "product": lambda f, s: s @ f.ones(3, 2),
    "sparse.mm": lambda f, s: f.sparse.mm(s, f.ones(3, 2)),
    "sparse.addmm": lambda f, s: f.sparse.addmm(f.ones(2, 2), s, f.ones(3, 2)),
    "from the right": lambda f, s: f.ones(3, 2) @ s,
    "with a vector": lambda f, s: s @ f.ones(3),
    "sparse.sum": lambda f, s: f.sparse.sum(s),
    "sparse.sum along": lambda f, s: f.sparse.sum(s, 0),
    "softmax": lambda f, s: f.sparse.softmax(s, 1),
    "plus dense": lambda f, s: f.ones(2, 3) + s,
    "times dense": lambda f, s: s * f.arange(6.0).reshape(2, 3),
    "double": lambda f, s: s.double(),
    "clone": lambda f, s: s.clone(),
    "transposed": lambda f, s: s.t(),
    "csr": lambda f, s: s.to_sparse_csr().to_dense(),
}


@pytest.mark.parametrize("name", LEAVES)
@pytest.mark.parametrize("is_coalesced", [True, False])
def test_gradients_of_sparse_leaves_have_pytorchs_layout_and_values(name, is_coalesced):
    def gradient(f):
        tensor = leaf(f, is_coalesced)
        result = LEAVES[name](f, tensor)
        node = type(result.grad_fn).__name__
        result = result.to_dense()
        (result * f.arange(1.0, result.numel() + 1).reshape(result.shape)).sum().backward()
        return node, str(tensor.grad.layout), pytest.approx(tensor.grad.to_dense().flatten().tolist(), rel=1e-6)

    assert gradient(pellucid)[:2] == gradient(torch)[:2]
    assert gradient(pellucid)[2].expected == gradient(torch)[2]


def table(f):
    return f.arange(8.0).reshape(4, 2).requires_grad_()


def looked_up(f, weight, rows, **options):
    return f.nn.functional.embedding(f.tensor(rows), weight, sparse=True, **options)


STEPS = {
    "once": lambda f, w: looked_up(f, w, [1, 1, 2]).square().sum().backward(),
    "twice": lambda f, w: (looked_up(f, w, [1]).sum().backward(), looked_up(f, w, [3, 1]).sum().backward()),
    "then dense": lambda f, w: (looked_up(f, w, [1]).sum().backward(), (w * 2).sum().backward()),
    "after dense": lambda f, w: ((w * 2).sum().backward(), looked_up(f, w, [1, 3]).sum().backward()),
    "both in one pass": lambda f, w: (looked_up(f, w, [1, 3]).sum() + (w * 2).sum()).backward(),
    "dense first in one pass": lambda f, w: ((w * 2).sum() + looked_up(f, w, [1, 3]).sum() + w.sum()).backward(),
    "two in one pass": lambda f, w: (looked_up(f, w, [1, 3]).sum() + looked_up(f, w, [1, 2]).sum()).backward(),
    "padding": lambda f, w: looked_up(f, w, [[1, 3], [0, 1]], padding_idx=3).sum().backward(),
    "through a product": lambda f, w: looked_up(f, w * 3, [1, 1, 2]).sum().backward(),
    "gather": lambda f, w: f.gather(w, 1, f.tensor([[0, 0], [1, 1]]), sparse_grad=True).square().sum().backward(),
    "a hook": lambda f, w: (w.register_hook(lambda g: g * 2), looked_up(f, w, [1, 2]).sum().backward()),
    "a bag": lambda f, w: f.nn.functional.embedding_bag(
        f.tensor([1, 3, 1]), w, f.tensor([0, 2]), sparse=True, mode="sum"
    ).square().sum().backward(),
    "a mean of a bag": lambda f, w: f.nn.functional.embedding_bag(
        f.tensor([1, 3, 1]), w, f.tensor([0, 2]), sparse=True, mode="mean"
    ).square().sum().backward(),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_sparse_gradients_of_tables_and_how_they_add_up(name):
    def gradient(f):
        weight = table(f)
        STEPS[name](f, weight)
        return str(weight.grad.layout), weight.grad.to_dense().tolist(), weight.grad.shape == weight.shape

    assert gradient(pellucid) == gradient(torch)


def test_values_of_a_gradient_and_its_flags_are_those_that_pytorch_prints():
    for f in (pellucid, torch):
        weight = table(f)
        looked_up(f, weight, [1, 1, 2]).square().sum().backward()
        assert not weight.grad.is_coalesced()
        assert weight.grad._indices().tolist() == [[1, 1, 2]]
        assert weight.grad._nnz() == 3


@pytest.mark.parametrize("name", ["frequency", "maximum"])
def test_what_sparse_gradients_cannot_do(name):
    for f in (pellucid, torch):
        if name == "frequency":
            with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
                looked_up(f, table(f), [1, 1], scale_grad_by_freq=True).sum().backward()
        else:
            with pytest.raises(ValueError, match="max mode does not support sparse weights"):
                f.nn.functional.embedding_bag(f.tensor([[1]]), table(f), mode="max", sparse=True)


SETTINGS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}), ("SGD", {"lr": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.1}), ("SparseAdam", {"lr": 0.1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
@pytest.mark.parametrize("layer", ["Embedding", "EmbeddingBag"])
def test_training_a_table_by_sparse_gradients_gives_pytorchs_weights(name, settings, layer):
    def trained(f):
        module = getattr(f.nn, layer)(6, 3, sparse=True)
        with f.no_grad():
            module.weight.copy_(f.arange(18.0).reshape(6, 3) / 10)
        optimizer = getattr(f.optim, name)(module.parameters(), **settings)
        for step in range(4):
            optimizer.zero_grad()
            rows = f.tensor([[1, 1, step]])
            module(rows).pow(2).sum().backward()
            assert module.weight.grad.is_sparse
            optimizer.step()
        return module.weight.detach().numpy()

    torch.testing.assert_close(torch.from_numpy(trained(pellucid)), torch.from_numpy(trained(torch)))


def test_clipping_scales_what_is_stored():
    weight = table(pellucid)
    looked_up(pellucid, weight, [1, 3, 1]).sum().backward()
    total = pellucid.nn.utils.clip_grad_norm_([weight], 1.0)
    dense = table(pellucid)
    looked_up(pellucid, dense, [1, 3, 1]).sum().backward()
    dense.grad = dense.grad.to_dense()
    assert total.item() == pytest.approx(pellucid.nn.utils.clip_grad_norm_([dense], 1.0).item())
    assert weight.grad.is_sparse
    assert pellucid.allclose(weight.grad.to_dense(), dense.grad)
    pellucid.nn.utils.clip_grad_value_([weight], 0.1)
    pellucid.nn.utils.clip_grad_value_([dense], 0.1)
    assert pellucid.allclose(weight.grad.to_dense(), dense.grad)


def test_writes_in_place_keep_the_history():
    def gradient(f):
        source = leaf(f, True)
        result = source * 2
        result.mul_(3)
        result.add_(source)
        (result.to_dense() * f.arange(6.0).reshape(2, 3)).sum().backward()
        return type(result.grad_fn).__name__, source.grad.to_dense().tolist()

    assert gradient(pellucid) == gradient(torch)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_gradients_of_products_have_the_layout_of_the_operand(layout):
    def gradient(f):
        source = f.tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse(layout=getattr(f, layout)).requires_grad_()
        f.sparse.mm(source, f.tensor([[1.0, 2.0], [3.0, 4.0]])).square().sum().backward()
        return str(source.grad)

    assert gradient(pellucid) == gradient(torch)
