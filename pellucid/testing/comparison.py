"""`assert_close`: are two values, or two structures of values, the same up to a tolerance, and if not, where.

Messages are PyTorch's, since tests match on them. Making tensors to compare is creation.py's business.
"""

from __future__ import annotations

import cmath
import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import pellucid
from pellucid import Tensor

Message = str | Callable[[str], str] | None
Tolerances = tuple[float, float]

TOLERANCES: dict[Any, Tolerances] = {  # relative, absolute
    pellucid.float16: (1e-3, 1e-5),
    pellucid.bfloat16: (1.6e-2, 1e-5),
    pellucid.float32: (1.3e-6, 1e-5),
    pellucid.float64: (1e-7, 1e-7),
    pellucid.complex64: (1.3e-6, 1e-5),
    pellucid.complex128: (1e-7, 1e-7),
}
NUMBER_DTYPES = {int: pellucid.int64, float: pellucid.float64, complex: pellucid.complex128}


@dataclasses.dataclass(frozen=True)
class _Rules:
    """What `assert_close` was asked to demand."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


class _Mismatch(Exception):
    """The error to raise, and where in the nested inputs it was found."""

    def __init__(self, kind: type[Exception], message: str, path: tuple[Any, ...]) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.path = path

    def error(self, message: Message = None) -> Exception:
        """The exception the user sees, with the user's message in place of ours or made from it."""
        if isinstance(message, str):
            return self.kind(message)
        text = self.message
        if self.path:
            text += f"\n\nThe failure occurred for item {''.join(str([item]) for item in self.path)}"
        return self.kind(message(text) if callable(message) else text)


@dataclasses.dataclass(frozen=True)
class _Pair:
    """Two leaves to compare, how, and within which tolerances."""

    compare: Callable[[_Pair, _Rules], None]
    actual: Any
    expected: Any
    path: tuple[Any, ...]
    rtol: float = 0.0
    atol: float = 0.0
    title: str = "Tensor-likes"

    def fail(self, message: str) -> None:
        raise _Mismatch(AssertionError, message, self.path)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Takes tensors, NumPy arrays, numbers, None, and nested sequences and mappings of them. Shapes must agree, and dtype,
    device, layout and strides as the `check_*` arguments say. Without `rtol` and `atol` (give both or none) the
    tolerances follow the dtype: 1.3e-6 and 1e-5 for float32, 1e-7 for float64, 0 for integers. `msg` replaces the
    message, or is called with it.

    >>> import pellucid as torch
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-6]))
    """
    __tracebackhide__ = True  # pytest then points at the caller's line
    rules = _Rules(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        pairs = list(_pairs(actual, expected, rules, ()))
    except _Mismatch as mismatch:
        raise mismatch.error() from None
    for pair in pairs:
        try:
            pair.compare(pair, rules)
        except _Mismatch as mismatch:
            raise mismatch.error(msg) from None


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """PyTorch's older, looser comparison: dtypes may differ and NaN equals NaN. Deprecated in favour of `assert_close`.

    >>> import pellucid as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.testing.assert_allclose([1.0, 2.0], [1.0, 2.00001])
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    ours = actual if isinstance(actual, Tensor) else pellucid.tensor(actual)
    theirs = expected if isinstance(expected, Tensor) else pellucid.tensor(expected, dtype=ours.dtype)
    if rtol is None and atol is None:
        loose = {pellucid.float16: (1e-3, 1e-3), pellucid.float32: (1e-4, 1e-5), pellucid.float64: (1e-5, 1e-8)}
        rtol, atol = _loosest([ours.dtype, theirs.dtype], loose)
    assert_close(ours, theirs, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def _pairs(actual: Any, expected: Any, rules: _Rules, path: tuple[Any, ...]) -> Iterator[_Pair]:
    """The leaves of two structures in order; _Mismatch when the structures differ or a leaf cannot be compared."""
    if _are_both(Sequence, actual, expected) and not isinstance(actual, str) and not isinstance(expected, str):
        if len(actual) != len(expected):
            message = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise _Mismatch(AssertionError, message, path)
        for position, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(ours, theirs, rules, (*path, position))
    elif _are_both(Mapping, actual, expected):
        for key in _common_keys(actual, expected, path):
            yield from _pairs(actual[key], expected[key], rules, (*path, key))
    else:
        yield _leaf(actual, expected, rules, path)


def _common_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: tuple[Any, ...]) -> Collection[Any]:
    ours, theirs = set(actual), set(expected)
    if ours != theirs:
        message = (
            f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {sorted(theirs - ours)}\n"
            f"Additional keys in the actual mapping: {sorted(ours - theirs)}"
        )
        raise _Mismatch(AssertionError, message, path)
    with contextlib.suppress(TypeError):  # keys without an order are visited in any order
        return sorted(ours)
    return ours


def _are_both(kind: Any, actual: Any, expected: Any) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


def _leaf(actual: Any, expected: Any, rules: _Rules, path: tuple[Any, ...]) -> _Pair:
    """How two leaves are to be compared, by the types of both."""
    if actual is None or expected is None:
        return _Pair(_compare_none, actual, expected, path)
    if _are_both((bool, np.bool_), actual, expected):
        return _Pair(_compare_booleans, bool(actual), bool(expected), path)
    if _are_both((int, float, complex, np.number), actual, expected):
        actual, expected = _python_number(actual), _python_number(expected)
        dtypes = [NUMBER_DTYPES.get(type(each)) for each in (actual, expected)]
        return _Pair(_compare_numbers, actual, expected, path, *_tolerances(dtypes, rules, path))
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (rules.allow_subclasses or type(actual) is type(expected)):
        ours, theirs = _as_tensor(actual), _as_tensor(expected)
        if ours is not None and theirs is not None:
            return _Pair(_compare_tensors, ours, theirs, path, *_tolerances([ours.dtype, theirs.dtype], rules, path))
    message = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    raise _Mismatch(TypeError, message, path)


def _python_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.number) else value


def _as_tensor(value: Any) -> Any:
    """`value` as a tensor, or None where none can be made of it."""
    if isinstance(value, Tensor):
        return value
    try:
        return pellucid.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def _tolerances(dtypes: Sequence[Any], rules: _Rules, path: tuple[Any, ...]) -> Tolerances:
    if (rules.rtol is None) != (rules.atol is None):
        missing = "rtol" if rules.rtol is None else "atol"
        message = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        raise _Mismatch(ValueError, message, path)
    if rules.rtol is not None and rules.atol is not None:
        return rules.rtol, rules.atol
    return _loosest(dtypes, TOLERANCES)


def _loosest(dtypes: Sequence[Any], table: dict[Any, Tolerances]) -> Tolerances:
    """The larger of the tolerances of the dtypes; 0 for a dtype that is not in the table."""
    found = [table.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def _compare_none(pair: _Pair, rules: _Rules) -> None:
    if pair.actual is not None or pair.expected is not None:
        pair.fail(f"None mismatch: {pair.actual} is not {pair.expected}")


def _compare_booleans(pair: _Pair, rules: _Rules) -> None:
    if pair.actual is not pair.expected:
        pair.fail(f"Booleans mismatch: {pair.actual} is not {pair.expected}")


def _compare_numbers(pair: _Pair, rules: _Rules) -> None:
    actual, expected = pair.actual, pair.expected
    if rules.check_dtype and type(actual) is not type(expected):
        pair.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    if actual == expected or (rules.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= pair.atol + pair.rtol * abs(expected):
        return
    pair.fail(_number_message(actual, expected, pair))


def _compare_tensors(pair: _Pair, rules: _Rules) -> None:
    actual, expected = pair.actual, pair.expected
    _compare_attributes(pair, rules)
    if actual.device.type == "meta" or expected.device.type == "meta":
        return  # there are no values
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    actual, expected = _same_dtype(actual.detach(), expected.detach())
    if actual.layout != expected.layout:
        actual, expected = actual.to_dense(), expected.to_dense()
    if actual.layout != pellucid.strided:
        _compare_parts(actual, expected, pair, rules)
        return
    is_float8 = actual.dtype.is_floating_point and actual.dtype.itemsize == 1
    if is_float8:
        if pair.rtol != 0.0 or pair.atol != 0.0:
            pair.fail(
                f"Rtol={pair.rtol} and atol={pair.atol} are not supported for bitwise comparison of low"
                " dimensional floats. Please use rtol=0.0 and atol=0.0."
            )
        actual, expected = actual.float(), expected.float()
    matches = pellucid.isclose(actual, expected, rtol=pair.rtol, atol=pair.atol, equal_nan=rules.equal_nan)
    if bool(matches.all()):
        return
    if actual.dim() == 0:
        pair.fail(_number_message(actual.item(), expected.item(), pair))
    pair.fail(_tensor_message(actual, expected, matches, pair, with_differences=not is_float8))


_INDEX_NAMES = {
    "sparse_csr": ("crow_indices", "col_indices"), "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"), "sparse_bsc": ("ccol_indices", "row_indices"),
}  # fmt: skip


def _compare_parts(actual: Any, expected: Any, pair: _Pair, rules: _Rules) -> None:
    """Two tensors of one sparse layout: positions must be equal, values close."""
    name = str(actual.layout).removeprefix("torch.")
    if name == "sparse_coo":
        actual, expected = actual.coalesce(), expected.coalesce()
    title = name.replace("_", " ").upper().replace("SPARSE", "Sparse")
    if actual._nnz() != expected._nnz():
        pair.fail(
            f"The number of specified values in {title.replace('Sparse', 'sparse')} tensors does not match:"
            f" {actual._nnz()} != {expected._nnz()}"
        )
    for part in (*_INDEX_NAMES.get(name, ("indices",)), "values"):
        tolerances = {} if part != "values" else {"rtol": pair.rtol, "atol": pair.atol}
        ours, theirs = getattr(actual, part)(), getattr(expected, part)()
        _compare_tensors(_Pair(pair.compare, ours, theirs, pair.path, title=f"{title} {part}", **tolerances), rules)


def _compare_attributes(pair: _Pair, rules: _Rules) -> None:
    actual, expected = pair.actual, pair.expected

    def demand(name: str, ours: Any, theirs: Any) -> None:
        if ours != theirs:
            pair.fail(f"The values for attribute '{name}' do not match: {ours} != {theirs}.")

    demand("shape", actual.shape, expected.shape)
    if rules.check_layout:
        demand("layout", actual.layout, expected.layout)
    if rules.check_stride:
        demand("stride()", actual.stride(), expected.stride())
    if rules.check_device:
        demand("device", actual.device, expected.device)
    if rules.check_dtype:
        demand("dtype", actual.dtype, expected.dtype)


def _same_dtype(actual: Any, expected: Any) -> tuple[Any, Any]:
    """Both tensors in the dtype they promote to; large unsigned types through int64."""
    if actual.dtype == expected.dtype:
        return actual, expected
    unsigned = (pellucid.uint16, pellucid.uint32, pellucid.uint64)
    ours, theirs = [pellucid.int64 if each.dtype in unsigned else each.dtype for each in (actual, expected)]
    common = pellucid.promote_types(ours, theirs)
    return actual.to(common), expected.to(common)


def _number_message(actual: Any, expected: Any, pair: _Pair) -> str:
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    lines = [
        f"Scalars are not {_closeness(pair)}!\n",
        f"Expected {expected} but got {actual}.",
        f"Absolute difference: {difference}{_allowance(pair, pair.atol)}",
        f"Relative difference: {relative}{_allowance(pair, pair.rtol)}",
    ]
    return "\n".join(lines)


def _tensor_message(actual: Any, expected: Any, matches: Any, pair: _Pair, *, with_differences: bool) -> str:
    count, wrong = matches.numel(), matches.numel() - int(matches.sum())
    lines = [
        f"{pair.title} are not {_closeness(pair) if with_differences else repr('equal')}!\n",
        f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})",
    ]
    if not with_differences:
        first = tuple((~matches).nonzero()[0].tolist())
        return "\n".join([*lines, f"The first mismatched element is at index {first}."])
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        actual, expected = actual.to(pellucid.int64), expected.to(pellucid.int64)
    difference = (actual - expected).abs().masked_fill(matches, 0)
    relative = (difference / expected.abs()).masked_fill(matches, 0)
    for name, values, tolerance in (("absolute", difference, pair.atol), ("relative", relative, pair.rtol)):
        greatest, position = values.flatten().max(0)
        index = tuple(int(axis) for axis in np.unravel_index(int(position), tuple(values.shape)))
        lines.append(f"Greatest {name} difference: {greatest.item()} at index {index}{_allowance(pair, tolerance)}")
    return "\n".join(lines)


def _closeness(pair: _Pair) -> str:
    return "equal" if pair.rtol == 0 and pair.atol == 0 else "close"


def _allowance(pair: _Pair, tolerance: float) -> str:
    return "" if pair.rtol == 0 and pair.atol == 0 else f" (up to {tolerance} allowed)"
