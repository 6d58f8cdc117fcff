# SPDX-License-Identifier: Apache-2.0
"""Robots that a law is not for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ada_dynamics.errors import InputError

if TYPE_CHECKING:
    from ada_controllers.controller import Controller


def refuse_free_joints(controller: Controller[Any]) -> None:
    """Refuse a robot that its motors do not determine.

    Raises:
        InputError: a joint without a motor, a base that is not fixed, or loops.
    """
    model, motors = controller.model, len(controller.joints)
    if model.nv != motors or model.loop_names:
        raise InputError(
            f"{controller.NAME}: robot {model.name!r} has {model.nv} velocities and {motors} motors"
            f"{', and loops' if model.loop_names else ''}; this law is for robots with a motor at every joint and "
            "a fixed base. With loops take virtual_closed_chain."
        )
