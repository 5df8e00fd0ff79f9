"""Layers without an input size: what they are before, during and after their first input."""

import copy
import pickle

import pytest

import pellucid

from .oracle import assert_same, ours, torch

LAYERS = [
    ("LazyLinear", (3,), (2, 5)),
    ("LazyConv1d", (4, 3), (2, 5, 7)),
    ("LazyConv2d", (4, 3), (5, 7, 7)),
    ("LazyConv3d", (4, 2), (2, 5, 4, 4, 4)),
    ("LazyConvTranspose1d", (4, 3), (2, 5, 7)),
    ("LazyConvTranspose2d", (4, 3), (2, 5, 7, 7)),
    ("LazyConvTranspose3d", (4, 2), (2, 5, 4, 4, 4)),
    ("LazyBatchNorm1d", (), (3, 5)),
    ("LazyBatchNorm2d", (), (3, 5, 4, 4)),
    ("LazyBatchNorm3d", (), (3, 5, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), (3, 5, 4)),
    ("LazyInstanceNorm2d", (), (3, 5, 4, 4)),
    ("LazyInstanceNorm3d", (), (3, 5, 2, 2, 2)),
]


@pytest.mark.parametrize("name, args, shape", LAYERS, ids=[name for name, _, _ in LAYERS])
def test_first_input_gives_the_shape_and_the_class(name, args, shape):
    x = torch.randn(shape)
    outputs, layers = [], []
    for framework, input in ((torch, x), (pellucid, ours(x))):
        layer = getattr(framework.nn, name)(*args)
        before = repr(layer)
        framework.manual_seed(8)
        output = layer(input)
        outputs.append(output)
        layers.append((before, layer))
    assert_same(*outputs)
    assert layers[0][0] == layers[1][0]
    mine = layers[1][1]
    assert repr(mine) == repr(layers[0][1])
    assert type(mine).__name__ == name.removeprefix("Lazy")
    assert all(type(p) is pellucid.nn.Parameter for p in mine.parameters())
    assert all(type(b) is pellucid.Tensor for b in mine.buffers())
    assert not mine._forward_pre_hooks and not mine._load_state_dict_pre_hooks


def test_before_the_first_input_it_can_be_moved_saved_copied_and_loaded():
    lazy = pellucid.nn.LazyLinear(3).double()
    assert lazy.has_uninitialized_params()
    assert repr(lazy.state_dict()["weight"]) == "<UninitializedParameter>"
    for twin in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        assert twin(pellucid.ones(1, 2, dtype=pellucid.float64)).dtype is pellucid.float64
        assert type(twin) is pellucid.nn.Linear
    assert lazy.has_uninitialized_params()
    other = pellucid.nn.LazyLinear(3)
    other.load_state_dict(lazy.state_dict())
    assert other.has_uninitialized_params()
    full = pellucid.nn.Linear(4, 3)
    other.load_state_dict(full.state_dict())
    assert bool((other.weight == full.weight).all()) and other(pellucid.ones(1, 4)).shape == (1, 3)
    assert other.in_features == 4 and type(other) is pellucid.nn.Linear


def test_buffers_without_a_shape_are_cast_and_still_get_one():
    layer = pellucid.nn.LazyBatchNorm1d().double().to("cpu")
    assert layer.has_uninitialized_params() and layer.num_batches_tracked.dtype is pellucid.int64
    assert layer(pellucid.ones(3, 2, dtype=pellucid.float64)).dtype is pellucid.float64
    assert layer.running_var.shape == (2,) and layer.running_var.dtype is pellucid.float64


def test_a_full_layer_cannot_take_a_lazy_state():
    for framework in (torch, pellucid):
        with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
            framework.nn.Linear(1, 3).load_state_dict(framework.nn.LazyLinear(3).state_dict())


def test_settings_are_checked_when_the_shape_is_known():
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        pellucid.nn.LazyConv1d(4, 1, groups=2)(pellucid.ones(1, 3, 5))
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to LazyConv2d"):
        pellucid.nn.LazyConv2d(4, 1)(pellucid.ones(1, 5))


def test_a_layer_without_bias_has_none():
    layer = pellucid.nn.LazyConv2d(4, 3, bias=False)
    assert layer.bias is None and layer(pellucid.ones(1, 2, 5, 5)).shape == (1, 4, 3, 3)


def test_what_does_not_initialise_itself_says_so():
    class Own(pellucid.nn.modules.lazy.LazyModuleMixin, pellucid.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = pellucid.nn.UninitializedParameter()

        def forward(self, x):
            return x

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Own"):
        Own()(1)
    Own.initialize_parameters = lambda self, x: None
    with pytest.raises(RuntimeError, match="module Own has not been fully initialized"):
        Own()(1)
