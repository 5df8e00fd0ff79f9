"""`map_location` in every form, and files from machines with other devices."""

from __future__ import annotations

import io
import warnings
import zipfile

import pytest

import pellucid
from pellucid import serialization
from pellucid.engine.export import devices

torch = pytest.importorskip("torch")


def file_from(*locations: str, zipped: bool = True) -> io.BytesIO:
    """A file with one tensor per location, as a machine with these devices would have written it."""
    remaining = list(locations)
    previous = list(torch.serialization._package_registry)
    torch.serialization.register_package(1, lambda storage: remaining.pop(0), lambda storage, location: None)
    try:
        stream = io.BytesIO()
        torch.save(
            [torch.full((2,), float(i)) for i in range(len(locations))], stream, _use_new_zipfile_serialization=zipped
        )
    finally:
        torch.serialization._package_registry[:] = previous
    stream.seek(0)
    return stream


@pytest.mark.parametrize("zipped", [True, False])
def test_a_cuda_file_comes_to_the_cpu_with_one_warning(zipped):
    with pytest.warns(UserWarning) as caught:
        loaded = pellucid.load(file_from("cuda:1", "cuda:0", "cpu", "cuda:1", zipped=zipped))
    assert [each.tolist() for each in loaded] == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert all(each.device.type == "cpu" for each in loaded) and len(caught) == 1
    text = str(caught[0].message)
    assert (
        text.startswith("3 storages")
        and "2 on 'cuda:1'" in text
        and "1 on 'cuda:0'" in text
        and "map_location='cpu'" in text
    )
    assert caught[0].filename == __file__


@pytest.mark.parametrize("location", ["cuda:0", "cuda", "mps", "xpu:3", "privateuseone", "a device of the future"])
def test_any_device_that_is_not_here_comes_to_the_cpu(location):
    with pytest.warns(UserWarning, match="1 storage of the file came to the CPU"):
        assert pellucid.load(file_from(location))[0].tolist() == [0, 0]


@pytest.mark.parametrize(
    "map_location",
    [
        "cpu",
        b"cpu",
        pellucid.device("cpu"),
        {"cuda:0": "cpu"},
        {"cuda:0": pellucid.device("cpu")},
        lambda storage, location: storage,
        lambda storage, location: storage.cpu(),
    ],
)
def test_what_says_cpu_does_not_warn(map_location):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = pellucid.load(file_from("cuda:0"), map_location=map_location)
    assert loaded[0].tolist() == [0, 0]


def test_functions_get_storage_and_location_and_may_decline():
    seen = []

    def place(storage, location):
        seen.append((storage.nbytes(), storage.device.type, location))

    with pytest.warns(UserWarning, match="cuda:0"):
        assert pellucid.load(file_from("cuda:0", "cpu"), map_location=place)[1].tolist() == [1, 1]
    assert seen == [(8, "cpu", "cuda:0"), (8, "cpu", "cpu")]
    with pytest.raises(TypeError, match="a function must return a storage or None"):
        pellucid.load(file_from("cpu"), map_location=lambda storage, location: 5)


@pytest.mark.parametrize("map_location", ["cuda", "cuda:3", pellucid.device("cuda", 0), {"cpu": "cuda:0"}])
def test_asking_for_a_device_that_is_not_here_is_an_error(map_location):
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        pellucid.load(file_from("cpu"), map_location=map_location)


def test_meta_reads_no_data():
    stream = file_from("cuda:0", "cpu")
    with zipfile.ZipFile(stream) as archive:
        place = archive.getinfo("archive/data/0").header_offset + 64
    damaged = bytearray(stream.getvalue())
    damaged[place + 60 : place + 64] = b"\xff" * 4  # would be noticed if it were read
    for where in ("meta", pellucid.device("meta")):
        loaded = pellucid.load(io.BytesIO(bytes(damaged)), map_location=where)
        assert [(each.device.type, tuple(each.shape)) for each in loaded] == [("meta", (2,))] * 2
    assert pellucid.load(file_from("cpu"), map_location=lambda storage, location: storage)[0].device.type == "cpu"
    assert pellucid.load(file_from("cpu", zipped=False), map_location="meta")[0].device.type == "meta"


def test_registered_devices():
    entries = list(devices._registry)
    try:
        pellucid.serialization.register_package(
            5,
            lambda storage: "toaster" if storage.nbytes() == 12 else None,
            lambda storage, location: storage if location == "toaster" else None,
        )
        stream = io.BytesIO()
        pellucid.save([pellucid.ones(3), pellucid.ones(2)], stream)
        stream.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert pellucid.load(stream)[0].tolist() == [1, 1, 1]
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            assert b"toaster" in archive.read("archive/data.pkl") and b"cpu" in archive.read("archive/data.pkl")
    finally:
        devices._registry[:] = entries


def test_default_restore_location_and_tag():
    storage = pellucid.load(file_storage())
    assert serialization.location_tag(storage) == "cpu"
    assert serialization.default_restore_location(storage, "cpu") is storage
    with pytest.raises(RuntimeError, match="don't know how to restore data location of .* \\(tagged with moon\\)"):
        serialization.default_restore_location(storage, "moon")
    with pytest.raises(RuntimeError, match="CUDA"):
        serialization.validate_cuda_device("cuda:0")


def file_storage() -> io.BytesIO:
    stream = io.BytesIO()
    torch.save(torch.ones(2).untyped_storage(), stream)
    stream.seek(0)
    return stream
