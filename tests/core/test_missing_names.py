"""Names that Pellucid does not have: an AttributeError that says so, and what is nearest."""

from __future__ import annotations

from pathlib import Path

import pytest

import pellucid
from pellucid.late_names import ABSENT, SUBMODULES


@pytest.mark.parametrize("name", sorted(ABSENT))
def test_what_is_not_there_yet_says_so(name: str) -> None:
    assert not hasattr(pellucid, name)
    with pytest.raises(AttributeError, match=f"torch.{name} is not in Pellucid yet"):
        getattr(pellucid, name)


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"did you mean torch\.softmax\?"):
        pellucid.sofmax  # noqa: B018
    with pytest.raises(AttributeError, match="Pellucid does not have torch.quaternions$"):
        pellucid.quaternions  # noqa: B018


def test_every_submodule_that_is_listed_exists() -> None:
    folder = Path(pellucid.__file__).parent
    missing = [each for each in SUBMODULES if not (folder / each).is_dir() and not (folder / f"{each}.py").exists()]
    assert not missing
