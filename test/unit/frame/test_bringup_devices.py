# SPDX-License-Identifier: Apache-2.0
"""Setups with devices and with controllers: what is planned for each backend and choice, and what is refused."""

import numpy as np
import pytest
from refused import refused
from setup_world import BARE, FULL, executables

import ada_dynamics as ada
from ada_controllers import State, make
from ada_controllers.node.controller_settings import ControllerSettings
from ada_controllers.state import JointReference, PoseReference
from ada_dynamics.errors import InputError
from ada_dynamics.robots.load import load
from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.opening import EMULATOR
from ada_hardware.registry import DEVICES, SENSOR
from ada_robot.settings import checked
from ada_robot.simulated.settings import DynamicsSettings
from ada_robot.simulated.source import initial_state, load_robot
from ada_tools.bringup import SETUPS, plan

ARM = "udp://127.0.0.1:50000"
LINE = "/dev/ttyUSB0"
REAL = {"pa10_bringup": {"url": ARM}, "khr1_bringup": {"port": LINE}, "ft_sensor": {"url": ARM}}
PA10_CONTROLLERS = ("pose_servo", "joint_trajectory", "computed_torque", "impedance", "gravity_compensation")


@pytest.mark.parametrize("name", REAL)
def test_a_bringup_is_of_the_real_device_unless_another_backend_is_asked_for(name):
    real = plan(name, REAL[name], BARE)
    assert executables(real) == ["hardware_node"]
    assert not real.processes[0].optional
    (url,) = REAL[name].values()
    (device,) = real.devices["devices"]
    assert real.processes[0].given[f"{device}.driver.url"] == url
    assert real.devices[f"{device}.kind"] == device and device in DEVICES
    emulated = plan(name, {"backend": "emulator"}, BARE)
    assert emulated.devices[f"{device}.driver.url"] == EMULATOR


def test_a_controlled_arm_is_simulated_unless_another_backend_is_asked_for():
    assert executables(plan("pa10_control", {}, BARE)) == ["dynamics_node", "controller_node"]
    for values in ({"backend": "emulator"}, {"backend": "real", "url": ARM}):
        assert executables(plan("pa10_control", values, BARE)) == ["hardware_node", "controller_node"]


@pytest.mark.parametrize("controller", PA10_CONTROLLERS)
def test_the_controller_is_the_same_beside_each_backend_but_for_where_the_state_comes_from(controller):
    of_simulation = {"state_source", "state_timeout", "max_gap", "max_position_jump"}
    parameters = []
    for backend in ("sim", "emulator"):
        what = plan("pa10_control", {"backend": backend, "controller": controller}, BARE)
        found = dict(what.parameters("controller_node"))
        assert found["state_source"] == ("state" if backend == "sim" else "joint_states")
        parameters.append({name: value for name, value in found.items() if name not in of_simulation})
    assert parameters[0] == parameters[1]


@pytest.mark.parametrize(
    ("name", "values", "key", "value"),
    [
        ("pa10_control", {"backend": "emulator", "url": "emulator:"}, "pa10.driver.url", "emulator:"),
        ("khr1_bringup", {"port": "dry:"}, "khr1.driver.url", "dry:"),  # tried without its port
        ("khr1_bringup", {"port": "dry:"}, "autostart", "inactive"),
    ],
)
def test_an_address_may_be_that_of_an_emulated_device_or_open_no_port(name, values, key, value):
    assert plan(name, values, BARE).devices[key] == value


@pytest.mark.parametrize("name", ["pa10_bringup", "khr1_bringup", "pa10_control"])
def test_a_real_robot_moves_only_after_somebody_has_activated_and_armed_it_and_an_emulated_one_at_once(name):
    def devices(backend, activate="auto"):
        url = REAL.get(name, {"url": ARM}) if backend == "real" else {}
        found = plan(name, {"backend": backend, "activate": activate, **url}, BARE).devices
        safety = f"{found['devices'][0]}.safety."
        return tuple(found.get(key) for key in ("autostart", safety + "hold_without_commands", safety + "arm_within"))

    assert (devices("real"), devices("emulator")) == (("inactive", None, 10.0), ("active", True, None))
    # One that nobody commands would not stay active for long: it waits for the first command.
    assert devices("real", activate="true") == ("commanded", None, None)
    assert devices("real", activate="false")[0] == devices("emulator", activate="false")[0] == "inactive"


def test_a_controller_that_gives_way_gets_a_sensor_in_front_of_the_hand():
    what = plan("pa10_control", {"backend": "emulator", "controller": "compliance"}, BARE)
    assert what.devices["devices"] == ["pa10", "netft"]
    assert what.devices["netft.driver.url"] == "emulator:"
    control = what.parameters("controller_node")
    assert what.devices["netft.frame"] == control["compliance.link"]
    assert what.devices["netft.frame"] in load("pa10").link_names
    # The sensor's topic is the controller's own, and says what touches the hand, which is the controller's default.
    assert "wrench" not in dict(what.process("controller_node").remappings)
    assert "wrench_of" not in control and ControllerSettings().wrench_of == "contact"
    assert "netft.topic" not in what.devices


@pytest.mark.parametrize("sensor", [name for name, kind in DEVICES.items() if kind.kind == SENSOR])
def test_a_sensor_alone_has_the_frame_that_it_is_given(sensor):
    what = plan("ft_sensor", {"sensor": sensor, "backend": "emulator", "frame": "flange"}, FULL)
    assert what.devices[f"{sensor}.frame"] == "flange" and what.devices[f"{sensor}.kind"] == sensor
    assert what.process("rviz2").arguments[-2:] == ("-f", "flange")
    assert plan("ft_sensor", {"sensor": sensor, "backend": "emulator"}, BARE).devices[f"{sensor}.frame"] == sensor


@pytest.mark.parametrize(
    ("name", "values", "field"),
    [
        ("pa10_bringup", {}, "url"),
        ("khr1_bringup", {}, "port"),
        ("pa10_control", {"backend": "real"}, "url"),
        ("pa10_control", {"backend": "real", "url": ARM, "controller": "compliance"}, "sensor_url"),
        ("pa10_bringup", {"backend": "emulator", "url": ARM}, "url"),
        ("pa10_control", {"url": ARM}, "url"),
        ("pa10_control", {"activate": "true"}, "activate"),
        ("pa10_control", {"backend": "emulator", "idle": "release"}, "idle"),
        ("pa10_control", {"backend": "emulator", "use_sim_time": "true"}, "use_sim_time"),
        ("ft_sensor", {"backend": "sim"}, "backend"),
        ("pa10_control", {"backend": "emulator", "controller": "compliance", "sensor": "none"}, "sensor"),
        ("pa10_bringup", {"url": ARM, "variant": "8c"}, "variant"),
    ],
)
def test_what_does_not_fit_the_backend_is_refused(name, values, field):
    with refused(InputError, field=field, value=values.get(field, "")):
        plan(name, values, BARE)


@pytest.mark.parametrize(("name", "frame"), [("pa10_bringup", "world"), ("khr1_bringup", "world"), ("ft_sensor", "")])
def test_rviz_shows_what_a_device_publishes_in_a_frame_that_is_there(name, frame):
    what = plan(name, {"backend": "emulator", "namespace": "cell"}, FULL)
    process = what.process("rviz2")
    moved = dict(process.remappings)
    assert moved["/robot_description"] == "robot_description"
    assert not any("dynamics_node" in topic for topic in moved)
    if frame:
        assert what.devices["world_frame"] == frame and "-f" not in process.arguments


def choices(argument, setup):
    return next(one.choices for one in setup.arguments if one.name == argument)


EACH = [
    *({"name": "pa10_control", "controller": one} for one in choices("controller", SETUPS["pa10_control"])),
    {"name": "pa10_control", "robot": "pa10_7c"},
    *({"name": "closed_chain_control", "mechanism": one} for one in ("parallel_four_bar", "slider_crank")),
    *(
        {"name": "hoap2_balance", "strategy": strategy, "feet": feet}
        for strategy in ("upper_body_rotation", "combined", "springs")
        for feet in ("clamped", "free")
    ),
]


@pytest.mark.parametrize("values", EACH, ids=lambda values: "-".join(values.values()))
def test_the_controller_of_each_choice_begins_at_the_robots_start_and_takes_the_first_target(values):
    name, *rest = values.items()
    what = plan(name[1], dict(rest), BARE)
    given = what.parameters("controller_node")
    controller = what.controller
    own = {
        key.removeprefix(f"{controller}."): value for key, value in given.items() if key.startswith(controller + ".")
    }
    model = load(str(given["robot"]))
    made = make(controller, model, own)
    settings = checked(DynamicsSettings, dict(what.robot))
    robot = load_robot(settings)
    q, _ = initial_state(robot, settings)
    by_name = {joint: q[robot.q_index(joint)][0] for joint in robot.joint_names if robot.joints[joint].nq == 1}
    assert set(model.joint_names) <= set(by_name)  # what joint_states tell is enough
    state = State(np.array([by_name[joint] for joint in model.joint_names]), np.zeros(model.nv), np.zeros(6))
    made.reset(state, 0.0)
    target = what.parameters("target_node")
    reference = None
    if "pose" in target:
        reference = PoseReference(pose_of(target["pose"][:3], target["pose"][3:]))
    elif "joints" in target:
        position = made.reference.position.copy()
        position[[made.joints.index(joint) for joint in target["joints"]]] = target["positions"]
        reference = JointReference(position)
    command = made.update(state, reference, 1e-3)
    assert all(np.isfinite(part).all() for part in command if part is not None)


@pytest.mark.parametrize("mechanism", ["parallel_four_bar", "slider_crank"])
def test_the_rods_start_where_their_virtual_loops_close(mechanism):
    what = plan("closed_chain_control", {"mechanism": mechanism}, BARE)
    loops = what.parameters("controller_node")["virtual_closed_chain.loops"]
    closed = ada.load("planar_4r", loops=str(ada.resources.find("config", loops)))
    start = np.array(what.robot["initial_positions"])
    np.testing.assert_allclose(ada.close_loops(closed, start), start, atol=1e-12)
    printed = {"parallel_four_bar": (60.0, 30.0, 150.0, -60.0), "slider_crank": (30.0, 85.7, 0.0, 64.3)}
    np.testing.assert_allclose(np.degrees(start), printed[mechanism], atol=0.05)  # as Takahashi 2012 prints them


def test_without_a_controller_the_rods_fall_and_the_humanoid_is_held_by_its_servos():
    rods = plan("closed_chain_control", {"mechanism": "none"}, FULL)
    assert executables(rods) == ["dynamics_node", "view_node", "rviz2"]
    assert rods.robot["idle"] == "release" and rods.controller == ""
    assert plan("closed_chain_control", {"mechanism": "none", "idle": "hold"}, BARE).robot["idle"] == "hold"
    humanoid = plan("hoap2_balance", {"strategy": "none"}, BARE)
    assert executables(humanoid) == ["dynamics_node"] and humanoid.robot["idle"] == "hold"


def test_a_force_sensor_in_front_of_the_hand_feels_what_pushes_it():
    what = plan("pa10_control", {"controller": "compliance"}, BARE)
    topic = dict(what.process("controller_node").remappings)["wrench"]
    joint = topic.removeprefix("dynamics_node/wrench/")
    assert joint in what.robot["wrenches"]
    # The node's topic says what the joint puts on its child link: the opposite of what touches it (wrench_of: arm).
    assert what.parameters("controller_node")["wrench_of"] == "arm"
    model = load("pa10")
    assert model.joints[joint].child == what.parameters("controller_node")["compliance.link"]
    dynamics, q, v = ada.Dynamics(model), np.array(what.robot["initial_positions"]), np.zeros(7)
    push = {"flange": np.array([3.0, -2.0, 5.0, 0.1, 0.2, -0.3])}
    tau = dynamics.inverse(q, v, np.zeros(7), external=push)
    carried = dynamics.joint_wrenches(q, v, tau, external=push)[joint]
    np.testing.assert_allclose(carried, -push["flange"], atol=1e-9)
