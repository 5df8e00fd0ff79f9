"""Checking gradients of functions on sparse tensors: `as_sparse_gradcheck`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid.engine.core.data import TensorData


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """`gradcheck` for functions of sparse tensors: it varies what they store, and compares dense outputs.

    >>> import pellucid as torch
    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    >>> check(lambda x: torch.sparse.mm(x, torch.ones(2, 2, dtype=torch.float64)), (x,))
    True
    """

    @functools.wraps(gradcheck)
    def checked(function: Callable[..., Any], inputs: Any, **settings: Any) -> Any:
        given = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
        return gradcheck(*on_stored_values(function, given), **settings)

    return checked


def on_stored_values(function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], Any]:
    """The function as one of what its sparse inputs store, with dense outputs, and these inputs; both as they are
    where none is sparse.
    """
    makers = [_maker(each) for each in inputs]
    if not any(makers):
        return function, inputs

    def dense(*varied: Any) -> Any:
        arguments = [x if make is None else make(x) for x, make in zip(varied, makers, strict=True)]
        found = function(*arguments)
        return tuple([_dense(each) for each in found]) if isinstance(found, tuple | list) else _dense(found)

    return dense, tuple([x if make is None else _values(x) for x, make in zip(inputs, makers, strict=True)])


def _dense(x: Any) -> Any:
    return x.to_dense() if isinstance(x, TensorData) else x


def _values(x: Any) -> Any:
    held = x._values() if x.is_sparse else x.detach().values()
    return held.detach().clone().requires_grad_(x.requires_grad)


def _maker(x: Any) -> Callable[[Any], Any] | None:
    """How a sparse tensor is made again of other values; None for other arguments."""
    if not isinstance(x, TensorData) or x.layout is pellucid.strided:
        return None
    size, layout = tuple(x.shape), x.layout
    if x.is_sparse:
        index, is_coalesced = x._indices().clone(), x.is_coalesced()
        return lambda values: pellucid.sparse_coo_tensor(index, values, size, is_coalesced=is_coalesced)
    by_row = layout in (pellucid.sparse_csr, pellucid.sparse_bsr)
    begins = x.crow_indices() if by_row else x.ccol_indices()
    plain = x.col_indices() if by_row else x.row_indices()
    return lambda values: pellucid.sparse_compressed_tensor(begins, plain, values, size, layout=layout)
