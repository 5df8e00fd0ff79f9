"""The programs of this folder give the same in Pellucid and in PyTorch."""

import warnings

import pytest

import pellucid
from tests.overrides import programs, protocol_programs

torch = pytest.importorskip("torch")

PROGRAMS = [
    *[
        getattr(programs, each)
        for each in (
            "infix_operators",
            "in_place_operators",
            "properties",
            "converted_results",
            "writing",
            "copies_and_pickles",
        )
    ],
    *[
        getattr(protocol_programs, each)
        for each in (
            "scalar_tensor",
            "metadata_tensor",
            "masked_tensor",
            "precedence",
            "mode_sees_a_forward",
            "mode_sees_factories",
            "nested_modes",
            "modes_and_subclasses",
            "switched_off",
            "a_mode_that_makes_everything_double",
            "own_functions",
            "redispatched",
            "uninitialized_parameters",
            "gradients",
            "subclasses_of_subclasses",
            "subclass_layers",
            "wrapper_by_delegation",
            "ways_to_make_instances",
        )
    ],
]


def written(value):
    """A result without the words that name the framework or a number of the same process."""
    return (
        repr(value).replace("Stored_pellucid", "Stored").replace("Stored_torch", "Stored").replace("pellucid", "torch")
    )


def differences(mine, theirs):
    """Where two results differ, part by part: what a failure should print."""
    if isinstance(mine, dict) and mine.keys() == theirs.keys():
        return {key: (mine[key], theirs[key]) for key in mine if written(mine[key]) != written(theirs[key])}
    if isinstance(mine, (list, tuple)) and len(mine) == len(theirs):
        return [(a, b) for a, b in zip(mine, theirs, strict=True) if written(a) != written(b)]
    return mine, theirs


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_both_frameworks_do_the_same(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, theirs = program(pellucid), program(torch)
    assert written(mine) == written(theirs), differences(mine, theirs)
