# SPDX-License-Identifier: Apache-2.0
"""Serial lines and pseudo-terminals, configured by pyserial; reads and writes with a timing resolution of 0.1 ms."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from ada_dynamics.resources import how_to_install
from ada_hardware.transport.wires import Serial, Wire, is_readable, is_writable
from ada_robot.errors import TransportError
from ada_robot.processes import posix_module

BITS_PER_BYTE = 11.0  # start bit, 8 bits, parity, stop bit
_PIECE = 4096  # [bytes] received at once
WRITE_MARGIN = 0.1  # [s] added to the transmission time as the timeout of a write


class SerialPort(Wire):
    """Serial port or pseudo-terminal of this machine."""

    def __init__(self, url: str, port: Any, serial: Serial) -> None:
        """Use an open port, created by `open_port`.

        Args:
            url: device file.
            port: open `serial.Serial`.
            serial: settings of the line.
        """
        self.url, self._port, self._serial = url, port, serial
        self._descriptor: int = port.fileno()
        os.set_blocking(self._descriptor, False)

    def send(self, data: bytes) -> None:  # noqa: D102
        rest = memoryview(data)
        deadline = time.monotonic() + WRITE_MARGIN + BITS_PER_BYTE * len(rest) / self._serial.baud
        while rest:
            try:
                rest = rest[os.write(self._checked(), rest) :]
            except BlockingIOError:
                if not is_writable(self._descriptor, deadline - time.monotonic()):
                    raise TransportError(
                        f"{self.url}: write timeout ({len(rest)} of {len(data)} bytes left): the device does not read, "
                        "or blocks the line by flow control.",
                        field="state",
                        value="blocked",
                    ) from None
            except OSError as problem:
                raise self._gone(problem.strerror) from None

    def receive(self, timeout: float) -> bytes | None:  # noqa: D102
        if not is_readable(self._checked(), timeout):
            return None
        try:
            data = os.read(self._descriptor, _PIECE)
        except BlockingIOError:
            return None
        except OSError as problem:
            raise self._gone(problem.strerror) from None
        if not data:  # readable without data: end of file
            raise self._gone("end of file")
        return data

    def discard_input(self) -> None:  # noqa: D102
        if self._descriptor >= 0:
            termios = _termios()
            with contextlib.suppress(OSError, termios.error):  # an error is raised by the next read
                termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def close(self) -> None:  # noqa: D102
        self._descriptor = -1
        with contextlib.suppress(OSError, _termios().error):
            self._port.close()
        self._switch_off()

    def _checked(self) -> int:
        if self._descriptor < 0:
            raise TransportError(f"{self.url}: is closed.", field="state", value="closed")
        return self._descriptor

    def _gone(self, why: str | None) -> TransportError:
        return TransportError(
            f"{self.url}: disconnected ({why}): unplugged, or the program at the other end has ended. Plug it in "
            "again and reset; a converter may get another port name.",
            field="state",
            value="gone",
        )


def _termios() -> Any:
    return posix_module("termios", "A serial port of this machine", "Devices on UDP can be used.")


def open_port(path: str, serial: Serial) -> SerialPort:
    """Open a serial port or pseudo-terminal of this machine for exclusive use.

    DTR is set before anything is sent, but Linux raises it briefly while a port is opened.

    Raises:
        TransportError: see `open_stream`.
    """
    termios, module = _termios(), _pyserial()
    port = module.Serial()
    # Linux keeps parity off on pseudo-terminals, and glibc reports a request for it as an invalid argument.
    is_without = serial.parity in ("E", "O") and str(Path(path).resolve()).startswith("/dev/pts/")
    _set(port, path, serial._replace(parity="N") if is_without else serial)
    port.exclusive = True
    try:
        port.open()
    except (OSError, ValueError, termios.error) as problem:  # SerialException is an OSError
        raise _open_error(path, serial, problem) from None
    with contextlib.suppress(OSError, ValueError, NotImplementedError, AttributeError):
        port.set_low_latency_mode(True)  # ASYNC_LOW_LATENCY; with FTDI's driver it is the latency timer, too
    return SerialPort(path, port, serial)


def ports() -> list[str]:
    """Return the serial ports of this machine."""
    from serial.tools import list_ports

    return sorted(str(one.device) for one in list_ports.comports())


def _pyserial() -> ModuleType:
    try:
        import serial
    except ImportError:
        raise TransportError(
            f"serial lines need pyserial, which is not installed: {how_to_install('hardware')}.", field="pyserial"
        ) from None
    module: ModuleType = serial
    return module


def _set(port: Any, path: str, serial: Serial) -> None:
    try:
        if serial.baud <= 0:
            raise ValueError("the rate must be positive")
        port.port, port.baudrate, port.parity, port.timeout = path, serial.baud, serial.parity, 0.0
        port.dtr = serial.dtr
    except (TypeError, ValueError, OSError) as problem:
        raise TransportError(
            f"{path}: cannot set {serial.baud!r} baud, parity {serial.parity!r}: {problem}; the rate is in bits per "
            "second, the parity is N, E or O.",
            field="parity" if serial.parity not in ("N", "E", "O") else "baud",
            value=serial.parity if serial.parity not in ("N", "E", "O") else serial.baud,
        ) from None


def _open_error(path: str, serial: Serial, problem: Exception) -> TransportError:
    number = getattr(problem, "errno", None)
    if number in (errno.ENOENT, errno.ENXIO, errno.ENODEV):
        there = ", ".join(ports()) or "none; check the cable"
        return TransportError(
            f"{path}: no such port. Serial ports: {there}.", field="port", value=path, allowed=tuple(ports())
        )
    if number in (errno.EACCES, errno.EPERM):
        return TransportError(
            f"{path}: no permission. Serial ports belong to the group dialout: sudo usermod -aG dialout $USER, then "
            "log out and in again.",
            field="permission",
            value=path,
        )
    if number in (errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK) or "exclusively lock" in str(problem):
        return TransportError(
            f"{path}: in use by another program. Find it with: fuser -v {path}, and end it (also ModemManager).",
            field="holder",
        )
    if isinstance(problem, ValueError) or number == errno.EINVAL or "baud" in str(problem).lower():
        return TransportError(
            f"{path}: {serial.baud} baud, parity {serial.parity} is not supported by this port: {problem}. Use the "
            "rate of the device, and another converter if needed.",
            field="baud",
            value=serial.baud,
        )
    return TransportError(f"{path}: cannot open as a serial port: {problem}.", field="url", value=path)
