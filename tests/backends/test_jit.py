"""Compiling, the cache on disk, threads, processes, other processors."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.engine.backends.cpu import cache, isa, jit, pool, registry
from pellucid.engine.backends.cpu.emit import F32, at, counting, ir
from pellucid.engine.core import kernels

pytestmark = pytest.mark.skipif(kernels.of_cpu() is None, reason="no compiled kernels here")


def _double() -> jit.Kernel:
    """out = x + x."""

    def build(module: ir.Module, function: ir.Function) -> None:
        builder = ir.IRBuilder(function.append_basic_block())
        out, x = [builder.bitcast(each, F32.as_pointer()) for each in function.args[:2]]
        with counting(builder, function.args[3], function.args[4]) as index:
            value = builder.load(at(builder, x, index))
            builder.store(builder.fadd(value, value), at(builder, out, index))
        builder.ret_void()

    return jit.Kernel("double", "test", "ppw", build)


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


_PROGRAM = "import pellucid as t; x = t.arange(8.0); print((x * x + t.exp(x)).sum().item())"


def test_a_call_returns_its_first_argument() -> None:
    x, out = np.arange(7, dtype=np.float32), np.empty(7, np.float32)
    before = sys.getrefcount(out)
    assert _double()(out, x, jit.extents(7, 7)) is out
    assert sys.getrefcount(out) == before and out.tolist() == (x + x).tolist()


@pytest.mark.parametrize("chunk", [1, 3, 64, 1000, 4096])
def test_every_item_is_done_once_whatever_the_chunks(chunk: int) -> None:
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    for _ in range(50):
        out[:] = 0
        _double()(out, x, jit.extents(1000, chunk))
        assert (out == x + x).all()


def test_several_python_threads_at_once() -> None:
    failures = []

    def work() -> None:
        x = np.random.default_rng(0).random(100_000, np.float32)
        out = np.empty_like(x)
        for _ in range(50):
            _double()(out, x, jit.extents(len(x), 1000))
            if not (out == x + x).all():
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures


def test_a_forked_child_has_threads_of_its_own() -> None:
    pellucid.ones(300_000) + 1
    process = os.fork()
    if process == 0:
        total = (pellucid.ones(300_000) + 1).sum().item()
        os._exit(0 if total == 600_000 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def test_the_cache_is_used_and_survives_damage(tmp_path: Path) -> None:
    first = _run(_PROGRAM, PELLUCID_CACHE_DIR=str(tmp_path))
    entries = sorted(tmp_path.glob("kernels/*/*.o"))
    assert first.returncode == 0 and entries, first.stderr
    stamps = [each.stat().st_mtime_ns for each in entries]
    assert _run(_PROGRAM, PELLUCID_CACHE_DIR=str(tmp_path)).stdout == first.stdout
    assert [each.stat().st_mtime_ns for each in sorted(tmp_path.glob("kernels/*/*.o"))] == stamps
    for index, each in enumerate(entries):  # cut short, changed, another kernel's code, empty
        content = each.read_bytes()
        damaged = [content[: len(content) // 2], content[:-1] + b"\0", entries[index - 1].read_bytes(), b""]
        each.write_bytes(damaged[index % 4])
    assert _run(_PROGRAM, PELLUCID_CACHE_DIR=str(tmp_path)).stdout == first.stdout


def test_entries_that_others_may_write_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELLUCID_CACHE_DIR", str(tmp_path))
    cache.folder.cache_clear()
    try:
        cache.store("key", b"code")
        assert cache.load("key") == b"code"
        folder = cache.folder()
        assert folder is not None
        entry = folder / "key.o"
        entry.chmod(0o666)
        assert cache.load("key") is None
        entry.chmod(0o600)
        entry.rename(tmp_path / "elsewhere")
        entry.symlink_to(tmp_path / "elsewhere")
        assert cache.load("key") is None
        folder.chmod(stat.S_IRWXU | stat.S_IRWXO)
        cache.folder.cache_clear()
        assert cache.folder() is None
    finally:
        cache.folder.cache_clear()


def test_what_other_versions_left_is_forgotten(tmp_path: Path) -> None:
    old, recent = [tmp_path / "kernels" / name for name in ("old", "recent")]
    for each in (old, recent):
        each.mkdir(parents=True, mode=0o700)
        (each / "key.o").write_bytes(b"code")
    os.utime(old, (0, 0))
    assert _run(_PROGRAM, PELLUCID_CACHE_DIR=str(tmp_path)).returncode == 0
    assert not old.exists() and recent.exists()


def test_ten_processes_that_compile_at_once_leave_a_good_cache(tmp_path: Path) -> None:
    environment = {**os.environ, "PELLUCID_CACHE_DIR": str(tmp_path)}
    several = [
        subprocess.Popen([sys.executable, "-c", _PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(10)
    ]
    printed = {each.communicate(timeout=240)[0] for each in several}
    assert len(printed) == 1 and all(each.returncode == 0 for each in several)
    assert not list(tmp_path.glob("kernels/*/*.tmp"))
    assert _run(_PROGRAM, PELLUCID_CACHE_DIR=str(tmp_path)).stdout in printed


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.write_text("")
    assert _run(_PROGRAM, PELLUCID_CACHE_DIR=str(file)).returncode == 0


def test_the_references_can_be_chosen() -> None:
    code = "import sys, pellucid as t; print((t.ones(3) + 1).tolist(), 'llvmlite' in sys.modules)"
    assert _run(code, PELLUCID_KERNELS="numpy").stdout.strip() == "[2.0, 2.0, 2.0] False"
    assert "PELLUCID_KERNELS must be" in _run(code, PELLUCID_KERNELS="fast").stderr


@pytest.mark.parametrize("target", isa.CROSS_TARGETS, ids=lambda each: each.name)
def test_kernels_compile_for_other_processors(target: isa.Isa) -> None:
    jit.asked_for = heard = []
    try:
        with kernels.using("cpu"):
            x = pellucid.randn(4, 9, requires_grad=True)
            pellucid.nn.functional.gelu(pellucid.softmax(x, -1)).sum().backward()
            pellucid.nn.functional.layer_norm(x, (9,)).exp().mean()
    finally:
        jit.asked_for = None
    assert len(heard) > 4
    for each in heard:
        assert jit.compile_object(str(each.module(target)), target)
    assert jit.compile_object(pool.source(target), isa.host()) if target.triple == isa.host().triple else True


def test_an_interpreter_ends_while_workers_spin() -> None:
    code = "import pellucid as t; t.set_num_threads(2); x = t.ones(1 << 20); [x + x for _ in range(100)]"
    assert _run(code).returncode == 0


def test_every_registered_file_exists() -> None:
    folder = Path(registry.__file__).parent
    assert all((folder / f"{file}.py").exists() for file in registry.FILES.values())
