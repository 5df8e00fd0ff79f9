"""From a pickle's bytes to objects: with our restricted unpickler, or with a pickle module for files that are
trusted.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

from pellucid.engine.export import names
from pellucid.engine.export.pickle_reader import RestrictedUnpickler


class HowToUnpickle(NamedTuple):
    """The reader's choices: no trust at all, or a pickle module with its keyword arguments."""

    weights_only: bool
    pickle_module: Any
    safe_globals: dict[str, Any]
    load_arguments: dict[str, Any]


def unpickle(content: bytes, how: HowToUnpickle, persistent_load: Callable[[Any], Any], source: str) -> Any:
    """The object in a pickle."""
    if how.weights_only:
        reader = RestrictedUnpickler(
            content,
            persistent_load=persistent_load,
            safe_globals=how.safe_globals,
            encoding=how.load_arguments.get("encoding", "utf-8"),
            source=source,
        )
        return reader.load()
    unpickler = _trusting(how.pickle_module, persistent_load)
    return unpickler(io.BytesIO(content), **how.load_arguments).load()


def _trusting(pickle_module: Any, persistent_load: Callable[[Any], Any]) -> type[Any]:
    """An unpickler that runs whatever the file says, with PyTorch's names looked up in Pellucid."""

    base: Any = pickle_module.Unpickler

    class TorchUnpickler(base):
        def persistent_load(self, identity: Any) -> Any:
            return persistent_load(identity)

        def find_class(self, module: str, name: str) -> Any:
            if names.is_torch_module(module):
                return names.resolve(module, name)
            return super().find_class(module, name)

    return TorchUnpickler
