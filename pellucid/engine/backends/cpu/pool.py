"""The fork-join pool that kernels share their work in: POSIX threads that take chunks until none is left.

A job is a function over `items` items in chunks. The caller opens the job, takes chunks itself, and when none is left
closes it and waits only for workers that are inside: a worker that the system did not let run holds nobody up. Workers
spin for a moment, then sleep on a futex. They run compiled code only, never Python. Chunk boundaries do not depend on
the number of threads, and a job that is called while another runs (from a second Python thread) is done by its caller.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from pellucid.engine.backends.cpu import isa

# state: generation << 17 | open << 16 | workers inside. `limit`: workers from this index on stay out of the job.
_SOURCE = """
@state = internal global i64 0, align 64
@next = internal global i64 0, align 64
@wake = internal global i32 0, align 64
@sleepers = internal global i32 0, align 64
@busy = internal global i32 0, align 64
@function = internal global ptr null, align 64
@context = internal global ptr null
@items = internal global i64 0
@chunk = internal global i64 0
@limit = internal global i64 0
@threads = internal global i64 1
@spawned = internal global i64 0

declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)

define internal void @take(ptr %function, ptr %context, i64 %items, i64 %chunk) {
entry:
  br label %again
again:
  %begin = atomicrmw add ptr @next, i64 %chunk monotonic
  %more = icmp slt i64 %begin, %items
  br i1 %more, label %work, label %done
work:
  %full = add i64 %begin, %chunk
  %last = icmp sgt i64 %full, %items
  %end = select i1 %last, i64 %items, i64 %full
  call void %function(ptr %context, i64 %begin, i64 %end)
  br label %again
done:
  ret void
}

define internal ptr @worker(ptr %argument) {
entry:
  %index = ptrtoint ptr %argument to i64
  %seen = alloca i64
  %spins = alloca i64
  store i64 0, ptr %seen
  store i64 0, ptr %spins
  br label %look
look:
  %s = load atomic i64, ptr @state acquire, align 8
  %flag = and i64 %s, 65536
  %open = icmp ne i64 %flag, 0
  %generation = lshr i64 %s, 17
  %old = load i64, ptr %seen
  %fresh = icmp ne i64 %generation, %old
  %may = and i1 %open, %fresh
  br i1 %may, label %consider, label %wait
consider:
  %limit = load atomic i64, ptr @limit monotonic, align 8
  %inside = icmp slt i64 %index, %limit
  br i1 %inside, label %join, label %skip
skip:
  store i64 %generation, ptr %seen
  br label %look
join:
  %plus = add i64 %s, 1
  %pair = cmpxchg ptr @state, i64 %s, i64 %plus acq_rel monotonic
  %joined = extractvalue { i64, i1 } %pair, 1
  br i1 %joined, label %run, label %look
run:
  store i64 %generation, ptr %seen
  %function = load ptr, ptr @function
  %context = load ptr, ptr @context
  %items = load i64, ptr @items
  %chunk = load i64, ptr @chunk
  call void @take(ptr %function, ptr %context, i64 %items, i64 %chunk)
  %left = atomicrmw sub ptr @state, i64 1 release
  store i64 0, ptr %spins
  br label %look
wait:
  %count = load i64, ptr %spins
  %counted = add i64 %count, 1
  store i64 %counted, ptr %spins
  %patient = icmp slt i64 %counted, SPINS
  br i1 %patient, label %pause, label %sleep
pause:
  call void asm sideeffect "PAUSE", "~{memory}"()
  br label %look
sleep:
  %word = load atomic i32, ptr @wake seq_cst, align 4
  %again = load atomic i64, ptr @state seq_cst, align 8
  %changed = icmp ne i64 %again, %s
  store i64 0, ptr %spins
  br i1 %changed, label %look, label %doze
doze:
  %before = atomicrmw add ptr @sleepers, i32 1 seq_cst
  %slept = call i64 (i64, ...) @syscall(i64 FUTEX, ptr @wake, i64 128, i32 %word, ptr null, ptr null, i64 0)
  %after = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %look
}

define internal void @spawn(i64 %wanted) {
entry:
  %handle = alloca i64
  %all = alloca [128 x i8]
  %kept = alloca [128 x i8]
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 128, i1 false)
  %masked = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %kept)
  br label %look
look:
  %count = load i64, ptr @spawned
  %missing = icmp slt i64 %count, %wanted
  br i1 %missing, label %start, label %done
start:
  %argument = inttoptr i64 %count to ptr
  %failed = call i32 @pthread_create(ptr %handle, ptr null, ptr @worker, ptr %argument)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %fewer, label %made
fewer:
  %threads = add i64 %count, 1
  store i64 %threads, ptr @threads
  br label %done
made:
  %thread = load i64, ptr %handle
  %detached = call i32 @pthread_detach(i64 %thread)
  %counted = add i64 %count, 1
  store i64 %counted, ptr @spawned
  br label %look
done:
  %restored = call i32 @pthread_sigmask(i32 2, ptr %kept, ptr null)
  ret void
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @pellucid_parallel(ptr %function, ptr %context, i64 %items, i64 %chunk) {
entry:
  %threads = load i64, ptr @threads
  %one = icmp sle i64 %threads, 1
  %small = icmp sge i64 %chunk, %items
  %alone = or i1 %one, %small
  br i1 %alone, label %serial, label %ask
ask:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %open, label %serial
serial:
  %begin = phi i64 [ 0, %entry ], [ 0, %ask ], [ %full, %step ]
  %more = icmp slt i64 %begin, %items
  br i1 %more, label %step, label %done
step:
  %full = add i64 %begin, %chunk
  %last = icmp sgt i64 %full, %items
  %end = select i1 %last, i64 %items, i64 %full
  call void %function(ptr %context, i64 %begin, i64 %end)
  br label %serial
open:
  %workers = sub i64 %threads, 1
  %spawned = load i64, ptr @spawned
  %enough = icmp sge i64 %spawned, %workers
  br i1 %enough, label %announce, label %grow
grow:
  call void @spawn(i64 %workers)
  br label %announce
announce:
  store ptr %function, ptr @function
  store ptr %context, ptr @context
  store i64 %items, ptr @items
  store i64 %chunk, ptr @chunk
  %above = add i64 %items, %chunk
  %less = sub i64 %above, 1
  %chunks = sdiv i64 %less, %chunk
  %others = sub i64 %chunks, 1
  %few = icmp slt i64 %others, %workers
  %limit = select i1 %few, i64 %others, i64 %workers
  store atomic i64 %limit, ptr @limit monotonic, align 8
  store atomic i64 0, ptr @next monotonic, align 8
  %s = load atomic i64, ptr @state monotonic, align 8
  %generation = lshr i64 %s, 17
  %following = add i64 %generation, 1
  %shifted = shl i64 %following, 17
  %opened = or i64 %shifted, 65536
  store atomic i64 %opened, ptr @state seq_cst, align 8
  %word = atomicrmw add ptr @wake, i32 1 seq_cst
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp sgt i32 %asleep, 0
  br i1 %any, label %rouse, label %take
rouse:
  %woken = call i64 (i64, ...) @syscall(i64 FUTEX, ptr @wake, i64 129, i64 %limit, ptr null, ptr null, i64 0)
  br label %take
take:
  call void @take(ptr %function, ptr %context, i64 %items, i64 %chunk)
  %closed = atomicrmw and ptr @state, i64 -65537 acq_rel
  br label %wait
wait:
  %spins = phi i64 [ 0, %take ], [ %turns, %pause ], [ 0, %yield ]
  %now = load atomic i64, ptr @state acquire, align 8
  %inside = and i64 %now, 65535
  %empty = icmp eq i64 %inside, 0
  br i1 %empty, label %leave, label %hold
hold:
  %turns = add i64 %spins, 1
  %patient = icmp slt i64 %turns, SPINS
  br i1 %patient, label %pause, label %yield
pause:
  call void asm sideeffect "PAUSE", "~{memory}"()
  br label %wait
yield:
  %yielded = call i32 @sched_yield()
  br label %wait
leave:
  store atomic i32 0, ptr @busy release, align 4
  br label %done
done:
  ret void
}

define void @pellucid_set_threads(i64 %count) {
  store i64 %count, ptr @threads
  ret void
}

define void @pellucid_forget_workers() {
  store i64 0, ptr @state
  store i32 0, ptr @sleepers
  store i32 0, ptr @busy
  store i64 0, ptr @spawned
  ret void
}
"""
SPINS = 2000  # about 50 µs: longer than the gap between two operators of a training step


class Pool:
    """The addresses of the pool's functions."""

    def __init__(self, addresses: dict[str, int]) -> None:
        self.parallel = addresses["pellucid_parallel"]
        self._set_threads = ctypes.CFUNCTYPE(None, ctypes.c_int64)(addresses["pellucid_set_threads"])
        self._forget_workers = ctypes.CFUNCTYPE(None)(addresses["pellucid_forget_workers"])
        os.register_at_fork(after_in_child=self._forget_workers)

    def set_threads(self, count: int) -> None:
        """Let jobs use `count` threads, the caller's among them."""
        self._set_threads(count)


def source(target: isa.Isa) -> str:
    """The pool in LLVM's assembly language."""
    arm = target.triple.startswith(("aarch64", "arm64"))
    text = _SOURCE.replace("PAUSE", "yield" if arm else "pause").replace("FUTEX", "98" if arm else "202")
    return f'target triple = "{target.triple}"\n' + text.replace("SPINS", str(SPINS))


@functools.cache
def pool() -> Any:
    """The pool of this process."""
    from pellucid.engine.backends.cpu import jit
    from pellucid.engine.core import threads

    names = ("pellucid_parallel", "pellucid_set_threads", "pellucid_forget_workers")
    made = Pool(jit.link("pool", jit.object_code("pool", source(isa.host()), lambda: source(isa.host())), names))
    made.set_threads(threads.get_num_threads())
    return made
