"""Fourier transforms, windows and short-time transforms against PyTorch: values, gradients, errors."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = [name + suffix for name in ONE for suffix in "2n"]
REAL_ONLY = ("rfft", "ihfft")


def pair(shape: tuple[int, ...], kind: str, seed: int = 0) -> tuple[Any, Any]:
    """The same random data as a tensor of either library."""
    draw = np.random.default_rng(seed)
    data = draw.standard_normal(shape)
    if kind.startswith("complex"):
        data = data + 1j * draw.standard_normal(shape)
    data = (data * 5).astype(kind)
    return pellucid.tensor(data), torch.tensor(data)


def same(ours: Any, theirs: Any, tolerance: float = 1e-12) -> None:
    """Shape, dtype, values, and the name of the graph node."""
    assert str(ours.dtype) == str(theirs.dtype) and tuple(ours.shape) == tuple(theirs.shape)
    if ours.dtype in (pellucid.float32, pellucid.complex64):
        tolerance = 2e-5
    got, expected = ours.detach().numpy(), theirs.detach().resolve_conj().numpy()
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * 10)
    assert type(ours.grad_fn).__name__ == type(theirs.grad_fn).__name__


def kinds(name: str) -> list[str]:
    return ["float32", "float64", "int64"] + ([] if name.startswith(REAL_ONLY) else ["complex64", "complex128"])


@pytest.mark.parametrize("name", ONE)
def test_one_dimension(name: str) -> None:
    ours, theirs = getattr(pellucid.fft, name), getattr(torch.fft, name)
    for kind in kinds(name):
        x, y = pair((3, 6), kind)
        for n, dim, norm in itertools.product((None, 3, 4, 9), (-1, 0), (None, "ortho", "forward", "backward")):
            same(ours(x, n, dim, norm), theirs(y, n, dim, norm))
        same(ours(x.t()[::2]), theirs(y.t()[::2]))
        same(ours(x[0], n=1), theirs(y[0], n=1))


@pytest.mark.parametrize("name", MANY)
def test_several_dimensions(name: str) -> None:
    ours, theirs = getattr(pellucid.fft, name), getattr(torch.fft, name)
    for kind in kinds(name):
        x, y = pair((3, 4, 5), kind)
        for s, dim, norm in (
            (None, (0, 1), None),
            (None, (2, 0), "ortho"),
            ((4, 7), (-1, -2), "forward"),
            ((-1, 3), (0, 2), None),
            (None, (1,), "backward"),
        ):
            same(ours(x, s, dim, norm), theirs(y, s, dim, norm))
        same(ours(x), theirs(y))


@pytest.mark.parametrize("name", ONE + MANY)
@pytest.mark.parametrize("last", [5, 6])
def test_gradients(name: str, last: int) -> None:
    for kind in ("float64",) if name.startswith(REAL_ONLY) else ("float64", "complex128"):
        x, y = pair((3, last), kind)
        results = []
        for library, leaf in ((pellucid, x), (torch, y)):
            leaf.requires_grad_()
            made = getattr(getattr(library, "fft"), name)(leaf)  # noqa: B009 - the library is a variable
            size = (made.abs() ** 4).sum()
            (first,) = library.autograd.grad(size, leaf, create_graph=True)
            (second,) = library.autograd.grad((first.abs() ** 2).sum(), leaf)
            results.append((made, first, second))
        same(results[0][0], results[1][0])
        for got, expected in zip(results[0][1:], results[1][1:], strict=True):
            wanted = expected.detach().resolve_conj().numpy()
            np.testing.assert_allclose(got.detach().numpy(), wanted, rtol=1e-8, atol=1e-9 * np.abs(wanted).max())


def test_gradcheck_with_sizes() -> None:
    x = pair((2, 5), "float64")[0].requires_grad_()
    c = pair((2, 5), "complex128")[0].requires_grad_()
    for n in (3, 4, 8):
        assert pellucid.autograd.gradcheck(lambda t, n=n: pellucid.fft.rfft(t, n).abs().square(), x)
        assert pellucid.autograd.gradcheck(lambda t, n=n: pellucid.fft.irfft(t, n), c)
        assert pellucid.autograd.gradgradcheck(lambda t, n=n: pellucid.fft.hfft(t, n).square(), c)


WRONG = [
    "fft.fft({x}, n=0)", "fft.fft({x}, n=-1)", "fft.fft({x}, dim=5)", "fft.fft({x}, norm='foo')", "fft.rfft({c})",
    "fft.ihfft({c})", "fft.irfft({x}[:, :1])", "fft.fft({x}[0, 0])", "fft.fft({x}.half())", "fft.fft2({x}[0])",
    "fft.fftn({x}, dim=(0, 0))", "fft.fftn({x}, s=(3,), dim=(0, 1))", "fft.fftn({x}, s=(1, 2, 3))",
    "fft.rfftn({x}, dim=())", "fft.irfftn({x}, dim=())", "fft.rfftn({c})", "fft.ihfftn({c})", "fft.fft(3)",
    "fft.fft2({x}, dim=None)", "fft.fftfreq(-1)", "fft.fftfreq(4, dtype={t}.int64)", "fft.fftfreq(2.5)",
    "fft.fftshift({x}, 7)", "fft.fftshift({x}[0, 0])", "fft.fft({x}, out={t}.empty(0))", "hann_window(-1)",
    "fft.irfft({x}, out={t}.empty(0, dtype={t}.complex64))", "hann_window(4, dtype={t}.int64)", "hann_window(2.5)",
    "kaiser_window(4, dtype={t}.complex64)", "stft({x}, 4)", "stft({x}, 4, 0, return_complex=True)",
    "stft({x}, 40, center=False, return_complex=True)", "stft({c}, 4, onesided=True)", "istft({x}, 4)",
]  # fmt: skip


@pytest.mark.parametrize("call", WRONG)
def test_errors(call: str) -> None:
    found = []
    for name, library in (("pellucid", pellucid), ("torch", torch)):
        names = {"pellucid": pellucid, "torch": torch, "x": library.ones(3, 6), "c": library.ones(3, 6) * 1j}
        with pytest.raises(Exception) as caught, warnings.catch_warnings():  # noqa: PT011 - compared below
            warnings.simplefilter("ignore")
            eval(f"{name}." + call.format(x="x", c="c", t=name), names)  # noqa: S307 - rows of the table above
        found.append(caught)
    ours, theirs = found
    assert ours.type is theirs.type, (ours.value, theirs.value)
    if "must be int" not in str(theirs.value) and "TensorOptions" not in str(theirs.value):
        key = str(theirs.value).split(" : ")[-1].split("'ComplexFloat'")[0].strip().rstrip(".")
        assert key in str(ours.value)


def test_out_and_meta_and_empty_batches() -> None:
    x, y = pair((3, 6), "float32")
    into = pellucid.empty(0, dtype=pellucid.complex64)
    assert pellucid.fft.rfft(x, out=into) is into
    same(into, torch.fft.rfft(y))
    assert pellucid.fft.irfft2(pellucid.empty(3, 4, device="meta")).shape == (3, 6)
    assert pellucid.fft.rfft(pellucid.zeros(0, 4)).shape == (0, 3)
    assert pellucid.fft.irfft(pellucid.zeros(0, 4)).shape == (0, 6)
    assert pellucid.fft.fft(pellucid.zeros(0, 4)).dtype is pellucid.complex64


def test_not_finite() -> None:
    data = np.array([1.0, np.inf, 2.0, np.nan], np.float32)
    for name in ("fft", "rfft"):
        got = getattr(pellucid.fft, name)(pellucid.tensor(data)).numpy()
        assert not np.isfinite(got).any()


@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_frequencies_and_shifts(count: int) -> None:
    for name in ("fftfreq", "rfftfreq"):
        for how in ({}, {"d": 0.1}, {"dtype": "float64"}):
            ours, theirs = dict(how), dict(how)
            if "dtype" in how:
                ours["dtype"], theirs["dtype"] = pellucid.float64, torch.float64
            same(getattr(pellucid.fft, name)(count, **ours), getattr(torch.fft, name)(count, **theirs))
    x, y = pair((3, count), "float32")
    for dim in (None, 0, (0, 1)):
        same(pellucid.fft.fftshift(x, dim), torch.fft.fftshift(y, dim))
        same(pellucid.fft.ifftshift(x, dim), torch.fft.ifftshift(y, dim))


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(name: str) -> None:
    ours, theirs = getattr(pellucid, name + "_window"), getattr(torch, name + "_window")
    for length, periodic in itertools.product((0, 1, 2, 3, 8, 101), (True, False)):
        same(ours(length, periodic), theirs(length, periodic))
        same(ours(length, periodic, dtype=pellucid.float64), theirs(length, periodic, dtype=torch.float64), 1e-11)
    assert ours(4, requires_grad=True).requires_grad
    assert ours(4, device="meta").shape == (4,)
    if name == "hamming":
        same(ours(6, True, 0.4, 0.6), theirs(6, True, 0.4, 0.6))
    if name == "kaiser":
        same(ours(6, False, 3.0), theirs(6, False, 3.0))


def rows() -> list[dict[str, Any]]:
    plain = [{"hop_length": hop, "win_length": width} for hop in (None, 3) for width in (None, 6)]
    return plain + [
        {"center": False}, {"center": False, "win_length": 5, "hop_length": 4, "align_to_window": True},
        {"pad_mode": "constant"}, {"pad_mode": "circular"}, {"normalized": True}, {"onesided": False},
    ]  # fmt: skip


@pytest.mark.parametrize("how", rows())
@pytest.mark.filterwarnings("ignore")
def test_short_time(how: dict[str, Any]) -> None:
    for kind in ("float64", "complex128"):
        x, y = pair((2, 40), kind)
        results = []
        for library, signal in ((pellucid, x), (torch, y)):
            signal.requires_grad_()
            window = library.hann_window(how.get("win_length") or 8, dtype=library.float64) + 0.1
            made = library.stft(signal, 8, window=window, return_complex=True, **how)
            (slope,) = library.autograd.grad((made.abs() ** 2).sum(), signal)
            back_how = {k: v for k, v in how.items() if k not in ("pad_mode", "align_to_window")}
            back = None
            if kind == "float64" and how.get("win_length") is None:
                back = library.istft(made.detach(), 8, window=window, length=33, **back_how)
            results.append((made.detach(), slope, back))
        for got, expected in zip(*results, strict=True):
            if expected is not None:
                same(got, expected, 1e-10)
    single, reference = pair((40,), "float32")
    same(single.stft(8, return_complex=True), reference.stft(8, return_complex=True))


def test_import_stays_light() -> None:
    """The transforms of NumPy load with the first transform, not with the package."""
    program = "import sys, pellucid; assert 'numpy.fft' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
