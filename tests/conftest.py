"""What every test starts from: fixed seeds, and one thread for each of the parallel test processes."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # before NumPy or PyTorch load, which read these once
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")

import random
import sys

import pytest


@pytest.fixture(autouse=True)
def fixed_seeds():
    """Seed every generator that a test may draw from; a framework that is not imported yet is left alone."""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    for framework in ("pellucid", "torch"):
        if hasattr(sys.modules.get(framework), "manual_seed"):
            sys.modules[framework].manual_seed(0)
