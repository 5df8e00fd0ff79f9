"""`vmap`: a function of one sample as a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import pellucid
from pellucid import Tensor
from pellucid.engine.core.batching import VmapLevel, batched, move, repeated
from pellucid.engine.core.modes import state
from pellucid.utils._pytree import TreeSpec, tree_flatten, tree_unflatten
from pellucid.utils._pytree import _broadcast_to_and_flatten as spread

Dims = Any  # an int, None, or a nested collection of them


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that runs `func` on every sample of a batch at once: `func` sees its inputs without the batch axis.

    `in_dims` says which axis of each input counts the samples (None: the input is the same for all), nested as the
    inputs are; `out_dims` where it stands in the outputs. `randomness` is "error", "same" or "different" numbers per
    sample. With `chunk_size`, so many samples at a time.

    >>> import pellucid as torch
    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.arange(6.0).view(2, 3))
    tensor([ 3., 12.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got randomness {randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, assigned=[each for each in functools.WRAPPER_ASSIGNMENTS if hasattr(func, each)], updated=())
    def mapped_function(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(out_dims, func)
        size, dims, leaves, structure = _inputs(in_dims, args, func)
        if chunk_size is None:
            return _once(func, size, dims, leaves, structure, out_dims, randomness, kwargs)
        return _in_chunks(func, size, dims, leaves, structure, out_dims, randomness, kwargs, chunk_size)

    return mapped_function


def name_of(func: Any) -> str:
    """What error messages call a function."""
    if hasattr(func, "__name__"):
        return str(func.__name__)
    if isinstance(func, functools.partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    return repr(func)


def _check_out_dims(out_dims: Dims, func: Any) -> None:
    for each in tree_flatten(out_dims)[0]:
        if each is not None and not isinstance(each, int):
            raise ValueError(
                f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should appear."
            )


def _inputs(in_dims: Dims, args: tuple[Any, ...], func: Any) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """The number of samples, and per flattened input the axis that counts them."""
    called = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{called}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, structure = tree_flatten(args)
    dims = spread(in_dims, structure)
    if dims is None:
        raise ValueError(
            f"{called}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {structure}."
        )
    dims = [_checked(called, leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]
    return _batch_size(leaves, dims), dims, leaves, structure


def _checked(called: str, leaf: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{called}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{called}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"{called}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} so "
            f"expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
        )
    return dim % leaf.dim()


def _batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    sizes = [leaf.size(dim) for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return int(sizes[0])


@contextmanager
def vmap_level(size: int, randomness: str = "error") -> Iterator[VmapLevel]:
    """A vmap over `size` samples that runs while the block does."""
    level = VmapLevel(size, randomness)
    state.stack.append(level)
    state.transforms += 1
    try:
        yield level
    finally:
        state.transforms -= 1
        state.stack.pop()
        level.close()


def _once(
    func: Any,
    size: int,
    dims: list[int | None],
    leaves: list[Any],
    structure: TreeSpec,
    out_dims: Dims,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    with vmap_level(size, randomness) as level:
        inputs = [leaf if dim is None else batched(leaf, dim, level) for leaf, dim in zip(leaves, dims, strict=True)]
        outputs = func(*tree_unflatten(inputs, structure), **kwargs)
    return _outputs(outputs, out_dims, level, func)


def _outputs(outputs: Any, out_dims: Dims, level: VmapLevel, func: Any) -> Any:
    leaves, structure = tree_flatten(outputs)
    dims = _dims_of_outputs(outputs, out_dims, structure, func)
    return tree_unflatten(
        [_unwrapped(leaf, dim, level, name_of(func)) for leaf, dim in zip(leaves, dims, strict=True)], structure
    )


def _dims_of_outputs(outputs: Any, out_dims: Dims, structure: TreeSpec, func: Any) -> list[Any]:
    def refuse() -> NoReturn:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {structure}."
        )

    if isinstance(outputs, Tensor):
        if out_dims is None or isinstance(out_dims, int):
            return [out_dims]
        if isinstance(out_dims, tuple) and len(out_dims) == 1:
            return list(out_dims)
        refuse()
    found = spread(out_dims, structure)
    return found if found is not None else refuse()


def _unwrapped(output: Any, dim: int | None, level: VmapLevel, name: str) -> Any:
    """What stands for the samples in the caller's world, with the batch axis at `dim`."""
    if dim is None:
        if isinstance(output, Tensor) and level.physical(output)[1] is not None:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return level.physical(output)[0] if isinstance(output, Tensor) else output
    if not isinstance(output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    value, axis = level.physical(output)
    if axis is None:
        value, axis = repeated(value, level.size), 0
    rank = value.dim()
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim}) for out_dims"
        )
    return move(value, axis, dim % rank)


def _in_chunks(
    func: Any,
    size: int,
    dims: list[int | None],
    leaves: list[Any],
    structure: TreeSpec,
    out_dims: Dims,
    randomness: str,
    kwargs: dict[str, Any],
    chunk_size: int,
) -> Any:
    starts = range(0, max(size, 1), chunk_size)
    chunks = []
    before = pellucid.get_rng_state() if randomness == "same" else None
    for start in starts:
        length = min(chunk_size, size - start)
        part = [
            leaf if dim is None else leaf.narrow(dim, start, length) for leaf, dim in zip(leaves, dims, strict=True)
        ]
        if before is not None:
            pellucid.set_rng_state(before)
        chunks.append(tree_flatten(_once(func, length, dims, part, structure, out_dims, randomness, kwargs)))
    return _joined(chunks, out_dims)


def _joined(chunks: Sequence[tuple[list[Any], TreeSpec]], out_dims: Dims) -> Any:
    structure = chunks[0][1]
    dims = spread(out_dims, structure)
    if dims is None:
        dims = tree_flatten(out_dims)[0] * structure.num_leaves
    columns = zip(*[leaves for leaves, _ in chunks], strict=True)
    joined = [
        column[0] if dim is None else pellucid.cat(column, dim=dim) for column, dim in zip(columns, dims, strict=True)
    ]
    return tree_unflatten(joined, structure)
