# SPDX-License-Identifier: Apache-2.0
"""Waiting for file descriptors, in programs with few of them and with many."""

import fcntl
import os
import resource
import time

import pytest

from ada_hardware.transport.wires import is_readable, is_writable, readable

LEAST = 0.0199  # [s] of 0.02 s: the two clocks, of the wait and of the test, may tick apart
FEW, MANY = 0, 1100  # the least descriptor: `select` alone ends at 1024


@pytest.fixture(params=[FEW, MANY], ids=["few", "many"])
def pipe(request):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = request.param + 100
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"this system gives a process {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, request.param) for end in ends]
    try:
        yield high
    finally:
        for end in (*ends, *high):
            os.close(end)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_is_there_is_seen_at_once(pipe):
    reading, writing = pipe
    assert not is_readable(reading, 0.0) and not is_readable(reading, -1.0)
    assert is_writable(writing, 1.0)
    os.write(writing, b"a")
    assert is_readable(reading, 0.0) and is_readable(reading, -1.0)
    os.read(reading, 1)
    assert not is_readable(reading, 0.0)


def test_waiting_lasts_as_long_as_it_was_told_to(pipe):
    reading, writing = pipe
    begin = time.monotonic()
    assert not is_readable(reading, 0.02)
    assert time.monotonic() - begin >= LEAST
    os.set_blocking(writing, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writing, bytes(65536))
    begin = time.monotonic()
    assert not is_writable(writing, 0.02)
    assert time.monotonic() - begin >= LEAST


def test_of_several_those_are_told_that_have_something(pipe):
    reading, writing = pipe
    other, end = os.pipe()
    try:
        assert readable([reading, other], 0.0) == set() == readable([], 0.0)
        os.write(writing, b"a")
        assert readable([reading, other], 1.0) == {reading}
        os.close(end)
        assert readable([reading, other], 1.0) == {reading, other}, "an end is something, too"
    finally:
        os.close(other)
