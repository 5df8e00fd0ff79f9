"""Sparse gradients: SparseAdam, SGD and Adagrad write only the rows that a gradient holds, as PyTorch does."""

import numpy as np
import pytest

import pellucid

from .comparison import FRAMEWORKS, array, assert_same

pytestmark = pytest.mark.skipif(
    not hasattr(pellucid, "sparse_coo_tensor"), reason="there are no sparse tensors to make such gradients of"
)

SETTINGS = [
    ("SparseAdam", {"lr": 0.1}),
    ("SparseAdam", {"lr": 0.1, "betas": (0.5, 0.6), "eps": 1e-3, "maximize": True}),
    ("SparseAdam", {"lr": pellucid.tensor(0.1)}),
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "maximize": True}),
]


def sparse(framework, random, is_empty=False):
    """A gradient of a 6 x 3 matrix that holds row 4 twice, row 0 once, or nothing."""
    rows = [] if is_empty else [4, 0, 4]
    indices = framework.tensor([rows], dtype=framework.int64).reshape(1, len(rows))
    values = framework.from_numpy(random.standard_normal((len(rows), 3)).astype("float32"))
    return framework.sparse_coo_tensor(indices, values, (6, 3))


def run(framework, name, settings):
    random = np.random.default_rng(0)
    settings = {
        key: framework.tensor(0.1) if key == "lr" and name == "SparseAdam" else value for key, value in settings.items()
    }
    param = framework.ones(6, 3).requires_grad_()
    optimizer = getattr(framework.optim, name)([param], **settings)
    for step in range(4):
        param.grad = sparse(framework, random, is_empty=step == 2 and name == "SparseAdam")
        optimizer.step()
    return param, optimizer


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_rows_are_updated_as_in_pytorch(name, settings):
    (ours, mine), (theirs, other) = (run(framework, name, settings) for framework in FRAMEWORKS)
    np.testing.assert_allclose(array(ours), array(theirs), rtol=1e-5)
    assert array(ours)[1].tolist() == [1.0, 1.0, 1.0]
    if "momentum" not in settings:
        assert_same(mine.state_dict()["state"], other.state_dict()["state"], 1e-5)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"])
def test_other_optimizers_refuse_them(name):
    param = pellucid.ones(6, 3).requires_grad_()
    optimizer = getattr(pellucid.optim, name)([param])
    param.grad = sparse(pellucid, np.random.default_rng(0))
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        optimizer.step()


def test_refusals_of_the_sparse_ones():
    param = pellucid.ones(6, 3).requires_grad_()
    param.grad = pellucid.ones(6, 3)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        pellucid.optim.SparseAdam([param]).step()
    param.grad = sparse(pellucid, np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="not compatible with sparse gradients"):
        pellucid.optim.Adagrad([param], weight_decay=0.1).step()
    for name in ("SGD", "Adagrad"):
        with pytest.raises(RuntimeError, match="does not support sparse gradients"):
            getattr(pellucid.optim, name)([param], fused=True).step()
