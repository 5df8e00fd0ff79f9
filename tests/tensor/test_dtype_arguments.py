"""What may stand for a dtype (Python's number types do too), and what happens where dtypes meet, against PyTorch."""

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

WITH_PYTHON_TYPES = [
    "lib.zeros(2, dtype=float)", "lib.ones(2, dtype=int)", "lib.empty(2, dtype=bool).dtype",
    "lib.full((2,), 1.0, dtype=int)", "lib.tensor([1], dtype=complex)", "lib.as_tensor([1], dtype=float)",
    "lib.as_tensor(np.ones(1), dtype=int)", "lib.asarray([1], dtype=float, copy=True)",
    "lib.frombuffer(bytearray(8), dtype=int)", "lib.arange(3, dtype=float)", "lib.linspace(0, 1, 2, dtype=float)",
    "lib.eye(2, dtype=int)", "lib.tril_indices(2, 2, dtype=int)", "lib.hann_window(3, dtype=float)",
    "lib.zeros_like(t, dtype=bool)", "lib.full_like(t, 2, dtype=int)", "lib.rand(2, dtype=float).dtype",
    "lib.randint(3, (2,), dtype=float).dtype", "lib.randperm(2, dtype=int).dtype", "t.new_zeros(2, dtype=int)",
    "t.to(float)", "t.to('cpu', int)", "t.to(dtype=bool)", "t.sum(dtype=float)", "t.mean(dtype=float)",
    "t.prod(dtype=float)", "t.cumsum(0, dtype=float)", "lib.softmax(t, 0, dtype=float)", "lib.finfo(float)",
    "lib.nn.Linear(1, 1, dtype=float).weight.dtype", "lib.nn.Linear(1, 1).to(float).weight.dtype",
    "lib.nn.Linear(1, 1).to('cpu', float).weight.dtype",
]  # fmt: skip


@pytest.mark.parametrize("expression", WITH_PYTHON_TYPES)
def test_a_python_number_type_is_a_dtype(expression):
    ours, theirs = (eval(expression, {"lib": lib, "np": np, "t": lib.ones(2)}) for lib in (pellucid, torch))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("kind", [object, str, np.float32, np.dtype("float32"), "float32", 3, []])
def test_nothing_else_is(kind):
    for lib in (pellucid, torch):
        with pytest.raises(TypeError, match=r"argument 'dtype'.* must be torch.dtype, not"):
            lib.zeros(1, dtype=kind)


@pytest.mark.parametrize("value", [np.float64(3), np.float32(3), np.float16(3), np.int64(3), np.uint8(3)])
def test_full_of_a_numpy_number_has_the_dtype_of_a_python_number(value):
    assert repr(pellucid.full((2,), value)) == repr(torch.full((2,), value))


@pytest.mark.parametrize("name", ["float32", "float64", "int32", "int64", "bool", "complex64"])
def test_full_of_a_tensor_has_the_dtype_of_its_number(name):
    ours, theirs = (lib.full((2,), lib.tensor(1, dtype=getattr(lib, name))) for lib in (pellucid, torch))
    assert repr(ours) == repr(theirs)


def test_a_numpy_array_divided_by_a_tensor():
    array = np.array([3.0, 5.0])
    ours, theirs = array / pellucid.tensor([2.0, 4.0]), array / torch.tensor([2.0, 4.0])
    assert repr(ours) == repr(theirs)
    with pytest.raises(TypeError, match="unsupported operand"):
        "a" / pellucid.ones(1)


MIXED = [
    "o(2, 3).double() @ o(3, 2)", "o(2, 3).long() @ o(3, 2)", "o(2, 3).half() @ o(3, 2)", "o(2, 3).cfloat() @ o(3, 2)",
    "lib.mv(o(2, 3).double(), o(3))", "lib.bmm(o(1, 2, 3).long(), o(1, 3, 2))",
    "lib.addmm(o(2), o(2, 3).double(), o(3, 2))", "lib.nn.Linear(3, 2)(o(1, 3).long())",
    "lib.nn.Linear(3, 2)(o(1, 3).double())", "lib.nn.functional.linear([1], o(2, 3), o(2))",
]  # fmt: skip


@pytest.mark.parametrize("expression", MIXED)
def test_a_product_of_mixed_dtypes_is_refused_in_the_same_words(expression):
    def failure(lib):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            eval(expression, {"lib": lib, "o": lib.ones})
        return caught.type, str(caught.value)

    (our_class, ours), (their_class, theirs) = failure(pellucid), failure(torch)
    assert our_class is their_class
    assert ours.startswith(theirs)


def test_the_remedy_for_mixed_dtypes_is_the_wider_one():
    with pytest.raises(RuntimeError, match=r"\.to\(torch\.float32\)"):
        pellucid.nn.Linear(2, 2)(pellucid.ones(1, 2, dtype=pellucid.int64))
