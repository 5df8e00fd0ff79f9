"""The constructors of old programs: `torch.Tensor(2, 3)`, `torch.FloatTensor([1.0])`, and making subclass instances."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import Classes, TensorData, shallow
from pellucid.engine.core.device import usable
from pellucid.engine.core.meta import Size
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import shape as shape_ops
from pellucid.engine.tensor.arguments import as_ints, need_tensor
from pellucid.engine.tensor.creation import empty, set_default_dtype, tensor
from pellucid.engine.tensor.layout import strided
from pellucid.engine.tensor.overridable_methods import raw_entries
from pellucid.engine.tensor.overrides import refuse_dispatch
from pellucid.engine.tensor.storages import TypedStorage, UntypedStorage

_NO_SEQUENCE = (bool, float, complex, type(None))


def construct(args: tuple[Any, ...], kwargs: dict[str, Any], kind: dtypes.dtype, any_type: bool) -> Any:
    """What `torch.Tensor(*args)` makes: of sizes an unfilled tensor, of a sequence a copy, of a tensor an alias."""
    device = kwargs.pop("device", None)
    for name in ("data", "other", "storage", "size"):
        if name in kwargs and not args:
            args = (Size(kwargs.pop(name)),) if name == "size" else (kwargs.pop(name),)
    if kwargs:
        raise TypeError(
            f"new() received an invalid combination of arguments - unexpected keyword '{next(iter(kwargs))}'; legacy"
            " constructors take sizes, or one sequence, tensor or storage. Use torch.tensor(data, dtype=..., ...)"
        )
    where = usable(device)
    if not args:
        return empty(0, dtype=kind, device=where)
    first = args[0]
    if len(args) > 1 or isinstance(first, Size) or _is_index(first):
        return empty(as_ints(first if isinstance(first, Size) else args, "new", "size", 1), dtype=kind, device=where)
    return _of_content(first, kind, where, any_type)


def _is_index(value: Any) -> bool:
    """Whether it is one integer and no tensor."""
    return hasattr(value, "__index__") and not isinstance(value, TensorData | bool) and not getattr(value, "ndim", 0)


def _of_content(first: Any, kind: dtypes.dtype, where: Any, any_type: bool) -> Any:
    """An alias of a tensor, a view of a storage, or a copy of a sequence."""
    if isinstance(first, TensorData):
        if first._meta.dtype is not kind and not any_type:
            raise TypeError(f"expected a tensor of dtype {kind} (got {first._meta.dtype}); convert it with .to({kind})")
        return shallow(first)
    if isinstance(first, TypedStorage | UntypedStorage):
        return empty(0, dtype=kind).set_(first)
    if isinstance(first, str):
        raise TypeError(f"new(): invalid data type '{type(first).__name__}'")
    if isinstance(first, _NO_SEQUENCE) or not hasattr(first, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return tensor(
        first if isinstance(first, list | tuple) or hasattr(first, "dtype") else list(first), dtype=kind, device=where
    )


class tensortype(type):  # noqa: N801 - PyTorch's name
    """The class of `torch.FloatTensor` and the like: tensors of one dtype are their instances."""

    dtype: dtypes.dtype
    is_cuda = False
    is_sparse = False
    layout = strided

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return construct(args, kwargs, cls.dtype, any_type=False)

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, TensorData):
            return False
        return instance._meta.dtype is cls.dtype and not instance._meta.is_sparse

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _class_of(kind: dtypes.dtype) -> Any:
    name = f"{title(kind)}Tensor"
    return tensortype(
        name,
        (),
        {"dtype": kind, "__doc__": f"Makes {kind.name} tensors, and is the class of them all.", "__module__": "torch"},
    )


FloatTensor = _class_of(dtypes.float32)
DoubleTensor = _class_of(dtypes.float64)
HalfTensor = _class_of(dtypes.float16)
BFloat16Tensor = _class_of(dtypes.bfloat16)
ByteTensor = _class_of(dtypes.uint8)
CharTensor = _class_of(dtypes.int8)
ShortTensor = _class_of(dtypes.int16)
IntTensor = _class_of(dtypes.int32)
LongTensor = _class_of(dtypes.int64)
BoolTensor = _class_of(dtypes.bool_)
_BY_NAME = {
    f"torch.{each.__name__}": each
    for each in (
        FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor, ShortTensor, IntTensor,
        LongTensor, BoolTensor,
    )
}  # fmt: skip


def set_default_tensor_type(t: Any, /) -> None:
    """Make a legacy type's dtype the default one: the older spelling of `set_default_dtype`.

    >>> import pellucid as torch
    >>> torch.set_default_tensor_type(torch.FloatTensor)
    """
    found = _BY_NAME.get(t) if isinstance(t, str) else t
    if not isinstance(found, tensortype):
        raise TypeError(f"invalid type object: {t!r} is not a tensor type such as torch.FloatTensor")
    if not found.dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {t}")
    set_default_dtype(found.dtype)


def _in_class(made: Any, cls: type) -> Any:
    if type(made) is not cls:
        refuse_dispatch(cls)
        made.__class__ = cls
    return made


def _need_subclass(cls: Any) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Classes.tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            f"class inherits from Tensor: {cls.__name__} does not."
        )


class LegacyMethods:
    """Rows of `Tensor`."""

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return _in_class(construct(args, kwargs, dtypes.get_default_dtype(), any_type=True), cls)

    def new(self: Any, *args: Any, **kwargs: Any) -> Any:
        """As `torch.Tensor(...)`, with this tensor's dtype and device."""
        return construct(args, {"device": self._meta.device, **kwargs}, self._meta.dtype, any_type=False)

    def as_subclass(self: Any, cls: type) -> Any:
        """The same data, with its history, as an instance of a subclass of Tensor."""
        _need_subclass(cls)
        return _in_class(shape_ops.alias(self), cls)

    @staticmethod
    def _make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
        """The data of a tensor, cut from its history, as an instance of `cls`."""
        _need_subclass(cls)
        made = _in_class(shallow(need_tensor(data, "_make_subclass", "data", 2)), cls)
        raw_entries()["requires_grad_"](made, require_grad)
        return made

    @staticmethod
    def _make_wrapper_subclass(cls: type, *args: Any, **kwargs: Any) -> Any:
        """An error: there are no tensors without storage that answer through __torch_dispatch__."""
        raise NotImplementedError(
            "Pellucid has no wrapper subclasses (Tensor._make_wrapper_subclass, __torch_dispatch__): subclass Tensor"
            " and make instances with as_subclass, or write a class that holds tensors."
        )
