"""PyTorch's name for the print options; the text of a tensor is made in engine/tensor/printing.py."""

from pellucid.engine.tensor.printing import OPTIONS as PRINT_OPTS
from pellucid.engine.tensor.printing import get_printoptions, printoptions, set_printoptions

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]
