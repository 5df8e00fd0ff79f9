"""An exception that leaves a model says which layer raised it, with what inputs, and from which line of the program."""

import pickle
import traceback
from pathlib import Path

import pytest

import pellucid
from pellucid import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(4, width)

    def forward(self, x):
        return self.fc(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4), Block(8), Block(4)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def line_of(text):
    """The number of the first line of this file that has `text`."""
    return next(i for i, line in enumerate(Path(__file__).read_text().split("\n"), 1) if text in line)


def failure(call):
    with pytest.raises(Exception) as caught:  # noqa: PT011, B017
        call()
    return caught.value


def test_the_note_names_layer_settings_inputs_and_line():
    error = failure(lambda: Net()(pellucid.ones(1, 4)))
    (note,) = error.__notes__
    assert note.startswith("In layer blocks.2.fc of Net: Linear(in_features=4, out_features=4, bias=True)")
    assert "float32[1, 8]" in note
    assert f"test_layer_note.py:{line_of('return self.fc(x)')}" in note
    assert "blocks.2.fc" in "".join(traceback.format_exception(error))


def test_there_is_one_note_however_deep():
    net = nn.Sequential(nn.Sequential(nn.Sequential(nn.Linear(2, 2))))
    error = failure(lambda: net(pellucid.ones(1, 3)))
    assert len(error.__notes__) == 1 and "In layer 0.0.0 of Sequential" in error.__notes__[0]


def test_a_module_of_the_user_shows_the_line_inside_its_forward():
    class Failing(nn.Module):
        def forward(self, x, *, scale):
            raise ValueError("own error")

    error = failure(lambda: nn.ModuleDict({"a": Failing()})["a"](pellucid.ones(2), scale=[1, None]))
    (note,) = error.__notes__
    assert note.startswith("In Failing: Failing()") and "scale=list(1, None)" in note
    assert f"test_layer_note.py:{line_of('own error')}" in note


def test_notes_of_the_program_stay():
    class Noting(nn.Module):
        def forward(self, x):
            error = ValueError("own")
            error.add_note("mine")
            raise error

    error = failure(lambda: nn.Sequential(Noting())(1))
    assert error.__notes__[0] == "mine" and error.__notes__[1].startswith("In layer 0 of Sequential")


def test_a_layer_that_is_no_child_is_named_by_itself():
    stranger = nn.Linear(2, 2)

    class Borrower(nn.Module):
        def forward(self, x):
            return stranger(x)

    error = failure(lambda: nn.Sequential(Borrower())(pellucid.ones(1, 5)))
    assert error.__notes__[0].startswith("In Linear: Linear(in_features=2")


def test_errors_without_room_for_attributes_still_come_through():
    class Closed(Exception):
        __slots__ = ()

        def add_note(self, text):
            raise RuntimeError("no notes here")

    class Failing(nn.Module):
        def forward(self):
            raise Closed

    assert type(failure(Failing())) is Closed


def test_a_caught_error_leaves_no_trace_and_the_error_pickles():
    error = failure(lambda: nn.Sequential(nn.Linear(2, 2))(pellucid.ones(1, 3)))
    assert str(pickle.loads(pickle.dumps(RuntimeError(*error.args)))) == str(error)
