"""The named tuples that functions with several results return, printed as PyTorch prints them
(`torch.return_types.max`).
"""

from __future__ import annotations

from operator import itemgetter
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


class histogramdd(_Named):  # noqa: N801
    """What `histogramdd` returns; the edges are a tuple, one tensor per dimension."""

    __slots__ = ()
    _title = "histogramdd"
    _fields = ("hist", "bin_edges")

    @property
    def hist(self) -> Any:
        """How much fell into each bin."""
        return self[0]

    @property
    def bin_edges(self) -> Any:
        """The edges along each dimension."""
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


class linalg_inv_ex(_Named):  # noqa: N801
    """What `linalg.inv_ex` returns."""

    __slots__ = ()
    _title = "linalg_inv_ex"
    _fields = ("inverse", "info")
    inverse = property(itemgetter(0))
    info = property(itemgetter(1))


class linalg_solve_ex(_Named):  # noqa: N801
    """What `linalg.solve_ex` returns."""

    __slots__ = ()
    _title = "linalg_solve_ex"
    _fields = ("result", "info")
    result = property(itemgetter(0))
    info = property(itemgetter(1))


class linalg_slogdet(_Named):  # noqa: N801
    """What `linalg.slogdet` returns."""

    __slots__ = ()
    _title = "linalg_slogdet"
    _fields = ("sign", "logabsdet")
    sign = property(itemgetter(0))
    logabsdet = property(itemgetter(1))


class slogdet(_Named):  # noqa: N801
    """What `slogdet` returns."""

    __slots__ = ()
    _title = "slogdet"
    _fields = ("sign", "logabsdet")
    sign = property(itemgetter(0))
    logabsdet = property(itemgetter(1))


class linalg_cholesky_ex(_Named):  # noqa: N801
    """What `linalg.cholesky_ex` returns."""

    __slots__ = ()
    _title = "linalg_cholesky_ex"
    _fields = ("L", "info")
    L = property(itemgetter(0))
    info = property(itemgetter(1))


class linalg_svd(_Named):  # noqa: N801
    """What `linalg.svd` returns."""

    __slots__ = ()
    _title = "linalg_svd"
    _fields = ("U", "S", "Vh")
    U = property(itemgetter(0))
    S = property(itemgetter(1))
    Vh = property(itemgetter(2))


class svd(_Named):  # noqa: N801
    """What `svd` returns."""

    __slots__ = ()
    _title = "svd"
    _fields = ("U", "S", "V")
    U = property(itemgetter(0))
    S = property(itemgetter(1))
    V = property(itemgetter(2))


class linalg_qr(_Named):  # noqa: N801
    """What `linalg.qr` returns."""

    __slots__ = ()
    _title = "linalg_qr"
    _fields = ("Q", "R")
    Q = property(itemgetter(0))
    R = property(itemgetter(1))


class qr(_Named):  # noqa: N801
    """What `qr` returns."""

    __slots__ = ()
    _title = "qr"
    _fields = ("Q", "R")
    Q = property(itemgetter(0))
    R = property(itemgetter(1))


class linalg_eigh(_Named):  # noqa: N801
    """What `linalg.eigh` returns."""

    __slots__ = ()
    _title = "linalg_eigh"
    _fields = ("eigenvalues", "eigenvectors")
    eigenvalues = property(itemgetter(0))
    eigenvectors = property(itemgetter(1))


class linalg_eig(_Named):  # noqa: N801
    """What `linalg.eig` returns."""

    __slots__ = ()
    _title = "linalg_eig"
    _fields = ("eigenvalues", "eigenvectors")
    eigenvalues = property(itemgetter(0))
    eigenvectors = property(itemgetter(1))


class linalg_lstsq(_Named):  # noqa: N801
    """What `linalg.lstsq` returns."""

    __slots__ = ()
    _title = "linalg_lstsq"
    _fields = ("solution", "residuals", "rank", "singular_values")
    solution = property(itemgetter(0))
    residuals = property(itemgetter(1))
    rank = property(itemgetter(2))
    singular_values = property(itemgetter(3))


class linalg_lu(_Named):  # noqa: N801
    """What `linalg.lu` returns."""

    __slots__ = ()
    _title = "linalg_lu"
    _fields = ("P", "L", "U")
    P = property(itemgetter(0))
    L = property(itemgetter(1))
    U = property(itemgetter(2))


class linalg_ldl_factor(_Named):  # noqa: N801
    """What `linalg.ldl_factor` returns."""

    __slots__ = ()
    _title = "linalg_ldl_factor"
    _fields = ("LD", "pivots")
    LD = property(itemgetter(0))
    pivots = property(itemgetter(1))


class linalg_ldl_factor_ex(_Named):  # noqa: N801
    """What `linalg.ldl_factor_ex` returns."""

    __slots__ = ()
    _title = "linalg_ldl_factor_ex"
    _fields = ("LD", "pivots", "info")
    LD = property(itemgetter(0))
    pivots = property(itemgetter(1))
    info = property(itemgetter(2))


class linalg_lu_factor(_Named):  # noqa: N801
    """What `linalg.lu_factor` returns."""

    __slots__ = ()
    _title = "linalg_lu_factor"
    _fields = ("LU", "pivots")
    LU = property(itemgetter(0))
    pivots = property(itemgetter(1))


class linalg_lu_factor_ex(_Named):  # noqa: N801
    """What `linalg.lu_factor_ex` returns."""

    __slots__ = ()
    _title = "linalg_lu_factor_ex"
    _fields = ("LU", "pivots", "info")
    LU = property(itemgetter(0))
    pivots = property(itemgetter(1))
    info = property(itemgetter(2))


class lu_unpack(_Named):  # noqa: N801
    """What `lu_unpack` returns."""

    __slots__ = ()
    _title = "lu_unpack"
    _fields = ("P", "L", "U")
    P = property(itemgetter(0))
    L = property(itemgetter(1))
    U = property(itemgetter(2))


class geqrf(_Named):  # noqa: N801
    """What `geqrf` returns."""

    __slots__ = ()
    _title = "geqrf"
    _fields = ("a", "tau")
    a = property(itemgetter(0))
    tau = property(itemgetter(1))


class triangular_solve(_Named):  # noqa: N801
    """What `triangular_solve` returns."""

    __slots__ = ()
    _title = "triangular_solve"
    _fields = ("solution", "cloned_coefficient")
    solution = property(itemgetter(0))
    cloned_coefficient = property(itemgetter(1))


class _lu_with_info(_Named):  # noqa: N801
    """What `lu` with `get_infos` returns."""

    __slots__ = ()
    _title = "_lu_with_info"
    _fields = ("LU", "pivots", "info")
    LU = property(itemgetter(0))
    pivots = property(itemgetter(1))
    info = property(itemgetter(2))


class frexp(_Named):  # noqa: N801
    """What `frexp` returns."""

    __slots__ = ()
    _fields = ("mantissa", "exponent")
    _title = "frexp"

    @property
    def mantissa(self) -> Any:
        """Sizes in [0.5, 1) with the signs."""
        return self[0]

    @property
    def exponent(self) -> Any:
        """The powers of two."""
        return self[1]
