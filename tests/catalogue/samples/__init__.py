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
LAYERS: list[Layer] = [*layers_block.LAYERS, *layers_image.LAYERS, *layers_loss.LAYERS]
