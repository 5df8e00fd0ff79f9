"""Random numbers: from one seed, PyTorch's CPU stream to the bit."""

from __future__ import annotations

from ..table import Case, Make, Name, Sample, call, pairs

ONCE = ("float32",)
FLOATS = ("float32", "float64", "bfloat16", "float16")


def sizes(make: Make) -> list[Sample]:
    return [call(5), call(4, 4), call(3, 7), call((16,)), call(33), call(0), call(()), call(20, dtype=Name("float64")),
            call(17, dtype=Name("bfloat16")), call(40, dtype=Name("float16"))]  # fmt: skip


CASES = [
    *pairs("rand randn", sizes, random=True, dtypes=ONCE, gradients=False, tolerance=0.1, errors=lambda make: [call(-1), call(2, dtype=Name("int64"))]),
    *pairs("rand_like randn_like", lambda make: [call(make(3, 4)), call(make(20)), call(make(2), dtype=Name("float64"))], random=True,
           dtypes=FLOATS, gradients=False, nonfinite=False),
    Case("randint", lambda make: [call(10, (5,)), call(-5, 5, (3, 4)), call(0, 2**40, (4,)), call(3, (0,)), call(5, (20,), dtype=Name("int32")),
                                  call(0, 256, (9,), dtype=Name("uint8")), call(2, (6,), dtype=Name("float32"))],
         random=True, dtypes=ONCE, gradients=False, errors=lambda make: [call(0, (2,)), call(5, 2, (2,))]),
    Case("randint_like", lambda make: [call(make(3, 4), 10), call(make(5), -3, 3)], random=True, dtypes=("int64", "float32"), gradients=False),
    Case("randperm", lambda make: [call(10), call(1), call(0), call(50), call(7, dtype=Name("int32"))], random=True, dtypes=ONCE, gradients=False,
         errors=lambda make: [call(-1)]),
    Case("bernoulli", lambda make: [call(make.unit(3, 4)), call(make.unit(20)), call(make(6), 0.3)], random=True, dtypes=("float32", "float64"),
         gradients=False, nonfinite=False, errors=lambda make: [call(make.values([1.5, 0.5])), call(make(3), 2.0)]),
    Case("normal", lambda make: [call(0.0, 1.0, (5,)), call(make(3, 4), make.positive(3, 4)), call(make(20), 2.0), call(1.0, make.positive(18))],
         random=True, dtypes=("float32", "float64"), gradients=False, nonfinite=False, errors=lambda make: [call(0.0, -1.0, (2,))]),
    Case("multinomial", lambda make: [call(make.unit(5), 3), call(make.unit(2, 6), 4, replacement=True), call(make.unit(3), 3)],
         random=True, dtypes=("float32", "float64"), gradients=False, nonfinite=False,
         errors=lambda make: [call(make.unit(3), 4), call(make.values([-1, 1]), 1), call(make.unit(3), 0)], meta=False),
    Case("poisson", lambda make: [call(make.positive(3, 4))], random=True, dtypes=("float32", "float64"), gradients=False, nonfinite=False),
    *pairs("Tensor.uniform_ Tensor.normal_", lambda make: [call(make(3, 4)), call(make(20), -1, 2), call(make(17), 0, 3), call(make(0))],
           random=True, dtypes=FLOATS, gradients=False, forms=False, nonfinite=False),
    Case("Tensor.uniform_", lambda make: [], random=True, dtypes=ONCE, gradients=False, forms=False, note="bounds",
         errors=lambda make: [call(make(3), 2, 1)]),
    Case("Tensor.normal_", lambda make: [], random=True, dtypes=ONCE, gradients=False, forms=False, note="deviation",
         errors=lambda make: [call(make(3), 0, -1)]),
    *pairs("Tensor.exponential_", lambda make: [call(make(3, 4)), call(make(20), 2.0)], random=True, dtypes=("float32", "float64"),
           gradients=False, forms=False, nonfinite=False, errors=lambda make: [call(make(3), -1)]),
    *pairs("Tensor.bernoulli_", lambda make: [call(make(3, 4)), call(make(20), 0.3), call(make(8), make.unit(8))], random=True,
           dtypes=("float32", "float64", "int64", "bool"), gradients=False, forms=False, nonfinite=False),
    *pairs("Tensor.random_", lambda make: [call(make(3, 4)), call(make(20), 10), call(make(9), 2, 7)], random=True,
           dtypes=("float32", "float64", "int64", "uint8", "bool"), gradients=False, forms=False, nonfinite=False),
    *pairs("Tensor.log_normal_ Tensor.cauchy_", lambda make: [call(make(20)), call(make(3, 4), 1, 2)], random=True, dtypes=("float32", "float64"),
           gradients=False, forms=False, nonfinite=False),
    *pairs("Tensor.geometric_", lambda make: [call(make(20), 0.4)], random=True, dtypes=("float32", "float64"), gradients=False, forms=False,
           nonfinite=False),
    *pairs("dropout nn.functional.dropout", lambda make: [call(make(4, 5), 0.5, True), call(make(20), 0.2, True), call(make(3), 0.5, False),
                                                          call(make(3, 4), 0.0, True), call(make(4), 1.0, True)],
           random=True, nonfinite=False, dtypes=FLOATS, errors=lambda make: [call(make(3), 1.5, True)]),
    *pairs("nn.functional.dropout1d", lambda make: [call(make(2, 3, 4), 0.5, True)], random=True, nonfinite=False, dtypes=ONCE),
    *pairs("nn.functional.dropout2d feature_dropout", lambda make: [call(make(2, 3, 4, 2), 0.5, True)], random=True, nonfinite=False, dtypes=ONCE),
    *pairs("nn.functional.dropout3d", lambda make: [call(make(2, 3, 2, 2, 2), 0.5, True)], random=True, nonfinite=False, dtypes=ONCE),
    *pairs("nn.functional.alpha_dropout nn.functional.feature_alpha_dropout", lambda make: [call(make(4, 5), 0.4, True), call(make(3, 2), 0.4, False)],
           random=True, nonfinite=False, dtypes=ONCE),
    Case("nn.functional.rrelu", lambda make: [call(make(4, 5)), call(make(4, 5), 0.1, 0.3, True)], random=True, dtypes=("float32", "float64"),
         nonfinite=False),
    Case("nn.functional.gumbel_softmax", lambda make: [call(make(4, 5)), call(make(3, 4), 0.5, True)], random=True, dtypes=("float32", "float64"),
         nonfinite=False),
]  # fmt: skip
