# SPDX-License-Identifier: Apache-2.0
"""What all controllers share: settings, checked states and references, robots that a law is not for, simulations."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from echo_controller import INF, Echo, EchoSettings, arm, echo, say
from refused import refused

import ada_dynamics as ada
from ada_controllers import (
    Command,
    JointPath,
    JointReference,
    PoseReference,
    ReferenceRefused,
    State,
    StateRefused,
    make,
)
from ada_controllers.command_shaping import ShapingSettings
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.errors import InputError
from ada_dynamics.model import Builder, Limits


@pytest.mark.parametrize(
    ("q", "v", "facts"),
    [
        ([math.nan, 0.0], [0.0, 0.0], {"joint": "j_upper", "field": "position"}),
        ([0.0, 0.0], [0.0, -INF], {"joint": "j_lower", "field": "velocity"}),
        ([0.0], [0.0, 0.0], {"field": "positions"}),
        ([0.0, 0.0], [[0.0, 0.0]], {"field": "velocities"}),
        ([1.1e6, 0.0], [0.0, 0.0], {"field": "position"}),
        ([0.0, 0.0], [0.0, 1.1e4], {"field": "velocity", "value": 11000.0}),
        ([0.0, 0.0], [1e300, 1e300], {"field": "velocity", "allowed": 10000.0}),
    ],
)
def test_states_that_cannot_be_are_refused_and_the_controller_goes_on(q: Any, v: Any, facts: dict[str, Any]) -> None:
    controller = echo()
    good = say(controller, 0.001, effort=[1.0, 2.0])
    with refused(StateRefused, **facts):
        say(controller, 0.002, q=q, v=v, effort=[3.0, 4.0])
    with refused(StateRefused, **facts):
        controller.reset(State(np.array(q), np.array(v)), 0.0)
    assert controller.last_command == good
    assert say(controller, 0.002, effort=[1.0, 2.0]).effort is not None


def test_a_quaternion_off_unit_length_is_no_state() -> None:
    controller = Echo(arm("floating"))
    q = controller.model.neutral()
    controller.reset(State(q, np.zeros(8)), 0.0)
    q = q.copy()
    q[6] = 0.5
    with refused(StateRefused, field="q"):
        controller.check_state(State(q, np.zeros(8)))


@pytest.mark.parametrize("wrench", [np.zeros(5), np.array([0, 0, math.nan, 0, 0, 0]), [0.0] * 6, np.full(6, 1.1e5)])
def test_a_wrench_that_is_none_is_refused(wrench: Any) -> None:
    controller = echo()
    with refused(StateRefused, field="wrench", allowed="six finite numbers"):
        controller.update(State(np.zeros(2), np.zeros(2), wrench), None, 0.1)


@pytest.mark.parametrize(
    ("time", "facts"),
    [
        (0.5, {"field": "time", "value": 0.5}),
        (math.nan, {"field": "time", "allowed": "a finite number"}),
        (INF, {"field": "time", "allowed": "a finite number"}),
        (-INF, {"field": "time", "allowed": "a finite number"}),
    ],
)
def test_times_that_cannot_be_are_refused(time: float, facts: dict[str, Any]) -> None:
    controller = echo()
    say(controller, 1.0, effort=[1.0, 1.0])
    with refused(StateRefused, **facts):
        say(controller, time, effort=[2.0, 2.0])
    if not math.isfinite(time):
        with refused(StateRefused, **facts):
            controller.reset(State(np.zeros(2), np.zeros(2)), time)
    assert say(controller, 1.0, effort=[1.0, 1.0]).effort is not None


def test_an_update_before_reset_is_refused() -> None:
    controller = Echo(arm())
    with refused(StateRefused, field="time", value=0.0):
        say(controller, 0.0, effort=[1.0, 1.0])


def test_a_reset_that_is_refused_leaves_the_controller_as_it_was() -> None:
    class Choosy(Echo):
        def _begin(self, state: State, time: float) -> None:
            if state.q[0] > 1.0:
                raise InputError("not here", field="q")

    controller = Choosy(arm())
    controller.reset(State(np.zeros(2), np.zeros(2)), 0.0)
    good, followed = say(controller, 1.0, effort=[1.0, 1.0]), controller.reference
    with refused(InputError, field="q"):
        controller.reset(State(np.array([1.5, 0.0]), np.zeros(2)), 5.0)
    with refused(InputError, field="effort", allowed="2 numbers"):
        controller.reset(State(np.zeros(2), np.zeros(2)), 5.0, Command(effort=np.zeros(3)))
    assert controller.last_command == good
    assert controller.reference is followed
    assert say(controller, 2.0, effort=[1.0, 1.0]).effort is not None


TURNED = np.eye(4)
TURNED[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
MIRRORED = np.diag([1.0, 1.0, -1.0, 1.0])


def vector(*values: float) -> Any:
    return np.array(values)


def far(x: float) -> np.ndarray[Any, Any]:
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


@pytest.mark.parametrize(
    ("reference", "facts"),
    [
        (JointReference(vector(0.0)), {"field": "position", "allowed": "2 numbers"}),
        (JointReference(vector(0.0, math.nan)), {"joint": "j_lower", "field": "position"}),
        (JointReference(vector(0.0, 2.1)), {"joint": "j_lower", "field": "position", "value": 2.1}),
        (JointReference(vector(0.0, 0.0), vector(4.0, 0.0)), {"joint": "j_upper", "field": "velocity", "value": 4.0}),
        (JointReference(vector(0.0, 0.0), None, vector(0.0, INF)), {"joint": "j_lower", "field": "acceleration"}),
        (JointReference(vector(0.0, 0.0), None, vector(0.0)), {"field": "acceleration", "allowed": "2 numbers"}),
        (JointPath(vector(0.0, 0.0)), {"field": "positions", "allowed": "(points, 2)"}),
        (JointPath(np.array([[0.0, 0.0], [0.0, 3.0]])), {"joint": "j_lower", "field": "position", "value": 3.0}),
        (JointPath(np.zeros((2, 2)), vector(1.0)), {"field": "times", "allowed": "2 finite numbers"}),
        (JointPath(np.zeros((2, 2)), vector(1.0, 1.0)), {"field": "times", "allowed": "rising numbers from 0 on"}),
        (JointPath(np.zeros((2, 2)), None, np.zeros((1, 2))), {"field": "velocities"}),
        (PoseReference(np.eye(3)), {"field": "pose", "allowed": "4x4 finite numbers"}),
        (PoseReference(np.full((4, 4), math.nan)), {"field": "pose", "allowed": "4x4 finite numbers"}),
        (JointReference(vector(0.0, 0.0), None, vector(-1.1e6, 0.0)), {"joint": "j_upper", "field": "acceleration"}),
        (PoseReference(far(1.1e6)), {"field": "pose", "allowed": "4x4 finite numbers"}),
        (PoseReference(2.0 * np.eye(4)), {"field": "pose", "allowed": "a rigid motion"}),
        (PoseReference(MIRRORED), {"field": "pose", "allowed": "a rigid motion"}),
        (PoseReference(np.eye(4), np.zeros(3)), {"field": "twist", "allowed": "six finite numbers"}),
        ("home", {"field": "reference", "value": "home"}),
    ],
)
def test_references_that_cannot_be_followed_are_refused_and_the_old_one_counts(
    reference: Any, facts: dict[str, Any]
) -> None:
    controller = echo()
    controller.said = Command(effort=np.zeros(2))
    old = controller.reference
    for check in (
        lambda: controller.check(reference),
        lambda: controller.update(State(np.zeros(2), np.zeros(2)), reference, 0.1),
    ):
        with refused(ReferenceRefused, **facts):
            check()
    assert controller.reference is old


@pytest.mark.parametrize(
    ("settings", "shaping", "facts"),
    [
        ({"gian": 1.0}, None, {"field": "parameter", "value": "gian"}),
        ({"gain": -1.0}, None, {"field": "gain", "value": -1.0}),
        ({"gain": "much"}, None, {"field": "gain", "value": "much"}),
        (EchoSettings(gain=-1.0), None, {"field": "gain", "value": -1.0}),
        (3, None, {"field": "settings", "value": 3}),
        (ShapingSettings(), None, {"field": "settings"}),
        (None, {"effort_scale": 2.0}, {"field": "effort_scale", "value": 2.0}),
        (None, ShapingSettings(effort_rate=-1.0), {"field": "effort_rate", "value": -1.0}),
        (None, 3, {"field": "shaping", "value": 3}),
        (None, {"position_margin": 2.5}, {"joint": "j_upper", "field": "position_margin", "value": 2.5}),
    ],
)
def test_settings_that_are_not_allowed_are_refused_by_name(settings: Any, shaping: Any, facts: dict[str, Any]) -> None:
    with refused(InputError, **facts):
        Echo(arm(), settings, shaping)


def test_robots_that_cannot_be_commanded_are_refused() -> None:
    loose = ada.Builder("loose").link("base").link("bob", 1.0, (0, 0, 1), (1, 1, 1))
    loose.joint("ball", "spherical", "base", "bob")
    with refused(InputError, field="model", value="loose"):
        Echo(loose.build())
    with refused(InputError, field="model", value="pa10"):
        Echo("pa10")  # type: ignore[arg-type]


class Holding(Echo):
    """Carries the weight of the arm, and tells of its calls."""

    calls = 0

    def _law(self, state: State, time: float) -> Command:
        self.calls += 1
        return Command(effort=ada.Dynamics(self.model).gravity(state.q))

    def signals(self) -> dict[str, Any]:
        return {"calls": np.array([float(self.calls)])} if self.calls > 2 else {}


def test_a_simulation_calls_the_controller_at_its_period_and_keeps_what_it_said() -> None:
    model = arm(effort=100.0)
    loop = InSimulation(Holding(model), period=0.01)
    start = np.array([0.5, 0.3])
    log = loop.simulation(model, start, step=1e-3).run(0.1)
    assert np.abs(log.q - start).max() < 1e-12
    assert loop.times == pytest.approx(0.01 * np.arange(len(loop.times)))
    assert loop.signals["effort"].shape == (len(loop.times), 2)
    assert np.isnan(loop.signals["calls"][:2]).all()
    assert loop.signals["calls"][2:, 0].tolist() == list(range(3, len(loop.times) + 1))


FOUR_BAR = {"loops": "loops/parallel_four_bar.yaml"}
UPPER = np.triu(np.ones((6, 6))).ravel().tolist()
UNHELD = {"joint": "root_joint", "field": "coordinates", "value": 10}
ONE_OR_SEVEN = "1 or 7 numbers"
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("balance", "pa10", {}, {"joint": "joint_1", "field": "model", "value": "pa10"}),
    ("balance", "hoap2_10dof", {}, {"field": "model", "value": "hoap2_10dof"}),
    ("balance", "hoap2_standing", {"strategy": "step"}, {"field": "strategy", "value": "step"}),
    ("compliance", "pa10", {"stiffness": [1.0, 2.0]}, {"field": "stiffness", "allowed": "6 or 36 numbers"}),
    ("compliance", "pa10", {"stiffness": [1e3, 1e3, -1.0, 1.0, 1.0, 1.0]}, {"field": "stiffness"}),
    ("compliance", "pa10", {"stiffness": UPPER}, {"field": "stiffness"}),
    ("compliance", "pa10", {"dead_band": [1.0]}, {"field": "dead_band", "allowed": "2 numbers"}),
    ("compliance", "pa10", {"sensor_link": "wrist"}, {"link": "wrist"}),
    ("compliance", "pa10", {"sensor_rpy": [0.0]}, {"field": "sensor_rpy", "allowed": "3 numbers"}),
    ("compliance", "pa10", {"contact_stiffness": 3e5}, {"field": "contact_stiffness", "allowed": "below 2e+05 N/m"}),
    ("computed_torque", "hoap2_10dof", {}, UNHELD),
    ("computed_torque", "pa10", {"stiffness": [1.0, 2.0]}, {"field": "stiffness", "allowed": ONE_OR_SEVEN}),
    ("computed_torque", "pa10", {"stiffness": []}, {"field": "stiffness", "value": ()}),
    ("gravity_compensation", "pa10", {"share": [1.5]}, {"field": "share"}),
    ("impedance", "pa10", {"space": "link", "link": "flnage"}, {"link": "flnage"}),
    ("impedance", "pa10", {"linear_stiffness": [1.0] * 2}, {"field": "linear_stiffness", "allowed": "1 or 3 numbers"}),
    ("impedance", "pa10", {"linear_inertia": 0.0}, {"field": "linear_inertia", "value": 0.0}),
    ("joint_trajectory", "pa10", {"acceleration": [0.0]}, {"field": "acceleration"}),
    ("joint_trajectory", "pa10", {"speed_scale": 0.0}, {"field": "speed_scale", "value": 0.0}),
    ("pid", "pa10", {"gain": [1.0, 2.0]}, {"field": "gain", "allowed": ONE_OR_SEVEN}),
    ("pid", "pa10", {"anti_windup": 1}, {"field": "anti_windup", "value": 1}),
    ("pose_servo", "pa10", {"tool_xyz": [0.0, 1.0]}, {"field": "tool_xyz", "allowed": "3 numbers"}),
    ("pose_servo", "pa10", {"null_space": "posture", "posture": [0.0] * 2}, {"field": "posture"}),
    ("pose_servo", "pa10", {"null_space": "posture", "posture_joints": ["elbow"]}, {"value": "elbow"}),
    ("pose_servo", "pa10", {"link": "base_link"}, {"field": "model", "value": "pa10"}),
    ("pose_servo", "four_bar", {}, {"loop": "closing", "field": "link", "value": "link_3"}),
    ("pose_servo", "delta", {}, {"joint": "leg_1_knee_left_1", "field": "link", "value": "leg_1_rod_left"}),
    ("reaction_null_space", "pa10", {"support": "link_3"}, {"link": "link_3", "field": "support"}),
    ("reaction_null_space", "pa10", {"support": "foot"}, {"link": "foot"}),
    ("reaction_null_space", "pa10", {"held": "no"}, {"field": "held", "value": "no", "allowed": ("yes",)}),
    ("reaction_null_space", "pa10", {"preserved": []}, {"field": "preserved", "value": ()}),
    ("reaction_null_space", "pa10", {"preserved": ["fw"]}, {"field": "preserved"}),
    ("reaction_null_space", "cassie_leg", {}, {"joint": "shin", "allowed": "a motor at every joint"}),
    ("reaction_null_space", "floating_rod_euler", {}, {"field": "model", "allowed": "a robot with a motor"}),
    ("virtual_closed_chain", "planar_4r", {}, {"field": "loops", "value": ""}),
    ("virtual_closed_chain", "planar_4r", {"loops": "none.yaml"}, {"field": "loops", "value": "none.yaml"}),
    ("virtual_closed_chain", "planar_4r", FOUR_BAR | {"pose_stiffness": [1.0]}, {"field": "pose_stiffness"}),
    ("virtual_closed_chain", "planar_4r", FOUR_BAR | {"pose_stiffness": [1.0] * 6}, {"field": "link", "value": ""}),
]
loaded = lru_cache(maxsize=None)(ada.load)


@pytest.mark.parametrize(("law", "robot", "settings", "facts"), CASES)
def test_settings_and_robots_that_a_law_cannot_have_are_refused_by_name(
    law: str, robot: str, settings: dict[str, Any], facts: dict[str, Any]
) -> None:
    with refused(InputError, **facts):
        make(law, loaded(robot), settings)


@pytest.mark.parametrize("law", ["computed_torque", "gravity_compensation", "impedance", "pid"])
def test_efforts_for_a_joint_whose_effort_limit_is_zero_are_refused_and_positions_are_not(law: str) -> None:
    robot = Builder("arm").link("base")
    for i, (parent, effort) in enumerate((("base", 9.0), ("link_1", 0.0)), start=1):
        robot.link(f"link_{i}", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
        robot.joint(
            f"joint_{i}", "revolute", parent, f"link_{i}", axis=(0, 1, 0), limits=Limits(-1.0, 1.0, 1.0, effort)
        )
    model = robot.build()
    with refused(InputError, joint="joint_2", field="effort", value=0.0):
        make(law, model)
    assert make("joint_trajectory", model).joints == ("joint_1", "joint_2")
