"""Trigonometric, special and complex functions against PyTorch: values, gradients, in place, out=, errors."""

import pytest

import pellucid

torch = pytest.importorskip("torch")

ANY = [-2.5, -1.0, -0.3, 0.0, 0.7, 1.0, 3.25, 40.0]
UNIT = [-0.999, -0.5, 0.0, 0.25, 0.75]
OPEN = [0.01, 0.25, 0.5, 0.9]
ABOVE_ONE = [1.0001, 1.5, 7.0, 100.0]
POSITIVE = [0.02, 0.5, 1.0, 2.5, 8.0, 31.0]

UNARY = {
    "sin": ANY, "cos": ANY, "tan": ANY, "asin": UNIT, "acos": UNIT, "atan": ANY, "sinh": ANY, "cosh": ANY,
    "asinh": ANY, "acosh": ABOVE_ONE, "atanh": UNIT, "sinc": UNIT[:2] + [0.7, 3.25], "deg2rad": ANY, "rad2deg": ANY,
    "erf": ANY, "erfc": ANY, "erfinv": UNIT, "lgamma": POSITIVE, "digamma": POSITIVE, "i0": ANY, "logit": OPEN,
    "angle": ANY, "special.i0e": ANY, "special.i1": ANY, "special.i1e": ANY, "special.ndtr": ANY,
    "special.ndtri": OPEN, "special.log_ndtr": ANY, "special.entr": POSITIVE, "special.erfcx": UNIT,
    "special.expit": ANY, "special.psi": POSITIVE, "special.gammaln": POSITIVE,
}  # fmt: skip
WITHOUT_GRADIENT = {
    "special.bessel_j0": ANY, "special.bessel_j1": ANY, "special.bessel_y0": POSITIVE, "special.bessel_y1": POSITIVE,
    "special.modified_bessel_i0": ANY, "special.modified_bessel_i1": ANY, "special.modified_bessel_k0": POSITIVE,
    "special.modified_bessel_k1": POSITIVE, "special.scaled_modified_bessel_k0": POSITIVE,
    "special.scaled_modified_bessel_k1": POSITIVE, "special.spherical_bessel_j0": ANY,
}  # fmt: skip
BINARY = {
    "atan2": ANY,
    "hypot": ANY,
    "copysign": [-2.5, 1.0, 3.0, 40.0],
    "ldexp": [-2.0, 0.5, 3.0],
    "special.xlog1py": POSITIVE,
    "nextafter": ANY,
}
POLYNOMIALS = [
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]  # fmt: skip
NOT_FINITE = [float("nan"), float("inf"), -float("inf"), -0.0]


# PyTorch's own float64 is no better there (trigamma; Y, whose coefficients it has with few digits).
ROUGH = {
    "lgamma": 1e-7,
    "digamma": 1e-7,
    "special.psi": 1e-7,
    "special.gammaln": 1e-7,
    "special.bessel_y0": 1e-7,
    "special.bessel_y1": 1e-7,
}


def named(lib, name):
    for part in name.split("."):
        lib = getattr(lib, part)
    return lib


def close(ours, theirs, tolerance=1e-10):
    assert str(ours.dtype) == str(theirs.dtype) and tuple(ours.shape) == tuple(theirs.shape)
    wide = torch.complex128 if theirs.dtype.is_complex else torch.float64
    mine = torch.tensor(ours.detach().tolist(), dtype=wide).reshape(theirs.shape)
    torch.testing.assert_close(mine, theirs.detach().to(wide), rtol=tolerance, atol=tolerance, equal_nan=True)


def derivatives(lib, function, *values):
    """The result, the gradients of a weighed sum, and those of the sum of the gradients' squares."""
    inputs = [lib.tensor(each, dtype=lib.float64, requires_grad=True) for each in values]
    y = function(*inputs)
    weights = lib.arange(1.0, y.numel() + 1, dtype=lib.float64)
    first = lib.autograd.grad((y * weights).sum(), inputs, create_graph=True)
    moving = [each for each in first if each.requires_grad]
    if not moving:
        return [y, *first]
    second = lib.autograd.grad(sum((each**2).sum() for each in moving), inputs, allow_unused=True)
    return [
        y,
        *first,
        *[
            each if each is not None else lib.zeros(len(v), dtype=lib.float64)
            for each, v in zip(second, values, strict=True)
        ],
    ]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    found = [derivatives(lib, named(lib, name), UNARY[name]) for lib in (pellucid, torch)]
    for ours, theirs in zip(*found, strict=True):
        close(ours, theirs, ROUGH.get(name, 1e-10))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    values = BINARY[name]
    found = [derivatives(lib, named(lib, name), values, values[1:] + values[:1]) for lib in (pellucid, torch)]
    for ours, theirs in zip(*found, strict=True):
        close(ours, theirs)


@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_functions_without_gradient(name):
    ours, theirs = [
        named(lib, name)(lib.tensor(WITHOUT_GRADIENT[name], dtype=lib.float64)) for lib in (pellucid, torch)
    ]
    close(ours, theirs, ROUGH.get(name, 1e-10))
    assert not named(pellucid, name)(pellucid.ones(2, requires_grad=True)).requires_grad


@pytest.mark.parametrize("name", [*UNARY, *WITHOUT_GRADIENT])
def test_not_finite_empty_zero_dim_and_integers(name):
    for values, kind in (
        (NOT_FINITE, "float64"),
        ([], "float32"),
        (0.5, "float32"),
        ([[1], [2]], "int64"),
        ([True], "bool"),
    ):
        ours, theirs = [named(lib, name)(lib.tensor(values, dtype=getattr(lib, kind))) for lib in (pellucid, torch)]
        close(ours, theirs, 1e-5)


@pytest.mark.parametrize("name", [each for each in UNARY if "." not in each and each != "angle"])
def test_in_place_and_out(name):
    values = UNARY[name]
    x, expected = (
        pellucid.tensor(values, dtype=pellucid.float64),
        named(torch, name)(torch.tensor(values, dtype=torch.float64)),
    )
    out = pellucid.empty(0, dtype=pellucid.float64)
    assert named(pellucid, name)(x[::2], out=out) is out
    close(out, expected[::2])
    assert getattr(x, name + "_")() is x and x._version == 1
    close(x, expected)
    with pytest.raises(RuntimeError, match="can't be cast"):
        getattr(pellucid.ones(2, dtype=pellucid.int64), name + "_")()


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    x, n = [[-0.5], [0.25], [0.9], [1.0]], [-1, 0, 1, 2, 5]
    ours, theirs = [
        getattr(lib.special, name)(lib.tensor(x, dtype=lib.float64), lib.tensor(n)) for lib in (pellucid, torch)
    ]
    close(ours, theirs)


def both(ask):
    """Results of a call on both libraries, or the classes of their errors."""
    found = []
    for lib in (pellucid, torch):
        try:
            found.append(ask(lib))
        except Exception as error:
            found.append(type(error))
    return found


COMPLEX = {
    "sin": lambda lib, z: lib.sin(z), "asin": lambda lib, z: lib.asin(z), "acosh": lambda lib, z: lib.acosh(z),
    "atanh": lambda lib, z: lib.atanh(z), "sinc": lambda lib, z: lib.sinc(z), "angle": lambda lib, z: lib.angle(z),
    "conj": lambda lib, z: lib.conj(z), "conj_physical": lambda lib, z: lib.conj_physical(z),
    "polar": lambda lib, z: lib.polar(z.abs(), z.angle()), "complex": lambda lib, z: lib.complex(z.real, z.imag * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name):
    results = []
    for lib in (pellucid, torch):
        z = lib.tensor([0.5 + 0.25j, -1.5 + 2j, 3 - 1j], dtype=lib.complex128, requires_grad=True)
        y = COMPLEX[name](lib, z)
        loss = (lib.view_as_real(lib.resolve_conj(y)) if y.is_complex() else y).pow(2).sum() + (
            y.real if y.is_complex() else y
        ).sum()
        results.append((y, lib.autograd.grad(loss, z)[0]))
    for ours, theirs in zip(*results, strict=True):
        close(ours, theirs)


QUESTIONS = {
    "heaviside": lambda lib: lib.heaviside(lib.tensor([-1.0, 0.0, 2.0, float("nan")]), lib.tensor([0.5])).tolist(),
    "heaviside of two types": lambda lib: lib.heaviside(lib.ones(2), lib.ones(2, dtype=lib.float64)),
    "heaviside backward": lambda lib: lib.heaviside(lib.ones(2, requires_grad=True), lib.ones(2)).sum().backward(),
    "frexp": lambda lib: repr(lib.frexp(lib.tensor([0.0, -3.0, 1e-40, float("inf"), float("nan")]))),
    "frexp of integers": lambda lib: lib.frexp(lib.tensor([1])),
    "polygamma": lambda lib: lib.polygamma(2, lib.tensor([1.0])).item().__round__(4),
    "polygamma method": lambda lib: lib.tensor([1.0]).polygamma(1).item().__round__(4),
    "polygamma below 0": lambda lib: lib.polygamma(-1, lib.ones(1)),
    "polygamma of a float": lambda lib: lib.polygamma(1.5, lib.ones(1)),
    "mvlgamma": lambda lib: lib.mvlgamma(lib.tensor([4.0]), 2).item().__round__(4),
    "mvlgamma p": lambda lib: lib.mvlgamma(lib.tensor([4.0]), 0),
    "logit with eps": lambda lib: [round(each, 4) for each in lib.logit(lib.tensor([0.0, 0.5, 1.0]), 0.1).tolist()],
    "zeta": lambda lib: [
        round(each, 4) for each in lib.special.zeta(lib.tensor([2.0, 3.5]), lib.tensor([1.0, 0.5])).tolist()
    ],
    "zeta of numbers": lambda lib: lib.special.zeta(2.0, 1.0),
    "zeta backward": lambda lib: lib.special.zeta(lib.tensor([2.0], requires_grad=True), lib.ones(1)).sum().backward(),
    "atan2 of a number": lambda lib: lib.atan2(lib.ones(2), 1.0),
    "hypot of integers": lambda lib: lib.hypot(lib.tensor([3]), lib.tensor([4])),
    "deg2rad of complex numbers": lambda lib: lib.deg2rad(lib.tensor([1j])),
    "lgamma of complex numbers": lambda lib: lib.lgamma(lib.tensor([1j])),
    "complex of two types": lambda lib: lib.complex(lib.ones(1), lib.ones(1, dtype=lib.float64)),
    "complex of integers": lambda lib: lib.complex(lib.tensor([1]), lib.tensor([1])),
    "copysign by a number": lambda lib: lib.copysign(lib.tensor([1, 2]), -0.0).tolist(),
    "copysign's slope at 0": lambda lib: (lambda x: lib.autograd.grad(x.copysign(-1).sum(), x)[0].tolist())(
        lib.tensor([0.0, 2.0], requires_grad=True)
    ),
    "nodes": lambda lib: [
        type(function(lib.ones(1, requires_grad=True)).grad_fn).__name__
        for function in (lib.sin, lib.deg2rad, lib.special.i0e, lib.special.entr, lib.erfinv, lib.lgamma)
    ],
    "in-place at the top": lambda lib: lib.sin_(lib.zeros(2)).tolist(),
    "nextafter in bfloat16": lambda lib: lib.nextafter(
        lib.ones(1, dtype=lib.bfloat16), lib.tensor([2.0], dtype=lib.bfloat16)
    ).item(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question):
    ours, theirs = both(QUESTIONS[question])
    assert ours == theirs


@pytest.mark.parametrize("name", ["sin", "erf", "lgamma", "special.i0e", "angle", "special.chebyshev_polynomial_t"])
def test_meta(name):
    x = pellucid.empty(2, 3, device="meta")
    y = named(pellucid, name)(x, x) if "polynomial" in name else named(pellucid, name)(x)
    assert y.is_meta and y.shape == (2, 3) and y.dtype is pellucid.float32


@pytest.mark.parametrize("name", ["sin", "lgamma", "erfinv", "i0"])
def test_low_precision(name):
    values = UNARY[name]
    ours, theirs = [named(lib, name)(lib.tensor(values, dtype=lib.bfloat16)) for lib in (pellucid, torch)]
    close(ours, theirs, 1e-2)


def test_second_derivative_of_sinc_at_0():
    x = pellucid.tensor([0.0], dtype=pellucid.float64, requires_grad=True)  # where PyTorch's is NaN
    (first,) = pellucid.autograd.grad(pellucid.sinc(x).sum(), x, create_graph=True)
    (second,) = pellucid.autograd.grad(first.sum(), x)
    assert first.item() == 0 and second.item() == pytest.approx(-(pellucid.pi**2) / 3)
