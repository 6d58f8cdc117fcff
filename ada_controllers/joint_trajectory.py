# SPDX-License-Identifier: Apache-2.0
"""Joint trajectories to a goal, or through points, within velocity and acceleration limits (Yamada, sec. 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.motion import PROFILES, Bounds, JointMotion, Point, brake, plan, quintic, stop
from ada_controllers.state import JointPath, JointReference, Reference, ReferenceRefused, State
from ada_controllers.waypoints import through
from ada_dynamics.arrays import Array
from ada_robot.contract import Command
from ada_robot.limits import ROUNDING
from ada_robot.settings import setting

MAX_POINTS = 500  # maximum number of points of a path; its spline is solved while the robot waits
_KEPT = 1.0 - 1e-6  # share of the limits used, so that rounding errors do not exceed them


@dataclass(frozen=True)
class JointTrajectorySettings:
    """Profile, velocities and accelerations."""

    profile: str = setting(
        "quartic", "quartic: acceleration, constant speed, deceleration; quintic: one polynomial", choices=PROFILES
    )
    acceleration_time: float = setting(
        0.0, "duration of acceleration and of deceleration (quartic); 0: the fastest possible", unit="s", lower=0.0
    )
    speed: tuple[float, ...] = setting(
        (0.0,),
        "speed limit of each joint; one value for all; 0: limit of the robot description, or 1 without one",
        unit="rad/s, m/s",
        lower=0.0,
    )
    speed_scale: float = setting(1.0, "usable fraction of these speeds", lower=0.01, upper=1.0)
    acceleration: tuple[float, ...] = setting(
        (2.0,), "acceleration limit of each joint; one value for all", unit="rad/s^2, m/s^2", lower=1e-3
    )


class JointTrajectory(Controller[JointTrajectorySettings]):
    """Positions and velocities of a trajectory planned when a goal or a path is received.

    A new plan starts from the commanded position, velocity and acceleration, without a jump, and satisfies the limits
    exactly. If no plan of the profile does, because the robot moves fast towards a close goal, the present motion is
    ended first. A path stops at points next to segments that would exceed the position limits; it is refused if its
    velocities at these points are not zero. `brake` discards the plan and decelerates each joint at its limit.
    """

    NAME = "joint_trajectory"
    SUMMARY = "joints to a goal or through points, with limited speed and acceleration"
    KIND = "position"
    REFERENCES = (JointReference, JointPath)
    SETTINGS = JointTrajectorySettings

    def _prepare(self) -> None:
        settings, shaping = self.settings, self.shaping
        known = np.array([limit.velocity for limit in self.limits])
        desired = self.per_joint("speed", settings.speed)
        speed = np.where(desired > 0.0, np.minimum(desired, known), np.where(np.isfinite(known), known, 1.0))
        speed = np.minimum(speed * settings.speed_scale, known * shaping.velocity_scale)
        acceleration = self.per_joint("acceleration", settings.acceleration)
        if shaping.acceleration:
            acceleration = np.minimum(acceleration, shaping.acceleration)
        self.bounds = Bounds(
            np.maximum(_KEPT * speed, 1e-9),
            _KEPT * acceleration,
            np.array([limit.lower + shaping.position_margin for limit in self.limits]),
            np.array([limit.upper - shaping.position_margin for limit in self.limits]),
            self.joints,
        )
        self._motion = JointMotion.rest(np.zeros(len(self.joints)))
        self._now, self._began, self._time = self._motion(0.0), 0.0, 0.0
        self._measured = self._now.position

    # --- plans ------------------------------------------------------------------------------------------------------
    def _begin(self, state: State, time: float) -> None:
        """Stop from the last commanded, or the measured, positions and velocities."""
        _, position, velocity, _, _ = self.last_command
        self._measured = state.q[self.q_index]
        if position is None:
            position, velocity = self._measured, None
        self._halt(position, state.v[self.v_index] if velocity is None else velocity, time)

    def _reference_at(self, state: State) -> Reference:
        return JointReference(self._motion.final)

    def _halt(self, position: Array, velocity: Array, time: float) -> None:
        """Plan a motion to rest within the position limits."""
        bounds = self.bounds.including(position)
        start = Point(position, np.clip(velocity, -bounds.speed, bounds.speed), np.zeros_like(velocity))
        moving = stop(start, bounds)
        final = np.clip(moving.final, bounds.lower, bounds.upper)
        if not np.array_equal(final, moving.final):  # the distance is too short for the deceleration limit
            moving = quintic(start, final, moving.end)
        self._motion, self._began, self._time = moving, time, time
        self._now = moving(0.0)

    def _accept(self, reference: Reference, state: State, time: float) -> None:
        elapsed = time - self._began
        start = self._motion(elapsed)
        if isinstance(reference, JointPath):
            self._motion = through(start, reference, self.bounds, self._motion.after(elapsed))
        else:
            goal = cast(JointReference, reference).position
            if isinstance(self.reference, JointReference) and np.array_equal(goal, self._motion.final):
                return  # already the goal
            own, bounds, so_far = self.settings, self.bounds.including(start.position), self._motion.after(elapsed)
            self._motion = plan(start, goal, bounds, own.profile, own.acceleration_time, so_far)
        self._began, self._time = time, time

    def planned(self, time: float) -> JointReference:
        """Return the planned joint state at a time."""
        return JointReference(*self._motion(time - self._began))

    @property
    def remaining(self) -> float:
        """Time until the commanded joints are at rest [s]."""
        return max(self._motion.end - (self._time - self._began), 0.0)

    def brake(self, time: float) -> None:
        """Decelerate all joints at their acceleration limits; see `Controller.brake`."""
        self._motion = brake(self._motion(time - self._began), self.bounds)
        self._began = self._time = time
        self.reference = JointReference(self._motion.final)

    def resting(self, time: float) -> Array:
        """Return the positions at which `brake` would stop."""
        return brake(self._motion(time - self._began), self.bounds).final

    # --- references -------------------------------------------------------------------------------------------------
    def _check_margin(self, positions: Array) -> None:
        """Refuse points, (points, joints), within the position margin, except at the start of the joints."""
        room = self.bounds.including(self._now.position)
        outside = (positions < room.lower - ROUNDING) | (positions > room.upper + ROUNDING)
        for i, j in np.argwhere(outside)[:1].tolist():
            where = f" at point {i + 1}" if len(positions) > 1 else ""
            raise ReferenceRefused(
                f"{self.NAME}: joint {self.joints[j]!r}: position{where} is {positions[i, j]:.15g}, outside of "
                f"[{room.lower[j]:.15g}, {room.upper[j]:.15g}], its range reduced by position_margin "
                f"{self.shaping.position_margin:g}; command a value inside, or reduce the margin.",
                joint=self.joints[j],
                field="position_margin",
                value=float(positions[i, j]),
                allowed=(float(room.lower[j]), float(room.upper[j])),
            )

    def _check_reference(self, reference: Reference) -> None:
        if isinstance(reference, JointPath):
            self._check_margin(reference.positions)
            if len(reference.positions) > MAX_POINTS:
                raise ReferenceRefused(
                    f"{self.NAME}: the path has {len(reference.positions)} points; the maximum is {MAX_POINTS}. "
                    "Split it.",
                    field="positions",
                    value=len(reference.positions),
                    allowed=f"at most {MAX_POINTS} points",
                )
            if reference.velocities is not None and reference.velocities[-1].any():
                raise ReferenceRefused(
                    f"{self.NAME}: the path's last velocities are not zero; it must end at rest.",
                    field="velocities",
                    value=reference.velocities[-1],
                    allowed="zero at the last point",
                )
        elif isinstance(reference, JointReference):
            self._check_margin(reference.position[None])
            for what, values in (("velocity", reference.velocity), ("acceleration", reference.acceleration)):
                if values is not None and values.any():
                    text = (
                        f"{self.NAME}: the goal has a {what} {values.tolist()!r:.80}; goals are reached at rest. Omit "
                        "it, or use a JointPath."
                    )
                    raise ReferenceRefused(text, field=what, value=values, allowed="zero")

    def check_from(self, reference: Reference, time: float) -> None:
        """Refuse times and velocities of a path that exceed the limits from the commanded state."""
        if isinstance(reference, JointPath) and (reference.times is not None or reference.velocities is not None):
            elapsed = time - self._began
            through(self._motion(elapsed), reference, self.bounds, self._motion.after(elapsed))

    # --- law --------------------------------------------------------------------------------------------------------
    def _law(self, state: State, time: float) -> Command:
        self._time, self._measured = time, state.q[self.q_index]
        self._now = self._motion(time - self._began)
        return Command(position=self._now.position, velocity=self._now.velocity)

    def signals(self) -> dict[str, Array]:
        """Return remaining time [s], progress (0 to 1), planned acceleration, and position error."""
        end = self._motion.end
        return {
            "remaining": np.array([self.remaining]),
            "progress": np.array([1.0 if end <= 0.0 else 1.0 - self.remaining / end]),
            "acceleration": self._now.acceleration,
            "error": self._now.position - self._measured,
        }
