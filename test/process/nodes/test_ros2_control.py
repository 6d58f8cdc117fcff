# SPDX-License-Identifier: Apache-2.0
"""dynamics_node as the hardware of ros2_control, for a stand-in that sends what its topic-based plugin sends."""

import math
import xml.etree.ElementTree as ElementTree

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("xacro")

from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import diagnosed
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import ada_dynamics as ada
from ada_dynamics import resources
from ada_robot.node.dynamics_node import DynamicsNode
from ada_robot.ros import qos

pytestmark = pytest.mark.ros

ROBOT = "ros2_control/pa10.urdf.xacro"
JOINTS = ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]
PERIOD = 0.01  # [s], as the update_rate of controllers.yaml
SAG = 0.05  # [rad] by which the servos of the simulation give way to the arm's weight, at most


class TopicHardware:
    """joint_state_topic_hardware_interface 1.1: a position, velocity or effort for each joint."""

    def __init__(self, node: Node, interface: str, threshold: float = 1e-5) -> None:
        self.interface, self.threshold = interface, threshold
        self.commands = dict.fromkeys(JOINTS, math.nan)
        self.states = dict.fromkeys(JOINTS, math.nan)
        self.sent = 0
        self._node = node
        self._publisher = node.create_publisher(JointState, "/joint_commands", QoSProfile(depth=1))
        node.create_subscription(JointState, "/joint_states", self._read, qos_profile_sensor_data)
        node.create_timer(PERIOD, self._write)

    def _read(self, message: JointState) -> None:
        self.states.update(zip(message.name, getattr(message, self.interface), strict=True))

    def _write(self) -> None:
        difference = sum(abs(self.states[name] - self.commands[name]) for name in JOINTS)
        if difference <= self.threshold:
            return
        message = JointState(name=JOINTS, **{self.interface: list(self.commands.values())})
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        self.sent += 1


def simulation(ros, **parameters: object) -> DynamicsNode:
    robot = str(resources.find("config", ROBOT))
    node = ros.make(DynamicsNode, {"robot": robot, "marker_rate": 0.0, **parameters})
    ros.wait(lambda: node.loop is not None, what="the physics")
    return node


def hardware(ros, interface: str, **options: float) -> TopicHardware:
    found = TopicHardware(ros.node("controller_manager"), interface, **options)
    ros.wait(lambda: not math.isnan(found.states["s1"]), what="the first joint state")
    return found


def time_passes(ros, node: DynamicsNode, seconds: float) -> None:
    begin = node.loop.latest.t
    ros.wait(lambda: node.loop.latest.t > begin + seconds, what=f"{seconds} s of simulation")


@pytest.mark.parametrize("interface", ["position", "velocity", "effort"])
def test_the_description_names_the_joints_of_the_robot_and_one_interface_for_all(interface):
    from ada_dynamics.simulation.record.recorder import description

    model = ada.load(resources.find("config", ROBOT), mappings={"command": interface})
    assert list(model.joint_names) == JOINTS == list(ada.load("pa10").joint_names)
    control = ElementTree.fromstring(description(model)).find("ros2_control")
    assert control.attrib == {"name": "ada_dynamics", "type": "system"}
    assert control.findtext("hardware/plugin") == "joint_state_topic_hardware_interface/JointStateTopicSystem"
    values = {one.attrib["name"]: one.text for one in control.iter("param")}
    assert values == {
        "joint_commands_topic": "/joint_commands",
        "joint_states_topic": "/joint_states",
        "trigger_joint_command_threshold": "-1",
    }
    joints = control.findall("joint")
    assert [joint.attrib["name"] for joint in joints] == JOINTS
    for joint in joints:
        assert [one.attrib["name"] for one in joint.findall("command_interface")] == [interface]
        assert [one.attrib["name"] for one in joint.findall("state_interface")] == ["position", "velocity", "effort"]


def test_the_controllers_are_of_these_joints_and_leave_joint_states_to_the_simulation():
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(resources.find("config", "ros2_control/controllers.yaml").read_text())
    controllers = {name: node["ros__parameters"] for name, node in content.items()}
    assert controllers.pop("controller_manager")["update_rate"] == 1.0 / PERIOD
    assert controllers.pop("joint_state_broadcaster")["use_local_topics"] is True
    for controller in controllers.values():
        assert controller["joints"] == JOINTS


def test_the_robot_holds_its_pose_until_a_controller_sends_numbers_and_then_goes_there_and_stays(ros):
    node = simulation(ros, command_timeout=0.2)
    description = ros.collect(String, "/robot_description", qos.LATCHED).newest().data
    assert ElementTree.fromstring(description).find("ros2_control") is not None
    reports, begin = ros.collect(DiagnosticArray, "/diagnostics"), node.loop.latest.q.copy()
    plugin = hardware(ros, "position", threshold=0.1)
    ros.wait(lambda: int(diagnosed(reports, "commands", "dynamics_node").get("refused", 0)) > 10, what="refusals")
    assert abs(node.loop.latest.q - begin).max() < SAG, "commands that are not numbers move nothing"
    first = dict(plugin.states)
    plugin.commands = {**first, "s1": first["s1"] + 0.5}
    ros.wait(lambda: plugin.states["s1"] > first["s1"] + 0.49, what="the joint at its goal")
    sent = plugin.sent
    time_passes(ros, node, 1.0)  # five times what a velocity or an effort may be old
    assert plugin.sent - sent < 50, "the plugin fell silent"
    assert plugin.states["s1"] == pytest.approx(first["s1"] + 0.5, abs=1e-3)
    assert [plugin.states[name] for name in JOINTS[1:]] == pytest.approx([first[name] for name in JOINTS[1:]], abs=SAG)
    assert node.loop.plant.stale == 0


def test_a_constant_effort_goes_stale_with_the_plugins_own_threshold_and_on_with_that_of_the_example(ros):
    node = simulation(ros, command_timeout=0.5, gravity=[0.0, 0.0, 0.0])
    plugin = hardware(ros, "effort", threshold=-1.0)
    plugin.commands = dict.fromkeys(JOINTS, 0.01)
    ros.wait(lambda: plugin.states["s1"] == 0.01, what="the effort")
    time_passes(ros, node, 1.0)
    assert all(effort == 0.01 for effort in plugin.states.values())
    plugin.threshold = 1e-5
    ros.wait(lambda: node.loop.plant.stale >= len(JOINTS), what="commands that have ended")
