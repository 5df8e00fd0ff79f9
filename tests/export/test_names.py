"""Classes are written under names that PyTorch knows, and PyTorch's names find our classes."""

from __future__ import annotations

import importlib

import pytest

import pellucid
from pellucid.engine.export import names

torch = pytest.importorskip("torch")

PACKAGES = [
    "nn",
    "nn.functional",
    "optim",
    "optim.lr_scheduler",
    "optim.swa_utils",
    "utils.data",
    "distributions",
    "nn.utils.parametrizations",
]


def shared_classes() -> list[tuple[str, str]]:
    """Names of the classes that both packages have, with the public module that has them."""
    found = []
    for package in PACKAGES:
        try:
            ours, theirs = importlib.import_module(f"pellucid.{package}"), importlib.import_module(f"torch.{package}")
        except ModuleNotFoundError as error:
            assert error.name.startswith("pellucid."), error
            continue
        for name in dir(ours):
            if (
                not name.startswith("_")
                and isinstance(getattr(ours, name), type)
                and isinstance(getattr(theirs, name, None), type)
            ):
                found.append((package, name))
    return found


def test_classes_both_ways():
    wrong = []
    pairs = shared_classes()
    for package, name in pairs:
        ours, theirs = (
            getattr(importlib.import_module(f"pellucid.{package}"), name),
            getattr(importlib.import_module(f"torch.{package}"), name),
        )
        if not ours.__module__.startswith("pellucid") or not theirs.__module__.startswith("torch"):
            continue
        module, path = names.torch_name(ours)
        written = getattr(importlib.import_module(module), path, None)
        if written is not theirs:
            wrong.append(f"{ours} is written as {module}.{path}, which PyTorch knows as {written}, not {theirs}")
        if theirs.__module__ == "torch._C" or "<locals>" in theirs.__qualname__:
            continue
        if names.resolve(theirs.__module__, theirs.__qualname__) is not ours:
            wrong.append(f"{theirs} is read as {names.resolve(theirs.__module__, theirs.__qualname__)}")
    assert not wrong, "\n".join(wrong)
    assert len(pairs) > 100


def test_what_is_missing_is_named():
    for module, name in (
        ("torch.nn", "NoSuchLayer"),
        ("torch.no.such.module", "Thing"),
        ("torch.nn.modules.linear", "Nothing"),
    ):
        with pytest.raises(AttributeError, match=f"nothing for PyTorch's {module}.{name}"):
            names.resolve(module, name)


def test_tensors_and_storages():
    assert names.resolve("torch", "Tensor") is names.resolve("torch._tensor", "Tensor") is pellucid.Tensor
    assert names.torch_name(pellucid.Tensor) == ("torch", "Tensor") and names.torch_name(pellucid.Size) == (
        "torch",
        "Size",
    )
    assert names.resolve("torch", "float16") is pellucid.float16
    assert names.resolve("torch", "BFloat16Storage").dtype is pellucid.bfloat16
    assert names.torch_name(dict) is None
