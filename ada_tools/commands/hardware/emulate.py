# SPDX-License-Identifier: Apache-2.0
"""`ada hw emulate`: run an emulated device for other programs."""

from ada_hardware.emulation.__main__ import add_arguments, run

__all__ = ["DETAILS", "NAME", "SUMMARY", "add_arguments", "run"]

NAME = "emulate"
SUMMARY = "run an emulated device for other programs, on a pseudo-terminal or UDP"
DETAILS = """\
Run an emulated device until Ctrl-C. It prints one line of JSON with its address. `ada hw settings DEVICE` lists
settings and faults, `ada hw fault DEVICE` sets faults while it runs.

examples:
  ada hw emulate khr1 --listen pty:/tmp/khr1           then: ada hw monitor khr1 --url /tmp/khr1
  ada hw emulate pa10 --listen udp://127.0.0.1:41234 --fault drop=0.01
  ada hw emulate netft --setting force_unit=lb
"""
