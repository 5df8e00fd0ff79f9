"""`rearrange`: reshaping and permuting by a pattern of names, in the notation of einops (A. Rogozhnikov, "Einops: Clear
and Reliable Tensor Manipulations with Einstein-like Notation", 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor

Group = list[str]


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """The tensor with its dimensions named by the left side of `pattern` and laid out as on the right side.

    `(a b)` is one dimension made of two, `...` all dimensions that are not named, `1` a dimension of size 1. Sizes that
    the shape does not tell are given by name. Several tensors count as stacked along a new first dimension.

    >>> import pellucid as torch
    >>> torch.func.rearrange(torch.zeros(2, 6, 5), "b (h w) c -> b c h w", h=2).shape
    torch.Size([2, 5, 2, 3])
    """
    whole: Any = tensor if isinstance(tensor, Tensor) else pellucid.stack(tuple(tensor))
    left, right = _sides(pattern)
    left, right = _without_ellipsis(left, right, whole.dim(), pattern)
    if len(left) != whole.dim():
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) and tensor ({whole.dim()}) must be equal: '{pattern}' for "
            f"shape {list(whole.shape)}"
        )
    _check_names(left, right, axes_lengths, pattern)
    sizes = _sizes(left, tuple(whole.shape), axes_lengths, pattern)
    names = [name for group in left for name in group]
    parted = whole.reshape([sizes[name] for name in names])
    order = [name for group in right for name in group]
    turned = parted.permute([names.index(name) for name in order])
    result = []
    for group in right:
        size = 1
        for name in group:
            size *= sizes[name]
        result.append(size)
    rearranged: Tensor = turned.reshape(result)
    return rearranged


def _sides(pattern: str) -> tuple[list[Group], list[Group]]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError(f"Pattern must contain exactly one '->' separator: '{pattern}'")
    return _groups(parts[0], pattern), _groups(parts[1], pattern)


def _groups(side: str, pattern: str) -> list[Group]:
    """One group of names per dimension; a `1` is an empty group."""
    groups: list[Group] = []
    inside: Group | None = None
    for token in side.replace("(", " ( ").replace(")", " ) ").replace("…", " ... ").split():
        if token in ("(", ")"):
            if (token == "(") is (inside is not None):
                raise ValueError(f"brackets are not balanced, or within brackets: '{pattern}'")
            if inside is None:
                groups.append(inside := [])
            else:
                inside = None
            continue
        names = [] if token == "1" else [_name(token, pattern)]
        if inside is None:
            groups.append(names)
        else:
            inside += names
    if inside is not None:
        raise ValueError(f"brackets are not balanced, or within brackets: '{pattern}'")
    return groups


def _name(token: str, pattern: str) -> str:
    if token != "..." and not token.isidentifier():
        raise ValueError(f"'{token}' is no name of a dimension: '{pattern}'")
    return token


def _without_ellipsis(
    left: list[Group], right: list[Group], ndim: int, pattern: str
) -> tuple[list[Group], list[Group]]:
    if not any("..." in group for group in left):
        if any("..." in group for group in right):
            raise ValueError(f"Ellipsis on the right side of the pattern needs one on the left: '{pattern}'")
        return left, right
    if ["..."] not in left:
        raise ValueError(f"Ellipsis within brackets on the left side is not allowed: '{pattern}'")
    hidden = [f".{number}" for number in range(ndim - len(left) + 1)]
    return _expanded(left, hidden), _expanded(right, hidden)


def _expanded(groups: list[Group], hidden: list[str]) -> list[Group]:
    found: list[Group] = []
    for group in groups:
        if group == ["..."]:
            found += [[name] for name in hidden]
        else:
            found.append([each for name in group for each in (hidden if name == "..." else [name])])
    return found


def _check_names(left: list[Group], right: list[Group], given: dict[str, int], pattern: str) -> None:
    before = [name for group in left for name in group]
    after = [name for group in right for name in group]
    for names in (before, after):
        if len(set(names)) != len(names):
            raise ValueError(f"a name stands twice on one side of '{pattern}'")
    if set(before) != set(after):
        odd = sorted(set(before) ^ set(after))
        raise ValueError(f"Identifiers only on one side of expression (should be on both): {odd} in '{pattern}'")
    unknown = sorted(set(given) - set(before))
    if unknown:
        raise ValueError(f"Identifiers {unknown} were not found in the pattern '{pattern}'")


def _sizes(groups: list[Group], shape: tuple[int, ...], given: dict[str, int], pattern: str) -> dict[str, Any]:
    sizes: dict[str, int] = dict(given)
    for group, size in zip(groups, shape, strict=True):
        known = 1
        missing = [name for name in group if name not in given]
        for name in group:
            known *= given.get(name, 1)
        if len(missing) > 1:
            raise ValueError(f"the sizes of {missing} cannot be told from {size}: give all but one ('{pattern}')")
        if size % known if missing else size != known:
            raise ValueError(f"a dimension of size {size} does not match {group} with {given} ('{pattern}')")
        for name in missing:
            sizes[name] = size // known
    return sizes
