"""Changing how the weights of convolutions lie in memory, without changing anything else."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M")


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Put the weight of every 2-dimensional convolution in `module`, itself included, into `memory_format`.

    >>> import pellucid as torch
    >>> net = torch.nn.utils.convert_conv2d_weight_memory_format(torch.nn.Conv2d(8, 4, 3), torch.channels_last)
    >>> net.weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    from pellucid.nn.modules.conv import Conv2d, ConvTranspose2d

    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Put the weight of every 3-dimensional convolution in `module`, itself included, into `memory_format`."""
    from pellucid.nn.modules.conv import Conv3d, ConvTranspose3d

    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


def _convert(module: Any, memory_format: Any, kinds: tuple[type[Any], ...]) -> Any:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().clone(memory_format=memory_format)
    return module
