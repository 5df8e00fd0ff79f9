"""Files of PyTorch before 1.6: sequences of pickles with the data behind them."""

from __future__ import annotations

import io
import pickle
import struct
import tarfile
import warnings

import pytest

import pellucid
from pellucid import serialization

from .hostile import build as hostile

torch = pytest.importorskip("torch")


class Layer(torch.nn.Module):
    """Is saved with its source by PyTorch."""


def test_both_directions():
    stream = io.BytesIO()
    value = {
        "a": torch.arange(6.0).reshape(2, 3).t(),
        "b": torch.ones(2, dtype=torch.bfloat16),
        "n": [1, "x"],
        "e": torch.empty(0),
    }
    torch.save(value, stream, _use_new_zipfile_serialization=False)
    stream.seek(0)
    ours = pellucid.load(stream)
    assert ours["a"].tolist() == value["a"].tolist() and ours["a"].stride() == (1, 3) and ours["n"] == [1, "x"]
    stream = io.BytesIO()
    pellucid.save(ours, stream, _use_new_zipfile_serialization=False)
    stream.seek(0)
    back = torch.load(stream, weights_only=True)
    assert all(torch.equal(back[name], value[name]) for name in "abe")


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_protocols(protocol):
    stream = io.BytesIO()
    torch.save([torch.ones(2)], stream, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    stream.seek(0)
    assert pellucid.load(stream)[0].tolist() == [1, 1]


def test_parts_of_a_storage_share_its_memory():
    """How PyTorch 0.3 wrote views: a storage that is described as a part of another."""
    view = b"(" + hostile.unicode("part") + hostile.number(1) + hostile.number(2) + b"t"
    whole = hostile.tensor(hostile.old_storage())
    part = hostile.tensor(hostile.old_storage(view), size=b"K\x02\x85")
    loaded = pellucid.load(io.BytesIO(hostile.legacy(b"](" + whole + part + b"e")))
    assert loaded[0].tolist() == [1, 2, 3, 4] and loaded[1].tolist() == [2, 3]
    loaded[0]._array[1] = 9
    assert loaded[1].tolist() == [9, 3]


def test_big_endian_machines():
    machine = pickle.dumps({"protocol_version": 1001, "little_endian": False, "type_sizes": {}}, 2)
    little = pickle.dumps(
        {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}, 2
    )
    file = hostile.legacy(
        hostile.tensor(hostile.old_storage()), data=struct.pack("<q", 4) + struct.pack(">4f", 1, 2, 3, 4)
    )
    assert pellucid.load(io.BytesIO(file.replace(little, machine))).tolist() == [1, 2, 3, 4]


def test_a_tar_file_says_what_it_is(tmp_path):
    with tarfile.open(tmp_path / "old.pt", "w") as tar:
        tar.addfile(tarfile.TarInfo("storages"), io.BytesIO())
    for weights_only in (True, False):
        with pytest.raises(RuntimeError, match="tar format of PyTorch before 0.1.11"):
            pellucid.load(tmp_path / "old.pt", weights_only=weights_only)


def test_modules_saved_with_their_source():
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(Layer, stream, _use_new_zipfile_serialization=False)
    stream.seek(0)
    assert pellucid.load(stream, weights_only=False) is Layer
    text = b"Is saved with its source by PyTorch."
    with pytest.warns(serialization.SourceChangeWarning):
        assert pellucid.load(io.BytesIO(stream.getvalue().replace(text, text.swapcase())), weights_only=False) is Layer
    with pytest.raises(pickle.UnpicklingError):
        pellucid.load(io.BytesIO(stream.getvalue()))


def test_python_pickles_are_told_from_checkpoints():
    with pytest.raises(RuntimeError, match="Invalid magic number.*pickle.load"):
        pellucid.load(io.BytesIO(pickle.dumps({"a": 1})))
    with pytest.raises(EOFError, match="Ran out of input"):
        pellucid.load(io.BytesIO())
