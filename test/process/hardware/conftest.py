# SPDX-License-Identifier: Apache-2.0
"""`ada hw` in the process of the test."""

import pytest
from hw_command import Ada, ada_in_process


@pytest.fixture
def ada(capfd: pytest.CaptureFixture[str]) -> Ada:
    """Runs `ada hw` with some words; exit code, output and errors."""
    return ada_in_process(capfd)
