"""The digits in the package: all there, split without overlap, and moved about without losing them."""

import numpy as np
import pytest

import pellucid
from pellucid.cli.augment import random_affine
from pellucid.cli.digits import load_digits, load_images


def test_all_images_are_there():
    images, labels = load_images()
    assert images.shape == (1797, 8, 8) and images.max() == 16 and images.min() == 0
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_parts_are_disjoint_fixed_and_normalised():
    digits = load_digits()
    parts = [digits.train, digits.validation, digits.test]
    assert [len(part) for part in parts] == [1197, 150, 450]
    images, labels = load_images()
    together = np.concatenate([part.tensors[0].numpy() for part in parts])[:, 0] * digits.deviation + digits.mean
    digits_together = np.concatenate([part.tensors[1].numpy() for part in parts])
    order = np.random.default_rng(0).permutation(1797)
    order = np.concatenate([order[600:], order[450:600], order[:450]])
    np.testing.assert_allclose(together * 16, images[order], atol=1e-4)
    np.testing.assert_array_equal(digits_together, labels[order])
    assert abs(digits.train.tensors[0].mean().item()) < 1e-4 and abs(digits.train.tensors[0].std().item() - 1) < 1e-4


@pytest.mark.parametrize("background", [None, -1.0])
def test_augmentation_of_nothing_changes_nothing(background):
    images = load_digits().train.tensors[0][:5]
    same = random_affine(images, degrees=0, shift=0, zoom=0, background=background)
    np.testing.assert_allclose(same.numpy(), images.numpy(), atol=1e-5)


def test_augmentation_fills_with_the_background_and_moves_each_image_on_its_own():
    pellucid.manual_seed(0)
    moved = random_affine(pellucid.full((6, 1, 8, 8), 3.0), shift=0.5, background=3.0)
    np.testing.assert_allclose(moved.numpy(), 3.0, atol=1e-5)
    images = load_digits().train.tensors[0][:1].expand(6, 1, 8, 8)
    moved = random_affine(images).numpy()
    assert all(np.abs(moved[0] - other).max() > 0.05 for other in moved[1:])


def test_augmentation_draws_from_the_seed():
    images = load_digits().train.tensors[0][:4]
    pellucid.manual_seed(3)
    first = random_affine(images)
    pellucid.manual_seed(3)
    np.testing.assert_array_equal(first.numpy(), random_affine(images).numpy())
