"""`torch.cuda.amp`: the older names of `torch.amp` for a GPU."""

from __future__ import annotations

from typing import Any

from pellucid.amp import autocast_mode, grad_scaler


class autocast(autocast_mode.autocast):  # noqa: N801 - PyTorch's name
    """`torch.autocast("cuda")`; only with `enabled=False`."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """`torch.amp.GradScaler("cuda")`, which disables itself with a warning."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
