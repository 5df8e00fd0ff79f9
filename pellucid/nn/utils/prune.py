"""Pruning: masking a parameter's elements or channels. The parameter becomes `<name>_orig`, and `<name>` is it times
`<name>_mask`.

The product is made anew by a hook before each forward, so training goes on with the mask kept.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import pellucid
from pellucid import Tensor

from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip

M = TypeVar("M")


class BasePruningMethod(ABC):
    """A way of choosing what to mask: subclasses define `compute_mask` and say their `PRUNING_TYPE`."""

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros also where this method prunes the importance scores `t`."""

    def apply_mask(self, module: Any) -> Tensor:
        """The original parameter times its mask."""
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prune `module.name`, on top of what was pruned before; the scores are the parameter itself unless given."""
        method = _combined(cls(*args, **kwargs), module, name)
        original = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {original.shape}"
            )
        is_first = not isinstance(method, PruningContainer)
        if is_first:
            default_mask = pellucid.ones_like(original)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone()
        # Before anything of the module changes: it may raise.
        mask = method.compute_mask(original if importance_scores is None else importance_scores, default_mask)
        if is_first:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        for key, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
                del module._forward_pre_hooks[key]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """`t` times the mask that this method computes for it, without a module."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs {t.shape}"
            )
        default_mask = pellucid.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruning permanent: the parameter has its old name again, and zeros where it was masked."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _combined(method: BasePruningMethod, module: Any, name: str) -> BasePruningMethod:
    """`method` alone, or in a container behind the methods that prune the same tensor already."""
    method._tensor_name = name
    olds = [
        h for h in module._forward_pre_hooks.values() if isinstance(h, BasePruningMethod) and h._tensor_name == name
    ]
    if len(olds) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
        )
    if not olds:
        return method
    container = olds[0] if isinstance(olds[0], PruningContainer) else PruningContainer(olds[0])
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """Several methods on one tensor, each applied to what the ones before left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Append a method for the same tensor."""
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with what the last method prunes out of what is left."""
        method: Any = self._pruning_methods[-1]
        left = _what_is_left(method, t, default_mask)
        mask = default_mask.to(dtype=t.dtype).clone()
        mask[left] = method.compute_mask(t[left], default_mask[left]).to(dtype=mask.dtype)
        return mask


def _what_is_left(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The index of the elements or channels that are not masked yet, as the method's type sees them."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.dim()
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    dim = method.dim + t.dim() if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    kept = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    return tuple(kept if d == dim else slice(None) for d in range(t.dim()))


class Identity(BasePruningMethod):
    """Prunes nothing; it only gives the tensor a mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` itself."""
        return default_mask


class _ByAmount(BasePruningMethod):
    """A method that prunes a fraction, or a number, of elements or channels."""

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def _number(self, size: int) -> int:
        """How many of `size` to prune; ValueError when more are asked than there are."""
        number = self.amount if isinstance(self.amount, numbers.Integral) else round(self.amount * size)
        if number > size:
            raise ValueError(f"amount={number} should be smaller than the number of parameters to prune={size}")
        return int(number)


class RandomUnstructured(_ByAmount):
    """Prunes elements at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with that many more zeros, anywhere."""
        return _without_top(default_mask, pellucid.rand_like(t), self._number(t.nelement()), largest=True)


class L1Unstructured(_ByAmount):
    """Prunes the elements of smallest absolute value."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with that many more zeros, where the scores are smallest."""
        return _without_top(default_mask, pellucid.abs(t), self._number(t.nelement()), largest=False)


def _without_top(mask: Tensor, scores: Tensor, number: int, *, largest: bool) -> Tensor:
    mask = mask.clone(memory_format=pellucid.contiguous_format)
    if number:
        mask.view(-1)[pellucid.topk(scores.reshape(-1), k=number, largest=largest).indices] = 0
    return mask


class RandomStructured(_ByAmount):
    """Prunes whole channels along `dim` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with that many more channels of zeros, anywhere."""
        _check_structured(t, self.dim)
        number = self._number(t.shape[self.dim])
        if number == 0:
            return default_mask
        chances = pellucid.rand(t.shape[self.dim])
        kept = chances > pellucid.kthvalue(chances, k=number).values
        return _channel_mask(t, self.dim, kept, default_mask)


class LnStructured(_ByAmount):
    """Prunes the whole channels along `dim` that have the smallest n-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with that many more channels of zeros, where the norms are smallest."""
        _check_structured(t, self.dim)
        size = t.shape[self.dim]
        number = self._number(size)
        if number == 0:
            return default_mask
        dims = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = pellucid.norm(t, p=self.n, dim=dims)
        return _channel_mask(t, self.dim, pellucid.topk(norms, k=size - number, largest=True).indices, default_mask)


def _channel_mask(t: Tensor, dim: int, kept: Tensor, default_mask: Tensor) -> Tensor:
    mask = pellucid.zeros_like(t)
    index: list[Any] = [slice(None)] * t.dim()
    index[dim] = kept
    mask[tuple(index)] = 1
    return mask * default_mask.to(dtype=mask.dtype)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Both masks together."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: M, name: str) -> M:
    """Give `module.name` a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: float) -> M:
    """Mask a fraction (or number) `amount` of the elements of `module.name` at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: M, name: str, amount: float, importance_scores: Tensor | None = None) -> M:
    """Mask the fraction (or number) `amount` of the elements of `module.name` with the smallest absolute values.

    >>> import pellucid as torch
    >>> from pellucid.nn.utils import prune
    >>> layer = prune.l1_unstructured(torch.nn.Linear(2, 3), "weight", amount=2)
    >>> int((layer.weight == 0).sum()), sorted(layer.state_dict())
    (2, ['bias', 'weight_mask', 'weight_orig'])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: float, dim: int) -> M:
    """Mask a fraction (or number) `amount` of the channels of `module.name` along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: M, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None) -> M:
    """Mask the fraction (or number) `amount` of the channels of `module.name` along `dim` with the smallest n-norms."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Mask `module.name` where `mask` is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune all (module, name) of `parameters` together, as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs, known = list(parameters), importance_scores or {}
    tensors = [getattr(module, name) for module, name in pairs]
    scores = parameters_to_vector([known.get(pair, tensor) for pair, tensor in zip(pairs, tensors, strict=True)])
    masks = [
        getattr(module, name + "_mask", pellucid.ones_like(tensor))
        for (module, name), tensor in zip(pairs, tensors, strict=True)
    ]
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "all together"
    mask = PruningContainer(method).compute_mask(scores, parameters_to_vector(masks))
    for (module, name), tensor, part in zip(pairs, tensors, mask.split([t.numel() for t in tensors]), strict=True):
        custom_from_mask(module, name, mask=part.view_as(tensor))


def remove(module: M, name: str) -> M:
    """Make the pruning of `module.name` permanent."""
    hooks: Any = module._forward_pre_hooks  # type: ignore[attr-defined]
    for key, hook in hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether anything in `module` or below is pruned, and not permanently."""
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    is_number = isinstance(amount, numbers.Integral)
    if float(amount) < 0 or (not is_number and float(amount) > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _check_structured(t: Tensor, dim: int) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
