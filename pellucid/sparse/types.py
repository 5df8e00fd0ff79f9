"""The classes and constructors of old programs: `torch.sparse.FloatTensor(indices, values, size)`."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.engine.core.data import TensorData
from pellucid.engine.tensor.layout import sparse_coo
from pellucid.engine.tensor.legacy import tensortype

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor",
]  # fmt: skip


class SparseTensorType(tensortype):
    """The class of these classes: COO tensors of one dtype are their instances."""

    is_sparse = True
    layout = sparse_coo

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Of indices and values (and a size) the tensor that stores them; of a size alone, one without entries."""
        if not args:
            return pellucid.sparse_coo_tensor((0,), dtype=cls.dtype, **kwargs)
        if isinstance(args[0], TensorData):
            if args[0].dtype is not pellucid.int64:
                raise RuntimeError(
                    f"expected scalar type Long but found {args[0].dtype}: convert the indices by .long()"
                )
            return pellucid.sparse_coo_tensor(*args, **kwargs)
        size = args[0] if len(args) == 1 and isinstance(args[0], pellucid.Size) else args
        if not all(hasattr(each, "__index__") for each in size):
            raise TypeError(
                "new() received an invalid combination of arguments - got"
                f" ({', '.join(type(each).__name__ for each in args)}): pass tensors of indices and values, or"
                " sizes; torch.sparse_coo_tensor takes lists too"
            )
        return pellucid.sparse_coo_tensor(tuple(size), dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorData) and instance._meta.dtype is cls.dtype and instance.is_sparse

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


def _class_of(name: str, kind: Any) -> Any:
    text = f"Makes COO tensors of {kind.name}, and is the class of them all."
    return SparseTensorType(name, (), {"dtype": kind, "__doc__": text, "__module__": "torch.sparse"})


FloatTensor = _class_of("FloatTensor", pellucid.float32)
DoubleTensor = _class_of("DoubleTensor", pellucid.float64)
HalfTensor = _class_of("HalfTensor", pellucid.float16)
BFloat16Tensor = _class_of("BFloat16Tensor", pellucid.bfloat16)
ByteTensor = _class_of("ByteTensor", pellucid.uint8)
CharTensor = _class_of("CharTensor", pellucid.int8)
ShortTensor = _class_of("ShortTensor", pellucid.int16)
IntTensor = _class_of("IntTensor", pellucid.int32)
LongTensor = _class_of("LongTensor", pellucid.int64)
