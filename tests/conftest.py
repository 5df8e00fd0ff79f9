"""What every test starts from: fixed seeds, and one thread, since tests have small matrices and run side by side."""

import os
import random
import sys

import pytest

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # NumPy and PyTorch, which no test has imported yet, read these once


@pytest.fixture(autouse=True)
def fixed_seeds():
    """Seed every generator that a test may draw from; a framework that is not imported yet is left alone."""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    for framework in ("pellucid", "torch"):
        if hasattr(sys.modules.get(framework), "manual_seed"):
            sys.modules[framework].manual_seed(0)
