# SPDX-License-Identifier: Apache-2.0
"""Virtual closed chains of robots in space, on floating bases, and with loops of their own."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada
from ada_controllers import JointReference, PoseReference, State
from ada_controllers.virtual.pressing import Pressing
from ada_controllers.virtual_closed_chain import VirtualClosedChain
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit import with_gravity
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import with_loops
from ada_experiments import two_arm_bar as arms
from ada_experiments.hand_on_wall import chain_over, leaning

Array = NDArray[np.float64]

WEIGHTLESS = (0.0, 0.0, 0.0)
PULL = {
    "link": arms.LEFT,
    "joint_stiffness": [0.0],
    "joint_damping": [0.2],
    "pose_stiffness": [80.0] * 3 + [20.0] * 3,
    "pose_damping": [40.0] * 3 + [10.0] * 3,
    "hold": 1e-3,
}


class Arms:
    """Two arms with a virtual bar between their hands."""

    def __init__(self, base: str, gravity: tuple[float, ...]) -> None:
        self.model = arms.two_arms(base, gravity)
        self.q = arms.start_of(self.model)
        self.bar = arms.with_bar(self.model, self.q)
        self.dynamics = ada.Dynamics(self.model)

    def controller(self, **more: Any) -> VirtualClosedChain:
        return VirtualClosedChain(self.model, {**PULL, **more}, virtual=self.bar)

    def reference(self, x: float, y: float, z: float) -> PoseReference:
        d = self.dynamics
        pose = np.array(np.linalg.solve(d.pose(arms.BODY, self.q), d.pose(arms.LEFT, self.q)))
        pose[:3, 3] += [x, y, z]
        return PoseReference(pose)

    def bar_error(self, q: Array) -> float:
        first = arms.hands_apart(self.dynamics, self.q)
        return max(float(np.abs(arms.hands_apart(self.dynamics, row) - first).max()) for row in q[::50])


@pytest.fixture(scope="module")
def fixed() -> Arms:
    return Arms("fixed", (0.0, 0.0, -9.81))


@pytest.fixture(scope="module")
def floating() -> Arms:
    return Arms("floating", WEIGHTLESS)


@pytest.mark.fuzz
@pytest.mark.parametrize("which", ["fixed", "floating"])
def test_wanted_accelerations_solve_the_dense_equations_with_multipliers(which: str, request: Any) -> None:
    robot: Arms = request.getfixturevalue(which)
    controller = robot.controller(loop_stiffness=0.0, loop_damping=0.0, hold=0.0)
    closed = ada.Dynamics(with_gravity(robot.bar, WEIGHTLESS))
    numbers = kernels_of(closed).closed.analysis.constraints
    rng = np.random.default_rng(5)
    q, v = closed.project_to_constraints(robot.q, 0.3 * rng.normal(size=robot.model.nv))
    state = State(q, v)
    controller.reset(state, 0.0)
    told = controller.update(state, robot.reference(0.05, 0.0, 0.02), 0.0)
    effort = np.zeros(robot.model.nv)
    effort[controller.v_index] = controller.signals()["virtual_effort"]
    J, h = numbers.jacobian(q), 1e-5
    later, before = (robot.model.integrate(q, v, s) for s in (h, -h))
    gamma = (numbers.jacobian(later) - numbers.jacobian(before)) @ v / (2.0 * h)
    M, rest = closed.mass_matrix(q), closed.bias(q, v)
    count = len(J)
    whole = np.block([[M, J.T], [J, np.zeros((count, count))]])
    a = np.linalg.lstsq(whole, np.concatenate([effort - rest, -gamma]), rcond=1e-12)[0][: len(v)]
    np.testing.assert_allclose(controller.signals()["acceleration"], a[controller.v_index], atol=1e-6)
    assert controller.saturated == ()
    tau = np.zeros(robot.model.nv)
    tau[controller.v_index] = told.effort  # a floating base gets no force
    moved_by = robot.dynamics.forward(q, v, tau)[controller.v_index]
    np.testing.assert_allclose(moved_by, controller.signals()["acceleration"], atol=1e-8)


def with_motors(model: ada.Model, names: list[str]) -> ada.Model:
    parts = Parts.of(model)
    parts.actuated = names
    return parts.build()


def test_a_robot_with_its_own_loops_and_enough_motors_needs_no_virtual_ones() -> None:
    five_bar = ada.load("five_bar")
    controller = VirtualClosedChain(five_bar, {"joint_stiffness": [30.0], "joint_damping": [10.0]})
    q = np.asarray(start_of("five_bar"))
    controller.reset(State(q, np.zeros(five_bar.nv)), 0.0)
    command = controller.update(State(q, np.zeros(five_bar.nv)), None, 0.0)
    rest = np.zeros(five_bar.nv)
    expected = ada.Dynamics(five_bar).inverse(q, rest, rest)[controller.v_index]
    np.testing.assert_allclose(command.effort, expected, atol=1e-9)


def tie(link: str, kind: str, xyz: Array) -> dict[str, object]:
    return {"name": "tie", "type": kind, "parent": {"link": "world", "xyz": list(xyz)}, "child": {"link": link}}


@pytest.mark.fuzz
@pytest.mark.parametrize("hand", [False, True])
def test_a_robot_on_contacts_that_press_accelerates_as_the_mechanism_and_presses_as_it_is_told(hand: bool) -> None:
    stand = leaning(0.1)
    gains = {"joint_stiffness": [5.0], "joint_damping": [0.5], "contacts": "pressed"}
    controller = VirtualClosedChain(stand.model, gains, virtual=chain_over(stand, hand))
    q, carrier = stand.q, controller.mechanism.carrier
    dynamics = ada.Dynamics(carrier)
    _, v = dynamics.project_to_constraints(q, 0.1 * np.random.default_rng(4).normal(size=carrier.nv))
    controller.reset(State(q, v), 0.0)
    told = controller.update(State(q, v), JointReference(q[controller.q_index] + 0.02), 0.01)
    tau = np.zeros(carrier.nv)
    tau[controller.v_index] = told.effort
    a, wanted = dynamics.forward(q, v, tau), controller.signals()["acceleration"]
    np.testing.assert_allclose(a[controller.v_index], wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())
    wrenches, poses = dynamics.joint_wrenches(q, v, tau), dynamics.forward_kinematics(q)
    presses = [
        (loop.parent_rotation.T @ poses[loop.child][:3, :3] @ loop.child_rotation @ wrenches[name][:3])[2]
        for name, loop in carrier.loops.items()
    ]
    assert controller.signals()["pressure"] == pytest.approx(presses, abs=1e-7)
    assert min(presses) > -1e-9


def box_on(points: Array, kind: str = "spherical", wall: Array | None = None) -> Pressing:
    """A box of 2 kg around the origin on points of the ground, and perhaps one of a wall across x before it."""
    builder = ada.Builder("box").link("box", 2.0, inertia=(0.02, 0.02, 0.02))
    for i, p in enumerate(points):
        builder.loop(f"foot_{i}", kind, "world", "box", p, child_xyz=p)
    if wall is not None:
        out = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
        builder.loop("hand", "spherical", "world", "box", wall, child_xyz=wall, parent_rotation=out)
    return Pressing("law", builder.build(base="floating"), 0.3, 0.05)


UPRIGHT = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def test_three_feet_press_as_statics_says() -> None:
    corners = np.array([[0.2, 0.0, -0.3], [-0.1, 0.15, -0.3], [-0.1, -0.2, -0.3]])
    pressing = box_on(corners)
    where = np.array([0.05, 0.02])
    needed = np.array([0.0, 0.0, 20.0, where[1] * 20.0, -where[0] * 20.0, 0.0])
    assert not pressing.efforts(UPRIGHT, needed).any()
    shares = np.linalg.solve(np.vstack([corners[:, :2].T, np.ones(3)]), [*where, 1.0])
    assert pressing.pressures == pytest.approx(20.0 * shares, abs=1e-9)


@pytest.mark.parametrize(("push", "carries"), [(3.0, True), (-3.0, False)])
def test_a_hand_takes_what_pushes_it_to_the_wall_and_pulls_at_nothing(push: float, carries: bool) -> None:
    pressing = box_on(np.array([[0.0, 0.1, -0.3], [0.0, -0.1, -0.3]]), "fixed", np.array([0.3, 0.0, 0.1]))
    needed = np.array([-push, 0.0, 20.0, 0.0, -0.1 * push, 0.0])
    pressing.efforts(UPRIGHT, needed)
    feet, hand = pressing.pressures[:2], pressing.pressures[2]
    assert feet == pytest.approx(feet[::-1])
    assert abs(feet.sum() - 20.0) <= 0.3 * hand + 1e-9  # the rest hangs on the wall, by friction
    assert (hand > 1.0) == carries
    assert carries or hand == pytest.approx(0.0, abs=1e-12)


def locked(robot: ada.Model) -> ada.Model:
    """planar_4r with a fixed loop across each joint."""
    ends = (("base", "link_1", 0), ("link_1", "link_2", 1), ("link_2", "link_3", 1), ("link_3", "link_4", 1))
    locks = [
        {"name": f"lock_{i}", "type": "fixed", "parent": {"link": a, "xyz": [0, 0, z]}, "child": {"link": b}}
        for i, (a, b, z) in enumerate(ends)
    ]
    return with_loops(robot, locks)


def test_robots_loops_and_contacts_that_make_no_mechanism_are_refused(fixed: Arms, floating: Arms) -> None:
    robot, five_bar, feet = ada.load("planar_4r"), ada.load("five_bar"), np.array([[0.1, 0.0, -0.3], [-0.1, 0.0, -0.3]])
    few = with_motors(robot, ["joint_1", "joint_2", "joint_3"])
    four_bar, slider = {"loops": "loops/parallel_four_bar.yaml"}, {"loops": "loops/slider_crank.yaml"}
    pressed, no_contact = {"contacts": "pressed"}, {"field": "contacts", "value": "pressed"}
    undriven = {"joint": "right_crank, right_rod", "field": "coordinates", "value": 1}
    chain = VirtualClosedChain
    for make, facts in (
        (lambda: chain(few, four_bar), {"joint": "joint_4", "field": "coordinates", "value": 3}),
        (lambda: chain(with_motors(five_bar, ["left_crank"])), undriven),
        (lambda: Arms("floating", (0.0, 0.0, -9.81)).controller(), {"field": "weight", "value": False}),
        (lambda: chain(robot, virtual=locked(robot)), {"field": "loops"}),
        (lambda: chain(robot, virtual=fixed.bar), {"field": "virtual"}),
        (lambda: chain(fixed.model, slider, virtual=fixed.bar), {"field": "loops", "value": slider["loops"]}),
        (lambda: chain(robot, four_bar | pressed), no_contact),
        (lambda: chain(floating.model, pressed, virtual=floating.bar), no_contact),
        (lambda: box_on(feet), {"field": "loops", "value": ("foot_0", "foot_1")}),
    ):
        with refused(InputError, **facts):
            make()
