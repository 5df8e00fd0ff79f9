"""From LLVM's intermediate representation to something Python can call, with a cache of object code on disk.

A compiled kernel is entered through a function with CPython's fast calling convention that is compiled with it: it
reads the data address of each array from the array object itself, so that a call costs about as much as calling
`len`. `Kernel` is the only thing that kernels need from here.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import cache, isa
from pellucid.engine.backends.cpu.emit import BYTES, F64, I64, VOID, at, at_byte, i64

Build = Callable[[ir.Module, ir.Function], None]
_CONTENT = 16  # where an array keeps its data address and a float its value, after the object's header
_PARAMETERS = {"p": BYTES, "d": F64, "w": I64.as_pointer()}


@functools.cache
def available() -> bool:
    """Whether objects are laid out as the entries read them (not on debug or free-threaded builds of Python)."""
    array, number = np.zeros(3), 1.25
    if sys.implementation.name != "cpython" or not sys.platform.startswith("linux"):
        return False
    address = ctypes.c_size_t.from_address(id(array) + _CONTENT).value
    value = ctypes.c_double.from_address(id(number) + _CONTENT).value
    return address == array.__array_interface__["data"][0] and value == number


class Kernel:
    """A kernel by name, specification and the function that writes it; compiled, or loaded, when first called.

    `params`: one letter per argument, `p` an array's data (as `i8*`), `d` a float, `w` the array of extents (int64):
    number of items, items per chunk, 1 to release the GIL, then whatever the kernel wants. A parallel kernel's function
    has two more arguments, the begin and the end of its share of the items. The call returns its first argument.
    `spec` and the sources of this package must decide the code: they are the key on disk.
    """

    __slots__ = ("build", "entry", "name", "parallel", "params", "spec")

    def __init__(self, name: str, spec: Any, params: str, build: Build, parallel: bool = True) -> None:
        self.name = name
        self.spec = spec
        self.params = params
        self.build = build
        self.parallel = parallel
        self.entry: Callable[..., Any] | None = None

    @property
    def call(self) -> Callable[..., Any]:
        """The compiled entry: call this where the call is hot."""
        if asked_for is not None:
            asked_for.append(self)
        if self.entry is None:
            self.entry = _entry(self)
        return self.entry

    def __call__(self, *arguments: Any) -> Any:
        return self.call(*arguments)

    def module(self, target: isa.Isa) -> ir.Module:
        """The kernel and its entry in LLVM's representation, not optimised."""
        module = ir.Module(name=self.name)
        module.triple = target.triple
        kinds = [_PARAMETERS[letter] for letter in self.params] + ([I64, I64] if self.parallel else [])
        function = ir.Function(module, ir.FunctionType(VOID, kinds), "kernel")
        function.linkage = "internal"
        for argument, letter in zip(function.args, self.params, strict=False):
            if letter != "d":
                argument.add_attribute("noalias")
        self.build(module, function)
        _write_entry(module, function, self.params, self.parallel)
        return module


asked_for: list[Kernel] | None = None  # kernels in the order in which plans took them, while `shown` listens
_known: dict[tuple[str, Any, str, bool], Callable[..., Any]] = {}
_keep: list[Any] = []  # method definitions, libraries: they live as long as the process
_numbers = itertools.count()


def _entry(kernel: Kernel) -> Callable[..., Any]:
    key = (kernel.name, kernel.spec, kernel.params, kernel.parallel)
    found = _known.get(key)
    if found is None:
        code = object_code(kernel.name, repr(key), lambda: str(kernel.module(isa.host())))
        address = link(kernel.name, code, ("entry",))["entry"]
        found = _known[key] = _builtin(kernel.name, address)
    return found


def object_code(name: str, key: str, source: Callable[[], str]) -> bytes:
    """Object code for the host from the disk cache, or compiled from `source()` and kept there."""
    digest = hashlib.sha256(f"{_toolchain()}\n{name}\n{key}".encode()).hexdigest()
    found = cache.load(digest)
    if found is None:
        found = compile_object(source(), isa.host())
        cache.store(digest, found)
    return found


@functools.cache
def _toolchain() -> str:
    import llvmlite

    llvm = isa.initialised_llvm()
    return f"{cache.source_digest()} {llvmlite.__version__} {llvm.llvm_version_info} {isa.host()}"


def optimised(source: str, target: isa.Isa) -> Any:
    """The verified module after LLVM's optimisations for `target`."""
    llvm = isa.initialised_llvm()
    machine = target.target_machine()
    module = llvm.parse_assembly(source)
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def compile_object(source: str, target: isa.Isa) -> bytes:
    """Object code of an LLVM module for `target`."""
    return target.target_machine().emit_object(optimised(source, target))


def assembly(kernel: Kernel, target: isa.Isa | None = None) -> str:
    """A kernel in assembly language, for people to read."""
    target = target or isa.host()
    return target.target_machine().emit_assembly(optimised(str(kernel.module(target)), target))


@functools.cache
def _linker() -> Any:
    linker = isa.initialised_llvm().create_lljit_compiler()
    _keep.append(linker)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_keep))  # pool threads may run in its memory until the process ends
    return linker


def link(name: str, code: bytes, symbols: Iterable[str]) -> dict[str, int]:
    """Load object code into this process; the addresses of `symbols`."""
    builder = isa.initialised_llvm().JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol in symbols:
        builder.export_symbol(symbol)
    for imported, address in _imports(name).items():
        builder.import_symbol(imported, address)
    library = builder.link(_linker(), f"{name}.{next(_numbers)}")
    _keep.append(library)
    return {symbol: library[symbol] for symbol in symbols}


def _imports(name: str) -> dict[str, int]:
    if name == "pool":
        return {}
    from pellucid.engine.backends.cpu.pool import pool

    return {"pellucid_parallel": pool().parallel, **_python_symbols()}


@functools.cache
def _python_symbols() -> dict[str, int]:
    def address(name: str) -> int:
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0

    return {name: address(name) for name in ("PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef")}


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_METH_FASTCALL = 0x80


def _builtin(name: str, address: int) -> Callable[..., Any]:
    """A built-in function whose code is at `address`."""
    definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL, b"A compiled kernel of Pellucid.")
    _keep.append(definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return make(ctypes.byref(definition), None, None)


def _write_entry(module: ir.Module, kernel: ir.Function, params: str, parallel: bool) -> None:
    """`PyObject *entry(PyObject *self, PyObject **arguments, Py_ssize_t count)`: unpack, let go of the GIL, run."""
    entry = ir.Function(module, ir.FunctionType(BYTES, [BYTES, BYTES.as_pointer(), I64]), "entry")
    builder = ir.IRBuilder(entry.append_basic_block())
    values = []
    for index, letter in enumerate(params):
        item = builder.load(at(builder, entry.args[1], index))
        values.append(builder.load(at_byte(builder, item, _CONTENT, _PARAMETERS[letter])))
    extents = values[-1] if params.endswith("w") else None
    state = _let_go(module, builder, extents)
    if parallel:
        _write_job(module, builder, kernel, values, extents)
    else:
        builder.call(kernel, values)
    _take_back(module, builder, state)
    result = builder.load(entry.args[1])
    builder.call(_declare(module, "Py_IncRef", VOID, [BYTES]), [result])
    builder.ret(result)


def _declare(module: ir.Module, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
    known = module.globals.get(name)
    return known if known is not None else ir.Function(module, ir.FunctionType(result, arguments), name)


def _let_go(module: ir.Module, builder: ir.IRBuilder, extents: Any) -> Any:
    if extents is None:
        return None
    slot = builder.alloca(BYTES)
    builder.store(ir.Constant(BYTES, None), slot)
    releases = builder.icmp_signed("!=", builder.load(at(builder, extents, 2)), i64(0))
    with builder.if_then(releases):
        builder.store(builder.call(_declare(module, "PyEval_SaveThread", BYTES, []), []), slot)
    return slot


def _take_back(module: ir.Module, builder: ir.IRBuilder, slot: Any) -> None:
    if slot is None:
        return
    state = builder.load(slot)
    with builder.if_then(builder.icmp_unsigned("!=", state, ir.Constant(BYTES, None))):
        builder.call(_declare(module, "PyEval_RestoreThread", VOID, [BYTES]), [state])


def _write_job(module: ir.Module, builder: ir.IRBuilder, kernel: ir.Function, values: list[Any], extents: Any) -> None:
    """Run `kernel` over its items in the pool, or right here when they are one chunk."""
    items, chunk = builder.load(extents), builder.load(at(builder, extents, 1))
    several = builder.icmp_signed("<", chunk, items)
    with builder.if_else(several) as (share, alone):
        with share:
            context_type = ir.LiteralStructType([value.type for value in values])
            context = builder.alloca(context_type)
            for index, value in enumerate(values):
                builder.store(value, builder.gep(context, [ir.Constant(ir.IntType(32), each) for each in (0, index)]))
            job = _job_function(module, kernel, context_type)
            parallel = _declare(module, "pellucid_parallel", VOID, [BYTES, BYTES, I64, I64])
            builder.call(parallel, [builder.bitcast(job, BYTES), builder.bitcast(context, BYTES), items, chunk])
        with alone:
            builder.call(kernel, [*values, i64(0), items])


def _job_function(module: ir.Module, kernel: ir.Function, context_type: ir.Type) -> ir.Function:
    job = ir.Function(module, ir.FunctionType(VOID, [BYTES, I64, I64]), "job")
    job.linkage = "internal"
    builder = ir.IRBuilder(job.append_basic_block())
    context = builder.bitcast(job.args[0], context_type.as_pointer())
    values = [
        builder.load(builder.gep(context, [ir.Constant(ir.IntType(32), each) for each in (0, index)]))
        for index in range(len(context_type.elements))
    ]
    builder.call(kernel, [*values, job.args[1], job.args[2]])
    builder.ret_void()
    return job


def shown(action: Callable[[], object], what: str) -> str:
    """The kernels that `action` plans with, as text."""
    global asked_for
    printers: dict[str, Callable[[Kernel], str]] = {
        "expression": lambda each: _described(each.spec),
        "llvm": lambda each: str(each.module(isa.host())),
        "optimised": lambda each: str(optimised(str(each.module(isa.host())), isa.host())),
        "assembly": assembly,
    }
    if what not in printers:
        raise ValueError(f"kernels.show(what=...) takes one of {', '.join(printers)}, not {what!r}")
    heard: list[Kernel] = []
    asked_for = heard
    try:
        action()
    finally:
        asked_for = None
    if not heard:
        return "no kernel: NumPy's reference ran"
    return "\n\n".join([f"{each.name} ({each.params})\n{printers[what](each)}" for each in heard])


def _described(spec: Any) -> str:
    parts = spec if isinstance(spec, tuple) else (spec,)
    return "\n".join([f"  {line}" for part in parts for line in str(part).splitlines()])


def extents(items: int, chunk: int, *more: int, release: bool | None = None) -> np.ndarray:
    """The last argument of a kernel; the GIL is let go where there are several chunks, or where `release` says so."""
    release = items > chunk if release is None else release
    return np.array([items, max(chunk, 1), release, *more], np.int64)


def kernels_enabled() -> bool:
    """Whether compiled kernels are to be used: not with `PELLUCID_KERNELS=numpy`, nor where they cannot be entered."""
    return os.environ.get("PELLUCID_KERNELS", "cpu") != "numpy" and available()
