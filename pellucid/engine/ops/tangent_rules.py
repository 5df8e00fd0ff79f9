"""How linear and bilinear operators turn tangents: by themselves. The tangents of all others come from their gradient
rules (core/tangents.py).
"""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.graph import by_name, zeros
from pellucid.engine.core.tangents import rules
from pellucid.engine.ops.shape import reshape_to

Operands = tuple[Any, ...]

_LINEAR = (
    "adaptive_avg_pool", "adaptive_avg_pool_adjoint", "avg_pool", "avg_pool_adjoint", "border_pad",
    "border_pad_adjoint", "channel_shuffle", "clone", "col2im", "cumsum", "embed_diagonal", "embed_slice", "embedding",
    "fft_c2c", "fft_c2r", "fft_r2c", "flip", "fold_windows", "gather", "im2col", "index", "index_select", "mean",
    "pixel_shuffle", "pixel_unshuffle", "pool_gather", "repeat", "roll", "sum", "trace", "tril", "triu",
    "upsample", "upsample_adjoint", "cast",
)  # fmt: skip
_BILINEAR = ("mm", "bmm", "mv", "dot")


def _linear(name: str) -> Any:
    op = by_name[name]

    def rule(operands: Operands, tangents: list[Any], settings: dict[str, Any]) -> Any:
        return None if tangents[0] is None else op(tangents[0], *operands[1:], **settings)

    return rule


def _bilinear(name: str) -> Any:
    op = by_name[name]

    def rule(operands: Operands, tangents: list[Any], settings: dict[str, Any]) -> Any:
        parts = [
            op(*operands[:i], tangent, *operands[i + 1 :], **settings)
            for i, tangent in enumerate(tangents)
            if tangent is not None
        ]
        return parts[0] if len(parts) == 1 else by_name["add"](*parts)

    return rule


def _joined(name: str) -> Any:
    op = by_name[name]

    def rule(operands: Operands, tangents: list[Any], settings: dict[str, Any]) -> Any:
        return op(*[zeros(x._meta) if t is None else t for x, t in zip(operands, tangents, strict=True)], **settings)

    return rule


def _convolution(operands: Operands, tangents: list[Any], settings: dict[str, Any]) -> Any:
    op = by_name["convolution"]
    x, weight = operands[:2]
    total = None
    if tangents[0] is not None:
        total = op(tangents[0], weight, None, **settings)
    if tangents[1] is not None:
        part = op(x, tangents[1], None, **settings)
        total = part if total is None else by_name["add"](total, part)
    if len(tangents) > 2 and tangents[2] is not None:
        bias = reshape_to(tangents[2], (tangents[2]._meta.shape[0], *(1,) * (x._meta.ndim - 2)))
        total = bias if total is None else by_name["add"](total, bias)
    return total


def _addition(operands: Operands, tangents: list[Any], settings: dict[str, Any]) -> Any:
    """a + alpha * b: of real and complex operands alike."""
    first, second = tangents
    if second is None:
        return first
    alpha = settings.get("alpha", 1)
    if first is None:
        return second if alpha == 1 else by_name["mul"](second, alpha)
    return by_name["add"](first, second, **settings)


def _constant_pad(operands: Operands, tangents: list[Any], settings: dict[str, Any]) -> Any:
    return by_name["constant_pad"](tangents[0], **{**settings, "value": 0})


def _reshaped(operands: Operands, tangents: list[Any], settings: dict[str, Any]) -> Any:
    return reshape_to(tangents[0], settings["size"])


rules.update({name: _linear(name) for name in _LINEAR})
rules.update({name: _bilinear(name) for name in _BILINEAR})
rules.update({name: _joined(name) for name in ("cat", "stack")})
rules.update({name: _reshaped for name in ("view", "reshape_alias", "unsafe_view")})
rules["convolution"] = _convolution
rules["add"] = _addition
rules["constant_pad"] = _constant_pad
