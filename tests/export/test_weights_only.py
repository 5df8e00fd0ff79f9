"""What an untrusted file may contain, how the user widens that, and what the refusals say."""

from __future__ import annotations

import argparse
import collections
import enum
import io
import os
import pickle
import types

import pytest

import pellucid
from pellucid import serialization

torch = pytest.importorskip("torch")


class Point:
    """A plain class with attributes."""

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return isinstance(other, Point) and self.x == other.x


class Stateful(Point):
    def __getstate__(self):
        return {"saved": self.x}

    def __setstate__(self, state):
        self.x = state["saved"]


class Slotted:
    __slots__ = ("a",)


class Colour(enum.Enum):
    RED = 1


def stream_of(value, **how) -> io.BytesIO:
    stream = io.BytesIO()
    pellucid.save(value, stream, **how)
    stream.seek(0)
    return stream


@pytest.fixture(autouse=True)
def no_safe_globals():
    serialization.clear_safe_globals()
    yield
    serialization.clear_safe_globals()


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_refusal_names_the_class_the_place_and_the_ways_out(protocol):
    with pytest.raises(pickle.UnpicklingError) as caught:
        pellucid.load(
            stream_of(
                {"model": {"w": pellucid.ones(2)}, "args": {"deep": [argparse.Namespace(a=1)]}},
                pickle_protocol=protocol,
            )
        )
    text = str(caught.value)
    assert "Weights only load failed" in text and "['args']['deep']" in text
    assert "GLOBAL argparse.Namespace was not an allowed global by default" in text
    assert "add_safe_globals([argparse.Namespace])" in text and "weights_only=False" in text
    assert text.count("\n") <= 3 and len(text) < 700


def test_a_path_is_named(tmp_path):
    pellucid.save(argparse.Namespace(), tmp_path / "config.pt")
    with pytest.raises(pickle.UnpicklingError, match="config.pt"):
        pellucid.load(tmp_path / "config.pt")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("value", [Point(1), Stateful(2), argparse.Namespace(a=[1]), Colour.RED])
def test_declared_classes_are_read(value, protocol):
    kind = type(value)
    with serialization.safe_globals([kind]):
        assert pellucid.load(stream_of([value], pickle_protocol=protocol)) == [value]
    with pytest.raises(pickle.UnpicklingError):
        pellucid.load(stream_of([value], pickle_protocol=protocol))
    serialization.add_safe_globals([(kind, f"{kind.__module__}.{kind.__qualname__}")])
    assert pellucid.load(stream_of([value], pickle_protocol=protocol)) == [value]


def test_slots_and_named_tuples():
    slotted = Slotted()
    slotted.a = 5
    serialization.add_safe_globals([Slotted])
    assert pellucid.load(stream_of(slotted)).a == 5
    with pytest.raises(pickle.UnpicklingError):
        pellucid.load(stream_of(collections.defaultdict(list, {"a": [1]})))


def test_the_list_of_safe_globals():
    serialization.add_safe_globals([Point, Point])
    assert serialization.get_safe_globals() == [Point]
    with serialization.safe_globals([Slotted]):
        assert set(serialization.get_safe_globals()) == {Point, Slotted}
    assert serialization.get_safe_globals() == [Point]
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    with pytest.raises(ValueError, match="Expected tuple of length 2"):
        serialization.add_safe_globals([(Point, "a", "b")])
    with pytest.raises(TypeError, match="Expected second item in tuple to be str"):
        serialization.add_safe_globals([(Point, 5)])


def test_blocked_modules_stay_blocked():
    class Payload:
        def __reduce__(self):
            return os.system, ("exit 1",)

    serialization.add_safe_globals([os.system])
    with pytest.raises(pickle.UnpicklingError, match="posix.system whose module posix is blocked"):
        pellucid.load(stream_of(Payload()))


def test_a_declared_class_opens_no_other_door():
    serialization.add_safe_globals([Point])
    point = Point(types.SimpleNamespace(a=1))
    with pytest.raises(pickle.UnpicklingError, match="types.SimpleNamespace"):
        pellucid.load(stream_of(point))


def test_unsafe_globals_are_listed_without_running_anything(tmp_path):
    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    for protocol in (2, 4):
        stream = stream_of([Payload(), Point(1), pellucid.ones(2), collections.OrderedDict()], pickle_protocol=protocol)
        assert serialization.get_unsafe_globals_in_checkpoint(stream) == [f"{Point.__module__}.Point", "posix.mkdir"]
    assert not (tmp_path / "made").exists()
    serialization.add_safe_globals([Point])
    stream.seek(0)
    assert serialization.get_unsafe_globals_in_checkpoint(stream) == ["posix.mkdir"]
    with pytest.raises(ValueError, match="checkpoint returned by torch.save"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"no archive"))


def test_arguments_that_contradict_each_other():
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        pellucid.load(stream_of(1), weights_only=True, pickle_module=pickle)
    with pytest.warns(UserWarning, match="pickle_load_args only works if"):
        pellucid.load(stream_of(1), fix_imports=True)


def test_environment_variables(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError):
        pellucid.load(stream_of(Point(1)), weights_only=False)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        pellucid.load(stream_of(1))
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"):
        assert pellucid.load(stream_of(Point(1))) == Point(1)


def test_python_2_strings():
    old = b"\x80\x02U\x03abcq\x00U\x01\xe4\x86."
    stream = io.BytesIO()
    from pellucid.engine.export.archive_writer import ArchiveWriter

    writer = ArchiveWriter(stream.write, "archive")
    writer.add("data.pkl", old)
    writer.close()
    stream.seek(0)
    with pytest.warns(UserWarning):
        assert pellucid.load(stream, encoding="latin1") == ("abc", "ä")
    stream.seek(0)
    with pytest.warns(UserWarning):
        assert pellucid.load(stream, encoding="bytes") == (b"abc", b"\xe4")


def test_torchscript_archives_are_not_opened_without_trust():
    scripted = torch.jit.script(torch.nn.Linear(2, 2))
    stream = io.BytesIO()
    torch.jit.save(scripted, stream)
    stream.seek(0)
    with pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with TorchScript archives"):
        pellucid.load(stream)
