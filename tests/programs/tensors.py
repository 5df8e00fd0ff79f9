"""Tensors: memory that views share, indexing, promotion, in-place writes, `out=`."""

import numpy as np


def views_share_memory(torch, show):
    x = torch.arange(12).view(3, 4)
    for view in (
        x.t(),
        x[1:],
        x[:, ::2],
        x.view(-1),
        x.unsqueeze(0),
        x.diagonal(),
        x.expand(2, 3, 4),
        x.narrow(1, 1, 2),
    ):
        show(view.data_ptr() - x.data_ptr(), view._base is not None, view.is_contiguous(), view.storage_offset())
    x[1, 1] = 100
    show(x.t(), x.view(-1), x.diagonal())


def what_copies_and_what_does_not(torch, show):
    x = torch.arange(6.0).view(2, 3)
    for y in (
        x.reshape(-1),
        x.t().reshape(-1),
        x.contiguous(),
        x.t().contiguous(),
        x.flatten(),
        x.clone(),
        x.to(x.dtype),
    ):
        show(y.data_ptr() == x.data_ptr(), y is x)
    show(x[[0]].data_ptr() == x.data_ptr(), x[x > 1]._base is None, x.detach().data_ptr() == x.data_ptr())


def view_refuses_incompatible_strides(torch, show):
    show.raises(lambda: torch.arange(6).view(2, 3).t().view(-1))
    show.raises(lambda: torch.arange(6).view(4, 2))
    show.raises(lambda: torch.arange(6).view(-1, -1))
    show.raises(lambda: torch.zeros(0, 3).view(-1, 0))


def view_as_another_dtype(torch, show):
    x = torch.tensor([1.0, 2.0])
    show(x.view(torch.int32), x.view(torch.uint8).shape, x.view(torch.int64))
    show.raises(lambda: torch.zeros(3).view(torch.float64))


def writes_into_expanded_tensors(torch, show):
    x = torch.zeros(1, 3).expand(2, 3)
    show.raises(lambda: x.add_(1))
    show.raises(lambda: x.fill_(1))
    show.raises(lambda: x.copy_(torch.ones(2, 3)))


def numpy_shares_memory(torch, show):
    a = np.arange(4.0)
    x = torch.from_numpy(a)
    x[0] = 9
    a[1] = 8
    show(a, x, np.shares_memory(x.numpy(), a), torch.tensor(a).data_ptr() == x.data_ptr())
    show.raises(lambda: torch.ones(2, requires_grad=True).numpy())
    show.raises(lambda: torch.from_numpy(np.array(["a"])))
    show.raises(lambda: torch.from_numpy([1, 2]))


def infix_with_arrays(torch, show):
    x, a = torch.ones(3), np.arange(3.0)
    show.raises(lambda: type(x + a).__name__)
    show.raises(lambda: type(a > x).__name__)
    show(np.add(torch.ones(2), 1).__class__.__name__, np.asarray(x), x.__array__().dtype, x.tolist())


def basic_indexing(torch, show):
    x = torch.arange(24).view(2, 3, 4)
    show(x[0], x[..., -1], x[:, None].shape, x[1, 2, 3], x[-1, 0:2, ::3], x[True].shape, x[False].shape, x[()].shape)
    show.raises(lambda: x[2])
    show.raises(lambda: x[0, 0, 0, 0])
    show.raises(lambda: x[..., ...])
    show.raises(lambda: x["a"])
    show.raises(lambda: x[1.0])
    show.raises(lambda: x[::-1])
    show.raises(lambda: x[::0])


def index_tensors(torch, show):
    x = torch.arange(12).view(3, 4)
    rows, columns = torch.tensor([0, 2]), torch.tensor([1, 3])
    show(x[rows, columns], x[rows], x[:, columns], x[rows[:, None], columns], x[x > 5], x[[True, False, True]])
    show(x[torch.tensor(1)], x[rows, 1:3], x[[0, 1], [2, 3]], x[:, [0], None].shape)
    show.raises(lambda: x[torch.tensor([0.5])])
    show.raises(lambda: x[torch.tensor([3])])
    show.raises(lambda: x[torch.tensor([True, False])])
    show.raises(lambda: x[rows, torch.tensor([0, 1, 2])])


def indexed_writes(torch, show):
    x = torch.zeros(3, 4)
    x[1] = 1
    x[:, 0] = torch.tensor([5.0, 6.0, 7.0])
    x[x > 5] = -1
    x[[0, 2], [1, 2]] = torch.tensor([8.0, 9.0])
    x[0, 3] += 2
    show(x)
    show.raises(lambda: x.__setitem__(0, torch.zeros(3)))
    show.raises(lambda: x.__setitem__((0, 0), torch.zeros(2)))
    show.raises(lambda: x.__setitem__(5, 0))
    show.raises(lambda: x.__setitem__(0, "a"))


def repeated_indices(torch, show):
    x = torch.zeros(3)
    x[[0, 0, 1]] += 1
    show(x, x.index_put_((torch.tensor([0, 0]),), torch.tensor(1.0), accumulate=True))
    show(torch.zeros(3).index_add_(0, torch.tensor([0, 0, 2]), torch.ones(3)))
    show(torch.zeros(3).scatter_add(0, torch.tensor([1, 1, 2]), torch.ones(3)))


def promotion_by_category(torch, show):
    ints, floats, bools = torch.tensor([1, 2]), torch.tensor([0.5, 1.5]), torch.tensor([True, False])
    show(ints + 1.5, ints + 1, bools + 1, bools + 1.0, floats + 1j, ints / 2, ints // 2, ints + torch.tensor(2.0))
    show(torch.tensor([1], dtype=torch.int8) + 300, floats + torch.tensor(1.0, dtype=torch.float64), bools + bools)
    show(
        torch.result_type(ints, 1.0),
        torch.promote_types(torch.float16, torch.bfloat16),
        torch.can_cast(torch.float32, torch.int32),
    )
    show.raises(lambda: bools - bools)
    show.raises(lambda: -bools)


def in_place_does_not_promote(torch, show):
    x = torch.tensor([1, 2])
    show.raises(lambda: x.add_(1.5))
    show.raises(lambda: x.div_(2))
    show.raises(lambda: x.__itruediv__(2))
    show.raises(lambda: torch.zeros(2).add_(1j))
    show(x.mul_(2), torch.ones(2).add_(torch.ones(2, dtype=torch.float64)))


def broadcasting(torch, show):
    show((torch.ones(3, 1) + torch.ones(4)).shape, torch.broadcast_shapes((2, 1), (3,)), torch.ones(1).add_(1))
    show.raises(lambda: torch.ones(2) + torch.ones(3))
    show.raises(lambda: torch.ones(2).add_(torch.ones(3, 2)))
    show.raises(lambda: torch.ones(3).expand(2))
    show.raises(lambda: torch.ones(3).expand(-1, 3))


def out_arguments(torch, show):
    out = torch.empty(2)
    show(torch.add(torch.ones(2), 1, out=out) is out, out)
    show.warns(lambda: torch.add(torch.ones(3), 1, out=torch.empty(2)))
    show.raises(lambda: torch.add(torch.ones(2), 1, out=torch.empty(2, dtype=torch.int64)))
    show.raises(lambda: torch.add(torch.ones(2, requires_grad=True), 1, out=torch.empty(2)))
    show.raises(lambda: torch.max(torch.ones(2, 2), 0, out=torch.empty(2)))
    show(torch.max(torch.ones(2, 2), 0, out=(torch.empty(2), torch.empty(2, dtype=torch.int64))).indices)


def tensors_from_data(torch, show):
    show(torch.tensor([1, 2.5]), torch.tensor([[True]]), torch.tensor(3), torch.tensor([]), torch.tensor([1, 1j]))
    show(torch.tensor([torch.tensor(1), torch.tensor(2)]), torch.tensor(np.float32(2)), torch.tensor([np.int64(3)]))
    show.raises(lambda: torch.tensor([[1, 2], [3]]))
    show.raises(lambda: torch.tensor([torch.ones(2), torch.ones(2)]))
    show.raises(lambda: torch.tensor("abc"))
    show.raises(lambda: torch.tensor(None))
    show.raises(lambda: torch.tensor([1], dtype="float32"))
    show.raises(lambda: torch.tensor([1], requires_grad=True))
    show.raises(lambda: torch.tensor({1, 2}))


def warnings_of_tensors(torch, show):
    show.warns(lambda: torch.tensor(torch.ones(2)))
    show.warns(lambda: torch.ones(2, 3, 4).T)
    show.warns(lambda: torch.ones(3).T)
    show.warns(lambda: torch.tensor([np.ones(2), np.ones(2)]))
    show.warns(lambda: torch.arange(2.0).requires_grad_().mul(1).grad)


def truth_and_conversion(torch, show):
    show(
        bool(torch.tensor(0.0)),
        int(torch.tensor([3])),
        float(torch.tensor(2)),
        len(torch.ones(3, 2)),
        complex(torch.tensor(2.0)),
    )
    show.raises(lambda: bool(torch.ones(2)))
    show.raises(lambda: bool(torch.ones(0)))
    show.raises(lambda: int(torch.ones(2)))
    show.raises(lambda: len(torch.tensor(1)))
    show.raises(lambda: list(torch.tensor(1)))
    show.raises(lambda: torch.ones(2).item())
    show.raises(lambda: float(torch.tensor(1j)))
    show(3 in torch.tensor([1, 3]), [each.item() for each in torch.arange(3)], hash(torch.ones(1)) is not None)


def equality_of_tensors(torch, show):
    x = torch.tensor([1, 2])
    show(x == 2, x != x, x == None, x == "a", torch.equal(x, x.clone()), torch.allclose(x.double(), x.double()))  # noqa: E711
    show.raises(lambda: x < "a")
    show.raises(lambda: x == torch.ones(3))
    show.raises(lambda: torch.allclose(x, x.double()))


def names_that_mean_the_same(torch, show):
    x = torch.arange(6.0).view(2, 3)
    show(torch.sum(x, axis=0), x.sum(axis=1, keepdims=True), x.mean(axis=(0, 1)), torch.cat((x, x), axis=1).shape)
    show(torch.stack(tensors=(x, x), dim=0).shape, torch.squeeze(input=x), torch.nn.functional.relu(input=x).sum())
    show(x.max(axis=0).values, torch.argmax(x, axis=1), x.softmax(dim=0).shape, torch.concat((x, x), axis=0).shape)
    show.raises(lambda: torch.sum(x, dim=0, axis=0))
    show.raises(lambda: x.sum(dim=0, bogus=1))
    show.raises(lambda: torch.flip(x))


def wrong_arguments_name_the_function(torch, show):
    x = torch.ones(2, 3)
    for call in (
        lambda: torch.nn.functional.relu("a"),
        lambda: torch.add("a", x),
        lambda: torch.matmul(x, 1),
        lambda: torch.cat(x),
        lambda: torch.cat([]),
        lambda: torch.cat([x, 1]),
        lambda: torch.stack([x, torch.ones(3)]),
        lambda: torch.matmul(x, x),
        lambda: torch.ones(-1),
        lambda: torch.zeros(2, 1.5),
        lambda: torch.arange("a"),
        lambda: torch.ones(2, dtype=int, device="nowhere"),
        lambda: torch.randperm(-1),
        lambda: x.permute(0),
        lambda: x.transpose(0, 2),
        lambda: x.sum(2),
        lambda: x.squeeze("a"),
        lambda: x.reshape(5),
        lambda: x.type(float),
        lambda: torch.nn.functional.mse_loss(x, np.ones((2, 3))),
        lambda: torch.linspace(0, 1, -1),
        lambda: x.repeat(2),
        lambda: torch.gather(x, 0, torch.zeros(2, 3)),
        lambda: x.topk(4),
        lambda: torch.eye(-1),
        lambda: x.chunk(0),
        lambda: x.split(-1),
        lambda: torch.where(x, 1, 2),
        lambda: torch.clamp(x),
        lambda: x.to("float"),
        lambda: x.half(1),
        lambda: torch.einsum("ij,jk", x, x),
        lambda: torch.full((2,), "a"),
        lambda: torch.multinomial(x, 5),
    ):
        show.raises(call)


def signals_refuse_wrong_settings(torch, show):
    x = torch.ones(16)
    for call in (
        lambda: torch.stft(x, 8, pad_mode="nope", return_complex=True),
        lambda: torch.stft(x, 8.5, return_complex=True),
        lambda: torch.stft(x, 8, normalized="window", return_complex=True),
        lambda: torch.stft(x, 8),
        lambda: torch.istft(torch.stft(x, 8, return_complex=True), 8, length=0),
        lambda: torch.fft.fft(x, 0),
        lambda: torch.fft.fft(x, norm="bad"),
        lambda: torch.fft.rfft(x.to(torch.complex64)),
        lambda: torch.hann_window(-1),
    ):
        show.raises(call)


def resizing_and_storages(torch, show):
    x = torch.arange(4)
    show(x.resize_(2, 3).shape, x.untyped_storage().nbytes(), x.storage_offset(), x[1:].untyped_storage().nbytes())
    show(torch.empty(0).set_(torch.arange(3.0)), x.element_size(), x.nbytes, torch.ones(2, 2).stride(0))
    show.raises(lambda: torch.ones(2, requires_grad=True).resize_(3))


def copies_and_pickles_of_tensors(torch, show):
    import copy
    import pickle

    base = torch.arange(6.0)
    part = base[2:4]
    copied = copy.deepcopy([base, part])
    copied[0][2] = 100
    show(copied[1], pickle.loads(pickle.dumps(part)), copy.copy(base).data_ptr() == base.data_ptr())
    show.raises(lambda: copy.deepcopy(torch.ones(2, requires_grad=True) * 2))


def printing(torch, show):
    for x in (
        torch.tensor([1.0, 1000.5]),
        torch.tensor([1e-8, 1.0]),
        torch.arange(3),
        torch.tensor([True]),
        torch.zeros(0, 3),
        torch.tensor(float("nan")),
        torch.ones(2, dtype=torch.float64),
        torch.ones(1, requires_grad=True) * 2,
        torch.tensor([1 + 2j]),
        torch.arange(2000),
        torch.ones(2, 2, 2, dtype=torch.bfloat16),
    ):
        show(repr(x))
    show(f"{torch.tensor(1.23456):.2f}", str(torch.Size([2])), repr(torch.float32), str(torch.device("cpu")))


def reductions_over_nothing(torch, show):
    empty = torch.zeros(0, 3)
    show(empty.sum(), empty.prod(0), empty.mean(), empty.all(), empty.any(), empty.sum(1).shape, empty.logsumexp(0))
    show.raises(lambda: empty.max())
    show.raises(lambda: empty.argmax(0))
    show.raises(lambda: empty.min(0))
    show.raises(lambda: empty.median(0))
    show.raises(lambda: torch.ones(2, dtype=torch.int64).mean())


def generators(torch, show):
    g = torch.Generator().manual_seed(3)
    state = g.get_state()
    first = torch.rand(2, generator=g)
    g.set_state(state)
    show(torch.equal(first, torch.rand(2, generator=g)), g.initial_seed(), first, torch.randperm(5, generator=g))
    show.raises(lambda: torch.rand(2, generator=3))
    show.raises(lambda: g.manual_seed("a"))
    show.raises(lambda: torch.Generator("nowhere"))
    show.raises(lambda: torch.normal(0.0, -1.0, (2,)))


def default_dtypes(torch, show):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        show(torch.tensor(1.0).dtype, torch.zeros(1).dtype, (torch.tensor(1) / 2).dtype, torch.tensor(1j).dtype)
    finally:
        torch.set_default_dtype(before)
    show.raises(lambda: torch.set_default_dtype(torch.int64))
    show(torch.finfo(torch.float32).eps, torch.iinfo(torch.int8).max)
    show.raises(lambda: torch.finfo(torch.int8))
