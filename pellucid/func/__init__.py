"""Functions of functions: gradients, Jacobians and batches (`grad`, `vjp`, `jvp`, `vmap`, …), which compose."""

from pellucid.func.batching import vmap
from pellucid.func.reverse import grad, grad_and_value, vjp

__all__ = ["grad", "grad_and_value", "vjp", "vmap"]
