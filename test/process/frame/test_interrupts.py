# SPDX-License-Identifier: Apache-2.0
"""SIGINT ends programs also where their starter ignores it, as a script does for the jobs in its background."""

import os
import signal
import subprocess
import sys

import pytest

from ada_tools import cli

PATIENCE = 120.0  # [s]
ADA = "ada_tools.cli"


@pytest.mark.parametrize(
    "words",
    [
        (ADA, "hw", "emulate", "ft300"),
        (ADA, "hw", "monitor", "dynpick", "--emulator", "--json", "--every", "0.1"),
        ("ada_hardware.emulation", "ft300"),
        ("ada_tools.bringup.child", str(os.getpid()), ADA, "hw", "emulate", "ft300"),
    ],
    ids=["ada hw emulate", "ada hw monitor", "ada_hardware.emulation", "a child of ada up"],
)
def test_a_program_ends_on_sigint_although_its_starter_ignores_that(words):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # and its children inherit it
    try:
        program = subprocess.Popen(
            [sys.executable, "-m", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)},
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        assert program.stdout.readline(), "it has begun"
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=PATIENCE)
        assert (program.returncode, errors.strip()) == (0, b"")
    finally:
        program.kill()
        program.communicate()


def test_a_command_called_in_somebody_elses_program_leaves_its_signals_alone(capsys):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert cli.main(["list"]) == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
