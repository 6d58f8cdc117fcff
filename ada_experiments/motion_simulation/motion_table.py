# SPDX-License-Identifier: Apache-2.0
"""A motion table as the hybrid simulation sees it: it follows a pose, and returns what the sensor measured.

Two kinds: `impedance` (a plate on springs, eqs. 10 and 15; no devices) and `hexa` (the HEXA and a force sensor, byte
for byte). One exchange per period: the force that was measured, and the next pose.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from ada_dynamics.arrays import Array


class Reading(NamedTuple):
    """Report of a table and its sensor.

    Attributes:
        wrench: [f, n] on the probe, about the sensor's origin in its axes, less what it was at rest [N, N m]; that of
            the pose that was sent `exchanges_to_force` exchanges before.
        pose: of the plate, 4x4.
        is_ready: whether the table follows poses.
        is_fresh: whether both came in this period.
        is_saturated: whether the sensor is at the end of its range.
        problem: what is wrong with the table or its sensor, so that the motion must end; "" where nothing is.
    """

    wrench: Array
    pose: Array
    is_ready: bool = True
    is_fresh: bool = True
    is_saturated: bool = False
    problem: str = ""


class MotionTable(ABC):
    """A motion table with a force sensor beside it. All calls come from one thread."""

    NAME: ClassVar[str]

    @property
    @abstractmethod
    def period(self) -> float:
        """Between two exchanges [s]."""

    @property
    def exchanges_to_force(self) -> int:
        """How many exchanges after the one that sent a pose a reading has the force of that pose: 1 or more."""
        return 1

    @abstractmethod
    def open(self) -> None:
        """Find the devices; nothing moves.

        Raises:
            TransportError: a wire cannot be opened.
            NoAnswer: a device does not answer.
        """

    def idle(self) -> None:  # noqa: B027  # not every table has to do anything
        """One period in which nobody asks anything: stay in touch with the devices; nothing moves."""

    @abstractmethod
    def prepare(self, pose: Array) -> Reading:
        """One period on the way to where the motion begins: slowly there, stand still, take the sensor's zero.

        To be called until the reading says that the table is ready.

        Raises:
            Unreachable: the plate cannot be there.
            HardwareError: a device does not do what it is told.
        """

    @abstractmethod
    def exchange(self, pose: Array, twist: Array) -> Reading:
        """One period's exchange.

        Args:
            pose: where the plate is to be from now on, 4x4 in the frame of the table's base.
            twist: how fast it is to go there, in the same axes.

        Raises:
            Refused: the plate cannot be there, or must not go there so fast; it holds where it is.
            TransportError: a wire is gone.
        """

    @abstractmethod
    def stop(self) -> None:
        """Hold where it is; nothing is raised."""

    @abstractmethod
    def close(self) -> None:
        """End, with the table still; may be called twice."""
