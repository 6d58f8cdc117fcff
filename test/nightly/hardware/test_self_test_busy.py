# SPDX-License-Identifier: Apache-2.0
"""The self-test on a busy machine: what makes it late is told apart from what makes the device late."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hw_command import started

from ada_hardware.self_test.bare_thread import BareThread

DEVICES = ["pa10", "khr1", "khr3", "hexa", "dynpick", "netft", "onrobot", "ft300"]
STANDSTILL = """
import os, signal, subprocess, sys
from ada_hardware.self_test.bare_thread import BareThread
with BareThread(1e-3) as bare:
    # somebody else stops this whole process for a while
    subprocess.run(["sh", "-c", f"sleep 0.1; kill -STOP {os.getpid()}; sleep 0.5; kill -CONT {os.getpid()}"])
print(bare.kept, bare.found.late_max)
print(bare.words)
"""


@contextmanager
def load(count: int) -> Iterator[None]:
    """So many processes that want all processors."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_a_thread_that_only_sleeps_tells_of_a_machine_that_stood_still() -> None:
    told = subprocess.run([sys.executable, "-c", STANDSTILL], check=True, capture_output=True, text=True).stdout
    kept, latest = (float(number) for number in told.splitlines()[0].split())
    assert kept < 0.7
    assert latest > 0.4
    assert "the machine is busy" in told.splitlines()[1]


def test_a_thread_that_only_sleeps_says_nothing_before_it_has_slept() -> None:
    with BareThread(1.0) as bare:
        assert bare.kept == 1.0
        assert bare.words == ""


@pytest.mark.soak
@pytest.mark.parametrize("device", DEVICES)
def test_an_emulated_device_passes_its_test_on_a_machine_with_twenty_busy_programs(device: str) -> None:
    with load(20):
        process = started("test", device, "--emulator")
        out, err = process.communicate(timeout=300.0)
    assert process.returncode == 0, out + err
