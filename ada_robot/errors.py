# SPDX-License-Identifier: Apache-2.0
"""Hardware errors; each message names the device or address, the allowed values and the remedy."""

from __future__ import annotations

from ada_dynamics.errors import AdaError, InputError


class HardwareError(AdaError):
    """Base class of device errors."""


class UnknownDevice(InputError, HardwareError):
    """Unknown device, profile or emulator; the message lists the known ones."""


class TransportError(HardwareError):
    """Port or socket that cannot be opened or was lost: missing, no permission, in use, unplugged."""


class NoAnswer(HardwareError):
    """No reply, or none of the expected protocol; the message contains the attempts made."""


class DeviceAlarm(HardwareError):
    """Alarm reported by a device; the message contains code and text."""


class Refused(InputError, HardwareError):
    """Command or request that violates a safety rule; nothing was sent to the device."""
