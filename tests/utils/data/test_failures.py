"""When loading goes wrong: the message says what and where, the program ends in seconds, and nothing is left behind."""

import os
import re
import shutil
import signal
import subprocess
import time

import psutil
import pytest

CAN_MOUNT = (
    shutil.which("unshare") is not None
    and subprocess.run(
        ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /dev/shm"], capture_output=True
    ).returncode
    == 0
)
needs_mount = pytest.mark.skipif(not CAN_MOUNT, reason="mounting a small /dev/shm needs root")


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_exception_in_a_worker_names_class_traceback_worker_and_sample(run_script, method):
    done = run_script(f"""
        class Bad(Numbers):
            def __getitem__(self, index):
                if index == 13:
                    raise ValueError("sample is corrupt")
                return super().__getitem__(index)
        if __name__ == "__main__":
            try:
                for batch in DataLoader(Bad(), batch_size=4, num_workers=2, multiprocessing_context="{method}"):
                    pass
            except ValueError as error:
                print(error)
    """)
    assert done.code == 0, done.err
    assert done.out.startswith("Caught ValueError in DataLoader worker process 1.")
    assert "sample index 13 (item 1 of batch 3)" in done.out
    assert "Original Traceback (most recent call last):" in done.out
    assert "in __getitem__" in done.out and "ValueError: sample is corrupt" in done.out


def test_iteration_goes_on_after_an_exception(run_script):
    done = run_script("""
        class Bad(Numbers):
            def __getitem__(self, index):
                return super().__getitem__({0: 0, 2: 2, 3: 3}[index])
            def __len__(self):
                return 4
        it = iter(DataLoader(Bad(), num_workers=2))
        seen = []
        while True:
            try:
                seen.append(next(it)[0, 0].item())
            except KeyError as error:
                seen.append(type(error).__name__)
                assert "\\n" in str(error), error
            except StopIteration:
                break
        print(seen)
    """)
    assert done.out.strip() == "[0, 'KeyError', 2, 3]", done.err


@pytest.mark.parametrize(
    ("definition", "raised", "caught", "text"),
    [
        ("class E(Exception):\n    def __init__(self, a, b): super().__init__(a); self.b = b", "E('x', 5)", "E", "5"),
        ("E = OSError", "FileNotFoundError(2, 'No such file', 'pic.jpg')", "FileNotFoundError", "None"),
        ("E = None", "UnicodeDecodeError('utf-8', b'x', 0, 1, 'bad')", "UnicodeDecodeError", "None"),
        (
            "def f():\n    class Local(ArithmeticError): pass\n    return Local\nE = f()",
            "E('x')",
            "ArithmeticError",
            "None",
        ),
    ],
)
def test_every_kind_of_exception_keeps_its_class(run_script, definition, raised, caught, text):
    source = f"""
{definition}
class Bad(Numbers):
    def __getitem__(self, index):
        raise {raised}
try:
    next(iter(DataLoader(Bad(), num_workers=1)))
except {caught} as error:
    print(type(error).__name__, getattr(error, "b", None), getattr(error, "errno", None))
    print(str(error))
"""
    done = run_script(source)
    assert done.out.startswith(f"{caught} {text} "), done.out + done.err
    assert f"Caught {caught} in DataLoader worker process 0." in done.out
    assert "sample index 0" in done.out
    if caught == "FileNotFoundError":
        assert done.out.startswith("FileNotFoundError None 2")


def test_exception_in_collate_names_the_samples(run_script):
    done = run_script("""
        class Ragged(Numbers):
            def __getitem__(self, index):
                return {"image": torch.zeros(3, 4 + index // 7)}
        try:
            list(DataLoader(Ragged(), batch_size=4, num_workers=2))
        except RuntimeError as error:
            print(error)
    """)
    assert "stack expects each tensor to be equal size, but got [3, 4] at entry 0" in done.out
    assert "(sample index 4) and [3, 5] at entry 3 (sample index 7) in field ['image']" in done.out
    assert "collating batch 1 (sample indices [4, 5, 6, 7])" in done.out


def test_exception_in_worker_init_fn_arrives(run_script):
    done = run_script("""
        def prepare(worker):
            raise LookupError(f"no data for {worker}")
        try:
            list(DataLoader(Numbers(), num_workers=2, worker_init_fn=prepare))
        except LookupError as error:
            print(error)
    """)
    assert "Caught LookupError in DataLoader worker process 0. It was preparing to load." in done.out
    assert "no data for 0" in done.out


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_killed_worker_is_named_with_its_signal_sample_and_cause(run_script, method):
    done = run_script(f"""
        class Killed(Numbers):
            def __getitem__(self, index):
                if index == 6:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().__getitem__(index)
        if __name__ == "__main__":
            try:
                list(DataLoader(Killed(), batch_size=2, num_workers=2, multiprocessing_context="{method}"))
            except RuntimeError as error:
                print(error)
    """)
    assert re.search(r"DataLoader worker \(pid \d+\) is killed by signal: Killed \(SIGKILL\)", done.out), done.err
    assert "Worker 1 of 2 was loading sample index 6 (item 0 of batch 3)" in done.out
    assert "memory" in done.out and "num_workers" in done.out
    assert re.search(r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly$", done.out.strip())


def test_crash_in_native_code_shows_the_workers_python_stack(run_script):
    done = run_script("""
        import ctypes
        class Crashing(Numbers):
            def __getitem__(self, index):
                return ctypes.string_at(1)
        try:
            list(DataLoader(Crashing(), num_workers=1))
        except RuntimeError as error:
            print(error)
    """)
    assert "is killed by signal: Segmentation fault (SIGSEGV)" in done.out
    assert "loading sample index 0" in done.out
    assert "in __getitem__" in done.out and "multiprocessing_context='spawn'" in done.out


@pytest.mark.parametrize("call", ["sys.exit(3)", "os._exit(3)"])
def test_worker_that_exits_is_reported_with_its_code(run_script, call):
    done = run_script(f"""
        class Leaving(Numbers):
            def __getitem__(self, index):
                if index == 5:
                    {call}
                return super().__getitem__(index)
        try:
            list(DataLoader(Leaving(), num_workers=2))
        except RuntimeError as error:
            print(error)
    """)
    assert "sample index 5" in done.out, done.err
    assert "sys.exit(3)" in done.out or "exit code 3" in done.out
    assert "exited unexpectedly" in done.out


@needs_mount
def test_small_shared_memory_does_not_matter(run_script):
    done = run_script(
        """
        class Big(Numbers):
            def __getitem__(self, index):
                return torch.full((1 << 20,), index)
        print(sum(batch[:, 0].sum().item() for batch in DataLoader(Big(), batch_size=4, num_workers=2)))
        """,
        wrapper=("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$0" "$@"'),
    )
    assert done.out.strip() == "120", done.err


WITHOUT_ANONYMOUS_MEMORY = """
        import errno
        def refused(*arguments):
            raise OSError(errno.ENOSYS, "not here")
        os.memfd_create = refused
        class Big(Numbers):
            def __getitem__(self, index):
                return torch.full((1 << 20,), index, dtype=torch.uint8)
"""


@needs_mount
def test_full_shared_memory_falls_back_to_files_with_one_warning(run_script):
    done = run_script(
        WITHOUT_ANONYMOUS_MEMORY
        + """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            total = sum(batch[:, 0].sum().item() for batch in DataLoader(Big(), batch_size=4, num_workers=1))
        print(total)
        for warning in caught:
            print(warning.message)
        """,
        wrapper=("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$0" "$@"'),
    )
    lines = done.out.strip().splitlines()
    assert lines[0] == "120" and len(lines) == 2, done.out + done.err
    assert re.search(r"needs 4\.0 MiB, /dev/shm has .* of 1\.0 MiB free", lines[1])
    assert "--shm-size" in lines[1]


@needs_mount
def test_full_shared_memory_and_full_disk_give_sizes_and_remedy(run_script):
    done = run_script(
        WITHOUT_ANONYMOUS_MEMORY
        + """
        try:
            list(DataLoader(Big(), batch_size=4, num_workers=2))
        except RuntimeError as error:
            print(error)
        """,
        wrapper=("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$0" "$@"'),
        TMPDIR="/dev/shm",
    )
    assert "unable to allocate shared memory (shm): a batch needs 4.0 MiB" in done.out, done.err
    assert "No space left on device" in done.out
    assert "of 1.0 MiB free" in done.out and "--shm-size" in done.out and "batch_size" in done.out


def test_unpicklable_dataset_names_the_path_to_the_culprit(run_script):
    done = run_script("""
        class Compose:
            def __init__(self, transforms):
                self.transforms = transforms
        class Transformed(Numbers):
            def __init__(self):
                self.transform = Compose([abs, lambda image: image])
        class WithFile(Numbers):
            def __init__(self):
                self.options = {"log": open(__file__)}
        if __name__ == "__main__":
            for dataset in (Transformed(), WithFile()):
                try:
                    list(DataLoader(dataset, num_workers=2, multiprocessing_context="spawn"))
                except Exception as error:
                    print(type(error).__name__, error)
    """)
    first, second = done.out.strip().splitlines()
    assert (
        "multiprocessing_context='spawn'" in first
        and "dataset.transform.transforms[1] (Transformed.__init__.<locals>.<lambda>)" in first
    )
    assert second.startswith("TypeError") and "dataset.options['log'] (_io.TextIOWrapper)" in second
    assert "cannot be pickled" in first and "cannot be pickled" in second


def test_unpicklable_batch_names_the_path_too(run_script):
    done = run_script("""
        def keep(batch):
            return {"samples": batch, "match": [1, (i for i in batch)]}
        try:
            list(DataLoader(Numbers(), num_workers=2, collate_fn=keep))
        except TypeError as error:
            print(error)
    """)
    assert "batch['match'][1] (builtins.generator) cannot be pickled" in done.out, done.err


def test_missing_main_guard_under_spawn_is_explained(run_script):
    done = run_script("""
        list(DataLoader(Numbers(), num_workers=1, multiprocessing_context="spawn"))
    """)
    assert done.code == 1
    assert "exited unexpectedly" in last_line(done.err)
    assert "if __name__ == '__main__':" in done.err and "preparing to load" in done.err


def test_timeout_names_worker_sample_and_stack(run_script):
    done = run_script("""
        class Stuck(Numbers):
            def __getitem__(self, index):
                if index == 4:
                    self.wait_for_ever()
                return super().__getitem__(index)
            def wait_for_ever(self):
                while True:
                    time.sleep(100)
        try:
            list(DataLoader(Stuck(), num_workers=2, timeout=1))
        except RuntimeError as error:
            print(error)
    """)
    assert done.out.startswith("DataLoader timed out after 1 seconds"), done.err
    assert "Worker 0 of 2" in done.out and "loading sample index 4" in done.out
    assert "in wait_for_ever" in done.out
    assert done.seconds < 10


ENDLESS = """
        class Slow(Numbers):
            def __len__(self):
                return 10 ** 6
            def __getitem__(self, index):
                time.sleep({seconds})
                return super().__getitem__(index)
        if __name__ == "__main__":
            for number, batch in enumerate(DataLoader(Slow(), batch_size=2, num_workers=2)):
                if number == 1:
                    print("running", flush=True)
"""


@pytest.mark.parametrize("seconds", [0.01, 0.4])
def test_interrupt_ends_the_program_in_seconds(start_script, seconds):
    process = start_script(ENDLESS.format(seconds=seconds))
    assert process.stdout.readline().strip() == "running"
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert last_line(err) == "KeyboardInterrupt"
    assert err.count("Traceback") == 1, err
    assert process.returncode == -signal.SIGINT
    assert [p for p in psutil.process_iter() if _is_in_session(p, process.pid)] == []


def _is_in_session(process: psutil.Process, session: int) -> bool:
    try:
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_when_their_parent_is_killed(start_script, number):
    process = start_script(ENDLESS.format(seconds=0.01).replace("time.sleep(0.01)", "time.sleep(600 * (index > 9))"))
    assert process.stdout.readline().strip() == "running"
    assert len([p for p in psutil.process_iter() if _is_in_session(p, process.pid)]) == 3
    os.kill(process.pid, number)
    process.wait(timeout=5)
    end = time.monotonic() + 5
    while left := [p for p in psutil.process_iter() if _is_in_session(p, process.pid)]:
        assert time.monotonic() < end, left
        time.sleep(0.05)


def test_abandoned_iterator_ends_its_workers_at_once(run_script):
    done = run_script("""
        import multiprocessing
        class Slow(Numbers):
            def __getitem__(self, index):
                time.sleep(0.1)
                return super().__getitem__(index)
        began = time.monotonic()
        for batch in DataLoader(Slow(), batch_size=4, num_workers=2):
            break
        del batch
        print(multiprocessing.active_children(), time.monotonic() - began < 2)
        it = iter(DataLoader(Slow(), batch_size=4, num_workers=2, persistent_workers=True))
        next(it)
        print("end")
    """)
    assert done.out.splitlines() == ["[] True", "end"], done.err
    assert done.err == ""


def test_endless_iterable_can_be_left(run_script):
    done = run_script("""
        class Endless(IterableDataset):
            def __iter__(self):
                get_worker_info()
                number = 0
                while True:
                    yield number
                    number += 1
        for number, batch in enumerate(DataLoader(Endless(), batch_size=2, num_workers=2)):
            if number == 3:
                print(batch.tolist())
                break
    """)
    assert done.out.strip() == "[2, 3]", done.err


def test_program_ends_while_a_sample_hangs(run_script):
    done = run_script("""
        class Stuck(Numbers):
            def __getitem__(self, index):
                if index > 2:
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    while True:
                        time.sleep(100)
                return super().__getitem__(index)
        it = iter(DataLoader(Stuck(), num_workers=2))
        next(it)
        time.sleep(0.2)
        print("leaving")
    """)
    assert done.out.strip() == "leaving"
    assert done.seconds < 10


def test_fork_of_the_program_does_not_disturb_its_loader(run_script):
    done = run_script("""
        import multiprocessing
        it = iter(DataLoader(Numbers(), num_workers=2))
        next(it)
        child = os.fork()
        if child == 0:
            del it
            os._exit(0)
        os.waitpid(child, 0)
        process = multiprocessing.Process(target=print, args=("child",))
        process.start()
        process.join()
        print(sum(1 for _ in it))
    """)
    assert done.out.split() == ["child", "15"], done.err
