"""Anomaly detection finds the operator whose gradient is NaN and the line that called it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import pellucid

torch = pytest.importorskip("torch")
LIBRARIES = [pellucid, torch]
pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")


def divided_zero(library: Any) -> Any:
    x = library.zeros(2, requires_grad=True)
    return (x / x).sum()  # the line to be named


def test_a_nan_gradient_names_the_operator_and_the_line() -> None:
    for lib in LIBRARIES:
        with lib.autograd.detect_anomaly():
            loss = divided_zero(lib)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with pytest.raises(RuntimeError) as error:
                    loss.backward()
        assert str(error.value) == "Function 'DivBackward0' returned nan values in its 1th output."
        text = "".join(str(each.message) for each in caught)
        assert "Error detected in DivBackward0" in text
        assert "the line to be named" in text


def test_an_error_in_backward_names_the_line() -> None:
    for lib in LIBRARIES:

        class Fails(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, dy: Any) -> Any:
                raise ValueError("mine")

        with lib.autograd.detect_anomaly():
            y = Fails.apply(lib.ones(1, requires_grad=True))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with pytest.raises(ValueError, match="mine"):
                    y.backward()
        assert "Error detected in FailsBackward" in "".join(str(each.message) for each in caught)


def test_nan_is_let_through_without_the_check_or_the_mode() -> None:
    for lib in LIBRARIES:
        with lib.autograd.detect_anomaly(check_nan=False):
            divided_zero(lib).backward()
        divided_zero(lib).backward()


def test_the_switch_works_at_once_and_as_a_context() -> None:
    for lib in LIBRARIES:
        with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
            lib.autograd.detect_anomaly()
        assert not lib.is_anomaly_enabled()
        lib.autograd.set_detect_anomaly(True, check_nan=False)
        assert lib.is_anomaly_enabled() and not lib.is_anomaly_check_nan_enabled()
        lib.autograd.set_detect_anomaly(False)
        with lib.autograd.set_detect_anomaly(True):
            assert lib.is_anomaly_enabled() and lib.is_anomaly_check_nan_enabled()
        assert not lib.is_anomaly_enabled()
