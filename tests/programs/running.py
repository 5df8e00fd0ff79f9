"""Running a small program in a framework: what it shows, in words that both frameworks share.

A program is a function of the framework, called `torch` there, and of a `Shown`. What programs do lives elsewhere.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

PHRASE = 24  # of PyTorch's message, what ours contains too
UNSPOKEN = (
    "received an invalid combination",
    "object is not callable",
    "takes 0 positional arguments",
)  # ours says which argument is wrong


class Shown:
    """Collects what a program shows: values, errors, warnings."""

    def __init__(self, torch: ModuleType) -> None:
        self.torch = torch
        self.lines: list[Any] = []
        self.messages: list[str] = []

    def __call__(self, *values: Any) -> None:
        for value in values:
            self.lines.append(self.described(value))

    def raises(self, run: Callable[[], Any]) -> None:
        """The class of what `run` raises, or its result."""
        try:
            self(run())
        except Exception as error:
            self.lines.append(_builtin_class(error))
            self.messages.append(str(error))

    def warns(self, run: Callable[[], Any]) -> None:
        """The result, and the classes of the warnings on the way."""
        real = self.torch if self.torch.__name__ == "torch" else None  # else it warns once in a process
        if real is not None:
            before = real.is_warn_always_enabled()
            real.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.raises(run)
        finally:
            if real is not None:
                real.set_warn_always(before)
        self(sorted({each.category.__name__ for each in caught}))

    def described(self, value: Any) -> Any:
        if isinstance(value, self.torch.Tensor):
            return self.tensor(value)
        if isinstance(value, (list, tuple)) and not hasattr(value, "numel"):
            return [type(value).__name__, *map(self.described, value)]
        if isinstance(value, dict):
            return {str(name): self.described(each) for name, each in value.items()}
        if isinstance(value, float):
            return f"{value:.5g}"
        if isinstance(value, np.ndarray):
            return [str(value.dtype), value.shape, value.tolist()]
        text = value if isinstance(value, str) else repr(value)
        return re.sub(r" at 0x[0-9a-f]+", "", text.replace("pellucid", "torch"))

    def tensor(self, value: Any) -> Any:
        name = type(value).__name__
        if value.device.type == "meta" or value.layout != self.torch.strided:
            return [name, str(value.dtype), list(value.shape), str(value.layout)]
        numbers = _rounded(value.detach().cpu().tolist()) if value.numel() < 200 else float(f"{value.sum().item():.4g}")
        dtype = str(value.dtype).split(".")[-1]
        strides = [stride for stride, size in zip(value.stride(), value.shape, strict=True) if size > 1]
        return [name, dtype, list(value.shape), strides, value.requires_grad, _grad_fn(value), numbers]


def _builtin_class(error: Exception) -> str:
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ in ("builtins", "_pickle"))


def _grad_fn(value: Any) -> str:
    return type(value.grad_fn).__name__ if value.grad_fn is not None else ""


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return f"{value:.5g}" if isinstance(value, (float, complex)) else value


def run(program: Callable[[ModuleType, Shown], Any], torch: ModuleType) -> Shown:
    """What the program shows in the framework, with every seed fixed; an exception ends it and is shown."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    shown = Shown(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program(torch, shown)
        except Exception as error:
            shown.lines.append(f"ends with {type(error).__name__}")
            shown.messages.append(str(error))
    return shown
