"""The version of this package, in the one place that states it, and what it was built with (nothing)."""

__version__: str = "0.1.0"
cuda: str | None = None
hip: str | None = None
debug: bool = False
