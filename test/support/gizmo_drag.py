# SPDX-License-Identifier: Apache-2.0
"""What a browser sends while a person drags the handles of a target, without a browser."""

import asyncio

import numpy as np
from viser import _messages

from ada_dynamics.spatial.orientation import to_quaternion
from ada_dynamics.spatial.rotation import from_rpy
from ada_tools.browser.target_gizmo import NODE

SOMEBODY = 0  # id of a browser


def placed(xyz, rpy=(0.0, 0.0, 0.0)):
    """A 4x4 pose."""
    pose = np.eye(4)
    pose[:3, :3] = from_rpy(*rpy)
    pose[:3, 3] = xyz
    return pose


def drag(page, pose, *phases):
    """Let viser's server take the messages of phases "start", "update" and "end" as it takes a browser's."""
    messages = {
        "start": _messages.TransformControlsDragStartMessage(NODE),
        "update": _messages.TransformControlsUpdateMessage(NODE, to_quaternion(pose[:3, :3]), tuple(pose[:3, 3])),
        "end": _messages.TransformControlsDragEndMessage(NODE),
    }
    handlers = page.server._websock_server._incoming_handlers

    async def take():
        for phase in phases:
            for handler in handlers[type(messages[phase])]:
                await handler(SOMEBODY, messages[phase])

    asyncio.run_coroutine_threadsafe(take(), page.server._event_loop).result(10.0)
