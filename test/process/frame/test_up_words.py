# SPDX-License-Identifier: Apache-2.0
"""What `ada up` says of devices while their nodes run: why a robot stands still, and what makes it move."""

import io
import time
from types import SimpleNamespace

import pytest
from setup_world import BARE

from ada_tools.bringup import plan
from ada_tools.bringup.console import Console
from ada_tools.commands import up

URL = "udp://127.0.0.1:50000"


@pytest.fixture
def said(monkeypatch):
    """What is said of a setup whose devices are as given, long enough after its first message."""

    def run(name, values, devices, *, address="", ros2="/usr/bin/ros2", seconds=30.0):
        monkeypatch.setattr(up.shutil, "which", lambda _: ros2)
        now = time.monotonic()
        watch = SimpleNamespace(
            devices=devices, first=now - seconds, moved=None, others=0, robots=1, count=5, look=lambda _: None
        )
        starter = SimpleNamespace(address=address)
        out = io.StringIO()
        what = plan(name, values, BARE)
        watching = up._Watching(what, Console(out), starter, watch, now - seconds, None)
        watching.tick()
        return out.getvalue()

    return run


ARM, EMULATED = {"url": URL, "activate": "true"}, {"backend": "emulator"}
REAL_HUMANOID = {"port": "/dev/ttyUSB0"}
INACTIVE, ACTIVE = {"phase": "inactive"}, {"phase": "active"}


@pytest.mark.parametrize(
    ("name", "values", "devices", "options", "words", "others"),
    [
        (
            "khr1_bringup",
            {**REAL_HUMANOID, "namespace": "left"},
            INACTIVE,
            {},
            [
                "standing still: inactive: activate it in the browser view (view:=true)",
                "ros2 lifecycle set /left/hardware_node activate",
                "ros2 service call /left/hardware_node/stop std_srvs/srv/Trigger",
            ],
            [],
        ),
        (
            "khr1_bringup",
            REAL_HUMANOID,
            INACTIVE,
            {"address": "http://127.0.0.1:8080"},
            ["activate it on the page", "browser view: http://127.0.0.1:8080"],
            [],
        ),
        ("pa10_bringup", ARM, INACTIVE, {}, ["inactive: it follows the first command that comes"], []),
        (
            "pa10_control",
            EMULATED,
            {**INACTIVE, "stopped": "pa10: emergency stop"},
            {},
            ["stopped: pa10: emergency stop. Reset it first: ros2 service call /hardware_node/reset"],
            [],
        ),
        (
            "pa10_bringup",
            ARM,
            {**INACTIVE, "problem": "pa10: brakes stay on"},
            {},
            ["inactive (pa10: brakes stay on): activate it"],
            [],
        ),
        ("khr1_bringup", EMULATED, ACTIVE, {}, ["active, nobody commands it"], []),
        ("pa10_control", EMULATED, ACTIVE, {}, ["its controller pose_servo lets it stay where it is"], []),
        (
            "ft_sensor",
            EMULATED,
            ACTIVE,
            {},
            [
                "published after",
                "ros2 service call /hardware_node/bias std_srvs/srv/Trigger",
                "ros2 topic hz /wrench",
            ],
            ["standing still", "lifecycle"],
        ),
        ("ft_sensor", EMULATED, ACTIVE, {"ros2": None}, ["ada hw --help"], ["ros2"]),
        ("pa10_sim", {"namespace": "left"}, {}, {}, ["ros2 topic echo /left/tf --once"], []),
        ("pa10_sim", {"namespace": "left", "frame_prefix": "left/"}, {}, {}, ["ros2 topic echo /tf --once"], []),
    ],
)
def test_why_a_robot_stands_still_and_what_makes_it_move_is_said(said, name, values, devices, options, words, others):
    text = said(name, values, devices, **options)
    assert [word for word in words if word not in text] == []
    assert [word for word in others if word in text] == []


def test_a_device_gets_time_to_become_what_it_shall_be_by_itself(said):
    waiting = {"phase": "unconfigured", "stopped": "", "problem": ""}
    assert said("pa10_bringup", {"backend": "emulator"}, waiting, seconds=5.0) == ""
    # What publishes is connected, whatever was told last.
    assert "inactive: activate it" in said("pa10_bringup", {"backend": "emulator"}, waiting, seconds=30.0)
    settled = {**waiting, "phase": "active"}
    assert "standing still" in said("pa10_bringup", {"backend": "emulator"}, settled, seconds=5.0)
