"""Einstein summation: reading the equation, and turning it into permutations and matrix products."""

from __future__ import annotations

import string
from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.shape import diagonal, permute, reshape_to, squeeze_axes
from pellucid.engine.tensor.linalg import matmul

_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # the order of labels of an implicit output
_ELLIPSIS = "."
Labels = list[str]


def einsum(*args: Any) -> Any:
    """Sum of products over the indices that an equation names, such as `"bij,bjk->bik"`; `...` stands for any more,
    broadcast.

    Without `->` the result has the indices that occur once, in alphabetical order. Lists of numbers after each operand
    are another way to write the equation.

    >>> import pellucid as torch
    >>> torch.einsum("ij,kj->ik", torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    equation, operands = _arguments(args)
    inputs, output = _parse(equation, len(operands))
    covered = _ellipsis_sizes(inputs, operands)
    labels = [
        _expanded(each, operand, number, covered)
        for number, (each, operand) in enumerate(zip(inputs, operands, strict=True))
    ]
    wanted = _output_labels(output, labels, covered)
    return _contract(
        [_without_repeats(x, each, n) for n, (x, each) in enumerate(zip(operands, labels, strict=True))], wanted
    )


def _arguments(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    check(
        len(args) >= 2,
        "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
        "subscripts list",
        ValueError,
    )
    if not isinstance(args[0], TensorData):
        operands = list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], list | tuple):
            operands = list(operands[0])
        for each in operands:
            if not isinstance(each, TensorData):
                raise TypeError(f"einsum(): operands must be Tensors, not {type(each).__name__}")
        return str(args[0]), operands
    equation = ",".join([_letters(each) for each in args[1::2]])
    if len(args) % 2 == 1:
        equation = ",".join([_letters(each) for each in args[1:-1:2]]) + "->" + _letters(args[-1])
    return equation, list(args[0 : len(args) - len(args) % 2 : 2])


def _letters(numbers: Any) -> str:
    text = ""
    for each in numbers:
        if each is ...:
            text += "..."
            continue
        check(0 <= each < 52, "einsum(): subscript in subscript list is not within the valid range [0, 52)", ValueError)
        text += _LETTERS[each]
    return text


def _parse(equation: str, count: int) -> tuple[list[Labels], Labels | None]:
    """The labels of each operand and of the result (None when implicit); an ellipsis is one label, "."."""
    arrow = equation.find("->")
    left = equation if arrow < 0 else equation[:arrow]
    inputs: list[Labels] = [[]]
    index = 0
    while index < len(left):
        letter = left[index]
        if letter == ",":
            inputs.append([])
            check(len(inputs) <= count, "einsum(): fewer operands were provided than specified in the equation")
        elif letter == ".":
            where = f"einsum(): found '.' for operand {len(inputs) - 1}"
            check(_ELLIPSIS not in inputs[-1], f"{where} for which an ellipsis was already found")
            check(left[index : index + 3] == "...", f"{where} that is not part of any ellipsis")
            inputs[-1].append(_ELLIPSIS)
            index += 2
        elif letter != " ":
            _check_letter(letter, index)
            inputs[-1].append(letter)
        index += 1
    check(len(inputs) >= count, "einsum(): more operands were provided than specified in the equation")
    return inputs, None if arrow < 0 else _parse_output(equation, arrow + 2)


def _check_letter(letter: str, index: int) -> None:
    check(
        letter in _LETTERS,
        f"einsum(): invalid subscript given at index {index} in the equation string, subscripts must be in [a-zA-Z]",
    )


def _parse_output(equation: str, start: int) -> Labels:
    output: Labels = []
    index = start
    while index < len(equation):
        letter = equation[index]
        if letter == ".":
            check(_ELLIPSIS not in output, "einsum(): found '.' for output but an ellipsis (...) was already found")
            check(
                equation[index : index + 3] == "...",
                "einsum(): found '.' for output that is not part of any ellipsis (...)",
            )
            output.append(_ELLIPSIS)
            index += 2
        elif letter != " ":
            _check_letter(letter, index)
            check(letter not in output, f"einsum(): output subscript {letter} appears more than once in the output")
            output.append(letter)
        index += 1
    return output


def _ellipsis_sizes(inputs: list[Labels], operands: list[Any]) -> int:
    """How many dimensions the widest ellipsis covers."""
    widest = 0
    for number, (labels, x) in enumerate(zip(inputs, operands, strict=True)):
        named = len([each for each in labels if each != _ELLIPSIS])
        ndim = x._meta.ndim
        if _ELLIPSIS in labels:
            check(
                named <= ndim,
                f"einsum(): the number of subscripts in the equation ({named}) is more than the number of "
                f"dimensions ({ndim}) for"
                f" operand {number}",
            )
            widest = max(widest, ndim - named)
        else:
            check(
                named == ndim,
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of "
                f"dimensions ({ndim}) for"
                f" operand {number} and no ellipsis was given",
            )
    return widest


def _expanded(labels: Labels, x: Any, number: int, covered: int) -> Labels:
    """One label per dimension: those of an ellipsis are numbered from the back."""
    named = len([each for each in labels if each != _ELLIPSIS])
    result: Labels = []
    for each in labels:
        if each == _ELLIPSIS:
            width = x._meta.ndim - named
            result.extend([f"{_ELLIPSIS}{covered - width + i}" for i in range(width)])
        else:
            result.append(each)
    return result


def _output_labels(output: Labels | None, labels: list[Labels], covered: int) -> Labels:
    dots = [f"{_ELLIPSIS}{i}" for i in range(covered)]
    known = [each for operand in labels for each in operand]
    if output is None:
        return dots + [letter for letter in _LETTERS if known.count(letter) == 1]
    result: Labels = []
    for each in output:
        if each == _ELLIPSIS:
            result.extend(dots)
            continue
        check(each in known, f"einsum(): output subscript {each} does not appear in the equation for any input operand")
        result.append(each)
    return result


def _without_repeats(x: Any, labels: Labels, number: int) -> tuple[Any, Labels]:
    """The operand with the diagonal of every label that it has twice."""
    labels = list(labels)
    axis = 0
    while axis < len(labels):
        first = labels.index(labels[axis])
        if first == axis:
            axis += 1
            continue
        shape = x._meta.shape
        check(
            shape[first] == shape[axis],
            f"einsum(): subscript {labels[axis]} is repeated for operand {number} but the sizes don't match, "
            f"{shape[axis]} != {shape[first]}",
        )
        x = diagonal(x, offset=0, dim1=first, dim2=axis)
        label = labels[axis]
        labels = [each for i, each in enumerate(labels) if i not in (first, axis)] + [label]
        axis = 0
    return x, labels


def _contract(terms: list[tuple[Any, Labels]], wanted: Labels) -> Any:
    sizes = _sizes(terms)
    terms = [_without_ones(x, labels, sizes) for x, labels in terms]
    result, have = terms[0]
    if len(terms) == 1:
        result, have = _summed(result, have, set(wanted))
    for position, (x, labels) in enumerate(terms[1:], 1):
        later = {label for _, each in terms[position + 1 :] for label in each} | set(wanted)
        result, have = _pair(result, have, x, labels, later)
    missing = [label for label in wanted if label not in have]  # of size 1 everywhere
    for label in missing:
        result = result.unsqueeze(0)
        have = [label, *have]
    order = tuple([have.index(label) for label in wanted])
    return result if order == tuple(range(len(order))) and len(terms) > 1 else permute(result, dims=order)


def _sizes(terms: list[tuple[Any, Labels]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for number, (x, labels) in enumerate(terms):
        for label, size in zip(labels, x._meta.shape, strict=True):
            seen = sizes.get(label, 1)
            check(
                size in (1, seen) or seen == 1,
                f"einsum(): subscript {label if label[0] != _ELLIPSIS else '...'} has size {size} for operand "
                f"{number} which does not"
                f" broadcast with previously seen size {seen}",
            )
            sizes[label] = size if seen == 1 else seen
    return sizes


def _without_ones(x: Any, labels: Labels, sizes: dict[str, int]) -> tuple[Any, Labels]:
    """The operand without dimensions of size 1 that broadcast: another operand has them in full."""
    axes = tuple([axis for axis, label in enumerate(labels) if x._meta.shape[axis] == 1 and sizes[label] != 1])
    if not axes:
        return x, labels
    return squeeze_axes(x, axes=axes), [label for axis, label in enumerate(labels) if axis not in axes]


def _summed(x: Any, labels: Labels, keep: set[str]) -> tuple[Any, Labels]:
    axes = tuple([axis for axis, label in enumerate(labels) if label not in keep])
    if not axes:
        return x, labels
    return x.sum(axes), [label for label in labels if label in keep]


def _pair(a: Any, a_labels: Labels, b: Any, b_labels: Labels, keep: set[str]) -> tuple[Any, Labels]:
    """Two operands' product, summed over the labels that are not in `keep`: a product of batches of matrices."""
    a, a_labels = _summed(a, a_labels, keep | set(b_labels))
    b, b_labels = _summed(b, b_labels, keep | set(a_labels))
    check(
        a._meta.dtype is b._meta.dtype,
        f"expected scalar type {title(a._meta.dtype)} but found {title(b._meta.dtype)}: einsum() takes "
        "operands of one dtype",
    )
    shared = [label for label in a_labels if label in b_labels]
    batch = [label for label in shared if label in keep]
    inner = [label for label in shared if label not in keep]
    rows = [label for label in a_labels if label not in shared]
    columns = [label for label in b_labels if label not in shared]
    result = batch + rows + columns
    if not inner:
        left = _arranged(a, a_labels, batch + rows, ())
        right = _arranged(b, b_labels, batch + columns, ())
        return _spread(left, len(batch) + len(rows), len(columns)) * _spread(
            right, len(batch), len(rows), at=len(batch)
        ), result
    sizes = dict(zip(a_labels, a._meta.shape, strict=True)) | dict(zip(b_labels, b._meta.shape, strict=True))
    groups = (batch,) if batch else ()
    left = _arranged(a, a_labels, batch + rows + inner, (*groups, rows, inner))
    right = _arranged(b, b_labels, batch + inner + columns, (*groups, inner, columns))
    return reshape_to(matmul(left, right), tuple([sizes[label] for label in result])), result


def _arranged(x: Any, labels: Labels, order: Labels, groups: tuple[Labels, ...]) -> Any:
    """The operand with its dimensions in `order`, those of each group merged into one."""
    dims = tuple([labels.index(label) for label in order])
    if dims != tuple(range(len(dims))):
        x = permute(x, dims=dims)
    if not groups:
        return x
    sizes = dict(zip(order, x._meta.shape, strict=True))
    shape = []
    for group in groups:
        size = 1
        for label in group:
            size *= sizes[label]
        shape.append(size)
    return x if tuple(shape) == tuple(x._meta.shape) else reshape_to(x, tuple(shape))


def _spread(x: Any, start: int, count: int, at: int | None = None) -> Any:
    """`count` sizes of 1 inserted at dimension `at` (or `start`)."""
    place = start if at is None else at
    for _ in range(count):
        x = x.unsqueeze(place)
    return x
