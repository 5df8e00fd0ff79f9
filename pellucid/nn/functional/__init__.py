"""Neural networks' operators as functions: PyTorch's `torch.nn.functional`. Each family has a file; this one
re-exports.
"""

# ruff: noqa: F401 - re-exports

from __future__ import annotations

from pellucid.engine.tensor.activation import hardshrink, prelu
from pellucid.engine.tensor.publishing import publish
from pellucid.nn.functional.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from pellucid.nn.functional.attention import (
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from pellucid.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from pellucid.nn.functional.ctc import ctc_loss
from pellucid.nn.functional.distances import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    huber_loss,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    pairwise_distance,
    pdist,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from pellucid.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    feature_dropout,
)
from pellucid.nn.functional.fold import (
    fold,
    unfold,
)
from pellucid.nn.functional.interpolation import (
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from pellucid.nn.functional.linear import (
    bilinear,
    embedding,
    embedding_bag,
    linear,
    one_hot,
)
from pellucid.nn.functional.linear_cross_entropy import linear_cross_entropy
from pellucid.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_nll_loss,
    kl_div,
    multilabel_soft_margin_loss,
    nll_loss,
    poisson_nll_loss,
)
from pellucid.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from pellucid.nn.functional.padding import pad
from pellucid.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from pellucid.nn.functional.random_pooling import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from pellucid.nn.functional.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
from pellucid.nn.functional.vision import (
    affine_grid,
    channel_shuffle,
    grid_sample,
    native_channel_shuffle,
    pixel_shuffle,
    pixel_unshuffle,
)

publish(globals())
