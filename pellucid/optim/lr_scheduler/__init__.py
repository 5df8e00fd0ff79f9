"""Learning-rate schedulers, under the names of PyTorch's `torch.optim.lr_scheduler`."""

from pellucid.optim.lr_scheduler.combined import ChainedScheduler as ChainedScheduler
from pellucid.optim.lr_scheduler.combined import SequentialLR as SequentialLR
from pellucid.optim.lr_scheduler.cosine import CosineAnnealingLR as CosineAnnealingLR
from pellucid.optim.lr_scheduler.cosine import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from pellucid.optim.lr_scheduler.cycles import CyclicLR as CyclicLR
from pellucid.optim.lr_scheduler.cycles import OneCycleLR as OneCycleLR
from pellucid.optim.lr_scheduler.factors import ConstantLR as ConstantLR
from pellucid.optim.lr_scheduler.factors import ExponentialLR as ExponentialLR
from pellucid.optim.lr_scheduler.factors import LambdaLR as LambdaLR
from pellucid.optim.lr_scheduler.factors import LinearLR as LinearLR
from pellucid.optim.lr_scheduler.factors import MultiplicativeLR as MultiplicativeLR
from pellucid.optim.lr_scheduler.factors import MultiStepLR as MultiStepLR
from pellucid.optim.lr_scheduler.factors import PolynomialLR as PolynomialLR
from pellucid.optim.lr_scheduler.factors import StepLR as StepLR
from pellucid.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from pellucid.optim.lr_scheduler.scheduler import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from pellucid.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler
from pellucid.optim.lr_scheduler.scheduler import _LRScheduler as _LRScheduler

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "LRScheduler",
    "MultiplicativeLR",
    "MultiStepLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
