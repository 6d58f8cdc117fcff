# SPDX-License-Identifier: Apache-2.0
"""A slice of `make silent-wrong`, and that its judge finds defects that are planted in the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.model.edit import with_gravity, with_parts

pytest.importorskip("pinocchio")

from trials.silent_wrong import cases, questions, robots
from trials.silent_wrong.cases import AGREES, NO_JUDGE, REFUSED, WRONG
from trials.silent_wrong.robots import Fault, Robot

STATES = 4


@dataclass
class Planted:
    """A `Dynamics` with other answers: by method, what becomes of an answer and its arguments."""

    whole: ada.Dynamics
    changes: dict[str, Callable[..., Any]]

    def __getattr__(self, name: str) -> Any:
        method, change = getattr(self.whole, name), self.changes.get(name)
        return method if change is None else lambda *given: change(method(*given), *given)


def arm() -> Robot:
    return robots.specified(0, "auto")


def linkage() -> Robot:
    return robots.linkage("four_bar")


def planted(robot: Robot, **changes: Callable[..., Any]) -> Robot:
    return replace(robot, dynamics=Planted(robot.dynamics, changes))  # type: ignore[arg-type]


def figure(ask: Any, robot: Robot) -> float:
    """The largest one of some states; what is wrong in no state is not found."""
    return max(ask(robot, np.random.default_rng(seed))[0] for seed in range(STATES))


def asked(robot: Robot) -> float:
    return figure(questions.on_loops if robot.q is not None else questions.on_tree, robot)


@pytest.mark.parametrize("make", [arm, linkage])
def test_what_is_right_is_called_so(make: Callable[[], Robot]) -> None:
    assert asked(make()) < 0.1


def test_mutated_robots_are_right_or_refused() -> None:
    light = ("texts", "arguments")
    rows = [row for number in range(30) if cases.family_of(number).name in light for row in cases.cases(2, number)]
    verdicts = [row["verdict"] for row in rows]
    assert [row for row in rows if row["verdict"] == WRONG] == []
    assert verdicts.count(AGREES) > 30
    assert verdicts.count(REFUSED) > 15
    assert not [row for row in rows if row["verdict"] == NO_JUDGE and "the judge fails" in row["reason"]]


def _gravity(model: ada.Model) -> ada.Model:
    return with_gravity(model, (0.0, 0.0, -9.80665))


def _axis(model: ada.Model) -> ada.Model:
    joint = model.joints[model.joint_names[1]]
    return with_parts(model, replace(joint, axis=joint.axis + 3e-9))


def _damping(model: ada.Model) -> ada.Model:
    return with_parts(model, replace(model.joints[model.joint_names[1]], damping=1e-6))


@pytest.mark.parametrize(
    ("make", "defect"), [(arm, _gravity), (arm, _axis), (arm, _damping), (linkage, _gravity), (linkage, _damping)]
)
def test_the_dynamics_of_another_robot_are_called_wrong(make: Callable[[], Robot], defect: Any) -> None:
    robot = make()
    assert asked(replace(robot, dynamics=ada.Dynamics(defect(robot.model)))) > 10.0


def test_numbers_that_are_off_in_their_last_digits_are_called_wrong() -> None:
    assert figure(questions.on_tree, planted(arm(), inverse=lambda tau, *_: tau * (1.0 + 1e-10))) > 1.0


def test_arguments_that_are_written_to_are_faults() -> None:
    def write(found: Any, q: Any, v: Any, u: Any) -> Any:
        for x in (q, v, u):
            if isinstance(x, np.ndarray) and x.flags.writeable:
                x *= 2.0
        return found

    with pytest.raises(Fault):
        for seed in range(8):
            questions.of_arguments(planted(arm(), inverse=write, forward=write), np.random.default_rng(seed))
