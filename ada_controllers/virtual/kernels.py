# SPDX-License-Identifier: Apache-2.0
"""The law of virtual closed chains as functions of numbers: compiled, and of plain scalars for other compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ada_controllers.virtual.law import Equations, Follow, Loops, Path
from ada_dynamics.expr import Traced
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.spatial.vector import Scalar

FORCE, PATH = "force", "path"
POSE, TWIST = 12, 6  # numbers of a pose (three columns of its rotation, its position) and of a twist


class Found(NamedTuple):
    """Results of the law, over generic scalars.

    Attributes:
        effort: on all joints of the tree.
        acceleration: a*, when the command begins.
        signals: for plots, in one row; `Law.parts` says where.
        guards: what must not be negative.
    """

    effort: list[Scalar]
    acceleration: list[Scalar]
    signals: list[Scalar]
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
        self.parts = self._parts(nv)

    def _parts(self, nv: int) -> dict[str, slice]:
        """Where in the row of signals each part is."""
        sizes = {"gap": len(self.equations.mechanism.plans.nontrivial)}
        if self.feedback == FORCE:
            sizes["virtual_effort"] = nv
            if self.equations.link is not None:
                sizes |= {"virtual_force": 6, "pose_error": 6, "pose_rate": 6}
        ends = list(accumulate(sizes.values()))
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    def __call__(self, q: Vector, v: Vector, loops: Vector, hold: Vector, **given: Vector) -> Found:
        """The law of generic scalars."""
        equations = self.equations
        wanted, signals = self.wanted(q, v, given)
        a, guards = self._allowed(q, v, wanted, Loops(loops))
        at, rate, late = q, v, a
        if self.predicts:  # half of the time later, where the command is right on the average
            at, rate, step = equations.later(q, v, a, 0.5 * hold[0])
            if self.feedback == PATH:
                given = {**given, "error": [e - s for e, s in zip(given["error"], step, strict=True)]}
            late, more = self._allowed(at, rate, self.wanted(at, rate, given)[0], Loops(loops))
            guards = [*guards, *more]
        return Found(equations.efforts(at, rate, late), a, signals, guards)

    def wanted(self, q: Vector, v: Vector, given: Mapping[str, Vector]) -> tuple[list[Scalar], list[Scalar]]:
        """Virtual efforts on all joints of the tree, or the accelerations that are wanted; and the signals."""
        gap = self.equations.gap(q)
        if self.feedback == PATH:
            return self.equations.wanted(q, v, Path(**given)), gap
        virtual = self.equations.virtual(q, v, self.follow(given))
        signals = virtual if self.equations.link is not None else (virtual.effort,)
        return virtual.effort, [*gap, *(x for values in signals for x in values)]

    def _allowed(
        self, q: Vector, v: Vector, wanted: Sequence[Scalar], loops: Loops
    ) -> tuple[list[Scalar], list[Scalar]]:
        by = self.equations.by_path if self.feedback == PATH else self.equations.by_force
        return by(q, v, wanted, loops)

    def follow(self, given: Mapping[str, Vector]) -> Follow:
        """The reference; without a pose where there is no link to have one."""
        nothing: tuple[Scalar, ...] = ()
        return Follow(**{name: given.get(name, nothing) for name in Follow._fields})

    def compile(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """(q, v, ...) -> efforts on all joints of the tree, a*, and the signals in a row.

        Args:
            otherwise: is called instead where a pose is near a singular one.
        """

        def body(**given: Vector) -> Traced:
            found = self(**given)
            outputs = {"effort": found.effort, "reached": found.acceleration, "signals": found.signals}
            return self.equations.traced(outputs, given["q"], found.guards)

        return compiled(f"virtual_closed_chain_{self.feedback}", self.sizes, body, otherwise)

    def compile_wanted(self) -> Callable[..., Any]:
        """(q, v, ...) -> virtual efforts on all joints of the tree, or accelerations that are wanted; the signals."""

        def body(q: Vector, v: Vector, loops: Vector, hold: Vector, **given: Vector) -> dict[str, Any]:
            wanted, signals = self.wanted(q, v, given)
            return {"wanted": wanted, "signals": signals}

        return compiled(f"virtual_{self.feedback}", self.sizes, body)


def constants(values: Iterable[float]) -> tuple[float, ...]:
    """Constants to fold into code."""
    return tuple(float(x) for x in values)
