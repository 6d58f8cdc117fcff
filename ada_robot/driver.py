# SPDX-License-Identifier: Apache-2.0
"""The contract of every robot's driver: one exchange with the device per cycle, and nothing but the given command.

A driver translates; it decides nothing. Whether a command is safe, when to hold, to slow down or to stop is decided
once for all robots, in `ada_robot.safety`. All calls come from one thread, which calls one of `idle`, `cycle` every
`period` seconds from `open` to `close`:

    open -> idle, idle, ... -> start -> cycle, cycle, ... -> stop -> idle, ... -> close
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

from ada_dynamics.arrays import Array
from ada_robot.contract import Demand, JointLimit, Mode
from ada_robot.errors import DeviceAlarm

if TYPE_CHECKING:
    from ada_robot.safety.joint_rules import JointRules
    from ada_robot.safety.settings import SafetySettings
    from ada_robot.safety.tool_rules import Tool

S = TypeVar("S")


class Alarm(NamedTuple):
    """An alarm of a device.

    Attributes:
        code: the device's own number.
        text: what it means, and what to do.
        joint: whose it is; "" for the device as a whole.
        is_stop: an emergency stop, a dead-man switch: a person must act before a reset can help.
    """

    code: int
    text: str
    joint: str = ""
    is_stop: bool = False


def in_words(alarms: Sequence[Alarm]) -> str:
    """Alarms, or what else keeps a robot from moving, for people."""
    return "; ".join(f"{f'{one.joint}: ' if one.joint else ''}{one.text} ({one.code:#x})" for one in alarms)


def alarm_error(text: str, alarms: Sequence[Alarm]) -> DeviceAlarm:
    """An error with joint and code of the first alarm."""
    return DeviceAlarm(text, joint=alarms[0].joint or None, field="alarm", value=alarms[0].code)


@dataclass(frozen=True)
class Feedback:
    """The state that a device reports in one cycle.

    Attributes:
        time: when it came, on the steady clock [s].
        position: per joint; NaN where the device does not report it [rad, m].
        velocity: likewise [rad/s, m/s].
        effort: likewise [N m, N].
        is_fresh: whether it came in this cycle; else it is what came last.
        is_driven: whether the motors follow commands: servos on, brakes off.
        alarms: what the device says is wrong; empty: nothing.
        values: other figures by name with unit, such as "battery [V]".
        hindrances: what keeps it from being started, such as a switch; no alarms while it is not driven.
    """

    time: float
    position: Array
    velocity: Array
    effort: Array
    is_fresh: bool = True
    is_driven: bool = False
    alarms: tuple[Alarm, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    hindrances: tuple[Alarm, ...] = ()


@dataclass
class LinkCounts:
    """Counts of the frames on a wire since it was opened.

    Attributes:
        sent: frames sent.
        received: answers that were taken.
        missed: answers that did not come in time.
        refused: frames that came damaged, late or unrequested.
        retries: frames sent once more.
        last_problem: words on the newest trouble.
    """

    sent: int = 0
    received: int = 0
    missed: int = 0
    refused: int = 0
    retries: int = 0
    last_problem: str = ""


class RobotDriver(ABC, Generic[S]):
    """One robot on its wire.

    Attributes:
        settings: in use.
        joints: names of its joints, in the order of all arrays.
        limits: of what the device itself can do, per joint; users may ask for less, never for more.
        modes: that it can be commanded in.
        period: between cycles [s].
        device_timeout: silence after which the device stops by itself [s]; inf: it never does, the host must.
        counts: of the wire.
        interrupted: why `start` is to be given up, as soon as it can; "" while it is not. Set by who calls it.
    """

    NAME: ClassVar[str]
    SETTINGS: ClassVar[type]

    joints: Sequence[str]
    limits: Sequence[JointLimit]
    modes: frozenset[Mode] = frozenset(Mode)
    period: float
    device_timeout: float = math.inf

    def __init__(self, settings: S) -> None:
        """Prepare; `open` opens the wire.

        Args:
            settings: of the class SETTINGS; among them `url`.

        Raises:
            InputError: settings that cannot be.
        """
        self.settings = settings
        self.counts = LinkCounts()
        self.interrupted: Callable[[], str] = lambda: ""

    # --- properties -----------------------------------------------------------------------------------------------
    def suited(self, safety: SafetySettings) -> SafetySettings:
        """Rules of safety as this robot needs them: no margin finer than its sensors."""
        return safety

    @property
    def commanded_speeds(self) -> Array | None:
        """Speeds commanded last, where the driver itself makes them of positions [rad/s, m/s]; None: it does not."""
        return None

    def tool(self, offset: Sequence[float]) -> Tool | None:
        """The point that the robot carries, for limits of its speed and place; None: it is not known.

        Args:
            offset: of the point, in the frame of the last link [m].

        Raises:
            InputError: no three finite numbers.
        """
        return None

    def keep(self, rules: JointRules, drive_lag: float, lateness: float) -> None:
        """Keep the user's bounds too, where the driver itself makes speeds of positions; else nothing.

        Args:
            rules: speeds, accelerations and limits of the tool.
            drive_lag: how long drives are behind their commanded speeds [s].
            lateness: of a cycle, after which limits must still be kept [s].
        """

    # --- operation ------------------------------------------------------------------------------------------------
    @abstractmethod
    def open(self) -> None:
        """Open the wire and find the device; nothing moves.

        Raises:
            TransportError: the wire cannot be opened.
            NoAnswer: no such device answers there.
        """

    @abstractmethod
    def idle(self) -> Feedback:
        """One cycle in which nothing moves: brakes stay on, servos as they are.

        Silence and damaged answers are counted and shown by `is_fresh`, not raised.

        Raises:
            TransportError: the wire is gone.
        """

    @abstractmethod
    def start(self) -> None:
        """Make it follow commands, from standing still where it is: brakes off, servos on.

        Takes some cycles, and keeps the device's own watchdog content meanwhile.

        Raises:
            DeviceAlarm: it does not, and says why.
            NoAnswer: it does not answer.
        """

    @abstractmethod
    def cycle(self, demand: Demand) -> Feedback:
        """One exchange: a command that was checked, and what the device reports. As `idle` about troubles."""

    @abstractmethod
    def stop(self) -> None:
        """Make it hold by itself from standing still, as far as possible: brakes on, or servos that hold.

        Nothing is raised: it is called where all else has failed.
        """

    @abstractmethod
    def reset(self) -> None:
        """Clear the device's alarms; it stays still.

        Raises:
            DeviceAlarm: one stays, and says why.
            NoAnswer: it does not answer.
        """

    @abstractmethod
    def close(self) -> None:
        """End, with the device still and the wire free; may be called twice, and after a failed `open`."""
