"""`torch.utils._python_dispatch`: what there is below autograd for programs to watch, which in Pellucid is nothing.

`TorchFunctionMode` (`pellucid/overrides.py`) watches public functions.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TorchDispatchMode", "is_in_torch_dispatch_mode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode:
    """PyTorch's mode that sees operators of `torch.ops`; entering one is an error, since Pellucid has none of these.

    >>> from pellucid.utils._python_dispatch import TorchDispatchMode
    >>> with TorchDispatchMode():
    ...     pass
    Traceback (most recent call last):
        ...
    NotImplementedError: TorchDispatchMode cannot be entered: Pellucid has no torch.ops below its functions...
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} is a TorchDispatchMode without a __torch_dispatch__")

    def __enter__(self) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} cannot be entered: Pellucid has no torch.ops below its functions to show. "
            "torch.overrides.TorchFunctionMode sees every public function instead."
        )

    def __exit__(self, *exception: object) -> None:
        """Nothing: it was never entered."""


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether such a mode is entered: never."""
    return False


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether `t` is a tensor made of other tensors, by PyTorch's protocol `__tensor_flatten__`: never, since Pellucid
    has no tensors without storage.
    """
    return False
