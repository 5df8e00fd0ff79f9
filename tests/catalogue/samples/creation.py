"""Factories: tensors from numbers, sizes and other tensors."""

from __future__ import annotations

from ..table import Case, Make, Name, Sample, call, pairs

ONCE = ("float32",)


def sizes(make: Make) -> list[Sample]:
    return [
        call(2, 3),
        call((2, 3)),
        call([4]),
        call(()),
        call(0),
        call(2, dtype=Name("int64")),
        call(3, dtype=Name("float64")),
        call(2, 2, dtype=Name("bool")),
        call(2, dtype=Name("complex64")),
        call(2, device="cpu"),
        call(size=(2, 2)),
        call(2, device="meta"),
    ]


def likes(make: Make) -> list[Sample]:
    return [call(make(2, 3)), call(make()), call(make(0)), call(make(2), dtype=Name("int32")), call(make(2), dtype=Name("float64"))]


CASES = [
    *pairs("zeros ones", sizes, errors=lambda make: [call(-1), call("x"), call(2.5), call(2, dtype="float32")], dtypes=ONCE, gradients=False),
    Case("empty", sizes, values=False, errors=lambda make: [call(-1), call("x")], dtypes=ONCE, gradients=False, forms=False),
    *pairs("zeros_like ones_like", likes, gradients=False),
    Case("empty_like", likes, values=False, gradients=False, forms=False),
    Case("full", lambda make: [call((2, 3), 2), call((2,), 1.5), call((), True), call((2,), 1j), call((2,), 3, dtype=Name("float64")),
                               call((0,), 1)], errors=lambda make: [call((2,)), call((-1,), 0), call((2,), "x")], dtypes=ONCE,
         gradients=False),
    Case("full_like", lambda make: [call(make(2, 3), 2), call(make(2), 1.5, dtype=Name("float64"))], gradients=False),
    *pairs("Tensor.new_zeros Tensor.new_ones", lambda make: [call(make(2), (2, 3)), call(make(2), 2, dtype=Name("int64"))], gradients=False),
    Case("Tensor.new_full", lambda make: [call(make(2), (2, 3), 2), call(make(2), (2,), 1, dtype=Name("float64"))], gradients=False),
    Case("Tensor.new_empty", lambda make: [call(make(2), (2, 3))], values=False, gradients=False, forms=False),
    Case("Tensor.new_tensor", lambda make: [call(make(2), [1, 2]), call(make(2), 1.0, dtype=Name("float64"))], gradients=False),
    Case("empty_strided", lambda make: [call((2, 3), (1, 2)), call((2,), (3,))], values=False, dtypes=ONCE, gradients=False, forms=False),
    Case("arange", lambda make: [
        call(5), call(1, 5), call(1, 10, 3), call(0, 1, 0.25), call(5.0), call(5, 0, -2), call(0), call(3, dtype=Name("float32")),
        call(1, 2, 0.3), call(-3, 3), call(end=4), call(2, 2),
    ], errors=lambda make: [call(1, 5, -1), call(0, 5, 0), call(), call("x"), call(0, float("inf"))], dtypes=ONCE, gradients=False),
    Case("linspace", lambda make: [call(0, 1, 5), call(-1, 1, 4), call(0, 1, 1), call(0, 1, 0), call(0, 10, 5, dtype=Name("int64")),
                                   call(1, 0, 7, dtype=Name("float64")), call(0, 1, steps=11), call(make(), make(), 4)],
         errors=lambda make: [call(0, 1, -1), call(0, 1)], dtypes=ONCE, gradients=False, nonfinite=False),
    Case("logspace", lambda make: [call(0, 2, 5), call(0, 3, 4, base=2), call(0, 1, 1), call(0, 1, 0)], dtypes=ONCE, gradients=False,
         errors=lambda make: [call(0, 1, -1)]),
    Case("range", lambda make: [call(0, 4), call(1, 2, 0.5)], dtypes=ONCE, gradients=False, forms=False),
    Case("eye", lambda make: [call(3), call(2, 4), call(3, dtype=Name("int64")), call(0), call(2, 0)], dtypes=ONCE, gradients=False,
         errors=lambda make: [call(-1)]),
    Case("tensor", lambda make: [
        call(1), call(1.5), call(True), call(1 + 2j), call([1, 2]), call([1, 2.5]), call([[1, 2], [3, 4]]), call([]), call([[]]),
        call([True, False]), call([True, 2]), call((1, 2)), call([1, 2], dtype=Name("float32")), call([1.7, -1.7], dtype=Name("int64")),
        call([0, 1, 2], dtype=Name("bool")), call(3, dtype=Name("bfloat16")), call([1 + 1j, 2]), call([2**40]),
        call([300], dtype=Name("int32")), call(1.0, requires_grad=True),
    ], errors=lambda make: [call("x"), call([1, [2]]), call([[1], [2, 3]]), call(None), call([1, "x"]), call([2**70]),
                            call(1, requires_grad=True)], dtypes=ONCE, gradients=False, forms=False),
    *pairs("as_tensor asarray", lambda make: [call(make(2)), call([1, 2]), call(make(2), dtype=Name("float64")), call(2.5), call(make())],
           gradients=False, forms=False),
    Case("scalar_tensor", lambda make: [call(2), call(2.5), call(True), call(2, dtype=Name("int64"))], dtypes=ONCE, gradients=False),
    Case("complex", lambda make: [call(make(2), make(2))], dtypes=("float32", "float64"), note="factory", gradients=False),
    *pairs("hann_window hamming_window blackman_window bartlett_window",
           lambda make: [call(8), call(5, False), call(1), call(0), call(6, dtype=Name("float64"))], dtypes=ONCE, gradients=False),
    Case("kaiser_window", lambda make: [call(8), call(5, False, 8.0)], dtypes=ONCE, gradients=False, tolerance=10),
    *pairs("result_type", lambda make: [call(make(2), 1), call(make(2), 1.5), call(make(), make(2, dtype="int64")), call(1, 2.0),
                                        call(make(2), make(dtype="float64", grad=False))], gradients=False, forms=False),
    Case("promote_types", lambda make: [call(Name(a), Name(b)) for a in NAMES for b in NAMES], dtypes=ONCE, gradients=False, forms=False),
    Case("can_cast", lambda make: [call(Name(a), Name(b)) for a in NAMES for b in NAMES], dtypes=ONCE, gradients=False, forms=False),
    *pairs("finfo", lambda make: [call(Name(name)) for name in ("float16", "bfloat16", "float32", "float64", "complex64")],
           errors=lambda make: [call(Name("int64"))], dtypes=ONCE, gradients=False, forms=False,
           through=lambda framework, info: [info.bits, info.eps, info.max, info.min, info.tiny, info.smallest_normal, info.resolution,
                                            str(info.dtype).split(".")[-1], repr(info)]),
    *pairs("iinfo", lambda make: [call(Name(name)) for name in ("int8", "uint8", "int16", "int32", "int64")],
           errors=lambda make: [call(Name("float32"))], dtypes=ONCE, gradients=False, forms=False,
           through=lambda framework, info: [info.bits, info.max, info.min, str(info.dtype).split(".")[-1], repr(info)]),
    Case("numel", lambda make: [call(make(2, 3)), call(make()), call(make(0))], gradients=False),
]  # fmt: skip
NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
