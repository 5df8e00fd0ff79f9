"""Dual tensors: tangents, views and writes in place, levels, gradients of tangents."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import pellucid

from .parity import Program, same_in_both


def unpacked(t: ModuleType, x: Any) -> Any:
    """What it is now: later writes do not reach it."""
    pair = t.autograd.forward_ad.unpack_dual(x)
    return tuple([each if each is None else each.detach().clone() for each in pair])


def values(t: ModuleType) -> Any:
    forward, x, v = t.autograd.forward_ad, t.randn(3, 4), t.randn(3, 4)
    with forward.dual_level():
        d = forward.make_dual(x, v)
        return [
            unpacked(t, each)
            for each in (
                d * d, d.sin().sum(0), d @ x.t(), t.cat([d, x]), d[1:, ::2], d.softmax(1), d > 0, d.floor(), d.detach(),
                x * 2, t.stack([x, d]), d.max(1).values, d.sort(0).values, d.double(), d.to(t.int64), d.clamp(-1, 1),
                d.view(-1)[t.tensor([0, 5])], d.cumsum(0), d.norm(), d.std(), d.argmax(0), t.where(x > 0, d, x),
            )
        ]  # fmt: skip


def views_and_writes(t: ModuleType) -> Any:
    forward, x, v = t.autograd.forward_ad, t.randn(3, 4), t.randn(3, 4)
    found = []
    with forward.dual_level():
        d = forward.make_dual(x.clone(), v.clone())
        d.view(-1).mul_(2)
        found.append(unpacked(t, d))
        plain = x.clone()
        row = plain[1]
        row.copy_(d[0])
        found += [unpacked(t, plain), unpacked(t, row), unpacked(t, plain.t())]
        d[0] = 1.0
        found.append(unpacked(t, d))
        copy = d.clone()
        copy.relu_().add_(d, alpha=3)
        found += [unpacked(t, copy), unpacked(t, d)]
        same = d + 0
        same.zero_()
        found += [unpacked(t, same), unpacked(t, d)]
        d.exp_().transpose_(0, 1)
        found.append(unpacked(t, d))
    return [*found, t.autograd.forward_ad.unpack_dual(d).tangent is None]


def complex_numbers(t: ModuleType) -> Any:
    forward, x, v = t.autograd.forward_ad, t.randn(3, dtype=t.complex128), t.randn(3, dtype=t.complex128)
    real = t.randn(3, dtype=t.float64)
    with forward.dual_level():
        d, r = forward.make_dual(x, v), forward.make_dual(real, t.ones(3, dtype=t.float64))
        return [
            unpacked(t, each)
            for each in (
                d * d, d.exp(), d.abs(), d.real, d.imag, d.conj() * x, d * r, t.view_as_real(d), d / (1 + d), d.angle(),
                t.complex(r, r), t.fft.fft(d), d.sum(), t.dot(d, x), t.vdot(d, x), d.sgn(),
            )
        ]  # fmt: skip


def both_modes(t: ModuleType) -> Any:
    forward = t.autograd.forward_ad
    x, w = t.randn(3, requires_grad=True), t.randn(3, requires_grad=True)
    v = t.randn(3, requires_grad=True)
    with forward.dual_level():
        d = forward.make_dual(x, v)
        y = (d.sin() * w).prod()
        tangent = forward.unpack_dual(y).tangent
        slopes = t.autograd.grad(tangent, (x, w, v), retain_graph=True)
        (first,) = t.autograd.grad(y, x, create_graph=True)
        curvature = forward.unpack_dual(first).tangent
        return slopes, first, curvature, t.autograd.grad(curvature.sum(), w)


def modules(t: ModuleType) -> Any:
    forward = t.autograd.forward_ad
    model = t.nn.Sequential(t.nn.Conv1d(2, 4, 3), t.nn.BatchNorm1d(4), t.nn.GELU(), t.nn.Flatten(), t.nn.Linear(12, 2))
    x = t.randn(3, 2, 5)
    with forward.dual_level():
        for name, each in list(model[0].named_parameters()):
            del model[0]._parameters[name]
            setattr(model[0], name, forward.make_dual(each.detach(), t.ones_like(each)))
        loss = t.nn.functional.cross_entropy(model(forward.make_dual(x, t.ones_like(x))), t.tensor([0, 1, 1]))
        return unpacked(t, loss)


PROGRAMS: dict[str, Program] = {
    each.__name__: each for each in (values, views_and_writes, complex_numbers, both_modes, modules)
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_pytorch_gives(name: str) -> None:
    same_in_both(PROGRAMS[name])


def test_a_level_ends_with_its_tangents() -> None:
    forward = pellucid.autograd.forward_ad
    x = pellucid.ones(2)
    with forward.dual_level():
        d = forward.make_dual(x, x)
        kept = d * 2
    assert forward.unpack_dual(kept).tangent is None
    assert not pellucid.engine.core.modes.state.stack
    with forward.dual_level():
        assert forward.unpack_dual(kept).tangent is None


def test_an_error_inside_leaves_no_level_open() -> None:
    with pytest.raises(ValueError, match="wrong"), pellucid.autograd.forward_ad.dual_level():
        raise ValueError("wrong")
    with pytest.raises(ValueError, match="wrong"):
        pellucid.func.jvp(
            lambda x: (_ for _ in ()).throw(ValueError("wrong")), (pellucid.ones(1),), (pellucid.ones(1),)
        )
    with pytest.raises(ValueError, match="wrong"):
        pellucid.vmap(lambda x: (_ for _ in ()).throw(ValueError("wrong")))(pellucid.ones(1))
    state = pellucid.engine.core.modes.state
    assert not state.stack
    assert state.transforms == 0
    assert state.grad_enabled


def test_a_wrong_forward_rule_is_found() -> None:
    class Wrong(pellucid.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return dy * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 3

    x = pellucid.ones(2, dtype=pellucid.float64, requires_grad=True)
    assert pellucid.autograd.gradcheck(Wrong.apply, (x,))
    with pytest.raises(RuntimeError, match="computed with forward mode mismatch for output 0 with respect to input 0"):
        pellucid.autograd.gradcheck(Wrong.apply, (x,), check_forward_ad=True)


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck_of_forward_mode_and_batches(fast: bool) -> None:
    x = pellucid.randn(2, 3, dtype=pellucid.float64, requires_grad=True)
    w = pellucid.randn(3, 2, dtype=pellucid.complex128, requires_grad=True)
    check = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    f = lambda x, w: (pellucid.tanh(x @ w.real), (w * w.conj()).exp())  # noqa: E731
    assert pellucid.autograd.gradcheck(f, (x, w), fast_mode=fast, **check)
    assert pellucid.autograd.gradcheck(lambda x: x.softmax(1), (x,), check_backward_ad=False, check_forward_ad=True)
    g = lambda x: pellucid.tanh(x).prod()  # noqa: E731
    assert pellucid.autograd.gradgradcheck(g, (x,), check_fwd_over_rev=True, check_batched_grad=True, fast_mode=fast)


def test_attention_has_forward_mode_which_pytorch_lacks() -> None:
    q, k, v, tangent = (pellucid.randn(1, 2, 4, 3, dtype=pellucid.float64) for _ in range(4))
    f = lambda q: (pellucid.nn.functional.scaled_dot_product_attention(q, k, v) ** 2).sum()  # noqa: E731
    step = 1e-6 * tangent
    first, second = (
        pellucid.func.jvp(f, (q,), (tangent,))[1],
        pellucid.func.jvp(pellucid.func.grad(f), (q,), (tangent,))[1],
    )
    slope = pellucid.func.grad(f)
    assert pellucid.allclose(first, (f(q + step) - f(q - step)) / 2e-6, 1e-6, 1e-7)
    assert pellucid.allclose(second, (slope(q + step) - slope(q - step)) / 2e-6, 1e-6, 1e-7)
