# SPDX-License-Identifier: Apache-2.0
"""Client end of the connection to the cycle: commands, requests and their replies, reports, heartbeats."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_robot.contract import Demand
from ada_robot.cycle import messages
from ada_robot.cycle.messages import Exchange, RobotStatus
from ada_robot.errors import NoAnswer

BEATS = 5  # heartbeats per host_timeout
LONGEST_WAIT = 0.1  # maximum poll interval of the receiving thread [s]


class CycleConnection:
    """Connection to one cycle, usable from any thread.

    Attributes:
        report: latest report; None before the first.
    """

    def __init__(
        self,
        fast: socket.socket,
        requests: socket.socket,
        host_timeout: float,
        on_loss: Callable[[], object] = lambda: None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Start the receiving thread.

        Args:
            fast: client end of the socket pair for commands and feedback; the caller closes it.
            requests: client end of the socket pair for requests and reports; the caller closes it.
            host_timeout: heartbeat timeout of the cycle [s].
            on_loss: called in the receiving thread if the cycle ends before `end` is called.
            clock: clock of heartbeats, deadlines and message ages.
        """
        self._fast, self._requests, self._clock = fast, requests, clock
        fast.setblocking(False)
        requests.setblocking(False)
        self._beat_every, self._on_loss = min(host_timeout / BEATS, LONGEST_WAIT), on_loss
        self._newest: bytes = b""
        self._newest_at = -1.0
        self._arrived = threading.Condition()
        self._waiters = 0
        self.report: RobotStatus | None = None
        self._futures: dict[int, Future[Mapping[str, Any]]] = {}
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
        future: Future[Mapping[str, Any]] = Future()
        with self._lock:
            self._number += 1
            number = self._number
            self._futures[number] = future
        try:
            if self._over.is_set() or not self._send(self._requests, messages.encode_request(number, what, **details)):
                raise NoAnswer(f"the robot's cycle has ended or is frozen; request {what!r} was not sent.")
            reply = future.result(timeout)
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
        problem = messages.problem_of(reply)
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
        deadline = self._clock.now() + timeout
        before = self._newest_at
        with self._arrived:
            self._waiters += 1
            try:
                while self._newest_at == before and not self._over.is_set():
                    if not self._arrived.wait(max(0.0, deadline - self._clock.now())):
                        break
            finally:
                self._waiters -= 1
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
            self._newest, self._newest_at = newest, self._clock.now()
            if self._waiters:
                with self._arrived:
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
            content = messages.decode_json(data)
            if "report" in content:
                self.report = messages.decode_report(content["report"])
                continue
            with self._lock:
                future = self._futures.pop(int(content["reply"]), None)
            if future is not None:
                future.set_result(content)

    def _give_up(self) -> None:
        """Fail all pending requests, because the cycle has ended."""
        with self._lock:
            waiting = list(self._futures.values())
            self._futures.clear()
        for future in waiting:
            future.set_exception(NoAnswer("the robot's cycle ended before it replied."))
        with self._arrived:
            self._arrived.notify_all()
