"""How tensors go through queues, pipes and process arguments: as a descriptor of shared memory they were moved to.

`init_reductions` tells the standard library's pickler; a loader's batches take another way, `transport.py`.
"""

from __future__ import annotations

import os
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import pellucid
from pellucid import Tensor, dtype
from pellucid.multiprocessing import shared_tensors
from pellucid.nn import Parameter


def is_plain(tensor: Tensor) -> bool:
    """Whether the tensor is strided and has data, so that its bytes are all there is to it."""
    return tensor.layout == pellucid.strided and tensor.device.type == "cpu"


def check_leaf(tensor: Tensor) -> None:
    """RuntimeError for a tensor in the middle of a graph: its history cannot follow it to another process."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries. If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )


def dressed(tensor: Tensor, requires_grad: bool, is_parameter: bool) -> Tensor:
    """The received tensor as what it was: a Parameter, or a leaf that requires a gradient."""
    if is_parameter:
        return Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def reduce_tensor(tensor: Tensor) -> Any:
    """Pickle a tensor as a descriptor of its segment, moving it to shared memory first."""
    if not is_plain(tensor):
        return tensor.__reduce_ex__(2)
    check_leaf(tensor)
    descriptor = shared_tensors.shared_descriptor(tensor)
    return rebuild_tensor, (
        DupFd(descriptor),
        shared_tensors.storage_size(tensor),
        tensor.dtype,
        tensor.storage_offset(),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        tensor.requires_grad,
        type(tensor) is Parameter,
    )


def rebuild_tensor(
    handle: Any,
    nbytes: int,
    kind: dtype,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    is_parameter: bool,
) -> Tensor:
    """The tensor that `reduce_tensor` sent, over the same memory."""
    try:
        descriptor = handle.detach()
    except (ConnectionError, FileNotFoundError, EOFError) as error:
        raise RuntimeError(
            "a tensor was received after the process that sent it had ended, and its shared memory with it: keep the "
            "sender alive until the tensor has been received (join it afterwards), or send tensor.numpy()"
        ) from error
    tensor = shared_tensors.tensor_from_descriptor(descriptor, nbytes, kind, offset, shape, strides)
    return dressed(tensor, requires_grad, is_parameter)


class Descriptor:
    """An open file that goes to a process as one of its arguments: inherited by a fork, duplicated otherwise."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        """The descriptor's number in this process."""
        return self._number

    def close(self) -> None:
        """Close it in this process."""
        os.close(self._number)

    def __reduce__(self) -> Any:
        return _arrived, (DupFd(self._number),)


def _arrived(handle: Any) -> Descriptor:
    return Descriptor(handle.detach())


def init_reductions() -> None:
    """Register the tensor classes with the pickler of `multiprocessing`."""
    ForkingPickler.register(Tensor, reduce_tensor)
    ForkingPickler.register(Parameter, reduce_tensor)
