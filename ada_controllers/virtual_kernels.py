# SPDX-License-Identifier: Apache-2.0
"""The law of virtual closed chains as functions of numbers: compiled, and of plain scalars for other compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ada_controllers.compiled import Vector, compiled
from ada_controllers.virtual_law import Equations, Follow, Loops, Path
from ada_dynamics.expr import Traced
from ada_dynamics.spatial.scalar import Scalar

FORCE, PATH = "force", "path"
POSE, TWIST = 12, 6  # numbers of a pose (three columns of its rotation, its position) and of a twist


class Found(NamedTuple):
    """What the law comes to, over generic scalars.

    Attributes:
        effort: on all joints of the tree.
        acceleration: a*, when the command begins.
        told: by name, for plots.
        guards: what must not be negative.
    """

    effort: list[Scalar]
    acceleration: list[Scalar]
    told: dict[str, list[Scalar]]
    guards: list[Scalar]


class Law:
    """How a mechanism is controlled: by virtual forces, or along its loops."""

    def __init__(self, equations: Equations, feedback: str, predicts: bool) -> None:
        """Args: of the mechanism; FORCE or PATH; whether commands are made for the middle of their time."""
        self.equations, self.feedback, self.predicts = equations, feedback, predicts
        count, nv = len(equations.mechanism.joints), equations.mechanism.robot.nv
        self.sizes: dict[str, int] = {"q": equations.mechanism.robot.nq, "v": nv}
        if feedback == PATH:
            self.sizes |= {"error": nv, "velocity": nv, "acceleration": nv, "gains": 2}
        else:
            joints = ("position", "velocity", "joint_stiffness", "joint_damping")
            self.sizes |= dict.fromkeys(joints, count)
            if equations.link is not None:
                self.sizes |= {"pose": POSE, "twist": TWIST, "pose_stiffness": 6, "pose_damping": 6}
        self.sizes |= {"loops": 2, "hold": 1}

    def __call__(self, q: Vector, v: Vector, loops: Vector, hold: Vector, **given: Vector) -> Found:
        """The law of generic scalars."""
        equations = self.equations
        a, told, guards = self._reference(q, v, Loops(loops), given)
        at, rate, late = q, v, a
        if self.predicts:  # half of the time later, where the command is right on the average
            at, rate, step = equations.later(q, v, a, 0.5 * hold[0])
            if self.feedback == PATH:
                given = {**given, "error": [e - s for e, s in zip(given["error"], step, strict=True)]}
            late, _, more = self._reference(at, rate, Loops(loops), given)
            guards = [*guards, *more]
        return Found(equations.efforts(at, rate, late), a, told, guards)

    def _reference(
        self, q: Vector, v: Vector, loops: Loops, given: dict[str, Vector]
    ) -> tuple[list[Scalar], dict[str, list[Scalar]], list[Scalar]]:
        equations = self.equations
        if self.feedback == PATH:
            a, guards = equations.by_path(q, v, Path(**given), loops)
            return a, {}, guards
        virtual = equations.virtual(q, v, self.follow(given))
        a, guards = equations.by_force(q, v, virtual.effort, loops)
        return a, virtual._asdict(), guards

    def follow(self, given: dict[str, Vector]) -> Follow:
        """What is followed; without a pose where there is no link to have one."""
        nothing: tuple[Scalar, ...] = ()
        return Follow(**{name: given.get(name, nothing) for name in Follow._fields})

    def compile(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """(q, v, ...) -> efforts on all joints of the tree, a*, and what is told in a row.

        Args:
            otherwise: is called instead where a pose is near a singular one.
        """

        def body(**given: Vector) -> Traced:
            found = self(**given)
            outputs: dict[str, Any] = {"effort": found.effort, "wanted": found.acceleration}
            if found.told:
                outputs["told"] = [x for values in found.told.values() for x in values]
            return self.equations.traced(outputs, given["q"], found.guards)

        return compiled(f"virtual_closed_chain_{self.feedback}", self.sizes, body, otherwise)

    def compile_virtual(self) -> Callable[..., Any]:
        """(q, v, ...) -> what is told in a row; the first of it are virtual efforts on all joints of the tree.

        Along loops: accelerations that are wanted.
        """

        def body(q: Vector, v: Vector, loops: Vector, hold: Vector, **given: Vector) -> dict[str, Any]:
            if self.feedback == PATH:
                return {"told": self.equations.wanted(q, v, Path(**given))}
            virtual = self.equations.virtual(q, v, self.follow(given))
            return {"told": [x for values in virtual for x in values]}

        return compiled(f"virtual_{self.feedback}", self.sizes, body)


def constants(values: Iterable[float]) -> tuple[float, ...]:
    """Numbers that code is folded over."""
    return tuple(float(x) for x in values)
