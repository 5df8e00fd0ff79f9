"""Masked tensors against PyTorch: how they print, what functions make of them, gradients, errors."""

import copy
import warnings

import pytest

import pellucid

torch = pytest.importorskip("torch")
warnings.filterwarnings("ignore", message="The PyTorch API of MaskedTensors")


def make(f, **options):
    mask = f.tensor([[True, False, True], [False, False, False]])
    return f.masked.masked_tensor(f.arange(6.0).reshape(2, 3), mask, **options)


def small(f, value, counts=True):
    return f.masked.masked_tensor(f.tensor(value), f.tensor(counts))


SAME_TEXT = {
    "two dimensions": make,
    "one": lambda f: small(f, [1.0, 2.0], [True, False]),
    "whole numbers": lambda f: small(f, [1, 20], [True, True]),
    "zero dimensions": lambda f: (small(f, 3.0), small(f, 3.0, False)),
    "bools": lambda f: small(f, [True, False], [True, False]),
    "three": lambda f: f.masked.masked_tensor(f.ones(2, 2, 2), f.ones(2, 2, 2).bool()),
    "with a gradient": lambda f: make(f, requires_grad=True),
    "sparse": lambda f: f.masked.masked_tensor(f.eye(2).to_sparse(), f.eye(2).bool().to_sparse()).to_dense(),
    "data and mask": lambda f: (make(f).get_data(), make(f).get_mask(), make(f).to_tensor(-1)),
    "facts": lambda f: (
        make(f).shape, make(f).dtype, make(f).ndim, make(f).numel(), len(make(f)), make(f).requires_grad,
        f.masked.is_masked_tensor(make(f)), f.masked.is_masked_tensor(f.ones(1)), isinstance(make(f), f.Tensor),
        make(f).sum().item(), float(small(f, 3.0)), bool(small(f, 3.0)),
    ),
    "unary": lambda f: (-make(f), f.exp(make(f)), make(f).sigmoid(), make(f).isnan(), make(f).double()),
    "binary": lambda f: (make(f) + make(f), make(f) + f.ones(2, 3), make(f) + 1, make(f) / 2, make(f) ** 2),
    "compared": lambda f: (make(f) > 1, make(f) == make(f), f.minimum(make(f), make(f)), f.fmod(make(f), 2.0)),
    "in place": lambda f: (make(f).add_(make(f)), make(f).neg_()),
    "softmax": lambda f: make(f).softmax(1),
    "shapes": lambda f: (
        make(f)[0], make(f)[:, 1:], make(f).reshape(3, 2), make(f).view(3, 2), make(f).t(), make(f).transpose(0, 1),
        make(f).unsqueeze(0), make(f).split(1), make(f)[0].expand(2, 3),
    ),
    "joined": lambda f: (f.cat([make(f), make(f)]), f.stack([make(f), make(f)])),
    "where": lambda f: f.where(make(f).get_mask(), make(f), make(f)),
    "like": lambda f: f.ones_like(make(f)),
    "all": lambda f: (make(f).all(), make(f).all(1)),
    "with keepdim": lambda f: (make(f).sum(1, keepdim=True), make(f).sum((0, 1)), make(f).sum(dim=1)),
    "masked functions": lambda f: (f.masked.sum(make(f), 1), f.masked.softmax(make(f), 1)),
}  # fmt: skip
for each in ("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "var", "std"):
    SAME_TEXT[each] = lambda f, name=each: (
        getattr(make(f), name)(1), getattr(make(f), name)(), getattr(f, name)(make(f), 0),
    )  # fmt: skip


@pytest.mark.parametrize("name", SAME_TEXT)
def test_functions_give_the_same(name):
    assert str(SAME_TEXT[name](pellucid)) == str(SAME_TEXT[name](torch))


GRADIENTS = {
    "sum": lambda m: m.sum(),
    "exp": lambda m: m.exp().sum(),
    "square": lambda m: (m * m).sum(),
    "mean": lambda m: m.mean(1).sum(),
    "to_tensor": lambda m: m.to_tensor(0).sum(),
    "amax": lambda m: m.amax(1).sum(),
    "prod": lambda m: m.prod(1).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    def gradient(f):
        leaf = make(f, requires_grad=True)
        GRADIENTS[name](leaf).backward()
        return str(leaf.grad)

    assert gradient(pellucid) == gradient(torch)


def test_as_masked_tensor_stays_in_the_history_and_masked_tensor_does_not():
    source = pellucid.arange(6.0).reshape(2, 3).requires_grad_()
    mask = make(pellucid).get_mask()
    masked = pellucid.masked.as_masked_tensor(source, mask)
    (masked * masked).sum().backward()
    assert source.grad.tolist() == [[0, 0, 4], [0, 0, 0]]
    assert not pellucid.masked.masked_tensor(source, mask).requires_grad


ERRORS = {
    "other masks": lambda f: make(f) * f.masked.masked_tensor(f.ones(2, 3), ~make(f).get_mask()),
    "mask of numbers": lambda f: f.masked.masked_tensor(f.ones(2), f.ones(2)),
    "mask of another size": lambda f: f.masked.masked_tensor(f.ones(2), f.ones(3).bool()),
    "no tensor": lambda f: f.masked.masked_tensor([1.0], f.ones(1).bool()),
    "no mask": lambda f: f.masked.masked_tensor(f.ones(1), [True]),
    "masked already": lambda f: f.masked.masked_tensor(make(f), make(f).get_mask()),
    "complex": lambda f: f.masked.masked_tensor(f.ones(1, dtype=f.complex64), f.ones(1).bool()),
    "median": lambda f: make(f).median(),
    "relu": lambda f: f.nn.functional.relu(make(f)),
    "linear": lambda f: f.nn.functional.linear(make(f), f.ones(2, 3)),
    "sort": lambda f: make(f).sort(),
    "numpy": lambda f: make(f).numpy(),
    "tolist": lambda f: make(f).tolist(),
    "assignment": lambda f: make(f).__setitem__(0, 1.0),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_the_same_class(name):
    with pytest.raises(Exception) as expected:
        ERRORS[name](torch)
    with pytest.raises(expected.type) as found:
        ERRORS[name](pellucid)
    assert str(found.value).startswith(str(expected.value)[:25])


def test_copies_are_apart():
    masked = make(pellucid, requires_grad=True)
    other = copy.deepcopy(masked)
    assert str(other) == str(masked)
    assert other.requires_grad
    with pellucid.no_grad():
        other.add_(1)
    assert str(other) != str(masked)
