# SPDX-License-Identifier: Apache-2.0
"""`ada up` while the nodes of devices run: why a robot stands still, and what makes it move."""

import io
from types import SimpleNamespace

import pytest
from setup_world import BARE

from ada_dynamics.clock import ManualClock
from ada_tools.bringup import plan
from ada_tools.bringup.starter import Console
from ada_tools.commands import up

URL = "udp://127.0.0.1:50000"
ARM, LINE = {"url": URL, "activate": "true"}, {"port": "/dev/ttyUSB0"}


def shown(name, values, first=0.0, seconds=1.0):
    """Lines about a setup, some time after its start."""
    watch = SimpleNamespace(first=first, others=0, robots=1, count=5, look=lambda _: None)
    out, clock = io.StringIO(), ManualClock()
    starter = SimpleNamespace(address="http://127.0.0.1:8080")
    watching = up.StartCheck(plan(name, values, BARE), Console(out), starter, watch, 0.0, None, clock)
    clock.advance(seconds)
    watching.tick()
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "values", "part"),
    [
        ("khr1_bringup", {**LINE, "namespace": "left"}, "lifecycle set /left/hardware_node activate"),
        ("pa10_bringup", ARM, "the first command activates it"),
        ("khr1_sim", {}, "servos hold its position"),
        ("display", {}, "paused"),
        ("ft_sensor", {"backend": "emulator"}, "published after 0.0 s\nbrowser view: http://127.0.0.1:8080\n"),
    ],
)
def test_why_a_robot_stands_still_and_what_makes_it_move_is_shown(name, values, part):
    assert part in shown(name, values)


def test_a_robot_that_does_not_publish_is_waited_for():
    assert shown("pa10_sim", {}, first=None) == ""
    assert "waiting for the robot, 6 s" in shown("pa10_sim", {}, first=None, seconds=6.0)
