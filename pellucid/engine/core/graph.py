"""The graph that `backward` walks: operators' nodes, saved tensors, and how operators and in-place writes extend it."""

from __future__ import annotations

import sys
import traceback
import weakref
from typing import Any

from pellucid.engine.core import kernels
from pellucid.engine.core.data import INFERENCE, TensorData, make, shallow
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import enable_grad, state
from pellucid.engine.core.node import AccumulateGrad, Node, RemovableHandle, anomaly, here, line_text, sequence_numbers
from pellucid.engine.core.promotion import title

by_name: dict[
    str, Any
] = {}  # every operator, as op.py makes them; core reaches the few it needs (as_strided, full, clone) through it
RELEASED: Any = object()  # stands in a node's `saved` after its tensors were freed


_NOTHING: dict[Any, Any] = {}  # what an operator saves whose rules name nothing


class SavedTensor:
    """A tensor kept for backward, with the version it had; with saved-tensor hooks, what `pack` made of it."""

    __slots__ = ("edge", "is_output", "number", "packed", "tensor", "unpack", "version")

    def __init__(self, tensor: Any, is_output: bool = False, number: int = 0) -> None:
        if tensor._counter is INFERENCE:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal "
                "tensor and use it in autograd."
            )
        self.is_output = is_output
        self.number = number
        self.version = tensor._counter.count
        self.unpack: Any = None
        self.edge = None  # where the gradient of the unpacked tensor goes, when it is not as the tensor or node says
        if state.saved_hooks:
            pack, self.unpack = state.saved_hooks[-1]
            self.packed = _pack(pack, shallow(tensor) if is_output else tensor)
            self.edge = None if is_output else gradient_edge(tensor)
            self.tensor = None
        else:
            self.tensor = shallow(tensor) if is_output else tensor  # an output would hold the node that holds it

    def get(self, node: Any) -> Any:
        """The tensor as it was saved; RuntimeError when it has been written since."""
        if self.unpack is not None:
            return self._unpacked(node)
        tensor: Any = self.tensor
        if tensor._counter.count != self.version:
            raise RuntimeError(_modified_message(self, node))
        if self.is_output:
            kept = tensor
            tensor = shallow(kept)
            if state.stack:
                tensor.__dict__.update(kept.__dict__)  # a dual tensor's tangents
            _set_history(tensor, *(self.edge or (node, self.number)))
        return tensor

    def _unpacked(self, node: Any) -> Any:
        with enable_grad():
            tensor = self.unpack(self.packed)
        if not isinstance(tensor, TensorData):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                + type(tensor).__name__
            )
        if self.is_output and node is not None:
            tensor = shallow(tensor)
            _set_history(tensor, *(self.edge or (node, self.number)))
        elif self.edge is not None:  # whatever the hooks made of it stands where the saved tensor stood
            tensor = shallow(tensor)
            _attach(tensor, self.edge)
        return tensor


def _attach(tensor: Any, edge: tuple[Node, int]) -> None:
    """Let the tensor's gradient go to `edge`."""
    if isinstance(edge[0], AccumulateGrad):
        tensor._needs_grad = True
        tensor._accumulator = weakref.ref(edge[0])
    else:
        _set_history(tensor, *edge)


def _pack(pack: Any, tensor: Any) -> Any:
    before = tensor._counter.count
    state.saved_hooks, outer = [], state.saved_hooks
    grad_enabled, state.grad_enabled = state.grad_enabled, False
    try:
        packed = pack(tensor)
    finally:
        state.saved_hooks = outer
        state.grad_enabled = grad_enabled
    if tensor._counter.count != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return packed


def _modified_message(saved: SavedTensor, node: Any) -> str:
    tensor: Any = saved.tensor
    writer = tensor._counter.writer
    kind = f"torch.{title(tensor._meta.dtype)}Tensor {list(tensor._meta.shape)}"
    whose = (
        f", which is output {tensor._output_nr} of {tensor._grad_fn.name()}," if tensor._grad_fn is not None else ","
    )
    if saved.is_output:
        whose = f", which is output {saved.number} of {node.name()},"
    by = f"written in place by {writer[0]} at {line_text(writer[1])}" if writer else "written in place"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation:"
        f" [{kind}]{whose} is at version {tensor._counter.count}; expected version {saved.version} instead."
        f" It was saved for {node.name()} at {line_text(node.line)} and then {by}."
        " Hint: use the operator without the trailing underscore there, or write into a clone()."
    )


def _set_history(tensor: Any, node: Any, number: int) -> None:
    tensor._grad_fn = node
    tensor._output_nr = number
    tensor._needs_grad = True


# PyTorch makes a tensor of a number there: it has an edge, and counts as saved where a rule names it.
_NUMBERS_ARE_TENSORS = frozenset(("add", "sub", "mul", "div", "div_mode", "floor_divide", "trunc_divide", "where"))


class Recipe:
    """For one pattern of inputs that need a gradient: the rules to run and what they have saved."""

    __slots__ = (
        "edge_operands", "has_numbers", "no_numbers", "node_class", "rules", "saved_inputs", "saved_outputs", "saves",
    )  # fmt: skip

    def __init__(self, op: Any, needed: tuple[bool, ...], operands: tuple[Any, ...]) -> None:
        is_tensor = [isinstance(x, TensorData) for x in operands]
        is_float = [isinstance(x, TensorData) and x._meta.dtype.category >= 2 for x in operands]
        count = len(needed)
        last = len(op.operands) - 1 if op.variadic else count  # from here on, one name stands for all

        def covered(index: int) -> range:
            return range(index, count) if index == last else range(index, min(index + 1, count))

        ruled = {i for rule in op.rules for index in rule.inputs for i in covered(index)}
        numbers = op.name in _NUMBERS_ARE_TENSORS and is_tensor[0]
        self.edge_operands = tuple(
            [i for i in range(count) if (is_float[i] or i in ruled if is_tensor[i] else numbers and i in ruled)]
        )
        self.rules = [r for r in op.rules if any(needed[i] for index in r.inputs for i in covered(index))]
        named = {(kind, index) for rule in self.rules for _, kind, index in rule.parameters}
        inputs = {i for kind, index in named if kind in ("input", "inputs") for i in covered(index)}
        self.saved_inputs = tuple(sorted(i for i in inputs if is_tensor[i]))
        self.saved_outputs = tuple(sorted(index for kind, index in named if kind == "output"))
        kept_numbers = op.name in _NUMBERS_ARE_TENSORS and not all(is_tensor[i] for i in inputs)
        self.saves = bool(self.saved_inputs or self.saved_outputs or kept_numbers)
        self.has_numbers = not all(is_tensor)
        self.no_numbers = (None,) * count
        fixed = op.grad_name.__class__ is str  # else the name depends on the settings
        self.node_class = node_type(_node_name(op, operands, {})) if fixed else None


class OpNode(Node):
    """The node of an operator's call: unpacks what its rules name and runs them."""

    __slots__ = ("numbers", "op", "operand_metas", "outputs", "plan", "recipe", "saved", "settings")

    def __init__(self, op: Any, plan: Any, recipe: Recipe, operands: tuple[Any, ...], settings: dict[str, Any]) -> None:
        edges: list[Any] = []
        for i in recipe.edge_operands:
            x = operands[i]
            if not isinstance(x, TensorData):
                edges.append(None)
            elif x._base is None:
                node = x._grad_fn
                if node is not None:
                    edges.append((node, x._output_nr))
                else:
                    edges.append((accumulator_of(x), 0) if x._needs_grad else None)
            else:
                edges.append(gradient_edge(x))
        self.edges = tuple(edges)
        self.output_metas = plan.metas
        self.sequence = next(sequence_numbers)
        self.saved: Any = _NOTHING
        self.line = here(4)  # above this, `record`, `run` and the operator's caller at least
        self.op = op
        self.plan = plan
        self.recipe = recipe
        self.settings = settings
        self.numbers = (
            tuple([None if isinstance(x, TensorData) else x for x in operands])
            if recipe.has_numbers
            else recipe.no_numbers
        )
        if anomaly.enabled:
            self.trace = traceback.format_stack(sys._getframe(1))

    def save(self, operands: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Keep the inputs and outputs that the rules name."""
        recipe = self.recipe
        self.saved = {("input", i): SavedTensor(operands[i]) for i in recipe.saved_inputs}
        if recipe.saved_outputs:
            self.save_outputs(outputs)

    def save_outputs(self, outputs: tuple[Any, ...]) -> None:
        """Keep the outputs that the rules name."""
        for i in self.recipe.saved_outputs:
            self.saved["output", i] = SavedTensor(outputs[i], is_output=True, number=i)

    def release(self) -> None:
        if self.recipe.saves:
            self.saved = RELEASED

    def apply(self, gradients: list[Any]) -> list[Any]:
        if self.saved is RELEASED:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                f"already been freed): {self.name()} of {line_text(self.line)} has let go of its saved tensors. Saved "
                "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or if you need to access "
                "saved tensors after calling backward."
            )
        if not self.op.rules:
            raise RuntimeError(f"derivative for {self.op.name} is not implemented")
        by_operand: dict[int, Any] = {}
        for rule in self.recipe.rules:
            found = _run_rule(rule, self._arguments(rule, gradients))
            if len(rule.inputs) == 1:
                found = (found,)
            for index, gradient in zip(rule.inputs, found, strict=True):
                if self._is_variadic(index):
                    by_operand.update(enumerate(gradient, start=index))
                else:
                    by_operand[index] = gradient
        edges = zip(self.recipe.edge_operands, self.edges, strict=True)
        return [None if edge is None else by_operand.get(operand) for operand, edge in edges]

    def _is_variadic(self, index: int) -> bool:
        return self.op.variadic and index == len(self.op.operands) - 1

    def _arguments(self, rule: Any, gradients: list[Any]) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for name, kind, index in rule.parameters:
            if kind == "cotangent":
                gradient = gradients[index]
                arguments[name] = zeros(self.output_metas[index]) if gradient is None else gradient
            elif kind == "input":
                saved = self.saved.get(("input", index))
                if saved is not None:
                    arguments[name] = saved.get(self)
                else:
                    arguments[name] = self.numbers[index] if index < len(self.numbers) else None
            elif kind == "meta":
                metas = self.plan.operand_metas
                arguments[name] = metas[index] if index < len(metas) else None
            elif kind == "output":
                arguments[name] = self.saved["output", index].get(self)
            elif kind == "setting":
                arguments[name] = self.settings[name] if name in self.settings else self.op.defaults[name]
            else:
                arguments[name] = self._several(kind, index, gradients)
        if rule.open:
            arguments.update((name, value) for name, value in self.settings.items() if name not in arguments)
        return arguments

    def _several(self, kind: str, index: int, gradients: list[Any]) -> tuple[Any, ...]:
        if kind == "cotangents":
            return tuple(gradients)
        if kind == "metas":
            return self.plan.operand_metas[index:]
        if kind == "inputs":
            kept = [self.saved.get(("input", i)) for i in range(index, len(self.numbers))]
            return tuple(
                [self.numbers[i] if saved is None else saved.get(self) for i, saved in enumerate(kept, start=index)]
            )
        return self._needs()

    def _needs(self) -> tuple[bool, ...]:
        wanted = {
            operand for operand, edge in zip(self.recipe.edge_operands, self.edges, strict=True) if edge is not None
        }
        return tuple([i in wanted for i in range(len(self.numbers))])


def _run_rule(rule: Any, arguments: dict[str, Any]) -> Any:
    """A rule's gradients: by one compiled loop where the rule is pointwise and nobody watches its operators."""
    if state.grad_enabled or state.stack:
        return rule.function(**arguments)
    backend = kernels.of_cpu()
    fused = backend.fused_rule(rule, arguments) if backend else None
    return rule.function(**arguments) if fused is None else fused(arguments)


def zeros(meta: Meta) -> Any:
    """A tensor of zeros with the shape and dtype of `meta`."""
    return by_name["full"](size=tuple(meta.shape), value=0, dtype=meta.dtype, device=meta.device)


_node_types: dict[str, type[OpNode]] = {}


def node_type(name: str) -> type[OpNode]:
    """The class of operator nodes called `name`; PyTorch's programs look at `type(grad_fn).__name__`."""
    found = _node_types.get(name)
    if found is None:
        found = _node_types[name] = type(name, (OpNode,), {"__slots__": ()})
    return found


def requires_grad(tensor: Any) -> bool:
    """Whether operators on this tensor are recorded; a view requires a gradient when its base does."""
    return tensor._needs_grad or (tensor._base is not None and tensor._base._needs_grad)


def grad_fn_of(tensor: Any) -> Any:
    """The node that made the tensor (None for a leaf); for a view whose memory was written since, a node that reads the
    base.
    """
    base = tensor._base
    if base is not None and base._needs_grad and tensor._view_version != tensor._counter.count:
        if tensor._origin is not None:
            _refuse_view_write(tensor, "its base or another view of its base has been", "")
        from pellucid.engine.core.copy_slices import seen_again

        with enable_grad():
            replay = seen_again(base, tensor)
        _move_retained(tensor, replay._grad_fn)
        _set_history(tensor, replay._grad_fn, 0)
        tensor._view_version = tensor._counter.count
    return tensor._grad_fn


def accumulator_of(leaf: Any) -> AccumulateGrad:
    """The node that adds to the leaf's `.grad`; one per leaf as long as a graph holds it."""
    found = leaf._accumulator() if leaf._accumulator is not None else None
    if found is None:
        found = AccumulateGrad(leaf)
        leaf._accumulator = weakref.ref(found)
    return found


def gradient_edge(tensor: Any) -> tuple[Node, int] | None:
    """Where the tensor's gradient goes: its node and output number, its leaf's accumulator, or nowhere."""
    node = grad_fn_of(tensor)
    if node is not None:
        return node, tensor._output_nr
    if tensor._needs_grad:
        return accumulator_of(tensor), 0
    return None


def _recipe(op: Any, plan: Any, operands: tuple[Any, ...]) -> Recipe:
    mask, bit = 0, 1  # which operands need a gradient
    for x in operands:
        if isinstance(x, TensorData) and (x._needs_grad or (x._base is not None and x._base._needs_grad)):
            mask |= bit
        bit <<= 1
    recipe = plan.recipes.get(mask)
    if recipe is None:
        needed = tuple([bool(mask >> i & 1) for i in range(len(operands))])
        recipe = plan.recipes[mask] = Recipe(op, needed, operands)
    return recipe


IN_PLACE_NAMES = {  # where PyTorch's node of the in-place form has another name
    "FillBackward0": "FillBackward2",
    "FillBackward1": "FillBackward3",
    "TBackward0": "TBackward1",
    "TransposeBackward0": "TransposeBackward1",
    "UnsqueezeBackward0": "UnsqueezeBackward1",
    "SqueezeBackward0": "SqueezeBackward3",
    "SqueezeBackward1": "SqueezeBackward4",
    "SqueezeBackward2": "SqueezeBackward5",
    "AsStridedBackward0": "AsStridedBackward1",
}


_NUMBER_SECOND = {"XlogyBackward0": "XlogyBackward2"}
_NUMBER_FIRST = {
    "XlogyBackward0": "XlogyBackward1",
    "SubBackward0": "RsubBackward1",
    "DivBackward0": "MulBackward0",
    "PowBackward1": "PowBackward2",
}
_TENSOR_THIRD = {"LerpBackward0": "LerpBackward1", "MaskedFillBackward0": "MaskedFillBackward1"}
_TENSOR_SECOND = {"FmodBackward0": "FmodBackward1", "RemainderBackward0": "RemainderBackward1"}


def _node_name(op: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> str:
    name = op.grad_name if op.grad_name.__class__ is str else op.grad_name(settings)
    if len(operands) == 2:
        if not isinstance(operands[0], TensorData):
            return _NUMBER_FIRST.get(name, name)
        if isinstance(operands[1], TensorData):
            return _TENSOR_SECOND.get(name, name)
        return _NUMBER_SECOND.get(name, name)
    elif len(operands) == 3 and isinstance(operands[2], TensorData):
        return _TENSOR_THIRD.get(name, name)
    return name


def record(op: Any, plan: Any, operands: tuple[Any, ...], settings: dict[str, Any], out: Any) -> None:
    """Make the operator's node and hang its outputs on it; nothing under `inference_mode`."""
    if state.inference:
        return
    recipe = _recipe(op, plan, operands)
    node_class = recipe.node_class or node_type(_node_name(op, operands, settings))
    node = node_class(op, plan, recipe, operands, settings)
    if out.__class__ is not tuple:
        if recipe.saves:
            node.save(operands, (out,))
        if out._meta.dtype.category >= 2:
            out._grad_fn = node
            out._needs_grad = True
        return
    node.save(operands, out)
    for number, each in enumerate(out):
        if each._meta.dtype.category >= 2:
            each._grad_fn = node
            each._output_nr = number
            each._needs_grad = True


def check_in_place(target: Any, name: str, recorded: bool) -> None:
    """RuntimeError where writing into `target` would break its gradient history."""
    if target._counter is INFERENCE and not state.inference:
        raise RuntimeError(
            f"Inplace update to inference tensor outside InferenceMode is not allowed. ({name}_) You can make a clone "
            "to get a normal tensor before doing inplace update."
        )
    if not state.grad_enabled or state.inference or not (recorded or requires_grad(target)):
        return
    if target._base is not None:
        _check_view_write(target, name)
    elif target._needs_grad and target._grad_fn is None:
        raise RuntimeError(
            f"a leaf Variable that requires grad is being used in an in-place operation. ({name}_ at "
            f"{line_text(here())}: do it under torch.no_grad(), or on a clone().)"
        )


def _check_view_write(target: Any, name: str) -> None:
    if target._origin is not None:
        _refuse_view_write(target, "is being", f" ({name}_ at {line_text(here())})")
    if requires_grad(target) and grad_fn_of(target._base) is None:
        raise RuntimeError(
            f"a view of a leaf Variable that requires grad is being used in an in-place operation. ({name}_ at "
            f"{line_text(here())}: do it under torch.no_grad(), or on a clone() of the leaf.)"
        )


_AMBIGUOUS = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {0} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
_ORIGINS = {
    "no_grad": _AMBIGUOUS.format("no_grad"),
    "inference": _AMBIGUOUS.format("inference_mode"),
    "multi": " This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output views to be modified"
    " inplace. You should replace the inplace operation by an out-of-place one.",
    "custom": " This view was created inside a custom Function (or because an input was returned as-is) and the "
    "autograd logic to handle view+inplace would override the custom backward associated with the custom Function, "
    "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
    "Function.",
}


def _refuse_view_write(view: Any, written: str, where: str) -> None:
    node = view._grad_fn
    if node is None or view._origin in ("no_grad", "inference"):
        mode, now = (
            ("inference", "in normal mode") if view._origin == "inference" else ("no_grad", "with grad mode enabled")
        )
        which = f"A view was created in {mode} mode and {written} modified inplace {now}."
    else:
        which = (
            f"Output {view._output_nr} of {node.name().rsplit('Backward', 1)[0]} is a view and {written} modified "
            "inplace."
        )
    raise RuntimeError(which + _ORIGINS[view._origin] + where)


def prepare_in_place(op: Any, plan: Any, operands: tuple[Any, ...], settings: dict[str, Any], target: Any) -> OpNode:
    """The node of an in-place call, before the write: an input that is about to be overwritten is saved as a copy."""
    recipe = _recipe(op, plan, operands)
    name = _node_name(op, operands, settings)
    node = node_type(IN_PLACE_NAMES.get(name, name))(op, plan, recipe, operands, settings)
    kept = list(operands)
    for i in recipe.saved_inputs:
        if i == 0:
            kept[i] = _copy_with_history(operands[i])
    node.saved = {("input", i): SavedTensor(kept[i]) for i in recipe.saved_inputs}
    return node


def _copy_with_history(tensor: Any) -> Any:
    """A copy of the data that stands at the same place in the graph as `tensor`."""
    state.grad_enabled = bool(state.stack)  # inside vmap, other levels record what this one leaves out
    try:
        copy = by_name["clone"](tensor)
    finally:
        state.grad_enabled = True
    edge = gradient_edge(tensor)
    if edge is not None:
        _set_history(copy, *edge)
    return copy


def finish_in_place(target: Any, node: OpNode) -> None:
    """After the write: save the outputs that the rules name, and make the target's history end in the node."""
    if node.recipe.saved_outputs:
        node.save_outputs((target,))
    rebase_history(target, node)


def rebase_history(target: Any, node: Node) -> None:
    """Make `node` (whose edge 0 is the target's old history) the target's history; through its base if it is a view."""
    if target._base is None:
        _move_retained(target, node)
        _set_history(target, node, 0)
        return
    from pellucid.engine.core.copy_slices import CopySlices

    base = target._base
    copy = CopySlices(base, target, node)
    _move_retained(base, copy)
    _set_history(base, copy, 0)
    target._view_version = -1
    grad_fn_of(target)


def _move_retained(tensor: Any, node: Node) -> None:
    if tensor._retains and tensor._grad_fn is not None and tensor._grad_fn.retained:
        reference = tensor._grad_fn.retained.pop(tensor._output_nr, None)
        if reference is not None:
            node.retained = {0: reference}


def detached(tensor: Any) -> Any:
    """A tensor over the same data, cut from the graph; writes to either count for both."""
    out = shallow(tensor)
    if state.inference:
        out._counter = tensor._counter
    return out


__all__ = [
    "AccumulateGrad", "Node", "OpNode", "RemovableHandle", "SavedTensor", "anomaly", "by_name",
    "check_in_place", "detached",
    "finish_in_place", "grad_fn_of", "gradient_edge", "here", "line_text", "make", "prepare_in_place",
    "rebase_history", "record", "requires_grad",
]  # fmt: skip
