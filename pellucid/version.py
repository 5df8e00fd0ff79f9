"""The version of this package, in the one place that states it, and PyTorch's names for what it is built with."""

__version__ = "0.1.0"
cuda: str | None = None
hip: str | None = None
debug: bool = False
