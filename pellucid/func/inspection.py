"""`functionalize`, and what a tensor of a transform stands for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pellucid.engine.core.batching import is_batched


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that computes what `func` does, with the same effects on its arguments.

    PyTorch's transform matters to programs that are traced: the trace then has no in-place operators. Eager calls show
    no difference between `func` and its functionalized form, so that `func` itself runs here.

    >>> import pellucid as torch
    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced "
            "with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be "
            "replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func, assigned=[each for each in functools.WRAPPER_ASSIGNMENTS if hasattr(func, each)], updated=())
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functionalized


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """What a tensor inside vmap stands for, for looking at it: all samples at once; other tensors as they are.

    With `recurse` false, the samples of the innermost vmap only.

    >>> import pellucid as torch
    >>> seen = []
    >>> _ = torch.vmap(lambda x: seen.append(torch.func.debug_unwrap(x)) or x)(torch.ones(2, 3))
    >>> seen[0].shape
    torch.Size([2, 3])
    """
    while is_batched(tensor):
        tensor = tensor._storage.physical
        if not recurse:
            break
    return tensor
