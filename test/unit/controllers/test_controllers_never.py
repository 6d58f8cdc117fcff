# SPDX-License-Identifier: Apache-2.0
"""Whatever comes in, no controller ever gives a command that is not finite or is beyond a limit, and what it refuses
leaves it as it was: the same as a twin that never saw it."""

import math
import warnings
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_controllers import Command, JointPath, JointReference, PoseReference, State, make
from ada_dynamics.errors import AdaError

Array = NDArray[np.float64]

SHAPING = {"effort_scale": 0.5, "velocity_scale": 0.5, "effort_rate": 300.0, "acceleration": 5.0}
ROUNDING = 1e-9  # relative, of sums with the last command

FOUR_BAR = {"loops": "loops/parallel_four_bar.yaml", "joint_stiffness": [5.0], "joint_damping": [5.0]}
ARM_POSE = (0.2, 0.5, -0.3, 1.0, 0.2, 0.6, 0.1)


class Case(NamedTuple):
    """A controller on a robot that it is for."""

    controller: str
    robot: str
    settings: Mapping[str, Any] = MappingProxyType({})
    pose: tuple[float, ...] | None = None  # where it starts; closed and neutral by default
    feels: bool = False  # whether every state has a wrench

    @property
    def label(self) -> str:
        return "-".join([self.controller, self.robot, *map(str, self.settings.values())])


CASES = (
    Case("balance", "hoap2_standing"),
    Case("compliance", "pa10", pose=ARM_POSE, feels=True),
    Case("computed_torque", "pa10", pose=ARM_POSE),
    Case("gravity_compensation", "pa10", pose=ARM_POSE),
    Case("gravity_compensation", "four_bar"),
    Case("impedance", "pa10", pose=ARM_POSE),
    Case("impedance", "pa10", {"space": "link"}, ARM_POSE),
    Case("impedance", "pa10", {"space": "link", "shape_inertia": True}, ARM_POSE),
    Case("joint_trajectory", "pa10", pose=ARM_POSE),
    Case("pid", "pa10", pose=ARM_POSE),
    Case("pid", "hoap2_10dof", {"speed_gain": [1.0]}),
    Case("pose_servo", "pa10", pose=ARM_POSE),
    Case("pose_servo", "pa10", {"null_space": "posture", "posture": ARM_POSE}, ARM_POSE),
    Case("reaction_null_space", "space_robot_a"),
    Case("virtual_closed_chain", "planar_4r", FOUR_BAR, (math.pi / 3, math.pi / 6, 5 * math.pi / 6, -math.pi / 3)),
)
POSITIONED = ("compliance", "joint_trajectory", "pose_servo")  # commands positions or velocities


@lru_cache(maxsize=32)
def twins(label: str) -> tuple[Any, Any, State]:
    """Two of the same kind, and the state that both begin in."""
    case = next(case for case in CASES if case.label == label)
    model = ada.load(case.robot)
    both = [make(case.controller, model, case.settings, SHAPING) for _ in range(2)]
    q = model.neutral() if case.pose is None else np.array(case.pose)
    if model.loop_names:
        q = np.asarray(ada.close_loops(model, q))
    return both[0], both[1], State(q, np.zeros(model.nv), np.zeros(6) if case.feels else None)


HUGE = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e9, -1e7, 1e4, 5e-324]
WILD = st.one_of(st.sampled_from(HUGE), st.floats(-1e3, 1e3), st.floats())
STEPS = st.one_of(
    st.sampled_from([0.001, 0.001, 0.001, 0.0, 1e-12, 0.5, 1e7, -0.001, -1e9, math.nan, math.inf]), st.floats(0.0, 0.1)
)
SHAPES = st.sampled_from(
    ["right", "right", "right", "right", "right", "right", "short", "row", "whole", "list", "none"]
)


@st.composite
def vectors(draw: Any, near: Array, reach: float = 0.1) -> Any:
    """Most often a vector close to one that is good; sometimes with a wild number; sometimes no vector at all."""
    seed = draw(st.integers(0, 2**16))
    values = near + np.random.default_rng(seed).uniform(-reach, reach, near.shape)
    if near.size and draw(st.integers(0, 5)) == 0:
        values.flat[draw(st.integers(0, near.size - 1))] = draw(WILD)
    shape = draw(SHAPES)
    if shape == "short":
        return values[:-1]
    if shape == "row":
        return values[None]
    if shape == "whole":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return values.astype(np.int64)
    return {"right": values, "list": values.tolist(), "none": None}[shape]


@st.composite
def states(draw: Any, start: State, model: ada.Model) -> State:
    """The pose is turned as a velocity would, so that quaternions stay good unless they shall not."""
    step = draw(vectors(np.zeros(model.nv)))
    v = draw(vectors(np.zeros(model.nv), 0.5))
    q: Any = step
    if isinstance(step, np.ndarray) and step.shape == (model.nv,) and step.dtype == np.float64:
        small = np.where(np.abs(step) < 1.0, step, 0.0)
        q = model.integrate(start.q, small)
        if not np.isfinite(step).all() or np.abs(step).max() > 1.0:
            q[draw(st.integers(0, model.nq - 1))] = step[np.argmax(np.where(np.isfinite(step), np.abs(step), np.inf))]
    wrench = None if start.wrench is None and draw(st.booleans()) else draw(vectors(np.zeros(6), 5.0))
    return State(q, v, wrench)


@st.composite
def references(draw: Any, controller: Any, start: State) -> Any:
    kind = draw(st.sampled_from(["same", "none", "joints", "joints", "path", "pose", "pose", "wrong"]))
    joints = start.q[controller.q_index]
    zero = np.zeros(len(joints))
    if kind == "joints":
        parts = [draw(st.one_of(st.none(), vectors(zero, 0.2))) for _ in range(2)]
        return JointReference(draw(vectors(joints, 0.3)), *parts)
    if kind == "path":
        count = draw(st.integers(0, 3))
        points = draw(vectors(np.tile(joints, (count, 1)), 0.2))
        times = draw(st.one_of(st.none(), vectors(np.arange(1.0, count + 1.0))))
        return JointPath(points, times, draw(st.one_of(st.none(), vectors(np.zeros((count, len(joints)))))))
    if kind == "pose":
        present = controller.reference
        pose = present.pose.copy() if isinstance(present, PoseReference) else np.eye(4)
        pose[:3, 3] += draw(st.lists(st.floats(-0.1, 0.1), min_size=3, max_size=3))
        if draw(st.integers(0, 3)) == 0:
            pose = draw(vectors(pose))
        return PoseReference(pose, draw(st.one_of(st.none(), vectors(np.zeros(6)))))
    others = {"same": controller.reference, "none": None}
    return others[kind] if kind in others else draw(st.sampled_from(["home", 3.0, State(joints, zero)]))


def outcome(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except AdaError as problem:
        assert str(problem)
        return problem


def is_within(controller: Any, command: Command, before: Command, passed: float) -> bool:
    """Every number finite and within its limit, and near enough to the one before."""
    effort = np.array([0.5 * limit.effort for limit in controller.limits])
    speed = np.array([0.5 * limit.velocity for limit in controller.limits])
    lower = np.array([limit.lower for limit in controller.limits])
    upper = np.array([limit.upper for limit in controller.limits])
    bounds = {"effort": (-effort, effort), "position": (lower, upper), "velocity": (-speed, speed)}
    for mode, values in command.given().items():
        part = mode.value
        low, high = bounds[part]
        if not (np.isfinite(values).all() and (values >= low).all() and (values <= high).all()):
            return False
        last = getattr(before, part)
        change = {"effort": np.full(len(speed), SHAPING["effort_rate"]), "position": speed}.get(part)
        if last is not None and change is not None:  # velocities fall faster where a joint comes to its end
            most = change * max(passed, 1e-9) + ROUNDING * (np.abs(last) + 1.0)
            inside = np.clip(last, low, high)
            if not (np.abs(values - inside) <= most).all():
                return False
    return True


def same(one: Any, other: Any) -> bool:
    if isinstance(one, AdaError) or isinstance(other, AdaError):
        return type(one) is type(other)
    return all(
        (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))
        for a, b in zip(one, other, strict=True)
    )


def live(label: str, data: Any) -> None:
    """Some updates, with what comes in now and then; asserts what must hold after each."""
    controller, twin, start = twins(label)
    for one in (controller, twin):
        one.reset(start, 0.0)
    now = 0.0
    for _ in range(data.draw(st.integers(2, 6))):
        before = controller.last_command
        time = now + data.draw(STEPS)
        state = data.draw(states(start, controller.model))
        if data.draw(st.integers(0, 9)) == 0:
            told = data.draw(st.one_of(st.none(), vectors(np.zeros(len(controller.joints)), 1.0)))
            given_command = None if told is None else Command(**{controller.KIND: told})
            if not isinstance(outcome(controller.reset, state, time, given_command), AdaError):
                twin.reset(state, time, given_command)
                now = time
            continue
        followed, reference = controller.reference, data.draw(references(controller, start))
        result = outcome(controller.update, state, reference, time)
        if isinstance(result, AdaError):
            assert controller.last_command is before
            continue
        assert is_within(controller, result, before, time - now)
        now = time
        # the twin knows nothing of what was refused
        own = twin.reference if reference is followed else reference
        assert same(result, outcome(twin.update, state, own, time))


@pytest.mark.parametrize("label", [case.label for case in CASES])
@settings(max_examples=6)
@given(data=st.data())
def test_no_input_makes_a_command_that_is_not_finite_or_beyond_a_limit(label: str, data: Any) -> None:
    live(label, data)


@pytest.mark.parametrize("label", [case.label for case in CASES])
def test_a_reset_forgets_everything(label: str) -> None:
    controller, twin, start = twins(label)
    rng = np.random.default_rng(1)
    states = [start._replace(v=rng.uniform(-0.01, 0.01, len(start.v))) for _ in range(5)]
    controller.reset(start, 0.0)
    for k, state in enumerate(states):
        controller.update(state, None, 0.5 * k)
    for one in (controller, twin):
        one.reset(start, 7.0)
    for k, state in enumerate(states):
        first, second = (one.update(state, None, 7.0 + 0.001 * k) for one in (controller, twin))
        assert same(first, second)


@pytest.mark.parametrize("label", [case.label for case in CASES if case.label.startswith(POSITIONED)])
def test_a_robot_that_rests_is_told_to_stay(label: str) -> None:
    controller, _, start = twins(label)
    controller.reset(start, 0.0)
    for k in range(5):
        command = controller.update(start, None, 0.001 * k)
        if command.position is not None:
            assert command.position == pytest.approx(start.q[controller.q_index], abs=1e-12)
        if command.velocity is not None:
            assert command.velocity == pytest.approx(np.zeros(len(controller.joints)), abs=1e-9)
