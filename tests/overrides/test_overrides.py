"""What `torch.overrides` tells about the functions that can be overridden, and that each of them really can."""

import copy
import inspect
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pellucid
from pellucid import nn, overrides
from pellucid.engine.tensor.overridable_methods import raw_entries

ROOT = Path(__file__).parents[2]
NAMESPACES = [space for space in overrides.get_overridable_functions() if not isinstance(space, property)]


class Duck:
    """No tensor; answers every function with what its stand-in returns."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return STAND_INS[func](*args, **(kwargs or {}))


class Sub(pellucid.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return STAND_INS[func](*args, **(kwargs or {}))


STAND_INS = overrides.get_testing_overrides()
DUCK, SUB = Duck(), pellucid.Tensor.as_subclass(pellucid.ones(2), Sub)
# Infix operators that overriding classes see as methods, and methods that they see as others.
SEEN_AS_OTHERS = {"__iter__", "nelement", "ndimension"}


def call_with(function, instance):
    """The function's result with one instance for each argument that has to be given."""
    args, kwargs = [], {}
    for each in inspect.signature(STAND_INS[function]).parameters.values():
        if each.kind is each.VAR_POSITIONAL:
            args += [instance, instance]
        elif each.default is each.empty and each.kind is each.KEYWORD_ONLY:
            kwargs[each.name] = instance
        elif each.default is each.empty and each.kind is not each.VAR_KEYWORD:
            args.append(instance)
    return function(*(args or ([] if kwargs else [instance])), **kwargs)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda each: each.__name__)
def test_each_overridable_function_asks(space):
    instance = SUB if space is pellucid.Tensor else DUCK
    functions = [each for each in overrides.get_overridable_functions()[space] if each.__name__ not in SEEN_AS_OTHERS]
    assert [overrides.resolve_name(each) for each in functions if call_with(each, instance) != -1] == []


def test_each_property_asks():
    for space, functions in overrides.get_overridable_functions().items():
        if isinstance(space, property):
            assert [function(SUB) for function in functions] == [-1], space.__name__
    SUB.requires_grad = True
    assert not raw_entries()["requires_grad"].fget(SUB)


def test_only_what_pytorch_overrides_can_be_overridden():
    torch = pytest.importorskip("torch")
    theirs = {each for group in torch.overrides.get_overridable_functions().values() for each in group}
    beyond = []
    for functions in overrides.get_overridable_functions().values():
        for name in map(overrides.resolve_name, functions):
            found = _found(torch, name)
            listed = callable(found) and torch.overrides.resolve_name(found)
            if listed and found not in theirs and not name.rpartition(".")[2].startswith("_"):
                beyond.append(name)
    assert beyond == []


def _found(torch, name):
    place = torch
    for part in name.split(".")[1:]:
        place = getattr(place, part, None)
    return place


def test_public_functions_are_what_they_were():
    assert pellucid.add is pellucid.add and pellucid.add.__name__ == "add" and pellucid.add is not pellucid.Tensor.add
    assert list(inspect.signature(pellucid.add).parameters) == ["input", "other", "alpha", "out"]
    for function in (
        pellucid.add,
        nn.functional.relu,
        pellucid.Tensor.add,
        pellucid.linalg.norm,
        pellucid.Tensor.__add__,
    ):
        assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function
    assert nn.functional.conv2d is pellucid.conv2d and pellucid.Tensor.add is pellucid.Tensor.add
    assert pellucid.Tensor.shape.__get__ == pellucid.Tensor.shape.__get__ and pellucid.Tensor.shape.__name__ == "shape"
    assert inspect.getsource(pellucid.add).startswith("def add(")
    with pytest.raises(TypeError, match="add"):
        pellucid.add(1)


DUCK_CLASS = "class Duck:\n  __torch_function__ = classmethod(lambda *a: 5)\n"
RAW = """
import pellucid as torch
raw = torch.Tensor.__bases__
assert len(raw) == 1
x = torch.ones(2)
{program}
print(len(torch.Tensor.__bases__))
"""


@pytest.mark.parametrize(
    ("program", "bases"),
    [
        ("torch.nn.Linear(2, 2)(x); torch.nn.LazyLinear(2)(x); isinstance(x, torch.nn.Parameter)", 1),
        (
            "M = torch.overrides.BaseTorchFunctionMode\nwith M(): assert len(torch.Tensor.__bases__) == 2",
            1,
        ),
        ("class Plain(torch.nn.Parameter): pass\nPlain(x) + 1", 1),
        ("class Own(torch.Tensor): pass", 2),
        (
            DUCK_CLASS + "assert x + Duck() == 5 and x.add(Duck()) == 5",
            2,
        ),
        (
            DUCK_CLASS + "assert torch.add(x, Duck()) == x * Duck() == 5",
            2,
        ),
    ],
)
def test_methods_are_raw_until_something_overrides(program, bases):
    found = subprocess.run(
        [sys.executable, "-c", RAW.format(program=program)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.stdout.strip() == str(bases), found.stderr


def test_the_first_method_of_a_program_says_what_to_do():
    program = DUCK_CLASS + (
        "try: x.add(Duck())\n"
        "except TypeError as error: assert 'must be Tensor, not Duck' in str(error) and 'call again' in str(error)\n"
        "assert x.add(Duck()) == 5"
    )
    found = subprocess.run(
        [sys.executable, "-c", RAW.format(program=program)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.stdout.strip() == "2", found.stderr


def test_a_mode_belongs_to_its_thread():
    seen = []

    class Logging(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Logging():
        thread = threading.Thread(target=lambda: pellucid.ones(2).add(1))
        thread.start()
        thread.join()
        assert seen == []
        pellucid.ones(2)
    assert seen == [pellucid.ones]


def test_handlers_that_are_plain_methods_are_warned_of():
    class Old:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 5

    with pytest.warns(UserWarning, match="please define it as a classmethod"):
        assert pellucid.sin(Old()) == 5


def test_nobody_answers():
    class Silent:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    for phrase in (
        "Multiple dispatch failed for 'torch.nn.functional.relu'; all __torch_function__ handlers returned",
        "no implementation found for 'torch.nn.functional.relu' on types that implement",
    ):
        with pytest.raises(TypeError, match=phrase):
            nn.functional.relu(Silent())
    with pytest.raises(TypeError, match="unsupported operand type"):
        pellucid.ones(1) + Silent()
    with pytest.raises(NotImplementedError, match="without a __torch_function__"), overrides.TorchFunctionMode():
        pellucid.ones(1)


def test_what_pellucid_does_not_have_says_so():
    class Dispatching(pellucid.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args)

    with pytest.raises(NotImplementedError, match="__torch_dispatch__"):
        pellucid.ones(1).as_subclass(Dispatching)
    with pytest.raises(NotImplementedError, match="_make_wrapper_subclass"):
        pellucid.Tensor._make_wrapper_subclass(Dispatching, (2,))


def test_subclasses_are_copied_deeply():
    class Named(pellucid.Tensor):
        pass

    x = pellucid.arange(3.0).as_subclass(Named)
    x.label = ["kept"]
    copied = copy.deepcopy([x, x])
    assert type(copied[0]) is Named and copied[0] is copied[1] and copied[0].label == ["kept"] != x.label + [""]
    assert copied[0].label is not x.label and copied[0].tolist() == [0.0, 1.0, 2.0]
    parameter = copy.deepcopy(nn.Parameter(x))
    assert type(parameter) is Named and isinstance(parameter, nn.Parameter) and parameter.requires_grad
    module = nn.Module()
    module.weight = nn.Parameter(x)
    assert list(dict(copy.deepcopy(module).named_parameters())) == ["weight"]


def test_gradients_flow_through_a_subclass():
    class Named(pellucid.Tensor):
        pass

    x = pellucid.tensor([1.0, 2.0]).as_subclass(Named).requires_grad_()
    y = (nn.functional.relu(x * 3) ** 2).sum()
    assert type(y) is Named
    y.backward()
    assert x.grad.tolist() == [18.0, 36.0] and x.grad is x.grad


def test_every_raw_method_has_a_public_form():
    for name in raw_entries():
        form = getattr(pellucid.Tensor, name)
        assert form is not raw_entries()[name] or isinstance(form, bool), name


def test_warnings_name_the_users_line():
    for run in (
        lambda: pellucid.meshgrid(pellucid.ones(2)),
        lambda: nn.functional.mse_loss(pellucid.ones(2, 1), pellucid.ones(1)),
        lambda: nn.L1Loss()(pellucid.ones(2, 1), pellucid.ones(1)),
        lambda: pellucid.add(pellucid.ones(2), 1, out=pellucid.ones(3)),
    ):
        with pytest.warns(UserWarning) as caught:
            run()
        assert caught[0].filename == __file__


def test_the_examples_of_the_page_run():
    page = (ROOT / "docs" / "extending.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    program = "\n".join(examples).replace("torch.sum(Diagonal(5, 2))", "torch.Tensor.sum")
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["torch.nn.functional.relu", "torch.Tensor.add"], found.stderr


def test_dispatch_modes_say_that_they_are_not_there():
    from pellucid.utils import _python_dispatch

    with pytest.raises(NotImplementedError, match="TorchFunctionMode"), _python_dispatch.TorchDispatchMode():
        pass
    assert not _python_dispatch.is_traceable_wrapper_subclass(SUB)
