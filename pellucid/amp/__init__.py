"""`torch.amp`: the names of automatic mixed precision. Only what is disabled can be used yet; the rest raises when it
is made.
"""

from pellucid.amp.autocast_mode import autocast, is_autocast_available
from pellucid.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "is_autocast_available"]
