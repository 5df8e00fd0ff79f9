"""`torch.cuda` where there is no CUDA backend: questions are answered, and what would need a GPU says so."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from pellucid.cuda import amp as amp
from pellucid.engine.core.device import device as _device

_ADVICE = "Pellucid has no CUDA backend: use device='cpu', or ask torch.cuda.is_available() first"
default_generators: tuple[Any, ...] = ()
has_half = False
has_magma = False


class OutOfMemoryError(RuntimeError):
    """A GPU's memory is full; never raised here, so that programs can name it."""


class DeferredCudaCallError(Exception):
    """A call that waited for the GPU failed; never raised here."""


def _no_cuda(*args: Any, **kwargs: Any) -> Any:
    """AssertionError, as in a PyTorch without CUDA."""
    raise AssertionError(f"Torch not compiled with CUDA enabled. {_ADVICE}")


current_blas_handle = current_device = current_stream = default_stream = get_device_capability = get_device_name = (
    _no_cuda
)
get_device_properties = get_rng_state = init = initial_seed = ipc_collect = mem_get_info = set_device = (
    set_rng_state
) = _no_cuda
set_stream = synchronize = can_device_access_peer = utilization = temperature = power_draw = clock_rate = (
    memory_usage
) = _no_cuda
get_sync_debug_mode = set_sync_debug_mode = set_per_process_memory_fraction = memory_snapshot = cudart = _no_cuda
make_graphed_callables = graph_pool_handle = list_gpu_processes = memory_summary = host_memory_stats = _no_cuda


def is_available() -> bool:
    """Whether tensors can be on a GPU: no.

    >>> import pellucid as torch
    >>> torch.cuda.is_available()
    False
    """
    return False


def device_count() -> int:
    """How many GPUs there are to use: none.

    >>> import pellucid as torch
    >>> torch.cuda.device_count()
    0
    """
    return 0


def is_initialized() -> bool:
    """Whether the GPU has been used: no."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU computes in bfloat16: there is none."""
    return False


def is_tf32_supported() -> bool:
    """Whether the GPU computes in TF32: there is none."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether a CUDA graph is being captured: no."""
    return False


def get_arch_list() -> list[str]:
    """The GPU architectures that kernels were compiled for: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler flags for those architectures: none."""
    return ""


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator; without a GPU there is nothing to seed. `torch.manual_seed` seeds the CPU's."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs, of which there are none."""
    int(seed)


def seed() -> None:
    """Seed the current GPU's generator at random; there is none."""


def seed_all() -> None:
    """Seed the generators of all GPUs at random; there are none."""


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all GPUs: an empty list."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Restore the states of all GPUs' generators; AssertionError for any state, since there is no GPU."""
    if len(new_states):
        _no_cuda()


def empty_cache() -> None:
    """Give unused GPU memory back; there is none."""


def memory_allocated(device: Any = None) -> int:
    """Bytes of GPU memory in use: 0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = max_memory_cached = memory_allocated


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Counts of the GPU's allocator: an empty dictionary."""
    return OrderedDict()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Forget the greatest GPU memory use; there is none."""


reset_accumulated_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


class device:  # noqa: N801 - PyTorch's name
    """The current GPU inside a `with` block; RuntimeError on entering, unless the index is negative or None."""

    def __init__(self, device: Any) -> None:
        given = _device(device) if isinstance(device, str) else device
        self.idx = -1 if given is None else given if isinstance(given, int) else (given.index or 0)

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError(f"PyTorch was compiled without CUDA support. {_ADVICE}")

    def __exit__(self, *exception: object) -> None:
        return None


class device_of(device):  # noqa: N801 - PyTorch's name
    """The device of a tensor as the current GPU inside a `with` block; nothing for a CPU tensor."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class _Absent:
    """A class of the CUDA runtime: making an instance is an error."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"torch.cuda.{type(self).__name__} requires CUDA support. {_ADVICE}")


class Stream(_Absent):
    """A queue of GPU work: RuntimeError when one is made."""


class ExternalStream(_Absent):
    """A queue of GPU work made elsewhere: RuntimeError when one is made."""


class Event(_Absent):
    """A mark in a queue of GPU work: RuntimeError when one is made."""


class CUDAGraph(_Absent):
    """Recorded GPU work: RuntimeError when one is made."""


class StreamContext:
    """`with torch.cuda.stream(None)`: no stream is chosen."""

    def __init__(self, stream: None) -> None:
        if stream is not None:
            raise RuntimeError(f"torch.cuda.Stream requires CUDA support. {_ADVICE}")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


def stream(stream: None) -> StreamContext:
    """A `with` block on a stream; only None, no stream, can be given."""
    return StreamContext(stream)
