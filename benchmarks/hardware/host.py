# SPDX-License-Identifier: Apache-2.0
"""A program that commands a PA-10: `python -m benchmarks.hardware.host URL FOLDER SPEED [--hold]`.

It moves all joints at one speed, a command per cycle, and obeys lines on stdin: `late S` (no command for S seconds),
`save` (writes a flight record), `end`. It says in JSON lines on stdout what it did, and when.
"""

from __future__ import annotations

import json
import select
import sys
import time
from contextlib import suppress

from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import NoAnswer, Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from benchmarks.hardware.scene import activated, until


def say(**what: object) -> None:
    """Tell the benchmark."""
    print(json.dumps({"time": time.monotonic(), **what}), flush=True)


def kept(robot: Robot) -> str:
    """The flight record: the one that was written because of a fault, else one that is written now."""
    if robot.phase is Phase.STOPPED:
        until(lambda: robot.status().flight_record, "the flight record of a fault")
        return robot.status().flight_record
    return "" if robot.phase is Phase.CLOSED else robot.save_flight_record("benchmark")


def main(url: str, folder: str, speed: float, hold: bool) -> None:
    """Command until told to end, or refused."""
    robot = Robot("pa10", {"url": url}, SafetySettings(record_folder=folder, hold_without_commands=hold))
    with robot:
        activated(robot)
        values = [speed] * len(robot.joints)
        say(event="active", cycle=robot.cycle_pid)
        try:
            while True:
                robot.command(Mode.VELOCITY, values)
                commanded_at = time.monotonic()
                with suppress(NoAnswer):
                    robot.wait_feedback(0.05)
                if select.select([sys.stdin], [], [], 0.0)[0] and not obey(sys.stdin.readline(), robot, commanded_at):
                    return
        except Refused as problem:
            say(event="refused", text=str(problem), path=kept(robot))


def obey(line: str, robot: Robot, commanded_at: float) -> bool:
    """Do what a line says; False: end."""
    what, *details = line.split() or ["end"]
    if what == "late":
        time.sleep(float(details[0]))
        say(event="late", last_command=commanded_at)
    elif what == "save":
        say(event="saved", path=robot.save_flight_record("benchmark"))
    return what != "end"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), "--hold" in sys.argv)
