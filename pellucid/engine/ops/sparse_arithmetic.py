"""Forms of pointwise operators for sparse operands: sums, products, and the functions that leave 0 where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.engine.core import sparse
from pellucid.engine.core.data import TensorData, from_array
from pellucid.engine.core.dispatch import InPlace
from pellucid.engine.core.errors import check
from pellucid.engine.core.graph import by_name
from pellucid.engine.core.promotion import can_cast, common_type, title
from pellucid.engine.core.sparse import COO, not_for_sparse, sparse_tensor
from pellucid.engine.core.sparse_op import SparseNode, node_type, sparse_op
from pellucid.engine.ops import arithmetic, memory
from pellucid.engine.ops.sparse_layout import (
    coalesce,
    coo_meta,
    coo_of,
    entries_at,
    expanded,
    numbered,
    parts_of,
    positions,
    sparse_mask,
    to_compressed,
    to_coo,
    to_dense,
    values_of,
    with_values,
)


def is_sparse(x: Any) -> bool:
    """Whether `x` is a tensor of a sparse layout."""
    return isinstance(x, TensorData) and x._meta.is_sparse


def named(result: Any, node: str) -> Any:
    """`result` with its own node called as PyTorch calls the node of the whole function."""
    made = result._grad_fn
    if isinstance(made, SparseNode):
        made.__class__ = node_type(node)
    return result


# -- functions of the values alone ---------------------------------------------------------------------------------

# Linear ones act on what is stored; the others need every position once, so that equal ones are added up before.
_LINEAR = (
    "neg", "cast", "conj", "conj_physical", "clone",
)  # fmt: skip
_OTHERS = (
    "abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac",
    "isinf", "isnan", "isneginf", "isposinf", "log1p", "nan_to_num", "rad2deg", "relu", "round", "sgn", "sign",
    "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "angle", "round_decimals", "leaky_relu",
)  # fmt: skip


def _mapped(name: str, is_linear: bool) -> Callable[..., Any]:
    def form(x: Any, **settings: Any) -> Any:
        op = by_name[name]
        if settings.get("strides") is not None:
            raise RuntimeError("memory format option is only supported by strided tensors")
        x = _once(x, is_linear)
        values = op(values_of(x), **settings)
        node = op.grad_name if isinstance(op.grad_name, str) else op.grad_name(settings)
        return named(with_values(x, values), node)

    return form


def _mapped_in_place(name: str, is_linear: bool) -> Callable[..., Any]:
    def form(x: Any, **settings: Any) -> None:
        if not is_linear and x._meta.layout == COO and not x._array.is_coalesced:
            x._array.become(coalesce(x)._array)
        values = x._array.values
        by_name[name](values, out=InPlace(values), **settings)

    return form


def _once(x: Any, is_linear: bool = False) -> Any:
    if is_linear or x._meta.layout != COO or x._array.is_coalesced:
        return x
    return coalesce(x)


for each in _LINEAR:
    sparse.forms[each] = _mapped(each, is_linear=True)
    if each in ("neg", "conj_physical"):
        sparse.in_place_forms[each] = _mapped_in_place(each, is_linear=True)
for each in _OTHERS:
    sparse.forms[each] = _mapped(each, is_linear=False)
    if not each.startswith("is") and each not in ("signbit", "angle"):
        sparse.in_place_forms[each] = _mapped_in_place(each, is_linear=False)


def _alike(x: Any, kind: Any) -> Any:
    return x if x._meta.dtype is kind else by_name["cast"](x, dtype=kind)


# -- sums ----------------------------------------------------------------------------------------------------------


def add_form(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """a + alpha * b, of which one or both are sparse."""
    if is_sparse(a) and a._meta.layout != COO and isinstance(b, TensorData) and not is_sparse(b):
        return arithmetic.add(to_dense(a), b, alpha=alpha)
    if not is_sparse(b) or not isinstance(a, TensorData):
        raise RuntimeError(
            "add(sparse, dense) is not supported. Use add(dense, sparse) instead: a sparse tensor plus a dense one is"
            " dense, so put the dense one first, or call .to_dense()."
        )
    kind = common_type([a._meta, b._meta])
    a, b = _alike(a, kind), _alike(b, kind)
    if not is_sparse(a):
        check(
            tuple(b._meta.shape) == tuple(a._meta.shape),
            f"add: expected 'self' and 'other' to have same size, but self has size {list(a._meta.shape)} while other"
            f" has size {list(b._meta.shape)}: dense-sparse addition does not broadcast, expand the dense one first",
        )
        return add_to_dense(a, b, alpha=alpha)
    check(
        a._meta.shape == b._meta.shape,
        "add: expected sizes of 'self' and 'other' to match, but self has size"
        f" {list(a._meta.shape)} and other has size {list(b._meta.shape)}",
    )
    return _add_sparse(a, b, alpha)


def _add_sparse(a: Any, b: Any, alpha: Any) -> Any:
    layout = a._meta.layout
    if layout != COO or b._meta.layout != COO:
        check(layout in (COO, sparse.CSR, sparse.CSC), f"add: {layout} takes no part in sums; call .to_dense() first")
        total = coalesce(_add_sparse(_coo(a), _coo(b), alpha))
        return total if layout == COO else to_compressed(total, layout=layout)
    check(
        a._meta.sparse_dim == b._meta.sparse_dim,
        f"add: expected 'self' and 'other' to have same number of sparse dimensions, but got {a._meta.sparse_dim} and"
        f" {b._meta.sparse_dim}",
    )
    return add_entries(a, b, alpha=alpha)


def _coo(x: Any) -> Any:
    return x if x._meta.layout == COO else to_coo(x)


@sparse_op("AddBackward0")
def add_entries(a: Any, b: Any, *, alpha: Any) -> Any:
    """The entries of both, merged where both are coalesced."""
    scaled = b._array.values if alpha == 1 else arithmetic.mul(b._array.values, alpha)
    index = np.concatenate([a._array.index._array, b._array.index._array], 1)
    values = np.concatenate([a._array.values._array, scaled._array])
    made = coo_of(index, values, a._meta)
    if not (_in_order(a) and _in_order(b)):
        return made
    made = coalesce(made)
    made._array.is_coalesced = bool(a._array.is_coalesced and b._array.is_coalesced)
    return made


def _in_order(x: Any) -> bool:
    """Whether every position is stored once, in order, be it marked as coalesced or not."""
    if x._array.is_coalesced:
        return True
    keys = numbered(x._array.index._array, tuple(x._meta.shape[: x._meta.sparse_dim]))
    return bool(np.all(keys[1:] > keys[:-1]))


@add_entries.vjp("a")
def add_entries_da(dy: Any) -> Any:
    return dy


@add_entries.vjp("b")
def add_entries_db(dy: Any, alpha: Any) -> Any:
    return dy if alpha == 1 else arithmetic.mul(dy, alpha)


@sparse_op("AddBackward0")
def add_to_dense(dense: Any, other: Any, *, alpha: Any) -> Any:
    """A dense tensor with the entries of a sparse one added."""
    result = memory.clone(dense)
    _add_into(result, other, alpha)
    return result


@add_to_dense.vjp("dense")
def add_to_dense_ddense(dy: Any) -> Any:
    return dy


@add_to_dense.vjp("other")
def add_to_dense_dother(dy: Any, alpha: Any) -> Any:
    return dy if alpha == 1 else arithmetic.mul(dy, alpha)


def _add_into(dense: Any, other: Any, alpha: Any) -> None:
    other = coalesce(other) if other._meta.layout == COO else to_coo(other)
    index, values = parts_of(other)
    if alpha != 1:
        values = arithmetic.mul(other._array.values, alpha)._array
    where = tuple(index)
    if not len(where):
        where, values = (), values.sum(0)
    target = dense._array
    if target.dtype == np.bool_:
        target[where] |= values.astype(np.bool_)
    else:
        target[where] += values.astype(target.dtype, copy=False)


def add_in_place(a: Any, b: Any, *, alpha: Any = 1) -> None:
    """Write a + alpha * b into `a`."""
    if not is_sparse(a):
        check(
            tuple(b._meta.shape) == tuple(a._meta.shape),
            f"add: expected 'self' and 'other' to have same size, but self has size {list(a._meta.shape)} while other"
            f" has size {list(b._meta.shape)}",
        )
        kind = common_type([a._meta, b._meta])
        check(
            can_cast(kind, a._meta.dtype),
            f"result type {title(kind)} can't be cast to the desired output type {title(a._meta.dtype)}",
        )
        _add_into(a, b, alpha)
        return
    result = add_form(a, b, alpha=alpha)
    check(result._meta.dtype is a._meta.dtype, f"add_: the sum is {result.dtype}, which a {a.dtype} tensor cannot hold")
    a._array.become(result._array)


def sub_form(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """a - alpha * b."""
    return named(add_form(a, b, alpha=-alpha), "SubBackward0")


def sub_in_place(a: Any, b: Any, *, alpha: Any = 1) -> None:
    """Write a - alpha * b into `a`."""
    add_in_place(a, b, alpha=-alpha)


# -- products and quotients ----------------------------------------------------------------------------------------


def mul_form(a: Any, b: Any) -> Any:
    """a * b: sparse wherever one of them is."""
    if not is_sparse(a):
        a, b = b, a
    if not isinstance(b, TensorData) or not b._meta.ndim and not is_sparse(b):
        return named(with_values(a, arithmetic.mul(values_of(a), b)), "MulBackward0")
    if is_sparse(b):
        return _mul_sparse(a, b)
    index = _positions_of(a)
    shape = np.broadcast_shapes(a._meta.shape, b._meta.shape)
    check(
        tuple(a._meta.shape) == shape,
        f"mul: a sparse tensor of shape {list(a._meta.shape)} does not broadcast to {list(shape)}: expand the other way"
        " round, or call .to_dense()",
    )
    wide = by_name["expand"](b, size=tuple(shape))
    return named(with_values(a, arithmetic.mul(values_of(a), entries_at(wide, index))), "MulBackward0")


def _positions_of(x: Any) -> Any:
    if x._meta.layout == COO:
        return x._array.index
    return to_coo(x.detach())._array.index if x._meta.layout == sparse.CSR else _own_positions(x)


def _own_positions(x: Any) -> Any:
    check(x._meta.layout == sparse.CSC, f"mul takes no {x._meta.layout} tensors; call .to_dense() first")
    return from_array(expanded(x._array.index._array, x._array.plain._array, x._meta.layout))


def _mul_sparse(a: Any, b: Any) -> Any:
    layout = a._meta.layout
    check(
        a._meta.shape == b._meta.shape,
        "mul: expected 'self' and 'other' to have same sizes when both are sparse,"
        f" but {list(a._meta.shape)} != {list(b._meta.shape)}",
    )
    if layout != COO or b._meta.layout != COO:
        product = _mul_sparse(_coo(a), _coo(b))
        return product if layout == COO else to_compressed(coalesce(product), layout=layout)
    kind = common_type([a._meta, b._meta])
    product = mul_entries(coalesce(_alike(a, kind)), coalesce(_alike(b, kind)))
    return product


@sparse_op("MulBackward0")
def mul_entries(a: Any, b: Any) -> Any:
    """The products where both coalesced tensors have entries."""
    sizes = tuple(a._meta.shape[: a._meta.sparse_dim])
    (index, left), (other, right) = parts_of(a), parts_of(b)
    where, found = positions(numbered(other, sizes), numbered(index, sizes))
    values = left[found] & right[where[found]] if left.dtype == np.bool_ else left[found] * right[where[found]]
    return coo_of(np.ascontiguousarray(index[:, found]), values, a._meta, True)


@mul_entries.vjp("a")
def mul_entries_da(dy: Any, a: Any, b: Any) -> Any:
    return arithmetic.mul(sparse_mask(dy, a) if not is_sparse(dy) else dy, arithmetic.conjugate(b))


@mul_entries.vjp("b")
def mul_entries_db(dy: Any, a: Any, b: Any) -> Any:
    return arithmetic.mul(sparse_mask(dy, b) if not is_sparse(dy) else dy, arithmetic.conjugate(a))


def _divided(name: str, node: str) -> Callable[..., Any]:
    def form(a: Any, b: Any) -> Any:
        if not is_sparse(a):
            raise not_for_sparse("reciprocal" if name == "div" else name, b._meta)
        if isinstance(b, TensorData) and (b._meta.ndim or b._meta.is_sparse):
            raise RuntimeError(
                "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape"
                f" {list(b._meta.shape)} for divisor)"
            )
        a = _once(a, is_linear=name == "div")
        return named(with_values(a, by_name[name](values_of(a), b)), node)

    return form


def pow_form(base: Any, exponent: Any) -> Any:
    """The power of a sparse tensor by a positive number."""
    if isinstance(exponent, TensorData) and exponent._meta.ndim or not is_sparse(base):
        raise not_for_sparse("pow.Tensor_Tensor", base._meta if is_sparse(base) else exponent._meta)
    value = exponent.item() if isinstance(exponent, TensorData) else exponent
    check(value != 0, "pow: a sparse tensor to the power of 0 would be dense; call .to_dense() first")
    base = _once(base)
    return named(with_values(base, by_name["pow_scalar"](values_of(base), value)), "PowBackward0")


def _scaled_in_place(name: str) -> Callable[..., Any]:
    def form(a: Any, b: Any) -> None:
        if is_sparse(b) or not is_sparse(a) or isinstance(b, TensorData) and b._meta.ndim:
            check(is_sparse(a), f"{name}_ would make a sparse tensor of a dense one; use torch.{name}")
            a._array.become(_alike(sparse.forms[name](a, b), a._meta.dtype)._array)
            return
        values = a._array.values
        by_name[name](values, b, out=InPlace(values))

    return form


# -- copies and fillings -------------------------------------------------------------------------------------------


def where_form(condition: Any, a: Any, b: Any) -> Any:
    """Entries of a sparse `a` where a dense condition holds, with 0 elsewhere: what rules of dense functions need."""
    if is_sparse(condition) or not is_sparse(a) or isinstance(b, TensorData) or b != 0:
        raise not_for_sparse("where", next(each for each in (condition, a, b) if is_sparse(each))._meta)
    wide = by_name["expand"](condition, size=tuple(a._meta.shape))
    kept = by_name["where"](entries_at(wide, _positions_of(a)), values_of(a), b)
    return named(with_values(a, kept), "WhereBackward0")


def clamp_form(x: Any, low: Any, high: Any, **settings: Any) -> Any:
    """The values between two numbers of which neither moves 0."""
    _keeps_zero(x, low, high)
    x = _once(x)
    return named(with_values(x, by_name["clamp"](values_of(x), low, high, **settings)), "ClampBackward1")


def clamp_in_place(x: Any, low: Any, high: Any, **settings: Any) -> None:
    """Write the values between two numbers into `x`."""
    _keeps_zero(x, low, high)
    x._array.become(_once(x)._array)
    values = x._array.values
    by_name["clamp"](values, low, high, out=InPlace(values), **settings)


def _keeps_zero(x: Any, low: Any, high: Any) -> None:
    for bound, is_kept in ((low, low is None or not is_tensor(low) and low <= 0),
                           (high, high is None or not is_tensor(high) and high >= 0)):  # fmt: skip
        if not is_kept:
            raise RuntimeError(f"clamp: the bound {bound} would move the elements that a sparse tensor does not store;"
                               " call .to_dense() first")  # fmt: skip


def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor of any layout."""
    return isinstance(x, TensorData)


def copy_form(x: Any, source: Any) -> Any:
    """What `x.copy_(source)` becomes."""
    if not is_sparse(x):
        return by_name["copy"](x, to_dense(source))
    if not is_sparse(source):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{x._meta.layout} and src type = strided: use .to_sparse() or .to_dense()")  # fmt: skip
    copied = by_name["clone"](source)
    if copied._meta.layout != x._meta.layout:
        copied = to_coo(copied) if x._meta.layout == COO else to_compressed(coalesce(_coo(copied)),
                                                                            layout=x._meta.layout)  # fmt: skip
    return _alike(copied, x._meta.dtype)


def zero_form(x: Any) -> Any:
    """A tensor without entries."""
    meta = x._meta
    if meta.layout != COO:
        return with_values(x.detach(), memory.zero(x._array.values))
    return empty_coo(tuple(meta.shape), meta.dtype, meta.sparse_dim)


def empty_coo(size: tuple[int, ...], kind: Any, sparse_dim: int) -> Any:
    """A COO tensor without entries."""
    index = from_array(np.zeros((sparse_dim, 0), np.int64))
    values = from_array(np.zeros((0, *size[sparse_dim:]), kind.numpy))
    return sparse_tensor(coo_meta(size, kind, sparse_dim), index, None, values, True)


def zero_in_place(x: Any) -> None:
    """Take all entries away."""
    x._array.become(zero_form(x)._array)


def _same(x: Any, **settings: Any) -> Any:
    return named(with_values(x, values_of(x)), "AliasBackward0")


def has_nan_form(x: Any) -> Any:
    """Whether a stored value is a NaN."""
    return by_name["has_nan"](x._array.values)


def absorb_form(cotangent: Any, slope: Any) -> Any:
    """A gradient times a slope, 0 where the gradient is: stored entries only."""
    if not is_sparse(cotangent):
        cotangent = sparse_mask(cotangent, slope)
    return mul_form(cotangent, slope)


sparse.forms.update(
    {
        "add": add_form, "sub": sub_form, "mul": mul_form, "div": _divided("div", "DivBackward0"),
        "floor_divide": _divided("floor_divide", "NotImplemented"),
        "trunc_divide": _divided("trunc_divide", "DivBackward2"), "pow_scalar": pow_form, "pow": pow_form,
        "copy": copy_form, "clamp": clamp_form, "where": where_form, "zero": zero_form, "alias": _same,
        "has_nan": has_nan_form, "absorb": absorb_form,
    }
)  # fmt: skip
sparse.in_place_forms.update(
    {
        "add": add_in_place, "sub": sub_in_place, "mul": _scaled_in_place("mul"), "div": _scaled_in_place("div"),
        "zero": zero_in_place, "clamp": clamp_in_place,
    }
)  # fmt: skip
