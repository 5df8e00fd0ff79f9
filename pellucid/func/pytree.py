"""Nested tuples, lists and dictionaries taken apart into their leaves and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Structure:
    """The shape of a nested value: the class of its container, what that needs besides, and the structures inside.

    A leaf has no class.
    """

    kind: Any
    context: Any
    children: tuple[Structure, ...]

    @property
    def count(self) -> int:
        """How many leaves it has."""
        return 1 if self.kind is None else sum(child.count for child in self.children)

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        return f"TreeSpec({self.kind.__name__}, {self.context}, [{', '.join(map(repr, self.children))}])"


LEAF = Structure(None, None, ())


def _opened(value: Any) -> tuple[Any, Any, list[Any]] | None:
    """Class, context and entries of a container; None for a leaf."""
    kind = type(value)
    if isinstance(value, tuple):
        if kind is tuple or hasattr(value, "_fields") or hasattr(value, "n_fields"):
            return kind, None, list(value)
        return None
    if kind is list:
        return kind, None, list(value)
    if kind is deque:
        return kind, value.maxlen, list(value)
    if kind in (dict, OrderedDict):
        return kind, tuple(value), list(value.values())
    if kind is defaultdict:
        return kind, (value.default_factory, tuple(value)), list(value.values())
    return None


def _closed(structure: Structure, entries: list[Any]) -> Any:
    kind, context = structure.kind, structure.context
    if kind in (tuple, list):
        return kind(entries)
    if kind is deque:
        return deque(entries, maxlen=context)
    if kind in (dict, OrderedDict):
        return kind(zip(context, entries, strict=True))
    if kind is defaultdict:
        return defaultdict(context[0], zip(context[1], entries, strict=True))
    return kind(*entries) if hasattr(kind, "_make") else kind(entries)


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The leaves from left to right, and the structure that puts them together again."""
    leaves: list[Any] = []
    return leaves, _structure(value, leaves)


def _structure(value: Any, leaves: list[Any]) -> Structure:
    opened = _opened(value)
    if opened is None:
        leaves.append(value)
        return LEAF
    kind, context, entries = opened
    return Structure(kind, context, tuple([_structure(each, leaves) for each in entries]))


def unflatten(leaves: Sequence[Any], structure: Structure) -> Any:
    """The nested value with these leaves."""
    if len(leaves) != structure.count:
        raise ValueError(f"{len(leaves)} leaves do not fit a structure of {structure.count}: {structure}")
    return _built(structure, iter(leaves))


def _built(structure: Structure, leaves: Any) -> Any:
    if structure.kind is None:
        return next(leaves)
    return _closed(structure, [_built(child, leaves) for child in structure.children])


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same structure with `function` applied to every leaf."""
    leaves, structure = flatten(value)
    return unflatten([function(each) for each in leaves], structure)


def spread(value: Any, structure: Structure) -> list[Any] | None:
    """One entry of `value` per leaf of `structure`: one counts for all below it; None where they differ."""
    opened = _opened(value)
    if opened is None:
        return [value] * structure.count
    kind, context, entries = opened
    if structure.kind is None or kind is not structure.kind or len(entries) != len(structure.children):
        return None
    if context != structure.context:
        return None
    found: list[Any] = []
    for entry, child in zip(entries, structure.children, strict=True):
        part = spread(entry, child)
        if part is None:
            return None
        found += part
    return found
