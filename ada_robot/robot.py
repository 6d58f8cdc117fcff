# SPDX-License-Identifier: Apache-2.0
"""Robot client: open, activate, command, monitor and stop a robot.

    robot = Robot("ada_hardware.pa10.driver:Pa10Driver", Pa10Settings(url="arcnet:arc0"), SafetySettings())
    with robot:                                             # opens; on exit: ramp to rest, brakes on, port free
        robot.activate()
        while working:
            robot.command(Mode.VELOCITY, law(robot.feedback))
        robot.deactivate()

The safety cycle (`ada_robot.cycle`) sends the demands to the device from a separate process. It keeps running when
the client process is busy, frozen or killed, and then brings the robot to rest.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import InputError
from ada_robot.contract import Demand, Mode, Reason, Refusal
from ada_robot.cycle.connection import Cycle, CycleConnection, CycleProcess, CycleThread
from ada_robot.cycle.messages import Exchange, Judged, RobotStatus
from ada_robot.driver import Feedback, RobotDriver, driver_class
from ada_robot.errors import HardwareError, NoAnswer, Refused
from ada_robot.safety.flight_recorder import Flight, FlightRecorder, new_memory, recorder_of
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import checked

__all__ = ["Judged", "Place", "Robot", "RobotStatus"]

RECENT = 0.1  # maximum age of the latest cycle message that counts as present [s], or five periods if longer
Place = Literal["process", "thread"]
Own = TypeVar("Own", bound="Robot")


class Robot:
    """Client of a robot's safety cycle. All methods are thread-safe and return within their timeout.

    Requests raise NoAnswer if cycle or device do not reply within the timeout, and Refused in phase CLOSED. After
    `close`, or after the cycle process has died, `open` connects again.

    Attributes:
        device: device type.
        joints: joint names, in the order of all arrays; known before `open`.
        limits: command limits per joint: device limits narrowed by the safety settings, including velocity_scale.
        modes: supported command modes.
        period: cycle time [s].
    """

    def __init__(
        self,
        driver: str | RobotDriver[Any],
        driver_settings: object | Mapping[str, object] = None,
        safety: SafetySettings | None = None,
        *,
        place: Place = "process",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Load the driver; `open` connects.

        Args:
            driver: "module:class", a name in `driver.DRIVERS`, or a driver, whose cycle runs in a thread of this
                process.
            driver_settings: instance of the driver's class SETTINGS, or its values by name; not used with a driver.
            safety: safety settings; None for the defaults.
            place: "process": the cycle runs in a separate process, which outlives this one until the robot is at
                rest; "thread": it runs in a thread of this process.
            clock: clock of deadlines and message ages; a separate cycle process uses the system clock.

        Raises:
            UnknownDevice: if the driver does not exist.
            InputError: if settings are unknown, invalid, or wider than the limits of the device.
        """
        if place not in (allowed := ("process", "thread")):
            text = f"place is {place!r}; it must be 'process' or 'thread'."
            raise InputError(text, field="place", value=place, allowed=allowed)
        self._source = ""
        if isinstance(driver, str):
            make = driver_class(driver)
            self._source = f"{make.__module__}:{make.__qualname__}"
            if isinstance(driver_settings, Mapping):
                driver_settings = checked(make.SETTINGS, driver_settings)
            driver = make(driver_settings)
        else:
            place = "thread"
        safety = driver.suited(safety or SafetySettings())
        self._driver, self._safety, self._place, self._clock = driver, safety, place, clock
        self.device = driver.NAME
        rules = JointRules(driver.limits, safety, driver.tool(safety.tool_offset))
        self.joints, self.limits = tuple(driver.joints), rules.limits
        self.modes, self.period = driver.modes, driver.period
        self._requests = threading.RLock()  # serializes open and close only
        self._link: CycleConnection | None = None
        self._cycle: Cycle | None = None
        self._recorder: FlightRecorder | None = None
        self._flight = -1
        self._is_closing = False
        self._last: RobotStatus | None = None  # report of the previous cycle, after it has ended
        self._closed_because = "not opened yet"
        unknown = np.full(len(self.joints), math.nan)
        self._unknown = Feedback(-math.inf, unknown, unknown, unknown, is_fresh=False)

    # --- status ---------------------------------------------------------------------------------------------------
    @property
    def cycle_pid(self) -> int:
        """Process id of the cycle; 0 while none runs."""
        cycle = self._cycle
        return cycle.pid if cycle is not None and self._living() is not None else 0

    @property
    def phase(self) -> Phase:
        """Present phase; CLOSED also after the cycle process has died."""
        link = self._living()
        return Phase.CLOSED if link is None or link.report is None else link.report.phase

    @property
    def reason(self) -> str:
        """Reason of the present phase."""
        link = self._living()
        return self._closed_because if link is None or link.report is None else link.report.reason

    @property
    def feedback(self) -> Feedback:
        """Latest feedback, `time` on the steady clock; all NaN and not fresh before the first."""
        link, newest = self._link, self._newest
        if link is None or newest is None:
            return self._unknown
        report = link.report or RobotStatus()
        # the last message of a dead or frozen cycle is not the present state
        is_recent = link.is_alive and self._clock.now() - newest.sent_at < max(RECENT, 5.0 * self.period)
        is_fresh = newest.feedback.is_fresh and is_recent
        return replace(newest.feedback, is_fresh=is_fresh, alarms=report.alarms, values=report.values)

    @property
    def demand(self) -> Demand | None:
        """Demand of the latest cycle; None if no demand was sent."""
        newest = self._newest
        return None if newest is None or self._living() is None else newest.demand

    @property
    def _newest(self) -> Exchange | None:
        link = self._link
        return None if link is None else link.newest

    def wait_feedback(self, timeout: float = 1.0) -> Feedback:
        """Wait for the next fresh feedback; synchronizes a program with the cycle."""
        deadline = self._clock.now() + timeout
        link = self._opened("wait for feedback")
        while True:
            newest = link.wait_newer(max(0.0, deadline - self._clock.now()))
            if newest is None:
                ended = "" if link.is_alive else f"; {self.reason}"
                text = f"{self.device}: no new feedback from the device within {timeout:g} s{ended}."
                raise NoAnswer(text, field="feedback", value=timeout)
            if newest.feedback.is_fresh:
                return self.feedback

    def status(self) -> RobotStatus:
        """Return the status without waiting."""
        link, newest, now = self._link, self._newest, self._clock.now()
        received = (link.report if link is not None else None) or self._last
        report = received or RobotStatus()
        return replace(
            report,
            phase=self.phase,
            reason=self.reason,
            command_age=math.inf if newest is None else now - newest.commanded_at,
            feedback_age=math.inf if newest is None else now - newest.feedback.time,
            flight_record=report.flight_record or (self._recorder.newest if self._recorder is not None else ""),
            place=self._place if received else "",
        )

    # --- commands and requests --------------------------------------------------------------------------------------
    def open(self, timeout: float = 20.0) -> None:
        """Connect without motion. The phase becomes INACTIVE, or STOPPED if the device has an alarm.

        Raises:
            Refused: if it is already open.
            TransportError: if the port or socket cannot be opened.
        """
        with self._requests:
            if self._living() is not None:
                phase = self.phase.value
                raise Refused(f"{self.device} is already open ({phase}); close it first.", field="phase", value=phase)
            self._let_go()
            deadline = self._clock.now() + timeout
            rows = round(self._safety.record_seconds / self.period)
            self._flight = new_memory(Flight(self.device, self.joints, self.period, rows))
            self._recorder = recorder_of(self._flight, self._safety, self._clock)
            try:
                if self._place == "process":
                    self._cycle = CycleProcess(self._source, self._driver.settings, self._safety, self._flight)
                else:
                    self._cycle = CycleThread(self._driver, self._safety, self._flight, self._clock)
                self._cycle.start(timeout)
                self._link = CycleConnection(self._cycle, self._safety.host_timeout, self._lost, self._clock)
                self._link.ask("open", max(0.1, deadline - self._clock.now()))
            except BaseException as problem:
                self._closed_because = f"not opened: {problem}"
                self._let_go()
                raise
            # a cycle thread does not outlive the program: bring the robot to rest at exit
            atexit.register(self._at_exit)

    def _at_exit(self) -> None:
        with contextlib.suppress(HardwareError):
            self.close()

    def _let_go(self) -> None:
        """Release the cycle; kill it if it does not end."""
        atexit.unregister(self._at_exit)
        link, cycle = self._link, self._cycle
        if link is not None:
            self._last = link.report or self._last
            link.end()
        if cycle is not None:
            cycle.close()  # the cycle detects the closed sockets and ends
            if not cycle.wait(2.0):
                cycle.kill()
        if self._flight >= 0:
            os.close(self._flight)
        self._link, self._cycle, self._flight = None, None, -1

    def activate(self, timeout: float = 10.0) -> None:
        """Enable the motors at standstill in the measured configuration. The phase becomes ACTIVE.

        Raises:
            Refused: if the robot is not INACTIVE, moves, is outside a limit, or has no recent feedback.
            DeviceAlarm: if the device reports why it does not start.
        """
        self._opened("activate").ask("activate", timeout)

    def arm(self, timeout: float = 2.0) -> None:
        """Accept commands, where activation alone does not (`SafetySettings.arm_within`), in phase ACTIVE only."""
        self._opened("arm").ask("arm", timeout)

    def lower_tool_speed(self, speed: float, timeout: float = 2.0) -> None:
        """Lower the tool speed limit [m/s] for the lifetime of this object, also during motion.

        Raises:
            InputError: if the speed is above the present limit, or the robot has no tool speed limit.
        """
        self._opened("lower its tool_speed").ask("lower_tool_speed", timeout, speed=speed)
        self._safety = self._safety.with_tool_speed(speed)

    @property
    def judged(self) -> Judged:
        """Creation times of the latest commands checked by the cycle."""
        newest = self._newest
        if newest is None or self._living() is None:
            return Judged()
        return Judged(newest.commanded_at, newest.judged_at)

    def command(self, mode: Mode, values: Sequence[float] | Array) -> float:
        """Send a position, velocity or effort command without waiting.

        The cycle checks the command, and counts a refused one in `status().refused`. The last accepted command stays
        in force until command_timeout.

        Args:
            mode: commanded quantity.
            values: one per joint.

        Returns:
            Creation time on the steady clock [s], to be compared with `judged`.

        Raises:
            Refused: if the robot is not ACTIVE, the values are no list of numbers, or the cycle is frozen.
        """
        made_at = self._clock.now()
        try:
            numbers = np.array(values)
            if np.iscomplexobj(numbers) or numbers.ndim != 1:
                raise TypeError
            numbers = numbers.astype(np.float64)
        except (TypeError, ValueError):
            text = f"the command is {values!r:.80}; give one number for each of {', '.join(self.joints)}."
            raise Refusal(Reason.NOT_FINITE, text).as_error() from None
        return self.send(Demand(mode, numbers, made_at))

    def send(self, demand: Demand) -> float:
        """Send a demand, see `command`.

        Its age counts from its stamp, so that a delay between creation and sending is detected.
        """
        phase, link = self.phase, self._link
        if phase is not Phase.ACTIVE or link is None:
            text = f"the robot is {phase.value}: {self.reason}. Activate it first."
            raise Refusal(Reason.NOT_ACTIVE, text).as_error()
        if demand.stamp == -math.inf:
            demand = demand._replace(stamp=self._clock.now())
        if not link.command(demand):
            text = "the robot's cycle does not accept commands: it is frozen or overloaded."
            raise Refusal(Reason.NOT_TAKEN, text).as_error()
        return demand.stamp

    def deactivate(self, timeout: float = 10.0) -> None:
        """Decelerate along a ramp, then apply the brakes. The phase becomes INACTIVE; Refused in phase STOPPED."""
        self._opened("deactivate").ask("deactivate", timeout, why="deactivated")

    def stop(self, why: str = "asked to stop", timeout: float = 2.0) -> None:
        """Bring the robot to rest and latch STOPPED; without effect in phase CLOSED.

        Returns when the ramp has begun (the phase is STOPPING or STOPPED), not when it has ended. After NoAnswer, only
        the watchdog of the device can stop the robot.
        """
        link = self._living()
        if link is not None:
            link.ask("stop", timeout, why=why)

    def reset(self, timeout: float = 10.0) -> None:
        """Clear alarms and the latched stop without motion, after the end of a ramp. The phase becomes INACTIVE.

        Raises:
            Refused: if the robot is STARTING or ACTIVE, or is stopped before the reset.
            DeviceAlarm: if an alarm remains.
        """
        self._opened("reset").ask("reset", timeout)

    def save_flight_record(self, why: str = "asked for", timeout: float = 30.0) -> str:
        """Write the flight record to a file; a latched fault does this automatically.

        Returns:
            File path.

        Raises:
            Refused: if record_seconds is 0.
        """
        self._opened("write a flight record")
        recorder = self._recorder
        if recorder is None:
            text = f"{self.device} has no flight recorder: record_seconds is 0."
            raise Refused(text, field="record_seconds", value=0.0)
        writer = recorder.save(why)
        try:
            code = writer.wait(timeout)
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"{recorder.newest} was not written within {timeout:g} s.") from None
        if code:
            raise HardwareError(f"{recorder.newest} could not be written; the reason is on stderr.")
        return recorder.newest

    def close(self, timeout: float = 10.0) -> None:
        """Bring the robot to rest with brakes on, and disconnect. The phase becomes CLOSED. May be called twice.

        A cycle that does not end in time is killed (NoAnswer); only the watchdog of the device can act then.
        """
        with self._requests:
            link, cycle = self._living(), self._cycle
            self._is_closing = True
            try:
                if link is not None and cycle is not None:
                    deadline = self._clock.now() + timeout
                    link.ask("close", timeout, why="closed")
                    if not cycle.wait(max(0.1, deadline - self._clock.now())):
                        raise NoAnswer(f"{self.device}: the cycle did not end within {timeout:g} s.")
                    self._closed_because = "closed"
            except NoAnswer as problem:
                if cycle is not None:
                    cycle.kill()
                self._closed_because = f"killed: {problem}"
                raise NoAnswer(f"{problem} The cycle was killed.", field="request", value="close") from None
            finally:
                self._let_go()
                self._is_closing = False

    def _living(self) -> CycleConnection | None:
        """Return the link to a running cycle, or None."""
        link = self._link
        return link if link is not None and link.is_alive else None

    def _opened(self, to: str) -> CycleConnection:
        link = self._living()
        if link is None:
            text = f"{self.device} is closed ({self._closed_because}); open it to {to}."
            raise Refused(text, field="phase", value=Phase.CLOSED.value)
        return link

    def _lost(self) -> None:
        """Record why the cycle ended unexpectedly, and save the flight record."""
        cycle, recorder = self._cycle, self._recorder
        if cycle is None or self._is_closing:
            return
        self._closed_because = "the connection to the cycle was lost"
        cycle.wait(1.0)
        self._closed_because = cycle.ending() or self._closed_because
        if recorder is not None and self._place == "process":
            with contextlib.suppress(OSError):
                recorder.save(self._closed_because)

    def __enter__(self: Own) -> Own:
        """Open the robot, unless it is open."""
        if self._living() is None:
            self.open()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the robot."""
        self.close()
