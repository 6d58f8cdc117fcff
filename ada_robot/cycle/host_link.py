# SPDX-License-Identifier: Apache-2.0
"""The commanding program's end of the link: sends at once, listens in a thread of its own, waits for replies."""

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
from ada_robot.cycle.messages import Exchange
from ada_robot.errors import NoAnswer
from ada_robot.robot_status import RobotStatus

BEATS = 5  # signs of life within host_timeout
LONGEST_WAIT = 0.1  # [s] after which the listening thread checks whether it is to end


class HostLink:
    """Talks to one cycle, from any thread.

    Attributes:
        report: the newest; None before the first.
    """

    def __init__(
        self,
        fast: socket.socket,
        requests: socket.socket,
        host_timeout: float,
        on_loss: Callable[[], object] = lambda: None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Begin to listen.

        Args:
            fast: this end of the pair for commands and feedback; stays the caller's.
            requests: this end of the pair for requests and reports; likewise.
            host_timeout: silence that the cycle takes for the end of this program [s].
            on_loss: called, in the listening thread, when the other end is gone before `end` was.
            clock: of heartbeats, deadlines and the age of messages.
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
        """True if the other end is there."""
        return not self._over.is_set()

    def end(self) -> None:
        """Stop listening; nothing is sent."""
        self._over.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(2.0)

    # --- sending --------------------------------------------------------------------------------------------------
    def command(self, command: Demand) -> bool:
        """Send a command; False where the cycle takes none at the moment: it is frozen, or gone."""
        return self._send(self._fast, messages.encode_command(command))

    def ask(self, what: str, timeout: float, **details: object) -> None:
        """Make a request and wait until it is done.

        Raises:
            HardwareError: what the cycle answers.
            NoAnswer: it did not in time, or is gone.
        """
        future: Future[Mapping[str, Any]] = Future()
        with self._lock:
            self._number += 1
            number = self._number
            self._futures[number] = future
        try:
            if self._over.is_set() or not self._send(self._requests, messages.encode_request(number, what, **details)):
                raise NoAnswer(f"the robot's cycle is gone or does not listen; {what} was not asked for.")
            reply = future.result(timeout)
        except NotInTime:
            raise NoAnswer(
                f"the robot's cycle did not answer within {timeout:g} s to: {what}. Its process is frozen, or its "
                f"driver waits for the device. What the device does by itself is all that stops the robot now.",
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
        """The cycle's newest message; None before the first."""
        data = self._newest
        return messages.decode_exchange(data) if data else None

    def wait_newer(self, timeout: float) -> Exchange | None:
        """Wait for something newer than what is there now; None where nothing comes in time."""
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
                    self._take_requests()  # a cycle that ends has answered before
                    break
        except (OSError, ValueError):  # the ends were closed
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
        """Fail all open requests: the cycle is gone."""
        with self._lock:
            waiting = list(self._futures.values())
            self._futures.clear()
        for future in waiting:
            future.set_exception(NoAnswer("the robot's cycle ended before it answered."))
        with self._arrived:
            self._arrived.notify_all()
