"""Which attention runs on kernels: how its operands become panels, and in what layout its results are."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.attention import SIZES, AttentionForward, attention_tile, key_block
from pellucid.engine.backends.cpu.attention_gradient import ARGUMENTS, TILES, AttentionBackward
from pellucid.engine.backends.cpu.gemm_panels import Panels
from pellucid.engine.backends.cpu.packing import workspace
from pellucid.engine.backends.cpu.registry import kernel
from pellucid.engine.core.data import allocate
from pellucid.engine.core.dtypes import bool_, float32, float64
from pellucid.engine.core.meta import Meta

_AXES = ("batch", "head", "row")


@functools.cache
def _kernel(itemsize: int, masked: bool, backward: bool) -> jit.Kernel:
    tile = attention_tile(itemsize)
    if backward:
        return jit.Kernel("attention_gradient", (tile, masked), "p" * 15 + "dw", AttentionBackward(tile, masked))
    return jit.Kernel("attention", (tile, masked), "p" * 7 + "dw", AttentionForward(tile, masked))


class AttentionPlan:
    """Sizes and panels of one attention; operands are (batch, heads, rows, width) whose width adjoins."""

    def __init__(self, query: Meta, key: Meta, value: Meta, mask: Meta | None, result: Meta, causal: bool) -> None:
        self.itemsize = 8 if query.dtype is float64 else 4
        self.kind = query.dtype.numpy
        self.tile = tile = attention_tile(self.itemsize)
        batch, heads, queries, depth = query.shape
        keys, values = value.shape[2:]
        self.shape = (batch, heads, queries, keys)
        self.count, self.heads, self.queries, self.keys = batch * heads, heads, queries, keys
        self.depth, self.values = depth, values
        self.masked = mask is not None
        tiles = math.ceil(queries / tile.rows)
        self.sizes = {
            "heads": heads, "queries": queries, "keys": keys, "depth": depth, "values": values, "tiles": tiles,
            "q_panels": tiles, "k_panels": math.ceil(keys / tile.width), "v_panels": math.ceil(values / tile.width),
            "d_panels": math.ceil(depth / tile.width), "causal": int(causal), "mask_batch": 0, "mask_head": 0,
            "mask_row": 0,
            **dict.fromkeys([f"{x}_{y}" for x in ("dy", "q", "k", "v") for y in _AXES], 0),
            **_steps("y", result),
        }  # fmt: skip
        self.mask_shape = None if mask is None else (*[1] * (4 - mask.ndim), *mask.shape)
        if self.mask_shape is not None:
            *lead, columns = self.mask_shape
            dense = [lead[1] * lead[2] * keys, lead[2] * keys, keys]
            steps = [0 if size == 1 else step for size, step in zip(lead, dense, strict=True)]
            self.sizes |= dict(zip(("mask_batch", "mask_head", "mask_row"), steps, strict=True))

    def panels(self, meta: Meta, width: int, along_rows: bool) -> Any:
        """What packs an operand: `along_rows`, its rows are cut into panels (the width is k), else its columns are."""
        rows, columns = meta.shape[2:]
        outer, inner, row, _ = meta.strides
        batches = (meta.shape[1], outer)
        if along_rows:
            return Panels(self.itemsize, width, self.count, rows, columns, (inner, row, 1), batches).pack
        return Panels(self.itemsize, width, self.count, columns, rows, (inner, 1, row), batches).pack

    def additive(self, mask: np.ndarray) -> np.ndarray:
        """The mask as numbers to add, its last axis spelled out."""
        if mask.dtype == np.bool_:
            mask = np.where(mask, self.kind.type(0), self.kind.type(-np.inf))
        assert self.mask_shape is not None
        spelled = np.broadcast_to(mask.reshape(self.mask_shape), (*self.mask_shape[:3], self.keys))
        return np.ascontiguousarray(spelled, dtype=self.kind)

    def slot(self, elements: int) -> int:
        """The bytes of a slot that holds so many elements, wherever it begins."""
        return math.ceil((elements * self.itemsize + 128) / 64) * 64


def _steps(prefix: str, meta: Meta) -> dict[str, int]:
    """The element steps of (batch, head, row)."""
    return {f"{prefix}_{name}": meta.strides[axis] for axis, name in enumerate(_AXES)}


def _taken(operands: list[Meta], mask: Meta | None) -> bool:
    kinds = {meta.dtype for meta in operands}
    if len(kinds) != 1 or not kinds <= {float32, float64} or not all(meta.numel for meta in operands):
        return False
    adjoin = all(meta.ndim == 4 and (meta.strides[3] == 1 or meta.shape[3] == 1) for meta in operands)
    return adjoin and (mask is None or (mask.numel > 0 and mask.dtype in (bool_, operands[0].dtype)))


@kernel("attention")
def attention(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Attention without the matrix of weights."""
    query, key, value, *rest = metas
    mask = rest[0] if rest else None
    if not _taken([query, key, value], mask):
        return None
    plan = AttentionPlan(query, key, value, mask, results[0], settings["is_causal"])
    tile, pitch = plan.tile, plan.sizes["v_panels"] * plan.tile.width
    slot = plan.slot(tile.rows * (key_block(tile) + tile.lanes + 3 + pitch))
    pack_q = plan.panels(query, tile.rows, True)
    pack_k = plan.panels(key, tile.width, True)
    pack_v = plan.panels(value, tile.width, False)
    call = _kernel(plan.itemsize, plan.masked, False).call
    items = plan.count * plan.sizes["tiles"]
    chunk = max(1, 200_000 // (tile.rows * plan.keys * (plan.depth + plan.values)))
    work = jit.extents(items, chunk, *SIZES.order(plan.sizes), release=items > chunk)
    scale = float(settings["scale"])

    def run(arrays: list[Any], settings: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        query, key, value = arrays[:3]
        y, lse = allocate(results[0]), allocate(results[1])
        added = y if mask is None else plan.additive(arrays[3])
        call(y, lse, pack_q(query), pack_k(key), pack_v(value), added, workspace.of(slot), scale, work)
        return y, lse

    return run


@kernel("attention_gradients")
def attention_gradients(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """The gradients of queries, keys and values."""
    dy, query, key, value, y, _, *rest = metas
    mask = rest[0] if rest else None
    if not _taken([dy, query, key, value, y], mask):
        return None
    plan = AttentionPlan(query, key, value, mask, y, settings["is_causal"])
    tile = plan.tile
    for prefix, meta in zip(("q", "k", "v", "dy"), (*results, dy), strict=True):
        plan.sizes |= _steps(prefix, meta)
    rows, wide = tile.rows * TILES, plan.sizes["d_panels"] * tile.width
    wide_values, step = plan.sizes["v_panels"] * tile.width, key_block(tile) + tile.lanes
    keys = plan.keys + tile.rows
    slot = plan.slot(rows * (2 * step + 1 + wide) + keys * (wide + wide_values) + 4 * tile.lanes)
    packs = [
        plan.panels(query, tile.rows, True), plan.panels(query, tile.width, False),
        plan.panels(key, tile.width, True), plan.panels(key, tile.width, False),
        plan.panels(value, tile.width, True),
        plan.panels(dy, tile.rows, True), plan.panels(dy, tile.width, False),
    ]  # fmt: skip
    sources = [1, 1, 2, 2, 3, 0, 0]
    call = _kernel(plan.itemsize, plan.masked, True).call
    work = jit.extents(plan.count, 1, *SIZES.order(plan.sizes), release=True)
    scale = float(settings["scale"])
    assert len(ARGUMENTS) == 7 + len(packs)

    def run(arrays: list[Any], settings: dict[str, Any]) -> tuple[np.ndarray, ...]:
        found = tuple([allocate(each) for each in results])
        panels = [pack(arrays[source]) for pack, source in zip(packs, sources, strict=True)]
        added = found[0] if mask is None else plan.additive(arrays[6])
        call(*found, arrays[0], arrays[4], arrays[5], *panels, added, workspace.of(slot), scale, work)
        return found

    return run
