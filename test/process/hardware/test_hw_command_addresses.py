# SPDX-License-Identifier: Apache-2.0
"""`ada hw test` at addresses that do not open, and at those where something else answers."""

from __future__ import annotations

import os
import re
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


# --- addresses that do not open -----------------------------------------------------------------------------------
def test_a_port_that_is_not_there_fails_the_first_check(ada: Ada) -> None:
    code, out, _ = ada("test", "khr1", "--url", "/dev/ttyUSB99")
    assert code == 1 and re.search(r"^ *1 ", ada("--help")[1].split("exit code:")[1], re.MULTILINE)
    assert "FAILED   address opens" in out and "there is no such port. Serial ports here:" in out
    assert "1 of 1 checks failed: address opens" in out


def test_monitor_of_a_port_that_is_not_there_ends_with_code_2(ada: Ada) -> None:
    code, _, err = ada("monitor", "dynpick", "--url", "/dev/ttyUSB99", "--duration", "1")
    assert code == 2
    assert "there is no such port" in err


def test_a_missing_permission_is_told_with_the_command_that_gives_it(ada: Ada, line: tuple[int, str]) -> None:
    ada("test", "dynpick", "--url", "/dev/ttyUSB99")  # loads modules, which another user may not read
    Path(line[1]).chmod(0o000)
    before = os.geteuid()
    if before == 0:
        os.seteuid(65_534)  # root has every permission
    try:
        code, out, _ = ada("test", "dynpick", "--url", line[1])
    finally:
        os.seteuid(before)
    assert code == 1
    assert "no permission" in out and "sudo usermod -aG dialout $USER" in out


def test_a_busy_port_is_told_with_how_to_find_its_user(ada: Ada, line: tuple[int, str]) -> None:
    other = open_stream(line[1], Serial())
    try:
        code, out, _ = ada("test", "dynpick", "--url", line[1])
    finally:
        other.close()
    assert code == 1
    assert "in use by another program" in out and f"fuser -v {line[1]}" in out


def answering_garbage(master: int) -> threading.Thread:
    """Something at another rate: each request is answered by bytes that mean nothing; ends with the line."""

    def run() -> None:
        try:
            while os.read(master, 4096):
                os.write(master, bytes(range(0x80, 0xC0)))
        except OSError:
            return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("device", ["khr1", "dynpick"])
def test_a_line_at_another_rate_is_told_as_such(ada: Ada, line: tuple[int, str], device: str) -> None:
    answering_garbage(line[0])
    code, out, _ = ada("test", device, "--url", line[1])
    assert code == 1
    assert "ok       address opens" in out
    assert "FAILED   device answers" in out
    assert "Something comes, and none of it is of this device: is the rate right" in out
    assert "baud" in out


def test_a_board_that_is_set_to_another_rate_is_told_with_the_rates_to_try(ada: Ada) -> None:
    code, out, _ = ada("test", "khr3", "--emulator", "--fault", "wrong_speed=1")
    assert code == 1
    assert "FAILED   device answers" in out and "625000" in out


def test_a_wrong_board_id_is_told_with_the_one_that_answers(ada: Ada) -> None:
    patient = ("--setting", "reply_timeout=0.2")  # a busy host gives the emulator its turn late
    code, out, _ = ada("test", "khr1", "--emulator", "--setting", "emulator.second_id=5", *patient)
    assert code == 1
    assert "FAILED   device answers" in out
    assert "GET_HOME (0xfa) of board 1" in out and "the ID of the board right" in out
    assert "A board with ID 5 does answer" in out or "The board with ID 0 does answer" in out


def test_nobody_at_an_address_is_told_with_what_to_look_at(ada: Ada) -> None:
    code, out, _ = ada("test", "hexa", "--url", "udp://127.0.0.1:9", "--setting", "connect_timeout=0.1")
    assert code == 1
    assert "FAILED   device answers" in out and "Is it on, is the address right" in out
