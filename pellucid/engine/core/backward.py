"""The backward engine: from the roots, nodes in reverse order of their making, gradients added up, leaves served last.

One loop, no recursion: a chain of any length runs. `pdb` steps from `loss.backward()` through `run` into a gradient
rule.
"""

from __future__ import annotations

import heapq
import os
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from pellucid.engine.core.batched_backward import batched_grad
from pellucid.engine.core.data import TensorData, empty
from pellucid.engine.core.dtypes import float32
from pellucid.engine.core.graph import AccumulateGrad, Node, anomaly, by_name, gradient_edge, requires_grad, zeros
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import state
from pellucid.engine.core.promotion import title

Edge = tuple[Node, int]


class _Running(threading.local):
    """What the passes of this thread share: callbacks for the end of the outermost one."""

    def __init__(self) -> None:
        self.depth = 0
        self.callbacks: list[Callable[[], None]] = []
        self.passes: list[_Pass] = []


_running = _Running()


def queue_callback(callback: Callable[[], None]) -> None:
    """Call `callback` when the backward pass that is running ends."""
    if _running.depth == 0:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    _running.callbacks.append(callback)


def current_pass() -> _Pass | None:
    """The innermost backward pass that is running in this thread."""
    return _running.passes[-1] if _running.passes else None


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves they depend on (of `inputs` only, when given).

    `grad_tensors` weigh the tensors, with their shapes; a scalar's weight is 1. RuntimeError for a tensor without
    history.

    >>> import pellucid as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.backward(x * x); x.grad
    tensor(6.)
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`."
            )
        grad_tensors = grad_variables
    if inputs is not None:
        inputs = _several(inputs)
    if inputs is not None and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    for each in inputs or ():
        if isinstance(each, TensorData):
            each.retain_grad()  # type: ignore[attr-defined]  # a computed tensor's gradient is kept; a leaf's is anyway
    roots = _several(tensors)
    gradients = _root_gradients(roots, grad_tensors)
    targets = None if inputs is None else [_target_edge(each, position) for position, each in enumerate(inputs)]
    keep = create_graph if retain_graph is None else retain_graph
    run([_root_edge(root, i) for i, root in enumerate(roots)], gradients, keep, create_graph, targets, fills=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` with respect to `inputs`, as a tuple; `.grad` stays as it is.

    An input without influence is a RuntimeError unless `allow_unused` (None) or `materialize_grads` (zeros).

    >>> import pellucid as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x ** 2, x)
    (tensor(6.),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True)", FutureWarning, stacklevel=2
        )
    if is_grads_batched:
        options = (retain_graph, create_graph, True, allow_unused, False, materialize_grads)
        return batched_grad(grad, _several(outputs), inputs, _several(grad_outputs), options)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots, wanted = _several(outputs), _several(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    gradients = _root_gradients(roots, grad_outputs)
    targets = [_target_edge(each, position) for position, each in enumerate(wanted)]
    keep = create_graph if retain_graph is None else retain_graph
    found = run([_root_edge(root, i) for i, root in enumerate(roots)], gradients, keep, create_graph, targets)
    if materialize_grads:
        return tuple([zeros(x._meta) if g is None else g for x, g in zip(wanted, found, strict=True)])
    if not allow_unused:
        for position, gradient in enumerate(found):
            if gradient is None:
                raise RuntimeError(
                    f"The differentiated Tensor at index {position} appears to not have been used in the graph. Set "
                    f"allow_unused=True if this is the desired behavior. (Input {position}: "
                    f"{_described(wanted[position])}.)"
                )
    return tuple(found)


def _several(given: Any) -> tuple[Any, ...]:
    """The tensors and gradient edges (which are tuples themselves) of an argument that may be one or a sequence of
    them.
    """
    if isinstance(given, tuple | list) and not hasattr(given, "output_nr"):
        return tuple(given)
    return (given,)


def _described(target: Any) -> str:
    return (
        f"output {target[1]} of {target[0].name()}"
        if isinstance(target, tuple)
        else f"a tensor of shape {list(target.shape)}"
    )


def _root_edge(root: Any, position: int) -> Edge:
    edge = (root[0], root[1]) if isinstance(root, tuple) else gradient_edge(root)
    if edge is None:
        raise RuntimeError(
            f"element {position} of tensors does not require grad and does not have a grad_fn: nothing that "
            "led to it requires a gradient. Was it computed under no_grad(), or detached? Do the parameters have "
            "requires_grad=True?"
        )
    return edge


def _target_edge(each: Any, position: int) -> Edge:
    if isinstance(each, tuple):  # a GradientEdge
        return each[0], each[1]
    if not requires_grad(each):
        raise RuntimeError(
            f"One of the differentiated Tensors does not require grad (input {position} of shape {list(each.shape)})"
        )
    edge = gradient_edge(each)
    assert edge is not None
    return edge


def _root_gradients(roots: tuple[Any, ...], given: Any) -> list[Any]:
    if given is None:
        weights: list[Any] = [None] * len(roots)
    else:
        weights = list(given) if isinstance(given, tuple | list) else [given]
    if len(weights) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(weights)} gradients")
    return [_root_gradient(root, weight) for root, weight in zip(roots, weights, strict=True)]


def _root_gradient(root: Any, weight: Any) -> Any:
    if isinstance(root, tuple):
        meta: Meta = root[0].output_metas[root[1]]
    else:
        meta = root._meta
    if weight is None:
        if not isinstance(root, tuple) and not requires_grad(root):
            return None
        if meta.numel != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs, not for shape {list(meta.shape)}: "
                "reduce it first, for example with .sum() or .mean(), or pass gradient="
            )
        if meta.dtype.is_complex:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {meta.dtype}")
        return by_name["full"](size=tuple(meta.shape), value=1, dtype=meta.dtype, device=meta.device)
    if not isinstance(weight, TensorData):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
    if weight._meta.shape != meta.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {weight._meta.shape} and output[0] has a shape "
            f"of {meta.shape}."
        )
    if weight._meta.dtype.is_complex != meta.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype."
            f" Mismatch in dtype: grad_output[0] has a dtype of {weight._meta.dtype} and output[0] has a dtype "
            f"of {meta.dtype}."
        )
    return weight


def run(
    roots: Sequence[Edge],
    gradients: Sequence[Any],
    keep_graph: bool,
    create_graph: bool,
    targets: list[Edge] | None,
    fills: bool = False,
) -> list[Any]:
    """Walk the graph from `roots`; with `targets`, only towards them, and return their gradients unless it `fills`
    leaves.
    """
    before = state.grad_enabled
    state.grad_enabled = create_graph
    _running.depth += 1
    try:
        _running.passes.append(_Pass(keep_graph, create_graph, targets, fills))
        return _running.passes[-1].run(roots, gradients)
    finally:
        _running.passes.pop()
        state.grad_enabled = before
        _running.depth -= 1
        if _running.depth == 0:
            callbacks, _running.callbacks = _running.callbacks, []
            for callback in callbacks:
                callback()


class _Pass:
    """One walk: the gradients waiting at each node, and how many arrivals a node still waits for."""

    def __init__(self, keep_graph: bool, create_graph: bool, targets: list[Edge] | None, fills: bool) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.targets = targets
        self.captured: dict[tuple[int, int], Any] = {}
        self.wanted = {(id(node), number) for node, number in targets} if targets is not None and not fills else set()
        self.filled = {node for node, _ in targets} if targets is not None and fills else None
        self.fills = fills
        self.waiting: dict[Node, list[Any]] = {}
        self.owned: set[int] = set()  # ids of sums that wait at one node, which may be added to in place
        self.missing: dict[Node, int] = {}
        self.useful: set[Node] | None = None  # with targets, the nodes that lead to one
        self.ready: list[tuple[int, int, Node]] = []
        self.count = 0

    def run(self, roots: Sequence[Edge], gradients: Sequence[Any]) -> list[Any]:
        self._count_arrivals([node for node, _ in roots])
        useful = self.useful = self._useful([node for node, _ in roots]) if self.targets is not None else None
        for (node, number), gradient in zip(roots, gradients, strict=True):
            self._arrive(node, number, gradient)
        for node in dict.fromkeys(node for node, _ in roots):
            if self.missing[node] == 0:
                self._push(node)
        while self.ready:
            node = heapq.heappop(self.ready)[2]
            self._visit(node, useful)
        if self.targets is None or self.fills:
            return []
        return [self.captured.get((id(node), number)) for node, number in self.targets]

    def will_visit(self, node: Node) -> bool:
        """Whether this pass computes gradients for the outputs of `node`'s forward."""
        if node not in self.missing:
            return False
        return self.useful is None or node in self.useful or any(node is goal for goal, _ in self.targets or ())

    def _count_arrivals(self, roots: list[Node]) -> None:
        missing = self.missing
        stack = list(dict.fromkeys(roots))
        for node in stack:
            missing[node] = 0
        seen = set(stack)
        while stack:
            for edge in stack.pop().edges:
                if edge is None:
                    continue
                following = edge[0]
                missing[following] = missing.get(following, 0) + 1
                if following not in seen:
                    seen.add(following)
                    stack.append(following)

    def _useful(self, roots: list[Node]) -> set[Node]:
        """The nodes from which a target can be reached, and which therefore have to run."""
        assert self.targets is not None
        goals = {node for node, _ in self.targets}
        parents: dict[Node, list[Node]] = {}
        stack = list(dict.fromkeys(roots))
        seen = set(stack)
        while stack:
            node = stack.pop()
            for edge in node.edges:
                if edge is not None:
                    parents.setdefault(edge[0], []).append(node)
                    if edge[0] not in seen:
                        seen.add(edge[0])
                        stack.append(edge[0])
        useful: set[Node] = set()
        stack = [node for goal in goals for node in parents.get(goal, ())]
        while stack:
            node = stack.pop()
            if node not in useful:
                useful.add(node)
                stack.extend(parents.get(node, ()))
        return useful

    def _push(self, node: Node) -> None:
        self.count += 1
        heapq.heappush(self.ready, (-node.sequence, self.count, node))

    def _arrive(self, node: Node, number: int, gradient: Any, source: Node | None = None, index: int = 0) -> None:
        slots = self.waiting.get(node)
        if slots is None:
            slots = self.waiting[node] = [None] * len(node.output_metas)
        if gradient is None:
            return
        gradient = fit(gradient, node.output_metas[number], source, index)
        held = slots[number]
        if held is None:
            slots[number] = gradient
        elif id(held) in self.owned and not self.create_graph and not state.stack:
            held.add_(gradient)
        else:
            total = _added(held, gradient)
            if not self.create_graph and not total._meta.is_sparse:
                self.owned.add(id(total))
            slots[number] = total

    def _visit(self, node: Node, useful: set[Node] | None) -> None:
        gradients = self.waiting.pop(node)
        if self.owned:  # from here on a sum may be in several places: rules pass it on as it is, and leaves keep it
            self.owned.difference_update(map(id, gradients))
        if node.tensor_hooks or node.pre_hooks:
            gradients = _run_pre_hooks(node, gradients)
        if node.retained:
            _retain(node, gradients)
        if self.wanted:
            for number, gradient in enumerate(gradients):
                if (id(node), number) in self.wanted:
                    self.captured[id(node), number] = gradient
        if isinstance(node, AccumulateGrad):
            wanted = self.fills and node.variable._needs_grad and (self.filled is None or node in self.filled)
            if wanted and gradients[0] is not None:
                gradient = gradients.pop()
                accumulate(node.variable, gradient, self.create_graph)
                _run_post_accumulate(node)
            return
        if useful is not None and node not in useful:
            results: list[Any] = [None] * len(node.edges)
        else:
            results = self._apply(node, gradients)
        del gradients
        self._hand_on(node, results)

    def _apply(self, node: Node, gradients: list[Any]) -> list[Any]:
        if not node.runs_on_nothing and all([gradient is None for gradient in gradients]):
            results: list[Any] = [None] * len(node.edges)
        else:
            results = _applied(node, gradients)
        if node.post_hooks:
            results = _run_post_hooks(node, results, gradients)
        if not self.keep_graph:
            node.release()
        return results

    def _hand_on(self, node: Node, results: list[Any]) -> None:
        for edge, position in zip(node.edges, range(len(results)), strict=True):
            if edge is None:
                continue
            following, number = edge
            self._arrive(following, number, results[position], node, position)
            results[position] = None
            self.missing[following] -= 1
            if self.missing[following] == 0:
                self._push(following)


def _added(held: Any, gradient: Any) -> Any:
    """The sum of two gradients, of which one may be sparse."""
    if held._meta.is_sparse and not gradient._meta.is_sparse:
        return gradient + held
    return held + gradient


def _applied(node: Node, gradients: list[Any]) -> list[Any]:
    if not anomaly.enabled:
        return list(node.apply(gradients))
    try:
        results = list(node.apply(gradients))
    except Exception:
        _warn_with_trace(node)
        raise
    if anomaly.check_nan:
        for position, gradient in enumerate(results):
            if gradient is not None and by_name["has_nan"](gradient):
                _warn_with_trace(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {position}th output.")
    return results


def _warn_with_trace(node: Node) -> None:
    if node.trace:
        warnings.warn(
            f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(node.trace)}",
            stacklevel=5,
        )


def fit(gradient: Any, meta: Meta, source: Node | None, index: int) -> Any:
    """The gradient with the shape, dtype and realness of the value that it belongs to."""
    found: Meta = gradient._meta
    if found is meta:
        return gradient
    if found.shape != meta.shape:
        if not _sums_to(found.shape, meta.shape):
            raise RuntimeError(
                f"Function {source.name()} returned an invalid gradient at index {index} - got {list(found.shape)} but "
                f"expected shape compatible with {list(meta.shape)}"
                if source is not None
                else f"a gradient of shape {list(found.shape)} was given for a tensor of shape {list(meta.shape)}"
            )
        gradient = by_name["sum_to"](gradient, shape=tuple(meta.shape))
    if gradient._meta.dtype is not meta.dtype:
        gradient = by_name["cast"](gradient, dtype=meta.dtype)  # a complex gradient of a real value: its real part
    return gradient


def _sums_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    if len(target) > len(shape):
        return False
    return all(b in (1, a) for a, b in zip(reversed(shape), reversed(target), strict=False))


def _run_pre_hooks(node: Node, gradients: list[Any]) -> list[Any]:
    for number, hooks in (node.tensor_hooks or {}).items():
        for hook in list(hooks.values()):
            if gradients[number] is None:
                break
            result = hook(gradients[number])
            if result is not None:
                gradients[number] = _checked_hook_result(hook, result, gradients[number])
    for hook in list((node.pre_hooks or {}).values()):
        result = hook(tuple(gradients))
        if result is not None:
            gradients = _checked_hook_results(hook, result, gradients)
    return gradients


def _hook_name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def _checked_hook_result(hook: Any, result: Any, gradient: Any) -> Any:
    if not isinstance(result, TensorData):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    found, expected = result._meta, gradient._meta
    if found.dtype is not expected.dtype:
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has changed the type of value (was torch.{title(expected.dtype)}Tensor got"
            f" torch.{title(found.dtype)}Tensor)"
        )
    if found.shape != expected.shape:
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has changed the size of value: from {list(expected.shape)} to "
            f"{list(found.shape)}"
        )
    return result


def _checked_hook_results(hook: Any, found: Any, gradients: Sequence[Any]) -> list[Any]:
    results = list(found) if isinstance(found, tuple | list) else [found]
    if len(results) != len(gradients):
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has returned an incorrect number of values (got {len(results)}, but "
            f"expected {len(gradients)})"
        )
    return [
        _checked_hook_result(hook, result, gradient) if result is not None and gradient is not None else result
        for result, gradient in zip(results, gradients, strict=True)
    ]


def _retain(node: Node, gradients: list[Any]) -> None:
    assert node.retained is not None
    for number, reference in node.retained.items():
        tensor = reference()
        if tensor is not None and gradients[number] is not None:
            if tensor._grad is None:
                tensor._grad = by_name["clone"](gradients[number])
            else:
                tensor._grad = _added(tensor._grad, gradients[number])


def _run_post_hooks(node: Node, results: list[Any], gradients: list[Any]) -> list[Any]:
    assert node.post_hooks is not None
    for hook in list(node.post_hooks.values()):
        found = hook(tuple(results), tuple(gradients))
        if found is not None:
            results = _checked_hook_results(hook, found, results)
    return results


def _run_post_accumulate(node: AccumulateGrad) -> None:
    if node.post_hooks:
        for hook in list(node.post_hooks.values()):
            hook((), (node.variable._grad,))
    if node.variable._post_hooks:
        for hook in list(node.variable._post_hooks.values()):
            hook(node.variable)


def _references(gradient: Any) -> tuple[int, int]:
    return sys.getrefcount(gradient), sys.getrefcount(gradient._storage)


def accumulate(variable: Any, gradient: Any, create_graph: bool) -> None:
    """Put a gradient into a leaf's `.grad`, or add it to what is there; a gradient that nobody else holds is not
    copied.
    """
    with _Accumulating.lock:
        held = variable._grad
        if held is None:
            if not create_graph and _is_exclusive(gradient, variable._meta):
                variable._grad = gradient
            else:
                variable._grad = _copied(gradient, variable._meta)
        elif create_graph or held._meta.is_sparse and not gradient._meta.is_sparse:
            variable._grad = _added(held, gradient)
        else:
            held.add_(gradient)


class _Accumulating:
    """Threads that go backwards into the same leaf take turns, since an addition in place is a reading and a
    writing.
    """

    lock = threading.RLock()


def _renew_lock() -> None:
    _Accumulating.lock = threading.RLock()  # the thread that held it does not exist in the child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _copied(gradient: Any, meta: Meta) -> Any:
    if meta.is_dense and not gradient._meta.is_sparse and gradient._meta.strides != meta.strides:
        return by_name["clone"](gradient, strides=meta.strides)
    return by_name["clone"](gradient)


def _is_exclusive(gradient: Any, meta: Meta) -> bool:
    found: Meta = gradient._meta
    if found.strides != meta.strides or gradient._base is not None or gradient._grad_fn is not None:
        return False
    tensor, storage = _references(gradient)
    return tensor <= _ALONE[0] and storage <= _ALONE[1]


def _alone() -> tuple[int, int]:
    """The references that a gradient has which nobody but the engine holds (they differ between Python versions)."""

    def accumulate_like(variable: Any, gradient: Any, create_graph: bool) -> tuple[int, int]:
        def exclusive_like(gradient: Any, meta: Any) -> tuple[int, int]:
            return _references(gradient)

        return exclusive_like(gradient, variable)

    gradients = [empty(Meta.of((1,), float32))]
    gradient = gradients.pop()
    return accumulate_like(None, gradient, False)


_ALONE = _alone()
