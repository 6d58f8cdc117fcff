# SPDX-License-Identifier: Apache-2.0
"""Limits of the point that a robot carries: its speed, and the planes that it stays behind.

The speed of a point p(q) is |J v|. Slowing all joints by one factor leaves its path as it is, so that

    factor = min(1, greatest speed / |J v|,  room / (T n'J v) for each plane that it comes nearer to)

where the room is what is left up to the plane. A point that keeps T n'J v <= room comes ever nearer and never passes
the plane; one that is beyond it may move inwards alone.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple, Protocol

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_robot.safety.settings import SafetySettings

APPROACH = 0.3  # [s]: T above; a point 10 mm before a plane comes nearer at 33 mm/s at most
WINDOW = 0.05  # [s]
_NUMBERS = 4  # of a plane
_KEPT = 0.97  # share of the speed that is used: drives are behind, and each joint brakes at its own rate
_SPEED_MARGIN = 0.25  # share by which the measured speed may exceed the limit
_STILL = 1e-3  # [m] within WINDOW that counts as no motion
_PLANE_MARGIN = 0.02  # [m] by which the measured point may be beyond a plane


class ToolState(NamedTuple):
    """Where a point is, and how it moves with the joints.

    Attributes:
        point: in the robot's base frame [m].
        jacobian: its velocity by the joints' velocities, (3, joints).
    """

    point: Array
    jacobian: Array


class Tool(Protocol):
    """A point that a robot carries."""

    def __call__(self, position: Array) -> ToolState:
        """Where it is for these joint positions [rad, m]."""


class ToolRules:
    """Limits of one point.

    Attributes:
        speed: greatest [m/s]; inf: any.
        normals: of the planes, one row each, of length 1, pointing out of what is allowed.
        offsets: of the planes: allowed is normal . point <= offset [m].
    """

    def __init__(self, tool: Tool | None, settings: SafetySettings) -> None:
        """Take the limits of the settings.

        Args:
            tool: the point; None: the robot has none.
            settings: speed of the tool in the operating mode, `tool_planes`.

        Raises:
            InputError: planes that are none, or for a robot without a tool.
        """
        planes = np.array(settings.tool_planes, dtype=np.float64)
        if planes.size and tool is None:
            text = "tool_planes: this robot's tool is not known; planes cannot be kept. Leave them out."
            raise InputError(text, field="tool_planes", value="no tool")
        if planes.size % _NUMBERS:
            text = (
                f"tool_planes has {planes.size} numbers; give four for each plane: nx, ny, nz, d keep the tool where "
                f"nx x + ny y + nz z <= d, in the robot's base frame [m]."
            )
            raise InputError(text, field="tool_planes", value=planes.size)
        planes = planes.reshape(-1, _NUMBERS)
        lengths = np.linalg.norm(planes[:, :3], axis=1)
        if not (np.isfinite(planes).all() and (lengths > 0.0).all()):
            text = f"tool_planes: {settings.tool_planes}: a normal of zero length, or a number not finite."
            raise InputError(text, field="tool_planes", value=settings.tool_planes)
        self.speed = settings.greatest_tool_speed
        self.normals, self.offsets = planes[:, :3] / lengths[:, None], planes[:, 3] / lengths
        self._tool = tool if tool is not None and (planes.size or math.isfinite(self.speed)) else None

    def prepare(self, joints: int) -> None:
        """Compile what is asked in each cycle. Args: how many joints the robot has."""
        if self._tool is not None:
            self._tool(np.zeros(joints))

    def lower(self, speed: float) -> None:
        """Lower the greatest speed, also while the robot moves: demands slow down by their ramps.

        Args:
            speed: new [m/s].

        Raises:
            InputError: it is none, or more than before, or nothing limits the robot so far.
        """
        if self._tool is None:
            text = (
                "the speed of this robot's tool cannot be lowered now: it was opened without a limit of its tool, or "
                "its tool is not known. Open it with a tool_speed."
            )
            raise InputError(text, field="tool_speed", value=speed)
        if not 0.0 < speed <= self.speed:
            text = (
                f"the tool's speed is limited to {self.speed:g} m/s, and is lowered only: give more than 0 and no more "
                f"than that, not {speed:g}. To raise it, start anew."
            )
            raise InputError(text, field="tool_speed", value=speed, allowed=self.speed)
        self.speed = speed

    def point(self, position: Array) -> Array:
        """Where the point is, for joint positions that are known [m]."""
        assert self._tool is not None
        return self._tool(position).point

    @property
    def is_limiting(self) -> bool:
        """True if there is anything to keep."""
        return self._tool is not None

    def slowed(self, position: Array, velocity: Array) -> Array:
        """The same motion, as slow as the limits ask.

        Args:
            position: of the joints [rad, m].
            velocity: wanted [rad/s, m/s].
        """
        if self._tool is None or not velocity.any():
            return velocity
        if not np.isfinite(position).all():
            return np.zeros_like(velocity)  # without a known pose nothing moves
        state = self._tool(position)
        moves = state.jacobian @ velocity
        factor = min(1.0, _KEPT * self.speed / max(float(np.linalg.norm(moves)), 1e-12))
        for normal, offset in zip(self.normals, self.offsets, strict=True):
            comes = float(normal @ moves)
            if comes > 0.0:
                factor = min(factor, max(offset - float(normal @ state.point), 0.0) / (APPROACH * comes))
        return velocity if factor == 1.0 else velocity * factor

    def within(self, position: Array, slowest: Array, velocity: Array) -> Array:
        """The motion nearest to a wanted one, of those between it and the way to rest, that keeps the limits.

        Joints that speed up and slow down by their own limits bend the path: what was slowed as a whole may be too
        fast on the way there. With v = s + x (w - s) the greatest x in [0, 1] is the one that keeps |J v| and n'J v.

        Args:
            position: of the joints [rad, m].
            slowest: s, velocities of the way to rest, which are returned where not even they keep the limits.
            velocity: w, wanted [rad/s, m/s].
        """
        if self._tool is None or not np.isfinite(position).all():
            return velocity if self._tool is None else slowest
        state = self._tool(position)
        rest, more = state.jacobian @ slowest, state.jacobian @ (velocity - slowest)
        share = _share(float(more @ more), float(rest @ more), float(rest @ rest) - (_KEPT * self.speed) ** 2)
        for normal, offset in zip(self.normals, self.offsets, strict=True):
            most = max(offset - float(normal @ state.point), 0.0) / APPROACH
            comes, faster = float(normal @ rest), float(normal @ more)
            if comes + faster > most:
                share = min(share, max((most - comes) / faster, 0.0) if faster > 0.0 else 0.0)
        return velocity if share == 1.0 else slowest + share * (velocity - slowest)


class ToolWatch:
    """Checks that the measured point keeps its limits.

    Its speed is the way that it went within `WINDOW`: over one cycle, delays of answers would look like speed. A limit
    that is lowered counts once a robot had the time to slow down.
    """

    def __init__(self, rules: ToolRules, ramp: float = 0.0) -> None:
        """Args: the limits; how long slowing down takes at most [s]."""
        self._rules, self._ramp = rules, ramp
        self._speed = self._wanted = rules.speed
        self._lowered_at = -math.inf
        self._seen: deque[tuple[float, Array]] = deque()

    def broken(self, time: float, position: Array) -> str:
        """A limit that is not kept, in words; "": none, or nothing is known.

        Args:
            time: of the positions [s].
            position: of the joints, measured [rad, m].
        """
        rules, seen = self._rules, self._seen
        if not rules.is_limiting or not np.isfinite(position).all():
            return ""
        point, greatest = rules.point(position), self._greatest(time)
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
            return f"the tool moves at {speed:.3g} m/s; at most {greatest:g} m/s are allowed (tool_speed)"
        for i, (normal, offset) in enumerate(zip(rules.normals, rules.offsets, strict=True)):
            beyond = float(normal @ point) - offset
            if beyond > _PLANE_MARGIN and float(normal @ way) > _STILL:
                return f"the tool is {beyond:.3g} m beyond plane {i + 1} of tool_planes, and moves on"
        return ""

    def _greatest(self, time: float) -> float:
        """The limit that counts by now [m/s]."""
        if self._wanted != self._rules.speed:
            self._wanted, self._lowered_at = self._rules.speed, time
        if time - self._lowered_at > self._ramp + WINDOW:
            self._speed = self._wanted
        return self._speed


def _share(a: float, b: float, c: float) -> float:
    """The greatest x in [0, 1] with a x² + 2 b x + c <= 0; 0 where there is none."""
    if a + 2.0 * b + c <= 0.0:
        return 1.0
    if c >= 0.0 or a <= 0.0:
        return 0.0
    return min((math.sqrt(b * b - a * c) - b) / a, 1.0)
