"""Options that every factory takes: page-locked memory is refused as in PyTorch, unknown keywords are errors."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import pytest

import pellucid

torch = pytest.importorskip("torch")

FACTORIES: dict[str, tuple[Any, ...]] = {
    "empty": (2,), "zeros": (2,), "ones": (2,), "full": ((2,), 1.0), "arange": (3,), "linspace": (0, 1, 3),
    "logspace": (0, 1, 3), "eye": (3,), "rand": (2,), "randn": (2,), "randint": (3, (2,)), "randperm": (3,),
    "tensor": ([1.0],), "scalar_tensor": (1.0,), "empty_strided": ((2,), (1,)), "hann_window": (3,),
    "kaiser_window": (3,), "normal": (0.0, 1.0, (2,)), "tril_indices": (3, 3), "triu_indices": (3, 3),
    "empty_permuted": ((2,), (0,)), "fft.fftfreq": (3,), "fft.rfftfreq": (3,),
}  # fmt: skip
LIKES: dict[str, tuple[Any, ...]] = {
    "empty_like": (), "zeros_like": (), "ones_like": (), "full_like": (2.0,), "rand_like": (), "randn_like": (),
    "randint_like": (3,),
}  # fmt: skip
NEW: dict[str, tuple[Any, ...]] = {
    "new_empty": ((2,),), "new_zeros": ((2,),), "new_ones": ((2,),), "new_full": ((2,), 1.0),
    "new_empty_strided": ((2,), (1,)),
}  # fmt: skip


def _calls(framework: Any) -> list[tuple[str, Any, tuple[Any, ...]]]:
    ones = framework.ones(2)
    found = []
    for name, args in FACTORIES.items():
        function = framework
        for part in name.split("."):
            function = getattr(function, part)
        found.append((name, function, args))
    found += [(name, getattr(framework, name), (ones, *args)) for name, args in LIKES.items()]
    return found + [(name, getattr(ones, name), args) for name, args in NEW.items()]


def _outcome(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> str:
    try:
        result = function(*args, **options)
    except Exception as error:
        return type(error).__name__ + (" pin" if "pin_memory=True requires a CUDA" in str(error) else "")
    return f"{tuple(result.shape)} {result.device.type} {result.is_pinned()}"


@pytest.mark.parametrize("options", [{"pin_memory": True}, {"pin_memory": False}, {"no_such_option": 1}], ids=str)
def test_every_factory_takes_and_refuses_the_same_options(options: dict[str, Any]) -> None:
    pairs = zip(_calls(torch), _calls(pellucid), strict=True)
    differences = [
        (name, expected, actual)
        for (name, reference, args), (_, tested, ours) in pairs
        if (expected := _outcome(reference, args, options)) != (actual := _outcome(tested, ours, options))
    ]
    assert not differences


def test_no_memory_is_pinned_on_the_meta_device() -> None:
    assert pellucid.empty(2, device="meta", pin_memory=True).device.type == "meta"


def test_new_tensor_has_no_pin_memory() -> None:
    with pytest.raises(TypeError, match="pin_memory"):
        pellucid.ones(1).new_tensor([1.0], pin_memory=False)


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "float32"])
def test_arange_counts_as_pytorch_does_in_each_dtype(kind: str) -> None:
    numbers = random.Random(3)

    def number() -> Any:
        value = numbers.choice([numbers.uniform(-5, 9), numbers.randint(-5, 9)])
        return abs(value) if kind == "uint8" else value

    def run(framework: Any, args: tuple[Any, ...]) -> Any:
        try:
            return framework.arange(*args, dtype=getattr(framework, kind)).tolist()
        except (RuntimeError, ValueError) as error:
            return type(error).__name__

    for _ in range(400):
        args = (number(), number(), number())
        expected, actual = run(torch, args), run(pellucid, args)
        if kind == "float32" and isinstance(expected, list):  # the last bit is of PyTorch's vector width
            assert actual == pytest.approx(expected, rel=3e-7, abs=1e-6), args
        else:
            assert actual == expected, args


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((0, 5), {}), ((1, 4, 0.7), {}), ((0.5, 4.7, 1.5), {"dtype": "int32"}), ((0, 4), {"dtype": "int64"}),
        ((4,), {}), ((math.inf, 3), {}), ((1,), {"end": 3}), ((3, 1), {}), ((0, 5, -1), {}), ((0, 5, 0), {}),
        ((1, 3), {"pin_memory": False}), ((True, 3), {}), ((5, 0, -2), {}),
    ],
)  # fmt: skip
def test_range_includes_its_end_and_warns(args: tuple[Any, ...], options: dict[str, Any]) -> None:
    outcomes: list[Any] = []
    for framework in (torch, pellucid):
        chosen = {name: getattr(framework, value) if name == "dtype" else value for name, value in options.items()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = framework.range(*args, **chosen)
                outcomes.append((made.tolist(), str(made.dtype)[-5:], [each.category for each in caught]))
            except Exception as error:
                outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]
