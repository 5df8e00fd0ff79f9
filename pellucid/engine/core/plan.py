"""Plans: what is decided once for an operator, its operands' metas and its settings — result metas, casts, and the
kernel to call.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from pellucid.engine.core import dtypes, kernels
from pellucid.engine.core.data import TensorData, allocate
from pellucid.engine.core.device import CPU, META, device
from pellucid.engine.core.dtypes import FLOAT8, HALF, dtype
from pellucid.engine.core.meta import Meta, broadcast_shapes, pointwise_strides
from pellucid.engine.core.promotion import common_type, title
from pellucid.engine.core.sparse import SparseMeta, form_of

Kernel = Callable[[list[Any], dict[str, Any]], Any]


class Plan:
    """A prepared call: `kernel(arrays, settings)` gives the array(s) of `metas`; for views, `views` has the offsets
    instead.
    """

    __slots__ = (
        "differentiable", "dynamic", "into", "kernel", "metas", "operand_metas", "other", "plain", "recipes", "single",
        "views",
    )  # fmt: skip

    def __init__(
        self, op: Any, operand_metas: tuple[Any, ...], metas: tuple[Meta, ...], kernel: Any, views: Any = None
    ) -> None:
        self.operand_metas = operand_metas
        self.metas = metas
        self.kernel: Kernel = kernel
        self.into: Callable[..., Any] | None = None  # the same into an array with the result's strides
        self.views: list[int] | None = views
        self.other: Callable[..., Any] | None = None  # what is called instead where an operand is sparse
        self.single = op.kind in ("pointwise", "view") or (op.kind == "general" and len(op.outputs) == 1)
        self.dynamic: bool = op.dynamic
        self.plain = (
            self.single and not self.dynamic and views is None
        )  # one new tensor with the meta that is known already
        self.differentiable = not (op.zero_gradient or op.dynamic) and any(meta.dtype.category >= 2 for meta in metas)
        self.recipes: dict[Any, Any] = {}


def make_plan(op: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> Plan:
    """Validate the operands and decide how the operator runs on them; its errors are the user's."""
    metas = tuple([x._meta if isinstance(x, TensorData) else x for x in operands])
    if any([isinstance(meta, SparseMeta) for meta in metas]):
        return _plan_sparse(op, metas)
    if any([isinstance(meta, Meta) and meta.is_sample for meta in metas]):
        return _plan_of_samples(op, metas, settings)
    return _plan(op, metas, settings)


def _plan(op: Any, metas: tuple[Any, ...], settings: dict[str, Any]) -> Plan:
    where = _device_of(op, metas)
    if op.kind == "pointwise":
        return _plan_pointwise(op, metas, where, settings)
    if op.kind in ("view", "views"):
        return _plan_view(op, metas, settings)
    return _plan_general(op, metas, where, settings)


def _plan_of_samples(op: Any, metas: tuple[Any, ...], settings: dict[str, Any]) -> Plan:
    """Of tensors inside vmap, which have no array: everything but a kernel."""
    where = next(meta.device for meta in metas if isinstance(meta, Meta))
    bare = tuple([Meta.of(m.shape, m.dtype, META, m.strides) if isinstance(m, Meta) else m for m in metas])
    if op.dynamic:
        found = op.meta_rule(*bare, **settings)
        results, views = (found,) if isinstance(found, Meta) else tuple(found), None
    else:
        plan = _plan(op, bare, settings)
        results, views = plan.metas, plan.views
    results = tuple([Meta.of(meta.shape, meta.dtype, where, meta.strides) for meta in results])
    return Plan(op, metas, results, _refuse_sample, views)


def _refuse_sample(arrays: list[Any], settings: dict[str, Any]) -> NoReturn:
    raise RuntimeError(
        "Either your tensor may have escaped from inside a function being vmapped and this is a user error (return it "
        "from the function instead), or its numbers were needed inside vmap, where it stands for many tensors."
    )


def _plan_sparse(op: Any, metas: tuple[Any, ...]) -> Plan:
    plan = Plan(op, metas, (), None)
    plan.metas = (None,)  # type: ignore[assignment]  # equal to no tensor's: what comes out, `other` decides
    plan.other = form_of(op, metas)
    plan.plain = plan.dynamic = False
    return plan


def _device_of(op: Any, metas: tuple[Any, ...]) -> device:
    known = [meta for meta in metas if isinstance(meta, Meta)]
    deciding = [
        meta.device for meta in known if meta.ndim or meta.device is META
    ]  # a zero-dim CPU tensor goes with any
    for where in deciding:
        if where is not deciding[0]:
            raise RuntimeError(
                f"Tensor on device {where} is not on the expected device {deciding[0]}! {op.name} got "
                f"{_describe(metas)}: move one of"
                f" them, for example with .to('{deciding[0]}')."
            )
    return deciding[0] if deciding else CPU


def _describe(metas: tuple[Any, ...]) -> str:
    return ", ".join([f"{list(m.shape)} on {m.device}" if isinstance(m, Meta) else repr(m) for m in metas])


_ACCEPTS: dict[str, Callable[[dtype], bool]] = {
    "integral": lambda kind: kind.category <= 1,
    "real": lambda kind: kind.category != 3,
    "floating": lambda kind: kind.category >= 2,
    "number": lambda kind: kind is not dtypes.bool_,
    "real number": lambda kind: kind.category in (1, 2),
    "real floating": lambda kind: kind.category == 2,
}


# What PyTorch computes on float8, a type for storing: anything else needs .to(torch.float32) first.
_FLOAT8_OPERATORS = frozenset(("abs", "conj", "conj_physical", "eq", "isnan", "mul", "ne", "where"))


def pointwise_types(op: Any, metas: tuple[Any, ...], where: device) -> tuple[Meta, list[dtype | None]]:
    """The result's meta and the type in which each operand is computed with (None: as it is)."""
    known = [meta for meta in metas if isinstance(meta, Meta)]
    deciding = [m for name, m in zip(op.operands, metas, strict=False) if op.promote is None or name in op.promote]
    common = common_type([m if isinstance(m, Meta) else number_type(type(m)) for m in deciding if m is not None])
    refused = op.accepts is not None and not _ACCEPTS[op.accepts](common)
    if refused or (common in FLOAT8 and op.name not in _FLOAT8_OPERATORS):
        raise NotImplementedError(
            f"\"{op.name}_cpu\" not implemented for '{title(common)}' (operands: {_describe(metas)})"
        )
    result = _result_type(op.result, common)
    if op.result in ("float", "float_real") and common.category < 2:
        common = dtypes.get_default_dtype()
    shape = broadcast_shapes(*[meta.shape for meta in known])
    alike = len(known) == len(metas) or len(metas) != 2 or op.name == "pow_scalar"
    plain = op.name == "pow" and not isinstance(metas[0], Meta)  # a number's powers are row-major in PyTorch
    meta = Meta.of(shape, result, where, None if plain else pointwise_strides(shape, known, alike))
    compute = dtypes.float32 if common in HALF and op.half == "upcast" else common
    casts = [
        compute if op.promote is None or name in op.promote else None
        for name, _ in zip(op.operands, metas, strict=False)
    ]
    return meta, casts


def _plan_pointwise(op: Any, metas: tuple[Any, ...], where: device, settings: dict[str, Any]) -> Plan:
    meta, casts = pointwise_types(op, metas, where)
    if where is META:
        return Plan(op, metas, (meta,), _no_data)
    reference = _pointwise_kernel(op.body, metas, casts, meta)
    backend = kernels.of_cpu()
    compiled = backend.pointwise_kernel(op, metas, casts, meta, settings, reference) if backend else None
    plan = Plan(op, metas, (meta,), compiled[0] if compiled else reference)
    plan.into = compiled[1] if compiled else None
    if op.numbers == "rounded" and dtypes.float32 in casts:
        _round_numbers(plan, metas, settings)
    return plan


def _round_numbers(plan: Plan, metas: tuple[Any, ...], settings: dict[str, Any]) -> None:
    """Make a plan on half types round its numbers, and zero-dim tensors of other types, to the half type first."""
    known = [each for each in metas if isinstance(each, Meta)]
    kind = next((each.dtype for each in known if each.dtype in HALF), None)
    if kind is None:
        return
    half = kind.numpy
    places = [i for i, each in enumerate(metas) if not isinstance(each, Meta) or (not each.ndim and each.dtype != kind)]
    if any([isinstance(each, Meta) and each.dtype is not kind and each.ndim for each in metas]):
        return  # promoted: the half operand is not the one that decides
    names = [name for name, value in settings.items() if value.__class__ is float]
    if not places and not names:
        return
    kernel, into = plan.kernel, plan.into

    def rounded(arrays: list[Any], settings: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        arrays = list(arrays)
        for i in places:
            x = arrays[i]
            arrays[i] = x.astype(half).astype(x.dtype) if x.__class__ is np.ndarray else float(number_as(x, half))
        for name in names:
            settings = {**settings, name: float(number_as(settings[name], half))}
        return arrays, settings

    plan.kernel = lambda arrays, settings: kernel(*rounded(arrays, settings))
    if into is not None:
        plan.into = lambda out, arrays, settings: into(out, *rounded(arrays, settings))


def _result_type(result: Any, common: dtype) -> dtype:
    if result == "promoted":
        return common
    if result == "float":
        return common if common.category >= 2 else dtypes.get_default_dtype()
    if result == "float_real":
        return common.to_real() if common.category >= 2 else dtypes.get_default_dtype()
    if result == "bool":
        return dtypes.bool_
    if result == "real":
        return common.to_real()
    return result(common)


def number_type(kind: type) -> type:
    """The Python type that a number's type stands for in promotion: NumPy's scalars count as Python's."""
    if kind in (bool, int, float, complex):
        return kind
    for python, family in ((bool, np.bool_), (int, np.integer), (complex, np.complexfloating), (float, np.floating)):
        if issubclass(kind, (python, family)):
            return python
    raise TypeError(f"expected a Tensor or a number, got '{kind.__name__}'")


def number_as(value: Any, kind: np.dtype) -> Any:
    """A Python number as a NumPy scalar; integers wrap around as PyTorch's do."""
    if hasattr(value, "graph"):  # a traced number stays one
        return value.astype(kind)
    try:
        return kind.type(value)
    except (OverflowError, TypeError, ValueError):
        if kind.kind in "iu":
            whole = int(value) % (1 << (8 * kind.itemsize))
            return np.array(whole, np.dtype(f"u{kind.itemsize}")).astype(kind)[()]
        return np.asarray(value).astype(kind)[()]


class _Quiet(threading.local):
    """Contexts in which NumPy's floating-point warnings are off; entering one costs a tenth of `np.errstate`.

    A context cannot be entered twice at once, so a call takes one and brings it back; a finalizer that computes
    meanwhile makes another.
    """

    def __init__(self) -> None:
        self.contexts: list[contextvars.Context] = []


_quiet = _Quiet()


def _quiet_context() -> contextvars.Context:
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    return context


def quietly(function: Callable[..., Any], *args: Any, **settings: Any) -> Any:
    """What `function` returns, without NumPy's warnings of overflow, division by zero and the like."""
    contexts = _quiet.contexts
    context = contexts.pop() if contexts else _quiet_context()
    result = context.run(function, *args, **settings)
    contexts.append(context)
    return result


def _pointwise_kernel(body: Any, metas: tuple[Any, ...], casts: list[dtype | None], meta: Meta) -> Kernel:
    conversions = [_conversion(x, cast) for x, cast in zip(metas, casts, strict=True)]
    if not any(conversions):
        return _plain_kernel(body, meta)

    def kernel(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        contexts = _quiet.contexts
        context = contexts.pop() if contexts else _quiet_context()
        result = context.run(converted, arrays, settings)
        contexts.append(context)
        return result

    def converted(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        ready = [x if convert is None else convert(x) for x, convert in zip(arrays, conversions, strict=True)]
        return settle(body(*ready, **settings), meta, arrays)

    return kernel


def _conversion(given: Any, cast: dtype | None) -> Callable[[Any], Any] | None:
    """How an operand becomes the type of the computation; None where it stays as it is."""
    if given is None or cast is None or (isinstance(given, Meta) and given.dtype is cast):
        return None
    target = cast.numpy
    return (lambda x: x.astype(target)) if isinstance(given, Meta) else (lambda x: number_as(x, target))


def _plain_kernel(body: Any, meta: Meta) -> Kernel:
    shape, strides, kind = tuple(meta.shape), meta.byte_strides, meta.dtype.numpy

    def kernel(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        contexts = _quiet.contexts
        context = contexts.pop() if contexts else _quiet_context()
        result = context.run(body, *arrays, **settings)
        contexts.append(context)
        if result.__class__ is not _ndarray or result.strides != strides or result.base is not None:
            return quietly(settle, result, meta, arrays)
        if result.dtype != kind or result.shape != shape:
            return quietly(settle, result, meta, arrays)
        for x in arrays:
            if x is result:
                return settle(result, meta, arrays)
        return result

    return kernel


_ndarray = np.ndarray


def settle(result: Any, meta: Meta, arrays: list[Any]) -> np.ndarray:
    """A body's result as a dense array of its own with the dtype and strides of `meta`."""
    if result.__class__ is not np.ndarray:
        result = np.asarray(result)
    if result.dtype != meta.dtype.numpy:
        result = result.astype(meta.dtype.numpy)
    if result.shape != meta.shape:
        if result.size == 1 or meta.numel == 0 or result.ndim <= meta.ndim:
            result = np.broadcast_to(result, meta.shape)
        else:
            raise AssertionError(f"a body returned shape {result.shape} where its meta says {meta}")
    if result.strides == meta.byte_strides or (meta.is_contiguous and result.flags.c_contiguous):
        if not _shares_memory(result, arrays):
            return result
    fresh = allocate(meta)
    np.copyto(fresh, result)
    return fresh


def _shares_memory(result: np.ndarray, arrays: list[Any]) -> bool:
    owns = result.base is None
    if not owns and not result.flags.writeable:
        return True
    for x in arrays:
        if x is result or (not owns and x.__class__ is np.ndarray and np.may_share_memory(result, x)):
            return True
    return False


def _no_data(arrays: list[Any], settings: dict[str, Any]) -> None:
    return None


def _plan_general(op: Any, metas: tuple[Any, ...], where: device, settings: dict[str, Any]) -> Plan:
    if op.meta_rule is None:
        raise AssertionError(f"operator {op.name} has no meta rule")
    found = op.meta_rule(*metas, **settings)
    results: tuple[Meta, ...] = (found,) if isinstance(found, Meta) else tuple(found)
    if where is META and op.dynamic:
        raise NotImplementedError(
            f"{op.name}: the shape of the result depends on the data, and tensors on the meta device have none"
        )
    if where is META or any(meta.device is META for meta in results):
        count = len(results)
        return Plan(op, metas, results, _no_data if len(op.outputs) == 1 else lambda arrays, settings: (None,) * count)
    backend = None if op.dynamic else kernels.of_cpu()
    kernel = backend.kernel_for(op, metas, results, settings) if backend else None
    plan = Plan(op, metas, results, kernel or _general_kernel(op, metas, results))
    plan.into = getattr(kernel, "into", None)
    return plan


def _general_kernel(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...]) -> Kernel:
    upcast = op.half == "upcast" and any(isinstance(x, Meta) and x.dtype in HALF for x in metas)
    single = len(op.outputs) == 1

    def kernel(arrays: list[Any], settings: dict[str, Any]) -> Any:
        return quietly(settled, arrays, settings)

    def settled(arrays: list[Any], settings: dict[str, Any]) -> Any:
        found = op.body(*([_widen(x) for x in arrays] if upcast else arrays), **settings)
        if op.dynamic:
            return _settle_dynamic(found, results, arrays)
        if single:
            return settle(found, results[0], arrays)
        return tuple([settle(each, meta, arrays) for each, meta in zip(found, results, strict=True)])

    return kernel


def _settle_dynamic(found: Any, results: tuple[Meta, ...], arrays: list[Any]) -> Any:
    several = found if isinstance(found, tuple) else (found,)
    metas = [meta.like(np.shape(each)) for each, meta in zip(several, results, strict=True)]
    settled = tuple([settle(each, meta, arrays) for each, meta in zip(several, metas, strict=True)])
    return settled if isinstance(found, tuple) else settled[0]


_HALF_NUMPY = frozenset(kind.numpy for kind in HALF)


def _widen(x: Any) -> Any:
    return x.astype(np.float32) if x.__class__ is np.ndarray and x.dtype in _HALF_NUMPY else x


def _plan_view(op: Any, metas: tuple[Any, ...], settings: dict[str, Any]) -> Plan:
    source = metas[0]
    found = op.body(source, **settings)
    rows = found if op.kind == "views" else [found]
    results = tuple([_view_meta(source, *row) for row in rows])
    return Plan(op, metas, results, None, [row[2] for row in rows])


def _view_meta(source: Meta, shape: Any, strides: Any, offset: int, kind: dtype | None = None) -> Meta:
    return Meta.of(tuple(shape), kind or source.dtype, source.device, tuple(strides))
