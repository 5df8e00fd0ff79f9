"""A graph that was walked once has let go of what it saved, also where that was a number; steps have no slope."""

from __future__ import annotations

import pytest

import pellucid

torch = pytest.importorskip("torch")

_EXPRESSIONS = [
    "w * 2", "2 * w", "w / 2", "2 / w", "w + 2", "w - 2", "2 - w", "w ** 2", "2 ** w", "w % 2",
    "t.div(w, 2, rounding_mode='trunc')", "t.div(w, 2, rounding_mode='floor')", "t.where(w > 1, w, 0.5)",
    "t.lerp(w, w.detach(), 0.5)", "w.clamp(0, 1)", "w.exp()", "w.sum()", "w.mean()", "w.relu()", "-w", "w.t()",
    "t.add(w, w, alpha=2)", "t.addcmul(w, w, w)", "w.to(t.float64)", "w.expand(2, 2, 2)",
]  # fmt: skip


@pytest.mark.parametrize("expression", _EXPRESSIONS)
def test_a_second_backward_raises_where_pytorch_raises(expression: str) -> None:
    found = []
    for t in (torch, pellucid):
        w = t.tensor([[1.5, -2.0], [3.0, 0.25]], requires_grad=True)
        loss = eval(expression, {"w": w, "t": t})
        outcomes = []
        for _ in range(2):
            try:
                loss.backward(t.ones_like(loss))
                outcomes.append(pytest.approx(w.grad.flatten().tolist(), rel=1e-6))
            except RuntimeError as error:
                outcomes.append("a second time" in str(error))
        found.append(outcomes)
    assert [getattr(each, "expected", each) for each in found[0]] == found[1]


@pytest.mark.parametrize("step", ["floor", "ceil", "trunc", "round", "sign", "sgn"])
@pytest.mark.parametrize("cotangent", [float("inf"), float("nan")])
def test_steps_have_no_slope_for_any_cotangent(step: str, cotangent: float) -> None:
    for t in (torch, pellucid):
        w = t.tensor([0.5, -1.25], requires_grad=True)
        getattr(w, step)().backward(t.full((2,), cotangent))
        assert (w.grad == 0).all()
