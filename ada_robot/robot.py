# SPDX-License-Identifier: Apache-2.0
"""A robot as programs hold it: opened, activated, commanded, watched, stopped.

    robot = Robot("ada_hardware.pa10.driver:Pa10Driver", Pa10Settings(url="arcnet:arc0"), SafetySettings())
    with robot:                                             # opens, and closes in the end: ramp, brakes, wire free
        robot.activate()
        while working:
            robot.command(Mode.VELOCITY, law(robot.feedback))
        robot.deactivate()

What is sent to the device is decided in a process of its own (`ada_robot.cycle`), which goes on when this one is
busy, frozen or killed: it brings the robot to rest then.
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
from types import TracebackType
from typing import Any, Literal, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import InputError
from ada_robot.contract import Demand, Mode, Reason, Refusal
from ada_robot.cycle.host_link import HostLink
from ada_robot.cycle.place import CyclePlace, CycleProcess, CycleThread, flight_memory, made_driver, made_recorder
from ada_robot.driver import Feedback, RobotDriver
from ada_robot.errors import HardwareError, NoAnswer, Refused
from ada_robot.robot_status import Judged, RobotStatus
from ada_robot.safety.demand_guard import DemandGuard
from ada_robot.safety.flight_recorder import FlightRecorder
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

__all__ = ["Judged", "Place", "Robot", "RobotStatus"]

RECENT = 0.1  # [s], or five periods: age up to which the newest message of the cycle counts as present
Place = Literal["process", "thread"]
Own = TypeVar("Own", bound="Robot")


class Robot:
    """A robot, wherever it is driven. Any thread may call anything; every call ends within its deadline.

    After the cycle's process has died, or after `close`, `open` begins anew.

    Attributes:
        device: name of its kind of device.
        joints: names, in the order of all arrays; known before `open`.
        limits: of what may be commanded, per joint: the device's and the user's, velocity_scale included.
        modes: that it can be commanded in.
        period: between cycles [s].
    """

    def __init__(
        self,
        driver: str,
        driver_settings: object | Mapping[str, object],
        safety: SafetySettings | None = None,
        *,
        place: Place = "process",
        model: str = "",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Prepare; `open` connects.

        Args:
            driver: "module:class".
            driver_settings: of the driver's class SETTINGS, or its values by name.
            safety: rules; the defaults where None.
            place: "process": the cycle runs in a process of its own, which outlives this one for as long as it takes
                to bring the robot to rest; "thread": in a thread of this process.
            model: the robot's name in the catalogue, for the flight recorder; "" where it is not there.
            clock: of deadlines and ages; a cycle in a process of its own has the machine's.

        Raises:
            UnknownDevice: there is no such driver.
            InputError: settings that cannot be: wrong names or values, limits wider than the device's.
        """
        if place not in ("process", "thread"):
            allowed = ("process", "thread")
            raise InputError(
                f"place is {place!r}; it must be 'process' or 'thread'.", field="place", value=place, allowed=allowed
            )
        self._prepare(made_driver(driver, driver_settings), safety or SafetySettings(), place, clock, driver, model)

    @classmethod
    def of(
        cls, driver: RobotDriver[Any], safety: SafetySettings | None = None, *, clock: Clock = SYSTEM_CLOCK
    ) -> Robot:
        """A robot in a thread of this process, with a driver made by hand (which `open` and `close` open and close)."""
        robot = cls.__new__(cls)
        robot._prepare(driver, safety or SafetySettings(), "thread", clock)
        return robot

    def _prepare(
        self,
        driver: RobotDriver[Any],
        safety: SafetySettings,
        place: Place,
        clock: Clock,
        source: str = "",
        model: str = "",
    ) -> None:
        safety = driver.suited(safety)
        self._driver, self._safety, self._place, self._clock = driver, safety, place, clock
        self.device, self._source, self._model = driver.NAME, source, model
        self._rules = JointRules(driver.limits, safety, driver.tool(safety.tool_offset))
        self._check = DemandGuard(self._rules, driver.modes, safety.command_timeout, clock)
        self.joints, self.limits = tuple(driver.joints), self._rules.limits
        self.modes, self.period = driver.modes, driver.period
        self._requests = threading.RLock()  # open and close; all else goes on beside them
        self._link: HostLink | None = None
        self._cycle: CyclePlace | None = None
        self._recorder: FlightRecorder | None = None
        self._flight = -1
        self._is_closing = False
        self._last: RobotStatus | None = None  # of the cycle before, where there is none now
        self._closed_because = "not opened yet"
        self._refused_at = 0.0  # [s] when a command was refused here
        unknown = np.full(len(self.joints), math.nan)
        self._unknown = Feedback(-math.inf, unknown, unknown, unknown, is_fresh=False)

    # --- status ---------------------------------------------------------------------------------------------------
    @property
    def cycle_pid(self) -> int:
        """Number of the process that the cycle runs in; 0 where there is none at the moment."""
        cycle = self._cycle
        return cycle.pid if cycle is not None and self._living() is not None else 0

    @property
    def phase(self) -> Phase:
        """The phase; CLOSED also where the cycle's process has died."""
        link = self._living()
        if link is None or link.report is None:
            return Phase.CLOSED
        return link.report.phase

    @property
    def reason(self) -> str:
        """Why it is in this phase, in words."""
        link = self._living()
        if link is None or link.report is None:
            return self._closed_because
        return link.report.reason

    @property
    def feedback(self) -> Feedback:
        """The newest; all NaN and not fresh before the first. `time` is of the steady clock."""
        link = self._link
        newest = link.newest if link is not None else None
        if link is None or newest is None:
            return self._unknown
        report = link.report
        # the last message of a cycle that is gone or frozen is not the present state
        is_recent = link.is_alive and self._clock.now() - newest.sent_at < max(RECENT, 5.0 * self.period)
        is_fresh = newest.feedback.is_fresh and is_recent
        if report is None:
            return replace(newest.feedback, is_fresh=is_fresh)
        return replace(newest.feedback, is_fresh=is_fresh, alarms=report.alarms, values=report.values)

    @property
    def demand(self) -> Demand | None:
        """The demand of the newest cycle; None where there was none."""
        link = self._living()
        newest = link.newest if link is not None else None
        return None if newest is None else newest.demand

    def wait_feedback(self, timeout: float = 1.0) -> Feedback:
        """Wait for a fresh feedback that is newer than the one at hand: for programs that work in step with the cycle.

        Raises:
            NoAnswer: none came in time.
        """
        deadline = self._clock.now() + timeout
        link = self._opened("wait for feedback")
        while True:
            newest = link.wait_newer(max(0.0, deadline - self._clock.now()))
            if newest is None:
                ended = "" if link.is_alive else f"; {self.reason}"
                text = f"{self.device}: the device reported nothing new within {timeout:g} s{ended}."
                raise NoAnswer(text, field="feedback", value=timeout)
            if newest.feedback.is_fresh:
                return self.feedback

    def status(self) -> RobotStatus:
        """Its status; never waits."""
        link, now = self._link, self._clock.now()
        heard = (link.report if link is not None else None) or self._last
        here, report = self._check, heard or RobotStatus()
        is_newer = report.refused_at > self._refused_at
        newest = link.newest if link is not None else None
        return replace(
            report,
            phase=self.phase,
            reason=self.reason,
            refused=here.refused + report.refused,
            last_refusal=report.last_refusal if is_newer else here.last_refusal,
            refused_at=report.refused_at if is_newer else self._refused_at,
            command_age=math.inf if newest is None else now - newest.commanded_at,
            feedback_age=math.inf if newest is None else now - newest.feedback.time,
            flight_record=report.flight_record or (self._recorder.newest if self._recorder is not None else ""),
            place=self._place if heard else "",
        )

    # --- commands and requests --------------------------------------------------------------------------------------
    def open(self, timeout: float = 20.0) -> None:
        """Connect: INACTIVE afterwards, or STOPPED where the device has an alarm. Nothing moves.

        Raises:
            Refused: it is open.
            TransportError: the wire cannot be opened.
            NoAnswer: no such device answers there, or the cycle did not start in time.
        """
        with self._requests:
            if self._living() is not None:
                phase = self.phase.value
                raise Refused(f"{self.device} is open already ({phase}); close it first.", field="phase", value=phase)
            self._let_go()
            deadline = self._clock.now() + timeout
            self._flight = flight_memory(self._model, self._driver, self._safety)
            self._recorder = made_recorder(self._flight, self._safety, self._clock)
            if self._place == "process":
                self._cycle = CycleProcess(self._source, self._driver.settings, self._safety, self._flight)
            else:
                self._cycle = CycleThread(self._driver, self._safety, self._flight, self._clock)
            try:
                self._cycle.start(timeout)
                self._link = HostLink(
                    self._cycle.fast, self._cycle.requests, self._safety.host_timeout, self._lost, self._clock
                )
                self._link.ask("open", max(0.1, deadline - self._clock.now()))
            except BaseException as problem:
                self._closed_because = f"not opened: {problem}"
                self._let_go()
                raise
            # unlike a process, a thread does not outlive its program: it brings the robot to rest before
            atexit.register(self._at_exit)

    def _at_exit(self) -> None:
        with contextlib.suppress(HardwareError):
            self.close()

    def _let_go(self) -> None:
        """Release a cycle that has ended, or must."""
        atexit.unregister(self._at_exit)
        link, cycle = self._link, self._cycle
        if link is not None:
            self._last = link.report or self._last
            link.end()
        if cycle is not None:
            cycle.close()  # the cycle sees it, and ends
            if not cycle.wait(2.0):
                cycle.kill()
        if self._flight >= 0:
            os.close(self._flight)
        self._link, self._cycle, self._flight = None, None, -1

    def activate(self, timeout: float = 10.0) -> None:
        """Make it follow commands: ACTIVE afterwards, at rest in the pose that was measured.

        Raises:
            Refused: it is not INACTIVE, moves, is beyond a limit, or has reported nothing lately.
            DeviceAlarm: it does not start, and says why.
            NoAnswer: device or cycle did not answer in time.
        """
        self._opened("activate").ask("activate", timeout)

    def arm(self, timeout: float = 2.0) -> None:
        """Let it follow commands, where its activation alone does not (`SafetySettings.arm_within`).

        Raises:
            Refused: it is not ACTIVE.
            NoAnswer: the cycle did not answer in time.
        """
        self._opened("arm").ask("arm", timeout)

    def lower_tool_speed(self, speed: float, timeout: float = 2.0) -> None:
        """Lower the greatest speed of its tool [m/s] for as long as this object lives, also while it moves.

        Raises:
            Refused: it is closed.
            InputError: it would be raised, or nothing limits it so far.
            NoAnswer: the cycle did not answer in time.
        """
        self._opened("lower its tool_speed").ask("lower_tool_speed", timeout, speed=speed)
        self._safety = self._safety.with_tool_speed(speed)

    @property
    def judged(self) -> Judged:
        """The sent commands that the cycle has checked."""
        link = self._living()
        newest = link.newest if link is not None else None
        return Judged() if newest is None else Judged(newest.commanded_at, newest.judged_at)

    def command(self, mode: Mode, values: Sequence[float] | Array) -> float:
        """Command positions, velocities or efforts; returns at once.

        A command that breaks a rule is refused as a whole and counted: rules checked here raise, others show
        in `status().refused` alone. The last accepted command stays in force until command_timeout.

        Args:
            mode: what the numbers are.
            values: one per joint.

        Returns:
            When it was made, on the steady clock [s]; by this `judged` names it.

        Raises:
            Refused: the robot is not ACTIVE, has no such mode; a number is missing, not finite or over a limit.
        """
        made_at = self._clock.now()
        try:
            numbers = np.array(values)
            if np.iscomplexobj(numbers):
                raise TypeError
            numbers = numbers.astype(np.float64)
        except (TypeError, ValueError):
            text = f"the command is {values!r:.80}; give one number for each of {', '.join(self.joints)}."
            raise self._refused(Refusal(Reason.NOT_FINITE, text)) from None
        self._refuse_inactive()
        demand = Demand(mode, numbers, made_at)
        refusal = self._check.refused_numbers(demand)
        if refusal is not None:
            raise self._refused(refusal)
        return self.send(demand)

    def send(self, demand: Demand) -> float:
        """Send a demand that was judged at its source already to the cycle, which judges it anew; see `command`.

        Its age counts from its stamp, where it has one: a thread that stands still before it sends makes it old.
        """
        link = self._refuse_inactive()
        if demand.stamp == -math.inf:
            demand = demand._replace(stamp=self._clock.now())
        if not link.command(demand):
            text = "the robot's cycle takes no commands: it is frozen, or overloaded."
            raise self._refused(Refusal(Reason.NOT_TAKEN, text))
        return demand.stamp

    def _refuse_inactive(self) -> HostLink:
        phase, link = self.phase, self._link
        if phase is not Phase.ACTIVE or link is None:
            text = f"the robot is {phase.value}: {self.reason}. Activate it first."
            raise self._refused(Refusal(Reason.NOT_ACTIVE, text))
        return link

    def _refused(self, refusal: Refusal) -> Refused:
        self._refused_at = self._clock.now()
        self._check.count(refusal, self._refused_at)
        return refusal.as_error()

    def deactivate(self, timeout: float = 10.0) -> None:
        """Bring it to rest along a ramp, then brakes: INACTIVE afterwards; nothing happens where it is already.

        Raises:
            Refused: it is STOPPED or CLOSED.
            NoAnswer: the cycle did not answer in time.
        """
        self._opened("deactivate").ask("deactivate", timeout, why="deactivated")

    def stop(self, why: str = "asked to stop", timeout: float = 2.0) -> None:
        """Bring it to rest and latch STOPPED. Works in every phase; nothing happens where it is CLOSED.

        Returns when the ramp has begun (the phase is STOPPING or STOPPED), not when it has ended.

        Raises:
            NoAnswer: the cycle did not answer in time; the device is left to its own watchdog.
        """
        link = self._living()
        if link is not None:
            link.ask("stop", timeout, why=why)

    def reset(self, timeout: float = 10.0) -> None:
        """Clear alarms and the latched stop: INACTIVE afterwards. Nothing moves.

        Raises:
            Refused: it is neither STOPPED nor INACTIVE, or still comes to rest.
            DeviceAlarm: an alarm stays, and says why.
            NoAnswer: device or cycle did not answer in time.
        """
        self._opened("reset").ask("reset", timeout)

    def save_flight_record(self, why: str = "asked for", timeout: float = 30.0) -> str:
        """Write what the flight recorder has; done by itself when a fault latches.

        Returns:
            The file.

        Raises:
            Refused: the robot is closed, or record_seconds is 0.
            NoAnswer: it took too long.
        """
        self._opened("write a flight record")
        return self._written(why, timeout)

    def _written(self, why: str, timeout: float) -> str:
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
        """Bring it to rest, brakes on, and let go of it: CLOSED afterwards, whatever happens. May be called twice.

        Raises:
            NoAnswer: the cycle did not end in time and was killed; the device is left to its own watchdog.
        """
        with self._requests:
            link, cycle = self._living(), self._cycle
            self._is_closing = True
            try:
                if link is not None and cycle is not None:
                    deadline = self._clock.now() + timeout
                    link.ask("close", timeout, why="closed")
                    if not cycle.wait(max(0.1, deadline - self._clock.now())):
                        raise NoAnswer(f"{self.device}: the cycle said that it ends, and did not within {timeout:g} s.")
                    self._closed_because = "closed"
            except NoAnswer as problem:
                if cycle is not None:
                    cycle.kill()
                self._closed_because = f"killed: {problem}"
                raise NoAnswer(f"{problem} The cycle was killed.", field="request", value="close") from None
            finally:
                self._let_go()
                self._is_closing = False

    def _living(self) -> HostLink | None:
        """The link, where there is a cycle at its other end."""
        link = self._link
        return link if link is not None and link.is_alive else None

    def _opened(self, to: str) -> HostLink:
        link = self._living()
        if link is None:
            text = f"{self.device} is closed ({self._closed_because}); open it to {to}."
            raise Refused(text, field="phase", value=Phase.CLOSED.value)
        return link

    def _lost(self) -> None:
        """The cycle's end is gone, unasked: record why, and save the flight record."""
        cycle, recorder = self._cycle, self._recorder
        if cycle is None or self._is_closing:
            return
        self._closed_because = "the link to the cycle is gone"
        cycle.wait(1.0)
        self._closed_because = cycle.ending() or self._closed_because
        if recorder is not None and self._place == "process":
            with contextlib.suppress(OSError):
                recorder.save(self._closed_because)

    def __enter__(self: Own) -> Own:
        """Open it, where it is not."""
        if self._living() is None:
            self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
