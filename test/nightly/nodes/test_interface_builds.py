# SPDX-License-Identifier: Apache-2.0
"""Message packages built from definitions: again with other wheels, of users, and control_msgs."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("rosidl_generator_py", reason="the generators come with the wheels of ROS 2")

from linked_environment import (
    HAS_COMPILERS,
    builder,
    definitions,
    environment_of_links,
    run,
    site_of,
)

WHEELS = Path(sys.prefix, "share/rosidl_generator_py/resource").is_dir()
pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(
        not Path(sys.prefix, "share/rosidl_generator_py/resource").is_dir(), reason="no wheels of ROS 2"
    ),
    pytest.mark.skipif(not HAS_COMPILERS, reason="no compilers, or no Python.h"),
]
USE_SERVICE = """
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rooms.msg import Box
from rooms.srv import Measure
from std_msgs.msg import Header

def answer(request, response):
    response.volume = request.box.sides[0] * request.box.sides[1] * request.box.sides[2]
    response.label = request.box.header.frame_id
    return response

rclpy.init()
node = rclpy.create_node("tester")
node.create_service(Measure, "measure", answer)
client = node.create_client(Measure, "measure")
assert client.wait_for_service(10)
box = Box(header=Header(frame_id="kitchen"), sides=[2.0, 3.0, 4.0])
future = client.call_async(Measure.Request(box=box))
rclpy.spin_until_future_complete(node, future, timeout_sec=10)
print(future.result().volume, future.result().label)
rclpy.try_shutdown()
"""
# the interface of control_msgs 5 (Jazzy), fields alone
CONTROL_MSGS = {
    "JointTolerance.msg": "string name\nfloat64 position\nfloat64 velocity\nfloat64 acceleration\n",
    "JointComponentTolerance.msg": (
        "uint16 X_AXIS=1\nuint16 Y_AXIS=2\nuint16 Z_AXIS=3\nuint16 TRANSLATION=4\nuint16 ROTATION=5\n"
        "string joint_name\nuint16 component\nfloat64 position\nfloat64 velocity\nfloat64 acceleration\n"
    ),
    "FollowJointTrajectory.action": (
        "trajectory_msgs/JointTrajectory trajectory\ntrajectory_msgs/MultiDOFJointTrajectory multi_dof_trajectory\n"
        "JointTolerance[] path_tolerance\nJointComponentTolerance[] component_path_tolerance\n"
        "JointTolerance[] goal_tolerance\nJointComponentTolerance[] component_goal_tolerance\n"
        "builtin_interfaces/Duration goal_time_tolerance\n---\n"
        "int32 error_code\nint32 SUCCESSFUL = 0\nint32 INVALID_GOAL = -1\nint32 INVALID_JOINTS = -2\n"
        "int32 OLD_HEADER_TIMESTAMP = -3\nint32 PATH_TOLERANCE_VIOLATED = -4\nint32 GOAL_TOLERANCE_VIOLATED = -5\n"
        "string error_string\n---\n"
        "std_msgs/Header header\nstring[] joint_names\ntrajectory_msgs/JointTrajectoryPoint desired\n"
        "trajectory_msgs/JointTrajectoryPoint actual\ntrajectory_msgs/JointTrajectoryPoint error\n"
        "string[] multi_dof_joint_names\ntrajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_desired\n"
        "trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_actual\n"
        "trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_error\n"
    ),
}


@pytest.fixture
def fresh(tmp_path):
    """Python of a new environment that sees the wheels of this one through links, without what was built here."""
    return environment_of_links(tmp_path / "fresh")


def test_what_was_built_with_other_wheels_is_built_again(fresh):
    assert "tf2_msgs: built" in run(fresh, *builder())
    mark = site_of(fresh) / "tf2_msgs/built_by_ada_dynamics"
    was = mark.read_text()
    mark.write_text(was.replace("ros-rclpy", "ros-rclpy-of-last-year"))
    assert "tf2_msgs: built in" in run(fresh, *builder())
    assert mark.read_text() == was
    run(fresh, "-c", "from tf2_msgs.msg import TFMessage; TFMessage()")


def test_a_package_of_ones_own_may_have_messages_and_services(fresh, tmp_path):
    files = {
        "Box.msg": "std_msgs/Header header\nfloat64[3] sides\n",
        "Measure.srv": "rooms/Box box\n---\nfloat64 volume\nstring label\n",
    }
    assert "rooms: built" in run(fresh, *builder("--from", definitions(tmp_path / "own", rooms=files)))
    assert run(fresh, "-c", USE_SERVICE).split() == ["24.0", "kitchen"]


@pytest.mark.skipif(importlib.util.find_spec("control_msgs") is not None, reason="control_msgs is installed")
def test_the_action_passes_its_tests_with_control_msgs_built_for_them(tmp_path):
    python = environment_of_links(tmp_path / "venv")
    said = run(python, *builder("--from", definitions(tmp_path / "interfaces", control_msgs=CONTROL_MSGS)))
    assert "control_msgs: built" in said
    root = Path(__file__).parents[3]
    options = ("-q", "-x", "-p", "no:cacheprovider", "--rootdir", root, "-c", root / "pyproject.toml")
    said = run(
        python, "-m", "pytest", *options, root / "test/process/nodes/test_trajectory_action.py", PYTHONPATH=str(root)
    )
    assert "2 passed" in said and "skipped" not in said, said
