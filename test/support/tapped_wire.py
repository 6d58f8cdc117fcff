# SPDX-License-Identifier: Apache-2.0
"""A wire between a driver and its device that keeps what was sent, and can change what arrives."""

from __future__ import annotations

from collections.abc import Callable

from ada_hardware.transport.wires import Wire


class TappedPackets(Wire):
    """Packets to and from another wire."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.url = wire, wire.url
        self.sent: list[bytes] = []
        self.on_send: Callable[[bytes], object] = lambda packet: None
        self.on_receive: Callable[[bytes], bytes | None] = lambda packet: packet

    def send(self, packet: bytes) -> None:
        self.sent.append(packet)
        self.on_send(packet)
        self.wire.send(packet)

    def receive(self, timeout: float) -> bytes | None:
        packet = self.wire.receive(timeout)
        return None if packet is None else self.on_receive(packet)

    def discard_input(self) -> None:
        self.wire.discard_input()

    def close(self) -> None:
        self.wire.close()
