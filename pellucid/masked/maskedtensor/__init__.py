"""Tensors that carry a mask: `MaskedTensor` and the functions that make one."""

from pellucid.masked.maskedtensor.core import MaskedTensor as MaskedTensor
from pellucid.masked.maskedtensor.core import is_masked_tensor as is_masked_tensor
from pellucid.masked.maskedtensor.creation import as_masked_tensor as as_masked_tensor
from pellucid.masked.maskedtensor.creation import masked_tensor as masked_tensor
