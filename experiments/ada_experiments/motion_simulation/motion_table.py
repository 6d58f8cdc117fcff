# SPDX-License-Identifier: Apache-2.0
"""Interface of a motion table: follows a pose and returns the measured force.

Two implementations: `impedance` (a plate on springs, eqs. 10 and 15; no devices) and `hexa` (the HEXA and a force
sensor). One exchange per period: the measured force and the next pose.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from ada_dynamics.arrays import Array


class Reading(NamedTuple):
    """Reading of a table and its sensor.

    Attributes:
        wrench: [f, n] on the probe about the sensor origin in sensor axes, minus the value at rest [N, N m]; it belongs
            to the pose sent `exchanges_to_force` exchanges before.
        pose: pose of the plate, 4x4.
        is_ready: whether the table follows poses.
        is_fresh: whether both values are from this period.
        is_saturated: whether the sensor is at the end of its range.
        problem: problem of the table or sensor that ends the motion; "" without one.
    """

    wrench: Array
    pose: Array
    is_ready: bool = True
    is_fresh: bool = True
    is_saturated: bool = False
    problem: str = ""


class MotionTable(ABC):
    """A motion table with a force sensor; called from a single thread."""

    NAME: ClassVar[str]

    @property
    @abstractmethod
    def period(self) -> float:
        """Time between two exchanges [s]."""

    @property
    def exchanges_to_force(self) -> int:
        """Number of exchanges after which a reading contains the force of a sent pose, at least 1."""
        return 1

    @abstractmethod
    def open(self) -> None:
        """Connect to the devices, without motion.

        Raises:
            TransportError: a connection cannot be opened.
            NoAnswer: a device does not reply.
        """

    def idle(self) -> None:  # noqa: B027  (optional for subclasses)
        """Keep the connection to the devices for one period, without motion."""

    @abstractmethod
    def prepare(self, pose: Array) -> Reading:
        """One period of the approach: move slowly to the initial pose, rest, zero the sensor.

        Call it repeatedly until the reading reports that the table is ready.

        Raises:
            Unreachable: the pose is out of reach.
            HardwareError: a device does not follow its commands.
        """

    @abstractmethod
    def exchange(self, pose: Array, twist: Array) -> Reading:
        """One period's exchange.

        Args:
            pose: target pose of the plate, 4x4 in the base frame of the table.
            twist: target twist in the same axes.

        Raises:
            Refused: the pose is out of reach or too fast; the plate holds its position.
            TransportError: the connection is lost.
        """

    @abstractmethod
    def stop(self) -> None:
        """Hold the present pose; never raises."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection with the table at rest; idempotent."""
