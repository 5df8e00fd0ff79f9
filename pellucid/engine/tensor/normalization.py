"""softmax, log_softmax and logsumexp."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.ops import normalization as ops
from pellucid.engine.tensor.arguments import as_bool, as_dim, as_dims, need_tensor
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def softmax(input: Any, dim: int, *, dtype: dtype_type | None = None, out: Any = None) -> Any:
    """exp(input) over its sum along a dimension; of integers only with a `dtype`.

    >>> import pellucid as torch
    >>> torch.softmax(torch.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    meta = need_tensor(input, "softmax")._meta
    kind = dtypes.as_dtype(dtype) or meta.dtype
    return ops.softmax(input, dim=as_dim(dim, meta.ndim, "softmax"), dtype=kind, out=out)


def log_softmax(input: Any, dim: int, *, dtype: dtype_type | None = None, out: Any = None) -> Any:
    """log(softmax(input)), without overflow.

    >>> import pellucid as torch
    >>> torch.log_softmax(torch.zeros(2), 0)
    tensor([-0.6931, -0.6931])
    """
    meta = need_tensor(input, "log_softmax")._meta
    kind = dtypes.as_dtype(dtype) or meta.dtype
    return ops.log_softmax(input, dim=as_dim(dim, meta.ndim, "log_softmax"), dtype=kind, out=out)


def logsumexp(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """log of the sum of exp(input) along dimensions, without overflow.

    >>> import pellucid as torch
    >>> torch.logsumexp(torch.zeros(2), 0)
    tensor(0.6931)
    """
    meta = need_tensor(input, "logsumexp")._meta
    if meta.dtype.category <= 1:
        input = input.to(dtypes.get_default_dtype())
    return ops.logsumexp(
        input, dim=as_dims(dim, meta.ndim, "logsumexp"), keepdim=as_bool(keepdim, "logsumexp", "keepdim", 3), out=out
    )


class NormalizationMethods:
    """Rows of `Tensor`."""

    softmax = takes_numpy_names(softmax)
    log_softmax = takes_numpy_names(log_softmax)
    logsumexp = takes_numpy_names(logsumexp)
