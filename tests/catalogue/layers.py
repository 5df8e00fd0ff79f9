"""The checks that every layer of the table goes through: the same seed, the same weights, the same training step."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .checks import cotangent
from .comparison import Comparer, array_of
from .running import Builder, attempt, find, tensors_of
from .table import Layer, Make, Sample


class LayerChecks:
    """One layer, built and run in PyTorch and in the framework under test."""

    def __init__(self, layer: Layer, reference: ModuleType, tested: ModuleType) -> None:
        self.layer = layer
        self.frameworks = (reference, tested)
        self.compare = Comparer(reference, tested)

    def build(self, framework: ModuleType) -> Any:
        framework.manual_seed(3)
        builder = Builder(framework)
        args = builder.value(self.layer.args)
        kwargs = {name: builder.value(value) for name, value in self.layer.kwargs.items()}
        return find(framework, self.layer.name)(*args, **kwargs)

    def run(self) -> None:
        expected, actual = (attempt(self.build, framework) for framework in self.frameworks)
        if not self.compare_state(expected.result, actual.result, expected.error, actual.error):
            return
        modes = (True, False) if self.layer.both_modes else (True,)
        for mode in modes:
            for number, sample in enumerate(self.layer.inputs(Make(self.layer.label, "float32"))):
                self.step(sample, mode, f"{'train' if mode else 'eval'} sample {number}")

    def compare_state(self, expected: Any, actual: Any, error: Any, other: Any) -> bool:
        if error is not None or other is not None:
            self.compare.failures.append(f"construction: {other!r:.400} (PyTorch: {error!r:.200})")
            return False
        self.compare.results(repr(expected), repr(actual), "repr")
        names = [[name for name, _ in module.named_parameters()] for module in (expected, actual)]
        self.compare.results(names[0], names[1], "named_parameters")
        if self.layer.name.startswith("nn.Lazy"):  # no values yet
            return True
        states = [{name: value for name, value in module.state_dict().items()} for module in (expected, actual)]
        for state, framework in zip(states, self.frameworks, strict=True):
            for name, value in state.items():
                state[name] = (str(value.dtype).split(".")[-1], array_of(value, framework).tobytes().hex())
        return self.compare.results(states[0], states[1], "state_dict, bit for bit")

    def step(self, sample: Sample, training: bool, where: str) -> None:
        outcomes = [attempt(self.forward_backward, framework, sample, training) for framework in self.frameworks]
        self.compare.outcomes(outcomes[0], outcomes[1], where, 10 * self.layer.tolerance)

    def forward_backward(self, framework: ModuleType, sample: Sample, training: bool) -> dict[str, Any]:
        """Outputs, gradients of inputs and parameters, and buffers afterwards."""
        module = self.build(framework).train(training)
        args, kwargs = Builder(framework, gradients=True).sample(sample)
        framework.manual_seed(11)
        result = module(*args, **kwargs)
        outputs = [t for t in tensors_of(result, framework) if t.requires_grad]
        if outputs:
            weights = [cotangent(t, number, framework) for number, t in enumerate(outputs)]
            framework.autograd.backward(outputs, weights)
        found: dict[str, Any] = {"result": list(tensors_of(result, framework))}
        found["inputs"] = [t.grad for t in tensors_of([args, kwargs], framework) if t.requires_grad]
        found["parameters"] = {name: p.grad for name, p in module.named_parameters()}
        found["buffers"] = dict(module.named_buffers())
        return found
