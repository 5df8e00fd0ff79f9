"""Checkpoints of a training run: everything that is needed to go on as if nothing had happened, and which files to
keep.

The files are those of `save`, so PyTorch opens them too.
"""

from __future__ import annotations

import math
import os
import pickle
import random
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pellucid
from pellucid.engine.export.allowed import permitted_names
from pellucid.engine.export.atomic import remove_leftovers
from pellucid.engine.export.pickle_reader import safe_table
from pellucid.engine.export.pickle_scan import scan
from pellucid.engine.export.torch_file import take_apart
from pellucid.serialization import get_safe_globals, load, location_tag, save

__all__ = ["Checkpoint", "CheckpointManager"]

_FORMAT = "pellucid-checkpoint-1"
_DAMAGE = (RuntimeError, ValueError, EOFError, OSError, pickle.UnpicklingError)


class Checkpoint(NamedTuple):
    """What `restore` found: the file, how far the run had come, its metrics, and what was saved as `extra`."""

    path: Path
    step: int
    epoch: int | None
    metrics: dict[str, float]
    extra: Any


class CheckpointManager:
    """Saves a training run into a folder, keeps the newest and the best files, and takes the run up again.

    Of all files the `keep_last` newest are kept (None keeps all) and the `keep_best` with the lowest (`mode="min"`) or
    highest (`mode="max"`) value of `metric`. A file that was damaged is skipped with a warning when a run is restored.

    >>> import tempfile, pellucid as torch
    >>> model = torch.nn.Linear(2, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manager = CheckpointManager(folder, keep_last=2, metric="val_loss")
    ...     for step, loss in enumerate([0.5, 0.2, 0.4, 0.3]):
    ...         _ = manager.save(step, model=model, metrics={"val_loss": loss})
    ...     print([path.name for path in manager.checkpoints()], manager.best().name)
    ...     print(manager.restore(model=model).step)
    ['checkpoint-00000001.pt', 'checkpoint-00000002.pt', 'checkpoint-00000003.pt'] checkpoint-00000001.pt
    3
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        keep_last: int | None = 3,
        keep_best: int = 1,
        metric: str | None = None,
        mode: str = "min",
        prefix: str = "checkpoint",
    ) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', got {mode!r}")
        if keep_last is not None and keep_last < 1:
            raise ValueError(f"keep_last must be at least 1, or None to keep all, got {keep_last}")
        if keep_best < 0:
            raise ValueError(f"keep_best must not be negative, got {keep_best}")
        if not prefix or os.path.basename(prefix) != prefix:
            raise ValueError(f"prefix must be the beginning of a file name, got {prefix!r}")
        self.folder = Path(folder)
        self.keep_last = keep_last
        self.keep_best = keep_best
        self.metric = metric
        self.mode = mode
        self.prefix = prefix
        self._name = re.compile(rf"^{re.escape(prefix)}-(\d{{8,}})\.pt$")
        self._known: dict[str, tuple[tuple[int, int], float | None]] = {}
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.folder)

    # -- saving -------------------------------------------------------------------------------------------------

    def save(
        self,
        step: int,
        *,
        epoch: int | None = None,
        model: Any = None,
        optimizer: Any = None,
        scheduler: Any = None,
        scaler: Any = None,
        ema: Any = None,
        metrics: Mapping[str, Any] | float | None = None,
        extra: Any = None,
    ) -> Path:
        """Write the state of a run at `step`, delete what need not be kept, and return the new file's path.

        Each object has `state_dict`, or is a list or dictionary of such objects. `extra` holds plain data and tensors,
        for example a sampler's position. The states of the random generators of Python, NumPy and Pellucid are saved
        too.
        """
        if step < 0:
            raise ValueError(f"step must not be negative, got {step}")
        objects = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, "ema": ema}
        content = {
            "format": _FORMAT,
            "step": int(step),
            "epoch": None if epoch is None else int(epoch),
            "metrics": self._as_metrics(metrics),
            "state": {name: _state_of(value) for name, value in objects.items() if value is not None},
            "rng": random_states(),
            "extra": extra,
        }
        _check_loadable(content)
        path = self.folder / f"{self.prefix}-{step:08d}.pt"
        save(content, path)
        self._remember(path, content["metrics"])
        self._delete_old()
        return path

    def _as_metrics(self, metrics: Mapping[str, Any] | float | None) -> dict[str, float]:
        if metrics is None:
            return {}
        if not isinstance(metrics, Mapping):
            metrics = {self.metric or "metric": metrics}
        values = {str(name): float(value) for name, value in metrics.items()}
        if self.metric is not None and self.metric not in values:
            raise ValueError(
                f"metrics has no {self.metric!r}, by which the best checkpoint is chosen; it has {sorted(values)}"
            )
        return values

    def _delete_old(self) -> None:
        paths = self.checkpoints()
        kept = set(paths if self.keep_last is None else paths[-self.keep_last :]) | set(self._best(self.keep_best))
        for path in paths:
            if path not in kept:
                path.unlink(missing_ok=True)

    # -- looking ------------------------------------------------------------------------------------------------

    def checkpoints(self) -> list[Path]:
        """All checkpoint files of this folder and prefix, the oldest step first."""
        found = [(int(match[1]), name) for name in os.listdir(self.folder) if (match := self._name.match(name))]
        return [self.folder / name for _, name in sorted(found)]

    def latest(self) -> Path | None:
        """The file with the highest step, or None."""
        paths = self.checkpoints()
        return paths[-1] if paths else None

    def best(self) -> Path | None:
        """The file with the best value of `metric` (the oldest of equals), or None where no file has one."""
        return next(iter(self._best(1)), None)

    def _best(self, count: int) -> list[Path]:
        if self.metric is None or count == 0:
            return []
        sign = 1 if self.mode == "min" else -1
        valued = [(sign * value, position, path) for position, path in enumerate(self.checkpoints())
                  if (value := self._metric_of(path)) is not None]  # fmt: skip
        return [path for _, _, path in sorted(valued)[:count]]

    def _metric_of(self, path: Path) -> float | None:
        """The metric in a file, without reading its tensors; None where there is none, it is NaN, or the file is
        damaged.
        """
        known = self._known.get(path.name)
        try:
            if known is None or known[0] != _identity(path):
                content = load(path, map_location="meta")
                self._remember(path, content["metrics"] if _is_checkpoint(content) else {})
        except _DAMAGE:
            return None
        return self._known[path.name][1]

    def _remember(self, path: Path, metrics: Mapping[str, float]) -> None:
        value = metrics.get(self.metric) if self.metric is not None else None
        self._known[path.name] = (_identity(path), None if value is None or math.isnan(value) else value)

    # -- restoring ----------------------------------------------------------------------------------------------

    def restore(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        model: Any = None,
        optimizer: Any = None,
        scheduler: Any = None,
        scaler: Any = None,
        ema: Any = None,
        map_location: Any = None,
        random_state: bool = True,
    ) -> Checkpoint | None:
        """Put a checkpoint's state into the objects given, and into the random generators unless told otherwise.

        Without `path` the newest readable file is taken, and a warning names each one that was skipped; None is
        returned
        where the folder has none. Nothing is changed unless the whole file could be read.
        """
        objects = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, "ema": ema}
        if path is not None:
            chosen = Path(path)
            content = _read(chosen, map_location)
        else:
            found = self._newest_readable(map_location)
            if found is None:
                return None
            chosen, content = found
        wanted = {name: value for name, value in objects.items() if value is not None}
        missing = sorted(set(wanted) - set(content["state"]))
        if missing:
            raise RuntimeError(
                f"{chosen} has no state for {', '.join(missing)}; it has "
                f"{', '.join(sorted(content['state'])) or 'none'}. "
                "Leave out what was not saved."
            )
        for name, value in wanted.items():
            _load_into(value, content["state"][name], name)
        if random_state:
            set_random_states(content["rng"])
        return Checkpoint(chosen, content["step"], content["epoch"], content["metrics"], content["extra"])

    def _newest_readable(self, map_location: Any) -> tuple[Path, dict[str, Any]] | None:
        paths = self.checkpoints()
        for path in reversed(paths):
            try:
                return path, _read(path, map_location)
            except _DAMAGE as error:
                warnings.warn(
                    f"the checkpoint {path} cannot be read and is skipped: {error!s:.300}", UserWarning, stacklevel=3
                )
        if paths:
            raise RuntimeError(
                f"none of the {len(paths)} checkpoints in {self.folder} can be read; the warnings say why"
            )
        return None


def _identity(path: Path) -> tuple[int, int]:
    """What changes when a file is replaced."""
    facts = path.stat()
    return facts.st_mtime_ns, facts.st_size


def _is_checkpoint(content: Any) -> bool:
    return isinstance(content, dict) and content.get("format") == _FORMAT


def _read(path: Path, map_location: Any) -> dict[str, Any]:
    content = load(path, map_location=map_location)
    if not _is_checkpoint(content):
        raise RuntimeError(f"{path} is not a checkpoint of CheckpointManager; read it with load()")
    return content


def _state_of(value: Any) -> Any:
    """The state of an object, or of all objects in a list or dictionary."""
    if hasattr(value, "state_dict"):
        return value.state_dict()
    if isinstance(value, Mapping):
        return {name: _state_of(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_state_of(each) for each in value]
    raise TypeError(f"{type(value).__name__} has no state_dict(); put plain data into extra=")


def _load_into(value: Any, state: Any, name: str) -> None:
    if hasattr(value, "load_state_dict"):
        value.load_state_dict(state)
    elif isinstance(value, Mapping):
        if set(value) != set(state):
            raise RuntimeError(f"{name} was saved with the keys {sorted(state)}, and is restored into {sorted(value)}")
        for key, each in value.items():
            _load_into(each, state[key], f"{name}[{key!r}]")
    else:
        if len(value) != len(state):
            raise RuntimeError(f"{name} was saved as {len(state)} objects, and is restored into {len(value)}")
        for position, each in enumerate(value):
            _load_into(each, state[position], f"{name}[{position}]")


def _check_loadable(content: Any) -> None:
    """Refuse what `load` would refuse, now that it can still be repaired."""
    pickled = take_apart(content, 2, pickle, location_tag)
    foreign = sorted(scan(pickled.content).globals - permitted_names() - set(safe_table(get_safe_globals())))
    if foreign:
        raise TypeError(
            f"the checkpoint would contain {', '.join(foreign)}, which load() refuses to read without trust. Save "
            "plain numbers, "
            "strings, lists, dictionaries and tensors, or call torch.serialization.add_safe_globals first."
        )


# -- random generators ----------------------------------------------------------------------------------------------


def random_states() -> dict[str, Any]:
    """The states of the global generators of Python, NumPy and Pellucid, as plain data and a tensor."""
    import numpy

    name, key, position, has_gauss, cached = numpy.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": (str(name), [int(word) for word in key], int(position), int(has_gauss), float(cached)),
        "pellucid": pellucid.get_rng_state(),
    }


def set_random_states(states: dict[str, Any]) -> None:
    """Put the global generators back into states that `random_states` returned."""
    import numpy

    version, internal, gauss = states["python"]
    random.setstate((version, tuple(internal), gauss))
    name, key, position, has_gauss, cached = states["numpy"]
    numpy.random.set_state((name, numpy.array(key, numpy.uint32), position, has_gauss, cached))
    pellucid.set_rng_state(states["pellucid"].cpu())
