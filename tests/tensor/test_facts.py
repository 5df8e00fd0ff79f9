"""finfo, iinfo and the questions to tensors, against PyTorch."""

import pytest

import pellucid

torch = pytest.importorskip("torch")

FLOATING = (
    "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu", "complex64", "complex128",
)  # fmt: skip
INTEGER = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")


@pytest.mark.parametrize("name", FLOATING)
def test_finfo(name):
    ours, theirs = pellucid.finfo(getattr(pellucid, name)), torch.finfo(getattr(torch, name))
    assert repr(ours) == repr(theirs)
    for attribute in ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute


@pytest.mark.parametrize("name", INTEGER)
def test_iinfo(name):
    ours, theirs = pellucid.iinfo(getattr(pellucid, name)), torch.iinfo(getattr(torch, name))
    assert repr(ours) == repr(theirs)
    for attribute in ("bits", "dtype", "max", "min"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute


def test_limits_of_the_wrong_kind():
    with pytest.raises(TypeError, match="Use torch.finfo"):
        pellucid.iinfo(pellucid.float32)
    with pytest.raises(TypeError, match="Use torch.iinfo"):
        pellucid.finfo(pellucid.int8)
    with pytest.raises(TypeError, match="not supported by torch.iinfo"):
        pellucid.iinfo(pellucid.bool)
    with pytest.raises(TypeError, match="must be torch.dtype, not int"):
        pellucid.finfo(3)


QUESTIONS = {
    "result_type of numbers": lambda lib: str(lib.result_type(1, 2.0)),
    "result_type with a complex number": lambda lib: str(lib.result_type(lib.ones(2), 1j)),
    "result_type of a zero-dim tensor": lambda lib: str(
        lib.result_type(lib.tensor(1.0, dtype=lib.float64), lib.ones(2))
    ),
    "is_nonzero": lambda lib: lib.is_nonzero(lib.tensor([2.0])),
    "is_nonzero of two": lambda lib: lib.is_nonzero(lib.ones(2)),
    "numel of a number": lambda lib: lib.numel(3),
    "numel": lambda lib: lib.numel(lib.ones(2, 3)),
    "is_same_size": lambda lib: lib.ones(2, 2).is_same_size(lib.ones(4)),
    "typename": lambda lib: lib.typename(lib.ones(2)) + lib.typename(3) + lib.typename(lib.nn.Linear(1, 1)),
    "typename of a dtype": lambda lib: lib.typename(lib.float32),
    "format of a number": lambda lib: f"{lib.tensor(1.5, requires_grad=True) * 2:>10.3f}",
    "format of an integer": lambda lib: f"{lib.tensor(3):5d}",
    "format of a vector": lambda lib: f"{lib.tensor([1.5]):.3f}",
    "format without a specification": lambda lib: f"{lib.tensor([1.5])}",
    "format on meta": lambda lib: f"{lib.ones((), device='meta')}",
    "contains": lambda lib: (
        1 in lib.tensor([1, 2]),
        3 in lib.tensor([1, 2]),
        lib.tensor([1, 2]) in lib.tensor([[1, 2]]),
    ),
    "contains text": lambda lib: "a" in lib.tensor([1]),
    "apply_": lambda lib: lib.tensor([[1.0, 2.0]]).t().apply_(lambda x: x + 1).tolist(),
    "apply_ with a gradient": lambda lib: lib.ones(2, requires_grad=True).apply_(lambda x: x),
    "map_": lambda lib: lib.tensor([1.0, 2.0]).map_(lib.tensor([3.0]), lambda x, y: x * y).tolist(),
    "map_ of another type": lambda lib: lib.ones(2).map_(lib.tensor([1, 2]), lambda x, y: x),
    "map_ with too many dimensions": lambda lib: lib.ones(2).map_(lib.ones(2, 1), lambda x, y: x),
    "map2_": lambda lib: lib.ones(2).map2_(lib.ones(2), lib.ones(2), lambda x, y, z: x + y + z).tolist(),
    "pin_memory": lambda lib: lib.ones(2).pin_memory(),
    "pinned": lambda lib: (lib.ones(2).is_pinned(), lib.ones(2).is_shared(), lib.get_device(lib.ones(1))),
    "lazy conjugation": lambda lib: lib.tensor([1j]).conj().resolve_conj().tolist(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question):
    ask = QUESTIONS[question]
    try:
        expected = ask(torch)
    except Exception as error:
        with pytest.raises(type(error)):
            ask(pellucid)
        return
    assert ask(pellucid) == expected


def test_shared_memory_is_known_as_such():
    assert pellucid.ones(2).share_memory_().is_shared()
