"""The named tuples that functions with several results return, printed as PyTorch prints them (`torch.return_types.max`)."""

from __future__ import annotations

from typing import Any


class _Named(tuple[Any, ...]):
    """A tuple whose items have names."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    _title = ""

    def __new__(cls, items: Any, more: Any = None) -> _Named:
        return tuple.__new__(cls, items)

    def __repr__(self) -> str:
        rows = ",\n".join([f"{name}={item!r}" for name, item in zip(self._fields, self, strict=True)])
        return f"torch.return_types.{self._title}(\n{rows})"

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)

    @property
    def n_fields(self) -> int:
        """How many named items there are."""
        return len(self._fields)


class _ValuesIndices(_Named):
    __slots__ = ()
    _fields = ("values", "indices")

    @property
    def values(self) -> Any:
        """The values that were picked."""
        return self[0]

    @property
    def indices(self) -> Any:
        """Where they were found."""
        return self[1]


class max(_ValuesIndices):  # noqa: A001, N801
    """What `max(dim)` returns."""

    __slots__ = ()
    _title = "max"


class min(_ValuesIndices):  # noqa: A001, N801
    """What `min(dim)` returns."""

    __slots__ = ()
    _title = "min"


class cummax(_ValuesIndices):  # noqa: N801
    """What `cummax` returns."""

    __slots__ = ()
    _title = "cummax"


class cummin(_ValuesIndices):  # noqa: N801
    """What `cummin` returns."""

    __slots__ = ()
    _title = "cummin"


class median(_ValuesIndices):  # noqa: N801
    """What `median(dim)` returns."""

    __slots__ = ()
    _title = "median"


class nanmedian(_ValuesIndices):  # noqa: N801
    """What `nanmedian(dim)` returns."""

    __slots__ = ()
    _title = "nanmedian"


class mode(_ValuesIndices):  # noqa: N801
    """What `mode` returns."""

    __slots__ = ()
    _title = "mode"


class sort(_ValuesIndices):  # noqa: N801
    """What `sort` returns."""

    __slots__ = ()
    _title = "sort"


class topk(_ValuesIndices):  # noqa: N801
    """What `topk` returns."""

    __slots__ = ()
    _title = "topk"


class kthvalue(_ValuesIndices):  # noqa: N801
    """What `kthvalue` returns."""

    __slots__ = ()
    _title = "kthvalue"


class aminmax(_Named):  # noqa: N801
    """What `aminmax` returns."""

    __slots__ = ()
    _title = "aminmax"
    _fields = ("min", "max")

    @property
    def min(self) -> Any:
        """The smallest value."""
        return self[0]

    @property
    def max(self) -> Any:
        """The largest value."""
        return self[1]


class histogram(_Named):  # noqa: N801
    """What `histogram` returns."""

    __slots__ = ()
    _title = "histogram"
    _fields = ("hist", "bin_edges")

    @property
    def hist(self) -> Any:
        """The count of each bin."""
        return self[0]

    @property
    def bin_edges(self) -> Any:
        """The edges of the bins."""
        return self[1]
