"""Looking through a pickle without calling anything: where it ends, which globals and which storages it names."""

from __future__ import annotations

import pickletools
from pickle import UnpicklingError
from typing import IO, Any, cast

from pellucid.engine.export import names
from pellucid.engine.export.pickle_reader import RestrictedUnpickler, current_name

_LONGEST_LINE = 65536


class BoundedStream:
    """The part of a seekable stream from its position on, which never returns or allocates more than there is."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        start = stream.tell()
        stream.seek(0, 2)
        self._end = stream.tell()
        stream.seek(start)

    def remaining(self) -> int:
        return self._end - self._stream.tell()

    def read(self, count: int) -> bytes:
        return self._stream.read(max(0, min(count, self.remaining())))

    def readline(self) -> bytes:
        return self._stream.readline(_LONGEST_LINE)

    def tell(self) -> int:
        return self._stream.tell()


def next_pickle(stream: Any, bounded: BoundedStream) -> bytes:
    """The bytes of the pickle at the stream's position, which moves behind it; UnpicklingError when none is there."""
    start = bounded.tell()
    if not bounded.remaining():
        raise EOFError("Ran out of input: the file is empty or ends where a pickle should start")
    try:
        for _ in pickletools.genops(cast(IO[bytes], bounded)):
            pass
    except Exception as error:
        raise UnpicklingError(
            f"no valid pickle at byte {start} of the file ({error!s:.200}): it is damaged, or not one that save() wrote"
        ) from None
    size = bounded.tell() - start
    stream.seek(start)
    return bounded.read(size)


class Inert:
    """Stands for whatever a pickle makes with a global; it swallows everything that is done to it."""

    def append(self, item: Any) -> None: ...

    def extend(self, items: Any) -> None: ...

    def add(self, item: Any) -> None: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...


class PickleScanner(RestrictedUnpickler):
    """Goes through a pickle with inert objects in place of all globals, and notes their names and all persistent
    ids.
    """

    def __init__(self, content: bytes, **how: Any) -> None:
        super().__init__(content, persistent_load=self._note, **how)
        self.globals: set[str] = set()
        self.storages: list[tuple[Any, ...]] = []

    def _note(self, identity: tuple[Any, ...]) -> Any:
        self.storages.append(identity)
        return Inert()

    def _push_global(self, module: str, name: str) -> None:
        module, name = current_name(module, name)
        self.globals.add(f"{module}.{name}")
        storage = names.STORAGE_TYPES.get(name) if names.is_torch_module(module) else None
        self._stack.append(storage or Inert())

    def call(self, function: Any, arguments: Any) -> Any:
        return Inert()

    def _new(self, kind: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
        return Inert()

    def build(self) -> None:
        self._stack.pop()

    def persistent(self) -> None:
        """Also accepts what only trusted files have: the source of a module's class."""
        identity = self._stack[-1]
        if isinstance(identity, tuple) and identity and identity[0] == "module":
            self._stack[-1] = Inert()
        else:
            super().persistent()

    def _target(self, *kinds: type) -> Any:
        top = self._stack[-1]
        return top if isinstance(top, Inert) else super()._target(*kinds)


def scan(content: bytes, **how: Any) -> PickleScanner:
    """A scanner that has gone through the pickle."""
    scanner = PickleScanner(content, **how)
    scanner.load()
    return scanner
