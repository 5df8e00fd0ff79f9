"""Programs that take part in `__torch_function__`, written for either framework: each gets the module as `torch` and
returns what both must agree on.
"""

import copy
import io
import operator
import pickle


def name(torch, func):
    """The function's public name, the same words in both frameworks."""
    return torch.overrides.resolve_name(func) or getattr(func, "__name__", str(func))


def logging_class(torch, log):
    """A subclass that writes down what it is asked, and does by default what tensors do."""

    class Logging(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append((name(torch, func), [each.__name__ for each in types], [type(each).__name__ for each in args]))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logging


def plain(value):
    """Results in terms that two frameworks share: classes by name, numbers by value."""
    if hasattr(value, "tolist") and hasattr(value, "as_subclass"):
        return type(value).__name__, str(value.dtype), rounded(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return type(value).__name__ if callable(value) or hasattr(value, "__dict__") else repr(value)


def rounded(value):
    """Numbers to six digits, since the frameworks may add in another order."""
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def outcome(run):
    """What `run` returns, or the class of what it raises."""
    try:
        return plain(run())
    except Exception as error:
        return type(error).__name__


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne", "matmul"]
BITWISE = ["and_", "or_", "xor", "lshift", "rshift"]
IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "iand", "ior", "ixor", "ilshift", "irshift"]


def _without_tensor_types(log):
    # PyTorch lists plain tensors among the types where the function is written in Python, and only there
    return [(func, [each for each in types if each != "Tensor"], args) for func, types, args in log]


def infix_operators(torch):
    log = []
    cls = logging_class(torch, log)
    seen = {}
    for word in BINARY + BITWISE:
        kind = torch.int64 if word in BITWISE else torch.float32
        left = torch.tensor([[1, 2], [3, 4]], dtype=kind)
        right = left.as_subclass(cls)
        function = getattr(operator, word)
        for label, a, b in (
            ("sub plain", right, left),
            ("plain sub", left, right),
            ("sub 2", right, 2),
            ("2 sub", 2, right),
        ):
            if word == "matmul" and "2" in label:
                continue
            log.clear()
            seen[word, label] = outcome(lambda: function(a, b)), _without_tensor_types(log)  # noqa: B023
    for word in ("neg", "pos", "abs", "invert"):
        log.clear()
        seen[word] = outcome(lambda: getattr(operator, word)(torch.tensor([1]).as_subclass(cls))), list(log)  # noqa: B023
    return seen


def in_place_operators(torch):
    log = []
    cls = logging_class(torch, log)
    seen = {}
    for word in IN_PLACE:
        kind = torch.int64 if word[1:] in ("and", "or", "xor", "lshift", "rshift") else torch.float32
        for label in ("sub", "plain"):
            a, b = torch.tensor([1, 2], dtype=kind), torch.tensor([2, 1], dtype=kind)
            a, b = (a.as_subclass(cls), b) if label == "sub" else (a, b.as_subclass(cls))
            log.clear()
            seen[word, label] = outcome(lambda: getattr(operator, word)(a, b)), list(log)  # noqa: B023
    return seen


PROPERTIES = [
    "shape",
    "dtype",
    "device",
    "ndim",
    "T",
    "mT",
    "H",
    "mH",
    "grad",
    "grad_fn",
    "data",
    "requires_grad",
    "is_leaf",
    "_version",
    "real",
    "itemsize",
    "nbytes",
    "layout",
    "is_sparse",
    "is_meta",
    "is_cpu",
    "is_cuda",
    "output_nr",
    "retains_grad",
    "is_quantized",
]


def properties(torch):
    log = []
    x = torch.ones(2, 2).as_subclass(logging_class(torch, log))
    seen = {}
    for each in PROPERTIES:
        log.clear()
        value = getattr(x, each)
        seen[each] = plain(value) if hasattr(value, "as_subclass") else str(value), _without_tensor_types(log)
    log.clear()
    x.requires_grad = True
    x.grad = None
    x.data = torch.zeros(2, 2)
    del x.grad
    return seen, [func for func, *_ in log], x.grad is x.grad


def converted_results(torch):
    class Named(torch.Tensor):
        pass

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Named)
    plain_one = torch.ones(2, 2)
    F = torch.nn.functional
    results = [
        x.sum(),
        x.max(0),
        x[0],
        x[:, None],
        x[x > 1],
        x.T,
        x.detach(),
        x.data,
        x.clone(),
        x.to(torch.float64),
        x.int(),
        x.split(1),
        torch.chunk(x, 2),
        x.unbind(),
        list(x),
        torch.cat([plain_one, x]),
        torch.stack((x, plain_one)),
        torch.where(plain_one > 0, x, plain_one),
        F.relu(x),
        F.linear(plain_one, x),
        F.softmax(x, 0),
        torch.sort(x),
        torch.linalg.norm(x),
        torch.linalg.qr(x)[1].abs() > -1,
        torch.special.expm1(x * 0),
        x.new_zeros(2),
        torch.zeros_like(x),
        torch.einsum("ij,jk->ik", plain_one, x),
        plain_one.add(x),
        plain_one.copy_(x),
        torch.meshgrid(x[0], indexing="ij"),
        torch.broadcast_tensors(x, plain_one),
        x.tolist(),
        x.size(),
        x.numel(),
        x.is_floating_point(),
        torch.as_tensor(x),
        torch.nn.Parameter(x),
        x.requires_grad_(),
        x.unflatten(0, (1, 2)),
        torch.addmm(plain_one, x, x),
        x.topk(1),
        x.var_mean() if hasattr(x, "var_mean") else 0,
        torch.var_mean(x),
        x.std(),
        x.to(plain_one),
        plain_one.type_as(x),
        plain_one.view_as(x),
    ]
    return plain(results)


def writing(torch):
    class Named(torch.Tensor):
        pass

    x = torch.zeros(2, 2).as_subclass(Named)
    plain_one = torch.ones(2, 2)
    seen = [x.add_(1) is x, torch.add(plain_one, 1, out=x) is x, plain(torch.add(plain_one, 1, out=plain_one))]
    x[0] = 5
    plain_one[0] = x[0]
    x.mul_(plain_one).zero_()
    torch.exp(x, out=x)
    torch.relu_(x)
    return [*seen, plain(x), plain(plain_one), plain(plain_one.add_(x)), plain(torch.zeros(2, out=x[0]))]


def copies_and_pickles(torch):
    cls = MODULE_LEVEL.setdefault(torch.__name__, _module_level_class(torch))
    x = torch.arange(4.0).as_subclass(cls)
    x.label = ["kept"]
    stored = io.BytesIO()
    torch.save(x, stored)
    stored.seek(0)
    loaded = torch.load(stored, weights_only=False)
    pickled = pickle.loads(pickle.dumps(x))
    shallow = copy.copy(x)
    parameter = torch.nn.Parameter(x)
    return [[plain(each), each.label] for each in (loaded, pickled, shallow)] + [
        type(parameter).__name__,
        isinstance(parameter, torch.nn.Parameter),
        isinstance(x, torch.nn.Parameter),
        parameter.requires_grad,
        issubclass(cls, torch.nn.Parameter),
        dict(torch.nn.ParameterList([parameter]).named_parameters()).keys(),
    ]


MODULE_LEVEL = {}


def _module_level_class(torch):
    made = type(f"Stored_{torch.__name__}", (torch.Tensor,), {"__module__": __name__})
    globals()[made.__name__] = made
    made.__qualname__ = made.__name__
    made.__name__ = made.__qualname__
    return made
