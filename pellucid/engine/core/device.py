"""`device`: where a tensor's data is. Only `cpu` and `meta` hold tensors here; other names can be written down but not
used.
"""

from __future__ import annotations

from typing import Any

KNOWN = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps",
    "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class device:  # noqa: N801 - PyTorch's name
    """A device type and an optional index, such as `device("cuda:1")` or `device("cpu")`; also a context manager.

    >>> import pellucid as torch
    >>> torch.device("cuda", 1)
    device(type='cuda', index=1)
    """

    __slots__ = ("_hash", "_outer", "index", "type")
    type: str
    index: int | None

    def __init__(self, type: str | int | device, index: int | None = None) -> None:  # noqa: A002 - PyTorch's name
        if isinstance(type, device):
            index, type = type.index, type.type
        elif isinstance(type, int) and not isinstance(type, bool):
            index, type = type, "cuda"
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
        elif ":" in type:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            type, index = _split(type)
        if not type:
            raise RuntimeError("Device string must not be empty")
        if type not in KNOWN:
            raise RuntimeError(f"Expected one of {', '.join(KNOWN)} device type at start of device string: {type}")
        self.type = type
        self.index = index
        self._hash = hash((type, index))

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return device, ((self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self) -> device:
        self._outer = _Default.device
        _Default.device = usable(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _Default.device = self._outer


def _split(text: str) -> tuple[str, int]:
    kind, _, number = text.partition(":")
    if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
        raise RuntimeError(f"Invalid device string: '{text}'; write it as 'cpu' or 'cuda:0'")
    return kind, int(number)


CPU = device("cpu")
META = device("meta")


class _Default:
    device = CPU


def get_default_device() -> device:
    """The device on which factories put tensors when none is named."""
    return _Default.device


def set_default_device(device: Any) -> None:
    """Make `device` the one on which factories put tensors; None means the CPU again."""
    _Default.device = CPU if device is None else usable(device)


def usable(where: Any) -> device:
    """`where` as the device object that tensors are held on; an error that says what to do where there is no such
    backend.
    """
    if where is None:
        return _Default.device
    if where is CPU or where is META:
        return where
    found = where if isinstance(where, device) else device(where)
    if found.type == "cpu":
        return CPU
    if found.type == "meta":
        return META
    if found.type == "cuda":
        raise AssertionError(
            "Torch not compiled with CUDA enabled: Pellucid has no CUDA backend yet, so nothing can be put on "
            f"'{found}'. "
            "Use device='cpu', or choose with: device = 'cuda' if torch.cuda.is_available() else 'cpu'."
        )
    raise NotImplementedError(f"Pellucid has no backend for the device '{found}'; tensors can be on 'cpu' or 'meta'.")
