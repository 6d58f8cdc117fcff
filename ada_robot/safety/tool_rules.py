# SPDX-License-Identifier: Apache-2.0
"""Limits of the tool point: maximum speed, and planes that it must not cross.

The speed of a point p(q) is |J v|. Scaling all joint velocities by one factor keeps the path, so that

    factor = min(1, maximum speed / |J v|,  distance / (T n'J v) for each plane that the point approaches)

A point that satisfies T n'J v <= distance approaches the plane asymptotically. A point beyond a plane may only move
back.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_robot.safety.settings import SafetySettings

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics

APPROACH = 0.3  # T above [s]; a point 10 mm from a plane approaches it at 33 mm/s at most
WINDOW = 0.05  # [s]
_NUMBERS = 4  # numbers per plane
_KEPT = 0.97  # used share of the speed limit: drives lag, and each joint brakes at its own rate
_SPEED_MARGIN = 0.25  # tolerance of the measured speed, as a share of the limit
_STILL = 1e-3  # displacement within WINDOW that counts as no motion [m]
_PLANE_MARGIN = 0.02  # tolerance of the measured point beyond a plane [m]


class ToolState(NamedTuple):
    """Position and Jacobian of the tool point."""

    point: Array  # position in the base frame of the robot [m]
    jacobian: Array  # (3, joints), velocity of the point by the joint velocities


Tool: TypeAlias = Callable[[Array], ToolState]
"""Kinematics of a tool point: position and Jacobian at joint positions [rad, m]."""


class ToolRules:
    """Limits of the tool point.

    Attributes:
        tool: tool point; None without limits.
        speed: maximum speed [m/s]; inf for none.
        normals: unit outward normals of the planes, one per row.
        offsets: offsets of the planes: normal . point <= offset is allowed [m].
    """

    def __init__(self, tool: Tool | None, settings: SafetySettings) -> None:
        """Read the limits from the settings.

        Args:
            tool: tool point; None if the robot has none.
            settings: settings with the tool speed of the operating mode and `tool_planes`.

        Raises:
            InputError: if planes are invalid, or given for a robot without a tool point.
        """
        planes = np.array(settings.tool_planes, dtype=np.float64)
        if planes.size and tool is None:
            text = "tool_planes: this robot has no known tool point, so planes cannot be monitored; leave them out."
            raise InputError(text, field="tool_planes", value="no tool")
        if planes.size % _NUMBERS:
            text = (
                f"tool_planes has {planes.size} numbers; give four per plane: nx, ny, nz, d keep the tool point where "
                f"nx x + ny y + nz z <= d, in the base frame of the robot [m]."
            )
            raise InputError(text, field="tool_planes", value=planes.size)
        planes = planes.reshape(-1, _NUMBERS)
        lengths = np.linalg.norm(planes[:, :3], axis=1)
        if not (np.isfinite(planes).all() and (lengths > 0.0).all()):
            text = f"tool_planes {settings.tool_planes}: a normal has zero length, or a number is not finite."
            raise InputError(text, field="tool_planes", value=settings.tool_planes)
        self.speed = settings.greatest_tool_speed
        self.normals, self.offsets = planes[:, :3] / lengths[:, None], planes[:, 3] / lengths
        self.tool = tool if tool is not None and (planes.size or math.isfinite(self.speed)) else None

    def lower(self, speed: float) -> None:
        """Lower the speed limit, also during motion; demands follow it by their ramps. Args: new limit [m/s].

        Raises:
            InputError: if it is not positive or above the present limit, or the robot has no tool limits.
        """
        if self.tool is None:
            text = (
                "the tool speed of this robot cannot be limited now: it was opened without a tool limit, or has no "
                "known tool point. Open it with a tool_speed."
            )
            raise InputError(text, field="tool_speed", value=speed)
        if not 0.0 < speed <= self.speed:
            text = (
                f"tool speed {speed:g} m/s is not allowed: it must be positive and at most the present limit "
                f"{self.speed:g} m/s. To raise it, restart the robot."
            )
            raise InputError(text, field="tool_speed", value=speed, allowed=self.speed)
        self.speed = speed

    def slowed(self, position: Array, velocity: Array) -> Array:
        """Scale joint velocities down to the limits, keeping the direction of motion.

        Args:
            position: joint positions [rad, m].
            velocity: commanded joint velocities [rad/s, m/s].
        """
        if self.tool is None or not velocity.any():
            return velocity
        if not np.isfinite(position).all():
            return np.zeros_like(velocity)  # the configuration is unknown: no motion
        state = self.tool(position)
        moves = state.jacobian @ velocity
        factor = min(1.0, _KEPT * self.speed / max(float(np.linalg.norm(moves)), 1e-12))
        for normal, offset in zip(self.normals, self.offsets, strict=True):
            comes = float(normal @ moves)
            if comes > 0.0:
                factor = min(factor, max(offset - float(normal @ state.point), 0.0) / (APPROACH * comes))
        return velocity if factor == 1.0 else velocity * factor

    def within(self, position: Array, slowest: Array, velocity: Array) -> Array:
        """Return the velocity nearest to the commanded one, on the line towards the ramp to rest, within the limits.

        Joint acceleration limits bend the path, so that velocities scaled as a whole may still be too fast. With
        v = s + x (w - s), x is the greatest value in [0, 1] that satisfies the limits of |J v| and n'J v.

        Args:
            position: joint positions [rad, m].
            slowest: s, velocities of the ramp to rest, returned if not even these satisfy the limits.
            velocity: w, commanded velocities [rad/s, m/s].
        """
        if self.tool is None or not np.isfinite(position).all():
            return velocity if self.tool is None else slowest
        state = self.tool(position)
        rest, more = state.jacobian @ slowest, state.jacobian @ (velocity - slowest)
        share = _share(float(more @ more), float(rest @ more), float(rest @ rest) - (_KEPT * self.speed) ** 2)
        for normal, offset in zip(self.normals, self.offsets, strict=True):
            most = max(offset - float(normal @ state.point), 0.0) / APPROACH
            comes, faster = float(normal @ rest), float(normal @ more)
            if comes + faster > most:
                share = min(share, max((most - comes) / faster, 0.0) if faster > 0.0 else 0.0)
        return velocity if share == 1.0 else slowest + share * (velocity - slowest)


class ToolMonitor:
    """Monitors the limits of the measured tool point.

    Its speed is measured over `WINDOW`, because reply delays would appear as speed over a single cycle. A lowered limit
    applies after the time for slowing down.
    """

    def __init__(self, rules: ToolRules, ramp: float = 0.0) -> None:
        """Set limits of the tool point, and the maximum duration of slowing down [s]."""
        self._rules, self._ramp = rules, ramp
        self._speed = self._desired = rules.speed
        self._lowered_at = -math.inf
        self._seen: deque[tuple[float, Array]] = deque()

    def broken(self, time: float, position: Array) -> str:
        """Describe a violated limit; "" if none is, or the configuration is unknown.

        Args:
            time: time of the positions [s].
            position: measured joint positions [rad, m].
        """
        rules, seen = self._rules, self._seen
        if rules.tool is None or not np.isfinite(position).all():
            return ""
        point, greatest = rules.tool(position).point, self._greatest(time)
        if seen and not 0.0 <= time - seen[-1][0] <= WINDOW:
            seen.clear()
        while len(seen) > 1 and time - seen[1][0] >= WINDOW:
            seen.popleft()
        seen.append((time, point))
        before, whence = seen[0]
        if time - before < WINDOW:
            return ""
        way = point - whence
        speed = float(np.linalg.norm(way)) / (time - before)
        if speed > (1.0 + _SPEED_MARGIN) * greatest:
            return f"the tool moves at {speed:.3g} m/s; the maximum is {greatest:g} m/s (tool_speed)"
        for i, (normal, offset) in enumerate(zip(rules.normals, rules.offsets, strict=True)):
            beyond = float(normal @ point) - offset
            if beyond > _PLANE_MARGIN and float(normal @ way) > _STILL:
                return f"the tool is {beyond:.3g} m beyond plane {i + 1} of tool_planes and moves outwards"
        return ""

    def _greatest(self, time: float) -> float:
        """Present limit, delayed after a change [m/s]."""
        if self._desired != self._rules.speed:
            self._desired, self._lowered_at = self._rules.speed, time
        if time - self._lowered_at > self._ramp + WINDOW:
            self._speed = self._desired
        return self._speed


def _share(a: float, b: float, c: float) -> float:
    """Return the greatest x in [0, 1] with a x² + 2 b x + c <= 0; 0 if there is none."""
    if a + 2.0 * b + c <= 0.0:
        return 1.0
    if c >= 0.0 or a <= 0.0:
        return 0.0
    return min((math.sqrt(b * b - a * c) - b) / a, 1.0)


class LinkPoint:
    """Point fixed to a link: position p_link + R r, Jacobian J_v - (R r) x J_w."""

    def __init__(self, model: Model, link: str, offset: Sequence[float], columns: Sequence[int]) -> None:
        """Set the point; its kinematics is compiled at first use.

        Args:
            model: robot model; joints that the device lacks are at 0.
            link: link of the point.
            offset: position r in the frame of the link [m].
            columns: indices of the device's joints among those of the model.

        Raises:
            InputError: if the offset is not three finite numbers.
        """
        self._offset = np.array(offset, dtype=np.float64)
        if self._offset.shape != (3,) or not np.isfinite(self._offset).all():
            raise InputError(f"tool_offset is {list(offset)}; give x, y, z in the frame of {link!r} [m].")
        self._model, self._link, self._columns = model, link, list(columns)
        self._q = np.zeros(model.nq)

    @cached_property
    def _dynamics(self) -> Dynamics:
        from ada_dynamics.dynamics import Dynamics  # loads the compiler, which clients do not need

        return Dynamics(self._model)

    def __call__(self, position: Array) -> ToolState:
        """Return position and Jacobian at joint positions [rad, m]."""
        self._q[self._columns] = position
        pose = self._dynamics.pose(self._link, self._q)
        linear, angular = np.vsplit(self._dynamics.jacobian(self._link, self._q)[:, self._columns], 2)
        arm = pose[:3, :3] @ self._offset
        return ToolState(pose[:3, 3] + arm, linear + np.cross(angular, arm, axisa=0, axisb=0, axisc=0))
