"""default_collate and default_convert against PyTorch's, by kind of sample; messages that name samples."""

from collections import OrderedDict, UserDict, UserList, defaultdict, namedtuple
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

import pellucid
from pellucid.utils import data as ours
from pellucid.utils.data._utils.collate import collate, collating, default_collate_fn_map

torch = pytest.importorskip("torch")
from torch.utils import data as theirs  # noqa: E402

Point = namedtuple("Point", ["x", "y"])


@dataclass
class Record:
    x: int


def described(value):
    """A batch as plain data that compares across frameworks: tensors by type, dtype and numbers."""
    if isinstance(value, (pellucid.Tensor, torch.Tensor)):
        return "tensor", str(value.dtype).split(".")[-1], tuple(value.shape), value.tolist()
    if isinstance(value, (dict, UserDict, MappingProxyType)):
        return type(value).__name__, {key: described(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    if isinstance(value, (list, tuple, UserList)):
        return type(value).__name__, [described(item) for item in value]
    return type(value).__name__, value


BATCHES = {
    "ints": [1, 2, 3],
    "bools": [True, False],
    "floats": [1.5, 2.5],
    "int_then_float": [1, 2.5],
    "strings": ["a", "b"],
    "bytes": [b"a", b"b"],
    "float32_scalars": [np.float32(1), np.float32(2)],
    "float64_scalars": [np.float64(1), np.float64(2)],
    "int8_scalars": [np.int8(1), np.int8(2)],
    "bool_scalars": [np.bool_(True), np.bool_(False)],
    "arrays": [np.arange(3.0), np.ones(3)],
    "strided_arrays": [np.arange(6.0)[::2], np.ones(3)],
    "arrays_of_two_dtypes": [np.zeros(2, np.float32), np.zeros(2, np.float64)],
    "zero_dim_arrays": [np.array(1), np.array(2)],
    "empty_arrays": [np.zeros((0, 2)), np.zeros((0, 2))],
    "tuples": [(1, "a"), (2, "b")],
    "lists": [[1, 2], [3, 4]],
    "empty_tuples": [(), ()],
    "namedtuples": [Point(1, 2.0), Point(3, 4.0)],
    "dicts": [{"x": 1, "y": [1.0]}, {"x": 2, "y": [2.0], "more": 3}],
    "ordered": [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)],
    "defaultdict": [defaultdict(int, a=1), defaultdict(int, a=2)],
    "userdict": [UserDict(a=1), UserDict(a=2)],
    "proxy": [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
    "userlist": [UserList([1, 2]), UserList([3, 4])],
    "ranges": [range(2), range(2, 4)],
    "nested": [{"p": Point((1,), [{"z": 2}])}, {"p": Point((3,), [{"z": 4}])}],
    "one": [5],
}


@pytest.mark.parametrize("name", BATCHES)
def test_collate_gives_pytorchs_batch(name):
    assert described(ours.default_collate(BATCHES[name])) == described(theirs.default_collate(BATCHES[name]))


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16", "float16", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_collate_stacks_tensors(kind, shape):
    batches = []
    for framework, module in ((pellucid, ours), (torch, theirs)):
        samples = [framework.ones(shape, dtype=getattr(framework, kind)) for _ in range(3)]
        batches.append(described(module.default_collate(samples)))
    assert batches[0] == batches[1]


def test_collate_promotes_and_takes_strided_tensors():
    mixed = ours.default_collate([pellucid.zeros(2), pellucid.ones(2, dtype=pellucid.int64)])
    assert mixed.dtype == pellucid.float32
    turned = ours.default_collate([pellucid.arange(6).reshape(2, 3).t()] * 2)
    assert turned.tolist() == [[[0, 3], [1, 4], [2, 5]]] * 2


@pytest.mark.parametrize(
    "batch",
    [
        [None],
        [object()],
        [1j],
        [Record(1)],
        [np.array(["a"])],
        [np.array([None])],
        [{"x": 1}, {"y": 2}],
        [[1, 2], [1]],
        [np.zeros(2), np.zeros(3)],
        [(1, 2), 3],
        [np.datetime64("2020")],
        [],
    ],
)
def test_refusals_are_pytorchs(batch):
    with pytest.raises(Exception) as reference:  # noqa: B017, PT011 - the class is what is compared
        theirs.default_collate(batch)
    with pytest.raises(type(reference.value)) as mine:
        ours.default_collate(batch)
    if not isinstance(reference.value, KeyError):
        assert str(mine.value).replace(" at entry 1", "").startswith(str(reference.value).split(" at entry 1")[0])


def test_messages_name_field_sample_and_shapes():
    with collating([40, 41, 42]):
        with pytest.raises(RuntimeError) as caught:
            ours.default_collate([{"a": [pellucid.zeros(n)]} for n in (2, 2, 3)])
        assert str(caught.value).startswith(
            "stack expects each tensor to be equal size, but got [2] at entry 0 (sample index 40) and [3] at entry 2 "
            "(sample index 42) in field ['a'][0]"
        )
        with pytest.raises(
            RuntimeError, match=r"2 items at entry 0 \(sample index 40\) and 1 at entry 1 \(sample index"
        ):
            ours.default_collate([[1, 2], [1], [2]])
        with pytest.raises(KeyError, match=r"'x': entry 1 \(sample index 41\) has the keys \['y'\], entry 0"):
            ours.default_collate([{"x": 1}, {"y": 2}])
        with pytest.raises(TypeError, match=r"found <class 'NoneType'> in field \.x"):
            ours.default_collate([Point(None, 1)])
    with pytest.raises(TypeError, match="found <class 'NoneType'>$"):
        ours.default_collate([None])


CONVERTED = {
    "number": 1,
    "array": np.arange(3),
    "scalar": np.float32(2),
    "strings": np.array(["a"]),
    "string_scalar": np.str_("a"),
    "tuple": (np.arange(2), "a"),
    "namedtuple": Point(np.array(1), 2),
    "list": [np.arange(2), [np.ones(1)]],
    "dict": {"a": np.arange(2), "b": "c"},
    "proxy": MappingProxyType({"a": np.arange(2)}),
    "range": range(3),
    "bytes": b"abc",
    "none": None,
}


@pytest.mark.parametrize("name", CONVERTED)
def test_convert_gives_pytorchs_data(name):
    assert described(ours.default_convert(CONVERTED[name])) == described(theirs.default_convert(CONVERTED[name]))


def test_table_can_be_extended():
    def join(batch, *, collate_fn_map=None):
        return "+".join(str(item.x) for item in batch)

    assert collate([Record(1), Record(2)], collate_fn_map={Record: join}) == "1+2"
    default_collate_fn_map[Record] = join
    try:
        assert ours.default_collate([{"r": Record(1)}, {"r": Record(2)}]) == {"r": "1+2"}
    finally:
        del default_collate_fn_map[Record]


def test_collate_does_not_change_its_samples():
    samples = [[1, 2], [3, 4]]
    ours.default_collate(samples)
    assert samples == [[1, 2], [3, 4]]
