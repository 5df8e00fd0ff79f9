"""device objects, default devices, the meta device; programs that both frameworks run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pellucid

PROGRAMS: list[Callable[[Any], Any]] = []


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(function)
    return function


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values) or [1.0, 2.0, 3.0], requires_grad=True)


def attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


@program
def device(lib: Any) -> Any:
    D = lib.device
    return [
        attempt(f)
        for f in (
            lambda: repr(D("cpu")),
            lambda: str(D("cuda:1")),
            lambda: D("cuda", 1) == D("cuda:1"),
            lambda: D("cpu") == D("cpu:0"),
            lambda: D("foo"),
            lambda: D("cuda:x"),
            lambda: D("cuda:-1"),
            lambda: D("cpu", 0).index,
            lambda: hash(D("cpu")) == hash(D("cpu")),
            lambda: D(type="cpu"),
            lambda: D("cuda:1", 1),
            lambda: lib.zeros(1, device="cpu").device,
            lambda: lib.zeros(1, device=D("meta")).device,
            lambda: lib.zeros(1, device="meta").is_meta,
            lambda: lib.zeros(1, device="cpu:0").device,
            lambda: D("cpu") == "cpu",
            lambda: D(D("cpu")),
            lambda: D(""),
            lambda: D("cpu:1").index,
        )
    ]


@program
def default_device(lib: Any) -> Any:
    r = []
    with lib.device("meta"):
        r += [
            lib.zeros(2).device,
            lib.tensor([1]).device,
            lib.rand(2).device,
            lib.arange(3).device,
            lib.zeros(2, device="cpu").device,
            lib.zeros_like(lib.zeros(2, device="cpu")).device,
            lib.nn.Linear(2, 2).weight.device,
            lib.as_tensor([1]).device,
            lib.full((2,), 1).device,
            lib.eye(2).device,
            lib.linspace(0, 1, 2).device,
            lib.randperm(3).device,
            lib.randint(3, (2,)).device,
            lib.empty(1).device,
            lib.ones(1).device,
            lib.randn(2).device,
        ]
        with lib.device("cpu"):
            r.append(lib.zeros(1).device)
        r.append(lib.get_default_device())
    r.append(lib.zeros(1).device)
    lib.set_default_device("meta")
    r.append(lib.zeros(1).device)
    r.append(lib.get_default_device())
    lib.set_default_device(None)
    r.append(lib.zeros(1).device)
    r.append(lib.get_default_device())
    lib.set_default_device("cpu")
    lib.set_default_device(None)
    return [str(x) for x in r]


@program
def meta(lib: Any) -> Any:
    m = lib.zeros(2, 3, device="meta")
    c = lib.ones(2, 3)
    s = lib.tensor(2.0)
    fs = [
        lambda: m + m,
        lambda: m + 1,
        lambda: m * 2.5,
        lambda: m.sum(),
        lambda: m @ m.t(),
        lambda: m[0],
        lambda: m.t(),
        lambda: m.view(6),
        lambda: m.reshape(3, 2),
        lambda: m > 0,
        lambda: m.exp(),
        lambda: m.add_(1),
        lambda: m.zero_(),
        lambda: m.fill_(3),
        lambda: m + s,
        lambda: m + c,
        lambda: c + m,
        lambda: m.to("cpu"),
        lambda: m.item(),
        lambda: m.sum().item(),
        lambda: m.tolist(),
        lambda: m.numpy(),
        lambda: bool(m.sum()),
        lambda: float(m.sum()),
        lambda: m.cpu(),
        lambda: c.to("meta"),
        lambda: m.clone(),
        lambda: m.double(),
        lambda: m.contiguous(),
        lambda: m.detach(),
    ]
    return [attempt(f) for f in fs]


@program
def meta_functions(lib: Any) -> Any:
    m = lib.zeros(2, 3, device="meta")
    c = lib.ones(2, 3)
    fs = [
        lambda: lib.cat([m, m]),
        lambda: lib.stack([m, m]),
        lambda: m.copy_(c),
        lambda: c.copy_(m),
        lambda: lib.nn.functional.relu(m),
        lambda: m.softmax(0),
        lambda: m.max(0)[0],
        lambda: m.argmax(0),
        lambda: lib.empty_like(m),
        lambda: m.new_zeros(2),
        lambda: lib.randn_like(m),
        lambda: m.normal_(),
        lambda: m.uniform_(),
        lambda: m.requires_grad_(),
        lambda: m.expand(4, 2, 3),
        lambda: m.permute(1, 0),
        lambda: m.unsqueeze(0),
        lambda: m.chunk(2)[0],
        lambda: m.to(lib.float16),
        lambda: m.is_contiguous(),
        lambda: m.element_size(),
        lambda: m.numel(),
        lambda: repr(lib.zeros(2, device="meta")),
        lambda: m.data_ptr(),
        lambda: m._version >= 0,
        lambda: lib.where(m > 0, m, m),
        lambda: lib.nn.functional.conv2d(lib.zeros(1, 3, 8, 8, device="meta"), lib.zeros(4, 3, 3, 3, device="meta")),
        lambda: lib.allclose(m, m),
        lambda: m.storage_offset(),
        lambda: m[0].storage_offset(),
        lambda: m.std(),
        lambda: m.cumsum(0),
        lambda: m.gather(0, lib.zeros(1, 3, dtype=lib.int64, device="meta")),
        lambda: m.index_select(0, lib.zeros(2, dtype=lib.int64, device="meta")),
        lambda: m.sort(0)[0],
        lambda: m.topk(1)[1],
    ]
    return [attempt(f) for f in fs]


@program
def meta_grad(lib: Any) -> Any:
    m = lib.zeros(2, 3, device="meta", requires_grad=True)
    y = (m * m + 1).exp().sum()
    y.backward()
    return (y, m.grad)


@program
def meta_module(lib: Any) -> Any:
    layers = lib.nn.Sequential(lib.nn.Linear(3, 4, device="meta"), lib.nn.ReLU(), lib.nn.Linear(4, 1, device="meta"))
    y = layers(lib.zeros(5, 3, device="meta"))
    y.sum().backward()
    return (y, layers[0].weight.grad)


@program
def cuda(lib: Any) -> Any:
    return (
        lib.cuda.is_available(),
        attempt(lambda: lib.zeros(1).cuda()),
        attempt(lambda: lib.zeros(1, device="cuda")),
        attempt(lambda: lib.zeros(1).to("cuda")),
        lib.cuda.device_count(),
    )


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_programs_have_pytorchs_outcome(agrees: Callable[..., None], function: Callable[[Any], Any]) -> None:
    agrees(function)


@pytest.mark.parametrize("call", [lambda m: m.nonzero(), lambda m: m[m > 0], lambda m: m.unique()])
def test_shapes_that_depend_on_data_are_unknown_on_meta(call: Callable[[Any], Any]) -> None:
    with pytest.raises(NotImplementedError, match="depends on the data"):
        call(pellucid.zeros(2, 3, device="meta"))


def test_mixed_devices_name_both_operands() -> None:
    with pytest.raises(RuntimeError, match=r"expected device meta! mm got \[2, 3\] on meta, \[3, 2\] on cpu"):
        pellucid.mm(pellucid.zeros(2, 3, device="meta"), pellucid.ones(3, 2))
