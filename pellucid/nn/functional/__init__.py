"""Neural networks' operators as functions: PyTorch's `torch.nn.functional`. Each family has a file; this one re-exports."""

# ruff: noqa: F401 - re-exports

from __future__ import annotations

from pellucid.nn.functional.attention import (
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
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
from pellucid.nn.functional.linear_cross_entropy import linear_cross_entropy
from pellucid.nn.functional.padding import pad
