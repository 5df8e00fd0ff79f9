"""`gradcheck` and `gradgradcheck`: gradients from `backward` against finite differences.

Notation: the Jacobian of one output with respect to one input has a row per element of the input and a column per
element of the output. Complex numbers follow PyTorch: the functions compared are the real and the imaginary part of
each complex output, and the gradient of a real function of z = x + iy is ds/dx + i ds/dy (Hu & Shao, arXiv:1701.00392,
3.5.3).
"""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor

Function = Callable[..., Any]
Direction = Tensor | tuple[Tensor, Tensor]  # of a complex input: the real and the imaginary part


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise when gradients are wrong.

    >>> from pellucid.autograd.gradcheck import GradcheckError
    >>> issubclass(GradcheckError, RuntimeError)
    True
    """


@dataclasses.dataclass(frozen=True)
class Check:
    """One function, what it is given, and how exact its gradients must be."""

    function: Function
    inputs: tuple[Any, ...]
    eps: float
    rtol: float
    atol: float
    nondet_tol: float
    check_grad_dtypes: bool
    part: str = ""  # "real" or "imaginary" where a complex output is split

    def outputs(self) -> tuple[Any, ...]:
        return _as_tuple(self.function(*self.inputs))

    @property
    def differentiable_inputs(self) -> list[Tensor]:
        return [each for each in self.inputs if isinstance(each, Tensor) and each.requires_grad]

    def part_of_outputs(self, name: str, choose: Callable[[Tensor], Tensor]) -> Check:
        """The same check of the real or imaginary part of the complex outputs."""

        def function(*inputs: Any) -> tuple[Any, ...]:
            outputs = _as_tuple(self.function(*inputs))
            return tuple([choose(each) if each.is_complex() else each for each in outputs])

        return dataclasses.replace(self, function=function, part=name)


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether `backward` through `func` agrees with central differences of step `eps`, for every input that requires
    grad.

    Inputs should be float64 or complex128. `fast_mode` compares one random projection of each Jacobian; `nondet_tol` is
    how much two equal backward passes may differ; `masked` loosens the test that a zero cotangent gives zeros. On a
    failure GradcheckError is raised, or False returned when `raise_exception` is False. `check_forward_ad` checks
    forward mode as well, `check_batched_grad` and `check_batched_forward_grad` both under vmap.

    >>> import pellucid as torch
    >>> torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
    True
    """
    # What these two check with is here, so they load when they are needed.
    from pellucid.autograd import gradcheck_batches as batches
    from pellucid.autograd import gradcheck_forward as forward

    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    func, inputs = _on_stored_values(func, _as_tuple(inputs))
    check = Check(func, inputs, eps, rtol, atol, nondet_tol, check_grad_dtypes)
    try:
        if check_backward_ad:
            _run(check, fast_mode, check_undefined_grad, bool(masked))
        else:
            _check_inputs(check.inputs)
        if check_forward_ad:
            forward.compare(check, fast_mode)
        if check_batched_forward_grad:
            forward.compare_batched(check)
        if check_batched_grad:
            batches.compare(check)
        return True
    except GradcheckError:
        if raise_exception:
            raise
        return False


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradient of `func`, as a function of `inputs` and of `grad_outputs` (random when None).

    >>> import pellucid as torch
    >>> torch.autograd.gradgradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    func, first = _on_stored_values(func, _as_tuple(inputs))
    if grad_outputs is None:
        cotangents = _random_cotangents(_differentiable(func(*first)), gen_non_contig_grad_outputs)
    else:
        cotangents = _as_tuple(grad_outputs)

    def gradient(*arguments: Any) -> tuple[Tensor, ...]:
        tensors, vectors = arguments[: len(first)], arguments[len(first) :]
        grads = pellucid.autograd.grad(
            _differentiable(func(*tensors)),
            [each for each in tensors if isinstance(each, Tensor) and each.requires_grad],
            vectors,
            create_graph=True,
            allow_unused=True,
        )
        return tuple([each for each in grads if each is not None])

    return gradcheck(
        gradient,
        first + cotangents,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_cotangents(outputs: tuple[Tensor, ...], noncontiguous: bool) -> tuple[Tensor, ...]:
    return tuple(
        [
            pellucid.testing.make_tensor(
                tuple(each.shape),
                dtype=each.dtype,
                device=each.device,
                low=-1,
                high=1,
                requires_grad=True,
                noncontiguous=noncontiguous,
            )
            for each in outputs
        ]
    )


def _run(check: Check, fast: bool, check_undefined_grad: bool, masked: bool) -> bool:
    """All checks in PyTorch's order; GradcheckError at the first that fails."""
    _check_inputs(check.inputs)
    outputs = check.outputs()
    compare = _compare_fast if fast else _compare_slow
    if any(each.is_complex() for each in outputs):
        compare(check.part_of_outputs("imaginary", pellucid.imag))
        compare(check.part_of_outputs("real", pellucid.real))
    else:
        compare(check)
    differentiable = _differentiable(outputs)
    if not differentiable:
        return True
    _check_zero_cotangent(differentiable, check.differentiable_inputs, masked)
    if check_undefined_grad:
        _check_undefined_cotangents(check)
    return True


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """ValueError unless something requires grad; RuntimeError for elements that share memory."""
    found = False
    for index, each in enumerate(inputs):
        if not (isinstance(each, Tensor) and each.requires_grad):
            continue
        found = True
        if each.dtype not in (pellucid.float64, pellucid.complex128):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if any(stride == 0 and size > 1 for stride, size in zip(each.stride(), each.shape, strict=True)):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def _compare_slow(check: Check) -> None:
    """Every element of every Jacobian, or, without differentiable outputs, that nothing moves."""
    outputs = check.outputs()
    positions = positions_of(outputs)
    numerical = [_numerical_jacobians(check, tensor, outputs, positions) for tensor in check.differentiable_inputs]
    if not any(outputs[position].requires_grad for position in positions):
        if any(bool((each != 0).any()) for jacobians in numerical for each in jacobians):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    for number, position in enumerate(positions):
        if not outputs[position].requires_grad:
            continue
        analytical = _analytical_jacobians(check, outputs[position])
        for index, ours in enumerate(analytical):
            theirs = numerical[index][number]
            if not are_close(ours, theirs, check.rtol, check.atol):
                raise GradcheckError(_mismatch(check, position, index, theirs, ours))


def _numerical_jacobians(check: Check, tensor: Tensor, outputs: tuple[Any, ...], positions: list[int]) -> list[Tensor]:
    """By central differences: the Jacobian of each floating output with respect to one input."""
    data = tensor.data  # a version counter of its own, so that saved tensors are not found to be overwritten
    kind = tensor.dtype if tensor.is_complex() else None
    jacobians = [
        outputs[position].new_zeros((tensor.numel(), outputs[position].numel()), dtype=kind) for position in positions
    ]
    for row, index in enumerate(itertools.product(*[range(size) for size in tensor.shape])):
        entry = data[index]
        where = f"on index {index} "
        changes = derivatives(check, entry, check.eps, where)
        if tensor.is_complex():
            turned = derivatives(check, entry, check.eps * 1j, where)
            changes = [real + imaginary * 1j for real, imaginary in zip(changes, turned, strict=True)]
        for jacobian, change in zip(jacobians, changes, strict=True):
            jacobian[row] = change
    return jacobians


def derivatives(check: Check, entry: Tensor, step: Any, where: str = "") -> list[Tensor]:
    """How each floating output changes per unit when `entry` (a view of an input's data) moves by `step`, flattened."""
    before = entry.clone()
    entry.copy_(before - step)
    low = [each.clone() for each in check.outputs()]
    entry.copy_(before + step)
    high = [each.clone() for each in check.outputs()]
    entry.copy_(before)
    changes = []
    for position in positions_of(high):
        first, second = low[position], high[position]
        for name in ("shape", "dtype"):
            if getattr(first, name) != getattr(second, name):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {name} when inputs are perturbed {where}by "
                    f"{check.eps}, but got: {name}s {getattr(first, name)} and {getattr(second, name)}."
                )
        changes.append(((second - first) / (2 * check.eps)).detach().reshape(-1))
    return changes


def _analytical_jacobians(check: Check, output: Tensor) -> list[Tensor]:
    """By `grad`, a column at a time: the Jacobian of one output with respect to each input. Computed twice."""
    first, second = [_jacobians_once(check, output) for _ in range(2)]
    _demand_repeatable(first, second, check.nondet_tol)
    return first


def _jacobians_once(check: Check, output: Tensor) -> list[Tensor]:
    inputs = check.differentiable_inputs
    jacobians = [each.new_zeros((each.numel(), output.numel())) for each in inputs]
    cotangent = pellucid.zeros(tuple(output.shape), dtype=output.dtype, device=output.device)
    flat = cotangent.view(-1)
    for column in range(output.numel()):
        flat.zero_()
        flat[column] = 1.0
        for jacobian, gradient in zip(jacobians, _vjp(check, output, cotangent), strict=True):
            if gradient is not None:
                jacobian[:, column] = gradient.reshape(-1)
    return jacobians


def _vjp(check: Check, output: Tensor, cotangent: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients of the inputs, checked to have the inputs' sizes and, if asked, dtypes."""
    inputs = check.differentiable_inputs
    grads = pellucid.autograd.grad(output, inputs, cotangent, retain_graph=True, allow_unused=True)
    for gradient, tensor in zip(grads, inputs, strict=True):
        if gradient is None:
            continue
        if gradient.shape != tensor.shape:
            raise GradcheckError("Analytical gradient has incorrect size")
        if check.check_grad_dtypes and gradient.dtype != tensor.dtype:
            raise GradcheckError("Gradient has dtype mismatch")
    return grads


def _demand_repeatable(first: list[Tensor], second: list[Tensor], tolerance: float) -> None:
    for one, other in zip(first, second, strict=True):
        if one.numel() and bool((one - other).abs().max() > tolerance):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {tolerance}. Pass a larger nondet_tol if that is expected."
            )


def _compare_fast(check: Check) -> None:
    """For random u and v, whether vᵀJu is the same both ways, for every pair of input and output."""
    outputs = check.outputs()
    positions = positions_of(outputs)
    generator = pellucid.Generator()
    inputs = check.differentiable_inputs
    directions = [random_direction(each, generator) for each in inputs]
    moved = [_directional(check, tensor, u) for tensor, u in zip(inputs, directions, strict=True)]
    if not any(outputs[position].requires_grad for position in positions):
        if any(each.numel() and bool(each.abs().max() > check.nondet_tol) for changes in moved for each in changes):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    for number, position in enumerate(positions):
        output = outputs[position]
        if not output.requires_grad:
            continue
        v = unit_vector(output.numel(), output.dtype, generator)
        projections = _projected_twice(check, output, v, directions)
        for index, (ours, u) in enumerate(zip(projections, directions, strict=True)):
            theirs = (v * moved[index][number]).sum()
            if not are_close(ours, theirs, check.rtol, check.atol * _sum_of(u) * float(v.sum())):
                raise GradcheckError(_mismatch(check, position, index, theirs, ours) + _slow_report(check))


def _slow_report(check: Check) -> str:
    """What the slow comparison says after the fast one failed."""
    try:
        _compare_slow(check)
    except GradcheckError as error:
        return f"\nThe above quantities relating the numerical and analytical jacobians are of fast mode.\n{error}"
    return (
        "\nFast gradcheck failed but element-wise differences are small. This means that the test might've passed in "
        "slow_mode! Pass fast_mode=False, or a larger atol."
    )


def random_direction(tensor: Tensor, generator: Any) -> Direction:
    real = tensor.dtype.to_real()
    if tensor.is_complex():
        return unit_vector(tensor.numel(), real, generator), unit_vector(tensor.numel(), real, generator)
    return unit_vector(tensor.numel(), real, generator)


def unit_vector(size: int, dtype: Any, generator: Any) -> Tensor:
    vector = pellucid.rand(size, generator=generator).to(dtype)
    return vector / vector.norm()


def _sum_of(direction: Direction) -> float:
    if isinstance(direction, tuple):
        return float(direction[0].sum()) + float(direction[1].sum())
    return float(direction.sum())


def _directional(check: Check, tensor: Tensor, direction: Direction) -> list[Tensor]:
    """Ju by central differences, for each floating output."""
    data = tensor.data
    if not isinstance(direction, tuple):
        return derivatives(check, data, direction.reshape(tensor.shape) * check.eps)
    along = derivatives(check, data, direction[0].reshape(tensor.shape) * check.eps)
    across = derivatives(check, data, direction[1].reshape(tensor.shape) * (check.eps * 1j))
    return [real + imaginary * 1j for real, imaginary in zip(along, across, strict=True)]


def _projected_twice(check: Check, output: Tensor, v: Tensor, directions: list[Direction]) -> list[Tensor]:
    """vᵀJu by `grad`, for each input."""
    first, second = [_vjp(check, output, v.reshape(output.shape)) for _ in range(2)]
    inputs = check.differentiable_inputs
    both = [
        [pellucid.zeros_like(tensor) if each is None else each for each, tensor in zip(grads, inputs, strict=True)]
        for grads in (first, second)
    ]
    _demand_repeatable(both[0], both[1], check.nondet_tol)
    return [_projected(gradient.reshape(-1), u) for gradient, u in zip(both[0], directions, strict=True)]


def _projected(gradient: Tensor, direction: Direction) -> Tensor:
    if isinstance(direction, tuple):
        return (gradient.real * direction[0]).sum() + 1j * (gradient.imag * direction[1]).sum()
    return (gradient * direction).sum()


def _check_zero_cotangent(outputs: tuple[Tensor, ...], inputs: list[Tensor], masked: bool) -> None:
    """GradcheckError unless cotangents of zeros give gradients of zeros, with the inputs' dtype, device and size."""
    grads = pellucid.autograd.grad(outputs, inputs, [pellucid.zeros_like(each) for each in outputs], allow_unused=True)
    for gradient, tensor in zip(grads, inputs, strict=True):
        if gradient is None:
            continue
        zeros = pellucid.zeros_like(gradient)
        if not (pellucid.allclose(gradient, zeros) if masked else bool((gradient == 0).all())):
            raise GradcheckError("backward not multiplied by grad_output")
        if gradient.dtype != tensor.dtype:
            raise GradcheckError("grad is incorrect type")
        if gradient.device != tensor.device:
            raise GradcheckError("grad is incorrect device")
        if gradient.shape != tensor.shape:
            raise GradcheckError("grad is incorrect size")


def _check_undefined_cotangents(check: Check) -> None:
    """GradcheckError unless backward copes with outputs through which no gradient arrives, all of them and one at a
    time.
    """
    count = len(_differentiable(check.outputs()))
    for hidden in [set(range(count)), *([{position} for position in range(count)] if count > 1 else [])]:
        _check_hidden_cotangents(check, hidden)


def _check_hidden_cotangents(check: Check, hidden: set[int]) -> None:
    outputs = _differentiable(check.outputs())
    ends = [_without_gradient(each) if position in hidden else each for position, each in enumerate(outputs)]
    zeros = [pellucid.zeros_like(each) for each in ends]
    try:
        grads = pellucid.autograd.grad(ends, check.differentiable_inputs, zeros, allow_unused=True)
    except RuntimeError as error:
        raise GradcheckError(
            "Expected backward function to handle undefined output grads. An output that is not used gives its "
            "gradient as None: handle that in backward, or call gradcheck with check_undefined_grad=False."
        ) from error
    if any(each is not None and bool((each != 0).any()) for each in grads):
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Return None "
            "from backward there, or call gradcheck with check_undefined_grad=False."
        )


def _without_gradient(tensor: Tensor) -> Tensor:
    """The same values with a history through which the gradient None is passed."""

    class UndefinedGrad(pellucid.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Tensor) -> Tensor:
            return value.clone()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> None:
            return None

    return UndefinedGrad.apply(tensor)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _on_stored_values(func: Any, inputs: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Functions of sparse tensors are checked as functions of what these store."""
    if not any([isinstance(each, Tensor) and each.layout is not pellucid.strided for each in inputs]):
        return func, inputs
    from pellucid.sparse.checking import on_stored_values  # loads when it is needed

    return on_stored_values(func, inputs)


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple([each for each in _as_tuple(outputs) if each.requires_grad])


def positions_of(outputs: Any) -> list[int]:
    """Which outputs are floating or complex; the others have no derivative."""
    return [index for index, each in enumerate(outputs) if each.is_floating_point() or each.is_complex()]


def are_close(ours: Tensor, theirs: Tensor, rtol: float, atol: float) -> bool:
    common = pellucid.promote_types(ours.dtype, theirs.dtype)
    return pellucid.allclose(ours.to(common), theirs.to(common), rtol, atol)


def _mismatch(check: Check, output: int, index: int, numerical: Tensor, analytical: Tensor) -> str:
    prefix = f"While considering the {check.part} part of complex outputs only, " if check.part else ""
    return (
        f"{prefix}Jacobian mismatch for output {output} with respect to input {index},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )
