# SPDX-License-Identifier: Apache-2.0
"""`ada hw`: robots and sensors on their wires."""

from __future__ import annotations

import argparse

from ada_tools.commands import add_command
from ada_tools.commands.hardware import emulate, fault, identify, listing, monitor, scan, service, settings, testing

NAME = "hw"
SUMMARY = "robots and sensors on their wires: find, watch, test, emulate"
DETAILS = """\
Real devices and emulated ones: PA-10, KHR-1, KHR-3HV, HEXA, force/torque sensors. Nothing moves but in
`ada hw test --move` and `ada hw service`. Before you switch a robot on for the first time, read its page:
docs/bringup_pa10.md, docs/bringup_khr1.md, docs/bringup_force_sensor.md.

examples:
  ada hw list                                  the devices, and how their addresses look
  ada hw scan                                  what is plugged in, and what it lacks
  ada hw test pa10 --emulator                  all checks, motions included, with an emulated arm
  ada hw test khr1 --url /dev/ttyUSB0          a real one; nothing moves
  ada hw monitor netft --url udp://192.168.1.1:49152
  ada hw identify netft --url udp://192.168.1.1:49152    mass and centre of mass of its tool
  ada hw service khr1 wake --url /dev/ttyUSB0 --yes      what a robot is asked by hand
  ada hw settings khr1                         what --setting takes
  ada hw emulate dynpick                       a device for other programs
  ada hw fault pa10 emergency_stop             a fault in an emulated device that runs; alone: all that there are

There is no `ada hw stop`: a device has one host, and a second program on its wire cannot stop what the first one
demands. Use the emergency stop; under ROS: ros2 service call /hardware_node/stop std_srvs/srv/Trigger.

exit code:
  0    done, all ok; monitor and emulate end so by Ctrl-C, too
  1    a check of test failed, with a device that cannot be opened, too; scan found a problem, or nothing
  2    wrong usage; monitor cannot open the device
  130  test was ended by Ctrl-C: a robot was brought to rest first
"""
ACTIONS = (listing, scan, monitor, testing, identify, service, settings, emulate, fault)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    for module in ACTIONS:
        add_command(actions, module, "run_action")


def run(options: argparse.Namespace) -> int:
    """Do what was asked for."""
    code: int = options.run_action(options)
    return code
