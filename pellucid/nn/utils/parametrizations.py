"""Ready-made parametrizations: orthogonal matrices, weight normalisation, spectral normalisation."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn.modules.module import Module

from . import parametrize
from .weight_norm import norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _OrthMaps(Enum):
    """The maps from all matrices to orthogonal ones."""

    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(q: Tensor) -> bool:
    n, k = q.size(-2), q.size(-1)
    identity = pellucid.eye(k, dtype=q.dtype, device=q.device)
    return pellucid.allclose(q.mH @ q, identity, atol=10.0 * n * pellucid.finfo(q.dtype).eps)


def _make_orthogonal(a: Tensor) -> Tensor:
    """The orthogonal factor of a, with the signs that make the triangular factor's diagonal positive."""
    x, tau = pellucid.geqrf(a)
    q = pellucid.linalg.householder_product(x, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A matrix with orthonormal columns (or rows, when it is wide) out of any matrix; `base` is the point it starts
    from.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        is_wide = X.size(-2) < X.size(-1)
        if is_wide:
            X = X.mT
        if self.orthogonal_map == _OrthMaps.householder:
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = pellucid.linalg.householder_product(A, tau)
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            Q = self._from_skew(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    def _from_skew(self, X: Tensor) -> Tensor:
        """The orthogonal matrix of the skew-symmetric one below X's diagonal, by the exponential or the Cayley map."""
        n, k = X.size(-2), X.size(-1)
        X = X.tril()
        if n != k:
            X = pellucid.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == _OrthMaps.matrix_exp:
            Q = pellucid.matrix_exp(A)
        else:
            identity = pellucid.eye(n, dtype=A.dtype, device=A.device)
            Q = pellucid.linalg.solve(pellucid.add(identity, A, alpha=-0.5), pellucid.add(identity, A, alpha=0.5))
        return Q[..., :k] if n != k else Q

    def right_inverse(self, Q: Tensor) -> Tensor:
        """The matrix to start from so that the result is `Q`, or the orthogonal matrix next to it."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        with pellucid.no_grad():
            is_wide = Q.size(-2) < Q.size(-1)
            tall = Q.mT if is_wide else Q
            if not hasattr(self, "base"):
                return self._reflectors(tall, is_wide)
            n, k = tall.size(-2), tall.size(-1)
            if n == k:
                self.base = tall.clone() if _is_orthogonal(tall) else _make_orthogonal(tall)
            else:
                filler = pellucid.randn(*tall.size()[:-2], n, n - k, dtype=tall.dtype, device=tall.device)
                self.base = _make_orthogonal(pellucid.cat([tall, filler], dim=-1))
            # For each of the maps this is sent to the identity, so that the result is the base itself.
            start = pellucid.zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start

    def _reflectors(self, tall: Tensor, is_wide: bool) -> Tensor:
        if self.orthogonal_map != _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        A, tau = pellucid.geqrf(tall)
        diagonal = A.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1
        return A.mT if is_wide else A


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix (or a batch of them) orthogonal: QᵀQ = 1, or QQᵀ = 1 when it is wide. Lezcano-Casado, 2019.

    `orthogonal_map` is 'matrix_exp', 'cayley' or 'householder'. `use_trivialization` starts from the present weight and
    keeps it as
    a buffer of its size.

    >>> import pellucid as torch
    >>> q = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 4)).weight
    >>> torch.allclose(q.mT @ q, torch.eye(4), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        is_square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    chosen = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, chosen, unsafe=True)
    return module


class _WeightNorm(Module):
    """g · v / ‖v‖ with a norm for each slice along `dim`."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The lengths, and the weight itself as the directions."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the length (original0) and the direction (original1) of a weight apart; one length per slice along `dim`,
    one for all with None.

    Salimans and Kingma, NeurIPS 2016. State dicts of the older `nn.utils.weight_norm` load too.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([40, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_old_keys(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_old_keys)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration follows from step to step."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim < 2:
            return
        self.n_power_iterations = n_power_iterations
        with pellucid.no_grad():
            matrix = self._reshape_weight_to_matrix(weight)
            u = matrix.new_empty(matrix.size(0)).normal_(0, 1)
            v = matrix.new_empty(matrix.size(1)).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        """Move u and v, in place, towards the singular vectors of the largest singular value."""
        with pellucid.no_grad():
            for _ in range(n_power_iterations):
                self._u.copy_(F.normalize(pellucid.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(pellucid.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the backward of this use must not see what later power iterations write.
        u, v = self._u.clone(), self._v.clone()
        return weight / pellucid.vdot(u, pellucid.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself, which is divided by its singular value when it is read."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Keep the largest singular value of a weight at 1; rows go along `dim`, by default the output channels. Miyato et
    al., ICLR 2018.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> layer.parametrizations.weight[0]._u.shape
    torch.Size([40])
    """
    from pellucid.nn.modules.conv import _ConvTransposeNd

    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
