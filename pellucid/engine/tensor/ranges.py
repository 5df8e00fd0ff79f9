"""Ranges, the identity, and tensors made in the likeness of others."""

from __future__ import annotations

import math
import warnings
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.batching import alike
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.device import usable
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check, user_level
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.sparse import not_for_sparse
from pellucid.engine.ops import memory
from pellucid.engine.ops import ranges as ops
from pellucid.engine.tensor.arguments import as_int, as_number, as_size, fitting, is_number, need_tensor
from pellucid.engine.tensor.creation import check_layout, empty, full, tensor
from pellucid.engine.tensor.layout import layout as layout_type
from pellucid.engine.tensor.layout import memory_format as format_type
from pellucid.engine.tensor.layout import refuse_pinning, strides_for


def _number(value: Any, function: str, name: str) -> Any:
    if isinstance(value, TensorData):
        return value.item()
    if not is_number(value):
        raise TypeError(f"{function}(): argument '{name}' must be Number, not {type(value).__name__}")
    return value.item() if hasattr(value, "item") else value


def _finish(made: Any, requires_grad: bool) -> Any:
    return made.requires_grad_() if requires_grad else made


def _written_type(out: Any) -> dtypes.dtype:
    return need_tensor(out, "range", "out")._meta.dtype


def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Numbers from `start` (0) up to but not including `end`, `step` apart; integers when all three are.

    >>> import pellucid as torch
    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if end is not None:
        end = as_number(end, "arange", "end", 2)
    refuse_pinning(pin_memory, device)
    check_layout(layout)
    if start is None and end is None:
        raise TypeError("arange() received an invalid combination of arguments - got (), but expected an end")
    if end is None or start is None:
        start, end = 0, start if end is None else end
    first, last, gap = _number(start, "arange", "start"), _number(end, "arange", "end"), _number(step, "arange", "step")
    check(gap != 0, "step must be nonzero")
    check(math.isfinite(first) and math.isfinite(last), f"unsupported range: {first} -> {last}")
    check((last - first) * gap >= 0, "upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(each, int) for each in (first, last, gap))
    kind = dtypes.as_dtype(dtype)
    kind = kind or (_written_type(out) if out is not None else dtypes.int64 if whole else dtypes.get_default_dtype())
    if kind is dtypes.int64:
        first, last, gap = int(first), int(last), int(gap)  # PyTorch counts in the integers here only
        check(gap != 0, "step must be nonzero: an int64 range cannot advance by a fraction", ValueError)
        count = -((first - last) // gap)
    else:
        count = math.ceil((last - first) / gap)
    made = ops.arange(
        start=first,
        step=gap,
        count=max(count, 0),
        dtype=kind,
        device=usable(device if out is None else out.device),
        out=out,
    )
    return _finish(made, requires_grad)


def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Deprecated: like `arange`, including the end. Use arange.

    >>> import pellucid as torch
    >>> torch.arange(0, 3)
    tensor([0, 1, 2])
    """
    start = as_number(start, "range", "start", 1)
    if end is not None:
        end = as_number(end, "range", "end", 2)
    step = as_number(step, "range", "step", 3)
    if end is None:
        raise TypeError("range() missing 1 required argument: 'end': range(start, end) includes both")
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=user_level(),
    )
    check_layout(layout)
    first, last, gap = _number(start, "range", "start"), _number(end, "range", "end"), _number(step, "range", "step")
    check(gap != 0, "step must be nonzero")
    check(math.isfinite(first) and math.isfinite(last), f"unsupported range: {first} -> {last}")
    check((last - first) * gap >= 0, "upper bound and lower bound inconsistent with step sign")
    kind = dtypes.as_dtype(dtype) or (_written_type(out) if out is not None else dtypes.get_default_dtype())
    if kind.category <= 1:
        first, last, gap = int(first), int(last), int(gap)
        check(gap != 0, "step must be nonzero: a range of integers cannot advance by a fraction")
    where = usable(device if out is None else out.device)
    count = math.floor((last - first) / gap) + 1
    return _finish(ops.arange(start=first, step=gap, count=count, dtype=kind, device=where, out=out), requires_grad)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """`steps` numbers from `start` to `end`, both included, evenly spaced.

    >>> import pellucid as torch
    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    refuse_pinning(pin_memory, device)
    return _spaced("linspace", start, end, steps, out, dtype, layout, device, requires_grad, {})


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """`base` to the powers from `start` to `end`, both included, evenly spaced.

    >>> import pellucid as torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    refuse_pinning(pin_memory, device)
    return _spaced("logspace", start, end, steps, out, dtype, layout, device, requires_grad, {"base": float(base)})


def _spaced(
    name: str,
    start: Any,
    end: Any,
    steps: Any,
    out: Any,
    dtype: Any,
    layout: Any,
    device: Any,
    requires_grad: bool,
    more: dict[str, Any],
) -> Any:
    check_layout(layout)
    first, last = _number(start, name, "start"), _number(end, name, "end")
    count = as_int(steps, name, "steps", 3)
    check(count >= 0, "number of steps must be non-negative")
    if out is not None:
        need_tensor(out, name, "out")
    kind = dtypes.as_dtype(dtype) or (_written_type(out) if out is not None else dtypes.get_default_dtype())
    if dtype is None and isinstance(first + last, complex):
        kind = kind.to_complex()
    op = ops.linspace if name == "linspace" else ops.logspace
    made = op(
        start=first,
        end=last,
        count=count,
        dtype=kind,
        device=usable(device if out is None else out.device),
        out=out,
        **more,
    )
    return _finish(made, requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Ones on the diagonal of an n × m (n × n) matrix, zeros elsewhere.

    >>> import pellucid as torch
    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    refuse_pinning(pin_memory, device)
    check_layout(layout)
    rows = as_int(n, "eye", "n", 1)
    columns = rows if m is None else as_int(m, "eye", "m")
    check(rows >= 0, f"n must be greater or equal to 0, got {rows}")
    check(columns >= 0, f"m must be greater or equal to 0, got {columns}")
    kind = dtypes.as_dtype(dtype) or (_written_type(out) if out is not None else dtypes.get_default_dtype())
    return _finish(
        ops.eye(n=rows, m=columns, dtype=kind, device=usable(device if out is None else out.device), out=out),
        requires_grad,
    )


def _without_entries(input: Any, dtype: Any, requires_grad: bool) -> Any:
    """A tensor with the shape and layout of a sparse one, in which nothing is stored."""
    kind = dtypes.as_dtype(dtype) or input._meta.dtype
    return _finish(memory.cast(memory.zero(input.detach()), dtype=kind), requires_grad)


def empty_like(
    input: Any,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: format_type | None = None,
) -> Any:
    """An uninitialised tensor with the shape, dtype, device and order of axes of `input`.

    >>> import pellucid as torch
    >>> torch.empty_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    refuse_pinning(pin_memory, input._meta.device if device is None and isinstance(input, TensorData) else device)
    if need_tensor(input, "empty_like")._meta.is_sparse and layout is None:
        return _without_entries(input, dtype, requires_grad)
    check_layout(layout)
    meta: Meta = input._meta
    where = meta.device if device is None else usable(device)
    strides = strides_for(meta, memory_format)
    dtype = dtypes.as_dtype(dtype)
    made = memory.empty(size=tuple(meta.shape), dtype=dtype or meta.dtype, device=where, strides=strides)
    return _finish(alike(made, input), requires_grad)


def full_like(
    input: Any,
    fill_value: Any,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: format_type | None = None,
) -> Any:
    """A tensor like `input` with `fill_value` in every element.

    >>> import pellucid as torch
    >>> torch.full_like(torch.ones(2), 7)
    tensor([7., 7.])
    """
    fill_value = as_number(fill_value, "full_like", "fill_value", 2)
    refuse_pinning(pin_memory, input._meta.device if device is None and isinstance(input, TensorData) else device)
    check_layout(layout)
    meta: Meta = need_tensor(input, "full_like")._meta
    if meta.is_sparse and layout is None:
        raise not_for_sparse("fill_.Scalar", meta)
    where = meta.device if device is None else usable(device)
    strides = strides_for(meta, memory_format)
    dtype = dtypes.as_dtype(dtype)
    value = fitting(_number(fill_value, "full_like", "fill_value"), dtype or meta.dtype)
    if strides is None or strides == Meta.of(meta.shape, meta.dtype).strides:
        made = memory.full(size=tuple(meta.shape), value=value, dtype=dtype or meta.dtype, device=where)
    else:
        made = memory.empty(size=tuple(meta.shape), dtype=dtype or meta.dtype, device=where, strides=strides).fill_(
            value
        )
    return _finish(alike(made, input), requires_grad)


def zeros_like(
    input: Any,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: format_type | None = None,
    out: Any = None,
) -> Any:
    """Zeros with the shape, dtype, device and order of axes of `input`.

    >>> import pellucid as torch
    >>> torch.zeros_like(torch.ones(2))
    tensor([0., 0.])
    """
    refuse_pinning(pin_memory, input._meta.device if device is None and isinstance(input, TensorData) else device)
    if need_tensor(input, "zeros_like")._meta.is_sparse and layout is None:
        return _without_entries(input, dtype, requires_grad)
    made = full_like(
        input, 0, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad, memory_format=memory_format
    )
    return made if out is None else out.copy_(made)


def ones_like(
    input: Any,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: format_type | None = None,
) -> Any:
    """Ones with the shape, dtype, device and order of axes of `input`.

    >>> import pellucid as torch
    >>> torch.ones_like(torch.zeros(2))
    tensor([1., 1.])
    """
    refuse_pinning(pin_memory, input._meta.device if device is None and isinstance(input, TensorData) else device)
    return full_like(
        input, 1, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad, memory_format=memory_format
    )


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """An uninitialised tensor with the given strides.

    >>> import pellucid as torch
    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    refuse_pinning(pin_memory, device)
    sizes, strides = as_size((size,), "empty_strided"), as_size((stride,), "empty_strided", "stride")
    check(len(sizes) == len(strides), f"mismatch in length of strides and shape: {list(sizes)} and {list(strides)}")
    span = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) if 0 not in sizes else 0
    flat = empty(span, dtype=dtype, device=device)
    return _finish(flat.as_strided(sizes, strides).detach(), requires_grad)


def scalar_tensor(
    s: Any,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """A zero-dim tensor of a number, in the default dtype.

    >>> import pellucid as torch
    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    refuse_pinning(pin_memory, device)
    kind = dtype or dtypes.get_default_dtype()
    return full((), s, dtype=kind, layout=layout, device=device, requires_grad=requires_grad)


def asarray(
    obj: Any,
    *,
    dtype: dtype_type | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """`obj` as a tensor, sharing memory unless `copy` or a conversion forbids it.

    >>> import pellucid as torch
    >>> torch.asarray([1, 2])
    tensor([1, 2])
    """
    from pellucid.engine.tensor.creation import as_tensor

    if copy:
        made = obj.detach().clone() if isinstance(obj, TensorData) else tensor(obj)
        made = made.to(dtype) if dtype is not None else made
    else:
        made = as_tensor(obj, dtype=dtype, device=device)
        check(
            copy is None or not isinstance(obj, TensorData) or made._storage is obj._storage,
            "can't alias tensor with another dtype or device",
            ValueError,
        )
    return made.detach().requires_grad_() if requires_grad and not made.requires_grad else made


def _new_options(self: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {"dtype": self.dtype, "device": self.device} | {
        name: value for name, value in options.items() if value is not None
    }


class CreationMethods:
    """Rows of `Tensor`: factories that take dtype and device from a tensor."""

    def new_tensor(
        self: Any, data: Any, *, dtype: dtype_type | None = None, device: Any = None, requires_grad: bool = False
    ) -> Any:
        """A new tensor of `data` with this tensor's dtype and device."""
        options = _new_options(self, {"dtype": dtype, "device": device})
        return tensor(data, requires_grad=requires_grad, **options)

    def new_empty(self: Any, *size: Any, **options: Any) -> Any:
        """An uninitialised tensor with this tensor's dtype and device."""
        layout = {"layout": self.layout} if self._meta.is_sparse else {}
        return alike(empty(*size, **layout, **_new_options(self, options)), self)

    def new_zeros(self: Any, *size: Any, **options: Any) -> Any:
        """Zeros with this tensor's dtype and device."""
        if self._meta.is_sparse:
            return self.new_empty(*size, **options)
        return alike(full(as_size(size, "new_zeros"), 0, **_new_options(self, options)), self)

    def new_ones(self: Any, *size: Any, **options: Any) -> Any:
        """Ones with this tensor's dtype and device."""
        return alike(full(as_size(size, "new_ones"), 1, **_new_options(self, options)), self)

    def new_full(self: Any, size: Any, fill_value: Any, **options: Any) -> Any:
        """`fill_value` everywhere, with this tensor's dtype and device."""
        return alike(full(size, fill_value, **_new_options(self, options)), self)

    def new_empty_strided(self: Any, size: Any, stride: Any, **options: Any) -> Any:
        """An uninitialised tensor of given strides with this tensor's dtype and device."""
        return alike(empty_strided(size, stride, **_new_options(self, options)), self)
