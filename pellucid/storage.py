"""`torch.storage`: re-exports by name."""

from pellucid.engine.tensor.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
