"""An unpickler for files that nobody trusts: it interprets the opcodes itself and calls only what allowed.py lists.

It works on bytes in memory, without recursion, and its time and memory are proportional to their number. Whatever is
wrong with them raises `pickle.UnpicklingError`.
"""

from __future__ import annotations

import _compat_pickle
import pickletools
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError, decode_long
from typing import Any, NoReturn

import numpy as np

from pellucid.engine.core.data import Classes
from pellucid.engine.export import allowed, names, tensors

# Bytes that calls and containers may take beyond this multiple of the pickle.
_FREE_BYTES = 64 << 20
_BYTES_PER_BYTE = 32
_CONTAINER_BYTES = 64
_NAMES = {ord(opcode.code): opcode.name for opcode in pickletools.opcodes}
_DEEPEST = 100_000  # open marks; Python's own pickler fails long before
_SHOWN_DEPTH = 100
_PROTOCOL = 5
_LONGEST_NUMBER = 4000  # digits of an integer written as text

SafeGlobals = dict[str, Any]
PersistentLoad = Callable[[tuple[Any, ...]], Any]


class _Stop(Exception):  # noqa: N818 - not an error: it ends the loop
    """Carries the finished object out of the loop."""


class RestrictedUnpickler:
    """Reads one pickle from `content[start:]`; `end` is then the position after it."""

    def __init__(
        self,
        content: bytes,
        start: int = 0,
        *,
        persistent_load: PersistentLoad | None = None,
        safe_globals: SafeGlobals | None = None,
        encoding: str = "utf-8",
        source: str = "data.pkl",
    ) -> None:
        self._content = content
        self.end = start
        self._persistent_load = persistent_load
        self._safe = safe_globals or {}
        self._encoding = encoding
        self._source = source
        self._memo: dict[int, Any] = {}
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._outside: Exception | None = None
        self._granted: dict[int, Any] = {}
        self._budget = _FREE_BYTES + _BYTES_PER_BYTE * (len(content) - start)

    def load(self) -> Any:
        """The object; UnpicklingError when the pickle is damaged or asks for something that is not permitted."""
        content, size, table = self._content, len(self._content), _TABLE
        code = 0
        try:
            while self.end < size:
                code = content[self.end]
                self.end += 1
                table[code](self)
        except _Stop:
            if self._marks or len(self._stack) != 1:
                self._refuse("a pickle ends with unused values on its stack")
            return self._stack[0]
        except UnpicklingError:
            raise
        except allowed.NotPermittedError as error:
            self._refuse(str(error))
        except Exception as error:
            if error is self._outside:
                raise
            self._refuse(
                f"the opcode {opcode_name(code)} cannot be carried out ({type(error).__name__}: {error!s:.300})", error
            )
        self._refuse("it ends before its STOP opcode: the pickle data was truncated")

    def _refuse(self, reason: str, cause: Exception | None = None) -> NoReturn:
        raise UnpicklingError(f"{self._source}, byte {self.end}{self._where()}: {reason}") from cause

    def _where(self) -> str:
        """The dictionary keys under which the current value would come to stand, as ` (at ['optimizer']['state'])`."""
        path = []
        frames = [*self._marks[-_SHOWN_DEPTH:], self._stack]
        for below, frame in zip([[], *frames], frames, strict=False):
            if below and isinstance(below[-1], dict) and frame:
                path.append(frame[(len(frame) - 1) // 2 * 2])
            recent = frame[-_SHOWN_DEPTH:]
            path.extend(key for holder, key in zip(recent, recent[1:], strict=False) if isinstance(holder, dict))
        keys = [f"[{key!r:.60}]" for key in path if isinstance(key, str) or type(key) is int and abs(key) < 1 << 64]
        return f" (at {''.join(keys[:12])})" if keys else ""

    def charge(self, count: int) -> None:
        """Account for bytes that are made out of fewer bytes of file."""
        self._budget -= count
        if self._budget < 0:
            self._refuse("it would take far more memory than the file has bytes")

    def _grant(self, source: Any) -> None:
        """Allow for the bytes that the file has outside of the pickle, once for each storage."""
        if isinstance(source, tensors.StoredBytes) and id(source.storage) not in self._granted:
            self._granted[id(source.storage)] = source
            self._budget += 2 * source.nbytes()

    # -- reading ------------------------------------------------------------------------------------------------

    def _read(self, count: int) -> bytes:
        start = self.end
        if count > len(self._content) - start:
            self._refuse(
                f"it announces {count} bytes and has {len(self._content) - start}: the pickle data was truncated"
            )
        self.end = start + count
        return self._content[start : self.end]

    def _number(self, layout: struct.Struct) -> Any:
        return layout.unpack(self._read(layout.size))[0]

    def _line(self) -> str:
        end = self._content.find(b"\n", self.end, self.end + 65536)
        if end < 0:
            self._refuse("a line of text does not end: the pickle data was truncated")
        line = self._content[self.end : end]
        self.end = end + 1
        return line.decode("utf-8")

    def _text(self, count: int) -> None:
        self._stack.append(str(self._read(count), "utf-8", "surrogatepass"))

    def _python2_text(self, raw: bytes) -> None:
        self._stack.append(raw if self._encoding == "bytes" else raw.decode(self._encoding, "strict"))

    def _items(self) -> list[Any]:
        """What was pushed since the last MARK."""
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _container(self, value: Any) -> None:
        self._budget -= _CONTAINER_BYTES
        if self._budget < 0:
            self.charge(0)
        self._stack.append(value)

    # -- globals and calls --------------------------------------------------------------------------------------

    def _push_global(self, module: str, name: str) -> None:
        module, name = current_name(module, name)
        full_name = f"{module}.{name}"
        if module.partition(".")[0] in allowed.BLOCKED_MODULES:
            self._refuse(f"Trying to load unsupported GLOBAL {full_name:.200} whose module {module:.100} is blocked.")
        found = allowed.permitted(full_name)
        if found is None:
            found = self._safe.get(full_name)
        if found is None:
            shown = full_name.removeprefix("builtins.")[:200]
            self._refuse(
                f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
                f"`torch.serialization.add_safe_globals([{shown}])` or the "
                f"`torch.serialization.safe_globals([{shown}])` "
                "context manager to allowlist this global if you trust this class/function."
            )
        self._stack.append(found)

    def _is_safe(self, value: Any) -> bool:
        return any(value is each for each in self._safe.values())

    def check_class(self, kind: Any) -> None:
        """UnpicklingError unless the user has declared `kind` safe."""
        if not self._is_safe(kind):
            self._refuse(f"Can only build classes allowlisted via `add_safe_globals`, but got {kind!r:.200}")

    def call(self, function: Any, arguments: Any) -> Any:
        """The result of a permitted call."""
        if not isinstance(arguments, tuple):
            self._refuse(f"a call has {type(arguments).__name__} in place of a tuple of arguments")
        if isinstance(function, allowed.Global):
            return function.call(self, arguments)
        if self._is_safe(function):
            return function(*arguments)
        self._refuse(f"Trying to call reduce for unrecognized function {function!r:.200}")

    def reduce(self) -> None:
        arguments = self._stack.pop()
        self._stack[-1] = self.call(self._stack[-1], arguments)

    def new_object(self) -> None:
        arguments = self._stack.pop()
        self._stack.append(self._new(self._stack.pop(), arguments, {}))

    def new_object_with_keywords(self) -> None:
        keywords = self._stack.pop()
        arguments = self._stack.pop()
        if not isinstance(keywords, dict) or not all(type(name) is str for name in keywords):
            self._refuse("keyword arguments are not a dictionary of names")
        self._stack.append(self._new(self._stack.pop(), arguments, keywords))

    def _new(self, kind: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
        if isinstance(kind, allowed.Global) and not keywords:
            return self.call(kind, arguments)
        if not isinstance(kind, type) or not self._is_safe(kind):
            self._refuse(
                "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` "
                f"but got {kind!r:.200}"
            )
        return kind.__new__(kind, *arguments, **keywords)

    def build(self) -> None:
        state = self._stack.pop()
        target = self._stack[-1]
        kind = type(target)
        if kind is OrderedDict:
            allowed.set_attributes(target, state)
        elif isinstance(target, np.dtype) and not self._is_safe(kind):
            allowed.set_dtype_state(target, state)
        elif kind is np.ndarray:
            allowed.set_array_state(self, target, state)
        elif tensors.is_tensor(target) and (kind is Classes.tensor or kind.__name__ == "Parameter"):
            self._build_tensor(target, state)
        elif self._is_safe(kind):
            self._build_trusted(target, state)
        else:
            self._refuse(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {kind!r:.200}"
            )

    def _build_tensor(self, target: Any, state: Any) -> None:
        """The state of PyTorch 0.3's variables: whether they require a gradient, a flag that is gone, and hooks."""
        if not isinstance(state, tuple) or len(state) not in (2, 3) or type(state[0]) is not bool:
            self._refuse(f"a tensor has the unknown state {type(state).__name__}")
        target.requires_grad = state[0]

    def _build_trusted(self, target: Any, state: Any) -> None:
        """As pickle does it, for an instance of a class that the user has declared safe."""
        if hasattr(target, "__setstate__"):
            target.__setstate__(state)
            return
        state, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        if state:
            target.__dict__.update(state)
        for name, value in (slots or {}).items():
            setattr(target, name, value)

    def persistent(self) -> None:
        identity = self._stack.pop()
        if self._persistent_load is None or not isinstance(identity, tuple) or not identity:
            self._refuse(f"a persistent_load id of type {type(identity).__name__} was encountered where none can be")
        kind = identity[0].decode("ascii", "replace") if isinstance(identity[0], bytes) else identity[0]
        if kind != "storage":
            self._refuse(f"Only persistent_load of storage is allowed, but got {kind!r:.80}")
        try:
            found = self._persistent_load(("storage", *identity[1:]))
        except Exception as error:
            self._outside = error  # A damaged record, or the user's own map_location: not the pickle's fault.
            raise
        self._grant(found)
        self._stack.append(found)

    # -- containers ---------------------------------------------------------------------------------------------

    def _target(self, *kinds: type) -> Any:
        target = self._stack[-1]
        if type(target) not in kinds:
            self._refuse(f"Can only fill {', '.join(kind.__name__ for kind in kinds)}, but got {type(target)!r}")
        return target

    def append(self) -> None:
        item = self._stack.pop()
        self._target(list).append(item)

    def extend(self) -> None:
        items = self._items()
        self._target(list).extend(items)

    def set_item(self) -> None:
        value = self._stack.pop()
        key = self._stack.pop()
        allowed.set_item(self, self._target(dict, OrderedDict, Counter), key, value)

    def set_items(self) -> None:
        items = self._items()
        target = self._target(dict, OrderedDict, Counter)
        if len(items) % 2:
            self._refuse("a dictionary has a key without a value")
        for position in range(0, len(items), 2):
            allowed.set_item(self, target, items[position], items[position + 1])

    def add_items(self) -> None:
        items = self._items()
        target = self._target(set)
        for item in items:
            allowed.check_key(item)
            target.add(item)

    def make_dict(self) -> None:
        items = self._items()
        self._container({})
        if len(items) % 2:
            self._refuse("a dictionary has a key without a value")
        for position in range(0, len(items), 2):
            allowed.set_item(self, self._stack[-1], items[position], items[position + 1])

    def make_frozenset(self) -> None:
        items = self._items()
        for item in items:
            allowed.check_key(item)
        self._container(frozenset(items))

    def make_tuple(self, count: int) -> None:
        if len(self._stack) < count:
            self._refuse("a tuple has too few items")
        items = tuple(self._stack[-count:])
        del self._stack[-count:]
        self._container(items)

    def mark(self) -> None:
        if len(self._marks) >= _DEEPEST:
            self._refuse(f"it is nested more than {_DEEPEST} deep")
        self._marks.append(self._stack)
        self._stack = []

    def pop_to_mark(self) -> None:
        self._items()

    def frame(self) -> None:
        self._read(8)  # How much to read ahead; everything is in memory.

    def pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._items()

    # -- numbers, memo, protocol --------------------------------------------------------------------------------

    def text_number(self, kind: type) -> None:
        line = self._line().rstrip("L")
        if len(line) > _LONGEST_NUMBER:
            self._refuse(f"a number has {len(line)} digits")
        self._stack.append(line == "01" if kind is int and line in ("00", "01") else kind(line))

    def python2_string(self) -> None:
        raw = self._line().encode("latin-1", "replace")
        if len(raw) < 2 or raw[:1] != raw[-1:] or raw[:1] not in (b"'", b'"') or b"\\" in raw:
            self._refuse("a string of protocol 0 has no quotes, or has escapes, which are not read")
        self._python2_text(raw[1:-1])

    def python2_unicode(self) -> None:
        line = self._line()
        self._stack.append(line.encode("latin-1").decode("raw-unicode-escape"))

    def put(self, index: int) -> None:
        if index < 0:
            self._refuse("a memo index is negative")
        self._memo[index] = self._stack[-1]

    def get(self, index: int) -> None:
        if index not in self._memo:
            self._refuse(f"Memo value not found at index {index}")
        self._stack.append(self._memo[index])

    def protocol(self) -> None:
        version = self._read(1)[0]
        if version > _PROTOCOL:
            self._refuse(f"unsupported pickle protocol: {version}")

    def stop(self) -> None:
        raise _Stop

    def unsupported(self) -> None:
        code = self._content[self.end - 1]
        self._refuse(f"Unsupported operand {code} ({opcode_name(code)})")


def opcode_name(code: int) -> str:
    """The name of an opcode, or its number where there is none."""
    found = _NAMES.get(code)
    return found if found is not None else f"0x{code:02x}"


def current_name(module: str, name: str) -> tuple[str, str]:
    """Python 2's names of what has moved since, as pickle maps them."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        return _compat_pickle.NAME_MAPPING[module, name]
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name


_INT32, _UINT16, _UINT32, _UINT64 = (struct.Struct(layout) for layout in ("<i", "<H", "<I", "<Q"))
_FLOAT = struct.Struct(">d")
_R = RestrictedUnpickler


def _global_by_strings(reader: RestrictedUnpickler) -> None:
    name = reader._stack.pop()
    module = reader._stack.pop()
    if type(name) is not str or type(module) is not str:
        reader._refuse("a global is not named by two strings")
    reader._push_global(module, name)


def _dup(reader: RestrictedUnpickler) -> None:
    reader._stack.append(reader._stack[-1])


# One row per opcode; what is absent (INST, OBJ, the extension registry, out-of-band buffers) is not read.
_HANDLERS: dict[bytes, Callable[[RestrictedUnpickler], None]] = {
    b"\x80": _R.protocol,
    b"\x95": _R.frame,
    b".": _R.stop,
    b"(": _R.mark,
    b"0": _R.pop,
    b"1": _R.pop_to_mark,
    b"2": _dup,
    b"N": lambda reader: reader._stack.append(None),
    b"\x88": lambda reader: reader._stack.append(True),
    b"\x89": lambda reader: reader._stack.append(False),
    b"I": lambda reader: reader.text_number(int),
    b"L": lambda reader: reader.text_number(int),
    b"F": lambda reader: reader.text_number(float),
    b"J": lambda reader: reader._stack.append(reader._number(_INT32)),
    b"K": lambda reader: reader._stack.append(reader._read(1)[0]),
    b"M": lambda reader: reader._stack.append(reader._number(_UINT16)),
    b"\x8a": lambda reader: reader._stack.append(decode_long(reader._read(reader._read(1)[0]))),
    b"\x8b": lambda reader: reader._stack.append(decode_long(reader._read(reader._number(_UINT32)))),
    b"G": lambda reader: reader._stack.append(reader._number(_FLOAT)),
    b"S": _R.python2_string,
    b"T": lambda reader: reader._python2_text(reader._read(reader._number(_UINT32))),
    b"U": lambda reader: reader._python2_text(reader._read(reader._read(1)[0])),
    b"V": _R.python2_unicode,
    b"X": lambda reader: reader._text(reader._number(_UINT32)),
    b"\x8c": lambda reader: reader._text(reader._read(1)[0]),
    b"\x8d": lambda reader: reader._text(reader._number(_UINT64)),
    b"C": lambda reader: reader._stack.append(reader._read(reader._read(1)[0])),
    b"B": lambda reader: reader._stack.append(reader._read(reader._number(_UINT32))),
    b"\x8e": lambda reader: reader._stack.append(reader._read(reader._number(_UINT64))),
    b"\x96": lambda reader: reader._stack.append(bytearray(reader._read(reader._number(_UINT64)))),
    b"]": lambda reader: reader._container([]),
    b"}": lambda reader: reader._container({}),
    b")": lambda reader: reader._stack.append(()),
    b"\x8f": lambda reader: reader._container(set()),
    b"l": lambda reader: reader._container(reader._items()),
    b"d": _R.make_dict,
    b"t": lambda reader: reader._container(tuple(reader._items())),
    b"\x85": lambda reader: reader.make_tuple(1),
    b"\x86": lambda reader: reader.make_tuple(2),
    b"\x87": lambda reader: reader.make_tuple(3),
    b"\x91": _R.make_frozenset,
    b"a": _R.append,
    b"e": _R.extend,
    b"s": _R.set_item,
    b"u": _R.set_items,
    b"\x90": _R.add_items,
    b"g": lambda reader: reader.get(int(reader._line())),
    b"h": lambda reader: reader.get(reader._read(1)[0]),
    b"j": lambda reader: reader.get(reader._number(_UINT32)),
    b"p": lambda reader: reader.put(int(reader._line())),
    b"q": lambda reader: reader.put(reader._read(1)[0]),
    b"r": lambda reader: reader.put(reader._number(_UINT32)),
    b"\x94": lambda reader: reader.put(len(reader._memo)),
    b"c": lambda reader: reader._push_global(reader._line(), reader._line()),
    b"\x93": _global_by_strings,
    b"R": _R.reduce,
    b"\x81": _R.new_object,
    b"\x92": _R.new_object_with_keywords,
    b"b": lambda reader: reader.build(),
    b"Q": lambda reader: reader.persistent(),
}
_TABLE = [_HANDLERS.get(bytes((code,)), _R.unsupported) for code in range(256)]


def read_pickle(content: bytes, **how: Any) -> Any:
    """The object in a pickle, read without trust."""
    return RestrictedUnpickler(content, **how).load()


def safe_table(declared: list[Any]) -> SafeGlobals:
    """What the user has declared safe, under the name in his program and, for our own classes, the name in PyTorch's
    files.
    """
    table: SafeGlobals = {}
    for item in declared:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                    f"{len(item)}"
                )
            if type(item[1]) is not str:
                raise TypeError(
                    f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}"
                )
            table[item[1]] = item[0]
            continue
        table[f"{item.__module__}.{item.__qualname__}"] = item
        as_torch = names.torch_name(item)
        if as_torch is not None:
            table[".".join(as_torch)] = item
    return table
