"""Seeds and states of the random generators. The stream itself is engine/core/random_generator.py."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.core import random_generator as streams


class Generator(streams.Generator):
    """A stream of random numbers of its own; the same seed gives PyTorch's numbers.

    >>> import pellucid as torch
    >>> torch.Generator().manual_seed(7).initial_seed()
    7
    """

    __slots__ = ()

    def __init__(self, device: Any = "cpu") -> None:
        where = pellucid.device(device)
        if where.type != "cpu":
            raise RuntimeError(f"there is no generator for the device '{where}'; Pellucid has generators on 'cpu' only")
        super().__init__()

    @property
    def device(self) -> Any:
        """Where the generator is: the CPU."""
        return pellucid.device("cpu")

    def get_state(self) -> Tensor:  # type: ignore[override]
        """The state as a new tensor of 5056 bytes, which PyTorch's generators also read."""
        return pellucid.from_numpy(super().get_state())

    def set_state(self, new_state: Tensor) -> Generator:  # type: ignore[override]
        """Continue from a state that `get_state` gave, here or in PyTorch."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not pellucid.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, not a tensor of {new_state.dtype}")
        super().set_state(new_state.numpy())
        return self

    def clone_state(self) -> Generator:
        """An independent generator that continues as this one would."""
        return Generator().set_state(self.get_state())

    def graphsafe_get_state(self) -> Generator:
        """The generator itself, as its state."""
        return self

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Continue from where another generator is."""
        return self.set_state(state.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.get_state(),)


def _restored(state: Tensor) -> Generator:
    return Generator().set_state(state)


default_generator: Generator = streams.default_generator  # type: ignore[assignment]
default_generator.__class__ = Generator  # the engine draws from this very object, which now speaks in tensors


def manual_seed(seed: Any) -> Generator:
    """Start the default generator at `seed` (-2**63 to 2**64 - 1; negative ones count from 2**64) and return it.

    >>> import pellucid as torch
    >>> torch.manual_seed(0).initial_seed()
    0
    """
    return default_generator.manual_seed(int(seed))  # type: ignore[return-value]


def seed() -> int:
    """Start the default generator at a number from the operating system, and return that.

    >>> import pellucid as torch
    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed at which the default generator started.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(3); torch.initial_seed()
    3
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, 5056 bytes in PyTorch's layout.

    >>> import pellucid as torch
    >>> torch.get_rng_state().shape
    torch.Size([5056])
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator continue from a state of `get_rng_state`, here or in PyTorch.

    >>> import pellucid as torch
    >>> torch.set_rng_state(torch.get_rng_state())
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Draw inside without moving the default generator outside: its state comes back at the end of the block.

    `devices` are accelerators whose generators to keep too; there is none, so only None and () are possible.

    >>> import pellucid as torch
    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(1)
    >>> bool((torch.get_rng_state() == before).all())
    True
    """
    if not enabled or device_type == "meta":
        yield
        return
    named = [] if devices is None else list(devices)
    if named:
        raise RuntimeError(
            f"{_caller}({_devices_kw}={named}): there is no accelerator whose random state could be kept"
        )
    before = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(before)


__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]
