"""A save that fails or is killed leaves the old file or the new one, and nothing else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pellucid
from pellucid.engine.export import atomic
from pellucid.engine.export.atomic import remove_leftovers, replacing
from pellucid.safetensors import load_file, save_file

ROOT = Path(__file__).parents[2]

KILLER = """
import os, random, signal, sys, time
import pellucid

path = sys.argv[1]
chance = random.Random(int(sys.argv[2]))
blocks = [pellucid.zeros(200_000) for _ in range(4)]

def content(turn):
    return {"turn": turn, "blocks": [block + turn for block in blocks]}

pellucid.save(content(0), path)
leftovers = last = 0
for round in range(100):
    child = os.fork()
    if child == 0:
        turn = last
        while True:
            turn += 1
            pellucid.save(content(turn), path)
    time.sleep(chance.uniform(0.0, 0.04))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    loaded = pellucid.load(path)
    assert loaded["turn"] >= last, (loaded["turn"], last)
    last = loaded["turn"]
    for block in loaded["blocks"]:
        assert block._array.min() == block._array.max() == last, "old and new content are mixed"
    leftovers += len([name for name in os.listdir(os.path.dirname(path)) if name.endswith(".tmp")]) > leftovers
print(last, leftovers)
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True, text=True, env=environment, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the saving process is made by fork")
def test_a_hundred_kills_at_random_instants_leave_a_checkpoint(tmp_path):
    outcome = run(KILLER, str(tmp_path / "checkpoint.pt"), "0")
    assert outcome.returncode == 0, outcome.stderr
    saves, interrupted = map(int, outcome.stdout.split())
    assert saves > 20 and interrupted > 10, "the kills did not meet saves that were under way"
    assert len(remove_leftovers(tmp_path)) >= interrupted
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.pt"
    pellucid.save(pellucid.ones(3), path)
    outcome = run(
        """
        import resource, signal, sys, pellucid
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            pellucid.save(pellucid.ones(1_000_000), sys.argv[1])
        except OSError as error:
            print(type(error).__name__)
        """,
        str(path),
    )
    assert outcome.stdout.strip() == "OSError", outcome.stderr
    assert pellucid.load(path).tolist() == [1, 1, 1] and [each.name for each in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.parametrize("zipped", [True, False])
def test_an_object_that_cannot_be_pickled_leaves_the_old_file(tmp_path, zipped):
    path = tmp_path / "model.pt"
    pellucid.save(pellucid.ones(3), path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="pickle|local object"):
        pellucid.save([pellucid.ones(3), lambda: None], path, _use_new_zipfile_serialization=zipped)
    assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == ["model.pt"]


def test_safetensors_files_are_replaced_as_a_whole(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({"a": pellucid.ones(3)}, path)
    with pytest.raises(ValueError):
        save_file({"a": 5}, path)
    with pytest.raises(TypeError):
        save_file({"a": pellucid.ones(4)}, path, {"number": 5})
    assert load_file(path)["a"].tolist() == [1, 1, 1] and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
def test_an_exception_while_writing_removes_the_temporary_file(tmp_path, failure):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(type(failure)):
        with replacing(tmp_path / "a") as stream:
            stream.write(b"new")
            raise failure
    assert (tmp_path / "a").read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_the_data_is_on_the_disk_before_the_name_and_the_name_before_the_return(tmp_path, monkeypatch):
    steps = []
    sync, replace = os.fsync, os.replace

    def note_sync(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def note_replace(source, target):
        assert os.path.dirname(source) == os.path.dirname(target) and os.path.getsize(source) > 1000
        steps.append("rename")
        replace(source, target)

    monkeypatch.setattr(atomic.os, "fsync", note_sync)
    monkeypatch.setattr(atomic.os, "replace", note_replace)
    pellucid.save(pellucid.ones(3), tmp_path / "a.pt")
    assert steps == ["file", "rename", "folder"]


def test_links_and_permissions_are_kept(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "model.pt"
    pellucid.save(1, target)
    os.chmod(target, 0o640)
    (tmp_path / "link.pt").symlink_to(target)
    pellucid.save(2, tmp_path / "link.pt")
    assert (tmp_path / "link.pt").is_symlink() and pellucid.load(target) == 2
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert len(list(tmp_path.iterdir())) == 2


def test_devices_are_written_directly():
    pellucid.save(pellucid.ones(3), os.devnull)
    assert not os.path.isfile(os.devnull)


def test_leftovers_of_living_processes_and_other_machines_stay(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    host = atomic._host()
    names = {
        "dead": f".model.pt.{host}-{dead.pid}-0123abcd.tmp", "alive": f".model.pt.{host}-{os.getpid()}-0123abcd.tmp",
        "elsewhere": f".model.pt.{(int(host, 16) ^ 1):08x}-{dead.pid}-0123abcd.tmp", "foreign": "notes.tmp",
    }  # fmt: skip
    for name in names.values():
        (tmp_path / name).touch()
    assert remove_leftovers(tmp_path) == [names["dead"]]
    assert {path.name for path in tmp_path.iterdir()} == set(names.values()) - {names["dead"]}
