"""`MultiheadAttention`; the arithmetic is in `pellucid.nn.functional.attention`."""

from __future__ import annotations

from typing import Any

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn.init import constant_, xavier_normal_, xavier_uniform_
from pellucid.nn.parameter import Parameter

from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """softmax(Q Kᵀ / √head_dim) V in each head, over projected inputs, and the heads' outputs projected. Vaswani et
    al., 2017.

    query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim), or (N, …) with `batch_first`, or without N. Returns
    the output
    and, with `need_weights`, the attention weights (N, L, S). In boolean masks True means "not allowed"; float masks
    are added.
    A query that may look at nothing gets zeros, and its gradients are zeros.

    >>> import pellucid as torch
    >>> attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.ones(3, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    __module__ = "pellucid.nn.modules.activation"  # where files of PyTorch say that it is

    __constants__ = ["batch_first"]
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                f"instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads, but {embed_dim} is not divisible by {num_heads}"
            )
        self._make_projections(bias, device, dtype)
        kv_bias: dict[str, Any] = {"device": device, "dtype": dtype}
        self.bias_k = Parameter(pellucid.empty((1, 1, embed_dim), **kv_bias)) if add_bias_kv else None
        self.bias_v = Parameter(pellucid.empty((1, 1, embed_dim), **kv_bias)) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _make_projections(self, bias: bool, device: Any, dtype: Any) -> None:
        """One weight for queries, keys and values together where their sizes allow it, else one each."""
        embed = self.embed_dim

        def new(*shape: int) -> Parameter:
            return Parameter(pellucid.empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = new(3 * embed, embed)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = new(embed, embed)
            self.k_proj_weight = new(embed, self.kdim)
            self.v_proj_weight = new(embed, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", new(3 * embed) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed, embed, bias=bias, device=device, dtype=dtype)

    def _reset_parameters(self) -> None:
        """Draw the projections anew; their biases are zero."""
        if self._qkv_same_embed_dim:
            xavier_uniform_(self.in_proj_weight)
        else:
            xavier_uniform_(self.q_proj_weight)
            xavier_uniform_(self.k_proj_weight)
            xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)  # type: ignore[arg-type]
        if self.bias_k is not None:
            xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            xavier_normal_(self.bias_v)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        transposed = self.batch_first and query.dim() == 3
        if transposed:
            query, key, value = _swapped(query, key, value)
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (output.transpose(1, 0) if transposed else output), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one of shape (N, num_heads, L, L), and its kind: None without masks, 1 padding only, 2
        otherwise.
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2


def _swapped(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Batch and sequence exchanged; what was one tensor stays one, so that it is projected in one go."""
    swapped_query = query.transpose(1, 0)
    swapped_key = swapped_query if key is query else key.transpose(1, 0)
    swapped_value = swapped_key if value is key else value.transpose(1, 0)
    return swapped_query, swapped_key, swapped_value
