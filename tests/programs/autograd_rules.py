"""Autograd: what is a leaf, hooks, kept gradients, versions, grad modes, custom functions."""

import gc


def leaves_and_history(torch, show):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    show(x.is_leaf, y.is_leaf, y.grad_fn is not None, x.grad, y.detach().requires_grad, x.data.requires_grad)
    y.sum().backward()
    show(x.grad)
    show.raises(lambda: y.requires_grad_(False))
    show.raises(lambda: torch.ones(2, dtype=torch.int64).requires_grad_())
    show.raises(lambda: torch.ones(2).backward())


def backward_needs_a_scalar(torch, show):
    x = torch.ones(2, requires_grad=True)
    show.raises(lambda: (x * 2).backward())
    show.raises(lambda: (x * 2).backward(torch.ones(3)))
    show.raises(lambda: (x * 2).backward(torch.ones(2, dtype=torch.int64)))
    (x * 2).backward(torch.tensor([1.0, 3.0]))
    show(x.grad)


def graphs_are_freed(torch, show):
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    show.raises(y.backward)
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    show(x.grad)


def gradients_accumulate(torch, show):
    x = torch.ones(2, requires_grad=True)
    for _ in range(3):
        (x * 2).sum().backward()
    first = x.grad
    show(x.grad, first is x.grad)
    x.grad = None
    show(x.grad)
    show.raises(lambda: setattr(x, "grad", torch.ones(3)))
    show.raises(lambda: setattr(x, "grad", torch.ones(2, dtype=torch.float64)))
    show.raises(lambda: setattr(x, "grad", 1))


def retained_gradients(torch, show):
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.retain_grad()
    show(y.retains_grad)
    (y * y).sum().backward()
    show(y.grad, x.grad)
    show.raises(lambda: torch.ones(1).retain_grad())


def hooks_of_tensors(torch, show):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    handle = x.register_hook(lambda grad: grad * 10)
    y.register_hook(lambda grad: show("hook of y", grad))
    y.sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    show(x.grad)
    show.raises(lambda: torch.ones(1).register_hook(print))
    show.raises(lambda: x.register_hook(lambda grad: "a") and (x * 2).sum().backward())


def hooks_after_accumulation(torch, show):
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda each: show("accumulated", each.grad))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    show.raises(lambda: (x * 2).register_post_accumulate_grad_hook(print))


def hooks_of_nodes(torch, show):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: show("after", inputs[0], outputs))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
    y.sum().backward()
    show(x.grad, y.grad_fn.name(), [type(each[0]).__name__ for each in y.grad_fn.next_functions if each[0] is not None])


def versions(torch, show):
    x = torch.ones(3)
    before = x._version
    x.add_(1)
    x[0] = 2
    x.view(-1).mul_(2)
    x.detach().zero_()
    show(x._version - before)
    y = torch.ones(2, requires_grad=True).exp()
    z = y * y
    y.add_(1)
    show.raises(lambda: z.sum().backward())


def leaves_refuse_writes(torch, show):
    x = torch.ones(2, requires_grad=True)
    show.raises(lambda: x.add_(1))
    show.raises(lambda: x[0].add_(1))
    show.raises(lambda: x.view(-1).mul_(2))
    show.raises(lambda: x.__setitem__(0, 1.0))
    with torch.no_grad():
        x.add_(1)
    x.data.mul_(2)
    show(x, x._version)


def writes_into_views_have_gradients(torch, show):
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    y[1:3] *= 5
    y.view(2, 2)[0] += x[:2]
    show(y, type(y.grad_fn).__name__)
    y.sum().backward()
    show(x.grad)


def views_made_by_unbind_refuse_writes(torch, show):
    x = torch.ones(2, 2, requires_grad=True) * 1
    first, _ = x.unbind()
    show.raises(lambda: first.add_(1))
    with torch.no_grad():
        view = x[0]
    show.raises(lambda: view.add_(torch.ones(2, requires_grad=True)))


def no_grad_and_enable_grad(torch, show):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        show((x * 2).requires_grad, torch.is_grad_enabled())
        with torch.enable_grad():
            show((x * 2).requires_grad)

    @torch.no_grad()
    def frozen():
        return (x * 2).requires_grad

    show(frozen(), torch.is_grad_enabled())
    with torch.set_grad_enabled(False):
        show(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    show.raises(lambda: torch.no_grad()(lambda: torch.is_grad_enabled())())


def inference_mode(torch, show):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = x * 2
        show(y.requires_grad, y.is_inference(), torch.is_inference_mode_enabled())
        y.add_(1)
    show.raises(lambda: y.add_(1))
    show.raises(lambda: (y * x).sum().backward())
    show.raises(lambda: y.requires_grad_())
    show(y.clone().is_inference(), (y + 1).is_inference())


def grad_of_outputs(torch, show):
    x, z = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    show(g.detach(), torch.autograd.grad(g.sum(), x), x.grad)
    show.raises(lambda: torch.autograd.grad((x * 2).sum(), z))
    show(torch.autograd.grad((x * 2).sum(), (x, z), allow_unused=True))
    show(torch.autograd.grad((x * 2).sum(), (x, z), materialize_grads=True))
    show.raises(lambda: torch.autograd.grad((x * 2).sum(), torch.ones(1)))
    show.raises(lambda: torch.autograd.grad((x * 2), x))
    show.raises(lambda: torch.autograd.grad((x * 2).sum(), []))


def backward_to_some_inputs(torch, show):
    x, z = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (x * z).sum().backward(inputs=[x])
    show(x.grad, z.grad)
    show.raises(lambda: (x * z).sum().backward(inputs=[]))


def custom_functions(torch, show):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x)
            ctx.scale = scale
            return x**3 * scale

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensors
            return dy * 3 * x**2 * ctx.scale, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Cube.apply(x, 2.0)
    show(y)
    y.sum().backward()
    show(x.grad)
    show.raises(lambda: Cube.apply(x, scale=2.0))
    show.raises(lambda: Cube()(x))


def custom_functions_that_are_wrong(torch, show):
    class TooMany(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            return dy, dy

    class WrongShape(TooMany):
        @staticmethod
        def backward(ctx, dy):
            return dy[:1].expand(3)

    class NoBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = torch.ones(2, requires_grad=True)
    for kind in (TooMany, WrongShape, NoBackward):
        show.raises(lambda kind=kind: kind.apply(x).sum().backward())


def functions_that_write_in_place(torch, show):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, dy):
            return dy * 2

    x = torch.ones(2, requires_grad=True)
    y = x * 1
    z = Double.apply(y)
    show(z is y, type(y.grad_fn).__name__)
    z.sum().backward()
    show(x.grad)
    show.raises(lambda: Double.apply(x))


def functions_with_outputs_that_have_no_gradient(torch, show):
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            index = x.argmax()
            ctx.mark_non_differentiable(index)
            ctx.set_materialize_grads(False)
            return x * 2, index, x * 3

        @staticmethod
        def backward(ctx, dy, dindex, dz):
            show(dindex, dz)
            return dy * 2

    x = torch.ones(2, requires_grad=True)
    y, index, z = Split.apply(x)
    show(y.requires_grad, index.requires_grad, z.requires_grad)
    y.sum().backward()
    show(x.grad)


def saved_tensor_hooks(torch, show):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: show("pack", t.shape) or t.numpy(force=True), lambda a: torch.from_numpy(a)
    ):
        y = x.exp() * x
    y.sum().backward()
    show(x.grad)


def checkpointing(torch, show):
    from importlib import import_module

    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    x = torch.ones(2, requires_grad=True)
    calls = []

    def block(t):
        calls.append(1)
        return (t * 2).exp()

    checkpoint(block, x, use_reentrant=False).sum().backward()
    show(x.grad, len(calls))
    checkpoint(block, x, use_reentrant=True).sum().backward()
    show(x.grad, len(calls))


def functional_derivatives(torch, show):
    f = lambda x: (x**3).sum()  # noqa: E731
    x = torch.tensor([1.0, 2.0])
    show(torch.autograd.functional.jacobian(f, x), torch.autograd.functional.hessian(f, x))
    show(torch.autograd.functional.vjp(f, x), torch.autograd.functional.jvp(f, x, torch.ones(2)))
    show.raises(lambda: torch.autograd.functional.jacobian(lambda t: 1, x))


def anomaly_mode(torch, show):
    x = torch.tensor([0.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        show(torch.is_anomaly_enabled())
        show.raises(lambda: (x / x).sum().backward() or x.grad)


def detach_in_place(torch, show):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.detach_()
    show(y.requires_grad, y.is_leaf)
    show.raises(lambda: (x * 2)[0].detach_())


def gradients_of_complex_tensors(torch, show):
    z = torch.tensor([1 + 2j], requires_grad=True)
    (z.abs() ** 2).sum().backward()
    show(z.grad)
    show.raises(lambda: (z * z).sum().backward())
    show(torch.view_as_real(z), z.conj().resolve_conj().detach(), z.real, z.imag)


def nodes_are_collected(torch, show):
    import weakref

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad)
    reference = weakref.ref(y)
    del y
    gc.collect()
    show(reference() is None)


def gradcheck(torch, show):
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    show(torch.autograd.gradcheck(lambda t: t.exp() * t, (x,)), torch.autograd.gradgradcheck(lambda t: t.sin(), (x,)))
    show.raises(lambda: torch.autograd.gradcheck(lambda t: t.detach() * t, (x,)))


def clipping(torch, show):
    x = torch.ones(3, requires_grad=True)
    (x * 10).sum().backward()
    show(torch.nn.utils.clip_grad_norm_([x], 1.0), x.grad)
    torch.nn.utils.clip_grad_value_([x], 0.1)
    show(x.grad, torch.nn.utils.parameters_to_vector([x]))


def writes_through_real_and_complex_views(torch, show):
    z = torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
    for write in (lambda y: y.real.mul_(3), lambda y: y.imag.exp_(), lambda y: torch.view_as_real(y)[1:].tanh_()):
        y = z * 1
        write(y)
        show(y, torch.autograd.grad(y, z, torch.full_like(y, 1 + 2j)))
    x = torch.arange(1.0, 7.0, requires_grad=True)
    y = x * 1
    torch.view_as_complex(y.view(3, 2))[1:].sigmoid_()
    (dx,) = torch.autograd.grad(y, x, torch.arange(6.0), create_graph=True)
    show(y, dx.detach(), torch.autograd.grad(dx.sum(), x))


def second_gradients_through_a_written_view(torch, show):
    x = torch.tensor([0.5, -0.25, 1.0], requires_grad=True)
    y = x * 1
    y[:2].tanh_()
    y.view(-1)[1:].sigmoid_()
    (dx,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    show(dx.detach(), torch.autograd.grad(dx.sum(), x))
