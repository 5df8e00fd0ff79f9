"""Multi-head attention and the transformer layers: both paths, every kind of mask, and rows that may look at
nothing.
"""

import math

import pytest

import pellucid

from .oracle import assert_same, assert_same_gradients, both, ours, torch

L, S, N, E, H = 4, 5, 2, 8, 2


def masks():
    causal = torch.triu(torch.ones(L, L, dtype=torch.bool), 1)
    padding = torch.tensor([[False, False, False, True], [False, True, True, True]])
    yield "none", {}
    yield "causal", {"attn_mask": causal}
    yield "causal hint", {"attn_mask": causal, "is_causal": True}
    yield "float", {"attn_mask": torch.randn(L, L)}
    yield "per head", {"attn_mask": torch.randn(N * H, L, L)}
    yield "padding", {"key_padding_mask": padding}
    yield "both", {"attn_mask": causal, "key_padding_mask": padding}


SETTINGS = [
    {},
    {"batch_first": True},
    {"bias": False},
    {"add_bias_kv": True, "add_zero_attn": True},
    {"dropout": 0.4},
    {"kdim": 8, "vdim": 8},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("mask", [name for name, _ in masks()])
def test_self_attention(settings, need_weights, mask):
    torch.manual_seed(0)
    given = dict(masks())[mask]
    theirs, mine = both(lambda f: f.nn.MultiheadAttention(E, H, **settings))
    x = torch.randn((N, L, E) if settings.get("batch_first") else (L, N, E), requires_grad=True)
    y = ours(x)
    results = []
    for framework, layer, input, kwargs in ((torch, theirs, x, given), (pellucid, mine, y, ours(given))):
        framework.manual_seed(5)
        output, weights = layer(input, input, input, need_weights=need_weights, **kwargs)
        output.pow(2).sum().backward()
        results.append((output, weights))
    assert_same(*results)
    assert_same(x.grad, y.grad, 1e-4)
    assert_same_gradients(theirs, mine)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("is_batched", [True, False])
def test_attention_to_other_sizes(average, is_batched):
    theirs, mine = both(lambda f: f.nn.MultiheadAttention(E, H, kdim=3, vdim=6))
    assert list(mine.state_dict()) == list(theirs.state_dict())
    batch = (N,) if is_batched else ()
    q, k, v = torch.randn(L, *batch, E), torch.randn(S, *batch, 3), torch.randn(S, *batch, 6)
    expected = theirs(q, k, v, average_attn_weights=average)
    assert_same(expected, mine(*ours((q, k, v)), average_attn_weights=average))
    shared, shared_mine = both(lambda f: f.nn.MultiheadAttention(E, H))
    memory = torch.randn(S, *batch, E)
    assert_same(shared(q, memory, memory), shared_mine(ours(q), *[ours(memory)] * 2))


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("kind", ["attn_mask", "key_padding_mask"])
def test_a_row_that_may_look_at_nothing_is_zero_and_has_finite_gradients(need_weights, kind):
    layer = pellucid.nn.MultiheadAttention(E, H)
    x = pellucid.randn(L, N, E, requires_grad=True)
    if kind == "attn_mask":
        mask = pellucid.zeros(L, L, dtype=pellucid.bool)
        mask[1] = True
        blocked = (1, slice(None))
    else:
        mask = pellucid.zeros(N, L, dtype=pellucid.bool)
        mask[1] = True
        blocked = (slice(None), 1)
    output, weights = layer(x, x, x, need_weights=need_weights, **{kind: mask})
    assert bool(pellucid.isfinite(output).all())
    assert bool((output[blocked] == layer.out_proj.bias).all())
    output.pow(2).sum().backward()
    for tensor in (x, *layer.parameters()):
        assert bool(pellucid.isfinite(tensor.grad).all())
    if need_weights:
        where = (slice(None), 1) if kind == "attn_mask" else (1,)
        assert float(weights[where].abs().sum()) == 0


def test_both_paths_agree():
    layer = pellucid.nn.MultiheadAttention(E, H)
    x = pellucid.randn(L, N, E)
    mask = pellucid.tensor([[True] * L, [False] + [True] * (L - 1), [False] * L, [False] * L])
    with_weights, _ = layer(x, x, x, attn_mask=mask)
    without, nothing = layer(x, x, x, attn_mask=mask, need_weights=False)
    assert nothing is None and bool(pellucid.allclose(with_weights, without, atol=1e-6))


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (
            lambda f, m: m(f.ones(1, 8), f.ones(1, 1, 8), f.ones(1, 8)),
            AssertionError,
            "expected `key` and `value` to be 2-D",
        ),
        (lambda f, m: m(*[f.ones(1, 1, 6)] * 3), AssertionError, "was expecting embedding dimension of 8, but got 6"),
        (
            lambda f, m: m(*[f.ones(2, 1, 8)] * 3, attn_mask=f.ones(3, 3)),
            RuntimeError,
            "The shape of the 2D attn_mask is",
        ),
        (
            lambda f, m: m(*[f.ones(2, 1, 8)] * 3, is_causal=True),
            RuntimeError,
            "Need attn_mask if specifying the is_causal hint",
        ),
        (
            lambda f, m: m(*[f.ones(2, 1, 8)] * 3, attn_mask=f.ones(2, 2, dtype=f.int64)),
            AssertionError,
            "only bool and floating",
        ),
        (
            lambda f, m: m(*[f.ones(2, 1, 8)] * 3, key_padding_mask=f.ones(1, 5)),
            AssertionError,
            "Expected key_padded_mask.shape",
        ),
        (lambda f, m: f.nn.MultiheadAttention(8, 3), AssertionError, "embed_dim must be divisible by num_heads"),
        (lambda f, m: f.nn.MultiheadAttention(0, 1), ValueError, "must be greater than 0"),
    ],
)
def test_what_does_not_fit(call, kind, text):
    for framework in (torch, pellucid):
        with pytest.raises(kind, match=text):
            call(framework, framework.nn.MultiheadAttention(8, 2))


def test_merge_masks():
    theirs, mine = both(lambda f: f.nn.MultiheadAttention(E, H, batch_first=True))
    query = torch.zeros(N, L, E)
    for given in (
        (None, None),
        (None, torch.zeros(N, L)),
        (torch.randn(L, L), None),
        (torch.randn(L, L), torch.randn(N, L)),
        (torch.randn(N * H, L, L), None),
    ):
        assert_same(theirs.merge_masks(*given, query), mine.merge_masks(*ours(given), ours(query)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "settings", [{}, {"norm_first": True}, {"batch_first": True, "activation": "gelu"}, {"bias": False}], ids=str
)
@pytest.mark.parametrize("training", [True, False])
def test_transformer(settings, training):
    def build(framework):
        framework.manual_seed(4)
        return framework.nn.Transformer(8, 2, 1, 2, 16, 0.2, **settings).train(training)

    theirs, mine = build(torch), build(pellucid)
    for (name, left), (other, right) in zip(theirs.state_dict().items(), mine.state_dict().items(), strict=True):
        assert name == other
        assert_same(left, right, 0, name)
    src, tgt = torch.randn(3, 3, 8), torch.randn(3, 3, 8)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(3)
    results = []
    for framework, model, convert in ((torch, theirs, lambda t: t), (pellucid, mine, ours)):
        framework.manual_seed(6)
        output = model(convert(src), convert(tgt), tgt_mask=convert(mask), src_mask=convert(mask))
        output.pow(2).sum().backward()
        results.append(output)
    assert_same(*results)
    assert_same_gradients(theirs, mine, 1e-3)


def test_a_stack_s_copies_start_alike_and_share_nothing():
    layer = pellucid.nn.TransformerEncoderLayer(8, 2, 16)
    stack = pellucid.nn.TransformerEncoder(layer, 2)
    first, second = (one.linear1.weight for one in stack.layers)
    assert first is not second and bool((first == second).all())
    assert pellucid.nn.Transformer.generate_square_subsequent_mask(2).tolist() == [[0, -math.inf], [0, 0]]
    for bad, text in (((8, 2, 3), "batch number"), ((3, 3, 6), "feature number")):
        with pytest.raises(RuntimeError, match=text):
            pellucid.nn.Transformer(8, 2, 1, 1, 16)(pellucid.ones(3, 3, 8), pellucid.ones(bad))
