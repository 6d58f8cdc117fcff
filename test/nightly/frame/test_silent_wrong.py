# SPDX-License-Identifier: Apache-2.0
"""A slice of `make silent-wrong`, and that its judge sees every defect that is planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.algorithms import closure, elimination, rnea
from ada_dynamics.loops.assemble import AssembledPose
from ada_dynamics.model.edit import with_gravity, with_parts

pytest.importorskip("pinocchio")

from trials.silent_wrong import cases, questions, robots, states, texts
from trials.silent_wrong.cases import AGREES, NO_JUDGE, REFUSED, WRONG
from trials.silent_wrong.robots import Fault, Robot

STATES = 4


@pytest.fixture(autouse=True)
def _no_code_of_others(monkeypatch, tmp_path):
    """Defects are planted before code is made; nothing of it stays."""
    monkeypatch.setenv("ADA_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(robots.__dict__, "specified", robots.specified.__wrapped__)


def arm() -> Robot:
    return robots._read("pa10", texts.sources()["pa10"], [], "fixed")


def linkage() -> Robot:
    return robots._read("four_bar", texts.looped()["four_bar"], [], "fixed")


def figure(ask, robot: Robot) -> float:
    """The largest one of some states; what is wrong in no state is not seen."""
    return max(ask(robot, np.random.default_rng(seed))[0] for seed in range(STATES))


def asked_of_bodies(robot: Robot) -> float:
    return figure(questions.on_loops if robot.q is not None else questions.on_tree, robot)


@pytest.mark.parametrize("make", [arm, linkage])
def test_what_is_right_is_called_so(make):
    assert asked_of_bodies(make()) < 0.1


def test_mutated_robots_are_right_or_refused():
    light = ("texts", "arguments")
    rows = [row for number in range(30) if cases.family_of(number).name in light for row in cases.cases(2, number)]
    verdicts = [row["verdict"] for row in rows]
    assert [row for row in rows if row["verdict"] == WRONG] == []
    assert verdicts.count(AGREES) > 30
    assert verdicts.count(REFUSED) > 15
    assert not [row for row in rows if row["verdict"] == NO_JUDGE and "the judge fails" in row["reason"]]


def test_a_robot_comes_again_by_its_number():
    number = next(i for i in range(100) if cases.family_of(i).name == "texts")
    assert list(cases.cases(3, number)) == list(cases.cases(3, number))


def test_every_hundred_robots_have_all_families():
    names = [cases.family_of(number).name for number in range(100, 200)]
    assert {family.name: family.part for family in cases.FAMILIES} == {name: names.count(name) for name in names}


# --- planted defects ------------------------------------------------------------------------------------------------
def _weight_downwards_up(monkeypatch):
    whole = rnea.at_rest
    monkeypatch.setattr(rnea, "at_rest", lambda base: whole(-base))


def _no_velocity_terms(monkeypatch):
    whole = rnea.motions
    monkeypatch.setattr(rnea, "motions", lambda tree, X, q, v, a, base: whole(tree, X, q, [0.0] * tree.nv, a, base))


def _no_rotors(monkeypatch):
    monkeypatch.setattr(rnea, "rotor_efforts", lambda tree, a: [0.0] * tree.nv)


def _half_the_damping(monkeypatch):
    whole = rnea.passive_efforts
    monkeypatch.setattr(rnea, "passive_efforts", lambda *given: [0.5 * x for x in whole(*given)])


def _an_axis_off_by_a_nanoradian(monkeypatch):
    whole = robots.ada.load

    def load(*given, **named):
        model = whole(*given, **named)
        joint = model.joints[model.joint_names[1]]
        return with_parts(model, replace(joint, axis=joint.axis + 3e-9))

    monkeypatch.setattr(robots.ada, "load", load)


def _gravity_of_another_place(monkeypatch):
    whole = robots.ada.load
    monkeypatch.setattr(
        robots.ada, "load", lambda *given, **named: with_gravity(whole(*given, **named), (0, 0, -9.80665))
    )


def damped_arm() -> Robot:
    text = texts.sources()["pa10"]
    return robots._read("pa10", text._replace(urdf=text.urdf.replace('damping="0"', 'damping="0.5"')), [], "fixed")


@pytest.mark.parametrize(
    "defect",
    [
        _weight_downwards_up,
        _no_velocity_terms,
        _no_rotors,
        _half_the_damping,
        _an_axis_off_by_a_nanoradian,
        _gravity_of_another_place,
    ],
)
def test_a_defect_in_the_dynamics_of_trees_is_called_wrong(defect, monkeypatch):
    defect(monkeypatch)
    assert asked_of_bodies(damped_arm()) > 10.0


def _other_rows(change):
    """Puts the rows of loops wrong."""

    def plant(monkeypatch):
        whole = closure.loop_rows

        def rows(*given):
            return [change(row) for row in whole(*given)]

        for room in (closure, elimination):
            monkeypatch.setattr(room, "loop_rows", rows)

    return plant


_columns = _other_rows(lambda row: replace(row, columns={i: x * (1.0 + 1e-8 * i) for i, x in row.columns.items()}))


@pytest.mark.parametrize("defect", [_weight_downwards_up, _columns, _gravity_of_another_place])
def test_a_defect_in_the_dynamics_of_loops_is_called_wrong(defect, monkeypatch):
    defect(monkeypatch)
    assert asked_of_bodies(linkage()) > 10.0


def test_a_pose_that_is_said_to_close_and_is_open_is_a_fault(monkeypatch):
    whole = robots.ada.assemble

    def assemble(model, guess):
        pose = whole(model, guess)
        pose[0] += 1e-6
        return pose

    monkeypatch.setattr(robots.ada, "assemble", assemble)
    monkeypatch.setattr(AssembledPose, "residual", 0.0)
    with pytest.raises(Fault, match="is open by"):
        asked_of_bodies(linkage())


def test_numbers_that_are_off_in_their_tenth_digit_are_called_wrong(monkeypatch):
    whole = ada.Dynamics.inverse
    monkeypatch.setattr(ada.Dynamics, "inverse", lambda self, *given: whole(self, *given) * (1.0 + 1e-10))
    assert figure(questions.on_tree, arm()) > 1.0


def test_wrong_derivatives_are_called_so(monkeypatch):
    assert figure(questions.of_derivatives, arm()) < 0.1
    whole = ada.Dynamics.forward_derivatives

    def off(self, *given):
        found = whole(self, *given)
        return found._replace(dv=found.dv * (1.0 + 1e-6))

    monkeypatch.setattr(ada.Dynamics, "forward_derivatives", off)
    assert figure(questions.of_derivatives, arm()) > 1.0


@pytest.mark.parametrize("make", [arm, linkage])
def test_a_simulation_of_other_efforts_is_called_wrong(make, monkeypatch):
    whole, robot = ada.Simulation, make()
    assert figure(questions.of_motion, robot) < 0.5
    monkeypatch.setattr(questions.ada, "Simulation", lambda *x, tau, **y: whole(*x, tau=tau + 1e-3, **y))
    assert figure(questions.of_motion, robot) > 1.0


def _ask_arguments(robot: Robot, handed: str, monkeypatch) -> float:
    monkeypatch.setattr(questions, "HANDED", {handed: states.HANDED[handed]})
    return max(questions.of_arguments(robot, np.random.default_rng(seed))[0] for seed in range(8))


def test_numbers_out_of_what_is_none_are_a_fault(monkeypatch):
    robot = arm()
    robot.dynamics = ada.Dynamics(robot.model, checked=False)
    with pytest.raises(Fault, match="not finite"):
        _ask_arguments(robot, "nan", monkeypatch)
    for name in ("forward", "inverse"):
        whole = getattr(ada.Dynamics, name)
        monkeypatch.setattr(
            ada.Dynamics, name, lambda self, *given, whole=whole: whole(self, *(np.resize(x, 7) for x in given))
        )
    robot = arm()
    with pytest.raises(Fault, match="for vectors"):
        _ask_arguments(robot, "long", monkeypatch)


def test_arguments_that_are_written_to_are_a_fault(monkeypatch):
    robot = arm()
    whole = ada.Dynamics.inverse

    def inverse(self, q, v, a):
        found = whole(self, q, v, a)
        if isinstance(v, np.ndarray) and v.flags.writeable:
            v *= 2.0
        return found

    monkeypatch.setattr(ada.Dynamics, "inverse", inverse)
    with pytest.raises(Fault, match="wrote"):
        _ask_arguments(robot, "as it is", monkeypatch)


def test_a_state_that_feels_its_neighbours_is_a_fault(monkeypatch):
    robot = arm()
    whole = ada.Dynamics.forward
    monkeypatch.setattr(
        ada.Dynamics, "forward", lambda self, *x: whole(self, *x) * (1.0 + (np.ndim(x[0]) - 1) * 2.3e-16)
    )
    with pytest.raises(Fault, match="other bits"):
        figure(questions.in_batches, robot)


def test_an_error_that_is_not_the_librarys_own_is_called_wrong(monkeypatch):
    monkeypatch.setattr(robots.ada, "Dynamics", lambda *_, **__: [][1])
    number = next(i for i in range(100) if cases.family_of(i).name == "trees")
    rows = [row for i in range(number, number + 30) for row in cases.cases(1, i)]
    assert any(row["verdict"] == WRONG and "IndexError" in row["reason"] for row in rows)
