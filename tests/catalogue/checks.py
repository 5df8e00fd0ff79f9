"""The checks that every function of the table goes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .comparison import Comparer, dtype_name, error_class
from .running import Builder, Outcome, attempt, find, specs_of, tensors_of
from .table import Case, Make, Sample, Spec

MOST_FAILURES = 6


class Checks:
    """One entry, checked in PyTorch and in the framework under test."""

    def __init__(self, case: Case, reference: ModuleType, tested: ModuleType) -> None:
        self.case, self.reference, self.tested = case, reference, tested
        self.compare = Comparer(reference, tested)
        self.functions = {framework: find(framework, case.name) for framework in (reference, tested)}

    @property
    def short_name(self) -> str:
        return self.case.name.rpartition(".")[2]

    def samples(self, dtype: str, most: int = 99) -> list[tuple[str, Sample]]:
        listed = self.case.samples(Make(self.case.name, dtype))
        return [(f"{dtype} sample {number}", sample) for number, sample in enumerate(listed)][:most]

    def invoke(self, framework: ModuleType, args: Sequence[Any], kwargs: dict[str, Any]) -> Outcome:
        if self.case.random:
            framework.manual_seed(7)
        outcome = attempt(self.functions[framework], *args, **kwargs)
        if outcome.error is None and self.case.through is not None:
            return attempt(self.case.through, framework, outcome.result)
        return outcome

    def pair(self, sample: Sample, **how: Any) -> tuple[tuple[Any, Any, Outcome], tuple[Any, Any, Outcome]]:
        """The sample's arguments and outcome, in PyTorch and in the framework under test."""
        sides = []
        for framework in (self.reference, self.tested):
            args, kwargs = Builder(framework, **how).sample(sample)
            sides.append((args, kwargs, self.invoke(framework, args, kwargs)))
        return sides[0], sides[1]

    def values(self) -> None:
        """Results in every dtype, from strided inputs, and from NaN and infinities; inputs stay as they were."""
        for dtype in self.case.dtypes:
            for where, sample in self.samples(dtype, 99 if dtype in ("float32", "int64") else 4):
                self.one_value(sample, where)
        for where, sample in self.samples(self.case.dtypes[0]):
            if self.case.strided:
                self.one_value(sample, where + " strided", layout="strided")
            if self.case.nonfinite:
                self.one_value(sample, where + " with NaN and infinities", plant=True)

    def one_value(self, sample: Sample, where: str, **how: Any) -> None:
        expected, actual = self.pair(sample, **how)
        if expected[2].is_gap:
            return
        if not self.case.values and expected[2].error is None and actual[2].error is None:
            self.compare.results(layouts(expected[2].result), layouts(actual[2].result), where)
            return
        if not self.compare.outcomes(expected[2], actual[2], where, self.case.tolerance):
            return
        if self.case.through is None:
            self.compare.aliasing(expected[2].result, actual[2].result, expected[:2], actual[:2], where)
        if not self.short_name.endswith("_"):
            self.compare.results(list(expected[:2]), list(actual[:2]), where + ": inputs afterwards")

    def gradients(self) -> None:
        """First and second gradients in float64, and first gradients from strided inputs in float32."""
        dtypes = [dtype for dtype in ("float64", "complex64") if dtype in self.case.dtypes]
        for dtype in dtypes:
            for where, sample in self.samples(dtype):
                if any(spec.differentiable for spec in specs_of(sample)):
                    self.one_gradient(sample, where + " gradient", second=dtype == "float64")
        for where, sample in self.samples("float32", 3) if "float32" in self.case.dtypes else []:
            if any(spec.differentiable for spec in specs_of(sample)):
                if self.case.strided:
                    self.one_gradient(sample, where + " strided gradient", second=False, layout="strided")
                if self.case.nonfinite and self.case.edges:
                    self.one_gradient(
                        sample, where + " gradient at NaN, infinities and zeros", second=False, plant=True
                    )

    def one_gradient(self, sample: Sample, where: str, second: bool, **how: Any) -> None:
        expected, actual = self.pair(sample, gradients=True, **how)
        if expected[2].is_gap or not self.compare.outcomes(expected[2], actual[2], where, self.case.tolerance):
            return
        wanted = [differentiable(side, framework) for side, framework in self.sides(expected, actual)]
        flags = [[t.requires_grad for t in tensors_of(side[2].result, f)] for side, f in self.sides(expected, actual)]
        self.compare.count += 1
        if flags[0] != flags[1]:
            self.compare.failures.append(f"{where}: requires_grad {flags[1]}, PyTorch's {flags[0]}")
            return
        if not wanted[0][0]:
            return
        first = [
            self.derive(*wanted[i], framework, second) for i, framework in enumerate((self.reference, self.tested))
        ]
        if (
            first[0].is_gap
            or not self.compare.outcomes(first[0], first[1], where, 10 * self.case.tolerance)
            or not second
        ):
            return
        again = [
            self.derive([t for t in outcome.result if t.requires_grad], wanted[i][1], framework, False)
            for i, (outcome, framework) in enumerate(zip(first, (self.reference, self.tested), strict=True))
        ]
        if again[0].error is None and not (again[1].error is None and self.leaks_nan(again[0].result)):
            self.compare.outcomes(again[0], again[1], where + " of gradient", 100 * self.case.tolerance)

    def leaks_nan(self, gradients: list[Any]) -> bool:
        """Whether PyTorch's second gradient of finite numbers has a NaN: a factor 0 * infinity in its formula."""
        return any(bool(self.reference.isnan(gradient).any()) for gradient in gradients)

    def sides(self, expected: Any, actual: Any) -> list[tuple[Any, ModuleType]]:
        return [(expected, self.reference), (actual, self.tested)]

    def derive(self, outputs: list[Any], inputs: list[Any], framework: ModuleType, create_graph: bool) -> Outcome:
        """Gradients of weighted outputs; a missing one counts as zeros."""
        weights = [cotangent(t, number, framework) for number, t in enumerate(outputs)]
        if not outputs:
            return Outcome([framework.zeros_like(t) for t in inputs])
        outcome = attempt(
            framework.autograd.grad, outputs, inputs, weights, create_graph=create_graph, allow_unused=True
        )
        if outcome.error is None:
            pairs = zip(outcome.result, inputs, strict=True)
            outcome.result = [framework.zeros_like(t) if g is None else g for g, t in pairs]
            if self.case.symmetric:
                outcome.result = [g + g.mH for g in outcome.result]
        return outcome

    def graph(self) -> None:
        """The name of the node that made each result."""
        for where, sample in self.samples("float64"):
            expected, actual = self.pair(sample, gradients=True)
            if expected[2].error is None and actual[2].error is None:
                names = [[node_name(t) for t in tensors_of(s[2].result, f)] for s, f in self.sides(expected, actual)]
                self.compare.count += 1
                if names[0] != names[1]:
                    self.compare.failures.append(f"{where}: grad_fn {names[1]}, PyTorch's {names[0]}")

    def forms(self) -> None:
        """The method, the in-place method, `out=`, and the meta device."""
        for dtype in ("float32", "int64", "bool"):
            for where, sample in self.samples(dtype, 3) if dtype in self.case.dtypes else []:
                if not sample.args or not isinstance(sample.args[0], Spec):
                    continue
                self.method(sample, where)
                self.in_place(sample, where)
        for dtype in ("float32", "int64"):
            for where, sample in self.samples(dtype, 3) if dtype in self.case.dtypes else []:
                self.into_out(sample, where)
                if self.case.meta:
                    self.without_data(sample, where)

    def is_method(self, name: str) -> bool:
        return "." not in self.case.name and hasattr(self.reference.Tensor, name)

    def both_ways(self, sample: Sample, function: Callable[[ModuleType, list[Any], dict[str, Any]], Any]) -> list[Any]:
        outcomes = []
        for framework in (self.reference, self.tested):
            args, kwargs = Builder(framework).sample(sample)
            if self.case.random:
                framework.manual_seed(7)
            outcomes.append((args, attempt(function, framework, args, kwargs)))
        return outcomes

    def method(self, sample: Sample, where: str) -> None:
        name = self.short_name
        if not self.is_method(name) or self.case.through is not None:
            return
        (_, want), (_, got) = self.both_ways(
            sample, lambda _, args, kwargs: getattr(args[0], name)(*args[1:], **kwargs)
        )
        if not want.is_gap:
            self.compare.outcomes(want, got, where + " as a method", self.case.tolerance)

    def in_place(self, sample: Sample, where: str) -> None:
        name = self.short_name + "_"
        if not self.is_method(name):
            return

        def write(_: ModuleType, args: list[Any], kwargs: dict[str, Any]) -> Any:
            result = getattr(args[0], name)(*args[1:], **kwargs)
            return [result, result is args[0], args[0]._version]

        (args, want), (others, got) = self.both_ways(sample, write)
        if not want.is_gap:
            self.compare.outcomes(want, got, where + " in place", self.case.tolerance)
            self.compare.results(args, others, where + " in place: arguments afterwards", self.case.tolerance)

    def into_out(self, sample: Sample, where: str) -> None:
        if "out" in sample.kwargs or self.case.name.startswith("nn.functional."):  # there, only C++ signatures have it
            return
        expected, actual = self.pair(sample)
        if expected[2].error is not None or actual[2].error is not None:
            return
        results = expected[2].result
        single = self.reference.is_tensor(results)
        made = list(tensors_of(results, self.reference))
        if not made or self.case.through is not None or not (single or len(made) == len(results)):
            return
        for kind in ("empty", "right", "strided", "int64", "float64"):

            def write(framework: ModuleType, args: list[Any], kwargs: dict[str, Any], kind: str = kind) -> Any:
                outs = [out_tensor(t, kind, framework) for t in made]
                if self.case.random:
                    framework.manual_seed(7)
                result = self.functions[framework](*args, **kwargs, out=outs[0] if single else tuple(outs))
                listed = [result] if single else list(result)
                return [listed, [a is b for a, b in zip(listed, outs, strict=True)]]

            (_, want), (_, got) = self.both_ways(sample, write)
            if isinstance(want.error, TypeError) and "out" in str(want.error) or want.is_gap:
                return
            if want.error is not None and got.error is None and kind in ("int64", "float64"):
                if self.reference.can_cast(made[0].dtype, getattr(self.reference, kind)):
                    continue  # PyTorch wants the exact dtype here; casting, as elsewhere, does no harm
            tolerance = self.case.tolerance * (1 if kind != "float64" or dtype_name(made[0]) == "float64" else 100)
            self.compare.outcomes(want, got, f"{where} with out= ({kind})", tolerance)

    def without_data(self, sample: Sample, where: str) -> None:
        """On the meta device: PyTorch's shapes and dtypes, wherever PyTorch can."""
        args, kwargs = Builder(self.reference).sample(sample)
        if self.invoke(self.reference, args, kwargs).error is not None:
            return  # no dtype for this function; only without a kernel does it seem to work
        expected, actual = self.pair(sample, device="meta")
        if expected[2].error is None:
            self.compare.outcomes(
                Outcome(layouts(expected[2].result)),
                actual[2] if actual[2].error is not None else Outcome(layouts(actual[2].result)),
                where + " on meta",
            )

    def errors(self) -> None:
        """The error class for the wrong inputs of the table, for no input, a string, and an unknown keyword."""
        for number, sample in enumerate(self.case.errors(Make(self.case.name, self.case.dtypes[0]))):
            expected, actual = self.pair(sample)
            if expected[2].error is None:
                self.compare.failures.append(f"error sample {number}: PyTorch does not raise")
            else:
                self.compare.outcomes(expected[2], actual[2], f"error sample {number}")
        samples = self.samples("float32", 1)
        if (
            samples
            and samples[0][1].args
            and isinstance(samples[0][1].args[0], Spec)
            and "Tensor." not in self.case.name
        ):
            first = samples[0][1]
            for what, wrong in (
                ("no argument", Sample((), {})),
                ("a string for the tensor", Sample(("x", *first.args[1:]), first.kwargs)),
                ("an unknown keyword", Sample(first.args, {**first.kwargs, "no_such_option": 1})),
            ):
                expected, actual = self.pair(wrong)
                self.compare.count += 1
                want, got = error_class(expected[2].error), error_class(actual[2].error)
                if want is not None and got is None:
                    self.compare.failures.append(f"{what} is accepted, PyTorch raises {want}")
                elif want == "TypeError" and got not in ("TypeError", "AttributeError"):  # either blames the type
                    self.compare.failures.append(f"{what}: {got} ({actual[2].error!r:.200}), PyTorch raises {want}")


def differentiable(side: Any, framework: ModuleType) -> tuple[list[Any], list[Any]]:
    """The results that carry gradients, and the inputs that get them."""
    args, kwargs, outcome = side
    outputs = [t for t in tensors_of(outcome.result, framework) if t.requires_grad]
    return outputs, [t for t in tensors_of([args, kwargs], framework) if t.requires_grad]


def cotangent(tensor: Any, number: int, framework: ModuleType) -> Any:
    """Fixed weights for the elements of a result."""
    random = np.random.default_rng(number + 1)
    values = random.uniform(-1, 1, tuple(tensor.shape))
    if dtype_name(tensor).startswith("complex"):
        values = values + 1j * random.uniform(-1, 1, tuple(tensor.shape))
    return framework.from_numpy(np.asarray(values)).to(tensor.dtype)


def node_name(tensor: Any) -> str | None:
    return None if tensor.grad_fn is None else type(tensor.grad_fn).__name__


def layouts(value: Any) -> Any:
    """Shapes and dtypes in place of tensors."""
    if isinstance(value, (tuple, list)):
        return [layouts(item) for item in value]
    if hasattr(value, "stride") and hasattr(value, "dtype"):
        return [list(value.shape), dtype_name(value), value.device.type]
    return str(value).replace("pellucid.", "torch.")


def out_tensor(like: Any, kind: str, framework: ModuleType) -> Any:
    """A tensor to write into: of no elements, of the right shape, with gaps, or of another dtype."""
    shape = tuple(like.shape)
    dtype = getattr(framework, kind if kind in ("int64", "float64") else dtype_name(like))
    if kind == "empty":
        return framework.empty((0,), dtype=dtype)
    if kind == "strided" and shape:
        return framework.zeros((*shape[:-1], 2 * shape[-1]), dtype=dtype)[..., ::2]
    return framework.zeros(shape, dtype=dtype)
