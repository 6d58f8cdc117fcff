# SPDX-License-Identifier: Apache-2.0
"""`ada doctor`: what is installed, what is missing and what it would bring, and whether kernels compile."""

from __future__ import annotations

import argparse

from ada_hardware.self_test.checks import Check, Checks
from ada_tools.commands.common import print_json

NAME = "doctor"
SUMMARY = "what is installed, what is missing, and whether it works"
DETAILS = """\
Look at this machine: Python, packages, what each missing extra would bring and the line that installs it, processor,
cache, a first kernel compiled and compared with a closed form, graphics processor, real-time rights, ROS 2, browser.

examples:
  ada doctor
  ada doctor --json

exit code:
  0  all that is needed works, whatever else is missing        1  something that is needed does not
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print it as JSON in the end")


def run(options: argparse.Namespace) -> int:
    """Look, and say what was found."""
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
    return f"all that is needed works{'; missing: ' + ', '.join(missing) if missing else ''}"
