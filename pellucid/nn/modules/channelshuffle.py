"""`ChannelShuffle`."""

from __future__ import annotations

import pellucid.nn.functional as F
from pellucid import Tensor

from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Deal the channels of (N, C, …) into `groups` piles and take one from each in turn. Zhang et al. (ShuffleNet),
    CVPR 2018.

    >>> import pellucid as torch
    >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).view(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    __constants__ = ["groups"]
    groups: int

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
