"""Products, decompositions and solvers."""

from __future__ import annotations

from typing import Any

from ..table import Case, Make, Sample, call, pairs

INEXACT = ("float32", "float64", "complex64")


def products(make: Make) -> list[Sample]:
    return [
        call(make(3, 4), make(4, 2)),
        call(make(4), make(4)),
        call(make(3, 4), make(4)),
        call(make(4), make(4, 2)),
        call(make(2, 3, 4), make(4, 2)),
        call(make(2, 1, 3, 4), make(3, 4, 2)),
        call(make(4), make(2, 4, 3)),
        call(make(2, 3, 4), make(4)),
        call(make(0, 4), make(4, 2)),
        call(make(3, 0), make(0, 2)),
    ]


def square(make: Make) -> list[Sample]:
    return [call(make.invertible(3, 3)), call(make.invertible(2, 3, 3)), call(make.invertible(1, 1))]


def definite(make: Make) -> list[Sample]:
    return [call(make.positive_definite(3, 3)), call(make.positive_definite(2, 3, 3))]


def not_square(make: Make) -> list[Sample]:
    return [call(make(3, 4)), call(make(3))]


def rebuilt_svd(framework: Any, result: Any) -> Any:
    u, s, vh = result
    return [s, (u[..., : s.shape[-1]] * s.unsqueeze(-2).to(u.dtype)) @ vh[..., : s.shape[-1], :]]


def rebuilt_old_svd(framework: Any, result: Any) -> Any:
    u, s, v = result
    return [s, (u * s.unsqueeze(-2).to(u.dtype)) @ v.mH]


def rebuilt_eigh(framework: Any, result: Any) -> Any:
    values, vectors = result
    return [values, (vectors * values.unsqueeze(-2).to(vectors.dtype)) @ vectors.mH]


def rebuilt_eig(framework: Any, result: Any) -> Any:
    values, vectors = result
    return ((vectors * values.unsqueeze(-2)) @ framework.linalg.inv(vectors)).real


def sorted_values(framework: Any, result: Any) -> Any:
    return framework.view_as_real(result).sum(-1).sort(-1)[0]


def rebuilt_qr(framework: Any, result: Any) -> Any:
    q, r = result
    return [q @ r if q.numel() else r.mH @ r, r.mH @ r]


CASES = [
    Case(
        "matmul",
        products,
        nonfinite=False,
        errors=lambda make: [
            call(make(3, 4), make(3, 2)),
            call(make(3), make(4)),
            call(make(), make(2)),
            call(make(2, 2), make(2, 2, dtype="int32")),
        ],
    ),
    Case(
        "mm",
        lambda make: [call(make(3, 4), make(4, 2)), call(make(0, 4), make(4, 2))],
        nonfinite=False,
        errors=lambda make: [call(make(3, 4), make(3, 2)), call(make(3), make(3, 2)), call(make(2, 2, 2), make(2, 2))],
    ),
    Case(
        "bmm",
        lambda make: [call(make(2, 3, 4), make(2, 4, 2))],
        nonfinite=False,
        errors=lambda make: [call(make(2, 3, 4), make(3, 4, 2)), call(make(2, 3), make(3, 2))],
    ),
    Case(
        "mv", lambda make: [call(make(3, 4), make(4))], nonfinite=False, errors=lambda make: [call(make(3, 4), make(3))]
    ),
    *pairs(
        "dot inner vdot",
        lambda make: [call(make(4), make(4)), call(make(0), make(0))],
        nonfinite=False,
        errors=lambda make: [call(make(3), make(4))],
    ),
    Case("inner", lambda make: [call(make(2, 3), make(4, 3)), call(make(2), make())], note="matrices", nonfinite=False),
    *pairs("outer ger", lambda make: [call(make(3), make(2))], errors=lambda make: [call(make(2, 2), make(2))]),
    *pairs(
        "addmm",
        lambda make: [
            call(make(3, 2), make(3, 4), make(4, 2)),
            call(make(2), make(3, 4), make(4, 2), beta=2, alpha=3),
            call(make(3, 1), make(3, 4), make(4, 2), beta=0),
        ],
        nonfinite=False,
        errors=lambda make: [call(make(3), make(3, 4), make(4, 2))],
    ),
    Case(
        "addmv",
        lambda make: [call(make(3), make(3, 4), make(4)), call(make(3), make(3, 4), make(4), beta=2, alpha=3)],
        nonfinite=False,
    ),
    Case(
        "addr",
        lambda make: [call(make(3, 2), make(3), make(2)), call(make(3, 2), make(3), make(2), beta=2, alpha=3)],
        nonfinite=False,
        dtypes=("float32", "float64", "bfloat16", "float16", "int64", "uint8", "complex64"),
    ),
    Case(
        "baddbmm",
        lambda make: [
            call(make(2, 3, 2), make(2, 3, 4), make(2, 4, 2)),
            call(make(1, 2), make(2, 3, 4), make(2, 4, 2), beta=2, alpha=3),
        ],
        nonfinite=False,
    ),
    Case("addbmm", lambda make: [call(make(3, 2), make(2, 3, 4), make(2, 4, 2), beta=2, alpha=3)], nonfinite=False),
    Case("chain_matmul", lambda make: [call(make(2, 3), make(3, 4), make(4, 2))], nonfinite=False),
    Case("linalg.multi_dot", lambda make: [call([make(2, 3), make(3, 4), make(4, 2)])], nonfinite=False),
    Case(
        "tensordot",
        lambda make: [
            call(make(2, 3, 4), make(3, 4, 2), 2),
            call(make(2, 3), make(3, 2), dims=([1], [0])),
            call(make(2, 3), make(2, 3), ([0, 1], [0, 1])),
        ],
        nonfinite=False,
        errors=lambda make: [call(make(2, 3), make(2, 3), 1)],
    ),
    Case(
        "einsum",
        lambda make: [
            call("ij,jk->ik", make(3, 4), make(4, 2)),
            call("bij,bjk->bik", make(2, 3, 4), make(2, 4, 2)),
            call("ii", make(3, 3)),
            call("ii->i", make(3, 3)),
            call("ij->ji", make(2, 3)),
            call("i,j", make(2), make(3)),
            call("...ij,...jk", make(2, 3, 4), make(4, 2)),
            call("ij,ij->", make(2, 3), make(2, 3)),
            call("bnd,hd->bhn", make(2, 3, 4), make(5, 4)),
            call("i,i,i->i", make(3), make(3), make(3)),
            call("ijk->j", make(2, 3, 4)),
        ],
        nonfinite=False,
        errors=lambda make: [call("ij,jk", make(2, 3), make(2, 3)), call("ij", make(2)), call("i->j", make(2))],
    ),
    Case("trace", lambda make: [call(make(3, 3)), call(make(2, 4))], errors=lambda make: [call(make(3))]),
    *pairs("det linalg.det", square, dtypes=INEXACT, nonfinite=False, errors=not_square, tolerance=10),
    *pairs("logdet slogdet linalg.slogdet", definite, dtypes=("float32", "float64"), nonfinite=False, tolerance=10),
    *pairs(
        "inverse linalg.inv",
        square,
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [*not_square(make), call(make.values([[1, 1], [1, 1]]))],
    ),
    *pairs(
        "linalg.solve",
        lambda make: [
            call(make.invertible(3, 3), make(3, 2)),
            call(make.invertible(3, 3), make(3)),
            call(make.invertible(2, 3, 3), make(2, 3, 2)),
            call(make.invertible(3, 3), make(2, 3), left=False),
        ],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [call(make(3, 4), make(3)), call(make(3, 3), make(4, 2))],
    ),
    *pairs(
        "linalg.solve_triangular",
        lambda make: [
            call(make.triangular(3, 3), make(3, 2), upper=False),
            call(make.triangular(3, 3), make(2, 3), upper=False, left=False),
        ],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [call(make(3, 4), make(3, 2), upper=True)],
    ),
    Case(
        "triangular_solve",
        lambda make: [call(make(3, 2), make.triangular(3, 3), upper=False)],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
    ),
    Case("cholesky", definite, dtypes=INEXACT, nonfinite=False, tolerance=10),
    *pairs(
        "linalg.cholesky",
        lambda make: definite(make) + [call(make.positive_definite(3, 3), upper=True)],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [*not_square(make), call(make.values([[1, 0], [0, -1]]))],
    ),
    Case(
        "cholesky_solve",
        lambda make: [call(make(3, 2), make.triangular(3, 3))],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
    ),
    Case("cholesky_inverse", lambda make: [call(make.triangular(3, 3))], dtypes=INEXACT, nonfinite=False, tolerance=10),
    Case(
        "linalg.svd",
        lambda make: [call(make(3, 3)), call(make(4, 2), full_matrices=False), call(make(2, 3, 2))],
        through=rebuilt_svd,
        dtypes=("float32", "float64"),
        nonfinite=False,
        tolerance=10,
    ),
    Case(
        "svd",
        lambda make: [call(make(3, 3)), call(make(4, 2))],
        through=rebuilt_old_svd,
        dtypes=("float32", "float64"),
        nonfinite=False,
        tolerance=10,
    ),
    Case(
        "linalg.svdvals",
        lambda make: [call(make(3, 4)), call(make(2, 3, 3))],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
    ),
    Case(
        "linalg.eigh",
        definite,
        through=rebuilt_eigh,
        symmetric=True,
        dtypes=("float32", "float64"),
        nonfinite=False,
        tolerance=10,
        errors=not_square,
    ),
    Case("linalg.eigvalsh", definite, dtypes=("float32", "float64"), nonfinite=False, tolerance=10, symmetric=True),
    Case(
        "linalg.eig",
        square,
        through=rebuilt_eig,
        dtypes=("float32", "float64"),
        gradients=False,
        nonfinite=False,
        tolerance=10,
    ),
    Case(
        "linalg.eigvals",
        square,
        through=sorted_values,
        dtypes=("float32", "float64"),
        gradients=False,
        nonfinite=False,
        tolerance=10,
    ),
    Case(
        "linalg.qr",
        lambda make: [call(make(3, 3)), call(make(4, 2)), call(make(4, 2), "r")],
        through=rebuilt_qr,
        gradients=False,
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
    ),
    Case("linalg.lu", square, dtypes=INEXACT, nonfinite=False, tolerance=10),
    *pairs("linalg.lu_factor", square, dtypes=INEXACT, nonfinite=False, tolerance=10),
    *pairs(
        "pinverse linalg.pinv",
        lambda make: [call(make(3, 4)), call(make(4, 2)), call(make.invertible(3, 3))],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=100,
    ),
    *pairs(
        "linalg.matrix_rank",
        lambda make: [call(make.invertible(3, 3)), call(make.values([[1, 1], [1, 1]]))],
        gradients=False,
        dtypes=INEXACT,
        nonfinite=False,
    ),
    *pairs(
        "matrix_power linalg.matrix_power",
        lambda make: [call(make.invertible(3, 3), n) for n in (1, 2, 3, -1)],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=100,
    ),
    *pairs("matrix_power linalg.matrix_power", lambda make: [call(make(2, 2), 0)], gradients=False, note="0"),
    *pairs("matrix_exp linalg.matrix_exp", square, dtypes=INEXACT, nonfinite=False, tolerance=100),
    Case(
        "linalg.lstsq",
        lambda make: [call(make(4, 2), make(4, 3))],
        through=lambda framework, result: result[0],
        dtypes=("float32", "float64"),
        gradients=False,
        nonfinite=False,
        tolerance=100,
    ),
    *pairs(
        "linalg.norm",
        lambda make: [
            call(make(3, 4)),
            call(make(3, 4), "fro"),
            call(make(3, 3), "nuc"),
            call(make(3, 4), 1),
            call(make(3, 4), float("inf")),
            call(make(5), 3),
            call(make(3, 4), 2),
            call(make(3, 4), -1),
            call(make(3, 4), 2, dim=1, keepdim=True),
        ],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
    ),
    *pairs(
        "linalg.vector_norm",
        lambda make: [
            call(make(3, 4)),
            call(make(3, 4), 1, 0),
            call(make(3, 4), float("inf"), (0, 1)),
            call(make(3, 4), 0),
            call(make(3, 4), -float("inf"), 1, keepdim=True),
            call(make(4), 2.5),
            call(make.values([0, 0, 0])),
        ],
        dtypes=INEXACT,
        errors=lambda make: [call(make(0), float("inf"))],
    ),
    *pairs(
        "linalg.matrix_norm",
        lambda make: [call(make(3, 4)), call(make(2, 3, 4), 1), call(make(3, 4), "nuc"), call(make(3, 4), 2)],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
    ),
    Case("linalg.cond", square, dtypes=("float32", "float64"), nonfinite=False, tolerance=100),
    Case("linalg.cross", lambda make: [call(make(2, 3), make(2, 3)), call(make(3), make(4, 3))]),
    Case(
        "linalg.vecdot",
        lambda make: [call(make(2, 3), make(2, 3)), call(make(3, 2), make(3, 2), dim=0)],
        nonfinite=False,
    ),
    Case("linalg.diagonal", lambda make: [call(make(2, 3, 4)), call(make(3, 3), offset=1)]),
    Case("linalg.vander", lambda make: [call(make(4)), call(make(3), N=4)]),
    Case("linalg.matmul", products, nonfinite=False),
    Case(
        "linalg.tensorinv",
        lambda make: [call(make.invertible(4, 4), ind=1)],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
    ),
    Case(
        "linalg.tensorsolve",
        lambda make: [call(make.invertible(4, 4), make(4))],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
    ),
    Case(
        "linalg.householder_product",
        lambda make: [call(make(3, 2), make(2))],
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
    ),
    Case("linalg.inv_ex", square, dtypes=INEXACT, nonfinite=False, tolerance=10),
    Case("linalg.cholesky_ex", definite, dtypes=INEXACT, nonfinite=False, tolerance=10),
    Case(
        "cdist",
        lambda make: [
            call(make(3, 4), make(2, 4)),
            call(make(2, 3, 4), make(2, 2, 4), p=1.0),
            call(make(3, 4), make(2, 4), p=float("inf")),
        ],
        dtypes=("float32", "float64"),
        nonfinite=False,
        tolerance=10,
    ),
]
