"""Transforms of vectors and matrices: softmax, stick breaking, Cholesky factors. They are also in `transforms.py`."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid.distributions import constraints
from pellucid.distributions.scalar_transforms import SigmoidTransform
from pellucid.distributions.transform import Transform
from pellucid.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "SoftmaxTransform",
    "StickBreakingTransform",
]  # fmt: skip


class SoftmaxTransform(Transform):
    """Logits to a point of the simplex; the inverse takes logarithms, so it is not one to one.

    >>> import pellucid as torch
    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return pellucid.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        """The same, of at least one dimension."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """k numbers to a point of the simplex of k + 1: each breaks its share off what is left of a stick.

    The shift by log of the number of pieces left takes 0 to the centre (Stan reference manual, unit simplex).

    >>> import pellucid as torch
    >>> torch.distributions.StickBreakingTransform()(torch.zeros(1))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = None  # type: ignore[assignment]

    def _shift(self, x: Any) -> Any:
        k = x.shape[-1]
        return pellucid.arange(k, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Any) -> Any:
        share = SigmoidTransform()(x - self._shift(x))
        pad = pellucid.nn.functional.pad
        return pad(share, [0, 1], value=1) * pad((1 - share).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        pieces = y[..., :-1]
        left = pellucid.clamp(1 - pieces.cumsum(-1), min=pellucid.finfo(y.dtype).tiny)
        return pieces.log() - left.log() + self._shift(pieces)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum over pieces of log of the piece times its sigmoid's slope."""
        x = x - self._shift(x)
        return (-x + pellucid.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One more."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        """One less."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones whose diagonal is positive: exp of the diagonal.

    >>> import pellucid as torch
    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive definite ones: L L^T of `LowerCholeskyTransform`'s L.

    >>> import pellucid as torch
    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(1, 1))
    tensor([[1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(pellucid.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """d (d - 1) / 2 numbers to the Cholesky factor of a correlation matrix of side d.

    tanh gives partial correlations, and each row breaks its unit length by them (Lewandowski et al., 2009).

    >>> import pellucid as torch
    >>> torch.distributions.transforms.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        x = pellucid.tanh(x)
        eps = pellucid.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)  # of the row's unit length, after each column
        partial = partial + pellucid.eye(partial.shape[-1], dtype=partial.dtype, device=partial.device)
        return partial * pellucid.nn.functional.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = 1 - pellucid.cumsum(y * y, dim=-1)
        before = pellucid.nn.functional.pad(left[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(before, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """Half the logarithms of the lengths left, and the slopes of tanh."""
        rows = 0.5 * tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2).log().sum(-1)
        slopes = (x + pellucid.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return rows - 2 * slopes

    def forward_shape(self, shape: Any) -> Any:
        """A square matrix for the vector."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        side = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if side * (side - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (side, side)

    def inverse_shape(self, shape: Any) -> Any:
        """A vector for the square matrix."""
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)
