"""The older spectral normalisation, by a hook before forward; `parametrizations.spectral_norm` is the newer."""

from __future__ import annotations

from typing import Any, TypeVar

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn.parameter import Parameter, UninitializedParameter

__all__ = [
    "SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm",
    "spectral_norm",
]  # fmt: skip

M = TypeVar("M")


class SpectralNorm:
    """The hook: before each forward the weight is divided by its largest singular value. Miyato et al., ICLR 2018.

    The singular value comes from power iterations whose vectors u and v are buffers, and which go on in training only.
    """

    _version: int = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows go along `dim`."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The divided weight; the buffers u and v are updated in place by the power iterations."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with pellucid.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(pellucid.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(pellucid.mv(matrix, v), dim=0, eps=self.eps))
                # Backward of this forward must see these values even when another forward has changed the buffers.
                u, v = u.clone(), v.clone()
        return weight / pellucid.dot(u, pellucid.mv(matrix, v))

    def remove(self, module: Any) -> None:
        """Make the weight an ordinary parameter again, with its present value."""
        with pellucid.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, target_sigma: Tensor) -> Tensor:
        """The v for which power iteration gives u, scaled so that uᵀ W v is the given singular value."""
        v = pellucid.linalg.pinv(matrix.t().mm(matrix)).mm(matrix.t()).mv(u)
        return v.mul_(target_sigma / pellucid.dot(u, pellucid.mv(matrix, v)))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Put the parameter `name` aside, add u and v, and register the hooks."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the "
                "dummy forward before applying spectral normalization"
            )
        with pellucid.no_grad():
            height, width = hook.reshape_weight_to_matrix(weight).size()
            u = F.normalize(weight.new_empty(height).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(weight.new_empty(width).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # Something must be there under the old name until the first forward computes the divided weight.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Turns the entries of checkpoints from before PyTorch 1.0, which had no v, into today's."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + self.fn.name
        is_current = all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v")) and key not in state_dict
        if version is None and is_current:
            return
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else [])
            return
        with pellucid.no_grad():
            original = state_dict[key + "_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = self.fn._solve_v_and_rescale(matrix, state_dict[key + "_u"], sigma)


class SpectralNormStateDictHook:
    """Writes the version of the hook into the metadata of a state dict."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Keep the largest singular value of a weight at 1; rows go along `dim`, by default the output channels.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(20, 40))
    >>> layer.weight_u.shape
    torch.Size([40])
    """
    from pellucid.nn.modules.conv import _ConvTransposeNd

    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo `spectral_norm`; the weight keeps its divided value."""
    target: Any = module
    if not _take(target._forward_pre_hooks, lambda hook: isinstance(hook, SpectralNorm) and hook.name == name, target):
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    _take(target._state_dict_hooks, lambda hook: isinstance(hook, SpectralNormStateDictHook) and hook.fn.name == name)
    _take(target._load_state_dict_pre_hooks, lambda hook: _is_load_hook(hook, name))
    return module


def _is_load_hook(hook: Any, name: str) -> bool:
    inner = getattr(hook, "hook", hook)
    return isinstance(inner, SpectralNormLoadStateDictPreHook) and inner.fn.name == name


def _take(hooks: Any, is_wanted: Any, module: Any = None) -> bool:
    """Take the first wanted hook out of `hooks`, letting it clean up `module` if given; whether there was one."""
    for key, hook in hooks.items():
        if is_wanted(hook):
            if module is not None:
                hook.remove(module)
            del hooks[key]
            return True
    return False
