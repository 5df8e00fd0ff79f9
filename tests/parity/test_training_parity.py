"""From `manual_seed(0)` a training in Pellucid has PyTorch's initial weights to the bit, and PyTorch's losses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pellucid

from .training import TRAININGS

torch = pytest.importorskip("torch")

RELATIVE = 1e-4


@pytest.mark.parametrize("name", TRAININGS)
def test_training_has_pytorchs_weights_and_losses(name: str, report_row: Callable[[str], None]) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        expected = TRAININGS[name](torch)
    finally:
        torch.set_num_threads(threads)
    actual = TRAININGS[name](pellucid)

    assert list(actual.initial) == list(expected.initial)
    for key, weight in expected.initial.items():
        assert actual.initial[key].dtype == weight.dtype, key
        assert actual.initial[key].tobytes() == weight.tobytes(), f"initial {key} differs"

    want, got = np.array(expected.losses), np.array(actual.losses)
    deviation = np.abs(got - want) / np.abs(want)
    report_row(
        f"{name:<18}{len(expected.initial):>9}{len(want):>8}{want[0]:>10.4f}{want[-1]:>10.4f}{deviation.max():>16.2e}"
    )
    assert np.isfinite(want).all()
    worst = int(deviation.argmax())
    assert deviation[worst] <= RELATIVE, f"loss {worst} is {got[worst]}, PyTorch's {want[worst]}"
    assert actual.next_draw == expected.next_draw, "the random stream was not consumed as PyTorch consumes it"
