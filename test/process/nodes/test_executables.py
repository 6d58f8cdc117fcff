# SPDX-License-Identifier: Apache-2.0
"""An executable on a machine where no node can run says why, and what to do, in one line."""

import pytest

from ada_tools.nodes import executables


@pytest.mark.parametrize("name", executables.MODULES)
def test_without_ros_an_executable_says_what_is_missing(name, monkeypatch, capsys):
    monkeypatch.setattr(executables, "find_spec", lambda _: None)
    monkeypatch.setattr(executables, "ros_problem", lambda: "rclpy is missing: pip install it.")
    assert getattr(executables, name)() == 2
    assert capsys.readouterr().err == f"{name}: error: rclpy is missing: pip install it.\n"
