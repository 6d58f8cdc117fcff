# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics against pinocchio, closed forms of parallel robots and the PA-10, and scipy."""

import numpy as np
import pytest
from loop_robots import mechanism
from refused import refused
from scipy import optimize
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics import ik
from ada_dynamics.errors import InputError
from ada_dynamics.ik.least_squares import LeastSquares, LinearBounds, solve_level, solve_levels
from ada_dynamics.robots import mechanisms
from ada_dynamics.spatial.orientation import pose_of

TOLERANCE = 1e-8


@pytest.fixture(scope="module")
def arm():
    return ada.Dynamics(ada.load("pa10"))


@pytest.fixture(scope="module")
def hand(arm):
    return arm.model.link_names[-1]


@pytest.fixture(scope="module")
def humanoid():
    return ada.Dynamics(ada.load("khr1"))


def tasks_of(dynamics, links, q):
    first, second = links
    pose = pose_of((0.1, -0.2, 0.3), (0.4, -0.5, 0.6))
    return {
        "pose": ada.PoseTask(first, pose, point=(0.05, 0.02, -0.1)),
        "position": ada.PositionTask(first, (0.3, 0.2, 0.1), point=(0.0, 0.1, 0.0)),
        "orientation": ada.OrientationTask(second, pose[:3, :3]),
        "relative": ada.PoseTask(first, pose, point=(0.05, 0.02, -0.1), relative_to=second),
        "com": ada.ComTask((0.1, 0.0, 0.2)),
        "posture": ada.PostureTask(dynamics.model.integrate(q, np.full(dynamics.model.nv, 0.2))),
    }


@pytest.mark.parametrize("kind", ["pose", "position", "orientation", "relative", "com", "posture"])
@pytest.mark.parametrize("robot", ["arm", "humanoid"])
def test_the_slope_of_what_is_left_is_that_of_differences(kind, robot, request):
    dynamics = request.getfixturevalue(robot)
    model = dynamics.model
    q, v = model.random_state(np.random.default_rng(3))
    task = tasks_of(dynamics, (model.link_names[-1], model.link_names[3]), q)[kind]

    def half_square(h):
        left = task.residual(dynamics, model.integrate(q, v, h))
        return 0.5 * np.array([left[:3] @ left[:3], left[3:] @ left[3:]])

    h = 1e-5
    expected = (half_square(h) - half_square(-h)) / (2.0 * h)
    left, rate = task.residual(dynamics, q), task.jacobian(dynamics, q) @ v
    slope = -np.array([left[:3] @ rate[:3], left[3:] @ rate[3:]])
    assert np.abs(slope - expected).max() < 1e-7 * max(1.0, np.abs(expected).max())


def test_random_reachable_poses_of_an_arm_are_reached_as_pinocchio_and_the_closed_form_say(arm, hand):
    pin = pytest.importorskip("pinocchio")
    from pin_tree import PinTree

    theirs = PinTree(arm.model)
    rng, q = np.random.default_rng(1), np.zeros(arm.model.nq)
    starts = []
    for _ in range(100):
        goal = arm.pose(hand, arm.model.random_state(rng)[0])
        found = ada.solve_ik(arm, ada.PoseTask(hand, goal), q, starts=10)
        assert found.reached
        starts.append(found.start)
        assert (found.q >= arm.model.lower).all() and (found.q <= arm.model.upper).all()
        theirs.move(found.q)
        frame = theirs.frame(hand)
        error = pin.log6(pin.SE3(frame.R, frame.p).actInv(pin.SE3(goal))).vector
        assert np.abs(error).max() < 2.0 * TOLERANCE
    assert starts.count(0) >= 95


def test_out_of_reach_gives_the_nearest_pose_and_its_distance():
    model = ada.planar_chain(2)
    dynamics = ada.Dynamics(model)
    tip = model.link_names[-1]
    q = np.array([0.4, 0.7])
    end = _tip_of(dynamics, tip)
    length = [np.linalg.norm(end), np.linalg.norm(dynamics.pose(tip, np.zeros(2))[:3, 3])]
    goal = dynamics.pose(tip, np.zeros(2))[:3, :3] @ end * 3.0 / length[0] + dynamics.pose(tip, np.zeros(2))[:3, 3]
    task = ada.PositionTask(tip, goal, point=end)
    found = ada.solve_ik(dynamics, task, q)
    assert not found.reached
    assert found.reason == "nearest configuration"
    assert found.distance[0] == pytest.approx(3.0 - length[0], abs=1e-9)
    name = model.joint_names[1]
    held = ada.solve_ik(dynamics, task, q, limits={name: (0.5, 1.0)})
    assert held.at_limit == (name,)
    assert held.q[1] == pytest.approx(0.5, abs=1e-12)
    a, b = length[1], length[0]
    assert held.distance[0] == pytest.approx(a + 3.0 - np.sqrt(a * a + b * b + 2.0 * a * b * np.cos(0.5)), abs=1e-9)


def _tip_of(dynamics, tip):
    """As far beyond the last link's origin as that is from the first one's."""
    pose = dynamics.pose(tip, np.zeros(dynamics.model.nq))
    return pose[:3, :3].T @ pose[:3, 3]


def test_weights_share_what_cannot_be_had_together(arm, hand):
    a, b = np.array([0.4, 0.1, 0.5]), np.array([0.5, 0.0, 0.6])
    tasks = [ada.PositionTask(hand, a, weight=2.0), ada.PositionTask(hand, b)]
    found = ada.solve_ik(arm, tasks, np.full(7, 0.3))
    assert not found.reached
    assert np.abs(arm.pose(hand, found.q)[:3, 3] - (4.0 * a + b) / 5.0).max() < 1e-7
    free = ada.solve_ik(arm, [tasks[0], ada.PositionTask(hand, b, level=1)], np.full(7, 0.3))
    assert free.reached
    assert free.satisfied == (True, False)
    assert free.distance[1] == pytest.approx(np.linalg.norm(a - b), abs=1e-7)


def test_a_posture_below_a_place_is_the_nearest_that_the_place_allows(arm, hand):
    wish, place = np.array([0.1, 0.6, -0.2, 0.9, 0.1, 0.3, 0.0]), np.array([0.45, 0.2, 0.55])
    tasks = [ada.PositionTask(hand, place), ada.PostureTask(wish, level=1)]
    found = ada.solve_ik(arm, tasks, wish)
    condition = {
        "type": "eq",
        "fun": lambda q: arm.pose(hand, q)[:3, 3] - place,
        "jac": lambda q: arm.jacobian(hand, q)[:3],
    }
    options = {"maxiter": 300, "ftol": 1e-15}
    theirs = optimize.minimize(
        lambda q: (q - wish) @ (q - wish),
        found.q + 0.05,
        jac=lambda q: 2.0 * (q - wish),
        constraints=condition,
        method="SLSQP",
        options=options,
    )
    assert found.reached
    assert np.abs(found.q - theirs.x).max() < 1e-5


def test_too_few_steps_are_told(arm, hand):
    found = ada.solve_ik(arm, ada.PoseTask(hand, arm.pose(hand, np.full(7, 0.5))), max_steps=1)
    assert not found.reached
    assert found.reason == "step limit"
    assert found.distance[0] > 0.0


def test_a_humanoid_keeps_its_feet_and_shifts_its_centre_of_mass(humanoid):
    from ada_dynamics.robots.catalogue import start_of

    q = start_of("khr1")
    feet = [name for name in humanoid.model.link_names if "foot" in name][:2]
    before = [humanoid.pose(foot, q) for foot in feet]
    goal = humanoid.com(q) + np.array([0.005, 0.01, -0.01])
    tasks = [*(ada.PoseTask(foot, pose) for foot, pose in zip(feet, before, strict=True)), ada.ComTask(goal)]
    found = ada.solve_ik(humanoid, tasks, q)
    assert found.reached
    assert np.abs(humanoid.com(found.q) - goal).max() < TOLERANCE
    for foot, pose in zip(feet, before, strict=True):
        assert np.abs(humanoid.pose(foot, found.q) - pose).max() < 2.0 * TOLERANCE


def test_a_relative_pose_leaves_the_base_where_it_is(humanoid):
    q = humanoid.model.random_state(np.random.default_rng(4))[0]
    links = humanoid.model.link_names
    reachable = humanoid.model.random_state(np.random.default_rng(5))[0]
    goal = np.linalg.inv(humanoid.pose(links[3], reachable)) @ humanoid.pose(links[-1], reachable)
    found = ada.solve_ik(humanoid, ada.PoseTask(links[-1], goal, relative_to=links[3]), q, starts=5)
    assert found.reached
    here = np.linalg.inv(humanoid.pose(links[3], found.q)) @ humanoid.pose(links[-1], found.q)
    assert np.abs(here - goal).max() < 2.0 * TOLERANCE


@pytest.mark.parametrize("seed", [0, nightly(1), nightly(2)])
def test_legs_of_a_stewart_platform_are_as_long_as_the_closed_form_says(seed):
    rng = np.random.default_rng(seed)
    model, q = mechanisms.stewart()
    place, turn = np.array([0.0, 0.0, 0.7]) + rng.uniform(-0.1, 0.1, 3), rng.uniform(-0.3, 0.3, 3)
    found = ada.solve_ik(model, ada.PoseTask("platform", pose_of(place, turn)), q)
    closed = mechanisms.stewart(position=place, rpy=turn).q
    assert found.reached
    assert found.constraint_violation < 1e-12
    for name in model.actuated:
        assert found.q[model.q_index(name)][0] == pytest.approx(closed[model.q_index(name)][0], abs=1e-7)


def test_a_delta_robot_that_starts_elsewhere_has_the_cranks_of_the_closed_form():
    model, q = mechanisms.delta()
    dynamics = ada.Dynamics(model, q0=q)
    for place in ((0.1, 0.0, -0.55), (-0.05, 0.1, -0.6), (0.0, -0.12, -0.5)):
        found = ada.solve_ik(dynamics, ada.PositionTask("platform", place), q)
        assert found.reached
        assert found.constraint_violation < 1e-12
        assert np.abs(model.difference(found.q, mechanisms.delta(place).q)).max() < 1e-7
        q = found.q  # a warm start


@pytest.mark.parametrize(
    "name",
    [
        *("bennett", "four_bar", "slider_crank"),
        nightly("hexa"),
    ],
)
def test_a_mechanism_reaches_where_it_has_been_with_its_loops_closed(name):
    model, q = mechanism(name)
    dynamics, rng, rest = ada.Dynamics(model, q0=q), np.random.default_rng(0), np.zeros(model.nv)
    there = q
    for _ in range(4):
        along = dynamics.constraints.tangent_map(there, "independent")
        there, _ = dynamics.project_to_constraints(
            model.integrate(there, along @ rng.normal(size=along.shape[1]) * 0.08), rest
        )
    tasks = [ada.PoseTask(link, dynamics.pose(link, there)) for link in model.link_names[-2:]]
    found = ada.solve_ik(dynamics, tasks, q, limits=False)
    assert found.reached
    assert found.constraint_violation < 1e-12
    for task in tasks:
        assert np.abs(dynamics.pose(task.link, found.q) - task.goal).max() < 2.0 * TOLERANCE


def test_limits_hold_legs_that_follow_along_the_loops():
    model, q = mechanisms.stewart(position=(0, 0, 0.7), rpy=(0, 0, 0))
    longest = mechanisms.stewart(position=(0, 0, 0.8), rpy=(0, 0, 0)).q[model.q_index("leg_1_slide")][0]
    limits = dict.fromkeys(model.actuated, (0.0, longest))
    tasks = [ada.OrientationTask("platform", np.eye(3)), ada.PositionTask("platform", (0, 0, 0.9), level=1)]
    found = ada.solve_ik(model, tasks, q, limits=limits)
    assert found.satisfied == (True, False)
    assert found.distance[1] == pytest.approx(0.1, abs=1e-8)
    assert set(found.at_limit) == set(model.actuated)
    assert found.limit_violation < 1e-9
    assert found.constraint_violation < 1e-12


def test_limits_that_no_pose_of_a_linkage_keeps_are_told():
    model, q = mechanisms.four_bar()
    first, second = model.joint_names[:2]
    limits = {first: (q[0] - 0.01, q[0] + 0.01), second: (q[1] + 0.5, q[1] + 0.6)}
    found = ada.solve_ik(model, ada.PostureTask(q), q, limits=limits)
    assert not found.reached
    assert found.limit_violation > 0.01
    assert found.constraint_violation < 1e-12
    step = ik.velocity(model, ada.PostureTask(q), q, 0.01, limits=limits)
    assert not step.within_limits
    assert step.v[1] >= -1e-12, "further beyond its limit"


def test_a_row_without_weight_is_free_and_does_not_count(arm, hand):
    found = ada.solve_ik(arm, ada.PositionTask(hand, (0.4, 0.1, 5.0), weight=(1.0, 1.0, 0.0)), np.full(7, 0.3))
    assert found.reached
    assert found.distance[0] < TOLERANCE
    assert np.abs(arm.pose(hand, found.q)[:2, 3] - (0.4, 0.1)).max() < TOLERANCE


@pytest.mark.parametrize(
    ("task", "facts"),
    [
        (lambda hand: ada.PositionTask("hnad", (0, 0, 1)), {"link": "hnad"}),
        (lambda hand: ada.PositionTask(hand, (0, 0)), {"field": "goal", "value": (0, 0)}),
        (lambda hand: ada.PositionTask(hand, (0, 0, np.nan)), {"field": "goal"}),
        (lambda hand: ada.PoseTask(hand, np.diag([1.0, 1.0, 2.0, 1.0])), {"link": "flange", "field": "goal"}),
        (lambda hand: ada.PositionTask(hand, (0, 0, 1), weight=-1.0), {"field": "weight", "value": -1.0}),
        (lambda hand: ada.PositionTask(hand, (0, 0, 1), weight="much"), {"field": "weight", "value": "much"}),
        (lambda hand: ada.PositionTask(hand, (0, 0, 1), weight=(1.0, 2.0)), {"field": "weight"}),
        (lambda hand: ada.PositionTask(hand, (0, 0, 1), level=0.5), {"field": "level", "value": 0.5}),
        (lambda hand: ada.PostureTask(np.zeros(7), joints=["s9"]), {"joint": "s9"}),
        (lambda hand: ada.PostureTask(np.zeros(6)), {"field": "goal"}),
        (lambda hand: (), {"field": "tasks", "value": ()}),
        (lambda hand: "up", {"field": "tasks", "value": "up"}),
    ],
)
def test_a_task_that_cannot_be_meant_is_refused(arm, hand, task, facts):
    with refused(InputError, **facts):
        ada.solve_ik(arm, task(hand))


def test_arguments_that_cannot_be_meant_are_refused(arm, hand):
    task = ada.PositionTask(hand, (0.4, 0.0, 0.5))
    for pair in ((1.0, -1.0), (0.0, np.nan), 1.0, ("a", "b")):
        with refused(InputError, joint="s1", field="limits"):
            ada.solve_ik(arm, task, limits={"s1": pair})
    with refused(InputError, joint="s9"):
        ada.solve_ik(arm, task, limits={"s9": (-1.0, 1.0)})
    with refused(InputError, field="limits"):
        ada.solve_ik(arm, task, limits=[-1, 1])
    with refused(InputError, joint="root_joint", field="limits"):
        ada.solve_ik(*_floating(), limits={"root_joint": (-1.0, 1.0)})
    with refused(InputError, field="model", value="pa10"):
        ada.solve_ik("pa10", task)
    for name, value in (
        ("max_steps", 1.5),
        ("starts", "two"),
        ("starts", 0),
        ("tolerance", "fine"),
        ("tolerance", 0.0),
    ):
        with refused(InputError, field=name, value=value):
            ada.solve_ik(arm, task, **{name: value})
    for tasks in (None, [], [task, "reach"]):
        with refused(InputError, field="tasks"):
            ada.solve_ik(arm, tasks)


def _floating():
    model = ada.load("khr1")
    return model, ada.ComTask((0.0, 0.0, 0.3))


def test_a_start_beyond_the_limits_is_brought_within(arm, hand):
    q = np.full(7, 0.3)
    q[3] = arm.model.upper[3] + 0.4
    goal = arm.pose(hand, np.full(7, 0.5))
    found = ada.solve_ik(arm, ada.PoseTask(hand, goal), q)
    assert found.reached
    assert found.limit_violation == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_a_box_gives_what_scipy_gives(seed):
    rng = np.random.default_rng(seed)
    A, b, half = rng.normal(size=(6, 9)), 3.0 * rng.normal(size=6), rng.uniform(0.05, 0.5, 9)
    x = solve_level(LeastSquares(A, b, 1e-4), LinearBounds(np.eye(9), -half, half))
    stacked = np.vstack([A, 1e-2 * np.eye(9)]), np.concatenate([b, np.zeros(9)])
    theirs = optimize.lsq_linear(*stacked, (-half, half), tol=1e-14).x
    assert np.abs(np.abs(x) - half).min() < 1e-12, "no limit is met: the test shows nothing"
    assert np.abs(x - theirs).max() < 1e-5  # theirs comes to its bounds from inside
    assert (np.abs(x) <= half + 1e-13).all()
    assert np.linalg.norm(stacked[0] @ x - stacked[1]) <= np.linalg.norm(stacked[0] @ theirs - stacked[1]) + 1e-11


@pytest.mark.parametrize("seed", range(20))
def test_limits_in_any_direction_hold_and_multipliers_push_inwards(seed):
    rng = np.random.default_rng(seed)
    A, b, C = rng.normal(size=(4, 6)), 4.0 * rng.normal(size=4), rng.normal(size=(12, 6))
    middle = C @ rng.normal(size=6)
    limits = LinearBounds(C, middle - 0.3, middle + 0.3)
    x = solve_level(LeastSquares(A, b, 1e-3), limits)
    at, slope = C @ x, A.T @ (A @ x - b) + 1e-3 * x
    assert (at > limits.lower - 1e-10).all() and (at < limits.upper + 1e-10).all()
    sides = np.concatenate([C[at < limits.lower + 1e-9], -C[at > limits.upper - 1e-9]])
    assert len(sides), "no limit is met: the test shows nothing"
    assert optimize.nnls(sides.T, slope)[1] < 1e-8


def test_limits_that_exclude_each_other_are_told():
    C = np.array([[1.0, 0.0], [1.0, 0.0]])
    limits = LinearBounds(C, np.array([1.0, -np.inf]), np.array([np.inf, 0.5]))
    assert solve_level(LeastSquares(np.eye(2), np.zeros(2), 1e-6), limits) is None
    assert solve_levels([LeastSquares(np.eye(2), np.zeros(2), 1e-6)], limits) is None


def test_a_lower_level_takes_only_what_a_higher_one_leaves():
    first = LeastSquares(np.array([[1.0, 1.0, 0.0]]), np.array([1.0]), 1e-12)
    second = LeastSquares(np.eye(3), np.array([3.0, 0.0, 5.0]), 1e-12)
    free = LinearBounds(np.eye(3), np.full(3, -np.inf), np.full(3, np.inf))
    # On x + y = 1 the point nearest to (3, 0) is (2, -1).
    assert np.abs(solve_levels([first, second], free) - (2.0, -1.0, 5.0)).max() < 1e-9
    held = LinearBounds(np.eye(3), np.full(3, -0.5), np.array([9.0, 9.0, 4.0]))
    assert np.abs(solve_levels([first, second], held) - (1.5, -0.5, 4.0)).max() < 1e-9
