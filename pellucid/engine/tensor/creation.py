"""Making tensors from Python data and NumPy arrays, and the factories that fill a shape."""

from __future__ import annotations

import functools
import importlib
import itertools
import warnings
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import TensorData, from_array, from_storage, wrap
from pellucid.engine.core.device import CPU, usable
from pellucid.engine.core.dispatch import forget_plans
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import user_level
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import Op, by_name
from pellucid.engine.core.storage import Storage
from pellucid.engine.ops import memory as ops
from pellucid.engine.tensor.arguments import as_bool, as_size, fitting, need_tensor
from pellucid.engine.tensor.layout import layout as layout_type
from pellucid.engine.tensor.layout import memory_format as format_type
from pellucid.engine.tensor.layout import refuse_pinning, strided, strides_for


def set_default_dtype(d: Any) -> None:
    """Make `d` the type that Python floats become (and its complex type that of Python complex numbers).

    >>> import pellucid as torch
    >>> torch.set_default_dtype(torch.float64); torch.tensor(1.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    dtypes.set_default_dtype(d)
    forget_plans(each for each in by_name.values() if isinstance(each, Op))


def _require(made: Any, requires_grad: bool) -> Any:
    return made.requires_grad_() if requires_grad else made


def _without_entries(size: Any, dtype: Any, layout: Any, requires_grad: bool) -> Any:
    # By name: most programs make no sparse tensor.
    module = importlib.import_module("pellucid.engine.tensor.sparse")
    return module.without_entries(tuple(size), dtypes.as_dtype(dtype), layout, requires_grad)


def check_layout(layout: layout_type | None) -> None:
    """NotImplementedError for a layout other than strided."""
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"Pellucid's factories make strided tensors only, not {layout}; leave layout= away")


def tensor(
    data: Any,
    *,
    dtype: dtype_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A new tensor with a copy of `data`: numbers, nested sequences, NumPy arrays, or a tensor.

    >>> import pellucid as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    as_bool(requires_grad, "tensor", "requires_grad")
    refuse_pinning(pin_memory, device)
    where, dtype = usable(device), dtypes.as_dtype(dtype)
    if isinstance(data, TensorData):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or"
            " sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=user_level(),
        )
        made = data.detach().clone() if dtype is None else data.detach().to(dtype, copy=True)
        return _require(made.to(where), requires_grad)
    array = as_array(data, dtype)
    if where is not CPU:
        return _require(wrap(None, Meta.of(array.shape, dtypes.from_numpy_dtype(array.dtype), where)), requires_grad)
    return _require(from_array(array), requires_grad)


def as_array(data: Any, dtype: dtype_type | None) -> np.ndarray:
    """A fresh, contiguous NumPy array with PyTorch's choice of type for Python data."""
    if isinstance(data, np.ndarray | np.generic):
        kind = dtype or dtypes.from_numpy_dtype(data.dtype)
        return _convert(np.asarray(data), kind)
    if hasattr(data, "__array_interface__") and not isinstance(data, list | tuple):
        return as_array(np.asarray(data), dtype)
    shape, flat = _flatten(data)
    kind = dtype or _infer(flat)
    return _fill(flat, kind).reshape(shape)


def _convert(array: np.ndarray, kind: dtype_type) -> np.ndarray:
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and not kind.is_complex and kind is not dtypes.bool_:
            array = array.real
        return np.array(array, dtype=kind.numpy, order="C", copy=True)


@functools.cache
def _warn_of_arrays() -> None:
    warnings.warn(
        "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
        "single numpy.ndarray with numpy.array() before converting to a tensor.",
        UserWarning,
        stacklevel=user_level(),
    )


def _flatten(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested sequences and their leaves in order; ValueError where lengths differ."""
    shape: list[int] = []
    level: list[Any] = [data]
    depth = 0
    while _is_sequence(level[0] if level else None):
        length = len(level[0])
        if depth and isinstance(level[0], np.ndarray):
            _warn_of_arrays()
        for each in level:
            if not _is_sequence(each) or len(each) != length:
                found = f"length {len(each)}" if _is_sequence(each) else "a number"
                raise ValueError(
                    f"expected sequence of length {length} at dim {depth} (got {found}): all rows of a tensor "
                    "must have the same length"
                )
        shape.append(length)
        level = list(itertools.chain.from_iterable(level))
        depth += 1
        if not length:
            break
    if any(_is_sequence(each) for each in level):
        raise TypeError(f"not a sequence: at dim {depth} some items are numbers and some are sequences")
    if shape and level and isinstance(level[0], str):
        raise ValueError(f"too many dimensions 'str': a tensor holds numbers, not text ({level[0]!r})")
    return tuple(shape), [_leaf(each) for each in level]


def _is_sequence(value: Any) -> bool:
    if isinstance(value, list | tuple | range):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    if isinstance(value, TensorData):  # of one element, or it is an error
        return False
    return (
        hasattr(value, "__len__")
        and hasattr(value, "__getitem__")
        and not isinstance(value, str | bytes | dict | np.generic)
    )


def _leaf(value: Any) -> Any:
    if isinstance(value, TensorData | np.ndarray):
        if isinstance(value, TensorData) and value._meta.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars: join larger ones by stack()")
        return value.item()
    if isinstance(value, bool | int | float | complex | np.generic):
        return value
    if isinstance(value, str):
        raise TypeError(
            f"new(): invalid data type '{type(value).__name__}': a tensor holds numbers, not text ({value!r})"
        )
    for method in ("__index__", "__float__", "__complex__"):
        if hasattr(value, method):
            return getattr(value, method)()
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}: a tensor is made of numbers")


def _infer(flat: list[Any]) -> dtype_type:
    kinds = {type(each) for each in flat}
    if not kinds:
        return dtypes.get_default_dtype()
    found = [
        dtypes.from_numpy_dtype(np.dtype(kind)) if issubclass(kind, np.generic) else dtypes.of_scalar_type(kind)
        for kind in kinds
    ]
    result = found[0]
    from pellucid.engine.core.promotion import promote_types

    for each in found[1:]:
        result = promote_types(result, each)
    return result


def _fill(flat: list[Any], kind: dtype_type) -> np.ndarray:
    with np.errstate(all="ignore"):
        if kind.category == 1:
            return _integers(flat, kind)
        if not kind.is_complex and any(isinstance(each, complex | np.complexfloating) for each in flat):
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow: it is complex")
        if kind.itemsize < 4 and kind.is_floating_point:
            return np.array(flat, np.float64).astype(kind.numpy)
        return np.array(flat, kind.numpy)


def _integers(flat: list[Any], kind: dtype_type) -> np.ndarray:
    low, high = np.iinfo(kind.numpy).min, np.iinfo(kind.numpy).max
    whole = [int(each) for each in flat]
    for each in whole:
        if not low <= each <= high:
            if kind is dtypes.int64:
                raise ValueError(f"Overflow when unpacking long long: {each} does not fit into int64")
            if not (kind is dtypes.uint8 and -255 <= each <= 255):
                raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow: {each}")
    if whole and min(whole) < low:
        whole = [each % (high + 1) for each in whole]
    return np.array(whole, kind.numpy)


def as_tensor(data: Any, dtype: dtype_type | None = None, device: Any = None) -> Any:
    """`data` as a tensor, sharing memory with a tensor or NumPy array where dtype and device allow it.

    >>> import pellucid as torch
    >>> torch.as_tensor([1.0, 2.0])
    tensor([1., 2.])
    """
    dtype = dtypes.as_dtype(dtype)
    if isinstance(data, TensorData):
        return data.to(device=device, dtype=dtype) if device is not None or dtype is not None else data
    if isinstance(data, np.ndarray) and usable(device) is CPU:
        try:
            shared = from_array(data)
        except (ValueError, TypeError):
            return tensor(data, dtype=dtype)
        return shared if dtype is None or dtype is shared.dtype else shared.to(dtype)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(ndarray: np.ndarray) -> Any:
    """A tensor that shares the array's memory; TypeError for a type that PyTorch does not have.

    >>> import numpy, pellucid as torch
    >>> a = numpy.zeros(2); t = torch.from_numpy(a); a[0] = 5; t
    tensor([5., 0.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return from_array(ndarray)


def frombuffer(buffer: Any, *, dtype: dtype_type, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A one-dimensional tensor that shares the memory of an object with a buffer; `offset` is in bytes.

    >>> import pellucid as torch
    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    raw = np.frombuffer(buffer, np.uint8) if len(memoryview(buffer)) else np.zeros(0, np.uint8)
    dtype = dtypes.as_dtype(dtype)
    size = dtype.itemsize
    if not len(raw):
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if not 0 <= offset < len(raw):
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({len(raw)} bytes) - 1"
        )
    left = len(raw) - offset
    if count < 0:
        if left % size:
            raise ValueError(
                f"buffer length ({left} bytes) after offset ({offset} bytes) must be a multiple of element "
                f"size ({size})"
            )
        count = left // size
    if count == 0:
        raise ValueError(f"both buffer length ({len(raw)}) and count ({count}) must not be 0")
    if count * size > left:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be "
            "greater than actual"
            f" buffer length ({len(raw)} bytes)"
        )
    return _require(from_storage(Storage(raw[offset:]), dtype, 0, (count,), (1,)), requires_grad)


def _of_value(
    size: Any,
    value: Any,
    out: Any,
    dtype: dtype_type | None,
    device: Any,
    requires_grad: bool,
    layout: layout_type | None,
) -> Any:
    check_layout(layout)
    _check_size(size)
    dtype = dtypes.as_dtype(dtype)
    if out is not None:
        need_tensor(out, "full", "out")
        kind = dtype or out._meta.dtype
        return ops.full(size=size, value=value, dtype=kind, device=out._meta.device, out=out)
    made = ops.full(size=size, value=value, dtype=dtype or dtypes.get_default_dtype(), device=usable(device))
    return _require(made, requires_grad)


def _check_size(size: tuple[int, ...]) -> None:
    for each in size:
        if each < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {each}: {list(size)}")


def zeros(
    *sizes: Any,
    size: Any = None,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Zeros of the given size.

    >>> import pellucid as torch
    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    refuse_pinning(pin_memory, device)
    if layout is not None and layout is not strided and out is None:
        return _without_entries(as_size(sizes if size is None else (size,), "zeros"), dtype, layout, requires_grad)
    return _of_value(as_size(sizes if size is None else (size,), "zeros"), 0, out, dtype, device, requires_grad, layout)


def ones(
    *sizes: Any,
    size: Any = None,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Ones of the given size.

    >>> import pellucid as torch
    >>> torch.ones(2)
    tensor([1., 1.])
    """
    refuse_pinning(pin_memory, device)
    return _of_value(as_size(sizes if size is None else (size,), "ones"), 1, out, dtype, device, requires_grad, layout)


def full(
    size: Any,
    fill_value: Any,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """`fill_value` in every element; its type decides the dtype unless one is given.

    >>> import pellucid as torch
    >>> torch.full((2,), 7)
    tensor([7, 7])
    """
    refuse_pinning(pin_memory, device)
    dtype = dtypes.as_dtype(dtype)
    if isinstance(fill_value, TensorData):
        if fill_value._meta.ndim:
            raise TypeError(
                "full(): argument 'fill_value' (position 2) must be Number, not a tensor of shape "
                f"{list(fill_value.shape)}"
            )
        kind = dtype or dtypes.of_scalar_type(type(fill_value.item()))
        return (
            empty(as_size((size,), "full"), dtype=kind, device=device).fill_(fill_value).requires_grad_(requires_grad)
        )
    if not isinstance(fill_value, bool | int | float | complex | np.generic):
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type(fill_value).__name__}")
    kind = dtype or (
        need_tensor(out, "full", "out")._meta.dtype if out is not None else dtypes.of_scalar_type(type(fill_value))
    )
    return _of_value(as_size((size,), "full"), fitting(fill_value, kind), out, kind, device, requires_grad, layout)


def empty(
    *sizes: Any,
    size: Any = None,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: format_type | None = None,
) -> Any:
    """A tensor of the given size whose values are whatever the memory holds.

    >>> import pellucid as torch
    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """
    refuse_pinning(pin_memory, device)
    if not sizes and size is None:
        raise TypeError('empty() missing 1 required positional arguments: "size"')
    shape = as_size(sizes if size is None else (size,), "empty")
    if layout is not None and layout is not strided and out is None:
        return _without_entries(shape, dtype, layout, requires_grad)
    check_layout(layout)
    _check_size(shape)
    kind = dtypes.as_dtype(dtype) or dtypes.get_default_dtype()
    strides = None
    if memory_format is not None:
        strides = strides_for(Meta.of(shape, kind), memory_format)
    if out is not None:
        return ops.empty(
            size=shape, dtype=need_tensor(out, "empty", "out")._meta.dtype, device=out._meta.device, out=out
        )
    return _require(ops.empty(size=shape, dtype=kind, device=usable(device), strides=strides), requires_grad)


__all__ = [
    "as_tensor",
    "check_layout",
    "empty",
    "from_numpy",
    "frombuffer",
    "full",
    "ones",
    "set_default_dtype",
    "tensor",
    "zeros",
]
