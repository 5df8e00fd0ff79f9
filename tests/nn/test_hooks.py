"""Hooks of forward and backward: their order, what they may replace, and that errors do not stop those that always
run.
"""

import warnings

import pytest

import pellucid

from .oracle import torch

FRAMEWORKS = [torch, pellucid]


def run_everything(framework):
    """The order of calls of every kind of hook in one forward and backward, as text."""
    log = []
    registry = framework.nn.modules.module
    net = framework.nn.Sequential(framework.nn.Linear(2, 2), framework.nn.Tanh())

    def note(text):
        return lambda *args, **kwargs: log.append(text)

    handles = [
        net[0].register_forward_pre_hook(note("pre second")),
        net[0].register_forward_pre_hook(note("pre first"), prepend=True),
        net[0].register_forward_hook(note("post")),
        net[0].register_forward_hook(note("post with kwargs"), with_kwargs=True),
        net[0].register_forward_hook(note("post first"), prepend=True),
        net[0].register_full_backward_pre_hook(note("backward pre")),
        net[0].register_full_backward_hook(note("backward")),
        net[0].register_full_backward_hook(note("backward first"), prepend=True),
        registry.register_module_forward_pre_hook(note("global pre")),
        registry.register_module_forward_hook(note("global post")),
    ]
    x = framework.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    for handle in handles:
        handle.remove()
    net(x)
    return log


def test_order_of_all_hooks():
    assert run_everything(pellucid) == run_everything(torch)


def test_hooks_replace_arguments_and_outputs():
    results = []
    for framework in FRAMEWORKS:
        layer = framework.nn.Identity()
        layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
        layer.register_forward_pre_hook(lambda module, args, kwargs: ((args[0] * 3,), kwargs), with_kwargs=True)
        layer.register_forward_hook(lambda module, args, output: output + args[0])
        results.append(float(layer(framework.tensor(2.0))))
    assert results == [18.0, 18.0]
    layer.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple of"):
        layer(pellucid.tensor(1.0))


def backward_values(framework):
    """Gradients that hooks see and leave behind when each replaces what it gets."""
    seen = []
    layer = framework.nn.Bilinear(1, 1, 1, bias=False)
    framework.nn.init.constant_(layer.weight, 2.0)

    def on_output(module, grad_output):
        seen.append(("pre", [float(g) for g in grad_output]))
        return (grad_output[0] * 10,)

    def on_input(module, grad_input, grad_output):
        seen.append(("post", [float(g) for g in grad_input], [float(g) for g in grad_output]))
        return grad_input[0] + 1, grad_input[1]

    layer.register_full_backward_pre_hook(on_output)
    layer.register_full_backward_hook(on_input)
    a = framework.tensor([[3.0]], requires_grad=True)
    b = framework.tensor([[5.0]], requires_grad=True)
    layer(a, b).sum().backward()
    return seen, float(a.grad), float(b.grad), float(layer.weight.grad)


def test_backward_hooks_see_and_replace_gradients():
    assert backward_values(pellucid) == backward_values(torch)


def test_backward_hook_on_a_module_whose_inputs_need_no_gradient():
    for framework in FRAMEWORKS:
        seen = []
        layer = framework.nn.Linear(1, 1)
        layer.register_full_backward_hook(lambda module, gi, go, seen=seen: seen.append((gi, len(go))))
        with pytest.warns(UserWarning, match="Full backward hook is firing"):
            layer(framework.ones(1, 1)).sum().backward()
        assert seen == [((None,), 1)] and float(layer.weight.grad) == 1


def test_backward_hooks_return_as_many_gradients_as_there_are():
    layer = pellucid.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda module, gi, go: (gi[0], gi[0]))
    with pytest.raises(
        RuntimeError, match="Backward hook returned an invalid number of grad_input, got 2, but expected 1"
    ):
        layer(pellucid.ones(1, 1, requires_grad=True)).sum().backward()
    layer = pellucid.nn.Linear(1, 1)
    layer.register_full_backward_pre_hook(lambda module, go: (go[0], go[0]))
    with pytest.raises(RuntimeError, match="Backward pre hook returned an invalid number of grad_output"):
        layer(pellucid.ones(1, 1, requires_grad=True)).sum().backward()


def test_inputs_that_are_no_tensors_are_none_in_backward_hooks():
    class Scale(pellucid.nn.Module):
        def forward(self, x, factor):
            return x * factor

    seen = []
    layer = Scale()
    layer.register_full_backward_hook(lambda module, gi, go: seen.append([g is None for g in gi]))
    layer(pellucid.ones(1, requires_grad=True), 3.0).sum().backward()
    assert seen == [[False, True]]


def test_full_and_regular_backward_hooks_do_not_mix():
    layer = pellucid.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_backward_hook(lambda *args: None)


def test_regular_backward_hooks_see_the_last_operator():
    for framework in FRAMEWORKS:
        seen = []
        layer = framework.nn.Tanh()
        layer.register_backward_hook(
            lambda module, gi, go, seen=seen: seen.append((type(module).__name__, float(go[0])))
        )
        layer(framework.zeros(1, requires_grad=True)).sum().backward()
        assert seen == [("Tanh", 1.0)]


def test_hooks_that_always_run_do_so_when_forward_raises():
    class Failing(pellucid.nn.Module):
        def forward(self, x):
            raise KeyError("inside")

    seen = []
    layer = Failing()
    layer.register_forward_hook(lambda module, args, output: seen.append("normal"))
    layer.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    layer.register_forward_hook(lambda module, args, output: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="raised an exception that was silenced"), pytest.raises(KeyError):
        layer(pellucid.ones(1))
    assert seen == [None]


def test_a_handle_removes_once_and_works_as_a_context():
    layer = pellucid.nn.Identity()
    with layer.register_forward_hook(lambda *args: args[-1] + 1) as handle:
        assert float(layer(pellucid.zeros(()))) == 1
    assert float(layer(pellucid.zeros(()))) == 0
    handle.remove()
    assert not layer._forward_hooks


def test_a_hook_may_remove_itself():
    layer = pellucid.nn.Identity()
    calls = []

    def once(module, args, output):
        calls.append(1)
        handle.remove()

    handle = layer.register_forward_hook(once)
    layer(1)
    layer(1)
    assert calls == [1]


def test_calls_without_hooks_go_straight_to_forward():
    layer = pellucid.nn.Identity()
    frames = []

    class Probe:
        def __add__(self, other):
            import traceback

            frames.extend(frame.name for frame in traceback.extract_stack()[-3:])
            return self

    layer.forward = lambda x: x + 1
    with warnings.catch_warnings():
        layer(Probe())
    assert frames == ["__call__", "<lambda>", "__add__"]
