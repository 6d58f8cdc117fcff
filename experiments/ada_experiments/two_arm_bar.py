# SPDX-License-Identifier: Apache-2.0
"""Two arms that move as if a rigid bar connected their hands, on a fixed and on a floating base.

Virtual closed chains of floating robots in space, which Takahashi 2012 leaves to later work (sec. 7.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ada_controllers.in_simulation import InSimulation
from ada_controllers.state import PoseReference
from ada_controllers.virtual_closed_chain import VirtualClosedChain
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.snapshots import plot_snapshots
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import Log
from ada_tools.scenario.registry import Claim, Outcome, Progress, experiment
from ada_tools.scenario.scenario import Scenario

LEFT, RIGHT, BODY = "left_hand", "right_hand", "body"
BAR = "bar"
WEIGHT = (0.0, 0.0, -9.81)
WEIGHTLESS = (0.0, 0.0, 0.0)

# Axis, length [m] and mass [kg] of the link of each joint, from the shoulder on.
_ARM = (("y", 0.0, 0.5), ("z", 0.0, 0.5), ("x", 0.35, 2.0), ("z", 0.30, 1.5), ("x", 0.0, 0.4), ("z", 0.12, 0.6))
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_RADIUS = 0.04  # [m] of the links
_START = (0.3, 0.5, 0.1, -1.3, 0.2, -0.4)  # [rad] of the left arm
_MIRRORED = (1.0, -1.0, -1.0, -1.0, -1.0, -1.0)  # of the right one
_MOVED = np.array([0.05, 0.04, 0.10])  # [m] desired motion of the bar relative to the body
_HELD = "due to the zero-order hold of the torque over 1 ms"
_GAINS = {
    "link": LEFT,
    "joint_stiffness": [0.0],
    "joint_damping": [0.2],
    "pose_stiffness": [80.0] * 3 + [20.0] * 3,
    "pose_damping": [40.0] * 3 + [10.0] * 3,
    "hold": 1e-3,
}


@dataclass(frozen=True)
class BarCase:
    """One base condition."""

    name: str
    base: str
    gravity: tuple[float, float, float]
    weight: bool  # whether gravity acts on the virtual mechanism
    feedback: str = "force"


CASES = (
    BarCase("fixed body, gravity", "fixed", WEIGHT, False),
    BarCase("floating body", "floating", WEIGHTLESS, False),
    BarCase("floating body, along the loop", "floating", WEIGHTLESS, False, "path"),
    BarCase("falling body, gravity", "floating", WEIGHT, True),
)


def two_arms(base: str, gravity: Sequence[float]) -> Model:
    """A body with two unconnected arms of six joints each."""
    builder = Builder("two_arms")
    builder.link(BODY, 20.0, (0.0, 0.0, 0.0), np.diag([0.6, 0.5, 0.4]))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        parent, at = BODY, (0.1, 0.25 * sign, 0.0)
        for number, (axis, length, mass) in enumerate(_ARM, start=1):
            link = f"{side}_{number}"
            across = mass * (length**2 / 12.0 + _RADIUS**2 / 4.0)
            builder.link(link, mass, (0.5 * length, 0.0, 0.0), np.diag([0.5 * mass * _RADIUS**2, across, across]))
            builder.joint(f"{side}_joint_{number}", "revolute", parent, link, at, axis=_AXES[axis])
            parent, at = link, (length, 0.0, 0.0)
        builder.link(f"{side}_hand")
        builder.joint(f"{side}_grip", "fixed", parent, f"{side}_hand", at)
    return builder.build(base=base, gravity=gravity)


def start_of(model: Model) -> Array:
    """Initial position with both hands in front of the body."""
    q = model.neutral()
    for number, angle in enumerate(_START):
        q[model.q_index(f"left_joint_{number + 1}")] = angle
        q[model.q_index(f"right_joint_{number + 1}")] = angle * _MIRRORED[number]
    return q


def with_bar(model: Model, q: Array) -> Model:
    """The robot with a rigid massless bar between its hands in the given pose."""
    apart = hands_apart(Dynamics(model), q)
    parts = Parts.of(model)
    parts.loops[BAR] = LoopJoint(BAR, "fixed", LEFT, RIGHT, apart[:3, 3], apart[:3, :3])
    return parts.build()


def hands_apart(dynamics: Dynamics, q: Array) -> Array:
    """Pose of the right hand in the left hand frame, 4x4."""
    return np.asarray(np.linalg.solve(dynamics.pose(LEFT, q), dynamics.pose(RIGHT, q)), dtype=np.float64)


@dataclass
class BarMotion:
    """Simulated motion of a case."""

    case: BarCase
    log: Log
    bar: Model
    start: Array

    def bar_error(self) -> float:
        """Largest change of an element of the relative pose of the hands: lengths [m] and axes."""
        dynamics = Dynamics(self.log.model)
        first = hands_apart(dynamics, self.start)
        return max(float(np.abs(hands_apart(dynamics, q) - first).max()) for q in self.log.q[::20])

    def bar_force(self) -> float:
        """Largest component of the wrench that a real bar would transmit under the same torques [N, N m]."""
        dynamics, log = Dynamics(self.bar), self.log
        rows = range(0, len(log), 100)
        return max(float(np.abs(dynamics.joint_wrenches(log.q[i], log.v[i], log.tau[i])[BAR]).max()) for i in rows if i)

    def error_left(self) -> float:
        """Final distance of the left hand from its target relative to the body [m]."""
        dynamics = Dynamics(self.log.model)
        at = [np.linalg.solve(dynamics.pose(BODY, q), dynamics.pose(LEFT, q)) for q in (self.start, self.log.q[-1])]
        return float(np.linalg.norm(at[1][:3, 3] - at[0][:3, 3] - _MOVED))

    def momentum_change(self) -> float:
        """Largest change of the momentum, without the effect of gravity [kg m/s, kg m²/s]."""
        momentum = np.asarray(self.log.momentum) - np.asarray(self.log.momentum)[0]
        mass = sum(link.mass for link in self.log.model.links.values())
        momentum[:, :3] -= mass * np.outer(self.log.t, self.case.gravity)
        return float(np.abs(momentum).max())


def move(case: BarCase, duration: float) -> BarMotion:
    """Simulate a case."""
    model = two_arms(case.base, case.gravity)
    q = start_of(model)
    bar = with_bar(model, q)
    settings = {**_GAINS, "weight": case.weight, "feedback": case.feedback}
    controller = VirtualClosedChain(model, settings, virtual=bar)
    dynamics = Dynamics(model)
    wanted = np.array(np.linalg.solve(dynamics.pose(BODY, q), dynamics.pose(LEFT, q)), dtype=np.float64)
    wanted[:3, 3] += _MOVED
    loop = InSimulation(controller, PoseReference(wanted), period=1e-3)
    log = loop.simulation(model, q, step=1e-3).run(duration)
    return BarMotion(case, log, bar, q)


@experiment("two_arm_bar")
def two_arm_bar(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Check that the bar stays rigid and free of force, reaches its target, and that momentum is conserved."""
    duration = 6.0  # [s]
    outcome = Outcome()
    for number, case in enumerate(CASES):
        progress(number / len(CASES), case.name)
        moved = move(case, duration)
        bar, force, left, drift = moved.bar_error(), moved.bar_force(), moved.error_left(), moved.momentum_change()
        outcome.claims += [
            Claim(f"{case.name}: the bar stays rigid", bar, 1e-6, unit="m, -"),
            Claim(f"{case.name}: wrench in a real bar", force, 5e-3, unit="N, N m", note=_HELD),
            Claim(f"{case.name}: final position error of the hand", left, 1e-3, unit="m"),
        ]
        if case.base == "floating":
            outcome.claims.append(Claim(f"{case.name}: momentum is conserved", drift, 1e-9, unit="kg m/s, kg m²/s"))
        if number < 2:
            outcome.figures.append(output / f"two_arm_bar_{case.base}.png")
            plot_snapshots(moved.log, outcome.figures[-1], count=6, plane="3d", columns=6)
    return outcome
