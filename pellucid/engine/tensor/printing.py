"""How a tensor is written as text, and the print options. Dtype and device names come from their own classes."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.batching import is_batched


@dataclasses.dataclass
class Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


OPTIONS = Options()

PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print: digits after the point, elements above which a summary is shown, items at each edge of it,
    characters per line. `profile` ("default", "short", "full") is applied first; `sci_mode` None lets values decide.

    >>> import pellucid as torch
    >>> torch.set_printoptions(precision=2); torch.tensor([1.23456])
    tensor([1.23])
    >>> torch.set_printoptions(profile="default"); torch.tensor([1.23456])
    tensor([1.2346])
    """
    chosen = dict(PROFILES.get(profile, {})) if profile is not None else {}
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update({name: value for name, value in given.items() if value is not None})
    OPTIONS.precision = chosen.get("precision", OPTIONS.precision)  # type: ignore[assignment]
    OPTIONS.threshold = chosen.get("threshold", OPTIONS.threshold)
    OPTIONS.edgeitems = chosen.get("edgeitems", OPTIONS.edgeitems)  # type: ignore[assignment]
    OPTIONS.linewidth = chosen.get("linewidth", OPTIONS.linewidth)  # type: ignore[assignment]
    OPTIONS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options now in force, as keyword arguments of `set_printoptions`.

    >>> import pellucid as torch
    >>> torch._tensor_str.get_printoptions()["edgeitems"]
    3
    """
    return dataclasses.asdict(OPTIONS)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Print with the given options inside a `with` block; the former ones come back at its end.

    >>> import pellucid as torch
    >>> with torch._tensor_str.printoptions(precision=1):
    ...     print(torch.tensor([1.25]))
    tensor([1.2])
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def _sample_repr(tensor: Any) -> str:
    """A tensor inside vmap: what it stands for, and which axis is hidden."""
    storage = tensor._storage
    value = repr(storage.physical).replace("\n", "\n    ")
    return f"BatchedTensor(lvl={storage.level.number}, bdim={storage.axis}, value=\n    {value}\n)"


def tensor_repr(tensor: Any, *, tensor_contents: str | None = None) -> str:
    """PyTorch's `repr` of a tensor, to the character; `tensor_contents` replaces the values."""
    if is_batched(tensor):
        return _sample_repr(tensor)
    kind = type(tensor)
    # By name, since the classes are to the right of this layer; a Parameter writes its own heading before this text.
    plain = kind.__name__ in ("Tensor", "Parameter")
    prefix = "tensor(" if plain else f"{kind.__name__}("
    indent = len(prefix)
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    if tensor._meta.is_sparse:
        contents, described = _sparse_contents(tensor, indent)
    else:
        contents, described = _contents(tensor, indent, tensor_contents)
    suffixes += described
    grad_fn = _grad_fn_name(tensor)
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    text = _with_suffixes(prefix + contents, suffixes, indent, starts_line=tensor._meta.layout == "sparse_coo")
    is_parameter = not plain and any(base.__name__ == "Parameter" for base in kind.__mro__)
    return f"Parameter({text})" if is_parameter else text


def _contents(tensor: Any, indent: int, given: str | None) -> tuple[str, list[str]]:
    """The text of the values, and the size and dtype where the values do not tell them."""
    shape, dtype, default = tuple(tensor.shape), tensor.dtype, dtypes.get_default_dtype()
    size, kind = f"size={shape}", f"dtype={dtype}"
    if tensor.device.type == "meta":
        return given or "...", [size] if dtype is default else [size, kind]
    array = tensor._array
    if array.size == 0:  # no element can hint at the dtype, so int64 and bool are named too
        described = [size] if len(shape) != 1 else []
        return given or "[]", described if dtype is default else [*described, kind]
    described = [] if OPTIONS.edgeitems else [size]
    obvious = (default, default.to_complex(), dtypes.int64, dtypes.bool_)
    if not any(dtype is each for each in obvious):
        described.append(kind)
    return given or array_text(array, indent), described


_PART_NAMES = {
    "sparse_coo": ("indices",), "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"), "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}  # fmt: skip


def _sparse_contents(tensor: Any, indent: int) -> tuple[str, list[str]]:
    """The texts of indices and values, one under the other, and what a sparse tensor always tells besides."""
    meta, parts = tensor._meta, tensor._array
    names = (*_PART_NAMES[meta.layout], "values")
    held = [part for part in (parts.index, parts.plain, parts.values) if part is not None]
    texts = []
    for name, part in zip(names, held, strict=True):
        heading, array = f"{name}=tensor(", part._array
        size = f", size={array.shape}" if array.size == 0 else ""
        text = "[]" if array.size == 0 else array_text(array, indent + len(heading))
        texts.append(f"{heading}{text}{size})")
    described = [f"size={tuple(meta.shape)}", f"nnz={tensor._nnz()}"]
    default = dtypes.get_default_dtype()
    if not any(meta.dtype is each for each in (default, default.to_complex(), dtypes.int64, dtypes.bool_)):
        described.append(f"dtype={meta.dtype}")
    return f",\n{' ' * indent}".join(texts), [*described, f"layout=torch.{meta.layout}"]


def _grad_fn_name(tensor: Any) -> str | None:
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError:  # a view made under no_grad and then written to has no valid history
        return "Invalid"
    return None if grad_fn is None else type(grad_fn).__name__


def _with_suffixes(text: str, suffixes: list[str], indent: int, starts_line: bool = False) -> str:
    """`text` and its suffixes, closed with a parenthesis; a suffix that would pass the line's end starts a new line."""
    used = len(text) - text.rfind("\n") + 1
    if starts_line:
        text, used, suffixes = f"{text},\n{' ' * indent}{suffixes[0]}", indent + len(suffixes[0]), suffixes[1:]
    for suffix in suffixes:
        if used + len(suffix) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def array_text(array: np.ndarray, indent: int) -> str:
    """The bracketed values of a non-empty array, `indent` columns into the line."""
    is_summary = array.size > OPTIONS.threshold
    cut = tuple([is_summary and size > 2 * OPTIONS.edgeitems for size in array.shape])
    shown = _edges(array, cut)
    if shown.dtype.kind == "c":
        real, real_width = _number_texts(shown.real)
        imaginary, imaginary_width = _number_texts(shown.imag)
        texts = [_complex_text(a.rjust(real_width), b) for a, b in zip(real, imaginary, strict=True)]
        width = real_width + imaginary_width + 1  # the j
    else:
        unpadded, width = _number_texts(shown)
        texts = [text.rjust(width) for text in unpadded]
    return _Layout(texts, shown.shape, cut, width).nested(0, 0, indent)


def _edges(array: np.ndarray, cut: tuple[bool, ...]) -> np.ndarray:
    """The elements that a summary shows: the first and last few along each axis that is cut."""
    edge = OPTIONS.edgeitems
    for axis, is_cut in enumerate(cut):
        if is_cut:
            before = (slice(None),) * axis
            first, last = array[(*before, slice(edge))], array[(*before, slice(array.shape[axis] - edge, None))]
            array = np.concatenate((first, last), axis)
    return array


def _complex_text(real: str, imaginary: str) -> str:
    return f"{real}{imaginary}j" if imaginary.startswith("-") else f"{real}+{imaginary}j"


def _number_texts(array: np.ndarray) -> tuple[list[str], int]:
    """The text of each element of a real array in C order, and the width of its columns."""
    if array.dtype.kind in "biu":
        texts = list(map(str, array.ravel().tolist()))
        return texts, max(map(len, texts), default=1)
    regular = _telling(array).ravel()
    if array.dtype.kind != "f" or array.dtype.itemsize <= 2:  # float16 and ml_dtypes' types, as float32 without loss
        array = array.astype(np.float32)
    values = array.ravel()
    telling = values[regular]
    formatted, is_integral, is_scientific = _choose_format(telling)
    texts = list(map(formatted, values.tolist()))
    width = max([1, *[len(text) for text, counts in zip(texts, regular.tolist(), strict=True) if counts]])
    if is_integral and not is_scientific:
        finite = np.isfinite(values).tolist()
        texts = [text + "." if has_point else text for text, has_point in zip(texts, finite, strict=True)]
        width += 1 if telling.size else 0
    return texts, width


def _telling(array: np.ndarray) -> np.ndarray:
    """Which elements decide the format: the finite ones other than 0."""
    if array.dtype == dtypes.float8_e8m0fnu.numpy:  # PyTorch takes this type's NaN for finite and its least value for 0
        return array.view(np.uint8) != 0
    return np.isfinite(array) & (array != 0)


def _choose_format(telling: np.ndarray) -> tuple[Callable[[float], str], bool, bool]:
    """How to write numbers, decided by the `telling` ones; whether these are all integers; whether with exponents."""
    if telling.size == 0:
        return "{:.0f}".format, True, False
    is_integral = bool((telling == np.ceil(telling)).all())
    is_scientific = OPTIONS.sci_mode
    if is_scientific is None:
        magnitudes = np.abs(telling.astype(np.float64))
        least, greatest = magnitudes.min(), magnitudes.max()
        with np.errstate(over="ignore"):
            is_scientific = bool(greatest / least > 1000.0 or greatest > 1.0e8 or least < 1.0e-4)
    if is_scientific:
        return f"{{:.{OPTIONS.precision}e}}".format, is_integral, True
    return ("{:.0f}" if is_integral else f"{{:.{OPTIONS.precision}f}}").format, is_integral, False


@dataclasses.dataclass
class _Layout:
    """Texts of elements in C order, to be set in brackets; along a `cut` axis an ellipsis stands in the middle."""

    texts: list[str]
    shape: tuple[int, ...]
    cut: tuple[bool, ...]
    width: int

    def nested(self, axis: int, start: int, indent: int) -> str:
        """The text of the part that begins with element `start`, from `axis` inward."""
        if axis == len(self.shape):
            return self.texts[start]
        if axis == len(self.shape) - 1:
            return self._row(start, indent)
        size, step = self.shape[axis], 1
        for inner in self.shape[axis + 1 :]:
            step *= inner
        parts = [self.nested(axis + 1, start + position * step, indent + 1) for position in range(size)]
        if self.cut[axis]:
            parts.insert(size // 2, "...")
        newlines = "\n" * (len(self.shape) - axis - 1)
        return "[" + f",{newlines}{' ' * (indent + 1)}".join(parts) + "]"

    def _row(self, start: int, indent: int) -> str:
        size = self.shape[-1]
        items = self.texts[start : start + size]
        if self.cut[-1]:
            items.insert(size // 2, " ..." if items else "...")
        per_line = max(1, (OPTIONS.linewidth - indent) // (self.width + 2))
        lines = [", ".join(items[first : first + per_line]) for first in range(0, len(items), per_line)]
        return "[" + f",\n{' ' * (indent + 1)}".join(lines) + "]"
