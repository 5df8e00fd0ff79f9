"""Walking a tree of modules: its parameters, buffers and submodules, each object once, by dotted name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pellucid import Tensor
from pellucid.nn.parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


class Traversal:
    """The part of `Module` that lists and looks up what a module holds."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Any] = set()
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for owner_name, owner in owners:
            start = owner_name + "." if owner_name else ""
            for name, member in get_members_fn(owner):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield start + name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every parameter once, own ones first; what an optimizer is given.

        >>> import pellucid as torch
        >>> [tuple(p.shape) for p in torch.nn.Linear(2, 3).parameters()]
        [(3, 2), (3,)]
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Every parameter with its dotted name; a shared one under its first name, or under all with
        `remove_duplicate=False`.
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer once, persistent or not."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Every buffer with its dotted name."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names, each once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, parents before children, each once unless `remove_duplicate=False`."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module, named `prefix`, and all below it with their dotted names.

        >>> import pellucid as torch
        >>> [name for name, _ in torch.nn.Sequential(torch.nn.ReLU()).named_modules()]
        ['', '0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self  # type: ignore[misc]
        start = prefix + "." if prefix else ""
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, start + name, remove_duplicate)

    def get_submodule(self, target: str) -> Module:
        """The submodule with the dotted name `target`; AttributeError when there is none."""
        found: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{found._get_name()} has no attribute `{name}`")
            found = getattr(found, name)
            if not isinstance(found, Traversal):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at the dotted name `target`; with `strict` there must be one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Traversal):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if hasattr(parent, name):
            if not isinstance(getattr(parent, name), Traversal):
                raise AttributeError(f"`{name}` is not an nn.Module")
        elif strict:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted name `target`; AttributeError when there is none."""
        owner, name, found = self._get_attribute(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with the dotted name `target`; AttributeError when there is none."""
        owner, name, found = self._get_attribute(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _get_attribute(self, target: str) -> tuple[Module, str, Any]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name, getattr(owner, name)


__all__ = ["Traversal"]
