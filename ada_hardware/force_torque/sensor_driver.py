# SPDX-License-Identifier: Apache-2.0
"""What every force/torque sensor's driver does: bytes of one device to wrenches, and nothing else.

A driver translates. Zero, filter, tool and frames are the matter of `pipeline`, for all sensors alike. All calls come
from one thread at a time:

    open -> read, read, ... (bias and reset between them) -> close
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Generic, NamedTuple, TypeVar

from ada_dynamics.arrays import Array
from ada_robot.driver import LinkCounts

S = TypeVar("S")


@dataclass(frozen=True)
class Sample:
    """What a sensor told in one reading.

    Attributes:
        time: when it came, on the steady clock [s].
        wrench: [f, n] that acts on the sensor from outside, in its own axes at its origin, as the device gives it; NaN
            before the first one came [N, N m].
        is_fresh: whether it came in this reading; else it is what came last.
        is_saturated: some axis is at the end of its range: the true wrench may be greater.
        error: what the device says is wrong, so that the wrench must not be used; "" where nothing is.
        warning: what the device says beside, with a wrench that is right; "" where nothing is.
        number: the device's own count of its records.
        status: the device's status word as it came; 0 where it has none.
        values: other figures by name with unit, such as "temperature [degC]".
    """

    time: float
    wrench: Array
    is_fresh: bool = True
    is_saturated: bool = False
    error: str = ""
    warning: str = ""
    number: int = 0
    status: int = 0
    values: Mapping[str, float] = field(default_factory=dict)


class SensorIdentity(NamedTuple):
    """What a sensor says, or is known, to be.

    Attributes:
        name: of the product.
        version: of its firmware; "" where it does not say.
        force_scale: counts per newton, of each axis.
        moment_scale: counts per newton metre, of each axis.
        source: where the scales come from: "device", "settings" or "protocol".
    """

    name: str
    version: str
    force_scale: tuple[float, float, float]
    moment_scale: tuple[float, float, float]
    source: str


@dataclass
class SequenceCounts:
    """What the numbers of the records told since the wire was opened.

    Attributes:
        lost: records that never came.
        reordered: records that came after a newer one, and were not used.
        duplicated: records that came twice; the second was not used.
        restarted: times that the device began to count anew.
    """

    lost: int = 0
    reordered: int = 0
    duplicated: int = 0
    restarted: int = 0


class SensorDriver(ABC, Generic[S]):
    """One sensor on its wire.

    Attributes:
        settings: in use.
        counts: of the wire.
        sequence: of the records' numbers.
    """

    NAME: ClassVar[str]
    SUMMARY: ClassVar[str]
    SETTINGS: ClassVar[type]

    def __init__(self, settings: S) -> None:
        """Prepare; `open` opens the wire.

        Args:
            settings: of the class SETTINGS; among them `url`.

        Raises:
            InputError: settings that cannot be.
        """
        self.settings = settings
        self.counts = LinkCounts()
        self.sequence = SequenceCounts()

    @property
    @abstractmethod
    def period(self) -> float:
        """Between two samples, as set [s]."""

    @abstractmethod
    def open(self) -> None:
        """Open the wire, find the sensor, learn its scales, and let samples come.

        Raises:
            TransportError: the wire cannot be opened.
            NoAnswer: no such sensor answers there.
        """

    @abstractmethod
    def identity(self) -> SensorIdentity:
        """What it is; after `open`."""

    @abstractmethod
    def read(self) -> Sample:
        """The next sample; waits for it, no longer than the setting `timeout`.

        Silence and damaged records are counted and told by `is_fresh`, not raised.

        Raises:
            TransportError: the wire is gone.
        """

    @abstractmethod
    def bias(self) -> None:
        """Let the device itself call the present wrench zero; it forgets that when it loses its power.

        Raises:
            Refused: the device has no zero of its own.
            TransportError: the wire is gone.
        """

    def reset(self) -> None:  # most devices have nothing to reset
        """Clear what the device latched, such as a threshold that was passed.

        Raises:
            TransportError: the wire is gone.
        """

    @abstractmethod
    def close(self) -> None:
        """End, with the sensor silent and the wire free; may be called twice, and after a failed `open`."""
