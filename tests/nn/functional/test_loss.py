"""Losses against PyTorch: values, gradients and second gradients, reductions, class weights, ignored items, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, random_array, torch

REDUCTIONS = ["none", "mean", "sum"]
SIGNS = np.where(random_array(4, 5, seed=9) > 0, 1.0, -1.0)
UNIT = 1 / (1 + np.exp(-random_array(4, 5, seed=8)))
PAIRS: dict[str, Any] = {
    "mse_loss": {}, "l1_loss": {}, "smooth_l1_loss": {"beta": 0.7}, "huber_loss": {"delta": 0.6},
    "kl_div": {"log_target": True}, "poisson_nll_loss": {}, "binary_cross_entropy_with_logits": {},
    "multilabel_soft_margin_loss": {},
}  # fmt: skip


def functional(framework: Any, name: str, *args: Any, **settings: Any) -> Any:
    return getattr(framework.nn.functional, name)(*args, **settings)


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", PAIRS)
def test_losses_of_two_tensors(name, reduction):
    call = lambda f, x, t: functional(f, name, x, t, reduction=reduction, **PAIRS[name])  # noqa: E731
    assert_same_function(call, random_array(4, 5), random_array(4, 5, seed=3), second=name != "l1_loss")


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ["soft_margin_loss", "hinge_embedding_loss", "binary_cross_entropy"])
def test_losses_of_a_tensor_and_fixed_targets(name, reduction):
    x, target = (UNIT, 1 - UNIT) if name == "binary_cross_entropy" else (random_array(4, 5), SIGNS)
    assert_same_function(lambda f, x: functional(f, name, x, f.from_numpy(target.copy()), reduction=reduction), x)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_weights_of_binary_losses(reduction):
    weight, positive = np.abs(random_array(5, seed=4)), np.abs(random_array(5, seed=5))

    def logits(f, x, t):
        w, p = f.from_numpy(weight.copy()), f.from_numpy(positive.copy())
        return functional(f, "binary_cross_entropy_with_logits", x, t, w, reduction=reduction, pos_weight=p)

    assert_same_function(logits, random_array(4, 5), UNIT)

    def plain(f, x, t):
        return functional(f, "binary_cross_entropy", x, t, f.from_numpy(weight.copy()), reduction=reduction)

    assert_same_function(plain, UNIT, 1 - UNIT)


def test_binary_cross_entropy_at_its_ends():
    x, t = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    assert_same_function(lambda f, x: functional(f, "binary_cross_entropy", x, f.from_numpy(t.copy())), x, second=False)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("spatial", [(), (2,), (2, 3), None], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_class_losses(name, reduction, spatial, weighted):
    shape = (4,) if spatial is None else (3, 4, *spatial)
    target = np.array(2) if spatial is None else np.random.default_rng(0).integers(0, 4, (3, *spatial))
    if spatial is not None:
        target.flat[0] = 1
    weight = np.abs(random_array(4, seed=6))

    def call(f, x):
        w = f.from_numpy(weight.copy()) if weighted else None
        return functional(f, name, x, f.tensor(target.tolist()), w, ignore_index=1, reduction=reduction)

    assert_same_function(call, random_array(*shape), name=spatial != (2,), strides=False)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["index", "probability"])
def test_cross_entropy_with_smoothed_labels(reduction, weighted, kind):
    weight = np.abs(random_array(5, seed=6))

    def call(f, x):
        target = f.tensor([0, 4, 1, -100]) if kind == "index" else f.from_numpy(UNIT.copy())
        w = f.from_numpy(weight.copy()) if weighted else None
        return functional(f, "cross_entropy", x, target, w, reduction=reduction, label_smoothing=0.2)

    assert_same_function(call, random_array(4, 5), name=False)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_multi_margin(reduction, p, weighted):
    weight = np.abs(random_array(5, seed=6))

    def call(f, x):
        w = f.from_numpy(weight.copy()) if weighted else None
        return functional(
            f, "multi_margin_loss", x, f.tensor([0, 4, 1, 1]), p=p, margin=0.8, weight=w, reduction=reduction
        )

    assert_same_function(call, random_array(4, 5), second=False)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multilabel_margin(reduction):
    target = [[0, 3, -1, 2, 1], [-1, 0, 1, 2, 3], [4, 4, -1, 0, 0], [0, 1, 2, 3, 4]]
    assert_same_function(
        lambda f, x: functional(f, "multilabel_margin_loss", x, f.tensor(target), reduction=reduction),
        random_array(4, 5),
        second=False,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_losses_of_three_tensors(reduction):
    a, b, c = (random_array(4, 5, seed=i) for i in range(3))
    assert_same_function(
        lambda f, x, y: functional(
            f, "margin_ranking_loss", x, y, f.from_numpy(SIGNS.copy()), 0.1, reduction=reduction
        ),
        a,
        b,
        name=False,
    )
    assert_same_function(
        lambda f, x, y: functional(
            f, "cosine_embedding_loss", x, y, f.from_numpy(SIGNS[:, 0].copy()), 0.1, reduction=reduction
        ),
        a,
        b,
        name=False,
    )
    for swap in (False, True):
        call = lambda f, x, y, z: functional(f, "triplet_margin_loss", x, y, z, 2.0, swap=swap, reduction=reduction)  # noqa: B023, E731
        assert_same_function(call, a, b, c, name=False)
    assert_same_function(
        lambda f, x, y, v: functional(f, "gaussian_nll_loss", x, y, v, full=True, reduction=reduction), a, b, UNIT
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("layout", ["padded", "joined", "blank in the middle"])
def test_ctc(reduction, layout):
    targets = [[1, 1, 2], [3, 1, 0], [2, 0, 0], [0, 0, 0]]
    lengths, steps, blank = [3, 2, 1, 0], [6, 5, 4, 6], 0
    if layout == "blank in the middle":
        targets, blank = [[0, 0, 1], [3, 1, 0], [1, 0, 0], [0, 0, 0]], 2

    def call(f, x):
        given = f.tensor(targets) if layout != "joined" else f.tensor([1, 1, 2, 3, 1, 2])
        log_probs = x.log_softmax(-1)
        return functional(
            f, "ctc_loss", log_probs, given, f.tensor(steps), f.tensor(lengths), blank=blank, reduction=reduction
        )

    assert_same_function(call, random_array(6, 4, 4), second=False)


def test_ctc_edges():
    log_probs = pellucid.zeros(2, 2, 3).log_softmax(-1).requires_grad_()
    empty = functional(
        pellucid,
        "ctc_loss",
        log_probs[:, :1],
        pellucid.empty(1, 0).long(),
        pellucid.tensor([2]),
        pellucid.tensor([0]),
        reduction="sum",
    )
    assert abs(empty.item() - 2.1972246) < 1e-6
    losses = functional(
        pellucid, "ctc_loss", log_probs, pellucid.tensor([[1, 1], [2, 0]]), [2, 2], [2, 1], reduction="none"
    )
    assert losses[0].item() == float("inf")
    losses.sum().backward()
    assert log_probs.grad.isfinite().all() and not log_probs.grad[:, 0].any() and log_probs.grad[:, 1].any()
    zeroed = functional(
        pellucid,
        "ctc_loss",
        log_probs,
        pellucid.tensor([[1, 1], [2, 0]]),
        [2, 2],
        [2, 1],
        reduction="none",
        zero_infinity=True,
    )
    assert zeroed[0].item() == 0 and zeroed[1].item() == losses[1].item()
    x = random_array(5, 3)
    for f in (torch, pellucid):
        one = functional(
            f,
            "ctc_loss",
            f.from_numpy(x.copy()).log_softmax(-1),
            f.tensor([1, 2]),
            f.tensor(5),
            f.tensor(2),
            reduction="none",
        )
        assert one.shape == ()


def test_means_of_nothing_and_promotion():
    for f in (torch, pellucid):
        assert functional(f, "nll_loss", f.zeros(0, 3), f.zeros(0, dtype=f.int64)).isnan()
        assert functional(f, "nll_loss", f.zeros(0, 3), f.zeros(0, dtype=f.int64), reduction="sum") == 0
        assert functional(f, "mse_loss", f.zeros(0), f.zeros(0)).isnan()
        assert functional(f, "mse_loss", f.ones(2), f.ones(2).double()).dtype is f.float64
        assert functional(f, "mse_loss", f.ones(2).bfloat16(), f.zeros(2).bfloat16()).dtype is f.bfloat16
        assert functional(f, "cross_entropy", f.zeros(2, 3), f.tensor([-100, -100])).isnan()


def test_losses_of_the_top_namespace():
    x, t = random_array(4, 5), UNIT
    codes = {
        "binary_cross_entropy_with_logits": (), "kl_div": (), "hinge_embedding_loss": (1.0,),
    }  # fmt: skip
    for name, more in codes.items():
        for code in (0, 1, 2):
            settings = {"pos_weight": None} if name.startswith("binary") else {}
            results = [
                getattr(f, name)(
                    f.from_numpy(x.copy()), f.from_numpy(t.copy()), *more, reduction=code, **settings
                ).numpy()
                for f in (torch, pellucid)
            ]
            np.testing.assert_allclose(results[1], results[0])


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda f: functional(f, "nll_loss", f.ones(2, 3), f.tensor([0, 5])), "Target 5 is out of bounds"),
        (
            lambda f: functional(f, "nll_loss", f.ones(2, 3), f.tensor([0.0, 1.0])),
            "expected target dtype to be Long or Byte, but got Float",
        ),
        (
            lambda f: functional(f, "nll_loss", f.ones(2, 3), f.tensor([0])),
            "Expected input batch_size (2) to match target batch_size (1).",
        ),
        (
            lambda f: functional(f, "nll_loss", f.ones(2, 3), f.tensor([0, 1]), f.ones(2)),
            "weight tensor should be defined either for all 3",
        ),
        (
            lambda f: functional(f, "nll_loss", f.ones(2, 3), f.tensor([0, 1]), f.ones(3).double()),
            "expected scalar type Float but found Double",
        ),
        (
            lambda f: functional(f, "nll_loss", f.ones(2, 3, 4), f.zeros(2, 3).long()),
            "Expected target size [2, 4], got [2, 3]",
        ),
        (lambda f: functional(f, "nll_loss", f.ones(3), f.tensor([1, 2])), "For 1D input, 1D target must have size 1"),
        (
            lambda f: functional(f, "nll_loss", f.ones(2, 3), f.tensor([0, 1]), f.ones(3, requires_grad=True)),
            "not differentiable with respect to",
        ),
        (
            lambda f: functional(f, "cross_entropy", f.ones(2, 3), f.ones(2, 3).long()),
            "Expected floating point type for target with class prob",
        ),
        (
            lambda f: functional(f, "cross_entropy", f.ones(2, 3), f.tensor([0, 1]), label_smoothing=2.0),
            "label_smoothing must be between",
        ),
        (
            lambda f: functional(f, "mse_loss", f.ones(2).long(), f.ones(2).long()),
            "\"mse_cpu\" not implemented for 'Long'",
        ),
        (
            lambda f: functional(f, "mse_loss", f.ones(2), f.ones(2), reduction="x"),
            "x is not a valid value for reduction",
        ),
        (
            lambda f: functional(f, "binary_cross_entropy", f.ones(2) * 2, f.ones(2)),
            "all elements of input should be between 0 and 1",
        ),
        (
            lambda f: functional(f, "binary_cross_entropy", f.ones(2), f.ones(2).double()),
            "Found dtype Double but expected Float",
        ),
        (lambda f: functional(f, "binary_cross_entropy", f.ones(2), f.ones(3)), "that is different to the input size"),
        (
            lambda f: functional(f, "soft_margin_loss", f.ones(2), f.ones(2, requires_grad=True)),
            "not differentiable with respect to argument",
        ),
        (lambda f: functional(f, "multi_margin_loss", f.ones(2, 3), f.tensor([0, 5])), "target out of range"),
        (
            lambda f: functional(f, "smooth_l1_loss", f.ones(2), f.ones(2), beta=-1.0),
            "smooth_l1_loss does not support negative values for beta",
        ),
        (
            lambda f: functional(f, "huber_loss", f.ones(2), f.ones(2), delta=0.0),
            "huber_loss does not support non-positive values for delta",
        ),
        (
            lambda f: functional(f, "gaussian_nll_loss", f.ones(2), f.ones(2), -f.ones(2)),
            "var has negative entry/entries",
        ),
        (
            lambda f: functional(
                f, "ctc_loss", f.ones(4, 2, 3), f.ones(2, 2).long(), f.tensor([4, 5]), f.tensor([2, 1])
            ),
            "value at most 4",
        ),
        (
            lambda f: functional(f, "ctc_loss", f.ones(4, 2, 3), f.ones(2, 2).long(), f.tensor([4]), f.tensor([2, 1])),
            "must be of size batch_size",
        ),
        (
            lambda f: functional(
                f, "ctc_loss", f.ones(4, 2, 3), f.ones(2, 2).long(), f.tensor([4, 4]), f.tensor([2, 3])
            ),
            "size at least 3",
        ),
        (
            lambda f: functional(
                f, "ctc_loss", f.ones(4, 2, 3), f.ones(2, 2).long(), f.tensor([4, 4]), f.tensor([2, 1]), blank=7
            ),
            "blank must be in",
        ),
        (lambda f: functional(f, "pdist", f.ones(2)), "pdist only supports 2D tensors, got: 1D"),
        (lambda f: functional(f, "pdist", f.ones(2, 2), -1), "pdist only supports non-negative p values"),
    ],
)
def test_errors(call, phrase):
    assert_same_error(call, phrase)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances(p):
    assert_same_function(lambda f, x: functional(f, "pdist", x, p), random_array(4, 3), second=False)
    call = lambda f, x, y: functional(f, "pairwise_distance", x, y, p)  # noqa: E731
    if p:
        assert_same_function(call, random_array(4, 3), random_array(4, 3, seed=2), second=p == 2, name=False)
    assert_same_function(
        lambda f, x, y: functional(f, "cosine_similarity", x, y), random_array(4, 3), random_array(1, 3, seed=2)
    )
