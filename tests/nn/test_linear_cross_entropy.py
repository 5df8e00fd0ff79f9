"""Cross entropy of a linear layer, whole and in chunks: PyTorch's values, gradients and errors."""

import pytest

import pellucid

from .oracle import assert_same, ours, torch


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("chunk", [None, 1, 3, 100])
def test_values_and_gradients(reduction, bias, weighted, chunk):
    torch.manual_seed(0)
    tensors = [torch.randn(7, 4), torch.randn(5, 4), torch.randn(5) if bias else None]
    tensors = [None if t is None else t.requires_grad_() for t in tensors]
    target = torch.tensor([0, 4, 2, -100, 1, 3, 3])
    weight = torch.rand(5) if weighted else None
    results = []
    for framework, convert in ((torch, lambda t: t), (pellucid, ours)):
        x, w, b = leaves = [convert(t) for t in tensors]
        options = None if chunk is None else framework.nn.LinearCrossEntropyOptions(batch_chunk_size=chunk)
        loss = framework.nn.functional.linear_cross_entropy(
            x, w, convert(target), linear_bias=b, weight=convert(weight), reduction=reduction, options=options
        )
        (loss * framework.arange(7.0)).sum().backward() if reduction == "none" else loss.backward()
        results.append((loss, [None if t is None else t.grad for t in leaves]))
    assert_same(*results)


def test_several_outputs_and_no_batch():
    x, w = torch.randn(3, 4), torch.randn(5, 2, 4)
    target = torch.randint(0, 5, (3, 2))
    function, mine = torch.nn.functional.linear_cross_entropy, pellucid.nn.functional.linear_cross_entropy
    assert_same(function(x, w, target), mine(ours(x), ours(w), ours(target)))
    single = (torch.randn(4), torch.randn(5, 4), torch.tensor(2))
    for options in (None, 2):
        theirs, own = (
            None if options is None else f.nn.LinearCrossEntropyOptions(batch_chunk_size=options)
            for f in (torch, pellucid)
        )
        for reduction in ("mean", "none"):
            expected = function(*single, reduction=reduction, options=theirs)
            assert_same(expected, mine(*ours(single), reduction=reduction, options=own))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda f, lce: lce(f.ones(1, 1, 4), f.ones(5, 4), f.zeros(1)), "dimensionality 1 or 2"),
        (lambda f, lce: lce(f.ones(1, 4), f.ones(4), f.zeros(1)), "dimensionality at least 2"),
        (lambda f, lce: lce(f.ones(1, 4), f.ones(5, 3), f.zeros(1)), "in_features"),
        (
            lambda f, lce: lce(f.ones(1, 4), f.ones(5, 4), f.zeros(1), linear_bias=f.ones(4)),
            "expected linear_bias shape",
        ),
        (lambda f, lce: lce(f.ones(4), f.ones(5, 2, 4), f.zeros(1)), "requires batched input"),
        (
            lambda f, lce: lce(f.ones(1, 4), f.ones(5, 4), f.ones(1, 5), ignore_index=0),
            "ignore_index cannot be specified",
        ),
    ],
)
def test_errors(call, text):
    for framework in (torch, pellucid):
        with pytest.raises(RuntimeError, match=text):
            call(framework, framework.nn.functional.linear_cross_entropy)


def test_options_are_checked_and_choose_the_chunk():
    options = pellucid.nn.LinearCrossEntropyOptions
    for bad in ({"acc_policy": "x"}, {"chunking_method": "x"}, {"batch_chunk_size": 0}, {"acc_dtype": pellucid.int64}):
        with pytest.raises(ValueError):
            options(**bad)
    for settings in (
        {},
        {"chunking_method": "aspect_ratio"},
        {"chunking_method": "aspect_ratio:4"},
        {"chunking_method": None},
    ):
        for sizes in ((128, 16, 64), (5, 4, 4), (1, 8, 100), (1000, 10, 33)):
            theirs = torch.nn.LinearCrossEntropyOptions(**settings)
            expected = theirs._adjust(*sizes, dtype=torch.float32, device=torch.device("cpu")).batch_chunk_size
            assert options(**settings).rows_per_chunk(*sizes) == expected, (settings, sizes)
