"""`gradcheck` accepts right gradients and rejects wrong ones, with PyTorch's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pellucid
from pellucid.autograd.gradcheck import GradcheckError

torch = pytest.importorskip("torch")


def tensor(library: Any, *shape: int, kind: str = "float64", requires_grad: bool = True) -> Any:
    library.manual_seed(1)
    return library.testing.make_tensor(
        shape, dtype=getattr(library, kind), device="cpu", low=0.5, high=2, requires_grad=requires_grad
    )


def wrong_function(library: Any, scale: float = 1.5, result: Callable[..., Any] | None = None) -> Any:
    class Wrong(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (x,) = ctx.saved_tensors
            return result(x, dy) if result is not None else scale * x * dy

    return Wrong.apply


RIGHT: dict[str, Callable[[Any], Any]] = {
    "product": lambda x: x * x.sin(),
    "two outputs": lambda x: (x.exp(), x.sum()),
    "reduction": lambda x: x.prod(),
    "integer output too": lambda x: (x * 2, x.argmax()),
    "view": lambda x: x.t().reshape(-1) * 3,
    "no differentiable output": lambda x: (x > 0).to(x.dtype),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", RIGHT)
def test_right_gradients_pass(name: str, fast: bool) -> None:
    assert pellucid.autograd.gradcheck(RIGHT[name], (tensor(pellucid, 2, 3),), fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True])
def test_complex_inputs_and_outputs_pass(fast: bool) -> None:
    x = tensor(pellucid, 3, kind="complex128")
    assert pellucid.autograd.gradcheck(lambda z: z * z.conj() + z * z, (x,), fast_mode=fast)
    assert pellucid.autograd.gradcheck(lambda z: z.abs(), (x,), fast_mode=fast)
    real = tensor(pellucid, 3)
    assert pellucid.autograd.gradcheck(lambda r: r * (2 + 3j), (real,), fast_mode=fast)


def test_gradgradcheck() -> None:
    x, y = tensor(pellucid, 2, 3), tensor(pellucid, 3)
    assert pellucid.autograd.gradgradcheck(lambda a, b: a * a * b.exp(), (x, y))
    assert pellucid.autograd.gradgradcheck(lambda a: a**3, (x,), fast_mode=True, gen_non_contig_grad_outputs=True)
    assert pellucid.autograd.gradgradcheck(lambda a: a**3, (x,), pellucid.ones_like(x, requires_grad=True))


@pytest.mark.parametrize("fast", [False, True])
def test_wrong_gradients_raise(fast: bool) -> None:
    for library, error in ((pellucid, GradcheckError), (torch, torch.autograd.gradcheck.__globals__["GradcheckError"])):
        with pytest.raises(error, match="Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"):
            library.autograd.gradcheck(wrong_function(library), (tensor(library, 2),), fast_mode=fast)
    assert not pellucid.autograd.gradcheck(
        wrong_function(pellucid), (tensor(pellucid, 2),), fast_mode=fast, raise_exception=False
    )


def test_wrong_complex_gradient_names_the_part() -> None:
    function = wrong_function(pellucid, result=lambda x, dy: 2 * x * dy)  # lacks the conjugate
    with pytest.raises(GradcheckError, match="While considering the imaginary part of complex outputs only, Jacobian"):
        pellucid.autograd.gradcheck(function, (tensor(pellucid, 2, kind="complex128"),))


def test_a_backward_that_ignores_its_cotangent_raises() -> None:
    for library, error in ((pellucid, RuntimeError), (torch, RuntimeError)):
        with pytest.raises(error, match="backward not multiplied by grad_output"):
            library.autograd.gradcheck(
                wrong_function(library, result=lambda x, dy: 2 * x), (tensor(library, 1),), check_undefined_grad=False
            )


def test_an_unsteady_backward_raises() -> None:
    count = iter(range(1000))
    function = wrong_function(pellucid, result=lambda x, dy: 2 * x * dy + next(count) * dy)
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        pellucid.autograd.gradcheck(function, (tensor(pellucid, 2),))
    steady = wrong_function(pellucid, result=lambda x, dy: 2 * x * dy + 1e-9 * next(count) * dy)
    assert pellucid.autograd.gradcheck(steady, (tensor(pellucid, 2),), nondet_tol=1e-3)


def test_inputs_are_checked() -> None:
    for library in (pellucid, torch):
        with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
            library.autograd.gradcheck(lambda x: x, (tensor(library, 2, requires_grad=False),))
        with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
            library.autograd.gradcheck(lambda x: x, (tensor(library, 2, kind="float32"),), atol=1, rtol=1)
        expanded = tensor(library, 1).detach().expand(3).requires_grad_()
        with pytest.raises(RuntimeError, match="has a dimension with stride 0"):
            library.autograd.gradcheck(lambda x: x * 2, (expanded,))


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True}, "check_backward_ad"),
        ({"check_batched_forward_grad": True}, "check_forward_ad"),
        ({"check_backward_ad": False}, "check_forward_ad"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, bool], needed: str) -> None:
    for library in (pellucid, torch):
        with pytest.raises(AssertionError, match=needed):
            library.autograd.gradcheck(lambda x: x * 2, (tensor(library, 2),), **options)


def test_empty_inputs_pass() -> None:
    assert pellucid.autograd.gradcheck(lambda x: x * 2, (tensor(pellucid, 0, 3),))
