# SPDX-License-Identifier: Apache-2.0
"""Packets over ARCNET (addresses such as arcnet:arc0): a raw packet socket of Linux on the interface.

A packet consists of the bytes exchanged with such a socket: the 4-byte header {sender, receiver, pointer, unused}, then
the data, such as {sequence, type, payload} of a PA-10. An emulator exchanges the same bytes over UDP.

Header processing in the kernel (drivers/net/arcnet, from its source; not tested on hardware):

- Sending: the kernel writes the pointer, 256 minus the number of data bytes, and the card its node number as sender
  (255 for the PC of a PA-10, to which the card must be set). The header bytes of the packet are ignored, but must be
  present.
- Receiving: sender, receiver and pointer are those of the frame; the following byte is undefined.
- The first data byte selects the encapsulation. With the module arc-rawmode only, all frames are raw; capmode takes 1
  to 8, rfc1201 some values from 0xC4: with these modules, frames with such sequence numbers are lost.
- Frames sent by other programs of this machine are received, marked as outgoing, which allows their detection. Frames
  of other nodes to the controller are not received.
- A frame shorter than the kernel's largest ARCNET header, about 19 bytes, needs the capability CAP_SYS_RAWIO in
  addition to CAP_NET_RAW.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from ada_hardware.transport.claim import claim
from ada_hardware.transport.udp import SocketPort
from ada_robot.errors import TransportError

ARPHRD_ARCNET = 7  # linux/if_arp.h
_ETH_P_ALL = 0x0003
_OUTGOING = 4  # linux/if_packet.h: PACKET_OUTGOING, copy of a frame sent by this machine
_MOST_OVERHEARD = 64  # stored frames of other programs
_INTERFACES = Path("/sys/class/net")
_RIGHTS = (
    "Raw frames need permissions: run as root, or once: sudo setcap cap_net_raw,cap_sys_rawio+ep $(readlink -f "
    "$(command -v python3)); for a service: AmbientCapabilities=CAP_NET_RAW CAP_SYS_RAWIO."
)
_SET_UP = (
    "Set one up: sudo modprobe arc-rawmode; sudo modprobe com20020_pci node=255 (COM20022 cards; com20020_isa for "
    "ISA, com20020_cs for PC cards); sudo ip link set arc0 up. Do not load capmode or rfc1201."
)


class ArcnetPort(SocketPort):
    """Raw frames on an interface; the module docstring describes the packets."""

    LOST: ClassVar[tuple[int, ...]] = (errno.ENOBUFS, errno.EAGAIN)

    def __init__(self, interface: str, raw: socket.socket, claim: socket.socket | None = None) -> None:
        """Use a bound packet socket and the claim of the interface; created by `open_arcnet`."""
        super().__init__(f"arcnet:{interface}", raw, claim)
        self._interface = interface
        self._overheard: deque[bytes] = deque(maxlen=_MOST_OVERHEARD)

    def receive(self, timeout: float) -> bytes | None:
        """Receive a packet; skips frames of other programs until the timeout, and then a limited number."""
        end, skipped = time.monotonic() + timeout, 0
        while (found := self._receive_from(end - time.monotonic())) is not None:
            frame, origin = found
            if origin[2] != _OUTGOING:
                return frame
            self._overheard.append(frame)  # sent by another socket: own frames are not returned to their sender
            skipped += 1
            if skipped >= _MOST_OVERHEARD and time.monotonic() >= end:
                break
        return None

    def overheard(self) -> Sequence[bytes]:  # noqa: D102
        if not self._overheard:
            return ()
        found = tuple(self._overheard)
        self._overheard.clear()
        return found

    def discard_input(self) -> None:  # noqa: D102
        super().discard_input()
        self._overheard.clear()

    def _gone(self, problem: OSError, length: int = 0) -> TransportError:
        if problem.errno == errno.ENETDOWN:
            text = (
                f"{self.url}: the interface is down: sudo ip link set {self._interface} up; if it goes down again, "
                "check dmesg and the fibre at both ends."
            )
            return TransportError(text, field="state", value="down")
        if problem.errno == errno.EINVAL and length:
            text = f"{self.url}: the kernel refused a frame of {length} bytes as too short. {_RIGHTS}"
            return TransportError(text, field="length", value=length)
        text = f"{self.url}: cannot send or receive frames: {problem.strerror}. Check that the card is present."
        return TransportError(text, field="state", value="gone")


def open_arcnet(interface: str, *, any_kind: bool = False) -> ArcnetPort:
    """Open a raw packet socket on an interface.

    Args:
        interface: name, such as arc0.
        any_kind: accept interfaces of other networks; for tests on a pair of virtual Ethernets.

    Raises:
        TransportError: no such interface, not ARCNET, down, no permission, in use, or not Linux.
    """
    url = f"arcnet:{interface}"
    if not hasattr(socket, "AF_PACKET"):
        raise TransportError(f"{url}: no packet sockets on this system; ARCNET needs Linux.", field="system")
    kind = _kind_of(interface)
    if kind is None or (kind != ARPHRD_ARCNET and not any_kind):
        what = "no such interface" if kind is None else "not an ARCNET interface"
        there = ", ".join(arcnet_interfaces()) or "none"
        text = f"{url}: {what}. ARCNET interfaces: {there}. {_SET_UP}"
        raise TransportError(text, field="interface", value=interface, allowed=tuple(arcnet_interfaces()))
    raw, claimed = _raw_socket(url), None
    try:
        claimed = claim(place_of(interface), url)
        _bind(raw, interface, url)
    except TransportError:
        raw.close()
        if claimed is not None:
            claimed.close()
        raise
    return ArcnetPort(interface, raw, claimed)


def place_of(interface: str) -> str:
    """Unique key of an interface for `claim`, independent of its alternative names."""
    try:
        return f"arcnet {socket.if_nametoindex(interface)}"
    except OSError:
        return f"arcnet {interface}"


def _bind(raw: socket.socket, interface: str, url: str) -> None:
    try:
        # The protocol is set by the bind: before it, the socket would receive frames of all interfaces.
        raw.bind((interface, _ETH_P_ALL))
    except OSError as problem:
        raise TransportError(
            f"{url}: {problem.strerror}: sudo ip link set {interface} up.", field="state", value="down"
        ) from None
    if not is_up(interface):
        raise TransportError(
            f"{url}: the interface is down: sudo ip link set {interface} up.", field="state", value="down"
        )


def arcnet_interfaces() -> list[str]:
    """Return the ARCNET interfaces of this machine."""
    names = [one.name for one in _INTERFACES.iterdir()] if _INTERFACES.is_dir() else []
    return sorted(name for name in names if _kind_of(name) == ARPHRD_ARCNET)


def _raw_socket(url: str) -> socket.socket:
    try:
        return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError:
        raise TransportError(
            f"{url}: no permission for packet sockets as user {os.getuid()}. {_RIGHTS}",
            field="permission",
            value=os.getuid(),
        ) from None
    except OSError as problem:
        raise TransportError(f"{url}: no packet sockets: {problem.strerror}.", field="system") from None


def _kind_of(interface: str) -> int | None:
    """Hardware type as in linux/if_arp.h; None if there is no such interface."""
    if not interface or "/" in interface or interface in (".", ".."):
        return None
    try:
        return int((_INTERFACES / interface / "type").read_text())
    except (OSError, ValueError):
        return None


def is_up(interface: str) -> bool:
    """Return True if an interface is up, or if its state is unknown."""
    try:
        return bool(int((_INTERFACES / interface / "flags").read_text(), 0) & 1)  # IFF_UP
    except (OSError, ValueError):
        return True
