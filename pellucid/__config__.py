"""`torch.__config__`: what this installation is made of."""

from __future__ import annotations

import platform

import ml_dtypes
import numpy

from pellucid.backends.cpu import get_cpu_capability
from pellucid.engine.core.threads import get_num_threads
from pellucid.version import __version__


def show() -> str:
    """The versions of Pellucid and of what it stands on, one a line.

    >>> import pellucid as torch
    >>> "NumPy" in torch.__config__.show()
    True
    """
    return "\n".join([
        f"Pellucid {__version__}, built with:",
        f"  - Python {platform.python_version()}",
        f"  - NumPy {numpy.__version__}",
        f"  - ml_dtypes {ml_dtypes.__version__}",
        f"  - CPU capability usage: {get_cpu_capability()}",
        "",
    ])  # fmt: skip


def parallel_info() -> str:
    """How many threads operators use.

    >>> import pellucid as torch
    >>> torch.__config__.parallel_info().startswith("threads: ")
    True
    """
    return f"threads: {get_num_threads()}\n"
