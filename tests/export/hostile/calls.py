"""Pickles that call what must not be called, by every opcode that calls something."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

from .build import CANARY, SHELL, Case, Payload, archive, name, pickled, unicode

_PYTHON = f"open({CANARY!r}, 'w')"
CALLABLES = [
    ("os", "system", SHELL),
    ("posix", "system", SHELL),
    ("nt", "system", SHELL),
    ("os", "popen", SHELL),
    ("os.path", "exists", "/"),
    ("subprocess", "Popen", SHELL),
    ("subprocess", "call", SHELL),
    ("subprocess", "getoutput", SHELL),
    ("commands", "getoutput", SHELL),
    ("builtins", "eval", _PYTHON),
    ("builtins", "exec", _PYTHON),
    ("__builtin__", "eval", _PYTHON),
    ("builtins", "open", CANARY),
    ("builtins", "__import__", "os"),
    ("builtins", "compile", _PYTHON),
    ("builtins", "breakpoint", ""),
    ("builtins", "getattr", "os"),
    ("builtins", "globals", ""),
    ("builtins", "type", "x"),
    ("builtins", "object", ""),
    ("builtins", "vars", ""),
    ("io", "open", CANARY),
    ("importlib", "import_module", "antigravity"),
    ("importlib", "__import__", "os"),
    ("runpy", "run_path", CANARY),
    ("pty", "spawn", SHELL),
    ("shutil", "rmtree", CANARY),
    ("socket", "create_connection", "x"),
    ("webbrowser", "open", "http://localhost"),
    ("ctypes", "CDLL", "libc.so.6"),
    ("pickle", "loads", "N."),
    ("_pickle", "loads", "N."),
    ("marshal", "loads", "N"),
    ("numpy", "load", CANARY),
    ("numpy", "save", CANARY),
    ("numpy.testing._private.utils", "runstring", _PYTHON),
    ("functools", "partial", "x"),
    ("operator", "attrgetter", "x"),
    ("operator", "methodcaller", "system"),
    ("types", "CodeType", "x"),
    ("types", "FunctionType", "x"),
    ("code", "interact", "x"),
    ("pdb", "run", _PYTHON),
    ("timeit", "timeit", _PYTHON),
    ("cProfile", "run", _PYTHON),
    ("bdb", "Bdb", ""),
    ("doctest", "debug_script", _PYTHON),
    ("sys", "exit", "1"),
    ("sys", "modules", "x"),
    ("sys", "setrecursionlimit", "1"),
    ("signal", "alarm", "1"),
    ("threading", "Thread", "x"),
    ("asyncio", "run", "x"),
    ("pip", "main", "x"),
    ("logging.config", "listen", "x"),
    ("tempfile", "NamedTemporaryFile", "x"),
    ("pathlib", "Path", CANARY),
    ("torch", "load", CANARY),
    ("torch.serialization", "load", CANARY),
    ("torch.hub", "load", "x"),
    ("torch.jit", "load", CANARY),
    ("torch.storage", "_load_from_bytes", "N."),
    ("torch._C", "_VariableFunctionsClass", "x"),
    ("torch.serialization", "os.system", SHELL),
    ("torch", "os.system", SHELL),
    ("torch.utils.data", "DataLoader", "x"),
    ("pellucid.serialization", "load", CANARY),
    ("pellucid", "load", CANARY),
    ("pellucid.serialization", "os.system", SHELL),
    ("collections", "OrderedDict.fromkeys", "x"),
    ("collections", "namedtuple", "x"),
    ("collections", "defaultdict", "x"),
    ("torch._utils", "_import_dotted_name", "os.system"),
    ("torch._utils", "_rebuild_tensor_v2.__globals__", "x"),
    ("torch.nn.modules.module", "Module", ""),
    ("torch.distributed.rpc", "rpc_async", "x"),
    ("__main__", "main", ""),
    ("copyreg", "_reconstructor", "x"),
    ("copy_reg", "_reconstructor", "x"),
    ("datetime", "datetime", "x"),
    ("uuid", "UUID", "x"),
    ("_codecs", "decode", "x"),
    ("codecs", "encode", "x"),
    ("idlelib.run", "main", "x"),
    ("unittest.mock", "patch", "os.system"),
    ("", "", ""),
    ("torch", "", ""),
    ("a" * 60000, "b", ""),
]


def shown(module: str, attribute: str) -> str:
    """How the error must name a callable, in today's names."""
    renamed = {"__builtin__": "builtins", "copy_reg": "copyreg", "commands": "subprocess"}
    return f"{renamed.get(module, module)}.{attribute}".removeprefix("builtins.")[:150]


def hostile_calls() -> Iterator[Case]:
    for module, attribute, argument in CALLABLES:
        for protocol in (2, 4):
            body = name(module, attribute, protocol) + unicode(argument) + b"\x85R"
            yield Case(
                f"{module[:40]}.{attribute} by REDUCE, protocol {protocol}",
                archive(pickled(b"}" + unicode("key") + body + b"s", protocol)),
                words=(shown(module, attribute), "add_safe_globals", "weights_only=False", "['key']"),
            )
    for module, attribute, argument in CALLABLES[:12]:
        call = unicode(argument)
        yield Case(
            f"{module}.{attribute} by INST",
            archive(pickled(b"(" + call + f"i{module}\n{attribute}\n".encode())),
            words=("INST",),
        )
        yield Case(
            f"{module}.{attribute} by OBJ",
            archive(pickled(b"(" + name(module, attribute) + call + b"o")),
            words=(attribute,),
        )
        yield Case(
            f"{module}.{attribute} by NEWOBJ",
            archive(pickled(name(module, attribute) + call + b"\x85\x81")),
            words=(attribute,),
        )
        yield Case(
            f"{module}.{attribute} by BUILD",
            archive(pickled(name(module, attribute) + b"}" + call + call + b"sb")),
            words=(attribute,),
        )


class StatefulPayload:
    def __reduce__(self) -> tuple[object, ...]:
        return dict, (), {"x": Payload()}


def hostile_objects() -> Iterator[Case]:
    nests = {
        "list": [Payload()],
        "key": {(1, 2): {"deep": [0, (1, Payload())]}},
        "state": StatefulPayload(),
        "exception": ValueError(Payload()),
    }
    for label, nest in nests.items():
        for protocol in (0, 1, 2, 3, 4, 5):
            yield Case(
                f"os.system in a {label}, protocol {protocol}",
                archive(pickle.dumps(nest, protocol)),
                words=("was run",),
            )
