"""What one step of a recurrent network does after its matrix products: the gates of LSTM and GRU as one operator each.

Ordinary gradients are one operator too; where a gradient is itself to be differentiated, the rules are made of
plain operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import is_differentiated
from pellucid.engine.core.op import op
from pellucid.engine.ops.arithmetic import add, mul, sub
from pellucid.engine.ops.exponential import sigmoid, tanh
from pellucid.engine.ops.joining import cat
from pellucid.engine.ops.shape import slice_


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _parts(x: Any, count: int) -> list[Any]:
    size = x._meta.shape[1] // count
    return [slice_(x, dim=1, start=i * size, end=(i + 1) * size, step=1) for i in range(count)]


@op(outputs=("h", "memory", "active"), grad_name="ThnnFusedLstmCellBackward0")
def lstm_gates(gates: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """New state and cell from the sums of the input, forget, cell and output gates, side by side; also what the
    gates let through.
    """
    active = np.empty_like(gates)
    size = c.shape[1]
    active[:, : 2 * size] = _sigmoid(gates[:, : 2 * size])
    active[:, 2 * size : 3 * size] = np.tanh(gates[:, 2 * size : 3 * size])
    active[:, 3 * size :] = _sigmoid(gates[:, 3 * size :])
    memory = active[:, size : 2 * size] * c + active[:, :size] * active[:, 2 * size : 3 * size]
    return active[:, 3 * size :] * np.tanh(memory), memory, active


@lstm_gates.meta
def lstm_gates_meta(gates: Meta, c: Meta) -> tuple[Meta, Meta, Meta]:
    return gates.like(c.shape), c.like(), gates.like()


@lstm_gates.vjp("gates", "c")
def lstm_gates_gradients(dh: Any, dmemory: Any, gates: Any, c: Any, memory: Any, active: Any) -> Any:
    if not is_differentiated():
        return lstm_gates_slopes(dh, dmemory, c, memory, active)
    i, f, g, o = _parts(gates, 4)
    i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
    bend = tanh(add(mul(f, c), mul(i, g)))
    through = add(dmemory, mul(mul(dh, o), sub(1, mul(bend, bend))))
    slope = lambda gate: mul(gate, sub(1, gate))  # noqa: E731
    dgates = cat(
        mul(mul(through, g), slope(i)), mul(mul(through, c), slope(f)), mul(mul(through, i), sub(1, mul(g, g))),
        mul(mul(dh, bend), slope(o)), dim=1,
    )  # fmt: skip
    return dgates, mul(through, f)


@op(outputs=("dgates", "dc"))
def lstm_gates_slopes(
    given: np.ndarray, given_memory: np.ndarray, c: np.ndarray, memory: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of `lstm_gates` from what it kept."""
    size = c.shape[1]
    i, f, g, o = (active[:, k * size : (k + 1) * size] for k in range(4))
    bend = np.tanh(memory)
    through = given_memory + given * o * (1 - bend * bend)
    slopes = np.empty_like(active)
    slopes[:, :size] = through * g * i * (1 - i)
    slopes[:, size : 2 * size] = through * c * f * (1 - f)
    slopes[:, 2 * size : 3 * size] = through * i * (1 - g * g)
    slopes[:, 3 * size :] = given * bend * o * (1 - o)
    return slopes, through * f


@lstm_gates_slopes.meta
def lstm_gates_slopes_meta(given: Meta, given_memory: Meta, c: Meta, memory: Meta, active: Meta) -> tuple[Meta, Meta]:
    return active.like(), c.like()


@op(outputs=("y", "active"), grad_name="ThnnFusedGruCellBackward0")
def gru_gates(gates: np.ndarray, own: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The new state from the input's and the state's own parts of the reset, update and new gates, side by side."""
    size = h.shape[1]
    active = np.empty_like(gates)
    active[:, : 2 * size] = _sigmoid(gates[:, : 2 * size] + own[:, : 2 * size])
    active[:, 2 * size :] = np.tanh(gates[:, 2 * size :] + active[:, :size] * own[:, 2 * size :])
    new = active[:, 2 * size :]
    return (h - new) * active[:, size : 2 * size] + new, active


@gru_gates.meta
def gru_gates_meta(gates: Meta, own: Meta, h: Meta) -> tuple[Meta, Meta]:
    return gates.like(h.shape), gates.like()


@gru_gates.vjp("gates", "own", "h")
def gru_gates_gradients(dy: Any, gates: Any, own: Any, h: Any, active: Any) -> Any:
    if not is_differentiated():
        return gru_gates_slopes(dy, own, h, active)
    r_in, z_in, n_in = _parts(gates, 3)
    r_own, z_own, n_own = _parts(own, 3)
    r, z = sigmoid(add(r_in, r_own)), sigmoid(add(z_in, z_own))
    n = tanh(add(n_in, mul(r, n_own)))
    dn = mul(mul(dy, sub(1, z)), sub(1, mul(n, n)))
    dz = mul(mul(dy, sub(h, n)), mul(z, sub(1, z)))
    dr = mul(mul(dn, n_own), mul(r, sub(1, r)))
    return cat(dr, dz, dn, dim=1), cat(dr, dz, mul(dn, r), dim=1), mul(dy, z)


@op(outputs=("dgates", "down", "dh"))
def gru_gates_slopes(
    given: np.ndarray, own: np.ndarray, h: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients of `gru_gates` from what it kept."""
    size = h.shape[1]
    r, z, n = (active[:, k * size : (k + 1) * size] for k in range(3))
    slopes = np.empty_like(active)
    slope_new = given * (1 - z) * (1 - n * n)
    slopes[:, :size] = slope_new * own[:, 2 * size :] * r * (1 - r)
    slopes[:, size : 2 * size] = given * (h - n) * z * (1 - z)
    slopes[:, 2 * size :] = slope_new
    slopes_own = slopes.copy()
    slopes_own[:, 2 * size :] *= r
    return slopes, slopes_own, given * z


@gru_gates_slopes.meta
def gru_gates_slopes_meta(given: Meta, own: Meta, h: Meta, active: Meta) -> tuple[Meta, Meta, Meta]:
    return active.like(), active.like(), h.like()
