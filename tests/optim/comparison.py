"""The same optimizer in Pellucid and in PyTorch: parameters made twice, gradients given twice, results compared."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

FRAMEWORKS = (pellucid, torch)
SHAPES = ((4, 3), (5,), ())
MATRIX_SHAPES = ((4, 3), (3, 5))


def array(tensor: Any) -> np.ndarray:
    """A tensor of either framework as a float64 or complex128 array."""
    if tensor.dtype in (torch.bfloat16, pellucid.bfloat16, torch.float16, pellucid.float16):
        tensor = tensor.float()
    return np.asarray(tensor.detach().numpy())


def make(framework: Any, values: np.ndarray, dtype: str | None = None) -> Any:
    """An array as a tensor of a framework, in the named dtype."""
    tensor = framework.from_numpy(np.array(values))
    return tensor if dtype is None else tensor.to(getattr(framework, dtype))


def convert(value: Any, framework: Any) -> Any:
    """Tensors of either framework, at any depth of dictionaries, lists and tuples, as tensors of `framework`."""
    if isinstance(value, (pellucid.Tensor, torch.Tensor)):
        name = str(value.dtype).rsplit(".", 1)[1]
        return make(framework, array(value), name)
    if isinstance(value, dict):
        return type(value)({key: convert(item, framework) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return type(value)(convert(item, framework) for item in value)
    return value


def assert_same(ours: Any, theirs: Any, tolerance: float, where: str = "") -> None:
    """Fails unless two values have one structure, tensors of one dtype, and numbers within a relative tolerance."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, pellucid.Tensor), f"{where}: {type(ours).__name__} for a tensor"
        assert str(ours.dtype).rsplit(".", 1)[1] == str(theirs.dtype).rsplit(".", 1)[1], where
        assert tuple(ours.shape) == tuple(theirs.shape), where
        np.testing.assert_allclose(array(ours), array(theirs), rtol=tolerance, atol=tolerance, err_msg=where)
    elif isinstance(theirs, dict):
        assert set(ours) == set(theirs), f"{where}: {sorted(map(str, ours))} for {sorted(map(str, theirs))}"
        for key in theirs:
            assert_same(ours[key], theirs[key], tolerance, f"{where}[{key!r}]")
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs) and len(ours) == len(theirs), f"{where}: {ours!r} for {theirs!r}"
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(mine, other, tolerance, f"{where}[{index}]")
    elif isinstance(theirs, float):
        assert type(ours) is float, f"{where}: {type(ours).__name__} for float"
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=1e-12, err_msg=where)
    else:
        assert ours == theirs and type(ours) is type(theirs), f"{where}: {ours!r} for {theirs!r}"


class Run:
    """Parameters and an optimizer of one framework, stepped along gradients that depend on the seed alone."""

    def __init__(
        self,
        framework: Any,
        name: str,
        settings: dict[str, Any] | None = None,
        *,
        dtype: str = "float32",
        shapes: Sequence[tuple[int, ...]] | None = None,
        layout: Callable[[Any], Any] | None = None,
        grouped: Callable[[list[Any]], Any] | None = None,
        seed: int = 0,
    ) -> None:
        if shapes is None:
            shapes = MATRIX_SHAPES if name == "Muon" else SHAPES
        self.framework, self.dtype, self.shapes = framework, dtype, shapes
        self.random = np.random.default_rng(seed)
        self.params = []
        for shape in shapes:
            param = make(framework, self.draw(shape), dtype)
            param = param if layout is None else layout(param)
            self.params.append(param.requires_grad_())
        arguments = self.params if grouped is None else grouped(self.params)
        self.optimizer = getattr(framework.optim, name)(arguments, **convert(settings or {}, framework))

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        """Normal values, complex ones for a complex dtype, with an exact zero where there is room for one."""
        values = np.array(self.random.standard_normal(shape))
        if values.ndim == 1 and values.size > 2:
            values[1] = 0.0
        if self.dtype.startswith("complex"):
            values = values + 1j * self.random.standard_normal(shape)
        return values

    def step(self, count: int = 1) -> list[list[np.ndarray]]:
        """Steps along new gradients; the parameters after every step."""
        path = []
        for _ in range(count):
            for param, shape in zip(self.params, self.shapes, strict=True):
                param.grad = make(self.framework, self.draw(shape), self.dtype)
            self.optimizer.step()
            path.append([array(param).copy() for param in self.params])
        return path


def assert_same_run(name: str, settings: dict[str, Any] | None = None, *, steps: int = 6, **how: Any) -> None:
    """Runs both frameworks and fails unless parameters after every step, and the state at the end, agree."""
    tolerance = how.pop("tolerance", None)
    if tolerance is None:
        tolerance = {"float64": 1e-12, "complex128": 1e-12}.get(how.get("dtype", "float32"), 2e-6)
    mine, other = Run(pellucid, name, settings, **how), Run(torch, name, settings, **how)
    for number, (ours, theirs) in enumerate(zip(mine.step(steps), other.step(steps), strict=True), 1):
        for index, (own, reference) in enumerate(zip(ours, theirs, strict=True)):
            np.testing.assert_allclose(
                own, reference, rtol=tolerance, atol=tolerance, err_msg=f"parameter {index} after step {number}"
            )
    assert_same(mine.optimizer.state_dict(), other.optimizer.state_dict(), tolerance, "state_dict")
