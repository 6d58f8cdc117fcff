# SPDX-License-Identifier: Apache-2.0
"""Errors of controllers; an error does not change the controller."""

from __future__ import annotations

from ada_dynamics.errors import InputError


class StateRefused(InputError):
    """Invalid measured state: not finite, wrong size, or older than the last one."""


class ReferenceRefused(InputError):
    """Invalid reference: wrong type, outside limits, or out of reach."""


class CommandRefused(InputError):
    """Invalid command computed by a control law: not finite, or wrong size. It is not sent."""


class ActivationRefused(InputError):
    """State of the robot in which a controller cannot start."""
