"""Recurrent layers over whole sequences, padded or packed: `RNN`, `LSTM`, `GRU`. One step at a time is in rnn_cells.py.

The recurrences are operators (`pellucid.lstm` and its kin); here are the weights, the start states and the checks of
shapes.
"""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn import init
from pellucid.nn.parameter import Parameter
from pellucid.nn.utils.rnn import PackedSequence

from .module import Module
from .rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The old spelling of `tensor.index_select(dim, permutation)`."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
        stacklevel=2,
    )
    return _apply_permutation(tensor, permutation, dim)


class RNNBase(Module):
    """What recurrent layers share: weights named weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, … for layers and
    directions.

    Every weight starts uniform on ±1/√hidden_size. `dropout` acts between layers, in training.
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
        "proj_size",
    ]  # fmt: skip
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_dropout(dropout, num_layers)
        _check_kinds(bias=bias, batch_first=batch_first)
        _check_sizes(input_size, hidden_size, num_layers, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(self._num_directions):
                self._make_weights(layer, "_reverse" if direction else "", device, dtype)
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    @property
    def _num_directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _real_hidden_size(self) -> int:
        """The size of what each step puts out: the projection's, where there is one."""
        return self.proj_size if self.proj_size > 0 else self.hidden_size

    def _make_weights(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        """Make and name the weights of one layer in one direction."""
        gates = _GATES[self.mode] * self.hidden_size
        inputs = self.input_size if layer == 0 else self._real_hidden_size * self._num_directions
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, inputs),
            "weight_hh": (gates, self._real_hidden_size),
        }
        if self.bias:
            shapes.update(bias_ih=(gates,), bias_hh=(gates,))
        if self.proj_size > 0:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for kind, shape in shapes.items():
            names.append(f"{kind}_l{layer}{suffix}")
            self.register_parameter(names[-1], Parameter(pellucid.empty(shape, device=device, dtype=dtype)))
        self._all_weights.append(names)

    @property
    def _flat_weights(self) -> list[Any]:
        """The weights in the order in which the operators take them, as they are now."""
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights, one list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: the operators take the weights as they lie, so there is no layout to restore. It is here for
        programs that call it.
        """

    def reset_parameters(self) -> None:
        """Draw every weight anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless `input` has the right dtype, number of dimensions and features."""
        weight_dtype = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype != weight_dtype and not _any_autocast():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight_dtype}). Convert input: "
                f"input.to({weight_dtype}), or convert model: model.to({input.dtype})"
            )
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _batch_size(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0) if self.batch_first else input.size(1)

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that the hidden state must have for `input`: (layers · directions, batch, size)."""
        batch = self._batch_size(input, batch_sizes)
        return self.num_layers * self._num_directions, batch, self._real_hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError unless `hx` has the expected shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise unless input and start state fit the layer and each other."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with the batch in another order."""
        return hx if permutation is None else _apply_permutation(hx, permutation)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch's own layer, should it read this, wants the flat list.
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = {name: value for name, value in state.items() if name not in ("_flat_weights", "_flat_weight_refs")}
        super().__setstate__({"proj_size": 0, **kept})

    # What the three layers differ in.

    def _zero_state(self, input: Tensor, batch: int) -> Any:
        return input.new_zeros((self.num_layers * self._num_directions, batch, self._real_hidden_size))

    def _with_batch(self, hx: Any, is_batched: bool) -> Any:
        """The start state with a batch dimension; RuntimeError when it has the wrong number of dimensions for the
        input.
        """
        dims = 3 if is_batched else 2
        if hx.dim() != dims:
            kind = f"{'batched' if is_batched else 'unbatched'} {dims}-D"
            raise RuntimeError(f"For {kind} input, hx should also be {dims}-D but got {hx.dim()}-D tensor")
        return hx if is_batched else hx.unsqueeze(1)

    def _without_batch(self, hidden: Any) -> Any:
        return hidden.squeeze(1)

    def _operator(self) -> Any:
        """The recurrence, for padded (input, hx, …) and packed (data, batch_sizes, hx, …) sequences."""
        raise NotImplementedError(f"{type(self).__name__} does not say which recurrence it computes")

    def _hidden(self, result: tuple[Tensor, ...]) -> Any:
        """The last state out of what the operator returned after the outputs."""
        return result[1]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            kind, what = ("RNN", "D tensor") if self.mode.startswith("RNN") else (self.mode, "D")
            raise ValueError(f"{kind}: Expected input to be 2D or 3D, got {input.dim()}{what} instead")
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not is_batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zero_state(input, self._batch_size(input, None))
        else:
            hx = self._with_batch(hx, is_batched)
        self.check_forward_args(input, hx, None)
        result = self._operator()(
            input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
            self.batch_first,
        )  # fmt: skip
        output, hidden = result[0], self._hidden(result)
        if not is_batched:
            return output.squeeze(batch_dim), self._without_batch(hidden)
        return output, hidden

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        if hx is None:
            hx = self._zero_state(data, int(batch_sizes[0]))
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        result = self._operator()(
            data, batch_sizes, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional,
        )  # fmt: skip
        output = PackedSequence(result[0], batch_sizes, sorted_indices, unsorted_indices)
        return output, self.permute_hidden(self._hidden(result), unsorted_indices)


def _any_autocast() -> bool:
    """Whether autocast is on: it will make the dtypes agree."""
    is_enabled = getattr(pellucid, "is_autocast_enabled", None)
    return is_enabled is not None and (is_enabled("cpu") or is_enabled("cuda"))


def _check_dropout(dropout: Any, num_layers: int) -> None:
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )


def _check_kinds(**flags: Any) -> None:
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")


def _check_sizes(input_size: Any, hidden_size: Any, num_layers: int, proj_size: int) -> None:
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNN(RNNBase):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_{t−1} + b_hh), or relu with `nonlinearity='relu'`; several layers, both
    directions. Elman, 1990.

    input (L, N, H_in), or (N, L, H_in) with `batch_first`, or (L, H_in), or a packed sequence. Returns the outputs of
    the last layer
    and the last state (layers · directions, N, hidden_size).

    >>> import pellucid as torch
    >>> output, hidden = torch.nn.RNN(10, 20, 2)(torch.ones(5, 3, 10))
    >>> output.shape, hidden.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def _operator(self) -> Any:
        return pellucid.rnn_tanh if self.mode == "RNN_TANH" else pellucid.rnn_relu


class LSTM(RNNBase):
    """Long short-term memory: c_t = f ⊙ c_{t−1} + i ⊙ g, h_t = o ⊙ tanh(c_t). Hochreiter and Schmidhuber, 1997.

    The gates i, f, g, o, in this order in the weights, are sigmoids (g a tanh) of W_ih x_t + b_ih + W_hh h_{t−1} +
    b_hh; with
    `proj_size` h is projected by W_hr. The state is the pair (h, c), each (layers · directions, N, size).

    >>> import pellucid as torch
    >>> output, (h, c) = torch.nn.LSTM(10, 20, bidirectional=True)(torch.ones(5, 3, 10))
    >>> output.shape, h.shape, c.shape
    (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that the cell state must have for `input`."""
        return self.num_layers * self._num_directions, self._batch_size(input, batch_sizes), self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        if permutation is None:
            return hx
        return _apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation)

    def _zero_state(self, input: Tensor, batch: int) -> Any:
        layers = self.num_layers * self._num_directions
        return super()._zero_state(input, batch), input.new_zeros((layers, batch, self.hidden_size))

    def _with_batch(self, hx: Any, is_batched: bool) -> Any:
        dims = 3 if is_batched else 2
        if hx[0].dim() != dims or hx[1].dim() != dims:
            kind = f"{'batched' if is_batched else 'unbatched'} {dims}-D"
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {dims}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) "
                f"tensors"
            )
        return hx if is_batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _without_batch(self, hidden: Any) -> Any:
        return hidden[0].squeeze(1), hidden[1].squeeze(1)

    def _operator(self) -> Any:
        return pellucid.lstm

    def _hidden(self, result: tuple[Tensor, ...]) -> Any:
        return result[1], result[2]


class GRU(RNNBase):
    """Gated recurrent unit: h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}, n = tanh(W_in x + b_in + r ⊙ (W_hn h + b_hn)). Cho et al.,
    EMNLP 2014.

    The gates r, z, n stand in this order in the weights; r and z are sigmoids.

    >>> import pellucid as torch
    >>> output, hidden = torch.nn.GRU(10, 20, batch_first=True)(torch.ones(3, 5, 10))
    >>> output.shape, hidden.shape
    (torch.Size([3, 5, 20]), torch.Size([1, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def _operator(self) -> Any:
        return pellucid.gru
