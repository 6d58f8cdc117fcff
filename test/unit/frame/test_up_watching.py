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
ARM, EMULATED, LINE = {"url": URL, "activate": "true"}, {"backend": "emulator"}, {"port": "/dev/ttyUSB0"}
INACTIVE, ACTIVE = {"phase": "inactive"}, {"phase": "active"}


@pytest.fixture
def shown(monkeypatch):
    """Lines about a setup whose devices are as given, some time after its first message."""

    def run(name, values, devices, *, address="", ros2="/usr/bin/ros2", seconds=30.0):
        monkeypatch.setattr("shutil.which", lambda _: ros2)
        watch = SimpleNamespace(devices=devices, first=0.0, others=0, robots=1, count=5, look=lambda _: None)
        out, clock = io.StringIO(), ManualClock()
        starter = SimpleNamespace(address=address)
        watching = up.StartCheck(plan(name, values, BARE), Console(out), starter, watch, 0.0, None, clock)
        clock.advance(seconds)
        watching.tick()
        return out.getvalue()

    return run


@pytest.mark.parametrize(
    ("name", "values", "devices", "options", "parts"),
    [
        (
            "khr1_bringup",
            {**LINE, "namespace": "left"},
            INACTIVE,
            {},
            ["lifecycle set /left/hardware_node activate", "service call /left/hardware_node/stop"],
        ),
        ("khr1_bringup", LINE, INACTIVE, {"address": "http://127.0.0.1:8080"}, ["http://127.0.0.1:8080"]),
        ("pa10_bringup", ARM, INACTIVE, {}, ["the first command activates it"]),
        (
            "pa10_control",
            EMULATED,
            {**INACTIVE, "stopped": "pa10: emergency stop"},
            {},
            ["stopped: pa10: emergency stop", "ros2 service call /hardware_node/reset"],
        ),
        ("pa10_bringup", ARM, {**INACTIVE, "problem": "pa10: brakes stay on"}, {}, ["pa10: brakes stay on"]),
        ("ft_sensor", EMULATED, ACTIVE, {}, ["/hardware_node/bias", "ros2 topic hz /wrench"]),
        ("pa10_sim", {"namespace": "left"}, {}, {}, ["ros2 service call /left/dynamics_node/reset"]),
        ("khr1_sim", {}, {}, {}, ["servos hold its position"]),
    ],
)
def test_why_a_robot_stands_still_and_what_makes_it_move_is_shown(shown, name, values, devices, options, parts):
    text = shown(name, values, devices, **options)
    assert [part for part in parts if part not in text] == []


def test_without_the_command_ros2_none_of_its_words_are_shown(shown):
    assert "ros2" not in shown("ft_sensor", EMULATED, ACTIVE, ros2=None)


def test_a_device_gets_time_to_reach_its_phase_by_itself(shown):
    waiting = {"phase": "unconfigured", "stopped": "", "problem": ""}
    assert shown("pa10_bringup", EMULATED, waiting, seconds=5.0) == ""
    assert "inactive: activate it" in shown("pa10_bringup", EMULATED, waiting, seconds=30.0)
    assert "published" in shown("pa10_bringup", EMULATED, {**waiting, "phase": "active"}, seconds=5.0)
