"""Jacobians, Hessians and their products with vectors, as functions of a function: by reverse mode, or where it is
asked for by forward mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.func.jacobians import basis, jacfwd, jacrev

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]
OUTPUTS = "outputs of the user-provided function"


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func` and vᵀJ, the product of `v` (shaped as the outputs) with its Jacobian.

    `v` may be None for a single output of one element. `create_graph` makes the result differentiable; `strict` raises
    RuntimeError when an output does not depend on an input, where otherwise the result is zeros.

    >>> import pellucid as torch
    >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1.0, 2.0]), torch.ones(2))[1]
    tensor([2., 4.])
    """
    with pellucid.enable_grad():
        is_tuple, tensors = _as_tensors(inputs, "inputs", "vjp")
        tensors = _fresh(tensors, create_graph, requires_grad=True)
        are_tuple, outputs = _as_tensors(func(*tensors), OUTPUTS, "vjp")
        _demand_history(outputs, "outputs", strict)
        if v is None and (len(outputs) != 1 or outputs[0].numel() != 1):
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single "
                "element."
            )
        vector = None if v is None else _vector(v, outputs, are_tuple, "vjp", create_graph)
    with pellucid.set_grad_enabled(create_graph or pellucid.is_grad_enabled()):
        grads = _gradients(outputs, tensors, vector, create_graph=create_graph)
        result = _zeros_for_none(grads, tensors, "back", strict, create_graph)
    return _unwrap(_finish(outputs, create_graph), are_tuple), _unwrap(_finish(result, create_graph), is_tuple)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func` and Jv, the product of its Jacobian with `v` (shaped as the inputs).

    Computed by differentiating uᵀJ with respect to u, so it costs two reverse passes. `v` may be None for a single
    input of one element.

    >>> import pellucid as torch
    >>> torch.autograd.functional.jvp(lambda x: x * x, torch.tensor([1.0, 2.0]), torch.ones(2))[1]
    tensor([2., 4.])
    """
    with pellucid.enable_grad():
        is_tuple, tensors = _as_tensors(inputs, "inputs", "jvp")
        tensors = _fresh(tensors, create_graph, requires_grad=True)
        vector = _input_vector(v, tensors, is_tuple, "jvp", create_graph)
        are_tuple, outputs = _as_tensors(func(*tensors), OUTPUTS, "jvp")
        _demand_history(outputs, "outputs", strict)
        # The pass is linear in these, so their values do not matter; only that they are finite.
        probes = tuple([pellucid.zeros_like(each, requires_grad=True) for each in outputs])
        probed = _gradients(outputs, tensors, probes, create_graph=True)
        _demand_history(probed, "grad_inputs", strict)
    with pellucid.set_grad_enabled(create_graph or pellucid.is_grad_enabled()):
        grads = _gradients(probed, probes, vector, create_graph=create_graph)
        result = _zeros_for_none(grads, outputs, "back_trick", strict, create_graph)
    return _unwrap(_finish(outputs, create_graph), are_tuple), _unwrap(_finish(result, create_graph), are_tuple)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`, of shape output.shape + input.shape; nested tuples [output][input] where there are
    several.

    With `vectorize`, all rows come from one reverse pass under vmap, or, with `strategy="forward-mode"`, all columns
    from one forward pass. Forward mode goes with neither `strict` nor `create_graph`, `vectorize` not with `strict`.

    >>> import pellucid as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy("jacobian", strategy, vectorize, strict, create_graph)
    if strategy == "forward-mode":
        return _by_columns(func, inputs)
    with pellucid.enable_grad():
        is_tuple, tensors = _as_tensors(inputs, "inputs", "jacobian")
        tensors = _fresh(tensors, create_graph, requires_grad=True)
        are_tuple, outputs = _as_tensors(func(*tensors), OUTPUTS, "jacobian")
        _demand_history(outputs, "outputs", strict)
        if vectorize:
            rows = [_finish(row, create_graph) for row in _all_rows(outputs, tensors, create_graph)]
        else:
            rows = [
                _finish(_jacobian_of_output(position, output, tensors, strict, create_graph), create_graph)
                for position, output in enumerate(outputs)
            ]
    return _unwrap(tuple([_unwrap(row, is_tuple) for row in rows]), are_tuple)


def _by_columns(func: Function, inputs: Any) -> Any:
    """The Jacobian by forward mode, a direction per element of the inputs, all at once."""
    is_tuple, tensors = _as_tensors(inputs, "inputs", "jacobian")
    tensors = tuple([each.detach() for each in tensors])
    are_tuple = True

    def checked(*given: Tensor) -> Tensors:
        nonlocal are_tuple
        are_tuple, outputs = _as_tensors(func(*given), OUTPUTS, "jacobian")
        return outputs

    rows = jacfwd(checked, tuple(range(len(tensors))))(*tensors)
    return _unwrap(tuple([_unwrap(_finish(row, False), is_tuple) for row in rows]), are_tuple)


def _all_rows(outputs: Tensors, inputs: Tensors, create_graph: bool) -> list[Tensors]:
    """The Jacobian of each output with respect to each input, by one reverse pass for all elements under vmap."""
    count = sum(each.numel() for each in outputs)
    grads = _gradients(outputs, inputs, basis(outputs, 0, count), create_graph=create_graph, is_grads_batched=True)
    rows, before = [], 0
    for output in outputs:
        row = []
        for gradient, x in zip(grads, inputs, strict=True):
            shape = tuple(output.shape) + tuple(x.shape)
            part = None if gradient is None else gradient.narrow(0, before, output.numel()).reshape(shape)
            row.append(x.new_zeros(shape) if part is None else part)
        rows.append(tuple(row))
        before += output.numel()
    return rows


def _jacobian_of_output(position: int, output: Tensor, inputs: Tensors, strict: bool, create_graph: bool) -> Tensors:
    """The Jacobian of one output with respect to each input, a reverse pass per element."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    flat = output.reshape(-1)
    for element in range(output.numel()):
        grads = _gradients((flat[element],), inputs, retain_graph=True, create_graph=create_graph)
        for index, (gradient, column) in enumerate(zip(grads, columns, strict=True)):
            if gradient is None:
                if strict:
                    raise RuntimeError(
                        f"Output {position} of the user-provided function is independent of input {index}. "
                        "This is not allowed in strict mode."
                    )
                gradient = pellucid.zeros_like(inputs[index])
            elif strict and create_graph and not gradient.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {position}. "
                    "This is not allowed in strict mode when create_graph=True."
                )
            column.append(gradient)
    return tuple([_stacked(column, output, tensor) for column, tensor in zip(columns, inputs, strict=True)])


def _stacked(rows: list[Tensor], output: Tensor, tensor: Tensor) -> Tensor:
    shape = tuple(output.shape) + tuple(tensor.shape)
    return pellucid.stack(rows, 0).view(shape) if rows else tensor.new_zeros(shape)


def _check_strategy(name: str, strategy: str, vectorize: bool, strict: bool, create_graph: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode", but got {strategy!r}.')
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                f'torch.autograd.functional.{name}: `create_graph=True` and `strategy="forward-mode"` are not '
                'supported together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                f'torch.autograd.functional.{name}: `strict=True` and `strategy="forward-mode"` are not supported '
                'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
                "only implemented for `vectorize=True`."
            )
    if vectorize and strict:
        raise RuntimeError(
            f"torch.autograd.functional.{name}: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function that returns one element, of shape input.shape + input.shape; nested tuples for
    several.

    The options are those of `jacobian`, of which this is the Jacobian of the Jacobian.

    >>> import pellucid as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    is_tuple, tensors = _as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single_output(*tensors: Tensor) -> Tensor:
        output = func(*tensors)
        are_tuple, outputs = _as_tensors(output, OUTPUTS, "hessian")
        _demand_history(outputs, "outputs", strict)
        return _single(outputs, are_tuple, "hessian").squeeze()

    def gradient(*tensors: Tensor) -> Tensors:
        row = jacobian(single_output, tensors, create_graph=True)
        _demand_history(row, "jacobian", strict)
        return row

    if outer_jacobian_strategy == "forward-mode":
        _check_strategy("hessian", outer_jacobian_strategy, vectorize, strict, create_graph)
        places = tuple(range(len(tensors)))
        rows = jacfwd(jacrev(single_output, places), places)(*[each.detach() for each in tensors])
        return tuple([_finish(row, False) for row in rows]) if is_tuple else rows[0][0].detach()
    rows = jacobian(gradient, tensors, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if is_tuple else rows[0][0]


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func`, which must be one element, and vᵀH, the product of `v` with its Hessian (two reverse
    passes).

    >>> import pellucid as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))[1]
    tensor([ 6., 12.])
    """
    with pellucid.enable_grad():
        is_tuple, tensors, vector, outputs, first = _gradient_of_single(func, inputs, v, create_graph, strict, "vhp")
    with pellucid.set_grad_enabled(create_graph or pellucid.is_grad_enabled()):
        grads = _gradients(first, tensors, vector, create_graph=create_graph)
        result = _zeros_for_none(grads, tensors, "double_back", strict, create_graph)
    return _finish(outputs, create_graph)[0], _unwrap(_finish(result, create_graph), is_tuple)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func`, which must be one element, and Hv, the product of its Hessian with `v` (three reverse
    passes).

    `vhp` gives the same for a symmetric Hessian, that is for every twice continuously differentiable function, and
    costs less.

    >>> import pellucid as torch
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))[1]
    tensor([ 6., 12.])
    """
    with pellucid.enable_grad():
        is_tuple, tensors, vector, outputs, first = _gradient_of_single(func, inputs, v, create_graph, strict, "hvp")
        probes = tuple([pellucid.zeros_like(each, requires_grad=True) for each in tensors])
        probed = _gradients(first, tensors, probes, create_graph=True)
        _demand_history(first, "hessian", strict)
    with pellucid.set_grad_enabled(create_graph or pellucid.is_grad_enabled()):
        grads = _gradients(probed, probes, vector, create_graph=create_graph)
        result = _zeros_for_none(grads, tensors, "double_back_trick", strict, create_graph)
    return _finish(outputs, create_graph)[0], _unwrap(_finish(result, create_graph), is_tuple)


def _gradient_of_single(
    func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool, name: str
) -> tuple[bool, Tensors, Tensors | None, Tensors, tuple[Tensor | None, ...]]:
    """What both Hessian products begin with: the inputs, the vector, the single output and its gradient."""
    is_tuple, tensors = _as_tensors(inputs, "inputs", name)
    tensors = _fresh(tensors, create_graph, requires_grad=True)
    vector = _input_vector(v, tensors, is_tuple, name, create_graph)
    are_tuple, outputs = _as_tensors(func(*tensors), OUTPUTS, name)
    _demand_history(outputs, "outputs", strict)
    _single(outputs, are_tuple, name)
    first = _gradients(outputs, tensors, create_graph=True)
    _demand_history(first, "jacobian", strict)
    return is_tuple, tensors, vector, outputs, first


def _single(outputs: Tensors, are_tuple: bool, name: str) -> Tensor:
    if are_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return outputs[0]


def _as_tensors(value: Any, what: str, name: str) -> tuple[bool, Tensors]:
    """Whether `value` is a tuple, and its tensors; TypeError where anything else is in it."""
    is_tuple = isinstance(value, tuple)
    items = value if is_tuple else (value,)
    for index, item in enumerate(items):
        if not isinstance(item, Tensor):
            where = f"value at index {index}" if is_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors "
                f"but the {where} has type {type(item)}."
            )
    return is_tuple, items


def _fresh(tensors: Tensors, create_graph: bool, *, requires_grad: bool) -> Tensors:
    """New tensors in place of the given ones, so that uses of the same tensors inside the function do not count as
    inputs.
    """
    return tuple(
        [
            each.view_as(each) if create_graph and each.requires_grad else each.detach().requires_grad_(requires_grad)
            for each in tensors
        ]
    )


def _vector(v: Any, like: Tensors, is_tuple: bool, name: str, create_graph: bool) -> Tensors:
    """The tensors of `v`, checked to have the sizes of `like`."""
    _, vector = _as_tensors(v, "v", name)
    vector = _fresh(vector, create_graph, requires_grad=False)
    if len(vector) != len(like):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vector)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (ours, theirs) in enumerate(zip(vector, like, strict=True)):
        if ours.shape != theirs.shape:
            entry = f"Entry {index} in " if is_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {theirs.size()} but got {ours.size()}.")
    return vector


def _input_vector(v: Any, inputs: Tensors, is_tuple: bool, name: str, create_graph: bool) -> Tensors | None:
    if v is not None:
        return _vector(v, inputs, is_tuple, name, create_graph)
    if len(inputs) != 1 or inputs[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function "
            "is a single Tensor with a single element."
        )
    return None


def _gradients(
    outputs: Sequence[Tensor | None],
    inputs: Tensors,
    grad_outputs: Sequence[Tensor] | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    is_grads_batched: bool = False,
) -> tuple[Tensor | None, ...]:
    """The engine's `grad`, leaving out outputs that are None or have no history."""
    vectors = [None] * len(outputs) if grad_outputs is None else grad_outputs
    kept = [pair for pair in zip(outputs, vectors, strict=True) if pair[0] is not None and pair[0].requires_grad]
    if not kept:
        return (None,) * len(inputs)
    return pellucid.autograd.grad(
        [output for output, _ in kept],
        inputs,
        [vector for _, vector in kept],
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
        is_grads_batched=is_grads_batched,
    )


WITHOUT_HISTORY = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a"
    " differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function."
    " This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to"
    " input {} is independent of the input. This is not allowed in strict mode. You should ensure that your function is"
    " twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for"
    " example).",
    "hessian": "The hessian of the user-provided function with respect to input {} is independent of the input. This is"
    " not allowed in strict mode. You should ensure that your function is thrice differentiable and that the hessian"
    " depends on the inputs.",
}
INDEPENDENT = {
    "back": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the"
    " double backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}."
    " This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian."
    " This is not allowed in strict mode as it prevents from using the double backward trick to replace forward mode "
    "AD.",
}


def _demand_history(tensors: Sequence[Tensor | None], what: str, strict: bool) -> None:
    """In strict mode, RuntimeError for the first tensor that is None or does not require grad."""
    if not strict:
        return
    for index, each in enumerate(tensors):
        if each is None:
            raise RuntimeError(INDEPENDENT["back"].format(index))
        if not each.requires_grad:
            raise RuntimeError(WITHOUT_HISTORY[what].format(index))


def _zeros_for_none(
    grads: Sequence[Tensor | None], like: Tensors, stage: str, strict: bool, create_graph: bool
) -> Tensors:
    """`grads` with zeros where there was no path; in strict mode RuntimeError instead."""
    filled = []
    for index, (gradient, tensor) in enumerate(zip(grads, like, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(INDEPENDENT[stage].format(index))
            gradient = pellucid.zeros_like(tensor)
        elif strict and create_graph and not gradient.requires_grad:
            what = "hessian" if stage.startswith("double") else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {index}. "
                "This is not allowed in strict mode when create_graph=True."
            )
        filled.append(gradient)
    return tuple(filled)


def _finish(tensors: Tensors, create_graph: bool) -> Tensors:
    return tensors if create_graph else tuple([each.detach() for each in tensors])


def _unwrap(items: tuple[Any, ...], is_tuple: bool) -> Any:
    return items if is_tuple else items[0]
