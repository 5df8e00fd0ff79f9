"""Differentiation: `backward` and `grad`, Functions of your own, checks, and the graph's hooks."""

from pellucid.autograd import forward_ad, function, functional, grad_mode, graph
from pellucid.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from pellucid.autograd.function import Function
from pellucid.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from pellucid.autograd.gradcheck import gradcheck, gradgradcheck
from pellucid.autograd.variable import Variable
from pellucid.engine.core.backward import backward
from pellucid.engine.core.backward import grad as _grad
from pellucid.engine.tensor.overrides import overridable

grad = overridable(_grad, "grad", "pellucid.autograd")

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
