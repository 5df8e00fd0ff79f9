"""Segments that are used again: never while anybody, in any process, still reads what they hold."""

import os

import numpy as np
import pytest

from pellucid.multiprocessing import segments, transport
from pellucid.multiprocessing.arenas import Arena, Forks, Lender


@pytest.fixture
def ends():
    """A sender's and a receiver's channel, in this one process."""
    one, other = transport.Channel.pair()
    two = transport.Channel(other)
    yield one, two
    one.close()
    two.close()


def sent(one, two, value, size=1 << 16):
    """Send an array of this value from one end and receive it at the other."""
    arena = Arena(0, "a test", one.lender)
    packet = transport.encode(np.full(size, value, np.uint8), arena, forgotten=one.lender.forgotten())
    one.send(packet)
    packet.close(is_sent=True)
    return two.receive()


def give_back(one, two):
    returned = two.borrower.returned()
    one.lender.take_back(returned)
    return returned


def test_a_segment_returns_when_its_last_array_is_gone(ends):
    first = sent(*ends, 1)
    view = first[10:20]
    assert give_back(*ends) == []
    del first
    assert give_back(*ends) == []
    assert view.tolist() == [1] * 10
    del view
    assert give_back(*ends) == [(1, True)]
    assert sent(*ends, 2).sum() == 2 << 16  # in the same segment, and no descriptor went along
    assert give_back(*ends) == [(1, True)]
    assert ends[0].lender._count == 1


def test_batches_that_are_kept_are_not_overwritten(ends):
    kept = []
    for number in range(200):
        kept.append(sent(*ends, number))
        sent(*ends, 255)
        give_back(*ends)
    assert [int(batch[0]) for batch in kept] == list(range(200))
    assert all((batch == batch[0]).all() for batch in kept)


def test_a_fork_takes_its_segments_out_of_use(ends):
    batch = sent(*ends, 1)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    del batch
    assert give_back(*ends) == [(1, False)]  # the child may still read it
    sent(*ends, 2)
    assert give_back(*ends) == [(2, True)]


def test_the_sender_may_keep_what_it_sent(ends):
    arena = Arena(0, "a test", ends[0].lender)
    kept = arena.allocate(1000)
    kept[:] = 7
    packet = transport.encode(kept, arena)
    ends[0].send(packet)
    packet.close(is_sent=True)
    received = ends[1].receive()
    assert (received == 7).all()
    del received
    give_back(*ends)
    sent(*ends, 9, size=1000)
    assert (kept == 7).all()


def test_a_message_that_was_not_sent_leaves_no_trace():
    lender = Lender()
    arena = Arena(0, "a test", lender)
    arena.allocate(100)
    before = len(os.listdir("/proc/self/fd"))
    arena.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1
    assert lender._lent == lender._free == {}


def test_unsuited_segments_are_forgotten_by_both(ends):
    for size in range(1, 12):
        del_me = [sent(*ends, 3, size=(1 << 12) * size * 8) for _ in range(3)]
        del del_me
        give_back(*ends)
    sent(*ends, 1)
    assert len(ends[0].lender._free) <= 4
    assert len(ends[1].borrower._mappings) <= 5


def test_sizes_and_alignment():
    arena = Arena()
    slices = [arena.allocate(size) for size in (1, 63, 64, 65, 0, 100_000)]
    assert all(piece.ctypes.data % segments.ALIGNMENT == 0 for piece in slices if piece.nbytes)
    outside = np.arange(10, dtype=np.uint8)
    assert arena.place(slices[1][3:5])[2] == 2
    number, start, length = arena.place(outside)
    assert arena._memories[number][start : start + length].tolist() == list(range(10))
    arena.close()


def test_mappings_are_given_back():
    def mapped():
        with open("/proc/self/maps") as file:
            return file.read().count("memfd:pellucid")

    before = mapped()
    descriptor = segments.create_segment(1 << 20)
    array = segments.map_segment(descriptor, 1 << 20)
    view = array.reshape(1024, 1024)[3]
    os.close(descriptor)
    del array
    assert mapped() == before + 1
    assert segments.mapping_of(view) is not None
    del view
    assert mapped() == before
    assert isinstance(Forks.count, int)
