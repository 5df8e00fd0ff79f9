"""More programs for either framework: types that are no tensors, precedence, modes."""

from tests.overrides.programs import logging_class, name, outcome, plain


def scalar_tensor(torch):
    """The duck type of PyTorch's page on extending it."""
    handled = {}

    class ScalarTensor:
        def __init__(self, size, value):
            self.size, self.value = size, value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(each, (torch.Tensor, ScalarTensor)) for each in types):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    handled[torch.mean] = lambda input: float(input.value) / input.size
    handled[torch.add] = lambda input, other, *, alpha=1: ("added", alpha, type(input).__name__, type(other).__name__)
    handled[torch.Tensor.add] = handled[torch.add]
    handled[torch.nn.functional.linear] = lambda input, weight, bias=None: "linear"
    handled[torch.cat] = lambda tensors, dim=0: len(tensors)
    handled[torch.linalg.norm] = lambda *args, **kwargs: "norm"
    duck, tensor = ScalarTensor(5, 2), torch.ones(2)
    F = torch.nn.functional
    runs = [
        lambda: torch.mean(duck),
        lambda: torch.add(duck, tensor),
        lambda: torch.add(tensor, duck, alpha=2),
        lambda: torch.add(tensor, other=duck),
        lambda: F.linear(tensor, duck),
        lambda: F.linear(duck, tensor, tensor),
        lambda: torch.cat([tensor, duck]),
        lambda: torch.cat((duck,), dim=0),
        lambda: torch.linalg.norm(duck),
        lambda: tensor + duck,
        lambda: duck + tensor,
        lambda: tensor.add(duck),
        lambda: torch.mul(duck, 3),
        lambda: torch.nn.Linear(2, 2)(duck),
        lambda: torch.relu(duck),
        lambda: tensor[duck],
        lambda: tensor == duck,
        lambda: F.softmax(duck, 0),
        lambda: torch.stack([tensor, duck]),
        lambda: torch.is_tensor(duck),
        lambda: torch.overrides.is_tensor_like(duck),
        lambda: torch.overrides.has_torch_function((duck,)),
    ]
    return [outcome(run) for run in runs]


def metadata_tensor(torch):
    """Data with a note, by composition: the second example of that page."""

    class MetadataTensor:
        def __init__(self, data, metadata=None):
            self.tensor, self.metadata = torch.as_tensor(data), metadata

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            notes = tuple(each.metadata for each in args if hasattr(each, "metadata"))
            inner = [each.tensor if hasattr(each, "tensor") else each for each in args]
            return MetadataTensor(func(*inner, **(kwargs or {})), metadata=notes[0])

    noted = MetadataTensor([[1.0, 2.0], [3.0, 4.0]], metadata={"owner": "someone"})
    found = [torch.add(noted, torch.ones(2, 2)), torch.mul(torch.ones(2, 2), noted), torch.sum(noted, dim=0)]
    return [(plain(each.tensor), each.metadata) for each in found]


def masked_tensor(torch):
    """A subclass that carries a mask along, as data beside the values."""

    class Masked(torch.Tensor):
        @staticmethod
        def __new__(cls, data, mask):
            return torch.Tensor._make_subclass(cls, data)

        def __init__(self, data, mask):
            self.mask = mask

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs or {})
            if isinstance(result, cls) and not hasattr(result, "mask"):
                masks = [each.mask for each in args if isinstance(each, cls) and hasattr(each, "mask")]
                if masks and masks[0].shape == tuple(torch.Tensor.size(result)):
                    result.mask = masks[0]
            return result

    x = Masked(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True]))
    y = torch.nn.functional.relu(x * 2 - 3)
    return plain(y), plain(y.mask), plain(x + y), hasattr(x.sum(), "mask")


def precedence(torch):
    """Who is asked first: subclasses before their bases, then from left to right; NotImplemented passes on."""
    asked = []

    def make(title, base, answers):
        class Asked(base):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                asked.append((title, sorted(each.title for each in types)))
                return title if answers else NotImplemented

        Asked.title = title
        return Asked

    A, B = make("A", torch.Tensor, False), make("B", torch.Tensor, False)
    A_child, duck = make("A child", A, False), make("duck", object, True)
    a, b, c = (torch.Tensor.as_subclass(torch.ones(1), each) for each in (A, B, A_child))
    d = duck()
    seen = []
    for run in (
        lambda: torch.cat([a, b]),
        lambda: torch.cat([b, a]),
        lambda: torch.cat([a, c]),
        lambda: torch.cat([b, a, c, d]),
        lambda: torch.add(d, a),
        lambda: torch.add(a, d),
        lambda: torch.add(b, c),
        lambda: a + b,
        lambda: a.add(d),
        lambda: torch.where(a, b, c),
        lambda: torch.nn.functional.linear(b, d, c),
    ):
        asked.clear()
        seen.append((outcome(run), list(asked)))
    return seen


def mode_class(torch, log, run=True):
    class Logging(torch.overrides.TorchFunctionMode):
        def __init__(self, title=""):
            self.title = title

        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(self.title + name(torch, func))
            return func(*args, **(kwargs or {})) if run else NotImplemented

    return Logging


def mode_sees_a_forward(torch):
    log = []
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(18, 4),
        nn.LayerNorm(4),
        nn.GELU(),
        nn.Tanh(),
        nn.Dropout(0.5),
        nn.Softmax(1),
    )
    x = torch.ones(2, 1, 8, 8)
    with mode_class(torch, log)():
        net(x)
    layers = list(log)
    log.clear()
    embedding, loss, target = nn.Embedding(3, 2), nn.CrossEntropyLoss(), torch.tensor([0, 1])
    with mode_class(torch, log)():
        loss(embedding(target), target)
        loss(torch.zeros(2, 2) + 1, target)
    return layers, log


def mode_sees_factories(torch):
    log = []
    with mode_class(torch, log)():
        x = torch.zeros(2)
        torch.tensor([1.0])
        torch.arange(3)
        torch.rand(2)
        torch.as_tensor([1])
        torch.zeros_like(x)
        x.shape  # noqa: B018
        x + 1  # noqa: B018
        x.sum()
        x[0]
        torch.full((2,), 1.0)
        torch.linalg.norm(x)
        hash(x)
        torch.is_tensor(x)
        isinstance(x, torch.nn.Parameter)
    x + 1  # noqa: B018
    return log


def nested_modes(torch):
    log = []
    Mode = mode_class(torch, log)
    x = torch.ones(2)
    with Mode("outer "), Mode("inner "):
        torch.add(x, 1)
        x * 2  # noqa: B018
        depth = len(torch.overrides._get_current_function_mode_stack())
    refused = mode_class(torch, log, run=False)
    with Mode("outer "), refused("refusing "):
        log.append(outcome(lambda: torch.add(x, 1)))
    with Mode("left "):
        try:
            with Mode("failed "):
                raise KeyError
        except KeyError:
            pass
        torch.sin(x)
    return log, depth, torch.overrides._get_current_function_mode()


def modes_and_subclasses(torch):
    log = []
    cls = logging_class(torch, asked := [])
    x = torch.ones(2).as_subclass(cls)
    asked.clear()
    with mode_class(torch, log)():
        result = torch.add(x, 1)
        with torch._C.DisableTorchFunctionSubclass():
            torch.sub(x, 1)
        with torch._C.DisableTorchFunction():
            torch.mul(x, 1)
    return plain(result), log, [func for func, *_ in asked]


def switched_off(torch):
    cls = logging_class(torch, log := [])
    x = torch.ones(2).as_subclass(cls)
    with torch._C.DisableTorchFunctionSubclass():
        result = plain([torch.add(x, 1), x + 1, x.sum(), x.T])
        enabled = torch._C._is_torch_function_enabled()
    log.clear()
    x.sin()

    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    y = torch.ones(2).as_subclass(Plain)
    return result, enabled, [func for func, *_ in log], plain([y, y + 1, torch.add(x, y), y.sum(), torch.relu(y)])


def a_mode_that_makes_everything_double(torch):
    makers = {torch.zeros, torch.ones, torch.rand, torch.tensor, torch.empty, torch.full, torch.arange}

    class Double(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func in makers:
                kwargs.setdefault("dtype", torch.float64)
            return func(*args, **kwargs)

    with Double():
        made = [torch.zeros(2), torch.tensor([1.0]), torch.arange(3), torch.full((1,), 2), torch.nn.Linear(2, 2).weight]
    return [str(each.dtype) for each in made], str(torch.zeros(1).dtype)


def own_functions(torch):
    """`handle_torch_function` and `wrap_torch_function` in a program's own functions."""
    overrides = torch.overrides
    cls = logging_class(torch, log := [])

    def double(x, *, times=2):
        if overrides.has_torch_function_unary(x):
            return overrides.handle_torch_function(double, (x,), x, times=times)
        return x * times

    @overrides.wrap_torch_function(lambda a, b: (a, b))
    def both(a, b):
        return a + b

    x = torch.ones(2).as_subclass(cls)
    log.clear()
    results = plain([double(x), double(torch.ones(2)), both(torch.ones(2), x), both(torch.ones(2), torch.ones(2))])
    with mode_class(torch, seen := [])():
        double(torch.ones(1))
    return results, [func for func, *_ in log], seen


def redispatched(torch):
    overrides = torch.overrides
    log = []

    class Logging(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(name(torch, func))
            return overrides.redispatch_function(func, types, args, kwargs or {})

    def scaled(a, b):
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    x, y = torch.tensor([3.0]).as_subclass(Logging), torch.tensor([4.0]).as_subclass(Logging)
    log.clear()
    return scaled(x, y).tolist(), log


def uninitialized_parameters(torch):
    weight = torch.nn.UninitializedParameter()
    messages = []
    for run in (
        lambda: weight + 1,
        lambda: torch.add(1, weight),
        lambda: torch.ones(2) @ weight,
        lambda: weight.numel(),
        lambda: torch.ones(2).add(weight),
        lambda: torch.nn.functional.linear(torch.ones(2), weight),
    ):
        try:
            run()
        except ValueError as error:
            messages.append(str(error)[:42])
    allowed = weight.to(torch.float64).dtype, weight.is_leaf, weight.requires_grad, weight.device.type, weight.dtype
    weight.materialize((2,))
    return messages, [str(each) for each in allowed], list((weight * 0 + 1).shape)


def gradients(torch):
    """Differentiation by function and by method, of a subclass."""
    cls = logging_class(torch, log := [])
    x = torch.tensor([1.0, 2.0]).as_subclass(cls).requires_grad_()
    y = (x * x).sum()
    log.clear()
    found = torch.autograd.grad(y, x, retain_graph=True)
    asked = [func for func, *_ in log]
    y.backward()
    leaf = torch.ones(2, requires_grad=True)
    (leaf.as_subclass(cls) * 2).sum().backward()
    z = (x * 2).sum()
    hooked = []
    x.register_hook(lambda grad: hooked.append(type(grad).__name__))
    z.backward()
    return (
        plain(found),
        asked,
        plain(x.grad),
        plain(leaf.grad),
        hooked,
        plain(x.detach()),
        plain(torch.no_grad()(abs)(x)),
    )


def subclasses_of_subclasses(torch):
    class A(torch.Tensor):
        pass

    class B(A):
        def scaled(self, by):
            return super().mul(by)

        def add(self, other):
            return super().add(other).mul(10)

    class C(torch.Tensor):
        pass

    a, b, c = (torch.ones(2).as_subclass(each) for each in (A, B, C))
    runs = [
        lambda: a + b,
        lambda: b + a,
        lambda: b.scaled(3),
        lambda: b.add(1),
        lambda: torch.add(b, 1),
        lambda: b + 1,
        lambda: a + c,
        lambda: torch.cat([a, c]),
        lambda: torch.where(a > 0, b, a),
        lambda: A([1.0, 2.0]),
        lambda: B(2, 3).shape,
        lambda: A(torch.ones(2)),
        lambda: torch.Tensor(a),
        lambda: torch.Tensor.as_subclass(b, A),
        lambda: isinstance(b, A) and issubclass(B, torch.Tensor),
        lambda: torch.Tensor._make_subclass(B, torch.ones(1), True).requires_grad,
        lambda: str(a),
        lambda: repr(b),
        lambda: torch.tensor(a),
        lambda: torch.as_tensor(b),
        lambda: torch.as_tensor(b, dtype=torch.float64),
        lambda: torch.asarray(a),
        lambda: a.numpy().tolist(),
        lambda: float(a[0]),
        lambda: [float(each) for each in b],
        lambda: (a == 1).all(),
        lambda: bool((b > 0).all()),
    ]
    return [outcome(run) for run in runs]


def subclass_layers(torch):
    """Modules over a subclass: parameters that keep their class, inputs, moving, state."""

    class Quantity(torch.Tensor):
        pass

    nn = torch.nn
    layer = nn.Linear(2, 2)
    with torch.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(1.0)
    x = torch.ones(3, 2).as_subclass(Quantity)
    own = nn.Module()
    own.weight = nn.Parameter(torch.ones(2).as_subclass(Quantity))
    own.register_buffer("scale", torch.ones(1).as_subclass(Quantity))
    state = own.state_dict()
    other = nn.Module()
    other.weight, other.scale = nn.Parameter(torch.zeros(2)), None
    optimizer = torch.optim.SGD(own.parameters(), lr=0.5)
    (own.weight * 2).sum().backward()
    optimizer.step()
    return (
        plain(layer(x)),
        [name for name, _ in own.named_parameters()],
        plain(own.weight),
        plain(state["scale"]),
        type(state["weight"]).__name__,
        plain(own.double().weight),
        plain(nn.Sequential(layer, nn.ReLU(), nn.LayerNorm(2))(x)),
        plain(nn.MSELoss()(x, torch.zeros(3, 2))),
        type(nn.utils.parameters_to_vector(own.parameters())).__name__,
    )


def wrapper_by_delegation(torch):
    """A wrapper that answers with what the data inside answers."""

    class Wrapped:
        def __init__(self, data):
            self.data = data

        def __getattr__(self, name):
            return getattr(self.__dict__["data"], name)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            def unwrapped(value):
                if isinstance(value, (list, tuple)):
                    return type(value)(unwrapped(each) for each in value)
                return value.data if isinstance(value, Wrapped) else value

            result = func(*unwrapped(args), **{key: unwrapped(value) for key, value in (kwargs or {}).items()})
            return Wrapped(result) if isinstance(result, torch.Tensor) else result

    x, y = Wrapped(torch.arange(3.0)), Wrapped(torch.arange(4.0) + 1)
    a, b, c = (Wrapped(torch.ones(*shape)) for shape in ((2, 3), (5, 3, 7), (2, 7)))
    pairs = [
        (torch.einsum("i,j->ij", x, y), torch.outer(x, y)),
        (torch.einsum("ik,jkl,il->ij", [a, b, c]), torch.nn.functional.bilinear(a, c, b)),
        (torch.nn.functional.softmax(x, dim=0), torch.softmax(x, 0)),
        (torch.norm(x), torch.linalg.norm(x)),
        (torch.tensordot(a, a, dims=2), torch.sum(torch.mul(a, a))),
    ]
    return (
        [
            (type(left).__name__, plain(left.data), torch.allclose(left, right), left.shape == right.shape)
            for left, right in pairs
        ],
        plain(torch.max(c, 0)[0].shape),
        torch.numel(a),
        torch.is_floating_point(x),
    )


def ways_to_make_instances(torch):
    """Constructors of subclasses with data and settings of their own."""

    class WithSettings(torch.Tensor):
        @staticmethod
        def __new__(cls, data, unit, *args, **kwargs):
            return super().__new__(cls, data, *args, **kwargs)

        def __init__(self, data, unit):
            super().__init__()
            self.unit = unit

    class AsView(torch.Tensor):
        @classmethod
        def of(cls, data, requires_grad=False):
            return torch.Tensor._make_subclass(cls, data, requires_grad)

        def __init_subclass__(cls, tag=None, **kwargs):
            super().__init_subclass__(**kwargs)
            cls.tag = tag

    class Tagged(AsView, tag="t"):
        pass

    x = WithSettings([1.0, 2.0], "metre")
    data = torch.zeros(2)
    view = AsView.of(data)
    view += 1
    leaf = Tagged.of(torch.ones(2), True)
    return [
        plain(x),
        x.unit,
        hasattr(x + 1, "unit"),
        plain(data),
        plain(leaf),
        leaf.requires_grad,
        leaf.is_leaf,
        Tagged.tag,
        plain(torch.Tensor.__new__(Tagged, [3.0])),
        plain(Tagged(2, 2).zero_()),
        plain(torch.ones(2).as_subclass(Tagged).sum()),
        outcome(lambda: torch.ones(2).as_subclass(int)),
        outcome(lambda: torch.ones(2).as_subclass(3)),
        outcome(lambda: torch.Tensor._make_subclass(int, torch.ones(2))),
        outcome(lambda: torch.Tensor._make_subclass(Tagged, 3)),
        plain(leaf.data),
        plain(leaf.detach()),
        type(leaf.grad_fn).__name__,
        type((leaf * 2).grad_fn).__name__,
    ]
