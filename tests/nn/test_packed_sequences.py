"""Padding, packing and unpacking sequences of different lengths, and recurrent layers over them."""

import pytest

import pellucid
from pellucid.nn.utils import rnn

from .oracle import assert_same, assert_same_gradients, both, ours, torch

LENGTHS = [[3, 2, 1], [2, 2, 2], [1, 4, 2], [5], [4, 4, 1, 1]]


def padded(lengths, batch_first, extra=0):
    torch.manual_seed(1)
    shape = (len(lengths), max(lengths) + extra, 2) if batch_first else (max(lengths) + extra, len(lengths), 2)
    return torch.randn(shape, requires_grad=True)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("batch_first", [False, True])
def test_packing_and_padding_are_pytorch_s(lengths, batch_first):
    x = padded(lengths, batch_first)
    mine = ours(x)
    theirs = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
    packed = rnn.pack_padded_sequence(mine, lengths, batch_first, enforce_sorted=False)
    assert_same(tuple(theirs), tuple(packed))
    for total in (None, max(lengths) + 2):
        expected = torch.nn.utils.rnn.pad_packed_sequence(theirs, batch_first, -1.0, total)
        assert_same(expected, rnn.pad_packed_sequence(packed, batch_first, -1.0, total))
    torch.nn.utils.rnn.pad_packed_sequence(theirs)[0].pow(2).sum().backward()
    rnn.pad_packed_sequence(packed)[0].pow(2).sum().backward()
    assert_same(x.grad, mine.grad)


@pytest.mark.parametrize(
    "lengths, message",
    [
        ([1, 2], "must be sorted in decreasing order when `enforce_sorted` is True"),
        ([2, 0], "Length of all samples has to be greater than 0"),
        ([2, 1, 1], r"Expected `len\(lengths\)` to be equal to batch_size"),
    ],
)
def test_lengths_that_do_not_fit_raise_as_in_pytorch(lengths, message):
    for framework in (torch, pellucid):
        with pytest.raises(RuntimeError, match=message):
            framework.nn.utils.rnn.pack_padded_sequence(framework.ones(2, 2), lengths)


def test_lengths_beyond_the_padding_raise():
    with pytest.raises(RuntimeError, match="no larger than 2, the padded length, but the longest length is 5"):
        rnn.pack_padded_sequence(pellucid.ones(2, 2), [5, 1])
    with pytest.raises(RuntimeError, match="Cannot pack empty tensors"):
        rnn.pack_padded_sequence(pellucid.ones(0, 2), [1, 1])
    packed = rnn.pack_sequence([pellucid.ones(3)])
    with pytest.raises(ValueError, match="total_length=2 and max sequence length being 3"):
        rnn.pad_packed_sequence(packed, total_length=2)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_pad_sequence(side, batch_first):
    torch.manual_seed(0)
    sequences = [torch.randn(n, 2, requires_grad=True) for n in (2, 4, 1)]
    mine = ours(sequences)
    expected = torch.nn.utils.rnn.pad_sequence(sequences, batch_first, 9.0, side)
    found = rnn.pad_sequence(mine, batch_first, 9.0, side)
    assert_same(expected, found)
    expected.pow(2).sum().backward()
    found.pow(2).sum().backward()
    assert_same([s.grad for s in sequences], [s.grad for s in mine])
    assert_same(torch.nn.utils.rnn.pad_sequence(sequences[0]), rnn.pad_sequence(mine[0]))
    for bad, kind in ((3, "Expected iterable"), ([], "received an empty list of sequences")):
        with pytest.raises(RuntimeError, match=kind):
            rnn.pad_sequence(bad)
    with pytest.raises(RuntimeError, match="Expected padding_side to be one of left or right"):
        rnn.pad_sequence(mine, padding_side="up")


def test_round_trips():
    sequences = [pellucid.arange(n) for n in (1, 3, 2)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    for left, right in zip(sequences, rnn.unpack_sequence(packed), strict=True):
        assert left.tolist() == right.tolist()
    grid = rnn.pad_sequence(sequences)
    shape = tuple(grid.shape)
    assert [s.tolist() for s in rnn.unpad_sequence(grid, pellucid.tensor([1, 3, 2]))] == [[0], [0, 1, 2], [0, 1]]
    assert tuple(grid.shape) == shape, "unpacking must not change its argument"
    assert rnn.invert_permutation(None) is None


def test_a_packed_sequence_converts_its_data_and_keeps_its_indices():
    packed = rnn.pack_sequence([pellucid.ones(1), pellucid.ones(2)], enforce_sorted=False)
    double = packed.double()
    assert double.data.dtype is pellucid.float64 and double.sorted_indices.dtype is pellucid.int64
    assert packed.to("cpu") is packed and packed.float() is packed
    assert [t.data.dtype for t in (packed.long(), packed.int(), packed.half())] == [
        pellucid.int64,
        pellucid.int32,
        pellucid.float16,
    ]
    assert not packed.is_cuda
    assert rnn.PackedSequence((packed.data, packed.batch_sizes)).batch_sizes is packed.batch_sizes


CONFIGURATIONS = [
    {},
    {"num_layers": 2, "bidirectional": True},
    {"bias": False, "batch_first": True},
    {"proj_size": 2, "num_layers": 2},
]


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("settings", CONFIGURATIONS, ids=str)
@pytest.mark.parametrize("given_state", [False, True])
def test_recurrent_layers_over_packed_sequences(kind, settings, given_state):
    if "proj_size" in settings and kind != "LSTM":
        for framework in (torch, pellucid):
            with pytest.raises(ValueError, match="proj_size argument is only supported for LSTM"):
                getattr(framework.nn, kind)(2, 3, **settings)
        return
    theirs, mine = both(lambda framework: getattr(framework.nn, kind)(2, 3, **settings))
    batch_first = settings.get("batch_first", False)
    x = padded([2, 4, 1], batch_first)
    y = ours(x)
    state = None
    if given_state:
        layers = settings.get("num_layers", 1) * (2 if settings.get("bidirectional") else 1)
        state = torch.randn(layers, 3, settings.get("proj_size", 3))
        state = (state, torch.randn(layers, 3, 3)) if kind == "LSTM" else state
    results = []
    for framework, layer, input, hx in ((torch, theirs, x, state), (pellucid, mine, y, ours(state))):
        tools = framework.nn.utils.rnn
        packed = tools.pack_padded_sequence(input, [2, 4, 1], batch_first, enforce_sorted=False)
        output, hidden = layer(packed, hx)
        grid, lengths = tools.pad_packed_sequence(output, batch_first)
        last = hidden[0] if kind == "LSTM" else hidden
        (grid.pow(2).sum() + last.sum()).backward()
        results.append((grid, lengths, hidden))
    assert_same(*results)
    assert_same(x.grad, y.grad)
    assert_same_gradients(theirs, mine)


def test_packing_gives_what_each_sequence_alone_gives():
    layer = pellucid.nn.LSTM(2, 3, bidirectional=True)
    sequences = [pellucid.randn(n, 2) for n in (3, 5, 2)]
    output, (h, _) = layer(rnn.pack_sequence(sequences, enforce_sorted=False))
    for i, (sequence, found) in enumerate(zip(sequences, rnn.unpack_sequence(output), strict=True)):
        alone, (h_alone, _) = layer(sequence)
        assert bool(pellucid.allclose(alone, found, atol=1e-6))
        assert bool(pellucid.allclose(h_alone, h[:, i], atol=1e-6))
