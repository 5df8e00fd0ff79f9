"""Running an operator: look up the plan of these metas, call its kernel, wrap the result, record it for backward.

Everything slow (promotion, validation, broadcasting, choice of kernel, error texts) happens once, when a plan is made
(plan.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from pellucid.engine.core import graph
from pellucid.engine.core.data import INFERENCE, TensorData, allocate, make, view_of, wrap
from pellucid.engine.core.device import META
from pellucid.engine.core.errors import user_level
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import run_below, state
from pellucid.engine.core.plan import Plan, make_plan, quietly
from pellucid.engine.core.promotion import can_cast, title
from pellucid.engine.core.sparse import in_place_forms, not_for_sparse
from pellucid.engine.core.storage import Storage

_PLAN_LIMIT = 8192
NO_SETTINGS: dict[str, Any] = {}
_BY_VALUE_AND_TYPE = (int, float, bool)
_UNIFORM = ("fill", "zero")  # write one value everywhere, so it does not matter what elements share


class InPlace:
    """Says that a result goes into `target`, with its gradient history: `x.add_(y)` is `add(x, y, out=InPlace(x))`."""

    __slots__ = ("target",)

    def __init__(self, target: Any) -> None:
        self.target = target


def plan_of(op: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> Plan:
    """The plan for these operands' metas and these settings, made on first use."""
    key: tuple[Any, ...] = tuple([x._meta if isinstance(x, TensorData) else x.__class__ for x in operands])
    if settings:
        key = (*key, *_settings_key(op, settings))
    plan = op.plans.get(key)
    return plan if plan is not None else _new_plan(op, operands, settings, key)


def _settings_key(op: Any, settings: dict[str, Any]) -> list[Any]:
    parts: list[Any] = []
    pointwise = op.kind == "pointwise"
    for name, value in settings.items():
        kind = value.__class__
        parts.append(name)
        if kind in _BY_VALUE_AND_TYPE:  # 1, 1.0 and True are equal keys; a pointwise setting is only data
            parts.append(kind)
            if not pointwise:
                parts.append(value)
        else:
            parts.append(value)
    return parts


def _new_plan(op: Any, operands: tuple[Any, ...], settings: dict[str, Any], key: tuple[Any, ...]) -> Plan:
    plan = make_plan(op, operands, settings)
    if len(op.plans) >= _PLAN_LIMIT:
        op.plans.clear()
    op.plans[key] = plan
    return plan


def forget_plans(ops: Any) -> None:
    """Drop the plans of these operators, after something that plans depend on (the default dtype, the kernels) has
    changed.
    """
    for each in ops:
        each.plans.clear()


def run(op: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """The operator's result as a new tensor (or a tuple of them)."""
    if state.stack:
        return run_below(op, operands, settings, run)
    parts: list[Any] = []
    arrays: list[Any] = []
    recorded = False
    for x in operands:  # one loop instead of `plan_of` and `any_requires_grad`: this is the path of every call
        if isinstance(x, TensorData):
            parts.append(x._meta)
            arrays.append(x._array)
            if x._needs_grad or (x._base is not None and x._base._needs_grad):
                recorded = True
        else:
            parts.append(x.__class__)
            arrays.append(x)
    if settings:
        parts += _settings_key(op, settings)
    key = tuple(parts)
    plan = op.plans.get(key) or _new_plan(op, operands, settings, key)
    if recorded:
        recorded = plan.differentiable and state.grad_enabled
    if not plan.plain:
        return _run_unusual(op, plan, arrays, operands, settings, recorded)
    out = wrap(plan.kernel(arrays, settings), plan.metas[0])
    if recorded:
        graph.record(op, plan, operands, settings, out)
    return out


def _run_unusual(
    op: Any, plan: Plan, arrays: list[Any], operands: tuple[Any, ...], settings: dict[str, Any], recorded: bool
) -> Any:
    """A call that does not make one new tensor whose meta is known."""
    if plan.views is not None:
        return _run_view(op, plan, operands, settings, recorded)
    if plan.other is not None:
        return plan.other(*operands, **settings)
    out = _wrap_results(plan.kernel(arrays, settings), plan)
    if recorded:
        graph.record(op, plan, operands, settings, out)
    return out


def _wrap_results(results: Any, plan: Plan) -> Any:
    """The tensors of a call with several results, or with shapes that only the data told."""
    if plan.single:
        return wrap(results, plan.metas[0].like(results.shape))
    if plan.dynamic:
        return tuple([wrap(array, meta.like(array.shape)) for array, meta in zip(results, plan.metas, strict=True)])
    return tuple([wrap(array, meta) for array, meta in zip(results, plan.metas, strict=True)])


def _run_view(op: Any, plan: Plan, operands: tuple[Any, ...], settings: dict[str, Any], recorded: bool) -> Any:
    source = operands[0]
    views = plan.views
    assert views is not None
    if plan.single:
        out: Any = _view(source, plan.metas[0], source._offset + views[0])
        made: Any = (out,)
    else:
        rows = zip(plan.metas, views, strict=True)
        made = out = tuple([_view(source, meta, source._offset + offset) for meta, offset in rows])
    if recorded:
        graph.record(op, plan, operands, settings, out)
    if op.fresh:
        for each in made:
            each._base = None
        return out
    origin = source._origin if plan.single else "multi"
    if not state.grad_enabled:
        origin = "inference" if state.inference else "no_grad"
    if origin is not None:
        for each in made:
            each._origin = origin
    return out


def _view(source: Any, meta: Meta, offset: int) -> Any:
    if meta.dtype.itemsize != source._meta.dtype.itemsize:  # the offset counts elements of another size
        offset = source._offset * source._meta.dtype.itemsize // meta.dtype.itemsize
    storage, counter = source._storage, source._counter
    if (
        offset == source._offset
        and meta.is_contiguous
        and source._meta.is_contiguous
        and meta.dtype is source._meta.dtype
    ):
        whole = source._array  # a slice by NumPy costs more than another shape of the same elements
        array = whole.reshape(meta.shape) if whole is not None and meta.numel == source._meta.numel else None
    else:
        array = None
    if array is None or array.base is None:
        array = view_of(storage, meta, offset)
    out = make(array, meta, storage, offset, counter)
    if counter is not INFERENCE:
        out._base = source if source._base is None else source._base
        out._view_version = counter.count
    return out


def run_in_place(op: Any, target: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """Write the operator's result into `target`, advance its version, and make its history end in this operator."""
    if state.stack:
        below = lambda op_, operands_, settings_: run_in_place(op_, target, operands_, settings_)  # noqa: E731
        return run_below(op, operands, settings, below, target=target)
    recorded = state.grad_enabled and not state.inference and any_requires_grad(operands)
    try:
        plan = plan_of(op, operands, settings)
    except Exception:
        graph.check_in_place(target, op.name, recorded)  # of two mistakes, PyTorch names this one
        raise
    meta = target._meta
    result_meta = plan.metas[0]
    if result_meta is not meta:
        if plan.other is not None:
            return _run_sparse_in_place(op, plan.other, target, operands, settings)
        check_fits(op, meta, result_meta)
    recorded = recorded and meta.dtype.category >= 2
    graph.check_in_place(target, op.name, recorded)
    check_writable(op.name, target, operands)
    node = graph.prepare_in_place(op, plan, operands, settings, target) if recorded else None
    if meta.device is not META:
        _write(plan, target, operands, settings)
    wrote(target, op.name)
    if node is not None:
        graph.finish_in_place(target, node)
    return target


def _run_sparse_in_place(op: Any, form: Any, target: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    recorded = state.grad_enabled and not state.inference and any_requires_grad(operands)
    graph.check_in_place(target, op.name, recorded)
    own = None if recorded else in_place_forms.get(op.name)
    if own is not None:
        own(*operands, **settings)
    else:
        before = target if not target._meta.is_sparse else _as_it_is(target)  # nodes save it, and it changes now
        result = form(*[before if x is target else x for x in operands], **settings)
        if not target._meta.is_sparse:
            return graph.by_name["copy"](target, result, out=InPlace(target))
        if not result._meta.is_sparse:
            raise RuntimeError(f"{op.name}_ would make a dense tensor of a sparse one; use torch.{op.name}")
        check_fits(op, target._meta, result._meta)
        if result._meta.dtype is not target._meta.dtype:
            result = graph.by_name["cast"](result, dtype=target._meta.dtype)
        target._array.become(result._array)
        if result._needs_grad:
            target._grad_fn, target._output_nr, target._needs_grad = result._grad_fn, result._output_nr, True
    wrote(target, op.name)
    return target


def _as_it_is(target: Any) -> Any:
    """A tensor over what a sparse one holds now, at the same place in the graph."""
    now = wrap(target._array.copy(), target._meta)
    now._grad_fn, now._output_nr, now._needs_grad = target._grad_fn, target._output_nr, target._needs_grad
    return now


def _run_sparse_out(form: Any, out: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    result = form(*operands, **settings)
    if out._meta.is_sparse and result._meta.is_sparse:
        out._meta = result._meta.retyped(out._meta.dtype)
        out._array.become(graph.by_name["cast"](result, dtype=out._meta.dtype)._array)
        wrote(out, "out")
        return out
    if out._meta.shape != result._meta.shape:
        resize_out(out, result._meta.like())
    return graph.by_name["copy"](out, result, out=InPlace(out))


def _write(plan: Plan, target: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> None:
    arrays = [x._array if isinstance(x, TensorData) else x for x in operands]
    if plan.into is not None and plan.metas[0] is target._meta and _is_apart(target, operands):
        plan.into(target._array, arrays, settings)
        return
    result = plan.kernel(arrays, settings)
    if result.dtype == target._array.dtype:
        np.copyto(target._array, result)
    else:
        quietly(np.copyto, target._array, result, casting="unsafe")


def any_requires_grad(operands: Iterable[Any]) -> bool:
    """Whether one of the operands is a tensor that requires a gradient."""
    for x in operands:
        if isinstance(x, TensorData) and (x._needs_grad or (x._base is not None and x._base._needs_grad)):
            return True
    return False


def check_fits(op: Any, meta: Meta, result_meta: Meta) -> None:
    """RuntimeError where a result cannot be written in place into a tensor of that meta."""
    if result_meta.shape != meta.shape:
        raise RuntimeError(
            f"output with shape {list(meta.shape)} doesn't match the broadcast shape {list(result_meta.shape)} "
            f"({op.name}_ cannot"
            f" enlarge the tensor it writes to; use the version without the underscore, torch.{op.name})"
        )
    if not can_cast(result_meta.dtype, meta.dtype):
        raise RuntimeError(
            f"result type {title(result_meta.dtype)} can't be cast to the desired output type {title(meta.dtype)}"
            f" ({op.name}_ writes into a {meta.dtype} tensor; convert it first, or use torch.{op.name})"
        )


def check_writable(name: str, target: Any, operands: tuple[Any, ...]) -> None:
    """RuntimeError when elements of `target` share memory with each other, or partly with an operand."""
    array = target._array
    if array is not None and not array.flags.writeable and target._meta.numel:
        raise RuntimeError(
            f"{name}_: this tensor views memory that may not be written (a read-only NumPy array or file); "
            "clone() it first."
        )
    if target._meta.has_overlap and name not in _UNIFORM:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location."
            f" Please clone() the tensor before performing the operation. ({name}_ on strides {target._meta.strides})"
        )
    for x in operands:
        if x is not target and isinstance(x, TensorData) and x._storage is target._storage:
            if x._meta.is_dense and target._meta.is_dense and _partly(x, target):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer "
                    "to a single memory"
                    f" location. Please clone() the tensor before performing the operation. ({name}_)"
                )


def _is_apart(target: Any, operands: tuple[Any, ...]) -> bool:
    """Whether each operand is the target itself, element for element, or in other memory as far as can be told."""
    for x in operands:
        if isinstance(x, TensorData) and x is not target:
            if x._storage is target._storage:
                if x._meta is not target._meta or x._offset != target._offset:
                    return False
            elif np.may_share_memory(x._array, target._array):  # storages over one array of NumPy's
                return False
    return True


def _partly(a: Any, b: Any) -> bool:
    if a._offset == b._offset and a._meta.numel == b._meta.numel:
        return a._meta.strides != b._meta.strides and a._meta.shape == b._meta.shape and a._meta.numel > 1
    a_end, b_end = a._offset + a._meta.numel, b._offset + b._meta.numel
    return a._offset < b_end and b._offset < a_end


def wrote(target: Any, name: str) -> None:
    """Advance the version of a tensor that was just written, and remember by whom and where."""
    counter = target._counter
    if counter is not INFERENCE:
        counter.count += 1
        counter.writer = (name, graph.here(3))


def run_out(op: Any, out: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """Write the operator's result(s) into the given tensor(s), resized where their shape differs."""
    if state.stack:
        below = lambda op_, operands_, settings_: run_out(op_, out, operands_, settings_)  # noqa: E731
        return run_below(op, operands, settings, below, out=out)
    targets = _targets(op, out)
    if state.grad_enabled and any_requires_grad((*operands, *targets)):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one "
            "of the arguments"
            " requires grad. Leave out= away, or call it under torch.no_grad()."
        )
    plan = plan_of(op, operands, settings)
    if plan.other is not None:
        return _run_sparse_out(plan.other, targets[0], operands, settings)
    _check_out_form(op, out, plan)
    for target, meta in zip(targets, plan.metas, strict=True):
        _check_out(op, target, meta)
        graph.check_in_place(target, op.name, False)
    results: Any = plan.kernel([x._array if isinstance(x, TensorData) else x for x in operands], settings)
    results = (results,) if plan.single else results
    metas = [m.like(r.shape) for m, r in zip(plan.metas, results, strict=True)] if plan.dynamic else plan.metas
    for target, meta, result in zip(targets, metas, results, strict=True):
        if target._meta.shape != meta.shape:
            resize_out(target, meta)
        if target._meta.device is not META:
            check_writable(op.name, target, operands if op.kind == "pointwise" else ())
            if op.name in _READS_WHILE_IT_WRITES:
                check_apart(op.name, target, operands)
            quietly(np.copyto, target._array, result, casting="unsafe")
        wrote(target, op.name)
    return out


_READS_WHILE_IT_WRITES = frozenset(("cat", "gather", "index_select", "kthvalue"))  # in PyTorch, which refuses overlap


def check_apart(name: str, target: Any, operands: Iterable[Any]) -> None:
    """RuntimeError when an `out=` tensor shares elements with an operand, be they the very same elements."""
    for x in operands:
        if isinstance(x, TensorData) and x._storage is target._storage and x._meta.numel and target._meta.numel:
            if x._meta is target._meta and x._offset == target._offset or _partly(x, target):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                    f"single memory location. Please clone() the tensor before performing the operation. ({name}(out=))"
                )


_CAST_INTO_OUT = frozenset((
    "arange", "bernoulli", "cat", "cumprod", "cumsum", "eye", "fill_random", "full", "linspace", "logspace",
    "logsumexp", "max_all", "mean", "min_all", "nansum",
    "prod", "stack", "std", "sum", "sum_", "var",
))  # fmt: skip
_CPP_NAMES = {  # as PyTorch's messages call element types here
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int",
    "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def _public_name(op: Any) -> str:
    return op.name.strip("_").removesuffix("_dim").removesuffix("_all")


def _targets(op: Any, out: Any) -> tuple[Any, ...]:
    targets = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    for each in targets:
        if not isinstance(each, TensorData):
            raise TypeError(f"{_public_name(op)}(): argument 'out' must be Tensor, not {type(each).__name__}")
    return targets


def _check_out_form(op: Any, out: Any, plan: Any) -> None:
    """TypeError unless `out` is one tensor for one result, or a tuple of as many tensors as there are results."""
    is_several = isinstance(out, tuple | list)
    if plan.single and is_several:
        raise TypeError(f"{_public_name(op)}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if not plan.single and (not is_several or len(out) != len(plan.metas)):
        found = f"not {len(out)} of them" if is_several else f"not {type(out).__name__}"
        raise TypeError(
            f"{_public_name(op)}(): argument 'out' must be tuple of Tensors, one for each of {len(plan.metas)}"
            f" results, {found}"
        )


def _check_out(op: Any, target: Any, meta: Meta) -> None:
    if target._meta.device is not meta.device:
        raise RuntimeError(
            f"Expected out tensor to have device {meta.device}, but got {target._meta.device} instead ({op.name})"
        )
    if op.name == "cat" and not can_cast(meta.dtype, target._meta.dtype):
        raise TypeError(
            f"torch.cat(): input types can't be cast to the desired output type {title(target._meta.dtype)}"
        )
    if op.kind == "general" and target._meta.dtype is not meta.dtype and op.name not in _CAST_INTO_OUT:
        expected, found = (
            _CPP_NAMES.get(meta.dtype.name, meta.dtype.name),
            _CPP_NAMES.get(target._meta.dtype.name, target._meta.dtype.name),
        )
        raise RuntimeError(
            f"Expected out tensor to have dtype {expected}, but got {found} instead ({op.name}(out=...))"
        )
    if not can_cast(meta.dtype, target._meta.dtype):
        raise RuntimeError(
            f"result type {title(meta.dtype)} can't be cast to the desired output type {title(target._meta.dtype)}"
        )


def resize_out(target: Any, meta: Meta) -> None:
    """Give an `out=` tensor the shape of the result; a warning when it had elements of another shape."""
    if target._meta.numel:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(target._meta.shape)}, "
            "which does not match the"
            f" required output shape {list(meta.shape)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not"
            " be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing "
            "it, inplace, to zero"
            " elements with t.resize_(0).",
            UserWarning,
            stacklevel=user_level(),
        )
    resize(target, meta.shape, meta.strides)


def resize(target: Any, shape: Any, strides: Any = None) -> None:
    """Give a tensor another shape in its own storage, which grows when it must; new elements are zero."""
    if target._meta.is_sparse:
        raise not_for_sparse("resize_", target._meta)
    meta = Meta.of(tuple(shape), target._meta.dtype, target._meta.device, strides)
    if meta.device is META:
        target._meta = meta
        return
    last = sum((size - 1) * stride for size, stride in zip(meta.shape, meta.strides, strict=True)) if meta.numel else -1
    needed = (target._offset + last + 1) * meta.dtype.itemsize
    storage: Storage = target._storage
    if needed > storage.nbytes:
        storage.resize(needed)
    target._meta = meta
    target._array = view_of(storage, meta, target._offset)


__all__ = [
    "NO_SETTINGS",
    "InPlace",
    "allocate",
    "check_writable",
    "forget_plans",
    "plan_of",
    "resize",
    "run",
    "run_in_place",
    "run_out",
    "wrote",
]
