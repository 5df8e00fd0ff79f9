"""Modules: parameters, buffers, names, containers, state dicts, conversion, copies."""

import copy
import pickle
from collections import OrderedDict


def assignment_registers(torch, show):
    m = torch.nn.Module()
    m.weight = torch.nn.Parameter(torch.ones(1))
    m.child = torch.nn.ReLU()
    m.register_buffer("seen", torch.zeros(1))
    m.plain = torch.ones(1)
    show([n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()], [n for n, _ in m.named_children()])
    show.raises(lambda: setattr(m, "weight", torch.ones(1)))
    show.raises(lambda: setattr(m, "child", 1))
    m.weight = None
    show(list(m.parameters()), m.weight)
    del m.child
    show.raises(lambda: m.child)


def assignment_before_init(torch, show):
    class Early(torch.nn.Module):
        def __init__(self):
            self.weight = torch.nn.Parameter(torch.ones(1))

    class EarlyChild(torch.nn.Module):
        def __init__(self):
            self.child = torch.nn.ReLU()

    show.raises(Early)
    show.raises(EarlyChild)


def registering_with_wrong_names(torch, show):
    m = torch.nn.Module()
    show.raises(lambda: m.register_parameter("a.b", None))
    show.raises(lambda: m.register_parameter("", None))
    show.raises(lambda: m.register_parameter("forward", None))
    show.raises(lambda: m.register_parameter("w", torch.ones(1)))
    show.raises(lambda: m.register_buffer("b", "text"))
    show.raises(lambda: m.register_buffer(1, None))
    show.raises(lambda: m.add_module("c", 3))
    show.raises(lambda: m.register_parameter("w", torch.nn.Parameter(torch.ones(1)) * 2))


def buffers_that_are_not_saved(torch, show):
    m = torch.nn.Module()
    m.register_buffer("kept", torch.ones(1))
    m.register_buffer("left", torch.ones(1), persistent=False)
    m.register_buffer("none", None)
    show(list(m.state_dict()), [n for n, _ in m.named_buffers()])
    m.left = torch.zeros(1)
    show(list(m.state_dict()), m.left)


def names_in_order(torch, show):
    m = torch.nn.Sequential(OrderedDict(a=torch.nn.Linear(1, 1), b=torch.nn.Sequential(torch.nn.BatchNorm1d(1))))
    show([n for n, _ in m.named_parameters()], [n for n, _ in m.named_modules()], list(m.state_dict()))
    show(
        [n for n, _ in m.named_parameters(prefix="p", recurse=True)], [n for n, _ in m.named_parameters(recurse=False)]
    )


def shared_parameters(torch, show):
    a = torch.nn.Linear(2, 2)
    m = torch.nn.Sequential(a, torch.nn.ReLU(), a)
    show(len(list(m.parameters())), [n for n, _ in m.named_parameters()], list(m.state_dict()))
    show([n for n, _ in m.named_parameters(remove_duplicate=False)], len(list(m.modules())))
    show([n for n, _ in m.named_modules(remove_duplicate=False)])


def tied_weights(torch, show):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(3, 2)
            self.out = torch.nn.Linear(2, 3, bias=False)
            self.out.weight = self.embed.weight

    m = Tied()
    copied = copy.deepcopy(m)
    show(copied.out.weight is copied.embed.weight, list(m.state_dict()), len(list(m.parameters())))
    m.out(m.embed(torch.tensor([0]))).sum().backward()
    show(m.embed.weight.grad is m.out.weight.grad, m.double().out.weight is m.embed.weight)


def module_lists(torch, show):
    m = torch.nn.ModuleList([torch.nn.Linear(1, 1), torch.nn.ReLU()])
    m.append(torch.nn.Tanh())
    m.insert(0, torch.nn.Sigmoid())
    m.extend([torch.nn.ELU()])
    show(m, len(m), m[-1], m[1:3], list(m.state_dict()))
    del m[0]
    m[0] = torch.nn.Identity()
    show(m, m.pop(0), len(m + torch.nn.ModuleList([torch.nn.ReLU()])))
    show.raises(lambda: m[9])
    show.raises(lambda: m(torch.ones(1)))
    show.raises(lambda: m.append(1))
    show.raises(lambda: m.extend(1))


def module_dicts(torch, show):
    m = torch.nn.ModuleDict({"a": torch.nn.ReLU(), "b": torch.nn.Linear(1, 1)})
    m["c"] = torch.nn.Tanh()
    m.update([["d", torch.nn.ELU()]])
    show(list(m.keys()), "a" in m, m.pop("a"), len(m), m)
    show.raises(lambda: m["zz"])
    show.raises(lambda: m.update(3))
    show.raises(lambda: torch.nn.ModuleDict({1: torch.nn.ReLU()}))
    m.clear()
    show(len(m))


def parameter_lists(torch, show):
    m = torch.nn.ParameterList([torch.ones(2), torch.nn.Parameter(torch.zeros(1)), 3])
    m.append(torch.ones(1))
    show(m, len(m), type(m[0]).__name__, m[2], list(m.state_dict()), [n for n, _ in m.named_parameters()])
    show.raises(lambda: m[10])
    show.raises(lambda: m())


def parameter_dicts(torch, show):
    m = torch.nn.ParameterDict({"b": torch.ones(1), "a": torch.nn.Parameter(torch.zeros(2))})
    m["c"] = torch.ones(1)
    show(list(m), type(m["b"]).__name__, list(m.state_dict()), m.get("zz", 4), m.pop("b"), m)
    show(m | torch.nn.ParameterDict({"z": torch.ones(1)}), m.setdefault("q", torch.ones(1)))
    show.raises(lambda: m["nope"])


def sequentials(torch, show):
    m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    m.append(torch.nn.Linear(2, 1)).insert(1, torch.nn.Tanh())
    show(m, m[1:3], len(m), m[-1], m[0] is list(m)[0])
    del m[1]
    show(m + torch.nn.Sequential(torch.nn.ELU()), m.pop(0))
    show.raises(lambda: torch.nn.Sequential(1))
    show.raises(lambda: m[5])
    show.raises(lambda: m.insert(1, 3))


def loading_strictly(torch, show):
    m = torch.nn.Linear(2, 1)
    show.raises(lambda: m.load_state_dict({"weight": torch.ones(1, 2)}))
    show.raises(lambda: m.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.ones(1), "other": torch.ones(1)}))
    show.raises(lambda: m.load_state_dict({"weight": torch.ones(3, 2), "bias": torch.ones(1)}))
    show(m.load_state_dict({"weight": torch.ones(1, 2), "zzz": torch.ones(1)}, strict=False), m.weight)
    show.raises(lambda: m.load_state_dict([1]))
    show.raises(lambda: m.load_state_dict({"weight": 1.0, "bias": torch.ones(1)}))


def loading_by_assignment(torch, show):
    m = torch.nn.Linear(2, 1)
    state = {"weight": torch.ones(1, 2, dtype=torch.float64), "bias": torch.zeros(1)}
    m.load_state_dict(state, assign=True)
    show(m.weight, m.weight.data_ptr() == state["weight"].data_ptr(), type(m.weight).__name__)
    m = torch.nn.Linear(2, 1)
    m.load_state_dict(state)
    show(m.weight, m.weight.data_ptr() == state["weight"].data_ptr())


def state_dicts_share_memory(torch, show):
    m = torch.nn.Linear(1, 1)
    state = m.state_dict()
    state["weight"].fill_(5)
    show(m.weight, state["weight"].requires_grad, m.state_dict(keep_vars=True)["weight"].requires_grad, type(state))
    show(state._metadata)


def extra_state(torch, show):
    class Extra(torch.nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    m, n = Extra(), Extra()
    m.count = 3
    show(m.state_dict())
    n.load_state_dict(m.state_dict())
    show(n.count)
    show.raises(lambda: torch.nn.Module().load_state_dict(m.state_dict()))


def conversion(torch, show):
    m = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1))
    before = m[0].weight
    m.double()
    show(m[0].weight.dtype, m[1].num_batches_tracked.dtype, m[0].weight is before)
    show(m.half()[0].weight.dtype, m.bfloat16()[1].running_mean.dtype, m.float()[0].bias.dtype)
    show(m.to(torch.float64)[0].weight.dtype, m.to(dtype=torch.float32, device="cpu") is m, m.to("meta")[0].weight)
    show.raises(lambda: m.to(torch.int64))
    show.raises(lambda: torch.nn.Linear(1, 1, device="meta").to("cpu"))
    show(torch.nn.Linear(1, 1, device="meta").to_empty(device="cpu").weight.shape)


def training_mode(torch, show):
    m = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Sequential(torch.nn.BatchNorm1d(1)))
    show(m.training, m.eval() is m, [x.training for x in m.modules()])
    m[1].train()
    show([x.training for x in m.modules()])
    show.raises(lambda: m.train("yes"))
    m.requires_grad_(False)
    show([p.requires_grad for p in m.parameters()])


def apply_visits_children_first(torch, show):
    m = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Sequential(torch.nn.ReLU()))
    show(m.apply(lambda x: show(type(x).__name__)) is m)


def zeroing_gradients(torch, show):
    m = torch.nn.Linear(1, 1)
    m(torch.ones(1)).backward()
    m.zero_grad(set_to_none=False)
    show(m.weight.grad)
    m.zero_grad()
    show(m.weight.grad)


def submodules_by_path(torch, show):
    m = torch.nn.Sequential(OrderedDict(a=torch.nn.Sequential(OrderedDict(b=torch.nn.BatchNorm1d(1)))))
    show(
        m.get_submodule("a.b"),
        m.get_parameter("a.b.weight"),
        m.get_buffer("a.b.running_mean"),
        m.get_submodule("") is m,
    )
    show.raises(lambda: m.get_submodule("a.c"))
    show.raises(lambda: m.get_parameter("a.b.running_mean"))
    show.raises(lambda: m.get_buffer("a.b.zz"))
    m.set_submodule("a.b", torch.nn.ReLU())
    show(m)


def copies_of_modules(torch, show):
    m = torch.nn.Linear(1, 1)
    deep, flat = copy.deepcopy(m), copy.copy(m)
    show(deep.weight is m.weight, flat.weight is m.weight, torch.equal(deep.weight, m.weight))
    again = pickle.loads(pickle.dumps(m))
    show(torch.equal(again.weight, m.weight), again, again.weight.requires_grad, list(again.state_dict()))


def forward_is_missing(torch, show):
    class Nothing(torch.nn.Module):
        pass

    show.raises(lambda: Nothing()(1))
    show.raises(lambda: torch.nn.Module().nope)
    show.raises(lambda: torch.nn.Module(1))
    show.raises(lambda: torch.nn.Module(bogus=1))


def representations(torch, show):
    for m in (
        torch.nn.Conv2d(1, 2, 3, padding=1, bias=False),
        torch.nn.LSTM(2, 3, num_layers=2, bidirectional=True),
        torch.nn.Embedding(3, 2, padding_idx=0),
        torch.nn.TransformerEncoderLayer(4, 2, 8),
        torch.nn.GroupNorm(1, 2),
        torch.nn.MaxPool2d(2),
        torch.nn.Upsample(scale_factor=2),
        torch.nn.Dropout(0.3, True),
        torch.nn.Flatten(),
        torch.nn.MultiheadAttention(4, 2),
        torch.nn.LayerNorm(3),
        torch.nn.PReLU(),
        torch.nn.CrossEntropyLoss(),
    ):
        show(m)


def parameters_as_tensors(torch, show):
    p = torch.nn.Parameter(torch.ones(2))
    show(p, p.data, p * 2, isinstance(p, torch.Tensor), p.clone(), p.detach(), copy.deepcopy(p), p.requires_grad)
    show.raises(lambda: torch.nn.Parameter(torch.ones(2, dtype=torch.int64)))
    show(torch.nn.Parameter(torch.ones(1, dtype=torch.int64), requires_grad=False), torch.nn.Parameter())
    show.raises(lambda: torch.nn.Parameter([1.0]))


def lazy_modules(torch, show):
    m = torch.nn.LazyLinear(3)
    show(m, m.weight.__class__.__name__, m.has_uninitialized_params())
    m(torch.ones(2, 5))
    show(m, m.weight.shape, type(m.weight).__name__, type(m).__name__)


def layers_check_their_arguments(torch, show):
    nn = torch.nn
    for call in (
        lambda: nn.Linear(2.5, 1),
        lambda: nn.Linear("a", 1),
        lambda: nn.Linear(-1, 2),
        lambda: nn.Conv2d(3, 4, 3, groups=2),
        lambda: nn.Conv2d(3, 3, 3, padding="nope"),
        lambda: nn.Conv2d(3, 3, 3, padding_mode="nope"),
        lambda: nn.Dropout(2),
        lambda: nn.Conv2d(3, 3, 3, stride=2, padding="same"),
        lambda: nn.Embedding(3, 2, padding_idx=5),
        lambda: nn.GRU(2, 0),
        lambda: nn.LSTM(2, 2, num_layers=0),
        lambda: nn.LSTM(2, 2, dropout=3),
        lambda: nn.MultiheadAttention(5, 2),
        lambda: nn.GroupNorm(3, 4),
        lambda: nn.TransformerEncoderLayer(4, 2, activation="nope"),
        lambda: nn.RNN(1, 1, nonlinearity="x"),
        lambda: nn.Linear(2, 2)(torch.ones(3)),
        lambda: nn.Linear(2, 2)(torch.ones(2, dtype=torch.float64)),
        lambda: nn.Linear(2, 2)("a"),
        lambda: nn.Conv2d(1, 1, 3)(torch.ones(1, 1, 2, 2)),
        lambda: nn.Conv2d(1, 1, 3)(torch.ones(3)),
        lambda: nn.BatchNorm1d(3)(torch.ones(2, 4)),
        lambda: nn.BatchNorm2d(3)(torch.ones(2, 3)),
        lambda: nn.BatchNorm1d(3)(torch.ones(1, 3)),
        lambda: nn.LayerNorm(3)(torch.ones(2, 4)),
        lambda: nn.Embedding(3, 2)(torch.tensor([5])),
        lambda: nn.Embedding(3, 2)(torch.ones(2)),
        lambda: nn.LSTM(2, 2)(torch.ones(1, 2, 3)),
        lambda: nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0, 5])),
        lambda: nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0])),
        lambda: nn.NLLLoss()(torch.ones(2, 3), torch.ones(2)),
        lambda: nn.BCELoss()(torch.ones(2) * 2, torch.ones(2)),
        lambda: nn.BCEWithLogitsLoss()(torch.ones(2), torch.ones(3)),
        lambda: nn.MSELoss(reduction="nope")(torch.ones(1), torch.ones(1)),
        lambda: nn.Softmax(dim=3)(torch.ones(2)),
        lambda: nn.MaxPool2d(3, padding=2)(torch.ones(1, 1, 4, 4)),
        lambda: nn.Flatten(1, 5)(torch.ones(2, 3)),
        lambda: nn.Unflatten(1, (2, 2))(torch.ones(2, 3)),
        lambda: nn.Upsample(scale_factor=2)(torch.ones(2)),
        lambda: nn.Fold((2, 2), 3)(torch.ones(1, 9, 9)),
        lambda: nn.PixelShuffle(2)(torch.ones(1, 3, 2, 2)),
        lambda: nn.Transformer(4, 2)(torch.ones(2, 1, 5), torch.ones(2, 1, 4)),
    ):
        show.raises(call)


def warnings_of_modules(torch, show):
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=False)
    show.warns(lambda: torch.nn.TransformerEncoder(layer, 1).enable_nested_tensor)
    show.warns(lambda: torch.nn.LSTM(1, 1, dropout=0.5).num_layers)
    show.warns(lambda: torch.nn.MSELoss()(torch.ones(2), torch.ones(2, 1)))
    show.warns(lambda: torch.nn.functional.softmax(torch.ones(2)))
    show.warns(lambda: torch.nn.L1Loss(size_average=False).reduction)
    show.warns(lambda: torch.nn.KLDivLoss()(torch.zeros(1, 2), torch.ones(1, 2)))
    show.warns(lambda: torch.nn.functional.tanh(torch.zeros(1)))
    show.warns(lambda: torch.nn.init.zeros_(torch.empty(0, 2)))


def initializers(torch, show):
    for name in ("xavier_uniform_", "kaiming_normal_", "orthogonal_", "sparse_", "trunc_normal_", "dirac_"):
        torch.manual_seed(1)
        shape = (2, 3, 1) if name == "dirac_" else (2, 3)
        settings = {"sparsity": 0.5} if name == "sparse_" else {}
        show(getattr(torch.nn.init, name)(torch.empty(shape), **settings))
    show.raises(lambda: torch.nn.init.xavier_uniform_(torch.empty(3)))
    show.raises(lambda: torch.nn.init.eye_(torch.empty(3)))
    show.raises(lambda: torch.nn.init.calculate_gain("nope"))
    show.raises(lambda: torch.nn.init.kaiming_uniform_(torch.empty(2, 2), mode="nope"))


def optimizers_check_their_arguments(torch, show):
    p = torch.nn.Parameter(torch.ones(2))
    optim = torch.optim
    for call in (
        lambda: optim.SGD([p], lr=-1),
        lambda: optim.SGD([], lr=1),
        lambda: optim.SGD(p, lr=1),
        lambda: optim.SGD([p * 2], lr=1),
        lambda: optim.SGD([p], lr=1, nesterov=True),
        lambda: optim.Adam([p], betas=(1.5, 0.9)),
        lambda: optim.SGD([{"lr": 1}]),
        lambda: optim.SGD([{"params": [p]}, {"params": [p]}], lr=1),
        lambda: optim.SGD([1.0], lr=1),
        lambda: optim.Adam([p], eps=-1),
        lambda: optim.SGD([p], lr=1, bogus=2),
        lambda: optim.LBFGS([{"params": [p]}, {"params": []}]),
        lambda: optim.SGD([p], lr=1, momentum=-1),
        lambda: optim.Adam([p], amsgrad="x", bogus=1),
        lambda: optim.SGD([p], 0.1).load_state_dict({"state": {}, "param_groups": []}),
        lambda: optim.SGD([p], 0.1).add_param_group({"params": [p]}),
        lambda: optim.SGD([p], 0.1).add_param_group([p]),
        lambda: optim.lr_scheduler.StepLR(1, 2),
        lambda: optim.lr_scheduler.LambdaLR(optim.SGD([p], 0.1), [lambda e: 1, lambda e: 1]),
        lambda: optim.lr_scheduler.OneCycleLR(optim.SGD([p], 0.1), 1),
        lambda: optim.lr_scheduler.MultiStepLR(optim.SGD([p], 0.1)),
    ):
        show.raises(call)


def optimizer_states(torch, show):
    p = torch.nn.Parameter(torch.ones(2))
    opt = torch.optim.Adam([{"params": [p], "lr": 0.1}], lr=1.0)
    p.sum().backward()
    opt.step()
    state = opt.state_dict()
    show(state, p)
    other = torch.optim.Adam([p])
    other.load_state_dict(copy.deepcopy(state))
    show(other.param_groups[0]["lr"], other.state[p]["step"], repr(torch.optim.SGD([p], 0.1)))
    opt.zero_grad()
    show(p.grad)


def schedulers(torch, show):
    p = torch.nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([p], lr=1.0)
    sched = torch.optim.lr_scheduler.SequentialLR(
        opt,
        [torch.optim.lr_scheduler.LinearLR(opt, 0.5, total_iters=2), torch.optim.lr_scheduler.ExponentialLR(opt, 0.5)],
        [2],
    )
    rates = []
    for _ in range(5):
        opt.step()
        sched.step()
        rates.append(sched.get_last_lr()[0])
    show(rates, sorted(sched.state_dict()))
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)
    plateau.step(1.0)
    plateau.step(2.0)
    show(opt.param_groups[0]["lr"], plateau.num_bad_epochs)
