"""How a tensor is deep-copied: with its storage, which tensors that shared it share again."""

from __future__ import annotations

import copy
from typing import Any

from pellucid.engine.core.data import from_storage
from pellucid.engine.core.sparse import sparse_tensor
from pellucid.engine.core.storage import Storage


def deep_copy(tensor: Any, memo: dict[int, Any]) -> Any:
    """What `copy.deepcopy` makes of a tensor: its gradient and attributes are copied too, its hooks are not."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "Copy tensor.detach(), or compute the tensor anew in the copy."
        )
    meta = tensor._meta
    if meta.is_sparse:
        return _deep_copy_sparse(tensor, memo)
    storage = memo.get(id(tensor._storage))
    if storage is None:
        storage = memo[id(tensor._storage)] = Storage(tensor._storage.buffer.copy())
    copied = from_storage(storage, meta.dtype, tensor._offset, meta.shape, meta.strides, meta.device)
    return _finished(tensor, copied, memo)


def _deep_copy_sparse(tensor: Any, memo: dict[int, Any]) -> Any:
    parts = tensor._array
    index, plain, values = [copy.deepcopy(part, memo) for part in (parts.index, parts.plain, parts.values)]
    return _finished(tensor, sparse_tensor(tensor._meta, index, plain, values, parts.is_coalesced), memo)


def _finished(tensor: Any, copied: Any, memo: dict[int, Any]) -> Any:
    if type(copied) is not type(tensor):
        copied.__class__ = type(tensor)
    memo[id(tensor)] = copied
    if tensor.requires_grad:
        copied.requires_grad = True
    if tensor.grad is not None:
        copied.grad = copy.deepcopy(tensor.grad, memo)
    copied.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return copied
