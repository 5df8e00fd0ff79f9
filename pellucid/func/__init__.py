"""Functions of functions: gradients, Jacobians and batches (`grad`, `vjp`, `jvp`, `vmap`, …), which compose."""

from pellucid.func.batching import vmap
from pellucid.func.forward import jvp, linearize
from pellucid.func.jacobians import hessian, jacfwd, jacrev
from pellucid.func.reverse import grad, grad_and_value, vjp

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap"]
