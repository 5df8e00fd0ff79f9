"""One step of a recurrent layer: `RNNCell`, `LSTMCell`, `GRUCell`; exported by rnn.py."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn import init
from pellucid.nn.parameter import Parameter

from .module import Module

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """What cells share: weight_ih, weight_hh, bias_ih, bias_hh, each starting uniform on ±1/√hidden_size."""

    __module__ = "pellucid.nn.modules.rnn"  # where files of PyTorch say that it is

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(pellucid.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(pellucid.empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(pellucid.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def reset_parameters(self) -> None:
        """Draw every weight anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check_dims(self, what: str, tensor: Tensor) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {tensor.dim()}D instead")

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _batched(self, input: Tensor, hx: Tensor | None) -> tuple[Tensor, Tensor]:
        """Input and state with a batch dimension; zeros where no state was given."""
        self._check_dims("input", input)
        if hx is not None:
            self._check_dims("hidden", hx)
        if input.dim() == 1:
            input = input.unsqueeze(0)
            hx = hx.unsqueeze(0) if hx is not None else None
        return input, input.new_zeros((input.size(0), self.hidden_size)) if hx is None else hx


class RNNCell(RNNCellBase):
    """h′ = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu with `nonlinearity='relu'`: (N, input_size), (N, hidden_size) →
    (N, hidden_size).

    >>> import pellucid as torch
    >>> torch.nn.RNNCell(10, 20)(torch.ones(3, 10)).shape
    torch.Size([3, 20])
    """

    __module__ = "pellucid.nn.modules.rnn"  # where files of PyTorch say that it is

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        batched, state = self._batched(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        step = pellucid.rnn_tanh_cell if self.nonlinearity == "tanh" else pellucid.rnn_relu_cell
        result = step(batched, state, *self._weights())
        return result.squeeze(0) if input.dim() == 1 else result


class LSTMCell(RNNCellBase):
    """One step of an `LSTM`: (N, input_size) and the pair (h, c) → the next (h, c), each (N, hidden_size).

    >>> import pellucid as torch
    >>> h, c = torch.nn.LSTMCell(10, 20)(torch.ones(3, 10))
    >>> h.shape, c.shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    __module__ = "pellucid.nn.modules.rnn"  # where files of PyTorch say that it is

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_dims("input", input)
        for i, each in enumerate(hx or ()):
            self._check_dims(f"hx[{i}]", each)
        is_batched = input.dim() == 2
        batched = input if is_batched else input.unsqueeze(0)
        if hx is None:
            zeros = batched.new_zeros((batched.size(0), self.hidden_size))
            hx = (zeros, zeros)
        elif not is_batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        h, c = pellucid.lstm_cell(batched, hx, *self._weights())
        return (h, c) if is_batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a `GRU`: (N, input_size), (N, hidden_size) → (N, hidden_size).

    >>> import pellucid as torch
    >>> torch.nn.GRUCell(10, 20)(torch.ones(3, 10), torch.zeros(3, 20)).shape
    torch.Size([3, 20])
    """

    __module__ = "pellucid.nn.modules.rnn"  # where files of PyTorch say that it is

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        batched, state = self._batched(input, hx)
        result = pellucid.gru_cell(batched, state, *self._weights())
        return result.squeeze(0) if input.dim() == 1 else result
