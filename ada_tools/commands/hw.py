# SPDX-License-Identifier: Apache-2.0
"""List, monitor, test and emulate robots and sensors.

Real devices and emulated ones: PA-10, KHR-1, KHR-3HV, HEXA, force/torque sensors. Robots move only by
`ada hw test --move` and `ada hw service`. Before switching a robot on for the first time, read its page:
docs/bringup_pa10.md, docs/bringup_khr1.md, docs/bringup_force_sensor.md.

Examples:
  ada hw list                                  devices and address formats
  ada hw test pa10 --emulator                  all checks, including motions, with an emulated arm
  ada hw test khr1 --url /dev/ttyUSB0          a real one, without motion
  ada hw monitor netft --url udp://192.168.1.1:49152
  ada hw service khr1 wake --url /dev/ttyUSB0 --yes      manual service functions
  ada hw settings khr1                         names for --setting
  ada hw emulate dynpick                       emulated device for other programs
  ada hw fault pa10 emergency_stop             inject a fault into a running emulated device

There is no `ada hw stop`: a device has one host, and a second program on its wire cannot override its
commands. Use the emergency stop; under ROS: ros2 service call /hardware_node/stop std_srvs/srv/Trigger.

exit code:
  0    success; also monitor and emulate ended by Ctrl-C
  1    test: a check failed or the device cannot be opened
  2    wrong usage; monitor cannot open the device
  130  test was ended by Ctrl-C, after stopping the robot
"""

from __future__ import annotations

import argparse

from ada_tools.commands import Command
from ada_tools.commands.hardware import monitor, service, testing
from ada_tools.commands.hardware.devices import LIST, SETTINGS
from ada_tools.commands.hardware.emulation import EMULATE, FAULT

ACTIONS = {
    "list": LIST,
    "monitor": Command.of(monitor),
    "test": Command.of(testing),
    "service": Command.of(service),
    "settings": SETTINGS,
    "emulate": EMULATE,
    "fault": FAULT,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    for name, action in ACTIONS.items():
        action.add_to(actions, name, "run_action", help=action.summary)


def run(options: argparse.Namespace) -> int:
    """Run the selected action."""
    code: int = options.run_action(options)
    return code
