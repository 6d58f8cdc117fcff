# SPDX-License-Identifier: Apache-2.0
"""Server end of the connection: receives commands and requests, runs one cycle per period, sends feedback and replies.

One thread does all of this without waiting for the client. If the client dies, the robot is brought to rest and closed,
and the server ends.
"""

from __future__ import annotations

import logging
import math
import socket
import threading
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import InputError
from ada_robot.contract import Demand, Reason, Refusal
from ada_robot.cycle import messages
from ada_robot.cycle.messages import CycleRequest, Exchange, RobotStatus
from ada_robot.driver import RobotDriver
from ada_robot.errors import HardwareError, Refused
from ada_robot.safety.flight_recorder import FlightRecorder
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from ada_robot.timing.deadlines import DeadlineLoop

MOST_COMMANDS = 16  # commands checked per cycle; of more only the latest
MOST_MESSAGES = 1024  # messages received per cycle
REPORT_EVERY = 0.1  # interval of reports [s]
PERIODS_EVERY = 1.0  # interval of cycle time statistics [s]; percentiles are expensive
GIVE_UP = 5.0  # maximum time to rest after the end of the client [s]
GONE = "the commanding program has ended"
_log = logging.getLogger("ada_robot")


class CycleServer:
    """Server of one client that commands one robot.

    Attributes:
        cycle: safety cycle.
        loop: loop that calls `tick`; the caller starts it, the server stops it at the end.
        ended: set when the robot is closed and the server has ended.
        notes: remarks on this process, sent with the reports.
    """

    def __init__(
        self,
        driver: RobotDriver[Any],
        settings: SafetySettings,
        fast: socket.socket,
        requests: socket.socket,
        recorder: FlightRecorder | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Create the safety cycle and its loop.

        Args:
            driver: robot driver, closed.
            settings: safety settings.
            fast: server end of the socket pair for commands and feedback; closed at the end.
            requests: server end of the socket pair for requests and reports; closed at the end.
            recorder: flight recorder; None for none.
            clock: clock of all times.
        """
        self.cycle = SafeCycle(driver, settings, recorder, lambda _: self._report(), clock=clock)
        self.loop = DeadlineLoop(
            driver.period, self.tick, name="cycle", catch_up=0.0, on_failure=self._failed, clock=clock
        )
        self.ended = threading.Event()
        self.notes: list[str] = []
        self._driver, self._recorder, self._clock = driver, recorder, clock
        self._fast, self._requests = fast, requests
        for end in (fast, requests):
            end.setblocking(False)
        self._host_seen_at = clock()
        self._waiting: list[CycleRequest] = []  # received requests, the oldest first
        self._resting: list[CycleRequest] = []  # requests to be answered once the robot is at rest
        self._leaving = ""  # reason to end
        self._leave_before = math.inf
        self._reported_at = self._periods_at = -1.0
        self._periods: Any = None
        self._recorded = ""  # latched fault of the last flight record
        self._was_driven = False  # motors were driven when the server began to end
        self._restart_statistics = False
        self._judged_at = -math.inf  # creation time of the latest checked command

    def leave(self, why: str) -> None:
        """Bring the robot to rest, close it and end, starting with the next tick; callable from any thread."""
        self._leaving = self._leaving or why

    def _failed(self, problem: BaseException) -> None:
        """Make the device hold its position and end, after an exception in the loop."""
        _log.error("%s: the cycle failed", self._driver.NAME, exc_info=problem)
        try:
            self.cycle.close(self._clock())
        finally:
            for end in (self._fast, self._requests):
                end.close()
            self.ended.set()

    # --- the loop's thread ----------------------------------------------------------------------------------------
    def tick(self, due: int = 1) -> None:
        """Execute one period. Args: elapsed periods; missed ones are not repeated."""
        if self._restart_statistics:
            self.loop.statistics.restart()
            self._restart_statistics, self._periods, self._periods_at = False, None, self._clock()
        commands = self._new_commands()
        self._take_requests()
        while self._waiting:
            self._serve(self._waiting.pop(0))
        cycle = self.cycle
        if self._leaving and not cycle.phase.is_driven:
            self._end()
            return
        if self._leaving and cycle.phase is Phase.ACTIVE:
            cycle.deactivate(self._clock(), self._leaving)
            self._leave_before, self._was_driven = self._clock() + GIVE_UP, True
        if cycle.phase is Phase.CLOSED:
            return
        cycle.step(self._clock(), commands, self._host_seen_at)
        if commands:
            self._judged_at = commands[-1].stamp
        self._after_step()

    def _after_step(self) -> None:
        cycle = self.cycle
        exchange = Exchange(
            cycle.phase, cycle.feedback, cycle.demand, cycle.commanded_at, self._judged_at, self._clock()
        )
        _send(self._fast, messages.encode_exchange(exchange))
        if self._resting and cycle.phase is not Phase.STOPPING:
            rested, self._resting = self._resting, []
            for request in rested:
                self._serve_rested(request)
        if not cycle.phase.is_driven and cycle.latched != self._recorded:
            self._recorded = cycle.latched
            if cycle.latched:
                self._save_record(cycle.latched)
        now = self._clock()
        if now - self._reported_at >= REPORT_EVERY:
            self._report()
        if self._leaving and cycle.phase.is_driven and now > self._leave_before:
            _log.warning("%s: not at rest within %g s; device stopped without a ramp", self._driver.NAME, GIVE_UP)
            self._end()

    def _end(self) -> None:
        if self._was_driven and self._leaving == GONE:
            self._save_record(GONE)
        self.cycle.close(self._clock())
        for request in self._resting:
            closed = Refused(f"the robot was closed before the request was done: {self._leaving}.")
            self._reply(request, None if request.what == "close" else closed)
        self.loop.stop()
        for end in (self._fast, self._requests):
            end.close()
        self.ended.set()

    # --- receiving ------------------------------------------------------------------------------------------------
    def _new_commands(self) -> list[Demand]:
        commands: list[Demand] = []
        for _ in range(MOST_MESSAGES):
            data = self._received(self._fast)
            if data is None:
                break
            self._host_seen_at = self._clock()
            if data != messages.HEARTBEAT:
                command = messages.decode_command(data)
                if command is not None:
                    commands.append(command)
        overtaken = len(commands) - MOST_COMMANDS
        if overtaken > 0:
            text = f"{overtaken} commands were superseded by newer ones within one cycle; send one per cycle."
            self.cycle.check.count(Refusal(Reason.OVERTAKEN, text), self._clock(), overtaken)
        return commands[-MOST_COMMANDS:]

    def _take_requests(self) -> None:
        for _ in range(MOST_MESSAGES):
            data = self._received(self._requests)
            if data is None:
                break
            request = messages.decode_request(data)
            if request.what == "stop":  # ahead of all waiting requests
                self._waiting.insert(0, request)
            else:
                self._waiting.append(request)

    def _received(self, end: socket.socket) -> bytes | None:
        try:
            data = end.recv(messages.LARGEST)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:  # messages are never empty: the client has closed the socket
            self.leave(GONE)
            return None
        return data

    def _stop_requested(self) -> str:
        """Return the reason to abort the start of the device: a stop or close request, or the end of the client."""
        self._take_requests()
        stops = [request for request in self._waiting if request.what in ("stop", "close")]
        return str(stops[0].details["why"]) if stops else self._leaving

    # --- requests -------------------------------------------------------------------------------------------------
    def _serve(self, request: CycleRequest) -> None:
        cycle, now, what = self.cycle, self._clock(), request.what
        try:
            if what == "stop":
                cycle.stop(now, request.details["why"])
                self._refuse_older_resets(request)
            elif what == "open":
                cycle.open(now)
            elif what == "activate":
                cycle.activate(now, self._stop_requested)
                self._restart_statistics = True
            elif what == "arm":
                cycle.arm(now)
            elif what == "lower_tool_speed":
                cycle.lower_tool_speed(now, request.details["speed"])
            elif what == "deactivate":
                cycle.deactivate(now, request.details["why"])
                self._resting.append(request)
                return
            elif what == "reset":
                if cycle.phase is Phase.STOPPING:
                    self._resting.append(request)
                    return
                cycle.reset(now)
            elif what == "close":
                self.leave(request.details["why"])
                self._resting.append(request)
                return
        except (HardwareError, InputError) as problem:
            self._reply(request, problem)
        except Exception as problem:
            _log.exception("%s: %s failed", self._driver.NAME, what)
            self._reply(request, problem)
        else:
            self._reply(request, None)

    def _refuse_older_resets(self, stop: CycleRequest) -> None:
        """Refuse resets requested before a stop: they must not clear it."""
        for requests in (self._waiting, self._resting):
            for request in list(requests):
                if request.what == "reset" and request.number < stop.number:
                    requests.remove(request)
                    text = f"stopped after the reset was requested: {stop.details['why']}. Reset again afterwards."
                    self._reply(request, Refused(text, field="phase", value=Phase.STOPPED.value))

    def _serve_rested(self, request: CycleRequest) -> None:
        """Answer a request that waited until the robot is at rest."""
        if request.what == "reset":
            self._serve(request)
        elif request.what == "close":
            self._resting.append(request)  # answered by _end
        else:
            phase, reason = self.cycle.phase, self.cycle.reason
            is_inactive = phase is Phase.INACTIVE
            instead = Refused(f"the robot is {phase.value}: {reason}.", field="phase", value=phase.value)
            self._reply(request, None if is_inactive else instead)

    def _reply(self, request: CycleRequest, problem: BaseException | None) -> None:
        self._report()  # report first, so that the caller sees the state that the reply refers to
        _send(self._requests, messages.encode_reply(request.number, problem))

    # --- sending --------------------------------------------------------------------------------------------------
    def _report(self) -> None:
        cycle, now = self.cycle, self._clock()
        if self._periods is None or now - self._periods_at >= PERIODS_EVERY:
            found = self.loop.statistics.summary()
            self._periods, self._periods_at = found if found.period_max > 0.0 else None, now  # None: unknown
        self._reported_at = now
        status = RobotStatus(
            phase=cycle.phase,
            reason=cycle.reason,
            is_armed=cycle.is_armed,
            operating_mode=cycle.settings.operating_mode,
            tool_speed=math.inf if cycle.rules.tool.tool is None else cycle.rules.tool.speed,
            alarms=cycle.feedback.alarms,
            accepted=cycle.check.accepted,
            refused=cycle.check.refused,
            last_refusal=cycle.check.last_refusal,
            refused_at=cycle.check.refused_at,
            counts=self._driver.counts,
            periods=self._periods,
            missed_cycles=cycle.missed,
            late_cycles=cycle.timing.late,
            longest_gap=cycle.timing.longest,
            values=dict(cycle.feedback.values),
            flight_record=self._recorder.newest if self._recorder is not None else "",
            notes=tuple(self.notes),
        )
        _send(self._requests, messages.encode_report(status))

    def _save_record(self, why: str) -> None:
        if self._recorder is None:
            return
        try:
            self._recorder.save(why)
        except OSError as problem:
            _log.warning("%s: the flight record cannot be written: %s", self._driver.NAME, problem)


def _send(end: socket.socket, data: bytes) -> None:
    """Send without waiting; drop the message if the buffer is full. A closed socket is detected when reading."""
    try:
        end.send(data)
    except OSError:  # buffer full (BlockingIOError), or closed
        return
