"""Files written here are opened by PyTorch, and PyTorch's here: values, types, views, sharing, flags."""

from __future__ import annotations

import collections
import io
import pathlib
import pickle
import struct
import zipfile

import numpy as np
import pytest

import pellucid
from pellucid import serialization
from pellucid.engine.export.archive_reader import ArchiveReader
from pellucid.engine.export.archive_writer import ArchiveWriter

torch = pytest.importorskip("torch")

DTYPES = [
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "complex64",
    "complex128",
]
ZIP = [True, False]


def there(value, zipped=True, **how):
    """What PyTorch makes of a file that we wrote."""
    stream = io.BytesIO()
    pellucid.save(value, stream, _use_new_zipfile_serialization=zipped)
    stream.seek(0)
    return torch.load(stream, **{"weights_only": True, **how})


def here(value, zipped=True, protocol=2, **how):
    """What we make of a file that PyTorch wrote."""
    stream = io.BytesIO()
    torch.save(value, stream, _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
    stream.seek(0)
    return pellucid.load(stream, **how)


def same(ours, theirs):
    assert type(ours) is pellucid.Tensor
    assert str(ours.dtype) == str(theirs.dtype) and tuple(ours.shape) == tuple(theirs.shape)
    assert tuple(ours.stride()) == tuple(theirs.stride()) and ours.storage_offset() == theirs.storage_offset()
    assert ours.requires_grad == theirs.requires_grad
    if theirs.numel():
        raw = theirs.detach().contiguous().reshape(-1).view(torch.uint8)
        assert np.ascontiguousarray(ours._array).tobytes() == raw.numpy().tobytes()


@pytest.mark.parametrize("zipped", ZIP)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_both_ways(dtype, zipped):
    source = torch.randint(0, 255, (6, 16), dtype=torch.uint8) % (2 if dtype == "bool" else 255)
    theirs = source.view(getattr(torch, dtype))
    ours = here(theirs, zipped)
    same(ours, theirs)
    back = there(ours, zipped)
    assert back.dtype == theirs.dtype and torch.equal(back.view(torch.uint8), source)


@pytest.mark.parametrize("zipped", ZIP)
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[1:, ::2],
        lambda x: x[2, 3],
        lambda x: x.expand(3, 4, 6),
        lambda x: x[:0],
        lambda x: x[1:1].t(),
        lambda x: x.as_strided((2, 2), (1, 1), 5),
        lambda x: x.unsqueeze(0).transpose(0, 2),
        lambda x: x.diagonal(),
    ],
    ids=[
        "transposed",
        "stepped",
        "scalar",
        "expanded",
        "empty",
        "empty transposed",
        "overlapping",
        "moved",
        "diagonal",
    ],
)
def test_views_keep_strides_and_offset(view, zipped):
    theirs = view(torch.arange(24.0).reshape(4, 6))
    ours = here(theirs, zipped)
    same(ours, theirs)
    back = there(ours, zipped)
    assert (
        torch.equal(back, theirs)
        and back.stride() == theirs.stride()
        and back.storage_offset() == theirs.storage_offset()
    )


@pytest.mark.parametrize("zipped", ZIP)
def test_shared_storage_is_written_once_and_shared_again(zipped):
    base = torch.arange(1000.0)
    ours = here({"whole": base, "part": base[10:20], "again": base}, zipped)
    assert ours["whole"] is ours["again"] and ours["part"]._storage is ours["whole"]._storage
    ours["whole"]._array[12] = -1.0
    assert ours["part"].tolist()[2] == -1.0
    stream = io.BytesIO()
    pellucid.save(ours, stream, _use_new_zipfile_serialization=zipped)
    assert len(stream.getvalue()) < 2 * 4000, "the storage was written more than once"
    back = there(ours, zipped)
    assert back["part"].untyped_storage().data_ptr() == back["whole"].untyped_storage().data_ptr()
    back["whole"][13] = 7
    assert back["part"][3] == 7


def test_a_small_view_carries_its_whole_storage_as_in_pytorch():
    ours = here(torch.arange(1000.0)[:2])
    assert ours._storage.nbytes == 4000 and there(ours).untyped_storage().nbytes() == 4000


@pytest.mark.parametrize("zipped", ZIP)
def test_gradient_flag_and_parameters(zipped):
    leaf = torch.ones(3, requires_grad=True)
    theirs = {
        "leaf": leaf,
        "made": leaf * 2,
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "frozen": torch.nn.Parameter(torch.ones(2), False),
    }
    ours = here(theirs, zipped)
    assert [ours[name].requires_grad for name in theirs] == [True, True, True, False]
    assert type(ours["parameter"]) is type(ours["frozen"]) is pellucid.nn.Parameter
    assert ours["made"].is_leaf
    back = there(ours, zipped)
    assert type(back["parameter"]) is torch.nn.Parameter and [back[name].requires_grad for name in theirs] == [
        True,
        True,
        True,
        False,
    ]


def test_attributes_of_tensors_and_parameters():
    theirs = {"tensor": torch.ones(2), "parameter": torch.nn.Parameter(torch.ones(2))}
    theirs["tensor"].note, theirs["parameter"].note = "a", ["b", 1]
    ours = here(theirs)
    assert (ours["tensor"].note, ours["parameter"].note) == ("a", ["b", 1])
    back = there(ours)
    assert (back["tensor"].note, back["parameter"].note) == ("a", ["b", 1])


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_plain_values_and_every_protocol(protocol):
    values = {
        "none": None,
        "numbers": [1, -1, 255, 65536, 2**31, 2**70, -(2**70), 1.5, float("inf"), True, False, 1 + 2j],
        "text": "äöü\n\ud800",
        "bytes": b"\0\xff",
        "array": bytearray(b"xy"),
        "tuple": (1, (2, (3, (4, 5, 6, 7)))),
        "set": {1, "a"},
        "frozen": frozenset([1]),
        "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
        "counter": collections.Counter("aab"),
        (1, "key"): {3: 4},
    }
    for _ in range(2):
        assert here(values, protocol=protocol) == values
    stream = io.BytesIO()
    pellucid.save(values, stream, pickle_protocol=protocol)
    stream.seek(0)
    assert torch.load(stream, weights_only=False) == values
    stream.seek(0)
    assert pellucid.load(stream) == values


def test_torch_values_have_torch_names():
    values = {
        "dtype": torch.bfloat16,
        "size": torch.Size([1, 2]),
        "device": torch.device("cuda", 1),
        "layout": torch.strided,
    }
    ours = here(values)
    assert (
        ours["dtype"] is pellucid.bfloat16
        and type(ours["size"]) is pellucid.Size
        and ours["device"] == pellucid.device("cuda:1")
    )
    assert ours["layout"] is pellucid.strided
    assert there(ours) == values


def test_numpy_values_are_read_safely():
    values = {
        "scalar": np.float64(2.5),
        "array": np.arange(6, dtype=np.int16).reshape(2, 3).T,
        "big": np.arange(3, dtype=">f4"),
        "text": np.array(["ab", "c"]),
    }
    for protocol in (2, 4, 5):
        ours = here(values, protocol=protocol)
        assert ours["scalar"] == 2.5 and type(ours["scalar"]) is np.float64
        for name in ("array", "big", "text"):
            assert np.array_equal(ours[name], values[name])


def test_conjugate_and_negative_views_are_computed():
    complex_tensor = torch.tensor([1 + 2j, 3 - 1j])
    assert here(complex_tensor.conj()).tolist() == complex_tensor.conj().tolist()
    assert here(complex_tensor.conj().imag).tolist() == complex_tensor.conj().imag.tolist()


def test_meta_tensors_have_no_data():
    ours = here(torch.empty(2, 3, device="meta"))
    assert ours.device.type == "meta" and tuple(ours.shape) == (2, 3)
    assert there(ours).device.type == "meta"


def test_an_optimizer_state_dict_of_pytorch():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    ours = here({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    assert list(ours["model"]) == ["weight", "bias"] and ours["model"]._metadata == model.state_dict()._metadata
    same(ours["optimizer"]["state"][0]["exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"])
    back = there(ours)
    optimizer.load_state_dict(back["optimizer"])
    model.load_state_dict(back["model"])


@pytest.mark.parametrize("zipped", ZIP)
def test_storages_by_themselves(zipped):
    ours = here(torch.arange(4.0).untyped_storage(), zipped)
    assert ours.nbytes() == 16 or len(ours) == 16
    assert bytes(there(ours, zipped).untyped()) == bytes(torch.arange(4.0).untyped_storage())


def test_one_storage_of_two_types_is_refused_as_in_pytorch():
    ours = here(torch.arange(4.0))
    other = pellucid.engine.core.data.from_storage(ours._storage, pellucid.int32, 0, (4,), (1,))
    with pytest.raises(
        RuntimeError, match="Cannot save multiple tensors or storages that view the same data as different types"
    ):
        pellucid.save([ours, other], io.BytesIO())


# -- containers -----------------------------------------------------------------------------------------------------


def test_the_container_is_pytorchs_byte_for_byte():
    stream = io.BytesIO()
    torch.save({"a": torch.arange(10.0), "e": torch.empty(0), "u": torch.ones(3, dtype=torch.uint16)}, stream)
    stream.seek(0)
    reader = ArchiveReader(stream)
    copy = io.BytesIO()
    writer = ArchiveWriter(copy.write, reader.root)
    for name in reader.names():
        if name not in ("version", ".data/serialization_id"):
            writer.add(name, reader.read_array(name))
    writer.close()
    identity = reader.record(".data/serialization_id")
    end = identity.start + identity.size + 16
    assert copy.getvalue()[: identity.start] == stream.getvalue()[: identity.start]
    assert len(copy.getvalue()) == len(stream.getvalue()) and copy.getvalue()[end:-400] == stream.getvalue()[end:-400]


def test_the_pickle_has_pytorchs_opcodes(tmp_path):
    theirs = {"w": torch.ones(2), "d": torch.float16, "n": [1, 2.5, "x"]}
    torch.save(theirs, tmp_path / "model.pt")
    pellucid.save(here(theirs), tmp_path / "ours.pt")
    with zipfile.ZipFile(tmp_path / "model.pt") as first, zipfile.ZipFile(tmp_path / "ours.pt") as second:
        assert second.testzip() is None
        assert first.read("model/data.pkl") == second.read("ours/data.pkl")
        assert [name.partition("/")[2] for name in first.namelist()] == [
            name.partition("/")[2] for name in second.namelist()
        ]
        assert second.read("ours/version") == b"3\n" and second.read("ours/byteorder") == b"little"


def test_data_is_aligned():
    stream = io.BytesIO()
    pellucid.save([pellucid.ones(size) for size in (1, 3, 70, 0, 5)], stream)
    reader = ArchiveReader(io.BytesIO(stream.getvalue()))
    assert all(reader.record(name).start % 64 == 0 for name in reader.names())


def test_sizes_of_more_than_32_bits(monkeypatch):
    """The zip64 fields, with the limit lowered so that four kilobytes count as large."""
    monkeypatch.setattr("pellucid.engine.export.archive_writer.LIMIT32", 4000)
    monkeypatch.setattr("pellucid.engine.export.archive_reader.LIMIT32", 4000)
    stream = io.BytesIO()
    writer = ArchiveWriter(stream.write, "archive")
    for name, size in (("a", 10), ("b", 5000), ("c", 10)):
        writer.add(name, bytes(range(10)) * (size // 10))
    writer.close()
    stream.seek(0)
    reader = ArchiveReader(stream)
    assert reader.read("b") == bytes(range(10)) * 500 and reader.read("c") == bytes(range(10))
    assert all(reader.record(name).start % 64 == 0 for name in reader.names())


def test_a_recompressed_archive_is_read(tmp_path):
    torch.save(torch.arange(100), tmp_path / "model.pt")
    with (
        zipfile.ZipFile(tmp_path / "model.pt") as source,
        zipfile.ZipFile(tmp_path / "small.pt", "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            target.writestr(name, source.read(name))
    assert pellucid.load(tmp_path / "small.pt").tolist() == list(range(100))
    with pytest.raises(RuntimeError, match="compressed"):
        pellucid.load(tmp_path / "small.pt", mmap=True)


def test_big_endian_files_are_swapped():
    stream = io.BytesIO()
    torch.save({"f": torch.arange(4.0), "c": torch.tensor([1 + 2j])}, stream, _disable_byteorder_record=True)
    stream.seek(0)
    reader = ArchiveReader(stream)
    swapped = io.BytesIO()
    writer = ArchiveWriter(swapped.write, "archive")
    for name in reader.names():
        if name.startswith("data"):
            raw = reader.read(name)
            writer.add(
                name,
                struct.pack(f">{len(raw) // 4}f", *struct.unpack(f"<{len(raw) // 4}f", raw))
                if name != "data.pkl"
                else raw,
            )
    writer.close()
    swapped.seek(0)
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        ours = pellucid.load(swapped)
    finally:
        serialization.set_default_load_endianness(None)
    assert ours["f"].tolist() == [0, 1, 2, 3] and ours["c"].tolist() == [1 + 2j]


def test_checksums_can_be_left_out_as_in_pytorch():
    for owner, other in ((pellucid, torch), (torch, pellucid)):
        owner.serialization.set_crc32_options(False)
        try:
            stream = io.BytesIO()
            owner.save(owner.ones(3), stream)
        finally:
            owner.serialization.set_crc32_options(True)
        for reader in (owner, other):
            stream.seek(0)
            assert reader.load(stream).tolist() == [1, 1, 1]


def test_damage_names_the_record(tmp_path):
    pellucid.save({"w": pellucid.ones(64)}, tmp_path / "model.pt")
    content = bytearray((tmp_path / "model.pt").read_bytes())
    with open(tmp_path / "model.pt", "rb") as stream:
        place = ArchiveReader(stream).record("data/0").start
    content[place + 3] ^= 1
    (tmp_path / "model.pt").write_bytes(content)
    with pytest.raises(RuntimeError, match="model/data/0.*CRC-32"):
        pellucid.load(tmp_path / "model.pt")


# -- paths and streams ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_paths(tmp_path, kind):
    path = kind(tmp_path / "über uns.pt")
    pellucid.save([pellucid.ones(2)], path)
    assert torch.load(path)[0].tolist() == [1, 1] and pellucid.load(path)[0].tolist() == [1, 1]


def test_file_objects(tmp_path):
    with open(tmp_path / "file", "wb") as stream:
        pellucid.save(pellucid.ones(2), stream)
        assert not stream.closed
    with open(tmp_path / "file", "rb") as stream:
        assert pellucid.load(stream).tolist() == [1, 1] and not stream.closed
    with open(tmp_path / "file", "rb", buffering=0) as stream:
        assert pellucid.load(stream).tolist() == [1, 1]


def test_an_archive_may_start_inside_a_stream():
    stream = io.BytesIO(b"0123456789")
    stream.seek(10)
    pellucid.save(pellucid.ones(2), stream)
    stream.seek(10)
    assert pellucid.load(stream).tolist() == [1, 1]
    stream.seek(10)
    assert torch.load(stream).tolist() == [1, 1]


def test_older_files_may_follow_one_another():
    stream = io.BytesIO()
    for value in range(3):
        torch.save([torch.full((2,), value), value], stream, _use_new_zipfile_serialization=False)
    stream.seek(0)
    assert [pellucid.load(stream)[1] for _ in range(3)] == [0, 1, 2]


def test_errors_of_paths_and_streams(tmp_path):
    with pytest.raises(AttributeError, match="a 'write' attribute"):
        pellucid.save(1, 5)
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        pellucid.save(1, tmp_path / "no" / "x.pt")
    with pytest.raises(RuntimeError, match="directory"):
        pellucid.save(1, tmp_path)
    with pytest.raises(FileNotFoundError):
        pellucid.load(tmp_path / "none.pt")

    class Unseekable:
        def read(self, count):
            return b""

    with pytest.raises(AttributeError, match="You can only torch.load from a file that is seekable"):
        pellucid.load(Unseekable())


# -- mmap and skipped data ------------------------------------------------------------------------------------------


def test_mmap_reads_what_is_used_and_writes_nothing(tmp_path):
    path = tmp_path / "model.pt"
    torch.save(
        {"w": torch.arange(1000.0), "b": torch.ones(3, dtype=torch.bfloat16), "v": torch.arange(1000.0)[5:]}, path
    )
    before = path.read_bytes()
    ours = pellucid.load(path, mmap=True)
    base = ours["w"]._storage.buffer
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert ours["w"].tolist() == list(range(1000)) and ours["b"].tolist() == [1, 1, 1] and ours["v"].tolist()[0] == 5
    ours["w"]._array[0] = 9.0
    assert path.read_bytes() == before


def test_shared_mmap_writes_to_the_file(tmp_path):
    path = tmp_path / "model.pt"
    pellucid.save(pellucid.ones(4), path)
    with serialization.set_default_mmap_options(serialization.MAP_SHARED):
        ours = pellucid.load(path, mmap=True)
        ours._array[1] = 5.0
        assert serialization.get_default_mmap_options() == serialization.MAP_SHARED
    assert serialization.get_default_mmap_options() == serialization.MAP_PRIVATE
    assert pellucid.load(path, mmap=True).tolist() == [1, 5, 1, 1]


def test_mmap_needs_a_path_and_an_archive(tmp_path):
    archive = io.BytesIO()
    torch.save(torch.ones(2), archive)
    archive.seek(0)
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        pellucid.load(archive, mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        pellucid.load(io.BytesIO(), mmap=True)
    torch.save(torch.ones(2), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        pellucid.load(tmp_path / "old.pt", mmap=True)


def test_skipped_data():
    stream = io.BytesIO()
    with serialization.skip_data():
        pellucid.save(pellucid.ones(2000), stream)
    stream.seek(0)
    assert torch.load(stream).tolist() == [0] * 2000
    stream = io.BytesIO()
    pellucid.save(pellucid.ones(3), stream)
    with serialization.skip_data():
        stream.seek(0)
        assert tuple(pellucid.load(stream).shape) == (3,)
        with pytest.raises(RuntimeError, match="skip_data"):
            pellucid.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)


# -- trusted files --------------------------------------------------------------------------------------------------


class Configuration:
    def __init__(self, width):
        self.width = width
        self.weight = pellucid.ones(width)


@pytest.mark.parametrize("zipped", ZIP)
def test_objects_of_the_program(zipped):
    stream = io.BytesIO()
    pellucid.save(Configuration(3), stream, _use_new_zipfile_serialization=zipped)
    stream.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Configuration"):
        pellucid.load(stream)
    stream.seek(0)
    loaded = pellucid.load(stream, weights_only=False)
    assert loaded.width == 3 and loaded.weight.tolist() == [1, 1, 1]
    stream.seek(0)
    assert pellucid.load(stream, weights_only=False, pickle_module=pickle).width == 3


@pytest.mark.parametrize("zipped", ZIP)
def test_a_whole_module_goes_both_ways(zipped):
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Dropout(0.2))
    ours = here(theirs, zipped, weights_only=False)
    assert type(ours) is pellucid.nn.Sequential and type(ours[0]) is pellucid.nn.Linear and ours[2].p == 0.2
    same(ours[0].weight.detach(), theirs[0].weight.detach())
    back = there(ours, zipped, weights_only=False)
    assert type(back) is torch.nn.Sequential
    assert torch.equal(back(torch.ones(1, 3)).isfinite(), torch.ones(1, 2, dtype=torch.bool))


def test_functions_have_pytorchs_names():
    stream = io.BytesIO()
    pellucid.save([pellucid.nn.functional.relu, pellucid.nn.ReLU], stream)
    stream.seek(0)
    assert torch.load(stream, weights_only=False) == [torch.nn.functional.relu, torch.nn.ReLU]
    assert here([torch.relu, torch.nn.functional.gelu], weights_only=False) == [
        pellucid.relu,
        pellucid.nn.functional.gelu,
    ]


def test_what_cannot_be_pickled_is_an_error_and_no_file(tmp_path):
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        pellucid.save({"a": lambda: None}, tmp_path / "x.pt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("zipped", ZIP)
@pytest.mark.parametrize("pure", [True, False], ids=["Python", "C"])
def test_other_pickle_modules(pure, zipped):
    class Other:
        __name__ = "other"
        Pickler = pickle._Pickler if pure else pickle.Pickler
        Unpickler = pickle._Unpickler if pure else pickle.Unpickler
        dump, dumps, load, loads = pickle.dump, pickle.dumps, pickle.load, pickle.loads

    base = pellucid.ones(3)
    stream = io.BytesIO()
    pellucid.save(
        [base, base[1:], Configuration(2)], stream, pickle_module=Other, _use_new_zipfile_serialization=zipped
    )
    assert len(stream.getvalue()) < 4000
    stream.seek(0)
    loaded = pellucid.load(stream, pickle_module=Other, weights_only=False)
    assert loaded[0]._storage is loaded[1]._storage and loaded[1].tolist() == [1, 1] and loaded[2].width == 2
