"""Printed tensors equal PyTorch's to the character."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import pellucid
from pellucid.engine.tensor import printing

torch = pytest.importorskip("torch")

FLOATS = ["float32", "float64", "float16", "bfloat16"]
FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = FLOATS * 4 + FLOAT8 + INTEGERS + COMPLEX * 4 + ["bool"]


@pytest.fixture(autouse=True)
def _default_options() -> Iterator[None]:
    yield
    printing.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")


def pair(array: np.ndarray, dtype: str) -> tuple[object, object]:
    """The same values as our tensor and as PyTorch's."""
    theirs = torch.from_numpy(array.copy()).to(getattr(torch, dtype))
    return pellucid.from_dlpack(theirs), theirs


def random_shape(rng: np.random.Generator) -> tuple[int, ...]:
    ndim = int(rng.choice([0, 1, 1, 2, 2, 3, 4]))
    longest = {0: 1, 1: 40, 2: 9, 3: 5, 4: 3}[ndim]
    return tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, longest + 1, ndim))


def random_reals(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    values = np.asarray(rng.standard_normal(shape))
    kind = rng.integers(7)
    if kind == 0:
        values = np.round(values * rng.choice([1, 10, 1000, 1e5]))
    elif kind == 1:
        values = values * 10.0 ** rng.integers(-10, 11)
    elif kind == 2:
        values = values * 10.0 ** rng.integers(-5, 6, shape)
    elif kind == 3:
        values = np.round(values * 100) / 100
    elif kind == 4:
        values = np.asarray(rng.choice([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 2.5], shape))
    elif kind == 5:
        values = np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf, 0.0]), values)
    return np.asarray(values)


def random_array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype in INTEGERS:
        bounds = np.iinfo(dtype)
        if rng.random() < 0.5:
            return np.asarray(rng.integers(bounds.min, bounds.max, shape, dtype=dtype, endpoint=True))
        return np.asarray(rng.integers(0, 20, shape)).astype(dtype)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < rng.random())
    if dtype in COMPLEX:
        parts = np.empty(shape, "complex128")
        parts.real, parts.imag = random_reals(rng, shape), random_reals(rng, shape)
        return parts.astype(dtype)
    with np.errstate(over="ignore"):
        return random_reals(rng, shape).astype("float64" if dtype == "float64" else "float32")


def random_options(rng: np.random.Generator) -> dict[str, object]:
    options: dict[str, object] = {"sci_mode": [None, None, True, False][rng.integers(4)]}
    if rng.random() < 0.5:
        options["precision"] = int(rng.integers(0, 9))
    if rng.random() < 0.5:
        options["threshold"] = int(rng.integers(0, 30))
    if rng.random() < 0.5:
        options["edgeitems"] = int(rng.integers(0, 4))
    if rng.random() < 0.5:
        options["linewidth"] = int(rng.integers(10, 140))
    if rng.random() < 0.2:
        options["profile"] = str(rng.choice(["default", "short", "full"]))
    return options


@pytest.mark.parametrize("seed", range(10))
def test_random_tensors_print_as_in_torch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(150):
        dtype = str(rng.choice(DTYPES))
        ours, theirs = pair(random_array(rng, random_shape(rng), dtype), dtype)
        assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("seed", range(100, 106))
def test_random_tensors_print_as_in_torch_under_random_options(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(150):
        options = random_options(rng)
        dtype = str(rng.choice(DTYPES))
        ours, theirs = pair(random_array(rng, random_shape(rng), dtype), dtype)
        with printing.printoptions(**options), torch._tensor_str.printoptions(**options):
            assert repr(ours) == repr(theirs), options


@pytest.mark.parametrize(
    "shape", [(1001,), (100, 11), (2, 600), (600, 2), (7, 8, 20), (3, 3, 3, 50), (1000,), (5, 6, 7, 8)]
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "complex64"])
def test_large_tensors_are_summarised_as_in_torch(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)
    ours, theirs = pair(random_array(rng, shape, dtype), dtype)
    assert repr(ours) == repr(theirs)


def test_a_summary_looks_at_the_edges_only() -> None:
    values = np.ones(5000, np.float32)
    values[2500] = 1e-30
    assert repr(pellucid.from_numpy(values)) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])"


@pytest.mark.parametrize("shape", [(6, 7), (40, 50)])
def test_strided_views_print_their_own_elements(shape: tuple[int, int]) -> None:
    ours, theirs = pair(np.random.default_rng(2).standard_normal(shape).astype(np.float32), "float32")
    assert repr(ours.t()[1:, ::2]) == repr(theirs.t()[1:, ::2])
    assert repr(ours[:1].expand(4, shape[1])) == repr(theirs[:1].expand(4, shape[1]))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 4), ()])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float64", "complex64"])
def test_empty_and_meta_tensors_name_their_size(shape: tuple[int, ...], dtype: str) -> None:
    ours, theirs = getattr(pellucid, dtype), getattr(torch, dtype)
    assert repr(pellucid.zeros(shape, dtype=ours)) == repr(torch.zeros(shape, dtype=theirs))
    assert repr(pellucid.zeros(shape, dtype=ours, device="meta")) == repr(
        torch.zeros(shape, dtype=theirs, device="meta")
    )


def test_history_is_named() -> None:
    for size in (1, 9, 12, 13, 14, 15, 16, 30):
        ours, theirs = pellucid.ones(size, requires_grad=True), torch.ones(size, requires_grad=True)
        assert repr(ours) == repr(theirs)
        assert repr(ours + 1) == repr(theirs + 1)
        assert repr((ours * 2).detach()) == repr((theirs * 2).detach())
    assert repr(pellucid.empty(3, device="meta", requires_grad=True)) == repr(
        torch.empty(3, device="meta", requires_grad=True)
    )


def test_a_parameter_has_a_heading() -> None:
    ours, theirs = pellucid.nn.Parameter(pellucid.ones(2, 2)), torch.nn.Parameter(torch.ones(2, 2))
    assert repr(ours) == repr(theirs)


def test_the_default_dtype_is_left_out() -> None:
    try:
        pellucid.set_default_dtype(pellucid.float64)
        torch.set_default_dtype(torch.float64)
        for dtype in ("float32", "float64", "complex64", "complex128", "int64", "int32"):
            ours, theirs = pair(np.ones(2), dtype)
            assert repr(ours) == repr(theirs)
    finally:
        pellucid.set_default_dtype(pellucid.float32)
        torch.set_default_dtype(torch.float32)


def test_options_are_kept_and_restored() -> None:
    printing.set_printoptions(precision=7, sci_mode=True)
    with printing.printoptions(profile="full", linewidth=33):
        inside = printing.get_printoptions()
    assert inside == {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 33, "sci_mode": None}
    assert printing.get_printoptions()["precision"] == 7
    assert printing.get_printoptions()["sci_mode"] is True
    printing.set_printoptions(profile="unknown")  # ignored, as in PyTorch; sci_mode is always set
    assert printing.get_printoptions()["precision"] == 7
    assert printing.get_printoptions()["sci_mode"] is None
