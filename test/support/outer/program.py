# SPDX-License-Identifier: Apache-2.0
"""A program of a user, told by lines what to do with its robot: `python -m outer.program URL`."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress

from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import Refused
from ada_robot.safety.settings import SafetySettings
from outer.scene import DRIVER, MOVES, SAFETY


def main(url: str, folder: str) -> None:
    safety = SafetySettings(**SAFETY, record_folder=folder)
    moves = False
    with Robot("pa10", {"url": url, **DRIVER}, safety) as robot:
        robot.wait_feedback(10.0)
        while True:
            waiting = select.select([0], [], [], 0.01)[0]
            for order in os.read(0, 4096).decode().split() if waiting else ():
                if order in ("move", "hold"):
                    moves = order == "move"
                elif order == "raise":
                    raise RuntimeError("a mistake in the program")
                elif order == "leave":
                    return
                else:
                    getattr(robot, order)()
                print(order, flush=True)
            if moves:
                with suppress(Refused):
                    robot.command(Mode.VELOCITY, MOVES)


if __name__ == "__main__":
    main(*sys.argv[1:])
