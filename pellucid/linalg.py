"""`torch.linalg`: re-exports of the matrix functions in engine/tensor."""

# ruff: noqa: F401 - re-exports

from pellucid.engine.tensor.contraction import linalg_cross as cross
from pellucid.engine.tensor.contraction import matrix_power, multi_dot, vecdot
from pellucid.engine.tensor.linalg import matmul
from pellucid.engine.tensor.norms import linalg_norm as norm
from pellucid.engine.tensor.norms import matrix_norm, vector_norm
from pellucid.engine.tensor.statistics import linalg_vander as vander
