"""`Module`: what assignment registers, what traversal lists, conversion, printing, pickling."""

import copy
import pickle

import pytest

import pellucid
from pellucid import nn

from .oracle import torch

FRAMEWORKS = [torch, pellucid]


class Child(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.register_buffer("seen", pellucid.zeros(1))
        self.register_buffer("scratch", pellucid.zeros(1), persistent=False)

    def forward(self, x):
        return self.fc(x)


def test_assignment_moves_a_name_between_the_tables():
    module = nn.Module()
    module.x = 1
    module.x = nn.Parameter(pellucid.ones(1))
    assert "x" in module._parameters and "x" not in module.__dict__
    with pytest.raises(
        TypeError, match=r"cannot assign 'int' as parameter 'x' \(torch.nn.Parameter or None expected\)"
    ):
        module.x = 3
    module.x = None
    assert module.x is None and list(module.parameters()) == []
    module.y = nn.Linear(1, 1)
    with pytest.raises(TypeError, match="as child module 'y'"):
        module.y = 3
    module.y = nn.Parameter(pellucid.ones(1))
    assert "y" not in module._modules
    module.b = nn.Buffer(pellucid.ones(1), persistent=False)
    assert "b" in module._buffers and "b" in module._non_persistent_buffers_set
    module.b = pellucid.zeros(2)
    assert module._buffers["b"].shape == (2,) and "b" in module._non_persistent_buffers_set
    with pytest.raises(TypeError, match="as buffer 'b'"):
        module.b = "text"
    del module.b
    assert "b" not in module._non_persistent_buffers_set
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'b'"):
        module.b  # noqa: B018


@pytest.mark.parametrize("register", ["register_buffer", "register_parameter", "add_module"])
@pytest.mark.parametrize("name, kind", [("", KeyError), ("a.b", KeyError), ("training", KeyError), (3, TypeError)])
def test_names_that_cannot_be_registered(register, name, kind):
    for framework in FRAMEWORKS:
        with pytest.raises(kind):
            getattr(framework.nn.Module(), register)(name, None)


def test_registration_before_init_is_refused():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(pellucid.ones(1))

    with pytest.raises(AttributeError, match="cannot assign parameters before Module.__init__"):
        Early()


def test_a_computed_tensor_is_no_parameter():
    module = nn.Module()
    with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' object to parameter 'w'"):
        module.register_parameter("w", pellucid.ones(1))
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        nn.Module(size=3)
    with pytest.raises(TypeError, match="takes 1 positional argument but 3 were given"):
        nn.Module(1, 2)


def test_forward_is_required():
    with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'):
        nn.Module()(1)


def test_traversal_lists_each_object_once_under_its_first_name():
    child = Child()
    net = nn.Sequential(child, child)
    net.tied = child.fc.weight
    assert [name for name, _ in net.named_parameters()] == ["tied", "0.fc.bias"]
    every = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert every == ["tied", "0.fc.weight", "0.fc.bias", "1.fc.weight", "1.fc.bias"]
    assert [name for name, _ in net.named_modules()] == ["", "0", "0.fc"]
    assert [name for name, _ in net.named_buffers()] == ["0.seen", "0.scratch"]
    assert [name for name, _ in net.named_children()] == ["0"]
    assert len(list(net.modules(remove_duplicate=False))) == 5
    assert [name for name, _ in net.named_parameters(prefix="net", recurse=False)] == ["net.tied"]


def test_lookup_by_dotted_name():
    net = nn.Sequential(Child())
    assert net.get_submodule("") is net and net.get_submodule("0.fc") is net[0].fc
    assert net.get_parameter("0.fc.bias") is net[0].fc.bias
    assert net.get_buffer("0.seen") is net[0].seen
    for call in (
        lambda: net.get_submodule("0.nothing"),
        lambda: net.get_submodule("0.seen"),
        lambda: net.get_parameter("0.seen"),
        lambda: net.get_buffer("0.fc.bias"),
    ):
        with pytest.raises(AttributeError):
            call()
    net.set_submodule("0.fc", nn.Identity())
    assert isinstance(net[0].fc, nn.Identity)
    with pytest.raises(AttributeError, match="has no attribute `other`"):
        net.set_submodule("0.other", nn.Identity(), strict=True)
    with pytest.raises(ValueError, match="without a target name"):
        net.set_submodule("", nn.Identity())


def test_modes_and_requires_grad_reach_the_whole_tree():
    net = nn.Sequential(Child(), nn.Dropout())
    assert net.eval() is net and not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        net.train(1)
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_zero_grad_drops_or_fills():
    layer = nn.Linear(1, 1)
    layer(pellucid.ones(1)).sum().backward()
    layer.zero_grad(set_to_none=False)
    assert float(layer.weight.grad) == 0
    layer.zero_grad()
    assert layer.weight.grad is None


def test_apply_goes_children_first():
    order = []
    nn.Sequential(nn.Sequential(nn.ReLU()), nn.Tanh()).apply(lambda module: order.append(type(module).__name__))
    assert order == ["ReLU", "Sequential", "Tanh", "Sequential"]


def test_conversion_keeps_the_parameter_and_casts_its_gradient():
    net = Child()
    net.register_buffer("count", pellucid.tensor(3))
    weight = net.fc.weight
    net(pellucid.ones(1, 2)).sum().backward()
    assert net.double() is net and net.fc.weight is weight
    assert weight.dtype is pellucid.float64 and weight.grad.dtype is pellucid.float64
    assert net.seen.dtype is pellucid.float64 and net.count.dtype is pellucid.int64
    assert weight.requires_grad and weight.is_leaf
    for name in ("float", "half", "bfloat16"):
        getattr(net, name)()
    assert weight.dtype is pellucid.bfloat16
    net.to("cpu", pellucid.float32)
    assert weight.dtype is pellucid.float32
    assert net.to(pellucid.ones(1, dtype=pellucid.float64)).fc.weight.dtype is pellucid.float64
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        net.to(pellucid.int64)
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        net.to("cpu", "cpu")


def test_meta_modules_take_memory_later():
    layer = nn.Linear(2, 3, device="meta")
    assert layer.weight.is_meta
    with pytest.raises(NotImplementedError, match="use torch.nn.Module.to_empty"):
        layer.to("cpu")
    layer.to_empty(device="cpu")
    assert not layer.weight.is_meta and layer.weight.shape == (3, 2)


def test_copies_share_nothing_and_keep_ties():
    net = Child()
    net.tied = net.fc.weight
    twin = copy.deepcopy(net)
    assert twin.tied is twin.fc.weight and twin.tied is not net.tied
    assert isinstance(twin.fc.weight, nn.Parameter) and twin.fc.weight.requires_grad
    with pellucid.no_grad():
        twin.fc.weight.zero_()
    assert float(net.fc.weight.abs().sum()) > 0


def test_pickling_keeps_values_modes_and_settings():
    net = nn.Sequential(nn.Conv2d(1, 2, 3, padding="same"), nn.BatchNorm2d(2), nn.LSTM(2, 3)).eval()
    back = pickle.loads(pickle.dumps(net))
    assert repr(back) == repr(net) and not back.training
    for (name, left), (other, right) in zip(net.state_dict().items(), back.state_dict().items(), strict=True):
        assert name == other and bool((left == right).all())


def test_modules_of_older_versions_get_the_tables_they_lack():
    layer = nn.Linear(1, 1)
    state = {name: value for name, value in layer.__getstate__().items() if "hooks" not in name}
    old = nn.Linear.__new__(nn.Linear)
    old.__setstate__(state)
    assert old(pellucid.ones(1)).shape == (1,)


def trees(framework):
    layers = framework.nn
    deep = layers.Sequential(layers.Linear(2, 3), layers.ModuleDict({"a": layers.ReLU(), "b": layers.ModuleList()}))
    yield deep
    yield layers.ModuleList([layers.Linear(1, 1), layers.Linear(1, 1), layers.Sequential(layers.ReLU()), layers.ReLU()])
    yield layers.ModuleList([layers.Sequential(layers.ReLU(), layers.Sequential()) for _ in range(3)])
    yield layers.Sequential()
    yield layers.ParameterList([framework.ones(2, 3), 5, layers.Parameter(framework.ones(()))])
    yield layers.ParameterDict({"x": framework.ones(2, dtype=framework.float64), "y": "text"})
    yield layers.TransformerEncoder(layers.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)
    yield layers.Transformer(8, 2, 1, 2, 16)


@pytest.mark.filterwarnings("ignore")
def test_printed_form_is_pytorch_s_to_the_character():
    for left, right in zip(trees(torch), trees(pellucid), strict=True):
        assert repr(right) == repr(left)


def test_an_error_inside_a_property_is_not_hidden():
    class Broken(nn.Module):
        @property
        def size(self):
            return self.nothing_of_this_name

    with pytest.raises(AttributeError, match="no attribute 'nothing_of_this_name'"):
        Broken().size  # noqa: B018
    assert not hasattr(Broken(), "size")


def test_dir_lists_what_is_registered():
    names = dir(nn.Sequential(nn.ReLU(), Child()))
    assert "forward" in names and "0" not in names
    assert {"fc", "seen", "training"} <= set(dir(Child()))


def test_registration_hooks_see_and_replace():
    from pellucid.nn.modules import module as registry

    seen = []
    with registry.register_module_parameter_registration_hook(lambda module, name, value: seen.append(("p", name))):
        with registry.register_module_buffer_registration_hook(lambda module, name, value: seen.append(("b", name))):
            with registry.register_module_module_registration_hook(lambda module, name, value: nn.Identity()):
                net = Child()
    assert isinstance(net.fc, nn.Identity)
    assert seen == [("p", "weight"), ("p", "bias"), ("b", "seen"), ("b", "scratch")]
    seen.clear()
    Child()
    assert seen == []


def test_a_class_with_other_bases_can_have_their_init_called():
    class Named:
        def __init__(self, name):
            self.name = name

    class Both(nn.Module, Named):
        call_super_init = True

    assert Both("x").name == "x"


def test_uninitialised_parameters_say_so():
    weight = nn.UninitializedParameter()
    assert repr(weight) == "<UninitializedParameter>" and nn.parameter.is_lazy(weight)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        weight.shape  # noqa: B018
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        weight + 1  # noqa: B018
    weight.materialize((2, 2))
    assert type(weight) is nn.Parameter and weight.shape == (2, 2) and weight.requires_grad


def test_parameters_and_buffers_by_isinstance():
    assert isinstance(nn.Parameter(pellucid.ones(1)), nn.Parameter) and nn.Parameter().shape == (0,)
    assert not isinstance(pellucid.ones(1), nn.Parameter)
    buffer = nn.Buffer(pellucid.ones(1))
    assert isinstance(buffer, nn.Buffer) and not isinstance(pellucid.ones(1), nn.Buffer)
    assert repr(nn.Parameter(pellucid.ones(1))) == "Parameter containing:\ntensor([1.], requires_grad=True)"
    assert type(nn.Parameter(pellucid.ones(1)) * 2) is pellucid.Tensor


def test_every_layer_of_pytorch_is_here_in_the_same_file():
    for name in dir(torch.nn):
        theirs = getattr(torch.nn, name)
        if isinstance(theirs, type) and name != "DataParallel":  # that is in nn.parallel
            assert getattr(nn, name).__module__ == theirs.__module__.replace("torch", "pellucid", 1), name
