"""`torch.types`: the names that annotations of programs use."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from pellucid import Size, Tensor
from pellucid import device as _device
from pellucid.engine.tensor.storages import TypedStorage, UntypedStorage

Number: TypeAlias = Union[int, float, bool]  # noqa: UP007 - PyTorch's programs look into __args__
Device: TypeAlias = Union[_device, str, int, None]  # noqa: UP007
FileLike: TypeAlias = Union[str, os.PathLike[str], IO[bytes]]  # noqa: UP007
Storage: TypeAlias = Union[TypedStorage, UntypedStorage]  # noqa: UP007
_TensorOrTensors: TypeAlias = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
_size: TypeAlias = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007
_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_symint = Any
__all__ = ["Device", "FileLike", "Number", "Storage"]
