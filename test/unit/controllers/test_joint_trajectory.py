# SPDX-License-Identifier: Apache-2.0
"""Joint trajectories: the document's profile, curves of fifth order, limits that are kept exactly, goals in motion."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused

import ada_dynamics as ada
from ada_controllers import JointPath, JointReference, ReferenceRefused, State, make
from ada_controllers.joint_trajectory import JointTrajectory
from ada_controllers.motion import PROFILES, Bounds, JointMotion, Point, plan, quartic, quartic_times
from ada_controllers.waypoints import through

FREE = np.full(2, np.inf)
BOUNDS = Bounds(np.array([1.0, 2.0]), np.array([3.0, 2.5]), -FREE, FREE)


def at_rest(position: Any) -> Point:
    p = np.array(position, dtype=np.float64)
    return Point(p, 0.0 * p, 0.0 * p)


def sampled(motion: JointMotion, count: int = 2001) -> list[np.ndarray]:
    points = [motion(t) for t in np.linspace(0.0, motion.end, count)]
    return [np.array(part) for part in zip(*points, strict=True)]


def assert_continuous(motion: JointMotion, tolerance: float = 1e-9) -> None:
    for t in motion.times[1:-1]:
        for before, after in zip(motion(t - 1e-13), motion(t), strict=True):
            assert after == pytest.approx(before, abs=tolerance)
    assert motion(motion.end - 1e-13).position == pytest.approx(motion.final, abs=tolerance)
    assert motion(motion.end - 1e-13).velocity == pytest.approx(0.0, abs=tolerance)
    assert motion(motion.end - 1e-13).acceleration == pytest.approx(0.0, abs=1e3 * tolerance)


def printed(t: float, start: float, end: float, t1: float, tf: float, third: float) -> float:
    """The three parts as printed; `third` is the angle in the last one."""
    k = (end - start) / (2.0 * t1**3 * (tf - t1))
    if t <= t1:
        return start + k * t**3 * (2.0 * t1 - t)
    if t <= tf - t1:
        return end + k * t1**3 * (2.0 * (t - tf) + t1)
    return third + k * (t - tf) ** 3 * (2.0 * t1 + t - tf)


def test_the_profile_is_the_documents_with_the_final_angle_in_its_last_part() -> None:
    start, goal, t1, tf = np.array([0.2, -1.0]), np.array([1.5, -1.4]), 0.4, 1.7
    motion = quartic(at_rest(start), goal, t1, tf)
    for t in np.linspace(0.0, tf, 301):
        wanted = [printed(t, a, b, t1, tf, third=b) for a, b in zip(start, goal, strict=True)]
        assert motion(t).position == pytest.approx(wanted, abs=1e-14)
    # as printed, with the first angle there, the joint would jump by the whole way
    jump = printed(tf - t1 + 1e-12, 0.2, 1.5, t1, tf, third=0.2) - printed(tf - t1 - 1e-12, 0.2, 1.5, t1, tf, third=0.2)
    assert jump == pytest.approx(-1.3, abs=1e-9)


def test_the_end_time_is_the_longest_of_all_joints_and_all_arrive_then() -> None:
    change, t1 = np.array([2.0, 1.0]), 0.9
    assert quartic_times(change, BOUNDS, t1) == pytest.approx((t1, max(2.0 / 1.0, 1.0 / 2.0) + t1))
    motion = quartic(at_rest([0.0, 0.0]), change, *quartic_times(change, BOUNDS, t1))
    _, velocity, _ = sampled(motion)
    assert velocity[1:-1].min() > 0.0  # both move all the time
    assert velocity.max(axis=0) == pytest.approx(change / 2.0, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=2), st.sampled_from(PROFILES), st.floats(0.0, 2.0))
def test_from_rest_a_limit_is_reached_and_none_is_passed(change: list[float], profile: str, t1: float) -> None:
    goal = np.array(change)
    motion = plan(at_rest([0.0, 0.0]), goal, BOUNDS, profile, t1)
    excess = motion.peaks().excess(BOUNDS)
    assert excess <= 1.0 + 1e-9
    if np.abs(goal).max() > 1e-3 and t1 == 0.0:
        assert excess >= 1.0 - 1e-9
    assert motion.final == pytest.approx(goal)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_peaks_are_those_of_dense_samples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pieces = [(float(rng.uniform(0.1, 2.0)), list(rng.normal(size=(6, 2)))) for _ in range(3)]
    motion = JointMotion.of_pieces(pieces, np.zeros(2))
    peaks = motion.peaks()

    def sampled(order: int, sign: float) -> tuple[np.ndarray, np.ndarray]:
        """The largest sample of a derivative, or of its negative, and what may lie between samples: h² p″ / 8."""
        most, between = np.full(2, -np.inf), np.zeros(2)
        for h, c in pieces:
            x, rows = np.linspace(0.0, h, 4001), np.polynomial.polynomial.polyder(np.array(c), order)
            bend = np.abs(np.polynomial.polynomial.polyval(x, np.polynomial.polynomial.polyder(rows, 2)))
            most = np.maximum(most, (sign * np.polynomial.polynomial.polyval(x, rows)).max(axis=1))
            between = np.maximum(between, x[1] ** 2 / 8.0 * bend.max(axis=1))
        return most, 1.01 * between

    def is_peak(found: np.ndarray, most: np.ndarray, between: np.ndarray) -> bool:
        rounding = 1e-12 * (1.0 + np.abs(most))
        return bool(((found >= most - rounding) & (found <= most + between + rounding)).all())

    assert is_peak(peaks.highest, *sampled(0, 1.0))
    assert is_peak(-peaks.lowest, *sampled(0, -1.0))
    for order, found in ((1, peaks.speed), (2, peaks.acceleration)):
        (up, between), (down, _) = sampled(order, 1.0), sampled(order, -1.0)
        assert is_peak(found, np.maximum(up, down), between)


def motion_of(controller: Any, t: float, bounds: Bounds) -> JointReference:
    """The state at the end of a controller's plan; asserts that the plan from t on is continuous and within limits."""
    times = np.linspace(t, t + controller.remaining, 150)
    p, v, a = (np.array(part) for part in zip(*(controller.planned(float(s)) for s in times), strict=True))
    most = 1.0 + 1e-9
    assert (np.abs(v) <= most * bounds.speed).all() and (np.abs(a) <= most * bounds.acceleration).all()
    assert (p >= bounds.lower - 1e-9).all() and (p <= bounds.upper + 1e-9).all()
    dt = times[1] - times[0]  # the mean of two velocities is that between them to a dt² / 8 each
    assert (np.abs(np.diff(p, axis=0) - dt * (v[1:] + v[:-1]) / 2.0) <= bounds.acceleration * dt**2 / 4.0 + 1e-12).all()
    assert (np.abs(np.diff(v, axis=0)) <= most * bounds.acceleration * dt + 1e-12).all()
    assert np.abs(v[-1]).max() < 1e-9
    return JointReference(p[-1])


@pytest.mark.parametrize("profile", PROFILES)
def test_goals_in_motion_never_jump_and_never_pass_a_limit(pa10: ada.Model, profile: str) -> None:
    controller = make("joint_trajectory", pa10, {"profile": profile, "acceleration": [3.0]})
    assert isinstance(controller, JointTrajectory)
    rng, zero, t = np.random.default_rng(4), np.zeros(7), 0.0
    controller.reset(State(zero, zero), 0.0)
    for _ in range(20):
        t += float(rng.uniform(0.0, 1.5))
        before = controller.planned(t)
        goal = rng.uniform(pa10.lower, pa10.upper)
        controller.update(State(before.position, before.velocity), JointReference(goal), t)
        for old, new in zip(before, controller.planned(t), strict=True):
            assert new == pytest.approx(old, abs=1e-9)
        assert controller.remaining < 12.0
        assert motion_of(controller, t, controller.bounds).position == pytest.approx(goal)


POINTS = np.array([[0.5, 0.2], [0.9, -0.4], [0.1, -0.6], [0.0, 0.3]])


def test_points_at_times_are_joined_as_scipys_splines_of_fifth_order() -> None:
    interpolate = pytest.importorskip("scipy.interpolate")
    times = np.array([1.5, 3.3, 4.5, 6.5])
    motion = through(at_rest([0.0, 0.0]), JointPath(POINTS, times), BOUNDS)
    rest = ([(1, np.zeros(2)), (2, np.zeros(2))],) * 2
    oracle = interpolate.make_interp_spline(
        np.concatenate([[0.0], times]), np.vstack([[0.0, 0.0], POINTS]), k=5, bc_type=rest
    )
    for t in np.linspace(0.0, 6.5, 91):
        assert motion(t).position == pytest.approx(oracle(t), abs=1e-10)
        assert motion(t).acceleration == pytest.approx(oracle(t, 2), abs=1e-8)


def test_times_that_are_too_short_are_refused_with_the_factor_that_is_needed() -> None:
    times = np.array([0.3, 0.6, 0.9, 1.3])
    with refused(ReferenceRefused, field="times") as refusal:
        through(at_rest([0.0, 0.0]), JointPath(POINTS, times), BOUNDS)
    factor = refusal.value.value
    with pytest.raises(ReferenceRefused):
        through(at_rest([0.0, 0.0]), JointPath(POINTS, 0.97 * factor * times), BOUNDS)
    through(at_rest([0.0, 0.0]), JointPath(POINTS, 1.01 * factor * times), BOUNDS)


ROOM = BOUNDS._replace(lower=np.array([-1.0, -0.5]), upper=np.array([0.7, 1.2]))


def points_in_the_room(rng: np.random.Generator) -> np.ndarray:
    points = rng.uniform(ROOM.lower, ROOM.upper, (rng.integers(1, 6), 2))
    points[rng.integers(len(points))] = ROOM.upper - rng.uniform(0.0, 0.02, 2)
    return points


def test_every_path_from_rest_or_from_a_motion_keeps_the_limits() -> None:
    rng = np.random.default_rng(6)
    for _ in range(15):
        begin, goal = rng.uniform(ROOM.lower, ROOM.upper, (2, 2))
        before = plan(at_rest(begin), goal, ROOM, "quartic")
        t, points = float(rng.uniform(0.05, 0.95)) * before.end, points_in_the_room(rng)
        path = JointPath(points)
        motion = through(before(t), path, ROOM, before.after(t))
        assert motion.peaks().excess(ROOM) <= 1.0 + 1e-9
        assert_continuous(motion, 1e-8)
        motion = through(at_rest(begin), path, ROOM)
        assert motion.peaks().excess(ROOM) <= 1.0 + 1e-9
        for t, point in zip(motion.times[1:], points, strict=True):
            assert motion(t).position == pytest.approx(point, abs=1e-9)


def test_velocities_that_lead_out_of_the_range_are_refused_with_the_joint() -> None:
    points = np.array([[0.2, 0.0], [0.69, 0.0], [0.2, 0.0]])
    velocities = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.0]])
    for names, joint in ((("shoulder", "elbow"), "shoulder"), ((), "1")):
        with refused(ReferenceRefused, joint=joint, field="times"):
            through(
                at_rest([0.0, 0.0]),
                JointPath(points, np.array([1.0, 3.0, 5.0]), velocities),
                ROOM._replace(names=names),
            )
    with refused(ReferenceRefused, field="velocities", allowed=None):
        through(at_rest([0.0, 0.0]), JointPath(points, None, velocities), ROOM)


@pytest.mark.parametrize(
    ("reference", "facts"),
    [
        (JointReference(np.full(7, 0.1), np.full(7, 0.1)), {"field": "velocity", "allowed": "zero"}),
        (JointReference(np.full(7, 9.0)), {"joint": "s1", "field": "position", "value": 9.0}),
        (JointPath(np.zeros((600, 7))), {"field": "positions", "value": 600}),
        (
            JointPath(np.full((2, 7), 0.1), None, np.full((2, 7), 0.1)),
            {"field": "velocities", "allowed": "zero at the last point"},
        ),
        (JointPath(np.full((2, 7), 0.1)), {"field": "positions"}),
        (JointPath(np.full((1, 7), 0.1), np.array([0.0])), {"field": "times", "allowed": "later than now"}),
        (JointPath(np.full((1, 7), 0.1), np.array([1e-3])), {"field": "times"}),
    ],
)
def test_references_that_cannot_be_followed_are_refused_and_change_nothing(
    pa10: ada.Model, reference: Any, facts: dict[str, Any]
) -> None:
    controller = make("joint_trajectory", pa10)
    zero = np.zeros(7)
    controller.reset(State(zero, zero), 0.0)
    kept = controller.reference
    with refused(ReferenceRefused, **facts):
        controller.update(State(zero, zero), reference, 0.1)
    assert controller.reference is kept
    assert controller.update(State(zero, zero), None, 0.2).position == pytest.approx(zero)


def test_a_joint_that_begins_within_the_margin_stays_and_leaves_without_a_jump(pa10: ada.Model) -> None:
    controller = make("joint_trajectory", pa10, None, {"position_margin": 0.3})
    assert isinstance(controller, JointTrajectory)
    q, v = np.zeros(7), np.zeros(7)
    q[1] = pa10.upper[1] - 0.05
    state = State(q, v)
    controller.reset(state, 0.0)
    assert controller.update(state, None, 0.001).position == pytest.approx(q)
    other = q.copy()
    other[0] = 0.2
    controller.update(state, JointReference(other), 0.002)  # the joint itself is not asked to move
    t = 0.002 + controller.remaining
    assert controller.update(state, None, t).position == pytest.approx(other)
    controller.update(state, JointReference(np.zeros(7)), t)
    for now in np.linspace(t, t + controller.remaining, 200):
        assert controller.update(state, None, float(now)).position == pytest.approx(controller.planned(now).position)
        assert controller.saturated == ()
    with refused(ReferenceRefused, joint="s2", field="position_margin"):
        controller.update(state, JointReference(q), float(now))
