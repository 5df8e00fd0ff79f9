"""Linear maps and look-ups."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.engine.core.batching import whole
from pellucid.engine.core.errors import check
from pellucid.engine.ops import embedding as ops
from pellucid.engine.ops import embedding_bag as bag_ops
from pellucid.engine.tensor.arguments import as_bool, as_float, as_int, deliver, need_tensor


def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    """input @ weight.T + bias: (*, in) and (out, in) give (*, out).

    >>> import pellucid as torch
    >>> torch.nn.functional.linear(torch.ones(2), torch.ones(1, 2), torch.ones(1))
    tensor([3.])
    """
    need_tensor(weight, "linear", "weight", 2)
    if not isinstance(input, pellucid.Tensor):
        raise TypeError(f"linear(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return deliver(_product(input, weight, bias), out)


def _product(input: Any, weight: Any, bias: Any) -> Any:
    if weight.dim() == 1:
        result = input.matmul(weight)
        return result if bias is None else result + bias
    if bias is None or input.dim() == 1 and bias.dim() != 1:
        result = input.matmul(weight.t())
        return result if bias is None else result + bias
    if input.dim() == 2:
        return pellucid.addmm(bias, input, weight.t())
    if input.dim() == 1:
        return pellucid.addmm(bias, input.unsqueeze(0), weight.t()).squeeze(0)
    lead = input.shape[:-1]
    return pellucid.addmm(bias, input.reshape(-1, input.shape[-1]), weight.t()).view(*lead, weight.shape[0])


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """input1.T @ weight[k] @ input2 + bias[k] for each output k.

    >>> import pellucid as torch
    >>> torch.nn.functional.bilinear(torch.ones(2), torch.ones(3), torch.ones(1, 2, 3))
    tensor([6.])
    """
    need_tensor(input1, "bilinear", "input1", 1)
    need_tensor(input2, "bilinear", "input2", 2)
    need_tensor(weight, "bilinear", "weight", 3)
    if bias is not None:
        need_tensor(bias, "bilinear", "bias", 4)
    check(
        input1.shape[:-1] == input2.shape[:-1],
        f"bilinear(): input batch dimensions do not match: got {list(input1.shape[:-1])} and {list(input2.shape[:-1])}",
    )
    check(
        input1.shape[-1] == weight.shape[1] and input2.shape[-1] == weight.shape[2],
        f"bilinear(): input sizes do not match weight size: got {input1.shape[-1]} and {input2.shape[-1]} but "
        f"expected {weight.shape[1]}"
        f" and {weight.shape[2]}",
    )
    lead = input1.shape[:-1]
    left = input1.reshape(-1, input1.shape[-1])
    right = input2.reshape(-1, 1, input2.shape[-1])
    count, first, second = weight.shape
    inner = left.matmul(weight.permute(1, 0, 2).reshape(first, count * second)).view(-1, count, second)
    result = (inner * right).sum(-1, dtype=inner.dtype).view(*lead, count)
    return result if bias is None else result + bias


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Rows of `weight` at integer positions; the row `padding_idx` gets no gradient.

    >>> import pellucid as torch
    >>> torch.nn.functional.embedding(torch.tensor([1]), torch.tensor([[1.0], [2.0]]))
    tensor([[2.]])
    """
    need_tensor(input, "embedding", "indices"), need_tensor(weight, "embedding", "weight", 2)
    if padding_idx is not None:
        padding_idx = as_int(padding_idx, "embedding", "padding_idx", 3)
    as_bool(scale_grad_by_freq, "embedding", "scale_grad_by_freq", 6)
    padding = _padding(padding_idx, weight)
    if max_norm is not None:
        renormalise_rows(weight, input, max_norm, norm_type)
    return ops.embedding(
        weight, input, padding_idx=padding, scale_grad_by_freq=bool(scale_grad_by_freq), sparse=bool(sparse)
    )


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """The sum, mean or maximum of the rows of `weight` in each bag: the rows of a 2-D `input`, or runs of a 1-D one
    from `offsets` on.

    An empty bag gives zeros; positions equal to `padding_idx` do not take part.

    >>> import pellucid as torch
    >>> table = torch.tensor([[1.0], [3.0], [8.0]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([0, 1, 2]), table, torch.tensor([0, 2]))
    tensor([[2.],
            [8.]])
    """
    if max_norm is not None:
        max_norm = as_float(max_norm, "embedding_bag", "max_norm", 4)
    as_bool(include_last_offset, "embedding_bag", "include_last_offset", 10)
    if padding_idx is not None:
        padding_idx = as_int(padding_idx, "embedding_bag", "padding_idx", 11)
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            "same shape as the"
            f" input ({input.shape})"
        )
    input, offsets, per_sample_weights = _as_runs(input, offsets, per_sample_weights, include_last_offset)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        renormalise_rows(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got"
            f" mode='{mode}'): multiply before reducing instead."
        )
    return bag_ops.embedding_bag(
        weight, input, offsets, per_sample_weights, mode=mode, last=bool(include_last_offset),
        padding_idx=bag_padding(padding_idx, weight), scale_grad_by_freq=bool(scale_grad_by_freq),
        sparse=bool(sparse),
    )[0]  # fmt: skip


def _as_runs(input: Any, offsets: Any, per_sample_weights: Any, include_last_offset: bool) -> tuple[Any, Any, Any]:
    """Bags of one length as one run of positions and their offsets."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                "sequences. However,"
                f" found offsets of type {type(offsets)}"
            )
        bags, length = input.shape
        offsets = pellucid.arange(bags + bool(include_last_offset), device=input.device) * length
        return input.reshape(-1), offsets, None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if not isinstance(offsets, pellucid.Tensor):
        raise ValueError(f"offsets has to be a 1D Tensor but got {offsets}")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, per_sample_weights


def bag_padding(padding_idx: int | None, weight: Any) -> int:
    """The padding row counted from the front, -1 for none."""
    if padding_idx is None:
        return -1
    rows = weight.shape[0]
    check(
        -rows <= padding_idx < rows,
        f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}",
    )
    return padding_idx % rows


def _padding(padding_idx: int | None, weight: Any) -> int:
    if padding_idx is None:
        return -1
    rows = weight.shape[0]
    assert -rows <= padding_idx < rows, "Padding_idx must be within num_embeddings"
    return padding_idx % rows


@pellucid.no_grad()
def renormalise_rows(weight: Any, input: Any, max_norm: float, norm_type: float) -> None:
    """Shrink, in place, the rows that `input` names to a norm of at most `max_norm`."""
    rows = input.reshape(-1).unique()
    picked = weight.index_select(0, rows)
    norms = picked.norm(norm_type, 1, keepdim=True)
    scale = pellucid.where(norms > max_norm, max_norm / (norms + 1e-7), pellucid.ones_like(norms))
    weight.index_copy_(0, rows, picked * scale)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """A last dimension of zeros with a one at each value.

    >>> import pellucid as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    need_tensor(tensor, "one_hot", "input")
    num_classes = as_int(num_classes, "one_hot", "num_classes", 2)
    check(
        tensor.dtype is pellucid.int64,
        f"one_hot is only applicable to index tensor of type LongTensor (got {tensor.dtype})",
    )
    if tensor.numel() == 0:
        check(num_classes > 0, "Can not infer total number of classes from empty tensor.")
        return pellucid.empty(*tensor.shape, num_classes, dtype=pellucid.int64)
    low, high = int(whole(tensor).min()), int(whole(tensor).max())
    check(low >= 0, "Class values must be non-negative.")
    if num_classes == -1:
        num_classes = high + 1
    check(
        num_classes > high,
        f"Class values must be smaller than num_classes (found {high}, num_classes is {num_classes}).",
    )
    result = tensor.new_zeros((*tensor.shape, num_classes))
    return result.scatter_(-1, tensor.unsqueeze(-1), 1)
