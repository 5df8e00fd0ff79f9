"""Custom Functions behave as PyTorch's: each program below runs with both libraries and must come to the same end."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def plain(value: Any) -> Any:
    """Values without their library: arrays as lists, nodes by name."""
    if isinstance(value, (pellucid.Tensor, torch.Tensor)):
        return np.asarray(value.detach()).tolist(), value.requires_grad
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else type(value).__name__


def run(function: Program, library: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = plain(function(library))
        except Exception as error:
            result = type(error).__name__, str(error)
    return result, [str(each.message)[:60] for each in caught]


def leaf(library: Any, *values: float) -> Any:
    return library.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def cube(library: Any) -> Any:
    class Cube(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * dy

    return Cube


def made(library: Any, forward: Any, backward: Any, **rest: Any) -> Any:
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (library.autograd.Function,), body | {name: staticmethod(each) for name, each in rest.items()})


@program
def gradient(lib: Any) -> Any:
    x = leaf(lib)
    y = cube(lib).apply(x)
    y.sum().backward()
    return y, x.grad, type(y.grad_fn).__name__, y.grad_fn.name(), y.is_leaf


@program
def second_and_third_gradient(lib: Any) -> Any:
    x = leaf(lib)
    (first,) = lib.autograd.grad(cube(lib).apply(x).sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = lib.autograd.grad(second.sum(), x)
    return first, second, third


@program
def saved_output_has_its_history(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * x
        ctx.save_for_backward(y)
        return y

    def backward(ctx: Any, dy: Any) -> Any:
        (y,) = ctx.saved_tensors
        return dy * y

    x = leaf(lib)
    y = made(lib, forward, backward).apply(x)
    (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(first.sum(), x)
    return first, second, y.grad_fn.saved_tensors[0].requires_grad


@program
def setup_context(lib: Any) -> Any:
    seen = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append((len(inputs), inputs[1], output.requires_grad, lib.is_grad_enabled()))
        ctx.factor = inputs[1]

    function = made(lib, lambda x, factor=2: x * factor, lambda ctx, dy: (dy * ctx.factor, None), setup_context=setup)
    x = leaf(lib)
    (function.apply(x) + function.apply(x, factor=5)).sum().backward()
    return x.grad, seen


@program
def needs_input_grad(lib: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any, k: Any, y: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return x * k * y

    function = made(lib, forward, lambda ctx, dy: (dy, None, None))
    function.apply(leaf(lib), 2, lib.ones(2)).sum().backward()
    with lib.no_grad():
        result = function.apply(leaf(lib), 2, lib.ones(2))
    return [list(each) for each in seen], result


@program
def keyword_arguments_of_forward(lib: Any) -> Any:
    function = made(lib, lambda ctx, x, k=2: x * k, lambda ctx, dy: (dy, None)[: len(ctx.needs_input_grad)])
    x = leaf(lib)
    y = function.apply(x, k=5)
    y.sum().backward()
    return y, x.grad


@program
def several_outputs(lib: Any) -> Any:
    seen = []

    def backward(ctx: Any, *gradients: Any) -> Any:
        seen.append(gradients)
        return gradients[0]

    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, x.sum(), None, 7, (x * 3).long()

    x = leaf(lib)
    outputs = made(lib, forward, backward).apply(x)
    outputs[0].sum().backward()
    return outputs, x.grad, seen


@program
def gradients_are_not_materialized_on_request(lib: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        fixed = x * 5
        ctx.mark_non_differentiable(fixed)
        return x * 2, x * 3, fixed

    def backward(ctx: Any, *gradients: Any) -> Any:
        seen.append(gradients)
        return gradients[1]

    outputs = made(lib, forward, backward).apply(leaf(lib))
    outputs[1].sum().backward()
    return outputs, seen


@program
def backward_runs_on_undefined_gradients(lib: Any) -> Any:
    nothing = made(lib, lambda ctx, x: x.clone(), lambda ctx, dy: None)
    seen = []

    def backward(ctx: Any, dy: Any) -> Any:
        seen.append(dy)
        return dy

    x = leaf(lib)
    nothing.apply(made(lib, lambda ctx, x: x * 2, backward).apply(x)).sum().backward()
    return seen, x.grad


@program
def dirty_input(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    function = made(lib, forward, lambda ctx, dy: dy * 2)
    x = leaf(lib)
    y = x * 3
    z = function.apply(y)
    z.sum().backward()
    return z is y, y, type(y.grad_fn).__name__, x.grad


@program
def dirty_view(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(5)

    x = leaf(lib)
    base = x * 1
    made(lib, forward, lambda ctx, dy: dy * 5).apply(base[:1])
    base.sum().backward()
    return base, type(base.grad_fn).__name__, x.grad


@program
def dirty_leaf_is_an_error(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    return made(lib, forward, lambda ctx, dy: dy).apply(leaf(lib))


@program
def dirty_input_must_be_returned(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 2

    return made(lib, forward, lambda ctx, dy: dy).apply(leaf(lib) * 1)


@program
def input_returned_as_it_is(lib: Any) -> Any:
    x = leaf(lib)
    y = made(lib, lambda ctx, x: x, lambda ctx, dy: dy * 7).apply(x)
    y.sum().backward()
    return y is x, y, x.grad, x.is_leaf


@program
def a_view_of_an_input_is_returned(lib: Any) -> Any:
    x = leaf(lib)
    y = made(lib, lambda ctx, x: x.view(2, 1), lambda ctx, dy: dy.view(2) * 3).apply(x)
    y.sum().backward()
    return y, type(y.grad_fn).__name__, x.grad, y._is_view()


@program
def integer_inputs_and_no_gradient(lib: Any) -> Any:
    index = lib.tensor([1, 0])
    function = made(lib, lambda ctx, x, i: (x[i], i), lambda ctx, dy, di: (dy[ctx.i], None))
    with lib.no_grad():
        first = function.apply(leaf(lib), index)
    return first, function.apply(lib.ones(2), index), function.apply(leaf(lib), index)


@program
def written_saved_tensor_is_found(lib: Any) -> Any:
    x = leaf(lib) * 1
    y = cube(lib).apply(x)
    x.add_(1)
    try:
        y.sum().backward()
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error), "version 1; expected version 0" in str(error)


@program
def second_backward_is_an_error(lib: Any) -> Any:
    y = cube(lib).apply(leaf(lib)).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return str(error).startswith("Trying to backward through the graph a second time")


@program
def retained_graph_runs_twice(lib: Any) -> Any:
    x = leaf(lib)
    y = cube(lib).apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@program
def saved_tensors_after_they_were_freed(lib: Any) -> Any:
    y = cube(lib).apply(leaf(lib))
    y.sum().backward()
    return y.grad_fn.saved_tensors


@program
def once_differentiable(lib: Any) -> Any:
    backward = lib.autograd.function.once_differentiable(lambda ctx, dy: dy * 2)
    function = made(lib, lambda ctx, x: x * 2, backward)
    x, weight = leaf(lib), leaf(lib)
    (first,) = lib.autograd.grad(function.apply(x), x, weight, create_graph=True)
    (without_path,) = lib.autograd.grad(function.apply(x), x, lib.ones(2), create_graph=True)
    try:
        first.sum().backward()
    except RuntimeError as error:
        return str(error), first, without_path


@program
def hooks_around_a_function(lib: Any) -> Any:
    order = []
    x = leaf(lib)
    x.register_hook(lambda g: order.append("x"))
    y = cube(lib).apply(x)
    y.register_hook(lambda g: order.append("y") or g * 10)
    y.grad_fn.register_prehook(lambda grads: order.append("before"))
    y.grad_fn.register_hook(lambda inputs, outputs: order.append("after"))
    y.sum().backward()
    return order, x.grad


RESULTS: dict[str, Callable[[Any], Any]] = {
    "too few": lambda lib: lib.ones(2),
    "in a one-tuple": lambda lib: (lib.ones(2),),
    "spare None": lambda lib: (lib.ones(2), None, None),
    "spare tensor": lambda lib: (lib.ones(2), None, lib.ones(2)),
    "for a number": lambda lib: (lib.ones(2), lib.ones(2)),
    "no tensor": lambda lib: (3, None),
    "other dtype": lambda lib: (lib.ones(2).double(), None),
    "all None": lambda lib: (None, None),
}


@pytest.mark.parametrize("name", RESULTS)
def test_what_backward_returns_is_checked(name: str) -> None:
    def function(lib: Any) -> Any:
        x = leaf(lib)
        made(lib, lambda ctx, x, k: x * k, lambda ctx, dy: RESULTS[name](lib)).apply(x, 1).sum().backward()
        return x.grad

    assert run(function, pellucid) == run(function, torch)


@pytest.mark.parametrize("shape", [(3,), (1,)])
def test_a_gradient_of_the_wrong_shape_is_an_error(shape: tuple[int, ...]) -> None:
    for lib in (pellucid, torch):
        function = made(lib, lambda ctx, x: x * 1, lambda ctx, dy, lib=lib: lib.ones(shape))
        with pytest.raises(RuntimeError, match="invalid gradient"):
            function.apply(leaf(lib)).sum().backward()


MISUSES: dict[str, Program] = {
    "no forward": lambda lib: type("F", (lib.autograd.Function,), {}).apply(leaf(lib)),
    "no backward": lambda lib: (
        type("F", (lib.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 1)})
        .apply(leaf(lib))
        .sum()
        .backward()
    ),
    "vjp and backward": lambda lib: (
        made(lib, lambda ctx, x: x * 1, lambda ctx, dy: dy, vjp=lambda ctx, dy: dy).apply(leaf(lib)).sum().backward()
    ),
    "saving a number": lambda lib: made(lib, lambda ctx, x: ctx.save_for_backward(3) or x * 1, None).apply(leaf(lib)),
    "vmap": lambda lib: cube(lib).vmap(None, None),
    "jvp": lambda lib: cube(lib).jvp(None),
    "instance": lambda lib: cube(lib)().__class__.__name__,
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_raises_torchs_error(name: str) -> None:
    assert run(MISUSES[name], pellucid) == run(MISUSES[name], torch)


def test_a_legacy_call_is_refused() -> None:
    for lib in (pellucid, torch):
        with pytest.warns(DeprecationWarning, match="should not be instantiated"):
            instance = cube(lib)()
        with pytest.raises(RuntimeError, match="Legacy autograd function"):
            instance(leaf(lib))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    assert run(PROGRAMS[name], pellucid) == run(PROGRAMS[name], torch)


@pytest.mark.parametrize("views", [1, 2])
def test_writing_into_a_view_from_a_function_is_an_error(views: int) -> None:
    for lib in (pellucid, torch):
        function = made(lib, lambda ctx, x: (x.view(2, 1), x * 2)[:views], lambda ctx, *dy: dy[0].view(2))
        view = function.apply(leaf(lib) * 1)[0]
        message = "inside a custom Function" if views == 1 else "returns multiple views"
        with pytest.raises(RuntimeError, match=message):
            view.mul_(2)


def test_attributes_of_ctx_cannot_break_the_node() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.edges, ctx.line, ctx.trace, ctx.sequence, ctx.output_metas = [1], "a", "b", None, ()
        return x * 2

    x = leaf(pellucid)
    y = made(pellucid, forward, lambda ctx, dy: dy * len(ctx.edges)).apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert y.grad_fn.context.line == "a"


def test_a_function_leaves_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(pellucid)
        y = cube(pellucid).apply(x)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()
