# SPDX-License-Identifier: Apache-2.0
"""Devices connected to this machine: serial ports, ARCNET, a Net F/T in the network; and their problems.

Nothing is opened except a web page at a given address, since a byte on a serial line may be a command.

USB IDs: docs/force_sensors.md (DynPick's CP210x); Linux, drivers/usb/serial/ftdi_sio_ids.h (FTDI, Kondo).
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ada_hardware.force_torque.rdt.calibration import PAGE, fetch_page, parse_calibration
from ada_hardware.registry import DEVICES
from ada_hardware.transport import packets_holder
from ada_hardware.transport.arcnet import arcnet_interfaces, is_up
from ada_robot.errors import HardwareError
from ada_robot.processes import posix_module

SERIAL = tuple(one.name for one in DEVICES.values() if one.is_serial)
_KONDO = ("Kondo's USB adapter", ("khr3", "khr1"))
_ANY_VERSION = -1
# (vendor, product) -> description, and possible devices of the registry, the most likely first
CONVERTERS: Mapping[tuple[int | None, int | None], tuple[str, tuple[str, ...]]] = {
    (0x10C4, 0xEA60): ("Silicon Labs CP210x, as in DynPick's USB model", ("dynpick", "khr1", "khr3")),
    (0x165C, 0x0002): _KONDO,
    (0x165C, _ANY_VERSION): _KONDO,
    (0x0403, 0x6001): ("FTDI FT232R", ("khr1", "khr3")),
    (0x0403, 0x6014): ("FTDI FT232H", ("khr1", "khr3")),
    (0x0403, 0x6015): ("FTDI FT-X", ("khr1", "khr3")),
    (None, None): ("built in", SERIAL),
}
_SLOW_LATENCY = 1  # [ms]; FTDI converters have 16 by default
_DISTURBING = ("capmode", "rfc1201")  # modules that intercept raw ARCNET frames
_PAGE_TIME = 2.0  # [s]


@dataclass(frozen=True)
class PortFound:
    """Serial port.

    Attributes:
        device: device file.
        usb: "VID:PID"; "": not USB.
        converter: kind of converter.
        description: description in the USB descriptor.
        by_id: permanent name; "": none.
        may_be: possible devices.
        latency_ms: latency timer of the converter; 0: unknown.
        users: programs that have it open, if visible to this user.
        problems: problems with remedies.
    """

    device: str
    usb: str
    converter: str
    description: str
    by_id: str
    may_be: tuple[str, ...]
    latency_ms: int
    users: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class ArcnetFound:
    """ARCNET on this machine.

    Attributes:
        interfaces: state (up or down) of the interfaces by name.
        may_send: this user may use raw frames.
        problems: problems with remedies.
    """

    interfaces: dict[str, bool]
    may_send: bool
    problems: tuple[str, ...]


# --- serial ports -------------------------------------------------------------------------------------------------
def serial_ports(listed: Iterable[Any] | None = None, root: Path = Path("/")) -> list[PortFound]:
    """Return the serial ports.

    Args:
        listed: ports as listed by pyserial; None: query them.
        root: root of the file system.
    """
    if listed is None:
        try:
            from serial.tools import list_ports
        except ImportError:
            return []
        listed = list_ports.comports()
    return [_port(one, root) for one in sorted(listed, key=lambda one: str(one.device))]


def _port(one: Any, root: Path) -> PortFound:
    device, name = str(one.device), Path(str(one.device)).name
    path = root / device.lstrip("/")
    converter, may_be = (
        CONVERTERS.get((one.vid, one.pid)) or CONVERTERS.get((one.vid, _ANY_VERSION)) or ("unknown converter", SERIAL)
    )
    latency, users = _latency(name, root), users_of(path, root)
    described = "" if one.description in (None, "n/a") else str(one.description)
    problems = [_permission(path, device)] if path.exists() and not os.access(path, os.R_OK | os.W_OK) else []
    if latency > _SLOW_LATENCY:
        problems.append(
            f"the converter delays answers by {latency} ms: echo 1 | sudo tee "
            f"/sys/bus/usb-serial/devices/{name}/latency_timer (permanently: see the udev rule on the robot's page)"
        )
    if users:
        problems.append(f"{device} is in use by {', '.join(users)}: end that program")
    return PortFound(
        device,
        "" if one.vid is None else f"{one.vid:04X}:{one.pid:04X}",
        converter,
        " ".join(str(x) for x in (one.manufacturer, one.product) if x) or described,
        _by_id(path, root),
        may_be,
        latency,
        users,
        tuple(problems),
    )


def _latency(name: str, root: Path) -> int:
    try:
        return int((root / f"sys/class/tty/{name}/device/latency_timer").read_text())
    except (OSError, ValueError):
        return 0


def _by_id(path: Path, root: Path) -> str:
    folder = root / "dev/serial/by-id"
    try:
        target = path.resolve()
        return next((f"/dev/serial/by-id/{one.name}" for one in folder.iterdir() if one.resolve() == target), "")
    except OSError:
        return ""


def _permission(path: Path, device: str) -> str:
    """Remedy for a port that this user may not open."""
    try:
        about = path.stat()
        group = posix_module("grp", "Looking for serial ports").getgrgid(about.st_gid).gr_name
    except (OSError, KeyError):
        return f"no permission for {device}: run as a user who has it"
    if about.st_mode & stat.S_IRGRP and about.st_mode & stat.S_IWGRP and group != "root":
        return f"no permission for {device}: sudo usermod -aG {group} $USER, then log out and in again"
    return (
        f"no permission for {device}, accessible to {group} only: add a udev rule in /etc/udev/rules.d/99-ada.rules: "
        f'KERNEL=="{path.name}", GROUP="dialout", MODE="0660"; then: sudo udevadm control --reload; plug it in again'
    )


def users_of(path: Path, root: Path = Path("/")) -> tuple[str, ...]:
    """Return the programs that have a file open, as "name (pid)"; only root sees those of other users."""
    found = []
    try:
        target = path.resolve()
        numbers = [one for one in (root / "proc").iterdir() if one.name.isdigit()]
    except OSError:
        return ()
    for process in numbers:
        try:
            if any(_leads_to(one, target) for one in (process / "fd").iterdir()):
                found.append(f"{(process / 'comm').read_text().strip()} ({process.name})")
        except OSError:  # it has ended, or belongs to another user
            continue
    return tuple(found)


def _leads_to(link: Path, target: Path) -> bool:
    try:
        return link.readlink() == target
    except OSError:
        return False


# --- ARCNET -------------------------------------------------------------------------------------------------------
def arcnet(root: Path = Path("/"), *, may_send: bool | None = None) -> ArcnetFound:
    """Return the ARCNET interfaces and their problems.

    Args:
        root: root of the file system.
        may_send: this user may use raw frames; None: try it.
    """
    interfaces = {name: is_up(name, root) for name in arcnet_interfaces(root)}
    may_send = _may_send_raw() if may_send is None else may_send
    problems = [f"{name} is down: sudo ip link set {name} up" for name, works in interfaces.items() if not works]
    if interfaces and not may_send:
        problems.append(
            "no right to raw frames: sudo setcap cap_net_raw,cap_sys_rawio+ep $(readlink -f $(command -v python3))"
        )
    held = ((name, packets_holder(f"arcnet:{name}")) for name in interfaces)
    problems += [f"{name} is in use by {one.words}: end that program" for name, one in held if one is not None]
    loaded = _modules(root)
    problems += [
        f"the module {one} intercepts frames: sudo modprobe -r {one}"
        for one in _DISTURBING
        if interfaces and one in loaded
    ]
    return ArcnetFound(interfaces, may_send, tuple(problems))


def _may_send_raw() -> bool:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except (OSError, AttributeError):
        return False
    return True


def _modules(root: Path) -> set[str]:
    try:
        text = (root / "proc/modules").read_text()
    except OSError:
        return set()
    return {line.split()[0].replace("-", "_") for line in text.splitlines() if line.strip()}


# --- network ------------------------------------------------------------------------------------------------------
def net_ft(host: str, timeout: float = _PAGE_TIME) -> dict[str, object]:
    """Return the data of a Net F/T's web page.

    Args:
        host: name, IP address, or address:port.
        timeout: timeout [s].
    """
    url = f"http://{host}{PAGE}"
    try:
        found = parse_calibration(fetch_page(url, timeout), url)
    except HardwareError as problem:
        return {"host": host, "problem": str(problem)}
    return {
        "host": host,
        "product": found.product,
        "calibration": found.serial,
        "rate_hz": found.rate,
        "streams": found.is_streaming_allowed,
        "url": f"udp://{host.rsplit(':', 1)[0] if host.count(':') == 1 else host}:49152",
        "problem": "" if found.is_streaming_allowed else "RDT is disabled; enable it on its web page",
    }
