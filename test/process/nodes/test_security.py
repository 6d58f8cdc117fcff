# SPDX-License-Identifier: Apache-2.0
"""What the nodes have in the graph is what their policy allows, and what they open is DDS and the view's port."""

import re
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

import sros2_policy
from hardware_world import ONE, hardware
from rclpy.parameter import Parameter

from ada_robot.node import standard_services
from ada_robot.ros import environment

pytestmark = pytest.mark.ros

ALL_WRENCHES = Parameter("wrenches", value=["all"])
CLOCK = Parameter("publish_clock", value=True)
SIM_TIME = Parameter("use_sim_time", value=True)
# Only there at times: with sliders moved, with topics to fall back on, with simulation time, with devices.
_VIEW_AT_TIMES = {
    "/clock",
    "/dynamics_node/markers",
    "/hardware_node/commanded",
    "/joint_commands",
    "/joint_states",
    "/tf",
    "/wrench",
}

_FRAMES = set() if environment.can_send_tf() else {"/tf", "/tf_static"}


def in_graph(ros, name: str) -> dict[str, set[str]]:
    """Names that a node has in the graph, by rule of the policy."""
    tester = ros.tester
    ask = {
        "publish": tester.get_publisher_names_and_types_by_node,
        "subscribe": tester.get_subscriber_names_and_types_by_node,
        "reply": tester.get_service_names_and_types_by_node,
        "request": tester.get_client_names_and_types_by_node,
    }
    ros.wait(lambda: (name, "/") in tester.get_node_names_and_namespaces(), what=f"{name} in the graph")
    return {rule: {found for found, _ in names(name, "/")} for rule, names in ask.items()}


def compare(ros, name: str, **besides: set[str]) -> dict[str, set[str]]:
    """All that a node has is allowed, and nothing else is; what it has."""

    def complete():
        """The names in the graph; they come one after another."""
        found = in_graph(ros, name)
        unused = (sros2_policy.unused(name, rule, found[rule] | besides.get(rule, set())) for rule in found)
        return None if any(unused) else found

    found = ros.wait(complete, what=f"all names that the policy of {name} allows")
    refused = {rule: sros2_policy.refused(name, rule, names) for rule, names in found.items()}
    assert not any(refused.values()), refused
    return found


def added(ros, module: str, name: str, *parameters: Parameter):
    kind = getattr(import_module(module), name)
    return ros.add(kind(context=ros.context, parameter_overrides=list(parameters)))


def simulation(ros, *parameters: Parameter):
    node = added(ros, "ada_robot.node.dynamics_node", "DynamicsNode", *parameters)
    ros.wait(lambda: node.loop is not None, what="the physics")
    return node


def test_the_simulation_has_exactly_what_its_policy_allows(ros):
    node = simulation(ros, Parameter("robot", value="four_bar"), ALL_WRENCHES, CLOCK)
    standard = (
        "get_simulation_state",
        "get_simulator_features",
        "reset_simulation",
        "set_simulation_state",
        "step_simulation",
    )
    services = {f"/{name}" for name in standard} if standard_services.LACKING is not None else set()
    # it waits for a description only without the parameter robot
    compare(ros, "dynamics_node", publish=_FRAMES, reply=services, subscribe={"/robot_description"})
    ros.remove(node)
    added(ros, "ada_robot.node.dynamics_node", "DynamicsNode")
    waits = {"/robot_description"}
    ros.wait(lambda: in_graph(ros, "dynamics_node")["subscribe"] == waits, what="the topics of one that waits")
    for rule, names in in_graph(ros, "dynamics_node").items():
        assert not sros2_policy.refused("dynamics_node", rule, names), rule


def test_oracle_target_view_and_controller_have_exactly_what_their_policies_allow(ros):
    pytest.importorskip("pinocchio")
    pytest.importorskip("viser")
    from page_world import view

    for node, kind in (("oracle_node", "OracleNode"), ("target_node", "TargetNode")):
        added(ros, f"ada_tools.nodes.{node}", kind, SIM_TIME)
        compare(ros, node)
    view(ros)
    compare(ros, "view_node", publish=_VIEW_AT_TIMES, subscribe=_VIEW_AT_TIMES)
    robot = Parameter("robot", value="planar_3r")
    node = added(ros, "ada_controllers.node.controller_node", "ControllerNode", robot, SIM_TIME)
    ros.wait(lambda: node.phase != "unconfigured", what="the controller")
    # Depending on the robot it takes the state from one topic or the other, under the name that the setups give it or
    # its own (as the wrench), and waits for a description where it is not told which robot.
    states = {"/state", "/dynamics_node/state", "/dynamics_node/wrench/flange_fixed", "/robot_description"}
    compare(ros, "controller_node", subscribe=states)


def test_the_loop_state_publisher_has_exactly_what_its_policy_allows(ros):
    robot = Parameter("robot", value="four_bar")
    added(ros, "ada_robot.node.loop_state_publisher", "LoopStatePublisher", robot, SIM_TIME)
    compare(ros, "loop_state_publisher", publish=_FRAMES, subscribe={"/robot_description"})


def test_the_hardware_has_exactly_what_its_policy_allows(ros, fleet):
    hardware(ros, fleet, **{**ONE, "tf_rate": 50.0}, use_sim_time=True, until="active")
    compare(ros, "hardware_node", publish=_FRAMES | {"/wrench"})  # that of a force/torque sensor, which is not there


def listening(pid: int) -> set[tuple[str, str, int]]:
    """Protocol, address and port of each socket that a process listens on."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            match = re.fullmatch(r"socket:\[(\d+)\]", str(entry.readlink()))
            if match:
                inodes.add(match[1])
    found = set()
    for protocol in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{protocol}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes and (protocol.startswith("udp") or fields[3] == "0A"):  # TCP: listens
                address, _, port = fields[1].partition(":")
                found.add((protocol, address, int(port, 16)))
    return found


LOOPBACK = "0100007F"


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="no /proc here")
def test_a_node_listens_to_dds_and_the_view_to_one_port_of_the_loopback_besides(ros):
    pytest.importorskip("viser")
    nodes = {
        "dynamics_node": (("-p", "robot:=four_bar"), "joint_states at", set()),
        "view_node": (("-p", "port:=0", "-p", "open_browser:=false"), "view: http", {LOOPBACK}),
    }
    processes = {
        name: ros.start(sys.executable, "-m", "ada_tools.nodes", name, "--ros-args", *options)
        for name, (options, _, _) in nodes.items()
    }
    for name, (_, ready, addresses) in nodes.items():
        process = processes[name]
        ros.wait(lambda p=process, r=ready: r in p.output, what=f"the start of {name}")
        found = listening(process.pid)
        tcp = {(address, port) for protocol, address, port in found if protocol.startswith("tcp")}
        udp = {port for protocol, _, port in found if protocol.startswith("udp")}
        first = 7400 + 250 * ros.domain  # DDSI-RTPS 9.6.1.1; those that DDS sends from are any
        assert any(first <= port < first + 250 for port in udp)
        assert {address for address, _ in tcp} == addresses and len(tcp) == len(addresses)
    for process in processes.values():
        process.signal()
    assert all(process.wait() == 0 for process in processes.values())


@pytest.mark.skipif(environment.wheels_version() is None, reason="an installed ROS 2 can do security")
def test_a_node_that_shall_be_secure_but_cannot_does_not_start(ros, tmp_path):
    (tmp_path / "keys" / "enclaves").mkdir(parents=True)
    secure = {
        "ROS_SECURITY_ENABLE": "true",
        "ROS_SECURITY_STRATEGY": "Enforce",
        "ROS_SECURITY_KEYSTORE": str(tmp_path / "keys"),
    }
    process = ros.start(
        sys.executable, "-m", "ada_tools.nodes", "dynamics_node", "--ros-args", "-p", "robot:=four_bar",
        environment=secure,
    )  # fmt: skip
    assert process.wait() != 0
    assert "security" in process.output.lower()
