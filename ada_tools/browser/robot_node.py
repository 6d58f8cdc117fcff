# SPDX-License-Identifier: Apache-2.0
"""Interfaces between a page and the source of robot motion, a local simulation or a remote node, and a controller.

The reported state of a node determines the controls of the page: see `RobotNode.state`.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.marks import Mark
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_robot.node_state import HardwareState

_SPAN = 1.0  # [s] interval for estimating the rate
_APART = 0.1  # [s] minimum interval between samples
_LOOKS = 3  # number of increasing samples that indicate motion: more than a single step

Answer = Callable[[str | None], None]  # called with None on success, else with the reason of the failure
Positions = Mapping[str, float]  # by joint [rad, m]
Request = Literal["pause", "resume", "step", "reset", "configure", "activate", "deactivate", "arm", "stop", "bias"]


class Moment(NamedTuple):
    """State of a robot at a time [s]; velocities and motor efforts are None if unknown."""

    t: float
    q: Array
    v: Array | None = None
    tau: Array | None = None


class ObservedState(NamedTuple):
    """Complete state of a robot, published by its simulation."""

    arrived: float  # [s], steady clock
    t: float  # [s]
    q: Array
    v: Array
    tau: Array | None = None


class ObservedJoints(NamedTuple):
    """Joint states by name."""

    arrived: float  # [s], steady clock
    t: float  # [s]
    positions: Mapping[str, float]
    velocities: Mapping[str, float]


Observation = ObservedState | ObservedJoints


def fits(seen: Observation, model: Model) -> bool:
    """Return True if a state has the dimensions of the model; joint states by name always match."""
    return not isinstance(seen, ObservedState) or (len(seen.q), len(seen.v)) == (model.nq, model.nv)


class Pose(NamedTuple):
    """Configuration and velocity assembled from joint states."""

    q: Array
    v: Array | None  # None if a velocity is unknown
    missing: tuple[str, ...]  # joints without data, which keep their positions
    foreign: tuple[str, ...]  # received joints that the model does not have


def pose_of(model: Model, seen: ObservedJoints, before: Array) -> Pose:
    """Configuration and velocity of a model from joint states.

    Joints with one coordinate are read by name; the others keep their positions of `before`. Mimic joints are ignored.
    """
    q, v = before.copy(), np.zeros(model.nv)
    missing, has_velocities = [], True
    for name in model.joint_names:
        joint = model.joints[name]
        if not joint.nq:
            continue
        own = model.q_index(name)
        if joint.nq == joint.nv == 1:
            if name in seen.positions:
                q[own] = seen.positions[name]
            else:
                missing.append(name)
            has_velocities &= name in seen.velocities
            v[model.v_index(name)] = seen.velocities.get(name, 0.0)
            continue
        has_velocities = False
        missing.append(name)
    foreign = tuple(name for name in seen.positions if name not in model.joints)
    return Pose(q, v if has_velocities else None, tuple(missing), foreign)


class ObservedMotion:
    """Estimate whether a remote motion is running, and its speed, from the states received once per frame."""

    def __init__(self) -> None:
        """Start without samples."""
        self._looks: deque[tuple[float, float]] = deque()  # arrival time and time stamp of states

    def look(self, seen: Observation) -> None:
        """Add the latest state."""
        if self._looks and (seen.t < self._looks[-1][1] or seen.arrived < self._looks[-1][0]):
            self._looks.clear()  # the motion restarted
        if not self._looks or seen.arrived - self._looks[-1][0] >= _APART:
            self._looks.append((seen.arrived, seen.t))
        while len(self._looks) > _LOOKS and seen.arrived - self._looks[0][0] > _SPAN:
            self._looks.popleft()

    def forget(self) -> None:
        """Discard all samples."""
        self._looks.clear()

    @property
    def is_running(self) -> bool:
        """Return True if the time stamps of the last samples increase; a single step does not count."""
        last = [t for _, t in self._looks][-_LOOKS:]
        return len(last) == _LOOKS and all(a < b for a, b in itertools.pairwise(last))

    @property
    def factor(self) -> float:
        """Ratio of simulated to real time."""
        if len(self._looks) < 2:
            return 0.0
        (first, begin), (last, end) = self._looks[0], self._looks[-1]
        return (end - begin) / (last - first)


class ReceivedPositions(NamedTuple):
    """Joint positions, and their arrival time on the page clock [s]."""

    arrived: float
    positions: Positions


class Wrench(NamedTuple):
    """Reading of a force sensor."""

    arrived: float  # arrival time on the page clock [s]
    frame: str  # frame of the values
    values: Array  # force and moment [N, N m]


class RobotSource(Protocol):
    """Source of the motion on a page: a local simulation, or a remote node.

    All calls are non-blocking; callbacks run on the page thread.

    Attributes:
        name: name used in messages.
        is_running: whether the motion is running; None if this can only be inferred from the states.
        parameters: known parameters, such as "gravity" and "real_time_factor".
    """

    name: str
    is_running: bool | None = None
    parameters: Mapping[str, object] = MappingProxyType({})

    # --- state --------------------------------------------------------------------------------------------------
    def newest(self) -> Observation | None:
        """Latest state."""

    def passed(self) -> Sequence[Moment]:
        """Intermediate states since the last call, for the plots."""
        return ()

    @property
    def loaded(self) -> Sequence[str]:
        """Joints whose loads are known."""
        return ()

    def loads(self, t: float) -> Mapping[str, Array] | None:
        """Wrenches [f, n] of the loaded joints on their children at a time; None if unknown."""
        return None

    def marks(self, wanted: Collection[str]) -> Sequence[Mark]:
        """Markers to display, such as forces, while they are watched; those in unwanted groups may be missing."""
        return ()

    def watch_marks(self, is_on: bool) -> None:
        """Start or stop receiving markers."""
        return

    # --- requests -----------------------------------------------------------------------------------------------
    def command(self, positions: Positions | None, device: str = "") -> None:
        """Send position commands to one device or the whole robot; None stops the commands.

        Raises:
            InputError: the source accepts no commands.
        """
        if positions is not None:
            raise InputError(f"{self.name} accepts no commands.")

    def ask(self, request: Request, then: Answer) -> None:
        """Make a request; may be called from any thread.

        A simulation or recording takes "pause", "resume", "step" and "reset"; devices take "reset", which clears alarms
        and a latched stop, and the others.
        """

    def set_speed(self, factor: float, then: Answer) -> None:
        """Set the ratio of simulated to real time."""

    def push(self, link: str, wrench: Array) -> None:
        """Apply a wrench [f, n] at the origin of a link, in its axes, for a short time, replacing the previous one.

        Raises:
            InputError: no subscriber, or the source accepts no pushes.
        """
        raise InputError(f"{self.name} accepts no pushes.")

    def set_state(self, positions: Positions) -> None:
        """Set the configuration of the robot.

        Raises:
            InputError: no subscriber, or the state of the source cannot be set.
        """
        raise InputError(f"the state of {self.name} cannot be set.")


class RobotNode(RobotSource, Protocol):
    """Remote node of a robot, which may drive devices.

    Attributes:
        waiting_text: text for a page without a robot.
        description: robot description; None before it is received.
        driver: name of the node that drives devices.
        is_there: whether that node is available.
        state: latest state of that node and its devices; None before such a node is detected.
        others: other nodes that command a device, by device.
    """

    waiting_text: str
    description: str | None
    driver: str
    is_there: bool
    state: HardwareState | None
    others: Mapping[str, Sequence[str]]

    def measured(self, device: str) -> ReceivedPositions | None:
        """Measured joint positions of a device."""

    def commanded(self, device: str) -> ReceivedPositions | None:
        """Commanded positions, if the device reports them."""

    def wrench(self, device: str) -> Wrench | None:
        """Latest reading of a sensor."""


# --- controllers ------------------------------------------------------------------------------------------------------
class TargetPose(NamedTuple):
    """Target pose of a link."""

    frame: str  # reference link, or the world frame
    pose: Array  # homogeneous transform 4x4 in that frame


class Follower(Protocol):
    """Remote controller; all calls are non-blocking."""

    name: str  # used in messages

    @property
    def is_there(self) -> bool:
        """Return True if the controller exists, active or not."""

    def target_pose(self) -> TargetPose | None:
        """Target pose that the controller follows; None if it follows none."""

    def target_joints(self) -> Mapping[str, float] | None:
        """Target positions by joint that the controller follows; None if it follows none."""

    def follow_pose(self, target: TargetPose) -> None:
        """Send a target pose. Raises InputError without a subscriber."""

    def follow_joints(self, positions: Mapping[str, float]) -> None:
        """Send target positions. Raises InputError without a subscriber."""
