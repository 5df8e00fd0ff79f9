"""Tensors between processes: shared by queues, pipes and arguments; `spawn` and its errors."""

import os
import signal
import subprocess
import sys

import pytest

import pellucid as torch
import pellucid.multiprocessing as mp
from pellucid.multiprocessing import ProcessExitedException, ProcessRaisedException
from pellucid.multiprocessing.shared_tensors import is_shared, share_memory_


def test_the_standard_names_are_here():
    import multiprocessing

    assert all(hasattr(mp, name) for name in multiprocessing.__all__)
    assert mp.get_context("fork").Process is multiprocessing.get_context("fork").Process
    with pytest.raises(AssertionError, match="invalid sharing strategy"):
        mp.set_sharing_strategy("telepathy")


def test_share_memory_moves_a_tensor_once():
    tensor = torch.arange(6).reshape(2, 3).t()
    assert not is_shared(tensor)
    assert share_memory_(tensor) is tensor and is_shared(tensor)
    assert tensor.tolist() == [[0, 3], [1, 4], [2, 5]] and tensor.stride() == (1, 3)
    assert share_memory_(tensor) is tensor
    tensor[0, 0] = 7
    assert tensor[0, 0].item() == 7
    assert share_memory_(torch.empty(0)).numel() == 0


def add_in_child(tensor, queue, done):
    tensor.add_(1)
    received = queue.get()
    received.mul_(2)
    queue.put(received[0])
    done.wait(10)


def test_processes_see_each_others_writes():
    context = mp.get_context("fork")
    shared, sent = share_memory_(torch.zeros(3)), torch.ones(2, 2)
    queue, done = context.Queue(), context.Event()
    process = context.Process(target=add_in_child, args=(shared, queue, done))
    process.start()
    queue.put(sent)
    import time

    time.sleep(0.3)
    row = queue.get(timeout=10)
    done.set()
    process.join(10)
    assert process.exitcode == 0
    assert shared.tolist() == [1, 1, 1]
    assert sent.tolist() == [[2, 2], [2, 2]] and row.tolist() == [2, 2]
    row.zero_()
    assert sent.tolist() == [[0, 0], [2, 2]]  # what came back is the same memory


def test_what_cannot_be_sent_says_so():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        mp.reductions.reduce_tensor(torch.ones(2, requires_grad=True) * 2)


def put_and_end(queue):
    queue.put(torch.ones(3))


def test_a_sender_that_ended_too_early_is_named():
    context = mp.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=put_and_end, args=(queue,))
    process.start()
    process.join(10)
    with pytest.raises(RuntimeError, match="after the process that sent it had ended"):
        queue.get(timeout=5)


def fail(number, text):
    if number == 1:
        raise ValueError(text)
    import time

    time.sleep(60)


def leave(number, code):
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


def test_start_processes_reports_the_first_failure():
    with pytest.raises(ProcessRaisedException, match="-- Process 1 terminated with the following error:") as caught:
        mp.start_processes(fail, args=("no good",), nprocs=2, start_method="fork")
    assert "ValueError: no good" in str(caught.value) and caught.value.error_index == 1
    with pytest.raises(ProcessExitedException, match="process 0 terminated with exit code 3") as caught:
        mp.start_processes(leave, args=(3,), nprocs=1, start_method="fork")
    assert caught.value.exit_code == 3
    with pytest.raises(ProcessExitedException, match="process 0 terminated with signal SIGKILL") as caught:
        mp.start_processes(leave, args=(-signal.SIGKILL,), nprocs=1, start_method="fork")
    assert caught.value.signal_name == "SIGKILL"


def test_context_is_returned_without_join():
    context = mp.start_processes(divmod, args=(2,), nprocs=3, join=False, start_method="fork")
    assert len(context.pids()) == 3
    while not context.join(timeout=5):
        pass


SPAWNED = """
import pellucid as torch
import pellucid.multiprocessing as mp
from pellucid.multiprocessing.shared_tensors import share_memory_

def train(rank, weights, gradient):
    weights[rank] += gradient[rank]

if __name__ == "__main__":
    weights = share_memory_(torch.zeros(2))
    mp.spawn(train, args=(weights, torch.tensor([1.0, 2.0])), nprocs=2)
    print(weights.tolist())
"""


def test_spawn_shares_its_arguments(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(SPAWNED)
    variables = dict(os.environ, PYTHONPATH=os.pathsep.join(entry or os.getcwd() for entry in sys.path))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60, env=variables)
    assert done.stdout.strip() == "[1.0, 2.0]", done.stderr
