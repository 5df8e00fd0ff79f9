"""Comparing and making tensors in tests."""

from pellucid.testing.comparison import assert_allclose, assert_close
from pellucid.testing.creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
