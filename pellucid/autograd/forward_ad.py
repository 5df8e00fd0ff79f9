"""Forward-mode differentiation: dual tensors, which carry a tangent through what is computed from them.

What happens to a tangent is core/tangents.py's; `pellucid.func.jvp` is the same as a function of a function, and nests.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from pellucid.engine.core.modes import Switch, state
from pellucid.engine.core.tangents import DualLevel, dual, unpacked

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class _Current(threading.local):
    """The level that is open in this thread, if one is."""

    def __init__(self) -> None:
        self.level: DualLevel | None = None


_current = _Current()


def enter_dual_level() -> int:
    """Open the level at which dual tensors can be made, and return its number, 0; RuntimeError where one is open.

    >>> import pellucid.autograd.forward_ad as forward
    >>> forward.enter_dual_level()
    0
    >>> forward.exit_dual_level()
    """
    if _current.level is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment. Use torch.func.jvp, which nests.")
    _current.level = DualLevel()
    state.stack.append(_current.level)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; every tensor forgets its tangent.

    >>> import pellucid.autograd.forward_ad as forward
    >>> _ = forward.enter_dual_level()
    >>> forward.exit_dual_level()
    """
    if _current.level is None and level is None:
        raise RuntimeError("Dual level must be a positive number: no level is open, see enter_dual_level().")
    if _current.level is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    ended, _current.level = _current.level, None
    state.stack.remove(ended)
    ended.close()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of `tensor` that carries `tangent`, of the same shape, through what is computed from it.

    >>> import pellucid as torch, pellucid.autograd.forward_ad as forward
    >>> with forward.dual_level():
    ...     x = forward.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     forward.unpack_dual(x * x).tangent
    tensor(6.)
    """
    if _current.level is None or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    return dual(tensor, tangent, _current.level)


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: the tensor without its tangent, and the tangent or None.

    >>> import pellucid as torch, pellucid.autograd.forward_ad as forward
    >>> forward.unpack_dual(torch.tensor(3.0))
    UnpackedDualTensor(primal=tensor(3.), tangent=None)
    """

    primal: Any
    tangent: Any


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent; None where it carries none, or no level is open.

    >>> import pellucid as torch, pellucid.autograd.forward_ad as forward
    >>> with forward.dual_level():
    ...     forward.unpack_dual(forward.make_dual(torch.tensor(3.0), torch.tensor(1.0)))
    UnpackedDualTensor(primal=tensor(3.), tangent=tensor(1.))
    """
    if _current.level is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*unpacked(tensor, _current.level))


class dual_level(Switch):  # noqa: N801 - PyTorch's name
    """The level of forward mode, open while the block runs; also a decorator.

    >>> import pellucid as torch, pellucid.autograd.forward_ad as forward
    >>> with forward.dual_level():
    ...     x = forward.make_dual(torch.tensor(0.0), torch.tensor(2.0))
    ...     forward.unpack_dual(torch.sin(x)).tangent
    tensor(2.)
    """

    def __enter__(self) -> Any:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()
