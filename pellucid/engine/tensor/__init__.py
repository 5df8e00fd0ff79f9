"""The Tensor people hold. `tensor.py` has the class; the other files have one `def` per public function, which is also
the method.
"""

from pellucid.engine.tensor.tensor import Tensor

__all__ = ["Tensor"]
