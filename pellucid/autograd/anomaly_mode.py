"""Anomaly detection: find the forward line behind a gradient that failed or became NaN. The engine does the looking."""

from __future__ import annotations

import warnings

from pellucid.engine.core.graph import anomaly


class detect_anomaly:  # noqa: N801 - PyTorch's name
    """Inside, `backward` stops at the first operator whose gradient has a NaN, and an error in it names the forward
    line.

    Every operator's traceback is kept, which is slow: for debugging only. `check_nan=False` only names lines.

    >>> import pellucid as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> x = torch.zeros(1, requires_grad=True)
    >>> with torch.autograd.detect_anomaly():
    ...     (x / x).sum().backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'DivBackward0' returned nan values in its 1th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._before: list[tuple[bool, bool]] = []
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before.append((anomaly.enabled, anomaly.check_nan))
        anomaly.enabled, anomaly.check_nan = True, self.check_nan

    def __exit__(self, *exception: object) -> None:
        anomaly.enabled, anomaly.check_nan = self._before.pop()


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Switch anomaly detection on or off: at once when called, until the end of the block as a context manager.

    >>> import pellucid as torch
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (anomaly.enabled, anomaly.check_nan)
        anomaly.enabled, anomaly.check_nan = bool(mode), check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        anomaly.enabled, anomaly.check_nan = self._before


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on.

    >>> import pellucid as torch
    >>> torch.is_anomaly_enabled()
    False
    """
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, when on, looks for NaN.

    >>> import pellucid as torch
    >>> torch.is_anomaly_check_nan_enabled()
    True
    """
    return anomaly.check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off.

    >>> import pellucid as torch
    >>> torch.set_anomaly_enabled(False)
    """
    anomaly.enabled, anomaly.check_nan = bool(mode), check_nan
