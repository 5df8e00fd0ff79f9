"""From a list of samples to a batch of tensors: `default_collate`, `default_convert`, and their table of types."""

from __future__ import annotations

import copy
import re
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import pellucid
from pellucid import Tensor
from pellucid.multiprocessing.shared_tensors import empty_in_batch, is_worker
from pellucid.utils.data._utils.failures import KeyErrorMessage

_INT64 = 1 << 63

CollateTable = dict[Any, Callable[..., Any]]

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


class _Place(threading.local):
    """Where in the batch this thread is: for messages that name the field and the samples."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.indices: Sequence[Any] | None = None


_place = _Place()


@contextmanager
def collating(indices: Sequence[Any] | None) -> Iterator[None]:
    """While a batch of these dataset indices is collated, messages name them."""
    before, _place.indices = _place.indices, indices
    try:
        yield
    finally:
        _place.indices = before


def _entry(position: int) -> str:
    indices = _place.indices
    if indices is None or position >= len(indices) or indices[position] is None:
        return f"entry {position}"
    return f"entry {position} (sample index {indices[position]})"


def _field() -> str:
    return f" in field {''.join(_place.path)}" if _place.path else ""


def _collate_field(name: str, samples: Sequence[Any], table: CollateTable | None) -> Any:
    _place.path.append(name)
    try:
        return collate(samples, collate_fn_map=table)
    finally:
        _place.path.pop()


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers as tensors, inside mappings and sequences too; everything else as it is.

    It takes the place of `default_collate` in a loader with `batch_size=None`.

    >>> import numpy as np
    >>> from pellucid.utils.data import default_convert
    >>> default_convert({"x": np.array([1, 2]), "name": "a"})
    {'x': tensor([1, 2]), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    kind = type(data)
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "bytes_"):
        if isinstance(data, np.ndarray) and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return pellucid.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuild_sequence(data, [default_convert(item) for item in data])
    return data


def _rebuild_mapping(like: Mapping[Any, Any], fields: dict[Any, Any]) -> Any:
    """The fields in a mapping of the same type where that can be made; a mutable one keeps its other attributes."""
    try:
        if isinstance(like, MutableMapping):
            clone = copy.copy(like)
            clone.update(fields)
            return clone
        return type(like)(fields)  # type: ignore[call-arg]
    except TypeError:
        return fields


def _rebuild_sequence(like: Sequence[Any], items: list[Any]) -> Any:
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for position, item in enumerate(items):
                clone[position] = item
            return clone
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def collate(batch: Any, *, collate_fn_map: CollateTable | None = None) -> Any:
    """Collate by the type of the first sample: the table's function for it, else field by field.

    A table's key is a type or a tuple of types; an exact type is looked up first, then subclasses in the table's order.

    >>> from pellucid.utils.data._utils.collate import collate
    >>> collate([(1, 2), (3, 4)], collate_fn_map={int: lambda batch, collate_fn_map: sum(batch)})
    [4, 6]
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for types, function in collate_fn_map.items():
            if isinstance(first, types):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        columns = {key: _column(batch, key) for key in first}
        fields = {key: _collate_field(f"[{key!r}]", column, collate_fn_map) for key, column in columns.items()}
        return _rebuild_mapping(first, fields)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        names = [f".{name}" for name in first._fields]
        parts = zip(names, zip(*batch, strict=False), strict=False)
        return kind(*(_collate_field(name, samples, collate_fn_map) for name, samples in parts))
    if isinstance(first, Sequence):
        _check_lengths(batch)
        columns_of = enumerate(zip(*batch, strict=False))
        items = [_collate_field(f"[{number}]", samples, collate_fn_map) for number, samples in columns_of]
        return items if isinstance(first, tuple) else _rebuild_sequence(first, items)
    raise TypeError(default_collate_err_msg_format.format(kind) + _field())


def _column(batch: Sequence[Any], key: Any) -> list[Any]:
    column = []
    for position, sample in enumerate(batch):
        try:
            column.append(sample[key])
        except KeyError:
            raise KeyError(
                KeyErrorMessage(
                    f"{key!r}: {_entry(position)} has the keys {list(sample)}, "
                    f"{_entry(0)} has {list(batch[0])}{_field()}"
                )
            ) from None
    return column


def _check_lengths(batch: Sequence[Any]) -> None:
    length = len(batch[0])
    for position, sample in enumerate(batch):
        if len(sample) != length:
            raise RuntimeError(
                f"each element in list of batch should be of equal size, but got {length} items at {_entry(0)} and "
                f"{len(sample)} at {_entry(position)}{_field()}. Pad the samples, or pass a collate_fn"
            )


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: CollateTable | None = None) -> Tensor:
    """Stack tensors of one shape; in a worker process right into the memory that the batch is sent in."""
    first = batch[0]
    if getattr(first, "is_nested", False) or first.layout != pellucid.strided:
        raise RuntimeError(
            f"Batches of {'nested' if getattr(first, 'is_nested', False) else 'sparse'} tensors are not currently "
            "supported by the default collate_fn; please provide a custom collate_fn to handle them appropriately."
        )
    samples = tuple(batch)
    try:
        out = _room_in_batch(samples)
        return pellucid.stack(samples, 0) if out is None else pellucid.stack(samples, 0, out=out)
    except (RuntimeError, TypeError, AttributeError):
        _explain(samples)
        raise


def _room_in_batch(samples: Sequence[Tensor]) -> Tensor | None:
    """In a worker process, where the batch is sent from; stacking into it records no graph and converts nothing."""
    first = samples[0]
    if not is_worker() or any(tensor.requires_grad or tensor.dtype != first.dtype for tensor in samples):
        return None
    return empty_in_batch(first.dtype, (len(samples), *first.shape))


def _explain(samples: Sequence[Any]) -> None:
    """Raise what is wrong with tensors that could not be stacked, naming the samples, if it is a shape or type."""
    shape = samples[0].shape
    for position, tensor in enumerate(samples):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got {type(tensor).__name__}: "
                f"{_entry(position)}{_field()}"
            )
        if tensor.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at {_entry(0)} and "
                f"{list(tensor.shape)} at {_entry(position)}{_field()}. Resize or pad the samples, or pass a collate_fn"
            )


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: CollateTable | None = None) -> Any:
    """Stack arrays; those of strings or objects have no tensor and are refused."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype) + _field())
    return collate([pellucid.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: CollateTable | None = None) -> Tensor:
    """NumPy numbers as one tensor of their dtype."""
    return pellucid.as_tensor(batch)


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: CollateTable | None = None) -> Tensor:
    """Python floats as one float64 tensor."""
    if all(type(number) is float for number in batch):  # nothing to infer, and NumPy reads a plain list fastest
        return pellucid.from_numpy(np.array(batch, np.float64))
    return pellucid.tensor(batch, dtype=pellucid.float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: CollateTable | None = None) -> Tensor:
    """Python ints (or bools) as one tensor."""
    if all(type(number) is int and -_INT64 <= number < _INT64 for number in batch):
        return pellucid.from_numpy(np.array(batch, np.int64))
    return pellucid.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateTable | None = None) -> Any:
    """Strings stay a list of strings."""
    return batch


default_collate_fn_map: CollateTable = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Samples as a batch: tensors, arrays and numbers get a new first dimension, mappings and sequences go by field.

    Strings and bytes stay lists; tuples become lists, namedtuples stay namedtuples. Types of one's own are added to
    `pellucid.utils.data._utils.collate.default_collate_fn_map`. Raises TypeError for what has no tensor, RuntimeError
    for samples of unequal size (it names the samples and their shapes).

    >>> from pellucid.utils.data import default_collate
    >>> default_collate([{"x": 1.5, "y": "a"}, {"x": 2.5, "y": "b"}])
    {'x': tensor([1.5000, 2.5000], dtype=torch.float64), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
