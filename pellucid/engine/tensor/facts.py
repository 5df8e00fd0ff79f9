"""Questions to tensors, as functions and methods, and Python's protocols: `in`, format, apply_. No operators."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes, graph
from pellucid.engine.core.data import TensorData, from_array
from pellucid.engine.core.device import META
from pellucid.engine.core.dispatch import wrote
from pellucid.engine.core.plan import number_type
from pellucid.engine.core.promotion import common_type, title
from pellucid.engine.tensor.arguments import is_number, need_tensor


def is_floating_point(input: Any) -> bool:
    """Whether its dtype is a floating-point one.

    >>> import pellucid as torch
    >>> torch.is_floating_point(torch.ones(2))
    True
    """
    return need_tensor(input, "is_floating_point")._meta.dtype.is_floating_point


def is_complex(input: Any) -> bool:
    """Whether its dtype is complex.

    >>> import pellucid as torch
    >>> torch.is_complex(torch.ones(2))
    False
    """
    return need_tensor(input, "is_complex")._meta.dtype.is_complex


def is_signed(input: Any) -> bool:
    """Whether its dtype has negative values.

    >>> import pellucid as torch
    >>> torch.is_signed(torch.tensor([1], dtype=torch.uint8))
    False
    """
    return need_tensor(input, "is_signed")._meta.dtype.is_signed


def is_nonzero(input: Any) -> bool:
    """Whether the only element is not 0; RuntimeError for any other number of elements.

    >>> import pellucid as torch
    >>> torch.is_nonzero(torch.tensor([0.5]))
    True
    """
    return bool(need_tensor(input, "is_nonzero"))


def is_same_size(input: Any, other: Any) -> bool:
    """Whether both have the same shape.

    >>> import pellucid as torch
    >>> torch.is_same_size(torch.ones(2), torch.ones(1, 2))
    False
    """
    return need_tensor(input, "is_same_size")._meta.shape == need_tensor(other, "is_same_size", "other", 2)._meta.shape


def numel(input: Any) -> int:
    """The number of elements.

    >>> import pellucid as torch
    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return need_tensor(input, "numel")._meta.numel


def get_device(input: Any) -> int:
    """The index of its device; -1 for main memory.

    >>> import pellucid as torch
    >>> torch.get_device(torch.ones(1))
    -1
    """
    index = need_tensor(input, "get_device")._meta.device.index
    return -1 if index is None else index


def is_conj(input: Any) -> bool:
    """Whether the conjugation is still to be done: never, since `conj` computes at once.

    >>> import pellucid as torch
    >>> torch.is_conj(torch.tensor([1j]).conj())
    False
    """
    need_tensor(input, "is_conj")
    return False


def is_neg(input: Any) -> bool:
    """Whether the negation is still to be done: never.

    >>> import pellucid as torch
    >>> torch.is_neg(torch.tensor([1.0]))
    False
    """
    need_tensor(input, "is_neg")
    return False


def resolve_conj(input: Any) -> Any:
    """The tensor itself: no conjugation is ever left to be done.

    >>> import pellucid as torch
    >>> torch.resolve_conj(torch.tensor([1j]))
    tensor([0.+1.j])
    """
    return need_tensor(input, "resolve_conj")


def resolve_neg(input: Any) -> Any:
    """The tensor itself: no negation is ever left to be done.

    >>> import pellucid as torch
    >>> torch.resolve_neg(torch.tensor([1.0]))
    tensor([1.])
    """
    return need_tensor(input, "resolve_neg")


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype of the sum of two tensors or numbers.

    >>> import pellucid as torch
    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    pair = (tensor1, tensor2)
    if not all(isinstance(each, TensorData) or is_number(each) for each in pair):
        raise TypeError(
            "result_type() received an invalid combination of arguments - got"
            f" ({type(tensor1).__name__}, {type(tensor2).__name__}), but expected two tensors or numbers"
        )
    return common_type([each._meta if isinstance(each, TensorData) else number_type(type(each)) for each in pair])


def typename(obj: Any, /) -> str:
    """The name of an object's type with its module; a tensor's is that of its legacy type.

    >>> import pellucid as torch
    >>> torch.typename(torch.ones(1))
    'torch.FloatTensor'
    """
    if isinstance(obj, TensorData):
        return obj.type()  # type: ignore[attr-defined, no-any-return]
    owner = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(owner, "__module__", None) or ""
    if module.startswith("pellucid.engine."):
        module = "torch"  # public under torch's name, wherever it is written
    elif module == "pellucid" or module.startswith("pellucid."):
        module = "torch" + module.removeprefix("pellucid")
    return owner.__qualname__ if module in ("", "builtins") else f"{module}.{owner.__qualname__}"


def _array_for_calls(self: Any, name: str) -> np.ndarray:
    if graph.requires_grad(self):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if self._meta.device is META:
        raise TypeError(f"{name} is only implemented on CPU tensors: a meta tensor has no data")
    if self._meta.is_sparse:
        raise RuntimeError(f"Cannot access data pointer of Tensor that doesn't have storage: {name} of a sparse tensor")
    return self._array


def _write_calls(self: Any, name: str, function: Callable[..., Any], others: tuple[Any, ...]) -> Any:
    array = _array_for_calls(self, name)
    columns = [array]
    for each in others:
        if each._meta.dtype is not self._meta.dtype:
            mine, given = title(self._meta.dtype), title(each._meta.dtype)
            raise TypeError(f"{name}: expected torch.{mine}Tensor for 'other' (got torch.{given}Tensor)")
        columns.append(each.expand(array.shape)._array)
    results = [
        function(*[each.item() for each in row]) for row in zip(*[column.flat for column in columns], strict=True)
    ]
    array[...] = np.array(results, array.dtype).reshape(array.shape)
    wrote(self, name)
    return self


class FactMethods:
    """Rows of `Tensor`."""

    is_floating_point = is_floating_point
    is_complex = is_complex
    is_signed = is_signed
    is_nonzero = is_nonzero
    is_same_size = is_same_size
    numel = numel
    nelement = numel
    get_device = get_device
    is_conj = is_conj
    is_neg = is_neg
    resolve_conj = resolve_conj
    resolve_neg = resolve_neg

    def __contains__(self: Any, element: Any, /) -> bool:
        if not isinstance(element, TensorData) and not is_number(element):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
            )
        return bool((element == self).any())

    def __format__(self: Any, format_spec: str) -> str:
        if self._meta.ndim == 0 and self._meta.device is not META:
            return self.item().__format__(format_spec)  # type: ignore[no-any-return]
        return object.__format__(self, format_spec)

    def __dir__(self: Any) -> list[str]:
        names = {*dir(type(self)), *self.__dict__}
        return sorted(names - {"__cuda_array_interface__"})

    def __delitem__(self: Any, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __array_wrap__(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        found = np.asarray(array)  # what numpy.sin(tensor) gives; truth values as uint8, as in PyTorch
        return from_array(found.astype(np.uint8) if found.dtype == np.bool_ else found)

    is_xla = is_maia = is_ipu = is_mtia = is_vulkan = False

    def is_set_to(self: Any, tensor: Any) -> bool:
        """Whether both view the same storage in the same way."""
        mine, other = self._meta, tensor._meta
        alike = (mine.shape, mine.strides, mine.dtype, self._offset) == (
            other.shape,
            other.strides,
            other.dtype,
            tensor._offset,
        )
        return alike and self._storage is tensor._storage

    def dim_order(self: Any) -> tuple[int, ...]:
        """The dimensions from the one with the largest stride to the one with the smallest."""
        return tuple(sorted(range(self._meta.ndim), key=lambda axis: -self._meta.strides[axis]))

    def is_distributed(self: Any) -> bool:
        """Whether it is spread over processes: no."""
        return False

    def module_load(self: Any, other: Any, assign: bool = False) -> Any:
        """What `load_state_dict` puts in its place: this tensor with the values of `other`, or `other` itself."""
        return other.detach() if assign else self.copy_(other).detach()

    def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
        """Replace each element by what a Python function makes of it: slow, for odd jobs only."""
        return _write_calls(self, "apply_", callable, ())

    def map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
        """Replace each element by a Python function of it and of the element of another tensor."""
        return _write_calls(self, "map_", callable, (tensor,))

    def map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
        """Replace each element by a Python function of it and of the elements of two other tensors."""
        return _write_calls(self, "map2_", callable, (x, y))

    def share_memory_(self: Any) -> Any:
        """Move its data to memory that other processes can map."""
        if self._meta.is_sparse:
            raise NotImplementedError("Cannot access storage of SparseTensorImpl: share its _indices() and _values()")
        return importlib.import_module("pellucid.multiprocessing.shared_tensors").share_memory_(self)

    def is_shared(self: Any) -> bool:
        """Whether its data lies in memory that other processes can map."""
        return self._storage.shared is not None

    def is_pinned(self: Any, device: Any = None) -> bool:
        """Whether its memory is page-locked for an accelerator: never, there is none."""
        return False

    def pin_memory(self: Any, device: Any = None) -> Any:
        """An error: page-locked memory only helps copies to an accelerator, and there is no backend for one."""
        raise RuntimeError(
            "Cannot access accelerator device when none is available: pin_memory() needs one; leave it away on a CPU"
        )
