# SPDX-License-Identifier: Apache-2.0
"""Errors of controllers; a controller that raises one is unchanged."""

from __future__ import annotations

from ada_dynamics.errors import InputError


class StateRefused(InputError):
    """An invalid measured state: not finite, of another robot, or older than the last one."""


class ReferenceRefused(InputError):
    """A reference that the controller does not take: of another kind, out of limits, out of reach."""


class CommandRefused(InputError):
    """A control law returned an invalid command: not finite, or not a number for each joint. It is not sent."""


class ActivationRefused(InputError):
    """The robot's state does not allow a controller to start."""
