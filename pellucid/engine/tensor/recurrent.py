"""Recurrent networks over sequences, made of operators: lstm, gru, rnn_tanh, rnn_relu and their cells.

The input's part of all gates is one product for the whole sequence; the recurrence then runs step by step. A packed batch holds
the rows of a step together, fewer of them as sequences end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check
from pellucid.engine.ops import exponential as functions
from pellucid.engine.ops.arithmetic import add, mul, sub
from pellucid.engine.tensor.joining import cat, stack

Cell = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    from pellucid.engine.tensor.linalg import addmm, mm

    return mm(x, weight.t()) if bias is None else addmm(bias, x, weight.t())


def _lstm_step(gates: Any, h: Any, c: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    i, f, g, o = add(gates, _affine(h, weight, bias)).chunk(4, 1)
    c = add(mul(functions.sigmoid(f), c), mul(functions.sigmoid(i), functions.tanh(g)))
    return mul(functions.sigmoid(o), functions.tanh(c)), c


def _gru_step(gates: Any, h: Any, c: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    r_in, z_in, n_in = gates.chunk(3, 1)
    r_own, z_own, n_own = _affine(h, weight, bias).chunk(3, 1)
    r, z = functions.sigmoid(add(r_in, r_own)), functions.sigmoid(add(z_in, z_own))
    n = functions.tanh(add(n_in, mul(r, n_own)))
    return add(mul(sub(h, n), z), n), None


def _tanh_step(gates: Any, h: Any, c: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    return functions.tanh(add(gates, _affine(h, weight, bias))), None


def _relu_step(gates: Any, h: Any, c: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    return functions.relu(add(gates, _affine(h, weight, bias))), None


def _run_dense(step: Cell, rows: Any, h: Any, c: Any, weights: list[Any], reverse: bool) -> tuple[Any, Any, Any]:
    """(T, N, in) through one layer in one direction: (T, N, out) and the last states."""
    length, batch = rows.shape[0], rows.shape[1]
    w_in, w_own, b_in, b_own, projection = weights
    gates = _affine(rows.reshape(length * batch, rows.shape[2]), w_in, b_in).reshape(length, batch, w_in.shape[0])
    outputs: list[Any] = [None] * length
    parts = gates.unbind(0)
    for t in range(length - 1, -1, -1) if reverse else range(length):
        h, c = step(parts[t], h, c, w_own, b_own)
        h = h if projection is None else _affine(h, projection, None)
        outputs[t] = h
    return (stack(outputs) if outputs else rows.new_zeros((0, batch, h.shape[1]))), h, c


def _run_packed(step: Cell, rows: Any, sizes: list[int], h: Any, c: Any, weights: list[Any], reverse: bool) -> tuple[Any, Any, Any]:
    """Packed rows through one layer in one direction: packed outputs and each sequence's last states."""
    w_in, w_own, b_in, b_own, projection = weights
    parts = _affine(rows, w_in, b_in).split(sizes, 0)
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
        h, c = step(parts[t], h, c, w_own, b_own)
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
    step: Cell, rows: Any, sizes: list[int] | None, h: Any, c: Any, groups: list[list[Any]], layers: int, drop: float, train: bool
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


def _recurrent(step: Cell, args: tuple[Any, ...], has_cell: bool) -> Any:
    packed = isinstance(args[2], TensorData) if not has_cell else isinstance(args[1], TensorData)
    if packed:
        rows, batch_sizes, hx, flat, bias, layers, drop, train, bidirectional = args
        batch_first, sizes = False, [int(n) for n in batch_sizes.tolist()]
    else:
        rows, hx, flat, bias, layers, drop, train, bidirectional, batch_first = args
        sizes = None
    c: Any
    h, c = (hx[0], hx[1]) if has_cell else (hx, None)
    projected = has_cell and h.shape[2] != c.shape[2]
    groups = _grouped(list(flat), layers, bias, 2 if bidirectional else 1, projected)
    if batch_first:
        rows = rows.transpose(0, 1)
    out, last_h, last_c = _layers(step, rows, sizes, h, c, groups, layers, drop, train)
    if batch_first:
        out = out.transpose(0, 1)
    return (out, last_h, last_c) if has_cell else (out, last_h)


def lstm(*args: Any) -> tuple[Any, Any, Any]:
    """A long short-term memory network (Hochreiter and Schmidhuber, 1997): outputs, last hidden states, last cells.

    `lstm(input, (h, c), weights, has_biases, layers, dropout, train, bidirectional, batch_first)`, or with packed rows and their
    batch sizes in front and no `batch_first`. `torch.nn.LSTM` calls it.

    >>> import pellucid as torch
    >>> layer = torch.nn.LSTM(2, 3); layer(torch.zeros(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """
    return _recurrent(_lstm_step, args, True)


def gru(*args: Any) -> tuple[Any, Any]:
    """A gated recurrent network (Cho et al., 2014): outputs and last hidden states; arguments as `lstm`, with one state.

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


def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, Any]:
    """One step of an LSTM: the new hidden state and cell.

    >>> import pellucid as torch
    >>> torch.nn.LSTMCell(2, 3)(torch.zeros(1, 2))[0].shape
    torch.Size([1, 3])
    """
    h, c = hx
    return _lstm_step(_affine(input, w_ih, b_ih), h, c, w_hh, b_hh)


def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a GRU: the new hidden state.

    >>> import pellucid as torch
    >>> torch.nn.GRUCell(2, 3)(torch.zeros(1, 2)).shape
    torch.Size([1, 3])
    """
    return _gru_step(_affine(input, w_ih, b_ih), hx, None, w_hh, b_hh)[0]


def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a plain recurrent network with tanh: the new hidden state.

    >>> import pellucid as torch
    >>> torch.nn.RNNCell(2, 3)(torch.zeros(1, 2)).shape
    torch.Size([1, 3])
    """
    return _tanh_step(_affine(input, w_ih, b_ih), hx, None, w_hh, b_hh)[0]


def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a plain recurrent network with relu: the new hidden state.

    >>> import pellucid as torch
    >>> torch.nn.RNNCell(2, 3, nonlinearity="relu")(torch.zeros(1, 2)).shape
    torch.Size([1, 3])
    """
    return _relu_step(_affine(input, w_ih, b_ih), hx, None, w_hh, b_hh)[0]
