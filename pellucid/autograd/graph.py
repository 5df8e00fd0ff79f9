"""Looking at the graph that `backward` walks and changing how it keeps tensors. The graph itself is
engine/core/graph.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pellucid import Tensor
from pellucid.engine.core import backward as engine
from pellucid.engine.core.graph import Node, RemovableHandle, gradient_edge
from pellucid.engine.core.modes import state

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Inside, each tensor kept for `backward` is replaced by `pack_hook(tensor)`; `unpack_hook` of that gives it back.

    Of nested hooks the innermost count. The tensor from `unpack_hook` must have the values of the one that was packed.

    >>> import pellucid as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().tolist(), torch.tensor):
    ...     y = x.detach() * 3 * x
    >>> y.sum().backward(); x.grad
    tensor([3., 3.])
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if state.saved_hooks_forbidden is not None:
            raise RuntimeError(state.saved_hooks_forbidden)
        state.saved_hooks.append((self.pack_hook, self.unpack_hook))

    def __exit__(self, *exception: object) -> None:
        state.saved_hooks.pop()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Inside, tensors kept for `backward` are copied to the CPU, and back to their device when they are needed.

    `pin_memory` asks for page-locked memory, which only copies from an accelerator use.

    >>> import pellucid as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward(); x.grad
    tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if pin_memory:
            raise NotImplementedError("save_on_cpu(pin_memory=True) needs page-locked memory; use pin_memory=False")

        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.detach().to("cpu", copy=True)

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)
        self.device_type = device_type


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, entering `saved_tensors_hooks` raises RuntimeError with this message.

    >>> import pellucid as torch
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: not here
    """
    before = state.saved_hooks_forbidden
    if state.saved_hooks:
        raise RuntimeError(error_message)
    state.saved_hooks_forbidden = error_message
    try:
        yield
    finally:
        state.saved_hooks_forbidden = before


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Inside, tensors may be written to after they were kept for `backward`, which uses the values from before.

    Every tensor kept is copied at once, also those that are never written to.

    >>> import pellucid as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y ** 2).sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if any(isinstance(pack, _Copy) for pack, _ in state.saved_hooks):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    with saved_tensors_hooks(_Copy(), _same):
        yield


class _Copy:
    def __call__(self, tensor: Tensor) -> Tensor:
        return tensor.clone()


def _same(packed: Tensor) -> Tensor:
    return packed


class GradientEdge(NamedTuple):
    """Where a tensor's gradient enters the graph: a node, and the number of the output of its forward."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The node and output number of a tensor that requires grad.

    >>> import pellucid as torch
    >>> torch.autograd.graph.get_gradient_edge(torch.ones(1, requires_grad=True) * 2).output_nr
    0
    """
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to these tensors that was made behind autograd's back, so that saved copies of them are found
    stale.

    >>> import pellucid as torch
    >>> x = torch.ones(1)
    >>> torch.autograd.graph.increment_version(x); x._version
    1
    """
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if each.is_inference():
            raise RuntimeError("increment_version can only be called on a Tensor that is not an inference tensor")
        each._counter.count += 1


class _Handles(RemovableHandle):
    """Removes several hooks at once."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        super().__init__({})
        self.handles = handles

    def remove(self) -> None:
        for each in self.handles:
            each.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn(grads)` once in each backward pass, when the gradients of all these tensors that it computes are there.

    The gradient is None for a tensor that the pass does not reach. With `mode="any"`, call `fn(grad)` with the first
    one.

    >>> import pellucid as torch
    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> _ = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print(grads))
    >>> (2 * a).backward()
    [tensor([2.]), None]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    collected: dict[int, _Collected] = {}
    nodes = [get_gradient_edge(each).node for each in tensors] if mode == "all" else []

    def arrive(position: int, gradient: Tensor) -> None:
        current = engine.current_pass()
        assert current is not None  # hooks run inside a pass
        found = collected.get(id(current))
        if found is None or found.owner is not current:
            due = sum(current.will_visit(node) for node in nodes) if mode == "all" else 1
            found = collected[id(current)] = _Collected(current, [None] * len(tensors), due)
            engine.queue_callback(collected.clear)
        found.grads[position] = gradient
        found.due -= 1
        if found.due == 0:
            fn(found.grads if mode == "all" else gradient)

    handles = [
        each.register_hook(lambda gradient, position=position: arrive(position, gradient))
        for position, each in enumerate(tensors)
        if mode == "all" or each.requires_grad
    ]
    return _Handles(tuple(handles))


class _Collected:
    """The gradients that have come in one pass, and how many are still due."""

    def __init__(self, owner: Any, grads: list[Tensor | None], due: int) -> None:
        self.owner = owner
        self.grads = grads
        self.due = due


__all__ = [
    "GradientEdge",
    "Node",
    "RemovableHandle",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
