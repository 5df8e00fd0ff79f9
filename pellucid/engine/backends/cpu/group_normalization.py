"""Group normalisation: a group of channels of one sample is a run of adjacent elements, visited once per pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import at, carrying, counting, i64
from pellucid.engine.backends.cpu.normalization import GRAIN, UNUSED, Rows, are_dense, build, dense, moments
from pellucid.engine.backends.cpu.registry import kernel, rule_kernel
from pellucid.engine.backends.cpu.span import SUM
from pellucid.engine.core.data import allocate, wrap
from pellucid.engine.core.meta import Meta


def _forward(has_weight: bool, has_bias: bool) -> Callable[[Rows, Any], None]:
    def write(rows: Rows, item: Any) -> None:
        b, span = rows.builder, rows.span
        out, centres, scales, x, weight, bias = rows.arrays
        count, channels, groups = rows.size(0), rows.size(1), rows.size(2)  # elements of a channel, channels of a group
        offset = b.mul(item, b.mul(count, channels))
        source, target = at(b, x, offset), at(b, out, offset)
        centre, scale = moments(rows, i64(1), i64(0), source, b.mul(count, channels), rows.numbers[0])
        b.store(centre, at(b, centres, item))
        b.store(scale, at(b, scales, item))
        first = b.mul(b.urem(item, groups), channels)
        with counting(b, 0, channels, name="channel") as channel:
            factor = b.load(at(b, weight, b.add(first, channel))) if has_weight else None
            shift = b.load(at(b, bias, b.add(first, channel))) if has_bias else None
            run = b.mul(channel, count)
            origin, place = at(b, source, run), at(b, target, run)

            def value(index: Any, lanes: int) -> None:
                hat = b.fmul(b.fsub(span.load(origin, index, lanes), span.wide(centre, lanes)), span.wide(scale, lanes))
                hat = hat if factor is None else b.fmul(hat, span.wide(factor, lanes))
                hat = hat if shift is None else b.fadd(hat, span.wide(shift, lanes))
                span.store(hat, place, index, lanes)

            span.each(count, value)

    return write


def _sizes(x: Meta, groups: int) -> tuple[int, int, int]:
    """Elements of a channel of one sample, channels of a group, and groups of all samples."""
    channels = x.shape[1] // groups
    return x.numel // (x.shape[0] * x.shape[1]), channels, x.shape[0] * groups


@kernel("group_norm")
def group_norm(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Rows of adjacent floats."""
    x, weight, bias = metas
    if not dense(x, weight, bias):
        return None
    count, channels, items = _sizes(x, settings["groups"])
    spec = (weight is not None, bias is not None)
    call = build("group_norm", spec, x.dtype, "ppppppdw", _forward(*spec)).call
    chunk = max(1, GRAIN // (count * channels))
    work = jit.extents(items, chunk, count, channels, settings["groups"], release=x.numel > 100_000)
    eps = float(settings["eps"])

    def run(arrays: list[Any], given: dict[str, Any]) -> Any:
        out = [allocate(each) for each in results]
        call(*out, *[UNUSED if each is None else each for each in arrays], eps, work)
        return tuple(out)

    return run


def _backward(has_weight: bool) -> Callable[[Rows, Any], None]:
    """dx of a group, and what each of its channels adds to the gradients of weight and bias."""

    def write(rows: Rows, item: Any) -> None:
        b, span = rows.builder, rows.span
        dx, dweight, dbias, dy, x, weight, centres, scales = rows.arrays
        count, channels, groups = rows.size(0), rows.size(1), rows.size(2)
        offset = b.mul(item, b.mul(count, channels))
        given, source, target = [at(b, each, offset) for each in (dy, x, dx)]
        centre, scale = b.load(at(b, centres, item)), b.load(at(b, scales, item))
        first, own = b.mul(b.urem(item, groups), channels), b.mul(item, channels)

        def hat(run: Any, index: Any, lanes: int) -> Any:
            distance = b.fsub(span.load(at(b, source, run), index, lanes), span.wide(centre, lanes))
            return b.fmul(distance, span.wide(scale, lanes))

        def factor(channel: Any) -> Any:
            return b.load(at(b, weight, b.add(first, channel))) if has_weight else rows.number(1.0)

        with carrying(b, 0, channels, [rows.number(0.0)] * 2, name="channel") as loop:
            run = b.mul(loop.index, count)

            def folded(index: Any, lanes: int) -> list[Any]:
                found = span.load(at(b, given, run), index, lanes)
                return [found, b.fmul(found, hat(run, index, lanes))]

            sums = span.fold(count, [SUM, SUM], folded)
            b.store(sums[0], at(b, dbias, b.add(own, loop.index)))
            b.store(sums[1], at(b, dweight, b.add(own, loop.index)))
            weighted = factor(loop.index)
            loop.next = [b.fadd(old, b.fmul(new, weighted)) for old, new in zip(loop.values, sums, strict=True)]
        level, tilt = [b.fdiv(each, rows.as_float(b.mul(count, channels))) for each in loop.values]
        with counting(b, 0, channels, name="channel") as channel:
            run, scaled = b.mul(channel, count), factor(channel)

            def slope(index: Any, lanes: int) -> None:
                inner = b.fmul(span.load(at(b, given, run), index, lanes), span.wide(scaled, lanes))
                inner = b.fsub(
                    b.fsub(inner, span.wide(level, lanes)), b.fmul(hat(run, index, lanes), span.wide(tilt, lanes))
                )
                span.store(b.fmul(inner, span.wide(scale, lanes)), at(b, target, run), index, lanes)

            span.each(count, slope)

    return write


@rule_kernel("group_norm_gradients")
def group_norm_gradients(rule: Any, arguments: dict[str, Any]) -> Any:
    """All three gradients, a group at a time."""
    dy, x, weight, needs = arguments["dy"], arguments["x"], arguments["weight"], arguments["needs"]
    if not are_dense(dy, x, weight, arguments["centre"]):
        return None
    meta: Meta = x._meta
    groups = arguments["groups"]
    count, channels, items = _sizes(meta, groups)
    call = build(
        "group_norm_gradients", weight is not None, meta.dtype, "ppppppppw", _backward(weight is not None)
    ).call
    chunk = max(1, GRAIN // (count * channels))
    work = jit.extents(items, chunk, count, channels, groups, release=meta.numel > 100_000)
    kind, parameter = meta.dtype.numpy, Meta.of((meta.shape[1],), meta.dtype)

    def run(given: dict[str, Any]) -> Any:
        dx, dweight, dbias = allocate(meta), np.empty(meta.shape[:2], kind), np.empty(meta.shape[:2], kind)
        scale = given["weight"]
        call(
            dx,
            dweight,
            dbias,
            given["dy"]._array,
            given["x"]._array,
            UNUSED if scale is None else scale._array,
            given["centre"]._array,
            given["scale"]._array,
            work,
        )
        found = (wrap(dx, meta), wrap(dweight.sum(0), parameter), wrap(dbias.sum(0), parameter))
        return tuple([each if need else None for each, need in zip(found, needs, strict=False)])

    return run
