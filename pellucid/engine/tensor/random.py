"""Random tensors: rand, randn, randint, randperm, multinomial, and the in-place fillers."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.batching import empty_for_drawing
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.device import META, usable
from pellucid.engine.core.dispatch import InPlace, resize_out
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import broadcast_shapes
from pellucid.engine.core.modes import no_grad, state
from pellucid.engine.ops import random as ops
from pellucid.engine.tensor.arguments import as_bool, as_float, as_int, as_size, deliver, need_tensor
from pellucid.engine.tensor.creation import empty
from pellucid.engine.tensor.layout import layout as layout_type
from pellucid.engine.tensor.layout import memory_format as format_type
from pellucid.engine.tensor.layout import refuse_pinning


def _fill(self: Any, stream: str, *parameters: Any, generator: Any) -> Any:
    for each in parameters:
        if isinstance(each, TensorData) and each._meta.ndim:
            raise TypeError(f"{stream}_() takes numbers as its parameters, not a Tensor of shape {list(each.shape)}")
    values = tuple([each.item() if isinstance(each, TensorData) else each for each in parameters])
    return ops.fill_random(self, stream=stream, parameters=values, generator=generator, out=InPlace(self))


def uniform_(self: Any, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **named: Any) -> Any:
    """Fill with numbers drawn evenly from [from, to)."""
    from_ = named.pop("from", from_)
    _no_more(named, "uniform_")
    return _fill(self, "uniform", from_, to, generator=generator)


def _no_more(named: dict[str, Any], function: str) -> None:
    if named:
        raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(named))}'")


def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Fill with numbers drawn from a normal distribution."""
    std = as_float(std, "normal_", "std", 3)
    check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    return _fill(self, "normal", mean, std, generator=generator)


def random_(self: Any, from_: Any = None, to: Any = None, *, generator: Any = None, **named: Any) -> Any:
    """Fill with integers: from [from, to), from [0, from) when only one bound is given, or from the dtype's whole
    range.
    """
    named_from = "from" in named
    from_ = named.pop("from", from_)
    _no_more(named, "random_")
    if from_ is not None and to is None and not named_from:
        from_, to = 0, from_
    return _fill(self, "integers", from_, to, generator=generator)


def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fill with ones of probability `p` (a number or a tensor of them) and zeros."""
    if isinstance(p, TensorData):
        return ops.bernoulli_into(self, p, generator=generator, out=InPlace(self))
    check(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return _fill(self, "bernoulli", p, generator=generator)


def exponential_(self: Any, lambd: float = 1, *, generator: Any = None) -> Any:
    """Fill with numbers drawn from an exponential distribution of rate `lambd`."""
    lambd = as_float(lambd, "exponential_", "lambd", 2)
    check(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return _fill(self, "exponential", lambd, generator=generator)


def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
    """Fill with the number of trials up to the first success of probability `p`."""
    p = as_float(p, "geometric_", "p", 2)
    check(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _fill(self, "geometric", p, generator=generator)


def cauchy_(self: Any, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Any:
    """Fill with numbers drawn from a Cauchy distribution."""
    median = as_float(median, "cauchy_", "median", 2)
    sigma = as_float(sigma, "cauchy_", "sigma", 3)
    check(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return _fill(self, "cauchy", median, sigma, generator=generator)


def log_normal_(self: Any, mean: float = 1, std: float = 2, *, generator: Any = None) -> Any:
    """Fill with e to the power of normals of that mean and deviation."""
    std = as_float(std, "log_normal_", "std", 3)
    check(std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    return _fill(self, "log_normal", mean, std, generator=generator)


@no_grad()
def _made(shape: tuple[int, ...], fill: Any, out: Any, dtype: Any, layout: Any, device: Any) -> Any:
    if out is not None:
        from pellucid.engine.core.dispatch import resize

        if tuple(out._meta.shape) != shape:
            resize(out, shape)
        return fill(out)
    made = empty(shape, dtype=dtype, layout=layout, device=device)
    return fill(empty_for_drawing(made) if state.stack else made)


def rand(
    *size: Any,
    generator: Any = None,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Numbers drawn evenly from [0, 1); the same seed gives PyTorch's numbers.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0); torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    refuse_pinning(pin_memory, device)
    made = _made(as_size(size, "rand"), lambda t: uniform_(t, generator=generator), out, dtype, layout, device)
    return made.requires_grad_(requires_grad) if requires_grad else made


def randn(
    *size: Any,
    generator: Any = None,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Numbers drawn from the standard normal distribution; the same seed gives PyTorch's numbers.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0); torch.randn(2)
    tensor([ 1.5410, -0.2934])
    """
    refuse_pinning(pin_memory, device)
    made = _made(as_size(size, "randn"), lambda t: normal_(t, generator=generator), out, dtype, layout, device)
    return made.requires_grad_(requires_grad) if requires_grad else made


def randint(
    low: Any = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Integers drawn evenly from [low, high): `randint(high, size)` or `randint(low, high, size)`.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0); torch.randint(10, (3,))
    tensor([4, 9, 3])
    """
    refuse_pinning(pin_memory, device)
    if size is None:
        low, high, size = (0, low, high) if not isinstance(high, int) or high is None else (low, high, size)
    if high is None:
        low, high = 0, low
    if size is None:
        raise TypeError(
            "randint() received an invalid combination of arguments - missing 'size': pass randint(high, size) or "
            "randint(low, high, size)"
        )
    low, high = as_int(low, "randint", "low", 1), as_int(high, "randint", "high")
    check(low < high, f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    fill = lambda t: _fill(t, "integers", low, high, generator=generator)  # noqa: E731
    made = _made(as_size((size,), "randint"), fill, out, dtype or dtypes.int64, layout, device)
    return made.requires_grad_(requires_grad) if requires_grad else made


def randperm(
    n: int,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """The integers 0 … n-1 in random order.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0); torch.randperm(4)
    tensor([0, 1, 3, 2])
    """
    refuse_pinning(pin_memory, device)
    count = as_int(n, "randperm", "n", 1)
    check(count >= 0, f"Trying to create tensor with negative dimension {count}: n must be non-negative")
    kind = dtypes.as_dtype(dtype) or (out.dtype if out is not None else dtypes.int64)
    if usable(device) is META:
        made = empty(count, dtype=kind, device=META)
    else:
        made = ops.permutation(n=count, dtype=kind, generator=generator)
    return deliver(made.requires_grad_() if requires_grad else made, out)


def _like(input: Any, dtype: Any, device: Any, memory_format: Any) -> Any:
    from pellucid.engine.tensor.ranges import empty_like

    return empty_like(input, dtype=dtype, device=device, memory_format=memory_format)


def rand_like(
    input: Any,
    *,
    generator: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: format_type | None = None,
) -> Any:
    """Numbers drawn evenly from [0, 1) in the shape of `input`.

    >>> import pellucid as torch
    >>> torch.rand_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    refuse_pinning(pin_memory, input._meta.device if device is None and isinstance(input, TensorData) else device)
    made = uniform_(_like(input, dtype, device, memory_format), generator=generator)
    return made.requires_grad_() if requires_grad else made


def randn_like(
    input: Any,
    *,
    generator: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: format_type | None = None,
) -> Any:
    """Numbers drawn from the standard normal distribution in the shape of `input`.

    >>> import pellucid as torch
    >>> torch.randn_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    refuse_pinning(pin_memory, input._meta.device if device is None and isinstance(input, TensorData) else device)
    made = normal_(_like(input, dtype, device, memory_format), generator=generator)
    return made.requires_grad_() if requires_grad else made


def randint_like(
    input: Any,
    low: Any = 0,
    high: Any = None,
    *,
    generator: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: format_type | None = None,
) -> Any:
    """Integers drawn evenly from [low, high) in the shape and dtype of `input`.

    >>> import pellucid as torch
    >>> torch.randint_like(torch.ones(2), 5).dtype
    torch.float32
    """
    refuse_pinning(pin_memory, input._meta.device if device is None and isinstance(input, TensorData) else device)
    if high is None:
        low, high = 0, low
    made = _fill(_like(input, dtype, device, memory_format), "integers", int(low), int(high), generator=generator)
    return made.requires_grad_() if requires_grad else made


@no_grad()
def _normal_into(out: Any, mean: Any, std: Any, generator: Any) -> Any:
    """Normals around `mean`, drawn in the dtype and layout of `out`; around a tensor of means with one deviation, `out`
    has to have their shape already, as in PyTorch.
    """
    if not isinstance(std, TensorData):
        return normal_(out, 0.0, std, generator=generator).add_(mean)
    several = [each._meta.shape for each in (mean, std) if isinstance(each, TensorData)]
    shape = broadcast_shapes(*several)
    if out._meta.shape != shape:
        resize_out(out, std._meta.like(shape))
    return normal_(out, 0.0, 1.0, generator=generator).mul_(std).add_(mean)


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Normals of a mean and deviation: two numbers and a size, or tensors of either.

    >>> import pellucid as torch
    >>> torch.normal(torch.zeros(3), 1.0).shape
    torch.Size([3])
    """
    refuse_pinning(pin_memory, device)
    if isinstance(mean, TensorData) or isinstance(std, TensorData):
        if size is not None:
            raise TypeError(
                "normal() received an invalid combination of arguments: size goes with two numbers, not with tensors"
            )
        if not isinstance(std, TensorData):
            check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
        if isinstance(out, TensorData):
            return _normal_into(out, mean, std, generator)
        return ops.normal_around(mean, std, generator=generator)
    if size is None:
        raise TypeError("normal() received an invalid combination of arguments: two numbers need a size")
    made = _made(
        as_size((size,), "normal"),
        lambda t: normal_(t, mean, std, generator=generator),
        out,
        dtype,
        layout,
        device,
    )
    return made.requires_grad_() if requires_grad else made


def bernoulli(input: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Any:
    """Ones with the probability that each element says, and zeros; or with probability `p` everywhere.

    >>> import pellucid as torch
    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    need_tensor(input, "bernoulli")
    if p is not None:
        return bernoulli_(_like(input, None, None, None), p, generator=generator)
    drawn = ops.bernoulli(input, generator=generator)
    return deliver(drawn.to(out.dtype) if isinstance(out, TensorData) else drawn, out)


def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Any:
    """Categories drawn with probabilities proportional to each row of weights.

    >>> import pellucid as torch
    >>> torch.multinomial(torch.tensor([0.0, 3.0]), 1)
    tensor([1])
    """
    as_bool(replacement, "multinomial", "replacement", 3)
    need_tensor(input, "multinomial")
    return ops.multinomial(
        input,
        count=as_int(num_samples, "multinomial", "num_samples"),
        replacement=bool(replacement),
        generator=generator,
        out=out,
    )


def poisson(input: Any, generator: Any = None) -> Any:
    """Counts drawn from Poisson distributions of the given rates.

    >>> import pellucid as torch
    >>> torch.poisson(torch.zeros(2))
    tensor([0., 0.])
    """
    return ops.sample(need_tensor(input, "poisson"), stream="poisson", generator=generator)


class RandomMethods:
    """Rows of `Tensor`."""

    uniform_ = uniform_
    normal_ = normal_
    random_ = random_
    bernoulli_ = bernoulli_
    bernoulli = bernoulli
    exponential_ = exponential_
    geometric_ = geometric_
    cauchy_ = cauchy_
    log_normal_ = log_normal_
    multinomial = multinomial
