"""`torch.backends.mkldnn`: oneDNN is not used; its flags hold what was set."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether oneDNN can be used: no, kernels are Pellucid's own.

    >>> import pellucid as torch
    >>> torch.backends.mkldnn.is_available()
    False
    """
    return False


@contextlib.contextmanager
def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> Iterator[None]:
    """The flags inside a `with` block."""
    names = globals()
    former = {name: names[name] for name in ("enabled", "deterministic", "allow_tf32")}
    names.update(enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
    try:
        yield
    finally:
        names.update(former)
