# SPDX-License-Identifier: Apache-2.0
"""Commands are held to limits and rates, whatever a law says; what is no command never gets out."""

import math
from typing import Any

import numpy as np
import pytest
from echo_controller import INF, Echo, EchoPosition, EchoVelocity, echo, say
from refused import refused

from ada_controllers import Command, State
from ada_controllers.command_shaping import STOPPING
from ada_controllers.state import CommandRefused


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


def test_a_joint_that_begins_within_the_margin_leaves_it_at_its_speed_and_does_not_come_back() -> None:
    controller = echo(EchoPosition, q=(1.9, -2.1), position_margin=0.25)
    wanted = [(1.9, -2.1), (5.0, -5.0), (0.0, 0.0), (1.9, -2.0), (0.0, 0.0), (1.9, -2.0)]
    told = [say(controller, 0.01 * (k + 1), q=(1.9, -2.1), position=p).position for k, p in enumerate(wanted)]
    upper = [1.9, 1.9, 1.87, 1.87, 1.84, 1.84]
    lower = [-2.0, -2.0, -1.97, -1.97, -1.94, -1.94]  # the limits themselves come before speeds
    assert np.array(told) == pytest.approx(np.array([upper, lower]).T)


def test_a_joint_that_runs_into_its_end_at_full_speed_stops_there_with_the_acceleration_that_it_has() -> None:
    a, dt = 20.0, 1e-3
    controller = echo(EchoVelocity, acceleration=a)
    q, v = np.array([1.0, 0.0]), np.zeros(2)
    speeds = []
    for k in range(2000):
        told = say(controller, (k + 1) * dt, q, v, velocity=[3.0, 0.0]).velocity
        q, v = q + dt * told, told  # a drive that does as it is told
        speeds.append(told[0])
    change = np.diff(speeds) / dt
    assert max(speeds) == pytest.approx(3.0)
    assert 1.99 < q[0] <= 2.0
    assert change.max() <= a * (1.0 + 1e-9)
    # the speed falls with the way left, which is known once in a period: some percent more than on the way itself
    assert change.min() >= -1.1 * a
    assert 10.0 * dt < STOPPING


@pytest.mark.parametrize("cls", [Echo, EchoPosition, EchoVelocity])
@pytest.mark.parametrize("bad", [[math.nan, 0.0], [0.0, INF], [0.0], [[0.0, 0.0]]])
def test_what_is_no_command_never_gets_out_and_changes_nothing(cls: type[Echo], bad: Any) -> None:
    part = cls.KIND
    controller = echo(cls)
    good = say(controller, 0.001, **{part: [0.001, 0.002]})
    with refused(CommandRefused, field=part):
        say(controller, 0.002, **{part: bad})
    assert controller.last_command == good
    again = say(controller, 0.002, **{part: [0.001, 0.002]})
    assert getattr(again, part).tolist() == [0.001, 0.002]


def test_the_velocity_of_a_position_does_not_push_past_the_end() -> None:
    controller = echo(EchoPosition)
    command = say(controller, 100.0, position=[2.5, -1.0], velocity=[1.0, -1.0])
    assert command.position == pytest.approx([2.0, -1.0])
    assert command.velocity == pytest.approx([0.0, -1.0])
    back = say(controller, 100.1, position=[2.5, -1.0], velocity=[-1.0, -1.0])
    assert back.velocity == pytest.approx([-1.0, -1.0])
