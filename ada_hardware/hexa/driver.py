# SPDX-License-Identifier: Apache-2.0
"""Driver of a HEXA table that uses the packets of `packets` (defined here; HEXA97's own bus is not published)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK
from ada_hardware.hexa.alarms import alarms_of, second_host
from ada_hardware.hexa.kinematics import JOINTS
from ada_hardware.hexa.packets import (
    NUMBERS,
    ZEROS,
    CommandPacket,
    TableRequest,
    TableState,
    TableStatus,
    decode_status,
    encode_command,
    is_newer,
)
from ada_hardware.hexa.plant import LIMITS, PERIOD, WATCHDOG
from ada_hardware.opening import open_device_wire
from ada_hardware.transport.wires import Wire
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback, RobotDriver, alarm_error, in_words
from ada_robot.errors import DeviceAlarm, NoAnswer, Refused, TransportError
from ada_robot.settings import setting

_PATIENCE = 0.1  # [s] timeout of a request that must be confirmed
_STOPPING = 1.5 * WATCHDOG  # [s] timeout of STOP; the watchdog of the table has expired by then
_DRIVEN = (TableState.POSITION, TableState.EFFORT)
_REQUESTS = {Mode.POSITION: TableRequest.POSITION, Mode.EFFORT: TableRequest.EFFORT}


@dataclass(frozen=True)
class HexaSettings:
    """Settings of the HEXA driver."""

    url: str = setting("", "address of the table's computer, such as udp://192.168.1.20:50097; dry: opens no port")
    reply_timeout: float = setting(
        0.0012, "timeout of the answer to a command", unit="s", lower=1e-4, upper=0.1, read_only=True
    )
    connect_timeout: float = setting(
        1.0, "timeout of the first answer", unit="s", lower=0.01, upper=60.0, read_only=True
    )


class HexaDriver(RobotDriver[HexaSettings]):
    """HEXA driver: six cranks, position or torque commands."""

    NAME: ClassVar[str] = "hexa"
    SETTINGS: ClassVar[type] = HexaSettings
    joints, limits, modes = JOINTS, LIMITS, frozenset(_REQUESTS)
    period, device_timeout = PERIOD, WATCHDOG

    def __init__(
        self,
        settings: HexaSettings,
        *,
        wire: Wire | None = None,
        clock: Callable[[], float] = SYSTEM_CLOCK,
        session: int | None = None,
    ) -> None:
        """Create the driver without opening the connection.

        Args:
            settings: settings of the driver.
            wire: port to use; None to open the url of the settings.
            clock: monotonic time [s].
            session: session number of this host; default: random.
        """
        super().__init__(settings)
        self._injected, self._wire = wire, wire
        self._clock = clock
        self._session = 1 + secrets.randbelow(NUMBERS - 1) if session is None else session % NUMBERS
        self._number = 0
        self._last: Feedback | None = None
        self._is_open = False
        self._may_be_driven = False
        self._is_ours = False  # the last status had this host in control

    # --- driver ---------------------------------------------------------------------------------------------------
    def open(self) -> None:  # noqa: D102
        self._wire = self._injected or open_device_wire(self.NAME, self.settings.url, self.settings)
        self._is_open = True
        deadline, status = self._clock() + self.settings.connect_timeout, None
        try:
            while status is None:
                status = self._exchange(TableRequest.READ, timeout=self.settings.connect_timeout / 10.0)
                if status is None and self._clock() >= deadline:
                    text = (
                        f"hexa: no answer from a table at {self._url} within {self.settings.connect_timeout:g} s "
                        f"({self.counts.sent} requests, {self.counts.refused} invalid packets). Check that the table "
                        "is on, that the address is right, and that its computer runs the program for these packets."
                    )
                    raise NoAnswer(text, field="packet", value="READ")
            if status.state in _DRIVEN and status.session != self._session:
                text = (
                    f"hexa: the table at {self._url} is in use: another host (session {status.session:08x}) drives "
                    "it. Stop that host first; without commands the table brakes by itself."
                )
                raise TransportError(text, field="state", value="in use")
        except (NoAnswer, TransportError):
            self.close()
            raise

    def idle(self) -> Feedback:  # noqa: D102
        return self._feedback(self._exchange(TableRequest.READ))

    def start(self) -> None:  # noqa: D102
        self._may_be_driven = True
        status = self._repeat_until(TableRequest.START, lambda found: found.state is not TableState.BRAKED)
        if status.state not in _DRIVEN or status.session != self._session:
            self._may_be_driven = status.state is TableState.BRAKED
            foreign = "another host drives it" if status.state in _DRIVEN else "the brakes remain closed"
            raise _alarmed(f"hexa: the table does not start: {in_words(alarms_of(status, JOINTS)) or foreign}.", status)

    def cycle(self, demand: Demand) -> Feedback:  # noqa: D102
        request = _REQUESTS.get(demand.mode)
        if request is None:
            known = tuple(sorted(mode.value for mode in _REQUESTS))
            text = f"hexa: unsupported mode {demand.mode.value}; the table supports {' and '.join(known)}."
            raise Refused(text, field="mode", value=demand.mode.value, allowed=known)
        return self._feedback(self._exchange(request, demand.values.tolist()))

    def stop(self) -> None:  # noqa: D102
        try:
            status = self._repeat_until(TableRequest.STOP, lambda found: found.state not in _DRIVEN, _STOPPING)
            self._may_be_driven = status.state in _DRIVEN
        except (NoAnswer, TransportError) as problem:
            self.counts.last_problem = f"stop: {problem}"  # the watchdog of the table stops it

    def reset(self) -> None:  # noqa: D102
        status = self._repeat_until(TableRequest.CLEAR, lambda found: found.state is not TableState.ALARM)
        if status.state is TableState.ALARM:
            raise _alarmed(f"hexa: alarms after reset: {in_words(alarms_of(status, JOINTS))}.", status)

    def close(self) -> None:  # noqa: D102
        if not self._is_open:
            return
        if self._may_be_driven:
            self.stop()
        self._is_open = False
        if self._wire is not None:
            self._wire.close()

    # --- exchange -------------------------------------------------------------------------------------------------
    @property
    def _url(self) -> str:
        return self.settings.url or (self._wire.url if self._wire else "")

    @property
    def _port(self) -> Wire:
        if not self._is_open or self._wire is None:
            raise TransportError("hexa: not connected; call open() first.", field="state", value="closed")
        return self._wire

    def _exchange(
        self, request: TableRequest, values: Sequence[float] = ZEROS, timeout: float | None = None
    ) -> TableStatus | None:
        """Send a command and return the answer, or None after a timeout."""
        port, counts = self._port, self.counts
        self._number = (self._number + 1) % NUMBERS
        port.send(encode_command(CommandPacket(request, self._number, self._session, tuple(values))))
        counts.sent += 1
        deadline = self._clock() + (self.settings.reply_timeout if timeout is None else timeout)
        while True:
            packet = port.receive(max(deadline - self._clock(), 0.0))
            if packet is None:
                counts.missed += 1
                counts.last_problem = f"no answer to {request.name}"
                return None
            status = decode_status(packet)
            if status is not None and status.number == self._number:
                counts.received += 1
                self._take(status)
                return status
            counts.refused += 1
            is_late = status is not None and is_newer(self._number, status.number)
            counts.last_problem = "late answer" if is_late else "invalid packet, or packet for another host"

    def _repeat_until(
        self, request: TableRequest, is_done: Callable[[TableStatus], bool], patience: float = _PATIENCE
    ) -> TableStatus:
        """Repeat a request each period until `is_done` or timeout; return the last status; raises NoAnswer."""
        deadline, tries = self._clock() + patience, 0
        status: TableStatus | None = None
        while True:
            begin = self._clock()
            self.counts.retries += tries > 0
            tries += 1
            status = self._exchange(request) or status
            if status is not None and is_done(status):
                return status
            if self._clock() >= deadline:
                break
            while (rest := begin + PERIOD - self._clock()) > 0.0:  # discard late answers
                self._port.receive(rest)
        if status is None:
            text = (
                f"hexa: no answer from the table at {self._url} to {request.name} ({tries} tries in {patience:g} s). "
                f"Check the network; the table brakes by itself {WATCHDOG:g} s after the last command."
            )
            raise NoAnswer(text, field="packet", value=request.name)
        return status

    def _take(self, status: TableStatus) -> None:
        is_own = status.session == self._session
        foreign = (second_host(status.session),) if self._may_be_driven and self._is_ours and not is_own else ()
        self._is_ours = is_own and status.state in _DRIVEN
        self._last = Feedback(
            time=self._clock(),
            position=np.array(status.angles),
            velocity=np.array(status.rates),
            effort=np.array(status.torques),
            is_driven=self._is_ours,
            alarms=alarms_of(status, JOINTS) + foreign,
            values={"table time [s]": status.time},
        )

    def _feedback(self, status: TableStatus | None) -> Feedback:
        last = self._last
        if status is not None and last is not None:
            return last
        if last is None:
            unknown: Array = np.full(len(JOINTS), np.nan)
            return Feedback(-np.inf, unknown, unknown, unknown, is_fresh=False)
        return replace(last, is_fresh=False)


def _alarmed(text: str, status: TableStatus) -> DeviceAlarm:
    alarms = alarms_of(status, JOINTS)
    return alarm_error(text, alarms) if alarms else DeviceAlarm(text, field="state", value=status.state.name)
