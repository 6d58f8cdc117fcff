# SPDX-License-Identifier: Apache-2.0
"""Wires: streams of bytes (serial lines, pseudo-terminals) and packets (UDP, ARCNET), opened by their address."""

from ada_hardware.transport.wires import ByteStream, PacketPort, Serial, open_packets, open_stream

__all__ = ["ByteStream", "PacketPort", "Serial", "open_packets", "open_stream"]
