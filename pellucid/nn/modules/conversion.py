"""Moving and casting a whole module: one function applied to every parameter, its gradient, and every buffer, in
place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import pellucid
from pellucid import Tensor
from pellucid.nn.parameter import is_lazy


class Conversion:
    """The part of `Module` that changes where its tensors are and what type they have."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    children: Callable[[], Any]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, gradient and buffer by what `fn` makes of it; parameters keep their
        identity.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            gradient = parameter.grad
            with pellucid.no_grad():
                parameter.data = fn(parameter)
                if gradient is not None:
                    gradient.data = fn(gradient)
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):
                buffer.data = fn(buffer)  # it has to stay the object that waits for its shape
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, cast floating-point tensors to a dtype, or both, in place; also `to(other_tensor)`.

        Forms: `to(device=None, dtype=None, non_blocking=False)`, `to(dtype)`, `to(tensor)`, `to(memory_format=...)`.
        Integer
        tensors keep their dtype; `memory_format` changes 4- and 5-dimensional tensors only.

        >>> import pellucid as torch
        >>> torch.nn.Linear(1, 1).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}; "
                    "integer tensors in a module are indices and counters, which stay as they are"
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, and some "
                    "modules might not work as expected when using complex tensors as parameters or buffers.",
                    stacklevel=2,
                )

        def convert(tensor: Tensor) -> Tensor:
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            layout = {"memory_format": memory_format} if memory_format is not None and tensor.dim() in (4, 5) else {}
            if tensor.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            return tensor.to(device, wanted, non_blocking, **layout)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to `device` without copying: the values are arbitrary afterwards. For modules made on the meta
        device.
        """
        return self._apply(lambda tensor: pellucid.empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Cast every parameter and buffer, integer ones too, to `dst_type`."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to a CUDA device; an error that says so where there is none."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device: Any = None) -> Self:
        """Move to an XPU device; an error that says so where there is none."""
        return self._apply(lambda tensor: tensor.to(_numbered("xpu", device)))

    def ipu(self, device: Any = None) -> Self:
        """Move to an IPU device; an error that says so where there is none."""
        return self._apply(lambda tensor: tensor.to(_numbered("ipu", device)))

    def mtia(self, device: Any = None) -> Self:
        """Move to an MTIA device; an error that says so where there is none."""
        return self._apply(lambda tensor: tensor.to(_numbered("mtia", device)))

    def share_memory(self) -> Self:
        """Put every parameter and buffer into memory that other processes can share."""
        return self._apply(lambda tensor: tensor.share_memory_())


def _numbered(kind: str, device: Any) -> Any:
    return pellucid.device(kind, device) if isinstance(device, int) else device or pellucid.device(kind)


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, non_blocking and memory_format that the arguments of a `to` name, in any of its forms."""
    unknown = kwargs.keys() - {"device", "dtype", "other", "tensor", "non_blocking", "copy", "memory_format"}
    if unknown:
        raise TypeError(f"to() received an invalid keyword argument: {', '.join(sorted(unknown))}")
    rest = list(args)
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    other = kwargs.get("other", kwargs.get("tensor"))
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    if other is not None:
        device, dtype = other.device, other.dtype
    elif rest and isinstance(rest[0], pellucid.dtype | type):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], pellucid.dtype | type)):
            dtype = rest.pop(0)
    if isinstance(dtype, type):
        number_type: Any = dtype  # a Python number type stands for its widest dtype
        dtype = pellucid.empty(0, dtype=number_type).dtype
    non_blocking = rest.pop(0) if rest else kwargs.get("non_blocking", False)
    if len(rest) > 1 or not isinstance(non_blocking, bool) or not (dtype is None or isinstance(dtype, pellucid.dtype)):
        given = ", ".join(type(value).__name__ for value in (*args, *kwargs.values()))
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({given}); expected a device, a dtype, both in "
            "that order, or a tensor"
        )
    device = None if device is None else pellucid.device(device)
    return device, dtype, non_blocking, kwargs.get("memory_format")


__all__ = ["Conversion", "parse_to"]
