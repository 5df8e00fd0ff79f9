"""`torch.signal`: window functions."""

from pellucid.signal import windows as windows

__all__ = ["windows"]
