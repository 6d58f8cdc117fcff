# SPDX-License-Identifier: Apache-2.0
"""The self-test of emulated devices on a busy machine."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hw_command import started

DEVICES = ["pa10", "khr1", "khr3", "hexa", "dynpick", "netft", "onrobot", "ft300"]


@contextmanager
def load(count: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.soak
@pytest.mark.parametrize("device", DEVICES)
def test_an_emulated_device_passes_its_test_on_a_machine_with_twenty_busy_programs(device: str) -> None:
    with load(20):
        process = started("test", device, "--emulator")
        out, err = process.communicate(timeout=300.0)
    assert process.returncode == 0, out + err
