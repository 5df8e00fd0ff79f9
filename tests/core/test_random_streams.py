"""The random streams against PyTorch's CPU generator, bit for bit, with the generator's state compared after each."""

from __future__ import annotations

import math
import random as python_random
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from pellucid.engine.core import random as streams
from pellucid.engine.core import random_normal

torch = pytest.importorskip("torch")

SIZES = (0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1000, 4097, 70000)
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
SEEDS = (0, 1, 2**40 + 12345)


def numpy_type(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def array_of(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def assert_same_bits(ours: np.ndarray, theirs: torch.Tensor, label: object = "") -> None:
    expected = array_of(theirs.contiguous())
    assert ours.dtype == expected.dtype and ours.shape == expected.shape, label
    assert ours.flags.c_contiguous, label
    assert ours.tobytes() == expected.tobytes(), label


def assert_same_stream(
    ours: Callable[[streams.Generator], np.ndarray],
    theirs: Callable[[torch.Generator], torch.Tensor],
    label: object = "",
    seeds: tuple[int, ...] = SEEDS,
) -> None:
    """Twice in a row from each seed: the same values, and the same state afterwards."""
    mine, reference = streams.Generator(), torch.Generator()
    for seed in seeds:
        mine.manual_seed(seed)
        reference.manual_seed(seed)
        for repetition in range(2):
            assert_same_bits(ours(mine), theirs(reference), (label, seed, repetition))
            assert np.array_equal(mine.get_state(), reference.get_state().numpy()), (label, seed, repetition)


# --- one draw or two per element -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES)
def test_uniform(dtype, size):
    torch_type, dtype = getattr(torch, dtype), numpy_type(dtype)
    assert_same_stream(
        lambda g: streams.uniform(g, (size,), dtype), lambda g: torch.rand(size, dtype=torch_type, generator=g)
    )
    for low, high in ((-1, 1), (0, 3.7), (-0.1234, 0.9876), (5, 5), (1e-3, 1e-2), (1e-40, 3e-40)):
        assert_same_stream(
            lambda g, low=low, high=high: streams.uniform(g, (size,), dtype, low, high),
            lambda g, low=low, high=high: torch.empty(size, dtype=torch_type).uniform_(low, high, generator=g),
            (low, high),
            SEEDS[:1],
        )


RANGES = (
    *((0, 1), (0, 2), (0, 7), (-5, 100), (3, 120), (0, 1000), (0, 65503), (0, 65504), (1025, 3001), (-3001, -1025)),
    *((0, 2**24), (16777217, 16777219), (0, 2**28 - 1), (0, 2**28), (0, 2**31), (-(2**31), 2**31), (0, 2**32 - 1)),
    *((0, 2**32), (5, 2**40), (0, 2**63 - 1), (-(2**63), 2**63 - 1), (100, 50), (3, None), (-7, None)),
    *((-(2**40), None), (-(2**63), None), (None, None)),
)


@pytest.mark.filterwarnings("ignore:.*is out of bounds:UserWarning")
@pytest.mark.parametrize("dtype", ("bool", *INTEGERS, "uint16", "uint32", "uint64", *FLOATS))
def test_integers(dtype):
    torch_type, dtype = getattr(torch, dtype), numpy_type(dtype)
    for size in (0, 1, 17, 4097):
        for low, high in RANGES:

            def theirs(g, low=low, high=high, size=size):
                tensor = torch.empty(size, dtype=torch_type)
                return tensor.random_(generator=g) if low is None else tensor.random_(low, high, generator=g)

            def ours(g, low=low, high=high, size=size):
                return streams.integers(g, (size,), dtype, low, high)

            try:
                theirs(torch.Generator())
            except (RuntimeError, NotImplementedError) as error:
                with pytest.raises(type(error)) as raised:
                    ours(streams.Generator())
                words = str(error).split("\n")[0].split(", but got")[0]
                assert words in str(raised.value), (low, high)
            else:
                assert_same_stream(ours, theirs, (dtype, size, low, high), SEEDS[:2])


def test_integers_beyond_a_floats_precision_warn():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        streams.integers(streams.Generator(), (2,), np.dtype("float32"), 0, 2**30)


@pytest.mark.parametrize("dtype", (*INTEGERS, *FLOATS))
def test_permutation(dtype):
    torch_type, dtype = getattr(torch, dtype), numpy_type(dtype)
    for size in (0, 1, 2, 3, 17, 100, 999, 1000, 1001, 2049, 32000, 70001):
        if size - 1 > (
            127 if dtype.itemsize == 1 else 2048 if dtype == np.float16 else 2**15 if dtype == np.int16 else size
        ):
            continue
        assert_same_stream(
            lambda g, size=size: streams.permutation(g, size, dtype),
            lambda g, size=size: torch.randperm(size, dtype=torch_type, generator=g),
            size,
        )


def test_permutation_over_many_seeds():
    """1000 elements and more are exchanged without a loop; short cycles and fixed points need many tries to occur."""
    for seed in range(60):
        assert_same_stream(
            lambda g: streams.permutation(g, 1200, np.dtype("int64")),
            lambda g: torch.randperm(1200, generator=g),
            seed,
            (seed,),
        )


@pytest.mark.parametrize(
    ("size", "dtype", "words"),
    [
        (-1, "int64", "negative dimension -1"),
        (300, "uint8", "value cannot be converted to type uint8_t without overflow"),
        (2050, "float16", "n cannot be greater than 2049 for Half type."),
    ],
)
def test_permutations_that_are_refused(size, dtype, words):
    with pytest.raises(RuntimeError, match=words):
        torch.randperm(size, dtype=getattr(torch, dtype))
    with pytest.raises(RuntimeError, match=words):
        streams.permutation(streams.Generator(), size, np.dtype(dtype))


@pytest.mark.parametrize("dtype", ("bool", *INTEGERS, *FLOATS))
def test_bernoulli(dtype):
    torch_type, dtype = getattr(torch, dtype), numpy_type(dtype)
    for size in (0, 1, 16, 33, 4097):
        for p in (0, 1, 0.5, 0.3, 1e-9, 1 - 1e-9, 2.0**-33):
            assert_same_stream(
                lambda g, p=p, size=size: streams.bernoulli(g, p, (size,), dtype),
                lambda g, p=p, size=size: torch.empty(size, dtype=torch_type).bernoulli_(p, generator=g),
                (size, p),
            )
        for p_type in FLOATS:
            p = torch.rand(size, generator=torch.Generator().manual_seed(7)).to(getattr(torch, p_type))
            assert_same_stream(
                lambda g, p=p, size=size: streams.bernoulli(g, array_of(p), (size,), dtype),
                lambda g, p=p, size=size: torch.empty(size, dtype=torch_type).bernoulli_(p, generator=g),
                (size, p_type),
            )


def test_bernoulli_decides_on_the_low_word_when_the_high_one_ties():
    """A threshold inside the first draw's own high word: built from the draw, since chance would take 2**21 tries."""
    probe = streams.Generator(4)
    high, low = (int(v) for v in probe.random32(2))
    m = (high & 0x1FFFFF) << 32 | low
    for threshold in (m, m + 1):
        p = threshold * 2.0**-53
        ours = streams.bernoulli(streams.Generator(4), p, (1,), np.dtype("float32"))
        assert_same_bits(ours, torch.empty(1).bernoulli_(p, generator=torch.Generator().manual_seed(4)))
        assert ours[0] == (m < threshold)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", (0, 1, 15, 16, 33, 4097))
def test_exponential_cauchy_and_log_normal(dtype, size):
    torch_type, dtype = getattr(torch, dtype), numpy_type(dtype)

    def empty() -> torch.Tensor:
        return torch.empty(size, dtype=torch_type)

    for rate in (1.0, 3.3, math.inf):
        assert_same_stream(
            lambda g, rate=rate: streams.exponential(g, (size,), dtype, rate),
            lambda g, rate=rate: empty().exponential_(rate, generator=g),
        )
    assert_same_stream(
        lambda g: streams.cauchy(g, (size,), dtype, 0.3, 1.7), lambda g: empty().cauchy_(0.3, 1.7, generator=g)
    )
    for mean, std in ((1, 2), (0.3, 1.7), (80, 30)):
        assert_same_stream(
            lambda g, mean=mean, std=std: streams.log_normal(g, (size,), dtype, mean, std),
            lambda g, mean=mean, std=std: empty().log_normal_(mean, std, generator=g),
        )


@pytest.mark.parametrize("dtype", (*INTEGERS, *FLOATS))
def test_geometric(dtype):
    torch_type, dtype = getattr(torch, dtype), numpy_type(dtype)
    for size in (0, 1, 17, 4097):
        for p in (0.9, 0.5, 0.25):
            assert_same_stream(
                lambda g, p=p, size=size: streams.geometric(g, (size,), dtype, p),
                lambda g, p=p, size=size: torch.empty(size, dtype=torch_type).geometric_(p, generator=g),
            )


# --- normals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES)
def test_normal(dtype, size):
    torch_type, dtype = getattr(torch, dtype), numpy_type(dtype)
    for mean, std in ((0, 1), (0, 0.02), (1.5, 1), (-0.3, 2.7), (3, 0)):
        assert_same_stream(
            lambda g, mean=mean, std=std: streams.normal(g, (size,), dtype, mean, std),
            lambda g, mean=mean, std=std: torch.empty(size, dtype=torch_type).normal_(mean, std, generator=g),
            (mean, std),
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", (1, 2, 16, 33, 1001))
def test_normal_of_a_strided_tensor(dtype, size):
    torch_type, dtype = getattr(torch, dtype), numpy_type(dtype)
    assert_same_stream(
        lambda g: streams.normal(g, (size,), dtype, 0.5, 2, contiguous=False),
        lambda g: (
            torch.empty(size, 2, dtype=torch_type)[:, 0].normal_(0.5, 2, generator=g)
            if size > 1
            else torch.empty(size, dtype=torch_type).normal_(0.5, 2, generator=g)
        ),
    )


@pytest.mark.parametrize("dtype", ("complex64", "complex128"))
@pytest.mark.parametrize("size", (0, 1, 7, 8, 9, 500))
def test_complex_numbers_are_pairs(dtype, size):
    torch_type, dtype = getattr(torch, dtype), np.dtype(dtype)
    assert_same_stream(
        lambda g: streams.normal(g, (size,), dtype), lambda g: torch.randn(size, dtype=torch_type, generator=g)
    )
    assert_same_stream(
        lambda g: streams.uniform(g, (size,), dtype), lambda g: torch.rand(size, dtype=torch_type, generator=g)
    )


def test_shapes_with_several_dimensions():
    for shape in ((), (1,), (3, 5), (2, 0, 4), (4, 4), (2, 3, 4, 5)):
        assert_same_stream(
            lambda g, shape=shape: streams.normal(g, shape, np.dtype("float32")),
            lambda g, shape=shape: torch.randn(shape, generator=g),
            shape,
        )


def test_millions_of_float32_normals():
    assert_same_stream(
        lambda g: streams.normal(g, (2_000_003,), np.dtype("float32")),
        lambda g: torch.randn(2_000_003, generator=g),
        seeds=(99,),
    )


def test_a_quarter_turn_is_not_exact():
    """u2 = 3/4: the cosine is what pi/4 in three parts leaves, so a single misplaced rounding shows."""
    u1 = np.array([849415 * 2.0**-24], np.float32)
    cosine, _ = random_normal._box_muller_float32(u1, np.array([0.75], np.float32))
    assert cosine[0] == np.float32(3.8440184e-09)


def test_doubtful_roundings_are_found_and_corrected(monkeypatch):
    """Every element declared doubtful takes the exact path, which must agree with the fast one nearly everywhere."""
    u = streams.uniform(streams.Generator(2), (2, 5000), np.dtype("float32"))
    fast = random_normal._box_muller_float32(u[0], u[1])
    monkeypatch.setattr(random_normal._FastFused, "doubtful", lambda self: np.arange(5000))
    exact = random_normal._box_muller_float32(u[0], u[1])
    assert np.array_equal(fast[0], exact[0]) and np.array_equal(fast[1], exact[1])


def test_extreme_scales_round_once():
    for dtype, pairs in (
        ("float32", ((1e-30, 1e-30), (0, 1e-42), (1e-40, 1e-41), (1e30, 1e-3))),
        ("float64", ((1e-300, 1e-300), (0, 1e-310), (1e-310, 1e-311), (1e307, 1e306))),
    ):
        for mean, std in pairs:
            assert_same_stream(
                lambda g, a=(mean, std), dtype=dtype: streams.normal(g, (3000,), np.dtype(dtype), *a),
                lambda g, a=(mean, std), dtype=dtype: torch.empty(3000, dtype=getattr(torch, dtype)).normal_(
                    *a, generator=g
                ),
                (mean, std),
                SEEDS[:1],
            )


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16"))
def test_normal_around_arrays(dtype):
    mean = torch.linspace(-2, 2, 24).reshape(4, 6).to(getattr(torch, dtype))
    std = torch.linspace(0, 3, 6).to(getattr(torch, dtype))
    cases = ((mean, 0.7), (0.3, std), (mean, std), (mean[:1, :3], std[:3]))
    for a, b in cases:
        arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in (a, b)]
        assert_same_stream(
            lambda g, arrays=arrays: streams.normal_around(g, *arrays),
            lambda g, a=a, b=b: torch.normal(a, b, generator=g),
        )


# --- a varying number of draws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_poisson(dtype):
    for rate in (0, 0.3, 1, 5, 9.9, 12, 50, 500):
        rates = (torch.linspace(0.2, 1.7, 300) * rate).reshape(3, 100).to(getattr(torch, dtype))
        assert_same_stream(
            lambda g, rates=rates: streams.poisson(g, array_of(rates)),
            lambda g, rates=rates: torch.poisson(rates, generator=g),
            rate,
        )


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_binomial(dtype):
    for count in (0, 1, 5, 30, 100, 10**6):
        for prob in (0, 0.001, 0.1, 0.3, 0.5, 0.6, 0.9, 1):
            counts = torch.arange(60, dtype=getattr(torch, dtype)) * count // 50
            probs = (torch.linspace(1, 1.1, 60) * prob).clamp(0, 1).to(getattr(torch, dtype))
            assert_same_stream(
                lambda g, c=counts, p=probs: streams.binomial(g, c.numpy(), p.numpy()),
                lambda g, c=counts, p=probs: torch.binomial(c, p, generator=g),
                (count, prob),
            )


def test_binomial_of_nan_ends():
    counts = np.array([np.nan, 3.0, 2.0], np.float32)
    result = streams.binomial(streams.Generator(), counts, np.array([0.5, np.nan, 1.0], np.float32))
    assert np.isnan(result[:2]).all() and result[2] == 2


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_standard_gamma_and_dirichlet(dtype):
    for scale in (0, 1e-3, 0.1, 0.5, 1, 2.5, 10, 1000):
        alpha = (torch.linspace(0.2, 2, 120) * scale).to(getattr(torch, dtype))
        assert_same_stream(
            lambda g, alpha=alpha: streams.standard_gamma(g, alpha.numpy()),
            lambda g, alpha=alpha: torch._standard_gamma(alpha, generator=g),
            scale,
        )
    for width in (1, 2, 3, 4, 5, 7, 8, 11, 30, 128):
        alpha = torch.linspace(0.1, 3, 5 * width).reshape(5, width).to(getattr(torch, dtype))
        assert_same_stream(
            lambda g, alpha=alpha: streams.dirichlet(g, alpha.numpy()),
            lambda g, alpha=alpha: torch._sample_dirichlet(alpha, generator=g),
            width,
        )


# --- choices, dropout, order -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("replacement", (False, True))
@pytest.mark.parametrize("dtype", FLOATS)
def test_multinomial(dtype, replacement):
    """A third of the weights is 0, and half types give equal quotients: PyTorch's order of ties is part of it."""
    for shape in ((1,), (2,), (10,), (3, 10), (300,), (4, 1000)):
        weights = torch.rand(shape, generator=torch.Generator().manual_seed(1)) + 0.01
        weights[..., 1::3] = 0
        for tensor in (weights.to(getattr(torch, dtype)), weights.t().contiguous().t().to(getattr(torch, dtype))):
            for count in (1, 2, 5, shape[-1], 4 * shape[-1]):
                if replacement or count <= shape[-1]:
                    assert_same_stream(
                        lambda g, w=tensor, n=count: streams.multinomial(g, array_of(w), n, replacement),
                        lambda g, w=tensor, n=count: torch.multinomial(w, n, replacement, generator=g),
                        (shape, count),
                        SEEDS[:2],
                    )


@pytest.mark.parametrize(
    ("weights", "count", "replacement"),
    [
        ([-1.0, 2], 1, False),
        ([-1.0, 2], 3, True),
        ([1.0, math.nan], 1, False),
        ([1.0, math.inf], 3, True),
        ([0.0, 0], 1, False),
        ([0.0, 0], 3, True),
        ([1.0, 1], 3, False),
        ([1.0, 1], 0, True),
        ([], 1, True),
        ([[[1.0]]], 1, True),
        (1.0, 1, True),
        ([1, 2], 1, True),
    ],
)
def test_weights_that_multinomial_refuses(weights, count, replacement):
    tensor = torch.tensor(weights)
    with pytest.raises(RuntimeError) as theirs:
        torch.multinomial(tensor, count, replacement)
    with pytest.raises(RuntimeError) as ours:
        streams.multinomial(streams.Generator(), tensor.numpy(), count, replacement)
    assert str(ours.value).startswith(str(theirs.value).split("\n")[0][:40])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", (0, 0.1, 1 / 3, 0.5, 0.9, 1))
def test_dropout_noise(dtype, p):
    torch_type, dtype = getattr(torch, dtype), numpy_type(dtype)

    def theirs(generator: torch.Generator) -> torch.Tensor:
        torch.set_rng_state(generator.get_state())
        result = torch.nn.functional.dropout(torch.ones(33, 31, dtype=torch_type), p, training=True)
        generator.set_state(torch.get_rng_state())
        return result

    assert_same_stream(lambda g: streams.dropout_noise(g, p, (33, 31), dtype), theirs)


def test_streams_fill_strided_tensors_in_pytorchs_order():
    chance = python_random.Random(0)
    for seed in range(150):
        ndim = chance.randint(1, 4)
        shape = [chance.randint(1, 5) for _ in range(ndim)]
        gaps = [chance.choice((1, 1, 2)) for _ in range(ndim)]
        base = torch.zeros([n * gap for n, gap in zip(shape, gaps, strict=True)])
        view = base[tuple(slice(None, None, gap) for gap in gaps)].permute(*chance.sample(range(ndim), ndim))
        mine = np.lib.stride_tricks.as_strided(
            np.zeros(base.shape, np.float32), view.shape, [4 * s for s in view.stride()]
        )
        generator, reference = streams.Generator(seed), torch.Generator().manual_seed(seed)
        count = view.numel()
        view.uniform_(generator=reference)
        streams.place(mine, streams.uniform(generator, (count,), np.dtype("float32")))
        assert np.array_equal(mine, view.numpy()), (view.shape, view.stride())
        view.normal_(generator=reference)
        contiguous = view.is_contiguous()
        streams.place(mine, streams.normal(generator, (count,), np.dtype("float32"), contiguous=contiguous))
        assert np.array_equal(mine, view.numpy()), (view.shape, view.stride())


def test_mixed_calls_keep_step():
    """Cached halves of normal pairs, odd numbers of 32-bit draws, and every kind of stream after every other."""
    f32, f64, i64 = np.dtype("float32"), np.dtype("float64"), np.dtype("int64")
    kinds = (
        (lambda g, n: streams.normal(g, (n,), f32), lambda g, n: torch.randn(n, generator=g)),
        (lambda g, n: streams.normal(g, (n,), f64), lambda g, n: torch.randn(n, dtype=torch.float64, generator=g)),
        (lambda g, n: streams.log_normal(g, (n,), f32), lambda g, n: torch.empty(n).log_normal_(generator=g)),
        (lambda g, n: streams.uniform(g, (n,), f32), lambda g, n: torch.rand(n, generator=g)),
        (lambda g, n: streams.integers(g, (n,), i64, 0, 10), lambda g, n: torch.randint(0, 10, (n,), generator=g)),
        (lambda g, n: streams.permutation(g, n, i64), lambda g, n: torch.randperm(n, generator=g)),
        (
            lambda g, n: streams.standard_gamma(g, np.full(n, 0.7, f32)),
            lambda g, n: torch._standard_gamma(torch.full((n,), 0.7), generator=g),
        ),
        (
            lambda g, n: streams.poisson(g, np.full(n, 20, f32)),
            lambda g, n: torch.poisson(torch.full((n,), 20.0), generator=g),
        ),
    )
    chance = python_random.Random(1)
    generator, reference = streams.Generator(8), torch.Generator().manual_seed(8)
    threads = torch.get_num_threads()
    try:
        for step in range(400):
            ours, theirs = chance.choice(kinds)
            count = chance.choice((0, 1, 2, 3, 15, 16, 17, 100, 40_000 if step % 20 == 0 else 5))
            torch.set_num_threads(1 + step % 2)
            assert_same_bits(ours(generator, count), theirs(reference, count), step)
    finally:
        torch.set_num_threads(threads)
    assert np.array_equal(generator.get_state(), reference.get_state().numpy())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g: streams.uniform(g, (2,), np.dtype("float32"), 3, 2), r"uniform_ expects to return a \[from, to\)"),
        (lambda g: streams.uniform(g, (2,), np.dtype("float32"), 0, 1e39), "to is out of bounds for float"),
        (lambda g: streams.uniform(g, (2,), np.dtype("float32"), math.nan, 1), "from is out of bounds for float"),
        (lambda g: streams.uniform(g, (2,), np.dtype("float32"), -3e38, 3e38), "to-from <= std::numeric_limits<Float>"),
        (lambda g: streams.normal(g, (2,), np.dtype("float32"), 0, -1), "normal expects std >= 0.0, but found std -1"),
        (lambda g: streams.exponential(g, (2,), np.dtype("float32"), 0), "exponential_ expects lambda > 0.0"),
        (lambda g: streams.exponential(g, (2,), np.dtype("int64")), "Exponential distribution is a continuous"),
        (lambda g: streams.cauchy(g, (2,), np.dtype("float32"), 0, 0), "cauchy_ expects sigma > 0.0"),
        (lambda g: streams.cauchy(g, (2,), np.dtype("int64")), "you specified long int"),
        (lambda g: streams.geometric(g, (2,), np.dtype("float32"), 1), r"geometric_ expects p to be in \(0, 1\)"),
        (lambda g: streams.log_normal(g, (2,), np.dtype("float32"), 0, 0), "log_normal_ expects std > 0.0"),
        (lambda g: streams.bernoulli(g, 1.5, (2,), np.dtype("float32")), r"bernoulli_ expects p to be in \[0, 1\]"),
        (lambda g: streams.bernoulli(g, np.array([2.0]), (1,), np.dtype("float32")), "p_in >= 0 && p_in <= 1"),
        (lambda g: streams.poisson(g, np.array([-1.0])), "invalid Poisson rate"),
        (lambda g: streams.dropout_noise(g, 1.5, (1,), np.dtype("float32")), "dropout probability has to be between"),
        (lambda g: streams.normal_around(g, np.zeros(2), np.array([1.0, -1])), "normal expects all elements of std"),
    ],
)
def test_arguments_that_are_refused(call, words):
    generator = streams.Generator()
    before = generator.get_state()
    with pytest.raises(RuntimeError, match=words):
        call(generator)
    assert np.array_equal(generator.get_state(), before)


def test_dtypes_without_a_kernel():
    for call, name in (
        (lambda g: streams.uniform(g, (2,), np.dtype("int64")), "check_uniform_bounds"),
        (lambda g: streams.normal(g, (2,), np.dtype("int64")), "normal_kernel_cpu"),
        (lambda g: streams.permutation(g, 3, np.dtype("bool")), "randperm"),
        (lambda g: streams.poisson(g, np.ones(2, np.int64)), "poisson_cpu"),
        (lambda g: streams.standard_gamma(g, np.ones(2, np.float16)), "gamma_cpu"),
    ):
        with pytest.raises(NotImplementedError, match=f'"{name}" not implemented for'):
            call(streams.Generator())
