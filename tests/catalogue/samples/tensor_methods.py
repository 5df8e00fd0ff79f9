"""Methods and attributes of `Tensor` that are no functions: conversion, size, layout, in-place filling."""

from __future__ import annotations

from ..table import Case, Make, Name, Sample, call, pairs
from .views import REAL, copied


def several(make: Make) -> list[Sample]:
    return [call(make(2, 3)), call(make()), call(make(0)), call(make(2, 3, 2))]


def one_number(make: Make) -> list[Sample]:
    return [call(make()), call(make(1)), call(make(1, 1))]


def too_many(make: Make) -> list[Sample]:
    return [call(make(2)), call(make(0))]


CASES = [
    *pairs(
        "Tensor.size Tensor.stride Tensor.dim Tensor.ndimension Tensor.nelement Tensor.element_size "
        "Tensor.is_contiguous Tensor.storage_offset Tensor.tolist Tensor.__len__ Tensor.get_device "
        "Tensor.nbytes.__get__ Tensor.itemsize.__get__ "
        "Tensor.ndim.__get__ Tensor.shape.__get__ Tensor.dtype.__get__ Tensor.is_leaf.__get__ "
        "Tensor.device.__get__ Tensor.type Tensor.data.__get__ Tensor.requires_grad.__get__",
        lambda make: [call(make(2, 3)), call(make(0)), call(make(1))],
        gradients=False,
        forms=False,
    ),
    *pairs(
        "Tensor.T.__get__ Tensor.mT.__get__ Tensor.H.__get__ Tensor.mH.__get__",
        lambda make: [call(make(2, 3)), call(make(3, 1))],
        forms=False,
        dtypes=REAL,
    ),
    *pairs(  # PyTorch conjugates lazily, in a view; here it is a copy
        "Tensor.T.__get__ Tensor.mT.__get__ Tensor.H.__get__ Tensor.mH.__get__",
        lambda make: [call(make(2, 3)), call(make(3, 1))],
        forms=False,
        dtypes=("complex64",),
        through=copied,
        note="complex",
    ),
    *pairs(
        "Tensor.item Tensor.__float__ Tensor.__bool__ Tensor.__int__",
        one_number,
        gradients=False,
        forms=False,
        errors=too_many,
        nonfinite=False,
        dtypes=("float32", "float64", "bfloat16", "int64", "uint8", "bool"),
    ),
    Case(
        "Tensor.__index__",
        lambda make: [call(make())],
        gradients=False,
        forms=False,
        dtypes=("int64", "uint8", "float32"),
    ),
    *pairs(
        "Tensor.size Tensor.stride",
        lambda make: [call(make(2, 3), 0), call(make(2, 3), -1)],
        note="of an axis",
        errors=lambda make: [call(make(2), 1)],
        gradients=False,
        forms=False,
    ),
    *pairs(
        "Tensor.float Tensor.double Tensor.half Tensor.bfloat16 Tensor.int Tensor.long Tensor.short "
        "Tensor.char Tensor.byte Tensor.bool Tensor.cfloat Tensor.cpu Tensor.contiguous Tensor.clone Tensor.detach",
        several,
        forms=False,
        nonfinite=False,
    ),
    Case(
        "Tensor.to",
        lambda make: [
            call(make(2, 3), Name("float64")),
            call(make(2), "cpu"),
            call(make(2), Name("int64")),
            call(make(2), make(1, dtype="float64")),
            call(make(2), "cpu", Name("float16")),
            call(make(2), dtype=Name("float32")),
            call(make(2), Name("float32"), copy=True),
            call(make(2), Name("bool")),
            call(make(2), Name("complex64")),
        ],
        forms=False,
        nonfinite=False,
        errors=lambda make: [call(make(2), "nowhere")],
    ),
    Case(
        "Tensor.to",
        lambda make: [call(make(2), device="meta")],
        forms=False,
        gradients=False,
        nonfinite=False,
        note="meta",
    ),
    Case(
        "Tensor.type",
        lambda make: [call(make(2), "torch.FloatTensor"), call(make(2), Name("float64"))],
        forms=False,
        nonfinite=False,
        note="given",
    ),
    *pairs("Tensor.type_as", lambda make: [call(make(2), make(1, dtype="float64"))], forms=False, nonfinite=False),
    *pairs(
        "Tensor.fill_",
        lambda make: [call(make(2, 3), 2), call(make(2), 1.5), call(make(2), make())],
        errors=lambda make: [call(make(2), make(2))],
        forms=False,
        gradients=False,
        nonfinite=False,
    ),
    *pairs("Tensor.zero_", several, forms=False, gradients=False),
    Case(
        "Tensor.copy_",
        lambda make: [call(make(2, 3), make(3)), call(make(2, 3), make(2, 3, dtype="int64")), call(make(2), make())],
        errors=lambda make: [call(make(2), make(3)), call(make(2), "x")],
        forms=False,
        gradients=False,
    ),
    *pairs(
        "Tensor.fill_diagonal_",
        lambda make: [call(make(3, 3), 1), call(make(5, 2), 2), call(make(5, 2), 2, wrap=True)],
        forms=False,
        gradients=False,
    ),
    *pairs("Tensor.masked_fill_", lambda make: [call(make(2, 3), make.mask(3), 1)], forms=False, gradients=False),
    *pairs(
        "Tensor.resize_",
        lambda make: [call(make(4), (2, 2)), call(make(4), 2)],
        forms=False,
        gradients=False,
        nonfinite=False,
    ),
    *pairs(
        "Tensor.repeat",
        lambda make: [
            call(make(2, 3), 2, 1),
            call(make(3), 2, 2),
            call(make(3), (2,)),
            call(make(2), 0),
            call(make(), 3),
        ],
        forms=False,
        errors=lambda make: [call(make(2, 3), 2)],
    ),
    *pairs(
        "Tensor.sum_to_size",
        lambda make: [call(make(2, 3), 1, 3), call(make(2, 3), (3,))],
        forms=False,
        errors=lambda make: [call(make(2, 3), 2, 2)],
    ),
    *pairs(
        "Tensor.__add__ Tensor.__radd__ Tensor.__sub__ Tensor.__rsub__ Tensor.__mul__ Tensor.__rmul__ "
        "Tensor.__eq__ Tensor.__ne__ Tensor.__lt__ Tensor.__ge__",
        lambda make: [call(make(2, 3), make(3)), call(make(3), 2), call(make(3), 1.5)],
        forms=False,
    ),
    *pairs(
        "Tensor.__truediv__ Tensor.__rtruediv__ Tensor.__pow__ Tensor.__floordiv__ Tensor.__mod__",
        lambda make: [call(make.positive(2, 3), make.positive(3)), call(make.positive(3), 2)],
        forms=False,
    ),
    Case("Tensor.__rpow__", lambda make: [call(make.positive(3), 2), call(make.positive(2, 2), 0.5)], forms=False),
    *pairs(
        "Tensor.__and__ Tensor.__or__ Tensor.__xor__",
        lambda make: [call(make(2, 3), make(3)), call(make(3), 1)],
        forms=False,
        gradients=False,
    ),
    *pairs("Tensor.__neg__ Tensor.__abs__ Tensor.__invert__ Tensor.__pos__", several, forms=False),
    Case(
        "Tensor.__matmul__",
        lambda make: [call(make(2, 3), make(3, 2)), call(make(3), make(3))],
        forms=False,
        nonfinite=False,
    ),
    Case(
        "Tensor.__contains__", lambda make: [call(make.ties(4), 1), call(make.ties(4), 9)], forms=False, gradients=False
    ),
    *pairs(
        "Tensor.__repr__ Tensor.__format__",
        lambda make: [call(make(2, 3)), call(make())],
        forms=False,
        gradients=False,
        errors=lambda make: [],
    ),
]
