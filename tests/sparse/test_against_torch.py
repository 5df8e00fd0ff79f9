"""Sparse tensors of every layout against PyTorch: what functions give, how it prints, and which errors they raise."""

import warnings

import pytest

import pellucid

torch = pytest.importorskip("torch")
warnings.filterwarnings("ignore", message="Sparse")


def coo(f, is_coalesced=False):
    made = f.sparse_coo_tensor(f.tensor([[0, 1, 1], [2, 0, 2]]), f.tensor([3.0, 4.0, 5.0]), (2, 3))
    return made.coalesce() if is_coalesced else made


def unordered(f):
    return f.sparse_coo_tensor([[1, 0, 1, 1], [2, 1, 0, 2]], [3.0, 4.0, 5.0, -1.0], (2, 3))


def hybrid(f):
    return f.sparse_coo_tensor([[0, 2]], f.arange(6.0).reshape(2, 3), (3, 3))


def csr(f):
    return coo(f).to_sparse_csr()


# Each gives the same text in both, which covers layout, positions, values, dtype and gradient node.
SAME_TEXT = {
    "plain": coo,
    "unordered": unordered,
    "coalesced": lambda f: unordered(f).coalesce(),
    "hybrid": hybrid,
    "int32 hybrid": lambda f: f.sparse_coo_tensor([[0, 1]], f.ones(2, 3, dtype=f.int32), (2, 3)),
    "empty of a type": lambda f: f.sparse_coo_tensor(f.zeros(2, 0), f.zeros(0, 3), (2, 3, 3), dtype=f.float64),
    "of a size alone": lambda f: f.sparse_coo_tensor((2, 2)),
    "zero-dimensional": lambda f: f.sparse_coo_tensor(f.zeros(0, 1, dtype=f.long), [3.0], ()),
    "inferred size": lambda f: f.sparse_coo_tensor([[0, 1], [2, 0]], [1.0, 2.0]),
    "one that requires a gradient": lambda f: f.sparse_coo_tensor([[0]], [1.0], (2,), requires_grad=True),
    "with a node": lambda f: (coo(f) * 2).requires_grad_().neg(),
    "many": lambda f: f.eye(1200).to_sparse(),
    "bool": lambda f: f.eye(2).bool().to_sparse(),
    "rows as entries": lambda f: f.eye(3).to_sparse(1),
    "csr": csr,
    "csc": lambda f: coo(f).to_sparse_csc(),
    "bsr": lambda f: f.eye(4).to_sparse_bsr((2, 2)),
    "bsc": lambda f: f.arange(16.0).reshape(4, 4).to_sparse_bsc((2, 2)),
    "csr from parts": lambda f: f.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0]),
    "csr of int32": lambda f: f.sparse_csr_tensor(
        f.tensor([0, 1, 2], dtype=f.int32), f.tensor([0, 1], dtype=f.int32), f.tensor([1, 2]), (2, 2)
    ).col_indices(),
    "csc from parts": lambda f: f.sparse_csc_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2)),
    "bsr from parts": lambda f: f.sparse_bsr_tensor([0, 1, 2], [1, 0], f.arange(8.0).reshape(2, 2, 2)),
    "batch of csr": lambda f: f.ones(2, 3, 2).to_sparse_csr(),
    "hybrid csr": lambda f: f.ones(2, 3, 2).to_sparse_csr(dense_dim=1),
    "csr that requires a gradient": lambda f: f.eye(2).double().to_sparse_csr().requires_grad_(),
    "csr to coo": lambda f: csr(f).to_sparse(),
    "csc to coo": lambda f: coo(f).to_sparse_csc().to_sparse_coo(),
    "bsr to coo": lambda f: f.arange(16.0).reshape(4, 4).to_sparse_bsr((2, 2)).to_sparse(),
    "no entries": lambda f: f.zeros(2, 3, layout=f.sparse_coo),
    "no entries by rows": lambda f: f.zeros(2, 3, layout=f.sparse_csr),
    "zeros_like": lambda f: f.zeros_like(coo(f)),
    "new_zeros": lambda f: coo(f).new_zeros(2, 2),
    "sum of two": lambda f: coo(f) + coo(f),
    "difference": lambda f: coo(f) - coo(f),
    "dense plus sparse": lambda f: f.ones(2, 3) + coo(f),
    "dense minus sparse": lambda f: f.ones(2, 3).sub(unordered(f), alpha=2),
    "dense plus csr": lambda f: f.ones(2, 3) + csr(f),
    "csr plus dense": lambda f: csr(f) + f.ones(2, 3),
    "csr plus csr": lambda f: csr(f) + csr(f),
    "times a number": lambda f: coo(f) * 2,
    "times dense": lambda f: coo(f) * f.arange(6.0).reshape(2, 3),
    "dense times": lambda f: f.arange(6.0).reshape(2, 3) * coo(f),
    "times itself": lambda f: coo(f) * coo(f),
    "csr times dense": lambda f: csr(f) * f.arange(6.0).reshape(2, 3),
    "csr times csr": lambda f: csr(f) * csr(f),
    "csr times a number": lambda f: csr(f) * 2,
    "divided": lambda f: coo(f) / 2,
    "divided down": lambda f: coo(f) // 2,
    "power": lambda f: coo(f) ** 2,
    "minus": lambda f: -coo(f),
    "double": lambda f: coo(f).double(),
    "csr as double": lambda f: csr(f).to(f.float64),
    "sum": lambda f: coo(f).sum(),
    "sum along rows": lambda f: f.sparse.sum(unordered(f), 0),
    "sum along both": lambda f: f.sparse.sum(coo(f), (0, 1)),
    "sum of rows": lambda f: f.sparse.sum(hybrid(f), 0),
    "sum in rows": lambda f: f.sparse.sum(hybrid(f), 1),
    "sum in double": lambda f: f.sparse.sum(coo(f), dtype=f.float64),
    "norm": lambda f: coo(f).norm(),
    "softmax": lambda f: f.sparse.softmax(unordered(f), 1),
    "log-softmax": lambda f: f.sparse.log_softmax(unordered(f), 0),
    "softmax in rows": lambda f: f.sparse.softmax(hybrid(f), 1),
    "a row": lambda f: coo(f)[0],
    "an element": lambda f: coo(f)[0, 2],
    "a row of csr": lambda f: csr(f)[0],
    "rows one by one": lambda f: list(coo(f)),
    "index_select": lambda f: coo(f).index_select(0, f.tensor([1, 1])),
    "index_select of hybrid": lambda f: hybrid(f).index_select(1, f.tensor([2, 0])),
    "transposed": lambda f: coo(f).t(),
    "transposed csr": lambda f: csr(f).t(),
    "permuted": lambda f: coo(f).permute(1, 0),
    "unsqueezed": lambda f: coo(f).unsqueeze(0),
    "cat": lambda f: f.cat([coo(f), unordered(f)], 0),
    "cat along columns": lambda f: f.cat([coo(f), coo(f)], 1),
    "cat of hybrids": lambda f: f.cat([hybrid(f), hybrid(f)], 1),
    "stack": lambda f: f.stack([coo(f), coo(f)]),
    "narrow_copy": lambda f: coo(f).narrow_copy(1, 1, 2),
    "product": lambda f: coo(f) @ f.arange(6.0).reshape(3, 2),
    "product of unordered": lambda f: unordered(f) @ f.arange(6.0).reshape(3, 2),
    "product from the right": lambda f: f.arange(6.0).reshape(3, 2) @ coo(f),
    "product of two": lambda f: coo(f) @ coo(f).t(),
    "product with a vector": lambda f: coo(f) @ f.ones(3),
    "csr product": lambda f: csr(f) @ f.ones(3, 2),
    "csr product with a vector": lambda f: csr(f) @ f.ones(3),
    "sparse.mm": lambda f: f.sparse.mm(coo(f), f.ones(3, 2)),
    "sparse.addmm": lambda f: f.sparse.addmm(f.ones(2, 2), coo(f), f.ones(3, 2), beta=2, alpha=3),
    "addmm": lambda f: f.addmm(f.ones(2, 2), coo(f), f.ones(3, 2)),
    "smm": lambda f: f.smm(coo(f), f.ones(3, 2)),
    "hspmm": lambda f: f.hspmm(coo(f), f.ones(3, 2)),
    "bmm": lambda f: f.bmm(coo(f).unsqueeze(0), f.ones(1, 3, 2)),
    "sampled_addmm": lambda f: f.sparse.sampled_addmm(
        f.eye(2).to_sparse_csr(), f.ones(2, 3), f.ones(3, 2), beta=2.0, alpha=3.0
    ),
    "linear": lambda f: f.nn.functional.linear(f.ones(2, 3), coo(f)),
    "sparse_mask": lambda f: f.arange(6.0).reshape(2, 3).sparse_mask(coo(f)),
    "sparse_mask by csr": lambda f: f.arange(6.0).reshape(2, 3).sparse_mask(csr(f)),
    "sparse_mask of sparse": lambda f: coo(f, True).sparse_mask(f.sparse_coo_tensor([[0], [2]], [1.0], (2, 3))),
    "spdiags": lambda f: f.sparse.spdiags(f.arange(1.0, 7).reshape(2, 3), f.tensor([0, -1]), (3, 3)),
    "spdiags by rows": lambda f: f.sparse.spdiags(f.arange(1.0, 4), f.tensor([1]), (3, 4), layout=f.sparse_csr),
    "resized": lambda f: f.sparse_coo_tensor([[0]], [1.0], (2,)).sparse_resize_((4,), 1, 0),
    "resized and cleared": lambda f: coo(f).sparse_resize_and_clear_((1, 3), 2, 0),
    "added in place": lambda f: coo(f).add_(coo(f)),
    "added into dense": lambda f: f.ones(2, 3).add_(unordered(f), alpha=-0.5),
    "scaled in place": lambda f: coo(f).mul_(2),
    "zeroed in place": lambda f: coo(f).zero_(),
    "copied into": lambda f: coo(f).copy_(coo(f) * 2),
    "rectified in place": lambda f: coo(f, True).sub_(coo(f, True) * 2).relu_(),
    "facts": lambda f: (
        coo(f).is_sparse, csr(f).is_sparse, csr(f).is_sparse_csr, csr(f).layout, coo(f)._nnz(), hybrid(f).dense_dim(),
        hybrid(f).sparse_dim(), coo(f).is_coalesced(), f.sparse_coo_tensor([[0]], [1.0], (2,)).is_coalesced(),
        coo(f).stride(), coo(f).is_contiguous(), coo(f).numel(), len(coo(f)), coo(f).type(), f.ones(2).sparse_dim(),
        f.ones(2).dense_dim(), coo(f).to("cpu").shape, coo(f).element_size(), coo(f).any(), csr(f).crow_indices(),
        coo(f).to_sparse_csc().ccol_indices(), coo(f).to_sparse_csc().row_indices(), csr(f).values(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME_TEXT)
def test_functions_give_the_same(name):
    function = SAME_TEXT[name]
    assert str(function(pellucid)).replace("pellucid.", "torch.") == str(function(torch))


UNARY = (
    "abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf isposinf log1p nan_to_num"
    " neg rad2deg relu round sgn sign signbit sin sinh sqrt square tan tanh trunc"
).split()


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("make", [unordered, hybrid, csr])
def test_functions_that_keep_zero(name, make):
    try:
        expected = getattr(torch, name)(make(torch) * 0.14)
    except RuntimeError:
        pytest.skip("PyTorch has it for other sparse layouts only")
    found = getattr(pellucid, name)(make(pellucid) * 0.14)
    assert (found.layout._name, str(found.dtype)) == (str(expected.layout)[6:], str(expected.dtype))
    torch.testing.assert_close(torch.from_numpy(found.to_dense().numpy()), expected.to_dense(), equal_nan=True)


ERRORS = {
    "sparse plus dense": lambda f: coo(f) + f.ones(2, 3),
    "sparse plus a number": lambda f: coo(f) + 1,
    "sum of other sizes": lambda f: coo(f) + coo(f).t(),
    "exp": lambda f: coo(f).exp(),
    "comparison": lambda f: coo(f) > 1,
    "mean": lambda f: coo(f).mean(),
    "maximum": lambda f: f.maximum(coo(f), coo(f)),
    "division by sparse": lambda f: coo(f) / coo(f),
    "number by sparse": lambda f: 2 / coo(f),
    "reshape": lambda f: coo(f).reshape(3, 2),
    "view": lambda f: coo(f).view(3, 2),
    "numpy": lambda f: coo(f).numpy(),
    "tolist": lambda f: coo(f).tolist(),
    "contiguous": lambda f: coo(f).contiguous(),
    "data_ptr": lambda f: coo(f).data_ptr(),
    "untyped_storage": lambda f: coo(f).untyped_storage(),
    "nbytes": lambda f: coo(f).nbytes,
    "assignment": lambda f: coo(f).__setitem__(0, 1.0),
    "fill": lambda f: coo(f).fill_(1.0),
    "ones_like": lambda f: f.ones_like(coo(f)),
    "dense into sparse": lambda f: coo(f).add_(f.ones(2, 3)),
    "copy of dense": lambda f: coo(f).copy_(f.ones(2, 3)),
    "values of uncoalesced": lambda f: coo(f).values(),
    "indices of uncoalesced": lambda f: coo(f).indices(),
    "values of dense": lambda f: f.ones(2).values(),
    "indices of csr": lambda f: csr(f).indices(),
    "coalesce of dense": lambda f: f.ones(2).coalesce(),
    "coalesce of csr": lambda f: csr(f).coalesce(),
    "rows of coo": lambda f: coo(f).crow_indices(),
    "columns of csr": lambda f: csr(f).ccol_indices(),
    "indices of one dimension": lambda f: f.sparse_coo_tensor(f.tensor([0]), f.tensor([1.0]), (2,)),
    "index too large": lambda f: f.sparse_coo_tensor([[5]], [1.0], (2,), check_invariants=True),
    "negative index": lambda f: f.sparse_coo_tensor([[-1]], [1.0], (2,), check_invariants=True),
    "other nnz": lambda f: f.sparse_coo_tensor([[0, 1]], [1.0], (2,)),
    "other rank": lambda f: f.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 2)),
    "other dense size": lambda f: f.sparse_coo_tensor([[0]], f.ones(1, 3), (2, 4)),
    "not coalesced": lambda f: f.sparse_coo_tensor(
        [[1, 0]], [1.0, 2.0], (2,), is_coalesced=True, check_invariants=True
    ),
    "integer gradient": lambda f: f.sparse_coo_tensor([[0]], [1], requires_grad=True),
    "csr end": lambda f: f.sparse_csr_tensor([0, 1, 3], [1, 0], [1.0, 2.0], (2, 2), check_invariants=True),
    "csr column": lambda f: f.sparse_csr_tensor([0, 1, 2], [1, 5], [1.0, 2.0], (2, 2), check_invariants=True),
    "csr order": lambda f: f.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2), check_invariants=True),
    "csr start": lambda f: f.sparse_csr_tensor([1, 1, 2], [1, 0], [1.0, 2.0], (2, 2), check_invariants=True),
    "csr rows": lambda f: f.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (3, 2), check_invariants=True),
    "csr index types": lambda f: f.sparse_csr_tensor(
        f.tensor([0, 1, 2], dtype=f.int32), f.tensor([0, 1]), f.tensor([1.0, 2.0]), (2, 2), check_invariants=True
    ),
    "no layout": lambda f: f.sparse_compressed_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2)),
    "sparse_dim of 0": lambda f: f.eye(2).to_sparse(0),
    "sparse_dim of 3": lambda f: f.eye(2).to_sparse(3),
    "blocks of coo": lambda f: f.eye(4).to_sparse(blocksize=(2, 2)),
    "shrinking": lambda f: coo(f).sparse_resize_((1, 3), 2, 0),
    "mask of another size": lambda f: f.ones(2, 2).sparse_mask(coo(f)),
    "dense mask": lambda f: f.ones(2, 2).sparse_mask(f.ones(2, 2)),
    "sparse.sum of dense": lambda f: f.sparse.sum(f.ones(2)),
    "cat with dense": lambda f: f.cat([coo(f), f.ones(2, 3)]),
    "product of other sizes": lambda f: coo(f) @ f.ones(2, 2),
    "activation": lambda f: f.nn.functional.gelu(coo(f)),
    "sharing": lambda f: coo(f).share_memory_(),
    "dlpack": lambda f: coo(f).__dlpack__(),
    "apply_": lambda f: coo(f).apply_(abs),
    "set_": lambda f: coo(f).set_(),
    "resize_": lambda f: coo(f).resize_(2),
    "data of another layout": lambda f: setattr(f.ones(2, 3), "data", coo(f)),
    "broadcast": lambda f: coo(f).expand(2, 2, 3),
    "stack with dense": lambda f: f.stack([coo(f), f.ones(2, 3)]),
    "random numbers": lambda f: coo(f).normal_(),
    "product of bools": lambda f: coo(f).bool() @ f.ones(3, 2, dtype=f.bool),
    "product of a hybrid": lambda f: hybrid(f) @ f.ones(3, 2),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_the_same_class(name):
    with pytest.raises(Exception) as expected:
        ERRORS[name](torch)
    with pytest.raises(expected.type) as found:
        ERRORS[name](pellucid)
    if "Could not run" in str(expected.value):
        assert ".to_dense()" in str(found.value) and "torch.sparse_coo" in str(found.value) or "mask" in name
    elif not isinstance(expected.value, NotImplementedError) and name not in DIFFERENT_TEXT:
        start = str(expected.value).split("\n")[0].split(". ")[0].rstrip(".")
        assert str(found.value).startswith(start[: start.find(" Found self")] if " Found self" in start else start)


# PyTorch's texts there name an internal function, or speak of something else.
DIFFERENT_TEXT = {
    "stack with dense",
    "contiguous",
    "nbytes",
    "sum of other sizes",
    "cat with dense",
    "product of other sizes",
}
