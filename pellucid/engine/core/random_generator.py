"""MT19937 as PyTorch's CPU generator keeps it: seeding, the 5056-byte state, raw 32- and 64-bit draws.

How the draws become uniforms, normals, permutations, ... is in the sibling files; `random.py` gives the overview.
NumPy's MT19937 is the engine. Its recurrence and tempering are the same, only the bookkeeping differs: PyTorch stores
`next` (index of the next word) and `left` (draws until the words are renewed, plus one), NumPy stores `pos`.
"""

from __future__ import annotations

import math
import operator
import os
import threading

import numpy as np

DEFAULT_SEED = 67280421310721  # what a fresh torch.Generator() reports
STATE_BYTES = 5056
_WORDS = 624
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal", "normal_valid", "float_normal", "float_valid"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _WORDS), "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_BYTES,
    }
)
_SMALL = 2048  # up to here random_raw with a cast beats the set-up cost of randint


class Generator:
    """A seeded MT19937 stream with PyTorch's state layout; `lock` is held while a stream function draws."""

    __slots__ = ("__weakref__", "_at_start", "_engine", "_seed", "_seeder", "float_normal", "lock", "next_normal")

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self.lock = threading.Lock()
        self.next_normal: float | None = None  # second half of the last double Box-Muller pair
        self.float_normal: float | None = None  # never produced on the CPU; kept because the state format has it
        self._engine: np.random.MT19937 | None = None
        self._reset(seed)

    def _reset(self, seed: int) -> None:
        self._seed = seed
        if self._engine is not None:
            self._seeder.seed(seed & 0xFFFFFFFF)
        self._at_start = True
        self.next_normal = None
        self.float_normal = None

    def _started(self) -> np.random.MT19937:
        """The engine, which is made on first use: numpy.random is a fifth of the time that importing NumPy takes."""
        if self._engine is None:
            self._engine = np.random.MT19937(0)
            # An integer seed of RandomState is Knuth's initialisation of the 624 words, as in PyTorch, which also lets
            # only 32 bits of the seed in.
            self._seeder = np.random.RandomState(self._engine)
            self._seeder.seed(self._seed & 0xFFFFFFFF)
        return self._engine

    def _set_words(self, words: np.ndarray, position: int) -> None:
        self._started().state = {"bit_generator": "MT19937", "state": {"key": words, "pos": position}}

    def manual_seed(self, seed: int) -> Generator:
        """Restarts the stream at `seed` (-2**63 .. 2**64 - 1, negative values wrap) and returns the generator."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(
                f"manual_seed expected a long, but got {type(seed).__name__}; pass an int, for example int(seed)"
            )
        seed = operator.index(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: seed {seed} is outside [-2**63, 2**64 - 1]")
        with self.lock:
            self._reset(seed % 2**64)
        return self

    def seed(self) -> int:
        """Seeds from the operating system's entropy and returns the seed used."""
        seed = int.from_bytes(os.urandom(8))
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed of the last `manual_seed` or `seed`."""
        return self._seed

    def get_state(self) -> np.ndarray:
        """The state as 5056 fresh uint8 values, laid out as PyTorch's CPU generator state."""
        with self.lock:
            engine = self._started().state["state"]
            state = np.zeros(1, _STATE)
            position = int(engine["pos"])
            state["seed"] = self._seed
            state["seeded"] = 1
            state["left"] = 1 if self._at_start else 1 + _WORDS - position
            state["next"] = 0 if self._at_start else position
            state["words"] = engine["key"]
            if self.next_normal is not None:
                state["normal"], state["normal_valid"] = self.next_normal, 1
            if self.float_normal is not None:
                state["float_normal"], state["float_valid"] = self.float_normal, 1
        return state.view(np.uint8)

    def set_state(self, state: np.ndarray) -> Generator:
        """Continues from a state that `get_state`, here or in PyTorch, returned."""
        state = np.ascontiguousarray(state)
        if state.dtype != np.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, but its dtype is {state.dtype}")
        if state.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be "
                f"{state.size}"
            )
        fields = state.reshape(-1).view(_STATE)[0]
        left, following = int(fields["left"]), int(fields["next"])
        at_start = left == 1 and following == 0
        if not fields["seeded"] or not (at_start or (left + following == _WORDS + 1 and 0 < left <= _WORDS)):
            raise RuntimeError("Invalid mt19937 state: it was not saved by a seeded CPU generator")
        with self.lock:
            self._seed = int(fields["seed"])
            self._set_words(fields["words"].astype(np.uint32), _WORDS if at_start else following)
            self._at_start = at_start
            self.next_normal = float(fields["normal"]) if fields["normal_valid"] else None
            self.float_normal = float(fields["float_normal"]) if fields["float_valid"] else None
        return self

    def clone_state(self) -> Generator:
        """An independent generator that continues exactly as this one would."""
        clone = type(self)()
        Generator.set_state(clone, Generator.get_state(self))
        return clone

    def random32(self, count: int) -> np.ndarray:
        """The next `count` 32-bit draws as uint32; the caller holds `lock`."""
        if count:
            self._at_start = False
        engine = self._started()
        if count <= _SMALL:
            return engine.random_raw(count).astype(np.uint32)
        return self._seeder.randint(0, 2**32, count, dtype=np.uint32)

    def random64(self, count: int) -> np.ndarray:
        """The next `count` 64-bit draws as uint64, two 32-bit draws each, high word first; the caller holds `lock`."""
        halves = self.random32(2 * count).reshape(count, 2)
        wide = halves[:, 0].astype(np.uint64)
        wide <<= np.uint64(32)
        wide |= halves[:, 1]
        return wide

    def skip(self, count: int) -> None:
        """Drops the next `count` 32-bit draws; the caller holds `lock`."""
        if count:
            self._at_start = False
            self._started().random_raw(count, output=False)


class DrawAhead:
    """Uniforms and normals one by one, for samplers that cannot know beforehand how many they need.

    Draws are fetched in blocks from a private copy of the engine; leaving the `with` block moves the generator itself
    by what was really used. The generator's lock is held meanwhile.
    """

    __slots__ = ("_block", "_copy", "_generator", "_used", "_values")

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._copy = np.random.MT19937(0)
        self._values = iter(())
        self._block = 32
        self._used = 0

    def __enter__(self) -> DrawAhead:
        self._generator.lock.acquire()
        self._copy.state = self._generator._started().state
        return self

    def __exit__(self, *exception: object) -> None:
        self._generator.skip(self._used)
        self._generator.lock.release()

    def _refill(self) -> float:
        self._block = min(4 * self._block, 1 << 16)
        halves = self._copy.random_raw(2 * self._block).reshape(-1, 2)
        wide = ((halves[:, 0] & np.uint64(0x1FFFFF)) << np.uint64(32)) | halves[:, 1]
        self._values = iter((wide * 2.0**-53).tolist())
        return next(self._values)

    def uniform(self) -> float:
        """The next double in [0, 1), from two 32-bit draws."""
        self._used += 2
        value = next(self._values, None)
        return self._refill() if value is None else value

    def normal(self) -> float:
        """The next standard normal: the generator's kept half of a Box-Muller pair, or a new pair."""
        generator = self._generator
        value = generator.next_normal
        if value is not None:
            generator.next_normal = None
            return value
        angle = 2.0 * math.pi * self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        generator.next_normal = radius * math.sin(angle)
        return radius * math.cos(angle)


default_generator = Generator(int.from_bytes(os.urandom(8)))
