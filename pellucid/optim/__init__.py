"""Optimizers, learning-rate schedulers and averaged models; the last load on first use, since they need `nn`."""

import importlib
from typing import Any

from pellucid.optim import lr_scheduler as lr_scheduler
from pellucid.optim._adafactor import Adafactor as Adafactor
from pellucid.optim._muon import Muon as Muon
from pellucid.optim._stateless import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
from pellucid.optim.adadelta import Adadelta as Adadelta
from pellucid.optim.adagrad import Adagrad as Adagrad
from pellucid.optim.adam import Adam as Adam
from pellucid.optim.adamax import Adamax as Adamax
from pellucid.optim.adamw import AdamW as AdamW
from pellucid.optim.asgd import ASGD as ASGD
from pellucid.optim.lbfgs import LBFGS as LBFGS
from pellucid.optim.nadam import NAdam as NAdam
from pellucid.optim.optimizer import Optimizer as Optimizer
from pellucid.optim.radam import RAdam as RAdam
from pellucid.optim.rmsprop import RMSprop as RMSprop
from pellucid.optim.rprop import Rprop as Rprop
from pellucid.optim.sgd import SGD as SGD
from pellucid.optim.sparse_adam import SparseAdam as SparseAdam

__all__ = [
    "Adafactor",
    "Adadelta",
    "Adagrad",
    "Adam",
    "Adamax",
    "AdamW",
    "ASGD",
    "LBFGS",
    "lr_scheduler",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "swap_in_optimizer_params_and_state",
    "swa_utils",
]


def __getattr__(name: str) -> Any:
    if name == "swa_utils":
        return importlib.import_module("pellucid.optim.swa_utils")
    raise AttributeError(f"module 'pellucid.optim' has no attribute {name!r}")
