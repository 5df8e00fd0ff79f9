"""Window functions against PyTorch, value by value."""

import inspect

import pytest

import pellucid

torch = pytest.importorskip("torch")

SETTINGS = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 2.5}, {"center": 1.5, "sym": False}],
    "gaussian": [{}, {"std": 0.7}],
    "general_cosine": [{"a": [0.46, 0.23, 0.31]}, {"a": (1.0,)}],
    "general_hamming": [{}, {"alpha": 0.7}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 0.0}, {"beta": 3.5}],
    "nuttall": [{}],
}
ROWS = [(name, settings) for name, several in SETTINGS.items() for settings in several]


# Functions of numbers up to 100 magnify the last bit of these, in which PyTorch's own float32 is off from its float64.
STEEP = ("exponential", "gaussian", "kaiser")
ROUNDING = {"float32": 5e-7, "float64": 1e-15}


@pytest.mark.parametrize(("name", "settings"), ROWS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_are_pytorchs(name, settings, dtype):
    for length in (0, 1, 2, 3, 10, 100, 255):
        for sym in (True, False):
            options = {"sym": sym, **settings}
            expected = getattr(torch.signal.windows, name)(length, dtype=getattr(torch, dtype), **options)
            found = getattr(pellucid.signal.windows, name)(length, dtype=getattr(pellucid, dtype), **options)
            assert str(found.dtype) == str(expected.dtype)
            bound = ROUNDING[dtype] * (10 if name in STEEP else 1)
            torch.testing.assert_close(torch.from_numpy(found.numpy()), expected, rtol=0, atol=bound)


@pytest.mark.parametrize("name", SETTINGS)
def test_signatures_are_pytorchs(name):
    expected = inspect.signature(getattr(torch.signal.windows, name)).parameters
    found = inspect.signature(getattr(pellucid.signal.windows, name)).parameters
    assert [(each.name, each.kind) for each in found.values()] == [(e.name, e.kind) for e in expected.values()]


def test_names_and_options():
    assert sorted(pellucid.signal.windows.__all__) == sorted(torch.signal.windows.__all__)
    assert pellucid.signal.windows.hann(4, requires_grad=True).requires_grad
    assert pellucid.signal.windows.hann(4, device="meta").shape == (4,)
    assert pellucid.signal.windows.hann(4).dtype is pellucid.float32


ERRORS = {
    "length": lambda w, f: w.hann(-1),
    "integers": lambda w, f: w.hann(4, dtype=f.int64),
    "half": lambda w, f: w.gaussian(4, dtype=f.bfloat16),
    "no integer": lambda w, f: w.hann(4.5),
    "centre of a symmetric one": lambda w, f: w.exponential(5, center=1.0),
    "tau": lambda w, f: w.exponential(5, tau=0.0),
    "deviation": lambda w, f: w.gaussian(5, std=0.0),
    "beta": lambda w, f: w.kaiser(5, beta=-1.0),
    "no coefficients": lambda w, f: w.general_cosine(5, a=[]),
    "a number": lambda w, f: w.general_cosine(5, a=3),
    "layout": lambda w, f: w.hann(4, layout=f.sparse_coo),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_pytorchs(name):
    with pytest.raises(Exception) as expected:
        ERRORS[name](torch.signal.windows, torch)
    with pytest.raises(expected.type) as found:
        ERRORS[name](pellucid.signal.windows, pellucid)
    if name != "no integer":
        assert str(found.value) == str(expected.value)
