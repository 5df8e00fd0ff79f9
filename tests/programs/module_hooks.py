"""Hooks of modules of every kind, and what they see."""


def forward_hooks(torch, show):
    layer = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.ones_(layer.weight)
    one = layer.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    two = layer.register_forward_hook(lambda m, args, out: out + 1)
    show(layer(torch.ones(1, 2)))
    one.remove()
    show(layer(torch.ones(1, 2)))
    two.remove()
    show(layer(torch.ones(1, 2)))


def forward_hooks_with_kwargs(torch, show):
    class Scale(torch.nn.Module):
        def forward(self, x, *, by=1):
            return x * by

    m = Scale()
    m.register_forward_pre_hook(lambda m, args, kwargs: (args, {"by": kwargs["by"] + 1}), with_kwargs=True)
    m.register_forward_hook(lambda m, args, kwargs, out: show(sorted(kwargs.items())) or out * 10, with_kwargs=True)
    show(m(torch.ones(2), by=2))


def order_of_hooks(torch, show):
    m = torch.nn.Identity()
    m.register_forward_hook(lambda *_: show("first"))
    m.register_forward_hook(lambda *_: show("second"))
    m.register_forward_hook(lambda *_: show("in front"), prepend=True)
    m.register_forward_pre_hook(lambda *_: show("before"))
    m(torch.ones(1))
    show(len(m._forward_hooks))


def hooks_that_always_run(torch, show):
    class Broken(torch.nn.Module):
        def forward(self, x):
            raise ValueError("broken")

    m = Broken()
    m.register_forward_hook(lambda *_: show("always"), always_call=True)
    m.register_forward_hook(lambda *_: show("never"))
    show.raises(lambda: m(1))


def full_backward_hooks(torch, show):
    layer = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    layer.register_full_backward_hook(lambda m, gi, go: show("full", gi, go))
    layer.register_full_backward_pre_hook(lambda m, go: show("pre", go))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    show(x.grad)


def full_backward_hooks_change_gradients(torch, show):
    m = torch.nn.Identity()
    m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 3,))
    m.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    x = torch.ones(2, requires_grad=True)
    m(x).sum().backward()
    show(x.grad)
    show.raises(lambda: m.register_backward_hook(print))


def global_hooks(torch, show):
    from importlib import import_module

    module = import_module(torch.__name__ + ".nn.modules.module")
    handle = module.register_module_forward_hook(lambda m, args, out: show(type(m).__name__))
    torch.nn.Sequential(torch.nn.Identity(), torch.nn.ReLU())(torch.ones(1))
    handle.remove()
    torch.nn.ReLU()(torch.ones(1))


def hooks_that_return_the_wrong_thing(torch, show):
    m = torch.nn.Identity()
    m.register_forward_pre_hook(lambda m, args, kwargs: 1, with_kwargs=True)
    show.raises(lambda: m(torch.ones(1)))
    n = torch.nn.Linear(1, 1)
    n.register_forward_pre_hook(lambda m, args: args[0] + 1)
    show(n(torch.zeros(1)).shape)


def state_dict_hooks(torch, show):
    m = torch.nn.Linear(1, 1)
    m.register_state_dict_pre_hook(lambda m, prefix, keep_vars: show("saving", prefix, keep_vars))
    m.register_state_dict_post_hook(lambda m, state, prefix, metadata: state.update(extra=torch.ones(1)))
    state = m.state_dict(prefix="p.")
    show(list(state))


def load_state_dict_hooks(torch, show):
    m = torch.nn.Linear(1, 1)
    m.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: state.update({prefix + "bias": torch.ones(1)}))
    m.register_load_state_dict_post_hook(lambda m, keys: show("loaded", keys.missing_keys, keys.unexpected_keys))
    show(m.load_state_dict({"weight": torch.zeros(1, 1)}), m.bias)


def hooks_on_registration(torch, show):
    from importlib import import_module

    module = import_module(torch.__name__ + ".nn.modules.module")
    handles = [
        module.register_module_parameter_registration_hook(lambda m, name, p: show("parameter", name)),
        module.register_module_buffer_registration_hook(lambda m, name, b: show("buffer", name)),
        module.register_module_module_registration_hook(lambda m, name, child: show("module", name)),
    ]
    m = torch.nn.BatchNorm1d(1)
    m.child = torch.nn.Identity()
    for handle in handles:
        handle.remove()


def handles_are_context_managers(torch, show):
    m = torch.nn.Identity()
    with m.register_forward_hook(lambda *_: show("inside")):
        m(torch.ones(1))
    m(torch.ones(1))
    show(len(m._forward_hooks))


def hooks_survive_copies(torch, show):
    import copy

    m = torch.nn.Identity()
    m.register_forward_hook(_loud)
    show(copy.deepcopy(m)(torch.ones(1)), len(copy.copy(m)._forward_hooks))


def _loud(module, args, out):
    return out * 7


def optimizer_hooks(torch, show):
    x = torch.nn.Parameter(torch.ones(2))
    opt = torch.optim.SGD([x], lr=0.5)
    opt.register_step_pre_hook(lambda o, args, kwargs: show("before", x.detach().clone()))
    opt.register_step_post_hook(lambda o, args, kwargs: show("after", x.detach().clone()))
    x.sum().backward()
    opt.step()
    opt.register_state_dict_post_hook(lambda o, state: show(sorted(state)))
    opt.state_dict()


def parametrizations(torch, show):
    from importlib import import_module

    parametrize = import_module(torch.__name__ + ".nn.utils.parametrize")

    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

    layer = torch.nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    show(torch.equal(layer.weight, layer.weight.mT), sorted(layer.state_dict()), parametrize.is_parametrized(layer))
    parametrize.remove_parametrizations(layer, "weight")
    show(sorted(layer.state_dict()), type(layer).__name__)


def weight_norms(torch, show):
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    show(sorted(name for name, _ in layer.named_parameters()), layer(torch.ones(1, 2)).shape)
    spectral = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(2, 2))
    show(sorted(name for name, _ in spectral.named_parameters()), sorted(n for n, _ in spectral.named_buffers()))


def pruning(torch, show):
    from importlib import import_module

    prune = import_module(torch.__name__ + ".nn.utils.prune")
    layer = torch.nn.Linear(3, 1, bias=False)
    layer.weight.data.copy_(torch.tensor([[1.0, -3.0, 2.0]]))
    prune.l1_unstructured(layer, "weight", amount=1)
    show(layer.weight, sorted(layer.state_dict()), prune.is_pruned(layer))
    prune.remove(layer, "weight")
    show(sorted(layer.state_dict()), layer.weight)
