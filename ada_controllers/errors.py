# SPDX-License-Identifier: Apache-2.0
"""Why a controller refuses; nothing of it has changed then."""

from __future__ import annotations

from ada_dynamics.errors import InputError


class StateRefused(InputError):
    """A measured state that cannot be: not finite, of another robot, or older than the last one."""


class ReferenceRefused(InputError):
    """A reference that the controller does not take: of another kind, out of limits, out of reach."""


class CommandRefused(InputError):
    """A control law gave what is no command: not finite, or not a number for each joint. Nothing of it gets out."""


class ActivationRefused(InputError):
    """The robot's state does not allow a controller to begin."""
