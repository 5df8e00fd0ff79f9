"""Makes damaged and hostile files: each case is a name, the file's bytes, its ending, and words that the error must
have.
"""

from __future__ import annotations

import random

from .archives import damaged_archives, lying_archives
from .build import CANARY as CANARY
from .build import Case as Case
from .calls import hostile_calls, hostile_objects
from .older import older_files
from .pickles import bombs_in_pickles, illegal_opcodes
from .safetensors import safetensors_files
from .tensors import impossible_tensors


def cases(seed: int = 0) -> list[Case]:
    """All cases, the same for the same seed."""
    chance = random.Random(seed)
    return [
        *damaged_archives(chance),
        *lying_archives(),
        *hostile_calls(),
        *hostile_objects(),
        *illegal_opcodes(),
        *bombs_in_pickles(),
        *impossible_tensors(),
        *older_files(chance),
        *safetensors_files(chance),
    ]
