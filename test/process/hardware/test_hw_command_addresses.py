# SPDX-License-Identifier: Apache-2.0
"""`ada hw test` at addresses that do not open, and at those where something else answers."""

from __future__ import annotations

import contextlib
import os
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from hw_command import Ada

from ada_hardware.transport import Serial, open_stream

pytest.importorskip("serial")


@pytest.fixture
def line() -> Iterator[tuple[int, str]]:
    """A pseudo-terminal: the test's end, and the path of the other."""
    master, slave = os.openpty()
    tty.setraw(slave)
    yield master, os.ttyname(slave)
    os.close(master)
    os.close(slave)


def test_a_port_that_is_missing_fails_the_first_check_and_ends_a_monitor(ada: Ada) -> None:
    code, out, _ = ada("test", "khr1", "--url", "/dev/ttyUSB99")
    assert code == 1 and "FAILED   address opens" in out
    code, _, err = ada("monitor", "dynpick", "--url", "/dev/ttyUSB99", "--duration", "1")
    assert code == 2 and "/dev/ttyUSB99" in err


def test_a_busy_port_and_a_missing_permission_are_reported_with_a_command_that_helps(
    ada: Ada, line: tuple[int, str]
) -> None:
    other = open_stream(line[1], Serial())
    code, out, _ = ada("test", "dynpick", "--url", line[1])
    other.close()
    assert code == 1 and f"fuser -v {line[1]}" in out
    Path(line[1]).chmod(0o000)
    before = os.geteuid()
    if before == 0:
        os.seteuid(65_534)  # root has every permission
    try:
        code, out, _ = ada("test", "dynpick", "--url", line[1])
    finally:
        os.seteuid(before)
    assert code == 1 and "sudo usermod -aG dialout $USER" in out


def answer_garbage(master: int) -> None:
    """A device at another rate: each request is answered by bytes that mean nothing; ends with the line."""

    def run() -> None:
        with contextlib.suppress(OSError):
            while os.read(master, 4096):
                os.write(master, bytes(range(0x80, 0xC0)))

    threading.Thread(target=run, daemon=True).start()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("khr1", "--url", "LINE"), "is the rate right"),
        (("dynpick", "--url", "LINE"), "is the rate right"),
        (("khr3", "--emulator", "--fault", "wrong_speed=1"), "625000"),
        # a busy host gives the emulator its turn late
        (("khr1", "--emulator", "--setting", "emulator.second_id=5", "--setting", "reply_timeout=0.2"), "with ID"),
        (("hexa", "--url", "udp://127.0.0.1:9", "--setting", "connect_timeout=0.1"), "is the address right"),
        (("khr1", "--url", "emulator:silent_board=2"), "board"),
    ],
)
def test_a_device_that_does_not_answer_as_expected_fails_the_second_check_with_a_hint(
    ada: Ada, line: tuple[int, str], words: tuple[str, ...], hint: str
) -> None:
    if "LINE" in words:
        answer_garbage(line[0])
    code, out, _ = ada("test", *(line[1] if word == "LINE" else word for word in words))
    assert code == 1
    assert "ok       address opens" in out and "FAILED   device answers" in out and hint in out
