"""Pellucid: a deep-learning framework with PyTorch's programming model, written in Python down to the vector
instructions.

This file is the `torch` namespace: re-exports by name, and submodules that load on first use.
"""

# ruff: noqa: A004, F401 - PyTorch's names, some of which are also builtins; re-exports

from __future__ import annotations

import importlib
import math
from typing import Any

from pellucid.engine.core.device import device, get_default_device, set_default_device
from pellucid.engine.core.dtypes import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from pellucid.engine.core.dtypes import bool_ as bool
from pellucid.engine.core.dtypes import complex64 as cfloat
from pellucid.engine.core.dtypes import complex128 as cdouble
from pellucid.engine.core.dtypes import float16 as half
from pellucid.engine.core.dtypes import float32 as float
from pellucid.engine.core.dtypes import float64 as double
from pellucid.engine.core.dtypes import int16 as short
from pellucid.engine.core.dtypes import int32 as int
from pellucid.engine.core.dtypes import int64 as long
from pellucid.engine.core.meta import Size
from pellucid.engine.core.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from pellucid.engine.core.promotion import can_cast, promote_types
from pellucid.engine.core.typeinfo import finfo, iinfo
from pellucid.engine.tensor import Tensor
from pellucid.engine.tensor import publishing as _publishing
from pellucid.engine.tensor.activation import (
    celu,
    celu_,
    hardshrink,
    prelu,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    threshold,
    threshold_,
)
from pellucid.engine.tensor.arguments import is_tensor
from pellucid.engine.tensor.arithmetic import (
    add,
    addcdiv,
    addcmul,
    div,
    divide,
    float_power,
    floor_divide,
    fmod,
    lerp,
    mul,
    multiply,
    neg,
    negative,
    positive,
    reciprocal,
    remainder,
    rsub,
    sub,
    subtract,
    true_divide,
)
from pellucid.engine.tensor.bitwise import (
    bitwise_and,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    gcd,
    lcm,
)
from pellucid.engine.tensor.comparison import (
    allclose,
    clamp,
    clamp_max,
    clamp_min,
    clip,
    eq,
    equal,
    fmax,
    fmin,
    ge,
    greater,
    greater_equal,
    gt,
    isclose,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    isreal,
    le,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    maximum,
    minimum,
    nan_to_num,
    ne,
    not_equal,
    signbit,
    where,
)
from pellucid.engine.tensor.complex import angle, complex, conj, conj_physical, polar
from pellucid.engine.tensor.conversion import clone
from pellucid.engine.tensor.creation import (
    as_tensor,
    empty,
    from_numpy,
    frombuffer,
    full,
    ones,
    set_default_dtype,
    tensor,
    zeros,
)
from pellucid.engine.tensor.decompositions import (
    geqrf,
    matrix_exp,
    orgqr,
    ormqr,
    pca_lowrank,
    pinverse,
    svd_lowrank,
    symeig,
)
from pellucid.engine.tensor.decompositions import (
    torch_eig as eig,
)
from pellucid.engine.tensor.decompositions import (
    torch_lstsq as lstsq,
)
from pellucid.engine.tensor.decompositions import (
    torch_matrix_rank as matrix_rank,
)
from pellucid.engine.tensor.decompositions import (
    torch_qr as qr,
)
from pellucid.engine.tensor.decompositions import (
    torch_solve as solve,
)
from pellucid.engine.tensor.decompositions import (
    torch_svd as svd,
)
from pellucid.engine.tensor.dlpack import from_dlpack
from pellucid.engine.tensor.einsum import einsum
from pellucid.engine.tensor.exponential import (
    abs,
    absolute,
    ceil,
    exp,
    exp2,
    expm1,
    fix,
    floor,
    frac,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    pow,
    relu,
    round,
    rsqrt,
    sgn,
    sigmoid,
    sign,
    sqrt,
    square,
    tanh,
    trunc,
    xlogy,
)
from pellucid.engine.tensor.facts import (
    get_device,
    is_complex,
    is_conj,
    is_floating_point,
    is_neg,
    is_nonzero,
    is_same_size,
    is_signed,
    numel,
    resolve_conj,
    resolve_neg,
    result_type,
    typename,
)
from pellucid.engine.tensor.indexing import index_put, nonzero
from pellucid.engine.tensor.joining import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    cat,
    column_stack,
    concat,
    concatenate,
    dstack,
    flip,
    fliplr,
    flipud,
    hstack,
    meshgrid,
    repeat_interleave,
    roll,
    rot90,
    row_stack,
    stack,
    tile,
    vstack,
)
from pellucid.engine.tensor.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from pellucid.engine.tensor.linalg import (
    addbmm,
    addmm,
    addmv,
    addr,
    baddbmm,
    bmm,
    dot,
    ger,
    matmul,
    mm,
    mv,
    outer,
    vdot,
)
from pellucid.engine.tensor.normalization import log_softmax, logsumexp, softmax
from pellucid.engine.tensor.norms import dist, norm, renorm
from pellucid.engine.tensor.random import (
    bernoulli,
    multinomial,
    normal,
    poisson,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)
from pellucid.engine.tensor.ranges import (
    arange,
    asarray,
    empty_like,
    empty_strided,
    eye,
    full_like,
    linspace,
    logspace,
    ones_like,
    scalar_tensor,
    zeros_like,
)
from pellucid.engine.tensor.ranges import range_ as range
from pellucid.engine.tensor.recurrent import (
    gru,
    gru_cell,
    lstm,
    lstm_cell,
    rnn_relu,
    rnn_relu_cell,
    rnn_tanh,
    rnn_tanh_cell,
)
from pellucid.engine.tensor.reduction import (
    all,
    amax,
    amin,
    aminmax,
    any,
    argmax,
    argmin,
    count_nonzero,
    cummax,
    cummin,
    cumprod,
    cumsum,
    max,
    mean,
    min,
    nanmean,
    nansum,
    prod,
    std,
    std_mean,
    sum,
    var,
    var_mean,
)
from pellucid.engine.tensor.selection import (
    argwhere,
    as_strided_scatter,
    diag,
    diag_embed,
    diagflat,
    diagonal_scatter,
    gather,
    index_add,
    index_copy,
    index_fill,
    index_reduce,
    index_select,
    masked_fill,
    masked_scatter,
    masked_select,
    put,
    scatter,
    scatter_add,
    scatter_reduce,
    select_scatter,
    slice_scatter,
    take,
    take_along_dim,
    tril,
    triu,
)
from pellucid.engine.tensor.shape import (
    adjoint,
    as_strided,
    broadcast_tensors,
    broadcast_to,
    diagonal,
    flatten,
    imag,
    moveaxis,
    movedim,
    narrow,
    permute,
    ravel,
    real,
    reshape,
    select,
    squeeze,
    swapaxes,
    swapdims,
    t,
    transpose,
    unflatten,
    unsqueeze,
    view_as_complex,
    view_as_real,
)
from pellucid.engine.tensor.solvers import (
    cholesky_inverse,
    cholesky_solve,
    det,
    inverse,
    logdet,
    lu_unpack,
    triangular_solve,
)
from pellucid.engine.tensor.solvers import (
    torch_cholesky as cholesky,
)
from pellucid.engine.tensor.solvers import (
    torch_lu as lu,
)
from pellucid.engine.tensor.solvers import (
    torch_lu_solve as lu_solve,
)
from pellucid.engine.tensor.solvers import (
    torch_slogdet as slogdet,
)
from pellucid.engine.tensor.sorting import (
    argsort,
    kthvalue,
    median,
    mode,
    msort,
    nanmedian,
    sort,
    topk,
    unique,
    unique_consecutive,
)
from pellucid.engine.tensor.special import (
    copysign,
    digamma,
    erf,
    erfc,
    erfinv,
    frexp,
    heaviside,
    i0,
    igamma,
    igammac,
    ldexp,
    lgamma,
    logit,
    mvlgamma,
    nextafter,
    polygamma,
)
from pellucid.engine.tensor.spectrogram import istft, stft
from pellucid.engine.tensor.splitting import (
    chunk,
    dsplit,
    hsplit,
    split,
    split_with_sizes,
    tensor_split,
    unbind,
    vsplit,
)
from pellucid.engine.tensor.trigonometry import (
    acos,
    acosh,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    deg2rad,
    hypot,
    rad2deg,
    sin,
    sinc,
    sinh,
    tan,
)
from pellucid.engine.tensor.windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window
from pellucid.late_names import ABSENT, LATE, METHODS, SUBMODULES
from pellucid.version import __version__

inf = math.inf
nan = math.nan
pi = math.pi
e = math.e
newaxis = None

# From here on `torch.add` is the form of `add` that asks its arguments for `__torch_function__`.
_publishing.publish(globals())


def __getattr__(name: str) -> Any:
    """Load a submodule or a late name on first use; an AttributeError for what Pellucid does not have."""
    if name in SUBMODULES:
        return importlib.import_module(f"pellucid.{name}")
    if name in METHODS:
        found = _publishing.published_method(name)
        globals()[name] = found
        return found
    place = "engine.tensor.foreach" if name.startswith("_foreach_") else LATE.get(name)
    if place is not None:
        found = getattr(importlib.import_module(f"pellucid.{place}"), name)
        found = _publishing.published(found, name, __name__)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'pellucid' has no attribute '{name}': {_advice(name)}")


def _advice(name: str) -> str:
    """What to do about a name that is not there."""
    import difflib

    if name in ABSENT:
        return f"torch.{name} is not in Pellucid yet ({ABSENT[name]})"
    near = difflib.get_close_matches(name, [*globals(), *LATE, *METHODS, *SUBMODULES], 1, 0.75)
    return f"Pellucid does not have torch.{name}" + (f"; did you mean torch.{near[0]}?" if near else "")
