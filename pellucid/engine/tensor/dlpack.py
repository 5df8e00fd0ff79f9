"""DLPack: tensors that share memory with another library's arrays, both ways. The structures are those of dlpack.h 1.0.

NumPy exports the capsules; it knows no bfloat16 and float8, whose codes are written into the capsule here. Capsules of
other libraries are read here, since NumPy makes read-only arrays of the older kind.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import from_array
from pellucid.engine.core.device import META

CPU_KINDS = (1, 3)  # kDLCPU, kDLCUDAHost
UNKNOWN_TO_NUMPY = {
    dtypes.bfloat16: 4,
    dtypes.float8_e4m3fn: 10,
    dtypes.float8_e4m3fnuz: 11,
    dtypes.float8_e5m2: 12,
    dtypes.float8_e5m2fnuz: 13,
    dtypes.float8_e8m0fnu: 14,
}
TYPES: dict[tuple[int, int], Any] = {
    **{(0, bits): np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{(1, bits): np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{(2, bits): np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    **{(code, 8 * each.itemsize): each.numpy for each, code in UNKNOWN_TO_NUMPY.items()},
    (5, 64): np.dtype("complex64"),
    (5, 128): np.dtype("complex128"),
    (6, 8): np.dtype("bool"),
}


class _Array(ctypes.Structure):  # DLTensor
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):  # DLManagedTensor
    _fields_ = [("array", _Array), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("array", _Array),
    ]


_KINDS: dict[bytes, type[_Managed] | type[_Versioned]] = {b"dltensor": _Managed, b"dltensor_versioned": _Versioned}
_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}  # kept: capsules point here

_python = ctypes.pythonapi
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_DELETER = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of another library's array (an object with `__dlpack__`, or the capsule that it gives).

    `copy=True` copies, `copy=False` refuses to; `device` moves the result. A capsule can be used only once.

    >>> import pellucid as torch, numpy
    >>> torch.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
        return from_array(_borrowed(ext_tensor))
    kind = int(ext_tensor.__dlpack_device__()[0])
    if kind not in CPU_KINDS:
        raise RuntimeError(f"Unsupported device_type: {kind}; move the array to the CPU first")
    options: dict[str, Any] = {"max_version": (1, 0)}
    if copy is not None:
        options["copy"] = copy
    try:
        capsule, is_copied = ext_tensor.__dlpack__(**options), True
    except TypeError:  # a producer from before DLPack 1.0
        capsule, is_copied = ext_tensor.__dlpack__(), False
    tensor = from_array(_borrowed(capsule))
    if copy and not is_copied:
        tensor = tensor.clone()
    return tensor if device is None else tensor.to(device)


def to_dlpack(tensor: Any) -> Any:
    """The tensor as a DLPack capsule, which another library's `from_dlpack` takes over; memory is shared.

    >>> import pellucid as torch
    >>> x = torch.ones(2)
    >>> torch.from_dlpack(torch.utils.dlpack.to_dlpack(x)).add_(1); x
    tensor([2., 2.])
    tensor([2., 2.])
    """
    return capsule_of(tensor)


def capsule_of(
    tensor: Any, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """What `Tensor.__dlpack__` returns; BufferError where DLPack cannot carry the tensor."""
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if tensor._meta.is_sparse:
        raise BufferError("Can't export tensors with layout other than torch.strided: call .to_dense() first")
    if tensor._meta.device is META:
        raise BufferError("Cannot pack tensors on meta")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"cannot export a CPU tensor to DLPack device {tuple(dl_device)}; call from_dlpack there")
    array = tensor._array
    code = UNKNOWN_TO_NUMPY.get(tensor._meta.dtype)
    if code is None:
        return array.__dlpack__(max_version=max_version, copy=copy)
    capsule = array.view(f"u{array.itemsize}").__dlpack__(max_version=max_version, copy=copy)
    _contents(capsule)[1].array.code = code
    return capsule


def device_of(tensor: Any) -> tuple[int, int]:
    """What `Tensor.__dlpack_device__` returns: (1, 0), the CPU."""
    if tensor._meta.device is META:
        raise ValueError("Unknown device type meta for Dlpack")
    return 1, 0


def _contents(capsule: Any) -> tuple[bytes, Any]:
    """The capsule's name and structure; RuntimeError for anything else, or for a capsule that was used."""
    for name, kind in _KINDS.items():
        if _python.PyCapsule_IsValid(capsule, name):
            return name, kind.from_address(_python.PyCapsule_GetPointer(capsule, name))
    raise RuntimeError(
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
        "have already constructed a tensor from it once."
    )


class _Owner:
    """Keeps a producer's memory, and tells the producer when the last array over it is gone."""

    def __init__(self, managed: Any, interface: dict[str, Any]) -> None:
        self.address = ctypes.addressof(managed)
        self.deleter = managed.deleter
        self.__array_interface__ = interface

    def __del__(self) -> None:
        if self.deleter:
            _DELETER(self.deleter)(self.address)


def _borrowed(capsule: Any) -> np.ndarray:
    """The array in a capsule, which is marked as used."""
    name, managed = _contents(capsule)
    found = managed.array
    dtype = TYPES.get((found.code, found.bits)) if found.lanes == 1 else None
    if dtype is None:
        raise RuntimeError(f"Unsupported DLPack type: code {found.code}, {found.bits} bits, {found.lanes} lanes")
    if found.device_type not in CPU_KINDS:
        raise RuntimeError(f"Unsupported device_type: {found.device_type}; move the array to the CPU first")
    shape = tuple(found.shape[: found.ndim])
    is_readonly = name == b"dltensor_versioned" and bool(managed.flags & 1)
    interface = {
        "version": 3,
        "typestr": f"<u{dtype.itemsize}" if found.code in UNKNOWN_TO_NUMPY.values() else dtype.str,
        "shape": shape,
        "data": ((found.data or 0) + found.byte_offset, is_readonly),
        "strides": tuple([each * dtype.itemsize for each in found.strides[: found.ndim]]) if found.strides else None,
    }
    _python.PyCapsule_SetName(capsule, _USED[name])  # from here on the owner frees the memory, not the capsule
    return np.asarray(_Owner(managed, interface)).view(dtype)
