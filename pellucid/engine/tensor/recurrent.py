"""Recurrent networks over sequences, made of operators: lstm, gru, rnn_tanh, rnn_relu and their cells.

The input's part of all gates is one product for the whole sequence; the recurrence then runs step by step. A packed
batch holds
the rows of a step together, fewer of them as sequences end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check
from pellucid.engine.ops import exponential as functions
from pellucid.engine.ops import linalg
from pellucid.engine.ops import recurrent as ops
from pellucid.engine.ops.arithmetic import add, mul
from pellucid.engine.tensor.arguments import need_tensor
from pellucid.engine.tensor.joining import cat, stack

Own = tuple[Any, Any]
Cell = Callable[[Any, Any, Any, Own], tuple[Any, Any]]


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    from pellucid.engine.tensor.linalg import addmm, mm

    return mm(x, weight.t()) if bias is None else addmm(bias, x, weight.t())


def _with_own(gates: Any, h: Any, own: Own) -> Any:
    """The gates' sums with the state's part; its bias is in `gates` already."""
    return linalg.addmm(gates, h, own[0], beta=1, alpha=1)


def _lstm_step(gates: Any, h: Any, c: Any, own: Own) -> tuple[Any, Any]:
    return ops.lstm_gates(_with_own(gates, h, own), c)[:2]


def _gru_step(gates: Any, h: Any, c: Any, own: Own) -> tuple[Any, Any]:
    weight, bias = own
    mine = linalg.mm(h, weight) if bias is None else linalg.addmm(bias, h, weight, beta=1, alpha=1)
    return ops.gru_gates(gates, mine, h)[0], None


def _tanh_step(gates: Any, h: Any, c: Any, own: Own) -> tuple[Any, Any]:
    return functions.tanh(_with_own(gates, h, own)), None


def _relu_step(gates: Any, h: Any, c: Any, own: Own) -> tuple[Any, Any]:
    return functions.relu(_with_own(gates, h, own)), None


def _prepared(step: Cell, rows: Any, weights: list[Any]) -> tuple[Any, Own]:
    """The input's part of all gates, (rows, gates), and the state's weight, transposed, with the bias that its
    product still needs.

    Where both products are only added, their biases are added once; the GRU multiplies the state's part first.
    """
    w_in, w_own, b_in, b_own, _ = weights
    if step is _gru_step:
        return _affine(rows, w_in, b_in), (w_own.t(), b_own)
    return _affine(rows, w_in, None if b_in is None else add(b_in, b_own)), (w_own.t(), None)


def _run_dense(step: Cell, rows: Any, h: Any, c: Any, weights: list[Any], reverse: bool) -> tuple[Any, Any, Any]:
    """(T, N, in) through one layer in one direction: (T, N, out) and the last states."""
    length, batch = rows.shape[0], rows.shape[1]
    flat, own = _prepared(step, rows.reshape(length * batch, rows.shape[2]), weights)
    projection = weights[4]
    outputs: list[Any] = [None] * length
    parts = flat.reshape(length, batch, flat.shape[1]).unbind(0)
    for t in range(length - 1, -1, -1) if reverse else range(length):
        h, c = step(parts[t], h, c, own)
        h = h if projection is None else _affine(h, projection, None)
        outputs[t] = h
    return stack(outputs), h, c


def _run_packed(
    step: Cell, rows: Any, sizes: list[int], h: Any, c: Any, weights: list[Any], reverse: bool
) -> tuple[Any, Any, Any]:
    """Packed rows through one layer in one direction: packed outputs and each sequence's last states."""
    flat, own = _prepared(step, rows, weights)
    projection = weights[4]
    parts = flat.split(sizes, 0)
    outputs: list[Any] = [None] * len(sizes)
    start_h, start_c = h, c
    done: list[tuple[Any, Any]] = []
    current = sizes[-1] if reverse else sizes[0]
    h, c = h[:current], None if c is None else c[:current]
    for t in range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes)):
        size = sizes[t]
        if size < current:  # the shortest sequences have ended
            done.append((h[size:], None if c is None else c[size:]))
            h, c = h[:size], None if c is None else c[:size]
        elif size > current:  # read backwards, longer prefixes join
            h = cat([h, start_h[current:size]])
            c = None if c is None else cat([c, start_c[current:size]])
        current = size
        h, c = step(parts[t], h, c, own)
        h = h if projection is None else _affine(h, projection, None)
        outputs[t] = h
    done.append((h, c))
    done.reverse()
    last_c = None if c is None else cat([each for _, each in done])
    return cat(outputs), cat([each for each, _ in done]), last_c


def _grouped(flat: list[Any], layers: int, bias: bool, directions: int, projected: bool) -> list[list[Any]]:
    per = (4 if bias else 2) + (1 if projected else 0)
    check(len(flat) == layers * directions * per, f"expected {layers * directions * per} weights, got {len(flat)}")
    groups = []
    for i in range(layers * directions):
        own = list(flat[i * per : (i + 1) * per])
        biases = own[2:4] if bias else [None, None]
        groups.append([own[0], own[1], *biases, own[-1] if projected else None])
    return groups


def _noise(rows: Any, p: float) -> Any:
    """What dropout multiplies with: 0 with probability p, else 1 / (1 - p)."""
    from pellucid.engine.tensor.random import bernoulli_
    from pellucid.engine.tensor.ranges import zeros_like

    noise = zeros_like(rows.detach())
    return noise if p == 1 else bernoulli_(noise, 1 - p).div_(1 - p)


def _layers(
    step: Cell,
    rows: Any,
    sizes: list[int] | None,
    h: Any,
    c: Any,
    groups: list[list[Any]],
    layers: int,
    drop: float,
    train: bool,
) -> tuple[Any, Any, Any]:
    directions = len(groups) // layers
    states, cells = [], []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            own_c = None if c is None else c[index]
            if sizes is None:
                out, last_h, last_c = _run_dense(step, rows, h[index], own_c, groups[index], direction == 1)
            else:
                out, last_h, last_c = _run_packed(step, rows, sizes, h[index], own_c, groups[index], direction == 1)
            outputs.append(out)
            states.append(last_h)
            cells.append(last_c)
        rows = outputs[0] if directions == 1 else cat(outputs, -1)
        if drop and train and layer < layers - 1:
            rows = mul(rows, _noise(rows, drop))
    return rows, stack(states), None if c is None else stack(cells)


def _check(rows: Any, sizes: Any, states: tuple[Any, ...], groups: list[list[Any]], layers: int, drop: float) -> None:
    wanted = 3 if sizes is None else 2
    check(
        rows._meta.ndim == wanted,
        f"input must have {wanted} dimensions, got {rows._meta.ndim} (expected (time, batch, features))",
    )
    check(sizes is not None or rows.shape[0] > 0, "Expected sequence length to be larger than 0 in RNN")
    check(0 <= drop <= 1, f"dropout probability has to be between 0 and 1, but got {drop}")
    batch = rows.shape[1] if sizes is None else sizes[0]
    check(
        groups[0][0].shape[1] == rows.shape[-1],
        f"input.size(-1) must be equal to input_size. Expected {groups[0][0].shape[1]}, got {rows.shape[-1]}",
    )
    for name, each in zip(("hidden", "cell"), states, strict=False):
        check(
            each._meta.ndim == 3 and each.shape[0] == len(groups) and each.shape[1] == batch,
            f"Expected {name} size ({len(groups)}, {batch}, {each.shape[-1]}), got {list(each.shape)} ({layers} "
            "layers)",
        )


def _recurrent(step: Cell, args: tuple[Any, ...], has_cell: bool) -> Any:
    packed = isinstance(args[2], TensorData) if not has_cell else isinstance(args[1], TensorData)
    if packed:
        rows, batch_sizes, hx, flat, bias, layers, drop, train, bidirectional = args
        batch_first, sizes = False, [int(n) for n in batch_sizes.tolist()]
    else:
        rows, hx, flat, bias, layers, drop, train, bidirectional, batch_first = args
        sizes = None
    c: Any
    check(not has_cell or len(hx) == 2, "lstm expects two hidden states: hx = (h, c)")
    h, c = (hx[0], hx[1]) if has_cell else (hx, None)
    projected = has_cell and h.shape[2] != c.shape[2]
    groups = _grouped(list(flat), layers, bias, 2 if bidirectional else 1, projected)
    if batch_first:
        rows = rows.transpose(0, 1)
    _check(rows, sizes, (h,) if c is None else (h, c), groups, layers, drop)
    out, last_h, last_c = _layers(step, rows, sizes, h, c, groups, layers, drop, train)
    if batch_first:
        out = out.transpose(0, 1)
    return (out, last_h, last_c) if has_cell else (out, last_h)


def lstm(*args: Any) -> tuple[Any, Any, Any]:
    """A long short-term memory network (Hochreiter and Schmidhuber, 1997): outputs, last hidden states, last cells.

    `lstm(input, (h, c), weights, has_biases, layers, dropout, train, bidirectional, batch_first)`, or with packed
    rows and their
    batch sizes in front and no `batch_first`. `torch.nn.LSTM` calls it.

    >>> import pellucid as torch
    >>> layer = torch.nn.LSTM(2, 3); layer(torch.zeros(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """
    return _recurrent(_lstm_step, args, True)


def gru(*args: Any) -> tuple[Any, Any]:
    """A gated recurrent network (Cho et al., 2014): outputs and last hidden states; arguments as `lstm`, with one
    state.

    >>> import pellucid as torch
    >>> layer = torch.nn.GRU(2, 3); layer(torch.zeros(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """
    return _recurrent(_gru_step, args, False)


def rnn_tanh(*args: Any) -> tuple[Any, Any]:
    """A plain recurrent network with tanh (Elman, 1990): outputs and last hidden states; arguments as `gru`.

    >>> import pellucid as torch
    >>> layer = torch.nn.RNN(2, 3); layer(torch.zeros(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """
    return _recurrent(_tanh_step, args, False)


def rnn_relu(*args: Any) -> tuple[Any, Any]:
    """A plain recurrent network with relu: outputs and last hidden states; arguments as `gru`.

    >>> import pellucid as torch
    >>> layer = torch.nn.RNN(2, 3, nonlinearity="relu"); layer(torch.zeros(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """
    return _recurrent(_relu_step, args, False)


def _cell(step: Cell, input: Any, h: Any, c: Any, weights: list[Any]) -> tuple[Any, Any]:
    """One step, with or without a batch dimension."""
    w_in, w_own = weights[:2]
    for name, size, wanted in (("input", input.shape[-1], w_in.shape[1]), ("hidden0", h.shape[-1], w_own.shape[1])):
        check(size == wanted, f"{name} has inconsistent {name.rstrip('0')}_size: got {size} expected {wanted}")
    check(
        input._meta.ndim != 2 or input.shape[0] == h.shape[0],
        f"Input batch size {input.shape[0]} doesn't match hidden batch size {h.shape[0]}",
    )
    if input._meta.ndim == 1:
        h, c = _cell(step, input.unsqueeze(0), h.unsqueeze(0), None if c is None else c.unsqueeze(0), weights)
        return h.squeeze(0), None if c is None else c.squeeze(0)
    flat, own = _prepared(step, input, weights)
    return step(flat, h, c, own)


def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, Any]:
    """One step of an LSTM: the new hidden state and cell.

    >>> import pellucid as torch
    >>> torch.nn.LSTMCell(2, 3)(torch.zeros(1, 2))[0].shape
    torch.Size([1, 3])
    """
    need_tensor(input, "lstm_cell")
    need_tensor(w_ih, "lstm_cell", "w_ih", 3)
    need_tensor(w_hh, "lstm_cell", "w_hh", 4)
    if b_ih is not None:
        need_tensor(b_ih, "lstm_cell", "b_ih", 5)
    if b_hh is not None:
        need_tensor(b_hh, "lstm_cell", "b_hh", 6)
    check(len(hx) == 2, "lstm_cell expects two hidden states: hx = (h, c)")
    h, c = hx
    return _cell(_lstm_step, input, h, c, [w_ih, w_hh, b_ih, b_hh, None])


def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a GRU: the new hidden state.

    >>> import pellucid as torch
    >>> torch.nn.GRUCell(2, 3)(torch.zeros(1, 2)).shape
    torch.Size([1, 3])
    """
    need_tensor(input, "gru_cell")
    need_tensor(hx, "gru_cell", "hx", 2)
    need_tensor(w_ih, "gru_cell", "w_ih", 3)
    need_tensor(w_hh, "gru_cell", "w_hh", 4)
    if b_hh is not None:
        need_tensor(b_hh, "gru_cell", "b_hh", 6)
    return _cell(_gru_step, input, hx, None, [w_ih, w_hh, b_ih, b_hh, None])[0]


def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a plain recurrent network with tanh: the new hidden state.

    >>> import pellucid as torch
    >>> torch.nn.RNNCell(2, 3)(torch.zeros(1, 2)).shape
    torch.Size([1, 3])
    """
    need_tensor(input, "rnn_tanh_cell")
    need_tensor(hx, "rnn_tanh_cell", "hx", 2)
    need_tensor(w_ih, "rnn_tanh_cell", "w_ih", 3)
    need_tensor(w_hh, "rnn_tanh_cell", "w_hh", 4)
    if b_ih is not None:
        need_tensor(b_ih, "rnn_tanh_cell", "b_ih", 5)
    if b_hh is not None:
        need_tensor(b_hh, "rnn_tanh_cell", "b_hh", 6)
    return _cell(_tanh_step, input, hx, None, [w_ih, w_hh, b_ih, b_hh, None])[0]


def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a plain recurrent network with relu: the new hidden state.

    >>> import pellucid as torch
    >>> torch.nn.RNNCell(2, 3, nonlinearity="relu")(torch.zeros(1, 2)).shape
    torch.Size([1, 3])
    """
    need_tensor(input, "rnn_relu_cell")
    need_tensor(hx, "rnn_relu_cell", "hx", 2)
    need_tensor(w_ih, "rnn_relu_cell", "w_ih", 3)
    need_tensor(w_hh, "rnn_relu_cell", "w_hh", 4)
    if b_ih is not None:
        need_tensor(b_ih, "rnn_relu_cell", "b_ih", 5)
    if b_hh is not None:
        need_tensor(b_hh, "rnn_relu_cell", "b_hh", 6)
    return _cell(_relu_step, input, hx, None, [w_ih, w_hh, b_ih, b_hh, None])[0]
