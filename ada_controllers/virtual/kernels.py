# SPDX-License-Identifier: Apache-2.0
"""Control law of virtual closed chains as compiled kernels, and as function of scalars for other kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ada_controllers.virtual.law import Equations, Follow, Loops, Path
from ada_dynamics.expr import Traced
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.spatial.vector import Scalar

FORCE, PATH = "force", "path"
POSE, TWIST = 12, 6  # sizes of a pose (three columns of its rotation, position) and of a twist


class Found(NamedTuple):
    """Results of the law, over generic scalars.

    Attributes:
        effort: efforts on all joints of the tree.
        acceleration: a* at the start of the command.
        signals: signals in one row, indexed by `Law.parts`.
        guards: quantities that must not be negative.
    """

    effort: list[Scalar]
    acceleration: list[Scalar]
    signals: list[Scalar]
    guards: list[Scalar]


class Law:
    """Control law of a mechanism, by virtual forces or by path feedback."""

    def __init__(self, equations: Equations, feedback: str, predicts: bool) -> None:
        """Args: equations; FORCE or PATH; whether commands are computed for the middle of their duration."""
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
        """Return the slices of the signals."""
        sizes = {"gap": len(self.equations.mechanism.plans.nontrivial)}
        if self.feedback == FORCE:
            sizes["virtual_effort"] = nv
            if self.equations.link is not None:
                sizes |= {"virtual_force": 6, "pose_error": 6, "pose_rate": 6}
        ends = list(accumulate(sizes.values()))
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    def __call__(self, q: Vector, v: Vector, loops: Vector, hold: Vector, **given: Vector) -> Found:
        """Evaluate the law over generic scalars."""
        equations = self.equations
        desired, signals = self.desired(q, v, given)
        a, guards = self._allowed(q, v, desired, Loops(loops))
        at, rate, late = q, v, a
        if self.predicts:  # half of the duration later, at which the command is correct on average
            at, rate, step = equations.later(q, v, a, 0.5 * hold[0])
            if self.feedback == PATH:
                given = {**given, "error": [e - s for e, s in zip(given["error"], step, strict=True)]}
            late, more = self._allowed(at, rate, self.desired(at, rate, given)[0], Loops(loops))
            guards = [*guards, *more]
        return Found(equations.efforts(at, rate, late), a, signals, guards)

    def desired(self, q: Vector, v: Vector, given: Mapping[str, Vector]) -> tuple[list[Scalar], list[Scalar]]:
        """Return virtual efforts on all joints of the tree, or desired accelerations; and the signals."""
        gap = self.equations.gap(q)
        if self.feedback == PATH:
            return self.equations.desired(q, v, Path(**given)), gap
        virtual = self.equations.virtual(q, v, self.follow(given))
        signals = virtual if self.equations.link is not None else (virtual.effort,)
        return virtual.effort, [*gap, *(x for values in signals for x in values)]

    def _allowed(
        self, q: Vector, v: Vector, desired: Sequence[Scalar], loops: Loops
    ) -> tuple[list[Scalar], list[Scalar]]:
        by = self.equations.by_path if self.feedback == PATH else self.equations.by_force
        return by(q, v, desired, loops)

    def follow(self, given: Mapping[str, Vector]) -> Follow:
        """Return the reference; the pose is empty without a link."""
        nothing: tuple[Scalar, ...] = ()
        return Follow(**{name: given.get(name, nothing) for name in Follow._fields})

    def compile(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """Compile (q, v, ...) -> efforts on all joints of the tree, a*, and the signals.

        Args:
            otherwise: fallback near singular configurations.
        """

        def body(**given: Vector) -> Traced:
            found = self(**given)
            outputs = {"effort": found.effort, "reached": found.acceleration, "signals": found.signals}
            return self.equations.traced(outputs, given["q"], found.guards)

        return compiled(f"virtual_closed_chain_{self.feedback}", self.sizes, body, otherwise)

    def compile_desired(self) -> Callable[..., Any]:
        """Compile (q, v, ...) -> virtual efforts on all joints of the tree, or desired accelerations; the signals."""

        def body(q: Vector, v: Vector, loops: Vector, hold: Vector, **given: Vector) -> dict[str, Any]:
            desired, signals = self.desired(q, v, given)
            return {"desired": desired, "signals": signals}

        return compiled(f"virtual_{self.feedback}", self.sizes, body)


def constants(values: Iterable[float]) -> tuple[float, ...]:
    """Convert to constants that are folded into code."""
    return tuple(float(x) for x in values)
