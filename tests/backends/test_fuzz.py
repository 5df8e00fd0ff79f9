"""Random operators on random arrays: compiled kernels against the NumPy references."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.engine.core import kernels

F = pellucid.nn.functional
COUNT = int(1500 * float(os.environ.get("PELLUCID_FUZZ_SCALE", "1")))
SEED = int(os.environ.get("PELLUCID_FUZZ_SEED", "0"))
pytestmark = pytest.mark.skipif(kernels.of_cpu() is None, reason="no compiled kernels to compare with the references")

Tensor = Any
_UNARY: list[Callable[[Tensor], Tensor]] = [
    pellucid.exp, pellucid.log, pellucid.tanh, pellucid.sigmoid, pellucid.relu, F.gelu, F.silu, F.softplus, F.elu,
    F.mish, F.hardswish, F.leaky_relu, pellucid.abs, pellucid.neg, pellucid.sqrt, pellucid.rsqrt, pellucid.square,
    pellucid.floor, pellucid.round, pellucid.sign, pellucid.isnan, pellucid.erf, pellucid.expm1, pellucid.log1p,
    lambda x: x**3, lambda x: x**2.5, lambda x: x * 2.5 - 1, lambda x: 3 / x, lambda x: x.clamp(-0.5, 0.7),
    lambda x: x > 0.1, lambda x: x.to(pellucid.float64), lambda x: x.bfloat16() + 1, lambda x: x.half() * 2,
]  # fmt: skip
_BINARY: list[Callable[[Tensor, Tensor], Tensor]] = [
    pellucid.add, pellucid.sub, pellucid.mul, pellucid.div, pellucid.maximum, pellucid.minimum, pellucid.atan2,
    lambda a, b: pellucid.where(a > b, a, b * 2), lambda a, b: pellucid.add(a, b, alpha=0.3), pellucid.eq, pellucid.lt,
    lambda a, b: pellucid.lerp(a, b.to(a.dtype), 0.3), lambda a, b: pellucid.pow(a, b), pellucid.logical_and,
]  # fmt: skip
_FOLDS = ["sum", "mean", "amax", "amin", "var", "std", "prod"]


class Fold:
    """A reduction of floats, which can also be done in float64."""

    def __init__(self, x: Tensor, name: str, options: dict[str, Any]) -> None:
        self.x, self.name, self.options = x, name, options

    def __call__(self) -> Tensor:
        return getattr(self.x, self.name)(**self.options)

    def is_as_exact(self, found: Tensor, expected: Tensor) -> bool:
        """Whether a result is no further from the sum in float64 than twice NumPy's."""
        exact = getattr(self.x.double(), self.name)(**self.options).numpy()
        a, b = found.double().numpy(), expected.double().numpy()
        finite = np.isfinite(exact)
        if not np.array_equal(a[~finite], exact[~finite], equal_nan=True):
            return False
        ours, theirs = np.abs(a - exact)[finite], np.abs(b - exact)[finite]
        return bool(ours.max(initial=0) <= 2 * theirs.max(initial=0))


def _shape(rng: random.Random) -> tuple[int, ...]:
    sizes = [0, 1, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65]
    return tuple([rng.choice(sizes if rng.random() < 0.9 else [129, 300, 1031]) for _ in range(rng.randint(0, 3))])


def _tensor(rng: random.Random, shape: tuple[int, ...], kind: str) -> Tensor:
    """A tensor of this shape: contiguous, transposed, sliced, broadcast; with a few special values."""
    how = rng.choice(["plain", "plain", "transposed", "sliced", "expanded", "offset"]) if shape else "plain"
    full = list(shape)
    if how == "sliced":
        full[-1] = shape[-1] * 2
    elif how == "expanded":
        full[rng.randrange(len(full))] = 1
    elif how == "transposed":
        full.reverse()
    elif how == "offset":
        full = [size + 1 for size in shape]
    made = pellucid.tensor(_values(rng, full, kind))
    if how == "transposed":
        return made.permute(*reversed(range(len(shape))))
    if how == "sliced":
        return made[..., ::2]
    if how == "expanded":
        return made.expand(shape)
    for axis in range(len(shape) if how == "offset" else 0):
        made = made.narrow(axis, 1, shape[axis])
    return made


def _values(rng: random.Random, shape: list[int], kind: str) -> np.ndarray:
    noise = np.random.default_rng(rng.getrandbits(32))
    values = noise.normal(size=shape)
    if values.size and rng.random() < 0.3:
        flat = values.reshape(-1)
        for special in (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42):
            flat[noise.integers(flat.size)] = special
    return (np.nan_to_num(values * 4) if kind == "i8" else values).astype(kind)


def _program(rng: random.Random) -> tuple[str, Callable[[], Tensor]]:
    kind = rng.choice(["f4", "f4", "f4", "f8", "i8"])
    shape = _shape(rng)
    x = _tensor(rng, shape, kind)
    choice = rng.random()
    if choice < 0.35:
        index = rng.randrange(len(_UNARY))
        return f"unary {index} of {kind} {shape} {x.stride()}", lambda: _UNARY[index](x)
    if choice < 0.65:
        other_shape = tuple([1 if rng.random() < 0.3 else size for size in shape][rng.randint(0, len(shape)) :])
        y, index = _tensor(rng, other_shape, rng.choice([kind, "f4"])), rng.randrange(len(_BINARY))
        return f"binary {index} of {kind} {shape} {x.stride()}, {y.dtype} {y.shape}", lambda: _BINARY[index](x, y)
    x = x.float() if kind == "i8" else x
    name, dims = rng.choice(_FOLDS), tuple(rng.sample(range(len(shape)), rng.randint(0, len(shape))))
    if choice < 0.85 or not shape:
        if name == "prod":
            return f"prod {shape}", lambda: x.prod()
        options = {"dim": dims, "keepdim": rng.random() < 0.5} if dims else {}
        fold = Fold(x, name, options)
        return f"{name} of {x.dtype} {shape} {x.stride()} {options}", fold
    dim = rng.randrange(len(shape))
    function = rng.choice([pellucid.softmax, pellucid.log_softmax, pellucid.logsumexp])
    return f"{function.__name__} of {shape} {x.stride()} along {dim}", lambda: function(x, dim)


def _outcome(action: Callable[[], Tensor]) -> Any:
    try:
        return action()
    except (RuntimeError, IndexError, NotImplementedError) as error:
        return type(error)


def _same(found: Any, expected: Any) -> bool:
    if isinstance(found, type) or isinstance(expected, type):
        return found is expected
    if (found.shape, found.dtype, found.stride()) != (expected.shape, expected.dtype, expected.stride()):
        return False
    if not found.dtype.is_floating_point:
        return bool((found == expected).all())
    loose = {pellucid.float64: 1e-12, pellucid.float32: 4e-6}.get(found.dtype, 1e-2)
    a, b = found.double().numpy(), expected.double().numpy()
    scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
    return bool(np.allclose(a, b, rtol=loose, atol=loose * min(scale, 1e3), equal_nan=True))


@pytest.mark.parametrize("block", range(10))
@pytest.mark.filterwarnings("ignore")
def test_kernels_agree_with_the_references(block: int) -> None:
    seeds = range(SEED + block, SEED + COUNT, 10)
    programs = {seed: _program(random.Random(seed)) for seed in seeds}
    compiled = {seed: _outcome(action) for seed, (_, action) in programs.items()}
    with kernels.using("numpy"):
        expected = {seed: _outcome(action) for seed, (_, action) in programs.items()}
    wrong = []
    for seed, (name, action) in programs.items():
        found, reference = compiled[seed], expected[seed]
        if not (_same(found, reference) or isinstance(action, Fold) and action.is_as_exact(found, reference)):
            wrong.append(f"{seed}: {name}: {found} instead of {reference}")
    assert not wrong, "\n".join(wrong[:5])
