# SPDX-License-Identifier: Apache-2.0
"""What `ada up` says of devices while their nodes run: why a robot stands still, and what makes it move."""

import io
import time
from types import SimpleNamespace

import pytest

from ada_tools.bringup import Machine, plan
from ada_tools.bringup.console import Console
from ada_tools.commands import up

BARE = Machine(has_rviz=False, has_viser=False)
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


def test_a_real_robot_that_is_inactive_is_to_be_activated_by_somebody(said):
    text = said("khr1_bringup", {"port": "/dev/ttyUSB0", "namespace": "left"}, {"phase": "inactive"})
    assert "standing still: inactive: activate it in the browser view (view:=true)" in text
    assert "ros2 lifecycle set /left/hardware_node activate" in text
    assert "ros2 service call /left/hardware_node/stop std_srvs/srv/Trigger" in text
    on_page = said("khr1_bringup", {"port": "/dev/ttyUSB0"}, {"phase": "inactive"}, address="http://127.0.0.1:8080")
    assert "activate it on the page" in on_page and "browser view: http://127.0.0.1:8080" in on_page


def test_a_robot_that_waits_for_commands_is_said_to(said):
    values = {"url": URL, "activate": "true"}
    assert "inactive: it follows the first command that comes" in said("pa10_bringup", values, {"phase": "inactive"})


def test_a_robot_that_was_stopped_is_to_be_reset_first(said):
    devices = {"phase": "inactive", "stopped": "pa10: emergency stop"}
    text = said("pa10_control", {"backend": "emulator"}, devices)
    assert "stopped: pa10: emergency stop. Reset it first: ros2 service call /hardware_node/reset" in text


def test_what_kept_a_robot_from_its_start_is_said(said):
    devices = {"phase": "inactive", "problem": "pa10: brakes stay on"}
    text = said("pa10_bringup", {"url": URL, "activate": "true"}, devices)
    assert "inactive (pa10: brakes stay on): activate it" in text


def test_an_active_robot_waits_for_commands_or_has_a_controller(said):
    assert "active, nobody commands it" in said("khr1_bringup", {"backend": "emulator"}, {"phase": "active"})
    controlled = said("pa10_control", {"backend": "emulator"}, {"phase": "active"})
    assert "its controller pose_servo lets it stay where it is" in controlled


def test_a_sensor_does_not_stand_still_and_can_be_zeroed(said):
    text = said("ft_sensor", {"backend": "emulator"}, {"phase": "active"})
    assert "published after" in text and "standing still" not in text and "lifecycle" not in text
    assert "ros2 service call /hardware_node/bias std_srvs/srv/Trigger" in text and "ros2 topic hz /wrench" in text


def test_without_ros2_no_command_of_it_is_proposed(said):
    text = said("ft_sensor", {"backend": "emulator"}, {"phase": "active"}, ros2=None)
    assert "ros2" not in text and "ada hw --help" in text


def test_a_device_gets_time_to_become_what_it_shall_be_by_itself(said):
    waiting = {"phase": "unconfigured", "stopped": "", "problem": ""}
    assert said("pa10_bringup", {"backend": "emulator"}, waiting, seconds=5.0) == ""
    # What publishes is connected, whatever was told last.
    assert "inactive: activate it" in said("pa10_bringup", {"backend": "emulator"}, waiting, seconds=30.0)
    settled = {**waiting, "phase": "active"}
    assert "standing still" in said("pa10_bringup", {"backend": "emulator"}, settled, seconds=5.0)


def test_transforms_are_looked_for_where_they_are(said):
    assert "ros2 topic echo /left/tf --once" in said("pa10_sim", {"namespace": "left"}, {})
    assert "ros2 topic echo /tf --once" in said("pa10_sim", {"namespace": "left", "frame_prefix": "left/"}, {})
