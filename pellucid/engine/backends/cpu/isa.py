"""The instruction sets that kernels are generated for: the host's, and the others that can be emitted and verified.

What a kernel does is decided elsewhere; this file only says how wide a vector is and what LLVM is told.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Isa:
    """One target: LLVM's triple, processor and features, the width of a vector, the number of vector registers."""

    name: str
    triple: str
    cpu: str
    features: str
    vector_bytes: int
    registers: int
    has_fma: bool

    def lanes(self, itemsize: int) -> int:
        """Elements of `itemsize` bytes in a vector."""
        return self.vector_bytes // itemsize

    def target_machine(self) -> Any:
        """LLVM's description of this target, for position-independent code."""
        llvm = initialised_llvm()
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(cpu=self.cpu, features=self.features, opt=3, reloc="pic", codemodel="small")


@functools.cache
def initialised_llvm() -> Any:
    """llvmlite's binding, ready to emit code for every target it was built with."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    return llvm


_X86 = "x86_64-unknown-linux-gnu"
SSE2 = Isa("sse2", _X86, "x86-64", "", 16, 16, False)
AVX2 = Isa("avx2", _X86, "haswell", "", 32, 16, True)
AVX512 = Isa("avx512", _X86, "skylake-avx512", "-prefer-256-bit", 64, 32, True)
NEON = Isa("neon", "aarch64-unknown-linux-gnu", "generic", "+neon", 16, 32, True)
CROSS_TARGETS = (SSE2, AVX2, AVX512, NEON)


@functools.cache
def host() -> Isa:
    """The instruction set of this machine."""
    llvm = initialised_llvm()
    triple = llvm.get_process_triple()
    features = llvm.get_host_cpu_features()
    known = set(name for name, present in features.items() if present)
    flat = features.flatten()
    cpu = llvm.get_host_cpu_name()
    if "aarch64" in triple or "arm64" in triple:
        return Isa("neon", triple, cpu, flat, 16, 32, True)
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= known:
        return Isa("avx512", triple, cpu, flat + ",-prefer-256-bit", 64, 32, True)
    if {"avx2", "fma"} <= known:
        return Isa("avx2", triple, cpu, flat, 32, 16, True)
    return Isa("sse2", triple, cpu, flat, 16, 16, "fma" in known)
