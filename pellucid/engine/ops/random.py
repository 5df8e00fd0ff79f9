"""Operators that draw from a generator. The streams are core/random.py's; here they meet shapes, strides and
gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core import random as streams
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op


def source(generator: Any) -> streams.Generator:
    """The generator to draw from: the given one, or the default."""
    if generator is None:
        return streams.default_generator
    if not isinstance(generator, streams.Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator


_NODE = {
    "normal": "NormalBackward0",
    "uniform": "UniformBackward0",
    "integers": "RandomBackward0",
    "exponential": "ExponentialBackward0",
}


@op(
    half="keep",
    grad_name=lambda settings: _NODE.get(settings["stream"], settings["stream"].title().replace("_", "") + "Backward0"),
)
def fill_random(x: np.ndarray, *, stream: str, parameters: tuple[Any, ...], generator: Any) -> np.ndarray:
    """Numbers of a stream in the shape of `x`, drawn in the order in which PyTorch would fill its strides."""
    result = np.empty_like(x, order="K")
    draw = source(generator)
    if stream == "normal":
        values = streams.normal(draw, (x.size,), x.dtype, *parameters, contiguous=x.flags.c_contiguous)  # type: ignore[misc]
    elif stream == "integers":
        values = streams.integers(draw, (x.size,), x.dtype, *parameters)
    elif stream == "bernoulli":
        values = streams.bernoulli(draw, parameters[0], (x.size,), x.dtype)
    else:
        values = getattr(streams, stream)(draw, (x.size,), x.dtype, *parameters)
    streams.place(result, values)
    return result


@fill_random.meta
def fill_random_meta(x: Meta, *, stream: str, parameters: tuple[Any, ...], generator: Any) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device, x.strides if x.is_dense else None)


@fill_random.vjp("x")
def fill_random_dx(dy: Any) -> Any:
    return None


@op(half="keep", grad_name="BernoulliBackward0")
def bernoulli(p: np.ndarray, *, generator: Any) -> np.ndarray:
    """1 with the probability that each element says, else 0."""
    return streams.bernoulli(source(generator), np.ascontiguousarray(p).reshape(p.shape), p.shape, p.dtype)


@bernoulli.meta
def bernoulli_meta(p: Meta, *, generator: Any) -> Meta:
    check(p.dtype.category == 2, f"\"bernoulli_tensor_cpu_p_\" not implemented for '{p.dtype}'", NotImplementedError)
    return Meta.of(p.shape, p.dtype, p.device)


@bernoulli.vjp("p")
def bernoulli_dp(dy: Any) -> Any:
    return None


@op(half="keep", grad_name="BernoulliBackward1")
def bernoulli_into(x: np.ndarray, p: np.ndarray, *, generator: Any) -> np.ndarray:
    """1 with the probability that the broadcast `p` says, else 0, in the shape and dtype of `x`."""
    return streams.bernoulli(
        source(generator), np.ascontiguousarray(np.broadcast_to(p, x.shape)).reshape(x.shape), x.shape, x.dtype
    )


@bernoulli_into.meta
def bernoulli_into_meta(x: Meta, p: Meta, *, generator: Any) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device, x.strides if x.is_dense else None)


@bernoulli_into.vjp("x", "p")
def bernoulli_into_dxp(dy: Any) -> Any:
    return None, None


@op(half="keep", grad_name="NormalBackward1")
def normal_around(mean: Any, std: Any, *, generator: Any) -> np.ndarray:
    """Normals with the mean and deviation that each element says."""
    spread = np.asarray(std) if isinstance(std, np.ndarray) else std
    return streams.normal_around(source(generator), mean, spread)


@normal_around.meta
def normal_around_meta(mean: Any, std: Any, *, generator: Any) -> Meta:
    from pellucid.engine.core.meta import broadcast_shapes

    known = [each for each in (mean, std) if isinstance(each, Meta)]
    return Meta.of(broadcast_shapes(*[each.shape for each in known]), known[0].dtype, known[0].device)


@normal_around.vjp("mean", "std")
def normal_around_dms(dy: Any) -> Any:
    return None, None


@op(half="keep")
def permutation(*, n: int, dtype: dtype_type, generator: Any) -> np.ndarray:
    """0 … n-1 in random order."""
    return streams.permutation(source(generator), n, dtype.numpy)


@permutation.meta
def permutation_meta(*, n: int, dtype: dtype_type, generator: Any) -> Meta:
    return Meta.of((n,), dtype)


@op(half="keep")
def multinomial(weights: np.ndarray, *, count: int, replacement: bool, generator: Any) -> np.ndarray:
    """Categories drawn with probabilities proportional to each row of weights."""
    return streams.multinomial(source(generator), weights, count, replacement)


@multinomial.meta
def multinomial_meta(weights: Meta, *, count: int, replacement: bool, generator: Any) -> Meta:
    check(weights.ndim in (1, 2), "prob_dist must be 1 or 2 dim")
    check(
        weights.dtype.category == 2, f"multinomial only supports floating-point dtypes for input, got: {weights.dtype}"
    )
    check(count > 0, "cannot sample n_sample <= 0 samples")
    check(
        replacement or count <= weights.shape[-1],
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    )
    return Meta.of((*weights.shape[:-1], count), dtypes.int64, weights.device)


@op(half="keep", name="sample", grad_name=lambda settings: settings["stream"].title() + "Backward0")
def sample(x: np.ndarray, *, stream: str, generator: Any) -> np.ndarray:
    """A stream whose parameter each element is: poisson (rate)."""
    return getattr(streams, stream)(source(generator), np.ascontiguousarray(x).reshape(x.shape))


@sample.meta
def sample_meta(x: Meta, *, stream: str, generator: Any) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device)


@sample.vjp("x")
def sample_dx(dy: Any) -> Any:
    return None


@op(half="keep", grad_name="NativeDropoutBackward0")
def masked_scale(x: np.ndarray, mask: np.ndarray, *, scale: float) -> np.ndarray:
    """x where the mask is 1, times `scale`; 0 elsewhere."""
    return x * mask * x.dtype.type(scale)


@masked_scale.meta
def masked_scale_meta(x: Meta, mask: Meta, *, scale: float) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device, x.strides if x.is_dense else None)


@masked_scale.vjp("x")
def masked_scale_dx(dy: Any, mask: Any, scale: float) -> Any:
    return masked_scale(dy, mask, scale=scale)
