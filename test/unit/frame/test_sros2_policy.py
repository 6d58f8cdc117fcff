# SPDX-License-Identifier: Apache-2.0
"""The policy of SROS2 is well-formed, complete and no wider than it says; against real nodes: test/nodes."""

import xml.etree.ElementTree as ElementTree

import sros2_policy

from ada_tools.bringup import SETUPS, Machine, plan

NODES = (
    "dynamics_node",
    "oracle_node",
    "loop_state_publisher",
    "view_node",
    "controller_node",
    "hardware_node",
    "target_node",
)
MOVERS = {"view_node", "controller_node", "target_node"}  # what they publish moves robots
COMMANDS = {
    *("joint_commands", "joint_trajectory", "joint_reference", "pose_reference", "external_wrench", "set_state")
}
RULES = ("publish", "subscribe", "reply", "request")


def test_the_policy_has_the_form_of_version_0_2_0_of_its_schema():
    root = ElementTree.parse(sros2_policy.path()).getroot()
    assert root.tag == "policy" and root.attrib == {"version": "0.2.0"}
    (enclaves,) = root
    assert enclaves.tag == "enclaves" and not enclaves.attrib
    for enclave in enclaves:
        assert enclave.tag == "enclave" and set(enclave.attrib) == {"path"}
        (profiles,) = enclave
        assert profiles.tag == "profiles"
        for profile in profiles:
            assert profile.tag == "profile" and set(profile.attrib) == {"ns", "node"}
            for part in profile:
                assert part.tag in sros2_policy.RULES
                assert set(part.attrib) <= set(sros2_policy.RULES[part.tag]) and part.attrib
                assert set(part.attrib.values()) == {"ALLOW"}
                assert len(part) and {one.tag for one in part} == {part.tag[:-1]}


def test_each_node_has_an_enclave_of_its_own_by_its_name():
    root = ElementTree.parse(sros2_policy.path()).getroot()
    enclaves = {enclave.attrib["path"]: [p.attrib["node"] for p in enclave.iter("profile")] for enclave in root[0]}
    assert enclaves == {f"/ada_dynamics/{node}": [node] for node in NODES}


def test_only_view_controller_and_target_may_move_robots_and_only_robots_may_publish_their_state():
    for node in NODES:
        published = sros2_policy.allowed(node, "publish")
        assert any(topic.rsplit("/", 1)[-1] in COMMANDS for topic in published) == (node in MOVERS)
        assert ("/joint_commands" in published) == (node in ("view_node", "controller_node"))
        assert ("/joint_states" in published) == (node in ("dynamics_node", "hardware_node", "loop_state_publisher"))
        assert bool(sros2_policy.allowed(node, "request")) == (node == "view_node")


def test_no_name_allows_everything():
    for node in NODES:
        for rule in RULES:
            others = {"/cmd_vel", "/dynamics", "/joint_states_of_others"}
            assert sros2_policy.refused(node, rule, others) == others


def started():
    """What each setup starts, with each backend and each controller of the arm."""
    for setup in SETUPS.values():
        choices = {argument.name: argument.choices for argument in setup.arguments}
        emulated = [backend for backend in choices.get("backend", ("",)) if backend != "real"]
        for backend in emulated:
            for controller in choices.get("controller", ("",)):
                given = {"backend": backend, "controller": controller, "oracle": "true"}
                values = {name: value for name, value in given.items() if value and name in choices}
                yield plan(setup, values, Machine(has_rviz=True, has_viser=True))


def test_whatever_a_setup_starts_has_its_place_in_the_policy():
    seen = set()
    for what in started():
        for process in what.processes:
            if process.package == "ada_dynamics":
                seen.add(process.executable)
                assert process.name == process.executable and process.executable in NODES
                read = {f"/{target}" for source, target in process.remappings if source in ("state", "wrench")}
                assert not sros2_policy.refused(process.executable, "subscribe", read)
        devices = what.devices
        topics = {f"/{devices.get(f'{name}.topic', 'wrench')}" for name in devices.get("devices", [])}
        assert not sros2_policy.refused("hardware_node", "publish", topics)
    assert seen == set(NODES)
