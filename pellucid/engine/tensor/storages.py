"""`UntypedStorage`, `TypedStorage` and `FloatStorage` and the like: handles to the bytes that tensors share.

The bytes themselves are core's `Storage`; there is one handle for each, made when somebody asks.
"""

from __future__ import annotations

import builtins
import importlib
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from pellucid.engine.core import dtypes, graph
from pellucid.engine.core.data import TensorData, from_storage
from pellucid.engine.core.device import CPU, META, usable
from pellucid.engine.core.device import device as device_type
from pellucid.engine.core.dispatch import wrote
from pellucid.engine.core.meta import contiguous_strides
from pellucid.engine.core.sparse import not_for_sparse
from pellucid.engine.core.storage import Storage

# One handle per storage, so that `a.untyped_storage() is b.untyped_storage()` tells whether two tensors share memory.
_handles: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


class UntypedStorage:
    """The bytes of a tensor, which all its views share; storages of views of one tensor are equal.

    >>> import pellucid as torch
    >>> x = torch.ones(4)
    >>> x.untyped_storage().nbytes(), x.untyped_storage() == x[2:].untyped_storage()
    (16, True)
    """

    __slots__ = ("__weakref__", "_meta_size", "_storage", "device")

    def __init__(self, *args: Any, device: Any = None) -> None:
        if len(args) > 1:
            raise TypeError(f"UntypedStorage() takes a size in bytes or a sequence of bytes, not {len(args)} arguments")
        self.device: device_type = usable(device)
        given: Any = args[0] if args else 0
        counted = isinstance(given, int)
        self._meta_size = (given if counted else len(given)) if self.device is META else 0
        content = np.zeros(given if self.device is not META else 0, np.uint8) if counted else np.array(given, np.uint8)
        self._storage = Storage(content)
        _handles[id(self._storage)] = self

    @classmethod
    def _of(cls, storage: Storage, where: device_type, meta_size: int = 0) -> UntypedStorage:
        made = _handles.get(id(storage))
        if made is None or made._storage is not storage or made.device is not where:
            made = object.__new__(cls)
            made._storage, made.device, made._meta_size = storage, where, meta_size
            if where is not META:
                _handles[id(storage)] = made
        return made

    @classmethod
    def from_buffer(
        cls, buffer: Any, *, dtype: Any = None, byte_order: str = "native", count: int = -1, offset: int = 0
    ) -> Any:
        """A copy of the bytes of an object with a buffer, turned to this machine's byte order."""
        kind = dtypes.uint8 if dtype is None else dtype
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'native', 'little' or 'big')")
        given = kind.numpy.newbyteorder({"native": "=", "little": "<", "big": ">"}[byte_order])
        found = np.frombuffer(buffer, given, count, offset).astype(kind.numpy)
        return cls._of(Storage(found.view(np.uint8).copy()), CPU)

    @property
    def _cdata(self) -> int:
        return id(self._storage)

    @property
    def is_cuda(self) -> bool:
        """Whether the bytes are in the memory of an NVIDIA GPU."""
        return False

    @property
    def filename(self) -> str | None:
        """The file that the bytes are mapped from; None."""
        return None

    def _bytes(self) -> np.ndarray:
        if self.device is META:
            raise NotImplementedError("Not available for 'meta' device: a storage there has a size but no data")
        return self._storage.buffer

    def nbytes(self) -> int:
        """Its size in bytes."""
        return self._meta_size if self.device is META else self._storage.nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        """1: it is counted in bytes."""
        return 1

    def data_ptr(self) -> int:
        """The address of its first byte; 0 where it is empty or has no data."""
        return self._storage.address if self.device is not META and self._storage.nbytes else 0

    def get_device(self) -> int:
        """The index of its device; -1 for main memory."""
        return -1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return UntypedStorage._of(Storage(self._bytes()[index]), self.device)
        return int(self._bytes()[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes()[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        head = f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        return (
            f"...\n{head}"
            if self.device is META
            else "\n".join([f" {each}" for each in self.tolist()] or [" "]) + f"\n{head}"
        )

    def tolist(self) -> list[int]:
        """Its bytes as a list of numbers."""
        return self._bytes().tolist()  # type: ignore[no-any-return]

    def clone(self) -> UntypedStorage:
        """A copy."""
        if self.device is META:
            return UntypedStorage._of(Storage(np.zeros(0, np.uint8)), META, self._meta_size)
        return UntypedStorage._of(Storage(self._bytes().copy()), self.device)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        storage = memo.get(id(self._storage))  # the memo's key for tensors too, see copying.py
        if storage is None:
            storage = memo[id(self._storage)] = Storage(self._storage.buffer.copy())
        return UntypedStorage._of(storage, self.device, self._meta_size)

    def __reduce__(self) -> tuple[Any, ...]:
        return _untyped_from_bytes, (self._bytes().tobytes(),)

    def cpu(self) -> UntypedStorage:
        """The storage itself: it is in main memory."""
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Write the bytes of a storage of the same size into this one."""
        given = source if isinstance(source, UntypedStorage) else source.untyped()
        if given.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {given.nbytes()} bytes"
            )
        self._bytes()[:] = given._bytes()
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Write one number into every byte."""
        self._bytes()[:] = value
        return self

    def resize_(self, size: int) -> UntypedStorage:
        """Hold `size` bytes; the first ones stay. Tensors that were made before keep seeing the old bytes."""
        if size < 0:
            raise ValueError(f"resize_: size must not be negative, got {size}")
        if self.device is META:
            self._meta_size = size
        else:
            self._storage.resize(size)
        return self

    def resizable(self) -> bool:
        """Whether `resize_` works: yes, unless other processes map it."""
        return self._storage.shared is None

    def is_shared(self) -> bool:
        """Whether it lies in memory that other processes can map."""
        return self._storage.shared is not None

    def share_memory_(self) -> UntypedStorage:
        """Move it to memory that other processes can map."""
        tensor = from_storage(self._storage, dtypes.uint8, 0, (self._storage.nbytes,), (1,))
        importlib.import_module("pellucid.multiprocessing.shared_tensors").share_memory_(tensor)
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it is page-locked for an accelerator: never, there is none."""
        return False

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self


def _untyped_from_bytes(content: bytes) -> UntypedStorage:
    return UntypedStorage._of(Storage(np.frombuffer(bytearray(content), np.uint8)), CPU)


class _StorageClass(type):
    """Says of any typed storage that it is an instance of the class of its element type: FloatStorage and so on."""

    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return type(instance) is TypedStorage and cls.dtype is instance.dtype


class TypedStorage(metaclass=_StorageClass):
    """The elements of a tensor's storage, all of one dtype, whatever the tensor's own shape and offset.

    >>> import pellucid as torch
    >>> torch.arange(4.0)[2:].storage().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """

    dtype: Any = None
    is_sparse: ClassVar[builtins.bool] = False
    _untyped_storage: UntypedStorage

    def __new__(
        cls, *args: Any, dtype: Any = None, device: Any = None, wrap_storage: Any = None, **unknown: Any
    ) -> Any:
        if unknown:
            raise RuntimeError(f"{cls.__name__}() got an unexpected keyword argument '{next(iter(unknown))}'")
        kind = (
            cls.dtype
            or dtype
            or (args[0].dtype if args and isinstance(args[0], TypedStorage) else dtypes.get_default_dtype())
        )
        made = object.__new__(TypedStorage)
        made.dtype = kind
        if wrap_storage is not None:
            made._untyped_storage = wrap_storage
            return made
        given: Any = args[0] if args else 0
        if isinstance(given, int):
            made._untyped_storage = UntypedStorage(given * kind.itemsize, device=device)
        else:
            content = given.tolist() if isinstance(given, TypedStorage | UntypedStorage) else given
            made._untyped_storage = UntypedStorage._of(Storage(np.array(content, kind.numpy)), CPU)
        return made

    @property
    def device(self) -> device_type:
        """Where its data is."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether its data is in the memory of an NVIDIA GPU."""
        return False

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def _array(self) -> np.ndarray:
        content = self._untyped_storage._bytes()
        return content[: len(content) // self.dtype.itemsize * self.dtype.itemsize].view(self.dtype.numpy)

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    _untyped = untyped

    def size(self) -> int:
        """Its number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    _size = __len__ = size

    def nbytes(self) -> int:
        """Its size in bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize  # type: ignore[no-any-return]

    def data_ptr(self) -> int:
        """The address of its first element."""
        return self._untyped_storage.data_ptr()

    def get_device(self) -> int:
        """The index of its device; -1 for main memory."""
        return -1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._array()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array()[index] = value.tolist() if isinstance(value, TypedStorage) else value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        head = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"
        return (
            f"...\n{head}"
            if self.device is META
            else "\n".join([f" {each}" for each in self.tolist()] or [" "]) + f"\n{head}"
        )

    def tolist(self) -> list[Any]:
        """Its elements as a list of numbers."""
        return self._array().tolist()  # type: ignore[no-any-return]

    def _like(self, untyped: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype)  # type: ignore[no-any-return]

    def clone(self) -> TypedStorage:
        """A copy."""
        return self._like(self._untyped_storage.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return self._like(self._untyped_storage.__deepcopy__(memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return _typed_from_untyped, (self._untyped_storage, self.dtype)

    def cpu(self) -> TypedStorage:
        """The storage itself: it is in main memory."""
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> TypedStorage:
        """Write the elements of a storage of the same length, converted, into this one."""
        if len(source) != len(self):
            raise RuntimeError(f"size does not match, self has {len(self)} elements but src has {len(source)}")
        self._array()[:] = source.tolist()
        return self

    def fill_(self, value: Any) -> TypedStorage:
        """Write one number into every element."""
        self._array()[:] = value
        return self

    def resize_(self, size: int) -> TypedStorage:
        """Hold `size` elements; the first ones stay."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def resizable(self) -> bool:
        """Whether `resize_` works."""
        return self._untyped_storage.resizable()

    def is_shared(self) -> bool:
        """Whether it lies in memory that other processes can map."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move it to memory that other processes can map."""
        self._untyped_storage.share_memory_()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it is page-locked for an accelerator: never, there is none."""
        return False

    def pickle_storage_type(self) -> str:
        """The name that files use for a storage of this type, such as 'FloatStorage'."""
        for each in STORAGE_CLASSES:
            if each.dtype is self.dtype:
                return each.__name__
        raise KeyError(f"{self.dtype} has no storage class of its own")

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of its legacy class, or the elements converted to another dtype."""
        return f"torch.{self.pickle_storage_type()}" if dtype is None else self._to(getattr(dtype, "dtype", dtype))

    def _to(self, kind: Any) -> TypedStorage:
        if kind is self.dtype:
            return self
        return TypedStorage(wrap_storage=UntypedStorage._of(Storage(self._array().astype(kind.numpy)), CPU), dtype=kind)  # type: ignore[no-any-return]

    def float(self) -> TypedStorage:
        """Converted to float32."""
        return self._to(dtypes.float32)

    def double(self) -> TypedStorage:
        """Converted to float64."""
        return self._to(dtypes.float64)

    def half(self) -> TypedStorage:
        """Converted to float16."""
        return self._to(dtypes.float16)

    def bfloat16(self) -> TypedStorage:
        """Converted to bfloat16."""
        return self._to(dtypes.bfloat16)

    def long(self) -> TypedStorage:
        """Converted to int64."""
        return self._to(dtypes.int64)

    def int(self) -> TypedStorage:
        """Converted to int32."""
        return self._to(dtypes.int32)

    def short(self) -> TypedStorage:
        """Converted to int16."""
        return self._to(dtypes.int16)

    def char(self) -> TypedStorage:
        """Converted to int8."""
        return self._to(dtypes.int8)

    def byte(self) -> TypedStorage:
        """Converted to uint8."""
        return self._to(dtypes.uint8)

    def bool(self) -> TypedStorage:
        """Converted to bool."""
        return self._to(dtypes.bool_)


def _typed_from_untyped(untyped: UntypedStorage, dtype: Any) -> TypedStorage:
    return TypedStorage(wrap_storage=untyped, dtype=dtype)  # type: ignore[no-any-return]


def _class_of(name: str, kind: dtypes.dtype) -> Any:
    return _StorageClass(
        name, (TypedStorage,), {"dtype": kind, "__doc__": f"A storage of {kind.name} elements.", "__module__": "torch"}
    )


DoubleStorage = _class_of("DoubleStorage", dtypes.float64)
FloatStorage = _class_of("FloatStorage", dtypes.float32)
HalfStorage = _class_of("HalfStorage", dtypes.float16)
BFloat16Storage = _class_of("BFloat16Storage", dtypes.bfloat16)
LongStorage = _class_of("LongStorage", dtypes.int64)
IntStorage = _class_of("IntStorage", dtypes.int32)
ShortStorage = _class_of("ShortStorage", dtypes.int16)
CharStorage = _class_of("CharStorage", dtypes.int8)
ByteStorage = _class_of("ByteStorage", dtypes.uint8)
BoolStorage = _class_of("BoolStorage", dtypes.bool_)
ComplexDoubleStorage = _class_of("ComplexDoubleStorage", dtypes.complex128)
ComplexFloatStorage = _class_of("ComplexFloatStorage", dtypes.complex64)
STORAGE_CLASSES = (
    DoubleStorage, FloatStorage, HalfStorage, BFloat16Storage, LongStorage, IntStorage, ShortStorage, CharStorage,
    ByteStorage, BoolStorage, ComplexDoubleStorage, ComplexFloatStorage,
)  # fmt: skip


def is_storage(obj: Any, /) -> bool:
    """Whether `obj` is a storage.

    >>> import pellucid as torch
    >>> torch.is_storage(torch.ones(2).untyped_storage())
    True
    """
    return isinstance(obj, UntypedStorage | TypedStorage)


class StorageMethods:
    """Rows of `Tensor`."""

    def untyped_storage(self: Any) -> UntypedStorage:
        """The bytes that it shares with its views."""
        if self._meta.is_sparse:
            raise NotImplementedError("Cannot access storage of SparseTensorImpl: ask _indices() and _values() for it")
        where = self._meta.device
        size = 0
        if where is META and self._meta.numel:
            span = zip(self._meta.shape, self._meta.strides, strict=True)
            size = (
                self._offset + 1 + sum((length - 1) * stride for length, stride in span)
            ) * self._meta.dtype.itemsize
        return UntypedStorage._of(self._storage, where, size)

    def storage(self: Any) -> TypedStorage:
        """The elements that it shares with its views."""
        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self._meta.dtype)  # type: ignore[no-any-return]

    def _typed_storage(self: Any) -> TypedStorage:
        return self.storage()  # type: ignore[no-any-return]

    def storage_type(self: Any) -> Any:
        """The class of its storage, such as `torch.FloatStorage`."""
        return next(each for each in STORAGE_CLASSES if each.dtype is self._meta.dtype)

    def data_ptr(self: Any) -> int:
        """The address of its first element; 0 for an empty tensor and on the meta device."""
        if self._meta.is_sparse:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage: it is sparse")
        if self._meta.device is META or not self._meta.numel:
            return 0
        return self._storage.address + self._offset * self._meta.dtype.itemsize  # type: ignore[no-any-return]

    def set_(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
        """View another storage, or the storage, shape and strides of another tensor, from now on."""
        if self._meta.is_sparse:
            raise not_for_sparse("set_", self._meta)
        if graph.grad_fn_of(self) is not None:
            raise RuntimeError("set_ cannot be used on a tensor that has a gradient history; detach() it first")
        made = _viewed(self, source, storage_offset, size, stride)
        if made._meta.dtype is not self._meta.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {made._meta.dtype} to a tensor of type {self._meta.dtype}"
            )
        self.data = made
        wrote(self, "set_")
        return self


def _viewed(self: Any, source: Any, offset: int, size: Any, stride: Any) -> Any:
    """The tensor that `self` becomes by `set_`."""
    kind = self._meta.dtype
    if source is None:
        return from_storage(Storage(np.zeros(0, np.uint8)), kind, 0, (0,), (1,))
    if isinstance(source, TensorData):
        if size is None:
            return source
        return from_storage(
            source._storage, source._meta.dtype, offset, size, stride or contiguous_strides(size), source._meta.device
        )
    if isinstance(source, TypedStorage):
        kind = source.dtype
    untyped = source.untyped()
    if size is None:
        size = (untyped.nbytes() // kind.itemsize - offset,)
    return from_storage(untyped._storage, kind, offset, size, stride or contiguous_strides(size), untyped.device)
