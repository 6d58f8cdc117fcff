# SPDX-License-Identifier: Apache-2.0
"""`ada doctor`: check the installation, optional packages and kernel compilation."""

from __future__ import annotations

import argparse

from ada_hardware.self_test.checks import Check, Checks
from ada_tools.commands.common import print_json

NAME = "doctor"
SUMMARY = "check the installation and optional packages"
DETAILS = """\
Check Python, packages, missing extras with their features and install commands, processor,
cache, kernel compilation against a closed form, GPU, real-time permissions, ROS 2 and browser.

examples:
  ada doctor
  ada doctor --json

exit code:
  0  all required parts work        1  a required part does not work
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print a JSON summary at the end")


def run(options: argparse.Namespace) -> int:
    """Run the checks and report the results."""
    from ada_tools.doctor import examine

    def tell(check: Check) -> None:
        if not options.json:
            print(check.line, flush=True)

    checks = Checks(tell)
    examine(checks)
    if options.json:
        print_json({"ok": checks.is_ok, "checks": [check.to_dict() for check in checks.done]})
    else:
        print(_summary(checks))
    return 0 if checks.is_ok else 1


def _summary(checks: Checks) -> str:
    if checks.failed:
        return f"does not work: {', '.join(check.name for check in checks.failed)}"
    missing = [check.name for check in checks.missing]
    return f"all required parts work{'; missing: ' + ', '.join(missing) if missing else ''}"
