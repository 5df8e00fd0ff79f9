"""The table: entries by family of function; `CASES` and `LAYERS` are all of them."""

from __future__ import annotations

from ..table import Case, Layer
from . import (
    activation,
    attention,
    comparison,
    convolution,
    creation,
    embedding,
    index,
    interpolate,
    layers_block,
    layers_image,
    layers_loss,
    linalg,
    loss,
    normalization,
    padding,
    pointwise,
    pooling,
    randomness,
    recurrent,
    reduce,
    shape,
    sorting,
    tensor_methods,
    views,
)

FAMILIES = (
    pointwise, comparison, reduce, shape, views, index, sorting, linalg, creation, tensor_methods, randomness,
    activation, loss, normalization, convolution, pooling, padding, interpolate, embedding, attention, recurrent,
)  # fmt: skip
CASES: list[Case] = [case for family in FAMILIES for case in family.CASES]
# Made of several operators in PyTorch or here, so the name of the last node says how, not what.
COMPOSITES = frozenset(
    """
    floor_divide quantile nanquantile cumulative_trapezoid diag combinations broadcast_tensors
    inner chain_matmul linalg.multi_dot einsum logdet linalg.solve triangular_solve cholesky matrix_power
    linalg.matrix_power linalg.norm linalg.matrix_norm linalg.cond linalg.tensorinv
    linalg.householder_product Tensor.sum_to_size Tensor.__floordiv__
    nn.functional.cross_entropy nn.functional.nll_loss nn.functional.linear
    nn.functional.pad nn.utils.rnn.pad_sequence nn.utils.rnn.unpad_sequence scatter
    nn.functional.scaled_dot_product_attention lstm_cell gru_cell
    """.split()
)
LAYERS: list[Layer] = [*layers_block.LAYERS, *layers_image.LAYERS, *layers_loss.LAYERS]
