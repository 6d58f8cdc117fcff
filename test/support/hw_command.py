# SPDX-License-Identifier: Apache-2.0
"""`ada hw` as tests run it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from ada_tools import cli

Ada = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ada(capfd: pytest.CaptureFixture[str]) -> Ada:
    """Run `ada hw` with some words in this process; return exit code, output and errors."""

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        try:
            code = cli.main(["hw", *words])
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
        out, err = capfd.readouterr()
        return code, out, err

    return run


def started(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ada_tools.cli", "hw", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
