# SPDX-License-Identifier: Apache-2.0
"""Client end of the cycle: its process or thread; commands, requests and their replies, reports, heartbeats."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, TypeAlias

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_robot.contract import Demand
from ada_robot.cycle import messages
from ada_robot.cycle.messages import CycleReply, CycleRequest, Exchange, RobotStatus
from ada_robot.cycle.server import CycleServer
from ada_robot.driver import RobotDriver
from ada_robot.errors import HardwareError, NoAnswer
from ada_robot.processes import ChildProcess, stderr_for_children
from ada_robot.safety.flight_recorder import recorder_of, sibling_environment
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import as_mapping

BEATS = 5  # heartbeats per host_timeout
LONGEST_WAIT = 0.1  # maximum poll interval of the receiving thread [s]
LONGEST_TEXT = 1000  # maximum length of a text in a request


class _Sockets:
    """Socket pairs of a cycle; attributes as in `CycleThread`."""

    def __init__(self) -> None:
        self.fast, self._far_fast = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.requests, self._far_requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def close(self) -> None:
        """Close the client ends, upon which the cycle brings the robot to rest and ends."""
        self.fast.close()
        self.requests.close()


class CycleThread(_Sockets):
    """Cycle in a thread of this process.

    Attributes:
        pid: id of its process.
        fast: client end of the socket pair for commands and feedback.
        requests: client end of the socket pair for requests and reports.
    """

    def __init__(
        self, driver: RobotDriver[Any], safety: SafetySettings, flight: int, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """Create the cycle."""
        super().__init__()
        self.pid = os.getpid()
        recorder = recorder_of(flight, safety, clock)
        self.server = CycleServer(driver, safety, self._far_fast, self._far_requests, recorder, clock=clock)

    def start(self, timeout: float) -> None:
        """Start the cycle, and wait until it is ready."""
        self.server.loop.start()

    def wait(self, timeout: float) -> bool:
        """Wait for the end of the cycle; False after the timeout."""
        return self.server.ended.wait(timeout) and self.server.loop.stop(1.0)

    def kill(self) -> None:
        """Let it end when its driver returns, because a thread cannot be killed."""
        self.server.leave("the cycle does not reply")

    def ending(self) -> str:
        """Describe how the cycle ended; "" while it runs."""
        return "the cycle's thread has ended" if self.server.ended.is_set() else ""


class CycleProcess(_Sockets):
    """Cycle in a separate process, unaffected by the end, freeze or load of this process.

    Signals to this process group (Ctrl-C, closed terminal) do not end it before the robot is at rest.
    """

    def __init__(self, driver: str, settings: object, safety: SafetySettings, flight: int) -> None:
        """Start the process, which waits for its configuration.

        Args:
            driver: "module:class".
            settings: instance of the driver's class SETTINGS.
            safety: safety settings.
            flight: descriptor of the flight recorder's memory, or -1.
        """
        super().__init__()
        self._configuration = {"driver": driver, "settings": as_mapping(settings), "safety": as_mapping(safety)}
        passed = [self._far_fast.fileno(), self._far_requests.fileno(), flight]
        try:
            self._process = ChildProcess(
                [sys.executable, "-m", "ada_robot.cycle", *(str(one) for one in passed)],
                pass_fds=[one for one in passed if one >= 0],
                env=sibling_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # an inherited stdout would keep readers of this process waiting
                stderr=stderr_for_children(),
            )
        finally:
            self._far_fast.close()
            self._far_requests.close()
        self.pid = self._process.pid

    def start(self, timeout: float) -> None:  # noqa: D102
        self.requests.settimeout(timeout)
        try:
            self.requests.send(messages.encode_request(CycleRequest(0, "prepare", self._configuration)))
            reply = self.requests.recv(messages.LARGEST)
        except TimeoutError:
            self.kill()
            raise NoAnswer(f"the cycle process was not ready within {timeout:g} s and was killed.") from None
        except OSError as problem:
            raise self._not_started() from problem
        if not reply:
            raise self._not_started()
        answer = messages.decode_answer(reply)
        if isinstance(answer, CycleReply) and answer.problem is not None:
            self.wait(1.0)
            raise answer.problem

    def _not_started(self) -> HardwareError:
        self.wait(1.0)
        return HardwareError(f"the cycle process did not start: {self.ending()}; see stderr for the reason.")

    def wait(self, timeout: float) -> bool:  # noqa: D102
        return self._process.wait(timeout)

    def kill(self) -> None:
        """Kill the process; only the watchdog of the device can stop the robot then."""
        self._process.send(signal.SIGKILL)
        self._process.wait(5.0)

    def ending(self) -> str:  # noqa: D102
        code = self._process.code
        if code is None:
            return ""
        return f"the cycle process was killed by signal {-code}" if code < 0 else f"the cycle process ended ({code})"


Cycle: TypeAlias = CycleThread | CycleProcess


class CycleConnection:
    """Connection to one cycle, usable from any thread.

    Attributes:
        report: latest report; None before the first.
    """

    def __init__(
        self,
        cycle: Cycle,
        host_timeout: float,
        on_loss: Callable[[], object] = lambda: None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Start the receiving thread.

        Args:
            cycle: started cycle; the caller closes it.
            host_timeout: heartbeat timeout of the cycle [s].
            on_loss: called in the receiving thread if the cycle ends before `end` is called.
            clock: clock of heartbeats, deadlines and message ages.
        """
        self._fast, self._requests, self._clock = cycle.fast, cycle.requests, clock
        self._fast.setblocking(False)
        self._requests.setblocking(False)
        self._beat_every, self._on_loss = min(host_timeout / BEATS, LONGEST_WAIT), on_loss
        self._newest: bytes = b""
        self._newest_at = -1.0
        self._arrived = threading.Condition()
        self.report: RobotStatus | None = None
        self._futures: dict[int, Future[BaseException | None]] = {}
        self._number = 0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="robot link", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """True while the cycle is connected."""
        return not self._over.is_set()

    def end(self) -> None:
        """Stop receiving, without a message to the cycle."""
        self._over.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(2.0)

    # --- sending --------------------------------------------------------------------------------------------------
    def command(self, command: Demand) -> bool:
        """Send a command; return False if the cycle is frozen or has ended."""
        return self._send(self._fast, messages.encode_command(command))

    def ask(self, what: str, timeout: float, **details: object) -> None:
        """Send a request and wait for its reply.

        Raises:
            HardwareError: error of the request, sent by the cycle.
            NoAnswer: if no reply is received in time.
        """
        future: Future[BaseException | None] = Future()
        with self._lock:
            self._number += 1
            number = self._number
            self._futures[number] = future
        short = {name: x[:LONGEST_TEXT] if isinstance(x, str) else x for name, x in details.items()}
        try:
            request = messages.encode_request(CycleRequest(number, what, short))
            if self._over.is_set() or not self._send(self._requests, request):
                raise NoAnswer(f"the robot's cycle has ended or is frozen; request {what!r} was not sent.")
            problem = future.result(timeout)
        except NotInTime:
            raise NoAnswer(
                f"the robot's cycle did not reply to {what!r} within {timeout:g} s: its process is frozen, or its "
                f"driver waits for the device. Only the watchdog of the device can stop the robot.",
                field="request",
                value=what,
            ) from None
        finally:
            with self._lock:
                self._futures.pop(number, None)
        if problem is not None:
            raise problem

    def _send(self, end: socket.socket, data: bytes) -> bool:
        try:
            end.send(data)
        except OSError:
            return False
        return True

    # --- receiving ------------------------------------------------------------------------------------------------
    @property
    def newest(self) -> Exchange | None:
        """Latest message of the cycle; None before the first."""
        data = self._newest
        return messages.decode_exchange(data) if data else None

    def wait_newer(self, timeout: float) -> Exchange | None:
        """Wait for the next message of the cycle; None after the timeout."""
        before = self._newest_at
        with self._arrived:
            self._arrived.wait_for(lambda: self._newest_at != before or self._over.is_set(), timeout)
        return self.newest if self._newest_at != before else None

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._fast, select.POLLIN)
        poll.register(self._requests, select.POLLIN)
        beat_at = 0.0
        try:
            while not self._over.is_set():
                now = self._clock.now()
                if now >= beat_at:
                    self._send(self._fast, messages.HEARTBEAT)
                    beat_at = now + self._beat_every
                poll.poll(1e3 * max(0.0, beat_at - now))
                if not (self._take_requests() and self._take_exchanges()):
                    self._take_requests()  # a cycle that ends has replied before
                    break
        except (OSError, ValueError):  # the sockets were closed
            pass
        finally:
            is_loss = not self._over.is_set()
            self._over.set()
            self._give_up()
            if is_loss:
                self._on_loss()

    def _take_exchanges(self) -> bool:
        newest = b""
        while True:
            try:
                data = self._fast.recv(messages.LARGEST)
            except BlockingIOError:
                break
            if not data:
                return False
            newest = data
        if newest:
            with self._arrived:
                self._newest, self._newest_at = newest, self._clock.now()
                self._arrived.notify_all()
        return True

    def _take_requests(self) -> bool:
        while True:
            try:
                data = self._requests.recv(messages.LARGEST)
            except BlockingIOError:
                return True
            if not data:
                return False
            content = messages.decode_answer(data)
            if not isinstance(content, CycleReply):
                self.report = content
                continue
            with self._lock:
                future = self._futures.pop(content.number, None)
            if future is not None:
                future.set_result(content.problem)

    def _give_up(self) -> None:
        """Fail all pending requests, because the cycle has ended."""
        with self._lock:
            waiting = list(self._futures.values())
            self._futures.clear()
        for future in waiting:
            future.set_exception(NoAnswer("the robot's cycle ended before it replied."))
        with self._arrived:
            self._arrived.notify_all()
