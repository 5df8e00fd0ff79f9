"""`torch.linalg`: re-exports of the matrix functions in engine/tensor."""

# ruff: noqa: F401 - re-exports

from pellucid.engine.ops.decompositions import LinAlgError
from pellucid.engine.tensor.contraction import linalg_cross as cross
from pellucid.engine.tensor.contraction import matrix_power, multi_dot, vecdot
from pellucid.engine.tensor.decompositions import (
    cond,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    lstsq,
    matrix_exp,
    matrix_rank,
    pinv,
    qr,
    svd,
    svdvals,
    tensorinv,
    tensorsolve,
)
from pellucid.engine.tensor.decompositions import linalg_diagonal as diagonal
from pellucid.engine.tensor.linalg import matmul
from pellucid.engine.tensor.norms import linalg_norm as norm
from pellucid.engine.tensor.norms import matrix_norm, vector_norm
from pellucid.engine.tensor.publishing import publish
from pellucid.engine.tensor.solvers import (
    cholesky,
    cholesky_ex,
    det,
    inv,
    inv_ex,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
)
from pellucid.engine.tensor.statistics import linalg_vander as vander
from pellucid.engine.tensor.symmetric import ldl_factor, ldl_factor_ex, ldl_solve

publish(globals())
