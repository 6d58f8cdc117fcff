# SPDX-License-Identifier: Apache-2.0
"""Interface of robot drivers: one exchange with the device per cycle.

A driver translates demands into device frames and replies into feedback. All safety decisions (limits, holding,
ramps, stops) are made in `ada_robot.safety`, for every robot. One thread makes all calls. It calls `idle` or `cycle`
every `period` seconds between `open` and `close`:

    open -> idle, idle, ... -> start -> cycle, cycle, ... -> stop -> idle, ... -> close
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from ada_dynamics.arrays import Array
from ada_robot.contract import Demand, JointLimit, Mode
from ada_robot.errors import DeviceAlarm, UnknownDevice

if TYPE_CHECKING:
    from ada_robot.safety.joint_rules import JointRules
    from ada_robot.safety.settings import SafetySettings
    from ada_robot.safety.tool_rules import Tool

S = TypeVar("S")
DRIVERS: dict[str, str] = {}
"""Drivers "module:class" by device name; `ada_hardware.robot` adds its devices."""


class Alarm(NamedTuple):
    """Alarm of a device."""

    code: int  # alarm code of the device
    text: str  # meaning and remedy
    joint: str = ""  # name of the joint; "" for the whole device
    is_stop: bool = False  # caused by an emergency stop or dead-man switch, to be released before a reset


class Meaning(NamedTuple):
    """Meaning of an alarm code, for drivers, emulators and the pages in docs/."""

    text: str  # description
    remedy: str  # remedy for the user
    is_stop: bool = False  # a person must act before a reset can succeed

    def alarm(self, code: int, joint: str = "") -> Alarm:
        """Create the alarm with a code."""
        return Alarm(code, f"{self.text}; {self.remedy}", joint, self.is_stop)


def in_words(alarms: Sequence[Alarm]) -> str:
    """Format alarms or hindrances as one line of text."""
    return "; ".join(f"{f'{one.joint}: ' if one.joint else ''}{one.text} ({one.code:#x})" for one in alarms)


def alarm_error(text: str, alarms: Sequence[Alarm]) -> DeviceAlarm:
    """Create the exception for alarms, with joint and code of the first one."""
    return DeviceAlarm(text, joint=alarms[0].joint or None, field="alarm", value=alarms[0].code)


@dataclass(frozen=True)
class Feedback:
    """State reported by a device in one cycle."""

    time: float  # time of reception on the steady clock [s]
    position: Array  # joint positions; NaN if not reported [rad, m]
    velocity: Array  # joint velocities; NaN if not reported [rad/s, m/s]
    effort: Array  # joint efforts; NaN if not reported [N m, N]
    is_fresh: bool = True  # whether it was received in this cycle; otherwise it repeats the last one
    is_driven: bool = False  # whether the motors follow commands (servos on, brakes off)
    alarms: tuple[Alarm, ...] = ()  # active alarms
    values: Mapping[str, float] = field(default_factory=dict)  # further quantities, such as "battery [V]"
    hindrances: tuple[Alarm, ...] = ()  # conditions that prevent a start, such as an open switch


@dataclass
class LinkCounts:
    """Frame counters of a connection."""

    sent: int = 0  # frames sent
    received: int = 0  # valid replies
    missed: int = 0  # replies not received in time
    refused: int = 0  # damaged, late or unrequested frames
    retries: int = 0  # repeated frames
    last_problem: str = ""  # description of the latest problem


class RobotDriver(ABC, Generic[S]):
    """Driver of one robot.

    Methods raise TransportError if a port cannot be opened or the connection is lost, NoAnswer if the device does not
    reply, and DeviceAlarm if it reports why it cannot act; `stop` and `close` raise nothing.

    Attributes:
        settings: settings in use.
        joints: joint names, in the order of all arrays.
        limits: limits of the device per joint; user settings may only narrow them.
        modes: supported command modes.
        period: cycle time [s].
        device_timeout: command timeout after which the device stops by itself [s]; inf if it has no watchdog.
        counts: frame counters.
        interrupted: returns the reason to abort `start`, or ""; set by the caller.
    """

    NAME: ClassVar[str]
    SETTINGS: ClassVar[type]

    joints: Sequence[str]
    limits: Sequence[JointLimit]
    modes: frozenset[Mode] = frozenset(Mode)
    period: float
    device_timeout: float = math.inf

    def __init__(self, settings: S) -> None:
        """Store the settings; `open` connects. Args: instance of the class SETTINGS, including `url`.

        Raises:
            InputError: if a setting is invalid.
        """
        self.settings = settings
        self.counts = LinkCounts()
        self.interrupted: Callable[[], str] = lambda: ""

    # --- properties -----------------------------------------------------------------------------------------------
    def suited(self, safety: SafetySettings) -> SafetySettings:
        """Return the safety settings adapted to this robot, with margins no finer than its sensor resolution."""
        return safety

    @property
    def commanded_speeds(self) -> Array | None:
        """Last commanded velocities where the driver converts positions to velocities [rad/s, m/s]; otherwise None."""
        return None

    def tool(self, offset: Sequence[float]) -> Tool | None:
        """Return the tool point used by the tool speed and plane limits, or None if it is unknown.

        Args:
            offset: position of the point in the frame of the last link [m].

        Raises:
            InputError: if the offset is not three finite numbers.
        """
        return None

    def keep(self, rules: JointRules, drive_lag: float, lateness: float) -> None:
        """Apply the joint rules inside the driver; only drivers that convert positions to velocities need this.

        Args:
            rules: velocity, acceleration and tool limits.
            drive_lag: delay of the drives behind velocity commands [s].
            lateness: delay of a cycle that must not lead to a violated limit [s].
        """

    # --- operation ------------------------------------------------------------------------------------------------
    @abstractmethod
    def open(self) -> None:
        """Connect to the device without motion."""

    @abstractmethod
    def idle(self) -> Feedback:
        """Exchange one frame without motion; brakes and servos keep their state.

        Missing and damaged replies are counted and reported by `is_fresh`, not raised.
        """

    @abstractmethod
    def start(self) -> None:
        """Enable the motors at standstill: servos on, brakes off.

        Takes several cycles, during which the watchdog of the device is served.
        """

    @abstractmethod
    def cycle(self, demand: Demand) -> Feedback:
        """Send a checked demand and return the feedback. Missing replies are handled as in `idle`."""

    @abstractmethod
    def stop(self) -> None:
        """Make the device hold its position at standstill: brakes on, or servo hold; the last resort."""

    @abstractmethod
    def reset(self) -> None:
        """Clear the alarms of the device without motion; DeviceAlarm if one remains."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect, with the device at standstill; may be called twice, and after a failed `open`."""


def driver_class(driver: str) -> type[RobotDriver[Any]]:
    """Import a driver class by "module:class", or by a name in DRIVERS; raises as `load_class`."""
    return load_class(DRIVERS.get(driver, driver), RobotDriver, "driver", DRIVERS)


def load_class(path: str, base: type[Any], what: str, known: Iterable[str]) -> type[Any]:
    """Import a class.

    Args:
        path: "module:class".
        base: base class that it must have.
        what: kind of the class, for messages.
        known: names that can be given instead, for messages.

    Raises:
        UnknownDevice: if it cannot be imported or does not derive from `base`.
    """
    module, _, name = path.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as problem:
        text = f"unknown {what} {path!r}: {problem}. Use {', '.join(known)}, or the module:class of an importable one."
        raise UnknownDevice(text, field=what, value=path, allowed=tuple(known)) from None
    if not (isinstance(found, type) and issubclass(found, base)):
        text = f"{path!r} is no {what}: it does not derive from {base.__name__}."
        raise UnknownDevice(text, field=what, value=path)
    return found
