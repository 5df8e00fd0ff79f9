"""Copies and conversions: clone, to, numpy, contiguous, copy_, fill_, DLPack, and the layout questions."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes, graph
from pellucid.engine.core.batching import UNREADABLE
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.device import CPU, META, usable
from pellucid.engine.core.device import device as device_type
from pellucid.engine.core.dispatch import InPlace
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import wrap_dim
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import memory as ops
from pellucid.engine.tensor.arguments import as_bool, as_int, fitting, need_operand, need_tensor
from pellucid.engine.tensor.dlpack import capsule_of, device_of
from pellucid.engine.tensor.layout import (
    contiguous_format,
    follows,
    memory_format,
    preserve_format,
    strides_for,
)
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def clone(input: Any, *, memory_format: memory_format | None = None) -> Any:
    """A copy with its own memory, through which gradients flow; axes keep their order in memory unless a format is
    given.

    >>> import pellucid as torch
    >>> x = torch.ones(2); y = torch.clone(x); y.add_(1); x
    tensor([2., 2.])
    tensor([1., 1.])
    """
    need_tensor(input, "clone")
    if memory_format is None or memory_format is preserve_format:
        return ops.clone(input)
    return ops.clone(input, strides=strides_for(input._meta, memory_format))


def contiguous(input: Any, memory_format: memory_format = contiguous_format) -> Any:
    """The tensor itself if its memory is in that format, else a copy that is."""
    if follows(input._meta, memory_format):
        return input
    return ops.clone(input, strides=strides_for(input._meta, memory_format))


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write `src`, converted and broadcast, into this tensor."""
    as_bool(non_blocking, "copy_", "non_blocking", 3)
    need_operand(src, "copy_", "other", 1)
    source = (
        src
        if isinstance(src, TensorData)
        else ops.full(size=(), value=src, dtype=dtypes.of_scalar_type(type(src)), device=CPU)
    )
    if source._meta.device is META and self._meta.device is not META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if source._meta.device is not self._meta.device:  # into meta: only the shapes are checked
        source = ops.empty(size=tuple(source.shape), dtype=source.dtype, device=self._meta.device)
    return ops.copy(self, source, out=InPlace(self))


def fill_(self: Any, value: Any) -> Any:
    """Write one number (or the value of a zero-dim tensor) into every element."""
    need_operand(value, "fill_", "value", 1)
    if isinstance(value, TensorData):
        return ops.fill_from(self, value, out=InPlace(self))
    return ops.fill(self, fitting(value, self._meta.dtype), out=InPlace(self))


def fill(input: Any, value: Any) -> Any:
    """A tensor like `input` with `value` in every element."""
    need_operand(value, "fill", "value", 2)
    return (ops.fill_from if isinstance(value, TensorData) else ops.fill)(input, value)


def zero_(self: Any) -> Any:
    """Write 0 into every element."""
    return ops.zero(self, out=InPlace(self))


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[device_type | None, dtype_type | None, Any, bool]:
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    other = kwargs.pop("other", None)
    format, copy = kwargs.pop("memory_format", None), kwargs.pop("copy", False)
    kwargs.pop("non_blocking", None)  # a copy within main memory has nothing to overlap with
    if kwargs:
        raise TypeError(
            "to() received an invalid combination of arguments - got an unexpected keyword argument "
            f"'{next(iter(kwargs))}'"
        )
    rest = list(args)
    if rest and isinstance(rest[0], TensorData):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], dtype_type | type):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], str | device_type | int)):
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], dtype_type | type)):
            dtype = rest.pop(0)
    elif rest:
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({type(rest[0]).__name__}); pass a "
            "dtype, device or tensor"
        )
    if other is not None:
        device, dtype = other.device, other.dtype
    if len(rest) > 1:  # after non_blocking comes copy
        copy = rest[1]
    return (None if device is None else usable(device)), dtypes.as_dtype(dtype), format, as_bool(copy, "to", "copy")


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor in another dtype, device or memory format; itself when nothing changes and `copy` is not asked for.

    >>> import pellucid as torch
    >>> torch.tensor([1.5, 2.5]).to(torch.int64)
    tensor([1, 2])
    """
    where, kind, format, copy = _parse_to(args, kwargs)
    meta: Meta = self._meta
    if where is not None and where is not meta.device:
        return _to_device(self, where, kind or meta.dtype)
    if kind is not None and kind is not meta.dtype:
        made = ops.cast(self, dtype=kind)
        return made if format is None or format is preserve_format else contiguous(made, format)
    if copy:
        return clone(self, memory_format=format)
    if format is None or format is preserve_format:
        return self
    if format is contiguous_format or meta.strides == strides_for(meta, format):
        return contiguous(self, format)
    return clone(self, memory_format=format)  # also where axes of size 1 leave the order open


def _to_device(self: Any, where: device_type, kind: dtype_type) -> Any:
    if self._meta.device is META:
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
            "torch.nn.Module.to() when moving"
            " module from meta to a different device."
        )
    return ops.empty(
        size=tuple(self.shape), dtype=kind, device=where, strides=self._meta.strides if self._meta.is_dense else None
    )


def type_(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """The name of its legacy type (`torch.FloatTensor`), or the tensor converted to a dtype or legacy type."""
    as_bool(non_blocking, "type_", "non_blocking", 3)
    if dtype is None:
        layout = self._meta.layout
        if layout not in ("strided", "sparse_coo"):
            raise RuntimeError(f"Unimplemented backend for type() of layout torch.{layout}: ask .dtype and .layout")
        prefix = "torch.sparse." if layout == "sparse_coo" else "torch."
        return f"{prefix}{_LEGACY.get(self.dtype, title(self.dtype))}Tensor"
    if isinstance(dtype, str):
        named = dtype.replace("torch.sparse.", "torch.", 1) if self._meta.layout == "sparse_coo" else dtype
        found = [kind for kind in dtypes.ALL if named == f"torch.{_LEGACY.get(kind, title(kind))}Tensor"]
        if not found:
            raise ValueError(f"invalid type: '{dtype}'")
        return to(self, found[0])
    kind = getattr(dtype, "dtype", dtype)
    if not isinstance(kind, dtypes.dtype):
        if isinstance(dtype, type):
            raise ValueError(f"invalid type: '{dtype.__name__}': pass a dtype such as torch.float32")
        raise TypeError("dtype must be a type, str, or dtype object")
    return to(self, kind)


_LEGACY = {dtypes.complex64: "ComplexFloat", dtypes.complex128: "ComplexDouble"}


def numpy(self: Any, *, force: bool = False) -> np.ndarray:
    """A NumPy array over the same memory; `force` detaches first. RuntimeError where gradients are required."""
    as_bool(force, "numpy", "force")
    if force:
        self = self.detach()
    elif graph.requires_grad(self):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self._meta.is_sparse:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
    if self._meta.device is META:
        raise TypeError(
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    kind = self._meta.dtype
    if kind in dtypes.HALF and kind is not dtypes.float16:
        raise TypeError(f"Got unsupported ScalarType {title(kind)}: NumPy has no such type; use .float().numpy()")
    if self._array is UNREADABLE:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage: it is a sample inside vmap")
    return self._array


def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """What `numpy.asarray(tensor)` gets."""
    array = numpy(self)
    return np.array(array, dtype=dtype, copy=copy if copy is not None else None)


def is_contiguous(self: Any, memory_format: memory_format = contiguous_format) -> bool:
    """Whether its memory is in that format."""
    return follows(self._meta, memory_format)


def stride(self: Any, dim: int | None = None) -> Any:
    """Its strides in elements, or the stride of one dimension."""
    if dim is not None:
        dim = as_int(dim, "stride", "dim", 2)
    return self._meta.strides if dim is None else self._meta.strides[wrap_dim(dim, self._meta.ndim)]


def size(self: Any, dim: int | None = None) -> Any:
    """Its shape, or its size along one dimension."""
    if dim is not None:
        dim = as_int(dim, "size", "dim", 2)
    if dim is None:
        return self._meta.shape
    if not self._meta.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return self._meta.shape[wrap_dim(dim, self._meta.ndim)]


class ConversionMethods:
    """Rows of `Tensor`."""

    clone = clone
    contiguous = contiguous
    copy_ = copy_
    fill_ = fill_
    zero_ = zero_
    to = to
    type = type_
    numpy = numpy
    __array__ = __array__
    is_contiguous = is_contiguous
    stride = takes_numpy_names(stride)
    size = takes_numpy_names(size)

    def __dlpack__(
        self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        return capsule_of(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self: Any) -> tuple[Any, int]:
        return device_of(self)

    def type_as(self: Any, other: Any) -> Any:
        """Converted to the dtype of `other`."""
        return to(self, need_tensor(other, "type_as", "other")._meta.dtype)

    def cpu(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """The tensor in main memory: itself."""
        return to(self, CPU, memory_format=memory_format)

    def cuda(
        self: Any, device: Any = None, non_blocking: bool = False, memory_format: memory_format = preserve_format
    ) -> Any:
        """An error that says what to do: there is no CUDA backend."""
        return to(self, "cuda" if device is None else device)

    is_cuda = is_quantized = is_mkldnn = is_xpu = is_mps = is_nested = False

    def float(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to float32."""
        return to(self, dtypes.float32, memory_format=memory_format)

    def double(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to float64."""
        return to(self, dtypes.float64, memory_format=memory_format)

    def half(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to float16."""
        return to(self, dtypes.float16, memory_format=memory_format)

    def bfloat16(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to bfloat16."""
        return to(self, dtypes.bfloat16, memory_format=memory_format)

    def long(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to int64."""
        return to(self, dtypes.int64, memory_format=memory_format)

    def int(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to int32."""
        return to(self, dtypes.int32, memory_format=memory_format)

    def short(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to int16."""
        return to(self, dtypes.int16, memory_format=memory_format)

    def char(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to int8."""
        return to(self, dtypes.int8, memory_format=memory_format)

    def byte(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to uint8."""
        return to(self, dtypes.uint8, memory_format=memory_format)

    def bool(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to bool."""
        return to(self, dtypes.bool_, memory_format=memory_format)

    def cfloat(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to complex64."""
        return to(self, dtypes.complex64, memory_format=memory_format)

    def cdouble(self: Any, *, memory_format: memory_format = preserve_format) -> Any:
        """Converted to complex128."""
        return to(self, dtypes.complex128, memory_format=memory_format)
