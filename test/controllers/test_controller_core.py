# SPDX-License-Identifier: Apache-2.0
"""What all controllers share: settings, checked states and references, commands within limits, the registry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_controllers import (
    CONTROLLERS,
    Command,
    Controller,
    JointPath,
    JointReference,
    PoseReference,
    ReferenceRefused,
    State,
    StateRefused,
    find,
    make,
)
from ada_controllers.compiled import compiled
from ada_controllers.errors import CommandRefused
from ada_controllers.in_simulation import InSimulation
from ada_controllers.shaping import STOPPING, ShapingSettings
from ada_dynamics.errors import InputError
from ada_dynamics.model.elements import Limits
from ada_dynamics.settings import fields_of, setting

INF = math.inf


def arm(base: str = "fixed", **limits: float) -> ada.Model:
    """Two links; ranges ±2 rad, 3 rad/s and 10 N m where nothing else is said."""
    bounds = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "effort": 10.0, **limits}
    builder = ada.Builder("arm").link("base", 1.0, inertia=(1.0, 1.0, 1.0))
    for name, parent in (("upper", "base"), ("lower", "upper")):
        builder.link(name, 1.0, (0.0, 0.0, 0.5), (0.1, 0.1, 0.1))
        builder.joint(f"j_{name}", "revolute", parent, name, (0.0, 0.0, 1.0), axis=(0, 1, 0), limits=Limits(**bounds))
    return builder.build(base=base)


@dataclass(frozen=True)
class EchoSettings:
    gain: float = setting(1.0, "nothing", lower=0.0)


class Echo(Controller[EchoSettings]):
    """Says what it is told to say."""

    NAME, SUMMARY, KIND = "echo", "says what it is told", "effort"
    REFERENCES = (JointReference, JointPath, PoseReference)
    SETTINGS = EchoSettings
    said = Command()

    def _law(self, state: State, time: float) -> Command:
        return self.said


class EchoPosition(Echo):
    KIND = "position"


class EchoVelocity(Echo):
    KIND = "velocity"


def echo(cls: type[Echo] = Echo, q: Any = (0.0, 0.0), v: Any = (0.0, 0.0), **shaping: float) -> Echo:
    controller = cls(arm(), shaping=shaping)
    controller.reset(State(np.array(q), np.array(v)), 0.0)
    return controller


def say(controller: Echo, time: float, q: Any = (0.0, 0.0), v: Any = (0.0, 0.0), **parts: Any) -> Command:
    controller.said = Command(**{name: np.array(values, dtype=float) for name, values in parts.items()})
    return controller.update(State(np.array(q), np.array(v)), None, time)


# --- commands -------------------------------------------------------------------------------------------------------
def test_a_command_within_its_limits_gets_out_unchanged() -> None:
    controller = echo()
    command = say(controller, 0.001, effort=[3.25, -10.0])
    assert command.effort is not None
    assert command.effort.tolist() == [3.25, -10.0]
    assert (command.position, command.velocity) == (None, None)
    assert (controller.saturated, controller.saturations) == ((), 0)


def test_efforts_are_cut_to_their_limits_and_the_joint_is_told() -> None:
    controller = echo(effort_scale=0.5)
    command = say(controller, 0.001, effort=[-7.0, 4.0])
    assert command.effort is not None
    assert command.effort.tolist() == [-5.0, 4.0]
    assert (controller.saturated, controller.saturations) == (("j_upper",), 1)
    say(controller, 0.002, effort=[1.0, 1.0])
    assert (controller.saturated, controller.saturations) == ((), 1)


def test_efforts_change_by_their_rate_from_the_second_command_on() -> None:
    controller = echo(effort_rate=100.0)
    assert say(controller, 0.01, effort=[4.0, 0.0]).effort.tolist() == [4.0, 0.0]  # type: ignore[union-attr]
    second = say(controller, 0.02, effort=[9.0, -0.5]).effort
    assert second == pytest.approx([5.0, -0.5], abs=1e-12)
    at_once = say(controller, 0.02, effort=[9.0, -0.5]).effort  # no time, no change
    assert at_once == pytest.approx([5.0, -0.5], abs=1e-6)


def test_a_first_command_joins_the_one_that_reset_is_told() -> None:
    controller = echo(effort_rate=100.0)
    state = State(np.zeros(2), np.zeros(2))
    controller.reset(state, 1.0, Command(effort=np.array([2.0, 2.0])))
    assert say(controller, 1.01, effort=[9.0, 2.5]).effort == pytest.approx([3.0, 2.5])
    controller.reset(state, 2.0, Command(effort=np.array([200.0, 0.0])))  # limits come before rates
    assert say(controller, 2.01, effort=[9.0, 0.0]).effort == pytest.approx([10.0, 0.0])


def test_positions_start_where_the_joints_are_and_move_at_their_speed() -> None:
    controller = echo(EchoPosition, q=(1.0, -1.0), velocity_scale=0.5)
    first = say(controller, 0.1, q=(1.0, -1.0), position=[2.5, -1.05])
    assert first.position == pytest.approx([1.15, -1.05])
    assert controller.saturated == ("j_upper",)
    for k in range(2, 20):
        last = say(controller, 0.1 * k, q=(1.0, -1.0), position=[2.5, -1.05])
    assert last.position == pytest.approx([2.0, -1.05])


def test_a_margin_keeps_positions_and_velocities_away_from_the_ends() -> None:
    controller = echo(EchoPosition, position_margin=0.25)
    assert say(controller, 100.0, position=[5.0, -5.0]).position == pytest.approx([1.75, -1.75])
    mover = echo(EchoVelocity, position_margin=0.25)
    assert say(mover, 0.1, q=(1.75, -1.8), velocity=[1.0, -1.0]).velocity == pytest.approx([0.0, 0.0])


def test_the_velocity_of_a_position_does_not_push_past_the_end() -> None:
    controller = echo(EchoPosition)
    command = say(controller, 100.0, position=[2.5, -1.0], velocity=[1.0, -1.0])
    assert command.position == pytest.approx([2.0, -1.0])
    assert command.velocity == pytest.approx([0.0, -1.0])
    back = say(controller, 100.1, position=[2.5, -1.0], velocity=[-1.0, -1.0])
    assert back.velocity == pytest.approx([-1.0, -1.0])


def test_a_joint_that_runs_into_its_end_at_full_speed_stops_there_with_the_acceleration_that_it_has() -> None:
    a, dt = 20.0, 1e-3
    controller = echo(EchoVelocity, acceleration=a)
    q, v = np.array([1.0, 0.0]), np.zeros(2)
    speeds = []
    for k in range(2000):
        told = controller_says(controller, (k + 1) * dt, q, v)
        q, v = q + dt * told, told  # a drive that does as it is told
        speeds.append(told[0])
    change = np.diff(speeds) / dt
    assert max(speeds) == pytest.approx(3.0)
    assert 1.99 < q[0] <= 2.0
    assert change.max() <= a * (1.0 + 1e-9)
    # the speed falls with the way left, which is known once in a period: some percent more than on the way itself
    assert change.min() >= -1.1 * a
    assert 10.0 * dt < STOPPING


def controller_says(controller: Echo, time: float, q: Any, v: Any) -> Any:
    return say(controller, time, q, v, velocity=[3.0, 0.0]).velocity


def test_velocities_start_at_the_measured_ones() -> None:
    controller = echo(EchoVelocity, v=(1.0, 0.0), acceleration=10.0)
    assert say(controller, 0.01, v=(1.0, 0.0), velocity=[0.0, 0.0]).velocity == pytest.approx([0.9, 0.0])


@pytest.mark.parametrize("cls", [Echo, EchoPosition, EchoVelocity])
@pytest.mark.parametrize("bad", [[math.nan, 0.0], [0.0, INF], [0.0], [[0.0, 0.0]]])
def test_what_is_no_command_never_gets_out_and_changes_nothing(cls: type[Echo], bad: Any) -> None:
    part = cls.KIND
    controller = echo(cls)
    good = say(controller, 0.001, **{part: [0.001, 0.002]})
    with pytest.raises(CommandRefused, match=r"echo: the .*" + part):
        say(controller, 0.002, **{part: bad})
    assert controller.last_command == good
    again = say(controller, 0.002, **{part: [0.001, 0.002]})
    assert getattr(again, part).tolist() == [0.001, 0.002]


def test_lists_views_and_other_numbers_are_commands_as_well() -> None:
    controller = echo()
    for values in ([1, 2], np.array([1, 2]), np.array([2.0, 9.0, 1.0, 9.0])[::-2], np.float32([1.0, 2.0])):
        controller.said = Command(effort=values)  # type: ignore[arg-type]
        told = controller.update(State(np.zeros(2), np.zeros(2)), None, 1.0).effort
        assert told is not None
        assert sorted(told.tolist()) == [1.0, 2.0] or told.tolist() == [9.0, 9.0]


def test_what_reset_is_told_is_copied() -> None:
    controller = echo(effort_rate=1.0)
    told = Command(effort=np.array([1, 2]))
    controller.reset(State(np.zeros(2), np.zeros(2)), 0.0, told)
    told.effort[:] = 100  # type: ignore[index]
    assert controller.last_command.effort is not None
    assert controller.last_command.effort.tolist() == [1.0, 2.0]


def test_joints_without_limits_can_be_told_anything_finite() -> None:
    free = arm(lower=-INF, upper=INF, velocity=INF, effort=INF)
    for cls in (Echo, EchoPosition, EchoVelocity):
        controller = cls(free)
        controller.reset(State(np.zeros(2), np.zeros(2)), 0.0)
        controller.said = Command(**{cls.KIND: np.array([1e12, -1e12])})
        told = controller.update(State(np.zeros(2), np.zeros(2)), None, 1e-3)
        assert getattr(told, cls.KIND).tolist() == [1e12, -1e12]
        assert controller.saturated == ()


def test_a_scale_of_zero_means_nothing_at_all_also_without_limits() -> None:
    controller = Echo(arm(effort=INF), shaping={"effort_scale": 0.0})
    controller.reset(State(np.zeros(2), np.zeros(2)), 0.0)
    assert say(controller, 0.001, effort=[5.0, -5.0]).effort == pytest.approx([0.0, 0.0])


# --- states ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("q", "v", "named"),
    [
        ([math.nan, 0.0], [0.0, 0.0], "position of joint 'j_upper'.*nan.*finite"),
        ([0.0, 0.0], [0.0, -INF], "velocity of joint 'j_lower'.*-inf"),
        ([0.0], [0.0, 0.0], r"positions of the state are an array of float64 and shape \(1,\).*2"),
        ([0.0, 0.0], [[0.0, 0.0]], r"velocities of the state.*shape \(1, 2\)"),
        ([1e10, 0.0], [0.0, 0.0], "too large"),
        ([0.0, 0.0], [1e300, 1e300], "too large"),
    ],
)
def test_states_that_cannot_be_are_refused_and_the_controller_goes_on(q: Any, v: Any, named: str) -> None:
    controller = echo()
    good = say(controller, 0.001, effort=[1.0, 2.0])
    with pytest.raises(StateRefused, match=named):
        say(controller, 0.002, q=q, v=v, effort=[3.0, 4.0])
    with pytest.raises(StateRefused, match=named):
        controller.reset(State(np.array(q), np.array(v)), 0.0)
    assert controller.last_command == good
    assert say(controller, 0.002, effort=[1.0, 2.0]).effort is not None


def test_lists_and_whole_numbers_are_no_states() -> None:
    controller = echo()
    for q in ([0.0, 0.0], np.array([0, 0]), None):
        with pytest.raises(StateRefused, match="positions of the state"):
            controller.update(State(q, np.zeros(2)), None, 0.1)  # type: ignore[arg-type]


def test_views_of_larger_arrays_are_states() -> None:
    controller = echo()
    wide = np.array([[0.1, 9.0], [0.2, 9.0]])
    controller.said = Command(effort=np.zeros(2))
    assert controller.update(State(wide[:, 0], wide[::-1, 0]), None, 0.1).effort is not None
    wide[0, 0] = math.nan
    with pytest.raises(StateRefused, match="nan"):
        controller.update(State(wide[:, 0], np.zeros(2)), None, 0.2)


def test_a_quaternion_off_unit_length_is_no_state() -> None:
    controller = Echo(arm("floating"))
    q = controller.model.neutral()
    controller.reset(State(q, np.zeros(8)), 0.0)
    q = q.copy()
    q[6] = 0.5
    with pytest.raises(StateRefused, match="quaternion"):
        controller.check_state(State(q, np.zeros(8)))


@pytest.mark.parametrize("wrench", [np.zeros(5), np.array([0, 0, math.nan, 0, 0, 0]), [0.0] * 6, np.full(6, 1e200)])
def test_a_wrench_that_is_none_is_refused(wrench: Any) -> None:
    controller = echo()
    with pytest.raises(StateRefused, match=r"measured wrench.*six finite"):
        controller.update(State(np.zeros(2), np.zeros(2), wrench), None, 0.1)


@pytest.mark.parametrize(
    ("time", "named"), [(0.5, "before the last one, 1.0"), (math.nan, "finite"), (INF, "finite"), (-INF, "finite")]
)
def test_times_that_cannot_be_are_refused(time: float, named: str) -> None:
    controller = echo()
    say(controller, 1.0, effort=[1.0, 1.0])
    with pytest.raises(StateRefused, match=named):
        say(controller, time, effort=[2.0, 2.0])
    if not math.isfinite(time):
        with pytest.raises(StateRefused, match=named):
            controller.reset(State(np.zeros(2), np.zeros(2)), time)
    assert say(controller, 1.0, effort=[1.0, 1.0]).effort is not None


def test_an_update_before_reset_is_refused() -> None:
    controller = Echo(arm())
    with pytest.raises(StateRefused, match=r"call reset\(state, time\)"):
        say(controller, 0.0, effort=[1.0, 1.0])


def test_a_reset_that_is_refused_leaves_the_controller_as_it_was() -> None:
    class Choosy(Echo):
        def _begin(self, state: State, time: float) -> None:
            if state.q[0] > 1.0:
                raise InputError("not here")

    controller = Choosy(arm())
    controller.reset(State(np.zeros(2), np.zeros(2)), 0.0)
    good, followed = say(controller, 1.0, effort=[1.0, 1.0]), controller.reference
    with pytest.raises(InputError, match="not here"):
        controller.reset(State(np.array([1.5, 0.0]), np.zeros(2)), 5.0)
    with pytest.raises(InputError, match="commanded effort"):
        controller.reset(State(np.zeros(2), np.zeros(2)), 5.0, Command(effort=np.zeros(3)))
    assert controller.last_command == good
    assert controller.reference is followed
    assert say(controller, 2.0, effort=[1.0, 1.0]).effort is not None


# --- references -----------------------------------------------------------------------------------------------------
TURNED = np.eye(4)
TURNED[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
MIRRORED = np.diag([1.0, 1.0, -1.0, 1.0])


def vector(*values: float) -> Any:
    return np.array(values)


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        (JointReference(vector(0.0)), "position is array.*2 numbers, one for each of j_upper, j_lower"),
        (JointReference([0.0, 0.0]), "float64 vector"),  # type: ignore[arg-type]
        (JointReference(None), "position is None"),  # type: ignore[arg-type]
        (JointReference(vector(0.0, math.nan)), "'j_lower': position is nan"),
        (JointReference(vector(0.0, 2.1)), r"'j_lower': position is 2.1, outside of \[-2, 2\]"),
        (JointReference(vector(0.0, 0.0), vector(4.0, 0.0)), "'j_upper': velocity is 4, outside of"),
        (JointReference(vector(0.0, 0.0), None, vector(0.0, INF)), "acceleration is inf"),
        (JointReference(vector(0.0, 0.0), None, vector(0.0)), "acceleration is"),
        (JointReference(vector(0.0, 0.0), None, vector(0.0, 1e300)), "'j_lower': acceleration is 1e[+]300, too large"),
        (JointPath(vector(0.0, 0.0)), r"\(points, 2\)"),
        (JointPath(np.zeros((0, 2))), "at least one point"),
        (JointPath(np.zeros((2, 3))), "at point 1"),
        (JointPath(np.array([[0.0, 0.0], [0.0, 3.0]])), "position at point 2 is 3"),
        (JointPath(np.zeros((2, 2)), vector(1.0)), "times of a path.*each of the 2 points"),
        (JointPath(np.zeros((2, 2)), vector(1.0, 1.0)), "must increase"),
        (JointPath(np.zeros((2, 2)), vector(-1.0, 1.0)), "count from now on"),
        (JointPath(np.zeros((2, 2)), None, np.zeros((1, 2))), "velocities of a path"),
        (JointPath(np.zeros((1, 2)), None, np.full((1, 2), 5.0)), "velocity at point 1 is 5"),
        (PoseReference(np.eye(3)), "4x4 finite"),
        (PoseReference(np.full((4, 4), math.nan)), "4x4 finite"),
        (PoseReference(np.full((4, 4), 1e300)), "at most 1e[+]09"),
        (PoseReference(2.0 * np.eye(4)), "rigid body"),
        (PoseReference(MIRRORED), "right-handed"),
        (PoseReference(np.eye(4), np.zeros(3)), "twist.*six finite"),
        (PoseReference(np.eye(4), np.full(6, math.nan)), "twist.*six finite"),
        ("home", "takes references of the kind JointReference or JointPath or PoseReference; this is a str"),
    ],
)
def test_references_that_cannot_be_followed_are_refused_and_the_old_one_counts(reference: Any, named: str) -> None:
    controller = echo()
    controller.said = Command(effort=np.zeros(2))
    old = controller.reference
    for check in (
        lambda: controller.check(reference),
        lambda: controller.update(State(np.zeros(2), np.zeros(2)), reference, 0.1),
    ):
        with pytest.raises(ReferenceRefused, match=named):
            check()
    assert controller.reference is old


@pytest.mark.parametrize(
    "reference",
    [
        JointReference(vector(2.0, -2.0), vector(3.0, -3.0), vector(1e6, 0.0)),
        JointReference(vector(2.0 + 1e-12, 0.0)),  # rounding of whoever made it
        JointPath(np.zeros((3, 2)), vector(0.0, 1.0, 2.0), np.zeros((3, 2))),
        PoseReference(TURNED, np.zeros(6)),
    ],
)
def test_references_within_limits_are_followed(reference: Any) -> None:
    controller = echo()
    controller.said = Command(effort=np.zeros(2))
    controller.update(State(np.zeros(2), np.zeros(2)), reference, 0.1)
    assert controller.reference is reference


def test_a_start_outside_of_the_range_is_kept_as_it_is() -> None:
    controller = echo(q=(2.2, 0.0))
    assert isinstance(controller.reference, JointReference)
    assert controller.reference.position.tolist() == [2.2, 0.0]


# --- settings, robots, registry --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "shaping", "named"),
    [
        ({"gian": 1.0}, None, r"no parameter is named 'gian'.*Did you mean 'gain'"),
        ({"gain": -1.0}, None, "gain is -1.0.*at least 0"),
        ({"gain": "much"}, None, "gain is 'much'"),
        (EchoSettings(gain=-1.0), None, "gain is -1.0"),
        (3, None, "settings is 3; give values by name"),
        (ShapingSettings(), None, "settings is ShapingSettings.*EchoSettings"),
        (None, {"effort_scale": 2.0}, "effort_scale is 2.0"),
        (None, ShapingSettings(effort_rate=-1.0), "effort_rate is -1.0"),
        (None, 3, "shaping is 3"),
        (None, {"position_margin": 2.5}, "leaves joint 'j_upper' no room"),
    ],
)
def test_settings_that_are_not_allowed_are_refused_by_name(settings: Any, shaping: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        Echo(arm(), settings, shaping)


def test_robots_that_cannot_be_commanded_are_refused() -> None:
    loose = ada.Builder("loose").link("base").link("bob", 1.0, (0, 0, 1), (1, 1, 1))
    loose.joint("ball", "spherical", "base", "bob")
    with pytest.raises(InputError, match="'loose' has no joint with a motor"):
        Echo(loose.build())
    with pytest.raises(InputError, match=r"needs a Model"):
        Echo("pa10")  # type: ignore[arg-type]


def test_an_unknown_controller_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"'computed_torqe'.*Did you mean 'computed_torque'"):
        make("computed_torqe", arm())


@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_are_registered_by_their_own_names(name: str) -> None:
    cls = find(name)
    assert name == cls.NAME
    assert cls.SUMMARY
    assert issubclass(cls, Controller)
    assert cls.SETTINGS is not None and fields_of(cls.SETTINGS)


# --- tools ----------------------------------------------------------------------------------------------------------
def test_compiled_code_gives_way_where_it_cannot_be_used() -> None:
    calls: list[Any] = []
    double = compiled("double", {"x": 2}, lambda x: {"y": [2.0 * a for a in x]}, calls.append)
    assert double(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    double([1.0, 2.0])
    double(np.array([1.0, math.nan]))
    assert len(calls) == 2
    with pytest.raises(InputError, match="finite"):
        compiled("double", {"x": 2}, lambda x: {"y": [2.0 * a for a in x]})(np.array([1.0, math.nan]))


# --- in a simulation -------------------------------------------------------------------------------------------------
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


def test_a_simulation_that_is_reset_resets_its_controller() -> None:
    model = arm(effort=100.0)
    loop = InSimulation(Holding(model), period=0.01)
    sim = loop.simulation(model, np.array([0.5, 0.3]), step=1e-3)
    sim.run(0.05)
    sim.reset()
    sim.run(0.02)
    assert loop.times[0] == 0.0
    assert loop.times[-1] <= 0.02
