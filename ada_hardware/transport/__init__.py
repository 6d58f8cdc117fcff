# SPDX-License-Identifier: Apache-2.0
"""Connections opened by address: byte streams (serial lines, pseudo-terminals) and packets (UDP, ARCNET)."""

from ada_hardware.transport.wires import ByteStream, PacketPort, Serial, open_packets, open_stream

__all__ = ["ByteStream", "PacketPort", "Serial", "open_packets", "open_stream"]
