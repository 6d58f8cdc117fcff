# SPDX-License-Identifier: Apache-2.0
"""Errors of devices; each says which device or address, what is allowed, and what to do."""

from __future__ import annotations

from ada_dynamics.errors import AdaError, InputError


class HardwareError(AdaError):
    """Something is wrong with a device, or with what is asked of it."""


class UnknownDevice(InputError, HardwareError):
    """There is no such device, profile or emulator; the message lists those that there are."""


class TransportError(HardwareError):
    """A line or socket cannot be opened, or has broken: no such port, no permission, in use, unplugged."""


class NoAnswer(HardwareError):
    """A device is silent, or what it says is not of its protocol; the message says what was tried, and how often."""


class DeviceAlarm(HardwareError):
    """A device says that something is wrong with itself; the message has its code and words."""


class Refused(InputError, HardwareError):
    """A command or request breaks a rule of safety; nothing was sent."""
