"""`GradScaler`: the scaling of losses that float16 training on a GPU needs. Here it can only be disabled."""

from __future__ import annotations

import warnings
from typing import Any


class GradScaler:
    """A disabled scaler, which passes losses and optimizer steps through, so that programs run without a GPU.

    For device "cuda" it disables itself with a warning, as in a PyTorch without CUDA; enabled for another device it
    raises NotImplementedError.

    >>> import pellucid as torch
    >>> torch.amp.GradScaler("cpu", enabled=False).scale(torch.ones(1))
    tensor([1.])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device != "cuda":
            raise NotImplementedError(
                f"GradScaler('{device}') cannot be enabled: Pellucid has no autocast that would need it. Pass "
                "enabled=False."
            )
        if enabled:
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
        self._device = device

    def is_enabled(self) -> bool:
        """Whether losses are scaled: no."""
        return False

    def scale(self, outputs: Any) -> Any:
        """The outputs as they are."""
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        """Nothing: the gradients were not scaled."""

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(*args, **kwargs)`."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Nothing: there is no scale."""

    def get_scale(self) -> float:
        """1."""
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """An empty dictionary."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing: a disabled scaler has no state."""
