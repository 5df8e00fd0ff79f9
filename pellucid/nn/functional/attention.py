"""Attention as functions: scaled dot-product attention, and multi-head attention with its masks and projections.

The layer is in `pellucid/nn/modules/attention.py`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.core.errors import user_level
from pellucid.engine.core.modes import state
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import attention as ops
from pellucid.engine.ops.normalization import safe_softmax
from pellucid.engine.tensor.arguments import as_bool, as_float, need_tensor
from pellucid.nn.functional.dropout import drop

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `nn.MultiheadAttention` computes, for sequences first: query (L, N, E), key and value (S, N, ·), or without
    N.

    Returns the output (L, N, E) and, with `need_weights`, the weights (N, L, S), or (N, heads, L, S) unless averaged. A
    query row
    whose mask forbids every key gets zero weights and a zero sum. `is_causal` says that `attn_mask` is the causal mask.

    >>> import pellucid as torch
    >>> x, w = torch.ones(5, 1, 4), torch.ones(12, 4)
    >>> output, weights = torch.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, torch.eye(4), None)
    >>> output.shape, weights.shape
    (torch.Size([5, 1, 4]), torch.Size([1, 5, 5]))
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (each.unsqueeze(1) for each in (query, key, value))
        key_padding_mask = key_padding_mask.unsqueeze(0) if key_padding_mask is not None else None
    length, batch, embed_dim = query.shape
    _check_sizes(key, value, embed_dim, embed_dim_to_check, num_heads, use_separate_proj_weight)
    attn_mask, key_padding_mask, is_causal = _prepared_masks(
        attn_mask, key_padding_mask, is_causal, need_weights, query.dtype, (length, key.shape[0]), batch * num_heads
    )
    if use_separate_proj_weight:
        q, k, v = _separately_projected(query, key, value, (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    k, v, attn_mask, key_padding_mask = _with_bias_row(
        k, v, bias_k, bias_v, static_k, static_v, attn_mask, key_padding_mask
    )
    head_dim = embed_dim // num_heads
    q = q.view(length, batch * num_heads, head_dim).transpose(0, 1)
    k = _in_heads(k, static_k, "static_k", batch * num_heads, head_dim)
    v = _in_heads(v, static_v, "static_v", batch * num_heads, head_dim)
    if add_zero_attn:
        zeros = k.new_zeros((batch * num_heads, 1, head_dim))
        k, v = pellucid.cat([k, zeros], dim=1), pellucid.cat([v, zeros.to(v.dtype)], dim=1)
        attn_mask, key_padding_mask = _one_more_key(attn_mask), _one_more_key(key_padding_mask)
    attn_mask = _merged(attn_mask, key_padding_mask, batch, num_heads, k.size(1))
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        attended, weights = _attend_with_weights(q, k, v, attn_mask, dropout_p)
    else:
        attended, weights = _attend(q, k, v, attn_mask, dropout_p, is_causal, batch, num_heads), None
    attended = attended.transpose(0, 1).reshape(length * batch, embed_dim)
    output = _linear(attended, out_proj_weight, out_proj_bias)
    output = output.view(length, batch, output.size(1))
    if weights is not None:
        weights = weights.view(batch, num_heads, length, k.size(1))
        weights = weights.mean(dim=1) if average_attn_weights else weights
        weights = weights if batched else weights.squeeze(0)
    return (output if batched else output.squeeze(1)), weights


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    from pellucid.nn import functional as F

    return F.linear(x, weight, bias)


def _attend_with_weights(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """Attention through the explicit weights (heads, L, S), after dropout, as they are returned."""
    from pellucid.nn import functional as F

    scores = pellucid.bmm(q * math.sqrt(1.0 / q.size(-1)), k.transpose(-2, -1))
    if attn_mask is None:
        weights = F.softmax(scores, dim=-1)
    else:
        # A softmax over nothing is 0 here; the plain one, and every gradient behind it, would be NaN.
        weights = safe_softmax(scores + attn_mask, dim=scores.dim() - 1, dtype=scores.dtype)
    if dropout_p > 0.0:
        weights = F.dropout(weights, p=dropout_p)
    return pellucid.bmm(weights, v), weights


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    batch: int,
    num_heads: int,
) -> Tensor:
    """Attention by `scaled_dot_product_attention`, which need not make the weights; (heads, L, head_dim) in and out."""
    from pellucid.nn import functional as F

    if attn_mask is not None:
        shared = attn_mask.size(0) == 1
        attn_mask = attn_mask.unsqueeze(0) if shared else attn_mask.view(batch, num_heads, -1, k.size(1))
    queries, keys, values = (each.view(batch, num_heads, each.size(1), each.size(2)) for each in (q, k, v))
    attended = F.scaled_dot_product_attention(queries, keys, values, attn_mask, dropout_p, is_causal)
    return attended.reshape(batch * num_heads, q.size(1), v.size(2))


def _mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether there is a batch dimension; AssertionError when the arguments disagree about it."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    start = f"For {'batched (3-D)' if batched else 'unbatched (2-D)'} `query`, expected"
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(
            f"{start} `key` and `value` to be {query.dim()}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            f"respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"{start} `key_padding_mask` to be `None` or {query.dim() - 1}-D but found {key_padding_mask.dim()}-D "
            f"tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
            )
        wanted = (num_heads, query.shape[0], key.shape[0])
        if not batched and attn_mask.dim() == 3 and tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {tuple(attn_mask.shape)}")
    return batched


def _check_sizes(
    key: Tensor, value: Tensor, embed_dim: int, expected: int, num_heads: int, use_separate_proj_weight: bool
) -> None:
    if embed_dim != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {embed_dim}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """The mask in the form that is added to the scores: a boolean one becomes 0 and -inf."""
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    if mask.dtype != pellucid.bool and not is_float:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=user_level(),
        )
    if is_float:
        return mask
    return pellucid.zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)


def _none_or_dtype(input: Tensor | None) -> Any:
    """The dtype of a tensor that may not be there."""
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _prepared_masks(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    is_causal: bool,
    need_weights: bool,
    dtype: Any,
    sizes: tuple[int, int],
    heads: int,
) -> tuple[Tensor | None, Tensor | None, bool]:
    """Both masks additive, the attention mask 3-dimensional, and whether the kernel may use its own causal mask
    instead.
    """
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, check_other=False)
    if attn_mask is not None:
        wanted = sizes if attn_mask.dim() == 2 else (heads, *sizes)
        if tuple(attn_mask.shape) != wanted:
            raise RuntimeError(
                f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {wanted}."
            )
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
    return attn_mask, key_padding_mask, False


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The three projections whose weights are stacked in `w`; the same tensor given twice is projected in one
    product.
    """
    embed = q.size(-1)
    if q is k and k is v:
        return _split_projection(_linear(q, w, b), 3, embed)
    if k is v:
        w_q, w_kv = w.split([embed, embed * 2])
        b_q, b_kv = (None, None) if b is None else b.split([embed, embed * 2])
        return (_linear(q, w_q, b_q), *_split_projection(_linear(k, w_kv, b_kv), 2, embed))
    w_q, w_k, w_v = w.chunk(3)
    b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
    return _linear(q, w_q, b_q), _linear(k, w_k, b_k), _linear(v, w_v, b_v)


def _split_projection(projected: Tensor, parts: int, embed: int) -> Any:
    """(…, parts · embed) as `parts` contiguous tensors (…, embed)."""
    order = (projected.dim() - 1, *range(projected.dim() - 1), projected.dim())
    stacked = projected.unflatten(-1, (parts, embed)).permute(order).contiguous()
    return tuple(stacked[i] for i in range(parts))


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The three projections, each with its own weight; AssertionError when a weight or bias has the wrong shape."""
    embed = q.size(-1)
    for name, weight, size in (("query", w_q, embed), ("key", w_k, k.size(-1)), ("value", w_v, v.size(-1))):
        if tuple(weight.shape) != (embed, size):
            raise AssertionError(f"expecting {name} weights shape of {(embed, size)}, but got {weight.shape}")
    for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
        if bias is not None and tuple(bias.shape) != (embed,):
            raise AssertionError(f"expecting {name} bias shape of {(embed,)}, but got {bias.shape}")
    return _linear(q, w_q, b_q), _linear(k, w_k, b_k), _linear(v, w_v, b_v)


def _separately_projected(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor | None, ...], bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    given: list[Tensor] = []
    for name, weight in zip(("q", "k", "v"), weights, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        given.append(weight)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return _in_projection(query, key, value, *given, *biases)


def _with_bias_row(
    k: Tensor,
    v: Tensor,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    static_k: Tensor | None,
    static_v: Tensor | None,
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Keys and values with one trained row more, which every query may look at."""
    if bias_k is None and bias_v is None:
        return k, v, attn_mask, key_padding_mask
    if bias_v is None:
        raise AssertionError("bias_k is set but bias_v is None")
    if bias_k is None:
        raise AssertionError("bias_v is set but bias_k is None")
    if static_k is not None:
        raise AssertionError("bias cannot be added to static key.")
    if static_v is not None:
        raise AssertionError("bias cannot be added to static value.")
    batch = k.size(1)
    k = pellucid.cat([k, bias_k.repeat(1, batch, 1)])
    v = pellucid.cat([v, bias_v.repeat(1, batch, 1)])
    return k, v, _one_more_key(attn_mask), _one_more_key(key_padding_mask)


def _one_more_key(mask: Tensor | None) -> Tensor | None:
    """An additive mask that also allows one key more, at the end."""
    if mask is None:
        return None
    return pellucid.cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], dim=-1)


def _in_heads(projected: Tensor, static: Tensor | None, name: str, heads: int, head_dim: int) -> Tensor:
    """(S, N, E) as (N · heads, S, head_dim), or the static tensor given in its place."""
    if static is None:
        return projected.view(projected.shape[0], heads, head_dim).transpose(0, 1)
    if static.size(0) != heads:
        raise AssertionError(f"expecting {name}.size(0) of {heads}, but got {static.size(0)}")
    if static.size(2) != head_dim:
        raise AssertionError(f"expecting {name}.size(2) of {head_dim}, but got {static.size(2)}")
    return static


def _check_key_padding_mask(key_padding_mask: Tensor, src_len: int, bsz: int) -> None:
    """AssertionError unless the mask is (batch, keys)."""
    for dim, wanted in enumerate((bsz, src_len)):
        found = key_padding_mask.shape[dim]
        if found != wanted:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {wanted}, but got {found}")


def _merged(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, batch: int, num_heads: int, keys: int
) -> Tensor | None:
    """Both additive masks as one of shape (1 or N · heads, L or 1, S)."""
    if key_padding_mask is None:
        return attn_mask
    _check_key_padding_mask(key_padding_mask, keys, batch)
    padding = key_padding_mask.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1)
    padding = padding.reshape(batch * num_heads, 1, keys)
    return padding if attn_mask is None else attn_mask + padding


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value over (..., L, E), (..., S, E), (..., S, Ev). Vaswani et al., 2017.

    A boolean mask is true where a position takes part, a floating one is added. A row where none takes part gives 0.

    >>> import pellucid as torch
    >>> q = torch.ones(1, 1, 2, 4)
    >>> torch.nn.functional.scaled_dot_product_attention(q, q, q).shape
    torch.Size([1, 1, 2, 4])
    """
    need_tensor(query, "scaled_dot_product_attention", "query", 1)
    need_tensor(key, "scaled_dot_product_attention", "key", 2)
    need_tensor(value, "scaled_dot_product_attention", "value", 3)
    if attn_mask is not None:
        need_tensor(attn_mask, "scaled_dot_product_attention", "attn_mask", 4)
    dropout_p = as_float(dropout_p, "scaled_dot_product_attention", "dropout_p", 5)
    as_bool(is_causal, "scaled_dot_product_attention", "is_causal", 6)
    if scale is not None:
        scale = as_float(scale, "scaled_dot_product_attention", "scale", 7)
    as_bool(enable_gqa, "scaled_dot_product_attention", "enable_gqa", 8)
    _check_attended(query, key, value, attn_mask, is_causal)
    if query.dtype in (pellucid.bfloat16, pellucid.float16):  # as in PyTorch, only the result is rounded
        mask = attn_mask if attn_mask is None or attn_mask.dtype is pellucid.bool else attn_mask.float()
        wide = scaled_dot_product_attention(
            query.float(), key.float(), value.float(), mask, dropout_p, is_causal, scale, enable_gqa
        )
        return wide.to(query.dtype)
    if enable_gqa:
        key, value = _repeated_heads(query, key, value)
    if dropout_p == 0.0 and _tiles(query, key, value, attn_mask):
        factor = query.size(-1) ** -0.5 if scale is None else scale
        return ops.attention(query, key, value, attn_mask, scale=float(factor), is_causal=bool(is_causal))[0]
    if is_causal:
        attn_mask = pellucid.ones(query.size(-2), key.size(-2), dtype=pellucid.bool, device=query.device).tril()
    factor = (query.size(-1) ** -0.5 if query.size(-1) else 1.0) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    if attn_mask is None:
        weights = scores.softmax(-1)
    else:
        if attn_mask.dtype is pellucid.bool:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        else:
            scores = scores + attn_mask.to(scores.dtype)
        weights = safe_softmax(scores, dim=scores.dim() - 1, dtype=scores.dtype)
    if dropout_p > 0.0:
        weights = drop(weights, dropout_p, True, False)
    return weights @ value


def _tiles(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether this is the common case that is one operator, where PyTorch uses its flash kernel too.

    A mode that watches operators, transforms them or records them sees the products and the softmax instead.
    """
    if (
        query.dim() != 4
        or state.stack
        or not key.shape == value.shape == (*query.shape[:2], key.size(2), query.size(3))
    ):
        return False
    if not query.numel() or not key.numel() or query.dtype not in (pellucid.float32, pellucid.float64):
        return False
    if mask is None:
        return True
    sizes = zip(reversed(mask.shape), (key.size(2), query.size(2), query.size(1), query.size(0)), strict=False)
    fits = mask.dim() in (2, 4) and all(size in (1, full) for size, full in sizes)
    return fits and not mask.requires_grad and mask.dtype in (pellucid.bool, query.dtype)


def _check_attended(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype} key.dtype: "
            f"{key.dtype} and"
            f" value.dtype: {value.dtype} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.dim()} "
            f"key.dim: {key.dim()} and"
            f" value.dim: {value.dim()} instead."
        )
    if not query.is_floating_point():
        raise RuntimeError(
            f"expected scalar type Float but found {title(query.dtype)}: attention needs floating point tensors"
        )
    if attn_mask is not None and attn_mask.dtype not in (pellucid.bool, pellucid.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype} and "
            f" query.dtype: {query.dtype} instead."
        )


def _repeated_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values with each head repeated for the queries' heads that share it."""
    heads, key_heads, value_heads = query.size(-3), key.size(-3), value.size(-3)
    if not key_heads or not value_heads or heads % key_heads or heads % value_heads:
        raise RuntimeError(
            f"Number of heads in key and value must divide the number of heads in query: {key_heads} and "
            f"{value_heads}, {heads} in query"
        )
    return key.repeat_interleave(heads // key_heads, -3), value.repeat_interleave(heads // value_heads, -3)
