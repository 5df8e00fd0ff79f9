"""PyTorch's CPU random numbers on NumPy arrays: the generator, and every stream that is drawn from it.

After `manual_seed(s)` the numbers are PyTorch 2.13's, bit for bit. This page says how each stream consumes the
generator; the functions live in

* `random_generator.py`: `Generator` (MT19937, PyTorch's 5056-byte state) and `default_generator`;
* `random_uniform.py`: what takes a fixed number of draws per element;
* `random_normal.py`: normals, and log-normals made of them;
* `random_rejection.py`: what takes a varying number of draws per element;
* `random_choice.py`: categories by weight, dropout's noise, the order in which strided tensors are filled;
* `random_ties.py`: the order of equal keys in PyTorch's selection, for `multinomial`;
* `random_arithmetic.py`: fused multiply-add, the C library's functions, casts.

All of them take the generator's lock, are independent of the number of threads, and return fresh C-contiguous arrays.
What belongs to tensors (devices, autograd, `out=`) is not here.

**Draws.** `draw32` is one output of MT19937, `draw64` is two of them, the first in the high half.
`u24` = (draw32 mod 2**24) / 2**24 in float32; `u53` = (draw64 mod 2**53) / 2**53 in float64.

| stream | consumes | value |
|---|---|---|
| `uniform` float32, half types | one `u24` | u24 * (high - low) + low, fused, then rounded; `high` becomes `low` |
| `uniform` float64 | one `u53` | the same in double |
| `integers(low, high)` | draw32, or draw64 from a range of 2**28 on | draw mod range + low |
| `integers()` = `random_()` | draw32; int64, float64: draw64 | mod (largest + 1); floats: (2**significand + 1) |
| `permutation(n)` | n - 1 times draw32 (draw64 from n = 214748364 on) | exchanges i with i + draw mod (n - i) |
| `bernoulli(number)`, dropout | one `u53` | u53 < p |
| `bernoulli(array)` | `u53` if the array is float64, else `u24` | u < p |
| `exponential`, `geometric`, `cauchy` | one `u53` | inverse of the distribution function, in double |
| `normal`, 16 and more contiguous elements | blocks of 16 `u24` (float64: `u53`) | below |
| `normal` otherwise, `log_normal` | two `u53` for a pair | below |
| `multinomial`, replacement, samples > 1 | one `u53` per sample, row by row | search in the cumulated weights |
| `multinomial` otherwise | one `exponential` per weight | largest of weight / exponential |
| `poisson` | below 10: u53 until their product is below exp(-rate); else two `u53` per attempt | rejection |
| `binomial` | n p < 10: one `u53` per geometric gap; else two per attempt | rejection; p > 1/2 counts failures |
| `standard_gamma`, `dirichlet` | one `u53` first if alpha < 1; per attempt a serial normal and one `u53` | rejection |

Complex uniforms and normals are two reals per element, real part first; normals then have std / sqrt(2).

**Normals in blocks.** In each block of 16 uniforms the first 8 give radii sqrt(-2 log(1 - u)), the last 8 angles
2 pi u; results j and j + 8 are radius[j] times cos and sin of angle[j]. If the size is no multiple of 16, then 16
further uniforms give the last 16 results anew. float32 and float64 draw uniforms for the unfinished block as well and
forget them (they were the buffer's content); half types, which are computed in float32, do not. float32 uses single
precision polynomials for log, sin and cos, float64 the C library.

**Normals one by one.** In double whatever the dtype: u1, u2 = u53, u53; radius = sqrt(-2 log1p(-u2)),
angle = 2 pi u1; the result is radius cos(angle), and radius sin(angle) is kept in the generator (it is part of the
state) for the next normal that is drawn this way. Block normals neither use nor clear it; seeding clears it.

**Order.** Elements are drawn in the order in which PyTorch's iterator walks the tensor: logical order for a contiguous
one, memory order for a permuted one. `place` writes a stream into an array with any strides.

**What depends on the machine.** Transcendental functions in double are the C library's, in PyTorch and here. The
float32 block normals and the fused roundings are those of PyTorch's AVX2 kernels, which all its x86 builds use on
processors of the last ten years. The Poisson acceptance test uses Python's lgamma, which may differ from the C
library's in the last bits; a sample changes only if a uniform falls into that gap. The same holds for the log1p of a
float32 probability in `binomial`. The sums of `dirichlet` over 256 and more categories are added in NumPy's order:
float64 results may differ there in the last bit. PyTorch's x86 binaries are linked with Intel MKL but do not use its
random streams (pytorch#132395).
"""

from .random_choice import dropout_noise, multinomial, place, stream_order
from .random_generator import DEFAULT_SEED, STATE_BYTES, Generator, default_generator
from .random_normal import log_normal, normal, normal_around
from .random_rejection import binomial, dirichlet, poisson, standard_gamma
from .random_uniform import bernoulli, cauchy, exponential, geometric, integers, permutation, uniform

__all__ = [
    "DEFAULT_SEED",
    "STATE_BYTES",
    "Generator",
    "bernoulli",
    "binomial",
    "cauchy",
    "default_generator",
    "dirichlet",
    "dropout_noise",
    "exponential",
    "geometric",
    "integers",
    "log_normal",
    "multinomial",
    "normal",
    "normal_around",
    "permutation",
    "place",
    "poisson",
    "standard_gamma",
    "stream_order",
    "uniform",
]
