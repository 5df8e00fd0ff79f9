"""Inside loading: collating, fetching, workers, random state, failures. PyTorch's names where programs use them."""

from __future__ import annotations

from pellucid.utils.data._utils import collate, failures, fetch, pin_memory, worker
from pellucid.utils.data._utils.failures import ExceptionWrapper
from pellucid.utils.data._utils.processes import MP_STATUS_CHECK_INTERVAL

__all__ = ["MP_STATUS_CHECK_INTERVAL", "ExceptionWrapper", "collate", "failures", "fetch", "pin_memory", "worker"]
