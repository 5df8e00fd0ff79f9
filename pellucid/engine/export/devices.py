"""Where the storages of a file go: `map_location` in all its forms, and the registry of devices that files may name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pellucid.engine.core.device import device
from pellucid.engine.export import tensors
from pellucid.engine.export.tensors import StoredBytes

_ACCELERATORS = ("cuda", "mps", "xpu", "hpu", "mtia", "privateuseone", "xla", "hip", "ipu", "vulkan")


class DeviceUnavailableError(RuntimeError):
    """A file wants a device that this machine, or Pellucid, does not have."""


Tagger = Callable[[Any], Any]
Deserializer = Callable[[Any, str], Any]
_registry: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Teach `save` and `load` a device: `tagger(storage)` names it, `deserializer(storage, name)` puts a storage there.

    Both return None for what is not theirs; a lower `priority` is asked first (cpu has 10).
    """
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def _cpu_tag(storage: Any) -> str | None:
    return "cpu" if storage.device.type == "cpu" else None


def _cpu_deserialize(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _meta_tag(storage: Any) -> str | None:
    return "meta" if storage.device.type == "meta" else None


def _meta_deserialize(storage: Any, location: str) -> Any:
    return tensors.on_meta(storage) if location == "meta" else None


def _accelerator_tag(storage: Any) -> str | None:
    return str(storage.device) if storage.device.type in _ACCELERATORS else None


def _accelerator_deserialize(storage: Any, location: str) -> Any:
    kind = re.match(r"[a-z]*", location)
    if kind is None or kind[0] not in _ACCELERATORS:
        return None
    raise DeviceUnavailableError(
        f"Attempting to deserialize object on a {kind[0].upper()} device but torch.{kind[0]}.is_available() is False. "
        "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') "
        "to map your "
        "storages to the CPU."
    )


register_package(10, _cpu_tag, _cpu_deserialize)
register_package(20, _accelerator_tag, _accelerator_deserialize)
register_package(22, _meta_tag, _meta_deserialize)


def location_tag(storage: Any) -> str:
    """The name under which a file records where `storage` is, such as `cpu`."""
    for _, tagger, _ in _registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(
        f"don't know how to determine data location of {type(storage).__name__}; register_package() teaches a device"
    )


def default_restore_location(storage: Any, location: str) -> Any:
    """`storage`, moved to the device that a file calls `location`; RuntimeError where there is none."""
    for _, _, deserializer in _registry:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise DeviceUnavailableError(
        f"don't know how to restore data location of {type(storage).__name__} (tagged with {location:.80}); "
        "pass map_location='cpu' to load it to the CPU"
    )


def validate_cuda_device(location: Any) -> int:
    """The index of a CUDA device; RuntimeError, as there are none."""
    _accelerator_deserialize(None, "cuda")
    return 0


def validate_hpu_device(location: Any) -> int:
    """The index of an HPU device; RuntimeError, as there are none."""
    _accelerator_deserialize(None, "hpu")
    return 0


class Placement:
    """`map_location` as a function, and a count of the storages that came to the CPU because their device is not
    here.
    """

    def __init__(self, map_location: Any) -> None:
        if isinstance(map_location, bytes):
            map_location = map_location.decode()
        self._map = map_location
        self._fallbacks: dict[str, int] = {}

    def restore(self, source: StoredBytes, location: str) -> StoredBytes:
        """A storage that was read to the CPU, moved to where it belongs."""
        chosen = self._map
        if chosen is None:
            return self._where_saved(source, location)
        if isinstance(chosen, (str, device)):
            return self._moved(source, str(chosen))
        if isinstance(chosen, dict):
            mapped = chosen.get(location, chosen.get(_as_device(location)))
            return self._where_saved(source, location) if mapped is None else self._moved(source, str(mapped))
        result = chosen(tensors.public_storage(source), location)
        return self._where_saved(source, location) if result is None else tensors.required_stored(result, source)

    def _moved(self, source: StoredBytes, location: str) -> StoredBytes:
        return tensors.required_stored(default_restore_location(tensors.public_storage(source), location), source)

    def _where_saved(self, source: StoredBytes, location: str) -> StoredBytes:
        """The device that the file names, or the CPU where that is not here."""
        try:
            return self._moved(source, location)
        except DeviceUnavailableError:
            self._fallbacks[location[:80]] = self._fallbacks.get(location[:80], 0) + 1
            return source

    def fallback_message(self) -> str | None:
        """What to warn of, once a file is read; None where every storage found its device."""
        if not self._fallbacks:
            return None
        total = sum(self._fallbacks.values())
        where = ", ".join(f"{count} on {location!r}" for location, count in list(self._fallbacks.items())[:8])
        return (
            f"{total} storage{'s' if total > 1 else ''} of the file came to the CPU, because the device it was "
            "saved on is not "
            f"available here: {where}. Pass map_location='cpu' to say that this is meant."
        )


def _as_device(location: str) -> device | None:
    """The device that a file names, where it is a device at all."""
    try:
        return device(location)
    except RuntimeError:
        return None
