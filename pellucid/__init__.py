"""Pellucid: a deep-learning framework with PyTorch's programming model, written in Python down to the vector instructions.

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
from pellucid.engine.tensor.creation import as_tensor, empty, from_numpy, frombuffer, full, ones, set_default_dtype, tensor, zeros
from pellucid.engine.tensor.decompositions import (
    geqrf,
    matrix_exp,
    orgqr,
    ormqr,
    pca_lowrank,
    pinverse,
    svd_lowrank,
    symeig,
    torch_eig as eig,
    torch_lstsq as lstsq,
    torch_matrix_rank as matrix_rank,
    torch_qr as qr,
    torch_solve as solve,
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
    sparse_coo,
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
    torch_cholesky as cholesky,
    torch_lu as lu,
    torch_lu_solve as lu_solve,
    torch_slogdet as slogdet,
    triangular_solve,
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
from pellucid.version import __version__

inf = math.inf
nan = math.nan
pi = math.pi
e = math.e
newaxis = None

# Submodules that load when they are first asked for, so that `import pellucid` stays about as quick as `import numpy`.
_SUBMODULES = frozenset(
    {
        "__config__", "_tensor_str", "accelerator", "amp", "autograd", "backends", "cpu", "cuda", "distributed",
        "distributions", "fft", "func", "functional", "hub", "jit", "linalg", "mps", "multiprocessing", "nn", "onnx",
        "optim", "overrides", "profiler", "quantization", "random", "safetensors", "serialization", "special",
        "storage", "testing", "types", "utils", "version", "xpu",
    }
)  # fmt: skip

# Names of this namespace whose files are not needed by every program.
_LATE = {
    "save": "serialization", "load": "serialization", "manual_seed": "random", "seed": "random", "initial_seed": "random",
    "get_rng_state": "random", "set_rng_state": "random", "Generator": "random", "default_generator": "random",
    "get_num_threads": "engine.core.threads", "set_num_threads": "engine.core.threads",
    "set_printoptions": "_tensor_str", "to_dlpack": "utils.dlpack", "is_anomaly_enabled": "autograd.anomaly_mode",
    "is_anomaly_check_nan_enabled": "autograd.anomaly_mode", "set_anomaly_enabled": "autograd.anomaly_mode",
    "use_deterministic_algorithms": "utils.deterministic", "are_deterministic_algorithms_enabled": "utils.deterministic",
    "is_deterministic_algorithms_warn_only_enabled": "utils.deterministic",
    "set_deterministic_debug_mode": "utils.deterministic", "get_deterministic_debug_mode": "utils.deterministic",
    "conv1d": "nn.functional.convolution", "conv2d": "nn.functional.convolution",
    "conv3d": "nn.functional.convolution", "conv_transpose1d": "nn.functional.convolution",
    "conv_transpose2d": "nn.functional.convolution", "conv_transpose3d": "nn.functional.convolution",
    "conv_tbc": "nn.functional.convolution", "convolution": "nn.functional.convolution",
    "max_pool1d": "nn.functional.pooling", "max_pool2d": "nn.functional.pooling",
    "max_pool3d": "nn.functional.pooling", "max_pool1d_with_indices": "nn.functional.pooling",
    "avg_pool1d": "nn.functional.pooling", "adaptive_avg_pool1d": "nn.functional.pooling",
    "layer_norm": "nn.functional.native", "rms_norm": "nn.functional.native", "group_norm": "nn.functional.native",
    "batch_norm": "nn.functional.native", "instance_norm": "nn.functional.native",
    "native_layer_norm": "nn.functional.native", "native_group_norm": "nn.functional.native",
    "native_batch_norm": "nn.functional.native", "dropout": "nn.functional.native",
    "dropout_": "nn.functional.native", "feature_dropout": "nn.functional.native",
    "feature_dropout_": "nn.functional.native", "alpha_dropout": "nn.functional.native",
    "alpha_dropout_": "nn.functional.native", "feature_alpha_dropout": "nn.functional.native",
    "feature_alpha_dropout_": "nn.functional.native", "native_dropout": "nn.functional.native",
    "embedding": "nn.functional.native", "embedding_renorm_": "nn.functional.native",
    "embedding_bag": "nn.functional.native",
    "ctc_loss": "nn.functional.coded_losses", "kl_div": "nn.functional.coded_losses",
    "poisson_nll_loss": "nn.functional.coded_losses",
    "binary_cross_entropy_with_logits": "nn.functional.coded_losses",
    "hinge_embedding_loss": "nn.functional.coded_losses", "margin_ranking_loss": "nn.functional.coded_losses",
    "cosine_embedding_loss": "nn.functional.coded_losses", "triplet_margin_loss": "nn.functional.coded_losses",
    "cosine_similarity": "nn.functional.distances", "pairwise_distance": "nn.functional.distances",
    "pdist": "nn.functional.distances",
    "bilinear": "nn.functional.linear",
    "constant_pad_nd": "nn.functional.padding",
    "grid_sampler": "nn.functional.vision", "grid_sampler_2d": "nn.functional.vision",
    "grid_sampler_3d": "nn.functional.vision", "affine_grid_generator": "nn.functional.vision",
    "pixel_shuffle": "nn.functional.vision", "pixel_unshuffle": "nn.functional.vision",
    "channel_shuffle": "nn.functional.vision", "native_channel_shuffle": "nn.functional.vision",
    "autocast": "amp.autocast_mode", "is_autocast_enabled": "amp.autocast_mode",
    "is_autocast_cpu_enabled": "amp.autocast_mode", "set_autocast_enabled": "amp.autocast_mode",
    "get_autocast_dtype": "amp.autocast_mode", "set_autocast_dtype": "amp.autocast_mode",
    "get_autocast_cpu_dtype": "amp.autocast_mode", "get_autocast_gpu_dtype": "amp.autocast_mode",
    "is_autocast_cache_enabled": "amp.autocast_mode", "set_autocast_cache_enabled": "amp.autocast_mode",
    "clear_autocast_cache": "amp.autocast_mode",
    "get_float32_matmul_precision": "engine.core.precision", "set_float32_matmul_precision": "engine.core.precision",
    "OutOfMemoryError": "cuda",
    "adaptive_max_pool1d": "nn.functional.pairs",
    "get_num_interop_threads": "engine.core.process_settings",
    "set_num_interop_threads": "engine.core.process_settings", "set_flush_denormal": "engine.core.process_settings",
    "is_warn_always_enabled": "engine.core.process_settings", "set_warn_always": "engine.core.process_settings",
    "GradScaler": "amp.grad_scaler",
    "BFloat16Storage": "engine.tensor.storages", "BoolStorage": "engine.tensor.storages",
    "ByteStorage": "engine.tensor.storages", "CharStorage": "engine.tensor.storages",
    "ComplexDoubleStorage": "engine.tensor.storages", "ComplexFloatStorage": "engine.tensor.storages",
    "DoubleStorage": "engine.tensor.storages", "FloatStorage": "engine.tensor.storages",
    "HalfStorage": "engine.tensor.storages", "IntStorage": "engine.tensor.storages",
    "LongStorage": "engine.tensor.storages", "ShortStorage": "engine.tensor.storages",
    "TypedStorage": "engine.tensor.storages", "UntypedStorage": "engine.tensor.storages",
    "is_storage": "engine.tensor.storages",
    "BFloat16Tensor": "engine.tensor.legacy", "BoolTensor": "engine.tensor.legacy",
    "ByteTensor": "engine.tensor.legacy", "CharTensor": "engine.tensor.legacy",
    "DoubleTensor": "engine.tensor.legacy", "FloatTensor": "engine.tensor.legacy",
    "HalfTensor": "engine.tensor.legacy", "IntTensor": "engine.tensor.legacy", "LongTensor": "engine.tensor.legacy",
    "ShortTensor": "engine.tensor.legacy", "set_default_tensor_type": "engine.tensor.legacy",
    "return_types": "engine.tensor",
    "alias_copy": "engine.tensor.view_copies", "as_strided_copy": "engine.tensor.view_copies",
    "broadcast_shapes": "engine.tensor.view_copies", "detach_copy": "engine.tensor.view_copies",
    "diagonal_copy": "engine.tensor.view_copies", "empty_permuted": "engine.tensor.view_copies",
    "expand_copy": "engine.tensor.view_copies", "fill": "engine.tensor.view_copies",
    "narrow_copy": "engine.tensor.view_copies", "nonzero_static": "engine.tensor.view_copies",
    "permute_copy": "engine.tensor.view_copies", "select_copy": "engine.tensor.view_copies",
    "slice_copy": "engine.tensor.view_copies", "split_copy": "engine.tensor.view_copies",
    "split_with_sizes_copy": "engine.tensor.view_copies", "squeeze_copy": "engine.tensor.view_copies",
    "t_copy": "engine.tensor.view_copies", "transpose_copy": "engine.tensor.view_copies",
    "unbind_copy": "engine.tensor.view_copies", "unfold_copy": "engine.tensor.view_copies",
    "unsafe_chunk": "engine.tensor.view_copies", "unsafe_split": "engine.tensor.view_copies",
    "unsafe_split_with_sizes": "engine.tensor.view_copies", "unsqueeze_copy": "engine.tensor.view_copies",
    "view_as_complex_copy": "engine.tensor.view_copies", "view_as_real_copy": "engine.tensor.view_copies",
    "view_copy": "engine.tensor.view_copies",
    "bincount": "engine.tensor.search", "bucketize": "engine.tensor.search", "cartesian_prod": "engine.tensor.search",
    "combinations": "engine.tensor.search", "histc": "engine.tensor.search", "histogram": "engine.tensor.search",
    "isin": "engine.tensor.search", "searchsorted": "engine.tensor.search", "tril_indices": "engine.tensor.search",
    "triu_indices": "engine.tensor.search", "unravel_index": "engine.tensor.search",
    "corrcoef": "engine.tensor.statistics", "cov": "engine.tensor.statistics",
    "cumulative_trapezoid": "engine.tensor.statistics", "diff": "engine.tensor.statistics",
    "gradient": "engine.tensor.statistics", "logcumsumexp": "engine.tensor.statistics",
    "nanquantile": "engine.tensor.statistics", "quantile": "engine.tensor.statistics",
    "trapezoid": "engine.tensor.statistics", "trapz": "engine.tensor.statistics", "vander": "engine.tensor.statistics",
    "cdist": "engine.tensor.contraction", "chain_matmul": "engine.tensor.contraction",
    "cross": "engine.tensor.contraction", "inner": "engine.tensor.contraction", "kron": "engine.tensor.contraction",
    "matrix_power": "engine.tensor.contraction", "tensordot": "engine.tensor.contraction",
    "trace": "engine.tensor.contraction",
}  # fmt: skip


# Functions of this namespace that are a tensor's methods: `torch.exp_(x)` is `x.exp_()`.
_METHODS = frozenset(
    {
        "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_",
        "as_strided_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_",
        "conj_physical_", "cos_", "cosh_", "deg2rad_", "detach", "detach_", "erf_", "erfc_", "exp2_", "exp_",
        "expm1_", "fill_", "fix_", "floor_", "frac_", "gcd_", "i0_", "index_put_", "is_inference", "lcm_",
        "ldexp_", "log10_", "log1p_", "log2_", "log_", "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_",
        "reciprocal_", "resize_as_", "round_", "rsqrt_", "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_",
        "tan_", "tanh_", "trunc_", "xlogy_", "zero_",
    }
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a submodule or a late name on first use; an AttributeError for what Pellucid does not have."""
    if name in _SUBMODULES:
        return importlib.import_module(f"pellucid.{name}")
    if name in _METHODS:
        return getattr(Tensor, name)
    place = "engine.tensor.foreach" if name.startswith("_foreach_") else _LATE.get(name)
    if place is not None:
        found = getattr(importlib.import_module(f"pellucid.{place}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'pellucid' has no attribute '{name}': Pellucid does not have torch.{name}")
