"""`torch.backends.cpu`: what the processor can do."""

from __future__ import annotations

import platform
from pathlib import Path


def get_cpu_capability() -> str:
    """The widest vector instructions of the processor, in PyTorch's names: DEFAULT, AVX2 or AVX512.

    >>> import pellucid as torch
    >>> torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    information = Path("/proc/cpuinfo")
    if platform.machine() not in ("x86_64", "AMD64") or not information.exists():
        return "DEFAULT"
    line = next((each for each in information.read_text().splitlines() if each.startswith("flags")), "")
    found = set(line.split())
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= found:
        return "AVX512"
    return "AVX2" if {"avx2", "fma"} <= found else "DEFAULT"
