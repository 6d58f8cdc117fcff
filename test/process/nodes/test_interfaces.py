# SPDX-License-Identifier: Apache-2.0
"""Message packages that PyPI lacks are built from definitions into a virtual environment, wholly or not at all."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("rosidl_generator_py", reason="the generators come with the wheels of ROS 2")

from linked_environment import HAS_COMPILERS, builder, definitions, environment_of_links, run, site_of

from ada_dynamics.simulation.record import messages

WHEELS = Path(sys.prefix, "share/rosidl_generator_py/resource").is_dir()
pytestmark = [pytest.mark.ros, pytest.mark.skipif(not WHEELS, reason="ROS 2 is here, but not from wheels")]
needs_compilers = pytest.mark.skipif(not HAS_COMPILERS, reason="no compilers, or no Python.h")

# What `ros2 topic info -v` says on released systems, from Jazzy to Lyrical.
HASH = "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"
USE_TF = """
import json, rclpy
from rclpy.serialization import deserialize_message, serialize_message
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

move = TransformStamped()
move.header.stamp.sec, move.header.stamp.nanosec = 12, 345
move.header.frame_id, move.child_frame_id = "world", "hand"
move.transform.translation.x, move.transform.translation.z, move.transform.rotation.w = 2.5, -1.0, 0.5
sent, received = TFMessage(transforms=[move]), []

rclpy.init()
node = rclpy.create_node("tester")
node.create_subscription(TFMessage, "/tf", received.append, 10)
publisher = node.create_publisher(TFMessage, "/tf", 10)
for _ in range(200):
    publisher.publish(sent)
    rclpy.spin_once(node, timeout_sec=0.05)
    if received:
        break
(known,) = node.get_publishers_info_by_topic("/tf")
raw = serialize_message(sent)
print(json.dumps([str(known.topic_type_hash), received[0] == sent, deserialize_message(raw, TFMessage) == sent,
                  raw.hex()]))
rclpy.try_shutdown()
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Such an environment in which tf2_msgs was built, and what the builder said."""
    python = environment_of_links(tmp_path_factory.mktemp("built") / "venv")
    return python, run(python, *builder())


@needs_compilers
def test_transforms_travel_over_dds_as_the_type_that_released_systems_use(built):
    python, said = built
    assert "tf2_msgs: built in" in said
    type_hash, same, same_again, raw = json.loads(run(python, "-c", USE_TF))
    assert (type_hash, same, same_again) == (HASH, True, True)
    numbers = np.array([2.5, 0.0, -1.0, 0.0, 0.0, 0.0, 0.5])
    assert raw == messages.transforms("world", ["hand"]).fill_one(12_000_000_345, numbers).hex()


@needs_compilers
def test_a_second_build_finds_it_there(built):
    python, _ = built
    files = {path: path.stat().st_mtime_ns for path in (site_of(python) / "tf2_msgs").rglob("*.so")}
    assert files
    assert "tf2_msgs: there already" in run(python, *builder())
    assert files == {path: path.stat().st_mtime_ns for path in files}


@needs_compilers
def test_what_prevents_a_build_is_named_with_the_fix(built, tmp_path):
    package = definitions(tmp_path, shapes={"Box.msg": "float64 side\n"})
    (tmp_path / "empty").mkdir()
    for arguments, environment, words in (
        (["--from", package], {"CXX": "no_such_compiler"}, "sudo apt install g++"),
        (["--from", package], {"ROS_DISTRO": "jazzy"}, "sudo apt install ros-jazzy-tf2-msgs"),
        (["--from", tmp_path / "empty"], {}, "has no interface packages"),
        (["--from", tmp_path / "nowhere"], {}, "has no interface packages"),
    ):
        assert words in run(built[0], *builder(*arguments), code=2, **environment)


@needs_compilers
def test_a_package_that_uses_a_missing_one_is_refused_with_its_wheel(built, tmp_path):
    folder = definitions(tmp_path, rooms={"Room.msg": "shapes/Box box\n"})
    assert "pip install ros-shapes" in run(built[0], *builder("--from", folder), code=2)
