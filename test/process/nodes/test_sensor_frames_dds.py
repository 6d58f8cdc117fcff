# SPDX-License-Identifier: Apache-2.0
"""The frame of a force/torque sensor over DDS: whoever has a wrench finds its frame in the tree of transforms."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import WrenchStamped
from hardware_world import Fleet, hardware
from scipy.spatial.transform import Rotation

from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.ros import environment, qos

pytestmark = [pytest.mark.ros, pytest.mark.skipif(not environment.can_send_tf(), reason="tf2_msgs is not there")]
WITH_ARM = {
    "devices": ["arm", "hand"],
    "arm__kind": "pa10",
    "arm__driver__url": "udp://127.0.0.1:9",
    "hand__kind": "dynpick",
    "hand__parent": "flange",
}


@pytest.fixture(autouse=True)
def flights(tmp_path, monkeypatch):
    """Flight records go where the test's other files are."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def frames(ros, topic, profile):
    """Transforms by child, of all messages; the dict grows."""
    from tf2_msgs.msg import TFMessage

    found = {}
    ros.tester.create_subscription(
        TFMessage, topic, lambda message: found.update({one.child_frame_id: one for one in message.transforms}), profile
    )
    return found


def test_the_frame_of_a_sensor_alone_is_fixed_in_the_world_wherever_the_sensor_is_in_it(ros):
    rpy = (0.3, -0.7, 2.1)
    wrenches = ros.collect(WrenchStamped, "wrench")
    with EmulatorProcess("dynpick") as sensor:
        hardware(
            ros,
            device="dynpick",
            url=sensor.url,
            dynpick__frame="hand",
            dynpick__parent="world",
            dynpick__mounting=[0.1, -0.2, 0.3, *rpy],
            dynpick__sensor__xyz=[0.0, 0.0, 0.05],  # the wrenches are brought into the frame by these
            dynpick__sensor__rpy=[0.0, 0.0, 1.0],
            frame_prefix="left/",
            base_pose=[1.0, 2.0, 0.0, 0.0],
            until="inactive",
        )
        ros.wait(lambda: wrenches, what="a wrench")
        static = frames(ros, "/tf_static", qos.LATCHED)  # it comes late
        ros.wait(lambda: wrenches[-1].header.frame_id in static, what="the frame of the wrench")
    found = static[wrenches[-1].header.frame_id]
    assert (found.header.frame_id, found.child_frame_id) == ("left/world", "left/hand")
    place, turn = found.transform.translation, found.transform.rotation
    assert (place.x, place.y, place.z) == (0.1, -0.2, 0.3)
    turned = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w])
    assert np.abs((turned * Rotation.from_euler("xyz", rpy).inv()).as_rotvec()).max() < 1e-12
    root = static["left/world"]
    assert (root.header.frame_id, root.transform.translation.x, root.transform.translation.y) == ("world", 1.0, 2.0)


def test_the_frame_of_a_sensor_on_an_arm_is_reached_from_the_world_by_the_arms_links(ros, monkeypatch):
    fleet = Fleet(monkeypatch)
    wrenches = ros.collect(WrenchStamped, "wrench")
    static, moving = frames(ros, "/tf_static", qos.LATCHED), frames(ros, "/tf", qos.STATES)

    def way():
        """From a wrench's frame up, as far as anybody says."""
        found = [wrench.header.frame_id for wrench in wrenches[-1:]]
        known = {**static, **moving}
        while found and found[-1] in known:
            found.append(known[found[-1]].header.frame_id)
        return found

    with EmulatorProcess("dynpick") as sensor:
        hardware(ros, **WITH_ARM, hand__driver__url=sensor.url, hand__frame="ft", until="inactive")
        ros.wait(lambda: fleet.robot.measure() or "world" in way(), what="the way to the world")
    assert way()[:2] == ["ft", "flange"] and set(moving) < set(way())  # of a reader that keeps one message


def test_a_parent_that_nobody_here_publishes_is_told_of(ros, monkeypatch, capfd):
    Fleet(monkeypatch)
    given = {**WITH_ARM, "hand__parent": "flanje"}
    with EmulatorProcess("dynpick") as sensor:
        hardware(ros, **given, hand__driver__url=sensor.url, until="inactive")
    assert "hand.parent is 'flanje', which is no link of a robot of this node, nor 'world'" in capfd.readouterr().err
