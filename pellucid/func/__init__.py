"""Functions of functions: gradients, Jacobians and batches (`grad`, `vjp`, `jvp`, `vmap`, …), which compose."""

from pellucid.func.batching import vmap
from pellucid.func.forward import jvp, linearize
from pellucid.func.inspection import debug_unwrap, functionalize
from pellucid.func.jacobians import hessian, jacfwd, jacrev
from pellucid.func.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from pellucid.func.rearranging import rearrange
from pellucid.func.reverse import grad, grad_and_value, vjp

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
