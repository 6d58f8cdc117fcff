# SPDX-License-Identifier: Apache-2.0
"""Limits of the point that a robot carries: its speed, the planes that it stays behind; closed forms and pinocchio."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pa10_stream import SPEED, Stream, T
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics import resources
from ada_robot.contract import Mode
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.tool_rules import LinkPoint, ToolMonitor, ToolRules, ToolState

L1, L2 = 0.5, 0.3  # [m]


def two_links(q):
    """The tip of a planar arm of two links, in closed form."""
    s, c, s12, c12 = np.sin(q[0]), np.cos(q[0]), np.sin(q[0] + q[1]), np.cos(q[0] + q[1])
    point = np.array([L1 * c + L2 * c12, L1 * s + L2 * s12, 0.0])
    return ToolState(point, np.array([[-point[1], -L2 * s12], [point[0], L2 * c12], [0.0, 0.0]]))


def rules(**settings) -> ToolRules:
    return ToolRules(two_links, SafetySettings(**settings))


def tip(state: ToolState, velocity) -> float:
    return float(np.linalg.norm(state.jacobian @ velocity))


def test_a_motion_is_slowed_along_its_own_path_to_the_greatest_speed_of_the_tool() -> None:
    q, wanted = np.array([0.3, 0.8]), np.array([1.5, -0.7])
    slowed = rules(tool_speed=0.25).slowed(q, wanted)
    assert 0.9 * 0.25 < tip(two_links(q), slowed) <= 0.25
    assert slowed[0] * wanted[1] - slowed[1] * wanted[0] == pytest.approx(
        0.0, abs=1e-15
    )  # the same direction of all joints
    assert slowed @ wanted > 0.0


def test_a_slow_motion_stays_as_it_is_bit_for_bit_and_0_lifts_the_limit() -> None:
    slow, fast = np.array([0.1, 0.05]), np.array([2.0, 0.0])
    assert rules(tool_speed=0.25).slowed(np.array([0.3, 0.8]), slow) is slow
    free = rules(tool_speed=0.0)
    assert free.tool is None and free.slowed(np.zeros(2), fast) is fast
    # 250 mm/s hold where nothing else is set, and nothing moves where the pose is not known
    assert tip(two_links(np.zeros(2)), rules().slowed(np.zeros(2), fast)) == pytest.approx(0.25, rel=0.05)
    assert not rules().slowed(np.array([np.nan, 0.0]), fast).any()


WALL = (2.0, 0.0, 0.0, 1.2)  # x <= 0.6, with a normal of length 2


def test_a_tool_told_to_go_through_a_plane_comes_nearer_for_ever_and_never_passes() -> None:
    found, q, period = rules(tool_planes=WALL, tool_speed=0.0), np.array([0.9, 0.9]), 0.002
    distances = []
    for _ in range(2000):
        q = q + found.slowed(q, np.array([-1.0, -1.0])) * period  # straightens: the tip goes through x = 0.6
        distances.append(0.6 - two_links(q).point[0])
    assert min(distances) >= 0.0
    assert distances[-1] < 1e-3
    assert np.all(np.diff(distances) <= 0.0)


def test_beyond_a_plane_the_way_back_alone_is_open() -> None:
    found, q = rules(tool_planes=WALL), np.array([0.1, 0.1])
    assert two_links(q).point[0] > 0.6
    outwards = -two_links(q).jacobian[0] @ np.ones(2) < 0.0
    wanted = np.ones(2) * (1.0 if outwards else -1.0) * 0.01
    assert two_links(q).jacobian[0] @ wanted > 0.0
    assert not found.slowed(q, wanted).any()
    assert found.slowed(q, -wanted) == pytest.approx(-wanted)


# x <= 0.6 and y >= -0.2, with normals of length 2 and 1
WALLS = ((2.0, 0.0, 0.0, 1.2), (0.0, -1.0, 0.0, 0.2))
KEPT, NEAR = 0.97 * 0.25, 0.3  # [m/s], [s]: what is used of the speed; a plane is this far off at least
pairs = st.tuples(*[st.integers(-200, 200)] * 2).map(lambda pair: np.array(pair) / 100)
slow_pairs = st.tuples(*[st.integers(-20, 20)] * 2).map(lambda pair: np.array(pair) / 100)


def keeps(q, velocity, slack: float) -> bool:
    """Whether a motion keeps speed and planes, by the formulas of the page."""
    state = two_links(q)
    moves = state.jacobian @ velocity
    room = (max(0.6 - state.point[0], 0.0), max(state.point[1] + 0.2, 0.0))
    is_slow = float(np.linalg.norm(moves)) <= KEPT + slack
    return is_slow and NEAR * moves[0] <= room[0] + slack and -NEAR * moves[1] <= room[1] + slack


@given(pairs, slow_pairs | pairs, pairs)
def test_of_all_motions_between_the_wanted_one_and_rest_the_nearest_that_keeps_the_limits_is_taken(
    q, slowest, wanted
) -> None:
    found = rules(tool_planes=WALLS[0] + WALLS[1]).within(q, slowest, wanted)
    if keeps(q, wanted, -1e-9):
        np.testing.assert_array_equal(found, wanted)
    elif keeps(q, slowest, -1e-9) and not keeps(q, wanted, 1e-9):
        more = wanted - slowest
        share = float((found - slowest) @ more / (more @ more))
        np.testing.assert_allclose(found, slowest + share * more, atol=1e-12)
        assert 0.0 <= share < 1.0
        assert keeps(q, found, 1e-9)
        assert not keeps(q, slowest + (share + 1e-6) * more, 0.0)
    elif not keeps(q, slowest, 1e-9) and not keeps(q, wanted, 1e-9):
        assert not keeps(q, found, -1e-9)  # nothing on the way there does, as far as each limit by itself says


def along(place):
    return ToolState(np.array([place[0], 0.0, 0.0]), np.array([[1.0], [0.0], [0.0]]))


def first_trouble(watch: ToolMonitor, speed: float, seconds: float = 0.5, begin: float = 0.0, since: float = 0.0):
    """When, after how long, and what a watch says of a point that goes along the x axis at a speed, told each 2 ms."""
    for i in range(round(seconds / 0.002) + 1):
        text = watch.broken(since + 0.002 * i, np.array([begin + speed * 0.002 * i]))
        if text:
            return 0.002 * i, text
    return math.inf, ""


@pytest.mark.parametrize("speed", [0.31, -0.31, 0.315, -0.315])
def test_a_point_may_be_a_quarter_faster_than_its_limit_and_is_judged_after_a_twentieth_of_a_second(speed) -> None:
    after, text = first_trouble(ToolMonitor(ToolRules(along, SafetySettings(tool_speed=0.25))), speed)
    if abs(speed) > 0.3125:
        assert after == pytest.approx(0.05, abs=0.0021) and "at 0.315 m/s; the maximum is 0.25 m/s" in text
    else:
        assert after == math.inf


@pytest.mark.parametrize(
    ("begin", "speed", "is_told"),
    [
        (0.62, 0.022, True),  # 20 mm beyond, and 1.1 mm farther each 50 ms
        (0.62, 0.019, False),  # that is no motion
        (0.617, 0.022, False),  # 18.1 mm beyond once 50 ms have passed; and after that
        (0.65, -0.1, False),
    ],
)
def test_a_point_beyond_a_plane_by_its_margin_is_told_where_it_moves_on(begin, speed, is_told) -> None:
    watch = ToolMonitor(ToolRules(along, SafetySettings(tool_planes=WALL)))
    after, text = first_trouble(watch, speed, 0.06, begin)
    assert ("beyond plane 1" in text) == is_told == math.isfinite(after)


def test_a_limit_that_is_lowered_counts_once_there_was_time_to_slow_down() -> None:
    found = ToolRules(along, SafetySettings(tool_speed=0.25))
    watch = ToolMonitor(found, ramp=0.1)
    assert first_trouble(watch, 0.2) == (math.inf, "")
    found.lower(0.1)
    after, text = first_trouble(watch, 0.2, begin=0.1004, since=0.502)
    assert after == pytest.approx(0.1 + 0.05, abs=0.0041) and "the maximum is 0.1 m/s" in text
    assert first_trouble(watch, 0.12, begin=0.3, since=2.0) == (math.inf, "")


@pytest.mark.parametrize("pause", [0.06, -0.01])
def test_after_a_pause_or_a_clock_that_went_back_a_speed_is_made_of_new_points_alone(pause) -> None:
    watch = ToolMonitor(ToolRules(along, SafetySettings(tool_speed=0.25)))
    assert first_trouble(watch, 0.0, 0.1) == (math.inf, "")
    # somewhere else: no way led there that anybody saw
    assert first_trouble(watch, 0.0, 0.1, begin=5.0, since=0.1 + pause) == (math.inf, "")


def test_an_answer_that_comes_late_is_no_speed() -> None:
    watch = ToolMonitor(rules(tool_speed=0.25))
    for i in range(200):
        late = 0.0015 if i % 10 == 9 else 0.0  # the next one is in time: 0.5 ms for 2 ms of way
        assert watch.broken(0.002 * i + late, np.array([0.3 * 0.002 * i, 0.0])) == ""


def test_point_and_jacobian_of_the_arm_agree_with_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    ours = ada.load("pa10")
    model = pin.buildModelFromUrdf(str(resources.find("urdf", "pa10.urdf")))
    data, frame = model.createData(), model.getFrameId("flange")
    offset = np.array([0.05, -0.02, 0.2])
    point = LinkPoint(ours, "flange", offset, range(7))
    random = np.random.default_rng(1)
    for _ in range(20):
        q, v = random.uniform(-1.5, 1.5, 7), random.uniform(-1.0, 1.0, 7)
        pin.forwardKinematics(model, data, q, v)
        pin.updateFramePlacements(model, data)
        place = data.oMf[frame]
        moves = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        arm = place.rotation @ offset
        state = point(q)
        assert state.point == pytest.approx(place.translation + arm, abs=1e-12)
        assert state.jacobian @ v == pytest.approx(moves.linear + np.cross(moves.angular, arm), abs=1e-12)


READY = (0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0)
BOUND = 0.25  # [m/s]


class Flange:
    """Where the flange is, judged by pinocchio."""

    def __init__(self) -> None:
        self.pin = pytest.importorskip("pinocchio")
        self.model = self.pin.buildModelFromUrdf(str(resources.find("urdf", "pa10.urdf")))
        self.data, self.frame = self.model.createData(), self.model.getFrameId("flange")

    def __call__(self, q) -> np.ndarray:
        self.pin.forwardKinematics(self.model, self.data, q)
        self.pin.updateFramePlacements(self.model, self.data)
        return self.data.oMf[self.frame].translation.copy()


def driven(stream: Stream, cycles: int, mode: Mode, values) -> tuple[np.ndarray, np.ndarray]:
    """Places of the arm's flange, and its speeds: how far these are apart."""
    flange, places = Flange(), []
    for i in range(cycles):
        stream.step(mode, values(i))
        places.append(flange(stream.arm.arm.q))
    assert stream.is_active, stream.cycle.reason
    return np.array(places), np.linalg.norm(np.diff(places, axis=0), axis=1) / T


@pytest.mark.parametrize("seed", [0, nightly(1)])
def test_no_command_of_speeds_makes_the_flange_faster_than_the_limit(seed) -> None:
    random = np.random.default_rng(seed)
    wanted = [SPEED * random.uniform(-1.0, 1.0, 7) for _ in range(8)]
    stream = Stream(SafetySettings(), start=READY).activate()
    _, speeds = driven(stream, 800, Mode.VELOCITY, lambda i: wanted[i // 100])
    # joints that reverse at once brake at their own rates, and bend the path for some cycles
    assert speeds.max() <= BOUND * 1.01
    assert speeds.max() > 0.8 * BOUND  # it is no slower than it must be


def test_a_position_far_away_is_approached_at_the_limit_of_the_flange() -> None:
    stream = Stream(SafetySettings(max_step=3.0), start=READY).activate()
    goal = np.array(READY) + np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    _, speeds = driven(stream, 900, Mode.POSITION, lambda i: goal)
    assert speeds.max() <= BOUND * 1.001
    assert stream.arm.arm.q == pytest.approx(goal, abs=1e-3)


def test_a_plane_is_never_passed_and_motion_along_it_goes_on() -> None:
    begin = Flange()(np.array(READY))
    wall = float(begin[0]) + 0.02
    stream = Stream(SafetySettings(tool_planes=(1.0, 0.0, 0.0, wall)), start=READY).activate()
    places, _ = driven(stream, 800, Mode.VELOCITY, lambda i: np.array([0.0, 0.0, 0.0, -0.3, 0.0, 0.0, 0.0]))
    assert places[:, 0].max() <= wall + 1e-4
    assert places[-1, 0] > wall - 2e-3
    back, _ = driven(stream, 300, Mode.VELOCITY, lambda i: np.array([0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0]))
    assert back[-1, 0] < wall - 0.02


def test_a_flange_that_efforts_make_too_fast_is_stopped() -> None:
    stream = Stream(SafetySettings(), start=READY).activate()
    dynamics, push = ada.Dynamics(ada.load("pa10")), np.array([0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    for _ in range(1000):
        stream.step(Mode.EFFORT, dynamics.gravity(stream.arm.arm.q) + push)
        if not stream.is_active:
            break
    assert "the tool moves at" in stream.cycle.latched


def test_the_offset_of_a_tool_counts() -> None:
    far = SafetySettings(tool_offset=(0.0, 0.0, 1.0))
    speeds = {}
    for name, safety in {"flange": SafetySettings(), "far": far}.items():
        stream = Stream(safety, start=READY).activate()
        driven(stream, 300, Mode.VELOCITY, lambda i: np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.8, 0.0]))
        speeds[name] = stream.told[-1].speed[5]
    assert speeds["flange"] == pytest.approx(0.8, abs=1e-3)
    assert speeds["far"] < 0.25
