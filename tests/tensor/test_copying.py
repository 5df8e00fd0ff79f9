"""`copy.deepcopy` and `pickle` of tensors, against PyTorch."""

import copy
import pickle

import pytest

import pellucid

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "make", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))], ids=["deepcopy", "pickle"]
)
def test_leaves_keep_their_facts(make):
    def build(framework):
        leaf = framework.arange(6.0).reshape(2, 3).t().detach()
        leaf.requires_grad_()
        (leaf * 2).sum().backward()
        leaf.note = [1]
        return leaf, make(leaf)

    (ours, copied), (_, expected) = build(pellucid), build(torch)
    assert copied.tolist() == expected.tolist() and copied.stride() == expected.stride() == (1, 3)
    assert (
        copied.requires_grad
        and expected.requires_grad
        and copied.note == expected.note == [1]
        and copied.note is not ours.note
    )
    assert (copied.grad is None) == (expected.grad is None)
    with pellucid.no_grad():
        copied.add_(1)
    assert ours.tolist() != copied.tolist()


def test_deep_copies_share_what_was_shared():
    for framework in (pellucid, torch):
        base = framework.zeros(4)
        copied = copy.deepcopy([base, base[1:], base])
        copied[0].add_(5)
        assert copied[1].tolist() == [5, 5, 5] and copied[2] is copied[0] and base.tolist() == [0, 0, 0, 0]


def test_only_leaves_are_deep_copied():
    for framework in (pellucid, torch):
        made = framework.ones(2, requires_grad=True) * 2
        with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
            copy.deepcopy(made)
        assert pickle.loads(pickle.dumps(made)).is_leaf


def test_other_types_and_the_meta_device():
    for value in (
        pellucid.zeros(2, dtype=pellucid.bfloat16),
        pellucid.zeros((), dtype=pellucid.complex64),
        pellucid.empty(0, 3),
    ):
        for made in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert made.dtype is value.dtype and made.shape == value.shape and made.tolist() == value.tolist()
    meta = pellucid.empty(2, 3, device="meta")
    assert copy.deepcopy(meta).device.type == pickle.loads(pickle.dumps(meta)).device.type == "meta"
