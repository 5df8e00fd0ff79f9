"""All parameters of a model as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import pellucid
from pellucid import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened and joined in order; gradients flow back into them.

    Raises TypeError for parameters on different devices.

    >>> import pellucid as torch
    >>> torch.nn.utils.parameters_to_vector([torch.ones(2, 1), torch.zeros(1)]).tolist()
    [1.0, 1.0, 0.0]
    """
    listed = list(parameters)
    _check_devices(listed)
    return pellucid.cat([parameter.view(-1) for parameter in listed])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters, in order, views of consecutive parts of a vector.

    Raises TypeError for anything but a tensor, and for parameters on different devices.

    >>> import pellucid as torch
    >>> weight = torch.nn.Parameter(torch.zeros(2))
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0]), [weight])
    >>> weight.tolist()
    [1.0, 2.0]
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    listed = list(parameters)
    _check_devices(listed)
    start = 0
    for parameter in listed:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end


def _check_devices(parameters: list[Tensor]) -> None:
    if len({parameter.device for parameter in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
