"""A part of the catalogue, drawn with a fixed seed: vmap equals the loop, and forward mode gives PyTorch's tangents."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from tests.catalogue.samples import CASES  # noqa: E402 (needs torch)
from tests.catalogue.table import Case  # noqa: E402

from .sweep import gradient_differences, tangent_differences, vmap_differences  # noqa: E402

SHARE = 0.4
NOT_BATCHED = {
    "as_strided": "its offset counts from the sample here and in PyTorch's vmap, from the storage in the loop",
    "linspace": "ends that are tensors are read as numbers",
    "Tensor.resize_": "a sample has no storage of its own",
    "nn.functional.ctc_loss": "the lengths are read as numbers",
}
NOT_COMPARED = {
    "fmax": "of equal elements PyTorch's forward mode moves the second, its reverse mode the first",
    "fmin": "as fmax",
    "nanmean": "of nothing: NaN in PyTorch, 0 here",
    "logsumexp": "of nothing: NaN in PyTorch, 0 here",
    "special.logsumexp": "of nothing: NaN in PyTorch, 0 here",
    "scatter_reduce": "PyTorch's tangent of a product is 0; ours is what finite differences give",
    "triangular_solve": "PyTorch moves the half of the matrix that the function does not read",
    "linalg.cholesky": "PyTorch moves a matrix that is not symmetric in another way",
    "linalg.cholesky_ex": "as linalg.cholesky",
    "cholesky": "as linalg.cholesky",
    "cholesky_inverse": "as triangular_solve",
    "nn.functional.binary_cross_entropy_with_logits": "weights have no gradient rule",
}


NOT_DIFFERENTIATED_TWICE = {
    **NOT_BATCHED,
    "cov": "weights are checked by value",
    "nn.functional.gaussian_nll_loss": "the variances are checked by value, as in PyTorch",
    "pow": "0 ** y has no second derivative",
    "nn.functional.grid_sample": "a third derivative is missing, as in PyTorch",
    "nn.utils.rnn.unpad_sequence": "the lengths are read as numbers",
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def drawn(cases: list[Case]) -> list[Any]:
    chosen = random.Random(0).sample(cases, round(len(cases) * SHARE))
    return [pytest.param(case, id=case.label) for case in sorted(chosen, key=lambda case: case.label)]


@pytest.mark.parametrize(
    "case", drawn([case for case in CASES if not case.random and case.values and case.name not in NOT_BATCHED])
)
def test_vmap_equals_the_loop(case: Case) -> None:
    dtype = "float32" if "float32" in case.dtypes else case.dtypes[0]
    assert vmap_differences(case, torch, dtype, 3) == []


@pytest.mark.parametrize(
    "case",
    drawn(
        [
            case
            for case in CASES
            if case.gradients and not case.random and "float64" in case.dtypes and case.name not in NOT_COMPARED
        ]
    ),
)
def test_tangents_are_those_of_pytorch(case: Case) -> None:
    assert tangent_differences(case, torch, "float64", 5) == []


@pytest.mark.parametrize(
    "case",
    drawn(
        [
            case
            for case in CASES
            if case.gradients
            and case.values
            and not case.random
            and "float64" in case.dtypes
            and case.name not in NOT_DIFFERENTIATED_TWICE
        ]
    ),
)
def test_gradients_inside_vmap_and_their_tangents(case: Case) -> None:
    assert gradient_differences(case, "float64", 4) == []
