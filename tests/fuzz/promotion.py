"""Random expressions of mixed dtypes, shapes, Python numbers, zero-dim and empty tensors, in place and with `out=`."""

from __future__ import annotations

from typing import Any

import torch

from .builder import COMPLEX, FLOATS, INTEGERS, Builder, dtype_of
from .program import DType, Ref, Step

ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
BITWISE = ("&", "|", "^", "<<", ">>")
IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor")
IN_PLACE_UNARY = ("sqrt_", "exp_", "neg_", "abs_", "floor_", "reciprocal_", "sin_", "logical_not_", "round_")
IN_PLACE_METHODS = (
    "add_", "mul_", "sub_", "div_", "copy_", "pow_", "eq_", "lt_", "logical_and_", "fill_", "clamp_min_", "remainder_",
    "masked_fill_", "floor_divide_", "bitwise_and_",
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow", "maximum", "minimum", "fmax",
    "fmin", "atan2", "hypot", "copysign", "logaddexp", "logical_and", "logical_or", "logical_xor", "eq", "ne", "lt",
    "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "heaviside", "xlogy", "float_power", "nextafter",
    "rsub",
)  # fmt: skip
NUMBERS_ALLOWED = (
    "add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow", "eq", "ne", "lt", "ge",
    "xlogy", "bitwise_and", "bitwise_or", "bitwise_xor", "float_power", "rsub", "copysign",
)  # fmt: skip
UNARY = (
    "neg", "abs", "sin", "exp", "sqrt", "sigmoid", "floor", "sign", "reciprocal", "logical_not", "square", "tanh",
    "isnan", "isfinite", "round", "log1p", "positive", "trunc", "erf", "frac", "rsqrt", "sgn", "bitwise_not", "angle",
)  # fmt: skip
REDUCTIONS = (
    "sum",
    "mean",
    "prod",
    "amax",
    "all",
    "any",
    "cumsum",
    "var",
    "argmax",
    "std",
    "logsumexp",
    "count_nonzero",
)
DTYPES = FLOATS + INTEGERS + COMPLEX + ("bool", "float32", "int64", "bool", "float32")
WIDE_UNSIGNED = ("uint16", "uint32", "uint64")
SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0)


class Promotion(Builder):
    """Builds one program of one to three expressions."""

    def build(self) -> list[Step]:
        self.shape = [
            self.random.choice((1, 2, 3, 3, 0) if self.chance(0.15) else (1, 2, 3))
            for _ in range(self.random.randint(0, 3))
        ]
        results: list[int] = []
        for _ in range(self.random.randint(1, 3)):
            action = self.random.choices(
                (self.operator, self.function, self.unary, self.in_place, self.into, self.choice, self.reduction,
                 self.rule, self.factory),
                (6, 6, 2, 4, 4, 3, 2, 2, 1),
            )[0]  # fmt: skip
            results += action(results)
        return self.steps

    def operand_shape(self) -> list[int]:
        """A shape that mostly broadcasts with the program's."""
        shape = [1 if self.chance(0.25) else size for size in self.shape]
        shape = shape[self.random.choice((0, 0, 0, 1, len(shape))) :]
        if self.chance(0.03):
            shape = [*shape, 5]
        return shape

    def operand(self, results: list[int]) -> Any:
        if results and self.chance(0.25):
            return Ref(self.random.choice(results))
        dtype = self.random.choice(DTYPES if self.chance(0.97) else WIDE_UNSIGNED)
        values = self.data(self.operand_shape(), dtype)
        if dtype in FLOATS and values.values.size and self.chance(0.1):
            values.values.reshape(-1)[self.random.randrange(values.values.size)] = self.random.choice(SPECIAL)
        (index,) = self.emit("data", values)
        if len(values.values.shape) >= 2 and self.chance(0.2):
            (index,) = self.emit(".transpose", Ref(index), 0, 1)
        return Ref(index)

    def number(self) -> Any:
        return self.random.choice((2, 3, -1, 0, 1, True, False, 2.5, -0.5, 0.0, 1.0, 300, 1e10, 2 + 1j, 1j))

    def second(self, results: list[int]) -> Any:
        return self.number() if self.chance(0.35) else self.operand(results)

    def finite_integers(self, *values: Any) -> bool:
        """Whether no operand is a float that an integer result could not hold."""
        for value in values:
            if isinstance(value, Ref):
                tensor = self.tensor(value.index)
                if tensor.is_floating_point() and tensor.numel() and not bool((tensor.abs() < 100).all()):
                    return False
            elif isinstance(value, float | int) and abs(value) > 100:
                return False
        return True

    def operator(self, results: list[int]) -> list[int]:
        group = self.random.choices((ARITHMETIC, COMPARISONS, BITWISE), (6, 2, 2))[0]
        pair = [self.operand(results), self.second(results)]
        if self.chance(0.3):
            pair.reverse()
        return self.emit(self.random.choice(group), *pair)

    def function(self, results: list[int]) -> list[int]:
        name = self.random.choice(BINARY)
        takes_number = name in NUMBERS_ALLOWED or self.chance(0.1)
        args = (self.operand(results), self.second(results) if takes_number else self.operand(results))
        kwargs: dict[str, Any] = {}
        if name in ("add", "sub", "rsub") and self.chance(0.3):
            kwargs["alpha"] = self.random.choice((2, -1, 0.5, True))
        if name == "div" and self.chance(0.6):
            kwargs["rounding_mode"] = self.random.choice(("floor", "trunc", None))
        prefix = "" if self.chance(0.5) or not hasattr(torch.Tensor, name) else "."
        return self.emit(prefix + name, *args, **kwargs)

    def unary(self, results: list[int]) -> list[int]:
        name = self.random.choice(UNARY)
        return self.emit(self.random.choice(("", ".")) + name, self.operand(results))

    def in_place(self, results: list[int]) -> list[int]:
        target = self.operand(results)
        if str(self.tensor(target.index).dtype).removeprefix("torch.") in WIDE_UNSIGNED:
            return []
        if self.chance(0.3):
            return self.emit(f".{self.random.choice(IN_PLACE_UNARY)}", target)
        value = self.second(results)
        if not self.finite_integers(value):
            return []
        if self.chance(0.5):
            return self.emit(self.random.choice(IN_PLACE), target, value)
        name = self.random.choice(IN_PLACE_METHODS)
        if name == "masked_fill_":
            return self.emit(".masked_fill_", target, self.data(self.operand_shape(), "bool"), self.number())
        return self.emit("." + name, target, value)

    def into(self, results: list[int]) -> list[int]:
        """With `out=`: of the right shape, or empty, or wrong; of any dtype."""
        name = self.random.choice((*BINARY[:20], "exp", "neg", "where", "cat"))
        first = self.operand(results)
        second = self.second(results)
        if not self.finite_integers(first, second) or name in ("rsub", "true_divide", "logical_and"):
            return []
        args: tuple[Any, ...] = (first, second)
        if name in ("exp", "neg"):
            args = (first,)
        elif name == "where":
            args = (self.data(self.operand_shape(), "bool"), first, self.operand(results))
        elif name == "cat":
            args = ([first, self.data(tuple(self.tensor(first.index).shape), self.random.choice(DTYPES))],)
        shape = self.shape if self.chance(0.7) else self.random.choice(([0], [7], []))
        (out,) = self.emit("data", self.data(shape, self.random.choice(DTYPES)))
        self.emit(name, *args, out=Ref(out))
        return []

    def choice(self, results: list[int]) -> list[int]:
        name = self.random.choice(("where", "where", "clamp", "lerp", "addcmul", "cat", "stack", "isclose", "dot"))
        first, second = self.operand(results), self.second(results)
        if name == "where":
            condition = self.data(self.operand_shape(), "bool")
            pair = [first, second] if self.chance(0.8) else [self.number(), second]
            return self.emit("where", condition, *pair)
        if name == "clamp":
            low, high = self.random.choice(
                ((self.number(), None), (None, second), (self.number(), second), (first, first))
            )
            return self.emit("clamp", first, low, high)
        if name in ("cat", "stack"):
            return self.emit(name, [first, self.operand(results)], self.random.randint(-1, 1))
        if name == "addcmul":
            return self.emit(
                name, first, self.operand(results), self.operand(results), value=self.random.choice((1, 2, 0.5))
            )
        if name == "lerp" and not self.tensor(first.index).is_complex():
            weight = self.data(self.operand_shape(), dtype_of(self.tensor(first.index)))
            return self.emit(name, first, self.operand(results), self.random.choice((0.25, weight)))
        return self.emit(name, first, self.operand(results)) if name in ("isclose", "dot") else []

    def axis(self, operand: Ref, mistaken: bool) -> int:
        rank = max(1, self.tensor(operand.index).dim())
        return self.random.randint(-rank - mistaken * self.chance(0.1), rank - 1)

    def reduction(self, results: list[int]) -> list[int]:
        name = self.random.choice(REDUCTIONS)
        operand = self.operand(results)
        kwargs: dict[str, Any] = {}
        if name == "cumsum" or self.chance(0.5):
            kwargs["dim"] = self.axis(operand, mistaken=name in ("sum", "amax", "prod"))
        if name == "logsumexp":
            kwargs["dim"] = 0
        if name in ("argmax", "std", "var") and not self.tensor(operand.index).is_floating_point():
            return []  # two mistakes at once have no order to agree on
        if name in ("sum", "prod", "mean", "cumsum") and self.chance(0.3) and self.finite_integers(operand):
            kwargs["dtype"] = DType(self.random.choice(DTYPES))
        return self.emit(name, operand, **kwargs)

    def rule(self, results: list[int]) -> list[int]:
        name = self.random.choice(("result_type", "promote_types", "can_cast"))
        if name == "result_type":
            return self.emit(name, self.second(results), self.second(results))[:0]
        return self.emit(name, DType(self.random.choice(DTYPES)), DType(self.random.choice(DTYPES)))[:0]

    def factory(self, results: list[int]) -> list[int]:
        name = self.random.choice(("full", "arange", "full_like", "tensor", "scalar_tensor", "linspace", "as_tensor"))
        number = self.number()
        if name == "arange" and (isinstance(number, complex) or not -50 < number < 50):
            return []
        if name == "full":
            return self.emit(name, tuple(self.shape), number)
        if name == "full_like":
            return self.emit(name, self.operand(results), number)
        if name == "linspace":
            return self.emit(name, 0, 1, self.random.randint(0, 5))
        if name in ("tensor", "as_tensor"):
            number = self.random.choice((number, [number, self.number()], [[number], [1]], [], (1, 2.5)))
        return self.emit(name, number)


def generate(seed: str) -> Promotion:
    """The program of a seed, with its outcome in PyTorch."""
    builder = Promotion(seed)
    builder.build()
    return builder
