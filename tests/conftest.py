"""What every test starts from: fixed seeds, and one thread, since tests have small matrices and run side by side."""

import os
import random
import sys
import warnings

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


def _described(value):
    """What a test compares of a value that either framework made."""
    kind = type(value)
    if hasattr(value, "grad_fn") and hasattr(value, "stride"):
        data = None if value.device.type == "meta" else repr(value.detach().tolist())
        return (
            str(value.dtype),
            tuple(value.shape),
            value.stride(),
            data,
            value.requires_grad,
            type(value.grad_fn).__name__,
        )
    if isinstance(value, (list, tuple)):
        return tuple([_described(each) for each in value])
    if isinstance(value, dict):
        return {name: _described(each) for name, each in value.items()}
    if isinstance(value, BaseException):
        return kind.__name__
    return str(value) if kind.__name__ in ("dtype", "device") else value


def _messages(value):
    if isinstance(value, BaseException):
        return [str(value)]
    return [text for each in value for text in _messages(each)] if isinstance(value, (list, tuple)) else []


def _outcome(function, library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.manual_seed(0)
        try:
            return function(library)
        except Exception as error:
            return error


@pytest.fixture
def agrees():
    """Check that a function of the framework gives the same under Pellucid and PyTorch: tensors, classes and beginnings
    of errors.
    """
    torch = pytest.importorskip("torch")
    import pellucid

    def check(function, phrase=30):
        ours, theirs = _outcome(function, pellucid), _outcome(function, torch)
        assert _described(ours) == _described(theirs), _messages(ours)
        for found, expected in zip(_messages(ours), _messages(theirs), strict=True):
            assert expected[:phrase].lower() in found.lower()

    return check
