"""The text of a failed `load_state_dict`: PyTorch's phrases, keys grouped so that it stays short, and what probably
went wrong.

What counts as missing, unexpected or mismatched is decided in state.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_LISTED_IN_FULL = 10
_SHOWN_OF_MANY = 5
_MAX_MESSAGES = 6
_MAX_HINTS = 3


def load_error(
    owner: str, missing: Sequence[str], unexpected: Sequence[str], messages: Sequence[str], *, is_untouched: bool = True
) -> str:
    """The message for a model of class `owner`; at most fifteen lines."""
    lines = []
    if missing:
        lines.append(f"Missing key(s) in state_dict: {_listed(missing)}. ")
    if unexpected:
        lines.append(f"Unexpected key(s) in state_dict: {_listed(unexpected)}. ")
    lines.extend(_shortened(messages))
    renamed = prefix_hint(missing, unexpected)
    lines.extend([renamed] if renamed else spelling_hints(missing, unexpected))
    if is_untouched:
        lines.append("Nothing was loaded: the model is as it was.")
    return "Error(s) in loading state_dict for {}:\n\t{}".format(owner, "\n\t".join(lines))


def _listed(keys: Sequence[str]) -> str:
    """The keys in quotes; of many, the first few and how many more there are in each part of the model."""
    if len(keys) <= _LISTED_IN_FULL:
        return ", ".join(f'"{key}"' for key in keys)
    shown = ", ".join(f'"{key}"' for key in keys[:_SHOWN_OF_MANY])
    rest = keys[_SHOWN_OF_MANY:]
    parts = Counter(key.split(".", 1)[0] for key in rest)
    common = [f"{part}.* ({count})" for part, count in parts.most_common(8)]
    more = "" if len(parts) <= 8 else f" and {len(parts) - 8} other parts"
    return f"{shown} and {len(rest)} more: {', '.join(common)}{more}"


def _shortened(messages: Sequence[str]) -> list[str]:
    """The first messages whole; of the rest, the keys on one line, so that every bad key is still named."""
    if len(messages) <= _MAX_MESSAGES:
        return list(messages)
    rest = messages[_MAX_MESSAGES:]
    keys = [m.removeprefix("size mismatch for ").split(":", 1)[0] for m in rest if m.startswith("size mismatch for ")]
    line = f"and {len(rest)} more"
    if keys:
        line += f", size mismatch for each of: {', '.join(keys)}"
    return [*messages[:_MAX_MESSAGES], line]


def prefix_hint(missing: Sequence[str], unexpected: Sequence[str]) -> str | None:
    """What to do when the checkpoint's keys are the model's with a prefix put in front, left out, or replaced."""
    if not missing or not unexpected:
        return None
    wanted = set(missing)
    old, new, count = _best_renaming(wanted, unexpected)
    if count < 2 and not (count == 1 and len(wanted) == len(unexpected) == 1 and (not old or not new)):
        return None
    if count * 2 <= len(wanted):
        return None
    how_many = f"all {count}" if count == len(wanted) == len(unexpected) else f"{count} of the {len(wanted)}"
    if not new:
        return (
            f'{how_many} missing keys are in the state_dict with the prefix "{old}"; '
            f'pass load_state_dict(..., strip_prefix="{old}").'
        )
    if not old:
        inner = new.removesuffix(".")
        return (
            f'{how_many} missing keys are in the state_dict without the prefix "{new}"; load into the submodule: '
            f'model.get_submodule("{inner}").load_state_dict(...).'
        )
    return (
        f'{how_many} missing keys are in the state_dict with "{old}" where the model has "{new}"; rename them: '
        f'{{key.replace("{old}", "{new}", 1): value for key, value in state_dict.items()}}.'
    )


def _best_renaming(wanted: set[str], unexpected: Sequence[str]) -> tuple[str, str, int]:
    """The pair of prefixes (old, new) for which replacing old by new turns most unexpected keys into wanted ones."""
    by_ending: dict[str, list[str]] = {}
    for key in wanted:
        by_ending.setdefault(key.rsplit(".", 1)[-1], []).append(key)
    votes: Counter[tuple[str, str]] = Counter()
    for key in unexpected[:40]:
        for candidate in by_ending.get(key.rsplit(".", 1)[-1], [])[:200]:
            votes[_differing_prefixes(key, candidate)] += 1
    best, best_count = ("", ""), 0
    for (old, new), _ in votes.most_common(5):
        renamed = {new + key[len(old) :] for key in unexpected if key.startswith(old)}
        count = len(renamed & wanted)
        if (old or new) and count > best_count:
            best, best_count = (old, new), count
    return (*best, best_count)


def _differing_prefixes(key: str, candidate: str) -> tuple[str, str]:
    """What is left at the front of both when their longest common run of trailing components is taken away."""
    ours, theirs = key.split("."), candidate.split(".")
    while ours and theirs and ours[-1] == theirs[-1]:
        ours.pop()
        theirs.pop()
    return "".join(part + "." for part in ours), "".join(part + "." for part in theirs)


def spelling_hints(missing: Sequence[str], unexpected: Sequence[str]) -> list[str]:
    """For unexpected keys that look like a missing one, which one; a few of them."""
    if not missing or not unexpected:
        return []
    import difflib

    hints = []
    for key in unexpected[:50]:
        near = difflib.get_close_matches(key, missing[:500], n=1, cutoff=0.75)
        if near:
            hints.append(f'"{key}" looks like "{near[0]}": is it a misspelling?')
        if len(hints) == _MAX_HINTS:
            break
    return hints


__all__ = ["load_error", "prefix_hint", "spelling_hints"]
