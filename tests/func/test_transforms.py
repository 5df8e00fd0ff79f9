"""grad, vjp, jvp, vmap and their compositions, as programs in PyTorch and here."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from .parity import Program, same_in_both


def attention(t: ModuleType, x: Any, w: Any) -> Any:
    q, k, v = (x @ w).chunk(3, -1)
    scores = t.softmax(q @ k.transpose(-1, -2) / 2.0, -1)
    return (scores @ v).tanh().sum()


def mlp(t: ModuleType) -> tuple[Any, Any]:
    model = t.nn.Sequential(t.nn.Linear(4, 6), t.nn.Tanh(), t.nn.Linear(6, 3))
    return model, {name: each.detach() for name, each in model.named_parameters()}


def convolutional(t: ModuleType) -> tuple[Any, Any]:
    model = t.nn.Sequential(
        t.nn.Conv2d(2, 4, 3, padding=1), t.nn.GroupNorm(2, 4), t.nn.ReLU(), t.nn.MaxPool2d(2), t.nn.Flatten(),
        t.nn.Linear(16, 3),
    )  # fmt: skip
    return model, {name: each.detach() for name, each in model.named_parameters()}


def loss_of(t: ModuleType, model: Any) -> Any:
    def loss(parameters: Any, x: Any, y: Any) -> Any:
        found = t.func.functional_call(model, parameters, (x.unsqueeze(0),))
        return t.nn.functional.cross_entropy(found, y.unsqueeze(0))

    return loss


def per_sample(make: Any, shape: tuple[int, ...]) -> Program:
    def program(t: ModuleType) -> Any:
        model, parameters = make(t)
        x, y = t.randn(5, *shape), t.tensor([0, 2, 1, 1, 0])
        return t.vmap(t.func.grad(loss_of(t, model)), in_dims=(None, 0, 0))(parameters, x, y)

    return program


def ensemble(t: ModuleType) -> Any:
    models = [mlp(t)[0] for _ in range(3)]
    parameters, buffers = t.func.stack_module_state(models)

    def call(parameters: Any, buffers: Any, x: Any) -> Any:
        return t.func.functional_call(models[0], (parameters, buffers), (x,))

    x = t.randn(7, 4)
    shared = t.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    own = t.vmap(call)(parameters, buffers, t.randn(3, 7, 4))
    own.sum().backward()
    return shared, own, [each.grad for each in parameters.values()]


def ensemble_with_memory(t: ModuleType) -> Any:
    """Running statistics of every model are written in place; every model drops elements of its own."""
    models = [t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Dropout(0.5)) for _ in range(2)]
    parameters, buffers = t.func.stack_module_state(models)
    buffers = {name: each.clone() for name, each in buffers.items()}
    x = t.randn(5, 3)

    def call(parameters: Any, buffers: Any, x: Any) -> Any:
        return t.func.functional_call(models[0], (parameters, buffers), (x,))

    outputs = t.vmap(call, in_dims=(0, 0, None), randomness="different")(parameters, buffers, x)
    slopes = t.func.grad(lambda p, b, x: call(p, b, x).pow(2).sum())
    detached = {name: each.detach() for name, each in parameters.items() if name != "0.bias"}  # whose gradient is 0
    found = t.vmap(slopes, in_dims=(0, 0, None), randomness="different")(detached, buffers, x)
    return outputs, {name: found[name] for name in ("1.weight", "1.bias")}, buffers


def maml(t: ModuleType) -> Any:
    model, parameters = mlp(t)

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return t.nn.functional.mse_loss(t.func.functional_call(model, parameters, (x,)), y)

    def task(parameters: Any, x: Any, y: Any) -> Any:
        slopes = t.func.grad(loss)(parameters, x, y)
        adapted = {name: each - 0.1 * slopes[name] for name, each in parameters.items()}
        return loss(adapted, x * 1.1, y)

    x, y = t.randn(4, 5, 4), t.randn(4, 5, 3)
    return t.func.grad_and_value(lambda p: t.vmap(task, in_dims=(None, 0, 0))(p, x, y).mean())(parameters)


def hessian_of_mlp(t: ModuleType) -> Any:
    model, parameters = mlp(t)
    x = t.randn(4)

    def value(parameters: Any) -> Any:
        return t.func.functional_call(model, parameters, (x,)).pow(2).sum()

    return t.func.hessian(value)(parameters)


def jacobians(t: ModuleType) -> Any:
    model, parameters = convolutional(t)
    x = t.randn(2, 4, 4)

    def output(parameters: Any, x: Any) -> Any:
        return t.func.functional_call(model, parameters, (x.unsqueeze(0),))

    back = t.func.jacrev(output, argnums=(0, 1))(parameters, x)
    forth = t.func.jacfwd(lambda x: output(parameters, x))(x)
    chunks = t.func.jacrev(output, argnums=1, chunk_size=2)(parameters, x)
    return back, forth, chunks


def attention_program(t: ModuleType) -> Any:
    x, w = t.randn(3, 4), t.randn(4, 12)
    value = lambda w: attention(t, x, w)  # noqa: E731
    direction = t.randn(4, 12)
    forward_over_reverse = t.func.jvp(t.func.grad(value), (w,), (direction,))
    reverse_over_reverse = t.func.vjp(t.func.grad(value), w)[1](direction)
    reverse_over_forward = t.func.grad(lambda w: t.func.jvp(value, (w,), (direction,))[1])(w)
    batch = t.vmap(lambda x: t.func.grad(lambda w: attention(t, x, w))(w))(t.randn(2, 3, 4))
    return forward_over_reverse, reverse_over_reverse, reverse_over_forward, batch


def multihead(t: ModuleType) -> Any:
    layer = t.nn.MultiheadAttention(8, 2, batch_first=True)
    parameters = {name: each.detach() for name, each in layer.named_parameters()}

    def value(parameters: Any, x: Any) -> Any:
        return t.func.functional_call(layer, parameters, (x, x, x), {"need_weights": False})[0].sum()

    x = t.randn(3, 1, 5, 8)
    return t.vmap(t.func.grad(value), in_dims=(None, 0))(parameters, x)


def several_outputs(t: ModuleType) -> Any:
    x = t.randn(3)

    def f(x: Any, scale: Any) -> Any:
        return {"a": x.sin() * scale, "b": (x.sum(), x.exp().unsqueeze(0))}

    output, pull = t.func.vjp(f, x, t.tensor(2.0))
    cotangent = {"a": t.ones(3), "b": (t.tensor(1.0), t.ones(1, 3))}
    pushed = t.func.jvp(f, (x, t.tensor(2.0)), (t.ones(3), t.tensor(0.5)))
    return output, pull(cotangent), pushed, t.func.jacrev(f, argnums=(0, 1))(x, t.tensor(2.0))


def auxiliary(t: ModuleType) -> Any:
    x = t.randn(3)
    f = lambda x: ((x**3).sum(), {"twice": 2 * x})  # noqa: E731
    return (
        t.func.grad(f, has_aux=True)(x),
        t.func.grad_and_value(f, has_aux=True)(x),
        t.func.vjp(f, x, has_aux=True)[2],
        t.func.jvp(f, (x,), (x,), has_aux=True),
        t.func.jacrev(f, has_aux=True)(x),
        t.func.jacfwd(f, has_aux=True)(x),
    )


def linearized(t: ModuleType) -> Any:
    x, w = t.randn(3), t.randn(3, 3)
    output, push = t.func.linearize(lambda x, w: (t.tanh(w @ x), x.sum()), x, w)
    return output, push(t.ones(3), w), push(x, t.zeros(3, 3))


def axes(t: ModuleType) -> Any:
    x, y = t.randn(2, 3, 4), t.randn(4, 3)
    return (
        t.vmap(t.mul, in_dims=(2, 0))(x, y.unsqueeze(1)),
        t.vmap(lambda x, y: (x.sum(0), y * 2), in_dims=(-1, 0), out_dims=(1, -1))(x, y),
        t.vmap(t.vmap(lambda x, y: x @ y, in_dims=(0, None)), in_dims=(1, 1))(x, y),
        t.vmap(lambda d: d["a"] + d["b"][0], in_dims=({"a": 0, "b": (None,)},))({"a": y, "b": (y[0],)}),
        t.vmap(lambda x: x.sum(), in_dims=1, chunk_size=2)(x),
        t.vmap(lambda x: (x, 3), out_dims=(0, None))(y),
        t.vmap(lambda x, k: x * k, in_dims=(0, None))(y, 2),
        t.vmap(lambda x: t.ones(2))(y),
        t.vmap(lambda x: x.sum())(t.ones(0, 3)),
        t.vmap(lambda x, i: x[i])(y, t.tensor([0, 2, 1, 1])),
        t.vmap(lambda x: x.new_zeros(3).copy_(x))(y),
    )


def in_place(t: ModuleType) -> Any:
    x = t.randn(3, 4)

    def f(x: Any) -> Any:
        y = x.clone()
        y[0] = 2 * y[1]
        y[1:3].mul_(x[3])
        y.view(2, 2).t().add_(1)
        return y.relu_()

    return (
        t.vmap(f)(x),
        t.func.grad(lambda x: t.vmap(f)(x).pow(2).sum())(x),
        t.vmap(t.func.grad(lambda x: f(x).pow(2).sum()))(x),
        t.func.jvp(f, (x[0],), (x[1],)),
        t.vmap(t.func.jacfwd(f))(x),
        t.func.hessian(lambda x: f(x).pow(3).sum())(x[0]),
    )


def levels(t: ModuleType) -> Any:
    """Perturbations of one level do not reach another."""
    grad, x = t.func.grad, t.tensor(2.0)
    ones = t.ones(3)
    return (
        grad(lambda x: x * grad(lambda y: x + y)(t.tensor(1.0)))(x),
        grad(lambda x: x * grad(lambda y: x * y)(x))(x),
        grad(lambda x: x * t.vmap(grad(lambda z: z * x))(ones).sum())(x),
        t.func.jvp(lambda x: x * t.func.jvp(lambda y: x * y, (x,), (x,))[1], (x,), (t.tensor(1.0),)),
        t.func.jvp(grad(lambda x: x**3), (x,), (t.tensor(1.0),)),
        grad(lambda x: t.func.jvp(lambda y: y**3 * x, (x,), (x,))[1])(x),
        grad(grad(grad(lambda x: x**4)))(x),
        t.vmap(grad(grad(t.sin)))(ones),
        grad(lambda x: (x - x.detach() ** 2).sum())(ones),
    )


def grad_modes(t: ModuleType) -> Any:
    x, w = t.randn(3), t.randn(3, requires_grad=True)

    def constant_inside(x: Any) -> Any:
        with t.no_grad():
            c = x**2
        return (x * 3 - c).sum()

    with t.no_grad():
        outside = t.func.grad(lambda x: (x * x * w).sum())(x)
    found = [
        t.func.grad(lambda x: (x * w).sum())(x),
        t.func.grad(lambda x: (x * x).sum() + w.sum())(x),
        t.func.grad(lambda x: (x * x).sum())(x),
        t.func.grad(lambda x: (x * x).sum())(w),
        t.func.vjp(lambda x: x * w, x)[0],
        t.func.jvp(lambda x: x * w, (x,), (x,))[1],
        t.vmap(lambda x: x * w[0])(x),
        outside,
    ]
    through = t.func.grad(lambda x: (x * x * w).sum())(x)
    through.sum().backward()
    inside = []
    t.func.grad(lambda x: inside.append((x.requires_grad, x.is_leaf)) or x.sum())(x)
    return t.func.grad(constant_inside)(x), [each.requires_grad for each in found], outside, w.grad, inside


def batched_by_hand(t: ModuleType) -> Any:
    x = t.randn(3, dtype=t.float64, requires_grad=True)
    y = x.sin() * x.sum()
    rows = t.autograd.grad(y, x, t.eye(3, dtype=t.float64), is_grads_batched=True, retain_graph=True)
    create = t.autograd.grad(y, x, t.eye(3, dtype=t.float64), is_grads_batched=True, create_graph=True)[0]
    functional = t.autograd.functional
    f = lambda x, w: (t.tanh(x @ w), w.sum())  # noqa: E731
    a, w = t.randn(2, 3), t.randn(3, 2)
    g = lambda x: t.tanh(x @ w).pow(2).sum()  # noqa: E731
    return (
        rows,
        t.autograd.grad(create.sum(), x),
        functional.jacobian(f, (a, w), vectorize=True),
        functional.jacobian(f, (a, w), vectorize=True, strategy="forward-mode"),
        functional.hessian(g, a, vectorize=True),
        functional.hessian(g, a, vectorize=True, outer_jacobian_strategy="forward-mode"),
    )


def norms(t: ModuleType) -> Any:
    x = t.randn(3, 4, 6)
    w, b = t.randn(3, 6), t.randn(3, 6)
    f = t.nn.functional
    image = t.randn(3, 2, 4, 5, 5)
    return (
        t.vmap(lambda x, w, b: f.layer_norm(x, (6,), w, b))(x, w, b),
        t.vmap(lambda x, w: f.group_norm(x, 2, w))(image, t.randn(3, 4)),
        t.vmap(lambda x: f.batch_norm(x, None, None, training=True))(image),
        t.vmap(lambda x: f.instance_norm(x))(image),
        t.vmap(lambda x, w: f.conv2d(x, w, padding=1))(image, t.randn(3, 3, 4, 3, 3)),
        t.vmap(lambda w: f.conv2d(image[0], w, groups=2))(t.randn(3, 4, 2, 3, 3)),
        t.vmap(lambda x, w, b: f.conv_transpose2d(x, w, b, stride=2))(image, t.randn(3, 4, 3, 3, 3), t.randn(3, 3)),
        t.vmap(lambda x, y: f.cross_entropy(x, y))(x, t.tensor([[0, 1, 2, 3], [1, 1, 5, -100], [3, 3, 3, 3]])),
        t.vmap(lambda w, i: f.embedding(i, w))(x, t.tensor([[0, 1], [3, 3], [2, 0]])),
        t.vmap(lambda x: f.interpolate(x, scale_factor=2, mode="bilinear"))(image),
    )


def curvature_of_layers(t: ModuleType) -> Any:
    """Hessians by forward over reverse mode, where rules must know that statistics depend on the input."""
    f, x = t.nn.functional, t.randn(2, 6, dtype=t.float64)
    target = t.tensor([1, 4])
    recurrent = t.nn.GRU(3, 2).double()
    values = (
        lambda x: f.layer_norm(x, (6,)).pow(3).sum(),
        lambda x: f.batch_norm(x, None, None, training=True).pow(3).sum(),
        lambda x: f.group_norm(x, 2).pow(3).sum(),
        lambda x: f.cross_entropy(x, target),
        lambda x: x.cumprod(1).sum() + x.cumsum(0).pow(2).sum(),
        lambda x: x.softmax(1).log().std(),
        lambda x: t.logsumexp(x, 1).pow(2).sum() + x.norm(),
        lambda x: t.linalg.det(x[:, :2]) + t.linalg.inv(x[:, 2:4]).sum(),
        lambda x: recurrent(x.view(2, 2, 3))[0].sum(),
    )
    return [t.func.hessian(each)(x) for each in values]


def ops_on_images(t: ModuleType) -> Any:
    f, x = t.nn.functional, t.randn(3, 1, 2, 6, 6, dtype=t.float64)
    w = t.randn(3, 2, 3, 3, dtype=t.float64)

    def network(x: Any) -> Any:
        y = f.max_pool2d(f.conv2d(x, w, stride=1, padding=1).relu(), 2)
        return f.avg_pool2d(f.pad(y, (1, 0, 1, 0), mode="reflect"), 2).sum()

    return t.vmap(t.func.grad(network))(x), t.func.jvp(network, (x[0],), (x[1],)), t.vmap(t.func.jacfwd(network))(x)


def fused_attention(t: ModuleType) -> Any:
    attend = t.nn.functional.scaled_dot_product_attention
    q, k, v = (t.randn(3, 2, 4, 5, 6) for _ in range(3))
    mask = t.randn(3, 2, 1, 5, 5)
    f = lambda q, k, v, mask=None: (attend(q, k, v, mask) ** 2).sum()  # noqa: E731
    return (
        t.vmap(attend)(q, k, v),
        t.vmap(attend, in_dims=(0, None, None))(q, k[0], v[0]),
        t.vmap(attend)(q, k, v, mask),
        t.vmap(attend, in_dims=(0, 0, 0, None))(q, k, v, mask[0, :, 0, :, :].unsqueeze(1)),
        t.vmap(attend)(q, k, v, mask[:, 0, 0] > 0),
        t.vmap(t.func.grad(f, argnums=(0, 1, 2)))(q, k, v),
        t.vmap(lambda q, k, v: attend(q, k, v, is_causal=True))(q, k, v),
    )


def inference(t: ModuleType) -> Any:
    """A transform inside inference mode records all the same."""
    with t.inference_mode():
        x = t.tensor([1.0, 2.0])
        f = lambda x: (x**3).sum()  # noqa: E731
        return (
            t.func.grad(f)(x),
            t.func.jacrev(t.sin)(x),
            t.func.jvp(t.sin, (x,), (x,)),
            t.func.hessian(f)(x),
            t.vmap(t.func.grad(t.sin))(x),
        )


def ordinary_python(t: ModuleType) -> Any:
    x = t.arange(12.0).view(3, 4) / 10
    i = t.tensor([[0, 1], [1, 2], [3, 3]])
    return (
        t.vmap(lambda x: t.stack([each * k for k, each in enumerate(x)]))(x),
        t.vmap(sum)(x),
        t.vmap(lambda x: {"a": x.sum(), "b": (x,)})(x),
        t.vmap(lambda x, i: x.index_put((i,), t.tensor(5.0)))(x, i),
        t.vmap(lambda x, i: x.clone().scatter_(0, i, 1.0))(x, i),
        t.vmap(lambda x: x.masked_fill(x > 0.5, 0))(x),
        t.vmap(lambda x, *, k: x * k)(x, k=t.ones(4)),
        t.vmap(lambda x: x.to(t.float64).unbind(0)[1])(x),
        t.vmap(lambda a, b: t.einsum("i,j->ij", a, b))(x, x),
        t.vmap(t.func.vjp(t.sin, x)[1])(t.ones(2, 3, 4)),
        t.func.jvp(lambda x: x * x.sum().item(), (x,), (x,)),
        t.vmap(lambda x: x.detach() * x)(x.clone().requires_grad_()).requires_grad,
        t.vmap(t.sin).__name__,
        t.func.rearrange(x, "(a b) c -> c b a", a=3),
        t.func.rearrange([x, x], "n ... c -> c (n ...)"),
        t.func.functionalize(lambda x: x.clone().add_(1))(x),
    )


PROGRAMS: dict[str, Program] = {
    "per-sample gradients of an mlp": per_sample(mlp, (4,)),
    "per-sample gradients of a convolution": per_sample(convolutional, (2, 4, 4)),
    **{
        each.__name__: each
        for each in (
            ensemble, ensemble_with_memory, maml, hessian_of_mlp, jacobians, attention_program, multihead,
            several_outputs, auxiliary,
            linearized, axes, in_place, levels, grad_modes, batched_by_hand, norms, curvature_of_layers,
            ops_on_images, fused_attention, inference, ordinary_python,
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_pytorch_gives(name: str) -> None:
    same_in_both(PROGRAMS[name], 2e-5)
