"""`autograd.Function` inside vmap, forward mode and the transforms."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from .parity import Program, same_error_in_both, same_in_both


def functions(t: ModuleType) -> dict[str, Any]:
    """A product with a rule of its own for vmap, with a generated one, and with none."""

    class Plain(t.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any, scale: float) -> Any:
            return x * y * scale, x.sum()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, y, ctx.scale = inputs
            ctx.save_for_backward(x, y)
            ctx.save_for_forward(x, y)

        @staticmethod
        def backward(ctx: Any, dy: Any, ds: Any) -> Any:
            x, y = ctx.saved_tensors
            return dy * y * ctx.scale + ds.expand_as(x), dy * x * ctx.scale, None

        @staticmethod
        def jvp(ctx: Any, tx: Any, ty: Any, _: Any) -> Any:
            x, y = ctx.saved_tensors
            return (tx * y + x * ty) * ctx.scale, tx.sum()

    class Generated(Plain):
        generate_vmap_rule = True

    class Own(Plain):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any, scale: float) -> Any:
            assert info.batch_size == 4
            assert info.randomness == "error"
            assert in_dims[2] is None
            x = x.unsqueeze(0).expand(4, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
            y = y.unsqueeze(0).expand(4, *y.shape) if in_dims[1] is None else y.movedim(in_dims[1], 0)
            return (x * y * scale, x.sum(1)), (0, 0)

    class Ambiguous(Own):
        generate_vmap_rule = True

    class Mixed(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return 2 * dy * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return 2 * tangent

    return {each.__name__: each for each in (Plain, Generated, Own, Ambiguous, Mixed)}


def loss(function: Any) -> Any:
    def value(x: Any, y: Any) -> Any:
        product, total = function.apply(x, y, 2.0)
        return (product**2).sum() + total

    return value


def reverse(t: ModuleType) -> Any:
    x, y = t.randn(3), t.randn(3)
    f = loss(functions(t)["Plain"])
    return t.func.grad(f, argnums=(0, 1))(x, y), t.func.grad(lambda x: t.func.grad(f)(x, y).sum())(x)


def forward(t: ModuleType) -> Any:
    x, y = t.randn(3), t.randn(3)
    table = functions(t)
    apply = lambda x, y: table["Generated"].apply(x, y, 2.0)  # noqa: E731
    return (
        t.func.jvp(apply, (x, y), (y, x)),
        t.func.jvp(lambda x: apply(x, y), (x,), (y,)),
        t.func.jacfwd(apply, argnums=(0, 1))(x, y),
        t.func.jacrev(apply, argnums=(0, 1))(x, y),
        t.func.hessian(loss(table["Generated"]))(x, y),
    )


def batches(name: str) -> Program:
    def program(t: ModuleType) -> Any:
        x, y = t.randn(4, 3), t.randn(4, 3)
        function = functions(t)[name]
        apply = lambda x, y: function.apply(x, y, 2.0)  # noqa: E731
        through = t.func.grad(lambda x, y: loss_of_batch(x, y), argnums=(0, 1))

        def loss_of_batch(x: Any, y: Any) -> Any:
            product, total = t.vmap(apply, in_dims=(0, None))(x, y)
            return (product**2).sum() + total.sum()

        return (
            t.vmap(apply)(x, y),
            t.vmap(apply, in_dims=(0, None))(x, y[0]),
            t.vmap(apply, in_dims=(1, 1))(x.t(), y.t()),
            through(x, y[0]),
            t.vmap(t.func.grad(loss(function), argnums=(0, 1)))(x, y),
        )

    return program


def nested(t: ModuleType) -> Any:
    x, y = t.randn(2, 4, 3), t.randn(4, 3)
    apply = lambda x, y: functions(t)["Generated"].apply(x, y, 0.5)  # noqa: E731
    return t.vmap(t.vmap(apply), in_dims=(0, None))(x, y), t.func.jvp(t.vmap(apply), (x[0], y), (x[1], x[0]))


def mixed_forward(t: ModuleType) -> Any:
    x = t.randn(3)
    with t.autograd.forward_ad.dual_level():
        d = t.autograd.forward_ad.make_dual(x, t.ones(3))
        return tuple(t.autograd.forward_ad.unpack_dual(functions(t)["Mixed"].apply(d)))


PROGRAMS: dict[str, Program] = {
    "reverse": reverse,
    "forward": forward,
    "generated": batches("Generated"),
    "own": batches("Own"),
    "nested": nested,
    "mixed": mixed_forward,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_pytorch_gives(name: str) -> None:
    same_in_both(PROGRAMS[name])


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("Plain", "but it does not have vmap support. Please override and implement the vmap staticmethod or set"),
        ("Ambiguous", "but it has both generate_vmap_rule=True and an overridden vmap staticmethod"),
    ],
)
def test_rules_that_are_missing_or_too_many(name: str, phrase: str) -> None:
    same_error_in_both(lambda t: t.vmap(lambda x: functions(t)[name].apply(x, x, 1.0))(t.ones(4, 3)), phrase)


def test_a_missing_forward_rule() -> None:
    def program(t: ModuleType) -> Any:
        class Without(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x**2

        with t.autograd.forward_ad.dual_level():
            return Without.apply(t.autograd.forward_ad.make_dual(t.ones(1), t.ones(1)))

    same_error_in_both(
        program, "You must implement the jvp function for custom autograd.Function to use it with forward"
    )
