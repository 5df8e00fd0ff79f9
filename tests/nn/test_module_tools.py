"""Fusing batch norms, skipping initialisation, calling with other weights, and the settings of single layers."""

import pytest

import pellucid
from pellucid import nn

from .oracle import assert_same, both, ours, torch

FRAMEWORKS = [torch, pellucid]


def settled(norm):
    """A batch norm in evaluation whose statistics and scale are not trivial."""
    with pellucid.no_grad():
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
        if norm.weight is not None:
            norm.weight.uniform_(0.5, 2)
            norm.bias.uniform_(-1, 1)
    return norm.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_fused_convolutions_compute_the_same(bias, affine):
    norm = settled(nn.BatchNorm2d(4, affine=affine))
    x = pellucid.randn(2, 3, 5, 5)
    for conv, transpose in ((nn.Conv2d(3, 4, 3, bias=bias), False), (nn.ConvTranspose2d(3, 4, 3, bias=bias), True)):
        conv.eval()
        fused = nn.utils.fuse_conv_bn_eval(conv, norm, transpose)
        assert bool(pellucid.allclose(fused(x), norm(conv(x)), atol=1e-4))
        assert isinstance(fused.bias, nn.Parameter) and fused is not conv
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        nn.utils.fuse_conv_bn_eval(conv.train(), norm)


def test_fused_linear_layers_compute_the_same():
    linear, norm = nn.Linear(3, 4).eval(), settled(nn.BatchNorm1d(4))
    x = pellucid.randn(5, 3)
    assert bool(pellucid.allclose(nn.utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-5))
    with pytest.raises(AssertionError, match="To fuse, linear.out_features == bn.num_features"):
        nn.utils.fuse_linear_bn_eval(linear, settled(nn.BatchNorm1d(3)))


def test_skipping_initialisation_draws_nothing():
    pellucid.manual_seed(0)
    expected = pellucid.rand(1)
    pellucid.manual_seed(0)
    layer = nn.utils.skip_init(nn.Linear, 3, 2, bias=False, dtype=pellucid.float64)
    assert layer.weight.dtype is pellucid.float64 and not layer.weight.is_meta
    assert bool(pellucid.rand(1) == expected)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)
    with pytest.raises(RuntimeError, match="Expected a Module"):
        nn.utils.skip_init(dict)


def test_channels_last_weights():
    net = nn.Sequential(nn.Conv2d(8, 4, 3), nn.Conv1d(2, 2, 3))
    before = net[0].weight.detach().clone()
    nn.utils.convert_conv2d_weight_memory_format(net, pellucid.channels_last)
    assert net[0].weight.is_contiguous(memory_format=pellucid.channels_last)
    assert bool((net[0].weight == before).all()) and net[1].weight.is_contiguous()
    net[0].to(memory_format=pellucid.contiguous_format)
    assert net[0].weight.is_contiguous()


def call(module, weights, *args, **kwargs):
    return nn.utils.stateless._functional_call(module, weights, *args, **kwargs)


def test_calling_with_other_weights_leaves_the_module_alone():
    net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.BatchNorm1d(1, affine=False))
    own = net[0].weight
    weight = pellucid.full((1, 1), 3.0, requires_grad=True)
    out = call(net.eval(), {"0.weight": weight}, pellucid.ones(1, 1))
    out.sum().backward()
    assert abs(float(out) - 3) < 1e-3 and weight.grad is not None
    assert net[0].weight is own and own.grad is None
    with pytest.raises(RuntimeError, match="Missing key"):
        call(net, {"0.weight": weight}, pellucid.ones(1, 1), strict=True)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        call(net, {"0.weight": weight, "x": weight}, pellucid.ones(1, 1), strict=True)
    with pytest.raises(RuntimeError):
        call(net, {"0.weight": pellucid.ones(5, 5)}, pellucid.ones(1, 1))
    assert net[0].weight is own


def test_buffers_written_by_the_call_come_back_in_the_dictionary():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", pellucid.zeros(1))

        def forward(self, x):
            self.count = self.count + x
            return self.count

    module, state = Counter(), {"count": pellucid.ones(1)}
    assert float(call(module, state, (pellucid.ones(1),))) == 2
    assert float(state["count"]) == 2 and float(module.count) == 0


def test_tied_weights_follow_each_other():
    net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    net[1].weight = net[0].weight
    two = pellucid.full((1, 1), 2.0)
    assert float(call(net, {"0.weight": two}, pellucid.ones(1, 1))) == 4
    with pytest.raises(ValueError, match="multiple values for keys"):
        call(net, {"0.weight": two, "1.weight": two + 1}, pellucid.ones(1, 1))
    with pytest.warns(FutureWarning, match="torch.func.functional_call"):
        nn.utils.stateless.functional_call(net, {"0.weight": two}, pellucid.ones(1, 1))


BAD_SETTINGS = [
    (lambda n: n.Conv2d(3, 4, 3, groups=2), "in_channels must be divisible by groups"),
    (lambda n: n.Conv2d(4, 3, 3, groups=2), "out_channels must be divisible by groups"),
    (lambda n: n.Conv2d(4, 4, 3, groups=0), "groups must be a positive integer"),
    (lambda n: n.Conv1d(1, 1, 3, padding="full"), "Invalid padding string 'full'"),
    (lambda n: n.Conv1d(1, 1, 3, padding="same", stride=2), "padding='same' is not supported for strided convolutions"),
    (lambda n: n.Conv1d(1, 1, 3, padding_mode="what"), "padding_mode must be one of"),
    (
        lambda n: n.ConvTranspose1d(1, 1, 3, padding_mode="reflect"),
        'Only "zeros" padding mode is supported for ConvTranspose1d',
    ),
    (lambda n: n.Dropout(1.5), "dropout probability has to be between 0 and 1, but got 1.5"),
    (lambda n: n.GroupNorm(2, 3), r"num_channels \(3\) must be divisible by num_groups \(2\)"),
    (lambda n: n.Bilinear(0, 1, 1), "in1_features must be > 0"),
    (lambda n: n.MultiMarginLoss(p=3), "only p == 1 and p == 2 supported"),
    (lambda n: n.TripletMarginLoss(margin=0), "expected margin to be greater than 0"),
    (lambda n: n.FractionalMaxPool2d(2), "requires specifying either an output size, or a pooling ratio"),
    (lambda n: n.FractionalMaxPool2d(2, output_ratio=2), "output_ratio must be between 0 and 1"),
    (lambda n: n.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]), "cutoffs should be a sequence of unique, positive integers"),
]


@pytest.mark.parametrize("build, text", BAD_SETTINGS)
def test_settings_that_no_layer_has(build, text):
    for framework in FRAMEWORKS:
        with pytest.raises(ValueError, match=text):
            build(framework.nn)


@pytest.mark.parametrize(
    "build, kind",
    [
        (lambda n: n.Embedding(3, 2, padding_idx=3), AssertionError),
        (lambda n: n.Embedding(3, 2, padding_idx=-4), AssertionError),
        (lambda n: n.Unflatten(1, 3), TypeError),
        (lambda n: n.Unflatten(1, (2, 1.5)), TypeError),
        (lambda n: n.HuberLoss(delta="x"), TypeError),
        (lambda n: n.Hardtanh(1, 0), AssertionError),
        (lambda n: n.ModuleList(3), TypeError),
        (lambda n: n.ModuleDict(3), TypeError),
        (lambda n: n.ModuleDict([(1, 2, 3)]), ValueError),
        (lambda n: n.Sequential(3), TypeError),
    ],
)
def test_other_errors_of_construction(build, kind):
    for framework in FRAMEWORKS:
        with pytest.raises(kind):
            build(framework.nn)


def test_transposed_convolutions_choose_among_the_open_sizes():
    theirs, mine = both(lambda f: f.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1))
    x = torch.randn(1, 2, 4, 4)
    for size in ([7, 8], [1, 3, 8, 7]):
        assert_same(theirs(x, output_size=size), mine(ours(x), output_size=size))
    for layer, input in ((theirs, x), (mine, ours(x))):
        with pytest.raises(ValueError, match=r"requested an output size of \[9, 8\], but valid sizes range"):
            layer(input, output_size=[9, 8])
        with pytest.raises(ValueError, match="output_size must have 2 or 4 elements"):
            layer(input, output_size=[9])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_cross_map_normalisation(size):
    theirs, mine = both(lambda f: f.nn.CrossMapLRN2d(size, alpha=0.5, beta=0.6, k=2))
    x = torch.randn(2, 5, 2, 3)
    assert_same(theirs(x), mine(ours(x)))
    assert repr(mine) == repr(theirs)


def test_embedding_tables_from_outside():
    table = torch.randn(4, 3)
    for kind in ("Embedding", "EmbeddingBag"):
        theirs = getattr(torch.nn, kind).from_pretrained(table, padding_idx=1)
        mine = getattr(nn, kind).from_pretrained(ours(table), padding_idx=1)
        index = torch.tensor([[0, 1], [3, 3]])
        assert_same(theirs(index), mine(ours(index)))
        assert not mine.weight.requires_grad and repr(mine) == repr(theirs)


def test_the_adaptive_softmax_predicts_the_best_of_all_classes():
    theirs, mine = both(lambda f: f.nn.AdaptiveLogSoftmaxWithLoss(16, 12, [3, 6]))
    x = torch.randn(30, 16) * 4
    assert_same(theirs.log_prob(x), mine.log_prob(ours(x)), 1e-4)
    assert_same(theirs.predict(x), mine.predict(ours(x)))
    target = torch.randint(0, 12, (30,))
    assert_same(tuple(theirs(x, target)), tuple(mine(ours(x), ours(target))), 1e-4)
    for framework, layer in ((torch, theirs), (pellucid, mine)):
        with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 11\]"):
            layer(framework.ones(2, 16), framework.tensor([3, 12]))
        with pytest.raises(RuntimeError, match="multi-target not supported"):
            layer(framework.ones(2, 16), framework.zeros(2, 2, dtype=framework.int64))


def test_converting_batch_norms_to_synchronised_ones():
    net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.Sequential(nn.BatchNorm1d(3, affine=False)))
    weight = net[1].weight
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert isinstance(converted[1], nn.SyncBatchNorm) and isinstance(converted[2][0], nn.SyncBatchNorm)
    assert converted[1].weight is weight and converted[2][0].weight is None
    x = pellucid.randn(3, 1, 4, 4)
    assert bool(pellucid.allclose(converted[1](net[0](x)).mean((0, 2, 3)), pellucid.zeros(2), atol=1e-5))
    with pytest.raises(ValueError, match="expected at least 2D input"):
        converted[1](pellucid.ones(3))


def test_sequential_arithmetic_and_editing():
    for framework in FRAMEWORKS:
        n = framework.nn
        net = n.Sequential(n.ReLU(), n.Tanh())
        net += n.Sequential(n.Sigmoid())
        net.insert(1, n.Identity())
        net.extend([n.ELU()]).append(n.SELU())
        del net[0]
        popped = net.pop(-1)
        names = [type(m).__name__ for m in net * 2 + n.Sequential(popped)]
        assert names == ["Identity", "Tanh", "Sigmoid", "ELU"] * 2 + ["SELU"]
        assert list(net._modules) == ["0", "1", "2", "3"] and isinstance(net[1:3], n.Sequential)
        net[1] = n.Softsign()
        assert type(net[1]).__name__ == "Softsign"
        for bad in (lambda net=net: net[9], lambda net=net, n=n: net.insert(9, n.ReLU())):
            with pytest.raises(IndexError):
                bad()
        with pytest.raises(ValueError, match="add operator supports only objects of Sequential class"):
            net + 3
        with pytest.raises(ValueError, match="Non-positive multiplication factor"):
            net * 0


def test_lists_and_dictionaries_of_modules_and_parameters():
    for framework in FRAMEWORKS:
        n = framework.nn
        items = n.ModuleList([n.ReLU(), n.Tanh()])
        items.insert(0, n.ELU())
        items += [n.SELU()]
        del items[1:3]
        assert [type(m).__name__ for m in items + [n.Identity()]] == ["ELU", "SELU", "Identity"]
        with pytest.raises(IndexError):
            items[5]
        named = n.ModuleDict([("b", n.ReLU()), ("a", n.Tanh())])
        named.update({"c": n.ELU()})
        assert list(named) == ["b", "a", "c"] and "a" in named and named.pop("a") is not None and len(named) == 2
        weights = n.ParameterDict({"y": framework.ones(1), "x": framework.ones(2)})
        assert list(weights) == ["x", "y"] and isinstance(weights["x"], n.Parameter)
        assert list((weights | n.ParameterDict({"z": framework.ones(1)})).keys()) == ["x", "y", "z"]
        assert weights.popitem()[0] == "y" and weights.get("nothing", 3) == 3 and weights.setdefault("q", 4) == 4
        listed = n.ParameterList([framework.ones(1), 3])
        listed.append(framework.ones(2))
        assert len(listed) == 3 and len(list(listed.parameters())) == 2 and len(listed[1:]) == 2
        for container in (weights, listed):
            with pytest.raises(RuntimeError, match="should not be called"):
                container(1)
        with pytest.raises(TypeError, match="not a string"):
            weights[3] = framework.ones(1)
