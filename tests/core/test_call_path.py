"""The path of an operator call: warnings stay off, threads and finalizers do not meet, messages name lines."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.engine.core import plan


def test_no_warning_of_numpy_reaches_the_user() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zero, one, huge = pellucid.zeros(2), pellucid.ones(2), pellucid.full((2,), 3e38)
        assert (one / zero).tolist() == [float("inf")] * 2
        assert (huge * huge).tolist() == [float("inf")] * 2
        assert (zero.sum() / 0).isnan().item()
        huge.half()
        pellucid.tensor([float("nan")]).to(pellucid.int64)
        one.div_(zero)
        (-one).log()
        pellucid.cat([huge, huge]).sum()


def test_numpys_own_settings_stay_as_they_were() -> None:
    before = np.geterr()
    pellucid.ones(2) / 0
    assert np.geterr() == before
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        pellucid.ones(2) / 0
        np.ones(1) / np.zeros(1)


def test_a_body_may_itself_call_operators() -> None:
    def body() -> Any:
        return (pellucid.ones(1) / pellucid.zeros(1)).tolist()

    assert plan.quietly(lambda: plan.quietly(body)) == [float("inf")]


def test_a_body_that_fails_leaves_later_calls_intact() -> None:
    for _ in range(3):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            pellucid.tensor([1]) // pellucid.tensor([0])
    assert (pellucid.ones(1) / 0).tolist() == [float("inf")]


def test_threads_compute_side_by_side() -> None:
    results: list[float] = []

    def work(seed: int) -> None:
        x = pellucid.full((4,), float(seed), requires_grad=True)
        for _ in range(200):
            x.grad = None
            (x * x).sum().backward()
            (x * 3).sum().backward()
        assert x.grad is not None
        results.append(x.grad[0].item())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [5.0, 7.0, 9.0, 11.0]


def test_threads_share_leaves_and_have_modes_of_their_own() -> None:
    x = pellucid.ones(3, requires_grad=True)
    seen: list[bool] = []

    def work() -> None:
        seen.append(pellucid.is_grad_enabled())
        (x * 2).sum()

    with pellucid.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [True]


def test_no_gradient_is_lost_where_threads_share_a_leaf() -> None:
    x = pellucid.zeros(50_000, requires_grad=True)

    def work() -> None:
        for _ in range(50):
            (x * 1).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad is not None and x.grad.min().item() == x.grad.max().item() == 200


def saves_and_overwrites() -> Any:
    x = pellucid.ones(3, requires_grad=True) * 1
    y = x * x
    x.add_(1)
    return y


def test_an_overwritten_tensor_names_the_operator_and_both_lines() -> None:
    first = saves_and_overwrites.__code__.co_firstlineno
    with pytest.raises(RuntimeError) as caught:
        saves_and_overwrites().sum().backward()
    message = str(caught.value)
    assert (
        "[torch.FloatTensor [3]], which is output 0 of AddBackward0, is at version 1; expected version 0 instead"
        in message
    )
    assert f"saved for MulBackward0 at {__file__}:{first + 2}" in message
    assert f"written in place by add at {__file__}:{first + 3}" in message
    assert "clone()" in message


def test_a_leaf_that_is_written_names_the_line() -> None:
    x = pellucid.ones(3, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
    ) as caught:
        x.add_(1)
    assert f"{__file__}:" in str(caught.value) and "no_grad" in str(caught.value)


def test_plans_are_shared_and_bounded() -> None:
    from pellucid.engine.ops.arithmetic import add

    a = pellucid.ones(3, 7)
    a + a
    known = len(add.plans)
    a + a
    assert len(add.plans) == known


def test_numbers_of_another_type_have_plans_of_their_own() -> None:
    x = pellucid.tensor([1, 2])
    assert (x + 1).dtype is pellucid.int64
    assert (x + 1.0).dtype is pellucid.float32
    assert (x + True).dtype is pellucid.int64
    assert x.sum(0, keepdim=True).shape == (1,)
    assert x.sum(0, keepdim=False).shape == ()
